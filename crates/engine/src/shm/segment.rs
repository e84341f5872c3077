//! The writer's side of the file: where it is, and the records in it.

use super::counter::LinkCounters;
use super::format::{EntryKind, RecordKind};
use super::lock::{self, remove_dead};
use super::record::{Record, RecordSize};
use super::runtime;
use super::shared::{Shared, about};
use crate::drops;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The memory of an instance's counters.
#[derive(Debug)]
pub struct Segment(Arc<Shared>);

impl Segment {
    /// Counters that nobody else sees.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn private() -> io::Result<Self> {
        Self::of(None, "")
    }

    /// Counters of this process where `sluss top` finds them: in a new file of [that folder](super::runtime::folder). A file that a crashed
    /// process of our number has left is removed.
    ///
    /// ```no_run
    /// use engine::{Engine, Settings, shm::Segment};
    ///
    /// let counters = Segment::of_instance("gateway")?;
    /// let engine = Engine::new(Settings::with_counters(counters))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Segment::create`]; or when there is no such folder, or `name` is
    /// [no name of an instance](super::runtime::is_instance_name).
    pub fn of_instance(name: &str) -> io::Result<Self> {
        if !runtime::is_instance_name(name) {
            let why = "a name has 1 to 64 letters, digits, and `-`, `_` or `.` other than in front";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}`: {why}")));
        }
        let path = runtime::folder()?.join(runtime::file_name(name, std::process::id()));
        match Self::create(&path, name) {
            // Whoever had our number before us has crashed, unless it has that in another PID namespace.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_dead(&path).map_err(|error| about(&path, &error))?;
                Self::create(&path, name)
            }
            created => created,
        }
    }

    /// Counters in a new file, which is [held](super::is_held) from now on. It is removed when the segment is dropped; after a
    /// crash it stays, to be read.
    ///
    /// # Errors
    /// When the file exists or cannot be made or mapped, or the file system is full; with the path.
    pub fn create(path: &Path, name: &str) -> io::Result<Self> {
        let open = OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(path);
        let file = open.map_err(|error| about(path, &error))?;
        // Whoever cleans up may have found it before it was held.
        lock::hold(&file).map_err(|error| about(path, &error))?;
        Self::of(Some((file, path.to_owned())), name)
    }

    fn of(file: Option<(File, PathBuf)>, name: &str) -> io::Result<Self> {
        Ok(Segment(Arc::new(Shared::new(file, name)?)))
    }

    /// Where the file is.
    pub fn path(&self) -> Option<&Path> {
        self.0.path()
    }

    /// Makes a record.
    ///
    /// # Errors
    /// When the segment or the file system is full.
    pub(crate) fn record(
        &self,
        kind: RecordKind,
        name: &str,
        what: &str,
        size: RecordSize,
    ) -> io::Result<Record> {
        Record::new(&self.0, kind, name, what, size)
    }

    /// The record of a link, with its counters: those of the sender and of the receiver on lines of their own.
    pub(crate) fn link(&self, name: &str) -> io::Result<(Record, LinkCounters)> {
        let mut record = self.record(RecordKind::Link, name, "", RecordSize { entries: 5, numbers: 16 })?;
        let counters = LinkCounters {
            txpackets: record.number("txpackets", EntryKind::Counter),
            txbytes: record.number("txbytes", EntryKind::Counter),
            txdrop: record.number(drops::LINK_FULL, EntryKind::Drop),
            rxpackets: {
                record.next_line();
                record.number("rxpackets", EntryKind::Counter)
            },
        };
        Ok((record, counters))
    }
}
