//! pfmatch programs: clauses as trees of tests, and what their handlers are called with as values of leaves.
//!
//! A test means what it means as a filter, but for what lies outside of the packet: what cannot be read makes the comparison that reads it
//! false, and rejects nothing. Within a block, and in the arguments of a handler, headers are where the tests on the way there have
//! found them: `vlan => { ip => a }` asks for IP within the VLAN. That holds for encapsulations that must have matched to get
//! there, whatever the dialect says of those in the rest of a test.

use super::arith::{Operand, Transport};
use super::layers::Layers;
use super::lowerer::{Lowerer, Padding, Scope};
use super::{NODES_LIKELY, Options, Result};
use crate::clock::Clock;
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{REJECT, Value, ValueId};
use crate::syntax::ast::{Arith, ArithId, Ast, ExprId};
use crate::syntax::fmt;
use crate::syntax::program::{self, Call, Line, Program};
use decide::LeafTable;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A lowered program.
#[derive(Clone, Debug, Default)]
pub struct LoweredProgram {
    /// The tests of all clauses.
    pub tree: Tree,
    /// The clauses. Each leads to a leaf of `leaves`.
    pub clauses: Vec<Clause>,
    /// The answer of each is the number of its handler.
    pub leaves: LeafTable,
    /// The names of the handlers, in the order in which they are first named.
    pub handlers: Vec<String>,
    /// Those of the syntax tree, and the members in files of sets.
    pub terms: usize,
}

/// Lowers a program.
///
/// # Errors
/// As [`lower`](super::lower::lower), of the first clause that is wrong.
pub(crate) fn lower_program(
    program: &Program,
    options: &Options<'_>,
    clock: Clock,
) -> Result<LoweredProgram> {
    lower_lines(program, options, clock, |_| true).map(|(lowered, _)| lowered)
}

/// Lowers the lines of a program for which `is_lowered` holds. Of the others, whose tests somebody else knows how to ask, the handlers and leaves are noted:
/// by line, the leaf that its clause leads to. All tests around a line that is lowered must be as well, and no test around the others, or of them, moves headers.
///
/// # Errors
/// As [`lower`](super::lower::lower), of the first clause that is lowered and wrong.
pub(crate) fn lower_lines(
    program: &Program,
    options: &Options<'_>,
    clock: Clock,
    is_lowered: impl Fn(usize) -> bool,
) -> Result<(LoweredProgram, Vec<u32>)> {
    let tree = Tree::with_capacity(NODES_LIKELY);
    let lowered = LoweredProgram { tree, terms: program.ast.terms, ..LoweredProgram::default() };
    let mut clauses = Clauses { ast: &program.ast, options, clock, lowered, ids: Ids::default() };
    clauses.lowered.tree.pool.widen_row(program.ast.inputs.len() as u32);
    // Where the headers are within the blocks at hand: `None` where the packet begins with them.
    let mut open: Vec<Option<Layers>> = vec![None];
    let mut leaves = Vec::with_capacity(program.lines.len());
    for (at, line) in program.lines.iter().enumerate() {
        if !is_lowered(at) {
            leaves.push(match line {
                Line::Clause(program::Clause { call: Some(call), .. }) => clauses.leaf_by_itself(call)?,
                _ => REJECT,
            });
            continue;
        }
        leaves.push(REJECT);
        let around = open.last().copied().flatten();
        match line {
            Line::End => {
                open.pop();
                clauses.lowered.clauses.push(Clause::End);
            }
            Line::Clause(clause) => {
                let inside = clauses.clause(clause, around)?;
                match clauses.lowered.clauses.last() {
                    Some(Clause::Leaf(_, leaf)) => leaves[at] = *leaf,
                    _ => open.push(inside),
                }
            }
        }
    }
    Ok((clauses.lowered, leaves))
}

/// Whether an argument of a handler is the same for all packets, or a number that the caller gives: it asks nothing of the packet.
pub(crate) fn is_constant(argument: Arith) -> bool {
    matches!(argument, Arith::Number(_) | Arith::Len | Arith::Input(_))
}

/// What is lowered as a test by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// A part of a test.
    Test(&'a Ast, ExprId),
    /// Whether what the handler of a clause is called with can be computed.
    Arguments(&'a Ast, &'a program::Clause),
}

/// Tests, each lowered as one that stands alone. `tries` says whether what cannot be read makes a test false, as in programs, or rejects the packet.
pub(crate) fn lower_tests<'a>(
    tests: impl Iterator<Item = Part<'a>>,
    options: &Options<'_>,
    clock: Clock,
    tries: bool,
) -> Result<(Tree, Vec<TreeId>)> {
    let (mut tree, mut roots) = (Tree::with_capacity(NODES_LIKELY), Vec::new());
    for part in tests {
        let (Part::Test(ast, _) | Part::Arguments(ast, _)) = part;
        tree.pool.widen_row(ast.inputs.len() as u32);
        let mut lowerer = Lowerer::new(options, tree, clock, Padding::Counted)?;
        lowerer.tries = tries;
        roots.push(match part {
            Part::Test(_, test) => {
                lowerer.filter = ast.span(test);
                lowerer.expression(ast, test)?
            }
            Part::Arguments(_, clause) => {
                lowerer.filter = clause.span;
                let always = lowerer.truth(true);
                match &clause.call {
                    Some(call) => lowerer.arguments(ast, clause, call, always)?.0,
                    None => always,
                }
            }
        });
        tree = lowerer.tree;
    }
    Ok((tree, roots))
}

struct Clauses<'p> {
    ast: &'p Ast,
    options: &'p Options<'p>,
    clock: Clock,
    lowered: LoweredProgram,
    ids: Ids<'p>,
}

/// A clause whose test has been lowered.
struct Begun<'p> {
    lowerer: Lowerer<'p>,
    /// Where the headers were before it.
    before: Layers,
    test: TreeId,
}

/// What has a number already.
#[derive(Default)]
struct Ids<'p> {
    handlers: HashMap<&'p str, u32, RandomState>,
    /// By handler: the leaf where it is called without arguments, or 0.
    bare: Vec<u32>,
    leaves: HashMap<(u32, Vec<ValueId>), u32, RandomState>,
    /// Arguments of clauses that are not lowered, by their text.
    arguments: HashMap<String, ValueId, RandomState>,
}

impl<'p> Clauses<'p> {
    /// Adds a clause; gives where the headers are behind its test.
    fn clause(&mut self, clause: &'p program::Clause, around: Option<Layers>) -> Result<Option<Layers>> {
        let Begun { mut lowerer, before, test } = self.test(clause, around)?;
        lowerer.layers = lowerer.layers_behind(self.ast, clause, before);
        let (root, values) = match &clause.call {
            Some(call) => lowerer.arguments(self.ast, clause, call, test)?,
            None => (test, Vec::new()),
        };
        let Lowerer { tree, terms, layers, .. } = lowerer;
        (self.lowered.tree, self.lowered.terms) = (tree, terms);
        let clause = match &clause.call {
            Some(call) => Clause::Leaf(root, self.leaf(call, values)),
            None => Clause::Block(root),
        };
        self.lowered.clauses.push(clause);
        Ok(Some(layers))
    }

    /// Lowers the test of a clause.
    fn test(&mut self, clause: &program::Clause, around: Option<Layers>) -> Result<Begun<'p>> {
        let (ast, options, clock, terms) = (self.ast, self.options, self.clock, self.lowered.terms);
        let begin = |tree: Tree, padding: Padding| {
            let mut lowerer = Lowerer::new(options, tree, clock, padding)?;
            let before = around.unwrap_or(lowerer.layers);
            (lowerer.terms, lowerer.layers, lowerer.tries) = (terms, before, true);
            let test = lowerer.test(ast, clause)?;
            Ok(Begun { lowerer, before, test })
        };
        let begun = begin(std::mem::take(&mut self.lowered.tree), Padding::Counted)?;
        let forgets = begun.lowerer.forgets_padding();
        if forgets { begin(begun.lowerer.tree, Padding::Forgotten) } else { Ok(begun) }
    }

    /// The leaf of a clause that is not lowered. Headers are where packets begin.
    fn leaf_by_itself(&mut self, call: &'p Call) -> Result<u32> {
        let values = call.arguments.iter().map(|&argument| self.argument_by_itself(argument));
        let values = values.collect::<Result<Vec<ValueId>>>()?;
        Ok(self.leaf(call, values))
    }

    fn argument_by_itself(&mut self, argument: ArithId) -> Result<ValueId> {
        let pool = &mut self.lowered.tree.pool;
        match self.ast.arith(argument) {
            Arith::Number(k) => return Ok(pool.constant(k)),
            Arith::Input(slot) => return Ok(pool.input(slot)),
            Arith::Len => return Ok(pool.value(Value::Len)),
            _ => {}
        }
        let text = fmt::arith(self.ast, argument);
        if let Some(value) = self.ids.arguments.get(&text) {
            return Ok(*value);
        }
        let tree = std::mem::take(&mut self.lowered.tree);
        let mut lowerer = Lowerer::new(self.options, tree, self.clock, Padding::Counted)?;
        (lowerer.tries, lowerer.keeps_guards) = (true, true);
        lowerer.span = self.ast.arith_spans[argument.0 as usize];
        let value = lowerer.argument(self.ast, argument)?.value;
        self.lowered.tree = lowerer.tree;
        self.ids.arguments.insert(text, value);
        Ok(value)
    }

    /// The leaf where a handler is called with these values.
    ///
    /// PERF: a hundred thousand clauses have a handler each, mostly without arguments: nothing is copied for those but the name that is kept.
    fn leaf(&mut self, call: &'p Call, values: Vec<ValueId>) -> u32 {
        let Ids { handlers, bare, leaves, .. } = &mut self.ids;
        let next = handlers.len() as u32;
        let handler = *handlers.entry(&call.handler).or_insert(next);
        if handler == next {
            self.lowered.handlers.push(call.handler.clone());
            bare.push(0);
        }
        let table = &mut self.lowered.leaves;
        if values.is_empty() {
            let leaf = &mut bare[handler as usize];
            if *leaf == 0 {
                *leaf = table.add(handler, &[]);
            }
            return *leaf;
        }
        *leaves.entry((handler, values)).or_insert_with_key(|(_, values)| table.add(handler, values))
    }
}

impl Lowerer<'_> {
    fn test(&mut self, ast: &Ast, clause: &program::Clause) -> Result {
        self.filter = clause.test_span;
        self.span = clause.test_span;
        let Some(test) = clause.test else { return Ok(self.truth(true)) };
        let root = self.expression(ast, test)?;
        self.span = clause.test_span;
        match self.carried_check() {
            Some(check) => {
                let check = self.tried(check);
                Ok(self.and(check, root))
            }
            None => Ok(root),
        }
    }

    /// Where the headers are in packets for which a test holds: behind those encapsulations that must have matched.
    fn layers_behind(&mut self, ast: &Ast, clause: &program::Clause, before: Layers) -> Layers {
        if self.layers == before || self.scope != Scope::Filter {
            return self.layers;
        }
        let (after, terms) = (self.layers, self.terms);
        (self.layers, self.scope) = (before, Scope::Alternative);
        // Where this means nothing, the test means nothing either: what `vlan or …` has shifted is in doubt then.
        let is_known = self.test(ast, clause).is_ok();
        let behind = if is_known { self.layers } else { before };
        (self.layers, self.scope, self.terms) = (after, Scope::Filter, terms);
        behind
    }

    /// A test with what the arguments of a handler ask for, and their values.
    fn arguments(
        &mut self,
        ast: &Ast,
        clause: &program::Clause,
        call: &Call,
        test: TreeId,
    ) -> Result<(TreeId, Vec<ValueId>)> {
        self.keeps_guards = true;
        let mut root = test;
        let mut values = Vec::with_capacity(call.arguments.len());
        for &argument in &call.arguments {
            self.span = ast.arith_spans[argument.0 as usize];
            let Operand { value, guard, .. } = self.argument(ast, argument)?;
            values.push(value);
            let mut asked = guard;
            if self.tree.pool.as_const(value).is_none() {
                let evaluated = self.eval(value);
                asked = Some(match guard {
                    Some(guard) => self.and(guard, evaluated),
                    None => evaluated,
                });
            }
            if let Some(asked) = asked {
                let asked = self.tried(asked);
                self.span = clause.span;
                root = self.and(root, asked);
            }
        }
        self.span = clause.span;
        Ok((root, values))
    }

    fn argument(&mut self, ast: &Ast, argument: ArithId) -> Result<Operand> {
        let is_either = self.options.dialect.ipv6 && self.loads_transport(ast, &[argument]);
        let transport = if is_either { Transport::Either } else { Transport::Ip4 };
        let operand = self.operand(ast, argument, transport)?;
        self.check_limits()?;
        Ok(operand)
    }

    fn tried(&mut self, test: TreeId) -> TreeId {
        self.push(TreeNode::Try(test))
    }
}
