//! Clauses of a program that are never reached, and what may surprise in each test.

use super::list::answers;
use super::{Decider, Helps, LINTS_MAX, Linted, lower_parts};
use crate::Span;
use crate::compiler::Compiler;
use crate::diag::{Code, Diagnostic, Error};
use crate::ir::tree::{Clause, TreeNode};
use crate::lower::is_constant;
use crate::matcher::ReadMatch;
use crate::syntax::fmt;
use crate::syntax::program::{Line, Program};
use std::collections::{HashMap, HashSet};

/// So many tests are looked at one by one.
const TESTS_MAX: usize = 200;

/// Of programs with more lines, clauses that are never reached are looked for by their text alone: who compiles all tests as one program to learn it waits
/// for seconds.
pub(crate) const REACHED_MAX: usize = 4096;

/// The warnings about a program, in the order of the text.
pub(crate) fn of_program(compiler: &Compiler, source: &str) -> Result<Vec<Diagnostic>, Error> {
    let parsed = compiler.parse_match(source)?;
    let mut lints = if parsed.program.lines.len() > REACHED_MAX {
        compiler.parts_of_match(source)?;
        repeated(&parsed.program)
    } else {
        never_reached(compiler, &mut compiler.lower_match(parsed.clone())?)?
    };
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

/// The clauses whose test stands before them in the same block, or that stand behind `otherwise`.
fn repeated(program: &Program) -> Vec<Diagnostic> {
    let mut lints = Vec::new();
    // For each open block: the tests in it, whether `otherwise` has come, and whether it is entered at all.
    let mut open = vec![(HashMap::new(), false, true)];
    for line in &program.lines {
        let Line::Clause(clause) = line else {
            open.pop();
            continue;
        };
        let Some((tests, is_over, is_entered)) = open.last_mut() else { break };
        let first = clause.test.and_then(|test| {
            let text = fmt::expr(&program.ast, test);
            let first = tests.get(&text).copied();
            // One whose arguments cannot be computed leaves its packets to the next.
            let arguments = clause.call.iter().flat_map(|call| &call.arguments);
            if first.is_none() && arguments.clone().all(|argument| is_constant(program.ast.arith(*argument)))
            {
                tests.insert(text, clause.test_span);
            }
            first
        });
        let is_reached = first.is_none() && !*is_over;
        if *is_entered && !is_reached {
            let why = match is_over {
                true => "`otherwise` stands before it, which takes every packet",
                false => "its test stands before it, which takes every packet that it would take",
            };
            let found = Diagnostic::new(Code::NeverDecides, clause.span, "this clause is never reached");
            let mut found = found.label(why).help("remove it, or move it further to the front");
            found.also = first.map(|first| (first, "here".into()));
            lints.push(found);
        }
        *is_over |= clause.test.is_none();
        let is_entered = *is_entered && is_reached;
        if clause.call.is_none() {
            open.push((HashMap::new(), false, is_entered));
        }
        if lints.len() >= LINTS_MAX {
            break;
        }
    }
    lints
}

/// The clauses that no packet reaches with a yes. Of a block that nothing enters, the clauses within are not told.
fn never_reached(compiler: &Compiler, read: &mut ReadMatch) -> Result<Vec<Diagnostic>, Error> {
    let always = read.lowered.tree.push(TreeNode::True, Span::default());
    let reached = reached(compiler, read, always)?;
    let (mut lints, mut at) = (Vec::new(), 0);
    // For each open block: whether it and those around it are entered, and whether `otherwise` has come.
    let mut open = vec![(true, false)];
    for line in &read.program.lines {
        let Line::Clause(clause) = line else {
            open.pop();
            at += 1;
            continue;
        };
        let number = at as u32 + 1;
        at += 1;
        let is_reached = reached.contains(&number);
        if let (false, Some((true, is_over))) = (is_reached, open.last()) {
            let why = if *is_over {
                "`otherwise` stands before it, which takes every packet"
            } else {
                "no packet that those before it leave has what it asks for"
            };
            let found = Diagnostic::new(Code::NeverDecides, clause.span, "this clause is never reached");
            lints.push(found.label(why).help("remove it, or move it further to the front"));
        }
        if let Some((_, is_over)) = open.last_mut() {
            *is_over |= clause.test.is_none();
        }
        if clause.call.is_none() {
            let is_entered = is_reached && open.last().is_some_and(|(is_entered, _)| *is_entered);
            open.push((is_entered, false));
        }
    }
    Ok(lints)
}

/// The places of the clauses that some packet reaches with a yes, counted from 1.
fn reached(
    compiler: &Compiler,
    read: &mut ReadMatch,
    always: crate::ir::tree::TreeId,
) -> Result<HashSet<u32>, Error> {
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
