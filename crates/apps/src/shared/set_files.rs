//! Files of sets that filters name, so that a graph which is loaded again brings what is in them by then.
//!
//! Options are equal if what they name is: a filter whose text is the same, and whose files were changed meanwhile, is another filter. The files are
//! looked at when options are first checked, and again when a graph is loaded.

use crate::shared::set_changes;
use classify::lists::file_of;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

/// How the files looked that texts name.
#[derive(Clone, Default)]
pub(crate) struct SetFiles(Arc<OnceLock<Vec<Seen>>>);

/// One file: its path, and how it looked, unless there is none. An editor changes the time, or puts another file in its place. And how often
/// the set was changed by other means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    path: String,
    looks: Option<[u64; 4]>,
    changes: u64,
}

impl SetFiles {
    /// Looks at the files that these texts name, unless that was done.
    pub(crate) fn seen<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> &[Seen] {
        self.seen_with(texts, None)
    }

    /// Looks at the files that these texts name, and at one of this path, whatever characters that has, unless that was done.
    pub(crate) fn seen_with<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
        file: Option<&'t str>,
    ) -> &[Seen] {
        self.0.get_or_init(|| texts.into_iter().flat_map(paths).chain(file).map(Seen::of).collect())
    }
}

impl fmt::Debug for SetFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetFiles")
    }
}

impl Seen {
    fn of(path: &str) -> Seen {
        let looks = std::fs::metadata(file_of(path))
            .ok()
            .map(|file| [file.ino(), file.len(), file.mtime() as u64, file.mtime_nsec() as u64]);
        Seen { path: path.to_owned(), looks, changes: set_changes::version(path) }
    }
}

/// What stands behind each `@`. What is no file after all has no looks.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('@').skip(1).map(|rest| rest.split([' ', '\t', '\r', '\n', ',', '}']).next().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn files_are_named_behind_an_at_sign() {
        let text = "host in {@a.txt, 1.2.3.4,@/b/c} or (src, dport) in { @d }";
        assert_eq!(paths(text).collect::<Vec<_>>(), ["a.txt", "/b/c", "d"]);
    }
}
