//! How the command ends: kinds of failure, never mixed, each with its exit code.

use crate::blame::Blame;
use crate::escape::shown;
use crate::message::Message;
use crate::missing;
use capture::ErrorKind;
use engine::ConfigureError;
use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

/// What to do about a folder where one capture is read.
const ONE_CAPTURE: &str = "name one capture; `sluss filter` reads all of a folder";

/// What to do about lines where a capture is read from a pipe.
const CAPTURE_INTO_PIPE: &str =
    "`sluss filter` prints lines unless it is told to write a capture: `sluss filter FILTER FILE -o - | …`";

/// Whether what was read in the place of a capture is text, or nothing: lines, or none that match.
fn is_text(kind: &ErrorKind) -> bool {
    let is_printed = |byte: &u8| byte.is_ascii_graphic() || b" \t\n".contains(byte);
    match kind {
        ErrorKind::Empty => true,
        ErrorKind::UnknownFormat { start, looks_like: None } => start.iter().all(is_printed),
        _ => false,
    }
}

/// A successful end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done; where packets are matched, at least one did.
    Done,
    /// Done, and no packet, or no instance, is what was asked for.
    NothingMatched,
    /// The input was damaged; what came before the damage was processed and the error told.
    Incomplete,
    /// Done, and something is to be mended.
    ToMend,
    /// A program in Lua has raised an error, which was told.
    ProgramFailed,
    /// Stopped by a signal, with everything written so far intact.
    Interrupted(i32),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::ProgramFailed => 1,
            Outcome::Done => 0,
            Outcome::NothingMatched | Outcome::ToMend => 1,
            Outcome::Incomplete => 5,
            Outcome::Interrupted(signal) => 128 + signal as u8,
        })
    }
}

/// A failure: what to tell the user, and whose fault it is.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: Message,
    pub(crate) blame: Blame,
}

impl Failure {
    /// The user's.
    pub(crate) fn user(message: impl Display) -> Self {
        Failure::of(Blame::User, message)
    }

    /// The world's.
    pub(crate) fn world(message: impl Display) -> Self {
        Failure::of(Blame::World, message)
    }

    /// Ours.
    pub(crate) fn internal(message: impl Display) -> Self {
        Failure::of(Blame::Internal, message)
    }

    /// An error of writing to `what`.
    pub(crate) fn writing(what: &str, error: &std::io::Error) -> Self {
        let blame = if capture::reader_has_left(error) { Blame::ClosedPipe } else { Blame::World };
        Failure::of(blame, format_args!("cannot write {what}: {error}"))
    }

    /// An error of reading or writing a capture.
    pub(crate) fn capture(error: &capture::Error) -> Self {
        let blame = if error.is_broken_pipe() { Blame::ClosedPipe } else { error.class().into() };
        let failure = Failure::of(blame, error);
        let failure = match error.kind() {
            ErrorKind::Open(why) | ErrorKind::Read(why) if why.kind() == io::ErrorKind::IsADirectory => {
                failure.help(ONE_CAPTURE)
            }
            ErrorKind::Open(why) => match error.path() {
                Some(path) => failure.if_missing(path, why),
                None => failure,
            },
            _ if error.input() == Some("standard input") && is_text(error.kind()) => {
                failure.help(CAPTURE_INTO_PIPE)
            }
            _ => failure,
        };
        match error.input() {
            Some(name) => failure.about_file(name),
            None => failure,
        }
    }

    /// With what there is in place of a file that is not there, if anything is.
    pub(crate) fn if_missing(self, path: &Path, error: &io::Error) -> Self {
        let is_missing = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        match is_missing.then(|| missing::help(path)).flatten() {
            Some(help) => self.help(help),
            None => self,
        }
    }

    /// With the name of the capture that could not be read, and what there is in its place, if it is not there.
    pub(crate) fn about_capture(self, path: &Path) -> Self {
        let failure = match path.metadata() {
            Err(error) => self.if_missing(path, &error),
            Ok(_) => self,
        };
        failure.about_file(&path.to_string_lossy())
    }

    /// A folder in the place of a capture.
    pub(crate) fn is_folder(path: &Path) -> Self {
        let name = path.to_string_lossy();
        Failure::world(format_args!("{name}: this is a folder")).help(ONE_CAPTURE).about_file(&name)
    }

    /// Writing somewhere would lose what is read: `what` says where.
    pub(crate) fn lost_input(what: impl Display) -> Self {
        Failure::user(format_args!("{what}: it would be lost")).help("write to another file, then rename it")
    }

    /// A graph that is not taken on.
    pub(crate) fn configuring(error: &ConfigureError) -> Self {
        let blame = match error {
            ConfigureError::App { error, .. } => error.fault.into(),
            // Memory.
            _ => Blame::World,
        };
        Failure::of(blame, error)
    }

    /// The system does not give the engine what it needs.
    pub(crate) fn no_engine(error: io::Error) -> Self {
        Failure::world(format!("cannot set up the engine: {error}"))
    }

    /// A failure, and whose fault it is.
    pub(crate) fn of(blame: Blame, message: impl Display) -> Self {
        Failure { message: Message::error(blame, message), blame }
    }

    /// The same, told in lines.
    pub(crate) fn in_lines(blame: Blame, message: impl Display) -> Self {
        Failure { message: Message::error_in_lines(blame, message), blame }
    }

    /// An app has refused an option: below that, what it has to show in lines.
    pub(crate) fn of_option(blame: Blame, message: &str, detail: Option<&str>) -> Self {
        match detail {
            Some(detail) => Failure::in_lines(blame, format_args!("{}\n{detail}", shown(message))),
            None => Failure::of(blame, message),
        }
    }

    /// With what the user can do about it.
    pub(crate) fn help(self, help: impl Display) -> Self {
        Failure { message: self.message.with_help(&help.to_string()), ..self }
    }

    /// With what explains it.
    pub(crate) fn note(self, note: impl Display) -> Self {
        Failure { message: self.message.with_note(&note.to_string()), ..self }
    }

    /// With the name of the capture it is about, for programs; for people the text has it.
    pub(crate) fn about_file(self, name: &str) -> Self {
        Failure { message: self.message.with_file(name), ..self }
    }

    /// An invariant of ours broke: keeps what is needed to reproduce it, and says where.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        let place = PLACE.take().map_or(String::new(), |(place, trace)| format!("\nat {place}\n{trace}"));
        let kept = kept(&format!("{what}{place}"));
        Failure::internal(format_args!("{what}\n{kept}"))
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        self.blame.code().into()
    }
}

thread_local! {
    /// Where the last panic of this thread was, and how it came there.
    static PLACE: Cell<Option<(String, Backtrace)>> = const { Cell::new(None) };
}

/// Notes where a panic is, for the report: on a terminal it would say nothing to people.
pub(crate) fn note_place(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(|| "a place unknown".to_owned(), ToString::to_string);
    PLACE.set(Some((place, Backtrace::force_capture())));
}

/// Keeps what is needed to reproduce an internal error, and says where it is.
pub(crate) fn kept(what: &str) -> String {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let report = format!("sluss {}\n{what}\narguments: {arguments:?}\n", env!("CARGO_PKG_VERSION"));
    let path = std::env::temp_dir().join(format!("sluss-internal-error-{}.txt", std::process::id()));
    match std::fs::write(&path, report) {
        Ok(()) => format!("what is needed to reproduce it is in {}", shown(&path.to_string_lossy())),
        Err(error) => format!("no report could be kept: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_a_panic_says_where_it_was() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(note_place));
        let panic = std::panic::catch_unwind(|| panic!("broken")).unwrap_err();
        std::panic::set_hook(hook);
        let text = Failure::panicked(&*panic).message.to_string();
        let (_, path) = text.rsplit_once(" is in ").unwrap();
        let report = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(report.contains("\nbroken\nat crates/cli/src/exit.rs:"), "{report}");
        assert!(report.contains("the_report_of_a_panic_says_where_it_was"), "{report}");
    }
}
