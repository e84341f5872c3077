//! Files for output, opened before it is known whether all that a run needs can be opened: what they hold is there until it is.

use crate::exit::Failure;
use crate::reader::Patient;
use crate::unwritable;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The outputs of a run that begins. If it does not, they stay as they were: those that were made for it go, the others keep what they hold.
#[derive(Default)]
pub(super) struct Opening {
    outputs: Vec<Output>,
}

struct Output {
    path: PathBuf,
    file: File,
    /// Whether it was not there before.
    is_new: bool,
}

impl Opening {
    /// Opens one more, or makes it.
    pub(super) fn open(&mut self, path: &Path) -> Result<Patient, Failure> {
        let unwritable = |error: io::Error| unwritable::capture(path, &error);
        let (file, is_new) = open_or_make(path).map_err(unwritable)?;
        let patient = Patient::of(&file);
        self.outputs.push(Output { path: path.to_owned(), file, is_new });
        patient.map_err(unwritable)
    }

    /// Takes everything out of those that are files: all that the run needs is there.
    pub(super) fn empty(mut self) -> Result<(), Failure> {
        let old = self.outputs.iter().filter(|output| !output.is_new);
        for Output { path, file, .. } in old {
            empty(file).map_err(|error| unwritable::capture(path, &error))?;
        }
        self.outputs.clear();
        Ok(())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        for output in self.outputs.iter().filter(|output| output.is_new) {
            output.unmake();
        }
    }
}

impl Output {
    /// Removes the file, if it is still what has its name. Where that fails, an empty file is left.
    fn unmake(&self) {
        // A link that led to nothing stays, and leads to nothing again.
        let place = capture::place_of(&self.path);
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let made = self.file.metadata().map(identity).ok();
        if made.is_some() && place.symlink_metadata().map(identity).ok() == made {
            let _ = std::fs::remove_file(place);
        }
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

/// Of FIFOs and devices nothing can be taken, nor need it be.
fn empty(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}
