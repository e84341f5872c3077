//! Places of files: where one is or would be created, and what is in the way there.

use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where a file is or would be created: symbolic links are followed, also one that leads to what is not there yet, and the folder has
/// its one true name, if it is there.
///
/// ```
/// assert_eq!(capture::place_of("src/../none.pcap"), capture::place_of("./none.pcap"));
/// assert_ne!(capture::place_of("src/none.pcap"), capture::place_of("none.pcap"));
/// ```
#[must_use]
pub fn place_of(path: impl AsRef<Path>) -> PathBuf {
    // As many as Linux follows.
    const LINKS_MAX: usize = 40;
    let mut path = path.as_ref().to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    let folder = std::fs::canonicalize(folder_of(&path));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The regular file that a path leads to, whatever it is called: two paths lead to one file where these are equal.
///
/// ```
/// use capture::FileIdentity;
///
/// assert_eq!(FileIdentity::of("Cargo.toml"), FileIdentity::of("src/../Cargo.toml"));
/// assert_eq!(FileIdentity::of("src"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity(Identity);

/// Device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// The one true path.
#[cfg(not(unix))]
type Identity = PathBuf;

impl FileIdentity {
    /// That of a path; `None` if no regular file is there.
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        #[cfg(unix)]
        let identity = path.as_ref().metadata().ok().and_then(identity);
        #[cfg(not(unix))]
        let identity = path.as_ref().canonicalize().ok().filter(|path| path.is_file());
        identity.map(FileIdentity)
    }

    /// That of an open file, as far as the system tells.
    #[must_use]
    #[cfg_attr(not(unix), allow(unused_variables))]
    pub fn of_open(file: &File) -> Option<Self> {
        #[cfg(unix)]
        return file.metadata().ok().and_then(identity).map(FileIdentity);
        #[cfg(not(unix))]
        None
    }

    /// That of standard input, as far as the system tells.
    #[must_use]
    pub fn of_stdin() -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
            FileIdentity::of_open(&File::from(stdin))
        }
        #[cfg(not(unix))]
        None
    }
}

#[cfg(unix)]
fn identity(metadata: std::fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Why there can be no file in a folder: it is none. Printed, it is a sentence without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFolder {
    /// It is not there.
    Absent(PathBuf),
    /// This, the folder itself or something on the way to it, is there and no folder.
    NotAFolder(PathBuf),
}

impl NoFolder {
    /// Of a file that is to be created or opened: what its folder lacks, if anything. A link leads to a place elsewhere.
    #[must_use]
    pub fn around(file: &Path) -> Option<Self> {
        let place = if file.is_symlink() { place_of(file) } else { file.to_owned() };
        NoFolder::at(folder_of(&place))
    }

    /// What a folder lacks to be one, if anything. One that may not be looked into is taken to be there.
    #[must_use]
    pub fn at(folder: &Path) -> Option<Self> {
        let mut way = folder.ancestors().filter(|part| !part.as_os_str().is_empty());
        match way.find_map(|part| part.metadata().ok().map(|metadata| (part, metadata.is_dir()))) {
            Some((part, false)) => Some(NoFolder::NotAFolder(part.to_owned())),
            Some((part, true)) if part == folder => None,
            _ => {
                let is_absent = folder.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
                is_absent.then(|| NoFolder::Absent(folder.to_owned()))
            }
        }
    }
}

impl fmt::Display for NoFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFolder::Absent(folder) => write!(f, "there is no folder {}", folder.display()),
            NoFolder::NotAFolder(file) => write!(f, "{} is not a folder", file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_of_a_file_is_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (file, told) in [
            ("Cargo.toml", None),
            ("src/none.pcap", None),
            ("none/x.pcap", Some("there is no folder none")),
            ("none/below/x.pcap", Some("there is no folder none/below")),
            ("Cargo.toml/x.pcap", Some("Cargo.toml is not a folder")),
            ("Cargo.toml/below/x.pcap", Some("Cargo.toml is not a folder")),
        ] {
            let sentence = NoFolder::around(&here.join(file)).map(|lacking| lacking.to_string());
            let sentence = sentence.map(|text| text.replace(&format!("{}/", here.display()), ""));
            assert_eq!(sentence.as_deref(), told, "{file}");
        }
        assert_eq!((NoFolder::at(Path::new(".")), NoFolder::around(Path::new("x.pcap"))), (None, None));
    }
}
