//! Instruction selection: from graph to straight code over virtual registers.
//!
//! Nodes are taken in layout order. On entry to a node some values are *kept*: every path to it has computed
//! them, into the same register. What a node needs beyond them it computes.
//!
//! ```text
//! kept on entry(n) = what is kept on exit of every predecessor, where the registers agree
//! kept on exit(n)  = the above and what n computed, less what has no use further down
//! ```
//! A *pinned* value (see `uses`) has one register for life and is always kept while anything below
//! could use it. So wherever the verifier has found a guard on every path, the value that was guarded is kept, and is
//! never computed again from a packet that may have changed. Other values are dropped when too many are kept:
//! loading them again from the packet costs no more than loading them from the stack.

use super::NoCode;
use super::layout::{Layout, layout};
use super::program::{Address, Block, Exit, Inst, Label, Operand, Program, Relation, Table, TableId, Test};
use super::uses::{Use, uses};
use crate::ir::verify::{Outputs, Verified};
use crate::ir::{BinOp, CmpOp, Cond, Graph, MembersId, Node, NodeId, Order, Size, Value, ValueId};
use std::fmt;
use std::sync::Arc;

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VReg(pub u32);

/// Holds the wire length from the start.
pub const WIRE_LEN: VReg = VReg(0);

/// Not in a register.
const NOWHERE: VReg = VReg(u32::MAX);

/// How many values that are not pinned are kept at once.
const KEPT_MAX: usize = 5;

/// How many pinned values may be kept at once: they end in stack slots, and a frame must stay below a page.
const PINNED_MAX: usize = 256;

impl fmt::Display for VReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == WIRE_LEN { f.write_str("wire_len") } else { write!(f, "v{}", self.0) }
    }
}

/// What selection depends on besides the graph.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Of how many bytes an instruction compares memory with a constant, or tests bits of it, the bytes taken as a little-endian
    /// number. Other loads go to a register. A load/store machine has none.
    pub compares_memory: &'static [Size],
    /// Picks the hash functions of tables.
    pub seed: u64,
}

/// Selects instructions.
///
/// # Errors
/// [`NoCode::TooComplex`] when more values must stay available at once than a stack frame holds.
pub fn select(graph: Verified<'_>, machine: Machine) -> Result<Program<VReg>, NoCode> {
    let graph = graph.graph();
    let layout = layout(graph);
    let mut selector = Selector::new(graph, &layout, machine);
    for (at, &node) in (0..).zip(&layout.order) {
        selector.node(at, node)?;
    }
    Ok(selector.program)
}

/// Values and the registers that hold them, by value.
type Kept = Vec<(ValueId, VReg)>;

pub(super) struct Selector<'g> {
    pub(super) graph: &'g Graph,
    pub(super) layout: &'g Layout,
    /// By value.
    uses: Vec<Use>,
    pub(super) machine: Machine,
    pub(super) program: Program<VReg>,
    /// By node.
    entry: Vec<Entry>,
    /// The position of the node in hand, or of the last whose values it computes.
    pub(super) at: u32,
    /// By value.
    places: Vec<InRegister>,
    /// The values that are held.
    holding: Vec<ValueId>,
    registers: u32,
    /// Where the instructions of the block in hand begin.
    block_start: u32,
    /// Values that the present node leaves to its successors.
    kept: Kept,
    /// Scratch of whatever looks at values and their operands.
    pub(super) pending: Vec<ValueId>,
}

/// Facts about a node before its turn.
#[derive(Clone)]
enum Entry {
    /// Nothing: no predecessor has been done.
    Unknown,
    /// Values that are kept on entry.
    Kept(Kept),
    /// That it has become part of its predecessor's block.
    Absorbed,
}

/// Where a value is.
#[derive(Clone, Copy)]
struct InRegister {
    /// The register that holds it at this point.
    held: VReg,
    /// The register of a pinned value.
    home: VReg,
}

impl<'g> Selector<'g> {
    pub(super) fn new(graph: &'g Graph, layout: &'g Layout, machine: Machine) -> Self {
        let values = graph.pool.value_count();
        Selector {
            graph,
            layout,
            uses: uses(graph, layout, Outputs::default()),
            machine,
            program: Program {
                blocks: Vec::with_capacity(layout.order.len()),
                insts: Vec::with_capacity(layout.order.len()),
                tables: Vec::new(),
                labels: layout.order.len() as u32,
                reads_wire_len: false,
                inputs: None,
                outputs: 0,
                calls: false,
            },
            entry: vec![Entry::Unknown; graph.node_count()],
            at: 0,
            places: vec![InRegister { held: NOWHERE, home: NOWHERE }; values],
            holding: Vec::with_capacity(8),
            registers: 1,
            block_start: 0,
            kept: Vec::with_capacity(8),
            pending: Vec::with_capacity(8),
        }
    }

    fn node(&mut self, at: u32, id: NodeId) -> Result<(), NoCode> {
        let kept = match std::mem::replace(&mut self.entry[id.index()], Entry::Unknown) {
            Entry::Absorbed => return Ok(()),
            Entry::Kept(kept) => kept,
            Entry::Unknown => Vec::new(),
        };
        self.at = at;
        kept.iter().for_each(|&(value, register)| self.hold(value, register));
        match self.graph.node(id) {
            Node::Leaf(leaf) => self.finish_block(id, self.label(id), Exit::Leaf(*leaf)),
            _ if self.chain(id) => {}
            Node::Branch { cond, then, els } => {
                let test = self.test(self.graph.pool.get_cond(*cond));
                let exit = Exit::Branch { test, then: self.label(*then), els: self.label(*els) };
                self.finish_block(id, self.label(id), exit);
            }
            Node::Switch(switch) => self.switch(id, switch),
        }
        self.keep()?;
        self.pass_on(id, kept);
        Ok(())
    }

    /// Tells a node's successors what it keeps; `spare` is of no more use.
    fn pass_on(&mut self, id: NodeId, mut spare: Kept) {
        let (graph, entry, kept) = (self.graph, &mut self.entry, &self.kept);
        graph.node(id).for_each_successor(|next| match &mut entry[next.index()] {
            // Leaves look at nothing.
            _ if matches!(graph.node(next), Node::Leaf(_)) => {}
            Entry::Absorbed => {}
            Entry::Kept(known) => meet(known, kept),
            unknown => {
                let mut copy = std::mem::take(&mut spare);
                copy.clone_from(kept);
                *unknown = Entry::Kept(copy);
            }
        });
    }

    /// Makes a node part of the block in hand.
    pub(super) fn absorb(&mut self, node: NodeId) {
        self.entry[node.index()] = Entry::Absorbed;
        self.at = self.at.max(self.layout.position[node.index()]);
    }

    pub(super) fn finish_block(&mut self, origin: NodeId, label: Label, exit: Exit<VReg>) {
        let end = self.program.insts.len() as u32;
        let insts = std::mem::replace(&mut self.block_start, end)..end;
        self.program.blocks.push(Block { label, origin, insts, exit });
    }

    fn hold(&mut self, value: ValueId, register: VReg) {
        self.places[value.index()].held = register;
        self.holding.push(value);
    }

    /// Ends a node: chooses what to keep of all that is held.
    fn keep(&mut self) -> Result<(), NoCode> {
        self.kept.clear();
        let mut others = 0;
        for value in self.holding.drain(..) {
            let register = std::mem::replace(&mut self.places[value.index()].held, NOWHERE);
            let used = &self.uses[value.index()];
            let used_till = if used.pinned { used.last_end } else { used.last_direct_end };
            if used_till > self.at + 1 && (used.pinned || self.graph.pool.as_const(value).is_none()) {
                others += usize::from(!used.pinned);
                self.kept.push((value, register));
            }
        }
        if self.kept.len() - others > PINNED_MAX {
            return Err(NoCode::TooComplex);
        }
        if others > KEPT_MAX {
            // Those that are not pinned and used last go first.
            let uses = &self.uses;
            self.kept.sort_by_key(|(value, _)| {
                let used = &uses[value.index()];
                if used.pinned { 0 } else { used.last_direct_end }
            });
            self.kept.truncate(self.kept.len() - (others - KEPT_MAX));
        }
        self.kept.sort_unstable();
        Ok(())
    }

    pub(super) fn test(&mut self, cond: Cond) -> Test<VReg> {
        match cond {
            Cond::Cmp(op, a, b) => self.compare(op, a, b),
            Cond::Test(a, b) => match (self.graph.pool.as_const(a), self.graph.pool.as_const(b)) {
                (_, Some(mask)) => self.mask(a, mask),
                (Some(mask), None) => self.mask(b, mask),
                (None, None) => Test::Mask(self.reg(a), Operand::Reg(self.reg(b))),
            },
            Cond::Member(members) => self.call(members),
            Cond::Bounds { base, end } => match self.graph.pool.as_const(base) {
                Some(k) => Test::Captured(u64::from(k) + u64::from(end)),
                None => Test::Bounds(self.reg(base), end),
            },
        }
    }

    /// A row for a large set, and what that answers.
    fn call(&mut self, members: MembersId) -> Test<VReg> {
        let graph = self.graph;
        let words: Vec<VReg> = graph.pool.member_words(members).iter().map(|&word| self.reg(word)).collect();
        for (at, src) in (0..).zip(words) {
            self.push(Inst::Word { at, src });
        }
        let table = self.table(Table::Members(Arc::new(Arc::clone(graph.pool.members(members)))));
        let dst = self.fresh();
        self.push(Inst::Ask { dst, table });
        self.program.calls = true;
        Test::Mask(dst, Operand::Const(1))
    }

    fn compare(&mut self, op: CmpOp, a: ValueId, b: ValueId) -> Test<VReg> {
        let (relation, mirrored) = match op {
            CmpOp::Eq => (Relation::Equal, Relation::Equal),
            CmpOp::Lt => (Relation::Below, Relation::Above),
        };
        match (self.graph.pool.as_const(a), self.graph.pool.as_const(b)) {
            (_, Some(k)) => self.compare_const(relation, a, k),
            (Some(k), None) => self.compare_const(mirrored, b, k),
            (None, None) => Test::Compare(relation, self.reg(a), Operand::Reg(self.reg(b))),
        }
    }

    /// Compares in memory where that saves a register.
    fn compare_const(&mut self, relation: Relation, value: ValueId, k: u32) -> Test<VReg> {
        if let Some(load) = self.passing_load(value) {
            let ordered = load.order == Order::Little || load.size == Size::B1;
            if k <= load.size.max() && (ordered || relation == Relation::Equal) {
                let k = load.as_it_lies(k);
                let at = self.address(load.base, load.offset);
                return if self.compares_memory(load.size) {
                    Test::CompareMemory(relation, at, load.size, k)
                } else {
                    Test::Compare(relation, self.load_as_it_lies(at, load.size), Operand::Const(k))
                };
            }
        }
        Test::Compare(relation, self.reg(value), Operand::Const(k))
    }

    fn mask(&mut self, value: ValueId, mask: u32) -> Test<VReg> {
        let Some(load) = self.passing_load(value) else {
            return Test::Mask(self.reg(value), Operand::Const(mask));
        };
        let mask = load.as_it_lies(mask & load.size.max());
        let at = self.address(load.base, load.offset);
        // An empty mask, which never holds, still must not look past the load.
        let byte = if mask == 0 { 0 } else { mask.trailing_zeros() / 8 };
        let (at, size, mask) = if mask >> (8 * byte) <= 0xff {
            (Address { offset: at.offset + u64::from(byte), ..at }, Size::B1, mask >> (8 * byte))
        } else {
            (at, load.size, mask)
        };
        if self.compares_memory(size) {
            Test::MaskMemory(at, size, mask)
        } else {
            Test::Mask(self.load_as_it_lies(at, size), Operand::Const(mask))
        }
    }

    fn compares_memory(&self, size: Size) -> bool {
        self.machine.compares_memory.contains(&size)
    }

    /// The load that this value is, if nothing else will want it.
    fn passing_load(&self, value: ValueId) -> Option<PassingLoad> {
        let used = &self.uses[value.index()];
        match self.graph.pool.get(value) {
            Value::Load { base, offset, size, order }
                if self.places[value.index()].held == NOWHERE
                    && !used.pinned
                    && used.last_direct_end <= self.at + 1 =>
            {
                Some(PassingLoad { base, offset, size, order })
            }
            _ => None,
        }
    }

    fn load_as_it_lies(&mut self, at: Address<VReg>, size: Size) -> VReg {
        let dst = self.fresh();
        self.program.insts.push(Inst::Load { dst, at, size, order: Order::Little });
        dst
    }

    fn address(&mut self, base: ValueId, offset: u32) -> Address<VReg> {
        match self.graph.pool.as_const(base) {
            Some(k) => Address { base: None, offset: u64::from(k) + u64::from(offset) },
            None => Address { base: Some(self.reg(base)), offset: u64::from(offset) },
        }
    }

    pub(super) fn fresh(&mut self) -> VReg {
        self.registers += 1;
        VReg(self.registers - 1)
    }

    /// The label of a node's first block.
    pub(super) fn label(&self, node: NodeId) -> Label {
        Label(self.layout.position[node.index()])
    }

    pub(super) fn fresh_label(&mut self) -> Label {
        self.program.labels += 1;
        Label(self.program.labels - 1)
    }

    pub(super) fn push(&mut self, inst: Inst<VReg>) {
        self.program.insts.push(inst);
    }

    pub(super) fn table(&mut self, table: Table) -> TableId {
        self.program.tables.push(table);
        TableId(self.program.tables.len() as u32 - 1)
    }

    /// The register that holds a value, computed here if need be, operands first. The stack is our own: a value
    /// may be as deep as its text is long.
    pub(super) fn reg(&mut self, value: ValueId) -> VReg {
        if let Some(register) = self.register_of(value) {
            return register;
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.clear();
        pending.push(value);
        while let Some(&next) = pending.last() {
            let waiting = pending.len();
            if self.register_of(next).is_none() {
                let operands = self.register_operands(next);
                pending.extend(operands.into_iter().flatten().filter(|&v| self.register_of(v).is_none()));
                if pending.len() == waiting {
                    self.compute(next);
                }
            }
            if pending.len() == waiting {
                pending.pop();
            }
        }
        self.pending = pending;
        self.register_of(value).expect("computed above")
    }

    fn register_of(&mut self, value: ValueId) -> Option<VReg> {
        if self.graph.pool.get(value) == Value::Len {
            self.program.reads_wire_len = true;
            return Some(WIRE_LEN);
        }
        Some(self.places[value.index()].held).filter(|&register| register != NOWHERE)
    }

    /// The operands that computing a value needs in registers.
    fn register_operands(&self, value: ValueId) -> [Option<ValueId>; 2] {
        let variable = |v: ValueId| self.graph.pool.as_const(v).is_none().then_some(v);
        match self.graph.pool.get(value) {
            Value::Const(_) | Value::Len | Value::Input(_) => [None, None],
            Value::Load { base, .. } => [variable(base), None],
            Value::Op(op, a, b) => {
                let (a, b) = self.constant_last(op, a, b);
                [Some(a), variable(b)]
            }
        }
    }

    fn constant_last(&self, op: BinOp, a: ValueId, b: ValueId) -> (ValueId, ValueId) {
        if op.commutes() && self.graph.pool.as_const(a).is_some() { (b, a) } else { (a, b) }
    }

    /// Computes a value whose operands are held.
    fn compute(&mut self, value: ValueId) {
        let dst = self.destination(value);
        let inst = match self.graph.pool.get(value) {
            Value::Const(k) => Inst::Const { dst, k },
            Value::Len => unreachable!("the wire length has its register from the start"),
            Value::Input(slot) => {
                self.program.inputs = Some(self.graph.pool.inputs());
                Inst::Input { dst, slot }
            }
            Value::Load { base, offset, size, order } => {
                Inst::Load { dst, at: self.address(base, offset), size, order }
            }
            Value::Op(op, a, b) => {
                let (a, b) = self.constant_last(op, a, b);
                let b = match self.graph.pool.as_const(b) {
                    Some(k) => Operand::Const(k),
                    None => Operand::Reg(self.held_register(b)),
                };
                Inst::Op { op, dst, a: self.held_register(a), b }
            }
        };
        self.program.insts.push(inst);
        self.hold(value, dst);
    }

    fn held_register(&mut self, value: ValueId) -> VReg {
        self.register_of(value).expect("operands are computed first")
    }

    fn destination(&mut self, value: ValueId) -> VReg {
        if !self.uses[value.index()].pinned {
            return self.fresh();
        }
        if self.places[value.index()].home == NOWHERE {
            self.places[value.index()].home = self.fresh();
        }
        self.places[value.index()].home
    }
}

/// A load that need not go to a register of its own.
struct PassingLoad {
    base: ValueId,
    offset: u32,
    size: Size,
    order: Order,
}

impl PassingLoad {
    /// A constant of the load's size, as the bytes that it is compared with lie in memory.
    fn as_it_lies(&self, k: u32) -> u32 {
        match (self.size, self.order) {
            (Size::B2, Order::Network) => u32::from((k as u16).swap_bytes()),
            (Size::B4, Order::Network) => k.swap_bytes(),
            _ => k,
        }
    }
}

/// Leaves in `kept` what is the same in both. Both are sorted.
fn meet(kept: &mut Kept, other: &Kept) {
    let mut others = other.iter().peekable();
    kept.retain(|entry| {
        while others.next_if(|other| other.0 < entry.0).is_some() {}
        others.peek().is_some_and(|&other| other == entry)
    });
}
