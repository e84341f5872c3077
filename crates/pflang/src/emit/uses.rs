//! Where values are used along the layout, and which of them must be computed once only.

use super::layout::Layout;
use crate::ir::{BinOp, Cond, Graph, Node, Value, ValueId};

/// For each value, by id.
#[derive(Debug)]
pub(super) struct Uses {
    /// What the packet decided once must stay decided: the base of a guard, and a divisor. Between check and use
    /// another party may write to the packet, so these values are never computed again from it.
    pub(super) pinned: Vec<bool>,
    /// Position of the last node that evaluates the value or anything made from it.
    pub(super) last: Vec<Option<u32>>,
    /// Position of the last node that needs it directly, or makes something from it for the first time.
    pub(super) last_direct: Vec<Option<u32>>,
}

/// Finds the uses.
pub(super) fn uses(graph: &Graph, layout: &Layout) -> Uses {
    let count = graph.pool.value_count();
    let mut uses = Uses { pinned: pinned(graph), last: vec![None; count], last_direct: vec![None; count] };
    let mut first: Vec<Option<u32>> = vec![None; count];
    for (at, &node) in (0..).zip(&layout.order) {
        for value in node_operands(graph, node) {
            first[value.index()].get_or_insert(at);
            uses.last[value.index()] = Some(at);
            uses.last_direct[value.index()] = Some(at);
        }
    }
    // Operands have smaller ids, so everything made from a value is settled before the value.
    for value in (0..count as u32).rev().map(ValueId) {
        let (Some(start), Some(end)) = (first[value.index()], uses.last[value.index()]) else { continue };
        for operand in graph.pool.operands(value) {
            let i = operand.index();
            first[i] = Some(first[i].map_or(start, |at| at.min(start)));
            uses.last[i] = uses.last[i].max(Some(end));
            uses.last_direct[i] = uses.last_direct[i].max(Some(start));
        }
    }
    uses
}

/// The values that a node looks at.
fn node_operands(graph: &Graph, node: crate::ir::NodeId) -> impl Iterator<Item = ValueId> + use<'_> {
    let (cond, switch) = match graph.node(node) {
        Node::Leaf(_) => (None, None),
        Node::Branch { cond, .. } => (Some(*cond), None),
        Node::Switch(switch) => (None, Some(switch.value)),
    };
    cond.into_iter().flat_map(|cond| graph.pool.cond_operands(cond)).chain(switch)
}

pub(crate) fn pinned(graph: &Graph) -> Vec<bool> {
    let pool = &graph.pool;
    let mut pinned = vec![false; pool.value_count()];
    for cond in (0..pool.cond_count() as u32).map(crate::ir::CondId) {
        if let Cond::Bounds { base, .. } = pool.get_cond(cond) {
            pinned[base.index()] = pool.as_const(base).is_none();
        }
    }
    for value in (0..pool.value_count() as u32).map(ValueId) {
        if let Value::Op(BinOp::Div | BinOp::Mod, _, divisor) = pool.get(value) {
            pinned[divisor.index()] = pool.as_const(divisor).is_none();
        }
    }
    pinned
}
