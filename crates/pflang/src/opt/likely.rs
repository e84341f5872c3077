//! Asking for the likelier protocol first.
//!
//! Two tests of one value against different constants can be swapped. libpcap asks for IPv6 before IPv4; here IPv4
//! comes first, which most packets are. Only an order: every answer stays as it is.

use super::rebuild::Rebuild;
use super::shape::{Shape, take};
use crate::ir::{CmpOp, Cond, CondId, Graph, Node, NodeId, Size, Value, ValueId};

/// The protocol number of IPv4, in EtherTypes and in all that borrow them.
const IPV4: u32 = 0x800;

/// Moves the test for IPv4 before that for another protocol; says whether there was any to move.
pub(super) fn likely(graph: &mut Graph, shape: &Shape) -> bool {
    let found = |&id: &NodeId| Some((id, swap_at(graph, &shape.edges_in, id)?));
    let mut swaps: Vec<(NodeId, Swap)> = shape.order.iter().filter_map(found).collect();
    if swaps.is_empty() {
        return false;
    }
    let root = graph.root;
    Rebuild::new(graph).run(root, |rebuild, id, node| {
        if !shape.reaches(id) {
            return None;
        }
        Some(match take(&mut swaps, id) {
            None => rebuild.same(id, node),
            Some(swap) => {
                let [hit, other_hit, rest] = [swap.hit, swap.other_hit, swap.rest].map(|old| rebuild.at(old));
                let later = rebuild.branch(id, swap.other_cond, other_hit, rest);
                rebuild.branch(swap.second, swap.cond, hit, later)
            }
        })
    });
    true
}

/// `other_cond ? other_hit : (cond ? hit : rest)`, to be asked the other way round.
struct Swap {
    second: NodeId,
    cond: CondId,
    hit: NodeId,
    other_cond: CondId,
    other_hit: NodeId,
    rest: NodeId,
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
