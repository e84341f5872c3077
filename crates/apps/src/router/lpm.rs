//! Longest prefix match: all prefixes, laid flat.
//!
//! ```text
//! prefixes    0/0 ───────────────────────────────────────── a
//!                    10/8 ─────────────── b
//!                            10.1/16 ── c
//! ranges      a    │ b     │ c       │ b │ a
//! top 16 bits  └ where among the ranges those begin that start within
//! ```
//!
//! Prefixes nest or are apart, so that n of them cut all addresses into 2n + 1 ranges at most, each with one answer. A look-up reads
//! one number by the upper 16 bits of the address, and is done if no range starts within; else it is a binary search among
//! those that do. Memory is that of the ranges and 256 KiB, whatever the prefixes are.

/// An address as a number.
pub(super) trait Address: Copy + Ord {
    /// All bits are 0.
    const ZERO: Self;
    /// The upper 16 bits.
    fn top(self) -> usize;
    /// The last address of the prefix of `len` bits that begins here.
    fn last(self, len: u8) -> Self;
    /// The next address.
    fn next(self) -> Option<Self>;
}

impl Address for u32 {
    const ZERO: u32 = 0;

    #[inline]
    fn top(self) -> usize {
        (self >> 16) as usize
    }

    fn last(self, len: u8) -> u32 {
        self | u32::MAX.checked_shr(len.into()).unwrap_or(0)
    }

    fn next(self) -> Option<u32> {
        self.checked_add(1)
    }
}

impl Address for u128 {
    const ZERO: u128 = 0;

    #[inline]
    fn top(self) -> usize {
        (self >> 112) as usize
    }

    fn last(self, len: u8) -> u128 {
        self | u128::MAX.checked_shr(len.into()).unwrap_or(0)
    }

    fn next(self) -> Option<u128> {
        self.checked_add(1)
    }
}

/// A table of prefixes, each with a number.
#[derive(Debug)]
pub(super) struct Lpm<A> {
    /// How many ranges start below each value of the upper 16 bits; one more at the end for all.
    index: Vec<u32>,
    /// Where ranges start, in order; the first at 0.
    starts: Vec<A>,
    /// The number of each range; [`NONE`] if no prefix holds it.
    values: Vec<u32>,
}

/// No prefix.
const NONE: u32 = u32::MAX;
/// Values of the upper 16 bits.
const TOPS: usize = 1 << 16;

impl<A: Address> Lpm<A> {
    /// A table of these prefixes: first address, length, number. Of two that are the same, the later counts.
    pub(super) fn new(prefixes: impl IntoIterator<Item = (A, u8, u32)>) -> Self {
        let mut prefixes: Vec<_> = prefixes.into_iter().collect();
        prefixes.sort_by_key(|&(start, len, _)| (start, len));
        let mut ranges = Ranges { starts: vec![A::ZERO], values: vec![NONE], open: Vec::new() };
        for (start, len, value) in prefixes {
            ranges.close_before(Some(start));
            ranges.begin(start, value);
            ranges.open.push((start.last(len), value));
        }
        ranges.close_before(None);
        let below = |top: usize| ranges.starts.partition_point(|start| start.top() < top) as u32;
        Lpm { index: (0..=TOPS).map(below).collect(), starts: ranges.starts, values: ranges.values }
    }

    /// The number of the longest prefix that holds an address.
    #[inline]
    pub(super) fn find(&self, address: A) -> Option<u32> {
        let top = address.top();
        let (first, behind) = (self.index[top] as usize, self.index[top + 1] as usize);
        // The range is the last that starts at or before the address: one of these, or the one before them.
        let within = self.starts[first..behind].partition_point(|&start| start <= address);
        let value = self.values[(first + within).saturating_sub(1)];
        (value != NONE).then_some(value)
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
    use super::{Address, Lpm};
    use testkit::rng::Rng;

    /// The longest of all prefixes, looked at one by one.
    fn slowly<A: Address>(prefixes: &[(A, u8, u32)], address: A) -> Option<u32> {
        let holds = |&&(start, len, _): &&(A, u8, u32)| (start..=start.last(len)).contains(&address);
        prefixes.iter().filter(holds).max_by_key(|&&(_, len, _)| len).map(|&(.., value)| value)
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
        let table = Lpm::new(prefixes);
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
        assert_eq!(Lpm::<u32>::new([]).find(7), None);
        assert_eq!(Lpm::new([(0x0a00_0000_u32, 8, 1)]).find(0x0b00_0000), None);
    }

    #[test]
    fn it_finds_what_a_slow_search_finds() {
        let mut rng = Rng::new(5);
        for round in 0..60 {
            let mut prefixes: Vec<(u32, u8, u32)> = Vec::new();
            for value in 0..1 + rng.below(200) as u32 {
                let len = rng.below(33) as u8;
                // Few bits, so that prefixes nest.
                let bits = (rng.below(16) as u32) << 28 | (rng.below(4) as u32) << 14 | rng.below(8) as u32;
                let start = bits & !0_u32.last(len);
                if !prefixes.iter().any(|&(other, other_len, _)| (other, other_len) == (start, len)) {
                    prefixes.push((start, len, value));
                }
            }
            let table = Lpm::new(prefixes.iter().copied());
            let wide =
                Lpm::new(prefixes.iter().map(|&(start, len, value)| (u128::from(start) << 96, len, value)));
            let edges = prefixes.iter().flat_map(|&(start, len, _)| {
                let last = start.last(len);
                [start, start.wrapping_sub(1), last, last.wrapping_add(1)]
            });
            for address in edges.chain((0..50).map(|_| rng.next_u32())) {
                let expected = slowly(&prefixes, address);
                assert_eq!(table.find(address), expected, "{round}: {address:x} in {prefixes:x?}");
                assert_eq!(wide.find(u128::from(address) << 96 | 1), expected, "{round}: {address:x}");
            }
        }
    }
}
