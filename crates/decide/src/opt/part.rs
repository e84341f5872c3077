//! Parting: packets of which more was captured go a way of their own from the first guard that knows it.
//!
//! ```text
//! guard(b, 18) ? X : guard(b, 16) ? Y : e              X and Y both lead to
//! J = guard(b, 18) ? test … : …
//! ->  X leads to  test …                               and Y to what stands behind the guard's exit
//! ```
//! In a list of filters, each asks for its ports anew, and [`super::widen`] gives each two ways: for whole packets, and for
//! those that are cut between the two ports. The ways meet again before the next filter, and with that is forgotten which
//! guard was passed; behind the second guard both ports are loaded once more. Here the ways stay apart as long as a guard
//! would ask what one of them knows. Nothing is copied but nodes from which such a guard is reached, and no node more
//! often than there are answers to the guards behind it. Copies are few: they come out of a [`Spare`].

use super::shape::Shape;
use crate::filled::filled;
use crate::ir::{Cond, Graph, Node, NodeId, ValueId};
use std::collections::{BTreeMap, HashMap};

/// In larger graphs guards at variable offsets are looked at only where these have few bases. So the time is bounded as well, with which no
/// sweep here is concerned: some hundred bases at most, and for each of them work linear in this; or few, and work linear in the graph.
const NODES_MAX: usize = 1024;
/// The ends of an IPv4 header and of IPv6's extension headers, of which a list of filters may ask for ports thousands of times.
const BASES_FEW: usize = 2;
/// A plain filter accepts or rejects, and a list of filters has more answers.
const PLAIN_LEAVES: usize = 2;
/// In larger graphs of plain filters no ways are parted. What has so many nodes once its lists are sets is mostly what is asked of packets
/// that are cut within an address: each ending there would get a copy of the list, which takes longer to simplify than all else.
const PLAIN_NODES_MAX: usize = 1 << 14;
/// Guards on one base with more ends than this are left as they are.
const ENDS_MAX: usize = u64::BITS as usize;

/// What may be spent on copies, in branches and arms, for all sweeps together.
#[derive(Debug)]
pub(super) struct Spare {
    /// For guards at fixed offsets. Most of what is copied goes again when paths are threaded, since few packets are cut so short.
    fixed: usize,
    /// For all others: where many filters read at places that packets name, each such place would multiply the graph.
    variable: usize,
}

impl Spare {
    /// Parts of what the graph has at first.
    pub(super) fn of(graph: &Graph, shape: &Shape) -> Spare {
        let leaves = shape.order.iter().filter(|&&id| matches!(graph.node(id), Node::Leaf(_))).count();
        if leaves <= PLAIN_LEAVES && shape.order.len() > PLAIN_NODES_MAX {
            return Spare { fixed: 0, variable: 0 };
        }
        let all: usize = shape.order.iter().map(|&id| weight(graph.node(id))).sum();
        Spare { fixed: 16 + 2 * all, variable: 16 + all / 2 }
    }
}

/// Branches and arms.
fn weight(node: &Node) -> usize {
    match node {
        Node::Leaf(_) | Node::Branch { .. } => 1,
        Node::Switch(switch) => 1 + switch.arms.len(),
    }
}

/// Keeps the ways of whole and of cut packets apart; says whether any met. The graph is then to be rebuilt.
pub(super) fn part(graph: &mut Graph, shape: &mut Shape, spare: &mut Spare) -> bool {
    let before = graph.root;
    let bases = repeated_bases(graph, shape);
    let many = bases.iter().filter(|&&base| graph.pool.as_const(base).is_none()).count() > BASES_FEW;
    for base in bases {
        let is_fixed = graph.pool.as_const(base).is_some();
        let spare = if is_fixed { &mut spare.fixed } else { &mut spare.variable };
        if *spare == 0 || many && shape.order.len() > NODES_MAX && !is_fixed {
            continue;
        }
        if let Some(root) = Parting::new(graph, shape, base, spare).run() {
            graph.root = root;
        }
        shape.update(graph);
    }
    graph.root != before
}

/// The bases that more than two guards ask about: two cannot have ways that meet before a third.
fn repeated_bases(graph: &Graph, shape: &Shape) -> Vec<ValueId> {
    let mut guards: BTreeMap<ValueId, usize> = BTreeMap::new();
    for (base, _) in shape.order.iter().filter_map(|&id| guard(graph, id)) {
        *guards.entry(base).or_default() += 1;
    }
    guards.into_iter().filter_map(|(base, count)| (count > 2).then_some(base)).collect()
}

/// One base, and the guards that ask how much is captured behind it.
struct Parting<'g> {
    graph: &'g mut Graph,
    /// By node: the place of its guard's end among all ends.
    place: Vec<Option<u32>>,
    /// By node: the places of the guards at it and behind it.
    asked: Vec<Places>,
    made: HashMap<(NodeId, Known), NodeId>,
    /// By node: whether it was looked at; again costs.
    seen: Vec<bool>,
    /// What is left of what may be spent.
    spare: &'g mut usize,
}

/// A bit for each end, the least first.
type Places = u64;

/// The guards of which a path has told the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    passed: Places,
    failed: Places,
}

impl Known {
    /// Behind a guard: weaker ones hold as well where it holds, stronger ones fail where it fails.
    fn behind(self, place: u32, passed: bool) -> Known {
        if passed {
            Known { passed: self.passed | u64::MAX >> (63 - place), ..self }
        } else {
            Known { failed: self.failed | u64::MAX << place, ..self }
        }
    }

    fn of(self, asked: Places) -> Known {
        Known { passed: self.passed & asked, failed: self.failed & asked }
    }
}

impl<'g> Parting<'g> {
    fn new(graph: &'g mut Graph, shape: &Shape, base: ValueId, spare: &'g mut usize) -> Parting<'g> {
        let end_of = |id: NodeId| guard(graph, id).filter(|(of, _)| *of == base).map(|(_, end)| end);
        let mut ends: Vec<u32> = shape.order.iter().filter_map(|&id| end_of(id)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.truncate(ENDS_MAX);
        let mut place = filled(None, graph.node_count());
        let mut asked: Vec<Places> = filled(0, graph.node_count());
        for &id in shape.order.iter().rev() {
            let at = end_of(id).and_then(|end| ends.binary_search(&end).ok()).map(|at| at as u32);
            place[id.index()] = at;
            let mut behind = at.map_or(0, |at| 1 << at);
            graph.node(id).for_each_successor(|next| behind |= asked[next.index()]);
            asked[id.index()] = behind;
        }
        let seen = filled(false, graph.node_count());
        Parting { graph, place, asked, made: HashMap::new(), seen, spare }
    }

    /// The new root; `None` where nothing is to be done, or where it would cost too much.
    fn run(mut self) -> Option<NodeId> {
        let root = self.graph.root;
        let mut pending = vec![(root, Known::default())];
        while let Some(&(node, known)) = pending.last() {
            let waiting = pending.len();
            self.for_each_edge(node, known, |parting, next, known| {
                if parting.known(next, known).is_none() {
                    pending.push((next, known));
                }
            });
            if pending.len() == waiting {
                pending.pop();
                // Two ways to it may have been pending.
                if self.known(node, known).is_none() {
                    self.spend(node)?;
                    let made = self.make(node, known);
                    self.made.insert((node, known), made);
                }
            }
        }
        self.known(root, Known::default()).filter(|&new| new != root)
    }

    /// Pays for a node, unless this is the first look at it; `None` where nothing is left.
    fn spend(&mut self, node: NodeId) -> Option<()> {
        if std::mem::replace(&mut self.seen[node.index()], true) {
            let left = self.spare.checked_sub(weight(self.graph.node(node)));
            *self.spare = left.unwrap_or(0);
            left?;
        }
        Some(())
    }

    /// What a node has become for those who know this, as far as that is settled.
    fn known(&self, node: NodeId, known: Known) -> Option<NodeId> {
        if self.asked[node.index()] == 0 { Some(node) } else { self.made.get(&(node, known)).copied() }
    }

    /// Where a path that comes to a node and knows this stops at first, and what matters from there on.
    fn arrive(&self, mut node: NodeId, known: Known) -> (NodeId, Known) {
        while let (Some(place), Node::Branch { then, els, .. }) =
            (self.place[node.index()], self.graph.node(node))
        {
            let bit = 1 << place;
            node = match (known.passed & bit != 0, known.failed & bit != 0) {
                (true, _) => *then,
                (_, true) => *els,
                (false, false) => break,
            };
        }
        (node, known.of(self.asked[node.index()]))
    }

    fn for_each_edge(&self, node: NodeId, known: Known, mut f: impl FnMut(&Self, NodeId, Known)) {
        let mut to = |next, known| {
            let (next, known) = self.arrive(next, known);
            f(self, next, known);
        };
        match (self.graph.node(node), self.place[node.index()]) {
            (&Node::Branch { then, els, .. }, Some(place)) => {
                to(then, known.behind(place, true));
                to(els, known.behind(place, false));
            }
            (node, _) => node.for_each_successor(|next| to(next, known)),
        }
    }

    /// The node over what its successors have become, all of which are settled.
    fn make(&mut self, id: NodeId, known: Known) -> NodeId {
        let mut successors = Vec::new();
        self.for_each_edge(id, known, |parting, next, known| successors.extend(parting.known(next, known)));
        let mut unchanged = successors.iter();
        let mut same = true;
        self.graph.node(id).for_each_successor(|next| same &= unchanged.next() == Some(&next));
        if same {
            return id;
        }
        let new = match (self.graph.node(id).clone(), &successors[..]) {
            (Node::Branch { cond, .. }, &[then, els]) => self.graph.branch(cond, then, els),
            (Node::Switch(mut switch), [arms @ .., default]) => {
                switch.arms.iter_mut().zip(arms).for_each(|(arm, target)| arm.target = *target);
                switch.default = *default;
                self.graph.switch(*switch)
            }
            _ => return id,
        };
        let spans = *self.graph.spans(id);
        self.graph.add_spans(new, &spans);
        new
    }
}

/// The base and the end of a guard.
fn guard(graph: &Graph, id: NodeId) -> Option<(ValueId, u32)> {
    let Node::Branch { cond, .. } = *graph.node(id) else { return None };
    match graph.pool.get_cond(cond) {
        Cond::Bounds { base, end } => Some((base, end)),
        Cond::Cmp(..) | Cond::Test(..) | Cond::Member(_) => None,
    }
}
