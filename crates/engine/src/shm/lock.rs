//! The lock on a file of counters: it ends with the process that holds it, and is seen from every PID namespace.
//!
//! The number of a process says nothing in another namespace: where containers share a folder, many are number 1. The
//! lock belongs to the open file (`F_OFD_SETLK` of fcntl(2)). To hold it takes the permission to write, so that nobody who
//! may only read can let a file look alive; and one can ask for it without taking it.
//!
//! A file system without locks is none of our errors: its files are held by nobody.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Whether a process holds the file at a path, in whatever namespace.
pub fn is_held(path: &Path) -> bool {
    open(path, Access::Read).is_ok_and(|file| system::is_taken(&file))
}

/// Removes a file that nobody holds.
///
/// # Errors
/// When somebody does ([`ResourceBusy`](io::ErrorKind::ResourceBusy)), or it cannot be removed.
pub fn remove_dead(path: &Path) -> io::Result<()> {
    // What is no file holds no counters of anybody.
    let _ours = if fs::symlink_metadata(path)?.is_file() { take(path)? } else { None };
    fs::remove_file(path)
}

/// Holds a file, so that nobody else does while it is removed; `None` if that is not permitted and nobody does.
fn take(path: &Path) -> io::Result<Option<File>> {
    match open(path, Access::ReadAndWrite) {
        Ok(file) => {
            hold(&file)?;
            if is_at(&file, path) { Ok(Some(file)) } else { Err(busy()) }
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            if is_held(path) {
                Err(busy())
            } else {
                Ok(None)
            }
        }
        Err(error) => Err(error),
    }
}

/// Holds a file until it is closed.
pub(super) fn hold(file: &File) -> io::Result<()> {
    if system::take(file) { Ok(()) } else { Err(busy()) }
}

/// Whether a path still leads to this file.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => id(ours) == id(there),
        _ => false,
    }
}

fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "a process holds it, perhaps in another PID namespace")
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    ReadAndWrite,
}

/// Opens the file itself, no other that a link names, and waits for nobody.
fn open(path: &Path, access: Access) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).write(access == Access::ReadAndWrite).custom_flags(flags).open(path)
}

#[cfg(not(miri))]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    /// Takes the lock, unless somebody else has it.
    pub(super) fn take(file: &File) -> bool {
        match control(file, libc::F_OFD_SETLK, libc::F_WRLCK) {
            Ok(_) => true,
            Err(error) => !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)),
        }
    }

    /// Whether somebody has it. That we could read beside him is all that is asked: readers hold nothing.
    pub(super) fn is_taken(file: &File) -> bool {
        control(file, libc::F_OFD_GETLK, libc::F_RDLCK).is_ok_and(|found| found != libc::F_UNLCK)
    }

    /// Asks for a lock on the whole file; returns the type of the one that is found.
    fn control(file: &File, command: libc::c_int, kind: libc::c_int) -> io::Result<libc::c_int> {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        // SAFETY: the file is open, and these commands read and write a `flock`, which lives as long as the call.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(lock.l_type.into()) }
    }
}

#[cfg(miri)]
mod system {
    use std::fs::File;

    pub(super) fn take(_: &File) -> bool {
        true
    }

    pub(super) fn is_taken(_: &File) -> bool {
        false
    }
}
