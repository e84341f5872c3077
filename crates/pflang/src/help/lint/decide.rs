//! Whether any packet satisfies a part of a filter: decided by compiling it.
//!
//! The optimiser knows what follows from what on each path; a part that comes out as `reject` holds for no packet. One that does not may still
//! hold for none: the optimiser is not complete, and a lint that is not given is the lesser evil.

use crate::clock::Clock;
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{ACCEPT, Graph, Node, REJECT};
use crate::options::Limits;
use crate::{Span, opt};

/// How many parts are looked at, how large each may be, and how large all together.
const PARTS_MAX: usize = 512;
const NODES_MAX: usize = 4096;
const NODES_OF_ALL_MAX: usize = 1 << 15;
/// The time that all may take.
const TIME_MS: u64 = 1000;

/// Decides parts, as many as there is time for.
pub(crate) struct Decider {
    pub(super) clock: Clock,
    parts_left: usize,
    nodes_left: usize,
}

impl Decider {
    pub(crate) fn new(limits: Limits, clock: &Clock) -> Self {
        let clock = clock.shorter(limits, TIME_MS);
        Decider { clock, parts_left: PARTS_MAX, nodes_left: NODES_OF_ALL_MAX }
    }

    /// Whether there is no time for another part.
    pub(super) fn is_over(&self) -> bool {
        self.parts_left == 0 || self.nodes_left == 0 || self.clock.budget().is_over()
    }

    /// Whether no packet satisfies all of these; `None` if that is not known.
    pub(super) fn never(&mut self, tree: &mut Tree, all: &[TreeId]) -> Option<bool> {
        let (first, rest) = all.split_first()?;
        let root = rest.iter().fold(*first, |a, &b| tree.push(TreeNode::And(a, b), Span::default()));
        Some(self.leaf(tree, root)? == Some(REJECT))
    }

    /// Whether every packet satisfies this that has the bytes it reads; `None` if that is not known.
    pub(super) fn always(&mut self, tree: &mut Tree, node: TreeId) -> Option<bool> {
        let not = tree.push(TreeNode::Not(node), Span::default());
        self.never(tree, &[not])
    }

    /// Whether every packet satisfies this, whatever it has.
    pub(super) fn accepts_all(&mut self, tree: &Tree, node: TreeId) -> bool {
        self.leaf(tree, node) == Some(Some(ACCEPT))
    }

    /// Whether two parts have different answers for some packet; `None` if that is not known.
    pub(super) fn differ(&mut self, tree: &mut Tree, [a, b]: [TreeId; 2]) -> Option<bool> {
        for (yes, no) in [(a, b), (b, a)] {
            let no = tree.push(TreeNode::Not(no), Span::default());
            if !self.never(tree, &[yes, no])? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The answer that a part has for every packet, if it is the same for all.
    fn leaf(&mut self, tree: &Tree, node: TreeId) -> Option<Option<u32>> {
        let nodes = size(tree, node)?;
        if self.is_over() {
            return None;
        }
        self.parts_left -= 1;
        self.nodes_left = self.nodes_left.saturating_sub(nodes);
        let graph = self.graph(tree, node)?;
        Some(match graph.node(graph.root) {
            Node::Leaf(leaf) => Some(*leaf),
            _ => None,
        })
    }

    fn graph(&self, tree: &Tree, node: TreeId) -> Option<Graph> {
        let budget = self.clock.budget();
        let folded = opt::build(tree, &[Clause::Leaf(node, ACCEPT)], budget).ok()?;
        opt::optimise_within(folded, decide::Options::default().passes(), &|| budget.is_over())
    }
}

/// How many nodes there are in a part; `None` if they are too many.
fn size(tree: &Tree, node: TreeId) -> Option<usize> {
    let (mut pending, mut count) = (vec![node], 0);
    while let Some(node) = pending.pop() {
        count += 1;
        if count > NODES_MAX {
            return None;
        }
        pending.extend(tree.operands(node));
    }
    Some(count)
}
