//! The time that one compilation may take.

use crate::diag::{Code, Diagnostic};
use crate::options::Limits;
use crate::span::Span;
use std::time::{Duration, Instant};

/// Started with a compilation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    time_ms: u64,
}

impl Clock {
    /// Starts.
    pub(crate) fn new(limits: Limits) -> Self {
        Clock { start: Instant::now(), time_ms: limits.time_ms }
    }

    /// One that begins now and ends with this one, or after so much time.
    pub(crate) fn shorter(&self, time_ms: u64) -> Self {
        let spent = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Clock { start: Instant::now(), time_ms: self.time_ms.saturating_sub(spent).min(time_ms) }
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.start.elapsed() > Duration::from_millis(self.time_ms)
    }

    /// An error at `span` once the time is over.
    pub(crate) fn check(&self, span: Span) -> Result<(), Box<Diagnostic>> {
        if self.is_over() { Err(self.over(span)) } else { Ok(()) }
    }

    /// The error at `span` of a filter whose time is over.
    pub(crate) fn over(&self, span: Span) -> Box<Diagnostic> {
        let message = format!("the filter takes more than {} ms to compile", self.time_ms);
        Box::new(Diagnostic::new(Code::Limit, span, message))
    }
}

/// The error of a filter that needs more nodes than the limit, found at `span`.
pub(crate) fn too_many_nodes(limits: Limits, span: Span) -> Box<Diagnostic> {
    let message = format!("the filter needs more than {} nodes, which is the limit", limits.nodes);
    Box::new(Diagnostic::new(Code::Limit, span, message).help("split it, or use a set: `host in {…}`"))
}
