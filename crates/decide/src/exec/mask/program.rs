//! Programs of the mask VM: a straight list of steps over columns and masks.
//!
//! ```text
//! column   one number for each packet
//! mask     one bit for each packet: those that have come to a node
//!
//! enter n            lanes = mask n; if there is none: skip what only n leads to
//! fetch              bytes of the packets in lanes into columns
//! bits, operations   a column from columns, of all packets
//! fork               mask[rest] |= lanes & !test, lanes &= test; if there is none: skip
//! branch             mask[then] |= lanes & test, mask[els] |= lanes & !test
//! ```
//! INVARIANT: of each packet in lanes, a fetch finds `base + offset` and as many bytes as it is wide captured.
//! INVARIANT: a column is made from columns before it, except by [`Step::Keep`], which goes the other way.
//! INVARIANT: what is skipped to lies behind.

use crate::ir::{BinOp, Size};
use std::fmt;

/// Index of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Column(pub(super) u16);

/// The captured lengths.
pub(super) const CAPTURED: Column = Column(0);
/// The wire lengths.
pub(super) const WIRE: Column = Column(1);

/// Index of a mask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask(pub(super) u16);

/// The packets that match.
pub(super) const ACCEPT: Mask = Mask(0);
/// Those that do not.
pub(super) const REJECT: Mask = Mask(1);

/// A filter as steps.
#[derive(Debug)]
pub(crate) struct MaskProgram {
    pub(super) steps: Vec<Step>,
    /// Where all packets start.
    pub(super) root: Mask,
    pub(super) columns: u16,
    pub(super) masks: u16,
    pub(super) switches: Vec<Switch>,
    /// Where packets of each leaf are sent, if leaves have masks of their own. Packets of no such leaf are rejected.
    pub(super) leaves: Vec<(Mask, u32)>,
    pub(super) reads_wire_len: bool,
    /// Columns that are filled from the caller's row for each packet, each with the place in it.
    pub(super) inputs: Vec<(Column, u32)>,
    /// How many numbers a row has.
    pub(super) row: usize,
}

/// Where leaves other than the one that rejects send their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// All to [`ACCEPT`].
    Accept,
    /// Each number to a mask of its own.
    Each,
}

/// `base + offset` in each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) base: Option<Column>,
    pub(super) offset: u32,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Goes on with the lanes of a mask.
    Enter { mask: Mask, skip_to: u32 },
    /// Four bytes as a little-endian number.
    Fetch4 { dst: Column, at: At },
    /// Eight bytes as two little-endian numbers.
    Fetch8 { low: Column, high: Column, at: At },
    /// Four bytes each at two places of sixteen, so far from their beginning, as little-endian numbers.
    FetchPair { low: Column, high: Column, at: At, from: [u8; 2] },
    /// Sixteen bytes as four little-endian numbers, in this column and the three after it.
    Fetch16 { first: Column, at: At },
    /// Fewer than four bytes as a little-endian number, where no more may be read.
    FetchFew { dst: Column, at: At, size: Size },
    /// One number for all packets.
    Const { dst: Column, k: u32 },
    /// Some bits of each number.
    Bits { dst: Column, src: Column, bits: Bits },
    /// Arithmetic with a constant.
    OpConst { op: BinOp, dst: Column, a: Column, k: u32 },
    /// Arithmetic.
    Op { op: BinOp, dst: Column, a: Column, b: Column },
    /// Notes that these lanes have their number in a column in which it is to stay.
    Mark { done: Mask },
    /// Adds the numbers of the lanes that had none there, and notes these too.
    Keep { dst: Column, src: Column, done: Mask },
    /// Goes on with the lanes for which the test holds (or, negated, does not); the rest goes to a mask.
    Fork { test: Test, negated: bool, rest: Mask, skip_to: u32 },
    /// Lanes go where the test sends them.
    Branch { test: Test, then: Mask, els: Mask },
    /// Lanes go where their numbers send them.
    Switch { value: Column, switch: u16 },
}

/// `(((swapped, or not) x >> right) & mask) << left`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) swap: bool,
    pub(super) right: u8,
    pub(super) mask: u32,
    pub(super) left: u8,
}

/// A question about each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// `a == k`
    Equal { a: Column, k: u32 },
    /// `a & mask == k`
    EqualMasked { a: Column, mask: u32, k: u32 },
    /// `a & mask != 0`
    Any { a: Column, mask: u32 },
    /// `a < k`
    Below { a: Column, k: u32 },
    /// `a > k`
    Above { a: Column, k: u32 },
    /// `a == b`
    EqualColumns { a: Column, b: Column },
    /// `a < b`
    BelowColumns { a: Column, b: Column },
    /// `a & b != 0`
    AnyColumns { a: Column, b: Column },
    /// `end <= captured`
    Captured { end: u32 },
    /// `base + end <= captured`, without wrap-around
    Bounds { base: Column, end: u32 },
}

/// Disjoint ranges in ascending order, and where each leads.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) arms: Vec<Range>,
    pub(super) default: Mask,
}

/// `low..=high` leads to `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) to: Mask,
}

/// Switches of more arms than this are looked up packet by packet.
///
/// PERF: a test of 64 numbers takes 3 to 4 ns, so 16 of them as long as the search for some ten numbers.
pub(super) const TESTS_PER_SWITCH: usize = 16;

impl Step {
    /// The columns it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = Column> {
        let (a, b) = match *self {
            Step::Enter { .. } | Step::Const { .. } | Step::Mark { .. } => (None, None),
            Step::Fetch4 { at, .. } | Step::Fetch8 { at, .. } => (at.base, None),
            Step::FetchPair { at, .. } | Step::Fetch16 { at, .. } | Step::FetchFew { at, .. } => {
                (at.base, None)
            }
            Step::Bits { src: a, .. } | Step::Keep { src: a, .. } => (Some(a), None),
            Step::OpConst { a, .. } | Step::Switch { value: a, .. } => (Some(a), None),
            Step::Op { a, b, .. } => (Some(a), Some(b)),
            Step::Fork { test, .. } | Step::Branch { test, .. } => test.reads(),
        };
        a.into_iter().chain(b)
    }
}

impl Test {
    fn reads(self) -> (Option<Column>, Option<Column>) {
        match self {
            Test::Equal { a, .. } | Test::EqualMasked { a, .. } | Test::Any { a, .. } => (Some(a), None),
            Test::Below { a, .. } | Test::Above { a, .. } => (Some(a), None),
            Test::EqualColumns { a, b } | Test::BelowColumns { a, b } | Test::AnyColumns { a, b } => {
                (Some(a), Some(b))
            }
            Test::Captured { .. } => (Some(CAPTURED), None),
            Test::Bounds { base, .. } => (Some(CAPTURED), Some(base)),
        }
    }
}

/// `a & mask == k`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Equality {
    a: Column,
    mask: u32,
    k: u32,
}

impl Test {
    /// The test, or its negation, as an equality.
    pub(super) fn equality(self, negated: bool) -> Option<Equality> {
        match (self, negated) {
            (Test::Equal { a, k }, false) => Some(Equality { a, mask: u32::MAX, k }),
            (Test::EqualMasked { a, mask, k }, false) => Some(Equality { a, mask, k }),
            (Test::Any { a, mask }, true) => Some(Equality { a, mask, k: 0 }),
            _ => None,
        }
    }
}

impl Equality {
    /// Both, if they are about one column and do not contradict each other.
    pub(super) fn and(self, Equality { a, mask, k }: Equality) -> Option<Equality> {
        let agree = self.a == a && (self.k ^ k) & self.mask & mask == 0;
        agree.then_some(Equality { a, mask: self.mask | mask, k: self.k | k })
    }

    pub(super) fn test(self) -> Test {
        match self {
            Equality { a, mask: u32::MAX, k } => Test::Equal { a, k },
            Equality { a, mask, k } => Test::EqualMasked { a, mask, k },
        }
    }
}

impl Bits {
    /// All of the number.
    pub(super) const ALL: Bits = Bits { swap: false, right: 0, mask: u32::MAX, left: 0 };

    /// These bits after an operation with a constant, where they are still bits of the same number.
    pub(super) fn then(self, op: BinOp, k: u32) -> Option<Bits> {
        let Bits { right, mask, left, .. } = self;
        match op {
            BinOp::And => Some(Bits { mask: mask & k >> left, ..self }),
            BinOp::Shl if k < 32 - u32::from(left) => {
                let left = left + k as u8;
                Some(Bits { mask: mask & u32::MAX >> left, left, ..self })
            }
            BinOp::Shr if k <= u32::from(left) => Some(Bits { left: left - k as u8, ..self }),
            BinOp::Shr if k < 32 + u32::from(left) - u32::from(right) => {
                let by = k as u8 - left;
                Some(Bits { right: right + by, mask: mask >> by, left: 0, ..self })
            }
            _ => None,
        }
    }
}

impl fmt::Display for MaskProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            writeln!(f, "{i:4}  {}", Shown(step, self))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CAPTURED => f.write_str("captured"),
            WIRE => f.write_str("wire_len"),
            Column(i) => write!(f, "c{i}"),
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ACCEPT => f.write_str("accept"),
            REJECT => f.write_str("reject"),
            Mask(i) => write!(f, "m{i}"),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Some(base) => write!(f, "[{base:?} + {}]", self.offset),
            None => write!(f, "[{}]", self.offset),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Equal { a, k } => write!(f, "{a:?} == {k:#x}"),
            Test::EqualMasked { a, mask, k } => write!(f, "{a:?} & {mask:#x} == {k:#x}"),
            Test::Any { a, mask } => write!(f, "{a:?} & {mask:#x} != 0"),
            Test::Below { a, k } => write!(f, "{a:?} < {k:#x}"),
            Test::Above { a, k } => write!(f, "{a:?} > {k:#x}"),
            Test::EqualColumns { a, b } => write!(f, "{a:?} == {b:?}"),
            Test::BelowColumns { a, b } => write!(f, "{a:?} < {b:?}"),
            Test::AnyColumns { a, b } => write!(f, "{a:?} & {b:?} != 0"),
            Test::Captured { end } => write!(f, "captured >= {end}"),
            Test::Bounds { base, end } => write!(f, "captured >= {base:?} + {end}"),
        }
    }
}

/// A step as text: the switch it names is in the program.
struct Shown<'p>(&'p Step, &'p MaskProgram);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(step, program) = self;
        match step {
            Step::Enter { mask, skip_to } => write!(f, "enter {mask:?}, else {skip_to}"),
            Step::Fetch4 { dst, at } => write!(f, "{dst:?} = le32{at}"),
            Step::Fetch8 { low, high, at } => write!(f, "{low:?}, {high:?} = le64{at}"),
            Step::FetchPair { low, high, at, from: [first, second] } => {
                write!(f, "{low:?}, {high:?} = le32 {first} and {second} into le128{at}")
            }
            Step::Fetch16 { first, at } => {
                let last = Column(first.0 + 3);
                write!(f, "{first:?} to {last:?} = le128{at}")
            }
            Step::FetchFew { dst, at, size } => write!(f, "{dst:?} = le{}{at}", 8 * size.bytes()),
            Step::Const { dst, k } => write!(f, "{dst:?} = {k:#x}"),
            Step::Bits { dst, src, bits: Bits { swap, right, mask, left } } => {
                let swap = if *swap { "swap " } else { "" };
                write!(f, "{dst:?} = ({swap}{src:?} >> {right} & {mask:#x}) << {left}")
            }
            Step::OpConst { op, dst, a, k } => write!(f, "{dst:?} = {op:?} {a:?}, {k:#x}"),
            Step::Op { op, dst, a, b } => write!(f, "{dst:?} = {op:?} {a:?}, {b:?}"),
            Step::Mark { done } => write!(f, "{done:?} |= here"),
            Step::Keep { dst, src, done } => {
                write!(f, "{dst:?} = {src:?} where not {done:?}; {done:?} |= here")
            }
            Step::Fork { test, negated, rest, skip_to } => {
                let not = if *negated { "not " } else { "" };
                write!(f, "go on where {not}{test}, rest to {rest:?}; else {skip_to}")
            }
            Step::Branch { test, then, els } => write!(f, "{test} ? {then:?} : {els:?}"),
            Step::Switch { value, switch } => {
                let Switch { arms, default } = &program.switches[usize::from(*switch)];
                write!(f, "switch {value:?} {{ ")?;
                arms.iter()
                    .try_for_each(|arm| write!(f, "{:#x}..={:#x} -> {:?}, ", arm.low, arm.high, arm.to))?;
                write!(f, "}} else {default:?}")
            }
        }
    }
}
