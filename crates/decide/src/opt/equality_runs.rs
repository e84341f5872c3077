//! Runs of comparisons of one value with constants, each asked where the one before says no.
//!
//! ```text
//! v == k₁ ? t₁ : (v == k₂ ? t₂ : (… : rest))       known v == k:  tᵢ of the first kᵢ that is k, else rest
//! ```
//! A list of `src a and dst b` has thousands of places from which such a run is passed with the value known: step by
//! step that would take the square of the list's length. Runs that share an end share its map, which is persistent.

use super::trie::{Root, Trie};
use crate::ir::{CmpOp, Cond, CondId, Graph, Node, NodeId, ValueId};

/// `value == k ? then : els`
pub(super) struct Equality {
    pub(super) cond: CondId,
    pub(super) value: ValueId,
    k: u32,
    then: NodeId,
    els: NodeId,
}

impl Equality {
    /// Whether the same value is compared next.
    pub(super) fn goes_on(&self, graph: &Graph) -> bool {
        equality(graph, self.els).is_some_and(|next| next.value == self.value)
    }
}

/// The comparison that a node is.
pub(super) fn equality(graph: &Graph, id: NodeId) -> Option<Equality> {
    let Node::Branch { cond, then, els } = *graph.node(id) else { return None };
    let Cond::Cmp(CmpOp::Eq, value, k) = graph.pool.get_cond(cond) else { return None };
    Some(Equality { cond, value, k: graph.pool.as_const(k)?, then, els })
}

/// The runs of a graph.
pub(super) struct EqualityRuns {
    /// By node: from there on, where each constant leads.
    targets: Vec<Root>,
    /// By node: where everything else leads.
    rests: Vec<NodeId>,
    trie: Trie,
}

impl EqualityRuns {
    /// Finds the runs.
    pub(super) fn new(graph: &Graph) -> EqualityRuns {
        let count = graph.node_count();
        let rests = (0..count as u32).map(NodeId).collect();
        let mut runs =
            EqualityRuns { targets: vec![Root::EMPTY; count], rests, trie: Trie::with_capacity(count) };
        // Successors have smaller ids.
        for id in (0..count as u32).map(NodeId) {
            let Some(test) = equality(graph, id) else { continue };
            let (targets, rest) = if test.goes_on(graph) {
                (runs.targets[test.els.index()], runs.rests[test.els.index()])
            } else {
                (Root::EMPTY, test.els)
            };
            runs.targets[id.index()] = runs.trie.insert(targets, u64::from(test.k), test.then.0);
            runs.rests[id.index()] = rest;
        }
        runs
    }

    /// Where the run that begins at a node leads if its value is `k`.
    pub(super) fn target(&self, node: NodeId, k: u32) -> NodeId {
        self.trie.get(self.targets[node.index()], u64::from(k)).map_or(self.rests[node.index()], NodeId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Pool, Size};

    #[test]
    fn a_run_leads_where_its_tests_would() {
        let mut pool = Pool::default();
        let zero = pool.constant(0);
        let [value, other] = [12, 14].map(|offset| pool.load(zero, offset, Size::B2));
        let mut graph = Graph::new(pool);
        let rest = graph.leaf(0);
        let mut nodes = vec![rest];
        for (value, k, leaf) in [(value, 5, 1), (value, 7, 2), (other, 5, 3), (value, 5, 4), (value, 9, 5)] {
            let k = graph.pool.constant(k);
            let cond = graph.pool.cond(Cond::Cmp(CmpOp::Eq, value, k));
            let (then, els) = (graph.leaf(leaf), nodes[nodes.len() - 1]);
            nodes.push(graph.branch(cond, then, els));
        }
        let runs = EqualityRuns::new(&graph);
        let mut leaf = |number| graph.leaf(number);
        assert_eq!(runs.target(nodes[2], 5), leaf(1));
        assert_eq!(runs.target(nodes[2], 7), leaf(2));
        assert_eq!(runs.target(nodes[2], 6), leaf(0));
        // The run ends where another value is looked at.
        assert_eq!(runs.target(nodes[5], 5), leaf(4));
        assert_eq!(runs.target(nodes[5], 7), nodes[3]);
    }
}
