//! Generic routing encapsulation (RFC 2784), with key and sequence number (RFC 2890).
//!
//! ```
//! use wire::ether::ethertype;
//! use wire::tunnel::{Gre, GreHeader};
//! let header = GreHeader { key: Some(7), ..GreHeader::carrying(ethertype::IPV4) };
//! let mut packet = [0; 8 + 20];
//! assert_eq!(header.write(&mut packet), Some(8));
//!
//! let gre = Gre::new(&packet).unwrap();
//! assert_eq!((gre.protocol(), gre.key(), gre.payload().len()), (ethertype::IPV4, Some(7), 20));
//! ```

use crate::bytes::{put, u16_at, u32_at};
use crate::checksum::checksum;

/// The EtherType of a whole Ethernet frame inside (RFC 1701; "transparent Ethernet bridging").
pub const TRANSPARENT_ETHERNET: u16 = 0x6558;

const HAS_CHECKSUM: u16 = 0x8000;
const HAS_KEY: u16 = 0x2000;
const HAS_SEQ: u16 = 0x1000;
/// Bits that a receiver must not pass over: routing and others of RFC 1701, and the version (RFC 2784, 2.3; of
/// its bits 1 to 5, RFC 2890 gave 2 and 3 their meaning back).
const MUST_BE_ZERO: u16 = 0x4c07;

/// A GRE header.
#[derive(Clone, Copy, Debug)]
pub struct Gre<'a> {
    bytes: &'a [u8],
}

impl<'a> Gre<'a> {
    /// Length of a header without checksum, key and sequence number.
    pub const LEN: usize = 4;
    /// Length of a header with all of them.
    pub const LEN_MAX: usize = 16;

    /// A view of a packet, if its header is whole and of version 0 without a source route; others are to be
    /// discarded (RFC 2784, 2.3).
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Gre<'a>> {
        let flags = u16_at(bytes, 0).filter(|flags| flags & MUST_BE_ZERO == 0)?;
        (bytes.len() >= header_len(flags)).then_some(Gre { bytes })
    }

    /// Length of the header with all that its flags announce.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        header_len(self.flags())
    }

    /// EtherType of what is inside.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// The checksum, if there is one.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> Option<u16> {
        u16_at(self.bytes, 4).filter(|_| self.flags() & HAS_CHECKSUM != 0)
    }

    /// Whether the checksum is right for header and payload, all of which the view must hold; no checksum is.
    #[must_use]
    pub fn is_checksum_right(&self) -> bool {
        self.checksum().is_none() || checksum(self.bytes) == 0
    }

    /// The key, if there is one.
    #[inline]
    #[must_use]
    pub fn key(&self) -> Option<u32> {
        u32_at(self.bytes, key_at(self.flags())).filter(|_| self.flags() & HAS_KEY != 0)
    }

    /// The sequence number, if there is one.
    #[inline]
    #[must_use]
    pub fn seq(&self) -> Option<u32> {
        u32_at(self.bytes, seq_at(self.flags())).filter(|_| self.flags() & HAS_SEQ != 0)
    }

    /// What is inside.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }

    fn flags(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default()
    }
}

/// A GRE header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreHeader {
    /// EtherType of what is inside.
    pub protocol: u16,
    /// Whether to write a checksum over header and payload.
    pub has_checksum: bool,
    /// The key, if there is to be one.
    pub key: Option<u32>,
    /// The sequence number, if there is to be one.
    pub seq: Option<u32>,
}

impl GreHeader {
    /// A header of four bytes.
    #[must_use]
    pub fn carrying(protocol: u16) -> GreHeader {
        GreHeader { protocol, has_checksum: false, key: None, seq: None }
    }

    /// Length of the header.
    #[must_use]
    pub fn header_len(&self) -> usize {
        header_len(self.flags())
    }

    /// Writes the header to the start of a packet whose payload stands behind it already (the checksum covers
    /// it), and returns its length. `None`, and no change, if the packet is shorter than the header.
    #[must_use = "nothing was written if there is no room"]
    pub fn write(&self, packet: &mut [u8]) -> Option<usize> {
        let flags = self.flags();
        let header = packet.get_mut(..header_len(flags))?;
        put(header, 0, flags.to_be_bytes());
        put(header, 2, self.protocol.to_be_bytes());
        if let Some(key) = self.key {
            put(header, key_at(flags), key.to_be_bytes());
        }
        if let Some(seq) = self.seq {
            put(header, seq_at(flags), seq.to_be_bytes());
        }
        if self.has_checksum {
            put(packet, 4, [0; 4]);
            let checksum = checksum(packet);
            put(packet, 4, checksum.to_be_bytes());
        }
        Some(header_len(flags))
    }

    fn flags(&self) -> u16 {
        let flag = |is_set: bool, bit| if is_set { bit } else { 0 };
        flag(self.has_checksum, HAS_CHECKSUM)
            | flag(self.key.is_some(), HAS_KEY)
            | flag(self.seq.is_some(), HAS_SEQ)
    }
}

impl From<Gre<'_>> for GreHeader {
    fn from(gre: Gre<'_>) -> GreHeader {
        GreHeader {
            protocol: gre.protocol(),
            has_checksum: gre.checksum().is_some(),
            key: gre.key(),
            seq: gre.seq(),
        }
    }
}

/// Checksum, key and sequence number take four bytes each, in this order.
fn header_len(flags: u16) -> usize {
    seq_at(flags) + field_len(flags, HAS_SEQ)
}

fn key_at(flags: u16) -> usize {
    Gre::LEN + field_len(flags, HAS_CHECKSUM)
}

fn seq_at(flags: u16) -> usize {
    key_at(flags) + field_len(flags, HAS_KEY)
}

fn field_len(flags: u16, bit: u16) -> usize {
    if flags & bit != 0 { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::from_hex;
    use crate::ether::ethertype;
    use crate::ip::Ipv4;

    /// A bridged ARP request, from this project's captures.
    const BRIDGED: &str = "45000042 00004000 402fc288 cb007101 cb007102 00006558
        ffffffffffff02005e10007a0806 000108000604000102005e10007ac0000265000000000000c0000266";

    #[test]
    fn reads_what_linux_sends() {
        let packet = from_hex(BRIDGED);
        let gre = Gre::new(Ipv4::new(&packet).unwrap().payload()).unwrap();
        assert_eq!(GreHeader::from(gre), GreHeader::carrying(TRANSPARENT_ETHERNET));
        assert_eq!(gre.payload().len(), 42);
    }

    #[test]
    fn every_combination_of_fields() {
        for (has_checksum, key, seq, header) in [
            (false, None, None, "00000800"),
            (false, Some(0xdead_beef), None, "20000800 deadbeef"),
            (false, None, Some(1), "10000800 00000001"),
            (false, Some(2), Some(1), "30000800 00000002 00000001"),
            (true, None, None, "80000800 32ff0000"),
            (true, Some(0xdead_beef), None, "a0000800 75610000 deadbeef"),
            (true, None, Some(1), "90000800 22fe0000 00000001"),
            (true, Some(2), Some(1), "b0000800 02fc0000 00000002 00000001"),
        ] {
            let mut packet = vec![0xee; from_hex(header).len()];
            packet.extend([0x45, 0]);
            let made = GreHeader { protocol: ethertype::IPV4, has_checksum, key, seq };
            assert_eq!(made.write(&mut packet), Some(made.header_len()));
            assert_eq!(packet, [&from_hex(header)[..], &[0x45, 0]].concat(), "{header}");

            let gre = Gre::new(&packet).unwrap();
            assert_eq!(GreHeader::from(gre), made);
            assert_eq!(gre.payload(), [0x45, 0]);
            assert!(gre.is_checksum_right());
            packet[made.header_len()] ^= 1;
            assert_eq!(Gre::new(&packet).unwrap().is_checksum_right(), !has_checksum);

            for len in 0..made.header_len() {
                assert!(Gre::new(&packet[..len]).is_none(), "{header} {len}");
                assert_eq!(made.write(&mut packet[..len]), None, "{header} {len}");
            }
        }
    }

    #[test]
    fn other_versions_and_source_routes_are_refused() {
        for bit in 0..16 {
            let [high, low] = (1_u16 << bit).to_be_bytes();
            let packet = [high, low, 8, 0, 0, 0, 0, 0];
            // Bits 6 to 12 of RFC 2784, counted from the left, are to be passed over.
            let is_taken = !matches!(15 - bit, 1 | 4 | 5 | 13..);
            assert_eq!(Gre::new(&packet).is_some(), is_taken, "bit {}", 15 - bit);
        }
    }
}
