//! Widening: one guard for two tests in a row, where whole packets pass both guards.
//!
//! ```text
//! guard(b, 16) ? (test src ? t : (guard(b, 18) ? (test dst …) : f)) : e
//! ->  guard(b, 18) ? (test src ? t : test dst …)
//!                  : guard(b, 16) ? (test src ? t : f) : e
//! ```
//! A packet cut between the two must still be judged by the first test alone, so unlike in [`super::hoist`] the test
//! is written twice, off the path of whole packets. [`super::thread`] drops the inner guard.

use super::rebuild::Rebuild;
use super::shape::{Shape, take};
use crate::ir::{Cond, CondId, Graph, Node, NodeId};

/// A later guard that asks for many more bytes may be there for rarer, longer packets.
const MORE_BYTES_MAX: u32 = 16;

/// Widens guards; says whether there were any to widen.
pub(super) fn widen(graph: &mut Graph, shape: &Shape) -> bool {
    let found = |&id: &NodeId| Some((id, Pair::at(graph, &shape.edges_in, id)?));
    let mut pairs: Vec<(NodeId, Pair)> = shape.order.iter().filter_map(found).collect();
    if pairs.is_empty() {
        return false;
    }
    let root = graph.root;
    Rebuild::new(graph).run(root, |rebuild, id, node| {
        if !shape.reaches(id) {
            return None;
        }
        let node = rebuild.same(id, node);
        Some(match take(&mut pairs, id) {
            Some(pair) => pair.build(rebuild, id, node),
            None => node,
        })
    });
    true
}

/// A guard, the one test behind it, and the stronger guard behind that.
struct Pair {
    /// The test.
    test: NodeId,
    test_cond: CondId,
    /// Whether the second guard is where the test's yes leads.
    on_yes: bool,
    /// Where the test's other outcome leads.
    other: NodeId,
    second: CondId,
    second_exit: NodeId,
    exit: NodeId,
}

impl Pair {
    fn at(graph: &Graph, edges_in: &[u32], id: NodeId) -> Option<Pair> {
        let (base, end, test, exit) = guard(graph, id)?;
        let Node::Branch { cond: test_cond, then, els } = *graph.node(test) else { return None };
        // Once for each guard: a chain of ever longer needs would copy its tests again and again.
        let is_wide = guard(graph, exit).is_some_and(|(narrow, ..)| narrow == base);
        if is_wide || edges_in[test.index()] != 1 || guard(graph, test).is_some() {
            return None;
        }
        let pair = |on_yes: bool, next: NodeId, other: NodeId| {
            let (second_base, second_end, _, second_exit) = guard(graph, next)?;
            let Node::Branch { cond: second, .. } = *graph.node(next) else { return None };
            let close = second_base == base && second_end > end && second_end - end <= MORE_BYTES_MAX;
            let once = edges_in[next.index()] == 1;
            (close && once).then_some(Pair { test, test_cond, on_yes, other, second, second_exit, exit })
        };
        pair(false, els, then).or_else(|| pair(true, then, els))
    }

    fn build(&self, rebuild: &mut Rebuild<'_>, id: NodeId, first_guard: NodeId) -> NodeId {
        let (other, second_exit) = (rebuild.at(self.other), rebuild.at(self.second_exit));
        let (then, els) = if self.on_yes { (second_exit, other) } else { (other, second_exit) };
        let test = rebuild.branch(self.test, self.test_cond, then, els);
        let Node::Branch { cond, .. } = *rebuild.graph.node(first_guard) else { return first_guard };
        let narrow = rebuild.branch(id, cond, test, rebuild.at(self.exit));
        rebuild.branch(id, self.second, rebuild.at(self.test), narrow)
    }
}

/// The base, end, inside and outside of a guard.
fn guard(graph: &Graph, id: NodeId) -> Option<(crate::ir::ValueId, u32, NodeId, NodeId)> {
    let Node::Branch { cond, then, els } = *graph.node(id) else { return None };
    match graph.pool.get_cond(cond) {
        Cond::Bounds { base, end } => Some((base, end, then, els)),
        Cond::Cmp(..) | Cond::Test(..) => None,
    }
}
