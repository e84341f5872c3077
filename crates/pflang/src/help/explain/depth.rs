//! How many tags and labels stand in front of the one that a word asks for.

use crate::lower::Scope;
use crate::syntax::ast::{Ast, Expr, ExprId};
use std::collections::HashMap;

/// Which tag or label a word asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Depth {
    /// How many stand in front of it.
    pub(super) before: usize,
    /// Whether they have matched wherever the word is asked.
    pub(super) is_sure: bool,
}

/// By word: which tag or label it asks for.
pub(super) fn depths(ast: &Ast, scoped: bool) -> HashMap<ExprId, Depth> {
    let scope = if scoped { Scope::Parenthesis } else { Scope::Filter };
    let matched = counts(ast, Scope::Alternative);
    let depth = |(id, before): (ExprId, usize)| (id, Depth { before, is_sure: before <= matched[&id] });
    counts(ast, scope).into_iter().map(depth).collect()
}

/// The tags and labels in front of what stands to the right.
#[derive(Clone, Copy, Default)]
struct Before {
    tags: usize,
    labels: usize,
}

/// Tasks that remain, last first.
enum Task {
    Visit(ExprId),
    /// Encapsulations seen since end here.
    Restore(Before),
}

/// By word: how many of its kind stand in front of it, with encapsulations that end where `scope` says.
fn counts(ast: &Ast, scope: Scope) -> HashMap<ExprId, usize> {
    let mut counts = HashMap::new();
    let mut before = Before::default();
    let mut tasks: Vec<Task> = ast.root.map(Task::Visit).into_iter().collect();
    let (ends, ends_at_parenthesis) = (scope != Scope::Filter, scope == Scope::Parenthesis);
    while let Some(task) = tasks.pop() {
        let id = match task {
            Task::Restore(at) => {
                before = at;
                continue;
            }
            Task::Visit(id) => id,
        };
        match *ast.expr(id) {
            Expr::And(a, b) => tasks.extend([Task::Visit(b), Task::Visit(a)]),
            Expr::Or(a, b) => {
                tasks.extend(ends.then_some(Task::Restore(before)));
                tasks.push(Task::Visit(b));
                tasks.extend(ends.then_some(Task::Restore(before)));
                tasks.push(Task::Visit(a));
            }
            Expr::Not(a) => {
                tasks.extend(ends.then_some(Task::Restore(before)));
                tasks.push(Task::Visit(a));
            }
            Expr::Group(a) => {
                tasks.extend(ends_at_parenthesis.then_some(Task::Restore(before)));
                tasks.push(Task::Visit(a));
            }
            Expr::Vlan(_) | Expr::VlanIn(_) => {
                counts.insert(id, before.tags);
                before.tags += 1;
            }
            Expr::Mpls(_) => {
                counts.insert(id, before.labels);
                before.labels += 1;
            }
            // A frame or packet begins.
            Expr::Pppoes(_) | Expr::Geneve(_) => before.tags = 0,
            Expr::Vxlan(_) => before = Before::default(),
            _ => {}
        }
    }
    counts
}
