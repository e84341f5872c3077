//! Classic BPF: a decision program for `SO_ATTACH_FILTER`, for libpcap and for xt_bpf.
//!
//! ```text
//! layout      nodes in topological order, so that jumps lead forward
//! blocks      the code of each node: values into A, X and cells (values.rs), then a question   switches become trees of comparisons
//! assemble    from the last block to the first, since a jump needs the distance to what is behind it (assemble.rs)
//! ```
//! A load that fails ends the program, so a check whose "no" rejects is a load, and is left out where the node behind it loads what
//! it asks for. A check whose "no" goes on cannot be written; the passes for this target make none.
//!
//! The code means the same in libpcap's `bpf_filter` and in the kernel, which differ: the kernel shifts by the low five bits of a distance,
//! and its addresses wrap around to data of its own. A distance that may be 32 or more is asked about, as is an address that may leave 31 bits.
//! A divisor has been asked about in any case: the verifier has seen a test against 0 in front of each.

mod assemble;
mod insn;
mod values;

pub use insn::{Insn, op};

use super::lir::layout::layout;
use super::lir::switch::merged;
use super::lir::uses::uses;
use crate::filled::filled;
use crate::ir::verify::Verified;
use crate::ir::{ACCEPT, Arm, CmpOp, Cond, Graph, Node, NodeId, REJECT, Switch, Value, ValueId};
use assemble::{Block, Exit, Label, assemble};
use std::fmt;
use values::{Held, Values};

/// What a program that accepts returns: how many bytes of the packet are wanted, more than any has.
pub const ACCEPTS: u32 = 262_144;

/// Instructions that the kernel takes.
pub const INSNS_MAX: usize = 4096;

/// So many arms of a switch are asked for one after the other.
const LINEAR_MAX: usize = 3;

/// The greatest address that is none of the kernel's own.
const ADDRESS_MAX: u32 = i32::MAX as u32;

/// Why a graph has no form in classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoProgram {
    /// More instructions than the kernel takes.
    TooLong {
        /// How many there would be; at least so many, where they were not counted to the end.
        insns: usize,
        /// The ranges of the largest set of numbers that a value is looked up in.
        set: usize,
    },
    /// Where a check of the captured length fails, the program would have to go on.
    GoesOn,
    /// It has other answers than no and yes.
    Leaves,
    /// A value is made of more than the 16 scratch cells can hold on the way.
    TooComplex,
    /// It asks a large set, which a program cannot call.
    Members,
    /// It reads a number of the caller's that is no ancillary data.
    Input(u32),
}

impl fmt::Display for NoProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoProgram::TooLong { insns, set } => {
                write!(f, "it needs {insns} instructions of BPF, of which the kernel takes {INSNS_MAX}")?;
                // What few ranges there are need few comparisons.
                if *set > INSNS_MAX / 8 {
                    write!(
                        f,
                        "; its largest set has {set} ranges, and each takes a comparison or two wherever it is looked up"
                    )?;
                }
                Ok(())
            }
            NoProgram::GoesOn => f.write_str(
                "a load outside of the packet ends a program of BPF, and this one would have to go on",
            ),
            NoProgram::Leaves => f.write_str("it has more answers than yes and no"),
            NoProgram::Members => {
                f.write_str("it looks a packet up in a set of a size for which BPF has no table")
            }
            NoProgram::TooComplex => f.write_str("it computes a value that needs more than 16 scratch cells"),
            NoProgram::Input(slot) => {
                write!(f, "its input {slot} is nothing that the kernel keeps beside a packet")
            }
        }
    }
}

/// The program of a graph, which returns [`ACCEPTS`] or 0. The inputs of the graph are loads from these offsets, by slot.
///
/// # Errors
/// Where it has no such form, and where it would be too long for the kernel.
pub fn program(graph: Verified<'_>, inputs: &[u32]) -> Result<Vec<Insn>, NoProgram> {
    let (graph, outputs) = (graph.graph(), graph.outputs());
    if graph.asks_members() {
        return Err(NoProgram::Members);
    }
    let layout = layout(graph);
    let uses = uses(graph, &layout, outputs);
    let mut writer = Writer {
        graph,
        values: Values::new(graph, &uses, inputs)?,
        entry: filled(None, graph.node_count()),
        blocks: Vec::new(),
        inner: 0,
        set: 0,
    };
    for (at, &node) in layout.order.iter().enumerate() {
        writer.node(at, node)?;
        writer.check_length()?;
    }
    let insns = assemble(&writer.blocks, |leaf| match graph.node(leaf) {
        Node::Leaf(REJECT) => Some(0),
        Node::Leaf(_) => Some(ACCEPTS),
        _ => None,
    });
    if insns.len() > INSNS_MAX {
        return Err(NoProgram::TooLong { insns: insns.len(), set: writer.set });
    }
    Ok(insns)
}

struct Writer<'g> {
    graph: &'g Graph,
    values: Values<'g>,
    /// By node, once a predecessor has been written: what every way to it leaves in registers and cells.
    entry: Vec<Option<Held>>,
    blocks: Vec<Block>,
    /// How many labels of blocks inside of nodes there are.
    inner: u32,
    /// The arms of the largest switch.
    set: usize,
}

impl Writer<'_> {
    fn node(&mut self, at: usize, id: NodeId) -> Result<(), NoProgram> {
        let graph = self.graph;
        self.values.begin(at, self.entry[id.index()].take().unwrap_or_default());
        match graph.node(id) {
            Node::Leaf(REJECT | ACCEPT) => {
                self.block(Label::Node(id), Exit::Return);
                return Ok(());
            }
            Node::Leaf(_) => return Err(NoProgram::Leaves),
            Node::Branch { cond, then, els } => match graph.pool.get_cond(*cond) {
                Cond::Bounds { base, end } => self.bounds(id, (base, end), [*then, *els])?,
                Cond::Cmp(op, a, b) => self.comparison(id, op, (a, b), [*then, *els])?,
                Cond::Test(a, mask) => self.test(id, op::JSET, (a, mask), [*then, *els])?,
                Cond::Member(_) => return Err(NoProgram::Members),
            },
            Node::Switch(switch) => self.switch(id, switch)?,
        }
        let held = self.values.held();
        let entry = &mut self.entry;
        graph.node(id).for_each_successor(|next| match &mut entry[next.index()] {
            Some(known) => known.keep_common(held),
            unknown => *unknown = Some(*held),
        });
        Ok(())
    }

    /// Ends the block at hand.
    fn block(&mut self, label: Label, exit: Exit) {
        let insns = self.values.take();
        self.blocks.push(Block { label, insns, exit });
    }

    fn inner(&mut self) -> Label {
        self.inner += 1;
        Label::Inner(self.inner)
    }

    /// A question about A and `k`, or X.
    fn ask(&mut self, label: Label, (test, k): (u16, Option<u32>), yes: Label, no: Label) {
        let source = if k.is_some() { 0 } else { op::X };
        let exit = match yes == no {
            true => Exit::Goto(yes),
            false => Exit::Jump { code: op::JMP | test | source, k: k.unwrap_or(0), yes, no },
        };
        self.block(label, exit);
    }

    fn comparison(
        &mut self,
        id: NodeId,
        kind: CmpOp,
        (a, b): (ValueId, ValueId),
        [then, els]: [NodeId; 2],
    ) -> Result<(), NoProgram> {
        let pool = &self.graph.pool;
        match (kind, pool.as_const(a), pool.as_const(b)) {
            (CmpOp::Eq, Some(_), None) => self.test(id, op::JEQ, (b, a), [then, els]),
            (CmpOp::Eq, ..) => self.test(id, op::JEQ, (a, b), [then, els]),
            // What is less than another is the other way round greater.
            (CmpOp::Lt, Some(_), None) => self.test(id, op::JGT, (b, a), [then, els]),
            (CmpOp::Lt, ..) => self.test(id, op::JGE, (a, b), [els, then]),
        }
    }

    fn test(
        &mut self,
        id: NodeId,
        test: u16,
        (a, b): (ValueId, ValueId),
        [yes, no]: [NodeId; 2],
    ) -> Result<(), NoProgram> {
        let k = self.graph.pool.as_const(b);
        self.values.prepare(&[a, b])?;
        match k {
            Some(_) => self.values.load_a(a)?,
            None => self.values.load_both(a, b)?,
        }
        self.ask(Label::Node(id), (test, k), Label::Node(yes), Label::Node(no));
        Ok(())
    }

    /// A check of the captured length: a load of its last byte, unless what comes then loads it.
    fn bounds(
        &mut self,
        id: NodeId,
        (base, end): (ValueId, u32),
        [then, els]: [NodeId; 2],
    ) -> Result<(), NoProgram> {
        if *self.graph.node(els) != Node::Leaf(REJECT) {
            return Err(NoProgram::GoesOn);
        }
        let k = self.graph.pool.as_const(base).unwrap_or(0);
        let known = match u64::from(end) + u64::from(k) {
            0 => Some(then),
            // No packet is so long.
            end if end > u64::from(ADDRESS_MAX) => Some(els),
            _ => None,
        };
        if let Some(to) = known {
            self.block(Label::Node(id), Exit::Goto(Label::Node(to)));
            return Ok(());
        }
        self.values.prepare(&[base])?;
        let last = end.saturating_sub(1);
        let mut label = Label::Node(id);
        let may_wrap = self.values.highest(base) > ADDRESS_MAX.saturating_sub(last);
        if may_wrap {
            self.values.load_x(base)?;
            self.values.load_a(base)?;
            let inside = self.inner();
            self.ask(label, (op::JGT, Some(ADDRESS_MAX.saturating_sub(last))), Label::Node(els), inside);
            label = inside;
        }
        if !self.loads(then, base, end) {
            self.values.touch(base, last)?;
        }
        self.block(label, Exit::Goto(Label::Node(then)));
        Ok(())
    }

    /// Whether a node does nothing before it has loaded the byte in front of `base + end`, or checked that it is there.
    fn loads(&self, node: NodeId, base: ValueId, end: u32) -> bool {
        let pool = &self.graph.pool;
        let roots: Vec<ValueId> = match self.graph.node(node) {
            Node::Leaf(_) => return false,
            Node::Branch { cond, .. } => match pool.get_cond(*cond) {
                Cond::Bounds { base: further, end: at } => {
                    return further == base && at >= end && at <= ADDRESS_MAX;
                }
                Cond::Cmp(_, a, b) | Cond::Test(a, b) => vec![a, b],
                Cond::Member(_) => return false,
            },
            Node::Switch(switch) if merged(switch).is_empty() => return false,
            Node::Switch(switch) => vec![switch.value],
        };
        let is_it = |value: &ValueId| match pool.get(*value) {
            Value::Load { base: of, offset, size, .. } => {
                of == base && u64::from(offset) + u64::from(size.bytes()) == u64::from(end)
            }
            _ => false,
        };
        // Few operations deep: what is deeper may be computed already.
        let inside = |value: &ValueId| pool.operands(*value).collect::<Vec<_>>();
        roots.iter().any(|root| {
            is_it(root) || inside(root).iter().any(|value| is_it(value) || inside(value).iter().any(is_it))
        })
    }

    fn switch(&mut self, id: NodeId, switch: &Switch) -> Result<(), NoProgram> {
        let arms = merged(switch);
        self.set = self.set.max(arms.len());
        if arms.is_empty() {
            self.block(Label::Node(id), Exit::Goto(Label::Node(switch.default)));
            return Ok(());
        }
        self.values.prepare(&[switch.value])?;
        self.values.load_a(switch.value)?;
        let high = self.values.highest(switch.value);
        let mut pending = vec![(Label::Node(id), &arms[..], 0, high)];
        while let Some((label, arms, low, high)) = pending.pop() {
            if arms.len() <= LINEAR_MAX {
                self.linear(label, arms, (low, high), switch.default);
                continue;
            }
            // The half in which a value can be: the first of the upper half is asked for.
            let (lower, upper) = arms.split_at(arms.len() / 2);
            let [below, above] = [self.inner(), self.inner()];
            self.ask(label, (op::JGE, Some(upper[0].low)), above, below);
            pending.push((above, upper, upper[0].low, high));
            pending.push((below, lower, low, upper[0].low - 1));
            self.check_length()?;
        }
        Ok(())
    }

    /// Ranges asked for one after the other, of a value from `low` to `high`.
    fn linear(&mut self, mut label: Label, arms: &[Arm], (mut low, high): (u32, u32), default: NodeId) {
        let default = Label::Node(default);
        for (i, arm) in arms.iter().enumerate() {
            let target = Label::Node(arm.target);
            let is_last = i + 1 == arms.len();
            let next = if is_last { default } else { self.inner() };
            if arm.low == arm.high {
                self.ask(label, (op::JEQ, Some(arm.low)), target, next);
            } else {
                // Below the range there is nothing: what is less was asked for before.
                if arm.low > low {
                    let inside = self.inner();
                    self.ask(label, (op::JGE, Some(arm.low)), inside, default);
                    label = inside;
                }
                if arm.high < high {
                    self.ask(label, (op::JGT, Some(arm.high)), next, target);
                } else {
                    self.block(label, Exit::Goto(target));
                }
                low = arm.high.saturating_add(1);
            }
            label = next;
        }
    }

    /// Ends the work on what is much too long already.
    fn check_length(&self) -> Result<(), NoProgram> {
        let insns = self.blocks.len();
        let within = insns <= 64 * INSNS_MAX && !self.values.is_too_long();
        if within { Ok(()) } else { Err(NoProgram::TooLong { insns, set: self.set }) }
    }
}
