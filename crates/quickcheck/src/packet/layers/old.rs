//! Protocols that are seldom seen today but have words in the language: DECnet, AppleTalk, IPX, NetBEUI, spanning
//! tree, OSI.

use super::*;

pub(super) static LAYERS: &[Spec] = &[
    // A data packet with the long header, as Ethernet carries it: length, flags, then 48-bit addresses whose last two
    // octets hold area and node, least significant octet first.
    layer(
        "decnet",
        &["src", "dst"],
        &[
            little("len", 2, 0),
            bits("flags", 8, 0x26),
            bits("darea", 16, 0),
            bits("dhigh", 32, 0xaa00_0400),
            little("dst", 2, 0x0402),
            bits("sarea", 16, 0),
            bits("shigh", 32, 0xaa00_0400),
            little("src", 2, 0x0401),
            bits("rest", 32, 0),
        ],
    ),
    // The same with one octet of padding before the flags.
    layer(
        "decnetpad",
        &["src", "dst"],
        &[
            little("len", 2, 0),
            bits("pad", 8, 0x81),
            bits("flags", 8, 0x26),
            bits("darea", 16, 0),
            bits("dhigh", 32, 0xaa00_0400),
            little("dst", 2, 0x0402),
            bits("sarea", 16, 0),
            bits("shigh", 32, 0xaa00_0400),
            little("src", 2, 0x0401),
            bits("rest", 32, 0),
        ],
    ),
    layer(
        "decnetshort",
        &["src", "dst"],
        &[
            little("len", 2, 0),
            bits("flags", 8, 0x02),
            little("dst", 2, 0x0402),
            little("src", 2, 0x0401),
            bits("forward", 8, 0),
        ],
    ),
    layer(
        "atalk",
        &["type"],
        &[
            bits("hops", 6, 0),
            auto("len", 10, Default::TotalLen(0)),
            bits("sum", 16, 0),
            bits("dnet", 16, 2),
            bits("snet", 16, 1),
            bits("dnode", 8, 2),
            bits("snode", 8, 1),
            bits("dsocket", 8, 2),
            bits("ssocket", 8, 2),
            bits("type", 8, 2),
        ],
    ),
    layer(
        "aarp",
        &["op"],
        &[
            bits("htype", 16, 1),
            bits("ptype", 16, 0x809b),
            bits("hlen", 8, 6),
            bits("plen", 8, 4),
            bits("op", 16, 1),
            mac("sha", SRC_MAC),
            bits("spa", 32, 1),
            mac("tha", "00:00:00:00:00:00"),
            bits("tpa", 32, 2),
        ],
    ),
    layer(
        "ipx",
        &["type"],
        &[
            bits("sum", 16, 0xffff),
            auto("len", 16, Default::TotalLen(0)),
            bits("hops", 8, 0),
            bits("type", 8, 17),
            bits("dst", 96, 2),
            bits("src", 96, 1),
        ],
    ),
    layer(
        "netbeui",
        &["command"],
        &[little("len", 2, 14), little("delimiter", 2, 0xefff), bits("command", 8, 0x0a)],
    ),
    layer("stp", &["type"], &[bits("proto", 16, 0), bits("version", 8, 0), bits("type", 8, 0x80)]),
    layer(
        "clnp",
        &[],
        &[bits("nlpid", 8, 0x81), bits("len", 8, 57), bits("version", 8, 1), bits("ttl", 8, 64)],
    ),
    layer(
        "esis",
        &[],
        &[bits("nlpid", 8, 0x82), bits("len", 8, 9), bits("version", 8, 1), bits("fill", 8, 0)],
    ),
    layer(
        "isis",
        &["type"],
        &[
            bits("nlpid", 8, 0x83),
            bits("len", 8, 27),
            bits("version", 8, 1),
            bits("idlen", 8, 0),
            bits("reserved", 3, 0),
            bits("type", 5, 15),
            bits("version2", 8, 1),
            bits("fill", 8, 0),
            bits("areas", 8, 0),
        ],
    ),
    layer("lat", &[], &[bits("type", 8, 0), bits("slots", 8, 0)]),
    layer("moprc", &[], &[little("len", 2, 4), bits("code", 8, 7), bits("fill", 8, 0)]),
    layer("mopdl", &[], &[little("len", 2, 4), bits("code", 8, 8), bits("fill", 8, 0)]),
    layer("sca", &[], &[little("len", 2, 4), bits("fill", 16, 0)]),
    layer("loopback", &[], &[little("skip", 2, 0), little("function", 2, 1)]),
];
