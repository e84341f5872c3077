//! Ranks of 32-bit numbers: a root by the upper bits, then the boundaries of one chunk compared at once.
//!
//! ```text
//! root[x >> low_bits]     count:6 | at:26
//! count <= 61             rank = at + how many of lows[at .. at + count] are <= the low bits of x
//! count = 62              the chunk has more: rank = words[at + low / 64], counted before the word, and bits within it
//! ```
//! The root has 2^16, 2^18 or 2^20 entries, by the number of boundaries. A chunk of 32 boundaries is one cache line. A dense chunk is a
//! bitmap of boundaries with a running count beside each word, so that no list, however its numbers were chosen, makes a look-up longer.
//! Memory: 2 bytes a boundary, and the root; in the worst case, all chunks dense, 19 bytes a boundary.
//!
//! After Zec and Rizzo, "DXR: towards a billion routing lookups per second in software" (2012), whose binary search within the chunk is one
//! comparison of vectors here.

use super::{Limit, TooLarge, check};
use crate::simd::{Isa, NARROW, Ranked, Vectors};

/// Boundaries of 32 bits, sorted.
#[derive(Clone, Debug)]
pub struct Ranks32 {
    root: Vec<u32>,
    /// The lower bits of each boundary; those of dense chunks are there too, so that a place is a rank. [`NARROW`] more at the end.
    lows: Vec<u16>,
    words: Vec<Word>,
    low_bits: u32,
    isa: Isa,
}

/// 64 numbers of a dense chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Which of them are boundaries.
    bits: u64,
    /// The rank of what lies before the first of them.
    before: u32,
}

/// Boundaries that a chunk may have to be compared at once.
const SPARSE_MAX: u32 = NARROW as u32 - 3;
/// The count that marks a dense chunk.
const DENSE: u32 = 62;
const AT_BITS: u32 = 26;
const AT_MASK: u32 = (1 << AT_BITS) - 1;

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
        let mut root_bits = match starts.len() {
            0..=0xffff => 16,
            0x1_0000..=0xf_ffff => 18,
            _ => 20,
        };
        // A finer root where that saves memory: dense chunks become smaller.
        let cost = |root_bits: u32| {
            (4_usize << root_bits)
                + dense_chunks(starts, root_bits) * dense_words(root_bits) * size_of::<Word>()
        };
        while root_bits < 20 && cost(root_bits + 2) < cost(root_bits) {
            root_bits += 2;
        }
        let low_bits = 32 - root_bits;
        let dense = dense_chunks(starts, root_bits) * dense_words(root_bits);
        let bytes = (4 << root_bits) + 2 * (starts.len() + NARROW) + size_of::<Word>() * dense;
        check(starts.len(), bytes, limit)?;
        if starts.len().max(dense) >= 1 << AT_BITS {
            return Err(TooLarge { boundaries: starts.len(), bytes, limit: limit.bytes });
        }
        let mut table = Ranks32 {
            root: Vec::with_capacity(1 << root_bits),
            lows: starts.iter().map(|&start| (start & low_mask(low_bits)) as u16).collect(),
            words: Vec::with_capacity(dense),
            low_bits,
            isa: isa.here(),
        };
        table.lows.extend([u16::MAX; NARROW]);
        let mut at = 0;
        for top in 0..1_u32 << root_bits {
            let count = starts[at..].iter().take_while(|&&start| start >> low_bits == top).count();
            let entry = if count as u32 <= SPARSE_MAX {
                (count as u32) << AT_BITS | at as u32
            } else {
                let first = table.words.len() as u32;
                table.dense_chunk(at, count);
                DENSE << AT_BITS | first
            };
            table.root.push(entry);
            at += count;
        }
        Ok(table)
    }

    fn dense_chunk(&mut self, at: usize, count: usize) {
        let first = self.words.len();
        self.words.resize(first + (1 << (self.low_bits - 6)), Word::default());
        for &low in &self.lows[at..at + count] {
            self.words[first + usize::from(low >> 6)].bits |= 1 << (low & 63);
        }
        let mut before = at as u32;
        for word in &mut self.words[first..] {
            word.before = before;
            before += word.bits.count_ones();
        }
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
        size_of_val(&self.root[..]) + size_of_val(&self.lows[..]) + size_of_val(&self.words[..])
    }

    /// How many boundaries there are.
    #[must_use]
    pub fn boundaries(&self) -> usize {
        self.lows.len() - NARROW
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
        let entry = self.root[(x >> self.low_bits) as usize];
        let (count, at) = (entry >> AT_BITS, (entry & AT_MASK) as usize);
        let low = x & low_mask(self.low_bits);
        if count == DENSE {
            let word = self.words[at + (low >> 6) as usize];
            return word.before + (word.bits & (u64::MAX >> (63 - (low & 63)))).count_ones();
        }
        let lows = self.lows[at..].first_chunk().expect("numbers behind the last boundary");
        at as u32 + vectors.at_most16(lows, count, low as u16)
    }
}

fn low_mask(low_bits: u32) -> u32 {
    (1 << low_bits) - 1
}

/// Words of a dense chunk under a root of so many bits.
fn dense_words(root_bits: u32) -> usize {
    1 << (32 - root_bits - 6)
}

/// How many chunks under a root of so many bits have too many boundaries to be compared at once.
fn dense_chunks(starts: &[u32], root_bits: u32) -> usize {
    starts
        .chunk_by(|a, b| (a ^ b) >> (32 - root_bits) == 0)
        .filter(|chunk| chunk.len() > SPARSE_MAX as usize)
        .count()
}
