//! From graph to steps, once a filter.
//!
//! Nodes are taken in layout order. A value is computed at the first node that needs it, and used from there by every
//! node that this one dominates; another node computes it again, into a column of its own.
//!
//! **Fetches are wide**, since sixteen bytes cost little more than one: a [`Window`] holds what nodes further down want
//! as well. It must lie in what was captured of every packet that is there. That is what guards have asked for that
//! every path to the node passes on their yes side ([`Translator::captured`]), or the wanted bytes themselves, of which
//! the verifier knows it.
//!
//! **What a guard was about is computed once** for each packet, as in [`crate::target::lir::select`]: in a shared ring another
//! party may write to the packet. Where more than one node computes such a value, all share one column, to which a
//! packet's number is added once ([`Step::Keep`]).

use super::program::{
    ACCEPT, At, Bits, Column, Ends, Mask, MaskProgram, REJECT, Range, Step, Switch, Test, WIRE,
};
use super::window::{Fetches, Field, Pair, Wanted, Window};
use crate::ir::dominators::Dominators;
use crate::ir::print::operands;
use crate::ir::verify::Verified;
use crate::ir::{self, BinOp, CmpOp, Cond, Graph, Node, NodeId, Value, ValueId};
use crate::target::lir::layout::{Layout, layout};
use crate::target::lir::uses::pinned;

/// Nodes of the largest graph that is translated, and values: looking for windows takes their product.
const NODES_MAX: usize = 1024;
const VALUES_MAX: usize = 4096;
/// Columns of the largest program: half a megabyte.
const COLUMNS_MAX: u16 = 512;

/// Translates a graph, with such fetches and ends; `None` where it is too large for that.
pub(super) fn translate(graph: Verified<'_>, fetches: Fetches, ends: Ends) -> Option<MaskProgram> {
    let graph = graph.graph();
    let layout = layout(graph);
    if layout.order.len() > NODES_MAX || graph.pool.value_count() > VALUES_MAX {
        return None;
    }
    let mut translator = Translator::new(graph, &layout, fetches, ends);
    for at in 0..layout.order.len() {
        translator.node(at)?;
    }
    translator.sweep();
    translator.patch_skips();
    Some(translator.program)
}

struct Translator<'g> {
    graph: &'g Graph,
    layout: &'g Layout,
    fetches: Fetches,
    dominators: Dominators,
    /// By value: the nodes that evaluate it, itself or on the way to another.
    users: Vec<Vec<NodeId>>,
    pinned: Vec<bool>,
    /// By value: the nodes that have computed it, and where to.
    computed: Vec<Vec<(NodeId, Source)>>,
    /// By value, if it is pinned and more than one node computes it: which lanes have it.
    done: Vec<Option<Mask>>,
    /// By column: the bits that it is made of.
    bits: Vec<Option<(Column, Bits)>>,
    /// By node.
    mask: Vec<Mask>,
    /// The steps with which nodes begin.
    begins: Vec<(usize, NodeId)>,
    here: NodeId,
    /// The node with whose lanes the steps so far go on.
    goes_on: Option<NodeId>,
    program: MaskProgram,
}

/// Where a value is, for the lanes of a node.
#[derive(Clone, Copy, Debug)]
enum Source {
    Column(Column),
    Field(Field),
}

/// A test, unless the answer is the same for all.
enum Question {
    If(Test),
    Known(bool),
}

impl<'g> Translator<'g> {
    fn new(graph: &'g Graph, layout: &'g Layout, fetches: Fetches, ends: Ends) -> Self {
        let Masks { of_node: mask, count: masks, leaves } = Masks::new(graph, layout, ends);
        let values = graph.pool.value_count();
        let (inputs, columns) = inputs(graph, layout);
        Translator {
            graph,
            layout,
            fetches,
            dominators: Dominators::new(graph, &graph.topological()),
            users: users(graph, layout),
            pinned: pinned(graph),
            computed: vec![Vec::new(); values],
            done: vec![None; values],
            bits: vec![None; usize::from(COLUMNS_MAX)],
            begins: Vec::new(),
            here: graph.root,
            goes_on: Some(graph.root),
            program: MaskProgram {
                steps: Vec::new(),
                root: mask[graph.root.index()],
                columns,
                masks,
                switches: Vec::new(),
                leaves,
                reads_wire_len: false,
                inputs,
                row: graph.pool.inputs() as usize,
            },
            mask,
        }
    }

    fn node(&mut self, at: usize) -> Option<()> {
        let node = self.layout.order[at];
        self.here = node;
        if matches!(self.graph.node(node), Node::Leaf(_)) {
            return Some(());
        }
        if self.goes_on.take() != Some(node) {
            self.begin(node, Step::Enter { mask: self.mask_of(node), skip_to: 0 });
        }
        match self.graph.node(node) {
            Node::Leaf(_) => {}
            Node::Branch { cond, then, els } => match self.question(self.graph.pool.get_cond(*cond))? {
                Question::If(test) => self.branch(at, test, *then, *els),
                Question::Known(yes) => {
                    let to = self.mask_of(if yes { *then } else { *els });
                    self.push(Step::Branch { test: Test::Captured { end: 0 }, then: to, els: to });
                }
            },
            Node::Switch(switch) => self.switch(switch)?,
        }
        Some(())
    }

    fn push(&mut self, step: Step) {
        self.program.steps.push(step);
    }

    /// A step that skips what the node dominates where it has no lanes.
    fn begin(&mut self, node: NodeId, step: Step) {
        self.begins.push((self.program.steps.len(), node));
        self.push(step);
    }

    fn mask_of(&self, node: NodeId) -> Mask {
        self.mask[node.index()]
    }

    /// Goes on with the lanes for the next node, if they come from nowhere else.
    fn branch(&mut self, at: usize, test: Test, then: NodeId, els: NodeId) {
        let next = self.layout.order.get(at + 1).copied().filter(|next| {
            let only = self.layout.edges_in[next.index()] == 1;
            only && !matches!(self.graph.node(*next), Node::Leaf(_))
        });
        let (negated, rest) = if next == Some(then) { (false, els) } else { (true, then) };
        let rest = self.mask_of(rest);
        match next.filter(|&next| next == then || next == els) {
            Some(next) => {
                match self.with_the_last(test, negated, rest) {
                    Some(joined) => self.push(Step::Fork { test: joined, negated: false, rest, skip_to: 0 }),
                    None => self.begin(next, Step::Fork { test, negated, rest, skip_to: 0 }),
                }
                self.goes_on = Some(next);
            }
            None => self.end(test, self.mask_of(then), self.mask_of(els)),
        }
    }

    /// Sends the lanes where the test sends them.
    fn end(&mut self, test: Test, then: Mask, els: Mask) {
        if let Some(test) = self.with_the_last(test, false, els) {
            self.begins.pop();
            self.push(Step::Branch { test, then, els });
        } else if let Some(test) = self.with_the_last(test, true, then) {
            self.begins.pop();
            self.push(Step::Branch { test, then: els, els: then });
        } else {
            self.push(Step::Branch { test, then, els });
        }
    }

    /// One test in place of the step before, which is taken back, and of a test of the same column behind it, if both send
    /// the others to the same mask.
    ///
    /// PERF: protocol and fragment of an IPv4 header are in one column as a rule.
    fn with_the_last(&mut self, test: Test, negated: bool, rest: Mask) -> Option<Test> {
        let Some(&Step::Fork { test: last, negated: last_negated, rest: last_rest, .. }) =
            self.program.steps.last()
        else {
            return None;
        };
        let joined = last.equality(last_negated)?.and(test.equality(negated)?)?;
        (last_rest == rest).then(|| {
            self.program.steps.pop();
            joined.test()
        })
    }

    fn switch(&mut self, switch: &ir::Switch) -> Option<()> {
        let value = self.column(switch.value)?;
        let range = |arm: &ir::Arm| Range { low: arm.low, high: arm.high, to: self.mask_of(arm.target) };
        let arms = switch.arms.iter().map(range).collect();
        self.program.switches.push(Switch { arms, default: self.mask_of(switch.default) });
        let switch = u16::try_from(self.program.switches.len() - 1).ok()?;
        self.push(Step::Switch { value, switch });
        Some(())
    }

    fn question(&mut self, cond: Cond) -> Option<Question> {
        let constant = |value| self.graph.pool.as_const(value);
        let test = match cond {
            Cond::Bounds { base, end } => match constant(base) {
                Some(k) => match k.checked_add(end) {
                    Some(end) => Test::Captured { end },
                    None => return Some(Question::Known(false)),
                },
                None => Test::Bounds { base: self.column(base)?, end },
            },
            Cond::Cmp(op, a, b) => match (op, constant(a), constant(b)) {
                (CmpOp::Eq, _, Some(k)) => return self.equal(a, k),
                (CmpOp::Eq, Some(k), None) => return self.equal(b, k),
                (CmpOp::Lt, _, Some(k)) => Test::Below { a: self.column(a)?, k },
                (CmpOp::Lt, Some(k), None) => Test::Above { a: self.column(b)?, k },
                (CmpOp::Eq, None, None) => Test::EqualColumns { a: self.column(a)?, b: self.column(b)? },
                (CmpOp::Lt, None, None) => Test::BelowColumns { a: self.column(a)?, b: self.column(b)? },
            },
            // Machine code calls the set for each packet: nothing is gained by columns.
            Cond::Member(_) => return None,
            Cond::Test(a, b) => match (constant(a), constant(b)) {
                (_, Some(mask)) => self.any(a, mask)?,
                (Some(mask), None) => self.any(b, mask)?,
                (None, None) => Test::AnyColumns { a: self.column(a)?, b: self.column(b)? },
            },
        };
        Some(Question::If(test))
    }

    /// `value == k`, asked of the bytes as they lie in a column where that is possible.
    fn equal(&mut self, value: ValueId, k: u32) -> Option<Question> {
        let (value, mask) = self.masked(value);
        let (a, mask, k) = match self.source(value)? {
            _ if k & !mask != 0 => return Some(Question::Known(false)),
            Source::Column(a) => (a, mask, k),
            Source::Field(field) if k > field.size.max() => return Some(Question::Known(false)),
            Source::Field(field) => {
                (field.column, field.as_it_lies(mask & field.size.max()), field.as_it_lies(k))
            }
        };
        Some(Question::If(if mask == u32::MAX {
            Test::Equal { a, k }
        } else {
            Test::EqualMasked { a, mask, k }
        }))
    }

    /// `value & mask != 0`, likewise.
    fn any(&mut self, value: ValueId, mask: u32) -> Option<Test> {
        let (value, inner) = self.masked(value);
        let mask = mask & inner;
        Some(match self.source(value)? {
            Source::Column(a) => Test::Any { a, mask },
            Source::Field(field) => {
                Test::Any { a: field.column, mask: field.as_it_lies(mask & field.size.max()) }
            }
        })
    }

    /// A value as bits of another one.
    fn masked(&self, value: ValueId) -> (ValueId, u32) {
        match self.graph.pool.get(value) {
            Value::Op(BinOp::And, a, b) if !self.pinned[value.index()] => {
                match (self.graph.pool.as_const(a), self.graph.pool.as_const(b)) {
                    (_, Some(mask)) => (a, mask),
                    (Some(mask), None) => (b, mask),
                    (None, None) => (value, u32::MAX),
                }
            }
            _ => (value, u32::MAX),
        }
    }

    /// The value in a column of its own.
    fn column(&mut self, value: ValueId) -> Option<Column> {
        match self.source(value)? {
            Source::Column(column) => Some(column),
            Source::Field(field) => {
                let column = self.take_out(field)?;
                self.note(value, Source::Column(column));
                Some(column)
            }
        }
    }

    /// The value at this node, computed here if need be, operands first. The stack is our own: a value may be as deep
    /// as its text is long.
    fn source(&mut self, root: ValueId) -> Option<Source> {
        let mut pending = vec![root];
        while let Some(&value) = pending.last() {
            let waiting = pending.len();
            if self.known(value).is_none() {
                let pool = &self.graph.pool;
                let unknown = |&v: &ValueId| pool.as_const(v).is_none() && self.known(v).is_none();
                pending.extend(pool.operands(value).filter(unknown));
                if pending.len() > waiting {
                    continue;
                }
                self.compute(value)?;
            }
            pending.pop();
        }
        self.known(root)
    }

    fn known(&self, value: ValueId) -> Option<Source> {
        match self.graph.pool.get(value) {
            Value::Len => return Some(Source::Column(WIRE)),
            Value::Input(slot) => {
                let found = self.program.inputs.iter().find(|(_, at)| *at == slot);
                return found.map(|(column, _)| Source::Column(*column));
            }
            _ => {}
        }
        // The latest first: a column of its own, where there is one.
        let computed = self.computed[value.index()].iter().rev();
        computed
            .copied()
            .find(|&(node, _)| self.dominators.dominates(node, self.here))
            .map(|(_, source)| source)
    }

    fn note(&mut self, value: ValueId, source: Source) {
        self.computed[value.index()].push((self.here, source));
    }

    /// Computes a value whose operands are known or constant.
    fn compute(&mut self, value: ValueId) -> Option<()> {
        let source = match self.graph.pool.get(value) {
            Value::Len | Value::Input(_) => self.known(value)?,
            Value::Const(k) => {
                let dst = self.fresh()?;
                self.push(Step::Const { dst, k });
                Source::Column(dst)
            }
            Value::Load { .. } => Source::Field(self.load(value)?),
            Value::Op(op, a, b) => Source::Column(self.op(op, a, b)?),
        };
        if self.pinned[value.index()] {
            return self.pin(value, source);
        }
        self.note(value, source);
        Some(())
    }

    fn op(&mut self, op: BinOp, a: ValueId, b: ValueId) -> Option<Column> {
        let constant = |value| self.graph.pool.as_const(value);
        let (a, b) = if op.commutes() && constant(a).is_some() { (b, a) } else { (a, b) };
        let k = constant(b);
        let from = self.column(a)?;
        let Some(k) = k else {
            let b = self.column(b)?;
            let dst = self.fresh()?;
            self.push(Step::Op { op, dst, a: from, b });
            return Some(dst);
        };
        let bits = self.bits[usize::from(from.0)].filter(|_| !self.pinned[a.index()]);
        if let Some((src, bits)) = bits
            && let Some(bits) = bits.then(op, k)
        {
            return self.pick(src, bits);
        }
        let dst = self.fresh()?;
        self.push(Step::OpConst { op, dst, a: from, k });
        Some(dst)
    }

    /// A pinned value gets its column here, or this node's lanes are added to the one it has.
    fn pin(&mut self, value: ValueId, source: Source) -> Option<()> {
        let column = match source {
            Source::Column(column) => column,
            Source::Field(field) => self.take_out(field)?,
        };
        let i = value.index();
        if let (Some(done), Some(&(_, Source::Column(dst)))) = (self.done[i], self.computed[i].first()) {
            self.push(Step::Keep { dst, src: column, done });
            self.note(value, Source::Column(dst));
            return Some(());
        }
        if self.users[i].iter().any(|user| !self.dominators.dominates(self.here, *user)) {
            let done = Mask(self.program.masks);
            self.program.masks += 1;
            self.done[i] = Some(done);
            self.push(Step::Mark { done });
        }
        self.note(value, Source::Column(column));
        Some(())
    }

    fn take_out(&mut self, field: Field) -> Option<Column> {
        let size_bits = 8 * field.size.bytes() as u8;
        let right = if field.swap { 32 - size_bits - field.shift } else { field.shift };
        let bits = Bits { swap: field.swap, right, mask: field.size.max(), left: 0 };
        if bits == Bits::ALL { Some(field.column) } else { self.pick(field.column, bits) }
    }

    fn pick(&mut self, src: Column, bits: Bits) -> Option<Column> {
        let dst = self.fresh()?;
        self.bits[usize::from(dst.0)] = Some((src, bits));
        self.push(Step::Bits { dst, src, bits });
        Some(dst)
    }

    fn fresh(&mut self) -> Option<Column> {
        let column = Column(self.program.columns);
        self.program.columns += 1;
        (column.0 < COLUMNS_MAX).then_some(column)
    }

    /// Fetches a window in which this load lies, and notes all others that do.
    fn load(&mut self, value: ValueId) -> Option<Field> {
        let wanted = Wanted::of(self.graph, value)?;
        let base = match wanted.base {
            Some(base) => Some(self.column(base)?),
            None => None,
        };
        let at = |start| Some(At { base, offset: u32::try_from(start).ok()? });
        let captured = self.captured(wanted.base).max(wanted.end());
        if captured < 4 {
            let dst = self.fresh()?;
            self.push(Step::FetchFew { dst, at: at(wanted.start)?, size: wanted.size });
            return wanted.within(dst, wanted.start);
        }
        let others = self.others(&wanted, captured);
        let window = Window::around(&wanted, &others, captured, self.fetches.words_max);
        let is_alone = self.fetches.pairs && window.words == 1;
        let pair = is_alone.then(|| Pair::of(window, &others, captured)).flatten();
        let words: Vec<u64> = pair.map_or_else(|| window.words().collect(), |pair| pair.words().collect());
        let first = self.fresh()?;
        let rest: Option<Vec<Column>> = (1..words.len()).map(|_| self.fresh()).collect();
        self.push(match (pair, &rest?[..]) {
            (Some(Pair { start, from }), &[high]) => {
                Step::FetchPair { low: first, high, at: at(start)?, from }
            }
            (_, []) => Step::Fetch4 { dst: first, at: at(window.start)? },
            (_, &[high]) => Step::Fetch8 { low: first, high, at: at(window.start)? },
            (_, _) => Step::Fetch16 { first, at: at(window.start)? },
        });
        let columns = (first.0..).map(Column);
        let field = |load: &Wanted| {
            columns.clone().zip(&words).find_map(|(column, &start)| load.within(column, start))
        };
        for other in others.iter().filter(|other| !self.pinned[other.value.index()]) {
            if let Some(field) = field(other) {
                self.computed[other.value.index()].push((self.here, Source::Field(field)));
            }
        }
        field(&wanted)
    }

    /// Other loads from the same base, of captured bytes, that nodes from here down want.
    fn others(&self, wanted: &Wanted, captured: u64) -> Vec<Wanted> {
        let values =
            (0..self.graph.pool.value_count() as u32).map(ValueId).filter(|&value| value != wanted.value);
        let below = |value: ValueId| {
            self.users[value.index()].iter().any(|&user| self.dominators.dominates(self.here, user))
        };
        values
            .filter_map(|value| Wanted::of(self.graph, value))
            .filter(|other| other.base == wanted.base && other.end() <= captured)
            .filter(|other| below(other.value) && self.known(other.value).is_none())
            .collect()
    }

    /// How many bytes from `base` on are captured of each packet that comes here: what guards on the way have asked.
    fn captured(&self, base: Option<ValueId>) -> u64 {
        let mut most = 0;
        let mut node = self.here;
        while let Some(above) = self.dominators.immediate(node) {
            if let Node::Branch { cond, then, els } = *self.graph.node(above)
                && let Cond::Bounds { base: guarded, end } = self.graph.pool.get_cond(cond)
                && then == node
                && els != node
                && self.layout.edges_in[node.index()] == 1
            {
                let from_start = u64::from(self.graph.pool.as_const(guarded).unwrap_or(0)) + u64::from(end);
                most = match base {
                    None => most.max(from_start),
                    Some(base) if base == guarded => most.max(u64::from(end)),
                    Some(_) => most,
                };
            }
            node = above;
        }
        most
    }

    /// Drops what nothing reads.
    fn sweep(&mut self) {
        let mut steps = std::mem::take(&mut self.program.steps);
        let mut is_read = vec![false; usize::from(self.program.columns)];
        let mut keeps = vec![true; steps.len()];
        for (keep, step) in keeps.iter_mut().zip(&steps).rev() {
            if let Step::Bits { dst, .. } = step {
                *keep = is_read[usize::from(dst.0)];
            }
            if *keep {
                step.reads().for_each(|column| is_read[usize::from(column.0)] = true);
            }
        }
        if self.fetches.pairs {
            steps.iter_mut().for_each(|step| *step = narrowed(*step, &is_read));
        }
        // What stands in a shared column is read from where it was put first.
        let kept_before = |at: usize| keeps[..at].iter().filter(|&&keep| keep).count();
        self.begins.iter_mut().for_each(|(at, _)| *at = kept_before(*at));
        self.program.reads_wire_len = is_read[usize::from(WIRE.0)];
        self.program.steps =
            steps.into_iter().zip(keeps).filter_map(|(step, keep)| keep.then_some(step)).collect();
    }

    /// Where a node has no lanes, the next one that it does not dominate may have some.
    fn patch_skips(&mut self) {
        let end = self.program.steps.len();
        for (i, &(at, node)) in self.begins.iter().enumerate() {
            let other =
                self.begins[i + 1..].iter().find(|(_, later)| !self.dominators.dominates(node, *later));
            let to = other.map_or(end, |&(at, _)| at);
            if let Step::Enter { skip_to, .. } | Step::Fork { skip_to, .. } = &mut self.program.steps[at] {
                *skip_to = to as u32;
            }
        }
    }
}

/// A fetch of sixteen bytes of which two columns are read, as one of these two.
fn narrowed(step: Step, is_read: &[bool]) -> Step {
    let Step::Fetch16 { first, at } = step else { return step };
    let mut words = (0..4).filter(|word| is_read[usize::from(first.0 + word)]);
    let (Some(low), Some(high), None) = (words.next(), words.next(), words.next()) else { return step };
    let from = [low, high].map(|word| 4 * word as u8);
    let [low, high] = [low, high].map(|word| Column(first.0 + word));
    Step::FetchPair { low, high, at, from }
}

/// The masks that a program begins with.
struct Masks {
    of_node: Vec<Mask>,
    count: u16,
    leaves: Vec<(Mask, u32)>,
}

impl Masks {
    fn new(graph: &Graph, layout: &Layout, ends: Ends) -> Masks {
        let mut masks = Masks { of_node: vec![REJECT; graph.node_count()], count: 2, leaves: Vec::new() };
        for &node in &layout.order {
            masks.of_node[node.index()] = match (graph.node(node), ends) {
                (Node::Leaf(ir::REJECT), _) => REJECT,
                (Node::Leaf(_), Ends::Accept) => ACCEPT,
                (Node::Leaf(number), Ends::Each) => masks.of_leaf(*number),
                (Node::Branch { .. } | Node::Switch(_), _) => masks.fresh(),
            };
        }
        masks
    }

    fn fresh(&mut self) -> Mask {
        self.count += 1;
        Mask(self.count - 1)
    }

    /// Nodes are unique, so each leaf is met once.
    fn of_leaf(&mut self, number: u32) -> Mask {
        let mask = self.fresh();
        self.leaves.push((mask, number));
        mask
    }
}

/// A column for each input that is read, and how many columns there are then.
fn inputs(graph: &Graph, layout: &Layout) -> (Vec<(Column, u32)>, u16) {
    let mut slots: Vec<u32> = Vec::new();
    if graph.pool.inputs() > 0 {
        let users = users(graph, layout);
        slots.extend((0..graph.pool.value_count() as u32).map(ValueId).filter_map(|value| {
            match graph.pool.get(value) {
                Value::Input(slot) if !users[value.index()].is_empty() => Some(slot),
                _ => None,
            }
        }));
        // More do not fit, and make the program too large.
        slots.truncate(usize::from(COLUMNS_MAX));
    }
    let columns = 2 + slots.len() as u16;
    ((2..).map(Column).zip(slots).collect(), columns)
}

/// By value: the nodes that evaluate it.
fn users(graph: &Graph, layout: &Layout) -> Vec<Vec<NodeId>> {
    let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); graph.pool.value_count()];
    for &node in &layout.order {
        let mut pending = operands(graph, node);
        while let Some(value) = pending.pop() {
            if users[value.index()].last() != Some(&node) {
                users[value.index()].push(node);
                pending.extend(graph.pool.operands(value));
            }
        }
    }
    users
}
