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
//!
//! An IPv6 address is four words, one compared behind the other, and only a yes to all of them settles the list. Such terms do not all go the same
//! way: one whose first word is right reads the second, and rejects a packet that ends before it. So where many terms are left, the list is
//! written twice. For packets that hold all that these comparisons read, the terms may be gathered as well, into a tree that asks word by word; for
//! shorter ones the list stays as it was.
//!
//! ```text
//! A₁ A₂ A₃ …   ->   captured >= n  ?  A₁ A{2, 3, …}  :  A₁ A₂ A₃ …
//! ```

use crate::ir::tree::{Clause, Set, Tree, TreeId, TreeNode};
use crate::ir::{Cond, Spans};
use kinds::{Asked, Group, Kinds, Member, Unit};

mod columns;
mod distribute;
mod kinds;

/// Shorter lists stay as they are.
const TERMS_MIN: u32 = 8;
/// Fewer terms of a kind stay as they are.
const MEMBERS_MIN: usize = 4;
/// Lists are written twice that many levels deep at most: the innermost is there four times then.
const SPLITS_MAX: u8 = 2;

/// Gathers the lists of a tree that these clauses ask.
pub fn gather(tree: &mut Tree, clauses: &mut [Clause]) {
    let Some(lists) = lists(tree) else { return };
    let new = (0..tree.len() as u32).map(TreeId).collect();
    let mut gatherer = Gatherer { tree, new, splits: Vec::new(), terms: Vec::new(), kinds: Kinds::default() };
    for (i, list) in (0..).zip(lists) {
        let id = TreeId(i);
        let splits = gatherer.splits_below(id);
        gatherer.splits.push(splits);
        let new = if list.is_top { gatherer.list(id) } else { gatherer.rewritten(id) };
        gatherer.new[id.index()] = new;
    }
    let roots = clauses.iter_mut().filter_map(Clause::root_mut);
    roots.for_each(|root| *root = gatherer.new[root.index()]);
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
    /// How many lists below each node are written twice, one within the other.
    splits: Vec<u8>,
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
            TreeNode::Try(a) => TreeNode::Try(at(a)),
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
        let mut terms = std::mem::take(&mut self.terms);
        self.flatten(top, &mut terms);
        let alone = self.grouped(top, &terms, Unit::Test);
        let list = if alone.terms.len() < terms.len() {
            self.joined(top, &alone.terms)
        } else {
            self.rewritten(top)
        };
        let mut new = list;
        if alone.kinds >= TERMS_MIN as usize && self.splits[top.index()] < SPLITS_MAX {
            let runs = self.grouped(top, &terms, Unit::Run);
            if runs.terms.len() + TERMS_MIN as usize <= alone.terms.len() {
                new = self.split(top, &runs, list);
            }
        }
        if new == list
            && alone.kinds >= TERMS_MIN as usize
            && Operator::of(self.tree.node(top)) == Operator::Or
        {
            new = self.distributed(top, &terms).unwrap_or(list);
        }
        self.terms = terms;
        new
    }

    /// The list, where the terms of one shape that follow each other are asked end by end.
    fn distributed(&mut self, top: TreeId, terms: &[TreeId]) -> Option<TreeId> {
        let mut out = Vec::new();
        let mut rest = terms;
        let mut changed = false;
        while !rest.is_empty() {
            let (alike, behind) = rest.split_at(columns::alike(self.tree, rest));
            rest = behind;
            let as_it_was = |tree: &mut Tree| {
                let or = |any, &term: &TreeId| tree.push_like(TreeNode::Or(any, term), top);
                alike[1..].iter().fold(alike[0], or)
            };
            match distribute::distributed(self.tree, alike, as_it_was) {
                Some(list) => {
                    changed = true;
                    out.push(list);
                }
                None => out.extend(alike),
            }
        }
        // What was added has become what it is.
        self.new.extend((self.new.len() as u32..self.tree.len() as u32).map(TreeId));
        changed.then(|| self.joined(top, &out))
    }

    fn splits_below(&self, id: TreeId) -> u8 {
        self.tree.operands(id).map(|operand| self.splits[operand.index()]).max().unwrap_or(0)
    }

    /// The terms of a list, where those of one kind are one.
    fn grouped(&mut self, top: TreeId, terms: &[TreeId], unit: Unit) -> Grouped {
        let mut kinds = std::mem::take(&mut self.kinds);
        kinds.begin(Operator::of(self.tree.node(top)), unit);
        let mut grouped = Grouped { terms: Vec::new(), kinds: 0, end: 0 };
        for &term in terms {
            if !kinds.take(self.tree, term) {
                // The first of its kind may reject the packet: what came before it must be asked before it.
                self.spill(&mut kinds, &mut grouped);
                grouped.terms.push(term);
            }
        }
        self.spill(&mut kinds, &mut grouped);
        grouped.kinds = kinds.count();
        self.kinds = kinds;
        grouped
    }

    /// The terms in which runs of tests were gathered for packets that hold what these read, the list as it was for others.
    fn split(&mut self, top: TreeId, runs: &Grouped, as_it_was: TreeId) -> TreeId {
        self.splits[top.index()] += 1;
        let base = self.tree.pool.constant(0);
        let is_captured = self.tree.pool.cond(Cond::Bounds { base, end: runs.end });
        let is_captured = self.push(TreeNode::Test(is_captured), top);
        let is_cut = self.push(TreeNode::Not(is_captured), top);
        let whole = self.joined(top, &runs.terms);
        let whole = self.push(TreeNode::And(is_captured, whole), top);
        let cut = self.push(TreeNode::And(is_cut, as_it_was), top);
        self.push(TreeNode::Or(whole, cut), top)
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
    fn spill(&mut self, kinds: &mut Kinds, grouped: &mut Grouped) {
        for group in kinds.take_groups() {
            if group.terms.len() < MEMBERS_MIN {
                grouped.terms.extend(group.terms);
            } else {
                grouped.end = grouped.end.max(group.end);
                grouped.terms.push(self.gathered(&group));
            }
        }
    }

    /// One term for all of a group: the first of them, asking for sets.
    fn gathered(&mut self, group: &Group) -> TreeId {
        let model = group.terms[0];
        let mut ids = term_nodes(self.tree, model);
        ids.sort_unstable_by_key(|id| id.0);
        for asked in &group.asked {
            self.new[asked.at.index()] = self.any_member(asked);
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

    /// Whether the packet has what one of the terms asks for at this place.
    fn any_member(&mut self, asked: &Asked) -> TreeId {
        let mut runs: Vec<&[Member]> = asked.members.chunks(asked.run_len).collect();
        if asked.run_len > 1 {
            runs.sort_unstable_by(|a, b| a.iter().map(Member::range).cmp(b.iter().map(Member::range)));
        }
        self.any_run(&runs, asked.at)
    }

    /// Whether one of these runs of tests holds, in ascending order of what they compare with: what begins alike is asked for together.
    fn any_run(&mut self, runs: &[&[Member]], like: TreeId) -> TreeId {
        if let [_] = runs[0] {
            return self.any_last(runs, like);
        }
        let mut any = None;
        for alike in runs.chunk_by(|a, b| a[0].range() == b[0].range()) {
            let rest: Vec<&[Member]> = alike.iter().map(|run| &run[1..]).collect();
            let rest = self.any_run(&rest, like);
            let run = self.push(TreeNode::And(alike[0][0].test, rest), alike[0][0].test);
            any = Some(match any {
                Some(any) => self.push(TreeNode::Or(any, run), like),
                None => run,
            });
        }
        any.unwrap_or(like)
    }

    /// Whether one of these tests holds.
    fn any_last(&mut self, tests: &[&[Member]], like: TreeId) -> TreeId {
        if let [test] = tests {
            return test[0].test;
        }
        let members = || tests.iter().map(|run| run[0]);
        let mut ranges: Vec<(u32, u32)> = members().map(|member| member.range()).collect();
        normalise(&mut ranges);
        let mut spans = Spans::default();
        members().for_each(|member| spans.add(self.tree.span(member.test)));
        let set = self.tree.add_set(Set { value: tests[0][0].value, ranges, spans });
        self.push(TreeNode::In(set), like)
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

/// The terms of a list, in order, of which some stand for several.
struct Grouped {
    terms: Vec<TreeId>,
    /// How many kinds of terms there are.
    kinds: usize,
    /// Just past the last byte that runs of tests in them read.
    end: u32,
}

/// All nodes of a term.
fn term_nodes(tree: &Tree, term: TreeId) -> Vec<TreeId> {
    let mut nodes = vec![term];
    let mut at = 0;
    while let Some(&id) = nodes.get(at) {
        at += 1;
        nodes.extend(tree.operands(id));
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

#[cfg(test)]
mod tests;
