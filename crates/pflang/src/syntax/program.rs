//! pfmatch programs: what is done with a packet, by the first clause whose test holds.
//!
//! ```text
//! program   match [ ( input, … ) ] { clauses }
//! clauses   { clause [ , | ; ] }
//! clause    test => handler [ ( [ argument, … ] ) ]      a filter; numbers
//!           test => { clauses }
//! test      a filter, or `otherwise`
//! ```
//! Comments reach from `--` to the end of the line.

use super::ast::{ArithId, Ast, ExprId};
use super::lex::{Within, lex_within};
use super::parser::Parser;
use crate::Span;
use crate::diag::Diagnostic;
use crate::options::{Dialect, Limits};

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The tests and arguments of all clauses. Its root is of no meaning.
    pub ast: Ast,
    /// The clauses, those of a block behind the one that leads to it.
    pub lines: Vec<Line>,
}

/// A line of a program.
#[derive(Clone, Debug)]
pub enum Line {
    /// A test and what it leads to.
    Clause(Clause),
    /// The end of a block.
    End,
}

/// A test and what it leads to.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The whole, of a block only its test.
    pub span: Span,
    /// `None`: otherwise.
    pub test: Option<ExprId>,
    /// Where the test stands.
    pub test_span: Span,
    /// Where it leads: `None` to the clauses behind this one, up to the end of their block.
    pub call: Option<Call>,
}

/// A handler with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name.
    pub handler: String,
    /// What it is called with.
    pub arguments: Vec<ArithId>,
}

/// Parses a program, whose caller gives numbers of these names with each packet.
///
/// ```
/// use pflang::{Dialect, Limits};
/// use pflang::internals::syntax::program::{Line, parse};
///
/// let text = "match { tcp => web(ip[8]); otherwise => rest }";
/// let program = parse(text, &[], &Dialect::default(), &Limits::default()).unwrap();
/// let handlers = program.lines.iter().filter_map(|line| match line {
///     Line::Clause(clause) => clause.call.as_ref(),
///     Line::End => None,
/// });
/// assert_eq!(handlers.map(|call| call.handler.as_str()).collect::<Vec<_>>(), ["web", "rest"]);
/// ```
///
/// # Errors
/// What does not belong to the language, with its place and what could stand there.
pub fn parse(source: &str, inputs: &[String], dialect: &Dialect, limits: &Limits) -> Result<Program, Wrong> {
    let wrong = |found| Wrong { found, test: None };
    limits.check_source(source.len(), "program").map_err(wrong)?;
    let tokens = lex_within(source, Within::Program);
    let mut parser = Parser::new(&tokens, dialect, limits);
    inputs.iter().for_each(|input| parser.add_input(input.clone()));
    match parser.program() {
        Ok(lines) => Ok(Program { ast: parser.ast, lines }),
        Err(found) => Err(Wrong { test: parser.test_around(found.span), found }),
    }
}

/// What is wrong with a text that is no program.
#[derive(Debug)]
pub struct Wrong {
    /// The finding.
    pub found: Box<Diagnostic>,
    /// The test that it is about, if it is about one.
    pub test: Option<Span>,
}
