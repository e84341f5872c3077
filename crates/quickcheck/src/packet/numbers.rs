//! The numbers by which protocols call each other.

use super::spec::Space;

/// The number of the layer called `name` in `space`.
pub(super) fn of(space: Space, name: &str) -> Option<u128> {
    let table: &[(&str, u128)] = match space {
        Space::EtherType => ETHER_TYPES,
        Space::IpProto => IP_PROTOS,
        Space::Ppp => PPP_PROTOS,
        Space::LlcSap => LLC_SAPS,
        Space::Nlpid => NLPIDS,
        Space::LoopbackAf => &[("ip4", 2), ("ip6", 24)],
        Space::PflogAf => &[("ip4", 2), ("ip6", 10)],
        Space::IpnetAf => &[("ip4", 2), ("ip6", 26)],
        Space::Arcnet => &[("ip4", 212), ("arp", 213), ("rarp", 214), ("ip6", 196), ("atalk", 221)],
        Space::SllProto => return of_cooked(name),
    };
    table.iter().find(|&&(known, _)| known == name).map(|&(_, number)| number)
}

/// Linux' cooked captures use EtherTypes, and small numbers for frames that have none.
fn of_cooked(name: &str) -> Option<u128> {
    match name {
        "llc" => Some(4),
        "ipx" => Some(1),
        _ => of(Space::EtherType, name),
    }
}

#[rustfmt::skip]
const ETHER_TYPES: &[(&str, u128)] = &[
    ("ip4", 0x0800), ("arp", 0x0806), ("rarp", 0x8035), ("ip6", 0x86dd), ("vlan", 0x8100), ("qinq", 0x88a8),
    ("mpls", 0x8847), ("pppoed", 0x8863), ("pppoes", 0x8864), ("atalk", 0x809b), ("aarp", 0x80f3), ("ipx", 0x8137),
    ("decnet", 0x6003), ("decnetpad", 0x6003),
    ("decnetshort", 0x6003), ("lat", 0x6004), ("moprc", 0x6002), ("mopdl", 0x6001), ("sca", 0x6007), ("loopback", 0x9000),
    ("eth", 0x6558), ("lldp", 0x88cc), ("slow", 0x8809),
];

#[rustfmt::skip]
const IP_PROTOS: &[(&str, u128)] = &[
    ("hopopt", 0), ("icmp", 1), ("igmp", 2), ("ip4", 4), ("tcp", 6), ("igrp", 9), ("udp", 17), ("ip6", 41),
    ("routing", 43), ("frag", 44), ("gre", 47), ("esp", 50), ("ah", 51), ("icmp6", 58), ("dest", 60), ("pim", 103),
    ("vrrp", 112), ("carp", 112), ("sctp", 132), ("mobility", 135), ("eth", 143),
];

#[rustfmt::skip]
const PPP_PROTOS: &[(&str, u128)] = &[
    ("ip4", 0x21), ("clnp", 0x23), ("esis", 0x23), ("isis", 0x23), ("decnet", 0x27), ("atalk", 0x29), ("ipx", 0x2b),
    ("vjc", 0x2d), ("vjnc", 0x2f), ("stp", 0x31), ("netbeui", 0x3f), ("ip6", 0x57), ("mpls", 0x281), ("lcp", 0xc021),
];

#[rustfmt::skip]
const LLC_SAPS: &[(&str, u128)] = &[
    ("ip4", 0x06), ("stp", 0x42), ("snap", 0xaa), ("ipx", 0xe0), ("netbeui", 0xf0), ("clnp", 0xfe), ("esis", 0xfe),
    ("isis", 0xfe),
];

#[rustfmt::skip]
const NLPIDS: &[(&str, u128)] =
    &[("snap", 0x80), ("clnp", 0x81), ("esis", 0x82), ("isis", 0x83), ("ip6", 0x8e), ("ip4", 0xcc)];
