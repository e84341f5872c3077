//! Names of protocols and of ICMP's types, as iptables and nft print them.

/// Protocols over IP.
const PROTOCOLS: [(&str, u8); 16] = [
    ("icmp", 1),
    ("igmp", 2),
    ("ipencap", 4),
    ("tcp", 6),
    ("udp", 17),
    ("ipv6", 41),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", 58),
    ("ipv6-icmp", 58),
    ("ospf", 89),
    ("pim", 103),
    ("vrrp", 112),
    ("sctp", 132),
    ("udplite", 136),
];

/// The number of a protocol.
pub(super) fn protocol(name: &str) -> Option<u8> {
    let known = PROTOCOLS.iter().find(|(known, _)| *known == name).map(|&(_, number)| number);
    known.or_else(|| name.parse().ok())
}

/// Types of ICMP.
const ICMP: [(&str, u8); 13] = [
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];

/// Types of ICMPv6.
const ICMP6: [(&str, u8); 18] = [
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("nd-router-solicit", 133),
    ("router-solicitation", 133),
    ("nd-router-advert", 134),
    ("router-advertisement", 134),
    ("nd-neighbor-solicit", 135),
    ("neighbour-solicitation", 135),
    ("nd-neighbor-advert", 136),
    ("neighbour-advertisement", 136),
    ("nd-redirect", 137),
];

/// The number of a type of ICMP, or of ICMPv6.
pub(super) fn icmp_type(name: &str, is_v6: bool) -> Option<u8> {
    let table: &[(&str, u8)] = if is_v6 { &ICMP6 } else { &ICMP };
    let known = table.iter().find(|(known, _)| *known == name).map(|&(_, number)| number);
    known.or_else(|| name.parse().ok())
}

/// Flags of TCP, from the lowest bit.
const TCP_FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"];

/// The bits of flags of TCP: names in either case, `ALL`, `NONE`, or a number.
pub(super) fn tcp_flags<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<u8> {
    let bit = |name: &str| match name.to_ascii_lowercase().as_str() {
        // Of iptables, which does not know the two of ECN.
        "all" => Some(0x3f),
        "none" => Some(0),
        name => match TCP_FLAGS.iter().position(|known| *known == name) {
            Some(at) => Some(1 << at),
            None => number(name).and_then(|number| u8::try_from(number).ok()),
        },
    };
    names.into_iter().map(bit).try_fold(0, |bits, bit| Some(bits | bit?))
}

/// The kernel's bits for states of connections.
pub(super) fn ct_states<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<u32> {
    let bit = |name: &str| match name.to_ascii_lowercase().as_str() {
        "invalid" => Some(1),
        "established" => Some(2),
        "related" => Some(4),
        "new" => Some(8),
        "untracked" => Some(64),
        _ => None,
    };
    names.into_iter().map(bit).try_fold(0, |bits, bit| Some(bits | bit?))
}

/// A number, decimal or hexadecimal.
pub(super) fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
