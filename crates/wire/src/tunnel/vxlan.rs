//! Virtual extensible local area networks (RFC 7348): an Ethernet frame in UDP.
//!
//! ```
//! use wire::tunnel::{Vxlan, VxlanHeader};
//! let header = VxlanHeader { vni: 5000 }.to_bytes();
//! assert_eq!(header, [0x08, 0, 0, 0, 0x00, 0x13, 0x88, 0]);
//! assert_eq!(Vxlan::new(&header).unwrap().vni(), 5000);
//! ```

use crate::bytes::u32_at;

/// The UDP port that VXLAN is sent to.
pub const VXLAN_PORT: u16 = 4789;

/// The UDP port that Linux sends it to unless told otherwise (`drivers/net/vxlan`): that of before it had one.
pub const VXLAN_PORT_LINUX: u16 = 8472;

/// Says that the network identifier is valid.
const HAS_VNI: u8 = 0x08;

/// The UDP source port for an inner frame with this hash, out of the dynamic ports, so that the network between
/// spreads the inner flows (RFC 7348, 5).
#[must_use]
pub fn vxlan_src_port(hash: u64) -> u16 {
    0xc000 | (hash & 0x3fff) as u16
}

/// A VXLAN header.
#[derive(Clone, Copy, Debug)]
pub struct Vxlan<'a> {
    bytes: &'a [u8],
}

impl<'a> Vxlan<'a> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// A view of a UDP payload, if the header is whole and says that it names a network. Reserved bits are
    /// passed over (RFC 7348, 5).
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Vxlan<'a>> {
        (bytes.len() >= Vxlan::LEN && bytes[0] & HAS_VNI != 0).then_some(Vxlan { bytes })
    }

    /// The network identifier, 24 bits.
    #[inline]
    #[must_use]
    pub fn vni(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default() >> 8
    }

    /// The Ethernet frame inside.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Vxlan::LEN..]
    }
}

/// A VXLAN header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VxlanHeader {
    /// The network identifier, 24 bits; more are left out.
    pub vni: u32,
}

impl VxlanHeader {
    /// The header as it goes over the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Vxlan::LEN] {
        let [_, a, b, c] = self.vni.to_be_bytes();
        [HAS_VNI, 0, 0, 0, a, b, c, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::from_hex;
    use crate::ip::Ipv4;
    use crate::transport::Udp;

    /// A bridged ARP request, from this project's captures.
    const BRIDGED: &str = "4500004e 00004000 4011c29a cb007101 cb007102 91a312b5003a0000 0800000000138800
        ffffffffffff02005e10007a0806 000108000604000102005e10007ac0000265000000000000c0000266";

    #[test]
    fn reads_and_writes_what_linux_sends() {
        let packet = from_hex(BRIDGED);
        let udp = Udp::new(Ipv4::new(&packet).unwrap().payload()).unwrap();
        assert_eq!(udp.dst_port(), VXLAN_PORT);
        let vxlan = Vxlan::new(udp.payload()).unwrap();
        assert_eq!((vxlan.vni(), vxlan.payload().len()), (5000, 42));
        assert!(udp.payload().starts_with(&VxlanHeader { vni: 5000 }.to_bytes()));
    }

    #[test]
    fn reserved_bits_are_passed_over() {
        let header = [0xff; 8];
        assert_eq!(Vxlan::new(&header).unwrap().vni(), 0xff_ffff);
        assert_eq!(VxlanHeader { vni: u32::MAX }.to_bytes(), [8, 0, 0, 0, 0xff, 0xff, 0xff, 0]);
    }

    #[test]
    fn other_bytes_have_no_view() {
        assert!(Vxlan::new(&[0xff; 7]).is_none() && Vxlan::new(&[]).is_none());
        assert!(Vxlan::new(&[0xf7; 8]).is_none(), "no network");
    }

    #[test]
    fn source_ports_are_dynamic() {
        assert_eq!((vxlan_src_port(0), vxlan_src_port(u64::MAX)), (49152, 65535));
    }
}
