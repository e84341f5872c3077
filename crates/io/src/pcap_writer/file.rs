//! The file that a capture is written to: locked, and not emptied before it is sure that it will be written.
//!
//! One that is being read by the same process is refused. One that was created here, and never begun, is removed again.

use crate::held::{Doomed, is_same};
use capture::NoFolder;
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
    opened: Arc<Opened>,
    is_regular: bool,
    /// Whether it contains only what we wrote.
    is_begun: bool,
    /// Bytes of whole records that are in the file.
    written: u64,
}

/// How long who reads a pipe is waited for, all in all.
#[derive(Debug)]
pub(super) struct Patience(Duration);

impl Patience {
    pub(super) fn none() -> Self {
        Patience(Duration::ZERO)
    }

    pub(super) fn of(time: Duration) -> Self {
        Patience(time)
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
    /// Opens a file, or creates it, and never waits, nor does a write beyond its patience. What is in it stays until [`Target::begin`].
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
        Ok(Target { opened, is_regular, is_begun: false, written: 0 })
    }

    /// This file under the same lock, for another owner.
    pub(super) fn again(&self) -> Self {
        Target { opened: Arc::clone(&self.opened), ..*self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.opened.path
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether it takes whatever it gets at once, or never.
    pub(super) fn is_regular(&self) -> bool {
        self.is_regular
    }

    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Removes what is in the file and not ours.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if !self.is_begun && self.is_regular {
            self.opened.empty()?;
        }
        self.is_begun = true;
        Ok(())
    }

    /// Appends as much as there is room for, and says how many bytes that were, also when it fails.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        patience: &mut Patience,
    ) -> Result<usize, (usize, io::Error)> {
        self.begin().map_err(|error| (0, error))?;
        let mut done = 0;
        while done < bytes.len() {
            match (&self.opened.file).write(&bytes[done..]) {
                Ok(0) => return Err((done, ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !patience.wait(&self.opened.file).map_err(|error| (done, error))? {
                        break;
                    }
                }
                Err(error) => return Err((done, error)),
            }
        }
        Ok(done)
    }

    /// Notes `bytes` more bytes of whole records in the file.
    pub(super) fn note(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Takes back all that was written, where that is possible. Returns whether it is.
    pub(super) fn empty(&mut self) -> bool {
        if !self.is_regular {
            return false;
        }
        self.written = 0;
        self.cut(0).is_ok()
    }

    /// What the system says when a file is closed, which it stays open for.
    pub(super) fn close(&self) -> io::Result<()> {
        if self.is_regular { capture::close(&self.opened.file) } else { Ok(()) }
    }

    /// Ends the file `bytes` after what was whole before.
    pub(super) fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.note(bytes);
        if self.is_regular && self.is_begun {
            self.opened.file.set_len(self.written)?;
            (&self.opened.file).seek(SeekFrom::Start(self.written))?;
        }
        Ok(())
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
