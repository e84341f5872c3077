//! The beginning of one direction of a TCP connection, put in order.

use super::pieces::{Pieces, TooMany};
use crate::Message;

/// Beginning of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Sequence number of the first byte, once any came.
    start: Option<u32>,
    /// Whether `start` is that of the SYN, and not just the least seen.
    exact: bool,
    /// From the start on.
    pieces: Pieces,
}

impl Stream {
    /// What has come without a hole.
    pub(super) fn prefix(&self) -> &[u8] {
        self.pieces.prefix()
    }

    /// Bytes of memory that it takes.
    pub(super) fn capacity(&self) -> usize {
        self.pieces.capacity()
    }

    /// Whether nothing of it is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether something came behind a hole.
    pub(super) fn has_hole(&self) -> bool {
        self.pieces.has_hole()
    }

    /// Whether a piece may still come before all others, since it is not known where the stream begins.
    pub(super) fn is_open_below(&self) -> bool {
        !self.exact
    }

    /// Notes where the stream begins, and keeps nothing of it.
    pub(super) fn begin(&mut self, message: &Message) {
        self.start = message.start;
        self.exact = message.start.is_some();
    }

    /// Adds a segment.
    pub(super) fn add(&mut self, message: &Message) -> Result<(), TooMany> {
        let start = *self.start.get_or_insert(message.start.unwrap_or(message.sequence));
        self.exact |= message.start.is_some();
        // Distance from the start, below half of the numbers' circle either way.
        let offset = message.sequence.wrapping_sub(start) as i32;
        let before = offset.unsigned_abs() as usize;
        match offset {
            0.. => self.pieces.insert(before, message.payload),
            // A keep-alive, or a retransmission of the SYN with data: what is before the start is no payload.
            _ if self.exact => self.pieces.insert(0, message.payload.get(before..).unwrap_or_default()),
            _ => {
                self.start = Some(message.sequence);
                self.pieces.shift(before);
                self.pieces.insert(0, message.payload)
            }
        }
    }
}

#[cfg(test)]
mod tests;
