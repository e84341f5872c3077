//! What UDP and TCP carry.

use super::*;

const FROM: &str = "192.0.2.1";
const TO: &str = "192.0.2.2";

/// The line of a datagram between these ports, without what stands before the application.
fn over_udp(src: u16, dst: u16, payload: &[u8]) -> String {
    let line = line(LinkType::RAW, &ipv4(17, 0, &udp(src, dst, payload)));
    let start = format!("{FROM}:{src} > {TO}:{dst} udp ");
    line.strip_prefix(&start).unwrap_or_else(|| panic!("{line}")).to_owned()
}

/// The name www.example.
const NAME: &[u8] = b"\x03www\x07example\0";

/// A message with these flags, numbers of questions and answers, and what follows.
fn dns(flags: u16, [questions, answers]: [u8; 2], pieces: &[&[u8]]) -> Vec<u8> {
    let [high, low] = flags.to_be_bytes();
    packet(&[&[0x23, 0xdc, high, low, 0, questions, 0, answers, 0, 0, 0, 0], &pieces.concat()])
}

/// Type and class, as in a question.
const A: &[u8] = &[0, 1, 0, 1];
const AAAA: &[u8] = &[0, 28, 0, 1];
const CNAME: &[u8] = &[0, 5, 0, 1];
const PTR: &[u8] = &[0, 12, 0, 1];
/// To where the first question's name is.
const POINTER: &[u8] = &[0xc0, 12];
const TTL: &[u8] = &[0, 0, 0, 60];

fn dns_answer() -> Vec<u8> {
    let cname: &[&[u8]] = &[POINTER, CNAME, TTL, &[0, 5, 2, b'w', b'2', 0xc0, 16]];
    let a: &[&[u8]] = &[&[0xc0, 41], A, TTL, &[0, 4, 192, 0, 2, 80]];
    dns(0x8580, [1, 2], &[NAME, A, &cname.concat(), &a.concat()])
}

#[test]
fn names_and_addresses_of_dns() {
    let aaaa = packet(&[POINTER, AAAA, TTL, &[0, 16], &[0x20, 1], &[0; 13], &[9]]);
    for (message, expected) in [
        (dns(0x0100, [1, 0], &[NAME, A]), "query id 9180 A www.example"),
        (dns(0x0100, [1, 0], &[b"\0", &[0, 2, 0, 1]]), "query id 9180 NS ."),
        (dns(0x0100, [1, 0], &[NAME, &[0xff, 0, 0, 1]]), "query id 9180 TYPE65280 www.example"),
        (dns_answer(), "response id 9180 A www.example answers 2 192.0.2.80"),
        (dns(0x8180, [1, 1], &[NAME, AAAA, &aaaa]), "response id 9180 AAAA www.example answers 1 2001::9"),
        (dns(0x8183, [1, 0], &[NAME, A]), "response id 9180 A www.example NXDOMAIN answers 0"),
        (dns(0x818e, [0, 0], &[]), "response id 9180 code 14 answers 0"),
        (dns(0x8380, [1, 0], &[NAME, A]), "response id 9180 A www.example answers 0 truncated"),
        // Multicast DNS answers what nobody asks.
        (
            dns(0x8400, [0, 1], &[NAME, PTR, TTL, &[0, 2, 0xc0, 12]]),
            "response id 9180 PTR www.example answers 1 www.example",
        ),
        (dns(0x2800, [1, 0], &[NAME, &[0, 6, 0, 1]]), "update query id 9180 SOA www.example"),
        (dns(0x7800, [0, 0], &[]), "opcode 15 query id 9180"),
    ] {
        let expected = format!("dns {expected} len {}", message.len());
        assert_eq!(over_udp(40000, 53, &message), expected);
        assert_eq!(over_udp(5353, 5353, &message), expected);
        // One whole message in a segment.
        let (len, mut segment) = (message.len() as u16, tcp(24, &[]));
        segment[3] = 53;
        segment.extend(len.to_be_bytes());
        segment.extend(&message);
        let over_tcp = line(LinkType::RAW, &ipv4(6, 0, &segment));
        let expected = expected.replace(&format!("len {len}"), &format!("len {}", len + 2));
        assert!(over_tcp.ends_with(&format!(" win 64240 {expected}")), "{over_tcp}");
        segment.push(0);
        assert!(!line(LinkType::RAW, &ipv4(6, 0, &segment)).contains("dns"), "more than one message");
    }
    assert_eq!(over_udp(53, 40000, &dns(0, [0, 0], &[])[..11]), "len 11");
}

/// A record for the name of the question.
fn record(kind: u8, data: &[u8]) -> Vec<u8> {
    packet(&[POINTER, &[0, kind, 0, 1], TTL, &(data.len() as u16).to_be_bytes(), data])
}

/// An answer to a question of the first type.
fn answered(kinds: &[(u8, &[u8])]) -> Vec<u8> {
    let records: Vec<u8> = kinds.iter().flat_map(|(kind, data)| record(*kind, data)).collect();
    dns(0x8180, [1, kinds.len() as u8], &[NAME, &[0, kinds[0].0, 0, 1], &records])
}

#[test]
fn what_dns_answers() {
    let mx = b"\0\x0a\x04mail\xc0\x10";
    let soa = packet(&[b"\x02ns\xc0\x10", b"\x05admin\xc0\x10", &[0, 0, 0, 7], &[0; 16]]);
    let address = &[192, 0, 2, 80][..];
    for (answers, expected) in [
        (&[(2, &b"\x02ns\xc0\x10"[..])][..], "NS www.example answers 1 ns.example"),
        (&[(5, b"\x01a\0"), (1, address)], "CNAME www.example answers 2 a"),
        (&[(15, mx), (1, address)], "MX www.example answers 2 10 mail.example"),
        (&[(33, b"\0\0\0\x05\x13\xc4\x03sip\xc0\x10")], "SRV www.example answers 1 0 5 5060 sip.example"),
        (&[(16, b"\x09v=spf1 \"a\x04next")], r#"TXT www.example answers 1 "v=spf1 \034a""#),
        (&[(16, b"\0")], r#"TXT www.example answers 1 """#),
        (&[(6, &soa)], "SOA www.example answers 1 ns.example serial 7"),
        // Nothing is shown of what is not as it should be.
        (&[(1, &address[1..])], "A www.example answers 1"),
        (&[(16, b"\x09v=spf1")], "TXT www.example answers 1"),
        (&[(12, b"\x03abc"), (1, address)], "PTR www.example answers 2 192.0.2.80"),
        (&[(6, &soa[..16])], "SOA www.example answers 1"),
        (&[(15, b"\0")], "MX www.example answers 1"),
        (&[(64, b"\0\x01\0")], "SVCB www.example answers 1"),
    ] {
        let message = answered(answers);
        let expected = format!("dns response id 9180 {expected} len {}", message.len());
        assert_eq!(over_udp(53, 40000, &message), expected);
    }
    // Not what was asked for: an address, or else the first that says something.
    let message = dns(0x8180, [1, 2], &[NAME, AAAA, &record(64, &[0; 3]), &record(5, b"\x01a\0")]);
    assert!(
        over_udp(53, 40000, &message)
            .starts_with("dns response id 9180 AAAA www.example answers 2 CNAME a len")
    );
}

/// A response with an answer, a record about the zone, and an OPT record with the upper bits of a code.
fn dns_with_opt(flags: u16, code: u8) -> Vec<u8> {
    let opt = [0, 0, 41, 4, 0xd0, code, 0, 0x80, 0, 0, 0];
    let zone = record(6, b"\x02ns\0\0");
    let mut message = dns(flags, [1, 1], &[NAME, A, &record(1, &[192, 0, 2, 80]), &zone, &opt]);
    (message[9], message[11]) = (1, 1);
    message
}

#[test]
fn codes_of_dns_that_need_more_than_four_bits() {
    for (flags, code, expected) in [
        (0x8180, 0, "response id 9180 A www.example answers 1 192.0.2.80"),
        (0x8180, 1, "response id 9180 A www.example BADVERS answers 1 192.0.2.80"),
        (0x8187, 1, "response id 9180 A www.example BADCOOKIE answers 1 192.0.2.80"),
        (0x8182, 2, "response id 9180 A www.example code 34 answers 1 192.0.2.80"),
        (0x818f, 0xff, "response id 9180 A www.example code 4095 answers 1 192.0.2.80"),
        (0x0100, 1, "query id 9180 A www.example"),
    ] {
        let message = dns_with_opt(flags, code);
        assert_eq!(over_udp(53, 40000, &message), format!("dns {expected} len {}", message.len()));
    }
    let whole = ipv4(17, 0, &udp(53, 40000, &dns_with_opt(0x8180, 1)));
    let cut = summarize(LinkType::RAW, &whole[..whole.len() - 5], whole.len() as u32).to_string();
    assert!(cut.ends_with(" A www.example answers 1 192.0.2.80 len 73 cut"), "{cut}");
}

/// What was not captured of a message is told of; what its sender left out is not.
#[test]
fn messages_that_were_cut() {
    let cut = |packet: &[u8], by: usize| {
        summarize(LinkType::RAW, &packet[..packet.len() - by], packet.len() as u32).to_string()
    };
    let dns = ipv4(17, 0, &udp(53, 40000, &dns_answer()));
    assert!(cut(&dns, 0).ends_with(" A www.example answers 2 192.0.2.80 len 62"));
    assert!(cut(&dns, 1).ends_with(" A www.example answers 2 CNAME w2.example len 62 cut"));
    assert!(cut(&dns, 45).ends_with(" dns response id 9180 answers 2 len 62 cut"));
    let dhcp = ipv4(17, 0, &udp(68, 67, &dhcp(1, [0; 4], &[53, 1, 1, 12, 1, 7, 255])));
    assert!(cut(&dhcp, 1).ends_with("dhcp discover id 0x1234abcd 02:00:00:00:00:02 len 247 cut"));
    // Without its type, it may be of either.
    assert!(cut(&dhcp, 7).ends_with("dhcp request id 0x1234abcd 02:00:00:00:00:02 len 247 cut"));
    assert!(!cut(&dhcp, 0).ends_with("cut"));
    let hello = client_hello(b"www.example.com");
    let (tls, len) = (ipv4(6, 0, &tcp(24, &hello)), hello.len());
    assert!(cut(&tls, 1).ends_with(&format!("tls client hello www.example.com len {len}")));
    assert!(cut(&tls, 9).ends_with(&format!("tls client hello len {len} cut")));
}

/// Names that never end, that are not there, or that a terminal would act upon.
#[test]
fn names_of_hostile_dns() {
    let long = [&[63], &[b'x'; 63][..]].concat();
    let long = packet(&[&long, &long, &long, &[0]]);
    for (name, expected) in [
        // To itself, ahead, in a circle of two, to where no name is.
        (&[0xc0, 12][..], "?"),
        (&[0xc0, 20], "?"),
        (&[1, b'a', 0xc0, 12], "a?"),
        (&[1, b'a', 0xc0, 0], "a?"),
        (&[1, b'a', 0xc0, 5], "a?"),
        (b"\x05a.b c\x01d\0", r"a\046b\032c.d"),
        // Nor can it make up what follows it.
        (b"\x18evil answers 1 192.0.2.9\0", r"evil\032answers\0321\032192\0460\0462\0469"),
        (b"\x04\x1b[2J\x02\x07\xff\0", r"\027[2J.\007\255"),
        (&long, &format!("{}...", "x".repeat(63) + "." + &"x".repeat(36))),
    ] {
        let message = dns(0x0100, [1, 0], &[name, A]);
        let expected = format!("dns query id 9180 A {expected} len {}", message.len());
        assert_eq!(over_udp(40000, 53, &message), expected);
    }
    // What ends within its name, or has a length that there is not, has none.
    for (name, flaw) in [
        (&b"\x07exam"[..], ""),
        (&[0x80, 1], ", bad name"),
        (&[0x40, 1], ", bad name"),
        (&[1; 300], ", bad name"),
        (&[1; 256], ", bad name"),
        (&[1; 254], ""),
    ] {
        let message = dns(0x0100, [1, 0], &[name]);
        let expected = format!("dns query id 9180 len {}{flaw}", message.len());
        assert_eq!(over_udp(40000, 53, &message), expected);
    }
    // Each pointer goes back, and there are more of them than anybody uses.
    let pointers: Vec<u8> = (6..60_u8).flat_map(|i| [0xc0, i * 2 - 2]).collect();
    let chain = dns(0x0100, [2, 0], &[NAME, &pointers]);
    assert!(over_udp(40000, 53, &chain).starts_with("dns query id 9180"));
}

/// A message with these options, behind the magic.
fn dhcp(op: u8, given: [u8; 4], options: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 236];
    message[..8].copy_from_slice(&[op, 1, 6, 0, 0x12, 0x34, 0xab, 0xcd]);
    message[16..20].copy_from_slice(&given);
    message[28..34].copy_from_slice(&MACS[..6]);
    packet(&[&message, &[0x63, 0x82, 0x53, 0x63], options])
}

#[test]
fn kinds_and_addresses_of_dhcp() {
    let client = "id 0x1234abcd 02:00:00:00:00:02";
    for (message, expected) in [
        (dhcp(1, [0; 4], &[53, 1, 1, 255]), format!("dhcp discover {client}")),
        (
            dhcp(1, [0; 4], &[0, 53, 1, 3, 50, 4, 192, 0, 2, 7, 255]),
            format!("dhcp request {client} wants 192.0.2.7"),
        ),
        (dhcp(2, [192, 0, 2, 7], &[53, 1, 5]), format!("dhcp ack {client} gets 192.0.2.7")),
        (dhcp(2, [0; 4], &[53, 1, 6]), format!("dhcp nak {client}")),
        (dhcp(1, [0; 4], &[53, 1, 99]), format!("dhcp type 99 {client}")),
        // Behind the end, and of a length beyond the message: no option.
        (dhcp(1, [0; 4], &[255, 53, 1, 1]), format!("bootp request {client}")),
        (dhcp(1, [0; 4], &[53, 9, 1]), format!("dhcp request {client}")),
        (dhcp(2, [0; 4], &[])[..236].to_vec(), format!("dhcp reply {client}")),
        (dhcp(2, [0; 4], &[255]), format!("bootp reply {client}")),
        // BOOTP with what a vendor has in place of options; DHCP with options where a file is named.
        (packet(&[&dhcp(1, [0; 4], &[])[..236], &[0; 64]]), format!("bootp request {client}")),
        (dhcp(2, [0; 4], &[52, 1, 1, 255]), format!("dhcp reply {client}")),
    ] {
        assert_eq!(over_udp(68, 67, &message), format!("{expected} len {}", message.len()));
    }
    assert_eq!(over_udp(68, 67, &[3; 300]), "len 300");
    for (message, expected) in [
        ([1, 0x10, 8, 0x3b], "solicit id 0x10083b"),
        ([11, 0, 0, 1], "information request id 0x000001"),
        ([12, 0, 0x20, 1], "relay forward"),
        ([77, 0, 0, 1], "type 77 id 0x000001"),
    ] {
        assert_eq!(over_udp(546, 547, &message), format!("dhcp6 {expected} len 4"));
    }
    assert_eq!(over_udp(546, 547, &[1, 2, 3]), "len 3");
}

fn ntp(first: u8, stratum: u8, reference: [u8; 4]) -> Vec<u8> {
    let mut message = vec![first, stratum];
    message.resize(48, 0);
    message[12..16].copy_from_slice(&reference);
    message
}

#[test]
fn modes_of_ntp() {
    for (message, expected) in [
        (ntp(0x23, 0, [0; 4]), "ntp v4 client"),
        (ntp(0x24, 2, [192, 0, 2, 1]), "ntp v4 server stratum 2"),
        (ntp(0xdc, 0, *b"RATE"), "ntp v3 server kiss RATE"),
        (ntp(0x1c, 0, [27, b'[', 1, 2]), r"ntp v3 server kiss \027[\001\002"),
        (ntp(0x16, 2, [0; 4]), "ntp v2 control"),
    ] {
        assert_eq!(over_udp(123, 123, &message), format!("{expected} len 48"));
    }
    assert_eq!(over_udp(123, 123, &ntp(0x23, 0, [0; 4])[..47]), "len 47");
    assert_eq!(over_udp(123, 123, &ntp(0xff, 0, [0; 4])), "len 48");
}

/// The hello of a client that asks for this server.
fn client_hello(name: &[u8]) -> Vec<u8> {
    let entry = packet(&[&[0], &len(name), name]);
    let list = packet(&[&len(&entry), &entry]);
    let extensions = packet(&[&[0xff, 1, 0, 1, 0], &[0, 0], &len(&list), &list, &[0, 43, 0, 1, 0]]);
    client_hello_with(&packet(&[&len(&extensions), &extensions]))
}

/// A length of two bytes.
fn len(bytes: &[u8]) -> [u8; 2] {
    (bytes.len() as u16).to_be_bytes()
}

/// A hello that ends with this list of extensions, whose length is part of it.
fn client_hello_with(extensions: &[u8]) -> Vec<u8> {
    let session = [32; 33];
    let suites = [0, 4, 0x13, 1, 0x13, 2, 1, 0];
    let body = packet(&[&[3, 3], &[7; 32], &session, &suites, extensions]);
    let handshake = packet(&[&[1, 0], &len(&body), &body]);
    packet(&[&[22, 3, 1], &len(&handshake), &handshake])
}

#[test]
fn servers_that_tls_asks_for() {
    let shown = |segment: &[u8]| {
        let line = line(LinkType::RAW, &ipv4(6, 0, &tcp(24, segment)));
        line.split_once("win 64240 ").expect("a window").1.to_owned()
    };
    let hello = client_hello(b"www.example.com");
    assert_eq!(shown(&hello), format!("tls client hello www.example.com len {}", hello.len()));
    // Behind the name nothing matters; within it, there is none.
    let name_end = hello.len() - 5;
    assert!(shown(&hello[..name_end]).contains("www.example.com"));
    for len in 9..name_end {
        assert_eq!(shown(&hello[..len]), format!("tls client hello len {len}"));
    }
    assert!(shown(&client_hello(b"a\x1b]0;x\x07")).starts_with(r"tls client hello a\027]0;x\007 len"));
    assert_eq!(shown(&[22, 3, 3, 0, 90, 2, 0, 0, 86, 3, 3]), "tls server hello len 11");
    for other in [
        &[23, 3, 3, 0, 90, 1, 0, 0, 86][..],
        &[22, 3, 3, 0, 90, 11, 0, 0, 86],
        &[22, 3, 9, 0, 90, 1, 0, 0, 86],
    ] {
        assert_eq!(shown(other), "len 9");
    }
}

/// Each length within a hello holds what is inside, whatever follows and whatever the lengths inside say.
#[test]
fn no_name_of_a_server_from_elsewhere() {
    let sni = |list: &[u8]| packet(&[&[0, 0], &len(list), list]);
    let named = |name: &[u8]| packet(&[&len(name), name]);
    let whole = sni(b"\0\x06\0\0\x03abc");
    for (extensions, expected) in [
        (named(&whole), "tls client hello abc"),
        // Nothing in it, and what follows is much like a name.
        (named(&packet(&[&sni(b""), b"\x12\x34\0\0", b"\x03a\0\x02bc"])), "tls client hello"),
        (named(&packet(&[&sni(b"\0"), b"\x06\0\0\x03abc"])), "tls client hello"),
        // The name is longer than the extension, or than the list in it; it is empty; it is no host's.
        (named(&packet(&[&sni(b"\0\x09\0\0\x06abc"), b"\0\x17\0\0"])), "tls client hello"),
        (named(&sni(b"\0\x05\0\0\x03abc")), "tls client hello"),
        (named(&sni(b"\0\x03\0\0\0")), "tls client hello"),
        (named(&sni(b"\0\x06\x01\0\x03abc")), "tls client hello"),
        // The extensions end before it.
        (packet(&[&[0, 0], &whole]), "tls client hello"),
        (packet(&[&[0, 4, 0, 23, 0, 0], &whole]), "tls client hello"),
    ] {
        let hello = client_hello_with(&extensions);
        let shown = line(LinkType::RAW, &ipv4(6, 0, &tcp(24, &hello)));
        let expected = format!("win 64240 {expected} len {}", hello.len());
        assert!(shown.ends_with(&expected), "{shown}: {extensions:x?}");
    }
    // The message ends where the extensions begin; what follows is another.
    let mut two = client_hello_with(&named(&whole));
    two[8] -= 2 + whole.len() as u8;
    let shown = line(LinkType::RAW, &ipv4(6, 0, &tcp(24, &two)));
    assert!(shown.ends_with(&format!("tls client hello len {}", two.len())), "{shown}");
}

#[test]
fn kinds_of_quic() {
    for (first, version, expected) in [
        (0xc3, [0, 0, 0, 1], "quic v1 initial"),
        (0xd3, [0, 0, 0, 1], "quic v1 0-rtt"),
        (0xe3, [0, 0, 0, 1], "quic v1 handshake"),
        (0xf3, [0, 0, 0, 1], "quic v1 retry"),
        (0xd3, [0x6b, 0x33, 0x43, 0xcf], "quic v2 initial"),
        (0xc3, [0x6b, 0x33, 0x43, 0xcf], "quic v2 retry"),
    ] {
        let packet = packet(&[&[first], &version, &[8], &[0; 8]]);
        assert_eq!(over_udp(4000, 443, &packet), format!("{expected} len 14"));
        assert_eq!(over_udp(443, 4000, &packet), format!("{expected} len 14"));
        assert_eq!(over_udp(4000, 4001, &packet), format!("{expected} len 14"));
    }
    for (first, version, expected) in [
        (0x80, [0, 0, 0, 0], "quic version negotiation"),
        (0xc3, [0xff, 0, 0, 29], "quic version 0xff00001d long header"),
        (0xc3, [0xba, 0x1a, 0x5a, 0xda], "quic version 0xba1a5ada long header"),
    ] {
        let packet = packet(&[&[first], &version, &[8], &[0; 8]]);
        assert_eq!(over_udp(4000, 443, &packet), format!("{expected} len 14"));
        assert_eq!(over_udp(4000, 4001, &packet), "len 14");
    }
    for other in [[0x43, 0, 0, 0, 1, 8], [0x83, 0, 0, 0, 1, 8], [0xc3, 0, 0, 0, 1, 21], [0xc3, 1, 2, 3, 4, 8]]
    {
        assert_eq!(over_udp(4000, 443, &other), "len 6", "{other:?}");
    }
}

/// A segment between these ports.
fn segment(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = tcp(24, payload);
    segment[..2].copy_from_slice(&src.to_be_bytes());
    segment[2..4].copy_from_slice(&dst.to_be_bytes());
    ipv4(6, 0, &segment)
}

/// What the line of such a segment says of it, of which only so many bytes were captured.
fn said(src: u16, dst: u16, payload: &[u8], captured: usize) -> String {
    let bytes = segment(src, dst, payload);
    let line = summarize(LinkType::RAW, &bytes[..40 + captured], bytes.len() as u32).to_string();
    line.split_once("win 64240 ").unwrap_or_else(|| panic!("{line}")).1.to_owned()
}

#[test]
fn first_lines_of_what_is_said_in_words() {
    for (src, dst, payload, expected) in [
        (4000, 80, &b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n"[..], r#"http "GET /a?b HTTP/1.1" len 30"#),
        (4000, 9, b"CONNECT x:443 HTTP/1.1\r\n", r#"http "CONNECT x:443 HTTP/1.1" len 24"#),
        (80, 4000, b"HTTP/1.1 404 Not Found\r\n", r#"http "HTTP/1.1 404 Not Found" len 24"#),
        (4000, 80, b"GET /\x1b[31m\" HTTP/1.1\n", r#"http "GET /\027[31m\034 HTTP/1.1" len 21"#),
        (4000, 554, b"OPTIONS rtsp://x RTSP/1.0\r\n", "len 27"),
        (4000, 80, b"GETTING / nowhere", "len 17"),
        (4000, 80, b"get / HTTP/1.1\r\n", "len 16"),
        (4000, 25, b"ehlo mail.example\r\n", r#"smtp "ehlo mail.example" len 19"#),
        (4000, 587, b"DATA\r\n", r#"smtp "DATA" len 6"#),
        (25, 4000, b"250-mail.example\r\n250 HELP\r\n", r#"smtp "250-mail.example" len 28"#),
        (4000, 25, b"Data of a mail\r\n", r#"smtp "Data of a mail" len 16"#),
        (4000, 25, b"Database\r\n", "len 10"),
        (4000, 25, b"250 of them\r\n", "len 13"),
        (4000, 21, b"RETR a b\r\n", r#"ftp "RETR a b" len 10"#),
        (21, 4000, b"220 ready\r\n", r#"ftp "220 ready" len 11"#),
        (21, 4000, b"22 ready\r\n", "len 10"),
        (4000, 9, b"RETR a b\r\n", "len 10"),
        // What no line ends.
        (4000, 80, b"GET /", r#"http "GET /" len 5"#),
        (4000, 80, b"GET ", "len 4"),
    ] {
        assert_eq!(said(src, dst, payload, payload.len()), expected);
    }
    let long = [b"GET /", &[b'x'; 200][..]].concat();
    let expected = format!("http \"GET /{}...\" len 205", "x".repeat(75));
    for captured in [205, 120, 81] {
        assert_eq!(said(4000, 80, &long, captured), expected);
    }
    let expected = format!("http \"GET /{}\" len 205 cut", "x".repeat(75));
    assert_eq!(said(4000, 80, &long, 80), expected);
    assert_eq!(said(4000, 80, &long, 4), "len 205 cut");
    assert_eq!(said(4000, 80, &long, 0), "len 205");
    assert_eq!(said(21, 4000, b"220 ready\r\n", 2), "len 11 cut");
}

/// Packets of each application.
pub(super) fn samples() -> Vec<Vec<u8>> {
    let of_udp = |src, dst, payload: &[u8]| ipv4(17, 0, &udp(src, dst, payload));
    vec![
        of_udp(53, 40000, &dns_answer()),
        of_udp(53, 40000, &answered(&[(16, b"\x04next"), (15, b"\0\x0a\x04mail\xc0\x10")])),
        of_udp(53, 40000, &answered(&[(33, b"\0\0\0\x05\x13\xc4\x03sip\xc0\x10")])),
        of_udp(53, 40000, &answered(&[(6, b"\x02ns\0\x05admin\xc0\x10\0\0\0\x07\0\0\0\0")])),
        of_udp(53, 40000, &dns_with_opt(0x8180, 1)),
        of_udp(68, 67, &dhcp(1, [0; 4], &[0, 53, 1, 3, 50, 4, 192, 0, 2, 7, 255])),
        of_udp(546, 547, &[1, 2, 3, 4]),
        of_udp(123, 123, &ntp(0xdc, 0, *b"RATE")),
        of_udp(123, 123, &ntp(0x24, 2, [192, 0, 2, 1])),
        of_udp(123, 123, &ntp(0x23, 0, [0; 4])),
        of_udp(4000, 443, &[0xc3, 0, 0, 0, 1, 8, 9, 9]),
        ipv4(6, 0, &tcp(24, &client_hello(b"www.example.com"))),
        segment(4000, 80, b"GET /a?b=\"c\" HTTP/1.1\r\nHost: x\r\n\r\n"),
        segment(25, 4000, b"250-mail.example\r\n"),
        segment(4000, 21, b"RETR a b\r\n"),
    ]
}
