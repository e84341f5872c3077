//! Records that wait to be written.

use std::ops::Range;

/// Bytes that are written at a time: enough that the call costs nothing beside its copy, few enough to stay in the
/// second-level cache.
const BLOCK: usize = 128 << 10;

/// Bytes that are kept for a pipe whose reader is slow, before packets are dropped.
const KEPT_MAX: usize = 4 << 20;

/// Records that wait, of which a pipe may have taken some already.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// How much of it is whole records of packets that count as delivered.
    whole: usize,
    /// How much of it a pipe has taken.
    sent: usize,
    /// How much at its front was left by another writer, which has counted it as lost.
    inherited: usize,
}

impl Buffer {
    /// With a record that another writer has left, and of which `sent` bytes were taken.
    pub(super) fn inheriting(record: &[u8], sent: usize) -> Self {
        let mut bytes = Vec::with_capacity(2 * BLOCK);
        bytes.extend_from_slice(record);
        Buffer { whole: bytes.len(), inherited: bytes.len(), sent, bytes }
    }

    /// All that waits, from the first record on of which anything does.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is to be written next.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    pub(super) fn inherited(&self) -> usize {
        self.inherited
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether it has to be written before it takes more.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BLOCK
    }

    /// Whether it takes no more at all.
    pub(super) fn is_overfull(&self) -> bool {
        self.bytes.len() - self.sent >= KEPT_MAX
    }

    /// Appends records. All that is there then counts as delivered.
    #[inline]
    pub(super) fn append<T>(&mut self, records: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let outcome = records(&mut self.bytes);
        self.whole = self.bytes.len();
        outcome
    }

    /// Whether so much of it was taken that it is worth while to forget that.
    pub(super) fn is_mostly_sent(&self) -> bool {
        self.sent >= KEPT_MAX / 4
    }

    /// Forgets its first `count` bytes, all of which were taken.
    pub(super) fn forget(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.whole -= count;
        self.sent -= count;
        self.inherited = self.inherited.saturating_sub(count);
    }

    /// Notes that so many bytes more were taken.
    pub(super) fn take(&mut self, count: usize) {
        self.sent += count;
    }

    /// Forgets what does not count as delivered, and says whether there was any.
    pub(super) fn cut(&mut self) -> bool {
        let has_more = self.whole < self.bytes.len();
        self.bytes.truncate(self.whole);
        has_more
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.whole, self.sent, self.inherited) = (0, 0, 0);
    }

    /// A record, and how much of it was taken.
    pub(super) fn begun(&self, record: Range<usize>) -> (Vec<u8>, usize) {
        (self.bytes[record.clone()].to_vec(), self.sent - record.start)
    }
}
