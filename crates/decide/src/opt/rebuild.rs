//! The end of every pass: the nodes are built again, from the leaves up, over the same values and conditions.
//!
//! A pass first only looks, and notes what to change; then it rebuilds, so that hash-consing shares what became
//! equal and drops what nothing reaches any more. Spans move along with the node they belong to.

use crate::ir::{CondId, Graph, Node, NodeId, Origin, REJECT, Stored, Switch};

/// A graph's old nodes, and what has become of them.
pub(super) struct Rebuild<'g> {
    pub(super) graph: &'g mut Graph,
    old: &'g mut Room,
}

/// Memory for rebuilds, which one after the other uses.
#[derive(Default)]
pub(super) struct Room {
    nodes: Vec<Stored>,
    new: Vec<NodeId>,
}

const UNPLACED: NodeId = NodeId(u32::MAX);

impl<'g> Rebuild<'g> {
    /// Takes the nodes out of a graph.
    pub(super) fn new(graph: &'g mut Graph, room: &'g mut Room) -> Self {
        graph.exchange_nodes(&mut room.nodes);
        room.new.clear();
        room.new.reserve(room.nodes.capacity());
        room.new.resize(room.nodes.len(), UNPLACED);
        Rebuild { graph, old: room }
    }

    /// Rebuilds the old nodes in ascending order as `build` says (`None`: no longer reached), from `root` down.
    pub(super) fn run(
        mut self,
        root: NodeId,
        mut build: impl FnMut(&mut Self, NodeId, Node) -> Option<NodeId>,
    ) {
        for index in 0..self.old.nodes.len() {
            let node = std::mem::replace(&mut self.old.nodes[index].node, Node::Leaf(REJECT));
            if let Some(new) = build(&mut self, NodeId(index as u32), node) {
                self.old.new[index] = new;
            }
        }
        self.graph.root = self.at(root);
    }

    /// The new node for an old one.
    pub(super) fn at(&self, old: NodeId) -> NodeId {
        let new = self.old.new[old.index()];
        debug_assert_ne!(new, UNPLACED, "node {old:?} is used but was dropped");
        new
    }

    /// The same node over what its old successors have become.
    pub(super) fn same(&mut self, old: NodeId, node: Node) -> NodeId {
        match node {
            Node::Leaf(leaf) => self.graph.leaf(leaf),
            Node::Branch { cond, then, els } => self.branch(old, cond, self.at(then), self.at(els)),
            Node::Switch(mut switch) => {
                switch.arms.iter_mut().for_each(|arm| arm.target = self.at(arm.target));
                switch.default = self.at(switch.default);
                self.switch(old, *switch)
            }
        }
    }

    /// A branch between new nodes, which came from where `old` did.
    pub(super) fn branch(&mut self, old: NodeId, cond: CondId, then: NodeId, els: NodeId) -> NodeId {
        self.graph.branch_from(self.origin(old), cond, then, els)
    }

    /// The same where there is no equal one.
    pub(super) fn new_branch(&mut self, old: NodeId, cond: CondId, then: NodeId, els: NodeId) -> NodeId {
        self.graph.push(Node::Branch { cond, then, els }, self.origin(old))
    }

    fn origin(&self, old: NodeId) -> Origin {
        self.old.nodes[old.index()].from
    }

    /// A switch between new nodes, which came from where `old` did.
    pub(super) fn switch(&mut self, old: NodeId, switch: Switch) -> NodeId {
        let default = switch.default;
        let node = self.graph.switch(switch);
        if node != default {
            self.came_from(node, old);
        }
        node
    }

    /// Records that a new node replaces an old one as well.
    pub(super) fn came_from(&mut self, new: NodeId, old: NodeId) {
        self.graph.add_origin(new, self.origin(old));
    }

    /// Where these old nodes came from.
    pub(super) fn origin_of_all(&mut self, old: &[NodeId]) -> Origin {
        self.graph.joined_origin(old.iter().map(|old| self.old.nodes[old.index()].from))
    }
}
