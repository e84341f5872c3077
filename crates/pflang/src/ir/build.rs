//! From lowered tree to decision graph: short circuits become edges, and every load gets its guard.
//!
//! ```text
//! build(a and b, then, els) = build(a, build(b, then, els), els)
//! build(a or b,  then, els) = build(a, then, build(b, then, els))
//! build(not a,   then, els) = build(a, els, then)
//! build(test,    then, els) = guard₁ -> guard₂ -> … -> branch(test, then, els), each guard's no -> fail
//! ```
//! Built from the back, so that every tree node is visited once and arms are shared. An ordered list of filters
//! is built the same way: `fail` and `els` of one are the entry of the next.

use super::{Arm, BinOp, CmpOp, Cond, CondId, Graph, NodeId, Pool, REJECT, Switch, Value, ValueId};
use crate::clock::{Clock, too_many_nodes};
use crate::diag::Diagnostic;
use crate::filled::filled;
use crate::lower::tree::{Set, SetId, Tree, TreeId, TreeNode};
use crate::options::Limits;
use crate::span::Span;
use std::convert::Infallible;

/// The graph of an ordered list of filters: the first that matches decides, with its leaf number; a packet
/// that none matches is rejected.
pub fn build(tree: Tree, arms: &[(TreeId, u32)]) -> Graph {
    let Ok(graph) = build_while::<Infallible>(tree, arms, |_, _| Ok(()));
    graph
}

/// The same within limits: deep chains of headers guard each test by all that lies before it, so the graph may
/// be far larger than the text.
///
/// # Errors
/// Where the graph outgrows the limit or the time is over: the test at hand.
pub(crate) fn build_within(
    tree: Tree,
    arms: &[(TreeId, u32)],
    limits: Limits,
    clock: &Clock,
) -> Result<Graph, Box<Diagnostic>> {
    let mut tests = 0u32;
    build_while(tree, arms, |graph, span| {
        if graph.node_count() > limits.nodes {
            return Err(too_many_nodes(limits, span));
        }
        tests = tests.wrapping_add(1);
        if tests.is_multiple_of(TESTS_PER_LOOK) { clock.check(span) } else { Ok(()) }
    })
}

/// How often to look at the clock: seldom for a list of hosts, often enough for tests with hundreds of guards.
const TESTS_PER_LOOK: u32 = 256;

fn build_while<E>(
    tree: Tree,
    arms: &[(TreeId, u32)],
    mut goes_on: impl FnMut(&Graph, Span) -> Result<(), E>,
) -> Result<Graph, E> {
    let mut builder = Builder::new(tree);
    let mut entry = builder.graph.leaf(REJECT);
    for &(root, leaf) in arms.iter().rev() {
        let accept = builder.graph.leaf(leaf);
        entry = builder.arm(root, accept, entry, &mut goes_on)?;
    }
    builder.graph.root = entry;
    Ok(builder.graph)
}

struct Builder {
    tree: Tree,
    graph: Graph,
    /// Scratch of [`Builder::evaluate`]: the last search that reached each value.
    seen: Vec<u32>,
    search: u32,
    pending: Vec<ValueId>,
    found: Vec<ValueId>,
}

/// Room for so many nodes at most, since of a long list most is gathered.
const NODES_LIKELY_MAX: usize = 512;

/// Values that a test of a header field looks at, and operators around it.
const VALUES_LIKELY: usize = 8;
const TASKS_LIKELY: usize = 16;

/// What remains to be done once the node in hand is known.
enum Task {
    Build(TreeId, NodeId, NodeId),
    /// The node in hand is where `yes` of this operand leads.
    Then(TreeId, NodeId),
    /// The node in hand is where `no` of this operand leads.
    Else(TreeId, NodeId),
}

impl Builder {
    fn new(mut tree: Tree) -> Self {
        let pool = std::mem::take(&mut tree.pool);
        let seen = filled(0, pool.value_count());
        Builder {
            graph: Graph::with_capacity(pool, (2 * tree.len()).min(NODES_LIKELY_MAX)),
            tree,
            seen,
            search: 0,
            pending: Vec::with_capacity(VALUES_LIKELY),
            found: Vec::with_capacity(VALUES_LIKELY),
        }
    }

    fn arm<E>(
        &mut self,
        root: TreeId,
        accept: NodeId,
        fail: NodeId,
        goes_on: &mut impl FnMut(&Graph, Span) -> Result<(), E>,
    ) -> Result<NodeId, E> {
        let mut tasks = Vec::with_capacity(TASKS_LIKELY);
        tasks.push(Task::Build(root, accept, fail));
        let mut node = fail;
        while let Some(task) = tasks.pop() {
            let (id, then, els) = match task {
                Task::Build(id, then, els) => (id, then, els),
                Task::Then(id, els) => (id, node, els),
                Task::Else(id, then) => (id, then, node),
            };
            match self.tree.node(id) {
                TreeNode::True => node = then,
                TreeNode::False => node = els,
                TreeNode::Not(a) => tasks.push(Task::Build(a, els, then)),
                TreeNode::And(a, b) => tasks.extend([Task::Then(a, els), Task::Build(b, then, els)]),
                TreeNode::Or(a, b) => tasks.extend([Task::Else(a, then), Task::Build(b, then, els)]),
                TreeNode::Test(cond) => node = self.test(cond, then, els, fail, self.tree.span(id)),
                TreeNode::In(set) => node = self.member(set, then, els, fail),
                TreeNode::Eval(value) => node = self.guarded([value], then, fail, self.tree.span(id)),
            }
            if let TreeNode::Test(_) | TreeNode::In(_) | TreeNode::Eval(_) = self.tree.node(id) {
                goes_on(&self.graph, self.tree.span(id))?;
            }
        }
        Ok(node)
    }

    fn test(&mut self, cond: CondId, then: NodeId, els: NodeId, fail: NodeId, span: Span) -> NodeId {
        let branch = self.graph.branch(cond, then, els);
        if then != els {
            self.graph.add_span(branch, span);
        }
        let operands = self.graph.pool.cond_operands(cond);
        self.guarded(operands, branch, fail, span)
    }

    fn member(&mut self, set: SetId, then: NodeId, els: NodeId, fail: NodeId) -> NodeId {
        let Set { value, ranges, spans } = self.tree.set(set);
        let (value, spans) = (*value, *spans);
        let arms = ranges.iter().map(|&(low, high)| Arm { low, high, target: then }).collect();
        let switch = self.graph.switch(Switch { value, arms, default: els });
        if then != els {
            self.graph.add_spans(switch, &spans);
        }
        let span = spans.as_slice().first().copied().unwrap_or_default();
        self.guarded([value], switch, fail, span)
    }

    /// `next`, behind the guards of everything that evaluating `values` evaluates.
    fn guarded(
        &mut self,
        values: impl IntoIterator<Item = ValueId>,
        next: NodeId,
        fail: NodeId,
        span: Span,
    ) -> NodeId {
        let mut node = next;
        self.evaluate(values);
        for &value in self.found.iter().rev() {
            node = match guard_of(&mut self.graph.pool, value) {
                Guard::None => continue,
                Guard::Always(cond) => self.graph.branch(cond, node, fail),
                Guard::Unless(cond) => self.graph.branch(cond, fail, node),
                Guard::Never => fail,
            };
            if node != fail {
                self.graph.add_span(node, span);
            }
        }
        node
    }

    /// Finds the values and all their operands, in ascending order, but for constants, which need no guard.
    fn evaluate(&mut self, values: impl IntoIterator<Item = ValueId>) {
        self.search += 1;
        // Guards add constants to the pool while we go.
        self.seen.resize(self.graph.pool.value_count(), 0);
        self.found.clear();
        values.into_iter().for_each(|value| self.evaluate_later(value));
        while let Some(value) = self.pending.pop() {
            if std::mem::replace(&mut self.seen[value.index()], self.search) != self.search {
                self.found.push(value);
                self.graph.pool.operands(value).for_each(|operand| self.evaluate_later(operand));
            }
        }
        self.found.sort_unstable();
    }

    fn evaluate_later(&mut self, value: ValueId) {
        if self.graph.pool.as_const(value).is_none() {
            self.pending.push(value);
        }
    }
}

/// What must hold before a value may be evaluated, its operands having been.
enum Guard {
    None,
    Always(CondId),
    Unless(CondId),
    Never,
}

fn guard_of(pool: &mut Pool, value: ValueId) -> Guard {
    match pool.get(value) {
        Value::Load { base, offset, size, .. } => match offset.checked_add(size.bytes()) {
            Some(end) => Guard::Always(pool.cond(Cond::Bounds { base, end })),
            None => Guard::Never,
        },
        Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => match pool.as_const(divisor) {
            Some(0) => Guard::Never,
            Some(_) => Guard::None,
            None => {
                let zero = pool.constant(0);
                Guard::Unless(pool.cond(Cond::Cmp(CmpOp::Eq, divisor, zero)))
            }
        },
        Value::Const(_) | Value::Len | Value::Op(..) => Guard::None,
    }
}
