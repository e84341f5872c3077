//! Where values are used along the layout, and which of them must be computed once only.

use super::layout::Layout;
use crate::ir::{BinOp, Cond, Graph, Node, Value, ValueId};

/// How one value is used. Positions are those of the layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// What the packet decided once must stay decided: the base of a guard, and a divisor. Between check and use
    /// another party may write to the packet, so these values are never computed again from it.
    pub(super) pinned: bool,
    /// Where it is used first; greater than any where it is not.
    first: u32,
    /// Where the last node is done that evaluates the value or anything made from it: one more than its position.
    pub(super) last_end: u32,
    /// The same of the last node that needs it directly, or makes something from it for the first time.
    pub(super) last_direct_end: u32,
}

impl Use {
    const NONE: Use = Use { pinned: false, first: u32::MAX, last_end: 0, last_direct_end: 0 };
}

/// Finds the uses, by value.
pub(super) fn uses(graph: &Graph, layout: &Layout) -> Vec<Use> {
    let mut uses = vec![Use::NONE; graph.pool.value_count()];
    for_each_pinned(graph, |value| uses[value.index()].pinned = true);
    for (at, &node) in (0..).zip(&layout.order) {
        for value in node_operands(graph, node) {
            let used = &mut uses[value.index()];
            used.first = used.first.min(at);
            used.last_end = at + 1;
            used.last_direct_end = at + 1;
        }
    }
    // Operands have smaller ids, so everything made from a value is settled before the value.
    for value in (0..uses.len() as u32).rev().map(ValueId) {
        let Use { first, last_end, .. } = uses[value.index()];
        if last_end == 0 {
            continue;
        }
        for operand in graph.pool.operands(value) {
            let used = &mut uses[operand.index()];
            used.first = used.first.min(first);
            used.last_end = used.last_end.max(last_end);
            used.last_direct_end = used.last_direct_end.max(first + 1);
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
    let mut pinned = vec![false; graph.pool.value_count()];
    for_each_pinned(graph, |value| pinned[value.index()] = true);
    pinned
}

fn for_each_pinned(graph: &Graph, mut pin: impl FnMut(ValueId)) {
    let pool = &graph.pool;
    let bases =
        (0..pool.cond_count() as u32).filter_map(|cond| match pool.get_cond(crate::ir::CondId(cond)) {
            Cond::Bounds { base, .. } => Some(base),
            _ => None,
        });
    let divisors = (0..pool.value_count() as u32).filter_map(|value| match pool.get(ValueId(value)) {
        Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => Some(divisor),
        _ => None,
    });
    bases.chain(divisors).filter(|&value| pool.as_const(value).is_none()).for_each(&mut pin);
}
