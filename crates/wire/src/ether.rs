//! Ethernet (IEEE 802.3), its VLAN tags (802.1Q), and what EtherTypes mean.

use std::fmt;

use crate::bytes::{array_at, u16_at};

/// EtherTypes by name.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// Reverse ARP.
    pub const RARP: u16 = 0x8035;
    /// 802.1Q tag.
    pub const VLAN: u16 = 0x8100;
    /// 802.1ad service tag.
    pub const QINQ: u16 = 0x88a8;
    /// The service tag before 802.1ad.
    pub const QINQ_OLD: u16 = 0x9100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// MPLS, unicast.
    pub const MPLS: u16 = 0x8847;
    /// MPLS, multicast.
    pub const MPLS_MULTICAST: u16 = 0x8848;
    /// PPPoE discovery.
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// PPPoE session.
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// Link layer discovery.
    pub const LLDP: u16 = 0x88cc;
    /// Below this a type field is a length, and 802.2 LLC follows.
    pub const LEAST: u16 = 0x0600;
}

/// What the protocol of an EtherType is called, where it is common.
#[must_use]
pub fn ethertype_name(ethertype: u16) -> Option<&'static str> {
    Some(match ethertype {
        ethertype::IPV4 => "ip",
        ethertype::IPV6 => "ip6",
        ethertype::ARP => "arp",
        ethertype::RARP => "rarp",
        ethertype::MPLS | ethertype::MPLS_MULTICAST => "mpls",
        ethertype::PPPOE_DISCOVERY => "pppoed",
        ethertype::PPPOE_SESSION => "pppoes",
        ethertype::LLDP => "lldp",
        0x6003 => "decnet",
        0x6004 => "lat",
        0x6001 => "mopdl",
        0x6002 => "moprc",
        0x809b => "atalk",
        0x80f3 => "aarp",
        0x8137 => "ipx",
        0x8809 => "slow",
        0x888e => "eapol",
        0x88e5 => "macsec",
        0x88f7 => "ptp",
        0x8906 => "fcoe",
        0x9000 => "loopback",
        _ => return None,
    })
}

/// A hardware address of six bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet<'a> {
    bytes: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Length of the header.
    pub const LEN: usize = 14;

    /// A view of a frame, if its header is whole.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ethernet<'a>> {
        (bytes.len() >= Ethernet::LEN).then_some(Ethernet { bytes })
    }

    /// Destination address.
    #[must_use]
    pub fn dst(&self) -> Mac {
        Mac(array_at(self.bytes, 0).unwrap_or_default())
    }

    /// Source address.
    #[must_use]
    pub fn src(&self) -> Mac {
        Mac(array_at(self.bytes, 6).unwrap_or_default())
    }

    /// EtherType, or the length of an 802.3 frame when below [`ethertype::LEAST`].
    #[must_use]
    pub fn ethertype(&self) -> u16 {
        u16_at(self.bytes, 12).unwrap_or_default()
    }

    /// What follows the header.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Ethernet::LEN..]
    }
}

/// A VLAN tag behind its EtherType: priority and id, then the EtherType of what follows.
#[derive(Clone, Copy, Debug)]
pub struct Vlan<'a> {
    bytes: &'a [u8],
}

impl<'a> Vlan<'a> {
    /// Length of the tag.
    pub const LEN: usize = 4;

    /// A view of a tag, if it is whole.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Vlan<'a>> {
        (bytes.len() >= Vlan::LEN).then_some(Vlan { bytes })
    }

    /// Whether a VLAN tag follows this EtherType.
    #[must_use]
    pub fn follows(ethertype: u16) -> bool {
        matches!(ethertype, ethertype::VLAN | ethertype::QINQ | ethertype::QINQ_OLD)
    }

    /// The VLAN's number, 12 bits.
    #[must_use]
    pub fn id(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default() & 0x0fff
    }

    /// EtherType of what follows.
    #[must_use]
    pub fn ethertype(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// What follows the tag.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Vlan::LEN..]
    }
}
