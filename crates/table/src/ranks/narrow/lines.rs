//! A cache line for each chunk, which holds its boundaries: one read answers most look-ups.
//!
//! ```text
//! line    before:32 | count:16 | – | up to 28 boundaries, the lower 16 bits of each
//! count <= 28             rank = before + how many of the line's boundaries are <= the low bits of x
//! count <= 61             the same, of those at `place` in `lows`; the place stands where the boundaries would
//! else                    rank by the bitmap whose first word is at `place`
//! ```
//! The upper 16, 17 or 18 bits choose the line, so that a line holds at most 16 boundaries on average.

use super::bitmaps::{self, Word, words_of};
use super::chunks::SPARSE_MAX;
use super::{chunks_of, low_mask};
use crate::pages::Pages;
use crate::simd::{HEAD, LINE, NARROW, Vectors};

/// Boundaries that a line holds.
const INLINE: usize = LINE - HEAD;
/// Boundaries from which on lines are worth their memory: four of each line.
const MANY: usize = 4 << 16;

#[derive(Clone, Debug)]
pub(super) struct Lines {
    lines: Pages<Line>,
    /// Boundaries of chunks that have more than a line holds, and [`NARROW`] more at the end.
    lows: Pages<u16>,
    words: Pages<Word>,
    low_bits: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u16; LINE]);

impl Line {
    fn new(before: u32, count: usize) -> Line {
        let mut line = [0; LINE];
        (line[0], line[1], line[2]) = (before as u16, (before >> 16) as u16, count.min(0xffff) as u16);
        Line(line)
    }

    fn with_place(mut self, place: u32) -> Line {
        (self.0[HEAD], self.0[HEAD + 1]) = (place as u16, (place >> 16) as u16);
        self
    }

    #[inline(always)]
    fn before(&self) -> u32 {
        u32::from(self.0[0]) | u32::from(self.0[1]) << 16
    }

    #[inline(always)]
    fn count(&self) -> u32 {
        u32::from(self.0[2])
    }

    /// Where the boundaries lie, or the bitmap, of a chunk that has more than a line holds.
    #[inline(always)]
    fn place(&self) -> usize {
        usize::from(self.0[HEAD]) | usize::from(self.0[HEAD + 1]) << 16
    }
}

/// How many bits choose a line; `None` for few boundaries.
pub(super) fn root_bits(starts: &[u32]) -> Option<u32> {
    (starts.len() >= MANY).then(|| (16..18).find(|bits| starts.len() >> bits <= 16).unwrap_or(18))
}

/// The bytes of a table.
pub(super) fn cost(starts: &[u32], root_bits: u32) -> usize {
    let (mut lows, mut words) = (NARROW, 0);
    for chunk in chunks_of(starts, root_bits).filter(|chunk| chunk.len() > INLINE) {
        if chunk.len() <= SPARSE_MAX as usize {
            lows += chunk.len();
        } else {
            words += words_of(32 - root_bits);
        }
    }
    (size_of::<Line>() << root_bits) + size_of::<u16>() * lows + size_of::<Word>() * words
}

impl Lines {
    pub(super) fn new(starts: &[u32], root_bits: u32) -> Lines {
        let low_bits = 32 - root_bits;
        let (mut lines, mut lows, mut words) = (Vec::with_capacity(1 << root_bits), Vec::new(), Vec::new());
        let (mut at, mut chunk) = (0, Vec::new());
        for top in 0..1_u32 << root_bits {
            let of_chunk = starts[at..].iter().take_while(|&&start| start >> low_bits == top);
            chunk.clear();
            chunk.extend(of_chunk.map(|&start| (start & low_mask(low_bits)) as u16));
            let mut line = Line::new(at as u32, chunk.len());
            if chunk.len() <= INLINE {
                line.0[HEAD..HEAD + chunk.len()].copy_from_slice(&chunk);
            } else if chunk.len() <= SPARSE_MAX as usize {
                line = line.with_place(lows.len() as u32);
                lows.extend(&chunk);
            } else {
                line = line.with_place(bitmaps::push(&mut words, &chunk, low_bits, at as u32));
            }
            lines.push(line);
            at += chunk.len();
        }
        lows.extend([u16::MAX; NARROW]);
        Lines { lines: Pages::of(lines), lows: Pages::of(lows), words: Pages::of(words), low_bits }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.lines[..]) + size_of_val(&self.lows[..]) + size_of_val(&self.words[..])
    }

    #[inline(always)]
    pub(super) fn rank_by<V: Vectors>(&self, vectors: V, x: u32) -> u32 {
        let line = &self.lines[(x >> self.low_bits) as usize];
        let (count, low) = (line.count(), x & low_mask(self.low_bits));
        if count <= INLINE as u32 {
            return line.before() + vectors.at_most_in_line(&line.0, count, low as u16);
        }
        if count > SPARSE_MAX {
            return bitmaps::rank(&self.words, line.place(), low);
        }
        let lows = self.lows[line.place()..].first_chunk().expect("numbers behind the last boundary");
        line.before() + vectors.at_most16(lows, count, low as u16)
    }

    #[inline(always)]
    pub(super) fn ask_first<V: Vectors>(&self, vectors: V, x: u32) {
        vectors.ask(&self.lines, (x >> self.low_bits) as usize);
    }

    #[inline(always)]
    pub(super) fn ask_second<V: Vectors>(&self, vectors: V, x: u32) {
        let line = &self.lines[(x >> self.low_bits) as usize];
        if line.count() > SPARSE_MAX {
            vectors.ask(&self.words, bitmaps::place(line.place(), x & low_mask(self.low_bits)));
        } else if line.count() > INLINE as u32 {
            vectors.ask(&self.lows, line.place());
            vectors.ask(&self.lows, line.place() + NARROW / 2);
        }
    }
}
