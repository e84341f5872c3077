//! What is wrong with a program.

use crate::Ancillary;
use std::fmt;

/// What is wrong with a program, and where.
///
/// ```
/// let error = bpf::read(b"1\n6 0 nought 0\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 2: `nought` is no number from 0 to 255");
/// assert_eq!(error.kind(), bpf::ErrorKind::Text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    place: Place,
    message: String,
    help: Option<String>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It is no program in any of the formats.
    Text,
    /// A checker refuses it.
    Refused,
    /// It loads what the kernel keeps beside a packet, and that is not known here.
    Ancillary(Ancillary),
    /// It uses something else that only the kernel has.
    KernelOnly,
    /// It jumps backwards.
    Loop,
    /// A bound of the options is exceeded.
    TooLarge,
    /// The decision program could not be made.
    Compile(decide::ErrorKind),
    /// libpcap cannot be loaded.
    NoLibpcap,
    /// libpcap refuses a filter.
    Filter,
    /// A filter has no form as bytecode.
    NoBytecode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Whole,
    /// The first is 1.
    Line(usize),
    /// The first is 0, as in listings.
    Instruction(usize),
}

impl Error {
    pub(crate) fn whole(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, place: Place::Whole, message: message.into(), help: None }
    }

    pub(crate) fn on_line(line: usize, message: impl Into<String>) -> Error {
        Error { place: Place::Line(line), ..Error::whole(ErrorKind::Text, message) }
    }

    pub(crate) fn at(instruction: usize, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { place: Place::Instruction(instruction), ..Error::whole(kind, message) }
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> Error {
        Error { help: Some(help.into()), ..self }
    }

    /// What is wrong.
    ///
    /// ```
    /// assert_eq!(bpf::read(b"").unwrap_err().kind(), bpf::ErrorKind::Text);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The number of the instruction it is about; the first is 0.
    ///
    /// ```
    /// let program = bpf::read(b"1\n5 0 0 4\n")?;
    /// assert_eq!(program.check(bpf::Validate::Kernel).unwrap_err().instruction(), Some(0));
    /// # Ok::<(), bpf::Error>(())
    /// ```
    pub fn instruction(&self) -> Option<usize> {
        match self.place {
            Place::Instruction(number) => Some(number),
            _ => None,
        }
    }

    /// What to do about it.
    ///
    /// ```
    /// assert!(bpf::read(b"").unwrap_err().help().is_some());
    /// ```
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => f.write_str(&self.message),
            Place::Line(line) => write!(f, "line {line}: {}", self.message),
            Place::Instruction(number) => write!(f, "instruction {number}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<decide::Error> for Error {
    fn from(error: decide::Error) -> Error {
        let kind = match error.kind() {
            decide::ErrorKind::Exceeded(_) => ErrorKind::TooLarge,
            kind => ErrorKind::Compile(kind),
        };
        let message = match kind {
            ErrorKind::TooLarge => format!("the program is too large: {error}"),
            _ => error.to_string(),
        };
        Error::whole(kind, message)
    }
}
