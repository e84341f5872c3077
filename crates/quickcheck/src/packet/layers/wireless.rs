//! 802.11 frames, the radio headers in front of them, and SS7 over MTP2.
//!
//! 802.11 numbers the bits of its first two octets from the least significant one; the fields below are in the
//! order of the octets' bits from the most significant one.

use super::*;

pub(super) static LAYERS: &[Spec] = &[
    layer("wlan", &["subtype"], &data_header!(2, 0)),
    layer("wlan4", &["subtype"], &data_header!(2, 0, mac("addr4", ADDR4))),
    layer("wqos", &["subtype"], &data_header!(2, 8, bits("qos", 16, 0))),
    layer("wqos4", &["subtype"], &data_header!(2, 8, mac("addr4", ADDR4), bits("qos", 16, 0))),
    layer("wmgt", &["subtype"], &data_header!(0, 8)),
    layer("wctl", &["subtype"], &control_header!(mac("addr2", ADDR2))),
    layer("wack", &["subtype"], &control_header!()),
    layer(
        "radiotap",
        &[],
        &[
            bits("version", 8, 0),
            bits("fill", 8, 0),
            Field {
                name: "len",
                kind: Kind::LittleBytes(2),
                default: Default::HeaderLen { unit: 1, minus: 0 },
            },
            little("present", 4, 0),
            bytes("data"),
        ],
    ),
    layer("prism", &[], &[bits("code", 32, 0x44), bits("len", 32, 144), zeros("rest", 136)]),
    layer("avs", &[], &[bits("version", 32, 0x8021_1001), bits("len", 32, 64), zeros("rest", 56)]),
    layer(
        "ppi",
        &["dlt"],
        &[
            bits("version", 8, 0),
            bits("flags", 8, 0),
            Field {
                name: "len",
                kind: Kind::LittleBytes(2),
                default: Default::HeaderLen { unit: 1, minus: 0 },
            },
            little("dlt", 4, 105),
            bytes("data"),
        ],
    ),
    layer("mtp2", &["li"], &[bits("bsn", 8, 0xff), bits("fsn", 8, 0xff), bits("li", 8, 0x3f)]),
    layer("mtp2phdr", &[], &[bits("sent", 8, 0), bits("annexa", 8, 2), bits("link", 16, 0)]),
    layer("mtp2hsl", &["li"], &[bits("bsn", 16, 0), bits("fsn", 16, 0), bits("li", 16, 0x0500)]),
    Spec {
        name: "mtp3",
        fields: &[bits("sio", 8, 0x85), bits("dpc", 14, 1), bits("opc", 14, 2), bits("sls", 4, 0)],
        positional: &["sio", "dpc", "opc", "sls"],
        lsb_first: true,
    },
    // A time stamp, type 5 (MTP2), a length record, and the extension that multi-channel records have.
    layer("erf", &[], &[zeros("stamp", 8), bits("type", 8, 5), zeros("rest", 7), bits("mc", 32, 0)]),
];

const ADDR1: &str = "02:00:00:00:00:0a";
const ADDR2: &str = "02:00:00:00:00:0b";
const ADDR3: &str = "02:00:00:00:00:0c";
const ADDR4: &str = "02:00:00:00:00:0d";

/// Frame control with type `$type`, three addresses, sequence control, and what comes after.
macro_rules! data_header {
    ($type:expr, $subtype:expr $(, $more:expr)*) => {
        [
            bits("subtype", 4, $subtype), bits("type", 2, $type), bits("version", 2, 0),
            bits("order", 1, 0), bits("protected", 1, 0), bits("more", 1, 0), bits("sleep", 1, 0),
            bits("retry", 1, 0), bits("frags", 1, 0), bits("fromds", 1, 0), bits("tods", 1, 0),
            bits("duration", 16, 0), mac("addr1", ADDR1), mac("addr2", ADDR2), mac("addr3", ADDR3),
            bits("seq", 16, 0), $($more),*
        ]
    };
}
use data_header;

/// Frame control, duration, the receiver, and perhaps the transmitter.
macro_rules! control_header {
    ($($more:expr),*) => {
        [
            bits("subtype", 4, 11), bits("type", 2, 1), bits("version", 2, 0), bits("flags", 8, 0),
            bits("duration", 16, 0), mac("addr1", ADDR1), $($more),*
        ]
    };
}
use control_header;

const fn zeros(name: &'static str, width: u32) -> Field {
    Field { name, kind: Kind::Text(width), default: Default::Num(0) }
}
