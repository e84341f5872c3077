//! Counters in shared memory: one file an instance, readable without the process, and after its crash.
//!
//! The file is a header and a row of records, each of which describes itself (see [`format`](mod@format)). A counter has one writer
//! and costs one store; readers read the file as a file ([`Snapshot`]), so that nothing they do can disturb the
//! writer, and nothing the writer does can harm them.

mod counter;
pub mod format;
mod lock;
mod process;
mod record;
pub mod runtime;
mod segment;
mod shared;
mod snapshot;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use counter::LinkCounters;
pub use counter::{Counter, Histogram};
pub use format::{EntryKind, RecordKind};
pub use lock::{is_held, remove_dead};
pub use process::Process;
pub(crate) use record::{Record, RecordSize};
pub use segment::Segment;
pub use snapshot::{Entry, RecordView, Snapshot, SnapshotError};
