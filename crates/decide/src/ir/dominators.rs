//! Which nodes every path to a node passes.
//!
//! ```text
//! idom(root) = none        idom(n) = lowest common ancestor, in the tree so far, of n's predecessors
//! ```
//! Ids are a topological order, so one sweep suffices: no iteration as in graphs with loops.

use super::ancestry::Ancestry;
use super::{Graph, NodeId};

/// The dominator tree of a graph's reachable nodes.
#[derive(Debug)]
pub struct Dominators {
    tree: Ancestry,
    /// By node: its place in the tree.
    place: Vec<u32>,
    /// By place: its node.
    node: Vec<NodeId>,
}

const UNREACHED: u32 = u32::MAX;

impl Dominators {
    /// The dominators, given the graph's topological order.
    pub fn new(graph: &Graph, order: &[NodeId]) -> Self {
        let mut tree = Ancestry::with_capacity(order.len());
        let mut node = vec![graph.root];
        // Of a node not yet placed: the common dominator of the predecessors seen so far.
        let mut place = vec![UNREACHED; graph.node_count()];
        for &id in order {
            let here = if id == graph.root { 0 } else { tree.push(place[id.index()]) };
            if here > 0 {
                node.push(id);
            }
            place[id.index()] = here;
            graph.node(id).for_each_successor(|next| {
                let above = place[next.index()];
                place[next.index()] = if above == UNREACHED { here } else { tree.common(above, here) };
            });
        }
        Dominators { tree, place, node }
    }

    /// The closest node that every path to `id` passes; `None` for the root.
    pub fn immediate(&self, id: NodeId) -> Option<NodeId> {
        let place = self.place[id.index()];
        (place != 0).then(|| self.node[self.tree.parent(place) as usize])
    }

    /// Whether every path to `b` passes `a` (or `a` is `b`).
    pub fn dominates(&self, a: NodeId, b: NodeId) -> bool {
        self.tree.is_above(self.place[a.index()], self.place[b.index()])
    }
}
