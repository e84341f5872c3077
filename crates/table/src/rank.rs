//! Where does a number lie among sorted boundaries? A binary search whose only branches are those of its loop.
//!
//! ```text
//! rank(x) = how many boundaries are <= x
//! at = 0; for step in steps: if boundaries[at + step - 1] <= x then at += step
//! ```
//! The steps depend on the number of boundaries alone, so generated code unrolls them and turns each `if` into a
//! conditional move: nothing to mispredict. Above a handful of boundaries that beats a tree of branches on any
//! traffic that is not all the same.

/// Sorted, distinct boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    boundaries: Vec<u32>,
}

impl Rank {
    /// A table of these boundaries.
    ///
    /// # Panics
    /// Where they are not strictly ascending: that would be the caller's mistake, not its input's.
    ///
    /// ```
    /// let table = table::rank::Rank::new(vec![10, 20]);
    /// assert_eq!([9, 10, 19, 20].map(|x| table.rank(x)), [0, 1, 1, 2]);
    /// ```
    pub fn new(boundaries: Vec<u32>) -> Rank {
        assert!(boundaries.windows(2).all(|pair| pair[0] < pair[1]), "boundaries ascend");
        Rank { boundaries }
    }

    /// How many boundaries are at or below `x`.
    pub fn rank(&self, x: u32) -> usize {
        let mut at = 0;
        for step in self.steps() {
            at += if self.boundaries[at + step - 1] <= x { step } else { 0 };
        }
        at
    }

    /// The steps of the search, from the widest; their sum is the number of boundaries.
    pub fn steps(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.boundaries.len();
        std::iter::from_fn(move || {
            let step = left.div_ceil(2);
            left -= step;
            (step > 0).then_some(step)
        })
    }

    /// The boundaries.
    pub fn boundaries(&self) -> &[u32] {
        &self.boundaries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_partition_point() {
        for count in (0..70_u32).step_by(if cfg!(miri) { 23 } else { 1 }) {
            for stride in [1, 3, 1 << 20] {
                let boundaries: Vec<u32> = (0..count).map(|i| u32::MAX - i * stride).rev().collect();
                let table = Rank::new(boundaries.clone());
                let around = boundaries.iter().flat_map(|&b| [b.wrapping_sub(1), b, b.wrapping_add(1)]);
                for x in around.chain([0, u32::MAX]) {
                    assert_eq!(
                        table.rank(x),
                        boundaries.partition_point(|&b| b <= x),
                        "{count} {stride} {x}"
                    );
                }
            }
        }
    }

    #[test]
    fn steps_are_logarithmic() {
        assert_eq!(Rank::new((0..10_000).collect()).steps().count(), 14);
    }
}
