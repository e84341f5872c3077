//! Distribution: a list of terms that ask for either end of a packet and for something else is asked end by end.
//!
//! ```text
//! (src a or dst a) and p  or  (src b or dst b) and q  or  …
//! ->  src a and p  or  src b and q  or  …   or   dst a and p  or  dst b and q  or  …
//! ```
//! Each line of these is one lookup of an end, and behind it what is left of the terms that name what was found: the first form
//! compares one term after the other.
//!
//! Another order of tests is the same filter only where none of them can reject the packet. So before the list is asked, everything is asked that
//! all its terms have in common (the protocol), and whether the packet has all bytes that any of them can read then. If it has not, the list is
//! asked as it was written.
//!
//! ```text
//! skeleton = is captured ? common test ? skeleton : skeleton  :  cut
//!          | leaf                 nothing in common is left to ask, and what differs can be read
//! list     = at leaf 1 and any of what is left there  or  at leaf 2 and …  or  cut and the list as it was
//! ```

use super::columns::Columns;
use super::kinds::membership;
use super::normalise;
use crate::ir::tree::{Set, Tree, TreeId, TreeNode};
use crate::ir::{BinOp, Cond, CondId, Spans, Value, ValueId};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Fewer terms of one shape stay as they are.
const TERMS_MIN: usize = 8;
/// Larger skeletons are not made: each common test may double them.
const SKELETON_MAX: usize = 256;
/// How often a term may be written out for its ends, for all leaves together.
const COPIES_MAX: usize = 32;

/// What a list of terms is, end by end; `None` where it is not of this kind. `as_it_was` is the list as written.
pub(super) fn distributed(
    tree: &mut Tree,
    terms: &[TreeId],
    as_it_was: impl FnOnce(&mut Tree) -> TreeId,
) -> Option<TreeId> {
    if terms.len() < TERMS_MIN {
        return None;
    }
    let columns = Columns::read(tree, terms)?;
    let mut plan = Plan::new(tree, columns);
    let root = plan.skeleton(&[], &[])?;
    plan.pays()?;
    let mut any = None;
    for leaf in 0..plan.leaves.len() {
        let Way::If(at_leaf) = plan.way(root, End::Leaf(leaf)) else { return None };
        let all: Vec<usize> = (0..terms.len()).collect();
        let of_all = plan.any(&all, plan.leaves[leaf]);
        let here = plan.push(TreeNode::And(at_leaf, of_all));
        any = Some(plan.or(any, here));
    }
    let Way::If(is_cut) = plan.way(root, End::Cut) else { return None };
    let as_it_was = as_it_was(plan.tree);
    let cut = plan.push(TreeNode::And(is_cut, as_it_was));
    Some(plan.or(any, cut))
}

/// A term's decision, as one for all terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Expr {
    Const(bool),
    /// What the terms ask at this place, each with its own constant.
    Differs(usize),
    /// What they ask at this place, all the same.
    Common(usize),
    And(ExprId, ExprId),
    Or(ExprId, ExprId),
    Not(ExprId),
}

/// Index of an [`Expr`].
type ExprId = usize;

/// Where the skeleton ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// No term can hold.
    No,
    Cut,
    Leaf(usize),
}

#[derive(Clone, Copy)]
enum Step {
    End(End),
    Test(TreeId, usize, usize),
}

/// When a way through the skeleton is taken.
enum Way {
    Never,
    Always,
    If(TreeId),
}

/// How many bytes are captured behind each base that guards were about, at least.
type Covered = [(ValueId, u32)];

struct Plan<'t> {
    tree: &'t mut Tree,
    columns: Columns,
    exprs: Vec<Expr>,
    ids: HashMap<Expr, ExprId, RandomState>,
    root: ExprId,
    steps: Vec<Step>,
    /// What is left to ask at each leaf.
    leaves: Vec<ExprId>,
}

impl<'t> Plan<'t> {
    fn new(tree: &'t mut Tree, columns: Columns) -> Plan<'t> {
        let (exprs, ids) = (Vec::new(), HashMap::default());
        let mut plan = Plan { tree, columns, exprs, ids, root: 0, steps: Vec::new(), leaves: Vec::new() };
        let same = plan.columns.same();
        let mut place = 0;
        plan.root = plan.model(plan.columns.model, &same, &mut place);
        plan
    }

    fn expr(&mut self, expr: Expr) -> ExprId {
        let next = self.exprs.len();
        let id = *self.ids.entry(expr).or_insert(next);
        if id == next {
            self.exprs.push(expr);
        }
        id
    }

    /// The first term as an expression. (No term is deeper than it may have words.)
    fn model(&mut self, id: TreeId, same: &[usize], place: &mut usize) -> ExprId {
        let is_atom = membership(self.tree, id).is_some();
        let expr = match self.tree.node(id) {
            TreeNode::And(a, b) if !is_atom => {
                Expr::And(self.model(a, same, place), self.model(b, same, place))
            }
            TreeNode::Or(a, b) => Expr::Or(self.model(a, same, place), self.model(b, same, place)),
            TreeNode::Not(a) => Expr::Not(self.model(a, same, place)),
            // What it asks has passed its guards, or is asked as it was.
            TreeNode::Try(a) => return self.model(a, same, place),
            _ => {
                *place += 1;
                let first = same[*place - 1];
                if self.columns.is_common(first) { Expr::Common(first) } else { Expr::Differs(first) }
            }
        };
        self.expr(expr)
    }

    /// Steps from where this much is known.
    fn skeleton(&mut self, known: &[(usize, bool)], covered: &Covered) -> Option<usize> {
        let mut read = Vec::new();
        let asked = self.walk(self.root, known, &mut read);
        if let Err(common) = asked {
            read = vec![common];
        }
        let guards = self.guards(&read, covered)?;
        let covered = [covered, &guards].concat();
        let step = match asked {
            Ok(_) => Step::End(self.leaf(known)?),
            Err(common) => {
                let [yes, no] = [true, false]
                    .map(|answer| self.skeleton(&[known, &[(common, answer)]].concat(), &covered));
                Step::Test(self.columns.places[common][0].test, yes?, no?)
            }
        };
        let mut at = self.step(step)?;
        for &(base, end) in guards.iter().rev() {
            let is_captured = self.tree.pool.cond(Cond::Bounds { base, end });
            let is_captured = self.push(TreeNode::Test(is_captured));
            let cut = self.step(Step::End(End::Cut))?;
            at = self.step(Step::Test(is_captured, at, cut))?;
        }
        Some(at)
    }

    fn step(&mut self, step: Step) -> Option<usize> {
        self.steps.push(step);
        (self.steps.len() <= SKELETON_MAX).then_some(self.steps.len() - 1)
    }

    /// Whether a term can be true, and false, given answers to common tests; and the places at which it may then ask. Or the first common test
    /// of which the answer is not known.
    fn walk(
        &self,
        id: ExprId,
        known: &[(usize, bool)],
        read: &mut Vec<usize>,
    ) -> Result<(bool, bool), usize> {
        Ok(match self.exprs[id] {
            Expr::Const(holds) => (holds, !holds),
            Expr::Differs(place) => {
                read.push(place);
                (true, true)
            }
            Expr::Common(place) => {
                let holds = self.answer(place, known).ok_or(place)?;
                (holds, !holds)
            }
            Expr::Not(a) => {
                let (yes, no) = self.walk(a, known, read)?;
                (no, yes)
            }
            Expr::And(a, b) => {
                let (yes, no) = self.walk(a, known, read)?;
                let (then_yes, then_no) = if yes { self.walk(b, known, read)? } else { (false, false) };
                (then_yes, no || then_no)
            }
            Expr::Or(a, b) => {
                let (yes, no) = self.walk(a, known, read)?;
                let (else_yes, else_no) = if no { self.walk(b, known, read)? } else { (false, false) };
                (yes || else_yes, else_no)
            }
        })
    }

    /// The answer to a common test that follows from those to others.
    fn answer(&self, place: usize, known: &[(usize, bool)]) -> Option<bool> {
        let atom = |place: usize| self.columns.places[place][0];
        let asked = atom(place);
        known.iter().find_map(|&(other, answer)| {
            let other = atom(other);
            if self.tree.node(asked.test) == self.tree.node(other.test) {
                return Some(answer);
            }
            let (asked, other) = (asked.member?, other.member?);
            let ((low, high), (from, to)) = (asked.range(), other.range());
            let is_apart = asked.value == other.value && (high < from || to < low);
            (answer && is_apart).then_some(false)
        })
    }

    /// The guards that what is read at these places takes beyond those that were passed, each behind those of its base.
    fn guards(&self, places: &[usize], covered: &Covered) -> Option<Vec<(ValueId, u32)>> {
        let mut guards: Vec<(ValueId, u32)> = Vec::new();
        for &place in places {
            let mut pending = self.operands(place);
            while let Some(value) = pending.pop() {
                match self.tree.pool.get(value) {
                    Value::Load { base, offset, size, .. } => {
                        guards.push((base, offset.checked_add(size.bytes())?));
                    }
                    Value::Op(BinOp::Div | BinOp::Mod, ..) => return None,
                    _ => {}
                }
                pending.extend(self.tree.pool.operands(value));
            }
        }
        // A base is made of values before it. Of each, only the farthest end counts.
        guards.sort_unstable_by_key(|&(base, end)| (base, std::cmp::Reverse(end)));
        guards.dedup_by_key(|(base, _)| *base);
        guards.retain(|&(base, end)| !covered.iter().any(|&(of, to)| of == base && to >= end));
        Some(guards)
    }

    /// What a test looks at.
    fn operands(&self, place: usize) -> Vec<ValueId> {
        let atom = self.columns.places[place][0];
        let cond = |cond: CondId| self.tree.pool.cond_operands(cond).collect();
        match (atom.member, self.tree.node(atom.test)) {
            (_, TreeNode::Test(test)) => cond(test),
            (Some(member), _) => vec![member.value],
            (None, _) => Vec::new(),
        }
    }

    /// The end at which all common tests have been answered; `None` where terms ask for what a packet is not.
    fn leaf(&mut self, known: &[(usize, bool)]) -> Option<End> {
        let rest = self.simplified(self.root, known);
        match self.exprs[rest] {
            Expr::Const(false) => return Some(End::No),
            Expr::Const(true) => return None,
            _ => {}
        }
        self.breadth(rest)?;
        let leaf = self.leaves.iter().position(|&leaf| leaf == rest).unwrap_or_else(|| {
            self.leaves.push(rest);
            self.leaves.len() - 1
        });
        Some(End::Leaf(leaf))
    }

    fn simplified(&mut self, id: ExprId, known: &[(usize, bool)]) -> ExprId {
        let expr = match self.exprs[id] {
            Expr::Common(place) => self.answer(place, known).map_or(Expr::Common(place), Expr::Const),
            Expr::Not(a) => {
                let a = self.simplified(a, known);
                match self.exprs[a] {
                    Expr::Const(holds) => Expr::Const(!holds),
                    _ => Expr::Not(a),
                }
            }
            Expr::And(a, b) => return self.joined(a, b, known, true),
            Expr::Or(a, b) => return self.joined(a, b, known, false),
            expr => expr,
        };
        self.expr(expr)
    }

    /// Both, or either.
    fn joined(&mut self, a: ExprId, b: ExprId, known: &[(usize, bool)], both: bool) -> ExprId {
        let [a, b] = [a, b].map(|operand| self.simplified(operand, known));
        match (self.exprs[a], self.exprs[b]) {
            (Expr::Const(holds), _) => {
                if holds == both {
                    b
                } else {
                    a
                }
            }
            (_, Expr::Const(holds)) => {
                if holds == both {
                    a
                } else {
                    b
                }
            }
            _ if a == b => a,
            _ => self.expr(if both { Expr::And(a, b) } else { Expr::Or(a, b) }),
        }
    }

    /// How many conjunctions an expression is when written out; `None` where it is not made of comparisons that are to hold.
    fn breadth(&self, id: ExprId) -> Option<usize> {
        match self.exprs[id] {
            Expr::Differs(_) => Some(1),
            Expr::And(a, b) => self.breadth(a)?.checked_mul(self.breadth(b)?),
            Expr::Or(a, b) => self.breadth(a)?.checked_add(self.breadth(b)?),
            Expr::Const(_) | Expr::Common(_) | Expr::Not(_) => None,
        }
    }

    /// Whether terms begin with either of two values somewhere, and do not become too many.
    fn pays(&mut self) -> Option<()> {
        let copies: usize =
            self.leaves.iter().filter_map(|&leaf| self.breadth(leaf)).fold(0, usize::saturating_add);
        let two_ended = (0..self.leaves.len()).any(|leaf| {
            let ways = self.alternatives(self.leaves[leaf]);
            let value =
                |&(place, _): &(usize, _)| self.columns.places[place][0].member.map(|member| member.value);
            ways.iter().any(|way| way.1.is_some() && value(way) != value(&ways[0]))
        });
        (two_ended && copies <= COPIES_MAX).then_some(())
    }

    /// An expression as conjunctions, either of which is to hold: each what it asks first, and the rest.
    fn alternatives(&mut self, id: ExprId) -> Vec<(usize, Option<ExprId>)> {
        let ways = match self.exprs[id] {
            Expr::Differs(place) => vec![(place, None)],
            Expr::Or(a, b) => [self.alternatives(a), self.alternatives(b)].concat(),
            Expr::And(a, b) => {
                let ways = self.alternatives(a).into_iter();
                ways.map(|(place, rest)| {
                    let rest = rest.map_or(b, |rest| self.expr(Expr::And(rest, b)));
                    (place, Some(rest))
                })
                .collect()
            }
            Expr::Const(_) | Expr::Common(_) | Expr::Not(_) => Vec::new(),
        };
        let mut once = Vec::with_capacity(ways.len());
        ways.into_iter().for_each(|way| {
            if !once.contains(&way) {
                once.push(way)
            }
        });
        once
    }

    /// Whether any of these terms holds, as far as this is left of it.
    fn any(&mut self, terms: &[usize], id: ExprId) -> TreeId {
        let mut any = None;
        for (place, rest) in self.alternatives(id) {
            let way = self.any_beginning(terms, place, rest);
            any = Some(self.or(any, way));
        }
        any.unwrap_or(self.columns.model)
    }

    /// The same, where what is asked first is at this place.
    fn any_beginning(&mut self, terms: &[usize], place: usize, rest: Option<ExprId>) -> TreeId {
        let column = &self.columns.places[place];
        let asked = |&term: &usize| column[term].member.map(|member| member.range());
        let mut sorted = terms.to_vec();
        sorted.sort_by_key(asked);
        let groups: Vec<Vec<usize>> =
            sorted.chunk_by(|a, b| asked(a) == asked(b)).map(<[_]>::to_vec).collect();
        let Some(rest) = rest else { return self.any_of(&groups, place) };
        let mut any = None;
        for group in groups {
            let test = self.columns.places[place][group[0]].test;
            let rest = self.any(&group, rest);
            let both = self.tree.push_like(TreeNode::And(test, rest), test);
            any = Some(self.or(any, both));
        }
        any.unwrap_or(self.columns.model)
    }

    /// Whether the value at this place is what any of these terms ask for.
    fn any_of(&mut self, groups: &[Vec<usize>], place: usize) -> TreeId {
        let column = &self.columns.places[place];
        let tests = || groups.iter().map(|group| column[group[0]]);
        let first = column[groups[0][0]];
        let (Some(member), true) = (first.member, groups.len() > 1) else { return first.test };
        let mut ranges = tests().filter_map(|atom| atom.member).map(|member| member.range()).collect();
        normalise(&mut ranges);
        let mut spans = Spans::default();
        tests().for_each(|atom| spans.add(self.tree.span(atom.test)));
        let set = self.tree.add_set(Set { value: member.value, ranges, spans });
        self.push(TreeNode::In(set))
    }

    /// When the skeleton ends there.
    fn way(&mut self, at: usize, to: End) -> Way {
        let (test, yes, no) = match self.steps[at] {
            Step::End(end) => return if end == to { Way::Always } else { Way::Never },
            Step::Test(test, yes, no) => (test, self.way(yes, to), self.way(no, to)),
        };
        if let (Way::Always, Way::Always) = (&yes, &no) {
            return Way::Always;
        }
        let yes = match yes {
            Way::Never => None,
            Way::Always => Some(test),
            Way::If(yes) => Some(self.push(TreeNode::And(test, yes))),
        };
        if let Way::Never = no {
            return yes.map_or(Way::Never, Way::If);
        }
        let mut node = self.push(TreeNode::Not(test));
        if let Way::If(no) = no {
            node = self.push(TreeNode::And(node, no));
        }
        Way::If(self.or(yes, node))
    }

    fn push(&mut self, node: TreeNode) -> TreeId {
        self.tree.push_like(node, self.columns.model)
    }

    fn or(&mut self, any: Option<TreeId>, last: TreeId) -> TreeId {
        match any {
            Some(any) => self.push(TreeNode::Or(any, last)),
            None => last,
        }
    }
}
