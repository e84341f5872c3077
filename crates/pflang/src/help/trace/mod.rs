//! Why a packet does or does not match: one run through the lowered tree, question by question.

mod members;
mod program;
mod run;

use crate::Span;
use std::fmt;

pub(crate) use members::of_parts;
pub use program::{MatchTrace, TracedClause};
pub use run::trace;

/// One run of one packet.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp or len = 60", &[0; 60], 60)?;
/// assert!(trace.matches);
/// assert_eq!(trace.primitives.len(), 2);
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp and len = 60", &[0; 60], 60)?;
/// assert!(!trace.primitives[1].is_asked, "`arp` has decided");
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// The primitives of the filter, in order; behind a set that was looked at, its members.
    pub primitives: Vec<TracedPrimitive>,
    /// Whether the packet matches.
    pub matches: bool,
}

/// The result of a primitive.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp or len = 60", &[0; 60], 60)?;
/// let arp = &trace.primitives[0];
/// assert_eq!(arp.span.text("arp or len = 60"), "arp");
/// assert_eq!((arp.holds, arp.is_member), (Some(false), false));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedPrimitive {
    /// Its place in the filter.
    pub span: Span,
    /// Whether it is a member of the set before it.
    pub is_member: bool,
    /// Whether it was looked at; not where the primitives before it decided, or rejected the packet.
    pub is_asked: bool,
    /// Its questions, in order.
    pub steps: Vec<TraceStep>,
    /// Whether it holds; `None` where it was not asked, or the packet was rejected before that was known.
    pub holds: Option<bool>,
    /// The line of a file that it is, if it is a member that stands in one.
    pub line: Option<TracedLine>,
    /// How many members of a set do not hold and are left out behind it: where it has more than eight.
    pub misses: usize,
}

/// A member of a set that is a line of a file.
///
/// ```
/// use pflang::{Compiler, Names, TracedLine};
/// use std::sync::Arc;
/// use wire::LinkType;
///
/// struct Sizes;
/// impl Names for Sizes {
///     fn set_file(&self, _: &str) -> Result<String, String> {
///         Ok("# of DNS\n53\n853".to_owned())
///     }
/// }
/// let compiler = Compiler::new(LinkType::RAW).names(Arc::new(Sizes));
/// let trace = compiler.trace("port in {@dns.txt}", &[0; 40], 40)?;
/// let line: &TracedLine = trace.primitives[2].line.as_ref().unwrap();
/// assert_eq!((line.text.as_str(), line.path.as_str(), line.number), ("853", "dns.txt", 3));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedLine {
    /// The member as it is written.
    pub text: String,
    /// The file, as the filter names it.
    pub path: String,
    /// Its line, counted from 1.
    pub number: usize,
}

impl TracedPrimitive {
    fn not_asked(span: Span, is_member: bool) -> TracedPrimitive {
        TracedPrimitive {
            span,
            is_member,
            is_asked: false,
            steps: Vec::new(),
            holds: None,
            line: None,
            misses: 0,
        }
    }
}

/// One question and its answer.
///
/// ```
/// use pflang::{Answer, Compiler};
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp", &[0; 60], 60)?;
/// let step = &trace.primitives[0].steps[0];
/// assert_eq!((step.question.as_str(), step.answer), ("be16[12] == 0x806", Answer::No));
/// assert_eq!((step.sides.left, step.sides.right), (0, 0x806));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStep {
    /// The question, places as numbers: `be16[12] == 0x800`.
    pub question: String,
    /// What its two sides are for this packet.
    pub sides: Sides,
    /// The bytes of the packet that it read; empty for a question about lengths.
    pub loads: Vec<TracedLoad>,
    /// How the places that vary were found, unless a question before this one in its primitive has told.
    pub places: Vec<TracedPlace>,
    /// The length on the wire, if it asked for that.
    pub wire_len: Option<u32>,
    /// The answer.
    pub answer: Answer,
}

/// The two sides of a question, as numbers for one packet.
///
/// Printed, it is what the question does not show: the left side, and the right one unless that is a constant. The
/// numbers are decimal or hexadecimal as in the question.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("ether[0:2] & 0xff0 = 0 or ether[0] < len", &[18; 60], 60)?;
/// let mask = trace.primitives[0].steps[0].sides;
/// assert_eq!((mask.left, mask.right, mask.to_string()), (0x210, 0, "0x210".to_owned()));
/// let len = trace.primitives[1].steps[0].sides;
/// assert_eq!((len.left, len.right, len.to_string()), (18, 60, "18, 60".to_owned()));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sides {
    /// The left side: bits behind a mask for a question that has one; captured bytes where too few were; what is to
    /// be divided.
    pub left: u64,
    /// The right side: captured bytes that are needed; the divisor.
    pub right: u64,
    /// Whether the question shows what the right side is.
    pub is_right_shown: bool,
    /// Whether the numbers are hexadecimal when printed.
    pub is_hex: bool,
}

impl Sides {
    /// As of a question that shows its right side, in decimal.
    fn of(left: impl Into<u64>, right: impl Into<u64>) -> Sides {
        Sides { left: left.into(), right: right.into(), is_right_shown: true, is_hex: false }
    }
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |k: u64| if self.is_hex && k > 9 { format!("{k:#x}") } else { k.to_string() };
        match self.is_right_shown {
            true => write!(f, "{}", number(self.left)),
            false => write!(f, "{}, {}", number(self.left), number(self.right)),
        }
    }
}

/// How the place of bytes was found that stand behind others of varying length.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let mut packet = [0; 60];
/// packet[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
/// packet[23] = 6;
/// let trace = Compiler::new(LinkType::EN10MB).trace("tcp src port 80", &packet, 60)?;
/// let port = &trace.primitives[0].steps[4];
/// assert_eq!((port.question.as_str(), port.loads[1].offset), ("be16[34] == 80", 34));
/// let header = &port.places[0];
/// assert_eq!((header.expression.as_str(), header.skipped), ("(u8[14] & 0xf) << 2", 20));
/// assert_eq!((header.loads[0].offset, header.loads[0].value), (14, 0x45));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedPlace {
    /// The part of the place that varies: `(u8[14] & 0xf) << 2`, the length of an IPv4 header.
    pub expression: String,
    /// The bytes of the packet in it.
    pub loads: Vec<TracedLoad>,
    /// What it comes to: bytes that are skipped.
    pub skipped: u32,
}

/// Bytes that a question read.
///
/// ```
/// use pflang::Compiler;
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp", &[8; 60], 60)?;
/// let load = trace.primitives[0].steps[0].loads[0];
/// assert_eq!((load.offset, load.size, load.value), (12, 2, 0x808));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedLoad {
    /// Offset of the first from the start of the frame.
    pub offset: u64,
    /// How many: 1, 2 or 4.
    pub size: u32,
    /// The number they make.
    pub value: u32,
    /// Whether they were only read to find the place of others.
    pub is_for_place: bool,
}

/// The answer to a question.
///
/// ```
/// use pflang::{Answer, Compiler};
/// use wire::LinkType;
///
/// let trace = Compiler::new(LinkType::EN10MB).trace("arp", &[0; 13], 60)?;
/// assert_eq!(trace.primitives[0].steps[0].answer, Answer::NotCaptured { needed: 14 });
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The bytes that the question needs were not captured: the packet is rejected, whatever else holds.
    NotCaptured {
        /// Captured bytes that would have been needed.
        needed: u64,
    },
    /// The question divides by zero: the packet is rejected, whatever else holds.
    DividesByZero,
}

#[cfg(test)]
mod tests;
