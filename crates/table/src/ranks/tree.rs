//! Ranks of 64-bit numbers: a static tree of nine ways, each node one cache line of eight boundaries.
//!
//! ```text
//! node = 0; for level in levels: node = 9 * node + how many of the level's eight boundaries at node are <= x
//! ```
//! The last level holds all boundaries in order; a level above holds, for each node, the first boundary below its second child, its
//! third, and so on. Where a child is missing, so is its boundary: it reads as the largest number, of which the rank is known.
//! There is no other branch that depends on the number. (Khuong and Morin, "Array layouts for comparison-based
//! searching", 2017, call it a B-tree layout.)

use super::{Limit, TooLarge, check};
use crate::pages::Pages;
use crate::simd::{Isa, Ranked, Vectors, WIDE};

/// Boundaries of 64 bits, sorted.
#[derive(Clone, Debug)]
pub struct Ranks64 {
    /// Where levels begin among the nodes, from the root on.
    levels: Vec<u32>,
    nodes: Pages<Node>,
    boundaries: usize,
    isa: Isa,
}

/// Eight boundaries: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Node(pub(crate) [u64; WIDE]);

/// Children of a node.
const WAYS: usize = WIDE + 1;

impl Ranks64 {
    /// A table of these boundaries, which ascend strictly.
    ///
    /// # Errors
    /// [`TooLarge`] above the limit, and above 2^30 boundaries.
    ///
    /// # Panics
    /// If they do not ascend.
    pub fn new(starts: &[u64], limit: Limit) -> Result<Ranks64, TooLarge> {
        Ranks64::with_isa(starts, limit, Isa::best())
    }

    /// The same with instructions of the caller's choice.
    ///
    /// # Errors
    /// As [`Ranks64::new`].
    ///
    /// # Panics
    /// As [`Ranks64::new`].
    pub fn with_isa(starts: &[u64], limit: Limit, isa: Isa) -> Result<Ranks64, TooLarge> {
        assert!(starts.is_sorted_by(|a, b| a < b), "boundaries ascend");
        // Nodes of each level, from the last one up.
        let mut sizes = vec![starts.len().div_ceil(WIDE).max(1)];
        while sizes[sizes.len() - 1] > 1 {
            sizes.push(sizes[sizes.len() - 1].div_ceil(WAYS));
        }
        sizes.reverse();
        let all: usize = sizes.iter().sum();
        let bytes = all * size_of::<Node>();
        check(starts.len(), bytes, limit)?;
        if starts.len() > 1 << 30 {
            return Err(TooLarge { boundaries: starts.len(), bytes, limit: limit.bytes });
        }
        let mut nodes = Vec::with_capacity(all);
        let mut levels = Vec::with_capacity(sizes.len());
        for (depth, &size) in sizes.iter().enumerate() {
            levels.push(nodes.len() as u32);
            // Nodes of the last level below one child of this one; none below the last level itself.
            let below = (sizes.len() - 1 - depth).checked_sub(1).map(|height| WAYS.pow(height as u32));
            nodes.extend((0..size).map(|node| {
                Node(std::array::from_fn(|i| {
                    let at = match below {
                        Some(below) => (node * WAYS + i + 1) * below * WIDE,
                        None => node * WIDE + i,
                    };
                    starts.get(at).copied().unwrap_or(u64::MAX)
                }))
            }));
        }
        Ok(Ranks64 { levels, nodes: Pages::of(nodes), boundaries: starts.len(), isa: isa.here() })
    }

    /// How many boundaries are at or below `x`.
    #[inline]
    #[must_use]
    pub fn rank(&self, x: u64) -> u32 {
        self.isa.rank(self, x)
    }

    /// The rank of each number.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn ranks(&self, keys: &[u64], ranks: &mut [u32]) {
        assert!(ranks.len() >= keys.len(), "room for the rank of each number");
        self.isa.ranks(self, keys, ranks);
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + size_of_val(&self.levels[..])
    }

    /// How many boundaries there are.
    #[must_use]
    pub fn boundaries(&self) -> usize {
        self.boundaries
    }
}

impl Ranked for Ranks64 {
    type Key = u64;

    #[inline(always)]
    fn rank_by<V: Vectors>(&self, vectors: V, x: u64) -> u32 {
        // The only number that is not below what stands for a missing boundary.
        if x == u64::MAX {
            return self.boundaries as u32;
        }
        let (&last, upper) = self.levels.split_last().expect("at least one level");
        let mut node = 0;
        for &level in upper {
            node = WAYS as u32 * node + vectors.at_most64(&self.nodes[(level + node) as usize].0, x);
        }
        WIDE as u32 * node + vectors.at_most64(&self.nodes[(last + node) as usize].0, x)
    }
}
