//! IPv4, IPv6 with its extension headers, and address resolution.

use super::*;

pub(super) static LAYERS: &[Spec] = &[
    layer(
        "ip4",
        &["src", "dst"],
        &[
            bits("version", 4, 4),
            auto("ihl", 4, Default::HeaderLen { unit: 4, minus: 0 }),
            bits("tos", 8, 0),
            auto("len", 16, Default::TotalLen(0)),
            bits("id", 16, 1),
            bits("reserved", 1, 0),
            bits("df", 1, 0),
            bits("mf", 1, 0),
            bits("frag", 13, 0),
            bits("ttl", 8, 64),
            next("proto", 8, Space::IpProto, 253),
            sum(Sum::Header),
            ip4("src", "192.0.2.1"),
            ip4("dst", "192.0.2.2"),
            bytes("options"),
        ],
    ),
    layer(
        "ip6",
        &["src", "dst"],
        &[
            bits("version", 4, 6),
            bits("class", 8, 0),
            bits("flow", 20, 0),
            auto("len", 16, Default::PayloadLen(0)),
            next("next", 8, Space::IpProto, 59),
            bits("hops", 8, 64),
            ip6("src", "2001:db8::1"),
            ip6("dst", "2001:db8::2"),
        ],
    ),
    layer("hopopt", &[], OPTIONS),
    layer("dest", &[], OPTIONS),
    layer(
        "routing",
        &["type"],
        &[NEXT, EXTENSION_LEN, bits("type", 8, 0), bits("left", 8, 0), bits("fill", 32, 0), bytes("data")],
    ),
    layer("mobility", &[], OPTIONS),
    layer(
        "frag",
        &["offset"],
        &[
            NEXT,
            bits("reserved", 8, 0),
            bits("offset", 13, 0),
            bits("fill", 2, 0),
            bits("more", 1, 0),
            bits("id", 32, 1),
        ],
    ),
    layer(
        "ah",
        &["spi"],
        &[
            NEXT,
            auto("len", 8, Default::HeaderLen { unit: 4, minus: 2 }),
            bits("reserved", 16, 0),
            bits("spi", 32, 256),
            bits("seq", 32, 1),
            bits("icv", 96, 0),
            bytes("more"),
        ],
    ),
    layer("esp", &["spi"], &[bits("spi", 32, 256), bits("seq", 32, 1)]),
    layer("arp", &["op"], ARP),
    layer("rarp", &["op"], ARP),
];

const NEXT: Field = next("next", 8, Space::IpProto, 59);
const EXTENSION_LEN: Field = auto("len", 8, Default::HeaderLen { unit: 8, minus: 1 });

/// Options filled with one PadN of four bytes; more may follow in `data`, in steps of eight bytes.
static OPTIONS: &[Field] = &[NEXT, EXTENSION_LEN, bits("pad", 48, 0x0104_0000_0000), bytes("data")];

static ARP: &[Field] = &[
    bits("htype", 16, 1),
    bits("ptype", 16, 0x0800),
    bits("hlen", 8, 6),
    bits("plen", 8, 4),
    bits("op", 16, 1),
    mac("sha", SRC_MAC),
    ip4("spa", "192.0.2.1"),
    mac("tha", "00:00:00:00:00:00"),
    ip4("tpa", "192.0.2.2"),
];
