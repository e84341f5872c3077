//! What is none of tier 1's protocols, some of it much like one, is never taken for one.

use crate::case::{Case, Known, hex, run};
use dpi::Protocol;
use testkit::rng::Rng;

/// Bytes that look random.
fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.below(256) as u8).collect()
}

fn cases() -> Vec<Case> {
    let tcp = |name| Case::tcp(name, Protocol::UNKNOWN, 80);
    let udp = |name| Case::udp(name, Protocol::UNKNOWN, 53);
    vec![
        tcp("rdp").client(hex("0300 0013 0e e0 0000 0000 00 01 00 08 00 03 00 00 00")),
        tcp("iso-8073-as-siemens").client(hex("0300 0016 11 e0 0000 0001 00 c1 02 0100 c2 02 0102 c0 01 0a")),
        tcp("q931-without-h225").client(hex("0300 000e 08 02 1234 05 04 03 8890a5")),
        tcp("mysql-of-wrong-length").server(b"\x4a\0\0\0\x0a5.5.5-10\0\x01\0\0\0abcdefgh\0\xff\xf7\x08\x02\0"),
        tcp("postgres").client(hex("00000008 04d2162f")),
        tcp("ldap").client(hex("300c 0201 01 6007 0201 03 0400 8000")),
        tcp("rpc").client(hex("80000028 12345678 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000")),
        tcp("smb").client(hex("00000054 ff534d42 72 00000000 18 0128 0000 0000000000000000 0000 0000 0000 2f4b 0000 c55e")),
        tcp("redis").client("*1\r\n$4\r\nPING\r\n").server("+PONG\r\n"),
        tcp("redis-inline").client("PING\r\n").server("+PONG\r\n"),
        tcp("memcached").client("get key\r\n").server("END\r\n"),
        tcp("nntp").server("200 news.example ready\r\n").client("GROUP comp.x\r\n"),
        tcp("dictionary").server("220 dict.example dictd\r\n").client("CLIENT x\r\n").server("250 ok\r\n"),
        tcp("gnutella").client("GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\n\r\n").server("GNUTELLA/0.6 200 OK\r\n\r\n"),
        tcp("icap").client("OPTIONS icap://x.example/reqmod ICAP/1.0\r\n\r\n"),
        tcp("xmpp").client("<?xml version='1.0'?><stream:stream to='x'>"),
        tcp("http-0.9").client("GET /\r\n"),
        tcp("http-3-written-out").client("GET / HTTP/3.0\r\nHost: x\r\n\r\n"),
        tcp("finger").client("bob\r\n").server("Login: bob\r\n"),
        tcp("gopher").client("/menu\r\n").server("iWelcome\t\t\t\r\n"),
        tcp("bgp").client(hex("ffffffffffffffffffffffffffffffff 001d 01 04 fde8 00b4 c0000201 00")),
        tcp("tls-records-of-wrong-version").client(hex("17 0203 0002 0228")),
        tcp("tls-hello-of-wrong-length").client(hex(&("16 0301 002d 010000 29 0303".to_owned() + &"07".repeat(32) + "20 0002 1301 0100 ff"))),
        tcp("exchange-of-keys-and-nothing-more").client(random(1, 300)).server(random(2, 200)).client(random(3, 900)),
        tcp("handshake-behind-what-is-no-key").client([&[7; 120][..], b"\x13BitTorrent protocol"].concat()),
        tcp("user-of-nothing").client("USER bob\r\n").server("whatever\r\n"),
        udp("netbios-name").client(hex(&("8001 0110 0001 0000 0000 0000 20".to_owned() + &"43".repeat(32) + "00 0020 0001"))),
        udp("netbios-status").client(hex(&("8001 0000 0001 0000 0000 0000 20".to_owned() + &"43".repeat(32) + "00 0021 0001"))),
        udp("snmp").client(hex("3029 0201 00 0406 7075626c6963 a01c 0204 12345678 0201 00 0201 00 300e 300c 0608 2b06010201010100 0500")),
        udp("tftp").client(b"\0\x01file\0octet\0"),
        udp("syslog").client("<34>Oct 11 22:14:15 host su: x"),
        udp("ssdp").client("M-SEARCH * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\nMan: \"ssdp:discover\"\r\n\r\n"),
        udp("dtls").client(hex(&("16 feff 0000 000000000000 0036 01 00002a 0000 000000 00002a fefd".to_owned() + &"07".repeat(32) + "00 00 0002 c02b 0100"))),
        udp("wireguard").client([&[1, 0, 0, 0][..], &[0x77; 144]].concat()),
        udp("openvpn").client(hex("38 1122334455667788 00 00000000")),
        udp("ike").client(hex("1122334455667788 0000000000000000 21 20 22 08 00000000 0000001c")),
        udp("zeros").client([0; 48]),
        udp("zeros-of-dns").client([0; 12]),
        udp("ones").client([0xff; 64]),
        udp("one-byte").client([0x80]).server([0x80]),
        udp("rtp-that-stands-still").client([0x80; 20]).client([0x80; 20]).client([0x80; 20]).client([0x80; 20]),
        udp("rtp-of-changing-sources").client(hex("80000001 00000001 00000001 aa")).client(hex("80000002 00000002 00000002 aa")).client(hex("80000003 00000003 00000003 aa")),
        udp("quic-version-negotiation").server(hex("ca 00000000 04 01020304 04 05060708 00000001 6b3343cf")),
        udp("quic-that-does-not-decrypt").client([&hex("c0 00000001 08 0102030405060708 00 00 4400")[..], &[0x5a; 1024]].concat()),
        udp("stun-of-wrong-length").client(hex("0001 0004 2112a442 a1a2a3a4a5a6a7a8a9aaabac")),
        udp("dht-of-others").client(b"d1:x1:y1:y1:qe"),
    ]
}

#[test]
fn others_are_left_to_tier_2() {
    for case in cases() {
        for known in [Known::Start, Known::Nothing] {
            for ports in [case.ports, (53, 53), (443, 443), (1, 2)] {
                let outcome = run(case.transport, ports, &case.segments(), known);
                assert_eq!(outcome.verdict, None, "{} on {ports:?}", case.name);
                assert!(outcome.packets <= 8);
            }
        }
    }
}
