//! The memory of the file: who may use which part of it, and how numbers and texts get into it.

use super::format;
use super::lock;
use super::process::Process;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of addresses a segment takes; what is never written takes no memory. The largest graph of a file takes 16 MB, and as much again until another
/// has taken its place.
const LEN: usize = if cfg!(miri) { 1 << 20 } else { format::FILE_MAX as usize };
/// Bytes that the file system is asked for at a time.
const STEP: usize = 64 << 10;

/// The memory, which everything that is in it keeps mapped.
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

impl Shared {
    /// Memory with the header of an instance of that name; in a file, if there is one, which is removed with it.
    pub(super) fn new(file: Option<(File, PathBuf)>, name: &str) -> io::Result<Self> {
        // Addresses for all that it may become; what is used of it is made room for first.
        let memory = memory::map(LEN, file.as_ref().map(|(file, _)| file)).map_err(|error| match &file {
            Some((_, path)) => {
                let _ = std::fs::remove_file(path);
                about(path, &error)
            }
            None => error,
        })?;
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
        Ok(shared)
    }

    /// Where the file is.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    /// Finds room for a record.
    pub(super) fn reserve(&self, size: usize) -> io::Result<(usize, u64)> {
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

    pub(super) fn give_back(&self, offset: usize, size: usize) {
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
    pub(super) fn cells(&self, offset: usize, count: usize) -> *const AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 * count <= LEN);
        // SAFETY: the numbers lie within the mapping.
        unsafe { self.memory.as_ptr().add(offset).cast() }
    }

    pub(super) fn write_u32(&self, offset: usize, value: u32) {
        let cell = self.cell(offset & !7);
        let mut bytes = cell.load(Ordering::Relaxed).to_ne_bytes();
        bytes[offset % 8..][..4].copy_from_slice(&value.to_ne_bytes());
        cell.store(u64::from_ne_bytes(bytes), Ordering::Release);
    }

    pub(super) fn write_text(&self, offset: usize, len: usize, text: &str) {
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
pub(super) fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
