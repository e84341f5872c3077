//! Records that wait to be written.
//!
//! ```text
//!   blocks: whole records, which are on their way, oldest first     open: records that came since
//!   [ taken | not taken ] [           ] [           ]               [       |
//! ```
//!
//! A block is kept until all of it was taken: when writing fails, the packets that are not in the file are counted from here.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are written at a time: enough that the call costs nothing beside its copy, few enough to stay in the
/// second-level cache.
pub(super) const BLOCK: usize = 128 << 10;

/// Bytes that are kept for who is slow, the reader of a pipe or a disk, before packets are dropped.
pub(super) const KEPT_MAX: usize = 4 << 20;

/// Records that wait, of which some may have been taken already.
#[derive(Debug)]
pub(super) struct Buffer {
    blocks: VecDeque<Arc<Vec<u8>>>,
    /// How many of them the thread that writes was given.
    handed: usize,
    open: Vec<u8>,
    /// How much of `open` is whole records of packets that count as delivered.
    whole: usize,
    /// How much of the first block was taken.
    sent: usize,
    /// Bytes of blocks that were not taken.
    unsent: usize,
    /// How much of the first block was left by another writer, which has counted it as lost.
    inherited: usize,
    /// Memory of blocks that were taken.
    spare: Vec<Vec<u8>>,
}

impl Buffer {
    /// With a record that another writer has left, and of which `sent` bytes were taken.
    pub(super) fn inheriting(record: Vec<u8>, sent: usize) -> Self {
        Buffer {
            handed: 0,
            open: empty_block(),
            whole: 0,
            sent,
            unsent: record.len() - sent,
            inherited: record.len(),
            blocks: (!record.is_empty()).then(|| Arc::new(record)).into_iter().collect(),
            spare: Vec::new(),
        }
    }

    /// All that waits, from the first record on of which anything does: the blocks, and what came since.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(|block| &block[..]).chain([&self.open[..]])
    }

    /// What is to be written next, of the first block.
    pub(super) fn next(&self) -> &[u8] {
        self.blocks.front().map_or(&[], |block| &block[self.sent..])
    }

    /// The blocks that the thread that writes was not given yet, and now is.
    pub(super) fn hand_over(&mut self) -> impl Iterator<Item = &Arc<Vec<u8>>> {
        let handed = std::mem::replace(&mut self.handed, self.blocks.len());
        self.blocks.range(handed..)
    }

    /// Whether there is a block that nobody was given.
    pub(super) fn has_new_block(&self) -> bool {
        self.blocks.len() > self.handed
    }

    /// How much of the first block was taken.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Bytes of blocks that are on their way.
    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    pub(super) fn inherited(&self) -> usize {
        self.inherited
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.open.is_empty()
    }

    /// Whether all that came is on its way.
    pub(super) fn is_sealed(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether so many bytes wait, or more.
    pub(super) fn holds(&self, len: usize) -> bool {
        self.unsent + self.open.len() >= len
    }

    /// Appends records. All that is there then counts as delivered.
    #[inline]
    pub(super) fn append<T>(&mut self, records: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let outcome = records(&mut self.open);
        self.whole = self.open.len();
        if self.whole >= BLOCK {
            self.end_block();
        }
        outcome
    }

    /// Sends what came last on its way as well, unless something is already: that goes first, and what comes meanwhile makes larger blocks.
    /// Returns whether any block is.
    pub(super) fn seal(&mut self) -> bool {
        if self.blocks.is_empty() && !self.open.is_empty() {
            self.end_block();
        }
        !self.blocks.is_empty()
    }

    fn end_block(&mut self) {
        let next = self.spare.pop().unwrap_or_else(empty_block);
        let block = std::mem::replace(&mut self.open, next);
        self.whole = 0;
        self.unsent += block.len();
        self.blocks.push_back(Arc::new(block));
    }

    /// Notes that so many bytes more were taken. Returns how many bytes the blocks have of which all were.
    pub(super) fn take(&mut self, count: usize) -> usize {
        self.sent += count;
        self.unsent -= count;
        let mut whole = 0;
        while let Some(block) = self.blocks.pop_front_if(|block| block.len() <= self.sent) {
            whole += block.len();
            self.sent -= block.len();
            self.handed = self.handed.saturating_sub(1);
            self.inherited = 0;
            self.keep(block);
        }
        whole
    }

    /// Keeps the memory of a block for the next, unless that is unusually large.
    fn keep(&mut self, block: Arc<Vec<u8>>) {
        let Ok(mut block) = Arc::try_unwrap(block) else { return };
        if (BLOCK..=2 * BLOCK).contains(&block.capacity()) {
            block.clear();
            self.spare.push(block);
        }
    }

    /// Forgets what does not count as delivered, and says whether there was any.
    pub(super) fn cut(&mut self) -> bool {
        let has_more = self.whole < self.open.len();
        self.open.truncate(self.whole);
        has_more
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.open.clear();
        (self.handed, self.whole, self.sent, self.unsent, self.inherited) = (0, 0, 0, 0, 0);
    }

    /// A record of the first block, and how much of it was taken.
    pub(super) fn begun(&self, record: Range<usize>) -> (Vec<u8>, usize) {
        let first = self.blocks.front().map_or(&[][..], |block| &block[..]);
        (first[record.clone()].to_vec(), self.sent - record.start)
    }
}

fn empty_block() -> Vec<u8> {
    Vec::with_capacity(2 * BLOCK)
}
