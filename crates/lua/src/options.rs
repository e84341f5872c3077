//! What a state depends on.

use std::path::PathBuf;
use std::time::Duration;

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
    /// Packets that there can be, in links and in hand: a million, or what this or the sandbox says if that is fewer.
    pub packets: Option<usize>,
    /// What the code may do, if it is not trusted.
    pub sandbox: Option<Sandbox>,
    /// When apps that failed are started again; without it, the first failure ends the program, as with Snabb.
    pub restarts: Option<Restarts>,
}

/// What code that is not trusted may take and touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Bytes of memory for its values.
    pub memory_bytes: usize,
    /// CPU time of one turn: of the program before it breathes, or of a method of an app.
    pub turn: Duration,
    /// Packets that it has in links and in hand.
    pub packets: usize,
    /// Captures that it may read.
    pub read: Vec<PathBuf>,
    /// Captures that it may write.
    pub write: Vec<PathBuf>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Sandbox {
            memory_bytes: 64_000_000,
            turn: Duration::from_secs(1),
            packets: 16 * 1024,
            read: Vec::new(),
            write: Vec::new(),
        }
    }
}

/// How long an app that failed is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// The first time.
    pub first: Duration,
    /// At most, after doubling with each failure.
    pub max: Duration,
}

/// What becomes of the coach's findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coach {
    /// Whether they are printed as JSON, an object a line; else in words.
    pub json: bool,
    /// A file for the program's source with each line's share of the time and what was found there, as a page of HTML.
    pub page: Option<PathBuf>,
}
