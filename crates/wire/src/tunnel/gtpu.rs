//! The user plane of GPRS tunnelling (GTP-U; 3GPP TS 29.281): a packet of a mobile's in UDP.
//!
//! ```
//! use wire::tunnel::Gtpu;
//! let packet = [0x30, 255, 0, 1, 0, 0, 0x1b, 0x58, 0x45];
//! let gtpu = Gtpu::new(&packet).unwrap();
//! assert_eq!((gtpu.teid(), gtpu.payload()), (7000, &[0x45][..]));
//! ```

use crate::bytes::{u8_at, u32_at};
use crate::ether::ethertype;

/// The UDP port that GTP-U is sent to.
pub const GTPU_PORT: u16 = 2152;

/// Version 1 and the bit that tells GTP from GTP'.
const VERSION: u8 = 0x30;
const VERSION_MASK: u8 = 0xf0;
/// Flags: an extension header, a sequence number, a number of an N-PDU. Each of them makes the header longer by all three.
const HAS_EXTENSION: u8 = 0x04;
const HAS_MORE: u8 = 0x07;
/// The message that carries a packet.
const IS_PACKET: u8 = 255;
/// Extension headers that are walked over. Two are in use between a base station and its network.
const EXTENSIONS_MAX: usize = 8;

/// A GTP-U header with its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Gtpu<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> Gtpu<'a> {
    /// Length of a header without options and extensions.
    pub const LEN: usize = 8;

    /// A view of a UDP payload, if it holds a message that carries a packet, with all its extension headers.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Gtpu<'a>> {
        let header_len = header_len(bytes).ok()?;
        Some(Gtpu { bytes, header_len })
    }

    /// Bytes that show whether a UDP payload holds such a message, where it begins with these.
    pub(super) fn least(bytes: &[u8]) -> usize {
        header_len(bytes).unwrap_or_else(|needed| needed)
    }

    /// Length of the header with its extensions.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// The tunnel's endpoint identifier, which the receiver has chosen.
    #[inline]
    #[must_use]
    pub fn teid(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default()
    }

    /// EtherType of what is inside: IP of the version that its first bits say. `None` for what is neither.
    #[inline]
    #[must_use]
    pub fn ethertype(&self) -> Option<u16> {
        match self.payload().first()? >> 4 {
            4 => Some(ethertype::IPV4),
            6 => Some(ethertype::IPV6),
            _ => None,
        }
    }

    /// What is inside.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }
}

/// Where the header ends, which is within these bytes; or how many bytes show that there is none. An extension's first byte counts it in words, its
/// last says what follows (5.2.1).
fn header_len(bytes: &[u8]) -> Result<usize, usize> {
    let Some(&[flags, kind, ..]) = bytes.first_chunk::<{ Gtpu::LEN }>() else { return Err(Gtpu::LEN) };
    if flags & VERSION_MASK != VERSION || kind != IS_PACKET {
        return Err(Gtpu::LEN);
    }
    if flags & HAS_MORE == 0 {
        return Ok(Gtpu::LEN);
    }
    let mut len = Gtpu::LEN + 4;
    for _ in 0..=EXTENSIONS_MAX {
        let next = u8_at(bytes, len - 1).ok_or(len)?;
        if flags & HAS_EXTENSION == 0 || next == 0 {
            return Ok(len);
        }
        match u8_at(bytes, len).ok_or(len + 1)? {
            0 => return Err(len),
            words => len += 4 * usize::from(words),
        }
    }
    Err(Gtpu::LEN)
}

#[cfg(test)]
mod tests {
    use super::Gtpu;

    #[test]
    fn extensions_are_passed_over() {
        // With the container of a PDU session, as a 5G base station sends it.
        let packet = [0x34, 255, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0x85, 1, 0x10, 9, 0, 0x45, 0];
        let gtpu = Gtpu::new(&packet).unwrap();
        assert_eq!((gtpu.teid(), gtpu.header_len(), gtpu.payload()), (5, 16, &[0x45, 0][..]));
        for len in 0..16 {
            assert!(Gtpu::new(&packet[..len]).is_none(), "{len}");
        }
        let with_sequence_number = [0x32, 255, 0, 4, 0, 0, 0, 5, 0, 1, 0, 0x85, 0x60];
        assert_eq!(Gtpu::new(&with_sequence_number).unwrap().payload(), [0x60]);
    }

    #[test]
    fn what_carries_no_packet_is_none() {
        let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
        let prime = [0x20, 255, 0, 0, 0, 0, 0, 5];
        let endless = [&[0x34, 255, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1][..], &[1; 64]].concat();
        let without_length = [0x34, 255, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0x85, 0, 0, 0, 0];
        for packet in [&echo[..], &prime, &endless, &without_length] {
            assert!(Gtpu::new(packet).is_none(), "{packet:?}");
        }
    }
}
