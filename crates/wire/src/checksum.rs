//! The Internet checksum: the ones' complement of the ones' complement sum (RFC 1071).
//!
//! The sum may be taken over 32-bit words into a wide accumulator and folded at the end, since carries commute;
//! that is what makes it fast without any special instruction.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A sum that is being taken, over any number of pieces.
///
/// ```
/// use wire::checksum::Sum;
/// let header = [0x45, 0, 0, 0x1c, 0, 0, 0, 0, 0x40, 0x11, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
/// let checksum = Sum::new().add_bytes(&header).finish();
/// assert_eq!(checksum, 0x66cf);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Sum {
    /// INVARIANT: below 2^63, which 2^31 additions of 32-bit words cannot leave.
    total: u64,
}

impl Sum {
    /// Nothing summed yet.
    pub const fn new() -> Sum {
        Sum { total: 0 }
    }

    /// Adds a piece. A piece of odd length counts as if a zero followed it, so only the last may be odd.
    pub fn add_bytes(self, bytes: &[u8]) -> Sum {
        let mut total = self.total;
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            total += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        total += u64::from(u32::from_be_bytes(last));
        Sum { total: fold_once(total) }
    }

    /// Adds a 16-bit number.
    pub fn add_u16(self, value: u16) -> Sum {
        Sum { total: self.total + u64::from(value) }
    }

    /// Adds the pseudo-header of TCP and UDP over IPv4 (RFC 793, 3.1): addresses, protocol, length.
    pub fn add_pseudo_v4(self, src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, length: u16) -> Sum {
        self.add_bytes(&src.octets()).add_bytes(&dst.octets()).add_u16(protocol.into()).add_u16(length)
    }

    /// Adds the pseudo-header of everything over IPv6 (RFC 8200, 8.1).
    pub fn add_pseudo_v6(self, src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, length: u32) -> Sum {
        self.add_bytes(&src.octets())
            .add_bytes(&dst.octets())
            .add_bytes(&length.to_be_bytes())
            .add_u16(protocol.into())
    }

    /// The checksum. Over data that contains its own right checksum this is 0.
    #[must_use]
    pub fn finish(self) -> u16 {
        let mut total = self.total;
        while total > 0xffff {
            total = (total >> 16) + (total & 0xffff);
        }
        !(total as u16)
    }
}

fn fold_once(total: u64) -> u64 {
    (total >> 32) + (total & 0xffff_ffff)
}

/// The checksum of one piece.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::new().add_bytes(bytes).finish()
}

/// The checksum after one 16-bit word of the data has changed (RFC 1624, equation 3).
#[must_use]
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::new().add_u16(!checksum).add_u16(!old).add_u16(new).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 word for word.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn equals_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(checksum(&bytes), plain(&bytes));
        }

        #[test]
        fn pieces_do_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..100) {
            let (a, b) = bytes.split_at((cut * 2).min(bytes.len() & !1));
            prop_assert_eq!(Sum::new().add_bytes(a).add_bytes(b).finish(), checksum(&bytes));
        }

        #[test]
        fn updating_equals_recomputing(words in proptest::collection::vec(any::<u16>(), 2..40), new: u16) {
            let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<_>>();
            let before = checksum(&bytes(&words));
            let mut changed = words.clone();
            changed[0] = new;
            let after = checksum(&bytes(&changed));
            // 0000 and ffff are the same number in ones' complement.
            prop_assert_eq!(update(before, words[0], new) % 0xffff, after % 0xffff);
        }
    }

    #[test]
    fn a_header_with_its_checksum_sums_to_zero() {
        let mut header = [0x45, 0, 0, 40, 1, 2, 0x40, 0, 64, 6, 0, 0, 192, 168, 0, 1, 10, 1, 2, 3];
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&header), 0);
    }
}
