//! How many of millions of boundaries lie at or below a number? Two or three cache lines, whatever their number.
//!
//! A *rank* numbers the pieces that sorted boundaries cut all numbers into. A map reads the value of the piece; a set needs no values, since
//! pieces within and without it alternate: a number is in the set if its rank is odd.
//!
//! | numbers | table | a look-up reads |
//! |---|---|---|
//! | 32 bits | [`Ranks32`]: direct root, then the boundaries of one chunk compared at once | two lines |
//! | 64 bits | [`Ranks64`]: a static tree of nine ways, a line a node | a line a level: six for 300,000 boundaries |
//! | 128 bits | [`Ranks128`]: the tree over upper halves, then the lower halves that share one | the same, and one or two |
//!
//! Boundaries are compared by vector instructions ([`crate::simd`]), chosen when a table is built. All choices give the same ranks.

mod narrow;
mod set;
mod tree;
mod wide;

pub use narrow::Ranks32;
pub use set::{RankMap, RankSet};
pub use tree::Ranks64;
pub use wide::Ranks128;

use crate::interval::Key;
use crate::simd::Isa;
use std::fmt;

/// A table of ranks, whatever the width of its numbers.
pub trait Ranks: Sized {
    /// Its numbers.
    type Key: Key;

    /// A table of boundaries, which ascend strictly.
    ///
    /// # Errors
    /// [`TooLarge`].
    fn build(starts: &[Self::Key], limit: Limit, isa: Isa) -> Result<Self, TooLarge>;
    /// How many boundaries are at or below a number.
    fn rank(&self, key: Self::Key) -> u32;
    /// The same of each of many numbers.
    fn ranks(&self, keys: &[Self::Key], ranks: &mut [u32]);
    /// Bytes of memory.
    fn bytes(&self) -> usize;
}

macro_rules! ranks {
    ($($table:ty, $key:ty;)*) => {$(
        impl Ranks for $table {
            type Key = $key;

            fn build(starts: &[$key], limit: Limit, isa: Isa) -> Result<Self, TooLarge> {
                <$table>::with_isa(starts, limit, isa)
            }

            #[inline]
            fn rank(&self, key: $key) -> u32 {
                self.rank(key)
            }

            fn ranks(&self, keys: &[$key], ranks: &mut [u32]) {
                self.ranks(keys, ranks);
            }

            fn bytes(&self) -> usize {
                self.bytes()
            }
        }
    )*};
}

ranks! {
    Ranks32, u32;
    Ranks64, u64;
    Ranks128, u128;
}

/// What a table may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes of memory at most.
    pub bytes: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Limit { bytes: 1 << 30 }
    }
}

/// A table that would be larger than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Boundaries that it was to have.
    pub boundaries: usize,
    /// Bytes that it would take.
    pub bytes: usize,
    /// Bytes that it may take.
    pub limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { boundaries, bytes, limit } = self;
        write!(f, "a table of {boundaries} boundaries takes {bytes} bytes, more than the limit of {limit}")
    }
}

impl std::error::Error for TooLarge {}

/// That a table of so many boundaries and bytes is within its limit.
fn check(boundaries: usize, bytes: usize, limit: Limit) -> Result<(), TooLarge> {
    if bytes > limit.bytes { Err(TooLarge { boundaries, bytes, limit: limit.bytes }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
