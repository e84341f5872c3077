//! Files that cannot be made: what is in the way, and what to do about it.

use crate::exit::Failure;
use crate::words::file_word;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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

/// The failure to write into a folder.
pub(crate) fn folder(path: &Path, what: &str, error: &io::Error) -> Failure {
    let failed =
        |why: String| Failure::world(format_args!("cannot write {what} to {}: {why}", path.display()));
    match lacking(path) {
        Some(Lacking::Folder) => failed(no_folder(path)).help(to_make(path)),
        Some(Lacking::IsFile(file)) => failed(no_folder_but_file(&file)).help("name a folder"),
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
    // A link may lead to a place elsewhere.
    let place = if path.is_symlink() { capture::place_of(path) } else { path.to_owned() };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match lacking(folder) {
        Some(Lacking::Folder) => Some((no_folder(folder), to_make(folder))),
        Some(Lacking::IsFile(file)) => {
            Some((no_folder_but_file(&file), "name a file in a folder".to_owned()))
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

/// What a folder lacks to be one.
enum Lacking {
    /// It is not there.
    Folder,
    /// This, itself or on the way to it, is something else.
    IsFile(PathBuf),
}

fn lacking(folder: &Path) -> Option<Lacking> {
    let mut way = folder.ancestors().filter(|part| !part.as_os_str().is_empty());
    match way.find_map(|part| part.metadata().ok().map(|metadata| (part, metadata.is_dir()))) {
        Some((part, false)) => Some(Lacking::IsFile(part.to_owned())),
        Some((part, true)) if part == folder => None,
        // What may not be looked into may be there.
        _ if folder.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) => {
            Some(Lacking::Folder)
        }
        _ => None,
    }
}

fn no_folder(folder: &Path) -> String {
    format!("there is no folder {}", folder.display())
}

fn no_folder_but_file(file: &Path) -> String {
    format!("{} is not a folder", file.display())
}

fn to_make(folder: &Path) -> String {
    format!("make it first: mkdir -p {}", file_word(folder))
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}
