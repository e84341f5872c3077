//! Folding: every value and condition written anew by constructors that simplify.
//!
//! ```text
//! fold(graph):
//!     for each value, operands first:     values[v] = simplest equal value      (value.rs)
//!     for each node, successors first:
//!         Known(b)    -> the successor that b chooses
//!         If(c)       -> branch(c, then, els)
//!         Unless(c)   -> branch(c, els, then)
//! ```
//! Nodes that become equal are shared by the rebuild of the next pass. Guards are nodes of their own, so a load that folds away takes no check with it. The guard of a division stays
//! exactly `divisor == 0`, unless the divisor is a constant: the verifier looks for that form.

use super::question::{Question, eq, less, test, within};
use super::range::Ranges;
use super::value::{load, op};
use crate::ir::{Arm, BinOp, CmpOp, Cond, FEW_NODES, Graph, Node, NodeId, Pool, Switch, Value, ValueId};

/// A pool that is being filled, with the ranges of what it holds.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) pool: Pool,
    pub(super) ranges: Ranges,
}

/// The same decisions over simplified values, in a graph that holds only what is reachable; and the values' ranges.
pub(super) fn fold(graph: &Graph) -> (Graph, Ranges) {
    let order = graph.topological();
    // Folding makes few new values, and the passes after it few conditions.
    let values_max = graph.pool.value_count() + 8;
    let pool = Pool::with_capacity(values_max, graph.pool.cond_count() + 8);
    let mut folder = Folder { pool, ranges: Ranges::with_capacity(values_max) };
    let mut values = live_values(graph, &order);
    fold_values(&graph.pool, &mut values, &mut folder);
    let mut questions = vec![None; graph.pool.cond_count()];
    let mut out = Graph::with_capacity(Pool::default(), order.len().min(1024) + FEW_NODES);
    out.reserve(order.len());
    let mut new = vec![NodeId(0); graph.node_count()];
    let push = |out: &mut Graph, old: NodeId, node: Node| {
        let new = out.push(node);
        out.take_origin(new, graph, old);
        new
    };
    for &id in order.iter().rev() {
        let at = |old: NodeId| new[old.index()];
        let node = match graph.node(id) {
            Node::Leaf(leaf) => out.leaf(*leaf),
            Node::Branch { cond, then, els } => {
                let question = *questions[cond.index()]
                    .get_or_insert_with(|| fold_cond(&mut folder, graph.pool.get_cond(*cond), &values));
                let (then, els) = (at(*then), at(*els));
                match question {
                    Question::Known(true) => then,
                    Question::Known(false) => els,
                    _ if then == els => then,
                    Question::If(cond) => push(&mut out, id, Node::Branch { cond, then, els }),
                    Question::Unless(cond) => push(&mut out, id, Node::Branch { cond, then: els, els: then }),
                }
            }
            Node::Switch(switch) => {
                let arms = switch.arms.iter().map(|arm| Arm { target: at(arm.target), ..*arm }).collect();
                let switch =
                    Switch { value: values[switch.value.index()].new, arms, default: at(switch.default) };
                match folder.as_const(switch.value) {
                    Some(k) => switch.target(k),
                    None => push(&mut out, id, Node::Switch(Box::new(switch))),
                }
            }
        };
        new[id.index()] = node;
    }
    out.root = new[graph.root.index()];
    folder.ranges.cover(&folder.pool);
    out.pool = folder.pool;
    (out, folder.ranges)
}

/// A value as it was.
#[derive(Clone, Copy)]
struct Old {
    /// Whether the nodes look at it, directly or not.
    live: bool,
    /// Whether a live value is divided by it.
    is_divisor: bool,
    /// What it has become, once it was its turn.
    new: ValueId,
}

fn live_values(graph: &Graph, order: &[NodeId]) -> Vec<Old> {
    let old = Old { live: false, is_divisor: false, new: ValueId(u32::MAX) };
    let mut values = vec![old; graph.pool.value_count()];
    for &id in order {
        match graph.node(id) {
            Node::Leaf(_) => {}
            Node::Branch { cond, .. } => {
                graph.pool.cond_operands(*cond).for_each(|value| values[value.index()].live = true)
            }
            Node::Switch(switch) => values[switch.value.index()].live = true,
        }
    }
    // Users have greater ids than what they use.
    for id in (0..values.len() as u32).rev().map(ValueId) {
        if values[id.index()].live {
            graph.pool.operands(id).for_each(|operand| values[operand.index()].live = true);
        }
    }
    values
}

fn fold_values(pool: &Pool, values: &mut [Old], folder: &mut Folder) {
    for id in (0..values.len() as u32).map(ValueId) {
        let at = |old: ValueId| values[old.index()].new;
        let new = match pool.get(id) {
            _ if !values[id.index()].live => continue,
            value @ (Value::Const(_) | Value::Len) => folder.pool.value(value),
            Value::Load { base, offset, size, order } => load(folder, at(base), offset, size, order),
            Value::Op(kind, a, b) => {
                let new = op(folder, kind, at(a), at(b));
                values[b.index()].is_divisor |= matches!(kind, BinOp::Div | BinOp::Mod);
                new
            }
        };
        values[id.index()].new = new;
    }
}

fn fold_cond(folder: &mut Folder, cond: Cond, values: &[Old]) -> Question {
    let at = |old: ValueId| values[old.index()].new;
    match cond {
        Cond::Cmp(CmpOp::Eq, a, b)
            if values[a.index()].is_divisor && folder.pool.as_const(at(a)).is_none() =>
        {
            Question::If(folder.pool.cond(Cond::Cmp(CmpOp::Eq, at(a), at(b))))
        }
        Cond::Cmp(CmpOp::Eq, a, b) => eq(folder, at(a), at(b)),
        Cond::Cmp(CmpOp::Lt, a, b) => less(folder, at(a), at(b)),
        Cond::Test(a, mask) => test(folder, at(a), at(mask)),
        Cond::Bounds { base, end } => within(folder, at(base), end),
    }
}
