//! VXLAN with a header that says what it carries (draft-ietf-nvo3-vxlan-gpe): a frame or a packet in UDP.
//!
//! ```
//! use wire::ether::ethertype;
//! use wire::tunnel::VxlanGpe;
//! let packet = [0x0c, 0, 0, 1, 0x00, 0x13, 0x88, 0, 0x45];
//! let gpe = VxlanGpe::new(&packet).unwrap();
//! assert_eq!((gpe.vni(), gpe.ethertype(), gpe.payload()), (5000, Some(ethertype::IPV4), &[0x45][..]));
//! ```

use super::TRANSPARENT_ETHERNET;
use crate::bytes::u32_at;
use crate::ether::ethertype;

/// The UDP port that it is sent to.
pub const VXLAN_GPE_PORT: u16 = 4790;

/// Flags in the first byte: the network identifier is valid, and so is the number of the protocol.
const HAS_VNI: u8 = 0x08;
const HAS_PROTOCOL: u8 = 0x04;
/// The version, of which there is one.
const VERSION: u8 = 0x30;

/// A VXLAN-GPE header.
#[derive(Clone, Copy, Debug)]
pub struct VxlanGpe<'a> {
    bytes: &'a [u8],
}

impl<'a> VxlanGpe<'a> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// A view of a UDP payload, if the header is whole, of version 0, and names a network.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<VxlanGpe<'a>> {
        let is_ours = bytes.len() >= VxlanGpe::LEN && bytes[0] & (HAS_VNI | VERSION) == HAS_VNI;
        is_ours.then_some(VxlanGpe { bytes })
    }

    /// The network identifier, 24 bits.
    #[must_use]
    pub fn vni(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default() >> 8
    }

    /// The number of what is inside. One that gives none carries frames, as plain VXLAN does.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        if self.bytes[0] & HAS_PROTOCOL == 0 { 3 } else { self.bytes[3] }
    }

    /// EtherType of what is inside, where it has one; [`TRANSPARENT_ETHERNET`] for a frame.
    #[must_use]
    pub fn ethertype(&self) -> Option<u16> {
        Some(match self.protocol() {
            1 => ethertype::IPV4,
            2 => ethertype::IPV6,
            3 => TRANSPARENT_ETHERNET,
            4 => ethertype::NSH,
            5 => ethertype::MPLS,
            _ => return None,
        })
    }

    /// What is inside.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[VxlanGpe::LEN..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_have_no_view() {
        let header = [0x0c, 0, 0, 1, 0, 0, 7, 0];
        assert!(VxlanGpe::new(&header).is_some());
        assert!(VxlanGpe::new(&header[..7]).is_none() && VxlanGpe::new(&[]).is_none());
        for first in [0x04, 0x1c, 0x2c] {
            let mut other = header;
            other[0] = first;
            assert!(VxlanGpe::new(&other).is_none(), "{first:#04x}");
        }
    }
}
