//! Where the files of counters are: one folder a user, found alike by those who write and those who read.
//!
//! ```text
//! $SLUSS_RUNTIME_DIR            if set, and nothing else
//! $XDG_RUNTIME_DIR/sluss        if set
//! /run/sluss                    if we may write there
//! /tmp/sluss-UID                mode 0700, and ours
//! ```
//!
//! A file is called `NAME.PID.counters`.

use rustix::fs::{Access, access};
use rustix::process::geteuid;
use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The end of the files' names.
pub const SUFFIX: &str = ".counters";

/// The folder that is to hold our file; it is made if it is not there.
///
/// # Errors
/// When there is none that can be written to, or the one in `/tmp` is somebody else's.
pub fn folder() -> io::Result<PathBuf> {
    if let Some(folder) = variable("SLUSS_RUNTIME_DIR") {
        let made = make(&folder).map_err(|error| {
            about(
                &folder,
                &format!("{error}; SLUSS_RUNTIME_DIR must name a folder, or a new one in one that exists"),
            )
        });
        return made.map(|()| folder);
    }
    let usable = candidates().into_iter().find(|folder| make(folder).is_ok() && is_writable(folder));
    match usable {
        Some(folder) => Ok(folder),
        None => {
            let folder = last_resort();
            let made = own_folder(&folder).map_err(|error| about(&folder, &error));
            made.map(|()| folder)
        }
    }
}

/// The folders in which files may be, those of other users that we can see included. They need not exist.
pub fn folders() -> Vec<PathBuf> {
    match variable("SLUSS_RUNTIME_DIR") {
        Some(folder) => vec![folder],
        None => candidates().into_iter().chain([last_resort()]).collect(),
    }
}

/// Whether files in a folder are of those whose it is to put them there: not so in one in `/tmp` that somebody else made.
///
/// # Errors
/// When they are not, or it does not exist.
pub fn check(folder: &Path) -> io::Result<()> {
    if folder == last_resort() { check_own(folder) } else { Ok(()) }
}

/// The name of the file of an instance.
pub fn file_name(name: &str, pid: u32) -> String {
    format!("{name}.{pid}{SUFFIX}")
}

/// The name and process that the name of a file tells; `None` if it is none of ours.
pub fn parse_file_name(file: &str) -> Option<(&str, u32)> {
    let (name, pid) = file.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    Some((name, pid.parse().ok()?))
}

/// Whether `name` can be the name of an instance: 1 to 64 letters, digits, and `-`, `_`, `.` other than in front.
pub fn is_instance_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(good) && !name.starts_with(['-', '.'])
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn candidates() -> Vec<PathBuf> {
    let user = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("sluss"));
    user.into_iter().chain([PathBuf::from("/run/sluss")]).collect()
}

fn last_resort() -> PathBuf {
    PathBuf::from(format!("/tmp/sluss-{}", geteuid().as_raw()))
}

fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match folder.is_dir() {
            true => Ok(()),
            false => Err(io::ErrorKind::NotADirectory.into()),
        },
        other => other,
    }
}

fn is_writable(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// A folder where anybody may have put one before us: it must be ours alone, and no link to another.
fn own_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => check_own(folder),
    }
}

fn check_own(folder: &Path) -> io::Result<()> {
    if is_ours_alone(&std::fs::symlink_metadata(folder)?) {
        return Ok(());
    }
    let message =
        "not a folder of ours alone: remove it, make it ours with mode 0700, or set SLUSS_RUNTIME_DIR";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// The error, with the folder that it is about.
fn about(folder: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", folder.display()))
}

fn is_ours_alone(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_tell_what_they_were_made_of() {
        assert_eq!(parse_file_name(&file_name("net.v2", 42)), Some(("net.v2", 42)));
        for other in ["net.counters", "net.x.counters", "net.42", ".counters", "net.-1.counters"] {
            assert_eq!(parse_file_name(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_instances_stay_in_their_folder() {
        assert!(["a", "net-1.v2_x"].iter().all(|name| is_instance_name(name)));
        assert!(
            ["", ".", "..", "../a", "a/b", "-a", "a b", &"a".repeat(65)]
                .iter()
                .all(|name| !is_instance_name(name))
        );
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let base = std::env::temp_dir().join(format!("sluss-runtime-test-{}", std::process::id()));
        std::fs::create_dir_all(&base).unwrap();
        let own = base.join("own");
        own_folder(&own).unwrap();
        own_folder(&own).unwrap();
        let link = base.join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(own_folder(&link).is_err());
        std::os::unix::fs::symlink(base.join("nothing"), base.join("dangling")).unwrap();
        assert!(own_folder(&base.join("dangling")).is_err());
        DirBuilder::new().mode(0o755).create(base.join("open")).unwrap();
        assert!(own_folder(&base.join("open")).is_err());
        std::fs::remove_dir_all(&base).unwrap();
    }
}
