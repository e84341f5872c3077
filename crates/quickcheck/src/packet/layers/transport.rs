//! What rides on IP, tunnels included.

use super::*;

pub(super) static LAYERS: &[Spec] = &[
    layer(
        "tcp",
        &["sport", "dport"],
        &[
            bits("sport", 16, 40_000),
            bits("dport", 16, 80),
            bits("seq", 32, 1),
            bits("ack", 32, 0),
            auto("off", 4, Default::HeaderLen { unit: 4, minus: 0 }),
            bits("reserved", 4, 0),
            Field { name: "flags", kind: Kind::Flags("FSRPAUEC"), default: Default::Text("A") },
            bits("window", 16, 0xffff),
            sum(Sum::Pseudo),
            bits("urgent", 16, 0),
            bytes("options"),
        ],
    ),
    layer(
        "udp",
        &["sport", "dport"],
        &[
            bits("sport", 16, 40_000),
            bits("dport", 16, 53),
            auto("len", 16, Default::TotalLen(0)),
            sum(Sum::Pseudo),
        ],
    ),
    layer(
        "sctp",
        &["sport", "dport"],
        &[bits("sport", 16, 40_000), bits("dport", 16, 5060), bits("tag", 32, 1), sum(Sum::Crc32c)],
    ),
    layer(
        "icmp",
        &["type", "code"],
        &[bits("type", 8, 8), bits("code", 8, 0), sum(Sum::HeaderAndPayload), bits("rest", 32, 0x0001_0001)],
    ),
    layer(
        "icmp6",
        &["type", "code"],
        &[bits("type", 8, 128), bits("code", 8, 0), sum(Sum::Pseudo), bits("rest", 32, 0x0001_0001)],
    ),
    layer(
        "igmp",
        &["type"],
        &[bits("type", 8, 0x16), bits("code", 8, 0), sum(Sum::HeaderAndPayload), ip4("group", "239.0.0.1")],
    ),
    layer(
        "pim",
        &["type"],
        &[bits("version", 4, 2), bits("type", 4, 0), bits("reserved", 8, 0), sum(Sum::HeaderAndPayload)],
    ),
    layer("vrrp", &["vrid"], VRRP),
    layer("carp", &["vrid"], VRRP),
    layer(
        "igrp",
        &["op"],
        &[
            bits("version", 4, 1),
            bits("op", 4, 1),
            bits("edition", 8, 1),
            bits("as", 16, 1),
            bits("counts", 48, 0),
            sum(Sum::HeaderAndPayload),
        ],
    ),
    layer(
        "gre",
        &["proto"],
        &[bits("flags", 13, 0), bits("version", 3, 0), next("proto", 16, Space::EtherType, 0x88b5)],
    ),
    layer(
        "geneve",
        &["vni"],
        &[
            bits("version", 2, 0),
            // The options' length in words; the fixed header is eight bytes.
            auto("optlen", 6, Default::HeaderLen { unit: 4, minus: 2 }),
            bits("oam", 1, 0),
            bits("critical", 1, 0),
            bits("reserved", 6, 0),
            next("proto", 16, Space::EtherType, 0x6558),
            bits("vni", 24, 0),
            bits("fill", 8, 0),
            bytes("options"),
        ],
    ),
    layer(
        "vxlan",
        &["vni"],
        &[bits("flags", 8, 8), bits("reserved", 24, 0), bits("vni", 24, 0), bits("fill", 8, 0)],
    ),
];

static VRRP: &[Field] = &[
    bits("version", 4, 2),
    bits("type", 4, 1),
    bits("vrid", 8, 1),
    bits("prio", 8, 100),
    bits("count", 8, 0),
    bits("auth", 8, 0),
    bits("interval", 8, 1),
    sum(Sum::HeaderAndPayload),
];
