//! Threading: tests that the path to them has already answered are jumped over.
//!
//! ```text
//! for each node n, from the root down:
//!     known = what holds on every edge into n                                      (facts.rs)
//!     for each successor s, with what that outcome adds to known:
//!         while known answers the test at s:  s = the successor so chosen
//!         the edge leads to s
//!     where n's outcome does not matter, as the test behind it tells the difference:  n is not needed
//! ```
//! A sweep looks at each node once. An edge may jump far, so the far jumps of a sweep have a budget linear in the
//! graph; after that an edge jumps over a few nodes, to where others lead as well. (Stopping just anywhere would make
//! nodes reachable that nothing else leads to.) Guards are only dropped where facts cover them, or where a guard that asks for as much comes
//! before anything else is asked, never because both outcomes meet again.
//!
//! ```text
//! v == 8 known:   guard(0, 32) ? (switch v { 8 -> guard(0, 34) ? t : e, … }) : e      ->      guard(0, 34) ? t : e
//! ```

use super::TimeIsOver;
use super::equality_runs::{self, EqualityRuns};
use super::facts::{Again, Facts, Known};
use super::range::{Range, Ranges};
use super::rebuild::{Rebuild, Room};
use crate::ir::{Cond, CondId, Graph, Node, NodeId, Switch, ValueId};

/// How far to look for the place where both outcomes of a test meet again.
const MEETING_HOPS: usize = 8;

/// How far every edge may jump; what goes beyond comes out of the budget. A term of a list is about as long.
const NEAR_HOPS: usize = 16;

/// How far to look behind a guard for one that makes it superfluous.
const GUARD_HOPS: usize = 4;

/// How often to look at the clock.
const NODES_PER_LOOK: usize = 256;

/// Facts to make room for, in a graph of a number of nodes: most outcomes say nothing that is asked again.
const FACTS_LIKELY: fn(usize) -> usize = |nodes| nodes.min(1024) / 2 + 4;

/// What the rebuild of a graph is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// Threading alone: without a change of its own there is nothing to rebuild.
    ByThreading,
    /// Another pass has noted changes, which the rebuild makes.
    NotedBefore,
}

/// Redirects edges past tests they answer, in a graph given with its topological order; says whether there were
/// any. Rebuilds the graph then, or if there are changes noted before. `None` if time is over.
pub(super) fn thread(
    graph: &mut Graph,
    order: &[NodeId],
    ranges: &Ranges,
    changes: Changes,
    room: &mut Room,
    time: TimeIsOver<'_>,
) -> Option<Threaded> {
    let plan = Sweep::new(graph, order, ranges).run(order, time)?;
    let Plan { root, mut edges, entry, reached, changed, complete } = plan;
    if !changed && changes == Changes::ByThreading {
        return Some(Threaded { changed, complete });
    }
    Rebuild::new(graph, room).run(root, |rebuild, id, node| {
        entry[id.index()]?;
        // The sweep went from the root down.
        let mut last = || edges.pop().unwrap_or(root);
        let node = match node {
            Node::Leaf(_) => node,
            Node::Branch { cond, .. } => {
                let els = last();
                Node::Branch { cond, then: last(), els }
            }
            Node::Switch(mut switch) => {
                switch.default = last();
                switch.arms.iter_mut().rev().for_each(|arm| arm.target = last());
                Node::Switch(switch)
            }
        };
        Some(rebuild.same(id, node))
    });
    // Where nodes became equal, so may what is known at them.
    let complete = complete && graph.node_count() == reached;
    Some(Threaded { changed, complete })
}

/// The outcome of a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threaded {
    /// Whether any edge leads elsewhere.
    pub(super) changed: bool,
    /// Whether another sweep is sure to change none, except that a guard may be passed whose exit leads elsewhere since this one. What is known at a node is
    /// what is known on the edges as they lead now, so there is more to find only where a node was dropped, nodes became equal, or a look was cut short.
    pub(super) complete: bool,
}

/// Where the edges are to lead.
struct Plan {
    root: NodeId,
    /// The targets of the edges of all nodes that are still reached, from the root down, in the order of
    /// [`Node::for_each_successor`].
    edges: Vec<NodeId>,
    /// By node: what is known there; `None` where nothing leads to it any more.
    entry: Vec<Option<Known>>,
    /// How many nodes are still reached.
    reached: usize,
    changed: bool,
    complete: bool,
}

/// One outcome of a test.
#[derive(Clone, Copy)]
struct Side {
    cond: CondId,
    answer: bool,
    /// Where it leads.
    next: NodeId,
    /// Facts that are known there; not looked at where it leads to a leaf.
    known: Option<Known>,
    /// Where it is to lead.
    target: NodeId,
}

struct Sweep<'g> {
    graph: &'g Graph,
    facts: Facts<'g>,
    plan: Plan,
    /// The rest of the budget for far jumps.
    hops_left: usize,
    /// Made for the first far jump that needs it.
    runs: Option<EqualityRuns>,
}

impl<'g> Sweep<'g> {
    fn new(graph: &'g Graph, order: &[NodeId], ranges: &'g Ranges) -> Self {
        let again = again(graph, order);
        Sweep {
            graph,
            facts: Facts::new(&graph.pool, ranges, again, FACTS_LIKELY(order.len())),
            plan: Plan {
                root: graph.root,
                edges: Vec::with_capacity(2 * order.len()),
                entry: vec![None; graph.node_count()],
                reached: 0,
                changed: false,
                complete: true,
            },
            hops_left: 4 * order.len() + 4096,
            runs: None,
        }
    }

    fn run(mut self, order: &[NodeId], time_is_over: TimeIsOver<'_>) -> Option<Plan> {
        let root = self.follow(self.graph.root, Known::NOTHING, Known::NOTHING);
        self.plan.changed = root != self.graph.root;
        self.plan.root = root;
        self.plan.entry[root.index()] = Some(Known::NOTHING);
        for (i, &id) in (1..).zip(order) {
            if i % NODES_PER_LOOK == 0 && time_is_over() {
                return None;
            }
            let Some(known) = self.plan.entry[id.index()] else { continue };
            self.plan.reached += 1;
            match self.graph.node(id) {
                Node::Leaf(_) => {}
                Node::Branch { cond, then, els } => self.branch(known, *cond, *then, *els),
                Node::Switch(switch) => self.switch(known, switch),
            }
        }
        self.plan.complete &= !self.facts.cut_short();
        Some(self.plan)
    }

    fn branch(&mut self, known: Known, cond: CondId, then: NodeId, els: NodeId) {
        let yes = self.side(known, cond, true, then);
        let no = self.side(known, cond, false, els);
        if !self.facts.is_guard(cond) {
            let superfluous =
                [(yes, no), (no, yes)].into_iter().find(|(side, other)| self.meet(known, side, other));
            if let Some((Side { next, .. }, _)) = superfluous {
                let target = self.walk(next, known, MEETING_HOPS);
                self.lead(next, target, known);
                self.plan.edges.push(target);
                self.plan.changed = true;
                self.plan.complete = false;
                return;
            }
        }
        self.lead(then, yes.target, yes.known.unwrap_or(known));
        self.lead(els, no.target, no.known.unwrap_or(known));
    }

    fn side(&mut self, known: Known, cond: CondId, answer: bool, next: NodeId) -> Side {
        if self.is_leaf(next) {
            return Side { cond, answer, next, known: None, target: next };
        }
        let before = known;
        let known = self.facts.assume(known, cond, answer);
        Side { cond, answer, next, known: Some(known), target: self.follow(next, known, before) }
    }

    /// Whether the node that one outcome leads to would lead the other outcome where that goes anyway.
    fn meet(&mut self, known: Known, side: &Side, other: &Side) -> bool {
        let unanswered = side.target == side.next && !self.share_a_value(side.cond, side.next);
        if self.is_leaf(side.next) || unanswered {
            return false;
        }
        let with_other = match other.known {
            Some(known) => known,
            None => self.facts.assume(known, other.cond, other.answer),
        };
        self.walk(side.next, with_other, MEETING_HOPS) == other.target
    }

    /// Whether a node looks at a value of this condition: else the answer to that says nothing about the node.
    fn share_a_value(&self, cond: CondId, node: NodeId) -> bool {
        let pool = &self.graph.pool;
        let looks_at =
            |value| pool.as_const(value).is_none() && pool.cond_operands(cond).any(|mine| mine == value);
        match self.graph.node(node) {
            Node::Leaf(_) => false,
            Node::Branch { cond, .. } => pool.cond_operands(*cond).any(looks_at),
            Node::Switch(switch) => looks_at(switch.value),
        }
    }

    fn switch(&mut self, before: Known, switch: &Switch) {
        for arm in &switch.arms {
            if self.is_leaf(arm.target) {
                self.lead(arm.target, arm.target, before);
                continue;
            }
            let known =
                self.facts.assume_within(before, switch.value, Range { low: arm.low, high: arm.high });
            let target = self.follow(arm.target, known, before);
            self.lead(arm.target, target, known);
        }
        let target = self.follow(switch.default, before, before);
        self.lead(switch.default, target, before);
    }

    /// The edge that led to `old` is to lead to `target`, with this known there.
    #[inline(always)]
    fn lead(&mut self, old: NodeId, target: NodeId, known: Known) {
        self.plan.edges.push(target);
        self.plan.changed |= old != target;
        if !self.is_leaf(target) {
            let entry = self.plan.entry[target.index()];
            self.plan.entry[target.index()] =
                Some(entry.map_or(known, |entry| self.facts.join(entry, known)));
        } else {
            self.plan.entry[target.index()] = Some(Known::NOTHING);
        }
    }

    /// Where evaluation that comes to `start` knowing this certainly passes, as far as it is worth looking. `before`
    /// is what was known before the outcome that leads there.
    fn follow(&mut self, start: NodeId, known: Known, before: Known) -> NodeId {
        let mut node = start;
        for _ in 0..NEAR_HOPS {
            match self.step(node, known) {
                Some(next) => node = next,
                None => return node,
            }
        }
        while let Some(next) = self.leap(node, known).or_else(|| self.step(node, known)) {
            if self.hops_left == 0 {
                return self.near(start, known, before);
            }
            self.hops_left -= 1;
            node = next;
        }
        node
    }

    /// A place not far on the way to which another edge leads as well.
    fn near(&mut self, start: NodeId, known: Known, before: Known) -> NodeId {
        self.plan.complete = false;
        let mut node = start;
        for _ in 0..NEAR_HOPS {
            match self.step(node, known) {
                Some(next) => node = next,
                None => break,
            }
            if self.plan.entry[node.index()].is_some() {
                return node;
            }
        }
        // What was known before holds for the other outcome too, so that one comes by there.
        self.walk(start, before, NEAR_HOPS)
    }

    /// The same for so many hops.
    fn walk(&mut self, mut node: NodeId, known: Known, hops_max: usize) -> NodeId {
        for _ in 0..hops_max {
            match self.step(node, known) {
                Some(next) => node = next,
                None => return node,
            }
        }
        self.plan.complete = false;
        node
    }

    #[inline]
    fn step(&self, node: NodeId, known: Known) -> Option<NodeId> {
        self.answered(node, known).or_else(|| self.past_guard(node, known))
    }

    /// Where the test of a node leads, if its answer is known.
    #[inline]
    fn answered(&self, node: NodeId, known: Known) -> Option<NodeId> {
        match self.graph.node(node) {
            Node::Leaf(_) => None,
            Node::Branch { cond, then, els } => {
                self.facts.decide(known, *cond).map(|holds| if holds { *then } else { *els })
            }
            Node::Switch(switch) => self.switch_target(known, switch),
        }
    }

    /// Past a guard behind which evaluation certainly comes to one that asks for at least as much and has the same exit, or to that exit.
    fn past_guard(&self, node: NodeId, known: Known) -> Option<NodeId> {
        let (base, end, inside, exit) = self.guard(node)?;
        let mut next = inside;
        for _ in 0..GUARD_HOPS {
            if next == exit {
                return Some(exit);
            }
            if let Some((other, other_end, _, other_exit)) = self.guard(next)
                && (other, other_exit) == (base, exit)
                && other_end >= end
            {
                return Some(next);
            }
            next = self.answered(next, known)?;
        }
        None
    }

    /// The base and the end of a guard, and where it leads.
    fn guard(&self, node: NodeId) -> Option<(ValueId, u32, NodeId, NodeId)> {
        let Node::Branch { cond, then, els } = *self.graph.node(node) else { return None };
        match self.graph.pool.get_cond(cond) {
            Cond::Bounds { base, end } => Some((base, end, then, els)),
            Cond::Cmp(..) | Cond::Test(..) | Cond::Member(_) => None,
        }
    }

    /// Past a run of comparisons of a value that is known with constants.
    fn leap(&mut self, node: NodeId, known: Known) -> Option<NodeId> {
        let graph = self.graph;
        let first = equality_runs::equality(graph, node).filter(|test| test.goes_on(graph))?;
        let k =
            self.facts.domain(known, first.value).constant().filter(|_| !self.facts.is_guard(first.cond))?;
        Some(self.runs.get_or_insert_with(|| EqualityRuns::new(graph)).target(node, k))
    }

    /// Where a switch leads whatever the value is, of what it can be.
    fn switch_target(&self, known: Known, switch: &Switch) -> Option<NodeId> {
        let domain = self.facts.domain(known, switch.value);
        if let Some((&first, rest)) = domain.candidates().and_then(<[u32]>::split_first) {
            let target = switch.target(first);
            return rest.iter().all(|&k| switch.target(k) == target).then_some(target);
        }
        match switch.arms.get(switch.arms.partition_point(|arm| arm.high < domain.low)) {
            Some(arm) if arm.low <= domain.low && domain.high <= arm.high => Some(arm.target),
            Some(arm) if arm.low <= domain.high => None,
            _ => Some(switch.default),
        }
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        matches!(self.graph.node(node), Node::Leaf(_))
    }
}

fn again(graph: &Graph, order: &[NodeId]) -> Again {
    let mut again = Again::new(graph.pool.cond_count(), graph.pool.value_count());
    for &id in order {
        match graph.node(id) {
            Node::Leaf(_) => {}
            Node::Branch { cond, .. } => {
                again.meet_cond(*cond);
                graph.pool.cond_operands(*cond).for_each(|value| again.meet_value(value));
            }
            Node::Switch(switch) => again.meet_value(switch.value),
        }
    }
    again
}
