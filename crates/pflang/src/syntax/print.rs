//! Tokens and syntax tree as text: tokens one a line; of the tree one node a line, indented, with its span.
//!
//! A chain of the same operator is shown as one node with many children, and below `DEEPEST` levels the
//! indentation stops and the depth is a number: otherwise 100,000 parentheses would print gigabytes of spaces.

use super::ast::{Ast, Expr, ExprId};
use super::fmt;
use super::lex::{TokenKind, Tokens};
use super::program::{Line, Program};
use crate::Span;

/// Levels that are shown by indentation.
const DEEPEST: usize = 32;

/// The tokens, one a line: kind, text and span.
///
/// ```
/// use pflang::internals::syntax::{lex::lex, print::tokens};
///
/// assert_eq!(tokens(&lex("tcp port 0x50")), "\
/// word    tcp                              0..3
/// word    port                             4..8
/// number  0x50 (80)                        9..13
/// ");
/// ```
pub fn tokens(tokens: &Tokens<'_>) -> String {
    let mut out = String::new();
    for token in tokens.list.iter().filter(|token| token.kind != TokenKind::End) {
        let text = token.span.text(tokens.source);
        let (kind, shown) = match token.kind {
            TokenKind::Word(_) => ("word", text.to_owned()),
            TokenKind::Number(n) if n.to_string() == text => ("number", text.to_owned()),
            TokenKind::Number(n) => ("number", format!("{text} ({n})")),
            TokenKind::Name => ("name", text.to_owned()),
            TokenKind::Dotted => ("dotted", text.to_owned()),
            TokenKind::V6(_) => ("ipv6", text.to_owned()),
            TokenKind::Mac(_) => ("mac", text.to_owned()),
            TokenKind::Arcnet(_) => ("arcnet", text.to_owned()),
            TokenKind::Sign(_) => ("sign", text.to_owned()),
            TokenKind::File => ("file", text.to_owned()),
            TokenKind::End => continue,
        };
        out.push_str(&format!("{kind:<7} {shown:<32} {}..{}\n", token.span.start, token.span.end));
    }
    out
}

/// The whole tree.
///
/// ```
/// use pflang::{Dialect, Limits};
/// use pflang::internals::syntax::{parse::parse, print::tree};
///
/// let ast = parse("tcp and not port 80", &Dialect::default(), &Limits::default()).unwrap();
/// assert_eq!(tree(&ast), "\
/// and                                      0..19
///   proto tcp                              0..3
///   not                                    8..19
///     id port 80                           12..19
/// ");
/// ```
pub fn tree(ast: &Ast) -> String {
    let Some(root) = ast.root else { return "accept every packet\n".to_owned() };
    let mut out = String::new();
    write_tree(&mut out, ast, root, 0);
    out
}

/// The clauses of a program, each with the tree of its test.
pub fn program(program: &Program) -> String {
    let Program { ast, lines } = program;
    let mut out = String::new();
    let mut depth = 0;
    for line in lines {
        let Line::Clause(clause) = line else {
            depth -= 1;
            continue;
        };
        let call = clause.call.as_ref().map_or_else(|| "block".to_owned(), |call| fmt::call(ast, call));
        let text = if clause.test.is_some() { call } else { format!("{call}, otherwise") };
        write_line(&mut out, depth, &text, clause.span);
        if let Some(test) = clause.test {
            write_tree(&mut out, ast, test, depth + 1);
        }
        depth += usize::from(clause.call.is_none());
    }
    out
}

fn write_tree(out: &mut String, ast: &Ast, root: ExprId, depth: usize) {
    let mut work = vec![(root, depth)];
    while let Some((id, depth)) = work.pop() {
        write_line(out, depth, &head(ast, id), ast.span(id));
        let children = match ast.expr(id) {
            Expr::And(..) | Expr::Or(..) => ast.chain(id),
            _ => ast.operands(id).collect(),
        };
        work.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
    }
}

fn head(ast: &Ast, id: ExprId) -> String {
    let kind = match ast.expr(id) {
        Expr::And(..) => return "and".to_owned(),
        Expr::Or(..) => return "or".to_owned(),
        Expr::Not(_) => return "not".to_owned(),
        Expr::Group(_) => return "group".to_owned(),
        Expr::Id(..) => "id",
        Expr::In(..) | Expr::Pairs(_) => "set",
        Expr::Proto(_) => "proto",
        Expr::Relation(..) => "relation",
        Expr::Vlan(_)
        | Expr::VlanIn(_)
        | Expr::Mpls(_)
        | Expr::Pppoes(_)
        | Expr::Geneve(_)
        | Expr::Vxlan(_) => "encapsulation",
        Expr::Pf(_) => "pf",
        Expr::Wlan(_) => "wlan",
        Expr::Llc(_) => "llc",
        Expr::Atm(_) | Expr::AtmField(..) => "atm",
        Expr::Mtp2(_) | Expr::Mtp3Field(..) => "mtp",
        _ => "test",
    };
    format!("{kind} {}", fmt::expr(ast, id))
}

fn write_line(out: &mut String, depth: usize, text: &str, span: Span) {
    let indent = 2 * depth.min(DEEPEST);
    let level = if depth > DEEPEST { format!("[{depth}] ") } else { String::new() };
    let width = 39usize.saturating_sub(indent);
    let shown = format!("{level}{text}");
    out.push_str(&format!("{:indent$}{shown:width$}  {}..{}\n", "", span.start, span.end));
}
