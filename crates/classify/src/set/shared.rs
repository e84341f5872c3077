//! Several sets over one field, answered by one look-up.
//!
//! The boundaries of all sets cut the numbers into pieces; all numbers of a piece are in the same sets. Pieces in the same sets are one class, and
//! a class is a mask with a bit for each set.

use super::{Limit, TooLarge};
use std::collections::HashMap;
use table::interval::{Key, Pieces, union};
use table::ranks::{RankMap, Ranks};

/// Up to 64 sets.
///
/// ```
/// use classify::set::{Limit, SharedSets};
/// use table::ranks::Ranks32;
/// let sets: SharedSets<Ranks32> = SharedSets::new(vec![vec![(10, 19)], vec![(15, 29)]], Limit::default())?;
/// assert_eq!([9, 10, 15, 20].map(|key| sets.find(key)), [0, 0b01, 0b11, 0b10]);
/// # Ok::<(), classify::set::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedSets<R> {
    classes: RankMap<R>,
    masks: Vec<u64>,
}

impl<R: Ranks> SharedSets<R> {
    /// Most sets.
    pub const SETS_MAX: usize = 64;

    /// These sets, each given as inclusive intervals.
    ///
    /// # Errors
    /// [`TooLarge`].
    ///
    /// # Panics
    /// If there are more than [`SharedSets::SETS_MAX`].
    pub fn new(sets: Vec<Vec<(R::Key, R::Key)>>, limit: Limit) -> Result<Self, TooLarge> {
        assert!(sets.len() <= Self::SETS_MAX, "at most {} sets share a table", Self::SETS_MAX);
        let mut turns: Vec<(R::Key, u32)> = Vec::new();
        for (spans, number) in sets.into_iter().zip(0..) {
            for (low, high) in union(spans) {
                turns.push((low, number));
                turns.extend(high.above().map(|next| (next, number)));
            }
        }
        turns.sort_unstable();
        // Class 0 is in no set.
        let (mut masks, mut known) = (vec![0], HashMap::from([(0_u64, 0)]));
        let mut pieces = Pieces { starts: Vec::new(), values: vec![0] };
        let mut mask = 0;
        for group in turns.chunk_by(|a, b| a.0 == b.0) {
            group.iter().for_each(|&(_, number)| mask ^= 1 << number);
            let class = *known.entry(mask).or_insert_with(|| {
                masks.push(mask);
                masks.len() as u32 - 1
            });
            pieces.starts.push(group[0].0);
            pieces.values.push(class);
        }
        Ok(SharedSets { classes: RankMap::new(&pieces, limit)?, masks })
    }

    /// The sets that a number is in: bit `n` for set `n`.
    #[inline]
    #[must_use]
    pub fn find(&self, key: R::Key) -> u64 {
        self.classes.find(key).map_or(0, |class| self.masks[class as usize])
    }

    /// The same of many.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn find_each(&self, keys: &[R::Key], masks: &mut [u64]) {
        assert!(masks.len() >= keys.len(), "room for the answer for each number");
        let mut classes = [0; 256];
        for (keys, masks) in keys.chunks(256).zip(masks.chunks_mut(256)) {
            self.classes.find_each(keys, &mut classes);
            masks.iter_mut().zip(classes).for_each(|(mask, class)| *mask = self.masks[class as usize]);
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.classes.bytes() + size_of_val(&self.masks[..])
    }
}
