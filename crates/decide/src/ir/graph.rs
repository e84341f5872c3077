//! The decision graph: a hash-consed DAG of branches and switches over conditions, ending in leaves.
//!
//! INVARIANT: a node's successors have smaller ids, so ids are a topological order (descending from the
//! root). INVARIANT: a load is evaluated only where a `Bounds` fact covers it; [`super::verify`] checks it.

use super::interner::Interner;
use super::origin::{Origin, Origins, Spans};
use super::pool::{Cond, CondId, Pool, Value, ValueId, pair};
use crate::filled::filled;
use crate::span::Span;

index_type! {
    /// Index of a [`Node`].
    NodeId
}

/// The leaf number that rejects.
pub const REJECT: u32 = 0;
/// The leaf number with which a plain filter accepts.
pub const ACCEPT: u32 = 1;

/// One step of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The answer.
    Leaf(u32),
    /// Go to `then` where the condition holds, else to `els`.
    Branch {
        /// The question.
        cond: CondId,
        /// Where yes leads.
        then: NodeId,
        /// Where no leads.
        els: NodeId,
    },
    /// Go where the value's range leads.
    Switch(Box<Switch>),
}

/// A many-way branch on one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Switch {
    /// The value looked at.
    pub value: ValueId,
    /// Disjoint, ascending, inclusive ranges.
    pub arms: Vec<Arm>,
    /// Where every other value leads.
    pub default: NodeId,
}

/// `low..=high` leads to `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Arm {
    pub low: u32,
    pub high: u32,
    pub target: NodeId,
}

impl Switch {
    /// Where `x` leads.
    #[inline]
    pub fn target(&self, x: u32) -> NodeId {
        let i = self.arms.partition_point(|arm| arm.high < x);
        match self.arms.get(i) {
            Some(arm) if arm.low <= x => arm.target,
            _ => self.default,
        }
    }
}

impl Node {
    /// What it hashes by: equal nodes give equal words, different switches seldom do.
    fn words(&self) -> (u64, u64) {
        match self {
            Node::Leaf(leaf) => (0, u64::from(*leaf)),
            Node::Branch { cond, then, els } => (1 << 63 | pair(cond.0, then.0), u64::from(els.0)),
            Node::Switch(switch) => {
                let arms = switch.arms.iter().fold(switch.arms.len() as u64, |hash, arm| {
                    (hash.rotate_left(7) ^ pair(arm.low, arm.target.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                });
                (arms, pair(switch.value.0, switch.default.0))
            }
        }
    }

    /// Visits the successors; a switch may name one more than once.
    pub fn for_each_successor(&self, mut f: impl FnMut(NodeId)) {
        match self {
            Node::Leaf(_) => {}
            Node::Branch { then, els, .. } => {
                f(*then);
                f(*els);
            }
            Node::Switch(switch) => {
                switch.arms.iter().for_each(|arm| f(arm.target));
                f(switch.default);
            }
        }
    }
}

/// Nodes that a pass may add to a small graph.
pub(crate) const FEW_NODES: usize = 8;

/// A decision program: a DAG of tests that ends in leaves, built from the leaves up, so that what programs share is one node.
///
/// ```
/// use decide::{Arm, CmpOp, Cond, Decision, Graph, Options, Pool, Size, Switch};
///
/// let mut pool = Pool::default();
/// let (first, second, seven) = (pool.at(0, Size::B1), pool.at(1, Size::B1), pool.constant(7));
/// let is_seven = pool.cond(Cond::Cmp(CmpOp::Eq, second, seven));
/// let mut graph = Graph::new(pool);
/// let (reject, one, two) = (graph.leaf(0), graph.leaf(1), graph.leaf(2));
/// // Two ranges of the first byte lead to one test of the second.
/// let test = graph.branch(is_seven, one, two);
/// let arms = [(0, 9), (20, 29)].map(|(low, high)| Arm { low, high, target: test });
/// let switch = graph.switch(Switch { value: first, arms: arms.to_vec(), default: reject });
/// graph.root = graph.guard(&[first, second], switch, reject);
/// let decision: Decision = Decision::of_graph(graph, &Options::default())?;
/// assert_eq!([[3, 7], [22, 0], [15, 7]].map(|packet| decision.leaf(&packet, 2)), [1, 2, 0]);
/// # Ok::<(), decide::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    /// Values and conditions.
    pub pool: Pool,
    nodes: Vec<Stored>,
    ids: Interner,
    origins: Origins,
    /// Where evaluation starts.
    pub root: NodeId,
}

/// A node, and where it came from: outside the hash key, so sharing is never prevented by it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) node: Node,
    pub(crate) from: Origin,
}

impl Graph {
    /// A graph over these values, with no node yet: set `root` when done.
    #[inline]
    pub fn new(pool: Pool) -> Self {
        Graph::with_capacity(pool, 0)
    }

    /// An empty graph with room for this many nodes.
    #[inline]
    pub fn with_capacity(pool: Pool, nodes: usize) -> Self {
        let ids = Interner::with_capacity(nodes);
        Graph { pool, nodes: Vec::with_capacity(nodes), ids, origins: Origins::new(), root: NodeId(0) }
    }

    /// Makes room for this many nodes that are not looked up.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve_exact(nodes);
    }

    /// The node that answers `leaf`.
    #[inline]
    pub fn leaf(&mut self, leaf: u32) -> NodeId {
        self.intern(Node::Leaf(leaf))
    }

    /// A branch; none where both arms agree.
    #[inline]
    pub fn branch(&mut self, cond: CondId, then: NodeId, els: NodeId) -> NodeId {
        if then == els { then } else { self.intern(Node::Branch { cond, then, els }) }
    }

    /// A switch; none where all arms agree.
    #[inline]
    pub fn switch(&mut self, switch: Switch) -> NodeId {
        if switch.arms.iter().all(|arm| arm.target == switch.default) {
            switch.default
        } else {
            self.intern(Node::Switch(Box::new(switch)))
        }
    }

    fn intern(&mut self, node: Node) -> NodeId {
        self.intern_from(node, Origin::UNKNOWN)
    }

    /// The node, which came from there as well.
    fn intern_from(&mut self, node: Node, origin: Origin) -> NodeId {
        let next = self.nodes.len() as u32;
        let id = self.ids.id(node.words(), next, |id| self.nodes[id as usize].node == node);
        if id == next {
            self.nodes.push(Stored { node, from: origin });
        } else {
            self.add_origin(NodeId(id), origin);
        }
        NodeId(id)
    }

    /// A branch that came from there; none where both arms agree.
    pub(crate) fn branch_from(&mut self, origin: Origin, cond: CondId, then: NodeId, els: NodeId) -> NodeId {
        if then == els { then } else { self.intern_from(Node::Branch { cond, then, els }, origin) }
    }

    /// The number here of where a node of another graph came from, of which this one is made.
    pub(crate) fn origin_of(&mut self, other: &Graph, old: NodeId) -> Origin {
        self.origins.take_over(&other.origins, other.nodes[old.index()].from)
    }

    /// The number of where nodes come from that stand for this of the text.
    pub(crate) fn origin_at(&mut self, span: Span) -> Origin {
        self.origins.with(Origin::UNKNOWN, span)
    }

    /// The node of an id.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()].node
    }

    /// How many nodes there are, reachable or not.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Where a node came from.
    #[inline]
    pub fn spans(&self, id: NodeId) -> &Spans {
        self.origins.spans(self.nodes[id.index()].from)
    }

    /// Records that a node came from where another did.
    #[inline]
    pub fn add_spans(&mut self, id: NodeId, spans: &Spans) {
        let mut all = *self.spans(id);
        all.merge(spans);
        self.nodes[id.index()].from = self.origins.of(&all);
    }

    /// Records where a node came from, by its number in this graph.
    #[inline]
    pub(crate) fn add_origin(&mut self, id: NodeId, origin: Origin) {
        let from = &mut self.nodes[id.index()].from;
        *from = self.origins.both(*from, origin);
    }

    /// What came from all of these.
    pub(crate) fn joined_origin(&mut self, origins: impl Iterator<Item = Origin>) -> Origin {
        let mut all = Spans::default();
        origins.for_each(|origin| all.merge(self.origins.spans(origin)));
        self.origins.of(&all)
    }

    /// Takes out all nodes and where they came from, keeping values and conditions: what a pass starts a rebuild with.
    /// What they are put into is emptied, and its memory is that of the new nodes.
    pub(crate) fn exchange_nodes(&mut self, nodes: &mut Vec<Stored>) {
        self.ids.clear();
        nodes.clear();
        // Most rebuilds keep most nodes and add a few, but the first one of a long list keeps a fraction. In steps, so that
        // the memory of one mostly suffices for the next.
        nodes.reserve((self.nodes.len().min(1024) + FEW_NODES).next_multiple_of(2 * FEW_NODES));
        std::mem::swap(&mut self.nodes, nodes);
    }

    /// Adds a node without looking for an equal one: where there is none, or a rebuild follows, which shares it then.
    pub(crate) fn push(&mut self, node: Node, from: Origin) -> NodeId {
        self.nodes.push(Stored { node, from });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Makes a branch ask something else; likewise only where a rebuild follows.
    pub(crate) fn set_cond(&mut self, branch: NodeId, new: CondId) {
        if let Node::Branch { cond, .. } = &mut self.nodes[branch.index()].node {
            *cond = new;
        }
    }

    /// The reachable nodes, the root first, every node before its successors.
    pub fn topological(&self) -> Vec<NodeId> {
        let mut reached = filled(false, self.nodes.len());
        let mut order = Vec::with_capacity(self.nodes.len());
        reached[self.root.index()] = true;
        for id in (0..self.nodes.len() as u32).rev().map(NodeId) {
            if reached[id.index()] {
                order.push(id);
                self.node(id).for_each_successor(|next| reached[next.index()] = true);
            }
        }
        order
    }

    /// Whether evaluation may ask a set that lies outside of the graph ([`super::Members`]).
    pub fn asks_members(&self) -> bool {
        let asks = |id: &NodeId| match self.node(*id) {
            Node::Branch { cond, .. } => matches!(self.pool.get_cond(*cond), Cond::Member(_)),
            Node::Leaf(_) | Node::Switch(_) => false,
        };
        self.topological().iter().any(asks)
    }

    /// Whether evaluation may read the length on the wire.
    pub fn reads_wire_len(&self) -> bool {
        let mut is_read = filled(false, self.pool.value_count());
        for id in self.topological() {
            match self.node(id) {
                Node::Leaf(_) => {}
                Node::Branch { cond, .. } => {
                    self.pool.cond_operands(*cond).for_each(|value| is_read[value.index()] = true);
                }
                Node::Switch(switch) => is_read[switch.value.index()] = true,
            }
        }
        for value in (0..is_read.len() as u32).rev().map(ValueId) {
            if is_read[value.index()] {
                if self.pool.get(value) == Value::Len {
                    return true;
                }
                self.pool.operands(value).for_each(|operand| is_read[operand.index()] = true);
            }
        }
        false
    }
}
