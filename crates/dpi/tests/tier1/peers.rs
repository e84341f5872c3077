//! BitTorrent, in its five forms, and a database.

use crate::case::{Case, hex};
use dpi::Protocol;

pub(crate) fn cases() -> Vec<Case> {
    let udp = |name| Case::udp(name, Protocol::BITTORRENT, 51_413);
    let handshake =
        [&b"\x13BitTorrent protocol\0\0\0\0\0\x10\0\x05"[..], &[0xab; 20], b"-XX0001-abcdefghijkl"].concat();
    let utp = |first: &str, sequence: u16, acknowledged: u16, payload: &[u8]| {
        let counters = [sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat();
        [&hex(first)[..], &counters, payload].concat()
    };
    vec![
        Case::tcp("bittorrent", Protocol::BITTORRENT, 6881).client(&handshake).server(&handshake),
        Case::tcp("mysql", Protocol::MYSQL, 3306)
            .server(b"\x38\0\0\0\x0a5.7.44-log\0\x07\0\0\0abcdefgh\0\xff\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0"),
        udp("bittorrent-dht-ping").client(b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"),
        udp("bittorrent-dht-response").server(b"d1:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:y1:re"),
        udp("bittorrent-dht-response-with-address").server(
            b"d2:ip6:\xc0\0\x02\x01\x1a\xe11:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:v4:LT\x01\x021:y1:re",
        ),
        udp("bittorrent-dht-error").server(b"d1:eli201e23:A Generic Error Ocurrede1:t2:aa1:y1:ee"),
        udp("bittorrent-tracker-udp").client(hex("0000041727101980 00000000 01020304")),
        udp("bittorrent-local-search")
            .client(b"BT-SEARCH * HTTP/1.1\r\nHost: 239.192.152.143:6771\r\nPort: 6881\r\n\r\n"),
        udp("bittorrent-utp").client(utp("41 00 1111 00000001 00000000 00100000", 1, 0, b"")).server(utp(
            "21 00 1111 00000009 00000008 00100000",
            7000,
            1,
            b"",
        )),
        udp("bittorrent-utp-midstream").client(utp(
            "01 00 1112 00000001 00000100 00100000",
            2,
            7000,
            &handshake,
        )),
    ]
}
