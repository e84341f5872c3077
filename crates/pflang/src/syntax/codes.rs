//! Names that are no keywords but mean something after one: 802.11 types, LLC types, pf reasons and actions.
//!
//! They are compared without regard to case, and may be escaped like any name.

/// 802.11 frame types, in their place in the first byte of the frame (IEEE 802.11, 9.2.4.1).
pub static WLAN_TYPES: &[(&str, u8)] =
    &[("data", 0x08), ("mgt", 0x00), ("management", 0x00), ("ctl", 0x04), ("control", 0x04)];

/// Management subtypes.
#[rustfmt::skip]
static WLAN_MANAGEMENT: &[(&str, u8)] = &[
    ("assoc-req", 0x00), ("assocreq", 0x00), ("assoc-resp", 0x10), ("assocresp", 0x10),
    ("reassoc-req", 0x20), ("reassocreq", 0x20), ("reassoc-resp", 0x30), ("reassocresp", 0x30),
    ("probe-req", 0x40), ("probereq", 0x40), ("probe-resp", 0x50), ("proberesp", 0x50),
    ("beacon", 0x80), ("atim", 0x90), ("disassoc", 0xa0), ("disassociation", 0xa0),
    ("auth", 0xb0), ("authentication", 0xb0), ("deauth", 0xc0), ("deauthentication", 0xc0),
];

/// Control subtypes.
#[rustfmt::skip]
static WLAN_CONTROL: &[(&str, u8)] = &[
    ("ps-poll", 0xa0), ("rts", 0xb0), ("cts", 0xc0), ("ack", 0xd0), ("cf-end", 0xe0), ("cf-end-ack", 0xf0),
];

/// Data subtypes.
#[rustfmt::skip]
static WLAN_DATA: &[(&str, u8)] = &[
    ("data", 0x00), ("data-cf-ack", 0x10), ("data-cf-poll", 0x20), ("data-cf-ack-poll", 0x30),
    ("null", 0x40), ("cf-ack", 0x50), ("cf-poll", 0x60), ("cf-ack-poll", 0x70),
    ("qos-data", 0x80), ("qos-data-cf-ack", 0x90), ("qos-data-cf-poll", 0xa0),
    ("qos-data-cf-ack-poll", 0xb0), ("qos", 0xc0), ("qos-cf-poll", 0xe0), ("qos-cf-ack-poll", 0xf0),
];

/// Subtypes by type, in the order in which a subtype alone is looked up.
pub static WLAN_SUBTYPES: &[(u8, &[(&str, u8)])] =
    &[(0x00, WLAN_MANAGEMENT), (0x04, WLAN_CONTROL), (0x08, WLAN_DATA)];

/// Whether an 802.11 frame of some type may be of this subtype.
pub fn is_wlan_subtype(name: &str) -> bool {
    WLAN_SUBTYPES.iter().any(|(_, names)| names.iter().any(|(known, _)| *known == name))
}

/// Where an 802.11 frame comes from and goes to.
pub static WLAN_DIRECTIONS: &[(&str, u32)] = &[("nods", 0), ("tods", 1), ("fromds", 2), ("dstods", 3)];

/// Supervisory LLC frames: control field.
pub static LLC_SUPERVISORY: &[(&str, u8)] = &[("rr", 0x01), ("rnr", 0x05), ("rej", 0x09)];

/// Unnumbered LLC frames: control field.
#[rustfmt::skip]
pub static LLC_UNNUMBERED: &[(&str, u8)] = &[
    ("ui", 0x03), ("ua", 0x63), ("disc", 0x43), ("dm", 0x0f),
    ("sabme", 0x6f), ("test", 0xe3), ("xid", 0xaf), ("frmr", 0x87),
];

/// Why pf logged a packet; those that every system has.
#[rustfmt::skip]
pub static PF_REASONS: &[(&str, u32)] = &[
    ("match", 0), ("bad-offset", 1), ("fragment", 2), ("short", 3), ("normalize", 4), ("memory", 5),
    ("bad-timestamp", 6), ("congestion", 7), ("ip-option", 8), ("proto-cksum", 9),
    ("state-mismatch", 10), ("state-insert", 11), ("state-limit", 12), ("src-limit", 13), ("synproxy", 14),
];

/// Actions of pf that every system has.
#[rustfmt::skip]
pub static PF_ACTIONS: &[(&str, u32)] = &[
    ("pass", 0), ("accept", 0), ("drop", 1), ("block", 1), ("scrub", 2), ("noscrub", 3), ("nat", 4),
    ("nonat", 5), ("binat", 6), ("nobinat", 7), ("rdr", 8), ("nordr", 9), ("synproxy-drop", 10),
];

/// The value of a name.
pub fn value_of<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|&(_, value)| value)
}

/// The first name of a value.
pub fn name_of<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> Option<&'static str> {
    table.iter().find(|(_, candidate)| *candidate == value).map(|&(name, _)| name)
}
