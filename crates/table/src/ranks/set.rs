//! Sets and maps over any table of ranks.

use super::{Limit, Ranks, TooLarge};
use crate::interval::{Key, NONE, Pieces, union};
use crate::pages::Pages;
use crate::simd::Isa;

/// Numbers looked up in one go, so that their ranks stay in the first-level cache.
const BATCH: usize = 256;

/// A set of numbers, given as intervals: a number is a member if its rank is odd.
///
/// ```
/// use table::ranks::{Limit, RankSet, Ranks32};
/// let set: RankSet<Ranks32> = RankSet::new(vec![(0x0a00_0000, 0x0aff_ffff), (7, 7)], Limit::default())?;
/// assert!(set.contains(0x0a01_0203) && set.contains(7) && !set.contains(8));
/// # Ok::<(), table::ranks::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankSet<R> {
    ranks: R,
    spans: usize,
}

impl<R: Ranks> RankSet<R> {
    /// The set of all numbers in these inclusive intervals, in any order, which may overlap.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(spans: Vec<(R::Key, R::Key)>, limit: Limit) -> Result<Self, TooLarge> {
        Self::with_isa(spans, limit, Isa::best())
    }

    /// The same, looked up by instructions of the caller's choice.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn with_isa(spans: Vec<(R::Key, R::Key)>, limit: Limit, isa: Isa) -> Result<Self, TooLarge> {
        Self::of_disjoint(&union(spans), limit, isa)
    }

    /// The same of intervals that [`union`] has made.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn of_disjoint(spans: &[(R::Key, R::Key)], limit: Limit, isa: Isa) -> Result<Self, TooLarge> {
        let starts: Vec<R::Key> =
            spans.iter().flat_map(|&(low, high)| [Some(low), high.above()]).flatten().collect();
        Ok(RankSet { ranks: R::build(&starts, limit, isa)?, spans: spans.len() })
    }

    /// Whether a number is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: R::Key) -> bool {
        self.ranks.rank(key) & 1 == 1
    }

    /// The same of many.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn contains_each(&self, keys: &[R::Key], members: &mut [bool]) {
        assert!(members.len() >= keys.len(), "room for the answer for each number");
        let mut ranks = [0; BATCH];
        for (keys, members) in keys.chunks(BATCH).zip(members.chunks_mut(BATCH)) {
            self.ranks.ranks(keys, &mut ranks);
            members.iter_mut().zip(ranks).for_each(|(member, rank)| *member = rank & 1 == 1);
        }
    }

    /// Disjoint intervals that it consists of.
    #[must_use]
    pub fn spans(&self) -> usize {
        self.spans
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ranks.bytes()
    }
}

/// A value for each number.
///
/// ```
/// use table::interval::Pieces;
/// use table::ranks::{Limit, RankMap, Ranks32};
/// let routes = Pieces::longest_prefix(vec![(0x0a00_0000, 8, 1), (0x0a01_0000, 16, 2)]);
/// let map: RankMap<Ranks32> = RankMap::new(&routes, Limit::default())?;
/// assert_eq!([0x0a01_0001, 0x0a02_0001, 0x0b00_0001].map(|address| map.find(address)), [Some(2), Some(1), None]);
/// # Ok::<(), table::ranks::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankMap<R> {
    ranks: R,
    values: Pages<u32>,
}

impl<R: Ranks> RankMap<R> {
    /// The map of these pieces.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(pieces: &Pieces<R::Key>, limit: Limit) -> Result<Self, TooLarge> {
        Self::with_isa(pieces, limit, Isa::best())
    }

    /// The same, looked up by instructions of the caller's choice.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn with_isa(pieces: &Pieces<R::Key>, limit: Limit, isa: Isa) -> Result<Self, TooLarge> {
        let values = Pages::of(pieces.values.clone());
        let own = size_of_val(&values[..]);
        // Ranks choose the fastest form that fits into what the values leave.
        let left = Limit { bytes: limit.bytes.saturating_sub(own) };
        let ranks = R::build(&pieces.starts, left, isa).map_err(|error| TooLarge {
            bytes: error.bytes.saturating_add(own),
            limit: limit.bytes,
            ..error
        })?;
        Ok(RankMap { ranks, values })
    }

    /// The value of a number.
    #[inline]
    #[must_use]
    pub fn find(&self, key: R::Key) -> Option<u32> {
        let value = self.values[self.ranks.rank(key) as usize];
        (value != NONE).then_some(value)
    }

    /// The value of each number; [`NONE`] where there is none.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn find_each(&self, keys: &[R::Key], values: &mut [u32]) {
        self.ranks.ranks(keys, values);
        values[..keys.len()].iter_mut().for_each(|value| *value = self.values[*value as usize]);
    }

    /// Pieces that numbers are cut into.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.values.len()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ranks.bytes() + size_of_val(&self.values[..])
    }
}
