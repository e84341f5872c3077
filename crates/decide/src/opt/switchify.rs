//! A chain of membership tests becomes a switch: `host a or host b or …` costs one lookup, not one test a term.
//!
//! ```text
//! if v in r₁ then t₁ else if v in r₂ then t₂ else … rest     ->   switch v { r₁ -> t₁, r₂ -> t₂, … } else rest
//! ```
//! Ranges that overlap go to the first that names them. Where all hits lead to one target the order does not
//! matter: tests of several values (source and destination) are then sorted by value, one switch each. Where it does, and two
//! values take turns, [`super::turns`] finds out which is met first. Nothing in a chain guards anything, so whatever is evaluated in it may
//! be evaluated at its head.

use super::membership::{Membership, Recogniser};
use super::question::{Question, eq, less};
use super::range::Ranges;
use super::rebuild::{Rebuild, Room};
use super::shape::{Shape, take};
use super::turns::{self, Side, Turn};
use super::value::Folder;
use crate::filled::filled;
use crate::ir::{Arm, BinOp, Graph, Node, NodeId, Origin, Switch, ValueId};
use std::collections::BTreeSet;

/// Fewer tests of one value stay tests.
const ARMS_MIN: usize = 3;
/// Where two values take turns less often, they are asked for one after the other.
const TURNS_MIN: u32 = 16;

/// Replaces chains that begin at any of `heads`, given from the root down, by switches, and pairs of tests by range
/// tests; says whether there were any.
pub(super) fn switchify(
    graph: &mut Graph,
    shape: &Shape,
    heads: &[NodeId],
    ranges: &mut Ranges,
    room: &mut Room,
) -> bool {
    let recogniser = Recogniser { graph, ranges, edges_in: &shape.edges_in };
    let heads = heads.iter().copied().filter(|&head| shape.reaches(head));
    let mut chains = find_chains(&recogniser, heads);
    if chains.is_empty() {
        return false;
    }
    let mut replaced = vec![true; graph.node_count()];
    shape.order.iter().for_each(|id| replaced[id.index()] = false);
    for member in chains.iter().flat_map(|(_, chain)| &chain.groups).flat_map(|group| &group.members) {
        replaced[member.index()] = true;
    }
    let root = graph.root;
    Rebuild::new(graph, room).run(root, |rebuild, id, node| match take(&mut chains, id) {
        Some(chain) => Some(build_chain(rebuild, ranges, chain)),
        None if replaced[id.index()] => None,
        None => Some(rebuild.same(id, node)),
    });
    true
}

/// Tests one after the other, each reached only by missing the one before.
struct Chain {
    /// By value, in the order in which they are met first.
    groups: Vec<Group>,
    /// Where a packet goes that misses all.
    rest: NodeId,
    /// Whether the order of the groups among each other matters.
    by_turns: bool,
}

struct Group {
    value: ValueId,
    /// In order of precedence.
    arms: Vec<Arm>,
    /// For each arm, how often the value that was asked for had changed before.
    turns: Vec<u32>,
    /// The nodes it replaces.
    members: Vec<NodeId>,
}

impl Group {
    /// Whether fewer nodes come out than go in.
    fn pays(&self, rest: NodeId) -> bool {
        let test = |arm: &Arm| usize::from(arm.target != rest);
        let tests = match &self.arms[..] {
            [arm] => test(arm),
            [a, b] if apart(a, b) || apart(b, a) => test(a) + test(b),
            arms if arms.len() < 2 * ARMS_MIN => first_match(arms, rest).len(),
            _ => ARMS_MIN,
        };
        let nodes = if tests < ARMS_MIN { tests } else { 1 };
        nodes < self.members.len()
    }
}

fn find_chains<'g>(recogniser: &Recogniser<'g>, heads: impl Iterator<Item = NodeId>) -> Vec<(NodeId, Chain)> {
    let mut chains = Vec::new();
    let mut heads = heads.filter(|&head| is_chain(recogniser, head)).peekable();
    if heads.peek().is_none() {
        return chains;
    }
    let mut seen = filled(false, recogniser.graph.node_count());
    let mut walk = Walk::new(recogniser.graph.pool.value_count());
    for head in heads {
        if seen[head.index()] {
            continue;
        }
        walk.follow(recogniser, head);
        // Seen even where nothing comes of it: a chain from a later member would be a part of this one.
        walk.links.iter().flat_map(Link::members).for_each(|member| seen[member.index()] = true);
        if walk.may_pay() {
            let chain = walk.chain();
            if chain.by_turns || chain.groups.iter().any(|group| group.pays(chain.rest)) {
                chains.push((head, chain));
            }
        }
    }
    chains
}

/// Whether more than one node could come together here.
fn is_chain(recogniser: &Recogniser<'_>, head: NodeId) -> bool {
    let is_test = |node: NodeId| recogniser.is_test(node);
    let miss = match recogniser.graph.node(head) {
        Node::Leaf(_) => return false,
        Node::Switch(switch) => switch.default,
        // Few tests have another right behind them.
        Node::Branch { then, els, .. } if !is_test(head) || !(is_test(*then) || is_test(*els)) => {
            return false;
        }
        Node::Branch { .. } => return recogniser.at(head).is_some_and(|test| goes_on(recogniser, &test)),
    };
    is_test(miss) && (recogniser.is_switch(miss) || recogniser.at(miss).is_some())
}

/// Whether a test could come together with what is right behind it. Two of different values could not.
fn goes_on(recogniser: &Recogniser<'_>, test: &Membership) -> bool {
    if test.second.is_some() || recogniser.is_switch(test.miss) {
        return true;
    }
    recogniser.at(test.miss).is_some_and(|next| {
        let alone = next.value != test.value && next.second.is_none() && next.miss != test.hit;
        !alone || recogniser.is_test(next.miss)
    })
}

/// A chain as it is met.
struct Walk<'g> {
    links: Vec<Link<'g>>,
    /// The values of the links, in the order in which they are met first, and how many nodes look at each.
    values: Vec<(ValueId, u32)>,
    /// By value: where it is among those of this chain.
    places: Vec<u32>,
    rest: NodeId,
    /// Whether the links have several targets and two values by turns.
    by_turns: bool,
}

/// The chain in hand does not look at the value.
const NO_PLACE: u32 = u32::MAX;

/// Up to this many links are looked through.
const LINKS_FEW: usize = 8;

impl<'g> Walk<'g> {
    fn new(values: usize) -> Self {
        let (links, met) = (Vec::with_capacity(LINKS_FEW), Vec::with_capacity(LINKS_FEW));
        Walk { links, values: met, places: vec![NO_PLACE; values], rest: NodeId(0), by_turns: false }
    }

    /// Walks along the chain from `head` on: up to where its order begins to matter, or further if two values take turns.
    fn follow(&mut self, recogniser: &Recogniser<'g>, head: NodeId) {
        self.forget();
        self.links.clear();
        self.rest = head;
        let mut one_target = true;
        // How many links there are, and what follows them, up to where the order matters.
        let mut unordered = None;
        // How many edges lead from the chain so far to its rest.
        let mut edges = 0;
        while let Some(next) = link(recogniser, self.rest) {
            if edges > 0 && recogniser.edges_in[self.rest.index()] != edges {
                break;
            }
            let target = self.links.first().map_or(next.target(), Link::target);
            one_target &= next.arms.as_slice().iter().all(|arm| arm.target == target);
            let is_new = self.places[next.value.index()] == NO_PLACE;
            let values = self.values.len() + usize::from(is_new);
            if !one_target && values > 1 {
                unordered.get_or_insert((self.links.len(), self.rest));
                if values > 2 {
                    break;
                }
            }
            self.count(next.value, next.members().count() as u32);
            edges = next.edges;
            self.rest = next.miss;
            self.links.push(next);
        }
        self.by_turns = unordered.is_some() && self.turns().last().is_some_and(|&last| last + 1 >= TURNS_MIN);
        if let Some((links, rest)) = unordered.filter(|_| !self.by_turns) {
            self.cut(links, rest);
        }
    }

    fn forget(&mut self) {
        self.values.iter().for_each(|(value, _)| self.places[value.index()] = NO_PLACE);
        self.values.clear();
    }

    /// Keeps the first so many links.
    fn cut(&mut self, links: usize, rest: NodeId) {
        self.forget();
        self.links.truncate(links);
        self.rest = rest;
        for i in 0..links {
            let (value, nodes) = (self.links[i].value, self.links[i].members().count());
            self.count(value, nodes as u32);
        }
    }

    /// For each link, how often the value that is asked for has changed before.
    fn turns(&self) -> Vec<u32> {
        let changes = self.links.windows(2).map(|pair| u32::from(pair[0].value != pair[1].value));
        let turns = std::iter::once(0).chain(changes).scan(0, |turn, change| {
            *turn += change;
            Some(*turn)
        });
        turns.collect()
    }

    fn count(&mut self, value: ValueId, nodes: u32) {
        let place = &mut self.places[value.index()];
        if *place == NO_PLACE {
            *place = self.values.len() as u32;
            self.values.push((value, 0));
        }
        self.values[*place as usize].1 += nodes;
    }

    /// Whether any group could. One node alone, and two that ask for ranges apart, come to nothing unless a test does
    /// not matter.
    fn may_pay(&self) -> bool {
        if self.by_turns {
            return true;
        }
        let idle = self.links.iter().flat_map(|link| link.arms.as_slice()).any(|arm| arm.target == self.rest);
        idle || self.values.iter().any(|&(value, nodes)| match nodes {
            0 | 1 => false,
            // Looking through long chains for each of their values would take too long.
            2 => self.links.len() > LINKS_FEW || !self.are_apart(value),
            _ => true,
        })
    }

    /// Whether two links ask for ranges of this value that do not touch.
    fn are_apart(&self, value: ValueId) -> bool {
        let mut links = self.links.iter().filter(|link| link.value == value).map(|link| &link.arms);
        match (links.next(), links.next()) {
            (Some(Arms::One([a])), Some(Arms::One([b]))) => apart(a, b) || apart(b, a),
            _ => false,
        }
    }

    /// The chain, in groups.
    fn chain(&self) -> Chain {
        let group = |&(value, nodes): &(ValueId, u32)| {
            let room = nodes as usize;
            let turns = Vec::with_capacity(if self.by_turns { room } else { 0 });
            Group { value, arms: Vec::with_capacity(room), turns, members: Vec::with_capacity(room) }
        };
        let mut groups: Vec<Group> = self.values.iter().map(group).collect();
        let turns = if self.by_turns { self.turns() } else { Vec::new() };
        for (i, link) in self.links.iter().enumerate() {
            let group = &mut groups[self.places[link.value.index()] as usize];
            group.arms.extend_from_slice(link.arms.as_slice());
            group.members.extend(link.members());
            if let Some(&turn) = turns.get(i) {
                group.turns.resize(group.arms.len(), turn);
            }
        }
        Chain { groups, rest: self.rest, by_turns: self.by_turns }
    }
}

/// One link of a chain: a test, or a switch already made.
struct Link<'g> {
    node: NodeId,
    value: ValueId,
    arms: Arms<'g>,
    miss: NodeId,
    /// The other node, where it takes two.
    second: Option<NodeId>,
    /// How many edges to `miss` there must be for the chain to go on.
    edges: u32,
}

impl Link<'_> {
    /// Where the first of its arms leads.
    fn target(&self) -> NodeId {
        self.arms.as_slice()[0].target
    }

    fn members(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.node).chain(self.second)
    }
}

enum Arms<'g> {
    One([Arm; 1]),
    Many(&'g [Arm]),
}

impl Arms<'_> {
    fn as_slice(&self) -> &[Arm] {
        match self {
            Arms::One(arm) => arm,
            Arms::Many(arms) => arms,
        }
    }
}

fn link<'g>(recogniser: &Recogniser<'g>, id: NodeId) -> Option<Link<'g>> {
    if let Node::Switch(switch) = recogniser.graph.node(id) {
        // An arm that leads to the default as well ends the chain: its range is settled here.
        let settled = switch.arms.iter().any(|arm| arm.target == switch.default);
        let edges = if settled { u32::MAX } else { 1 };
        let (value, arms, miss) = (switch.value, Arms::Many(&switch.arms), switch.default);
        return Some(Link { node: id, value, arms, miss, second: None, edges });
    }
    let Membership { value, low, high, hit, miss, second } = recogniser.at(id)?;
    let edges = 1 + u32::from(second.is_some());
    let arms = Arms::One([Arm { low, high, target: hit }]);
    Some(Link { node: id, value, arms, miss, second, edges })
}

fn build_chain(rebuild: &mut Rebuild<'_>, ranges: &mut Ranges, mut chain: Chain) -> NodeId {
    let mut node = rebuild.at(chain.rest);
    for group in &mut chain.groups {
        group.arms.iter_mut().for_each(|arm| arm.target = rebuild.at(arm.target));
    }
    if chain.by_turns
        && let [v, w] = &chain.groups[..]
    {
        return build_turns(rebuild, ranges, [v, w], node);
    }
    for group in chain.groups.iter().rev() {
        let origin = rebuild.origin_of_all(&group.members);
        node = lookup(rebuild, ranges, group.value, first_match(&group.arms, node), node, origin);
    }
    node
}

/// Two values of which the one that is met first decides.
fn build_turns(rebuild: &mut Rebuild<'_>, ranges: &mut Ranges, groups: [&Group; 2], rest: NodeId) -> NodeId {
    let origins = groups.map(|group| rebuild.origin_of_all(&group.members));
    let mut alone = |side: usize, rest| {
        let group = groups[side];
        lookup(rebuild, ranges, group.value, first_match(&group.arms, rest), rest, origins[side])
    };
    // Where one value is not met, or later than the other.
    let last = [0, 1].map(|side| alone(side, rest));
    let sides = [0, 1].map(|side| Side { arms: turns_of(groups[side]), last: last[side] });
    turns::first(&sides, &mut |side, arms, default| {
        let arms = joined(arms.into_iter().filter(|arm| arm.target != default));
        lookup(rebuild, ranges, groups[side].value, arms, default, origins[side])
    })
}

/// At which turn each range is asked for first.
fn turns_of(group: &Group) -> Vec<Turn> {
    let numbered = (0..).zip(&group.arms).map(|(i, arm)| Arm { target: NodeId(i), ..*arm });
    let first = first_match(&numbered.collect::<Vec<_>>(), NO_ARM);
    first
        .iter()
        .map(|arm| Turn { low: arm.low, high: arm.high, turn: group.turns[arm.target.index()] })
        .collect()
}

/// Stands for where no range leads.
const NO_ARM: NodeId = NodeId(u32::MAX);

/// A switch, or a few tests.
fn lookup(
    rebuild: &mut Rebuild<'_>,
    ranges: &mut Ranges,
    value: ValueId,
    arms: Vec<Arm>,
    default: NodeId,
    origin: Origin,
) -> NodeId {
    if arms.len() >= ARMS_MIN {
        let switch = rebuild.graph.switch(Switch { value, arms, default });
        carry_origin(rebuild, switch, default, origin);
        return switch;
    }
    arms.into_iter().rev().fold(default, |miss, arm| {
        let test = range_test(rebuild.graph, ranges, value, arm, miss);
        carry_origin(rebuild, test, miss, origin);
        test
    })
}

fn carry_origin(rebuild: &mut Rebuild<'_>, new: NodeId, miss: NodeId, origin: Origin) {
    if new != miss && !matches!(rebuild.graph.node(new), Node::Leaf(_)) {
        rebuild.graph.add_origin(new, origin);
    }
}

/// A branch on one range: at most one comparison, `v - low < count`.
fn range_test(graph: &mut Graph, ranges: &mut Ranges, value: ValueId, arm: Arm, miss: NodeId) -> NodeId {
    let mut folder = Folder { pool: std::mem::take(&mut graph.pool), ranges: std::mem::take(ranges) };
    let question = range_question(&mut folder, value, arm.low, arm.high);
    folder.ranges.cover(&folder.pool);
    (graph.pool, *ranges) = (folder.pool, folder.ranges);
    match question {
        Question::Known(true) => arm.target,
        Question::Known(false) => miss,
        Question::If(cond) => graph.branch(cond, arm.target, miss),
        Question::Unless(cond) => graph.branch(cond, miss, arm.target),
    }
}

/// `value in low..=high`.
fn range_question(folder: &mut Folder, value: ValueId, low: u32, high: u32) -> Question {
    let range = folder.ranges.of(&folder.pool, value);
    if low == high {
        let k = folder.constant(low);
        eq(folder, value, k)
    } else if high >= range.high {
        let k = folder.constant(low);
        less(folder, value, k).not()
    } else {
        let k = folder.constant(low);
        let from_low = super::value::op(folder, BinOp::Sub, value, k);
        let count = folder.constant(high - low + 1);
        less(folder, from_low, count)
    }
}

/// Whether some number lies between two ranges.
fn apart(lower: &Arm, upper: &Arm) -> bool {
    u64::from(lower.high) + 1 < u64::from(upper.low)
}

/// Ranges in order of precedence as disjoint, ascending ones; what leads to `default` anyway is left out.
fn first_match(arms: &[Arm], default: NodeId) -> Vec<Arm> {
    if let &[arm] = arms {
        return if arm.target == default { Vec::new() } else { vec![arm] };
    }
    let mut sorted = arms.to_vec();
    // Stable, since most are sorted already: that is found out in one run.
    sorted.sort_by_key(|arm| arm.low);
    if sorted.windows(2).all(|pair| pair[0].high < pair[1].low) {
        return joined(sorted.into_iter().filter(|arm| arm.target != default));
    }
    joined(first_of_overlapping(arms).into_iter().filter(|arm| arm.target != default))
}

/// Ascending arms, neighbours with one target as one.
fn joined(arms: impl Iterator<Item = Arm>) -> Vec<Arm> {
    let mut out: Vec<Arm> = Vec::with_capacity(arms.size_hint().1.unwrap_or(0));
    for arm in arms {
        match out.last_mut() {
            Some(last) if last.target == arm.target && u64::from(last.high) + 1 == u64::from(arm.low) => {
                last.high = arm.high;
            }
            _ => out.push(arm),
        }
    }
    out
}

/// Ranges in order of precedence as disjoint, ascending ones.
fn first_of_overlapping(arms: &[Arm]) -> Vec<Arm> {
    // Sweep over the ends of the ranges, with the set of those that cover the place: its first one counts.
    let mut ends: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * arms.len());
    for (i, arm) in arms.iter().enumerate() {
        ends.extend([(u64::from(arm.low), true, i), (u64::from(arm.high) + 1, false, i)]);
    }
    ends.sort_unstable();
    let mut covering = BTreeSet::new();
    let mut out: Vec<Arm> = Vec::new();
    let mut ends = ends.into_iter().peekable();
    while let Some((at, begins, i)) = ends.next() {
        if begins {
            covering.insert(i);
        } else {
            covering.remove(&i);
        }
        let Some(&(next, ..)) = ends.peek() else { break };
        let Some(&first) = covering.first() else { continue };
        if next != at {
            out.push(Arm { low: at as u32, high: (next - 1) as u32, target: arms[first].target });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_overlapping_ranges_counts() {
        let arm = |low, high, target| Arm { low, high, target: NodeId(target) };
        let arms = [arm(10, 20, 1), arm(15, 30, 2), arm(0, u32::MAX, 3), arm(5, 6, 4)];
        let expected = [arm(0, 9, 3), arm(10, 20, 1), arm(21, 30, 2), arm(31, u32::MAX, 3)];
        assert_eq!(first_match(&arms, NodeId(9)), expected);
        assert_eq!(first_match(&arms, NodeId(3)), [arm(10, 20, 1), arm(21, 30, 2)]);
        let touching = [arm(7, 9, 1), arm(4, 6, 1), arm(11, 11, 1)];
        assert_eq!(first_match(&touching, NodeId(0)), [arm(4, 9, 1), arm(11, 11, 1)]);
    }
}
