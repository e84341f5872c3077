//! Link layers with wires, and what tools put in front of packets in captures.

use super::*;

pub(super) static LAYERS: &[Spec] = &[
    layer(
        "eth",
        &["type"],
        &[mac("dst", DST_MAC), mac("src", SRC_MAC), auto("type", 16, Default::TypeOrLength)],
    ),
    layer("vlan", &["id"], VLAN),
    layer("qinq", &["id"], VLAN),
    layer(
        "llc",
        &["dsap", "ssap", "ctl"],
        &[next("dsap", 8, Space::LlcSap, 0), next("ssap", 8, Space::LlcSap, 0), bits("ctl", 8, 3)],
    ),
    layer("snap", &["type"], &[bits("oui", 24, 0), next("type", 16, Space::EtherType, 0x88b5)]),
    // What Ethernet calls "802.3 raw" begins with no 802.2 header at all.
    layer("raw802", &[], &[bits("ones", 16, 0xffff)]),
    layer(
        "mpls",
        &["label"],
        &[bits("label", 20, 16), bits("tc", 3, 0), auto("bottom", 1, Default::IsLast), bits("ttl", 8, 64)],
    ),
    layer("pppoed", &["session"], &PPPOE_DISCOVERY),
    layer("pppoes", &["session"], &PPPOE_SESSION),
    layer("hdlc", &["addr", "ctl"], &[bits("addr", 8, 0xff), bits("ctl", 8, 3)]),
    layer("ppp", &["proto"], &[next("proto", 16, Space::Ppp, 0xc021)]),
    layer(
        "pppbsd",
        &["proto"],
        &[
            bits("head", 40, 0),
            next("proto", 16, Space::Ppp, 0xc021),
            bits("rest", 128, 0),
            bits("tail", 8, 0),
        ],
    ),
    layer(
        "chdlc",
        &["type"],
        &[bits("addr", 8, 0x0f), bits("ctl", 8, 0), next("type", 16, Space::EtherType, 0x8035)],
    ),
    layer("slip", &["dir"], &[bits("dir", 8, 0), bits("chdr", 120, 0)]),
    layer("slipbsd", &["dir"], &[bits("dir", 8, 0), bits("chdr", 120, 0), bits("rest", 64, 0)]),
    layer("null", &["af"], &[NULL_AF]),
    layer("loop", &["af"], &[next("af", 32, Space::LoopbackAf, 0)]),
    layer("enc", &["af"], &[NULL_AF, bits("spi", 32, 0), bits("flags", 32, 0)]),
    layer(
        "sll",
        &["type"],
        &[
            bits("type", 16, 0),
            bits("hatype", 16, 1),
            bits("halen", 16, 6),
            mac("addr", SRC_MAC),
            bits("fill", 16, 0),
            next("proto", 16, Space::SllProto, 0x88b5),
        ],
    ),
    layer(
        "sll2",
        &["type"],
        &[
            next("proto", 16, Space::SllProto, 0x88b5),
            bits("reserved", 16, 0),
            bits("ifindex", 32, 1),
            bits("hatype", 16, 1),
            bits("type", 8, 0),
            bits("halen", 8, 6),
            mac("addr", SRC_MAC),
            bits("fill", 16, 0),
        ],
    ),
    layer("fddi", &["fc"], &[bits("fc", 8, 0x50), mac("dst", DST_MAC), mac("src", SRC_MAC)]),
    layer(
        "tr",
        &["fc"],
        &[bits("ac", 8, 0x10), bits("fc", 8, 0x40), mac("dst", DST_MAC), mac("src", SRC_MAC)],
    ),
    layer(
        "arcnet",
        &["src", "dst"],
        &[
            bits("src", 8, 1),
            bits("dst", 8, 2),
            next("type", 8, Space::Arcnet, 0x80),
            bits("flag", 8, 0),
            bits("seq", 16, 0),
        ],
    ),
    layer(
        "arclinux",
        &["src", "dst"],
        &[
            bits("src", 8, 1),
            bits("dst", 8, 2),
            bits("offset", 16, 0),
            next("type", 8, Space::Arcnet, 0x80),
            bits("flag", 8, 0),
            bits("seq", 16, 0),
        ],
    ),
    layer("ltalk", &["type"], &[bits("dst", 8, 2), bits("src", 8, 1), bits("type", 8, 1)]),
    layer(
        "ipfc",
        &[],
        &[bits("daa", 16, 0x1000), mac("dst", DST_MAC), bits("saa", 16, 0x1000), mac("src", SRC_MAC)],
    ),
    layer(
        "frelay",
        &["addr"],
        &[bits("addr", 16, 0x1801), bits("ctl", 8, 3), next("nlpid", 8, Space::Nlpid, 0xb0)],
    ),
    layer(
        "firewire",
        &["type"],
        &[bits("dst", 64, 2), bits("src", 64, 1), next("type", 16, Space::EtherType, 0x88b5)],
    ),
    layer(
        "symantec",
        &["type"],
        &[
            bits("head", 48, 0),
            next("type", 16, Space::EtherType, 0x88b5),
            bits("rest", 128, 0),
            bits("more", 128, 0),
            bits("tail", 32, 0),
        ],
    ),
    layer(
        "pflog",
        &["action"],
        &[
            bits("len", 8, 61),
            next("af", 8, Space::PflogAf, 0),
            bits("action", 8, 0),
            bits("reason", 8, 0),
            text("ifname", 16),
            text("ruleset", 16),
            bits("rnr", 32, 0),
            bits("srnr", 32, 0),
            bits("uid", 32, 0),
            bits("pid", 32, 0),
            bits("ruleuid", 32, 0),
            bits("rulepid", 32, 0),
            bits("dir", 8, 1),
            bits("fill", 24, 0),
        ],
    ),
    layer("juniper", &["flags"], &[bits("magic", 24, 0x4d_4743), bits("flags", 8, 0), bytes("cookie")]),
    layer(
        "ipnet",
        &["hook"],
        &[
            bits("version", 8, 1),
            next("family", 8, Space::IpnetAf, 0),
            bits("hook", 16, 1),
            bits("length", 32, 0),
            bits("ifindex", 32, 1),
            bits("group", 32, 0),
            bits("zsrc", 32, 0),
            bits("zdst", 32, 0),
        ],
    ),
    layer(
        "sunatm",
        &["vpi", "vci"],
        &[bits("dir", 4, 0), bits("type", 4, 2), bits("vpi", 8, 0), bits("vci", 16, 32)],
    ),
    layer("netanalyzer", &[], &[bits("head", 32, 0)]),
    layer("netanalyzert", &[], &[bits("head", 32, 0), bits("preamble", 64, 0x5555_5555_5555_55d5)]),
    layer(
        "dsa",
        &["tag"],
        &[
            mac("dst", DST_MAC),
            mac("src", SRC_MAC),
            bits("tag", 32, 0xc000_0000),
            next("type", 16, Space::EtherType, 0x88b5),
        ],
    ),
    layer(
        "brcm",
        &["tag"],
        &[
            mac("dst", DST_MAC),
            mac("src", SRC_MAC),
            bits("tag", 32, 0),
            next("type", 16, Space::EtherType, 0x88b5),
        ],
    ),
];

static VLAN: &[Field] =
    &[bits("pcp", 3, 0), bits("dei", 1, 0), bits("id", 12, 1), auto("type", 16, Default::TypeOrLength)];

const PPPOE_VERSION: Field = bits("vertype", 8, 0x11);
const PPPOE_DISCOVERY: [Field; 4] =
    [PPPOE_VERSION, bits("code", 8, 9), bits("session", 16, 0), auto("len", 16, Default::PayloadLen(0))];
const PPPOE_SESSION: [Field; 4] =
    [PPPOE_VERSION, bits("code", 8, 0), bits("session", 16, 1), auto("len", 16, Default::PayloadLen(0))];

/// The address family in the byte order of a little-endian machine.
const NULL_AF: Field =
    Field { name: "af", kind: Kind::LittleBytes(4), default: Default::Next(Space::LoopbackAf, 0) };

const fn text(name: &'static str, width: u32) -> Field {
    Field { name, kind: Kind::Text(width), default: Default::Num(0) }
}
