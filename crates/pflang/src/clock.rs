//! The time that one compilation may take, and what is said when it, or another bound of the decision core, is exceeded.

use crate::diag::{Code, Diagnostic};
use crate::options::Limits;
use decide::{Bound, Budget, ErrorKind, Span};

/// Started with a compilation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    budget: Budget,
    /// Nodes that the lowered tree may have.
    tree_nodes: usize,
}

impl Clock {
    /// Starts.
    pub(crate) fn new(limits: Limits) -> Self {
        let budget = Budget::new(limits.nodes.min(limits.graph_nodes), limits.time_ms);
        Clock { budget, tree_nodes: limits.nodes }
    }

    /// One that begins now and ends after so much time, unless this one is over already.
    pub(crate) fn shorter(&self, limits: Limits, time_ms: u64) -> Self {
        let time_ms = if self.budget.is_over() { 0 } else { limits.time_ms.min(time_ms) };
        Clock::new(Limits { time_ms, ..limits })
    }

    /// The same bounds for the decision core.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// An error at `span` once the time is over.
    pub(crate) fn check(&self, span: Span) -> Result<(), Box<Diagnostic>> {
        self.budget.check(span).map_err(|exceeded| worded(exceeded.into(), span))
    }

    /// An error at `span` where the lowered tree has too many nodes.
    pub(crate) fn check_nodes(&self, nodes: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        let budget = Budget::new(self.tree_nodes, 0);
        budget.check_nodes(nodes, span).map_err(|exceeded| worded(exceeded.into(), span))
    }
}

/// What the decision core says, in words; about `whole` unless it knows better.
pub(crate) fn worded(error: decide::Error, whole: Span) -> Box<Diagnostic> {
    let span = error.span().unwrap_or(whole);
    let limit = |message: String| Diagnostic::new(Code::Limit, span, message);
    Box::new(match error.kind() {
        ErrorKind::Exceeded(Bound::Nodes { limit: nodes }) => {
            limit(format!("the filter needs more than {nodes} nodes, which is the limit"))
                .help("split it, or use a set: `host in {…}`")
        }
        ErrorKind::Exceeded(Bound::Time { limit_ms }) => {
            limit(format!("the filter takes more than {limit_ms} ms to compile"))
        }
        ErrorKind::Code(why) => limit(why.to_string()),
        kind => Diagnostic::new(
            Code::Internal,
            span,
            format!("the compiler broke an invariant of its own: {kind:?}"),
        )
        .help("please report this filter: the interpreter and the machine code both refuse it"),
    })
}
