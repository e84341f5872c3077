//! Which is the longest of those prefixes that an address lies in? All prefixes, laid flat; built in bulk.
//!
//! ```text
//! prefixes    0/0 ───────────────────────────────────────── a
//!                    10/8 ─────────────── b
//!                            10.1/16 ── c
//! ranges      a    │ b     │ c       │ b │ a
//! top 16 bits  └ where among the ranges those begin that start within
//! ```
//!
//! Prefixes nest or are apart, so that n of them cut all addresses into at most 2n + 1 ranges, each with one answer. A look-up reads
//! one number by the upper 16 bits of the address, and is done if no range starts within; else it is a binary search among
//! those that do. Memory is that of the ranges and 256 KiB, whatever the prefixes are.
//!
//! A prefix cannot be added: a table is built anew from all of them, beside the one that is in use.
//!
//! ```
//! use table::prefix::PrefixTable;
//! let table = PrefixTable::new([(0x0a00_0000_u32, 8, 1), (0x0a01_0000, 16, 2)]);
//! assert_eq!(table.find(0x0a01_0203), Some(2));
//! assert_eq!(table.find(0x0aff_0000), Some(1));
//! assert_eq!(table.find(0x0b00_0000), None);
//! ```

/// An address as a number: `u32` for IPv4, `u128` for IPv6.
pub trait Address: Copy + Ord + sealed::Bits {}

impl<A: Copy + Ord + sealed::Bits> Address for A {}

mod sealed {
    /// What a table asks of an address.
    pub trait Bits: Sized {
        /// All bits are 0.
        const ZERO: Self;
        /// Bits of an address.
        const BITS: u8;
        /// The upper 16 bits.
        fn top(self) -> usize;
        /// The first address of the prefix of `len` bits that this is in.
        fn first(self, len: u8) -> Self;
        /// The last one.
        fn last(self, len: u8) -> Self;
        /// The next address.
        fn next(self) -> Option<Self>;
    }

    macro_rules! address {
        ($number:ty) => {
            impl Bits for $number {
                const ZERO: $number = 0;
                const BITS: u8 = <$number>::BITS as u8;

                #[inline]
                fn top(self) -> usize {
                    (self >> (Self::BITS - 16)) as usize
                }

                fn first(self, len: u8) -> $number {
                    self & !<$number>::MAX.checked_shr(len.into()).unwrap_or(0)
                }

                fn last(self, len: u8) -> $number {
                    self | <$number>::MAX.checked_shr(len.into()).unwrap_or(0)
                }

                fn next(self) -> Option<$number> {
                    self.checked_add(1)
                }
            }
        };
    }

    address!(u32);
    address!(u128);
}

/// A table of prefixes, each with a value.
#[derive(Clone, Debug)]
pub struct PrefixTable<A> {
    /// How many ranges start below each value of the upper 16 bits; one more at the end for all.
    index: Vec<u32>,
    /// Where ranges start, in order; the first at 0.
    starts: Vec<A>,
    /// The value of each range; [`NONE`] if no prefix holds it.
    values: Vec<u32>,
}

/// No prefix.
const NONE: u32 = u32::MAX;
/// Values of the upper 16 bits.
const TOPS: usize = 1 << 16;

impl<A: Address> PrefixTable<A> {
    /// A table of these prefixes: an address within, a length in bits, a value. Of two that are the same, the later counts. The value [`u32::MAX`] is
    /// that of no prefix: what it covers has no answer.
    ///
    /// At most 2^30 prefixes are taken; those behind are left out.
    #[must_use]
    pub fn new(prefixes: impl IntoIterator<Item = (A, u8, u32)>) -> Self {
        let first = |(address, len, value): (A, u8, u32)| {
            let len = len.min(A::BITS);
            (address.first(len), len, value)
        };
        let mut prefixes: Vec<_> = prefixes.into_iter().take(1 << 30).map(first).collect();
        // Stable, so that the later of two that are the same stays the later.
        prefixes.sort_by_key(|&(start, len, _)| (start, len));
        let mut ranges = Ranges { starts: vec![A::ZERO], values: vec![NONE], open: Vec::new() };
        for (start, len, value) in prefixes {
            ranges.close_before(Some(start));
            ranges.begin(start, value);
            ranges.open.push((start.last(len), value));
        }
        ranges.close_before(None);
        let below = |top: usize| ranges.starts.partition_point(|start| start.top() < top) as u32;
        PrefixTable { index: (0..=TOPS).map(below).collect(), starts: ranges.starts, values: ranges.values }
    }

    /// The value of the longest prefix that an address lies in.
    #[inline]
    #[must_use]
    pub fn find(&self, address: A) -> Option<u32> {
        let top = address.top();
        let (first, behind) = (self.index[top] as usize, self.index[top + 1] as usize);
        // The range is the last that starts at or before the address: one of these, or the one before them.
        let within = self.starts[first..behind].partition_point(|&start| start <= address);
        let value = self.values[(first + within).saturating_sub(1)];
        (value != NONE).then_some(value)
    }

    /// How many ranges of addresses have an answer of their own.
    #[must_use]
    pub fn ranges(&self) -> usize {
        self.starts.len()
    }
}

/// Ranges while they are made, from the lowest address on.
struct Ranges<A> {
    starts: Vec<A>,
    values: Vec<u32>,
    /// Prefixes that have begun and not ended, each within the one before: their last address and number.
    open: Vec<(A, u32)>,
}

impl<A: Address> Ranges<A> {
    /// From here on, addresses have this number.
    fn begin(&mut self, start: A, value: u32) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.values.pop();
        }
        self.starts.push(start);
        self.values.push(value);
    }

    /// Ends the prefixes that end before an address, or all.
    fn close_before(&mut self, address: Option<A>) {
        while let Some(&(last, _)) = self.open.last() {
            if address.is_some_and(|address| address <= last) {
                return;
            }
            self.open.pop();
            if let Some(next) = last.next() {
                let outer = self.open.last().map_or(NONE, |&(_, value)| value);
                self.begin(next, outer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Bits;
    use super::{Address, PrefixTable};
    use proptest::prelude::*;

    /// The longest of all prefixes, looked at one by one.
    fn slowly<A: Address>(prefixes: &[(A, u8, u32)], address: A) -> Option<u32> {
        let holds =
            |&&(start, len, _): &&(A, u8, u32)| (start.first(len)..=start.last(len)).contains(&address);
        // Of those that are equal, the last.
        prefixes.iter().filter(holds).max_by_key(|&&(_, len, _)| len.min(A::BITS)).map(|&(.., value)| value)
    }

    #[test]
    fn the_longest_prefix_wins() {
        let prefixes: [(u32, u8, u32); 7] = [
            (0, 0, 0),
            (0x0a00_0000, 8, 1),
            (0x0a01_0000, 16, 2),
            (0x0a01_0200, 24, 3),
            (0x0a01_0203, 32, 4),
            (0xffff_ffff, 32, 5),
            (0x8000_0000, 1, 6),
        ];
        let table = PrefixTable::new(prefixes);
        for (address, value) in [
            (0, 0),
            (0x0900_0001, 0),
            (0x0a00_0000, 1),
            (0x0a01_0000, 2),
            (0x0a01_01ff, 2),
            (0x0a01_0200, 3),
            (0x0a01_0203, 4),
            (0x0a01_0204, 3),
            (0x0a01_0300, 2),
            (0x0aff_ffff, 1),
            (0x0b00_0000, 0),
            (0x8000_0000, 6),
            (0xffff_fffe, 6),
            (0xffff_ffff, 5),
        ] {
            assert_eq!(table.find(address), Some(value), "{address:x}");
        }
        assert_eq!(PrefixTable::<u32>::new([]).find(7), None);
        assert_eq!(PrefixTable::new([(0x0a00_0000_u32, 8, 1)]).find(0x0b00_0000), None);
    }

    /// Few bits, so that prefixes nest, and some bits behind the prefix, which do not count.
    fn prefixes() -> impl Strategy<Value = Vec<(u32, u8, u32)>> {
        let prefix = (0..16_u32, 0..4_u32, 0..8_u32, 0..34_u8, 0..100_u32)
            .prop_map(|(high, middle, low, len, value)| (high << 28 | middle << 14 | low, len, value));
        proptest::collection::vec(prefix, 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 300 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn it_finds_what_a_slow_search_finds(prefixes in prefixes(), others in proptest::collection::vec(any::<u32>(), 20)) {
            let table = PrefixTable::new(prefixes.iter().copied());
            let wide = PrefixTable::new(
                prefixes.iter().map(|&(start, len, value)| (u128::from(start) << 96, len.min(32), value)),
            );
            prop_assert!(table.ranges() <= 2 * prefixes.len() + 1);
            let edges = prefixes.iter().flat_map(|&(start, len, _)| {
                let (first, last) = (start.first(len), start.last(len));
                [first, first.wrapping_sub(1), last, last.wrapping_add(1)]
            });
            for address in edges.chain(others) {
                let expected = slowly(&prefixes, address);
                prop_assert_eq!(table.find(address), expected, "{:x}", address);
                prop_assert_eq!(wide.find(u128::from(address) << 96 | 1), expected, "{:x}", address);
            }
        }
    }
}
