//! Whether an app runs, in a word and as a number in the counters.

/// Whether an app runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppState {
    /// It does.
    Running,
    /// It has failed, and waits to be started again.
    Down,
    /// It was stopped.
    Stopped,
}

impl AppState {
    pub(crate) fn code(self) -> u64 {
        self as u64
    }

    /// The state that a number in the counters means.
    pub fn from_code(code: u64) -> Self {
        match code {
            0 => AppState::Running,
            1 => AppState::Down,
            _ => AppState::Stopped,
        }
    }

    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            AppState::Running => "running",
            AppState::Down => "down",
            AppState::Stopped => "stopped",
        }
    }
}
