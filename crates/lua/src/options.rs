//! What a state depends on.

use std::path::PathBuf;

/// How a state begins.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A folder with Snabb's sources, whose modules are used beside our `core`.
    pub snabb: Option<PathBuf>,
    /// Patterns for Lua files, as `package.path` has them, in front of those of the folder that the program is in.
    pub path: Option<String>,
    /// The arguments of the process, as a program reads them: the first is its name.
    pub arguments: Vec<String>,
    /// The folder of shared memory; else that of `SNABB_SHM_ROOT`, or the usual one.
    pub shm_root: Option<PathBuf>,
    /// The classes of native apps that programs can use.
    pub registry: engine::Registry,
}

/// What becomes of the coach's findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coach {
    /// Whether they are printed as JSON, an object a line; else in words.
    pub json: bool,
    /// A file for the program's source with each line's share of the time and what was found there, as a page of HTML.
    pub page: Option<PathBuf>,
}
