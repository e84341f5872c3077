//! Clauses of a program that are never reached, and what may surprise in each test.

use super::list::answers;
use super::{CHAIN_TEXT_MAX, Decider, Helps, LINTS_MAX, Linted, lower_parts};
use crate::Span;
use crate::compiler::Compiler;
use crate::diag::{Code, Diagnostic, Error};
use crate::ir::tree::{Clause, TreeNode};
use crate::lower::{ChainEnds, is_constant};
use crate::matcher::{ParsedMatch, ReadMatch};
use crate::syntax::fmt;
use crate::syntax::program::{Line, Program};
use std::collections::{HashMap, HashSet};

/// So many tests are looked at one by one.
const TESTS_MAX: usize = 200;

/// Of programs with more lines, clauses that are never reached are looked for by their text alone: who compiles all tests as one program to learn it waits
/// for seconds.
pub(crate) const REACHED_MAX: usize = 4096;

/// In programs with so many lines, clauses that are never reached are also looked for with numbers in the place of chains of IPv6 headers.
const CHAIN_LINES_MAX: usize = 512;

/// The warnings about a program, in the order of the text.
pub(crate) fn of_program(compiler: &Compiler, source: &str) -> Result<Vec<Diagnostic>, Error> {
    let parsed = compiler.parse_match(source)?;
    let mut lints = unreached(compiler, source, &parsed)?;
    let mut decider = Decider::new(compiler.limits, &parsed.clock);
    for line in parsed.program.lines.iter().take(TESTS_MAX) {
        let Line::Clause(clause) = line else { continue };
        let text = clause.test_span.text(parsed.text());
        let begin = clause.test_span.start;
        for mut lint in of_test(compiler, text, &mut decider) {
            let moved = |span: Span| Span::new(span.start + begin, span.end + begin);
            lint.span = moved(lint.span);
            lint.also = lint.also.map(|(span, text)| (moved(span), text));
            lints.push(lint);
        }
    }
    lints.sort_by_key(|lint| (lint.span.start, lint.code));
    lints.truncate(LINTS_MAX);
    Ok(lints.into_iter().map(|lint| parsed.locate(lint)).collect())
}

/// The clauses that no packet reaches, with their places as written.
pub(crate) fn unreached_of_program(compiler: &Compiler, source: &str) -> Result<Vec<Diagnostic>, Error> {
    let parsed = compiler.parse_match(source)?;
    let lints = unreached(compiler, source, &parsed)?;
    Ok(lints.into_iter().map(|lint| parsed.locate(lint)).collect())
}

fn unreached(compiler: &Compiler, source: &str, parsed: &ParsedMatch) -> Result<Vec<Diagnostic>, Error> {
    if parsed.program.lines.len() > REACHED_MAX {
        // What is wrong with it is told first.
        compiler.parts_of_match(source)?;
        return Ok(never_reached(&parsed.program, None));
    }
    Ok(never_reached(&parsed.program, Some(&reached_in(compiler, parsed)?)))
}

/// What may surprise in a test that stands alone. One that asks for inputs cannot.
fn of_test(compiler: &Compiler, text: &str, decider: &mut Decider) -> Vec<Diagnostic> {
    let Ok(ast) = compiler.parse(text) else { return Vec::new() };
    let Ok(mut parts) = lower_parts(compiler, &ast, decider.clock) else { return Vec::new() };
    let mut lints =
        Linted { compiler, ast: &ast, source: text, helps: Helps::Made }.lints(&mut parts, decider);
    // Here `not` turns what cannot be read.
    lints.retain(|lint| lint.code != Code::NotOverLoad);
    lints
}

/// The clauses that no packet reaches with a yes. Of a block that nothing enters, the clauses within are not told. `reached` has the places of
/// those that some packet reaches, as far as that is known.
fn never_reached(program: &Program, reached: Option<&HashSet<u32>>) -> Vec<Diagnostic> {
    let repeated = repeated(program);
    let mut lints = Vec::new();
    // For each open block: whether it and those around it are entered, and whether `otherwise` has come.
    let mut open = vec![(true, false)];
    for (number, line) in (1..).zip(&program.lines) {
        let Line::Clause(clause) = line else {
            open.pop();
            continue;
        };
        let Some((is_entered, is_over)) = open.last_mut() else { break };
        let first = repeated.get(&number).copied();
        let is_reached =
            first.is_none() && !*is_over && reached.is_none_or(|reached| reached.contains(&number));
        if *is_entered && !is_reached {
            let why = match (*is_over, first) {
                (true, _) => "`otherwise` stands before it, which takes every packet",
                (false, Some(_)) => "its test stands before it, which takes every packet that it would take",
                (false, None) => "no packet that those before it leave has what it asks for",
            };
            let found = Diagnostic::new(Code::NeverDecides, clause.span, "this clause is never reached");
            let mut found = found.label(why).help("remove it, or move it further to the front");
            found.also = first.filter(|_| !*is_over).map(|first| (first, "here".into()));
            lints.push(found);
        }
        *is_over |= clause.test.is_none();
        let is_entered = *is_entered && is_reached;
        if clause.call.is_none() {
            open.push((is_entered, false));
        }
        if reached.is_none() && lints.len() >= LINTS_MAX {
            break;
        }
    }
    lints
}

/// The clauses whose test stands before them in the same block, by their places, counted from 1: where it stands.
fn repeated(program: &Program) -> HashMap<u32, Span> {
    let mut repeated = HashMap::new();
    // For each open block, the tests in it.
    let mut open = vec![HashMap::new()];
    for (number, line) in (1..).zip(&program.lines) {
        let Line::Clause(clause) = line else {
            open.pop();
            continue;
        };
        let Some(tests) = open.last_mut() else { break };
        if let Some(test) = clause.test {
            let text = fmt::expr(&program.ast, test);
            // One whose arguments cannot be computed leaves its packets to the next.
            let mut arguments = clause.call.iter().flat_map(|call| &call.arguments);
            if let Some(first) = tests.get(&text) {
                repeated.insert(number, *first);
            } else if arguments.all(|argument| is_constant(program.ast.arith(*argument))) {
                tests.insert(text, clause.test_span);
            }
        }
        if clause.call.is_none() {
            open.push(HashMap::new());
        }
    }
    repeated
}

/// The places of the clauses that some packet reaches with a yes, as far as the optimiser finds out; where chains of IPv6 headers are asked, also what it finds out
/// with numbers in their place.
fn reached_in(compiler: &Compiler, parsed: &ParsedMatch) -> Result<HashSet<u32>, Error> {
    let mut reached = reached(compiler, &mut compiler.lower_match(parsed.clone())?)?;
    if compiler.dialect.ipv6
        && parsed.program.lines.len() <= CHAIN_LINES_MAX
        && parsed.text().len() <= CHAIN_TEXT_MAX
    {
        let ends = ChainEnds::default();
        let lowered = compiler.lower_match_at_ends(parsed.clone(), &ends).ok().filter(|_| !ends.is_empty());
        // There may be no time left.
        if let Some(at_ends) = lowered.and_then(|mut lowered| self::reached(compiler, &mut lowered).ok()) {
            reached.retain(|place| at_ends.contains(place));
        }
    }
    Ok(reached)
}

/// The same of a program that was lowered one way.
fn reached(compiler: &Compiler, read: &mut ReadMatch) -> Result<HashSet<u32>, Error> {
    let always = read.lowered.tree.push(TreeNode::True, Span::default());
    let mut clauses = Vec::new();
    let mut blocks = Vec::new();
    for (place, clause) in (1..).zip(&read.lowered.clauses) {
        match *clause {
            Clause::Leaf(root, _) => clauses.push(Clause::Leaf(root, place)),
            Clause::Block(root) => {
                blocks.push(place);
                clauses.push(Clause::Block(root));
            }
            // What reaches the end of a block has entered it as well.
            Clause::End => {
                let block = blocks.pop().unwrap_or_default();
                clauses.extend([Clause::Leaf(always, block), Clause::End]);
            }
        }
    }
    let graph = read.graph_of(compiler, clauses)?;
    let mut reached = answers(graph.graph());
    // Who reaches a clause has entered the blocks around it.
    for (place, clause) in (1..).zip(&read.lowered.clauses) {
        match clause {
            Clause::Block(_) => blocks.push(place),
            Clause::End => {
                blocks.pop();
            }
            Clause::Leaf(..) if reached.contains(&place) => reached.extend(&blocks),
            Clause::Leaf(..) => {}
        }
    }
    Ok(reached)
}
