//! Folding: every value and condition is written again by constructors that simplify.
//!
//! ```text
//! for each value, operands first:     values[v] = simplest equal value      (value.rs)
//! for each node, successors first:
//!     Known(b)    -> the successor that b chooses
//!     If(c)       -> branch(c, then, els)
//!     Unless(c)   -> branch(c, els, then)
//! ```
//! Mostly this is done while the graph is built, which is then never there as it was. Nodes of a given graph that become
//! equal are shared by the rebuild of the next pass.
//!
//! Guards are nodes of their own, so a load that folds away takes no check with it. The guard of a division stays
//! exactly `divisor == 0`, unless the divisor is a constant: the verifier looks for that form.

use super::question::{Question, eq, less, test, within};
use super::range::Ranges;
use super::value::{Folder, load, op};
use crate::budget::{Budget, Exceeded};
use crate::filled::filled;
use crate::ir::build::{Asks, build_asking};
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{
    Arm, BinOp, CmpOp, Cond, CondId, FEW_NODES, Graph, Node, NodeId, Pool, Switch, Value, ValueId,
};
use std::sync::Arc;

/// A graph over simplified values, and their ranges: what the other passes take.
#[derive(Debug)]
pub struct Folded {
    pub(super) graph: Graph,
    pub(super) ranges: Ranges,
}

/// Builds a graph of folded values and conditions.
///
/// # Errors
/// Where the graph outgrows the limit or the time is over: the test at hand.
pub fn build(tree: &Tree, clauses: &[Clause], budget: &Budget) -> Result<Folded, Exceeded> {
    let mut folding = Folding::new(&tree.pool, Live::in_tree(tree, clauses));
    let graph = build_asking(tree, &mut folding, clauses, budget)?;
    Ok(folding.done(graph))
}

/// A graph with the decisions of another, over simplified values, that holds only what is reachable.
pub fn fold(graph: &Graph) -> Folded {
    let order = graph.topological();
    let mut folding = Folding::new(&graph.pool, Live::in_graph(graph, &order));
    let mut out = Graph::with_capacity(Pool::default(), order.len().min(1024) + FEW_NODES);
    out.reserve(order.len());
    let mut new = filled(NodeId(0), graph.node_count());
    let push = |out: &mut Graph, old: NodeId, node: Node| {
        let origin = out.origin_of(graph, old);
        out.push(node, origin)
    };
    for &id in order.iter().rev() {
        let at = |old: NodeId| new[old.index()];
        let node = match graph.node(id) {
            Node::Leaf(leaf) => out.leaf(*leaf),
            Node::Branch { cond, then, els } => {
                let (then, els) = (at(*then), at(*els));
                match folding.test(*cond) {
                    Question::Known(true) => then,
                    Question::Known(false) => els,
                    _ if then == els => then,
                    Question::If(cond) => push(&mut out, id, Node::Branch { cond, then, els }),
                    Question::Unless(cond) => push(&mut out, id, Node::Branch { cond, then: els, els: then }),
                }
            }
            Node::Switch(switch) => {
                let arms = switch.arms.iter().map(|arm| Arm { target: at(arm.target), ..*arm }).collect();
                let new = |value| Switch { value, arms, default: at(switch.default) };
                match folding.switched(switch.value) {
                    Ok(value) => push(&mut out, id, Node::Switch(Box::new(new(value)))),
                    Err(k) => new(switch.value).target(k),
                }
            }
        };
        new[id.index()] = node;
    }
    out.root = new[graph.root.index()];
    folding.done(out)
}

/// The values of a pool that nodes look at, directly or not.
struct Live<'p> {
    pool: &'p Pool,
    values: Vec<Old>,
}

/// A value as it was.
#[derive(Clone, Copy)]
struct Old {
    live: bool,
    /// Whether a live value is divided by it.
    is_divisor: bool,
    /// What it has become, once it was its turn.
    new: ValueId,
}

impl<'p> Live<'p> {
    fn none(pool: &'p Pool) -> Self {
        let old = Old { live: false, is_divisor: false, new: ValueId(u32::MAX) };
        Live { pool, values: filled(old, pool.value_count()) }
    }

    fn in_graph(graph: &'p Graph, order: &[NodeId]) -> Self {
        let mut live = Live::none(&graph.pool);
        for &id in order {
            match graph.node(id) {
                Node::Leaf(_) => {}
                Node::Branch { cond, .. } => live.look_at(graph.pool.cond_operands(*cond)),
                Node::Switch(switch) => live.look_at([switch.value]),
            }
        }
        live
    }

    fn in_tree(tree: &'p Tree, clauses: &[Clause]) -> Self {
        let mut live = Live::none(&tree.pool);
        let mut reached = filled(false, tree.len());
        clauses.iter().filter_map(Clause::root).for_each(|root| reached[root.index()] = true);
        // Operators have greater ids than their operands.
        for id in (0..tree.len() as u32).rev().map(TreeId) {
            match tree.node(id) {
                _ if !reached[id.index()] => {}
                TreeNode::Test(cond) => live.look_at(tree.pool.cond_operands(cond)),
                TreeNode::In(set) => live.look_at([tree.set(set).value]),
                TreeNode::Eval(value) => live.look_at([value]),
                _ => tree.operands(id).for_each(|operand| reached[operand.index()] = true),
            }
        }
        live
    }

    fn look_at(&mut self, values: impl IntoIterator<Item = ValueId>) {
        values.into_iter().for_each(|value| self.values[value.index()].live = true);
    }

    /// All of them, once what the nodes look at is known.
    fn spread(mut self) -> Vec<Old> {
        // Users have greater ids than what they use.
        for id in (0..self.values.len() as u32).rev().map(ValueId) {
            if self.values[id.index()].live {
                self.look_at(self.pool.operands(id));
            }
        }
        self.values
    }
}

/// Simplified values and conditions of a pool.
struct Folding<'p> {
    old: &'p Pool,
    values: Vec<Old>,
    folder: Folder,
}

impl<'p> Folding<'p> {
    /// Folds the values; conditions are folded as they are asked for.
    fn new(old: &'p Pool, live: Live<'_>) -> Self {
        // Folding makes few new values; some constants are needed both ways round. Many conditions get a guard.
        let values_max = old.value_count() + 12;
        let mut pool = Pool::with_capacity(values_max, 2 * old.cond_count() + 12);
        pool.widen_row(old.inputs());
        let folder = Folder { pool, ranges: Ranges::with_capacity(values_max) };
        let mut folding = Folding { old, values: live.spread(), folder };
        (0..old.value_count() as u32).map(ValueId).for_each(|id| folding.value(id));
        folding
    }

    fn value(&mut self, id: ValueId) {
        let new = match self.old.get(id) {
            _ if !self.values[id.index()].live => return,
            value @ (Value::Const(_) | Value::Len | Value::Input(_)) => self.folder.pool.value(value),
            Value::Load { base, offset, size, order } => {
                let base = self.at(base);
                load(&mut self.folder, base, offset, size, order)
            }
            Value::Op(kind, a, b) => {
                self.values[b.index()].is_divisor |= matches!(kind, BinOp::Div | BinOp::Mod);
                let (a, b) = (self.at(a), self.at(b));
                op(&mut self.folder, kind, a, b)
            }
        };
        self.values[id.index()].new = new;
    }

    fn at(&self, old: ValueId) -> ValueId {
        self.values[old.index()].new
    }

    /// `a == b`, given what both have become, where `a` is a divisor: the test is its guard.
    fn divisor_equals(&mut self, a: ValueId, b: ValueId) -> Question {
        match self.folder.as_const(a) {
            None => Question::If(self.folder.pool.cond(Cond::Cmp(CmpOp::Eq, a, b))),
            Some(_) => eq(&mut self.folder, a, b),
        }
    }

    /// The graph of what was asked.
    fn done(self, mut graph: Graph) -> Folded {
        let Folder { pool, mut ranges } = self.folder;
        ranges.cover(&pool);
        graph.pool = pool;
        Folded { graph, ranges }
    }
}

impl Asks for Folding<'_> {
    fn given(&self) -> &Pool {
        self.old
    }

    fn test(&mut self, cond: CondId) -> Question {
        match self.old.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => {
                let (new_a, new_b) = (self.at(a), self.at(b));
                match self.values[a.index()].is_divisor {
                    true => self.divisor_equals(new_a, new_b),
                    false => eq(&mut self.folder, new_a, new_b),
                }
            }
            Cond::Cmp(CmpOp::Lt, a, b) => {
                let (a, b) = (self.at(a), self.at(b));
                less(&mut self.folder, a, b)
            }
            Cond::Test(a, mask) => {
                let (a, mask) = (self.at(a), self.at(mask));
                test(&mut self.folder, a, mask)
            }
            Cond::Bounds { base, end } => self.within(base, end),
            Cond::Member(members) => {
                let words: Vec<ValueId> =
                    self.old.member_words(members).iter().map(|&word| self.at(word)).collect();
                let set = Arc::clone(self.old.members(members));
                let asked = self.folder.pool.is_member(&words, set);
                Question::If(self.folder.pool.cond(asked))
            }
        }
    }

    fn within(&mut self, base: ValueId, end: u32) -> Question {
        let base = self.at(base);
        within(&mut self.folder, base, end)
    }

    fn is_zero(&mut self, divisor: ValueId) -> Question {
        let zero = self.folder.constant(0);
        self.divisor_equals(self.at(divisor), zero)
    }

    fn switched(&mut self, value: ValueId) -> Result<ValueId, u32> {
        let value = self.at(value);
        self.folder.as_const(value).map_or(Ok(value), Err)
    }
}
