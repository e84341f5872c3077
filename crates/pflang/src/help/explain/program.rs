//! Programs in plain words.

use super::{Explanation, Line, Note, explain};
use crate::compiler::Compiler;
use crate::diag::Error;
use crate::syntax::fmt;
use crate::syntax::program::{self, Program};
use std::sync::Arc;

/// A program, clause by clause.
pub(crate) fn of_program(compiler: &Compiler, source: &str) -> Result<Explanation, Error> {
    compiler.parts_of_match(source)?;
    let parsed = compiler.parse_match(source)?;
    let text = parsed.text().to_owned();
    let Program { mut ast, lines } = Arc::unwrap_or_clone(parsed.program);
    let first = Line { depth: 0, text: "the first decides whose test holds:".to_owned() };
    let canonical = canonical(&mut ast, &lines);
    let (linktype, is_program) = (compiler.linktype(), true);
    let mut told = Explanation { linktype, canonical, lines: vec![first], notes: Vec::new(), is_program };
    let mut depth = 1;
    for line in &lines {
        let program::Line::Clause(clause) = line else {
            depth -= 1;
            continue;
        };
        let then = match &clause.call {
            Some(call) => format!("`{}` is called", fmt::call(&ast, call)),
            None => "these clauses decide, and none behind them:".to_owned(),
        };
        ast.root = clause.test;
        match clause.test {
            None => told.lines.push(Line { depth, text: format!("otherwise {then}") }),
            Some(_) => {
                let of_test = clause.test_span.text(&text);
                let words = explain(&ast, of_test, linktype, compiler.dialect, &*compiler.names);
                let mut test = words.lines.into_iter();
                let head = test.next().map(|line| line.text).unwrap_or_default();
                let (head, then) = match head.strip_suffix(':') {
                    Some(head) => (head.to_owned(), format!(", {then}")),
                    None => (head, format!(": {then}")),
                };
                told.lines.push(Line { depth, text: format!("if {head}{then}") });
                told.lines.extend(test.map(|line| Line { depth: line.depth + depth, ..line }));
                told.notes.extend(words.notes);
            }
        }
        depth += usize::from(clause.call.is_none());
    }
    // Here such a packet is only one for which the comparison does not hold.
    told.notes.retain(|note| *note != Note::ShortPackets.text(compiler.dialect));
    told.notes.sort_unstable();
    told.notes.dedup();
    Ok(told)
}

/// The program, each clause on a line of its own.
fn canonical(ast: &mut crate::syntax::ast::Ast, lines: &[program::Line]) -> String {
    let inputs = ast.inputs.join(", ");
    let mut text = if inputs.is_empty() { "match {\n".to_owned() } else { format!("match ({inputs}) {{\n") };
    let mut depth = 1;
    for line in lines {
        let program::Line::Clause(clause) = line else {
            depth -= 1;
            text += &format!("{:indent$}}}\n", "", indent = 2 * depth);
            continue;
        };
        ast.root = clause.test;
        let test = clause.test.map_or_else(|| "otherwise".to_owned(), |_| fmt::canonical(ast));
        let then = clause.call.as_ref().map_or_else(|| "{".to_owned(), |call| fmt::call(ast, call));
        text += &format!("{:indent$}{test} => {then}\n", "", indent = 2 * depth);
        depth += usize::from(clause.call.is_none());
    }
    text + "}"
}
