//! Shape: facts about a graph that several passes need, found once while it does not change.

use crate::ir::{FEW_NODES, Graph, NodeId};

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
    /// The shape of a graph.
    pub(super) fn of(graph: &Graph) -> Shape {
        let likely = graph.node_count() + FEW_NODES;
        let (order, edges_in) = (Vec::with_capacity(likely), Vec::with_capacity(likely));
        let mut shape = Shape { order, edges_in, root: graph.root };
        shape.update(graph);
        shape
    }

    /// Finds the shape again after a change.
    pub(super) fn update(&mut self, graph: &Graph) {
        self.root = graph.root;
        self.order.clear();
        self.edges_in.clear();
        self.edges_in.resize(graph.node_count(), 0);
        // Every node has a greater id than its successors.
        for id in (0..graph.node_count() as u32).rev().map(NodeId) {
            if self.reaches(id) {
                self.order.push(id);
                graph.node(id).for_each_successor(|next| self.edges_in[next.index()] += 1);
            }
        }
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
