//! Captures that are being read, and captures that are about to be emptied to be written: in one process, no file is both.
//!
//! A file is known by device and inode, whatever it is called. It stays open as long as it is noted, so that its number
//! cannot become that of another. Other processes are not seen here, nor is anything but regular files.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static NOTES: Mutex<Notes> = Mutex::new(Notes { read: Vec::new(), doomed: Vec::new() });

/// The files of all graphs of this process.
struct Notes {
    /// Each file once for each that reads it.
    read: Vec<Note>,
    /// Files that are to be emptied, and were not yet.
    doomed: Vec<Note>,
}

#[derive(Debug)]
struct Note {
    identity: Identity,
    path: PathBuf,
    /// Whether somebody was to read it after it was doomed.
    is_wanted: bool,
}

/// The path that means standard input.
pub(crate) const STDIN: &str = "-";

/// Device and inode.
type Identity = (u64, u64);

/// That a file is being read, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Reading {
    identity: Identity,
    _file: File,
}

impl Reading {
    /// Notes that a file is read; `-` is standard input. `None` if that is not a regular file, or cannot be opened, which whoever
    /// reads it will find out.
    ///
    /// # Errors
    /// If it is to be emptied, which then fails as well.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, String> {
        let Some((identity, file)) = open(path) else { return Ok(None) };
        let mut notes = notes();
        if let Some(doomed) = notes.doomed.iter_mut().find(|note| note.identity == identity) {
            doomed.is_wanted = true;
            let writer = doomed.path.display();
            return Err(format!(
                "{}: cannot read: {}",
                path.display(),
                lost("a pcap_writer writes", &writer)
            ));
        }
        notes.read.push(Note { identity, path: path.to_owned(), is_wanted: false });
        Ok(Some(Reading { identity, _file: file }))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        forget(&mut notes().read, self.identity);
    }
}

/// That a file is to be emptied, until this value goes.
#[derive(Debug)]
pub(crate) struct Doomed {
    identity: Identity,
}

impl Doomed {
    /// Notes that an open regular file is to be emptied; whoever has this value keeps it open.
    ///
    /// # Errors
    /// If it is being read.
    pub(crate) fn new(file: &File, path: &Path) -> io::Result<Self> {
        let identity = identity(&file.metadata()?);
        let mut notes = notes();
        if let Some(read) = notes.read.iter().find(|note| note.identity == identity) {
            return Err(refused(&lost("a pcap_reader reads", &read.path.display())));
        }
        notes.doomed.push(Note { identity, path: path.to_owned(), is_wanted: false });
        Ok(Doomed { identity })
    }

    /// Whether nobody was to read it meanwhile.
    ///
    /// # Errors
    /// If somebody was.
    pub(crate) fn check(&self) -> io::Result<()> {
        let is_wanted = notes().doomed.iter().any(|note| note.identity == self.identity && note.is_wanted);
        if is_wanted { Err(refused("a pcap_reader was to read it, and it would be lost")) } else { Ok(()) }
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        forget(&mut notes().doomed, self.identity);
    }
}

/// Identifies a regular file, by whatever name; also one that is not there yet. `None` for anything else.
pub(crate) fn file_identity(path: &Path) -> Option<String> {
    match path.metadata() {
        Ok(metadata) => metadata.is_file().then(|| format!("file {:?}", identity(&metadata))),
        Err(_) => {
            let place = capture::place_of(path);
            let folder = identity(&place.parent()?.metadata().ok()?);
            Some(format!("file {:?} of folder {folder:?}", place.file_name()?))
        }
    }
}

/// Identifies the regular file that is standard input.
pub(crate) fn stdin_identity() -> Option<String> {
    let (identity, _) = open(Path::new(STDIN))?;
    Some(format!("file {identity:?}"))
}

/// Whether a file's metadata and those of a path are of one file.
pub(crate) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    identity(a) == identity(b)
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn open(path: &Path) -> Option<(Identity, File)> {
    let file = if path.as_os_str() == STDIN {
        File::from(io::stdin().as_fd().try_clone_to_owned().ok()?)
    } else {
        // To open a FIFO would be to wait.
        path.metadata().ok().filter(Metadata::is_file)?;
        File::open(path).ok()?
    };
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some((identity(&metadata), file))
}

fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(notes: &mut Vec<Note>, identity: Identity) {
    if let Some(at) = notes.iter().position(|note| note.identity == identity) {
        notes.swap_remove(at);
    }
}

fn lost(who: &str, path: &impl std::fmt::Display) -> String {
    format!("{who} the same file, as {path}: it would be lost; write to another, then rename it")
}

/// Unlike what the system refuses, this is for the user to put right.
fn refused(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
