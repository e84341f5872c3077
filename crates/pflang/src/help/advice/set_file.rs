//! What is wrong with a line of a set's file, and what to write there.

use super::stop;
use crate::compiler::Compiler;
use crate::diag::Diagnostic;
use crate::syntax::ast::{Ast, Expr, SetItem};
use crate::syntax::lex::{Within, lex_within};
use crate::syntax::parser::Parser;

/// The finding, with what is meant by the first line of the file that is no member, if the finding is about the file of a set.
pub(super) fn help(compiler: &Compiler, ast: &Ast, found: Diagnostic) -> Diagnostic {
    let file = ast.exprs.iter().find_map(|expr| {
        let Expr::In(quals, items) = expr else { return None };
        let is_named = |item: &&SetItem| matches!(item, SetItem::File(_, span) if *span == found.span);
        let SetItem::File(path, _) = items.iter().find(is_named)? else { return None };
        Some((*quals, path))
    });
    let Some((quals, path)) = file else { return found };
    let Ok(text) = compiler.names.set_file(path) else { return found };
    // What is wrong with a list of another form has been told in words of its own.
    if classify::lists::format_of(&text) != classify::lists::Format::Plain {
        return found;
    }
    let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
    let members = lines.map(|line| line.split('#').next().unwrap_or("").trim_end());
    for line in members.filter(|line| !line.trim_start().is_empty()) {
        let tokens = lex_within(line, Within::Set);
        let mut parser = Parser::new(&tokens, &compiler.dialect, &compiler.limits);
        if let Err(wrong) = parser.member(quals) {
            let Diagnostic { help, suggestion, .. } = stop::help(&parser, *wrong);
            return Diagnostic { help: help.or(found.help), suggestion, ..found };
        }
    }
    found
}
