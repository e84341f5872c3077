//! The run of one packet through the lowered tree.
//!
//! The tree is what the text says: it has a question as it is asked (`len > 100`), where the decision graph may have
//! it the other way round, with its arms swapped. What is passed over, because what stands before it decided, is
//! walked through for its primitives only. Nothing recurses.

use super::{Answer, Sides, Trace, TraceStep, TracedLoad, TracedPlace, TracedPrimitive};
use crate::Span;
use crate::ir::interp::load;
use crate::ir::print::Exprs;
use crate::ir::tree::{Tree, TreeId, TreeNode};
use crate::ir::{CmpOp, Cond, CondId, Pool, Value, ValueId};
use crate::lower::{FileMember, Lowered};
use crate::syntax::ast::{Ast, Expr};
use std::collections::{HashMap, HashSet};

/// Runs a packet through a filter as it was parsed and lowered.
pub fn trace(ast: &Ast, lowered: &Lowered, data: &[u8], wire_len: u32) -> Trace {
    run(&lowered.tree, lowered.root, Sets::new(ast, &[]), Packet { data, wire_len, inputs: &[] })
}

/// The sets of a filter.
pub(super) struct Sets {
    /// Places of sets, whose members have spans of their own.
    all: HashSet<Span>,
    /// The sets of one member by the place of that. They are nothing but their member, and so have no node.
    only_members: HashMap<Span, Span>,
}

impl Sets {
    /// `members` are those in files.
    pub(super) fn new(ast: &Ast, members: &[FileMember]) -> Self {
        let sets = || ast.exprs.iter().zip(&ast.expr_spans).filter(|(expr, _)| matches!(expr, Expr::In(..)));
        let mut only_members: HashMap<Span, Span> = sets().filter_map(only_member).collect();
        // The one line of a file that is all of a set.
        let mut lines: HashMap<Span, Vec<usize>> = HashMap::new();
        for (number, member) in members.iter().enumerate() {
            lines.entry(member.named).or_default().push(number);
        }
        for (named, numbers) in lines {
            if let (Some(set), [only]) = (only_members.get(&named).copied(), &numbers[..]) {
                only_members.insert(FileMember::span(*only), set);
            }
        }
        Sets { all: sets().map(|(_, span)| *span).collect(), only_members }
    }
}

pub(super) fn run(tree: &Tree, root: TreeId, sets: Sets, packet: Packet<'_>) -> Trace {
    Run::new(tree, sets, packet).trace(root)
}

/// The places of the only member of a set, and of the set.
fn only_member((expr, set): (&Expr, &Span)) -> Option<(Span, Span)> {
    let Expr::In(_, items) = expr else { return None };
    match items.as_slice() {
        [only] => Some((only.span(), *set)),
        _ => None,
    }
}

/// The packet is rejected at once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rejected;

/// A packet, and what the caller gives with it.
#[derive(Clone, Copy)]
pub(super) struct Packet<'p> {
    pub(super) data: &'p [u8],
    pub(super) wire_len: u32,
    pub(super) inputs: &'p [u32],
}

/// The surroundings of a node.
#[derive(Clone, Copy, Default)]
struct Outer {
    /// Index of the innermost primitive, and the span of the node around.
    primitive: Option<usize>,
    span: Option<Span>,
    /// Whether the primitive asks for the contrary.
    negated: bool,
    /// Whether all members of the set stand before it, or it is the last.
    is_end_of_set: bool,
    /// Among the words of a set's IPv6 addresses.
    words: Option<Words>,
    /// What is said of a test that cannot be evaluated, where that does not reject the packet.
    unknown: Option<bool>,
}

/// Words of the IPv6 addresses of a set, which are asked for behind its other members. A word is asked for once for all addresses
/// that begin alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Of several addresses.
    Shared,
    /// Of one: the last.
    Own,
}

/// Tasks that remain, last first.
enum Task {
    Visit(TreeId, Outer),
    /// The left operand of an `and` is done.
    Then(TreeId, Outer),
    /// The left operand of an `or` is done.
    Else(TreeId, Outer),
    Negate,
    /// This primitive is done.
    Holds(usize),
}

/// Runs of one packet through the tests of a tree.
pub(super) struct Run<'t> {
    tree: &'t Tree,
    sets: Sets,
    exprs: Exprs<'t>,
    packet: Packet<'t>,
    /// Values that have been evaluated in this run.
    values: Vec<Option<u32>>,
    evaluated: Vec<ValueId>,
    /// The last primitive for which it was told how a place was found.
    told_places: HashMap<ValueId, usize>,
    primitives: Vec<TracedPrimitive>,
    /// The IPv6 addresses of the set at hand, and by place.
    late_members: Vec<usize>,
    late_places: HashMap<Span, usize>,
    tasks: Vec<Task>,
}

impl<'t> Run<'t> {
    pub(super) fn new(tree: &'t Tree, sets: Sets, packet: Packet<'t>) -> Self {
        Run {
            tree,
            sets,
            exprs: Exprs::of_pool(&tree.pool),
            packet,
            values: vec![None; tree.pool.value_count()],
            evaluated: Vec::new(),
            told_places: HashMap::new(),
            primitives: Vec::new(),
            late_members: Vec::new(),
            late_places: HashMap::new(),
            tasks: Vec::new(),
        }
    }

    /// Runs the packet through one of the tests, as if it were the first.
    pub(super) fn trace(&mut self, root: TreeId) -> Trace {
        self.evaluated.drain(..).for_each(|value| self.values[value.index()] = None);
        self.told_places.clear();
        self.tasks.push(Task::Visit(root, Outer::default()));
        let matches = self.root() == Ok(true);
        self.pass_over_rest();
        self.late_members.clear();
        self.late_places.clear();
        let mut primitives = std::mem::take(&mut self.primitives);
        primitives.retain(|primitive| primitive.span != Span::default() || !primitive.steps.is_empty());
        Trace { primitives, matches }
    }

    fn root(&mut self) -> Result<bool, Rejected> {
        let mut holds = true;
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Visit(id, outer) => holds = self.visit(id, outer)?.unwrap_or(holds),
                Task::Then(right, outer) if holds => self.tasks.push(Task::Visit(right, outer)),
                Task::Else(right, outer) if !holds => self.tasks.push(Task::Visit(right, outer)),
                Task::Then(right, outer) | Task::Else(right, outer) => self.pass_over(right, outer),
                Task::Negate => holds = !holds,
                Task::Holds(primitive) => self.end(primitive, holds),
            }
        }
        Ok(holds)
    }

    /// Answers a test; what an operator needs is left to do.
    fn visit(&mut self, id: TreeId, outer: Outer) -> Result<Option<bool>, Rejected> {
        if self.is_late_member(id, outer) {
            self.add_late_member(id);
            return Ok(Some(false));
        }
        let around = outer.primitive;
        let outer = self.enter(id, outer);
        let plain = Outer { negated: false, is_end_of_set: false, ..outer };
        Ok(match self.tree.node(id) {
            TreeNode::True => Some(true),
            TreeNode::False => Some(false),
            TreeNode::Test(cond) => Some(self.test(cond, outer).or_else(|why| outer.unknown.ok_or(why))?),
            TreeNode::In(set) => {
                let set = self.tree.set(set);
                let evaluated = self.evaluate([set.value], outer).map(|()| {
                    let value = self.known(set.value);
                    set.ranges.iter().any(|&(low, high)| (low..=high).contains(&value))
                });
                Some(evaluated.or_else(|why| outer.unknown.ok_or(why))?)
            }
            TreeNode::Eval(value) => {
                let evaluated = self.evaluate([value], outer).map(|()| true);
                Some(evaluated.or_else(|why| outer.unknown.ok_or(why))?)
            }
            TreeNode::Not(a) => {
                // `not` before a primitive is no part of its question.
                let is_own = outer.span == Some(self.tree.span(a));
                let unknown = outer.unknown.map(|unknown| !unknown);
                let inside = Outer { negated: is_own && !outer.negated, unknown, ..outer };
                self.tasks.extend([Task::Negate, Task::Visit(a, inside)]);
                None
            }
            TreeNode::Try(a) => {
                let unknown = outer.unknown.or(Some(false));
                self.tasks.push(Task::Visit(a, Outer { unknown, ..outer }));
                None
            }
            TreeNode::And(a, b) => {
                let words = self.words(id, outer);
                let left = Outer { words: words.map(|_| Words::Shared), ..plain };
                self.tasks.extend([Task::Then(b, Outer { words, ..plain }), Task::Visit(a, left)]);
                None
            }
            TreeNode::Or(a, b) => {
                // The uppermost operator of a set ends it.
                let is_end_of_set = outer.primitive != around && self.sets.all.contains(&self.tree.span(id));
                self.tasks.extend([Task::Else(b, Outer { is_end_of_set, ..plain }), Task::Visit(a, plain)]);
                None
            }
        })
    }

    /// What the operands of a node stand in.
    fn enter(&mut self, id: TreeId, outer: Outer) -> Outer {
        let span = self.tree.span(id);
        let is_more_of_the_same = match outer.words {
            None => outer.span == Some(span) && span != Span::default(),
            Some(Words::Shared) => true,
            Some(Words::Own) => self.tree.operands(id).next().is_some(),
        };
        if is_more_of_the_same {
            return outer;
        }
        let mut primitive = outer.primitive;
        if self.is_primitive(id) {
            primitive = Some(match self.late_member(span, outer) {
                Some(member) => self.begin_late(member),
                None => self.begin_with_set(span, primitive),
            });
        }
        let Outer { words, unknown, .. } = outer;
        Outer { primitive, span: Some(span), words, unknown, ..Outer::default() }
    }

    /// Whether a primitive begins at a node where the text is another than around: it stays the same below, or nothing is
    /// below.
    fn is_primitive(&self, id: TreeId) -> bool {
        let span = self.tree.span(id);
        // What the link type asks first, of every packet, has no text, and the filter stands behind it.
        let is_same = |operand: TreeId| self.tree.span(operand) == span && span != Span::default();
        match self.tree.node(id) {
            TreeNode::Not(a) | TreeNode::Try(a) => is_same(a),
            TreeNode::And(a, b) | TreeNode::Or(a, b) => {
                is_same(a) || is_same(b) || self.sets.all.contains(&span)
            }
            TreeNode::True | TreeNode::False | TreeNode::Test(_) | TreeNode::In(_) | TreeNode::Eval(_) => {
                true
            }
        }
    }

    /// The set whose only member stands here, unless the primitive around is that set already: a file of several members
    /// has a node, and they all have its place.
    fn untold_set(&self, member: Span, primitive: Option<usize>) -> Option<Span> {
        let is_told = |set: &Span| primitive.is_some_and(|outer| self.primitives[outer].span == *set);
        self.sets.only_members.get(&member).copied().filter(|set| !is_told(set))
    }

    fn begin_with_set(&mut self, span: Span, outer: Option<usize>) -> usize {
        let set = self.untold_set(span, outer);
        if let Some(set) = set {
            self.begin(set, outer.is_some());
        }
        self.begin(span, outer.is_some() || set.is_some())
    }

    /// A primitive that has been reached, and is done when what has been left to do since is.
    fn begin(&mut self, span: Span, is_member: bool) -> usize {
        let index = self.primitives.len();
        self.tasks.push(Task::Holds(index));
        self.primitives
            .push(TracedPrimitive { is_asked: true, ..TracedPrimitive::not_asked(span, is_member) });
        index
    }

    fn end(&mut self, primitive: usize, holds: bool) {
        self.primitives[primitive].holds = Some(holds);
        if self.primitives[primitive].is_member {
            return;
        }
        self.late_places.clear();
        for member in self.late_members.drain(..).filter(|_| !holds) {
            let member = &mut self.primitives[member];
            (member.is_asked, member.holds) = (true, Some(false));
        }
    }

    /// Whether this is the place of a set's IPv6 address among its members; it is asked for behind the others.
    fn is_late_member(&self, id: TreeId, outer: Outer) -> bool {
        let is_of_set = |outer: usize| self.sets.all.contains(&self.primitives[outer].span);
        self.tree.node(id) == TreeNode::False && outer.primitive.is_some_and(is_of_set)
    }

    fn add_late_member(&mut self, id: TreeId) {
        let (span, index) = (self.tree.span(id), self.primitives.len());
        self.late_members.push(index);
        self.late_places.insert(span, index);
        self.primitives.push(TracedPrimitive::not_asked(span, true));
    }

    /// The IPv6 address that is asked for here, behind the members of its set. Before, others may have its place, if that is a file.
    fn late_member(&self, span: Span, outer: Outer) -> Option<usize> {
        let is_behind = outer.is_end_of_set || outer.words.is_some();
        self.late_places.get(&span).copied().filter(|_| is_behind)
    }

    fn begin_late(&mut self, member: usize) -> usize {
        self.tasks.push(Task::Holds(member));
        self.primitives[member].is_asked = true;
        member
    }

    /// What an `and` is about on the right, where it is of the words of a set's IPv6 addresses: no other stands in a set and
    /// has its place.
    fn words(&self, and: TreeId, outer: Outer) -> Option<Words> {
        let span = self.tree.span(and);
        let is_of_set = |outer: usize| self.primitives[outer].span == span && self.sets.all.contains(&span);
        match self.tree.node(and) {
            TreeNode::And(..) if outer.primitive.is_some_and(is_of_set) => outer.words.or(Some(Words::Own)),
            _ => outer.words,
        }
    }

    /// What remains where the packet has been rejected.
    fn pass_over_rest(&mut self) {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Visit(id, outer) | Task::Then(id, outer) | Task::Else(id, outer) => {
                    self.pass_over(id, outer);
                }
                Task::Negate | Task::Holds(_) => {}
            }
        }
    }

    /// Names the primitives of an operand that is not asked for; of a set, not its members.
    fn pass_over(&mut self, id: TreeId, outer: Outer) {
        if outer.words.is_some() {
            return;
        }
        let mut pending = vec![(id, outer.span)];
        while let Some((id, around)) = pending.pop() {
            let span = self.tree.span(id);
            let is_inside = around == Some(span) && span != Span::default();
            if self.is_late_member(id, outer) {
                self.add_late_member(id);
            } else if !is_inside && self.is_primitive(id) {
                self.name(span, outer);
            } else if self.words(id, outer).is_none() {
                pending.extend(self.tree.operands(id).rev().map(|operand| (operand, Some(span))));
            }
        }
    }

    /// A primitive that is not asked for.
    fn name(&mut self, span: Span, outer: Outer) {
        if self.late_member(span, outer).is_none() {
            let whole = self.untold_set(span, outer.primitive).unwrap_or(span);
            self.primitives.push(TracedPrimitive::not_asked(whole, outer.primitive.is_some()));
        }
    }

    /// Asks, in the words of the text.
    fn test(&mut self, cond: CondId, outer: Outer) -> Result<bool, Rejected> {
        let pool = &self.tree.pool;
        self.evaluate(pool.cond_operands(cond), outer)?;
        let holds = match pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => self.known(a) == self.known(b),
            Cond::Cmp(CmpOp::Lt, a, b) => self.known(a) < self.known(b),
            Cond::Test(a, mask) => self.known(a) & self.known(mask) != 0,
            Cond::Member(members) => {
                let row: Vec<u32> = pool.member_words(members).iter().map(|&word| self.known(word)).collect();
                pool.members(members).contains(&row)
            }
            // No tree holds one: guards are implied by the loads.
            Cond::Bounds { base, end } => {
                u64::from(self.known(base)) + u64::from(end) <= self.packet.data.len() as u64
            }
        };
        let question = self.exprs.at(&self.values).question(cond, outer.negated);
        let answer = if holds != outer.negated { Answer::Yes } else { Answer::No };
        self.step(outer, question, self.sides(cond), pool.cond_operands(cond), answer);
        Ok(holds)
    }

    /// What is on the two sides of a question.
    fn sides(&self, cond: CondId) -> Sides {
        let pool = &self.tree.pool;
        match pool.get_cond(cond) {
            Cond::Cmp(_, a, b) => {
                let exprs = self.exprs.at(&self.values);
                let (left, right) = exprs.sides(a, b);
                Sides {
                    is_right_shown: pool.as_const(right).is_some(),
                    is_hex: exprs.is_hex(left, right),
                    ..Sides::of(self.known(left), self.known(right))
                }
            }
            Cond::Test(a, mask) => {
                Sides { is_hex: true, ..Sides::of(self.known(a) & self.known(mask), 0u32) }
            }
            Cond::Member(members) => {
                let first = pool.member_words(members).first().map_or(0, |&word| self.known(word));
                Sides { is_hex: true, is_right_shown: false, ..Sides::of(first, 0u32) }
            }
            Cond::Bounds { base, end } => {
                Sides::of(self.packet.data.len() as u64, u64::from(self.known(base)) + u64::from(end))
            }
        }
    }

    fn step(
        &mut self,
        outer: Outer,
        question: String,
        sides: Sides,
        looked_at: impl Iterator<Item = ValueId>,
        answer: Answer,
    ) {
        let Some(primitive) = outer.primitive else { return };
        let looks = looks(&self.tree.pool, looked_at);
        let asks_len = looks.iter().any(|look| self.tree.pool.get(look.value) == Value::Len);
        let step = TraceStep {
            question,
            sides,
            loads: self.loads(&looks),
            places: self.places(&looks, primitive),
            wire_len: asks_len.then_some(self.packet.wire_len),
            answer,
        };
        self.primitives[primitive].steps.push(step);
    }

    fn loads(&self, looks: &[Look]) -> Vec<TracedLoad> {
        let mut loads: Vec<TracedLoad> = looks.iter().filter_map(|&look| self.load(look)).collect();
        loads.sort_unstable_by_key(|load| (load.offset, load.size));
        // A long filter has very many, of one load mostly.
        loads.shrink_to_fit();
        loads
    }

    fn load(&self, look: Look) -> Option<TracedLoad> {
        let Value::Load { base, offset, size, .. } = self.tree.pool.get(look.value) else { return None };
        Some(TracedLoad {
            offset: u64::from(self.values[base.index()]?) + u64::from(offset),
            size: size.bytes(),
            value: self.values[look.value.index()]?,
            is_for_place: look.is_for_place,
        })
    }

    /// How the places of what matters for itself were found, if this primitive has not told that before.
    fn places(&mut self, looks: &[Look], primitive: usize) -> Vec<TracedPlace> {
        let pool = &self.tree.pool;
        let varying = |look: &Look| match pool.get(look.value) {
            Value::Load { base, .. } => Some(base).filter(|&base| pool.as_const(base).is_none()),
            _ => None,
        };
        let looks = looks.iter().filter(|look| !look.is_for_place);
        let mut bases: Vec<ValueId> = looks.filter_map(varying).collect();
        bases.sort_unstable();
        bases.retain(|&base| self.told_places.insert(base, primitive) != Some(primitive));
        bases.into_iter().map(|base| self.place(base)).collect()
    }

    fn place(&self, base: ValueId) -> TracedPlace {
        TracedPlace {
            expression: self.exprs.at(&self.values).definition(base),
            loads: self.loads(&looks(&self.tree.pool, [base].into_iter())),
            skipped: self.known(base),
        }
    }

    /// Evaluates values and what they are computed from, operands first.
    fn evaluate(&mut self, values: impl IntoIterator<Item = ValueId>, outer: Outer) -> Result<(), Rejected> {
        let pool = &self.tree.pool;
        let mut missing = looks(pool, values.into_iter());
        missing.retain(|look| self.values[look.value.index()].is_none());
        // Ids are a topological order.
        missing.sort_unstable_by_key(|look| look.value);
        for Look { value, .. } in missing {
            match compute(pool, &self.values, self.packet, value) {
                Ok(known) => {
                    self.values[value.index()] = Some(known);
                    self.evaluated.push(value);
                }
                Err(why) => {
                    let (question, sides) = self.failure(value, why);
                    self.step(outer, question, sides, [value].into_iter(), why);
                    return Err(Rejected);
                }
            }
        }
        Ok(())
    }

    /// The question that a value which cannot be had amounts to.
    fn failure(&self, value: ValueId, why: Answer) -> (String, Sides) {
        if let Answer::NotCaptured { needed } = why {
            return (format!("captured >= {needed}"), Sides::of(self.packet.data.len() as u64, needed));
        }
        let question = format!("{} is defined", self.exprs.at(&self.values).definition(value));
        let mut operands = self.tree.pool.operands(value).map(|operand| self.known(operand));
        let mut operand = || operands.next().expect("a division has two");
        (question, Sides { is_right_shown: false, ..Sides::of(operand(), operand()) })
    }

    fn known(&self, value: ValueId) -> u32 {
        self.values[value.index()].expect("it has been evaluated")
    }
}

/// A value whose operands are known, or why there is none.
fn compute(pool: &Pool, values: &[Option<u32>], packet: Packet<'_>, value: ValueId) -> Result<u32, Answer> {
    let known = |value: ValueId| values[value.index()].expect("operands have smaller ids");
    match pool.get(value) {
        Value::Const(k) => Ok(k),
        Value::Len => Ok(packet.wire_len),
        // One that the caller has left out is taken for 0.
        Value::Input(slot) => Ok(packet.inputs.get(slot as usize).copied().unwrap_or_default()),
        Value::Load { base, offset, size, order } => {
            let at = u64::from(known(base)) + u64::from(offset);
            let needed = at + u64::from(size.bytes());
            if needed > packet.data.len() as u64 {
                return Err(Answer::NotCaptured { needed });
            }
            Ok(load(packet.data, at as usize, size, order))
        }
        Value::Op(op, a, b) => op.eval(known(a), known(b)).ok_or(Answer::DividesByZero),
    }
}

/// A value that something looks at.
#[derive(Clone, Copy)]
struct Look {
    value: ValueId,
    /// Only to find the place of a load.
    is_for_place: bool,
}

/// What these values are computed from, they themselves included: what matters for itself first.
fn looks(pool: &Pool, roots: impl Iterator<Item = ValueId>) -> Vec<Look> {
    let mut found: Vec<Look> = Vec::new();
    let mut seen: HashSet<ValueId> = HashSet::new();
    let mut places: Vec<ValueId> = Vec::new();
    let mut pending: Vec<ValueId> = roots.collect();
    let mut is_for_place = false;
    while let Some(value) = pending.pop().or_else(|| {
        is_for_place = true;
        places.pop()
    }) {
        if seen.insert(value) {
            found.push(Look { value, is_for_place });
            match pool.get(value) {
                Value::Load { base, .. } => places.push(base),
                _ => pending.extend(pool.operands(value)),
            }
        }
    }
    found
}
