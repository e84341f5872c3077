//! Few chunks that have boundaries at all: a bitmap says which, and the root has an entry for these only.
//!
//! ```text
//! at = how many chunks up to that of x have boundaries      its own has     rank by root[at] and the low bits of x
//!                                                           it has none     all boundaries of root[at]'s chunk lie below x
//! ```
//! A set of a thousand addresses takes some 30 KB and not 260, so that it stays in the first-level cache beside what else a packet needs.

use super::bitmaps::{self, Word};
use super::chunks::{self, Chunks};
use super::{chunks_of, low_mask};
use crate::pages::Pages;
use crate::simd::Vectors;

/// Bits that choose a chunk.
const ROOT_BITS: u32 = 16;
const LOW_BITS: u32 = 32 - ROOT_BITS;
/// Chunks with boundaries at most: beyond that a full root is not much larger, and read at once.
const CHUNKS_MAX: usize = 1 << 14;

#[derive(Clone, Debug)]
pub(super) struct Sparse {
    /// Which chunks have boundaries.
    which: Pages<Word>,
    chunks: Chunks,
}

/// The bytes of a table, if this layout is one for these boundaries.
pub(super) fn cost(starts: &[u32], root_bits: u32) -> Option<usize> {
    let chunks = chunks_of(starts, ROOT_BITS).count();
    (root_bits == ROOT_BITS && chunks <= CHUNKS_MAX).then(|| {
        let which = bitmaps::words_of(ROOT_BITS) * size_of::<Word>();
        chunks::cost(starts, ROOT_BITS).0 - (4 << ROOT_BITS) + 4 * (chunks + 1) + which
    })
}

impl Sparse {
    pub(super) fn new(starts: &[u32]) -> Sparse {
        let mut which = Vec::new();
        let numbers: Vec<u16> =
            chunks_of(starts, ROOT_BITS).map(|chunk| (chunk[0] >> LOW_BITS) as u16).collect();
        bitmaps::push(&mut which, &numbers, ROOT_BITS, 0);
        Sparse { which: Pages::of(which), chunks: Chunks::of_some(starts, ROOT_BITS) }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.which[..]) + self.chunks.bytes()
    }

    #[inline(always)]
    pub(super) fn rank_by<V: Vectors>(&self, vectors: V, x: u32) -> u32 {
        let (at, is_there) = bitmaps::find(&self.which, 0, x >> LOW_BITS);
        let low = if is_there { x & low_mask(LOW_BITS) } else { low_mask(LOW_BITS) };
        self.chunks.rank_in(vectors, at as usize, low)
    }

    #[inline(always)]
    pub(super) fn ask_first<V: Vectors>(&self, vectors: V, x: u32) {
        vectors.ask(&self.which, bitmaps::place(0, x >> LOW_BITS));
    }

    /// What is read next is small, or a bitmap.
    #[inline(always)]
    pub(super) fn ask_second<V: Vectors>(&self, _: V, _: u32) {}
}
