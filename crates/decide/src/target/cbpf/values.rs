//! Values into the accumulator and the index register.
//!
//! ```text
//! for a node: what it needs of the values that are worth keeping and are not in a cell, operands first
//!     each into A by way of registers, and from there into a cell that no value is in which is needed again,
//!         or else into one whose value no more than later nodes need
//! ```
//! Worth keeping is what costs more than an instruction and is needed more than once. Six of the sixteen cells are for what is computed in
//! between. What is in a register or a cell is known on each way into a node, and is not computed again.

use super::{Insn, NoProgram, op};
use crate::filled::filled;
use crate::ir::{BinOp, Graph, Order, Size, Value, ValueId};
use crate::opt::Ranges;
use crate::target::lir::uses::Use;
use std::collections::{HashMap, HashSet};

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
    /// By value: how it is used along the layout.
    uses: &'g [Use],
    /// By value: whether it is worth a cell.
    is_kept: Vec<bool>,
    /// The position in the layout of the node at hand.
    at: u32,
    /// By value: how many cells computing it takes on the way, if nothing is held (Sethi and Ullman's number).
    needs: Vec<u8>,
    held: Held,
    insns: Vec<Insn>,
    /// Cells for what is computed in between that are in use.
    pending: usize,
}

impl<'g> Values<'g> {
    pub(super) fn new(graph: &'g Graph, uses: &'g [Use], inputs: &'g [u32]) -> Result<Self, NoProgram> {
        let mut ranges = Ranges::default();
        ranges.cover(&graph.pool);
        let values = Values {
            graph,
            inputs,
            ranges,
            uses,
            is_kept: worth_keeping(graph, uses)?,
            at: 0,
            needs: needs(graph),
            held: Held::default(),
            insns: Vec::new(),
            pending: 0,
        };
        Ok(values)
    }

    /// Begins the code of the node at this position of the layout.
    pub(super) fn begin(&mut self, at: usize, held: Held) {
        (self.at, self.held) = (at as u32, held);
    }

    /// Puts what these values are made of into cells, as far as it is worth that.
    pub(super) fn prepare(&mut self, roots: &[ValueId]) -> Result<(), NoProgram> {
        let (needed, last_uses) = self.needed(roots);
        for (i, &value) in needed.iter().enumerate() {
            self.load_a(value)?;
            let is_needed_here = |value: ValueId| {
                roots.contains(&value) || last_uses.get(&value).is_some_and(|last| *last > i)
            };
            let is_needed_later = |value: ValueId| self.uses[value.index()].last_end > self.at + 1;
            if !is_needed_here(value) && !is_needed_later(value) {
                continue;
            }
            // No value that this node still needs makes room; of others first what is not needed at all, then what is needed last.
            let room = |held: Option<ValueId>| match held {
                None => Some(u32::MAX),
                Some(held) if is_needed_here(held) => None,
                Some(held) if !is_needed_later(held) => Some(u32::MAX),
                // An address is made of those before it: to compute it again takes long.
                Some(held) if self.uses[held.index()].pinned => Some(0),
                Some(held) => Some(self.uses[held.index()].last_end),
            };
            let rooms =
                self.held.cells.iter().enumerate().filter_map(|(cell, held)| Some((room(*held)?, cell)));
            if let Some((_, cell)) = rooms.max_by_key(|(room, cell)| (*room, usize::MAX - cell)) {
                self.push(op::ST, cell as u32);
                self.held.cells[cell] = Some(value);
            }
        }
        Ok(())
    }

    /// The values worth keeping that these are made of and that nothing holds, operands first, and by value the last of them that is made of it.
    fn needed(&self, roots: &[ValueId]) -> (Vec<ValueId>, HashMap<ValueId, usize>) {
        let (mut seen, mut needed, mut pending) = (HashSet::new(), Vec::new(), roots.to_vec());
        while let Some(value) = pending.pop() {
            if self.cell(value).is_none() && self.header_length(value).is_none() && seen.insert(value) {
                needed.extend(self.is_kept[value.index()].then_some(value));
                pending.extend(self.graph.pool.operands(value));
            }
        }
        needed.sort_unstable();
        let mut last_uses = HashMap::new();
        for (i, &user) in needed.iter().enumerate() {
            // Through what is not kept itself.
            let mut pending: Vec<ValueId> = self.graph.pool.operands(user).collect();
            while let Some(value) = pending.pop() {
                last_uses.insert(value, i);
                if !self.is_kept[value.index()] {
                    pending.extend(self.graph.pool.operands(value));
                }
            }
        }
        // The rest is made of what is left at the end.
        let mut pending: Vec<ValueId> = roots.to_vec();
        while let Some(value) = pending.pop() {
            last_uses.insert(value, needed.len());
            if !self.is_kept[value.index()] {
                pending.extend(self.graph.pool.operands(value));
            }
        }
        (needed, last_uses)
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
                self.load_x(base)?;
                self.push(op::LD | op::IND | op::B, offset);
            }
        }
        self.held.a = None;
        Ok(())
    }

    /// A value into A.
    pub(super) fn load_a(&mut self, value: ValueId) -> Result<(), NoProgram> {
        if self.held.a == Some(value) || self.is_too_long() {
            return Ok(());
        }
        match self.cell(value) {
            Some(cell) => self.push(op::LD | op::MEM, cell),
            None => self.compute(value)?,
        }
        self.held.a = Some(value);
        Ok(())
    }

    /// The cell that holds a value.
    fn cell(&self, value: ValueId) -> Option<u32> {
        self.held.cells.iter().position(|held| *held == Some(value)).map(|cell| cell as u32)
    }

    /// A value into X. It may take A.
    pub(super) fn load_x(&mut self, value: ValueId) -> Result<(), NoProgram> {
        if self.held.x == Some(value) {
            return Ok(());
        }
        if !self.directly_to_x(value) {
            self.load_a(value)?;
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
    pub(super) fn load_both(&mut self, a: ValueId, x: ValueId) -> Result<(), NoProgram> {
        let a_is_direct = self.is_direct_to_a(a);
        if self.held.x == Some(x) && (a_is_direct || self.held.a == Some(a)) {
            return self.load_a(a);
        }
        if self.is_direct_to_x(x) {
            self.load_a(a)?;
            self.directly_to_x(x);
            self.held.x = Some(x);
            return Ok(());
        }
        if a_is_direct {
            self.load_x(x)?;
            return self.load_a(a);
        }
        // Neither can wait in its register while the other is computed: the one that needs more cells on the way comes first.
        let x_is_first = self.needs[x.index()] >= self.needs[a.index()];
        let (first, second) = if x_is_first { (x, a) } else { (a, x) };
        self.load_a(first)?;
        let cell = match self.cell(first) {
            Some(cell) => {
                self.load_a(second)?;
                cell
            }
            None => {
                let cell = self.temporary()?;
                self.push(op::ST, cell);
                self.load_a(second)?;
                self.pending -= 1;
                cell
            }
        };
        if x_is_first {
            self.push(op::LDX | op::MEM, cell);
        } else {
            self.push(op::MISC | op::TAX, 0);
            self.push(op::LD | op::MEM, cell);
            self.held.a = Some(a);
        }
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
                        self.load_x(base)?;
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
                self.load_a(b)?;
                self.push(op::ALU | op::NEG, 0);
            }
            // The kernel has no such distance. What is shifted is computed nevertheless: it may be a load that a check relies on.
            (_, Some(32..)) if is_shift(kind) => {
                self.load_a(a)?;
                self.push(op::ALU | op::AND, 0);
            }
            (_, Some(k)) => {
                self.load_a(a)?;
                self.push(code, k);
            }
            (_, None) => {
                self.load_both(a, b)?;
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

/// How many cells it takes to compute each value, by value.
fn needs(graph: &Graph) -> Vec<u8> {
    let pool = &graph.pool;
    let mut needs = filled(0_u8, pool.value_count());
    for value in (0..pool.value_count() as u32).map(ValueId) {
        let is_direct = |value: ValueId| {
            header_length(graph, value).is_some() || matches!(pool.get(value), Value::Const(_) | Value::Len)
        };
        let need = match pool.get(value) {
            _ if header_length(graph, value).is_some() => 0,
            Value::Load { base, .. } => needs[base.index()],
            Value::Op(_, a, b) if is_direct(b) => needs[a.index()],
            Value::Op(_, a, b) => {
                let (a, b) = (needs[a.index()], needs[b.index()]);
                if a == b { a.saturating_add(1) } else { a.max(b) }
            }
            Value::Const(_) | Value::Len | Value::Input(_) => 0,
        };
        needs[value.index()] = need;
    }
    needs
}

/// Which values are worth a cell, by value.
fn worth_keeping(graph: &Graph, uses: &[Use]) -> Result<Vec<bool>, NoProgram> {
    let pool = &graph.pool;
    let count = pool.value_count();
    // Whether one instruction computes a value, how deep it is, and how many values are made of it.
    let (mut is_cheap, mut depth, mut users) =
        (filled(true, count), filled(0_u32, count), filled(0_u32, count));
    for value in (0..count as u32).map(ValueId).filter(|value| uses[value.index()].last_end > 0) {
        for operand in pool.operands(value) {
            users[operand.index()] += 1;
            depth[value.index()] = depth[value.index()].max(depth[operand.index()] + 1);
        }
        is_cheap[value.index()] = match pool.get(value) {
            _ if header_length(graph, value).is_some() => true,
            Value::Load { base, .. } => pool.as_const(base).is_some(),
            Value::Op(..) => false,
            Value::Const(_) | Value::Len | Value::Input(_) => true,
        };
        if depth[value.index()] > DEPTH_MAX {
            return Err(NoProgram::TooComplex);
        }
    }
    let is_worth = |(i, used): (usize, &Use)| {
        !is_cheap[i] && (users[i] > 1 || used.last_end > used.first.saturating_add(1))
    };
    Ok(uses.iter().enumerate().map(is_worth).collect())
}
