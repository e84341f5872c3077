//! The order of the blocks in memory: topological, each node followed by its likelier successor where that
//! is still free, leaves at the end.
//!
//! Likelier is what does not reject: filters are written to find something, and the first tests of one are
//! guards that nearly every packet passes. Where neither side rejects, it is the one that the test asks for.

use crate::ir::{Cond, Graph, Node, NodeId, REJECT};

/// The reachable nodes in layout order.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Nodes by position.
    pub(crate) order: Vec<NodeId>,
    /// Position by node; `u32::MAX` where unreachable.
    pub(crate) position: Vec<u32>,
    /// By node: how many edges lead to it.
    pub(crate) edges_in: Vec<u32>,
}

/// Reverse postorder of a depth-first walk that visits the likelier successor last.
pub(crate) fn layout(graph: &Graph) -> Layout {
    let mut order = Vec::with_capacity(graph.node_count());
    let mut leaves = Vec::with_capacity(2);
    let mut edges_in = vec![0; graph.node_count()];
    // Each node on the way, with the number of the successor to visit next.
    let mut path = Vec::with_capacity(PATH_LIKELY);
    path.push((graph.root, 0));
    while let Some((node, visited)) = path.last_mut() {
        *visited += 1;
        match successor(graph, *node, *visited - 1) {
            Some(next) => {
                let edges = &mut edges_in[next.index()];
                *edges += 1;
                // The root has no edge to it.
                if *edges == 1 {
                    path.push((next, 0));
                }
            }
            None => {
                let done = if matches!(graph.node(*node), Node::Leaf(_)) { &mut leaves } else { &mut order };
                done.push(*node);
                path.pop();
            }
        }
    }
    let rejects = |leaf: &NodeId| *graph.node(*leaf) == Node::Leaf(REJECT);
    leaves.sort_by_key(|leaf| (rejects(leaf), *leaf));
    order.reverse();
    order.append(&mut leaves);
    let mut position = vec![u32::MAX; graph.node_count()];
    for (i, node) in order.iter().enumerate() {
        position[node.index()] = i as u32;
    }
    Layout { order, position, edges_in }
}

/// More than the longest path of most filters.
const PATH_LIKELY: usize = 32;

/// A node's successor number `i`, the likeliest last.
fn successor(graph: &Graph, node: NodeId, i: usize) -> Option<NodeId> {
    match graph.node(node) {
        Node::Leaf(_) => None,
        Node::Branch { cond, then, els } => {
            let guard = matches!(graph.pool.get_cond(*cond), Cond::Bounds { .. });
            let then_is_likelier = guard || *graph.node(*then) != Node::Leaf(REJECT);
            let ascending = if then_is_likelier { [*els, *then] } else { [*then, *els] };
            ascending.get(i).copied()
        }
        Node::Switch(switch) if i == 0 => Some(switch.default),
        Node::Switch(switch) => switch.arms.iter().rev().nth(i - 1).map(|arm| arm.target),
    }
}
