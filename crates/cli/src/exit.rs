//! How the command ends: three kinds of failure, never mixed, each with its exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// A successful end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done, and for `filter` at least one packet matched.
    Matched,
    /// Done, nothing matched.
    NothingMatched,
    /// The input was damaged; what came before the damage was processed and the error told.
    Incomplete,
    /// Stopped by a signal, with everything written so far intact.
    Interrupted(i32),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Matched => 0,
            Outcome::NothingMatched => 1,
            Outcome::Incomplete => 5,
            Outcome::Interrupted(signal) => 128 + signal as u8,
        })
    }
}

/// A failure: what to tell the user, and whose fault it is.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Ready to print; several lines where there is a caret.
    pub(crate) message: String,
    /// Whose fault.
    pub(crate) blame: Blame,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// A wrong filter, flag or graph: exit 2.
    User,
    /// The system refused: exit 3.
    World,
    /// A broken invariant of ours: exit 4.
    Internal,
    /// The capture is damaged or no capture: exit 5.
    Damage,
    /// The reader of our output has gone: a success, as for any part of a pipeline.
    ClosedPipe,
}

impl Failure {
    /// The user's.
    pub(crate) fn user(message: impl Display) -> Self {
        Failure { message: message.to_string(), blame: Blame::User }
    }

    /// The world's.
    pub(crate) fn world(message: impl Display) -> Self {
        Failure { message: message.to_string(), blame: Blame::World }
    }

    /// Ours.
    pub(crate) fn internal(message: impl Display) -> Self {
        Failure { message: message.to_string(), blame: Blame::Internal }
    }

    /// An error of writing to `what`.
    pub(crate) fn writing(what: &str, error: &std::io::Error) -> Self {
        let blame =
            if error.kind() == std::io::ErrorKind::BrokenPipe { Blame::ClosedPipe } else { Blame::World };
        Failure { message: format!("error: cannot write {what}: {error}"), blame }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self.blame {
            Blame::ClosedPipe => 0,
            Blame::User => 2,
            Blame::World => 3,
            Blame::Internal => 4,
            Blame::Damage => 5,
        })
    }
}
