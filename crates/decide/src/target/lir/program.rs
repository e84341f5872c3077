//! The form between graph and machine code: blocks of simple instructions in one straight list.
//!
//! ```text
//! Program<VReg>   after selection: as many registers as there are values
//! Program<Place>  after allocation: machine registers and stack slots
//! ```
//! INVARIANT: control flows forward only: a block's successors come after it in the list. Hence a register
//! is live at most from its first definition to its last use, counted along the list.
//! INVARIANT: an instruction reads its operands before it writes its result.

use crate::ir::{BinOp, Members, NodeId, Order, Size};
use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;
use table::cuckoo::Cuckoo;
use table::rank::Rank;

/// A decision program as straight code.
#[derive(Debug)]
pub struct Program<R> {
    /// In the order in which they will lie in memory.
    pub blocks: Vec<Block<R>>,
    /// The instructions of all blocks, in the blocks' order. See [`Program::insts_of`].
    pub insts: Vec<Inst<R>>,
    /// Tables for [`Inst::Locate`], [`Test::Member`] and [`Exit::Dispatch`].
    pub tables: Vec<Table>,
    /// How many labels there are.
    pub labels: u32,
    /// Whether anything reads the wire length.
    pub reads_wire_len: bool,
    /// Numbers in the caller's row for each packet, if anything reads one.
    pub inputs: Option<u32>,
    /// Numbers that [`Inst::Store`] hands out.
    pub outputs: u32,
    /// Whether anything calls a large set.
    pub calls: bool,
}

impl<R> Program<R> {
    /// The instructions of a block.
    pub fn insts_of(&self, block: &Block<R>) -> &[Inst<R>] {
        &self.insts[block.insts.start as usize..block.insts.end as usize]
    }
}

/// A place to jump to: the block that carries the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Index into [`Program::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(pub u32);

/// A table that lies beside the code.
#[derive(Debug)]
pub enum Table {
    /// A set of keys; locating gives the slot, or the number of slots for a key that is not there.
    Cuckoo(Cuckoo),
    /// Boundaries; locating gives the rank.
    Rank(Rank),
    /// Where each index leads.
    Targets(Vec<Label>),
    /// The answer for each index.
    Answers(Vec<u32>),
    /// A set that is called. Code has the address of the inner pointer, so whoever runs the code keeps it.
    Members(Arc<Arc<dyn Members>>),
}

/// Instructions without branches, then an exit.
#[derive(Debug)]
pub struct Block<R> {
    /// Its name.
    pub label: Label,
    /// The node of the graph it computes.
    pub origin: NodeId,
    /// Its instructions, in [`Program::insts`].
    pub insts: Range<u32>,
    /// Where it goes.
    pub exit: Exit<R>,
}

/// `base + offset` in the packet; computed in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<R> {
    /// The variable part.
    pub base: Option<R>,
    /// The fixed part.
    pub offset: u64,
}

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operand<R> {
    Reg(R),
    Const(u32),
}

/// One step. What it computes goes to `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Inst<R> {
    /// A constant.
    Const { dst: R, k: u32 },
    /// A number of the caller's row.
    Input { dst: R, slot: u32 },
    /// Bytes of the packet.
    Load { dst: R, at: Address<R>, size: Size, order: Order },
    /// Arithmetic.
    Op { op: BinOp, dst: R, a: R, b: Operand<R> },
    /// 1 where the test holds (or, negated, does not), else 0.
    Set { dst: R, test: Test<R>, negated: bool },
    /// Hands a number out, at this place in the caller's memory.
    Store { at: u32, src: Operand<R> },
    /// Puts a number in its place of the row that a set is called with.
    Word { at: u32, src: R },
    /// 1 where the row is in a [`Table::Members`], else 0.
    Ask { dst: R, table: TableId },
    /// Where a key lies in a [`Table::Cuckoo`] or [`Table::Rank`].
    Locate { dst: R, key: R, table: TableId },
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Exit<R> {
    /// The answer.
    Leaf(u32),
    /// On.
    Jump(Label),
    /// `then` where the test holds, else `els`.
    Branch { test: Test<R>, then: Label, els: Label },
    /// The answer is this number, 0 or 1.
    Flag(R),
    /// To an entry of a [`Table::Targets`].
    Dispatch { index: R, table: TableId },
    /// The answer is an entry of a [`Table::Answers`].
    Answer { index: R, table: TableId },
}

/// How two unsigned numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Relation {
    Equal,
    Below,
    Above,
}

/// A question that machine flags answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test<R> {
    /// Two numbers.
    Compare(Relation, R, Operand<R>),
    /// Bytes of the packet as they lie there, and a constant that fits them.
    CompareMemory(Relation, Address<R>, Size, u32),
    /// `a & b != 0`.
    Mask(R, Operand<R>),
    /// `bytes & mask != 0`, the bytes as they lie there.
    MaskMemory(Address<R>, Size, u32),
    /// The packet has at least this many captured bytes.
    Captured(u64),
    /// `base + end <= captured`.
    Bounds(R, u32),
    /// `low <= value <= high`.
    InRange(R, u32, u32),
    /// The key is in this [`Table::Cuckoo`].
    Member(R, TableId),
}

/// The use of a register by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Role {
    Use,
    Def,
}

impl<R: Copy> Address<R> {
    fn map<S>(self, f: &mut impl FnMut(R, Role) -> S) -> Address<S> {
        Address { base: self.base.map(|base| f(base, Role::Use)), offset: self.offset }
    }
}

impl<R: Copy> Operand<R> {
    fn map<S>(self, f: &mut impl FnMut(R, Role) -> S) -> Operand<S> {
        match self {
            Operand::Reg(r) => Operand::Reg(f(r, Role::Use)),
            Operand::Const(k) => Operand::Const(k),
        }
    }
}

impl<R: Copy> Inst<R> {
    /// The same with other registers; `f` sees uses before the definition.
    pub fn map<S>(self, f: &mut impl FnMut(R, Role) -> S) -> Inst<S> {
        match self {
            Inst::Const { dst, k } => Inst::Const { dst: f(dst, Role::Def), k },
            Inst::Input { dst, slot } => Inst::Input { dst: f(dst, Role::Def), slot },
            Inst::Load { dst, at, size, order } => {
                let at = at.map(f);
                Inst::Load { dst: f(dst, Role::Def), at, size, order }
            }
            Inst::Op { op, dst, a, b } => {
                let (a, b) = (f(a, Role::Use), b.map(f));
                Inst::Op { op, dst: f(dst, Role::Def), a, b }
            }
            Inst::Set { dst, test, negated } => {
                let test = test.map(f);
                Inst::Set { dst: f(dst, Role::Def), test, negated }
            }
            Inst::Store { at, src } => Inst::Store { at, src: src.map(f) },
            Inst::Word { at, src } => Inst::Word { at, src: f(src, Role::Use) },
            Inst::Ask { dst, table } => Inst::Ask { dst: f(dst, Role::Def), table },
            Inst::Locate { dst, key, table } => {
                let key = f(key, Role::Use);
                Inst::Locate { dst: f(dst, Role::Def), key, table }
            }
        }
    }
}

impl<R: Copy> Exit<R> {
    /// The same with other registers.
    pub fn map<S>(self, f: &mut impl FnMut(R, Role) -> S) -> Exit<S> {
        match self {
            Exit::Leaf(leaf) => Exit::Leaf(leaf),
            Exit::Jump(to) => Exit::Jump(to),
            Exit::Branch { test, then, els } => Exit::Branch { test: test.map(f), then, els },
            Exit::Flag(flag) => Exit::Flag(f(flag, Role::Use)),
            Exit::Dispatch { index, table } => Exit::Dispatch { index: f(index, Role::Use), table },
            Exit::Answer { index, table } => Exit::Answer { index: f(index, Role::Use), table },
        }
    }
}

impl<R: Copy> Test<R> {
    fn map<S>(self, f: &mut impl FnMut(R, Role) -> S) -> Test<S> {
        match self {
            Test::Compare(relation, a, b) => {
                let a = f(a, Role::Use);
                Test::Compare(relation, a, b.map(f))
            }
            Test::CompareMemory(relation, at, size, k) => Test::CompareMemory(relation, at.map(f), size, k),
            Test::Mask(a, b) => {
                let a = f(a, Role::Use);
                Test::Mask(a, b.map(f))
            }
            Test::MaskMemory(at, size, mask) => Test::MaskMemory(at.map(f), size, mask),
            Test::Captured(end) => Test::Captured(end),
            Test::Bounds(base, end) => Test::Bounds(f(base, Role::Use), end),
            Test::InRange(value, low, high) => Test::InRange(f(value, Role::Use), low, high),
            Test::Member(key, table) => Test::Member(f(key, Role::Use), table),
        }
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl<R: Display> Display for Operand<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(r) => r.fmt(f),
            Operand::Const(k) => write!(f, "{k:#x}"),
        }
    }
}

impl<R: Display> Display for Address<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.base {
            Some(base) => write!(f, "[{base}+{}]", self.offset),
            None => write!(f, "[{}]", self.offset),
        }
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Equal => "==",
            Relation::Below => "<",
            Relation::Above => ">",
        })
    }
}

/// `u8`, `u16be`, `u32le`, …
fn width(size: Size, order: Order) -> &'static str {
    match (size, order) {
        (Size::B1, _) => "u8",
        (Size::B2, Order::Network) => "u16be",
        (Size::B2, Order::Little) => "u16le",
        (Size::B4, Order::Network) => "u32be",
        (Size::B4, Order::Little) => "u32le",
    }
}

impl<R: Display> Display for Inst<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inst::Const { dst, k } => write!(f, "{dst} = {k:#x}"),
            Inst::Input { dst, slot } => write!(f, "{dst} = input[{slot}]"),
            Inst::Load { dst, at, size, order } => write!(f, "{dst} = {}{at}", width(*size, *order)),
            Inst::Op { op, dst, a, b } => write!(f, "{dst} = {a} {} {b}", op.symbol()),
            Inst::Set { dst, test, negated: false } => write!(f, "{dst} = ({test})"),
            Inst::Set { dst, test, negated: true } => write!(f, "{dst} = not ({test})"),
            Inst::Store { at, src } => write!(f, "output[{at}] = {src}"),
            Inst::Word { at, src } => write!(f, "row[{at}] = {src}"),
            Inst::Ask { dst, table } => write!(f, "{dst} = row in {table}"),
            Inst::Locate { dst, key, table } => write!(f, "{dst} = locate {key} in {table}"),
        }
    }
}

impl<R: Display> Display for Test<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Compare(relation, a, b) => write!(f, "{a} {relation} {b}"),
            Test::CompareMemory(relation, at, size, k) => {
                write!(f, "{}{at} {relation} {k:#x}", width(*size, Order::Little))
            }
            Test::Mask(a, b) => write!(f, "{a} & {b}"),
            Test::MaskMemory(at, size, mask) => write!(f, "{}{at} & {mask:#x}", width(*size, Order::Little)),
            Test::Captured(end) => write!(f, "captured >= {end}"),
            Test::Bounds(base, end) => write!(f, "captured >= {base}+{end}"),
            Test::InRange(value, low, high) => write!(f, "{value} in {low:#x}..={high:#x}"),
            Test::Member(key, table) => write!(f, "{key} in {table}"),
        }
    }
}

impl<R: Display> Display for Exit<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Leaf(crate::ir::REJECT) => f.write_str("reject"),
            Exit::Leaf(crate::ir::ACCEPT) => f.write_str("accept"),
            Exit::Leaf(leaf) => write!(f, "answer {leaf}"),
            Exit::Jump(to) => write!(f, "goto {to}"),
            Exit::Branch { test, then, els } => write!(f, "if {test} then {then} else {els}"),
            Exit::Flag(flag) => write!(f, "answer {flag}"),
            Exit::Dispatch { index, table } => write!(f, "goto {table}[{index}]"),
            Exit::Answer { index, table } => write!(f, "answer {table}[{index}]"),
        }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Table::Cuckoo(table) => write!(f, "cuckoo table, {} slots", table.slots().len()),
            Table::Rank(table) => write!(f, "{} boundaries", table.boundaries().len()),
            Table::Targets(targets) => write!(f, "{} targets", targets.len()),
            Table::Members(set) => f.write_str(&set.describe()),
            Table::Answers(answers) => write!(f, "{} answers", answers.len()),
        }
    }
}

impl<R: Display> Display for Program<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for block in &self.blocks {
            writeln!(f, "{}:", block.label)?;
            for inst in self.insts_of(block) {
                writeln!(f, "    {inst}")?;
            }
            writeln!(f, "    {}", block.exit)?;
        }
        for (i, table) in self.tables.iter().enumerate() {
            writeln!(f, "t{i}: {table}")?;
        }
        Ok(())
    }
}
