//! Why a decision program could not be made.

use crate::budget::{Bound, Exceeded};
use crate::ir::verify::Violation;
use crate::span::Span;
use crate::target::lir::NoCode;
use std::fmt;

/// Why a decision program could not be made, and which part of its source was at hand.
///
/// ```
/// use decide::{Bound, Budget, Error, ErrorKind, Span};
///
/// let error = Error::from(Budget::new(10, 60_000).check_nodes(11, Span::new(4, 8)).unwrap_err());
/// assert_eq!(error.kind(), ErrorKind::Exceeded(Bound::Nodes { limit: 10 }));
/// assert_eq!(error.span(), Some(Span::new(4, 8)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    span: Option<Span>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A bound of the budget was exceeded.
    Exceeded(Bound),
    /// The machine code would exceed its limit.
    Code(NoCode),
    /// The graph does not verify. Of a graph that a tree was turned into, this is a fault of this crate.
    Graph(Violation),
}

impl Error {
    /// Of the whole.
    pub(crate) fn whole(kind: ErrorKind) -> Self {
        Error { kind, span: None }
    }

    /// What is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The part of the source that was at hand; `None` where it is about the whole.
    pub fn span(&self) -> Option<Span> {
        self.span
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Exceeded(Bound::Nodes { limit }) => {
                write!(f, "more than {limit} nodes, which is the limit")
            }
            ErrorKind::Exceeded(Bound::Time { limit_ms }) => {
                write!(f, "more than {limit_ms} ms, which is the limit")
            }
            ErrorKind::Code(why) => why.fmt(f),
            ErrorKind::Graph(violation) => write!(f, "the graph does not verify: {violation:?}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<NoCode> for Error {
    fn from(why: NoCode) -> Self {
        Error::whole(ErrorKind::Code(why))
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        Error { kind: ErrorKind::Exceeded(exceeded.bound), span: exceeded.span }
    }
}
