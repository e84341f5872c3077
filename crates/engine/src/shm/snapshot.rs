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
    /// The engine, its workers, apps and links.
    pub records: Vec<RecordView>,
}

/// The numbers of one app, link or worker, or of the engine.
#[derive(Clone, Debug)]
pub struct RecordView {
    /// Whether it is an app, a link, a worker or the engine.
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
    /// Its name.
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
        Self::settled(|| bytes_of(&file))
    }

    /// A record may go, and another take its place, while it is read. The next reading tells: where it finds the same records,
    /// this one is whole. Its numbers were read between two looks at epochs that agree, so they are of these records; and what
    /// it says of a record before its epoch, it would not say again if that were of the one before. The next reading itself
    /// may be torn behind the epochs, which nobody has looked at since.
    fn settled(mut reading: impl FnMut() -> Result<Vec<u8>, SnapshotError>) -> Result<Self, SnapshotError> {
        let mut last = Self::parse(&reading()?);
        for _ in 1..READINGS_MAX {
            let next = Self::parse(&reading()?);
            if matches!((&last, &next), (Ok(last), Ok(next)) if last.identities().eq(next.identities())) {
                break;
            }
            last = next;
        }
        last
    }

    fn identities(&self) -> impl Iterator<Item = (u64, RecordKind, &str, &str)> {
        self.records.iter().map(|record| (record.epoch, record.kind, &*record.name, &*record.what))
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
    pub fn drops(&self) -> impl Iterator<Item = (&str, EntryKind, u64)> {
        let drops = self.entries.iter().filter(|entry| entry.kind.is_drop());
        drops.map(|entry| (entry.name.as_str(), entry.kind, entry.values.first().copied().unwrap_or(0)))
    }

    /// The numbers of an app without drops: packets that have arrived, its own counters and gauges, each with its kind.
    pub fn counters(&self) -> impl Iterator<Item = (&str, EntryKind, u64)> {
        let is_own = |entry: &&Entry| {
            !entry.kind.is_drop()
                && entry.kind != EntryKind::Histogram
                && !format::HOUSEKEEPING.contains(&entry.name.as_str())
        };
        let value = |entry: &Entry| entry.values.first().copied().unwrap_or(0);
        self.entries.iter().filter(is_own).map(move |entry| (entry.name.as_str(), entry.kind, value(entry)))
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

/// The part of the file that is in use; the file may be longer.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one link: its epoch, its name, and how often it counted.
    fn reading(epoch: u64, name: &str, count: u64) -> Vec<u8> {
        let size = format::RECORD + 64;
        let mut bytes = vec![0; format::HEADER + size];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &format::MAGIC);
        put(8, &format::VERSION.to_ne_bytes());
        let record = format::HEADER;
        put(record, &(size as u32).to_ne_bytes());
        put(record + 4, &RecordKind::Link.code().to_ne_bytes());
        put(record + 8, &epoch.to_ne_bytes());
        put(record + 16, &1_u32.to_ne_bytes());
        put(record + 24, name.as_bytes());
        let entry = record + format::RECORD;
        put(entry, b"txpackets");
        put(entry + format::ENTRY_NAME_LEN, &(format::RECORD as u32 + 32).to_ne_bytes());
        put(entry + format::ENTRY_NAME_LEN + 4, &[EntryKind::Counter.code(), 0]);
        put(entry + format::ENTRY_NAME_LEN + 6, &1_u16.to_ne_bytes());
        put(entry + 32, &count.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_torn_reading_is_not_believed() {
        let whole = [(7, "new", 5), (7, "new", 6)];
        // The first word was read when another record was there, and the name when it was not yet written.
        let torn_in_front = [(7, "", 0), (7, "new", 5), (7, "new", 6)];
        // When the second reading was behind the name, the record was replaced.
        let torn_behind = [(7, "new", 5), (7, "new", 0), (8, "newer", 1), (8, "newer", 1)];
        let replaced = [(6, "old", 9), (7, "new", 5), (7, "new", 6)];
        for (readings, expected) in [
            (&whole[..], (7, "new", 5)),
            (&torn_in_front, (7, "new", 5)),
            (&torn_behind, (7, "new", 5)),
            (&replaced, (7, "new", 5)),
        ] {
            let mut left = readings.iter();
            let mut next = || left.next().expect("one more reading").to_owned();
            let found = Snapshot::settled(|| {
                let (epoch, name, count) = next();
                Ok(reading(epoch, name, count))
            });
            let record = &found.expect("counters").records[0];
            let found = (record.epoch, record.name.as_str(), record.value("txpackets"));
            assert_eq!(found, expected, "{readings:?}");
        }
    }
}
