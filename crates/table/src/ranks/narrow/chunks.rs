//! Chunks in one array: the root says where the boundaries of a chunk begin.
//!
//! ```text
//! root[x >> low_bits]     count:6 | at:26
//! count <= 61             rank = at + how many of lows[at .. at + count] are <= the low bits of x
//! count = 62              the chunk has more: rank by its bitmap, whose first word is at `at`
//! ```
//! The root has 2^16, 2^18 or 2^20 entries, by the number of boundaries. A chunk of 32 boundaries is one cache line.
//! Memory: 2 bytes a boundary, and the root; in the worst case, all chunks dense, 19 bytes a boundary.

use super::bitmaps::{self, Word, words_of};
use super::{chunks_of, low_mask};
use crate::pages::Pages;
use crate::simd::{NARROW, Vectors};

/// Boundaries that a chunk may have to be compared at once.
pub(super) const SPARSE_MAX: u32 = NARROW as u32 - 3;
/// The count that marks a dense chunk.
const DENSE: u32 = 62;
const AT_BITS: u32 = 26;
const AT_MASK: u32 = (1 << AT_BITS) - 1;
/// Boundaries and words at most.
pub(super) const PLACES_MAX: usize = 1 << AT_BITS;

#[derive(Clone, Debug)]
pub(super) struct Chunks {
    root: Pages<u32>,
    /// The lower bits of each boundary; those of dense chunks are there too, so that a place is a rank. [`NARROW`] more at the end.
    lows: Pages<u16>,
    words: Pages<Word>,
    low_bits: u32,
}

/// Of a table with so many bits of root: its bytes, and words of its bitmaps.
pub(super) fn cost(starts: &[u32], root_bits: u32) -> (usize, usize) {
    let dense = chunks_of(starts, root_bits).filter(|chunk| chunk.len() > SPARSE_MAX as usize).count();
    let words = dense * words_of(32 - root_bits);
    ((4 << root_bits) + 2 * (starts.len() + NARROW) + size_of::<Word>() * words, words)
}

/// How many bits the root is indexed by.
pub(super) fn root_bits(starts: &[u32]) -> u32 {
    let mut root_bits = match starts.len() {
        0..=0xffff => 16,
        0x1_0000..=0xf_ffff => 18,
        _ => 20,
    };
    // A finer root where that saves memory: dense chunks become smaller.
    while root_bits < 20 && cost(starts, root_bits + 2).0 < cost(starts, root_bits).0 {
        root_bits += 2;
    }
    root_bits
}

impl Chunks {
    /// A table whose root has an entry for each chunk.
    pub(super) fn new(starts: &[u32], root_bits: u32) -> Chunks {
        Chunks::with_root(starts, root_bits, Vec::with_capacity(1 << root_bits), |_| true)
    }

    /// A table whose root has an entry for each chunk with boundaries; before them stands an entry without boundaries.
    pub(super) fn of_some(starts: &[u32], root_bits: u32) -> Chunks {
        Chunks::with_root(starts, root_bits, vec![0], |count| count > 0)
    }

    fn with_root(
        starts: &[u32],
        root_bits: u32,
        mut root: Vec<u32>,
        has_entry: impl Fn(usize) -> bool,
    ) -> Chunks {
        let low_bits = 32 - root_bits;
        let mut lows: Vec<u16> = starts.iter().map(|&start| (start & low_mask(low_bits)) as u16).collect();
        lows.extend([u16::MAX; NARROW]);
        let mut words = Vec::with_capacity(cost(starts, root_bits).1);
        let mut at = 0;
        for top in 0..1_u32 << root_bits {
            let count = starts[at..].iter().take_while(|&&start| start >> low_bits == top).count();
            if !has_entry(count) {
                continue;
            }
            root.push(if count as u32 <= SPARSE_MAX {
                (count as u32) << AT_BITS | at as u32
            } else {
                DENSE << AT_BITS | bitmaps::push(&mut words, &lows[at..at + count], low_bits, at as u32)
            });
            at += count;
        }
        Chunks { root: Pages::of(root), lows: Pages::of(lows), words: Pages::of(words), low_bits }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.root[..]) + size_of_val(&self.lows[..]) + size_of_val(&self.words[..])
    }

    #[inline(always)]
    pub(super) fn rank_by<V: Vectors>(&self, vectors: V, x: u32) -> u32 {
        self.rank_in(vectors, (x >> self.low_bits) as usize, x & low_mask(self.low_bits))
    }

    /// The rank of a number of which these are the lower bits, in the chunk of an entry of the root.
    #[inline(always)]
    pub(super) fn rank_in<V: Vectors>(&self, vectors: V, chunk: usize, low: u32) -> u32 {
        let entry = self.root[chunk];
        let (count, at) = (entry >> AT_BITS, (entry & AT_MASK) as usize);
        if count == DENSE {
            return bitmaps::rank(&self.words, at, low);
        }
        let lows = self.lows[at..].first_chunk().expect("numbers behind the last boundary");
        at as u32 + vectors.at_most16(lows, count, low as u16)
    }

    #[inline(always)]
    pub(super) fn ask_first<V: Vectors>(&self, vectors: V, x: u32) {
        vectors.ask(&self.root, (x >> self.low_bits) as usize);
    }

    #[inline(always)]
    pub(super) fn ask_second<V: Vectors>(&self, vectors: V, x: u32) {
        let entry = self.root[(x >> self.low_bits) as usize];
        let (count, at) = (entry >> AT_BITS, (entry & AT_MASK) as usize);
        if count == DENSE {
            vectors.ask(&self.words, bitmaps::place(at, x & low_mask(self.low_bits)));
        } else {
            // Most chunks have few boundaries, which lie in the line of the first or in the next one.
            vectors.ask(&self.lows, at);
            vectors.ask(&self.lows, at + 15);
        }
    }
}
