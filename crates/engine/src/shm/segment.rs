//! The writer's side of the file.

use super::counter::{Counter, Histogram, LinkCounters};
use super::format::{self, EntryKind, RecordKind};
use super::lock::{self, remove_dead};
use super::process::Process;
use super::runtime;
use crate::drops;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of addresses a segment takes; what is never written takes no memory. The largest graph of a file takes 16 MB, and as much again until another
/// has taken its place.
const LEN: usize = if cfg!(miri) { 1 << 20 } else { format::FILE_MAX as usize };
/// Bytes that the file system is asked for at a time.
const STEP: usize = 64 << 10;

/// The memory of an instance's counters.
#[derive(Debug)]
pub struct Segment(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    memory: NonNull<u8>,
    /// The file, which we hold as long as it is open, and where it is.
    file: Option<(File, PathBuf)>,
    layout: Mutex<Layout>,
}

/// Which parts of the memory are in use.
#[derive(Debug)]
struct Layout {
    used: usize,
    /// Bytes of the file that the file system has room for. A store after them might end the process with SIGBUS.
    backed: usize,
    /// Records given back: offset and size.
    free: Vec<(usize, usize)>,
    epoch: u64,
}

// SAFETY: the memory is only reached through atomics, and by the holder of the lock while a record is laid out.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Segment {
    /// Counters that nobody else sees.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn private() -> io::Result<Self> {
        Self::lay_out(memory::map(LEN, None)?, None, "")
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
        // Addresses for all that it may become; what is used of it is made room for first.
        let memory = memory::map(LEN, Some(&file)).map_err(|error| {
            let _ = std::fs::remove_file(path);
            about(path, &error)
        })?;
        Self::lay_out(memory, Some((file, path.to_owned())), name)
    }

    fn lay_out(memory: NonNull<u8>, file: Option<(File, PathBuf)>, name: &str) -> io::Result<Self> {
        let layout = Mutex::new(Layout { used: format::HEADER, backed: 0, free: Vec::new(), epoch: 0 });
        let shared = Shared { memory, file, layout };
        shared.back(&mut shared.layout.lock().unwrap_or_else(PoisonError::into_inner))?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        shared.write_u32(8, format::VERSION);
        shared.cell(format::PID).store(std::process::id().into(), Ordering::Relaxed);
        shared.cell(format::STARTED).store(started as u64, Ordering::Relaxed);
        shared.cell(format::USED).store(format::HEADER as u64, Ordering::Relaxed);
        if shared.file.is_some() {
            let ticks = Process::own().map_or(0, |own| own.start_ticks);
            shared.cell(format::START_TICKS).store(ticks, Ordering::Relaxed);
        }
        shared.write_text(format::NAME, format::NAME_LEN, name);
        // Last: who sees the magic sees a header.
        shared.cell(0).store(u64::from_ne_bytes(format::MAGIC), Ordering::Release);
        Ok(Segment(Arc::new(shared)))
    }

    /// Where the file is.
    pub fn path(&self) -> Option<&Path> {
        self.0.file.as_ref().map(|(_, path)| path.as_path())
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
        RecordSize { entries, numbers }: RecordSize,
    ) -> io::Result<Record> {
        let head = (format::RECORD + entries * format::ENTRY).next_multiple_of(64);
        let size = (head + numbers * 8).next_multiple_of(64);
        let (offset, epoch) = self.0.reserve(size)?;
        let shared = Arc::clone(&self.0);
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

impl Shared {
    /// Finds room for a record.
    fn reserve(&self, size: usize) -> io::Result<(usize, u64)> {
        let mut layout = self.layout.lock().unwrap_or_else(PoisonError::into_inner);
        layout.epoch += 1;
        let epoch = layout.epoch;
        if let Some(index) = layout.free.iter().position(|&(_, free)| free == size) {
            return Ok((layout.free.swap_remove(index).0, epoch));
        }
        let offset = layout.used;
        if offset + size > LEN {
            return Err(io::Error::other(
                "the memory for counters is full: the graph has too many apps and links",
            ));
        }
        layout.used = offset + size;
        self.back(&mut layout).inspect_err(|_| layout.used = offset)?;
        // The size stands before the record counts as used, so that a reader can step over it.
        self.write_u32(offset, size as u32);
        self.cell(format::USED).store(layout.used as u64, Ordering::Release);
        Ok((offset, epoch))
    }

    /// Sees to it that there is room in the file system for what is used.
    fn back(&self, layout: &mut Layout) -> io::Result<()> {
        if layout.used <= layout.backed {
            return Ok(());
        }
        let end = layout.used.next_multiple_of(STEP).min(LEN);
        if let Some((file, path)) = &self.file {
            memory::allocate(file, layout.backed, end).map_err(|error| {
                io::Error::new(error.kind(), format!("no room for counters in {}: {error}", path.display()))
            })?;
        }
        layout.backed = end;
        Ok(())
    }

    fn give_back(&self, offset: usize, size: usize) {
        let mut layout = self.layout.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_u32(offset + 4, 0);
        layout.free.push((offset, size));
    }

    /// The number at an offset.
    pub(super) fn cell(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= LEN);
        // SAFETY: the offset lies within the mapping and is aligned; the memory is initialised and only used through atomics or
        // by us under the lock.
        unsafe { &*self.memory.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// The address of the first of `count` numbers at an offset; it may be used to reach all of them.
    fn cells(&self, offset: usize, count: usize) -> *const AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 * count <= LEN);
        // SAFETY: the numbers lie within the mapping.
        unsafe { self.memory.as_ptr().add(offset).cast() }
    }

    fn write_u32(&self, offset: usize, value: u32) {
        let cell = self.cell(offset & !7);
        let mut bytes = cell.load(Ordering::Relaxed).to_ne_bytes();
        bytes[offset % 8..][..4].copy_from_slice(&value.to_ne_bytes());
        cell.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }

    fn write_text(&self, offset: usize, len: usize, text: &str) {
        for at in (0..len).step_by(8) {
            let mut bytes = [0; 8];
            let part = text.as_bytes().iter().take(len).skip(at);
            bytes.iter_mut().zip(part).for_each(|(byte, &from)| *byte = from);
            self.cell(offset + at).store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: every counter keeps this alive, so nobody has one any more.
        unsafe { memory::unmap(self.memory, LEN) };
        // Somebody may have removed it, and another made one in its place.
        if let Some((_, path)) = self.file.as_ref().filter(|(file, path)| lock::is_at(file, path)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

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

    /// Begins the next number on a line of its own.
    fn next_line(&mut self) {
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

#[cfg(not(miri))]
mod memory {
    use super::{File, NonNull, STEP, io};
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::{Errno, retry_on_intr};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;
    use std::ptr;

    /// Lets the file system keep room for these bytes, none of which was ever written.
    pub(super) fn allocate(file: &File, from: usize, to: usize) -> io::Result<()> {
        let kept =
            retry_on_intr(|| fallocate(file, FallocateFlags::empty(), from as u64, (to - from) as u64));
        match kept {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let zeroes = [0; STEP];
                (from..to)
                    .step_by(STEP)
                    .try_for_each(|at| file.write_all_at(&zeroes[..STEP.min(to - at)], at as u64))
            }
            kept => Ok(kept?),
        }
    }

    pub(super) fn map(len: usize, file: Option<&File>) -> io::Result<NonNull<u8>> {
        let (flags, fd) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let address = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, fd, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mmap gave address 0"))
    }

    /// # Safety
    /// Nothing may point there any more.
    pub(super) unsafe fn unmap(memory: NonNull<u8>, len: usize) {
        // SAFETY: it was mapped by `map` with this length.
        unsafe { libc::munmap(memory.as_ptr().cast(), len) };
    }
}

#[cfg(miri)]
mod memory {
    use super::{File, NonNull, io};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    pub(super) fn allocate(_: &File, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, 4096).expect("a size that fits")
    }

    pub(super) fn map(len: usize, _: Option<&File>) -> io::Result<NonNull<u8>> {
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout(len)) }).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// # Safety
    /// Nothing may point there any more.
    pub(super) unsafe fn unmap(memory: NonNull<u8>, len: usize) {
        // SAFETY: it was allocated by `map` with this length.
        unsafe { dealloc(memory.as_ptr(), layout(len)) };
    }
}

/// An error about a file.
fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
