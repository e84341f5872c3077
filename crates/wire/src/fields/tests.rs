use super::*;
use crate::bytes::from_hex;
use proptest::prelude::*;

fn text(linktype: LinkType, packet: &[u8], name: &str) -> Option<String> {
    let mut dissector = Dissector::default();
    let dissection = dissector.read(linktype, packet, packet.len() as u32);
    field(name).unwrap_or_else(|| panic!("no {name}")).read(&dissection).map(|value| value.to_string())
}

/// A SYN with options, in a VLAN within a service VLAN.
const TAGGED: &str = "02000000 0002 020000000001 88a8 6064 8100 200a 0800
    45b80034 12344000 4006 abcd c0000201 c0000202
    d431 01bb 11223344 00000000 8002 faf0 5678 0000 020405b4 0101 0402 0303 0700";

#[test]
fn each_header_is_read() {
    let packet = from_hex(TAGGED);
    for (name, expected) in [
        ("eth.src", "02:00:00:00:00:01"),
        ("eth.type", "0x88a8"),
        ("ieee8021ad.id", "100"),
        ("vlan.id", "10"),
        ("vlan.priority", "1"),
        ("vlan.etype", "0x0800"),
        ("ip.dsfield.dscp", "46"),
        ("ip.id", "0x1234"),
        ("ip.flags", "0x02"),
        ("ip.flags.df", "1"),
        ("ip.flags.mf", "0"),
        ("ip.frag_offset", "0"),
        ("ip.src", "192.0.2.1"),
        ("tcp.srcport", "54321"),
        ("tcp.seq_raw", "287454020"),
        ("tcp.flags", "0x0002"),
        ("tcp.flags.syn", "1"),
        ("tcp.options.mss_val", "1460"),
        ("tcp.options.wscale.shift", "7"),
        ("tcp.len", "0"),
    ] {
        assert_eq!(text(LinkType::EN10MB, &packet, name).as_deref(), Some(expected), "{name}");
    }
    for absent in
        ["eth.len", "ipv6.src", "udp.srcport", "arp.opcode", "tcp.options.timestamp.tsval", "dns.id"]
    {
        assert_eq!(text(LinkType::EN10MB, &packet, absent), None, "{absent}");
    }
}

#[test]
fn what_an_error_quotes_counts_where_the_packet_has_none() {
    let error = from_hex(
        "45000038 00000000 4001 0000 c0000209 c0000201 0301 0000 00000000
         45000054 0000 2000 4011 0000 c0000201 c0000202 1389 0035 0040 0000",
    );
    for (name, expected) in [
        ("ip.src", Some("192.0.2.9")),
        ("ip.flags.mf", Some("0")),
        ("icmp.type", Some("3")),
        ("icmp.ident", None),
        ("udp.srcport", Some("5001")),
        ("udp.length", Some("64")),
    ] {
        assert_eq!(text(LinkType::RAW, &error, name).as_deref(), expected, "{name}");
    }
}

#[test]
fn a_header_that_was_cut_has_what_is_there() {
    let packet = from_hex(TAGGED);
    for (captured, there, missing) in [
        (30, "ip.id", "ip.ttl"),
        (46, "tcp.dstport", "tcp.seq_raw"),
        (54, "tcp.ack_raw", "tcp.window_size_value"),
    ] {
        assert!(text(LinkType::EN10MB, &packet[..captured], there).is_some(), "{there} of {captured}");
        assert_eq!(text(LinkType::EN10MB, &packet[..captured], missing), None, "{missing} of {captured}");
    }
}

#[test]
fn names_are_dotted_and_what_would_end_a_column_is_escaped() {
    let query = |question: &str| {
        let dns = format!("1234 0100 0001 0000 0000 0000 {question} 0001 0001");
        let len = from_hex(&dns).len();
        let (udp_len, ip_len) = (8 + len, 28 + len);
        from_hex(&format!(
            "4500{ip_len:04x} 00000000 4011 0000 c0000201 c0000202 1389 0035 {udp_len:04x} 0000 {dns}"
        ))
    };
    for (question, name) in [
        ("03777777 076578616d706c65 03636f6d 00", "www.example.com"),
        ("00", "<Root>"),
        ("04 61096200 00", r"a\tb\x00"),
        ("03 c3a95c 00", r"é\\"),
        // A pointer to itself.
        ("0161 c00c", "a"),
    ] {
        assert_eq!(text(LinkType::RAW, &query(question), "dns.qry.name").as_deref(), Some(name));
    }
}

proptest! {
    #[test]
    fn any_bytes_have_fields(bytes in proptest::collection::vec(any::<u8>(), 0..200), linktype in 0_u32..300) {
        let mut dissector = Dissector::default();
        let dissection = dissector.read(LinkType::new(linktype), &bytes, bytes.len() as u32);
        for field in FIELDS {
            let value = field.read(&dissection).map(|value| value.to_string());
            prop_assert!(value.is_none_or(|text| !text.contains(['\t', '\n', '\r'])), "{}", field.name);
        }
    }
}
