//! Files that cannot be made: what is in the way, and what to do about it.

use crate::exit::Failure;
use crate::words::file_word;
use capture::NoFolder;
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What to do where what ought to be a folder is a file.
const OTHER_FILE: &str = "name a file in a folder";

/// The failure to make a file for a capture.
pub(crate) fn capture(path: &Path, error: &io::Error) -> Failure {
    let name = path.to_string_lossy();
    let why = why(path, error);
    let told = why.as_ref().map_or_else(|| error.to_string(), |(why, _)| why.clone());
    let failure = Failure::world(format_args!("{name}: cannot write: {told}")).about_file(&name);
    match why {
        Some((_, help)) => failure.help(help),
        None => failure,
    }
}

/// The failure to write a file, with what is to be done about its folder, if that is none.
pub(crate) fn with_help(failure: Failure, path: &Path) -> Failure {
    match NoFolder::around(path) {
        Some(lacking) => failure.help(in_place_of(&lacking)),
        None => failure,
    }
}

/// The failure to write into a folder.
pub(crate) fn folder(path: &Path, what: &str, error: &io::Error) -> Failure {
    let failed =
        |why: String| Failure::world(format_args!("cannot write {what} to {}: {why}", path.display()));
    match NoFolder::at(path) {
        Some(lacking) => failed(lacking.to_string()).help(to_make_or(&lacking, "name a folder")),
        None if is_refused(error) => failed(error.to_string()).help("name a folder that you may write to"),
        None => failed(error.to_string()),
    }
}

/// What is in the way, and what to do; nothing where the system's own words say it.
fn why(path: &Path, error: &io::Error) -> Option<(String, String)> {
    if ends_with_slash(path) || path.is_dir() {
        let file = path.join("out.pcap");
        return Some(("it names a folder".to_owned(), format!("name a file in it: {}", file_word(file))));
    }
    match NoFolder::around(path) {
        Some(lacking) => Some((lacking.to_string(), in_place_of(&lacking))),
        None if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            Some((error.to_string(), "let a process open more: `ulimit -Hn 100000`, as root".to_owned()))
        }
        None if is_refused(error) => {
            Some((error.to_string(), "name a file in a folder that you may write to".to_owned()))
        }
        None => None,
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// What to do where there is no folder for a file.
pub(crate) fn in_place_of(lacking: &NoFolder) -> String {
    to_make_or(lacking, OTHER_FILE)
}

fn to_make_or(lacking: &NoFolder, other: &str) -> String {
    match lacking {
        NoFolder::Absent(folder) => format!("make it first: mkdir -p {}", file_word(folder)),
        NoFolder::NotAFolder(_) => other.to_owned(),
    }
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}
