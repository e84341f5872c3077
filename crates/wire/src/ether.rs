//! Ethernet (IEEE 802.3) headers, and what EtherTypes mean.
//!
//! ```
//! use wire::ether::{Ethernet, EthernetHeader, EthernetMut, Mac, ethertype};
//! let (here, there) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
//! let mut frame = [0; 60];
//! let header = EthernetHeader { dst: there, src: here, ethertype: ethertype::IPV4 };
//! frame[..Ethernet::LEN].copy_from_slice(&header.to_bytes());
//!
//! EthernetMut::new(&mut frame).unwrap().set_dst(Mac::BROADCAST);
//! assert_eq!(Ethernet::new(&frame).unwrap().dst(), Mac::BROADCAST);
//! ```

use crate::bytes::{array_at, put, u16_at};

pub use crate::mac::Mac;

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
    /// MACsec (IEEE 802.1AE).
    pub const MACSEC: u16 = 0x88e5;
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
    /// Slow protocols, of which LACP is one (IEEE 802.3, annex 57A).
    pub const SLOW: u16 = 0x8809;
    /// The network service header (RFC 8300).
    pub const NSH: u16 = 0x894f;
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
        ethertype::SLOW => "slow",
        0x888e => "eapol",
        ethertype::MACSEC => "macsec",
        ethertype::NSH => "nsh",
        0x88f7 => "ptp",
        0x8906 => "fcoe",
        0x9000 => "loopback",
        _ => return None,
    })
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
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ethernet<'a>> {
        (bytes.len() >= Ethernet::LEN).then_some(Ethernet { bytes })
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn dst(&self) -> Mac {
        Mac(array_at(self.bytes, 0).unwrap_or_default())
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn src(&self) -> Mac {
        Mac(array_at(self.bytes, 6).unwrap_or_default())
    }

    /// EtherType, or the length of an 802.3 frame when below [`ethertype::LEAST`].
    #[inline]
    #[must_use]
    pub fn ethertype(&self) -> u16 {
        u16_at(self.bytes, 12).unwrap_or_default()
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Ethernet::LEN..]
    }
}

/// An Ethernet header that can be changed in place.
#[derive(Debug)]
pub struct EthernetMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> EthernetMut<'a> {
    /// A view of a frame, if its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<EthernetMut<'a>> {
        (bytes.len() >= Ethernet::LEN).then_some(EthernetMut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Ethernet<'_> {
        Ethernet { bytes: self.bytes }
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, dst: Mac) {
        put(self.bytes, 0, dst.0);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, src: Mac) {
        put(self.bytes, 6, src.0);
    }

    /// Exchanges destination and source, as an answer does.
    #[inline]
    pub fn swap_addresses(&mut self) {
        let (dst, src) = (self.view().dst(), self.view().src());
        self.set_dst(src);
        self.set_src(dst);
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[Ethernet::LEN..]
    }
}

/// An Ethernet header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// EtherType.
    pub ethertype: u16,
}

impl EthernetHeader {
    /// The header as it goes over the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Ethernet::LEN] {
        let mut bytes = [0; Ethernet::LEN];
        put(&mut bytes, 0, self.dst.0);
        put(&mut bytes, 6, self.src.0);
        put(&mut bytes, 12, self.ethertype.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_a_frame() {
        let mut frame = *b"\x01\x00\x5e\x00\x00\xfb\x02\x42\xac\x11\x00\x02\x08\x00\x45";
        let ether = Ethernet::new(&frame).unwrap();
        assert_eq!((ether.ethertype(), ether.payload()), (ethertype::IPV4, &[0x45][..]));
        let header = EthernetHeader { dst: ether.dst(), src: ether.src(), ethertype: ether.ethertype() };
        assert_eq!(header.to_bytes(), frame[..14]);

        let mut ether = EthernetMut::new(&mut frame).unwrap();
        ether.swap_addresses();
        ether.payload_mut()[0] = 0x60;
        assert_eq!(frame, *b"\x02\x42\xac\x11\x00\x02\x01\x00\x5e\x00\x00\xfb\x08\x00\x60");
    }

    #[test]
    fn short_frames_have_no_view() {
        for len in 0..Ethernet::LEN {
            assert!(Ethernet::new(&[0; Ethernet::LEN][..len]).is_none(), "{len}");
            assert!(EthernetMut::new(&mut [0; Ethernet::LEN][..len]).is_none(), "{len}");
        }
        assert!(Ethernet::new(&[0; Ethernet::LEN]).unwrap().payload().is_empty());
    }
}
