//! Ranks of 128-bit numbers: the tree over upper halves, then the lower halves that share one.
//!
//! ```text
//! group = how many different upper halves are <= that of x
//! the last of them is that of x     rank = its first boundary + how many lower halves of the group are <= that of x
//! else                              rank = the first boundary of the next group
//! ```
//! Prefixes of up to 64 bits have boundaries whose lower half is 0: groups of one. Hosts share an upper half with the others of their
//! network; those of one network are searched without branches.

use super::{Limit, Ranks64, TooLarge, check};
use crate::pages::Pages;
use crate::simd::{Isa, Ranked, Vectors};

/// Boundaries of 128 bits, sorted.
#[derive(Clone, Debug)]
pub struct Ranks128 {
    uppers: Ranks64,
    groups: Pages<Group>,
    lowers: Pages<u64>,
    isa: Isa,
}

/// The boundaries with one upper half.
#[derive(Clone, Copy, Debug)]
struct Group {
    upper: u64,
    /// The first of them; up to the first of the next group.
    first: u32,
}

impl Ranks128 {
    /// A table of these boundaries, which ascend strictly.
    ///
    /// # Errors
    /// [`TooLarge`] above the limit, and above 2^30 boundaries.
    ///
    /// # Panics
    /// If they do not ascend.
    pub fn new(starts: &[u128], limit: Limit) -> Result<Ranks128, TooLarge> {
        Ranks128::with_isa(starts, limit, Isa::best())
    }

    /// The same with instructions of the caller's choice.
    ///
    /// # Errors
    /// As [`Ranks128::new`].
    ///
    /// # Panics
    /// As [`Ranks128::new`].
    pub fn with_isa(starts: &[u128], limit: Limit, isa: Isa) -> Result<Ranks128, TooLarge> {
        assert!(starts.is_sorted_by(|a, b| a < b), "boundaries ascend");
        let bytes = starts.len() * size_of::<u64>();
        check(starts.len(), bytes, limit)?;
        if starts.len() > 1 << 30 {
            return Err(TooLarge { boundaries: starts.len(), bytes, limit: limit.bytes });
        }
        let mut groups: Vec<Group> = Vec::new();
        for (&start, first) in starts.iter().zip(0..) {
            let upper = (start >> 64) as u64;
            if groups.last().is_none_or(|group| group.upper != upper) {
                groups.push(Group { upper, first });
            }
        }
        let uppers: Vec<u64> = groups.iter().map(|group| group.upper).collect();
        let uppers = Ranks64::with_isa(&uppers, limit, isa)?;
        groups.push(Group { upper: u64::MAX, first: starts.len() as u32 });
        let lowers = Pages::of(starts.iter().map(|&start| start as u64).collect());
        let table = Ranks128 { uppers, groups: Pages::of(groups), lowers, isa: isa.here() };
        check(starts.len(), table.bytes(), limit)?;
        Ok(table)
    }

    /// How many boundaries are at or below `x`.
    #[inline]
    #[must_use]
    pub fn rank(&self, x: u128) -> u32 {
        self.isa.rank(self, x)
    }

    /// The rank of each number.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn ranks(&self, keys: &[u128], ranks: &mut [u32]) {
        assert!(ranks.len() >= keys.len(), "room for the rank of each number");
        self.isa.ranks(self, keys, ranks);
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.uppers.bytes() + size_of_val(&self.groups[..]) + size_of_val(&self.lowers[..])
    }

    /// How many boundaries there are.
    #[must_use]
    pub fn boundaries(&self) -> usize {
        self.lowers.len()
    }
}

impl Ranked for Ranks128 {
    type Key = u128;

    #[inline(always)]
    fn rank_by<V: Vectors>(&self, vectors: V, x: u128) -> u32 {
        let upper = (x >> 64) as u64;
        let behind = self.uppers.rank_by(vectors, upper) as usize;
        let Some(at) = behind.checked_sub(1) else { return 0 };
        let (group, next) = (self.groups[at], self.groups[behind]);
        if group.upper < upper {
            return next.first;
        }
        let lowers = &self.lowers[group.first as usize..next.first as usize];
        group.first + at_most(lowers, x as u64)
    }
}

/// How many of these sorted numbers are at most `x`: a binary search whose only branches are those of its loop.
#[inline(always)]
fn at_most(sorted: &[u64], x: u64) -> u32 {
    let (mut at, mut left) = (0, sorted.len());
    while left > 0 {
        let step = left.div_ceil(2);
        at += if sorted[at + step - 1] <= x { step } else { 0 };
        left -= step;
    }
    at as u32
}
