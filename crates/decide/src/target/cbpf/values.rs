//! Values into the accumulator and the index register.
//!
//! A value that costs more than an instruction, and is needed more than once, keeps a scratch cell from its first use to its last, as long as there
//! are cells; six of the sixteen are for what is computed in between. What is in a register or a cell is known on each way into a
//! node, and is not computed again.

use super::{Insn, NoProgram, op};
use crate::filled::filled;
use crate::ir::{BinOp, Graph, Order, Size, Value, ValueId};
use crate::opt::Ranges;
use crate::target::lir::uses::Use;
use std::collections::BTreeMap;

/// Cells for values that are kept; those behind them are for what is computed in between.
const KEPT: usize = 10;
const CELLS: usize = 16;

/// Operations inside each other; deeper ones would make a deep recursion, and a program that is too long.
const DEPTH_MAX: u32 = 1000;

/// So many instructions of one node are too many in any case.
const INSNS_MAX: usize = 1 << 16;

/// What registers and cells hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    a: Option<ValueId>,
    x: Option<ValueId>,
    cells: [Option<ValueId>; KEPT],
}

impl Held {
    /// Forgets what is not held there as well.
    pub(super) fn keep_common(&mut self, other: &Held) {
        let common = |mine: &mut Option<ValueId>, other: Option<ValueId>| {
            if *mine != other {
                *mine = None;
            }
        };
        common(&mut self.a, other.a);
        common(&mut self.x, other.x);
        self.cells.iter_mut().zip(other.cells).for_each(|(mine, other)| common(mine, other));
    }
}

/// Writes the code of values.
pub(super) struct Values<'g> {
    graph: &'g Graph,
    inputs: &'g [u32],
    ranges: Ranges,
    /// By value: its cell, if it has one.
    cells: Vec<Option<u8>>,
    held: Held,
    insns: Vec<Insn>,
    /// Cells for what is computed in between that are in use.
    pending: usize,
}

impl<'g> Values<'g> {
    pub(super) fn new(graph: &'g Graph, uses: &[Use], inputs: &'g [u32]) -> Result<Self, NoProgram> {
        let mut ranges = Ranges::default();
        ranges.cover(&graph.pool);
        let values = Values {
            graph,
            inputs,
            ranges,
            cells: cells(graph, uses)?,
            held: Held::default(),
            insns: Vec::new(),
            pending: 0,
        };
        Ok(values)
    }

    /// Begins the code of a node.
    pub(super) fn begin(&mut self, held: Held) {
        self.held = held;
    }

    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// The instructions written since the last call.
    pub(super) fn take(&mut self) -> Vec<Insn> {
        std::mem::take(&mut self.insns)
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.insns.len() > INSNS_MAX
    }

    /// The greatest number that a value can be.
    pub(super) fn highest(&self, value: ValueId) -> u32 {
        self.ranges.get(value).high
    }

    fn push(&mut self, code: u16, k: u32) {
        // What is too long is refused behind the node, and need not become longer.
        if !self.is_too_long() {
            self.insns.push(Insn { code, jt: 0, jf: 0, k });
        }
    }

    /// Loads a byte whose value does not matter.
    pub(super) fn touch(&mut self, base: ValueId, offset: u32) -> Result<(), NoProgram> {
        match self.graph.pool.as_const(base) {
            Some(k) => self.push(op::LD | op::ABS | op::B, offset.saturating_add(k)),
            None => {
                self.to_x(base)?;
                self.push(op::LD | op::IND | op::B, offset);
            }
        }
        self.held.a = None;
        Ok(())
    }

    /// A value into A.
    pub(super) fn to_a(&mut self, value: ValueId) -> Result<(), NoProgram> {
        if self.held.a == Some(value) || self.is_too_long() {
            return Ok(());
        }
        match self.cell(value) {
            Some(cell) => self.push(op::LD | op::MEM, cell),
            None => {
                self.compute(value)?;
                self.keep(value);
            }
        }
        self.held.a = Some(value);
        Ok(())
    }

    /// The cell that holds a value now.
    fn cell(&self, value: ValueId) -> Option<u32> {
        self.cells[value.index()]
            .filter(|cell| self.held.cells[usize::from(*cell)] == Some(value))
            .map(u32::from)
    }

    /// Puts what has been computed in A into its cell.
    fn keep(&mut self, value: ValueId) {
        if let Some(cell) = self.cells[value.index()] {
            self.push(op::ST, cell.into());
            self.held.cells[usize::from(cell)] = Some(value);
        }
    }

    /// A value into X. It may take A.
    pub(super) fn to_x(&mut self, value: ValueId) -> Result<(), NoProgram> {
        if self.held.x == Some(value) {
            return Ok(());
        }
        if !self.directly_to_x(value) {
            self.to_a(value)?;
            self.push(op::MISC | op::TAX, 0);
        }
        self.held.x = Some(value);
        Ok(())
    }

    /// A value into X by one instruction that leaves A alone, if there is such.
    fn directly_to_x(&mut self, value: ValueId) -> bool {
        let (code, k) = match (self.cell(value), self.graph.pool.get(value)) {
            (Some(cell), _) => (op::LDX | op::MEM, cell),
            (_, Value::Const(k)) => (op::LDX | op::IMM, k),
            (_, Value::Len) => (op::LDX | op::LEN, 0),
            _ => match self.header_length(value) {
                Some(at) => (op::LDX | op::MSH | op::B, at),
                None => return false,
            },
        };
        self.push(code, k);
        true
    }

    /// Whether one instruction puts a value into X that leaves A alone.
    fn is_direct_to_x(&self, value: ValueId) -> bool {
        self.cell(value).is_some()
            || matches!(self.graph.pool.get(value), Value::Const(_) | Value::Len)
            || self.header_length(value).is_some()
    }

    /// Whether one instruction puts a value into A that leaves X alone.
    fn is_direct_to_a(&self, value: ValueId) -> bool {
        self.cell(value).is_some()
            || match self.graph.pool.get(value) {
                Value::Const(_) | Value::Len | Value::Input(_) => true,
                Value::Load { base, .. } => self.graph.pool.as_const(base).is_some(),
                Value::Op(..) => false,
            }
    }

    /// The place of the byte of which a value is four times the low half.
    fn header_length(&self, value: ValueId) -> Option<u32> {
        header_length(self.graph, value)
    }

    /// Two values into A and X.
    pub(super) fn to_both(&mut self, a: ValueId, x: ValueId) -> Result<(), NoProgram> {
        let a_is_direct = self.is_direct_to_a(a);
        if self.held.x == Some(x) && (a_is_direct || self.held.a == Some(a)) {
            return self.to_a(a);
        }
        if self.is_direct_to_x(x) {
            self.to_a(a)?;
            self.directly_to_x(x);
            self.held.x = Some(x);
            return Ok(());
        }
        if a_is_direct {
            self.to_x(x)?;
            return self.to_a(a);
        }
        // Neither can wait in its register while the other is computed.
        self.to_a(x)?;
        let cell = match self.cell(x) {
            Some(cell) => {
                self.to_a(a)?;
                cell
            }
            None => {
                let cell = self.temporary()?;
                self.push(op::ST, cell);
                self.to_a(a)?;
                self.pending -= 1;
                cell
            }
        };
        self.push(op::LDX | op::MEM, cell);
        self.held.x = Some(x);
        Ok(())
    }

    /// A cell for what is computed in between.
    fn temporary(&mut self) -> Result<u32, NoProgram> {
        let cell = KEPT + self.pending;
        if cell >= CELLS {
            return Err(NoProgram::TooComplex);
        }
        self.pending += 1;
        Ok(cell as u32)
    }

    /// Computes a value that nothing holds, into A.
    fn compute(&mut self, value: ValueId) -> Result<(), NoProgram> {
        let pool = &self.graph.pool;
        if let Some(at) = self.header_length(value) {
            self.push(op::LDX | op::MSH | op::B, at);
            self.push(op::MISC | op::TXA, 0);
            self.held.x = Some(value);
            return Ok(());
        }
        match pool.get(value) {
            Value::Const(k) => self.push(op::LD | op::IMM, k),
            Value::Len => self.push(op::LD | op::LEN, 0),
            Value::Input(slot) => {
                let offset = self.inputs.get(slot as usize).ok_or(NoProgram::Input(slot))?;
                self.push(op::LD | op::ABS, *offset);
            }
            Value::Load { base, offset, size, order } => {
                // Only the pass that this target does without makes others.
                if order != Order::Network {
                    return Err(NoProgram::TooComplex);
                }
                let size = match size {
                    Size::B1 => op::B,
                    Size::B2 => op::H,
                    Size::B4 => op::W,
                };
                match pool.as_const(base) {
                    Some(k) => self.push(op::LD | op::ABS | size, offset.saturating_add(k)),
                    None => {
                        self.to_x(base)?;
                        self.push(op::LD | op::IND | size, offset);
                    }
                }
            }
            Value::Op(kind, a, b) => self.operation(kind, a, b)?,
        }
        Ok(())
    }

    fn operation(&mut self, kind: BinOp, a: ValueId, b: ValueId) -> Result<(), NoProgram> {
        let pool = &self.graph.pool;
        let code = op::ALU | code(kind);
        match (pool.as_const(a), pool.as_const(b)) {
            (Some(0), None) if kind == BinOp::Sub => {
                self.to_a(b)?;
                self.push(op::ALU | op::NEG, 0);
            }
            // The kernel has no such distance. What is shifted is computed nevertheless: it may be a load that a check relies on.
            (_, Some(32..)) if is_shift(kind) => {
                self.to_a(a)?;
                self.push(op::ALU | op::AND, 0);
            }
            (_, Some(k)) => {
                self.to_a(a)?;
                self.push(code, k);
            }
            (_, None) => {
                self.to_both(a, b)?;
                if is_shift(kind) && self.highest(b) >= 32 {
                    self.bounded_shift(code)?;
                } else {
                    self.push(code | op::X, 0);
                }
            }
        }
        Ok(())
    }

    /// `A = X < 32 ? A shifted by X : 0`, whatever the machine makes of larger distances.
    fn bounded_shift(&mut self, code: u16) -> Result<(), NoProgram> {
        let cell = self.temporary()?;
        self.push(op::ST, cell);
        self.push(op::MISC | op::TXA, 0);
        if !self.is_too_long() {
            self.insns.push(Insn { code: op::JMP | op::JGE, jt: 0, jf: 2, k: 32 });
        }
        self.push(op::LD | op::IMM, 0);
        self.push(op::JMP | op::JA, 2);
        self.push(op::LD | op::MEM, cell);
        self.push(code | op::X, 0);
        self.pending -= 1;
        Ok(())
    }
}

fn is_shift(kind: BinOp) -> bool {
    matches!(kind, BinOp::Shl | BinOp::Shr)
}

fn code(kind: BinOp) -> u16 {
    match kind {
        BinOp::Add => op::ADD,
        BinOp::Sub => op::SUB,
        BinOp::Mul => op::MUL,
        BinOp::Div => op::DIV,
        BinOp::Mod => op::MOD,
        BinOp::And => op::AND,
        BinOp::Or => op::OR,
        BinOp::Xor => op::XOR,
        BinOp::Shl => op::LSH,
        BinOp::Shr => op::RSH,
    }
}

fn header_length(graph: &Graph, value: ValueId) -> Option<u32> {
    let pool = &graph.pool;
    let Value::Op(BinOp::Shl, words, two) = pool.get(value) else { return None };
    let Value::Op(BinOp::And, byte, mask) = pool.get(words) else { return None };
    let Value::Load { base, offset, size: Size::B1, .. } = pool.get(byte) else { return None };
    let is_it =
        pool.as_const(two) == Some(2) && pool.as_const(mask) == Some(0xf) && pool.as_const(base) == Some(0);
    is_it.then_some(offset)
}

/// The cells of values that are needed again, by value.
fn cells(graph: &Graph, uses: &[Use]) -> Result<Vec<Option<u8>>, NoProgram> {
    let pool = &graph.pool;
    let count = pool.value_count();
    // How many instructions compute a value, how deep it is, and how many values are made from it.
    let (mut cost, mut depth, mut users) = (filled(1_u32, count), filled(0_u32, count), filled(0_u32, count));
    for value in (0..count as u32).map(ValueId).filter(|value| uses[value.index()].last_end > 0) {
        for operand in pool.operands(value) {
            users[operand.index()] += 1;
            depth[value.index()] = depth[value.index()].max(depth[operand.index()] + 1);
        }
        cost[value.index()] = match pool.get(value) {
            _ if header_length(graph, value).is_some() => 1,
            Value::Load { base, .. } if pool.as_const(base).is_none() => cost[base.index()].saturating_add(1),
            Value::Op(_, a, b) => {
                let right = if pool.as_const(b).is_some() { 0 } else { cost[b.index()] };
                cost[a.index()].saturating_add(right).saturating_add(1)
            }
            _ => 1,
        };
        if depth[value.index()] > DEPTH_MAX {
            return Err(NoProgram::TooComplex);
        }
    }
    // Those that are needed again: first what checks are about, since addresses are made of those before them, then in the order of need.
    let mut wanted: Vec<(bool, u32, u32, ValueId)> = (0..count as u32)
        .map(ValueId)
        .filter_map(|value| {
            let Use { first, last_end, pinned, .. } = uses[value.index()];
            let again = last_end > first.saturating_add(1) || users[value.index()] > 1;
            (last_end > 0 && again && cost[value.index()] > 1).then_some((!pinned, first, last_end, value))
        })
        .collect();
    wanted.sort_unstable();
    let mut found = vec![None; count];
    // By cell: from which node to which it is taken.
    let mut taken: [BTreeMap<u32, u32>; KEPT] = std::array::from_fn(|_| BTreeMap::new());
    for (_, first, last_end, value) in wanted {
        let end = last_end.max(first + 1);
        let is_free = |taken: &BTreeMap<u32, u32>| {
            taken.range(..end).next_back().is_none_or(|(_, until)| *until <= first)
        };
        if let Some(cell) = taken.iter().position(is_free) {
            taken[cell].insert(first, end);
            found[value.index()] = Some(cell as u8);
        }
    }
    Ok(found)
}
