//! What goes wrong in a Lua program.

use std::fmt;

/// Why a program ended, or did not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// LuaJIT has no memory for a state.
    #[error("LuaJIT finds no memory for a new state")]
    NoState,
    /// The system refused what the engine needs.
    #[error("{what}: {source}")]
    System {
        /// The thing that was refused.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not Lua.
    #[error("{0}")]
    Syntax(String),
    /// The program raised an error.
    #[error("{0}")]
    Raised(Failure),
    /// Apps of the program have failed, each of which was told on standard error as it happened.
    #[error("{0} failures of apps were told")]
    Apps(u64),
    /// Native apps failed in their work, such as reading a damaged capture: their names and reports.
    #[error("native apps failed: {}", .0.iter().map(|(app, why)| format!("`{app}`: {why}")).collect::<Vec<_>>().join("; "))]
    Natives(Vec<(String, String)>),
}

/// An error that a program raised, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The error's text, which begins with file and line.
    pub message: String,
    /// The app whose method raised it.
    pub app: Option<String>,
    /// The calls that led there, one a line, innermost first.
    pub traceback: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.app {
            Some(app) => write!(f, "app `{app}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
