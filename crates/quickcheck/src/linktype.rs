//! The link types for which the language has more than raw loads.

pub use wire::LinkType;

/// Ethernet, the default of every table.
pub const ETHERNET: LinkType = LinkType::ETHERNET;

/// Link types with code generation of their own, then some where only `link[…]`, `len`, `less` and `greater` work.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "NULL", "EN10MB", "IEEE802", "ARCNET", "SLIP", "PPP", "FDDI", "PPP_SERIAL", "PPP_ETHER", "SYMANTEC_FIREWALL",
    "ATM_RFC1483", "RAW", "SLIP_BSDOS", "PPP_BSDOS", "C_HDLC", "IEEE802_11", "ATM_CLIP", "FRELAY", "LOOP", "ENC",
    "HDLC", "LINUX_SLL", "LTALK", "PFLOG", "PRISM_HEADER", "IP_OVER_FC", "SUNATM", "IEEE802_11_RADIO",
    "ARCNET_LINUX", "JUNIPER_MLPPP", "JUNIPER_MLFR", "JUNIPER_ES", "JUNIPER_GGSN", "JUNIPER_MFR", "JUNIPER_ATM2",
    "JUNIPER_SERVICES", "JUNIPER_ATM1", "APPLE_IP_OVER_IEEE1394", "MTP2_WITH_PHDR", "MTP2", "IEEE802_11_RADIO_AVS",
    "JUNIPER_MONITOR", "PPP_PPPD", "JUNIPER_PPPOE", "JUNIPER_PPPOE_ATM", "JUNIPER_ETHER", "JUNIPER_PPP",
    "JUNIPER_FRELAY", "JUNIPER_CHDLC", "MFR", "JUNIPER_VP", "PPI", "JUNIPER_ISM", "ERF", "JUNIPER_ST", "JUNIPER_VS",
    "IPNET", "IPV4", "IPV6", "JUNIPER_SRX_E2E", "JUNIPER_FIBRECHANNEL", "NETANALYZER", "NETANALYZER_TRANSPARENT",
    "JUNIPER_ATM_CEMIC", "PFSYNC", "LINUX_SLL2", "DSA_TAG_BRCM", "DSA_TAG_DSA",
    "USB_LINUX", "BLUETOOTH_HCI_H4", "NFLOG", "CAN_SOCKETCAN",
];

/// Every link type that the tests know.
///
/// # Panics
///
/// When `wire` does not know one of them, which a test of this crate would show.
pub fn all() -> impl Iterator<Item = LinkType> {
    NAMES
        .iter()
        .map(|name| by_name(name).unwrap_or_else(|| panic!("`wire` does not know the link type {name}")))
}

/// Finds a link type by libpcap's name for it.
pub fn by_name(name: &str) -> Option<LinkType> {
    name.parse().ok()
}
