//! Asking for the likelier protocol first.
//!
//! Two tests of one value against different constants can be swapped. libpcap asks for IPv6 before IPv4; here IPv4
//! comes first, which most packets are. Only an order: every answer stays as it is.

use super::shape::{Shape, take};
use crate::filled::filled;
use crate::ir::{CmpOp, Cond, CondId, Graph, Node, NodeId, Size, Value, ValueId};

/// The protocol number of IPv4, in EtherTypes and in all that borrow them.
const IPV4: u32 = 0x800;

/// The tests to swap; the pass that writes the graph again does it.
pub(super) struct Swaps {
    /// By the first of the two, from the root down.
    swaps: Vec<(NodeId, Swap)>,
    /// By node: whether it is the second of two.
    seconds: Vec<bool>,
}

/// `other_cond ? other_hit : (cond ? hit : rest)`, to be asked the other way round.
pub(super) struct Swap {
    pub(super) second: NodeId,
    pub(super) cond: CondId,
    pub(super) hit: NodeId,
    pub(super) other_cond: CondId,
    pub(super) other_hit: NodeId,
    pub(super) rest: NodeId,
}

impl Swaps {
    /// Finds the tests for IPv4 that come right behind one for another protocol.
    pub(super) fn find(graph: &Graph, shape: &Shape) -> Swaps {
        let found = |&id: &NodeId| Some((id, swap_at(graph, &shape.edges_in, id)?));
        let swaps: Vec<(NodeId, Swap)> = shape.order.iter().filter_map(found).collect();
        // A second is never a first: it asks for IPv4, and a first does not.
        let mut seconds = filled(false, if swaps.is_empty() { 0 } else { graph.node_count() });
        swaps.iter().for_each(|(_, swap)| seconds[swap.second.index()] = true);
        Swaps { swaps, seconds }
    }

    /// The swap that begins at a node, of nodes asked for from the leaves up.
    pub(super) fn take(&mut self, id: NodeId) -> Option<Swap> {
        take(&mut self.swaps, id)
    }

    /// Whether a node is written together with the one before it.
    pub(super) fn is_second(&self, id: NodeId) -> bool {
        self.seconds.get(id.index()) == Some(&true)
    }
}

fn swap_at(graph: &Graph, edges_in: &[u32], id: NodeId) -> Option<Swap> {
    let (other_cond, other_hit, second) = branch(graph, id)?;
    let (cond, hit, rest) = branch(graph, second)?;
    let (other_value, k) = equality(graph, other_cond)?;
    let (value, ipv4) = equality(graph, cond)?;
    let is_16_bits = matches!(graph.pool.get(value), Value::Load { size: Size::B2, .. });
    let swaps =
        is_16_bits && value == other_value && ipv4 == IPV4 && k != IPV4 && edges_in[second.index()] == 1;
    swaps.then_some(Swap { second, cond, hit, other_cond, other_hit, rest })
}

fn branch(graph: &Graph, id: NodeId) -> Option<(CondId, NodeId, NodeId)> {
    match *graph.node(id) {
        Node::Branch { cond, then, els } => Some((cond, then, els)),
        Node::Leaf(_) | Node::Switch(_) => None,
    }
}

fn equality(graph: &Graph, cond: CondId) -> Option<(ValueId, u32)> {
    match graph.pool.get_cond(cond) {
        Cond::Cmp(CmpOp::Eq, value, k) => Some((value, graph.pool.as_const(k)?)),
        _ => None,
    }
}
