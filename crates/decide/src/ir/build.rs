//! From lowered tree to decision graph: short circuits become edges, and every load gets its guard.
//!
//! ```text
//! build(a and b, then, els) = build(a, build(b, then, els), els)
//! build(a or b,  then, els) = build(a, then, build(b, then, els))
//! build(not a,   then, els) = build(a, els, then)
//! build(test,    then, els) = guard₁ -> guard₂ -> … -> branch(test, then, els), each guard's no -> fail
//! ```
//! Built from the back, so that every tree node is visited once and arms are shared. An ordered list of filters
//! is built the same way: `fail` and `els` of one are the entry of the next.
//!
//! Below a `Try`, a guard's no leads to where the test leads that speaks against the operand of the `Try`.
//!
//! `Asks` decides what a test or a guard asks: just what the tree has, or what the optimiser makes of it.

use super::guard::{Evaluation, Guard};
use super::tree::{Clause, Set, SetId, Tree, TreeId, TreeNode};
use super::{Arm, CmpOp, Cond, CondId, Graph, NodeId, Origin, Pool, REJECT, Switch, ValueId};
use crate::budget::{Budget, Exceeded};
use crate::span::Span;
use std::convert::Infallible;

/// A condition with its sign, or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Known(bool),
    If(CondId),
    Unless(CondId),
}

/// The questions of nodes, given a tree.
pub(crate) trait Asks {
    /// The values and conditions of the tree.
    fn given(&self) -> &Pool;
    /// The question for a condition of the tree.
    fn test(&mut self, cond: CondId) -> Question;
    /// The question for `base + end <= captured`.
    fn within(&mut self, base: ValueId, end: u32) -> Question;
    /// The question for `divisor == 0`.
    fn is_zero(&mut self, divisor: ValueId) -> Question;
    /// The value that a switch reads for a value of the tree, or the constant that it is.
    fn switched(&mut self, value: ValueId) -> Result<ValueId, u32>;
}

/// Asks what the tree has.
struct AsWritten(Pool);

impl Asks for AsWritten {
    fn given(&self) -> &Pool {
        &self.0
    }

    fn test(&mut self, cond: CondId) -> Question {
        Question::If(cond)
    }

    fn within(&mut self, base: ValueId, end: u32) -> Question {
        Question::If(self.0.cond(Cond::Bounds { base, end }))
    }

    fn is_zero(&mut self, divisor: ValueId) -> Question {
        let zero = self.0.constant(0);
        Question::If(self.0.cond(Cond::Cmp(CmpOp::Eq, divisor, zero)))
    }

    fn switched(&mut self, value: ValueId) -> Result<ValueId, u32> {
        Ok(value)
    }
}

/// The graph of an ordered list of filters: the first that matches decides, with its leaf number; a packet
/// that none matches is rejected.
pub fn build(mut tree: Tree, arms: &[(TreeId, u32)]) -> Graph {
    let clauses: Vec<Clause> = arms.iter().map(|&(root, leaf)| Clause::Leaf(root, leaf)).collect();
    let mut asks = AsWritten(std::mem::take(&mut tree.pool));
    let Ok(mut graph) = build_while(&tree, &mut asks, &clauses, |_, _| Ok::<_, Infallible>(()));
    graph.pool = asks.0;
    graph
}

/// Builds the graph within limits: deep chains of headers guard each test by everything before it, so the graph may
/// be far larger than the text.
///
/// # Errors
/// Where the graph outgrows the limit or the time is over: the test at hand.
pub fn build_within(mut tree: Tree, clauses: &[Clause], budget: &Budget) -> Result<Graph, Exceeded> {
    let mut asks = AsWritten(std::mem::take(&mut tree.pool));
    let mut graph = build_asking(&tree, &mut asks, clauses, budget)?;
    graph.pool = asks.0;
    Ok(graph)
}

/// Builds the graph within limits, and lets `asks` replace values and conditions on the way.
///
/// # Errors
/// As [`build_within`].
pub(crate) fn build_asking(
    tree: &Tree,
    asks: &mut impl Asks,
    clauses: &[Clause],
    budget: &Budget,
) -> Result<Graph, Exceeded> {
    let mut tests = 0u32;
    build_while(tree, asks, clauses, |graph, span| {
        budget.check_nodes(graph.node_count(), span)?;
        tests = tests.wrapping_add(1);
        if tests.is_multiple_of(TESTS_PER_LOOK) { budget.check(span) } else { Ok(()) }
    })
}

/// How often to look at the clock: seldom for a list of hosts, often enough for tests with hundreds of guards.
const TESTS_PER_LOOK: u32 = 256;

fn build_while<E>(
    tree: &Tree,
    asks: &mut impl Asks,
    clauses: &[Clause],
    mut goes_on: impl FnMut(&Graph, Span) -> Result<(), E>,
) -> Result<Graph, E> {
    let mut builder = Builder::new(tree, asks);
    let none = builder.graph.leaf(REJECT);
    let mut entry = none;
    // Where the blocks lead that have begun, seen from the back.
    let mut behind = Vec::new();
    for clause in clauses.iter().rev() {
        entry = match *clause {
            Clause::Leaf(root, leaf) => {
                let accept = builder.graph.leaf(leaf);
                builder.clause(root, accept, entry, &mut goes_on)?
            }
            Clause::Block(root) => {
                let next = behind.pop().unwrap_or(none);
                builder.clause(root, entry, next, &mut goes_on)?
            }
            Clause::End => {
                behind.push(entry);
                none
            }
        };
    }
    builder.graph.root = entry;
    Ok(builder.graph)
}

struct Builder<'t, A> {
    tree: &'t Tree,
    asks: &'t mut A,
    graph: Graph,
    /// Scratch of [`Builder::guarded`].
    evaluation: Evaluation,
}

/// The most nodes to make room for, since of a long list most is gathered.
const NODES_LIKELY_MAX: usize = 512;

/// Operators around a test of a header field.
const TASKS_LIKELY: usize = 16;

/// Tasks that remain once the present node is known.
enum Task {
    Build(TreeId, NodeId, NodeId, Fail),
    /// The node in hand is where `yes` of this operand leads.
    Then(TreeId, NodeId, Fail),
    /// The node in hand is where `no` of this operand leads.
    Else(TreeId, NodeId, Fail),
}

/// Where a test leads that cannot be evaluated.
#[derive(Clone, Copy)]
enum Fail {
    /// Out of this tree.
    To(NodeId),
    /// Where its no leads.
    No,
    /// Where its yes leads: it stands negated.
    Yes,
}

impl Fail {
    fn tried(self) -> Fail {
        if let Fail::To(_) = self { Fail::No } else { self }
    }

    fn negated(self) -> Fail {
        match self {
            Fail::To(node) => Fail::To(node),
            Fail::No => Fail::Yes,
            Fail::Yes => Fail::No,
        }
    }

    fn of(self, then: NodeId, els: NodeId) -> NodeId {
        match self {
            Fail::To(node) => node,
            Fail::No => els,
            Fail::Yes => then,
        }
    }
}

impl<'t, A: Asks> Builder<'t, A> {
    fn new(tree: &'t Tree, asks: &'t mut A) -> Self {
        Builder {
            graph: Graph::with_capacity(Pool::default(), (2 * tree.len()).min(NODES_LIKELY_MAX)),
            tree,
            evaluation: Evaluation::of(asks.given()),
            asks,
        }
    }

    fn clause<E>(
        &mut self,
        root: TreeId,
        accept: NodeId,
        fail: NodeId,
        goes_on: &mut impl FnMut(&Graph, Span) -> Result<(), E>,
    ) -> Result<NodeId, E> {
        let mut tasks = Vec::with_capacity(TASKS_LIKELY);
        tasks.push(Task::Build(root, accept, fail, Fail::To(fail)));
        let mut node = fail;
        while let Some(task) = tasks.pop() {
            let (id, then, els, fail) = match task {
                Task::Build(id, then, els, fail) => (id, then, els, fail),
                Task::Then(id, els, fail) => (id, node, els, fail),
                Task::Else(id, then, fail) => (id, then, node, fail),
            };
            match self.tree.node(id) {
                TreeNode::True => node = then,
                TreeNode::False => node = els,
                TreeNode::Not(a) => tasks.push(Task::Build(a, els, then, fail.negated())),
                TreeNode::Try(a) => tasks.push(Task::Build(a, then, els, fail.tried())),
                TreeNode::And(a, b) => {
                    tasks.extend([Task::Then(a, els, fail), Task::Build(b, then, els, fail)]);
                }
                TreeNode::Or(a, b) => {
                    tasks.extend([Task::Else(a, then, fail), Task::Build(b, then, els, fail)]);
                }
                TreeNode::Test(cond) => {
                    node = self.test(cond, then, els, fail.of(then, els), self.tree.span(id));
                }
                TreeNode::In(set) => node = self.member(set, then, els, fail.of(then, els)),
                TreeNode::Eval(value) => {
                    let origin = self.graph.origin_at(self.tree.span(id));
                    node = self.guarded([value], then, fail.of(then, els), origin);
                }
            }
            if let TreeNode::Test(_) | TreeNode::In(_) | TreeNode::Eval(_) = self.tree.node(id) {
                goes_on(&self.graph, self.tree.span(id))?;
            }
        }
        Ok(node)
    }

    fn test(&mut self, cond: CondId, then: NodeId, els: NodeId, fail: NodeId, span: Span) -> NodeId {
        let question = self.asks.test(cond);
        let origin = self.graph.origin_at(span);
        let branch = self.ask(question, then, els, origin);
        let operands = self.asks.given().cond_operands(cond);
        self.guarded(operands, branch, fail, origin)
    }

    /// Where a question leads that came from there.
    fn ask(&mut self, question: Question, then: NodeId, els: NodeId, origin: Origin) -> NodeId {
        let (cond, then, els) = match question {
            Question::Known(true) => return then,
            Question::Known(false) => return els,
            Question::If(cond) => (cond, then, els),
            Question::Unless(cond) => (cond, els, then),
        };
        self.graph.branch_from(origin, cond, then, els)
    }

    fn member(&mut self, set: SetId, then: NodeId, els: NodeId, fail: NodeId) -> NodeId {
        let Set { value, ranges, spans } = self.tree.set(set);
        let arms = ranges.iter().map(|&(low, high)| Arm { low, high, target: then }).collect();
        let switch = |value| Switch { value, arms, default: els };
        let node = match self.asks.switched(*value) {
            Ok(value) => self.graph.switch(switch(value)),
            Err(k) => switch(*value).target(k),
        };
        if node != then && node != els {
            self.graph.add_spans(node, spans);
        }
        let origin = self.graph.origin_at(spans.as_slice().first().copied().unwrap_or_default());
        self.guarded([*value], node, fail, origin)
    }

    /// `next`, behind the guards of everything that evaluating `values` evaluates.
    fn guarded(
        &mut self,
        values: impl IntoIterator<Item = ValueId>,
        next: NodeId,
        fail: NodeId,
        origin: Origin,
    ) -> NodeId {
        let mut node = next;
        self.evaluation.begin(self.asks.given(), values);
        while let Some(value) = self.evaluation.next_back() {
            node = match Guard::of(self.asks.given(), value) {
                Guard::None => node,
                Guard::Within { base, end } => {
                    let question = self.asks.within(base, end);
                    self.ask(question, node, fail, origin)
                }
                Guard::NotZero(divisor) => {
                    let question = self.asks.is_zero(divisor);
                    self.ask(question, fail, node, origin)
                }
                Guard::Never => fail,
            };
        }
        node
    }
}
