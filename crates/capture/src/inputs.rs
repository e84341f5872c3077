//! The inputs that words on a command line mean: files, folders, patterns, standard input.
//!
//! * `-` is standard input;
//! * a folder is every capture below it, in the order of their names; hidden files and everything that is not a regular file are
//!   passed over, and files that are not captures are named in [`Expansion::left_out`];
//! * a word with `*`, `?` or `[…]` that is not itself a file is a pattern for one path, matched segment by
//!   segment, in the order of the names; shells usually do this before us. The segment `**` stands for folders at any depth, or none:
//!   `**/*.pcap`.

mod glob;

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, NoFiles};
use crate::growth::BeforeGrowing;
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
        match self {
            Input::Stdin => is_stdin(output),
            Input::File(path) => is_same_file(path, output),
        }
    }
}

/// What words on a command line stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The inputs, in order.
    pub inputs: Vec<Input>,
    /// Files in folders that are not captures.
    pub left_out: Vec<PathBuf>,
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
/// If a folder cannot be read, or no word stands for anything. A plain name is not looked at: it fails when it is
/// opened, as does a folder or a pattern that stands for nothing beside others that do not.
pub fn expand<W: AsRef<Path>>(words: impl IntoIterator<Item = W>) -> Result<Expansion, Error> {
    let Expansion { mut inputs, mut left_out } = Expansion::default();
    let mut empty = Vec::new();
    for word in words {
        let word = word.as_ref();
        if word == Path::new("-") {
            inputs.push(Input::Stdin);
            continue;
        }
        let paths = if word.exists() || !glob::is_pattern(word) {
            vec![word.to_owned()]
        } else {
            glob::matches(word)
        };
        if paths.is_empty() {
            empty.push(error(word, ErrorKind::NoFiles(NoFiles::Pattern)));
            inputs.push(Input::File(word.to_owned()));
        }
        for path in paths {
            if path.is_dir() {
                let below = captures_below(&path, &mut left_out)?;
                if below.is_empty() {
                    empty.push(error(&path, ErrorKind::NoFiles(NoFiles::Folder)));
                    inputs.push(Input::File(path));
                }
                inputs.extend(below);
            } else {
                inputs.push(Input::File(path));
            }
        }
    }
    if inputs.len() == empty.len()
        && let Some(error) = empty.into_iter().next()
    {
        return Err(error);
    }
    Ok(Expansion { inputs, left_out })
}

/// Every capture below a folder, in the order of the names; notes the files that are none.
fn captures_below(folder: &Path, left_out: &mut Vec<PathBuf>) -> Result<Vec<Input>, Error> {
    let mut found = Vec::new();
    // Paths still to visit, the next one last; folders of any depth cost no stack.
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let mut below = visible_entries(&path).map_err(|e| error(&path, ErrorKind::Open(e)))?;
            below.sort_unstable_by(|a, b| b.cmp(a));
            pending.append(&mut below);
        } else if path.is_file() {
            match Content::of(&path) {
                Content::Capture => found.push(Input::File(path)),
                Content::Other => left_out.push(path),
            }
        }
    }
    Ok(found)
}

/// The entries whose names do not start with a dot. Links to folders are left out: they can form a ring.
fn visible_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_folder_link = entry.file_type()?.is_symlink() && entry.path().is_dir();
        if !is_hidden && !is_folder_link {
            entries.push(entry.path());
        }
    }
    Ok(entries)
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

#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity =
        |path: &Path| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| (m.dev(), m.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

#[cfg(unix)]
fn is_stdin(output: &Path) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let stdin = io::stdin().as_fd().try_clone_to_owned().and_then(|fd| std::fs::File::from(fd).metadata());
    let identity = |m: std::fs::Metadata| m.is_file().then(|| (m.dev(), m.ino()));
    let stdin = stdin.ok().and_then(identity);
    stdin.is_some() && stdin == std::fs::metadata(output).ok().and_then(identity)
}

#[cfg(not(unix))]
fn is_stdin(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| std::fs::canonicalize(path).ok();
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

fn error(path: &Path, kind: ErrorKind) -> Error {
    Error::new(kind).of_file(path)
}
