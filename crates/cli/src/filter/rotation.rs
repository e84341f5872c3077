//! An output that goes on in another file, after so many bytes, packets or so much time.
//!
//! Two ways of naming: tcpdump's, for `-C`, `-G` and `-W` (`out.pcap`, `out.pcap1`; names made by strftime(3)), and numbers before the ending
//! (`out-00001.pcap`) for `--split-…`.

use crate::exit::Failure;
use crate::reader::Patient;
use crate::unwritable;
use capture::layout::{Head, RecordSpans};
use capture::{ByteOrder, Encoded, FileIdentity, NameHint, SnapLength, Target, Writer};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

const NS_PER_S: i64 = 1_000_000_000;

/// When another file begins, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rotation {
    /// As tcpdump has it: sizes are those of files that are over it, times those since the file began.
    Tcpdump { bytes: Option<u64>, seconds: Option<u64>, files: Option<u32> },
    /// A file has no more bytes than that, unless one packet alone has.
    Bytes(u64),
    /// Each file has the packets of so many nanoseconds, counted from the first of all.
    Nanoseconds(i64),
    /// A file has no more packets than that.
    Packets(u64),
}

/// Which file it is.
#[derive(Clone, Copy, Debug, Default)]
struct Number {
    /// Among those of the size, counted from 0; among parts, of all.
    by_size: u32,
    /// Among those of the time.
    by_time: u32,
    /// Seconds since 1970 at which that began.
    begin_s: i64,
}

impl Rotation {
    /// The name of the first file, of an output that is called so.
    pub(super) fn first(&self, path: &Path) -> Result<PathBuf, Failure> {
        self.name(path, Number { begin_s: now_s(), ..Number::default() })
    }

    fn name(&self, path: &Path, number: Number) -> Result<PathBuf, Failure> {
        match self {
            Rotation::Tcpdump { bytes, seconds, files } => {
                let path = if seconds.is_some() { by_time(path, number.begin_s)? } else { path.to_owned() };
                let digits = if bytes.is_some() { files.map_or(0, digits_of) } else { 0 };
                if bytes.is_none() || number.by_size == 0 && digits == 0 {
                    return Ok(path);
                }
                let mut name = OsString::from(path);
                name.push(format!("{:0digits$}", number.by_size));
                Ok(name.into())
            }
            _ => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let end = ending(&name);
                let (stem, end) = name.split_at(name.len() - end);
                Ok(path.with_file_name(format!("{stem}-{:05}{end}", number.by_size + 1)))
            }
        }
    }
}

/// Digits of the largest of the numbers from 0, of which there are so many.
fn digits_of(files: u32) -> usize {
    files.saturating_sub(1).checked_ilog10().map_or(0, |log| log as usize + 1)
}

/// Bytes of the ending of a name: `.pcap`, `.pcapng.gz`.
fn ending(name: &str) -> usize {
    let behind_dot = |name: &str| name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len());
    let is_packed = [".gz", ".zst"].iter().any(|end| name.ends_with(end));
    let bare = if is_packed { &name[..behind_dot(name)] } else { name };
    name.len() - behind_dot(bare)
}

/// A name in which strftime(3) has put a time, as the clocks here show it.
fn by_time(path: &Path, seconds: i64) -> Result<PathBuf, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::user(format_args!("{}: no name can be made of it by strftime: {why}", path.display()))
            .help("-w 'web-%Y%m%d-%H%M%S.pcap'")
    };
    let format = path.to_str().ok_or_else(|| wrong(&"it is not UTF-8"))?;
    let time = jiff::Timestamp::from_second(seconds).map_err(|error| wrong(&error))?;
    let local = time.to_zoned(jiff::tz::TimeZone::system());
    jiff::fmt::strtime::format(format, &local).map(PathBuf::from).map_err(|error| wrong(&error))
}

fn now_s() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs() as i64)
}

/// An output of several files, of which one is open.
pub(super) struct Rotating {
    path: PathBuf,
    rotation: Rotation,
    writer: Writer<Patient>,
    target: Option<Target>,
    /// Files that are read: none is written over.
    inputs: HashSet<FileIdentity>,
    number: Number,
    /// What the current file has, before compression.
    bytes: u64,
    packets: u64,
    /// When the current span of time began, in nanoseconds since 1970; none before the first packet.
    begin_ns: Option<i64>,
    /// Blocks with which each file of pcapng begins: those of the current section.
    head: Vec<u8>,
    order: ByteOrder,
    /// Whether there are as many files as there may be.
    is_full: bool,
    /// Packets that came then.
    unwritten: u64,
    /// What packets have come to in all files.
    encoded: Encoded,
    /// The snap length that packets exceed in the files before this one.
    exceeded: Option<SnapLength>,
}

impl Rotating {
    /// One that begins with this writer, which is open.
    pub(super) fn new(
        path: &Path,
        rotation: Rotation,
        writer: Writer<Patient>,
        inputs: HashSet<FileIdentity>,
    ) -> Rotating {
        Rotating {
            path: path.to_owned(),
            rotation,
            writer: writer.compressed(NameHint::of(path).compression),
            target: None,
            inputs,
            number: Number { begin_s: now_s(), ..Number::default() },
            bytes: 0,
            packets: 0,
            begin_ns: None,
            head: Vec::new(),
            order: ByteOrder::NATIVE,
            is_full: false,
            unwritten: 0,
            encoded: Encoded::default(),
            exceeded: None,
        }
    }

    /// The current file.
    pub(super) fn writer(&mut self) -> &mut Writer<Patient> {
        &mut self.writer
    }

    /// Whether there are as many files as there may be, so that nothing more is written.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Packets that came after that.
    pub(super) fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// What packets have come to, other than they were, in all files together.
    pub(super) fn encoded(&self) -> Encoded {
        self.encoded
    }

    /// The snap length that packets exceed in any of the files.
    pub(super) fn exceeded_snaplen(&self) -> Option<SnapLength> {
        match (self.exceeded, self.writer.exceeded_snaplen()) {
            (Some(before), Some(now)) => Some(SnapLength {
                longest: before.longest.max(now.longest),
                is_raised: before.is_raised && now.is_raised,
                ..now
            }),
            (before, now) => before.or(now),
        }
    }

    /// Fixes the format.
    pub(super) fn begin(&mut self, target: Target) {
        self.target = Some(target);
        self.writer.begin(target);
        self.bytes = target.file_header().len() as u64;
    }

    /// Writes whole records or blocks, whose packets have these times.
    pub(super) fn write(&mut self, records: &[u8], times: &[i64], encoded: Encoded) -> Result<(), Failure> {
        if !self.is_full {
            self.encoded += encoded;
        }
        let mut spans = match self.target {
            Some(Target::Pcap { order, .. }) => RecordSpans::of_records(order, records),
            _ => RecordSpans::of_blocks(self.order, records),
        };
        let mut times = times.iter().copied();
        // What is written in one go: neighbours in one file.
        let mut run = 0..0;
        for span in spans.by_ref() {
            if let Some(head) = span.head {
                self.note_block(head, &records[span.range.clone()]);
            }
            let time = if span.is_packet { times.next() } else { None };
            if let Some(time) = time
                && self.is_due(span.range.len() as u64, time)
            {
                self.put(&records[run.clone()], encoded)?;
                run = span.range.start..span.range.start;
                self.rotate()?;
            }
            if self.is_full {
                self.unwritten += u64::from(span.is_packet);
                continue;
            }
            self.bytes += span.range.len() as u64;
            self.packets += u64::from(span.is_packet);
            run = if run.is_empty() { span.range } else { run.start..span.range.end };
        }
        self.order = spans.order();
        self.put(&records[run], encoded)
    }

    fn put(&mut self, records: &[u8], encoded: Encoded) -> Result<(), Failure> {
        if records.is_empty() {
            return Ok(());
        }
        self.writer.write_encoded(records, encoded).map_err(|error| Failure::capture(&error))
    }

    /// Keeps what each file of this section begins with.
    fn note_block(&mut self, head: Head, block: &[u8]) {
        if head == Head::Section {
            self.head.clear();
        }
        self.head.extend_from_slice(block);
    }

    /// Whether a packet of this length and time is the first of another file.
    fn is_due(&mut self, len: u64, time_ns: i64) -> bool {
        let begin_ns = *self.begin_ns.get_or_insert(time_ns);
        match self.rotation {
            Rotation::Bytes(most) => self.packets > 0 && self.bytes + len > most,
            Rotation::Packets(most) => self.packets >= most,
            Rotation::Nanoseconds(span) => {
                let elapsed = i128::from(time_ns) - i128::from(begin_ns);
                let is_due = elapsed >= i128::from(span);
                if is_due {
                    let begin = i128::from(begin_ns) + elapsed / i128::from(span) * i128::from(span);
                    self.begin_ns = Some(begin.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
                }
                is_due
            }
            Rotation::Tcpdump { bytes, seconds, files } => {
                let time_s = time_ns.div_euclid(NS_PER_S);
                if let Some(seconds) = seconds
                    && time_s.saturating_sub(self.number.begin_s)
                        >= i64::try_from(seconds).unwrap_or(i64::MAX)
                {
                    let by_time = self.number.by_time + 1;
                    self.number = Number { by_size: 0, by_time, begin_s: time_s };
                    self.is_full |= bytes.is_none() && files.is_some_and(|files| by_time >= files);
                    return true;
                }
                let is_over = bytes.is_some_and(|most| self.bytes > most);
                if is_over {
                    let next = self.number.by_size + 1;
                    self.number.by_size = if files.is_some_and(|files| next >= files) { 0 } else { next };
                }
                is_over
            }
        }
    }

    /// Ends the file, and begins another.
    fn rotate(&mut self) -> Result<(), Failure> {
        self.writer.complete().map_err(|error| Failure::capture(&error))?;
        if self.is_full {
            return Ok(());
        }
        if !matches!(self.rotation, Rotation::Tcpdump { .. }) {
            self.number.by_size += 1;
        }
        let path = self.rotation.name(&self.path, self.number)?;
        if FileIdentity::of(&path).is_some_and(|file| self.inputs.contains(&file)) {
            return Err(Failure::lost_input(format_args!("{} is both input and output", path.display())));
        }
        let file = File::create(&path).map_err(|error| unwritable::capture(&path, &error))?;
        let compression = NameHint::of(&self.path).compression;
        self.exceeded = self.exceeded_snaplen();
        self.writer = Patient::of(file).writer(&path.to_string_lossy()).compressed(compression);
        if let Some(target) = self.target {
            self.begin(target);
        }
        self.packets = 0;
        if !self.head.is_empty() {
            self.bytes += self.head.len() as u64;
            let head = std::mem::take(&mut self.head);
            let written = self.put(&head, Encoded::default());
            self.head = head;
            written?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_tcpdump() {
        let named = |rotation: Rotation, by_size| {
            let number = Number { by_size, by_time: 0, begin_s: 0 };
            rotation.name(Path::new("d/out.pcap"), number).unwrap().display().to_string()
        };
        let sized = |files| Rotation::Tcpdump { bytes: Some(1), seconds: None, files };
        for (files, number, name) in [
            (None, 0, "d/out.pcap"),
            (None, 12, "d/out.pcap12"),
            (Some(1), 0, "d/out.pcap"),
            (Some(10), 0, "d/out.pcap0"),
            (Some(11), 3, "d/out.pcap03"),
            (Some(101), 100, "d/out.pcap100"),
        ] {
            assert_eq!(named(sized(files), number), name, "{files:?}");
        }
        assert_eq!(named(Rotation::Packets(1), 0), "d/out-00001.pcap");
        assert_eq!(named(Rotation::Bytes(1), 99_999), "d/out-100000.pcap");
        let of_time = Rotation::Tcpdump { bytes: None, seconds: Some(1), files: None };
        let name =
            of_time.name(Path::new("%Y-%%.pcap"), Number { begin_s: 1_000_000_000, ..Number::default() });
        assert_eq!(name.unwrap(), Path::new("2001-%.pcap"));
        assert!(of_time.first(Path::new("%&.pcap")).is_err());
    }

    #[test]
    fn a_number_stands_before_all_endings() {
        let part = |name| Rotation::Packets(1).name(Path::new(name), Number::default()).unwrap();
        for (name, first) in [
            ("a.pcapng.zst", "a-00001.pcapng.zst"),
            ("a", "a-00001"),
            ("a.b.pcap", "a.b-00001.pcap"),
            (".pcap", ".pcap-00001"),
            ("x/a.gz", "x/a-00001.gz"),
        ] {
            assert_eq!(part(name), Path::new(first), "{name}");
        }
    }
}
