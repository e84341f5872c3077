//! Where captures are read and written: nothing that is read is lost, and nothing is written over.

use crate::exit::Failure;
use crate::words;
use capture::{FileIdentity, Input};
use std::collections::HashSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What is appended to an input is read again, without end.
pub(crate) fn refuse_to_append(inputs: &[Input]) -> Result<(), Failure> {
    if let Some(input) = inputs.iter().find(|input| input.is_same_file(Path::new(STDOUT))) {
        let name = match input {
            Input::File(path) => format!("the input {}", path.display()),
            _ => "what is read from standard input".to_owned(),
        };
        return Err(Failure::lost_input(format_args!("standard output is {name}")));
    }
    Ok(())
}

/// An output that is also an input would be emptied before it is read, and two filters that write to one file would
/// write over each other: `twice` says so of that file.
pub(crate) fn refuse_to_lose(
    outputs: &[&Path],
    inputs: &[Input],
    twice: impl FnOnce(&Path) -> Failure,
) -> Result<(), Failure> {
    let read: HashSet<FileIdentity> = inputs.iter().filter_map(Input::identity).collect();
    let stdout = identity(Path::new(STDOUT));
    let mut places = HashSet::new();
    for output in outputs {
        if FileIdentity::of(output).is_some_and(|file| read.contains(&file)) {
            return Err(is_both(output));
        }
        let is_taken =
            places_of(output, stdout).into_iter().fold(false, |is, place| is | !places.insert(place));
        if is_taken {
            return Err(twice(output));
        }
    }
    Ok(())
}

/// The same of one output.
pub(crate) fn refuse_to_empty(output: &Path, inputs: &[Input]) -> Result<(), Failure> {
    if inputs.iter().any(|input| input.is_same_file(output)) { Err(is_both(output)) } else { Ok(()) }
}

fn is_both(output: &Path) -> Failure {
    Failure::lost_input(format_args!("{} is both input and output", output.display()))
}

/// Two filters write to one file.
pub(super) fn of_two_filters(output: &Path) -> Failure {
    let name = output.display();
    Failure::user(format_args!("{name} is the output of two filters: each would write over the other"))
        .help("give each filter a file of its own, or join the filters by `or`")
}

/// Whether what is written there comes out of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
        || !is_device(path) && identity(path).is_some_and(|is| identity(Path::new(STDOUT)) == Some(is))
}

/// The file that standard output is, where its name is that of a capture: `> out.pcap`.
pub(super) fn capture_on_stdout() -> Option<PathBuf> {
    let is_file = std::fs::metadata(STDOUT).is_ok_and(|metadata| metadata.is_file());
    let path = is_file.then(|| std::fs::read_link("/proc/self/fd/1").ok()).flatten()?;
    words::is_called_capture(path.as_os_str()).then_some(path)
}

const STDOUT: &str = "/dev/stdout";

/// Device and inode.
type Identity = (u64, u64);

/// Where captures would be mixed up if both were written there.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    Stdout,
    /// The name under which a file is made, or is there.
    Path(PathBuf),
    /// A file or pipe that is there, whatever it is called.
    There(Identity),
}

/// The places that an output takes. Devices such as /dev/null take none.
fn places_of(output: &Path, stdout: Option<Identity>) -> Vec<Place> {
    let there = identity(output);
    if output.as_os_str() == "-" {
        return vec![Place::Stdout];
    }
    if is_device(output) {
        return Vec::new();
    }
    if there.is_some() && there == stdout {
        return vec![Place::Stdout];
    }
    let path = Place::Path(capture::place_of(output));
    there.map(Place::There).into_iter().chain([path]).collect()
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device())
}

/// What is there: a file, pipe or device.
fn identity(path: &Path) -> Option<Identity> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
