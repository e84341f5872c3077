//! The file that a capture is written to: locked, and not emptied before it is sure that it will be written.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file, or a device or pipe, of which the latter two are neither locked nor cut.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    file: Arc<File>,
    is_regular: bool,
    /// Whether it is empty but for what we wrote.
    is_begun: bool,
    /// Bytes of whole records that are in the file.
    written: u64,
}

impl Target {
    /// Opens a file, or creates it. What is in it stays until [`Target::begin`].
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let is_regular = file.metadata()?.is_file();
        if is_regular {
            lock(&file)?;
        }
        Ok(Target { path: path.to_owned(), file: Arc::new(file), is_regular, is_begun: false, written: 0 })
    }

    /// The same file under the same lock, for another owner.
    pub(super) fn again(&self) -> Self {
        Target { path: self.path.clone(), file: Arc::clone(&self.file), ..*self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Removes what is in the file and not ours.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if !self.is_begun && self.is_regular {
            self.file.set_len(0)?;
        }
        self.is_begun = true;
        Ok(())
    }

    /// Appends whole records; when that fails, says how many bytes were written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        self.begin().map_err(|error| (0, error))?;
        let mut done = 0;
        while done < bytes.len() {
            match (&*self.file).write(&bytes[done..]) {
                Ok(0) => return Err((done, ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err((done, error)),
            }
        }
        self.written += done as u64;
        Ok(())
    }

    /// Takes back all that was written, where that is possible. Returns whether it is.
    pub(super) fn empty(&mut self) -> bool {
        if !self.is_regular {
            return false;
        }
        self.written = 0;
        self.cut(0).is_ok()
    }

    /// Ends the file `bytes` after what was whole before.
    pub(super) fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.written += bytes as u64;
        if self.is_regular && self.is_begun {
            self.file.set_len(self.written)?;
            (&*self.file).seek(SeekFrom::Start(self.written))?;
        }
        Ok(())
    }
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
