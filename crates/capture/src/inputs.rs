//! The inputs that words on a command line mean: files, folders, patterns, standard input.
//!
//! * `-` is standard input;
//! * a folder is every capture below it, in the order of their names, in which numbers count as numbers (`x2` before `x10`); hidden files and everything that is not a regular file are
//!   passed over, and files that are not captures are named in [`Expansion::left_out`];
//! * folders below that cannot be read are passed over and named in [`Expansion::unread`], also where a pattern looks into them;
//! * a word with `*`, `?` or `[…]` that is not itself a file is a pattern for one path, matched segment by
//!   segment, in the same order of the names; shells usually do this before us. The segment `**` stands for folders at any depth, or none:
//!   `**/*.pcap`.

mod glob;
mod natural;

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, NoFiles};
use crate::growth::BeforeGrowing;
use crate::place::FileIdentity;
use crate::reader::Reader;

/// One input, not yet opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Opens it.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open(&self) -> Result<Reader, Error> {
        self.open_if_there(|path| Reader::open(path))
    }

    /// Opens it; a file calls `before_growing` before it takes more memory than most files need.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_asking(&self, before_growing: BeforeGrowing) -> Result<Reader, Error> {
        self.open_if_there(|path| Reader::open_asking(path, before_growing))
    }

    fn open_if_there(&self, open: impl FnOnce(&Path) -> Result<Reader, Error>) -> Result<Reader, Error> {
        match self {
            Input::Stdin => Reader::stdin(),
            Input::File(path) if path.is_dir() => Err(error(path, ErrorKind::NoFiles(NoFiles::Folder))),
            Input::File(path) if glob::is_pattern(path) && !path.exists() => {
                Err(error(path, ErrorKind::NoFiles(NoFiles::Pattern)))
            }
            Input::File(path) => open(path),
        }
    }

    /// Whether creating `output` would empty this input: the same file by name, link or mount.
    #[must_use]
    pub fn is_same_file(&self, output: &Path) -> bool {
        self.identity().is_some_and(|identity| FileIdentity::of(output) == Some(identity))
    }

    /// The regular file that it is, whatever it is called; `None` if it is none.
    #[must_use]
    pub fn identity(&self) -> Option<FileIdentity> {
        match self {
            Input::Stdin => FileIdentity::of_stdin(),
            Input::File(path) => FileIdentity::of(path),
        }
    }
}

/// What words on a command line stand for.
#[derive(Debug, Default)]
pub struct Expansion {
    /// The inputs, in order.
    pub inputs: Vec<Input>,
    /// Files in folders that are not captures.
    pub left_out: Vec<PathBuf>,
    /// Folders that could not be read, of which [`Error::path`] is the name: captures may be missing among the inputs.
    pub unread: Vec<Error>,
}

/// Finds the inputs that these words stand for, in order.
///
/// ```
/// use capture::{Input, expand};
///
/// // Plain names are not looked at before they are opened; folders and patterns are.
/// let inputs = expand(["a.pcap", "-"])?.inputs;
/// assert_eq!(inputs, [Input::File("a.pcap".into()), Input::Stdin]);
/// # Ok::<(), capture::Error>(())
/// ```
///
/// # Errors
/// If no word stands for anything, although all that they name could be read. A plain name is not looked at: it fails when it is
/// opened, as does a folder or a pattern that stands for nothing beside others that do not.
pub fn expand<W: AsRef<Path>>(words: impl IntoIterator<Item = W>) -> Result<Expansion, Error> {
    let Expansion { mut inputs, mut left_out, mut unread } = Expansion::default();
    let mut empty = Vec::new();
    for word in words {
        let word = word.as_ref();
        if word == Path::new("-") {
            inputs.push(Input::Stdin);
            continue;
        }
        let known = unread.len();
        let paths = if word.exists() || !glob::is_pattern(word) {
            vec![word.to_owned()]
        } else {
            glob::matches(word, &mut unread)
        };
        // Where something could not be read, nobody knows whether there is anything.
        if paths.is_empty() && unread.len() == known {
            empty.push(error(word, ErrorKind::NoFiles(NoFiles::Pattern)));
            inputs.push(Input::File(word.to_owned()));
        }
        for path in paths {
            if path.is_dir() {
                let known = unread.len();
                let below = captures_below(&path, &mut left_out, &mut unread);
                if below.is_empty() && unread.len() == known {
                    empty.push(error(&path, ErrorKind::NoFiles(NoFiles::Folder)));
                    inputs.push(Input::File(path));
                }
                inputs.extend(below);
            } else {
                inputs.push(Input::File(path));
            }
        }
    }
    // A pattern may come by a folder several times, and look for what would be in one that cannot be read.
    let folders: HashSet<PathBuf> =
        unread.iter().filter_map(|error| Some(error.path()?.to_owned())).collect();
    let mut known = HashSet::new();
    unread.retain(|error| {
        let is_below = error.path().and_then(Path::parent).is_some_and(|folder| folders.contains(folder));
        !is_below && known.insert(error.path().map(Path::to_owned))
    });
    if inputs.len() == empty.len()
        && unread.is_empty()
        && let Some(error) = empty.into_iter().next()
    {
        return Err(error);
    }
    Ok(Expansion { inputs, left_out, unread })
}

/// Every capture below a folder, in the order of the names; notes the files that are none, and what cannot be read.
fn captures_below(folder: &Path, left_out: &mut Vec<PathBuf>, unread: &mut Vec<Error>) -> Vec<Input> {
    let mut found = Vec::new();
    // Paths still to visit, the next one last; folders of any depth cost no stack.
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let mut below = visible_entries(&path, unread);
                below.sort_unstable_by(|a, b| natural::order(b, a));
                pending.append(&mut below);
            }
            Ok(metadata) if metadata.is_file() => match Content::of(&path) {
                Content::Capture => found.push(Input::File(path)),
                Content::Other => left_out.push(path),
            },
            Ok(_) => {}
            Err(why) => note_unread(&path, why, unread),
        }
    }
    found
}

/// The entries whose names do not start with a dot. Links to folders are left out: they can form a ring.
fn visible_entries(folder: &Path, unread: &mut Vec<Error>) -> Vec<PathBuf> {
    let is_visible = |entry: &DirEntry| {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        !(is_hidden || is_link && entry.path().is_dir())
    };
    entries_of(folder, unread).into_iter().filter(is_visible).map(|entry| entry.path()).collect()
}

/// All entries of a folder, as far as it can be read. What is no folder has none.
fn entries_of(folder: &Path, unread: &mut Vec<Error>) -> Vec<DirEntry> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(why) => {
            note_unread(folder, why, unread);
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    for entry in listing {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(why) => note_unread(folder, why, unread),
        }
    }
    entries
}

/// Notes what is there and cannot be looked at. A link that leads nowhere, or in a ring, is not.
fn note_unread(path: &Path, why: io::Error, unread: &mut Vec<Error>) {
    let is_absent = matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    if !is_absent && !is_ring(&why) {
        unread.push(error(path, ErrorKind::Open(why)));
    }
}

#[cfg(unix)]
fn is_ring(why: &io::Error) -> bool {
    why.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_ring(_: &io::Error) -> bool {
    false
}

/// What a file in a folder is, by its first bytes.
enum Content {
    /// A capture, perhaps a damaged one, or one in a format that is known but not read; or it cannot be opened. Each is reported when
    /// its turn comes: what would be missing from the result is not passed over.
    Capture,
    /// Nothing that belongs here.
    Other,
}

impl Content {
    fn of(path: &Path) -> Content {
        match Reader::open(path).map_err(|error| error.is_other_content()) {
            Err(true) => Content::Other,
            Ok(_) | Err(false) => Content::Capture,
        }
    }
}

fn error(path: &Path, kind: ErrorKind) -> Error {
    Error::new(kind).of_file(path)
}
