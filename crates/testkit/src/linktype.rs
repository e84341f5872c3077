//! The link types for which libpcap generates code: name and number in a capture file's header.
//!
//! The numbers are those of files (`LINKTYPE_*`), which differ from libpcap's in-memory ones (`DLT_*`) for a few old
//! types. The list is kept apart from the `wire` crate's on purpose: a test checks each against the other.

/// A link type as a capture file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkType {
    /// libpcap's name, without a prefix.
    pub name: &'static str,
    /// The number in the file header.
    pub number: u16,
}

/// Ethernet, the default of every table.
pub const ETHERNET: LinkType = LinkType { name: "EN10MB", number: 1 };

/// Finds a link type by its name.
pub fn by_name(name: &str) -> Option<LinkType> {
    SUPPORTED
        .iter()
        .chain(UNSUPPORTED)
        .find(|&&(known, _)| known == name)
        .map(|&(name, number)| LinkType { name, number })
}

/// Finds a link type by its number.
pub fn by_number(number: u16) -> Option<LinkType> {
    SUPPORTED
        .iter()
        .chain(UNSUPPORTED)
        .find(|&&(_, known)| known == number)
        .map(|&(name, number)| LinkType { name, number })
}

/// Every link type of the language, in the order of the table below.
pub fn all() -> impl Iterator<Item = LinkType> {
    SUPPORTED.iter().map(|&(name, number)| LinkType { name, number })
}

/// Link types with code generation of their own.
#[rustfmt::skip]
const SUPPORTED: &[(&str, u16)] = &[
    ("NULL", 0), ("EN10MB", 1), ("IEEE802", 6), ("ARCNET", 7), ("SLIP", 8), ("PPP", 9), ("FDDI", 10),
    ("PPP_SERIAL", 50), ("PPP_ETHER", 51), ("SYMANTEC_FIREWALL", 99), ("ATM_RFC1483", 100), ("RAW", 101),
    ("SLIP_BSDOS", 102), ("PPP_BSDOS", 103), ("C_HDLC", 104), ("IEEE802_11", 105), ("ATM_CLIP", 106),
    ("FRELAY", 107), ("LOOP", 108), ("ENC", 109), ("HDLC", 112), ("LINUX_SLL", 113), ("LTALK", 114), ("PFLOG", 117),
    ("PRISM_HEADER", 119), ("IP_OVER_FC", 122), ("SUNATM", 123), ("IEEE802_11_RADIO", 127), ("ARCNET_LINUX", 129),
    ("JUNIPER_MLPPP", 130), ("JUNIPER_MLFR", 131), ("JUNIPER_ES", 132), ("JUNIPER_GGSN", 133), ("JUNIPER_MFR", 134),
    ("JUNIPER_ATM2", 135), ("JUNIPER_SERVICES", 136), ("JUNIPER_ATM1", 137), ("APPLE_IP_OVER_IEEE1394", 138),
    ("MTP2_WITH_PHDR", 139), ("MTP2", 140), ("IEEE802_11_RADIO_AVS", 163), ("JUNIPER_MONITOR", 164),
    ("PPP_PPPD", 166), ("JUNIPER_PPPOE", 167), ("JUNIPER_PPPOE_ATM", 168), ("JUNIPER_ETHER", 178),
    ("JUNIPER_PPP", 179), ("JUNIPER_FRELAY", 180), ("JUNIPER_CHDLC", 181), ("MFR", 182), ("JUNIPER_VP", 183),
    ("PPI", 192), ("JUNIPER_ISM", 194), ("ERF", 197), ("JUNIPER_ST", 200), ("JUNIPER_VS", 232),
    ("IPNET", 226), ("IPV4", 228), ("IPV6", 229), ("JUNIPER_SRX_E2E", 233), ("JUNIPER_FIBRECHANNEL", 234),
    ("NETANALYZER", 240), ("NETANALYZER_TRANSPARENT", 241), ("JUNIPER_ATM_CEMIC", 238), ("PFSYNC", 246),
    ("LINUX_SLL2", 276), ("DSA_TAG_BRCM", 281), ("DSA_TAG_DSA", 284),
];

/// Some link types where only raw loads and lengths work.
const UNSUPPORTED: &[(&str, u16)] = &[
    ("USB_LINUX", 189),
    ("BLUETOOTH_HCI_H4", 187),
    ("NFLOG", 239),
    ("IEEE802_15_4", 195),
    ("CAN_SOCKETCAN", 227),
];
