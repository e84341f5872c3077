//! Generic network virtualization encapsulation (RFC 8926): a packet of any EtherType in UDP.
//!
//! ```
//! use wire::ether::ethertype;
//! use wire::tunnel::Geneve;
//! let packet = [0x01, 0, 0x08, 0x00, 0x00, 0x1b, 0x58, 0, 1, 2, 3, 0, 0x45];
//! let geneve = Geneve::new(&packet).unwrap();
//! assert_eq!((geneve.vni(), geneve.protocol(), geneve.payload()), (7000, ethertype::IPV4, &[0x45][..]));
//! ```

use crate::bytes::{u16_at, u32_at};

/// The UDP port that Geneve is sent to.
pub const GENEVE_PORT: u16 = 6081;

/// A Geneve header with its options.
#[derive(Clone, Copy, Debug)]
pub struct Geneve<'a> {
    bytes: &'a [u8],
}

impl<'a> Geneve<'a> {
    /// Length of a header without options.
    pub const LEN: usize = 8;

    /// A view of a UDP payload, if it holds a header of version 0 with all its options.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Geneve<'a>> {
        let is_whole = bytes.len() >= Geneve::LEN && bytes.len() >= header_len(bytes[0]);
        (is_whole && bytes[0] >> 6 == 0).then_some(Geneve { bytes })
    }

    /// Length of the header with its options.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        header_len(self.bytes[0])
    }

    /// EtherType of what is inside; [`TRANSPARENT_ETHERNET`](super::TRANSPARENT_ETHERNET) for a frame.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// The network identifier, 24 bits.
    #[inline]
    #[must_use]
    pub fn vni(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default() >> 8
    }

    /// What is inside.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }
}

/// The low six bits of the first byte count the options in units of four bytes.
fn header_len(first: u8) -> usize {
    Geneve::LEN + usize::from(first & 0x3f) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_have_no_view() {
        let header = [0, 0, 0x65, 0x58, 0, 0, 7, 0];
        assert!(Geneve::new(&header).is_some());
        assert!(Geneve::new(&header[..7]).is_none() && Geneve::new(&[]).is_none());
        for first in [1, 0x3f, 0x40, 0xc0] {
            let mut other = header;
            other[0] = first;
            assert!(Geneve::new(&other).is_none(), "{first:#04x}");
        }
    }
}
