//! The gate before every back end: each load lies under a guard, each division behind a test of its divisor.
//!
//! A forward pass over the graph. What holds on entry to a node is what holds on *every* edge into it:
//!
//! ```text
//! captured   the packet has at least this many captured bytes
//! ends[b]    base b + this many bytes are captured
//! nonzero    these values are known not to be zero
//! ```
//! It shares no code with the optimiser, whose work it checks. It knows static ranges of values (an IPv4
//! header length is at most 60), so a guard that such a range makes superfluous may be left out.

use super::{BinOp, CmpOp, Cond, Graph, Node, NodeId, Value, ValueId};
use crate::filled::filled;
use std::rc::Rc;

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
}

/// A graph that has passed [`verify`]: what back ends take, so that nothing else can reach them.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'g>(&'g Graph);

impl<'g> Verified<'g> {
    /// Checks a graph.
    ///
    /// # Errors
    /// The first violation found, from the root down.
    pub fn new(graph: &'g Graph) -> Result<Self, Violation> {
        verify(graph).map(|()| Verified(graph))
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
    /// Checks a graph.
    ///
    /// # Errors
    /// The first violation found.
    pub fn new(graph: Graph) -> Result<Checked, Violation> {
        verify(&graph).map(|()| Checked(graph))
    }

    /// What back ends take.
    pub fn verified(&self) -> Verified<'_> {
        Verified(&self.0)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.0
    }
}

/// Checks a graph.
///
/// # Errors
/// The first violation found, from the root down.
pub fn verify(graph: &Graph) -> Result<(), Violation> {
    let mut entry: Vec<Option<Facts>> = filled(None, graph.node_count());
    entry[graph.root.index()] = Some(Facts::default());
    let mut checker = Checker { graph, values: values_of(graph), search: 0, pending: Vec::with_capacity(8) };
    for id in (0..graph.node_count() as u32).rev().map(NodeId) {
        let Some(facts) = entry[id.index()].take() else { continue };
        checker.check_shape(id)?;
        checker.check_values(id, &facts)?;
        checker.for_each_edge(id, facts, |next, facts| match &mut entry[next.index()] {
            Some(known) => known.meet(&facts),
            unknown => *unknown = Some(facts),
        });
    }
    Ok(())
}

/// What is known on entry to a node.
#[derive(Clone, Default)]
struct Facts {
    captured: u64,
    /// What is known of some values, ascending; shared by the nodes that know the same. Mostly nothing.
    values: Option<Rc<[(ValueId, Fact)]>>,
}

/// What is known of one value: never nothing.
#[derive(Clone, Copy, Default)]
struct Fact {
    /// As many bytes are captured from here on.
    end: u32,
    nonzero: bool,
}

impl Fact {
    /// What holds on both paths.
    fn meet(self, other: Fact) -> Option<Fact> {
        let fact = Fact { end: self.end.min(other.end), nonzero: self.nonzero && other.nonzero };
        (fact.end > 0 || fact.nonzero).then_some(fact)
    }
}

impl Facts {
    fn all(&self) -> &[(ValueId, Fact)] {
        self.values.as_deref().unwrap_or_default()
    }

    fn of(&self, value: ValueId) -> Fact {
        let all = self.all();
        let at = all.binary_search_by_key(&value, |&(value, _)| value);
        at.map_or(Fact::default(), |at| all[at].1)
    }

    fn set(&mut self, value: ValueId, fact: Fact) {
        let all = self.all();
        let (before, after) = all.split_at(all.partition_point(|&(known, _)| known < value));
        let after = match after {
            [(known, _), after @ ..] if *known == value => after,
            after => after,
        };
        let with = before.iter().copied().chain([(value, fact)]).chain(after.iter().copied());
        self.values = Some(with.collect());
    }

    /// Keeps what `f` makes of each fact, where it makes anything of it.
    fn keep(&mut self, f: impl Fn(ValueId, Fact) -> Option<Fact>) {
        let kept = self.all().iter().filter_map(|&(value, fact)| Some((value, f(value, fact)?)));
        self.values = Some(kept.collect::<Vec<_>>()).filter(|kept| !kept.is_empty()).map(Rc::from);
    }

    /// What holds on both paths: guards joined with guards, lengths with lengths.
    ///
    /// NOTE: where one path knows a base's bytes by a guard and the other by its length alone, the bytes are there on
    /// both, and yet this must not count. Only the first path has computed the base. A back end would have to compute
    /// it where they join, and so on the first path again, from a packet that another party may have changed since the
    /// guard. What a guard covers on *every* path, every path has computed.
    fn meet(&mut self, other: &Facts) {
        self.captured = self.captured.min(other.captured);
        match (&self.values, &other.values) {
            (None, _) => {}
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => {}
            (Some(_), None) => self.values = None,
            (Some(_), Some(_)) => self.keep(|value, fact| fact.meet(other.of(value))),
        }
    }

    /// Drops what is known of these values: in a list of thousands of tests, each with a base of its own, the facts
    /// would be as long as the list at each of its nodes.
    fn forget(&mut self, unused: impl Fn(ValueId) -> bool) {
        if self.all().iter().any(|&(value, _)| unused(value)) {
            self.keep(|value, fact| (!unused(value)).then_some(fact));
        }
    }

    /// How many bytes are captured from this base on.
    fn end(&self, base: ValueId, highest: u32) -> u32 {
        let by_length = self.captured.saturating_sub(u64::from(highest));
        self.of(base).end.max(u32::try_from(by_length).unwrap_or(u32::MAX))
    }
}

/// What the structure of a graph says of a value.
#[derive(Clone, Copy)]
struct OfValue {
    /// Bounds on every path.
    bounds: (u32, u32),
    /// The last node that evaluates it. Facts about it are dropped behind that.
    last_node: NodeId,
    /// Whether something is divided by it.
    is_divisor: bool,
    /// The search that has seen it last.
    seen: u32,
}

struct Checker<'g> {
    graph: &'g Graph,
    /// By id.
    values: Vec<OfValue>,
    search: u32,
    /// Scratch of [`Checker::check_values`].
    pending: Vec<ValueId>,
}

impl Checker<'_> {
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
            Node::Leaf(_) => return Ok(()),
            Node::Branch { cond, .. } => {
                self.graph.pool.cond_operands(*cond).for_each(|v| self.check_later(v))
            }
            Node::Switch(switch) => self.check_later(switch.value),
        };
        if self.pending.is_empty() {
            return Ok(());
        }
        self.search += 1;
        while let Some(value) = self.pending.pop() {
            if std::mem::replace(&mut self.values[value.index()].seen, self.search) != self.search {
                self.check_value(id, value, facts)?;
                self.graph.pool.operands(value).for_each(|operand| self.check_later(operand));
            }
        }
        Ok(())
    }

    /// There is nothing to check of constants, which half of all values are.
    fn check_later(&mut self, value: ValueId) {
        if self.graph.pool.as_const(value).is_none() {
            self.pending.push(value);
        }
    }

    fn check_value(&self, id: NodeId, value: ValueId, facts: &Facts) -> Result<(), Violation> {
        match self.graph.pool.get(value) {
            Value::Load { base, offset, size, .. } => {
                let end = u64::from(offset) + u64::from(size.bytes());
                let guarded = u64::from(facts.end(base, self.values[base.index()].bounds.1)) >= end;
                if guarded { Ok(()) } else { Err(Violation::Unguarded(id, value)) }
            }
            Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => {
                let constant = self.graph.pool.as_const(divisor).is_some_and(|k| k != 0);
                let tested = facts.of(divisor).nonzero;
                if constant || tested { Ok(()) } else { Err(Violation::Divisor(id, value)) }
            }
            Value::Const(_) | Value::Len | Value::Op(..) => Ok(()),
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
                    self.forget_behind(*then, &mut facts);
                    visit(*then, facts);
                }
                if self.looks_at_values(*els) {
                    let mut facts = facts;
                    self.assume(cond, false, &mut facts);
                    self.forget_behind(*els, &mut facts);
                    visit(*els, facts);
                }
            }
            node @ Node::Switch(_) => node.for_each_successor(|next| {
                if self.looks_at_values(next) {
                    let mut facts = facts.clone();
                    self.forget_behind(next, &mut facts);
                    visit(next, facts);
                }
            }),
        }
    }

    fn looks_at_values(&self, id: NodeId) -> bool {
        !matches!(self.graph.node(id), Node::Leaf(_))
    }

    /// Leaves the facts that matter from this node on.
    fn forget_behind(&self, id: NodeId, facts: &mut Facts) {
        facts.forget(|value| self.values[value.index()].last_node > id);
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

fn values_of(graph: &Graph) -> Vec<OfValue> {
    let pool = &graph.pool;
    let mut values: Vec<OfValue> = Vec::with_capacity(pool.value_count());
    for id in (0..pool.value_count() as u32).map(ValueId) {
        let bounds = match pool.get(id) {
            Value::Const(k) => (k, k),
            Value::Len => (0, u32::MAX),
            Value::Load { size, .. } => (0, size.max()),
            Value::Op(op, a, b) => {
                values[b.index()].is_divisor |= matches!(op, BinOp::Div | BinOp::Mod);
                op_bounds(op, values[a.index()].bounds, values[b.index()].bounds)
            }
        };
        values.push(OfValue { bounds, last_node: NodeId(u32::MAX), is_divisor: false, seen: 0 });
    }
    find_last_nodes(graph, &mut values);
    values
}

/// The last node that evaluates a value is that of the smallest id, which comes last on any path.
fn find_last_nodes(graph: &Graph, values: &mut [OfValue]) {
    for id in (0..graph.node_count() as u32).rev().map(NodeId) {
        match graph.node(id) {
            Node::Leaf(_) => {}
            Node::Branch { cond, .. } => {
                graph.pool.cond_operands(*cond).for_each(|value| values[value.index()].last_node = id);
            }
            Node::Switch(switch) => values[switch.value.index()].last_node = id,
        }
    }
    // Operands have smaller ids, so everything made from a value is settled before the value.
    for value in (0..values.len() as u32).rev().map(ValueId) {
        let last_node = values[value.index()].last_node;
        for operand in graph.pool.operands(value) {
            let operand = &mut values[operand.index()];
            operand.last_node = operand.last_node.min(last_node);
        }
    }
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
