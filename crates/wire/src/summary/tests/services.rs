//! What UDP carries between the ports of services that keep networks running.

use super::*;

/// The line of a datagram to this port, without what stands before the application.
fn over_udp(port: u16, payload: &[u8]) -> String {
    let line = line(LinkType::RAW, &ipv4(17, 0, &udp(40000, port, payload)));
    let start = format!("192.0.2.1:40000 > 192.0.2.2:{port} udp ");
    line.strip_prefix(&start).unwrap_or_else(|| panic!("{line}")).to_owned()
}

/// A message of this version with a request, or another thing with this tag.
fn snmp(version: u8, tag: u8) -> Vec<u8> {
    let request = [tag, 11, 2, 1, 9, 2, 1, 0, 2, 1, 0, 0x30, 0];
    packet(&[&[0x30, 24, 2, 1, version, 4, 6], b"public", &request])
}

/// A message of IKE without what it says, which states to have so many bytes.
fn ike(version: u8, exchange: u8, flags: u8, len: u8) -> Vec<u8> {
    let spis = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 0, 0, 0, 0, 0, 0, 9];
    packet(&[&spis, &[33, version << 4, exchange, flags, 0, 0, 0, 1, 0, 0, 0, len]])
}

/// Of what was sent, less and less is captured: all that is told of it then is that.
#[test]
fn what_was_cut_of_ipsec_is_told() {
    let marked = packet(&[&[0; 4], &ike(2, 35, 8, 28)]);
    for (port, payload, least) in
        [(500, ike(2, 34, 8, 28), 28), (4500, marked, 32), (4500, vec![0, 0, 0x10, 0, 0, 0, 0, 7, 9, 9], 8)]
    {
        let whole = ipv4(17, 0, &udp(40000, port, &payload));
        let line = |captured: usize| {
            let bytes = &whole[..whole.len() - payload.len() + captured];
            summarize(LinkType::RAW, bytes, whole.len() as u32).to_string()
        };
        for captured in 0..least {
            assert!(
                line(captured).ends_with(&format!("udp len {} cut", payload.len())),
                "{}",
                line(captured)
            );
        }
        assert_eq!(line(least), line(payload.len()));
        assert!(line(least).contains(" spi 0x"), "{}", line(least));
    }
}

#[test]
fn messages_of_services() {
    let radius = |code: u8, len: u8| packet(&[&[code, 7, 0, len], &[0; 16]]);
    let mut negative = snmp(1, 0xa2);
    negative[17] = 0xff;
    for (port, payload, expected) in [
        (69, b"\0\x01a b\0octet\0".to_vec(), r#"tftp read "a b" octet"#),
        (69, b"\0\x02boot\x1b\0netascii\0blksize\x001400\0".to_vec(), r#"tftp write "boot\027" netascii"#),
        (69, vec![0, 3, 0, 9, 1, 2, 3], "tftp data block 9"),
        (69, vec![0, 4, 0, 9], "tftp ack block 9"),
        (69, b"\0\x05\0\x01File not found\0".to_vec(), r#"tftp error 1 "File not found""#),
        (69, b"\0\x06blksize\x001400\0".to_vec(), "tftp options"),
        (69, vec![0, 7], ""),
        (1812, radius(1, 20), "radius access-request id 7"),
        (1813, radius(5, 20), "radius accounting-response id 7"),
        (3799, radius(43, 20), "radius coa-request id 7"),
        (1812, radius(1, 21), ""),
        (1812, radius(99, 20), ""),
        (1700, radius(40, 20), "radius disconnect-request id 7"),
        // Of a gateway of LoRaWAN.
        (1700, radius(2, 20), ""),
        (500, ike(2, 34, 8, 28), "ike v2 ike-sa-init request id 1 spi 0x1122334455667788 0x0000000000000009"),
        (
            500,
            ike(2, 36, 0x20, 28),
            "ike v2 create-child-sa response id 1 spi 0x1122334455667788 0x0000000000000009",
        ),
        (500, ike(2, 99, 0, 28), "ike v2 exchange 99 request id 1 spi 0x1122334455667788 0x0000000000000009"),
        (500, ike(1, 4, 0, 28), "ike v1 aggressive id 1 spi 0x1122334455667788 0x0000000000000009"),
        (500, ike(2, 34, 8, 27), ""),
        (500, ike(2, 34, 8, 29), ""),
        (500, ike(3, 34, 8, 28), ""),
        (
            4500,
            packet(&[&[0; 4], &ike(2, 35, 8, 28)]),
            "ike v2 ike-auth request id 1 spi 0x1122334455667788 0x0000000000000009",
        ),
        (4500, packet(&[&[0; 4], &ike(2, 35, 8, 32)]), ""),
        (4500, vec![0, 0, 0x10, 0, 0, 0, 0, 7, 9, 9], "esp spi 0x00001000 seq 7"),
        (4500, vec![0xff], "nat-keepalive"),
        (4500, vec![0xfe], ""),
        (4500, vec![0xff, 1, 2, 3, 0, 0, 0], ""),
        (
            514,
            b"<34>1 2003-10-11T22:14:15Z host su - x".to_vec(),
            r#"syslog auth.crit "1 2003-10-11T22:14:15Z host su - x""#,
        ),
        (514, b"<191>a\x07\nb".to_vec(), r#"syslog local7.debug "a\007""#),
        (514, b"<5>a\0".to_vec(), r#"syslog kern.notice "a""#),
        (514, b"<192>a".to_vec(), ""),
        (514, b"<+1>a".to_vec(), ""),
        (514, b"hello".to_vec(), ""),
        (161, snmp(0, 0xa0), r#"snmp v1 "public" get id 9"#),
        (161, snmp(1, 0xa5), r#"snmp v2c "public" get-bulk id 9"#),
        (162, snmp(1, 0xa7), r#"snmp v2c "public" trap-v2 id 9"#),
        (162, snmp(0, 0xa4), r#"snmp v1 "public" trap"#),
        (161, snmp(1, 0xaf), r#"snmp v2c "public" tag 0xaf id 9"#),
        (161, negative, r#"snmp v2c "public" response id -1"#),
        (161, vec![0x30, 0x82, 0, 4, 2, 1, 3, 0x30], "snmp v3"),
        (161, vec![0x30, 3, 2, 1, 9], ""),
        (
            5060,
            b"INVITE sip:bob@example.com SIP/2.0\r\nVia: x".to_vec(),
            r#"sip "INVITE sip:bob@example.com SIP/2.0""#,
        ),
        (5060, b"SIP/2.0 180 Ringing\r\n".to_vec(), r#"sip "SIP/2.0 180 Ringing""#),
        (5060, b"\0\0\0\0".to_vec(), ""),
    ] {
        let expected = format!("{expected} len {}", payload.len());
        assert_eq!(over_udp(port, &payload), expected.trim_start());
    }
}

/// A datagram of each.
pub(super) fn samples() -> Vec<Vec<u8>> {
    [
        (69, b"\0\x01a b\0octet\0".to_vec()),
        (69, vec![0, 3, 0, 9, 1, 2, 3]),
        (69, b"\0\x05\0\x01no\0".to_vec()),
        (1812, packet(&[&[1, 7, 0, 20], &[0; 16]])),
        (514, b"<34>su: failed\n".to_vec()),
        (514, b"<034".to_vec()),
        (161, snmp(1, 0xa0)),
        (162, snmp(0, 0xa4)),
        (161, packet(&[&[0x30, 0x82, 0, 4, 2, 1, 3, 0x30]])),
        (5060, b"SIP/2.0 180 Ringing\r\n".to_vec()),
        (1700, packet(&[&[40, 7, 0, 20], &[0; 16]])),
        (500, ike(2, 34, 8, 28)),
        (4500, packet(&[&[0; 4], &ike(2, 35, 8, 28)])),
        (4500, vec![0, 0, 0x10, 0, 0, 0, 0, 7, 9, 9]),
        (4500, vec![0xff]),
    ]
    .into_iter()
    .map(|(port, payload)| ipv4(17, 0, &udp(40000, port, &payload)))
    .collect()
}
