//! The order of the blocks in memory: topological, each node followed by its likelier successor where that
//! is still free, leaves at the end.
//!
//! Likelier is what does not reject: filters are written to find something, and the first tests of one are
//! guards that nearly every packet passes. Where neither side rejects, it is the one that the test asks for.

use crate::ir::{Cond, Graph, Node, NodeId, REJECT};

/// The reachable nodes in layout order.
#[derive(Debug)]
pub(super) struct Layout {
    /// Nodes by position.
    pub(super) order: Vec<NodeId>,
    /// Position by node; `u32::MAX` where unreachable.
    pub(super) position: Vec<u32>,
    /// By node: how many edges lead to it.
    pub(super) edges_in: Vec<u32>,
}

/// Reverse postorder of a depth-first walk that visits the likelier successor last.
pub(super) fn layout(graph: &Graph) -> Layout {
    let mut finished = Vec::new();
    let mut leaves = Vec::new();
    let mut seen = vec![false; graph.node_count()];
    let mut path = vec![(graph.root, successors(graph, graph.root))];
    seen[graph.root.index()] = true;
    while let Some((node, pending)) = path.last_mut() {
        match pending.pop() {
            Some(next) if std::mem::replace(&mut seen[next.index()], true) => {}
            Some(next) => path.push((next, successors(graph, next))),
            None => {
                let done =
                    if matches!(graph.node(*node), Node::Leaf(_)) { &mut leaves } else { &mut finished };
                done.push(*node);
                path.pop();
            }
        }
    }
    let rejects = |leaf: &NodeId| *graph.node(*leaf) == Node::Leaf(REJECT);
    leaves.sort_by_key(|leaf| (rejects(leaf), *leaf));
    let order: Vec<NodeId> = finished.into_iter().rev().chain(leaves).collect();
    let mut position = vec![u32::MAX; graph.node_count()];
    for (i, node) in order.iter().enumerate() {
        position[node.index()] = i as u32;
    }
    let mut edges_in = vec![0; graph.node_count()];
    for &node in &order {
        graph.node(node).for_each_successor(|next| edges_in[next.index()] += 1);
    }
    Layout { order, position, edges_in }
}

/// A node's successors, the likeliest first.
fn successors(graph: &Graph, node: NodeId) -> Vec<NodeId> {
    match graph.node(node) {
        Node::Leaf(_) => Vec::new(),
        Node::Branch { cond, then, els } => {
            let guard = matches!(graph.pool.get_cond(*cond), Cond::Bounds { .. });
            let then_first = guard || *graph.node(*then) != Node::Leaf(REJECT);
            if then_first { vec![*then, *els] } else { vec![*els, *then] }
        }
        Node::Switch(switch) => switch.arms.iter().map(|arm| arm.target).chain([switch.default]).collect(),
    }
}
