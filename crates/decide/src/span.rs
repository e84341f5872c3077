//! Positions in the text of a filter.

/// A half-open range of byte offsets in the source text.
///
/// ```
/// use decide::Span;
///
/// let (tcp, port) = (Span::new(0, 3), Span::new(4, 8));
/// assert_eq!(port.text("tcp port 80"), "port");
/// assert_eq!(tcp.to(port).text("tcp port 80"), "tcp port");
/// assert_eq!(tcp.moved(4), Span::new(4, 7));
/// assert_eq!(std::ops::Range::from(port), 4..8);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    ///
    /// ```
    /// # use decide::Span;
    /// assert_eq!(Span::new(4, 8), Span { start: 4, end: 8 });
    /// ```
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The smallest span that covers both.
    ///
    /// ```
    /// # use decide::Span;
    /// assert_eq!(Span::new(0, 3).to(Span::new(4, 8)), Span::new(0, 8));
    /// ```
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// This range of a text, in another text that contains it from byte `by` on.
    ///
    /// ```
    /// # use decide::Span;
    /// assert_eq!(Span::new(0, 3).moved(4), Span::new(4, 7));
    /// ```
    pub fn moved(self, by: u32) -> Span {
        Span { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }

    /// The text that the span covers, or "" where it does not fit `source`.
    ///
    /// ```
    /// # use decide::Span;
    /// assert_eq!(Span::new(4, 8).text("tcp port 80"), "port");
    /// assert_eq!(Span::new(4, 80).text("tcp port 80"), "");
    /// ```
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

impl From<Span> for std::ops::Range<usize> {
    fn from(span: Span) -> Self {
        span.start as usize..span.end as usize
    }
}
