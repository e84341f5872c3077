//! Kinds of terms: which terms of a list differ in nothing but constants, and in which.

use super::Operator;
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, CondId, Pool, Value, ValueId};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Larger terms are of no kind: each would be read again for each list that it is a part of. Two words a node.
pub(super) const TERM_WORDS_MAX: usize = 256;

/// What may differ from term to term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unit {
    /// The constants of a test whose yes settles the list.
    #[default]
    Test,
    /// Also those of a run of tests, of which only yes to all settles it.
    Run,
}

/// The kinds of terms met in a list, and what was gathered since one of a new kind was met.
#[derive(Default)]
pub(super) struct Kinds {
    /// The answer of a term that settles the list.
    settles: bool,
    unit: Unit,
    /// By what its terms have in common: the number of a kind.
    known: HashMap<Box<[u32]>, u32, RandomState>,
    /// By kind: where its group is; [`NO_GROUP`] where there is none.
    places: Vec<u32>,
    groups: Vec<Group>,
    /// Scratch: what the term in hand has in common with its kind, and where it may differ.
    common: Vec<u32>,
    members: Vec<Member>,
    asked: Vec<(TreeId, usize)>,
    pending: Vec<(TreeId, Option<bool>)>,
    /// Just past the last byte that its runs of tests read.
    end: u32,
}

const NO_GROUP: u32 = u32::MAX;

/// Terms of one kind.
pub(super) struct Group {
    kind: u32,
    pub(super) terms: Vec<TreeId>,
    /// For each place at which they may differ.
    pub(super) asked: Vec<Asked>,
    /// Just past the last byte that runs of tests in them read.
    pub(super) end: u32,
}

/// What the terms of a kind ask at one place.
pub(super) struct Asked {
    /// The place in the first term.
    pub(super) at: TreeId,
    /// How many tests a term has there.
    pub(super) run_len: usize,
    /// Those of all terms.
    pub(super) members: Vec<Member>,
}

/// A loaded number compared with a constant, or with two: whether it lies in a range.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) test: TreeId,
    pub(super) value: ValueId,
    low: u32,
    high: u32,
}

impl Member {
    pub(super) fn range(&self) -> (u32, u32) {
        (self.low, self.high)
    }
}

impl Kinds {
    /// Begins another list.
    pub(super) fn begin(&mut self, joined_by: Operator, unit: Unit) {
        self.settles = joined_by == Operator::Or;
        self.unit = unit;
        self.known.clear();
        self.places.clear();
        self.groups.clear();
    }

    /// Takes a term of the list, unless it is the first of its kind.
    pub(super) fn take(&mut self, tree: &Tree, term: TreeId) -> bool {
        if !self.read(tree, term) {
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
            self.groups.push(Group::new(kind, &self.asked, self.end));
        }
        self.groups[*place as usize].add(term, &self.members);
        true
    }

    /// How many kinds there are so far.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// Ends the groups in hand.
    pub(super) fn take_groups(&mut self) -> Vec<Group> {
        self.groups.iter().for_each(|group| self.places[group.kind as usize] = NO_GROUP);
        std::mem::take(&mut self.groups)
    }

    /// Reads a term; says whether it is small enough to be of a kind.
    fn read(&mut self, tree: &Tree, term: TreeId) -> bool {
        self.common.clear();
        self.members.clear();
        self.asked.clear();
        self.pending.clear();
        self.end = 0;
        // Beside each node: the answer of it that settles the list, if one does.
        self.pending.push((term, Some(self.settles)));
        while let Some((id, settles)) = self.pending.pop() {
            if self.common.len() > TERM_WORDS_MAX {
                return false;
            }
            if settles == Some(true) && self.may_differ(tree, id) {
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
                TreeNode::Try(a) => {
                    self.pending.push((a, settles));
                    [10, 0]
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

    /// Whether terms of a kind may differ in this node; takes it then.
    fn may_differ(&mut self, tree: &Tree, id: TreeId) -> bool {
        if let Some(member) = membership(tree, id) {
            self.common.extend([7, member.value.0]);
            self.members.push(member);
            self.asked.push((id, 1));
            return true;
        }
        self.unit == Unit::Run && self.run(tree, id).is_some()
    }

    /// Takes a run of tests, all of which must hold. They read at fixed places, so that one guard can stand for theirs.
    fn run(&mut self, tree: &Tree, id: TreeId) -> Option<()> {
        let TreeNode::And(..) = tree.node(id) else { return None };
        let (first, common) = (self.members.len(), self.common.len());
        self.common.extend([9, 0]);
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            match (fixed_membership(tree, id), tree.node(id)) {
                (Some((member, end)), _) if self.common.len() < TERM_WORDS_MAX => {
                    self.common.extend([7, member.value.0]);
                    self.members.push(member);
                    self.end = self.end.max(end);
                }
                (None, TreeNode::And(a, b)) => pending.extend([b, a]),
                _ => {
                    self.members.truncate(first);
                    self.common.truncate(common);
                    return None;
                }
            }
        }
        let len = self.members.len() - first;
        self.common[common + 1] = len as u32;
        self.asked.push((id, len));
        Some(())
    }
}

impl Group {
    fn new(kind: u32, asked: &[(TreeId, usize)], end: u32) -> Group {
        let asked = asked.iter().map(|&(at, run_len)| Asked { at, run_len, members: Vec::new() });
        Group { kind, terms: Vec::new(), asked: asked.collect(), end }
    }

    fn add(&mut self, term: TreeId, mut members: &[Member]) {
        self.terms.push(term);
        for asked in &mut self.asked {
            let (here, rest) = members.split_at(asked.run_len);
            asked.members.extend(here);
            members = rest;
        }
    }
}

/// What asks whether a loaded number lies in a range.
pub(super) fn membership(tree: &Tree, test: TreeId) -> Option<Member> {
    let (value, low, high) = match tree.node(test) {
        TreeNode::Test(cond) => equality(&tree.pool, cond),
        TreeNode::And(a, b) => between(tree, a, b),
        _ => None,
    }?;
    Some(Member { test, value, low, high })
}

/// The same, of a number at a fixed place, beside where that ends.
fn fixed_membership(tree: &Tree, test: TreeId) -> Option<(Member, u32)> {
    let member = membership(tree, test)?;
    let Value::Load { base, offset, size, .. } = tree.pool.get(member.value) else { return None };
    let is_fixed = tree.pool.as_const(base) == Some(0);
    Some((member, offset.checked_add(size.bytes())?)).filter(|_| is_fixed)
}

/// The comparison of a loaded number, or of its first bits, with a constant that it can be.
fn equality(pool: &Pool, cond: CondId) -> Option<(ValueId, u32, u32)> {
    let Cond::Cmp(CmpOp::Eq, a, k) = pool.get_cond(cond) else { return None };
    let k = pool.as_const(k)?;
    let (value, mask) = match pool.get(a) {
        Value::Op(BinOp::And, x, mask) => (x, pool.as_const(mask)?),
        _ => (a, u32::MAX),
    };
    let Value::Load { size, .. } = pool.get(value) else { return None };
    let free = !mask & size.max();
    let is_prefix = free & free.wrapping_add(1) == 0;
    (is_prefix && k <= size.max() && k & free == 0).then_some((value, k, k | free))
}

/// A loaded number is neither below one constant nor above another.
fn between(tree: &Tree, not_below: TreeId, not_above: TreeId) -> Option<(ValueId, u32, u32)> {
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
    (value == same && low <= high && high <= size.max()).then_some((value, low, high))
}
