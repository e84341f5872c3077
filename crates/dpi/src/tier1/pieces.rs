//! Bytes of a stream that come in pieces, in any order, put in their places.
//!
//! ```text
//!   GET / HT            ........        hole 8..12: the prefix is `GET / HT`
//!  └──0..8──┘          └─12..20─┘
//! ```
//!
//! What came first stands, as with most receivers: what comes again changes nothing.

use super::STREAM_MAX;

/// Pieces that are apart from each other, at most.
pub(super) const APART_MAX: usize = 16;

/// Bytes from the beginning of a stream.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Those within holes mean nothing.
    bytes: Vec<u8>,
    /// What of them is there, in order, none touching the next.
    ranges: Vec<(u32, u32)>,
}

/// There are more pieces than are kept.
#[derive(Debug)]
pub(super) struct TooMany;

impl Pieces {
    /// What has come without a hole.
    pub(super) fn prefix(&self) -> &[u8] {
        match self.ranges.first() {
            Some(&(0, end)) => &self.bytes[..end as usize],
            _ => &[],
        }
    }

    /// Bytes of memory that they take.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.ranges.capacity() * size_of::<(u32, u32)>()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether something came behind a hole.
    pub(super) fn has_hole(&self) -> bool {
        self.ranges.len() > 1 || self.ranges.first().is_some_and(|&(start, _)| start != 0)
    }

    /// Moves all of them back by so many bytes.
    pub(super) fn shift(&mut self, by: usize) {
        if by >= STREAM_MAX {
            *self = Pieces::default();
            return;
        }
        self.bytes.splice(..0, std::iter::repeat_n(0, by));
        self.bytes.truncate(STREAM_MAX);
        let len = self.bytes.len() as u32;
        for range in &mut self.ranges {
            *range = ((range.0 + by as u32).min(len), (range.1 + by as u32).min(len));
        }
        self.ranges.retain(|range| range.0 < range.1);
    }

    /// Adds a piece, as far as it lies within what is kept.
    pub(super) fn insert(&mut self, from: usize, piece: &[u8]) -> Result<(), TooMany> {
        if from >= STREAM_MAX || piece.is_empty() {
            return Ok(());
        }
        let piece = &piece[..piece.len().min(STREAM_MAX - from)];
        let end = from + piece.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        // Fill the holes that it covers, each up to the next range.
        let mut at = from;
        for &(start, stop) in &self.ranges {
            let to = (start as usize).clamp(at, end.max(at));
            if at < to {
                self.bytes[at..to].copy_from_slice(&piece[at - from..to - from]);
            }
            at = at.max(stop as usize);
        }
        if at < end {
            self.bytes[at..end].copy_from_slice(&piece[at - from..]);
        }
        // Join what touches.
        let (mut low, mut high) = (from as u32, end as u32);
        self.ranges.retain(|&(start, stop)| {
            let touches = start <= high && stop >= low;
            if touches {
                (low, high) = (low.min(start), high.max(stop));
            }
            !touches
        });
        if self.ranges.len() == APART_MAX {
            return Err(TooMany);
        }
        let at = self.ranges.partition_point(|range| range.0 < low);
        self.ranges.insert(at, (low, high));
        Ok(())
    }
}
