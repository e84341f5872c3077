//! What the language offers on a link type.

use crate::linktype::LinkType;

/// The groups of primitives that libpcap accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    /// Network and transport layers.
    pub(super) ip: bool,
    /// Link-layer addresses of 48 bits.
    pub(super) mac: bool,
    /// Link-layer addresses of 8 bits.
    pub(super) arcnet: bool,
    /// 802.2 headers, and the protocols told apart by them.
    pub(super) llc: bool,
    /// `vlan`, `mpls`, `pppoes`, `geneve`.
    pub(super) shifts: bool,
    /// Frame types and directions of 802.11.
    pub(super) wlan: bool,
    /// A radio header.
    pub(super) radio: bool,
    /// Virtual paths and channels.
    pub(super) atm: bool,
    /// Signalling links.
    pub(super) ss7: bool,
    /// Firewall logs.
    pub(super) pflog: bool,
    /// `inbound` and `outbound`.
    pub(super) direction: bool,
    /// `ifindex`.
    pub(super) ifindex: bool,
}

impl Family {
    const NOTHING: Family = Family {
        ip: false,
        mac: false,
        arcnet: false,
        llc: false,
        shifts: false,
        wlan: false,
        radio: false,
        atm: false,
        ss7: false,
        pflog: false,
        direction: false,
        ifindex: false,
    };
    const IP: Family = Family { ip: true, ..Family::NOTHING };
    const LLC: Family = Family { llc: true, ..Family::IP };
    const MAC: Family = Family { mac: true, ..Family::LLC };
    const WLAN: Family = Family { wlan: true, ..Family::MAC };
    /// All at once.
    pub(super) const EVERYTHING: Family = Family {
        ip: true,
        mac: true,
        arcnet: true,
        llc: true,
        shifts: true,
        wlan: true,
        radio: true,
        atm: true,
        ss7: true,
        pflog: true,
        direction: true,
        ifindex: true,
    };

    /// The family of a link type.
    pub(super) fn of(linktype: LinkType) -> Self {
        let direction = |family| Family { direction: true, ..family };
        let shifts = |family| Family { shifts: true, ..family };
        match linktype.name().unwrap_or_default() {
            "EN10MB" | "NETANALYZER" | "NETANALYZER_TRANSPARENT" => shifts(Family::MAC),
            "FDDI" | "IEEE802" | "IP_OVER_FC" => Family::MAC,
            "IEEE802_11" => shifts(Family::WLAN),
            "PPI" => Family::WLAN,
            "IEEE802_11_RADIO" | "IEEE802_11_RADIO_AVS" | "PRISM_HEADER" => {
                shifts(Family { radio: true, ..Family::WLAN })
            }
            "ARCNET" | "ARCNET_LINUX" => Family { arcnet: true, ..Family::IP },
            "SUNATM" => Family { atm: true, ..Family::LLC },
            "ATM_RFC1483" | "ATM_CLIP" => Family::LLC,
            "MTP2" | "MTP2_WITH_PHDR" | "ERF" => Family { ss7: true, ..Family::NOTHING },
            "PFLOG" => direction(Family { pflog: true, ..Family::IP }),
            "LINUX_SLL" => direction(Family::LLC),
            "LINUX_SLL2" => direction(Family { ifindex: true, ..Family::IP }),
            "SLIP" | "IPNET" | "PPP_PPPD" => direction(Family::IP),
            "MFR" | "PFSYNC" | "USB_LINUX" | "BLUETOOTH_HCI_H4" | "NFLOG" | "CAN_SOCKETCAN"
            | "DSA_TAG_DSA" | "DSA_TAG_BRCM" => Family::NOTHING,
            name if name.starts_with("JUNIPER") => direction(Family::IP),
            _ => Family::IP,
        }
    }
}
