//! Bits that the headers of all packets of a kind have in common.

/// Common bits of headers of `N` bytes: which ones, and their values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern<const N: usize> {
    bytes: [u8; N],
    mask: [u8; N],
}

impl<const N: usize> Pattern<N> {
    /// The common bits of two headers that differ in all that may be different.
    pub(crate) fn common(one: [u8; N], other: [u8; N]) -> Self {
        Pattern { bytes: one, mask: std::array::from_fn(|at| !(one[at] ^ other[at])) }
    }

    /// Whether a header has them too.
    ///
    /// PERF: all of it is compared before anything is decided, by eights, which become vectors.
    #[inline(always)]
    pub(crate) fn fits(&self, header: &[u8; N]) -> bool {
        let (header, header_rest) = header.as_chunks();
        let (bytes, bytes_rest) = self.bytes.as_chunks();
        let (mask, mask_rest) = self.mask.as_chunks();
        let bits = |at: usize| differences(header[at], bytes[at], mask[at]);
        let eights = (0..header.len()).fold(0, |all, at| all | bits(at));
        eights == 0 && differences(padded(header_rest), padded(bytes_rest), padded(mask_rest)) == 0
    }
}

#[inline(always)]
fn differences(one: [u8; 8], other: [u8; 8], mask: [u8; 8]) -> u64 {
    (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)) & u64::from_ne_bytes(mask)
}

#[inline(always)]
fn padded(rest: &[u8]) -> [u8; 8] {
    let mut eight = [0; 8];
    eight[..rest.len()].copy_from_slice(rest);
    eight
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn every_bit_counts<const N: usize>() {
        let pattern = Pattern::common([0x5a; N], [0x57; N]);
        assert!(pattern.fits(&[0x5a; N]) && pattern.fits(&[0x53; N]));
        for bit in 0..8 * N {
            let mut header = [0x57; N];
            header[bit / 8] ^= 1 << (bit % 8);
            let is_common = [0, 2, 3].iter().all(|&differs| bit % 8 != differs);
            assert_eq!(pattern.fits(&header), !is_common, "{N} {bit}");
        }
    }

    #[test]
    fn what_is_common_is_compared_and_nothing_else() {
        every_bit_counts::<1>();
        every_bit_counts::<8>();
        every_bit_counts::<66>();
    }
}
