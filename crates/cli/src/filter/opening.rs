//! Files for output, opened before it is known whether all that a run needs can be opened: what they hold is there until it is.

use crate::exit::Failure;
use crate::reader::Patient;
use crate::unwritable;
use capture::{FileIdentity, NameHint, Writer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What standard output is called.
pub(super) const STDOUT: &str = "standard output";

/// Its names, as outputs. To open it by one would empty a file that others write to as well (`>> log`).
const STDOUT_NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Descriptors for all but the outputs.
const OTHER_FILES: u64 = 256;

/// The outputs of a run that begins. If it does not, they stay as they were: those that were made for it go, the others keep what they hold.
#[derive(Default)]
pub(crate) struct Opening {
    outputs: Vec<Output>,
}

struct Output {
    path: PathBuf,
    /// The file, if it was not there before.
    made: Option<FileIdentity>,
}

impl Opening {
    /// For so many outputs. Each needs a descriptor, of which the system gives a process more than it has at first, if it is asked.
    pub(crate) fn of(outputs: usize) -> Opening {
        allow(outputs as u64 + OTHER_FILES);
        Opening { outputs: Vec::with_capacity(outputs) }
    }

    /// Opens one more, or makes it. What is in it stays.
    pub(super) fn open(&mut self, path: &Path) -> Result<Patient, Failure> {
        let unwritable = |error: io::Error| unwritable::capture(path, &error);
        let (file, is_new) = open_or_make(path).map_err(unwritable)?;
        let made = is_new.then(|| FileIdentity::of_open(&file)).flatten();
        self.outputs.push(Output { path: path.to_owned(), made });
        lock(&file).map_err(unwritable)?;
        Ok(Patient::of(file))
    }

    /// A writer of packets to a file, compressed where its name says so, or to standard output.
    pub(crate) fn capture(&mut self, path: &Path) -> Result<Writer<Patient>, Failure> {
        if is_stdout(path) {
            return stdout().map(|stdout| stdout.writer(STDOUT));
        }
        let file = self.open(path)?;
        Ok(file.writer(&path.to_string_lossy()).compressed(NameHint::of(path).compression))
    }

    /// The run begins: what was made stays.
    pub(crate) fn keep(mut self) {
        self.outputs.clear();
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.outputs.iter().for_each(Output::unmake);
    }
}

impl Output {
    /// Removes a file that was made, if it is still what has its name. Where that fails, an empty file is left.
    fn unmake(&self) {
        // A link that led to nothing stays, and leads to nothing again.
        let place = capture::place_of(&self.path);
        if self.made.is_some() && FileIdentity::of(&place) == self.made {
            let _ = std::fs::remove_file(place);
        }
    }
}

/// Lets this process open so many files, as far as the system does. Where it does not, a file that cannot be opened says why.
fn allow(needed: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < needed) {
        let current = Some(maximum.map_or(needed, |most| most.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
}

/// Lets this process have so many inputs open at once, beside this many outputs.
pub(super) fn allow_inputs(inputs: usize, outputs: usize) -> Result<(), Failure> {
    let needed = inputs as u64 + outputs as u64 + OTHER_FILES;
    allow(needed);
    match getrlimit(Resource::Nofile).current {
        Some(current) if current < needed => Err(Failure::world(format_args!(
            "`--merge` opens {inputs} captures at once, and this process may open {current} files"
        ))
        .help("let it open more, `ulimit -Hn 100000` as root, or merge some into one capture first")),
        _ => Ok(()),
    }
}

/// Whether an output has one of the names of standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    STDOUT_NAMES.iter().any(|name| path.as_os_str() == *name)
}

/// Standard output.
pub(super) fn stdout() -> Result<Patient, Failure> {
    Patient::stdout().map_err(|error| Failure::writing(STDOUT, &error))
}

/// Takes everything out of an output that is a file. Of FIFOs and devices nothing can be taken, nor need it be, and what is in standard output
/// stays.
pub(crate) fn empty(writer: &mut Writer<Patient>, path: &Path) -> Result<(), Failure> {
    if is_stdout(path) {
        return Ok(());
    }
    let file = writer.sink_mut().file_mut();
    let emptied =
        file.metadata().and_then(|metadata| if metadata.is_file() { file.set_len(0) } else { Ok(()) });
    emptied.map_err(|error| unwritable::capture(path, &error))
}

/// Sees to it that nobody else writes to a file, as `pcap_writer` does, where the file system knows locks.
fn lock(file: &File) -> io::Result<()> {
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    match is_file.then(|| file.try_lock()) {
        Some(Err(TryLockError::WouldBlock)) => {
            Err(io::Error::new(ErrorKind::ResourceBusy, "another process is writing to it"))
        }
        _ => Ok(()),
    }
}

/// The file, and whether it is new. What is there is opened as it is: a file with all that it holds, a FIFO, a device.
fn open_or_make(path: &Path) -> io::Result<(File, bool)> {
    let mut options = File::options();
    options.write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made.map(|file| (file, true)),
    }
    match options.open(path) {
        // A link that leads to what is not there is in the way of a new file by its name: the file is made where it leads.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            options.create(true).truncate(false).open(path).map(|file| (file, true))
        }
        there => there.map(|file| (file, false)),
    }
}
