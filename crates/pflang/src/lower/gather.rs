//! Gathering: a list of tests that differ in a constant only asks once whether a value is in a set.
//!
//! ```text
//! ip and src a  or  ip and src b  or  ip and src c  or  …   ->   ip and src a  or  ip and src in {b, c, …}
//! ```
//! `host a or host b or …` is thousands of tests that the optimiser would join all the same; joined here they are never
//! built, hashed and threaded one by one.
//!
//! Two terms of a list are *alike* if they are the same tree but for constants that a value is compared with for
//! equality, or that bound it on both sides, and if a yes to such a comparison settles the whole list. Why they may be gathered behind the first of
//! their kind: it has said no, so it has passed every load on its way, and the others go the same way, on which
//! nothing but one of the comparisons can stop them, with a yes. They cannot reject a packet, and so their order is of
//! no consequence, nor what stands between them. That first term may reject the packet and stays where it is; what
//! comes behind it is not moved before it.
//!
//! ```text
//! A₁ A₂ B₁ A₃ B₂ …   ->   A₁ A{2} B₁ A{3, …} B{2, …}        (A, B: kinds of terms)
//! ```

use crate::ir::tree::{Set, Tree, TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, CondId, Pool, Spans, Value, ValueId};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Shorter lists stay as they are.
const TERMS_MIN: u32 = 8;
/// Fewer terms of a kind stay as they are.
const MEMBERS_MIN: usize = 4;
/// Larger terms are of no kind: each would be read again for each list that it is a part of. Two words a node.
const TERM_WORDS_MAX: usize = 256;

/// Gathers the lists of a tree that has these roots, each beside the leaf that it leads to.
pub(crate) fn gather(tree: &mut Tree, arms: &mut [(TreeId, u32)]) {
    let Some(lists) = lists(tree) else { return };
    let new = (0..tree.len() as u32).map(TreeId).collect();
    let mut gatherer = Gatherer { tree, new, terms: Vec::new(), kinds: Kinds::default() };
    for (i, list) in (0..).zip(lists) {
        let id = TreeId(i);
        let new = if list.is_top { gatherer.list(id) } else { gatherer.rewritten(id) };
        gatherer.new[id.index()] = new;
    }
    arms.iter_mut().for_each(|(root, _)| *root = gatherer.new[root.index()]);
}

/// What a node is of a list.
struct List {
    /// How many terms lie below.
    len: u32,
    /// Whether it is the top of a list that is long enough.
    is_top: bool,
}

/// By node. `None` where no list is long enough.
fn lists(tree: &Tree) -> Option<Vec<List>> {
    if !has_operators(tree) {
        return None;
    }
    let mut lists: Vec<List> = Vec::with_capacity(tree.len());
    let mut any = false;
    for id in (0..tree.len() as u32).map(TreeId) {
        let node = tree.node(id);
        let len = operands(node).map_or(1, |operands| {
            let mut len = |operand: TreeId| {
                let goes_on = is_same_operator(node, tree.node(operand));
                let list = &mut lists[operand.index()];
                // The list goes on above.
                list.is_top &= !goes_on;
                if goes_on { list.len } else { 1 }
            };
            operands.map(&mut len).into_iter().fold(0, u32::saturating_add)
        });
        any |= len >= TERMS_MIN;
        lists.push(List { len, is_top: len >= TERMS_MIN });
    }
    any.then_some(lists)
}

/// Whether there are enough operators of one kind for a list.
fn has_operators(tree: &Tree) -> bool {
    let (mut ands, mut ors) = (1, 1);
    (0..tree.len() as u32).map(TreeId).any(|id| {
        match tree.node(id) {
            TreeNode::And(..) => ands += 1,
            TreeNode::Or(..) => ors += 1,
            _ => {}
        }
        ands.max(ors) >= TERMS_MIN
    })
}

fn operands(node: TreeNode) -> Option<[TreeId; 2]> {
    match node {
        TreeNode::And(a, b) | TreeNode::Or(a, b) => Some([a, b]),
        _ => None,
    }
}

fn is_same_operator(a: TreeNode, b: TreeNode) -> bool {
    matches!((a, b), (TreeNode::And(..), TreeNode::And(..)) | (TreeNode::Or(..), TreeNode::Or(..)))
}

/// What joins the terms of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    And,
    Or,
}

impl Operator {
    /// That of the node on top of a list.
    fn of(top: TreeNode) -> Self {
        if matches!(top, TreeNode::Or(..)) { Operator::Or } else { Operator::And }
    }
}

struct Gatherer<'t> {
    tree: &'t mut Tree,
    /// What each node has become.
    new: Vec<TreeId>,
    /// Scratch: the terms of the list in hand.
    terms: Vec<TreeId>,
    kinds: Kinds,
}

impl Gatherer<'_> {
    /// A node over what its operands have become.
    fn rewritten(&mut self, id: TreeId) -> TreeId {
        let at = |old: TreeId| self.new[old.index()];
        let node = match self.tree.node(id) {
            TreeNode::And(a, b) => TreeNode::And(at(a), at(b)),
            TreeNode::Or(a, b) => TreeNode::Or(at(a), at(b)),
            TreeNode::Not(a) => TreeNode::Not(at(a)),
            leaf => leaf,
        };
        if node == self.tree.node(id) { id } else { self.push(node, id) }
    }

    fn push(&mut self, node: TreeNode, like: TreeId) -> TreeId {
        let id = self.tree.push_like(node, like);
        self.new.push(id);
        id
    }

    /// What a list becomes.
    fn list(&mut self, top: TreeId) -> TreeId {
        let joined_by = Operator::of(self.tree.node(top));
        let mut terms = std::mem::take(&mut self.terms);
        self.flatten(top, &mut terms);
        let mut kinds = std::mem::take(&mut self.kinds);
        kinds.begin();
        let mut out = Vec::new();
        for &term in &terms {
            if !kinds.take(self.tree, term, joined_by) {
                // The first of its kind may reject the packet: what came before it must be asked before it.
                self.spill(&mut kinds, &mut out);
                out.push(term);
            }
        }
        self.spill(&mut kinds, &mut out);
        let gathered = out.len() < terms.len();
        (self.terms, self.kinds) = (terms, kinds);
        if gathered { self.joined(top, &out) } else { self.rewritten(top) }
    }

    /// The terms of a list, in order, as what they have become.
    fn flatten(&self, top: TreeId, terms: &mut Vec<TreeId>) {
        terms.clear();
        let mut pending = vec![top];
        while let Some(id) = pending.pop() {
            let node = self.tree.node(id);
            match operands(node).filter(|_| is_same_operator(node, self.tree.node(top))) {
                Some([a, b]) => pending.extend([b, a]),
                None => terms.push(self.new[id.index()]),
            }
        }
    }

    /// Ends what was gathered so far: a term for each kind, or the few terms themselves.
    fn spill(&mut self, kinds: &mut Kinds, out: &mut Vec<TreeId>) {
        for group in kinds.take_groups() {
            if group.members.len() < MEMBERS_MIN {
                out.extend(group.members);
            } else {
                out.push(self.gathered(group));
            }
        }
    }

    /// One term for all members of a group: the first of them, asking for sets.
    fn gathered(&mut self, group: Group) -> TreeId {
        let model = group.members[0];
        let mut ids = term_nodes(self.tree, model);
        ids.sort_unstable_by_key(|id| id.0);
        for Asked { test, value, mut ranges, spans } in group.asked {
            normalise(&mut ranges);
            let set = self.tree.add_set(Set { value, ranges, spans });
            self.new[test.index()] = self.push(TreeNode::In(set), test);
        }
        for &id in &ids {
            if self.new[id.index()] == id {
                self.new[id.index()] = self.rewritten(id);
            }
        }
        let term = self.new[model.index()];
        // The model itself stays what it was.
        ids.iter().for_each(|&id| self.new[id.index()] = id);
        term
    }

    fn joined(&mut self, top: TreeId, terms: &[TreeId]) -> TreeId {
        let joined_by = Operator::of(self.tree.node(top));
        let (mut all, rest) = (terms[0], &terms[1..]);
        for &term in rest {
            let node = match joined_by {
                Operator::Or => TreeNode::Or(all, term),
                Operator::And => TreeNode::And(all, term),
            };
            all = self.push(node, top);
        }
        all
    }
}

/// All nodes of a term.
fn term_nodes(tree: &Tree, term: TreeId) -> Vec<TreeId> {
    let mut nodes = vec![term];
    let mut at = 0;
    while let Some(&id) = nodes.get(at) {
        at += 1;
        match tree.node(id) {
            TreeNode::And(a, b) | TreeNode::Or(a, b) => nodes.extend([a, b]),
            TreeNode::Not(a) => nodes.push(a),
            _ => {}
        }
    }
    nodes
}

/// Ranges as disjoint, ascending ones.
fn normalise(ranges: &mut Vec<(u32, u32)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let touches = next.0 <= last.1.saturating_add(1);
        if touches {
            last.1 = last.1.max(next.1);
        }
        touches
    });
}

/// The kinds of terms met in a list, and what was gathered since one of a new kind was met.
#[derive(Default)]
struct Kinds {
    /// By what its terms have in common: the number of a kind.
    known: HashMap<Box<[u32]>, u32, RandomState>,
    /// By kind: where its group is; [`NO_GROUP`] where there is none.
    places: Vec<u32>,
    groups: Vec<Group>,
    /// Scratch: what the term in hand has in common with its kind, and where it may differ.
    common: Vec<u32>,
    memberships: Vec<(TreeId, Membership)>,
    pending: Vec<(TreeId, Option<bool>)>,
}

const NO_GROUP: u32 = u32::MAX;

/// Terms of one kind.
struct Group {
    kind: u32,
    members: Vec<TreeId>,
    /// For each comparison in which they may differ.
    asked: Vec<Asked>,
}

/// What the terms of a kind ask at one place.
struct Asked {
    /// The comparison of the first member.
    test: TreeId,
    value: ValueId,
    ranges: Vec<(u32, u32)>,
    spans: Spans,
}

/// A value compared with a constant, or with two: whether it lies in a range.
#[derive(Clone, Copy)]
struct Membership {
    value: ValueId,
    low: u32,
    high: u32,
}

impl Kinds {
    /// Begins another list.
    fn begin(&mut self) {
        self.known.clear();
        self.places.clear();
        self.groups.clear();
    }

    /// Takes a term of a list, unless it is the first of its kind.
    fn take(&mut self, tree: &Tree, term: TreeId, joined_by: Operator) -> bool {
        if !self.read(tree, term, joined_by) {
            return false;
        }
        let Some(&kind) = self.known.get(&self.common[..]) else {
            self.known.insert(self.common[..].into(), self.places.len() as u32);
            self.places.push(NO_GROUP);
            return false;
        };
        let place = &mut self.places[kind as usize];
        if *place == NO_GROUP {
            *place = self.groups.len() as u32;
            self.groups.push(Group::new(kind, &self.memberships));
        }
        self.groups[*place as usize].add(tree, term, &self.memberships);
        true
    }

    /// Ends the groups in hand.
    fn take_groups(&mut self) -> Vec<Group> {
        self.groups.iter().for_each(|group| self.places[group.kind as usize] = NO_GROUP);
        std::mem::take(&mut self.groups)
    }

    /// Reads a term of a list; says whether it is small enough to be of a kind.
    fn read(&mut self, tree: &Tree, term: TreeId, joined_by: Operator) -> bool {
        self.common.clear();
        self.memberships.clear();
        self.pending.clear();
        // Beside each node: the answer of it that settles the list, if one does.
        self.pending.push((term, Some(joined_by == Operator::Or)));
        while let Some((id, settles)) = self.pending.pop() {
            if self.common.len() > TERM_WORDS_MAX {
                return false;
            }
            if let Some(found) = membership(tree, id).filter(|_| settles == Some(true)) {
                self.common.extend([7, found.value.0]);
                self.memberships.push((id, found));
                continue;
            }
            let words = match tree.node(id) {
                TreeNode::And(a, b) => {
                    self.pending.extend([(b, settles), (a, settles.filter(|&yes| !yes))]);
                    [0, 0]
                }
                TreeNode::Or(a, b) => {
                    self.pending.extend([(b, settles), (a, settles.filter(|&yes| yes))]);
                    [1, 0]
                }
                TreeNode::Not(a) => {
                    self.pending.push((a, settles.map(|yes| !yes)));
                    [2, 0]
                }
                TreeNode::True => [3, 0],
                TreeNode::False => [4, 0],
                TreeNode::Eval(value) => [5, value.0],
                TreeNode::In(set) => [6, set.0],
                TreeNode::Test(cond) => [8, cond.0],
            };
            self.common.extend(words);
        }
        true
    }
}

impl Group {
    fn new(kind: u32, memberships: &[(TreeId, Membership)]) -> Group {
        let asked = memberships.iter().map(|&(test, Membership { value, .. })| Asked {
            test,
            value,
            ranges: Vec::new(),
            spans: Spans::default(),
        });
        Group { kind, members: Vec::new(), asked: asked.collect() }
    }

    fn add(&mut self, tree: &Tree, term: TreeId, memberships: &[(TreeId, Membership)]) {
        self.members.push(term);
        for (asked, &(test, Membership { low, high, .. })) in self.asked.iter_mut().zip(memberships) {
            asked.ranges.push((low, high));
            asked.spans.add(tree.span(test));
        }
    }
}

/// What asks whether a loaded number lies in a range.
fn membership(tree: &Tree, test: TreeId) -> Option<Membership> {
    match tree.node(test) {
        TreeNode::Test(cond) => equality(&tree.pool, cond),
        TreeNode::And(a, b) => between(tree, a, b),
        _ => None,
    }
}

/// The comparison of a loaded number, or of its first bits, with a constant that it can be.
fn equality(pool: &Pool, cond: CondId) -> Option<Membership> {
    let Cond::Cmp(CmpOp::Eq, a, k) = pool.get_cond(cond) else { return None };
    let k = pool.as_const(k)?;
    let (value, mask) = match pool.get(a) {
        Value::Op(BinOp::And, x, mask) => (x, pool.as_const(mask)?),
        _ => (a, u32::MAX),
    };
    let Value::Load { size, .. } = pool.get(value) else { return None };
    let free = !mask & size.max();
    let is_prefix = free & free.wrapping_add(1) == 0;
    (is_prefix && k <= size.max() && k & free == 0).then_some(Membership { value, low: k, high: k | free })
}

/// A loaded number is neither below one constant nor above another.
fn between(tree: &Tree, not_below: TreeId, not_above: TreeId) -> Option<Membership> {
    let [below, above] = [not_below, not_above].map(|test| {
        let TreeNode::Not(less) = tree.node(test) else { return None };
        let TreeNode::Test(cond) = tree.node(less) else { return None };
        match tree.pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Lt, a, b) => Some((a, b)),
            _ => None,
        }
    });
    let ((value, low), (high, same)) = (below?, above?);
    let (low, high) = (tree.pool.as_const(low)?, tree.pool.as_const(high)?);
    let Value::Load { size, .. } = tree.pool.get(value) else { return None };
    (value == same && low <= high && high <= size.max()).then_some(Membership { value, low, high })
}

#[cfg(test)]
mod tests;
