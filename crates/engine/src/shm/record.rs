//! Records: the numbers of one app, link or worker, each with its name.

use super::counter::{Counter, Histogram};
use super::format::{self, EntryKind, RecordKind};
use super::shared::Shared;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How much a record has room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSize {
    /// Counters, and whatever else has a name.
    pub(crate) entries: usize,
    /// Numbers of all entries together: a histogram has many.
    pub(crate) numbers: usize,
}

/// A record: what is counted of one app, link or worker. It is free for others when dropped.
#[derive(Debug)]
pub(crate) struct Record {
    shared: Arc<Shared>,
    offset: usize,
    size: usize,
    /// The entries so far: name, kind, where the numbers are.
    entries: Vec<(String, EntryKind, usize)>,
    entries_max: usize,
    /// Where the next number goes, from the record's beginning.
    next: usize,
    /// Whether a number had no room.
    is_overfull: bool,
}

impl Record {
    /// A new one.
    ///
    /// # Errors
    /// When the memory or the file system is full.
    pub(super) fn new(
        shared: &Arc<Shared>,
        kind: RecordKind,
        name: &str,
        what: &str,
        RecordSize { entries, numbers }: RecordSize,
    ) -> io::Result<Record> {
        let head = (format::RECORD + entries * format::ENTRY).next_multiple_of(64);
        let size = (head + numbers * 8).next_multiple_of(64);
        let (offset, epoch) = shared.reserve(size)?;
        let shared = Arc::clone(shared);
        // One by one: an app that is gone may have left a counter with somebody, who still writes to it. What such a one counts
        // is then found in this record.
        (0..size).step_by(8).for_each(|at| shared.cell(offset + at).store(0, Ordering::Relaxed));
        shared.write_u32(offset, size as u32);
        shared.cell(offset + 8).store(epoch, Ordering::Relaxed);
        shared.write_text(offset + 24, format::NAME_LEN, name);
        shared.write_text(offset + 24 + format::NAME_LEN, format::TYPE_LEN, what);
        shared.write_u32(offset + 4, kind.code());
        Ok(Record {
            shared,
            offset,
            size,
            entries: Vec::new(),
            entries_max: entries,
            next: head,
            is_overfull: false,
        })
    }

    /// The number of a name, which is added if it is new. When the record is full, the number is counted, but nobody sees it.
    pub(crate) fn number(&mut self, name: &str, kind: EntryKind) -> Counter {
        match self.entry(name, kind, 1) {
            Some(offset) => Counter::new(Arc::clone(&self.shared), self.shared.cell(offset)),
            None => Counter::hidden(),
        }
    }

    /// The histogram of a name, likewise.
    pub(crate) fn histogram(&mut self, name: &str) -> Histogram {
        match self.entry(name, EntryKind::Histogram, Histogram::BUCKETS) {
            Some(offset) => {
                let first =
                    Counter::new(Arc::clone(&self.shared), self.shared.cells(offset, Histogram::BUCKETS));
                // SAFETY: `entry` has found room for as many numbers in the record.
                unsafe { Histogram::new(first) }
            }
            None => Histogram::hidden(),
        }
    }

    /// Whether a number had no room, so that nobody sees it, since this was asked last.
    pub(crate) fn take_overfull(&mut self) -> bool {
        std::mem::take(&mut self.is_overfull)
    }

    /// Says which worker the record belongs to.
    pub(crate) fn set_worker(&self, worker: usize) {
        self.shared.write_u32(self.offset + 20, worker as u32);
    }

    /// What tells it from any other record.
    pub(crate) fn epoch(&self) -> u64 {
        self.shared.cell(self.offset + 8).load(Ordering::Relaxed)
    }

    /// Begins the next number on a line of its own.
    pub(super) fn next_line(&mut self) {
        self.next = self.next.next_multiple_of(64);
    }

    fn entry(&mut self, name: &str, kind: EntryKind, count: usize) -> Option<usize> {
        if let Some((.., offset)) =
            self.entries.iter().find(|(known, as_kind, _)| known == name && *as_kind == kind)
        {
            return Some(*offset);
        }
        if self.entries.len() == self.entries_max || self.next + 8 * count > self.size {
            self.is_overfull = true;
            return None;
        }
        let offset = self.next;
        let at = self.offset + format::RECORD + self.entries.len() * format::ENTRY;
        self.shared.write_text(at, format::ENTRY_NAME_LEN, name);
        self.shared.write_u32(at + format::ENTRY_NAME_LEN, offset as u32);
        let [low, high] = (count as u16).to_ne_bytes();
        self.shared
            .write_u32(at + format::ENTRY_NAME_LEN + 4, u32::from_ne_bytes([kind.code(), 0, low, high]));
        self.next += 8 * count;
        self.entries.push((name.to_owned(), kind, self.offset + offset));
        self.shared.write_u32(self.offset + 16, self.entries.len() as u32);
        Some(self.offset + offset)
    }

    /// The entries so far, with their numbers; histograms by their first bucket.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, EntryKind, u64)> {
        let value = |offset| self.shared.cell(offset).load(Ordering::Relaxed);
        self.entries.iter().map(move |(name, kind, offset)| (name.as_str(), *kind, value(*offset)))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.shared.give_back(self.offset, self.size);
    }
}
