//! Filters that the optimiser found to be the same for every packet.

use super::ungrouped;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Graph, Node, REJECT};
use crate::syntax::ast::{Ast, Expr, ExprId};

/// What there is to say of a filter whose optimised graph asks nothing, unless `said` has it: a finding of that kind names the part that is to
/// blame, and one of the contrary may be about all that `not` stands before. An empty filter matches every packet, and is meant to.
pub(crate) fn of_whole(ast: &Ast, graph: &Graph, said: &[Diagnostic]) -> Option<Diagnostic> {
    let Node::Leaf(leaf) = *graph.node(graph.root) else { return None };
    let root = ast.root?;
    let code = if leaf == REJECT { Code::AlwaysFalse } else { Code::AlwaysTrue };
    let negated = ast.span(bare(ast, root));
    let says_so = |lint: &Diagnostic| {
        lint.code == code || matches!(lint.code, Code::AlwaysFalse | Code::AlwaysTrue) && lint.span == negated
    };
    if said.iter().any(says_so) {
        return None;
    }
    let message = match code {
        Code::AlwaysFalse => "no packet matches this filter",
        _ => "every packet matches this filter",
    };
    let found = Diagnostic::new(code, ast.span(root), message);
    Some(match asks_for_both(ast, root) && code == Code::AlwaysFalse {
        true => found.help("if the parts around `and` exclude each other, write `or` to accept either"),
        false => found,
    })
}

/// Whether a filter is an `and` of two parts of which neither is a `not`: to accept either would match nearly every packet there.
fn asks_for_both(ast: &Ast, root: ExprId) -> bool {
    let Expr::And(left, right) = *ast.expr(ungrouped(ast, root)) else { return false };
    ![left, right].into_iter().any(|part| matches!(ast.expr(ungrouped(ast, part)), Expr::Not(_)))
}

/// Without groups and `not`.
fn bare(ast: &Ast, mut id: ExprId) -> ExprId {
    while let Expr::Group(inside) | Expr::Not(inside) = *ast.expr(id) {
        id = inside;
    }
    id
}
