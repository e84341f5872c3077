//! From text to syntax tree.

use super::ast::{Ast, Quals, SetItem};
use super::lex::{Within, lex, lex_within};
use super::parser::{Parser, Step};
use crate::diag::Diagnostic;
use crate::options::{Dialect, Limits};

/// Parses a filter.
///
/// ```
/// use pflang::{Dialect, Limits};
/// use pflang::internals::syntax::{fmt, parse::parse};
///
/// let ast = parse("not host vs and ace", &Dialect::default(), &Limits::default()).unwrap();
/// assert_eq!(fmt::canonical(&ast), "not host vs and host ace");
/// ```
///
/// # Errors
/// What does not belong to the language, with its place and what could stand there.
pub fn parse(source: &str, dialect: &Dialect, limits: &Limits) -> Result<Ast, Box<Diagnostic>> {
    parse_behind(source, dialect, limits, 0)
}

/// The same where so many terms stand before it in a list.
pub(crate) fn parse_behind(
    source: &str,
    dialect: &Dialect,
    limits: &Limits,
    terms_before: usize,
) -> Result<Ast, Box<Diagnostic>> {
    limits.check_source(source.len(), "filter")?;
    let tokens = lex(source);
    let mut parser = Parser::new(&tokens, dialect, limits);
    parser.ast.terms = terms_before;
    parser.filter()?;
    Ok(parser.ast)
}

/// Reads a line of a set's file: one member, written as it is within braces. Spans are those of the line.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn member(line: &str, quals: Quals, dialect: &Dialect, limits: &Limits) -> Step<SetItem> {
    let tokens = lex_within(line, Within::Set);
    Parser::new(&tokens, dialect, limits).member(quals)
}

#[cfg(test)]
mod tests;
