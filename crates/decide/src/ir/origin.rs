//! Where the nodes of a graph came from.
//!
//! Most nodes came from where their neighbours did, and passes move them often. So a node has a number only, and the
//! spans that it stands for are shared. What a number stands for never changes: a node that came from more places than was
//! known gets another one.

use crate::span::Span;

/// The number of some [`Spans`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(u32);

impl Origin {
    /// Nothing is known of it.
    pub(crate) const UNKNOWN: Origin = Origin(0);
}

/// Spans of the text for the origins of a graph.
#[derive(Clone, Debug)]
pub(super) struct Origins {
    spans: Vec<Spans>,
    /// The origin that was taken over last: its number elsewhere, and here.
    taken: (Origin, Origin),
}

/// Enough for a filter of one test.
const SPANS_LIKELY: usize = 4;

impl Origins {
    pub(super) fn new() -> Origins {
        let mut spans = Vec::with_capacity(SPANS_LIKELY);
        spans.push(Spans::default());
        Origins { spans, taken: (Origin::UNKNOWN, Origin::UNKNOWN) }
    }

    pub(super) fn spans(&self, origin: Origin) -> &Spans {
        &self.spans[origin.0 as usize]
    }

    /// The number of these spans: the last one given, if that will do.
    pub(super) fn of(&mut self, spans: &Spans) -> Origin {
        if spans.len == 0 {
            return Origin::UNKNOWN;
        }
        if self.last() != spans.as_slice() {
            self.spans.push(*spans);
        }
        Origin(self.spans.len() as u32 - 1)
    }

    fn last(&self) -> &[Span] {
        self.spans.last().map_or(&[], Spans::as_slice)
    }

    /// What came from there and from `span`.
    pub(super) fn with(&mut self, origin: Origin, span: Span) -> Origin {
        if origin == Origin::UNKNOWN && self.last() == [span] {
            return Origin(self.spans.len() as u32 - 1);
        }
        if self.spans(origin).as_slice().contains(&span) {
            return origin;
        }
        let mut spans = *self.spans(origin);
        spans.add(span);
        self.of(&spans)
    }

    /// The number here of what has this number among others: always the same others.
    pub(super) fn take_over(&mut self, others: &Origins, origin: Origin) -> Origin {
        if self.taken.0 != origin {
            self.taken = (origin, self.of(others.spans(origin)));
        }
        self.taken.1
    }

    /// What came from both.
    #[inline]
    pub(super) fn both(&mut self, a: Origin, b: Origin) -> Origin {
        if a == Origin::UNKNOWN {
            b
        } else if b == Origin::UNKNOWN || a == b {
            a
        } else {
            self.merged(a, b)
        }
    }

    fn merged(&mut self, a: Origin, b: Origin) -> Origin {
        let mut spans = *self.spans(a);
        spans.merge(self.spans(b));
        self.of(&spans)
    }
}

/// The sources of one node: a few, then one span that covers the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    spans: [Span; SPANS_MAX],
    len: u8,
}

const SPANS_MAX: usize = 4;

impl Spans {
    /// The spans, in the order in which they were added.
    pub fn as_slice(&self) -> &[Span] {
        &self.spans[..usize::from(self.len)]
    }

    /// Adds one.
    pub fn add(&mut self, span: Span) {
        if self.as_slice().contains(&span) {
        } else if usize::from(self.len) < SPANS_MAX {
            self.spans[usize::from(self.len)] = span;
            self.len += 1;
        } else {
            let last = &mut self.spans[SPANS_MAX - 1];
            *last = last.to(span);
        }
    }

    /// Adds all of another node's.
    pub fn merge(&mut self, other: &Spans) {
        if self.len == 0 {
            *self = *other;
            return;
        }
        other.as_slice().iter().for_each(|&span| self.add(span));
    }
}
