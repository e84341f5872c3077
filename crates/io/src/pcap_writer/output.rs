//! A file, pipe or device that is being written: what waits for it, and what becomes of that.

use super::buffer::Buffer;
use super::file::{Patience, Target};
use super::records::Encoder;
use super::{Counters, LAST_PATIENCE};
use engine::{Metadata, Notifier};
use std::io;
use std::time::Instant;

/// The metadata by which a file without packets is begun.
const NO_PACKET: Metadata = Metadata {
    timestamp_ns: 0,
    flow_hash: 0,
    sequence: 0,
    cut_len: 0,
    linktype: 1,
    interface: 0,
    mark: 0,
    application: 0,
    master: 0,
    flow_packets: 0,
    precision: 9,
    packet_type: 0,
    inline_tag: 0,
    queue: 0,
    queue_id: 0,
};

/// What is being written, as far as it differs from one file to the next.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) target: Target,
    pub(super) buffer: Buffer,
    /// Since when nothing was taken of the blocks that are on their way, if there are any.
    pub(super) blocked_since: Option<Instant>,
    pub(super) encoder: Encoder,
    /// When the buffer is to be written at the latest.
    pub(super) due_ns: Option<u64>,
    /// Why nothing is written any more.
    pub(super) error: Option<String>,
    /// Whether the file holds what makes it a capture, and no packet.
    pub(super) is_blank: bool,
    /// The part that was given up in the middle.
    pub(super) begun: Begun,
    /// Whether `error` was told when it came.
    is_error_told: bool,
}

/// A record of which who reads a pipe has the first `sent` bytes, and needs the others to understand what follows; empty if
/// there is none. Its packet has been counted as lost: the end may never be read.
#[derive(Debug, Default)]
pub(super) struct Begun {
    record: Vec<u8>,
    sent: usize,
    /// Since when nothing of it has been read.
    since: Option<Instant>,
}

impl Output {
    /// Goes on with a target, first with the rest of a record that was begun.
    pub(super) fn new(target: Target, encoder: Encoder, begun: Begun) -> Self {
        Output {
            target,
            blocked_since: begun.since,
            buffer: Buffer::inheriting(begun.record, begun.sent),
            encoder,
            due_ns: None,
            error: None,
            is_blank: false,
            begun: Begun::default(),
            is_error_told: false,
        }
    }

    /// Empties the file, unless that is done.
    pub(super) fn clear(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.target.begin()
        {
            self.error = Some(format!("{}: cannot be written: {error}", self.target.path().display()));
        }
    }

    /// Adds what makes the file a capture, where no packet has come.
    pub(super) fn complete(&mut self) {
        if self.error.is_none() && self.target.written() == 0 && self.buffer.is_empty() {
            self.buffer.append(|records| self.encoder.begin(&NO_PACKET, records));
            self.is_blank = true;
        }
    }

    /// Writes what waits, as far as there is room for it now.
    pub(super) fn flush(&mut self, counters: &Counters) {
        self.flush_in(&mut Patience::none(), counters);
    }

    /// Writes what waits, as far as there is room for it in this time.
    pub(super) fn flush_in(&mut self, patience: &mut Patience, counters: &Counters) {
        while self.buffer.seal() && self.write(patience, counters) {}
    }

    /// Writes the blocks that are on their way, as far as there is room for them in this time. Returns whether all of them were taken.
    pub(super) fn write(&mut self, patience: &mut Patience, counters: &Counters) -> bool {
        if self.error.is_some() {
            self.forget();
            return false;
        }
        let before = self.buffer.unsent();
        if let Err(error) = self.target.write(&mut self.buffer, patience) {
            self.fail(&error, counters);
            return false;
        }
        let unsent = self.buffer.unsent();
        if unsent == 0 {
            self.blocked_since = None;
        } else if unsent < before || self.blocked_since.is_none() {
            self.blocked_since = Some(Instant::now());
        }
        if self.buffer.is_sealed() {
            self.due_ns = None;
        }
        unsent == 0
    }

    /// Writes what waits, and the end of the file, as far as there is room for it in this time. Returns whether that is done.
    pub(super) fn end(&mut self, patience: &mut Patience, counters: &Counters) -> bool {
        self.flush_in(patience, counters);
        if !self.buffer.is_empty() {
            return false;
        }
        self.target.end(patience).unwrap_or_else(|error| {
            self.fail(&error, counters);
            true
        })
    }

    /// Writes for the last time. Bytes that are not read now count as lost, except the end of a record that was begun: another writer may still write that.
    pub(super) fn end_at_last(&mut self, counters: &Counters) {
        if self.target.is_regular() {
            self.end(&mut Patience::endless(), counters);
            return;
        }
        // Others may have been waited for before, while he was reading: that is not held against him.
        self.flush(counters);
        if let Some(since) = self.blocked_since {
            let rest = LAST_PATIENCE.saturating_sub(since.elapsed());
            self.flush_in(&mut Patience::of(rest), counters);
        }
        if self.blocked_since.is_some() {
            let first = self.buffer.blocks().next().unwrap_or_default();
            let begun = self.encoder.begun(first, self.target.written() == 0, self.buffer.sent());
            let (record, sent) = self.buffer.begun(begun);
            let since = self.blocked_since.filter(|_| !record.is_empty());
            self.begun = Begun { record, sent, since };
            self.fail(&io::Error::new(io::ErrorKind::TimedOut, "nobody reads it any more"), counters);
        }
    }

    /// Tells why nothing is written any more, unless that was done.
    pub(super) fn tell(&mut self, notifier: &Notifier) {
        if !std::mem::replace(&mut self.is_error_told, self.error.is_some()) {
            self.error.iter().for_each(|error| notifier.warn(error));
        }
    }

    /// Forgets what waits.
    fn forget(&mut self) {
        self.buffer.clear();
        self.blocked_since = None;
        self.due_ns = None;
    }

    /// Writing has failed: the file is cut behind its last whole record, and packets that are not in it count as dropped.
    #[cold]
    pub(super) fn fail(&mut self, error: &io::Error, counters: &Counters) {
        let is_begin = self.target.written() == 0;
        let mut done = self.buffer.sent();
        let has_taken = done > 0;
        let (mut bytes, mut lost) = (0, 0);
        for (number, block) in self.buffer.blocks().enumerate() {
            let is_first = number == 0;
            let counted = if is_first { self.buffer.inherited() } else { 0 };
            let (whole, missing) = self.encoder.whole(block, is_begin && is_first, done, counted);
            done = done.saturating_sub(block.len());
            bytes += whole;
            lost += missing;
        }
        let mut message = format!("{}: cannot write: {error}; ", self.target.path().display());
        message.push_str(&match self.target.cut(bytes) {
            Ok(()) => format!("it holds the packets before that, {} bytes", self.target.len()),
            Err(error) => format!("its last packet may be torn: {error}"),
        });
        self.error = Some(message);
        // What a pipe has taken cannot be taken back.
        let has_begun = self.target.written() > 0 || (has_taken && !self.target.is_regular());
        self.encoder.go_on_without(has_begun);
        counters.delivered.set(counters.delivered.get().saturating_sub(lost));
        counters.write_error.add(lost);
        self.forget();
    }
}
