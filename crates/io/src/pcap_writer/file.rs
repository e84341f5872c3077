//! The file that a capture is written to: locked, and not emptied before it is sure that it will be written.
//!
//! One that is being read by the same process is refused. One that was created here, and never begun, is removed again. A pipe is written to as far as
//! it has room; a regular file by a thread of its own.

use super::background::{BackgroundWriter, Told};
use super::buffer::Buffer;
use crate::held::{Doomed, is_same};
use capture::{Compression, NameHint, NoFolder};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A file, or a device or pipe, of which the latter two are neither locked nor cut.
#[derive(Debug)]
pub(super) struct Target {
    /// Writes to it, if it is a regular file that has begun; goes before the file is closed.
    thread: Option<BackgroundWriter>,
    opened: Arc<Opened>,
    is_regular: bool,
    compression: Option<Compression>,
    /// Whether it contains only what we wrote.
    is_begun: bool,
    /// Bytes of whole records that are in the file.
    written: u64,
    /// How long they are, compressed, in a file that is.
    packed: u64,
    /// Whether something compressed was written that has no end yet. Nothing more is written before it has one.
    is_frame_open: bool,
}

/// How long a pipe's reader, or a disk, is waited for, all in all.
#[derive(Debug)]
pub(super) struct Patience(Duration);

impl Patience {
    pub(super) fn none() -> Self {
        Patience(Duration::ZERO)
    }

    pub(super) fn of(time: Duration) -> Self {
        Patience(time)
    }

    /// As long as it takes.
    pub(super) fn endless() -> Self {
        Patience(Duration::MAX)
    }

    /// Waits for room; `false` if there was none in the time that is left.
    fn wait(&mut self, file: &File) -> io::Result<bool> {
        while !self.0.is_zero() {
            let time =
                Timespec { tv_sec: self.0.as_secs().cast_signed(), tv_nsec: self.0.subsec_nanos().into() };
            let begin = Instant::now();
            let ready = poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&time));
            self.0 = self.0.saturating_sub(begin.elapsed());
            match ready {
                // A signal, such as that of a terminal that changes its size, is not the end of the time.
                Err(Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
        Ok(false)
    }
}

/// The state that all owners of a target share.
#[derive(Debug)]
struct Opened {
    path: PathBuf,
    /// Whether we have created it.
    is_new: bool,
    /// There until it is begun, if it is a file; goes before that is closed.
    doomed: Mutex<Option<Doomed>>,
    file: File,
}

impl Target {
    /// Opens a file, or creates it, and never waits, nor does a write beyond its patience. What is in it stays until [`Target::begin`]. A regular
    /// file is compressed if its name says so.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Where this fails, the other tells why, or opens what is there.
        let created = OpenOptions::new().write(true).create_new(true).open(path).ok();
        let is_new = created.is_some();
        let file = match created {
            Some(file) => file,
            None => open_at_once(path)?,
        };
        let is_regular = file.metadata()?.is_file();
        if is_regular {
            lock(&file)?;
        }
        let doomed = Mutex::new(is_regular.then(|| Doomed::new(&file, path)).transpose()?);
        let opened = Arc::new(Opened { path: path.to_owned(), is_new, doomed, file });
        Ok(Target {
            thread: None,
            opened,
            is_regular,
            compression: NameHint::of(path).compression.filter(|_| is_regular),
            is_begun: false,
            written: 0,
            packed: 0,
            is_frame_open: false,
        })
    }

    /// This file under the same lock, for another owner.
    pub(super) fn again(&self) -> Self {
        Target { thread: None, opened: Arc::clone(&self.opened), ..*self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.opened.path
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether it is a file, which a thread of its own writes.
    pub(super) fn is_regular(&self) -> bool {
        self.is_regular
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Gets ready to write, and then removes what is in the file and not ours: what was there is lost only if the file can be written.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.is_regular && self.thread.is_none() {
            if self.is_frame_open {
                self.cut(0)?;
            }
            let sink = Shared(Arc::clone(&self.opened));
            self.thread = Some(BackgroundWriter::start(sink, self.compression)?);
        }
        if self.is_regular && !self.is_begun {
            self.opened.empty()?;
        }
        self.is_begun = true;
        Ok(())
    }

    /// Writes to something else in place of the file, such as one that is slow.
    #[cfg(test)]
    pub(super) fn write_through(&mut self, sink: impl Write + Send + 'static) {
        self.thread = Some(BackgroundWriter::start(sink, self.compression).expect("a thread"));
    }

    /// Appends blocks, as far as there is room for them, and takes note of what was taken, also when it fails.
    pub(super) fn write(&mut self, buffer: &mut Buffer, patience: &mut Patience) -> io::Result<()> {
        self.begin()?;
        if self.is_regular { self.write_behind(buffer, patience) } else { self.write_now(buffer, patience) }
    }

    fn write_now(&mut self, buffer: &mut Buffer, patience: &mut Patience) -> io::Result<()> {
        while !buffer.next().is_empty() {
            match (&self.opened.file).write(buffer.next()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.note(buffer.take(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !patience.wait(&self.opened.file)? {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands blocks to the thread, and learns what has become of those before.
    fn write_behind(&mut self, buffer: &mut Buffer, patience: &Patience) -> io::Result<()> {
        let is_compressed = self.is_compressed();
        let Some(thread) = &mut self.thread else { return Ok(()) };
        buffer.hand_over().for_each(|block| thread.write(block));
        while buffer.unsent() > 0
            && let Told::Progress(progress) = thread.progress(!patience.0.is_zero())?
        {
            self.written += buffer.take(progress.taken) as u64;
            self.packed += progress.len;
            self.is_frame_open = is_compressed;
        }
        Ok(())
    }

    /// Has the thread write the end of what is compressed, and close the file, which has all blocks. Returns whether that is done; without patience, it is
    /// to be asked again.
    pub(super) fn end(&mut self, patience: &Patience) -> io::Result<bool> {
        while let Some(thread) = &mut self.thread {
            thread.end();
            match thread.progress(!patience.0.is_zero())? {
                Told::Nothing => return Ok(false),
                // All blocks are there: this is the end of what is compressed.
                Told::Progress(progress) => {
                    self.packed += progress.len;
                    self.is_frame_open = false;
                }
                Told::End => {
                    self.thread = None;
                    self.is_frame_open = false;
                }
            }
        }
        Ok(true)
    }

    /// Notes `bytes` more bytes of whole records in the file.
    fn note(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Takes back all that was written, where that is possible. Returns whether it is.
    pub(super) fn empty(&mut self) -> bool {
        if !self.is_regular {
            return false;
        }
        (self.written, self.packed, self.is_frame_open) = (0, 0, false);
        self.cut(0).is_ok()
    }

    /// Ends the file `bytes` after what was whole before; one that is compressed, where the last part ends that is there. Its thread has failed, or has ended.
    /// If this fails, it can be tried again.
    pub(super) fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.thread = None;
        self.note(bytes);
        if self.is_regular && self.is_begun {
            self.opened.file.set_len(self.len())?;
            (&self.opened.file).seek(SeekFrom::Start(self.len()))?;
        }
        if let Some(compression) = self.compression
            && self.is_frame_open
        {
            let seal = compression.seal();
            (&self.opened.file).write_all(seal)?;
            self.packed += seal.len() as u64;
            self.is_frame_open = false;
        }
        Ok(())
    }

    /// Bytes of the file that were written.
    pub(super) fn len(&self) -> u64 {
        if self.is_compressed() { self.packed } else { self.written }
    }
}

/// The file, as the thread has it.
struct Shared(Arc<Opened>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0.file).write(bytes)
    }

    /// What the system says when the file is closed, though it stays open: some file systems write only then.
    fn flush(&mut self) -> io::Result<()> {
        capture::close(&self.0.file)
    }
}

impl Opened {
    /// Empties the file for the first time, unless somebody was to read it meanwhile.
    fn empty(&self) -> io::Result<()> {
        let mut doomed = self.doomed.lock().unwrap_or_else(PoisonError::into_inner);
        doomed.as_ref().map_or(Ok(()), Doomed::check)?;
        self.file.set_len(0)?;
        *doomed = None;
        Ok(())
    }

    /// Whether nothing was ever written to a file that we created, and it is still in its place.
    fn is_superfluous(&mut self) -> bool {
        let is_begun = self.doomed.get_mut().unwrap_or_else(PoisonError::into_inner).is_none();
        let (Ok(there), Ok(ours)) = (self.path.symlink_metadata(), self.file.metadata()) else {
            return false;
        };
        self.is_new && !is_begun && ours.len() == 0 && is_same(&there, &ours)
    }
}

/// A file that was created for a graph which was then refused is removed, while we still have the lock.
impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_superfluous() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Why no file can be written there, as far as can be told without creating or opening one.
pub(super) fn obstacle(path: &Path) -> Option<String> {
    let place = path.display();
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Some(format!("{place} is a folder")),
        Ok(_) => access(path, Access::WRITE_OK).err().map(|error| format!("cannot write {place}: {error}")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            no_new_file(path)
        }
        Err(error) => Some(format!("cannot write {place}: {error}")),
    }
}

fn no_new_file(path: &Path) -> Option<String> {
    if let Some(lacking) = NoFolder::around(path) {
        return Some(lacking.to_string());
    }
    // A link that leads nowhere has the file made where it leads.
    let path = capture::place_of(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let allowed = access(folder, Access::WRITE_OK | Access::EXEC_OK);
    allowed.err().map(|error| format!("cannot create a file in {}: {error}", folder.display()))
}

/// Opens what is there. Only a FIFO would be waited for, until somebody reads it: that would hold up the other apps, and signals. So would
/// each write to a pipe that is full, so that none waits by itself. That is a property of what is opened here, not of what others have open, even
/// if it is called `/dev/stdout`; and it makes no difference to a file.
fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(libc::O_NONBLOCK);
    options.open(path).map_err(|error| {
        let is_fifo = || path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
        match error.raw_os_error() {
            Some(libc::ENXIO) if is_fifo() => {
                io::Error::other("nobody reads this FIFO: start who reads it first")
            }
            Some(libc::ENOENT | libc::ENOTDIR) => {
                let kind = error.kind();
                no_new_file(path).map_or(error, |why| io::Error::new(kind, why))
            }
            _ => error,
        }
    })
}

/// Sees to it that nobody else writes to the file, where the file system knows locks.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(ErrorKind::ResourceBusy, "another app or process is writing to it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
