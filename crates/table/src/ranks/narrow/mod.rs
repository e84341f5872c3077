//! Ranks of 32-bit numbers: the upper bits choose a chunk, whose boundaries are compared at once.
//!
//! | boundaries | layout | a look-up reads |
//! |---|---|---|
//! | in few chunks | [`sparse`]: a bitmap of chunks that have some, then as below | a word of the bitmap, then the same |
//! | up to a quarter of a million | [`chunks`]: a root, and all boundaries in one array | an entry of the root, then the boundaries of its chunk |
//! | more | [`lines`]: a cache line for each chunk | one line, where the chunk has at most 28 boundaries |
//!
//! In both a chunk with more boundaries than are compared at once is a bitmap ([`bitmaps`]). Whatever the list, a boundary takes at most 19 bytes besides
//! the root, which takes 4 MiB at most.
//!
//! After Zec and Rizzo, "DXR: towards a billion routing lookups per second in software" (2012), whose binary search within the chunk is one
//! comparison of vectors here.

mod bitmaps;
mod chunks;
mod lines;
mod sparse;

use super::{Limit, TooLarge, check};
use crate::simd::{Isa, Ranked, Vectors};
use chunks::Chunks;
use lines::Lines;
use sparse::Sparse;

/// Boundaries of 32 bits, sorted.
#[derive(Clone, Debug)]
pub struct Ranks32 {
    layout: Layout,
    boundaries: usize,
    isa: Isa,
}

#[derive(Clone, Debug)]
enum Layout {
    Sparse(Sparse),
    Chunks(Chunks),
    Lines(Lines),
}

/// Calls a method of the layout.
macro_rules! of_layout {
    ($table:ident.$method:ident($($argument:ident),*)) => {
        match &$table.layout {
            Layout::Sparse(sparse) => sparse.$method($($argument),*),
            Layout::Chunks(chunks) => chunks.$method($($argument),*),
            Layout::Lines(lines) => lines.$method($($argument),*),
        }
    };
}

/// Bytes from which on what look-ups read is asked for ahead. PERF: in the second-level cache that costs more than it gains.
const LARGE: usize = 1 << 20;

impl Ranks32 {
    /// A table of these boundaries, which ascend strictly.
    ///
    /// # Errors
    /// [`TooLarge`] above the limit, and above 2^26 boundaries.
    ///
    /// # Panics
    /// If they do not ascend.
    pub fn new(starts: &[u32], limit: Limit) -> Result<Ranks32, TooLarge> {
        Ranks32::with_isa(starts, limit, Isa::best())
    }

    /// The same with instructions of the caller's choice.
    ///
    /// # Errors
    /// As [`Ranks32::new`].
    ///
    /// # Panics
    /// As [`Ranks32::new`].
    pub fn with_isa(starts: &[u32], limit: Limit, isa: Isa) -> Result<Ranks32, TooLarge> {
        assert!(starts.is_sorted_by(|a, b| a < b), "boundaries ascend");
        let (boundaries, isa) = (starts.len(), isa.here());
        let most = limit.bytes.min(19 * boundaries + (4 << 20));
        let line_bits = lines::root_bits(starts).filter(|&bits| lines::cost(starts, bits) <= most);
        if let Some(bits) = line_bits.filter(|_| boundaries < chunks::PLACES_MAX) {
            return Ok(Ranks32 { layout: Layout::Lines(Lines::new(starts, bits)), boundaries, isa });
        }
        let root_bits = chunks::root_bits(starts);
        if let Some(bytes) = sparse::cost(starts, root_bits) {
            check(boundaries, bytes, limit)?;
            return Ok(Ranks32 { layout: Layout::Sparse(Sparse::new(starts)), boundaries, isa });
        }
        let (bytes, words) = chunks::cost(starts, root_bits);
        check(boundaries, bytes, limit)?;
        if boundaries.max(words) >= chunks::PLACES_MAX {
            return Err(TooLarge { boundaries, bytes, limit: limit.bytes });
        }
        Ok(Ranks32 { layout: Layout::Chunks(Chunks::new(starts, root_bits)), boundaries, isa })
    }

    /// How many boundaries are at or below `x`.
    #[inline]
    #[must_use]
    pub fn rank(&self, x: u32) -> u32 {
        self.isa.rank(self, x)
    }

    /// The rank of each number.
    ///
    /// # Panics
    /// If there is less room than there are numbers.
    pub fn ranks(&self, keys: &[u32], ranks: &mut [u32]) {
        assert!(ranks.len() >= keys.len(), "room for the rank of each number");
        self.isa.ranks(self, keys, ranks);
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        of_layout!(self.bytes())
    }

    /// How many boundaries there are.
    #[must_use]
    pub fn boundaries(&self) -> usize {
        self.boundaries
    }

    /// The instructions that it is looked up with.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }
}

impl Ranked for Ranks32 {
    type Key = u32;

    #[inline(always)]
    fn rank_by<V: Vectors>(&self, vectors: V, x: u32) -> u32 {
        of_layout!(self.rank_by(vectors, x))
    }

    #[inline(always)]
    fn is_large(&self) -> bool {
        self.bytes() > LARGE
    }

    #[inline(always)]
    fn ask_first<V: Vectors>(&self, vectors: V, x: u32) {
        of_layout!(self.ask_first(vectors, x));
    }

    #[inline(always)]
    fn ask_second<V: Vectors>(&self, vectors: V, x: u32) {
        of_layout!(self.ask_second(vectors, x));
    }
}

fn low_mask(low_bits: u32) -> u32 {
    (1 << low_bits) - 1
}

/// The boundaries of each chunk that has some, under a root of so many bits.
fn chunks_of(starts: &[u32], root_bits: u32) -> impl Iterator<Item = &[u32]> {
    starts.chunk_by(move |a, b| (a ^ b) >> (32 - root_bits) == 0)
}
