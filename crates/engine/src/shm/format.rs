//! The layout of the file of counters.
//!
//! ```text
//! header, 192 bytes    magic "slussctr", version u32, 0 u32, pid u64, started_unix_ns u64, used u64, name [128],
//!                      start_ticks u64 (of the process, as proc(5) has it; 0 if unknown)
//! record, 64 n bytes   size u32, kind u32, epoch u64, entries u32, worker u32, name [128], type [40]
//!   entry, 32 bytes    name [24], offset u32 (from the record), kind u8, 0 u8, count u16 (of numbers: 1, or buckets)
//!   numbers            u64, at multiples of 8; those of different writers on different lines
//! ```
//!
//! All in the byte order of the machine. Texts are UTF-8, filled up with zeroes. A record of kind 0 is free. The epoch of a
//! record differs from that of any record that was at its place before; a reader that finds another epoch than it knows
//! must not compute a rate over the two.

/// The first eight bytes of the file.
pub const MAGIC: [u8; 8] = *b"slussctr";
/// The version that follows them.
pub const VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER: usize = 192;
/// A file is never longer, in bytes; readers refuse to look at more.
pub const FILE_MAX: u64 = 64 << 20;
/// Offsets in the header.
pub(super) const PID: usize = 16;
pub(super) const STARTED: usize = 24;
pub(super) const USED: usize = 32;
pub(super) const NAME: usize = 40;
pub(super) const START_TICKS: usize = 168;
/// Longest name of an instance or record, in bytes.
pub const NAME_LEN: usize = 128;
/// Longest type of a record, in bytes.
pub const TYPE_LEN: usize = 40;
/// Bytes of a record before its entries.
pub(super) const RECORD: usize = 24 + NAME_LEN + TYPE_LEN;
/// Bytes of an entry.
pub(super) const ENTRY: usize = 32;
/// Longest name of an entry, in bytes.
pub const ENTRY_NAME_LEN: usize = 24;

const _: () = assert!(RECORD == HEADER && RECORD.is_multiple_of(64) && NAME + NAME_LEN <= START_TICKS);

/// The kind of thing that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The instance as a whole.
    Engine,
    /// A worker thread and its pool.
    Worker,
    /// An app.
    App,
    /// A link.
    Link,
}

impl RecordKind {
    pub(super) fn code(self) -> u32 {
        self as u32 + 1
    }

    pub(super) fn from_code(code: u32) -> Option<Self> {
        [RecordKind::Engine, RecordKind::Worker, RecordKind::App, RecordKind::Link]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// Entries of an app's record by which the engine keeps house, and which are no counts of the app.
pub(crate) const HOUSEKEEPING: [&str; 3] = ["state", "restarts", "timed_ns"];

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Packets that were dropped, for the reason that names the entry. Also a counter.
    Drop,
    /// Packets that arrived where they were meant to. Also a counter.
    Delivered,
    /// A row of counters: see [`Histogram`](super::Histogram).
    Histogram,
    /// Packets that were lost before they came in, as the kernel had no room for them. Also a counter.
    Missed,
    /// As `Drop`, where it is what the app is for, so that nobody need worry: packets that a filter rejects.
    Reject,
}

impl EntryKind {
    /// Whether it counts packets that ended without having arrived.
    pub fn is_drop(self) -> bool {
        matches!(self, EntryKind::Drop | EntryKind::Reject)
    }

    pub(super) fn code(self) -> u8 {
        self as u8 + 1
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        use EntryKind::{Counter, Delivered, Drop, Gauge, Histogram, Missed, Reject};
        [Counter, Gauge, Drop, Delivered, Histogram, Missed, Reject]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}
