//! Prefixes, ranges and single numbers as sorted, disjoint intervals: what every table of this crate is built from.
//!
//! ```text
//! entries      10.0.0.0/8 -> a, 10.1.0.0/16 -> b, 10.1.2.3 -> c
//! pieces       … none │ 10.0.0.0 a │ 10.1.0.0 b │ 10.1.2.3 c │ 10.1.2.4 b │ 10.2.0.0 a │ 11.0.0.0 none …
//! ```
//! Whatever decides between entries that overlap (the longest prefix, the first in a list, any), its answer is constant between two
//! boundaries. So a table need not know: it finds the piece that a number lies in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

/// An unsigned number that tables are asked for: `u32` for IPv4, `u128` for IPv6, `u64` for MAC addresses, `u16` for ports.
pub trait Key: Copy + Ord + Hash + std::fmt::Debug + sealed::Bits {
    /// The next number; `None` behind the largest.
    fn above(self) -> Option<Self> {
        self.next()
    }

    /// The least number.
    fn least() -> Self {
        Self::ZERO
    }

    /// The largest number.
    fn largest() -> Self {
        Self::MAX
    }

    /// The number before; `None` before the least.
    fn below(self) -> Option<Self> {
        self.previous()
    }
}

impl<K: Copy + Ord + Hash + std::fmt::Debug + sealed::Bits> Key for K {}

mod sealed {
    /// What building asks of a number.
    pub trait Bits: Sized {
        /// The least number.
        const ZERO: Self;
        /// The largest number.
        const MAX: Self;
        /// How many bits it has.
        const BITS: u8;
        /// The first number with the same `len` upper bits.
        fn first(self, len: u8) -> Self;
        /// The last one.
        fn last(self, len: u8) -> Self;
        /// The next number.
        fn next(self) -> Option<Self>;
        /// The one before.
        fn previous(self) -> Option<Self>;
    }

    macro_rules! key {
        ($($number:ty)*) => {$(
            impl Bits for $number {
                const ZERO: $number = 0;
                const MAX: $number = <$number>::MAX;
                const BITS: u8 = <$number>::BITS as u8;

                fn first(self, len: u8) -> $number {
                    self & !<$number>::MAX.checked_shr(len.into()).unwrap_or(0)
                }

                fn last(self, len: u8) -> $number {
                    self | <$number>::MAX.checked_shr(len.into()).unwrap_or(0)
                }

                fn next(self) -> Option<$number> {
                    self.checked_add(1)
                }

                fn previous(self) -> Option<$number> {
                    self.checked_sub(1)
                }
            }
        )*};
    }

    key!(u16 u32 u64 u128);
}

/// The numbers with the same `len` upper bits as `key`, as an interval.
///
/// ```
/// assert_eq!(table::interval::prefix(0x0a01_0203_u32, 8), (0x0a00_0000, 0x0aff_ffff));
/// ```
#[must_use]
pub fn prefix<K: Key>(key: K, len: u8) -> (K, K) {
    let len = len.min(K::BITS);
    (key.first(len), key.last(len))
}

/// The numbers that lie in any of these inclusive intervals, which may overlap, as the fewest sorted, disjoint intervals. One whose
/// ends are the wrong way round is empty.
///
/// ```
/// let spans = vec![(20_u32, 29), (5, 5), (30, 31), (25, 26), (9, 8)];
/// assert_eq!(table::interval::union(spans), [(5, 5), (20, 31)]);
/// ```
#[must_use]
pub fn union<K: Key>(mut spans: Vec<(K, K)>) -> Vec<(K, K)> {
    spans.retain(|(low, high)| low <= high);
    if !spans.is_sorted() {
        spans.sort_unstable();
    }
    let mut kept = 0;
    for at in 0..spans.len() {
        let (low, high) = spans[at];
        // Joined with the one before where they overlap or touch.
        if kept > 0 && spans[kept - 1].1.next().is_none_or(|next| low <= next) {
            spans[kept - 1].1 = spans[kept - 1].1.max(high);
        } else {
            spans[kept] = (low, high);
            kept += 1;
        }
    }
    spans.truncate(kept);
    spans.shrink_to_fit();
    spans
}

/// All numbers cut into pieces, each with one value.
///
/// INVARIANT: `starts` ascend strictly; there is one more value than starts: that of the numbers below the first start, then one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces<K> {
    /// Where pieces begin.
    pub starts: Vec<K>,
    /// The value of the numbers below the first start, then of each piece.
    pub values: Vec<u32>,
}

/// The value of a piece that no entry covers.
pub const NONE: u32 = u32::MAX;

impl<K: Key> Pieces<K> {
    fn new() -> Self {
        Pieces { starts: Vec::new(), values: vec![NONE] }
    }

    /// Begins a piece: numbers from `start` on have this value.
    fn begin(&mut self, start: K, value: u32) {
        if start == K::ZERO {
            self.values[0] = value;
            return;
        }
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.values.pop();
        }
        if self.values.last() != Some(&value) {
            self.starts.push(start);
            self.values.push(value);
        }
    }

    /// The pieces of disjoint, ascending intervals: value 1 within, [`NONE`] without.
    #[must_use]
    pub fn of_spans(spans: &[(K, K)]) -> Self {
        let mut pieces = Pieces { starts: Vec::with_capacity(2 * spans.len()), values: vec![NONE] };
        for &(low, high) in spans {
            pieces.begin(low, 1);
            if let Some(next) = high.next() {
                pieces.begin(next, NONE);
            }
        }
        pieces
    }

    /// The longest prefix decides: entries are an address within, a length in bits, and a value. Of two that are equal, the later counts.
    ///
    /// ```
    /// use table::interval::{NONE, Pieces};
    /// let pieces = Pieces::longest_prefix(vec![(0x0a00_0000_u32, 8, 1), (0x0a01_0000, 16, 2)]);
    /// assert_eq!(pieces.starts, [0x0a00_0000, 0x0a01_0000, 0x0a02_0000, 0x0b00_0000]);
    /// assert_eq!(pieces.values, [NONE, 1, 2, 1, NONE]);
    /// ```
    #[must_use]
    pub fn longest_prefix(mut prefixes: Vec<(K, u8, u32)>) -> Self {
        for (key, len, _) in &mut prefixes {
            *len = (*len).min(K::BITS);
            *key = key.first(*len);
        }
        // Stable, so that the later of two equal ones stays the later.
        prefixes.sort_by_key(|&(start, len, _)| (start, len));
        let mut pieces = Pieces::new();
        // Prefixes that have begun and not ended, each within the one before: their last number and value.
        let mut open: Vec<(K, u32)> = Vec::new();
        let close = |pieces: &mut Self, open: &mut Vec<(K, u32)>, till: Option<K>| {
            while let Some(&(last, _)) = open.last() {
                if till.is_some_and(|till| till <= last) {
                    return;
                }
                open.pop();
                if let Some(next) = last.next() {
                    pieces.begin(next, open.last().map_or(NONE, |&(_, value)| value));
                }
            }
        };
        for (start, len, value) in prefixes {
            close(&mut pieces, &mut open, Some(start));
            pieces.begin(start, value);
            open.push((start.last(len), value));
        }
        close(&mut pieces, &mut open, None);
        pieces
    }

    /// The first entry of the list decides: each is an inclusive interval and a value.
    ///
    /// ```
    /// use table::interval::{NONE, Pieces};
    /// let pieces = Pieces::first_match(&[(5_u32, 9, 1), (0, 20, 2)]);
    /// assert_eq!((pieces.starts, pieces.values), (vec![5, 10, 21], vec![2, 1, 2, NONE]));
    /// ```
    #[must_use]
    pub fn first_match(entries: &[(K, K, u32)]) -> Self {
        let mut by_start: Vec<u32> = (0..entries.len() as u32).collect();
        by_start.retain(|&at| entries[at as usize].0 <= entries[at as usize].1);
        by_start.sort_unstable_by_key(|&at| entries[at as usize].0);
        let mut pieces = Pieces::new();
        // Entries that have begun, the first of the list on top; those that have ended are taken off when they come up.
        let mut open: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        let settle = |pieces: &mut Self, open: &mut BinaryHeap<Reverse<u32>>, till: Option<K>| {
            while let Some(&Reverse(top)) = open.peek() {
                let end = entries[top as usize].1;
                if till.is_some_and(|till| till <= end) {
                    return;
                }
                open.pop();
                // All that ended no later than this one never decide again.
                while open.peek().is_some_and(|&Reverse(next)| entries[next as usize].1 <= end) {
                    open.pop();
                }
                if let Some(next) = end.next() {
                    pieces.begin(next, open.peek().map_or(NONE, |&Reverse(at)| entries[at as usize].2));
                }
            }
        };
        for at in by_start {
            let start = entries[at as usize].0;
            settle(&mut pieces, &mut open, Some(start));
            open.push(Reverse(at));
            let Some(&Reverse(top)) = open.peek() else { continue };
            pieces.begin(start, entries[top as usize].2);
        }
        settle(&mut pieces, &mut open, None);
        pieces
    }

    /// The value of a number: a plain search, which tables are compared with.
    #[must_use]
    pub fn find(&self, key: K) -> Option<u32> {
        let value = self.values[self.starts.partition_point(|&start| start <= key)];
        (value != NONE).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans() -> impl Strategy<Value = Vec<(u16, u16)>> {
        let end = prop_oneof![0..64_u16, any::<u16>(), (u16::MAX - 9)..=u16::MAX];
        let span = (end.clone(), end).prop_map(|(a, b)| (a.min(b), a.max(b)));
        proptest::collection::vec(span, 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 300 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn unions_hold_what_their_parts_hold(spans in spans()) {
            let joined = union(spans.clone());
            prop_assert!(joined.windows(2).all(|pair| pair[0].1 < u16::MAX && pair[0].1 + 1 < pair[1].0));
            let pieces = Pieces::of_spans(&joined);
            for key in 0..=u16::MAX {
                let held = spans.iter().any(|&(low, high)| (low..=high).contains(&key));
                prop_assert_eq!(joined.iter().any(|&(low, high)| (low..=high).contains(&key)), held);
                prop_assert_eq!(pieces.find(key), held.then_some(1));
            }
        }

        #[test]
        fn the_first_entry_decides(spans in spans()) {
            let entries: Vec<_> = spans.iter().zip(0..).map(|(&(low, high), value)| (low, high, value)).collect();
            let pieces = Pieces::first_match(&entries);
            for key in 0..=u16::MAX {
                let first = entries.iter().find(|&&(low, high, _)| (low..=high).contains(&key));
                prop_assert_eq!(pieces.find(key), first.map(|&(.., value)| value), "{}", key);
            }
        }

        #[test]
        fn the_longest_prefix_decides(prefixes in proptest::collection::vec((any::<u16>(), 0..18_u8, 0..5_u32), 0..20)) {
            let pieces = Pieces::longest_prefix(prefixes.clone());
            for key in 0..=u16::MAX {
                let holds = |&&(address, len, _): &&(u16, u8, u32)| {
                    let (low, high) = prefix(address, len);
                    (low..=high).contains(&key)
                };
                let longest = prefixes.iter().filter(holds).max_by_key(|&&(_, len, _)| len.min(16));
                prop_assert_eq!(pieces.find(key), longest.map(|&(.., value)| value), "{}", key);
            }
        }
    }
}
