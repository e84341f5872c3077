//! The order of the blocks in memory: topological, each node followed by its likelier successor where that
//! is still free, leaves at the end.
//!
//! Likelier is what does not reject: filters are written to find something, and the first tests of one are
//! guards that nearly every packet passes. Where neither side rejects, it is the one that the test asks for.

use crate::filled::filled;
use crate::ir::{Arm, Cond, Graph, Node, NodeId, REJECT};

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
    let mut edges_in = filled(0, graph.node_count());
    // Each node on the way, with the successors that have not been visited.
    let mut path = Vec::with_capacity(PATH_LIKELY);
    path.push((graph.root, Successors::of(graph, graph.root)));
    while let Some((node, successors)) = path.last_mut() {
        match successors.next() {
            Some(next) => {
                let edges = &mut edges_in[next.index()];
                *edges += 1;
                // The root has no edge to it.
                if *edges == 1 {
                    path.push((next, Successors::of(graph, next)));
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

/// A node's successors, the likeliest last.
enum Successors<'g> {
    None,
    One(NodeId),
    Two(NodeId, NodeId),
    Arms(NodeId, &'g [Arm]),
}

impl<'g> Successors<'g> {
    fn of(graph: &'g Graph, node: NodeId) -> Self {
        match graph.node(node) {
            Node::Leaf(_) => Successors::None,
            Node::Branch { cond, then, els } => {
                let guard = matches!(graph.pool.get_cond(*cond), Cond::Bounds { .. });
                let then_is_likelier = guard || *graph.node(*then) != Node::Leaf(REJECT);
                if then_is_likelier { Successors::Two(*els, *then) } else { Successors::Two(*then, *els) }
            }
            Node::Switch(switch) => Successors::Arms(switch.default, &switch.arms),
        }
    }

    fn next(&mut self) -> Option<NodeId> {
        let (next, rest) = match *self {
            Successors::None => return None,
            Successors::One(last) => (last, Successors::None),
            Successors::Two(first, last) => (first, Successors::One(last)),
            Successors::Arms(first, []) => (first, Successors::None),
            Successors::Arms(first, [arms @ .., last]) => (first, Successors::Arms(last.target, arms)),
        };
        *self = rest;
        Some(next)
    }
}
