//! Messages on standard error, and whether they may be coloured.

use crate::args::When;
use std::io::{IsTerminal, Write};

/// What is known of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Whether messages on standard error are coloured.
    pub(crate) colour_stderr: bool,
    /// Whether results on standard output are coloured.
    pub(crate) colour_stdout: bool,
}

impl Terminal {
    /// Follows the flag, then NO_COLOR (no-color.org) and CLICOLOR_FORCE (bixense.com/clicolors), then the terminal.
    pub(crate) fn new(when: When) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let colour = |is_terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            When::Auto => set("CLICOLOR_FORCE") || is_terminal,
        };
        Terminal {
            colour_stderr: colour(std::io::stderr().is_terminal()),
            colour_stdout: colour(std::io::stdout().is_terminal()),
        }
    }

    /// Prints an error, whose text carries its own `error:` where it wants one.
    pub(crate) fn error(&self, message: &str) {
        self.message(message);
    }

    /// Prints a warning or note.
    pub(crate) fn message(&self, message: &str) {
        // Nowhere is left to report that standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{message}");
    }
}
