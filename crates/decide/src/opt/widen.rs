//! Widening: one guard for two tests in a row, where whole packets pass both guards.
//!
//! ```text
//! guard(b, 16) ? (test src ? t : (guard(b, 18) ? (test dst …) : f)) : e
//! ->  guard(b, 18) ? (test src ? t : test dst …)
//!                  : guard(b, 16) ? (test src ? t : f) : e
//! ```
//! A packet cut between the two must still be judged by the first test alone, so unlike in [`super::hoist`] the test
//! is written twice, off the path of whole packets. Where the test has a leaf on its other side nothing more is known
//! anywhere than before, so the graph is as settled as it was.

use super::rebuild::{Rebuild, Room};
use super::shape::{Shape, take};
use crate::ir::{Cond, CondId, Graph, Node, NodeId};

/// A later guard that asks for many more bytes may be there for rarer, longer packets.
const MORE_BYTES_MAX: u32 = 16;

/// The outcome.
#[derive(Debug)]
pub(super) enum Widened {
    /// There was no guard to widen.
    Nothing,
    /// There were some, and nothing follows from that but what these tests may be with what is now right behind them;
    /// widening again would find nothing.
    Settled(Vec<NodeId>),
    /// There were some, and more may follow.
    Unsettled,
}

/// Widens guards.
pub(super) fn widen(graph: &mut Graph, shape: &Shape, room: &mut Room) -> Widened {
    let found = |&id: &NodeId| Some((id, Pair::at(graph, &shape.edges_in, id)?));
    let mut pairs: Vec<(NodeId, Pair)> = shape.order.iter().filter_map(found).collect();
    if pairs.is_empty() {
        return Widened::Nothing;
    }
    let settled = pairs.iter().all(|(_, pair)| pair.is_alone(graph, &pairs));
    let mut tests = Vec::with_capacity(2 * pairs.len());
    let root = graph.root;
    Rebuild::new(graph, room).run(root, |rebuild, id, node| {
        if !shape.reaches(id) {
            return None;
        }
        let node = rebuild.same(id, node);
        Some(match take(&mut pairs, id) {
            Some(pair) => pair.build(rebuild, id, node, settled, &mut tests),
            None => node,
        })
    });
    // From the root down, as passes look at nodes.
    tests.sort_unstable_by(|a, b| b.cmp(a));
    tests.dedup();
    if settled { Widened::Settled(tests) } else { Widened::Unsettled }
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
    second_guard: NodeId,
    second: CondId,
    /// Where the second guard leads whole packets, and others.
    second_inside: NodeId,
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
            let (second_base, second_end, second_inside, second_exit) = guard(graph, next)?;
            let Node::Branch { cond: second, .. } = *graph.node(next) else { return None };
            let close = second_base == base && second_end > end && second_end - end <= MORE_BYTES_MAX;
            let once = edges_in[next.index()] == 1;
            (close && once).then_some(Pair {
                test,
                test_cond,
                on_yes,
                other,
                second_guard: next,
                second,
                second_inside,
                second_exit,
                exit,
            })
        };
        pair(false, els, then).or_else(|| pair(true, then, els))
    }

    /// Whether nothing follows from widening, nor is there then more to widen: the test has a leaf on its other side, the
    /// second guard is not the first of another pair, and packets cut there come to no further guard. (The pairs are
    /// given with the greatest ids first.)
    fn is_alone(&self, graph: &Graph, pairs: &[(NodeId, Pair)]) -> bool {
        let overlaps = pairs.binary_search_by(|(id, _)| self.second_guard.cmp(id)).is_ok();
        let goes_on = guard(graph, self.second_exit).is_some();
        matches!(graph.node(self.other), Node::Leaf(_)) && !overlaps && !goes_on
    }

    /// The first guard, and what stands behind it. If this settles all, without the second guard on the way of whole
    /// packets. Notes where the test is now.
    fn build(
        &self,
        rebuild: &mut Rebuild<'_>,
        id: NodeId,
        first_guard: NodeId,
        settles: bool,
        tests: &mut Vec<NodeId>,
    ) -> NodeId {
        let Node::Branch { cond, .. } = *rebuild.graph.node(first_guard) else { return first_guard };
        let whole =
            if settles { self.build_test(rebuild, self.second_inside) } else { rebuild.at(self.test) };
        let cut = self.build_test(rebuild, self.second_exit);
        tests.extend([whole, cut]);
        let narrow = rebuild.branch(id, cond, cut, rebuild.at(self.exit));
        rebuild.branch(id, self.second, whole, narrow)
    }

    /// The test, with this in place of the second guard.
    fn build_test(&self, rebuild: &mut Rebuild<'_>, behind: NodeId) -> NodeId {
        let (behind, other) = (rebuild.at(behind), rebuild.at(self.other));
        let (then, els) = if self.on_yes { (behind, other) } else { (other, behind) };
        rebuild.branch(self.test, self.test_cond, then, els)
    }
}

/// The base, end, inside and outside of a guard.
fn guard(graph: &Graph, id: NodeId) -> Option<(crate::ir::ValueId, u32, NodeId, NodeId)> {
    let Node::Branch { cond, then, els } = *graph.node(id) else { return None };
    match graph.pool.get_cond(cond) {
        Cond::Bounds { base, end } => Some((base, end, then, els)),
        Cond::Cmp(..) | Cond::Test(..) | Cond::Member(_) => None,
    }
}
