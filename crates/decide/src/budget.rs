//! What making one decision program may cost.

use crate::span::Span;
use std::time::{Duration, Instant};

/// Bounds on nodes and time. The time starts when the budget is made.
///
/// ```
/// let budget = decide::Budget::new(1_000_000, 60_000);
/// assert!(!budget.is_over());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    nodes: usize,
    time_ms: u64,
    start: Instant,
}

impl Budget {
    /// At most so many nodes in a tree or graph, and so many milliseconds from now.
    pub fn new(nodes: usize, time_ms: u64) -> Self {
        Budget { nodes, time_ms, start: Instant::now() }
    }

    /// Nodes and time without end.
    ///
    /// ```
    /// assert!(decide::Budget::unlimited().check_nodes(usize::MAX, decide::Span::default()).is_ok());
    /// ```
    pub fn unlimited() -> Self {
        Budget::new(usize::MAX, u64::MAX)
    }

    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        self.start.elapsed() > Duration::from_millis(self.time_ms)
    }

    /// # Errors
    /// [`Bound::Time`], at `span`, once the time is over.
    pub fn check(&self, span: Span) -> Result<(), Exceeded> {
        if self.is_over() { Err(self.over().at(span)) } else { Ok(()) }
    }

    /// # Errors
    /// [`Bound::Nodes`], at `span`, where `nodes` are too many.
    pub fn check_nodes(&self, nodes: usize, span: Span) -> Result<(), Exceeded> {
        let exceeded = Exceeded { bound: Bound::Nodes { limit: self.nodes }, span: Some(span) };
        if nodes > self.nodes { Err(exceeded) } else { Ok(()) }
    }

    /// Of a program whose time is over.
    pub(crate) fn over(&self) -> Exceeded {
        Exceeded { bound: Bound::Time { limit_ms: self.time_ms }, span: None }
    }
}

/// A bound was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Which one.
    pub bound: Bound,
    /// The part of the source that was at hand; `None` where it is about the whole.
    pub span: Option<Span>,
}

impl Exceeded {
    fn at(self, span: Span) -> Self {
        Exceeded { span: Some(span), ..self }
    }
}

/// The bounds of a [`Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The tree or graph would have more nodes than allowed.
    Nodes {
        /// How many are allowed.
        limit: usize,
    },
    /// It took longer than allowed.
    Time {
        /// How long is allowed, in milliseconds.
        limit_ms: u64,
    },
}
