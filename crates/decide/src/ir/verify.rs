//! The gate before every back end: each load lies under a guard, each division behind a test of its divisor.
//!
//! A forward pass over the graph. What holds on entry to a node is what holds on *every* edge into it:
//!
//! ```text
//! captured   the packet has at least this many captured bytes
//! ends[b]    base b + this many bytes are captured
//! nonzero    these values are known not to be zero
//! ```
//!
//! A value that a guard or a test was about on *every* path has been computed on every path, all that it is made from
//! included; back ends keep it and never compute it again (see [`crate::target::lir::select`]). So a value is checked down to
//! such values only, and loads inside each other, each with a guard of its own, are each checked once.
//!
//! It shares no code with the optimiser, whose work it checks. It knows static ranges of values (an IPv4
//! header length is at most 60), so a guard that such a range makes superfluous may be left out.

mod facts;

use super::{BinOp, CmpOp, Cond, Graph, Node, NodeId, Value, ValueId};
use crate::filled::filled;
use facts::{Fact, Facts};
use std::convert::Infallible;

/// What is wrong with a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// This load is evaluated at this node without a guard.
    Unguarded(NodeId, ValueId),
    /// This division is evaluated at this node without a test of its divisor.
    Divisor(NodeId, ValueId),
    /// This node's successor does not come before it.
    Order(NodeId),
    /// The ranges of this switch overlap or descend.
    Arms(NodeId),
    /// An operand of this value does not come before it.
    Operand(ValueId),
}

/// A graph that has passed [`verify`]: what back ends take, so that nothing else can reach them.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'g>(&'g Graph, Outputs<'g>);

/// The values that each leaf computes: of none, where nothing is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'g>(&'g [Vec<ValueId>]);

impl<'g> Outputs<'g> {
    /// Those of a leaf.
    pub fn of(self, leaf: u32) -> &'g [ValueId] {
        let index = (leaf as usize).checked_sub(1);
        index.and_then(|index| self.0.get(index)).map_or(&[], |values| &values[..])
    }
}

impl<'g> Verified<'g> {
    /// Checks a graph.
    ///
    /// # Errors
    /// The first violation found, from the root down.
    pub fn new(graph: &'g Graph) -> Result<Self, Violation> {
        verify(graph).map(|()| Verified(graph, Outputs::default()))
    }

    /// What its leaves compute.
    pub fn outputs(self) -> Outputs<'g> {
        self.1
    }

    /// The graph.
    pub fn graph(self) -> &'g Graph {
        self.0
    }
}

/// A graph that has passed, and cannot be changed any more.
#[derive(Clone, Debug)]
pub struct Checked(Graph);

impl Checked {
    /// Checks a graph while `goes_on` says so.
    ///
    /// # Errors
    /// That of `goes_on`; inside, the first violation found.
    pub(crate) fn new_while<E>(
        graph: Graph,
        goes_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Result<Checked, Violation>, E> {
        Ok(verify_while(&graph, goes_on)?.map(|()| Checked(graph)))
    }

    /// What back ends take.
    pub fn verified(&self) -> Verified<'_> {
        Verified(&self.0, Outputs::default())
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.0
    }
}

/// A graph that leads to a leaf only where the values of the leaf can be computed, and that has passed.
#[derive(Clone, Debug)]
pub struct CheckedLeaves {
    graph: Graph,
    /// By leaf, beginning with leaf 1.
    values: Vec<Vec<ValueId>>,
}

impl CheckedLeaves {
    /// Checks the graph, and that its leaves 1, 2, … may compute these values.
    ///
    /// # Errors
    /// The first violation found, from the root down.
    pub(crate) fn new(graph: Graph, values: Vec<Vec<ValueId>>) -> Result<Self, Violation> {
        let Ok(checked) = verify_all(&graph, Outputs(&values), || Ok::<_, Infallible>(()));
        checked.map(|()| CheckedLeaves { graph, values })
    }

    /// What back ends take.
    pub fn verified(&self) -> Verified<'_> {
        Verified(&self.graph, Outputs(&self.values))
    }
}

/// Checks a graph.
///
/// # Errors
/// The first violation found, from the root down.
pub fn verify(graph: &Graph) -> Result<(), Violation> {
    let Ok(checked) = verify_while(graph, || Ok::<_, Infallible>(()));
    checked
}

/// Nodes and values that are checked between two looks at whether to go on.
const STEPS_PER_LOOK: usize = 4096;

/// Checks a graph, and asks every [`STEPS_PER_LOOK`] steps whether to go on.
///
/// # Errors
/// That of `goes_on`; inside, the first violation found.
pub(crate) fn verify_while<E>(
    graph: &Graph,
    goes_on: impl FnMut() -> Result<(), E>,
) -> Result<Result<(), Violation>, E> {
    verify_all(graph, Outputs::default(), goes_on)
}

/// The same, and that leaves may compute their outputs.
fn verify_all<E>(
    graph: &Graph,
    outputs: Outputs<'_>,
    mut goes_on: impl FnMut() -> Result<(), E>,
) -> Result<Result<(), Violation>, E> {
    if let Some(value) = misplaced_operand(graph) {
        return Ok(Err(Violation::Operand(value)));
    }
    let mut entry: Vec<Option<Facts>> = filled(None, graph.node_count());
    entry[graph.root.index()] = Some(Facts::default());
    let mut checker = Checker::new(graph, outputs);
    for id in (0..graph.node_count() as u32).rev().map(NodeId) {
        let Some(facts) = entry[id.index()].take() else { continue };
        if let Err(violation) = checker.check_shape(id).and_then(|()| checker.check_values(id, &facts)) {
            return Ok(Err(violation));
        }
        checker.for_each_edge(id, facts, |next, facts| match &mut entry[next.index()] {
            Some(known) => known.meet(&facts),
            unknown => *unknown = Some(facts),
        });
        checker.steps += 1;
        if checker.steps >= STEPS_PER_LOOK {
            checker.steps = 0;
            goes_on()?;
        }
    }
    Ok(Ok(()))
}

/// What the structure of a graph says of a value.
#[derive(Clone, Copy)]
struct OfValue {
    /// Bounds on every path.
    bounds: (u32, u32),
    /// Whether something is divided by it.
    is_divisor: bool,
    /// The search that has seen it last.
    seen: u32,
}

struct Checker<'g> {
    graph: &'g Graph,
    outputs: Outputs<'g>,
    /// By id.
    values: Vec<OfValue>,
    search: u32,
    /// Scratch of [`Checker::check_values`].
    pending: Vec<ValueId>,
    /// Nodes and values looked at since the last look at whether to go on.
    steps: usize,
}

impl<'g> Checker<'g> {
    fn new(graph: &'g Graph, outputs: Outputs<'g>) -> Self {
        Checker {
            graph,
            outputs,
            values: values_of(graph),
            search: 0,
            pending: Vec::with_capacity(8),
            steps: 0,
        }
    }

    fn check_shape(&self, id: NodeId) -> Result<(), Violation> {
        let mut ordered = true;
        self.graph.node(id).for_each_successor(|next| ordered &= next < id);
        if !ordered {
            return Err(Violation::Order(id));
        }
        if let Node::Switch(switch) = self.graph.node(id) {
            let ascending = switch.arms.windows(2).all(|pair| pair[0].high < pair[1].low);
            if !ascending || switch.arms.iter().any(|arm| arm.low > arm.high) {
                return Err(Violation::Arms(id));
            }
        }
        Ok(())
    }

    fn check_values(&mut self, id: NodeId, facts: &Facts) -> Result<(), Violation> {
        match self.graph.node(id) {
            Node::Leaf(leaf) => self.outputs.of(*leaf).iter().for_each(|&v| self.check_later(v, facts)),
            Node::Branch { cond, .. } => {
                self.graph.pool.cond_operands(*cond).for_each(|v| self.check_later(v, facts))
            }
            Node::Switch(switch) => self.check_later(switch.value, facts),
        };
        if self.pending.is_empty() {
            return Ok(());
        }
        self.search += 1;
        while let Some(value) = self.pending.pop() {
            if std::mem::replace(&mut self.values[value.index()].seen, self.search) != self.search {
                self.steps += 1;
                self.check_value(id, value, facts)?;
                self.graph.pool.operands(value).for_each(|operand| self.check_later(operand, facts));
            }
        }
        Ok(())
    }

    /// There is nothing to check of constants, which half of all values are, and of what has been computed already.
    fn check_later(&mut self, value: ValueId, facts: &Facts) {
        if self.graph.pool.as_const(value).is_none() && facts.of(value) == Fact::default() {
            self.pending.push(value);
        }
    }

    fn check_value(&self, id: NodeId, value: ValueId, facts: &Facts) -> Result<(), Violation> {
        match self.graph.pool.get(value) {
            Value::Load { base, offset, size, .. } => {
                let end = u64::from(offset) + u64::from(size.bytes());
                let highest = u64::from(self.values[base.index()].bounds.1);
                let by_length = facts.captured.saturating_sub(highest);
                let guarded = by_length.max(u64::from(facts.of(base).end)) >= end;
                if guarded { Ok(()) } else { Err(Violation::Unguarded(id, value)) }
            }
            Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => {
                let constant = self.graph.pool.as_const(divisor).is_some_and(|k| k != 0);
                let tested = facts.of(divisor).nonzero;
                if constant || tested { Ok(()) } else { Err(Violation::Divisor(id, value)) }
            }
            Value::Const(_) | Value::Len | Value::Input(_) | Value::Op(..) => Ok(()),
        }
    }

    /// Visits the successors that look at a value.
    fn for_each_edge(&self, id: NodeId, facts: Facts, mut visit: impl FnMut(NodeId, Facts)) {
        match self.graph.node(id) {
            Node::Leaf(_) => {}
            Node::Branch { cond, then, els } => {
                let cond = self.graph.pool.get_cond(*cond);
                if self.looks_at_values(*then) {
                    let mut facts = facts.clone();
                    self.assume(cond, true, &mut facts);
                    visit(*then, facts);
                }
                if self.looks_at_values(*els) {
                    let mut facts = facts;
                    self.assume(cond, false, &mut facts);
                    visit(*els, facts);
                }
            }
            node @ Node::Switch(_) => node.for_each_successor(|next| {
                if self.looks_at_values(next) {
                    visit(next, facts.clone());
                }
            }),
        }
    }

    fn looks_at_values(&self, id: NodeId) -> bool {
        match self.graph.node(id) {
            Node::Leaf(leaf) => !self.outputs.of(*leaf).is_empty(),
            Node::Branch { .. } | Node::Switch(_) => true,
        }
    }

    /// Adds what follows once `cond` turned out to be `holds`.
    fn assume(&self, cond: Cond, holds: bool, facts: &mut Facts) {
        match cond {
            Cond::Bounds { base, end } if holds => match self.graph.pool.as_const(base) {
                Some(base) => facts.captured = facts.captured.max(u64::from(base) + u64::from(end)),
                None => {
                    facts.captured = facts.captured.max(u64::from(end));
                    let fact = facts.of(base);
                    facts.set(base, Fact { end: fact.end.max(end), ..fact });
                }
            },
            Cond::Cmp(CmpOp::Eq, a, b) if !holds && self.graph.pool.as_const(b) == Some(0) => {
                self.note_nonzero(a, facts);
            }
            Cond::Test(a, _) if holds => self.note_nonzero(a, facts),
            _ => {}
        }
    }

    /// Only of divisors: a long list of tests for other values would make the facts as long.
    fn note_nonzero(&self, value: ValueId, facts: &mut Facts) {
        if self.values[value.index()].is_divisor {
            let fact = facts.of(value);
            facts.set(value, Fact { nonzero: true, ..fact });
        }
    }
}

/// The first value with an operand that does not come before it.
fn misplaced_operand(graph: &Graph) -> Option<ValueId> {
    let mut values = (0..graph.pool.value_count() as u32).map(ValueId);
    values.find(|&value| graph.pool.operands(value).any(|operand| operand >= value))
}

fn values_of(graph: &Graph) -> Vec<OfValue> {
    let pool = &graph.pool;
    let mut values: Vec<OfValue> = Vec::with_capacity(pool.value_count());
    for id in (0..pool.value_count() as u32).map(ValueId) {
        let bounds = match pool.get(id) {
            Value::Const(k) => (k, k),
            Value::Len | Value::Input(_) => (0, u32::MAX),
            Value::Load { size, .. } => (0, size.max()),
            Value::Op(op, a, b) => {
                values[b.index()].is_divisor |= matches!(op, BinOp::Div | BinOp::Mod);
                op_bounds(op, values[a.index()].bounds, values[b.index()].bounds)
            }
        };
        values.push(OfValue { bounds, is_divisor: false, seen: 0 });
    }
    values
}

/// The least and greatest result of an operation on intervals, in arithmetic that does not wrap; where that
/// leaves 32 bits, anything is possible.
fn op_bounds(op: BinOp, (a_low, a_high): (u32, u32), (b_low, b_high): (u32, u32)) -> (u32, u32) {
    let [al, ah, bl, bh] = [a_low, a_high, b_low, b_high].map(i64::from);
    let all_bits = |x: i64| (1i64 << (64 - x.leading_zeros())) - 1;
    let (low, high) = match op {
        BinOp::Add => (al + bl, ah + bh),
        BinOp::Sub => (al - bh, ah - bl),
        BinOp::Mul => (al.saturating_mul(bl), ah.saturating_mul(bh)),
        BinOp::Div => (al / bh.max(1), ah / bl.max(1)),
        BinOp::Mod => (0, ah.min((bh - 1).max(0))),
        BinOp::And => (0, ah.min(bh)),
        BinOp::Or => (al.max(bl), all_bits(ah | bh)),
        BinOp::Xor => (0, all_bits(ah | bh)),
        BinOp::Shl if bl == bh && bl < 32 => (al << bl, ah << bl),
        BinOp::Shl => (0, i64::from(u32::MAX)),
        BinOp::Shr => (al >> bh.min(32), ah >> bl.min(32)),
    };
    match (u32::try_from(low), u32::try_from(high)) {
        (Ok(low), Ok(high)) => (low, high),
        _ => (0, u32::MAX),
    }
}
