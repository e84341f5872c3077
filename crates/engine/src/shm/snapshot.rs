//! The reader's side of the file: the bytes at one moment, taken apart. Any bytes will do; what is wrong is an error.

use super::format::{self, EntryKind, RecordKind};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The counters of an instance at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The process that writes, or wrote, the file.
    pub pid: u32,
    /// When it began, in nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// When its process began: see [`Process`](super::Process). 0 if unknown.
    pub start_ticks: u64,
    /// The name of the instance.
    pub name: String,
    /// What is counted.
    pub records: Vec<RecordView>,
}

/// What is counted of one app, link or worker.
#[derive(Clone, Debug)]
pub struct RecordView {
    /// What it is.
    pub kind: RecordKind,
    /// Its name.
    pub name: String,
    /// The type of an app.
    pub what: String,
    /// The worker it runs on.
    pub worker: u32,
    /// Differs from that of the record that was here before.
    pub epoch: u64,
    /// Its numbers.
    pub entries: Vec<Entry>,
}

/// A number, or a row of them.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it counts.
    pub name: String,
    /// How to read it.
    pub kind: EntryKind,
    /// One number, or those of a histogram.
    pub values: Vec<u64>,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The system said no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file does not begin as counters do.
    #[error("not a file of counters")]
    NotCounters,
    /// Another version wrote it.
    #[error("counters of version {0}, this program reads version {expected}", expected = format::VERSION)]
    Version(u32),
    /// It says that it is longer than counters ever are.
    #[error("longer than counters ever are ({0} bytes, at most {max})", max = format::FILE_MAX)]
    TooLong(u64),
    /// A record does not fit in.
    #[error("damaged at byte {0}")]
    Damaged(usize),
}

impl Snapshot {
    /// Reads the counters of a file.
    ///
    /// # Errors
    /// When the file cannot be read or is not what [`format`](mod@format) says.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let file = open(path)?;
        let mut last = Self::parse(&bytes_of(&file)?);
        for _ in 1..READINGS_MAX {
            // A record may go, and another take its place, while it is read: a second look tells by the epochs.
            let next = Self::parse(&bytes_of(&file)?);
            if matches!((&last, &next), (Ok(last), Ok(next)) if last.epochs().eq(next.epochs())) {
                break;
            }
            last = next;
        }
        last
    }

    fn epochs(&self) -> impl Iterator<Item = u64> {
        self.records.iter().map(|record| record.epoch)
    }

    /// Takes apart the bytes of a file.
    ///
    /// # Errors
    /// When they are not what [`format`](mod@format) says.
    pub fn parse(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if bytes.len() < format::HEADER || bytes[..8] != format::MAGIC {
            return Err(SnapshotError::NotCounters);
        }
        let version = small(bytes, 8).unwrap_or(0);
        if version != format::VERSION {
            return Err(SnapshotError::Version(version));
        }
        let mut records = Vec::new();
        let mut at = format::HEADER;
        while at < bytes.len() {
            let size = small(bytes, at).ok_or(SnapshotError::Damaged(at))? as usize;
            if size < format::RECORD || !size.is_multiple_of(64) {
                return Err(SnapshotError::Damaged(at));
            }
            let Some(record) = bytes.get(at..at + size) else { break };
            records.extend(RecordView::parse(record).ok_or(SnapshotError::Damaged(at))?);
            at += size;
        }
        Ok(Snapshot {
            pid: number(bytes, format::PID).unwrap_or(0) as u32,
            started_unix_ns: number(bytes, format::STARTED).unwrap_or(0),
            start_ticks: number(bytes, format::START_TICKS).unwrap_or(0),
            name: text(bytes, format::NAME, format::NAME_LEN).unwrap_or_default(),
            records,
        })
    }

    /// The records of one kind.
    pub fn of(&self, kind: RecordKind) -> impl Iterator<Item = &RecordView> {
        self.records.iter().filter(move |record| record.kind == kind)
    }
}

impl RecordView {
    /// `None` if damaged; nothing inside if free.
    fn parse(record: &[u8]) -> Option<Option<Self>> {
        let Some(kind) = RecordKind::from_code(small(record, 4)?) else { return Some(None) };
        let entries = small(record, 16)? as usize;
        // Entries that share their numbers could ask for any amount of memory; those of a writer do not share.
        let mut numbers_left = record.len() / 8;
        let entries = (0..entries)
            .map(|index| {
                let at = format::RECORD.checked_add(index.checked_mul(format::ENTRY)?)?;
                Entry::parse(record, at, &mut numbers_left)
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Some(RecordView {
            kind,
            name: text(record, 24, format::NAME_LEN)?,
            what: text(record, 24 + format::NAME_LEN, format::TYPE_LEN)?,
            worker: small(record, 20)?,
            epoch: number(record, 8)?,
            entries,
        }))
    }

    /// The entry of a name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The number of a name; 0 if there is none.
    pub fn value(&self, name: &str) -> u64 {
        self.entry(name).and_then(|entry| entry.values.first().copied()).unwrap_or(0)
    }

    /// Reasons for which packets were dropped here, and how many.
    pub fn drops(&self) -> impl Iterator<Item = (&str, u64)> {
        let drops = self.entries.iter().filter(|entry| entry.kind == EntryKind::Drop);
        drops.map(|entry| (entry.name.as_str(), entry.values.first().copied().unwrap_or(0)))
    }
}

impl Entry {
    fn parse(record: &[u8], at: usize, numbers_left: &mut usize) -> Option<Self> {
        let name = text(record, at, format::ENTRY_NAME_LEN)?;
        let offset = small(record, at + format::ENTRY_NAME_LEN)? as usize;
        let [kind, _, low, high] = small(record, at + format::ENTRY_NAME_LEN + 4)?.to_ne_bytes();
        let count = usize::from(u16::from_ne_bytes([low, high]));
        *numbers_left = numbers_left.checked_sub(count)?;
        let values = record.get(offset..offset.checked_add(8 * count)?)?;
        let values =
            values.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
        Some(Entry { name, kind: EntryKind::from_code(kind)?, values: values.collect() })
    }
}

/// How often a file is read at most that changes all the time.
const READINGS_MAX: usize = 4;

/// Opens a file of counters, and nothing else that may have its name: a pipe would let us wait.
fn open(path: &Path) -> Result<File, SnapshotError> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(SnapshotError::NotCounters) }
}

/// What is in use of the file, which is long and mostly a hole.
fn bytes_of(file: &File) -> Result<Vec<u8>, SnapshotError> {
    let mut header = [0; format::HEADER];
    file.read_exact_at(&mut header, 0).map_err(|_| SnapshotError::NotCounters)?;
    if header[..8] != format::MAGIC {
        return Err(SnapshotError::NotCounters);
    }
    let used = number(&header, format::USED).unwrap_or(0);
    if used > format::FILE_MAX {
        return Err(SnapshotError::TooLong(used));
    }
    // What the file says of its length may be wrong: only what is there takes memory.
    let len = used.min(file.metadata()?.len()).max(format::HEADER as u64);
    let mut bytes = vec![0; len as usize];
    bytes[..format::HEADER].copy_from_slice(&header);
    file.read_exact_at(&mut bytes[format::HEADER..], format::HEADER as u64)?;
    Ok(bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn small(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn text(bytes: &[u8], at: usize, len: usize) -> Option<String> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(len);
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
