//! Where values are used along the layout, and which of them must be computed once only.

use super::layout::Layout;
use crate::ir::{BinOp, Cond, Graph, Node, Value, ValueId};

/// How one value is used. Positions are those of the layout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// What the packet decided once must stay decided: the base of a guard, and a divisor. Between check and use
    /// another party may write to the packet, so these values are never computed again from it.
    pub(super) pinned: bool,
    first: Option<u32>,
    /// Position of the last node that evaluates the value or anything made from it.
    pub(super) last: Option<u32>,
    /// Position of the last node that needs it directly, or makes something from it for the first time.
    pub(super) last_direct: Option<u32>,
}

/// Finds the uses, by value.
pub(super) fn uses(graph: &Graph, layout: &Layout) -> Vec<Use> {
    let mut uses = vec![Use::default(); graph.pool.value_count()];
    for_each_pinned(graph, |value| uses[value.index()].pinned = true);
    for (at, &node) in (0..).zip(&layout.order) {
        for value in node_operands(graph, node) {
            let used = &mut uses[value.index()];
            used.first.get_or_insert(at);
            used.last = Some(at);
            used.last_direct = Some(at);
        }
    }
    // Operands have smaller ids, so everything made from a value is settled before the value.
    for value in (0..uses.len() as u32).rev().map(ValueId) {
        let Use { first: Some(start), last: end, .. } = uses[value.index()] else { continue };
        for operand in graph.pool.operands(value) {
            let used = &mut uses[operand.index()];
            used.first = Some(used.first.map_or(start, |at| at.min(start)));
            used.last = used.last.max(end);
            used.last_direct = used.last_direct.max(Some(start));
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
