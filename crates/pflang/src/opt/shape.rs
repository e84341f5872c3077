//! What several passes need to know about a graph, found once while it stays as it is.

use crate::ir::{Graph, NodeId};

/// A graph's reachable nodes.
#[derive(Debug)]
pub(super) struct Shape {
    /// The root first, every node before its successors.
    pub(super) order: Vec<NodeId>,
    /// By node: how many edges lead to it from nodes that are reached.
    pub(super) edges_in: Vec<u32>,
    root: NodeId,
}

impl Shape {
    /// The shape of a graph given with its topological order.
    pub(super) fn new(graph: &Graph, order: Vec<NodeId>) -> Shape {
        let mut edges_in = vec![0; graph.node_count()];
        for &id in &order {
            graph.node(id).for_each_successor(|next| edges_in[next.index()] += 1);
        }
        Shape { order, edges_in, root: graph.root }
    }

    /// The shape of a graph.
    pub(super) fn of(graph: &Graph) -> Shape {
        Shape::new(graph, graph.topological())
    }

    /// Whether any path leads to a node.
    pub(super) fn reaches(&self, id: NodeId) -> bool {
        id == self.root || self.edges_in[id.index()] > 0
    }
}

/// Takes what was noted about a node: passes note from the root down, and rebuild from the leaves up.
pub(super) fn take<T>(noted: &mut Vec<(NodeId, T)>, id: NodeId) -> Option<T> {
    noted.pop_if(|(at, _)| *at == id).map(|(_, what)| what)
}
