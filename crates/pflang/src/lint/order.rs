//! Parts that exclude each other where there are encapsulations: mostly, because what stands to the left of one is looked for
//! outside of it.
//!
//! Which headers a part looks at, lowering decides; so each `and` is asked for the tree that it was lowered to, whether any packet can
//! satisfy it.

use crate::diag::{Code, Diagnostic};
use crate::ir::tree::TreeId;
use crate::lower::Lowered;
use crate::syntax::ast::{Ast, Expr, ExprId};
use crate::syntax::fmt;

/// How many operators are looked at, in how large a filter: each is optimised by itself.
const PARTS_MAX: usize = 16;
const NODES_MAX: usize = 2048;
/// Operands of a suggestion that is still helpful.
const OPERANDS_MAX: usize = 8;

const EITHER: &str = "write `or` to accept either";
const FIRST: &str =
    "what stands to the left of an encapsulation is looked for outside of it: put the encapsulation first";

/// The conjunctions that no packet satisfies, of a filter with encapsulations, unless `said` tells of what is in them. `is_never` says
/// whether a part of the tree is true of no packet, `suits` whether a text is a filter that some packet can match and that shifts
/// nothing by surprise.
pub(crate) fn out_of_order(
    ast: &Ast,
    lowered: &Lowered,
    said: &[Diagnostic],
    scoped: bool,
    mut is_never: impl FnMut(TreeId) -> bool,
    suits: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    if lowered.tree.len() > NODES_MAX || !ast.exprs.iter().any(super::is_encapsulation) {
        return found;
    }
    for &(id, node) in lowered.conjunctions.iter().take(PARTS_MAX) {
        let Expr::And(left, right) = *ast.expr(id) else { continue };
        let span = ast.span(id);
        let is_in = |lint: &Diagnostic| {
            lint.code == Code::AlwaysFalse && span.start <= lint.span.start && lint.span.end <= span.end
        };
        if said.iter().chain(&found).any(is_in) || !is_never(node) {
            continue;
        }
        // One side alone is to blame.
        if lowered.tree.operands(node).any(&mut is_never) {
            continue;
        }
        let lint = super::exclusive(ast, [left, right]);
        found.push(match help(ast, id, scoped, &suits) {
            Some(help) => lint.help(help),
            None => lint,
        });
    }
    found
}

/// What to write in place of a conjunction that nothing satisfies.
fn help(ast: &Ast, id: ExprId, scoped: bool, suits: impl Fn(&str) -> bool) -> Option<String> {
    let whole = operands(ast, chain(ast, id));
    let part = operands(ast, id);
    let mut texts =
        [&whole, &part].into_iter().filter(|list| list.len() <= OPERANDS_MAX).filter_map(|list| {
            let (first, rest): (Vec<_>, Vec<_>) =
                list.iter().partition(|&&operand| encapsulates(ast, operand));
            let ordered: Vec<ExprId> = first.into_iter().chain(rest).copied().collect();
            (ordered != *list).then(|| joined(ast, &ordered))
        });
    if let Some(text) = texts.find(|text| suits(text)) {
        return Some(format!("put the encapsulation first: `{text}`"));
    }
    if let Some(text) = distributed(ast, &part, scoped, &suits) {
        return Some(format!("it ends at its parenthesis in this dialect: write `{text}`"));
    }
    let Expr::And(left, right) = *ast.expr(id) else { return None };
    let [left, right] = [left, right].map(|side| super::ungrouped(ast, side));
    if moves(ast, right) {
        return Some(FIRST.to_owned());
    }
    // To accept either would match nearly every packet.
    let is_not = [left, right].into_iter().any(|side| matches!(ast.expr(side), Expr::Not(_)));
    (!is_not).then(|| EITHER.to_owned())
}

/// `(vlan 5 or vlan 6) and tcp` of the `scoped` dialect with `and tcp` in each alternative.
fn distributed(ast: &Ast, part: &[ExprId], scoped: bool, suits: impl Fn(&str) -> bool) -> Option<String> {
    let (groups, rest): (Vec<ExprId>, Vec<ExprId>) =
        part.iter().partition(|&&operand| encapsulates(ast, operand));
    let [group] = groups[..] else { return None };
    if !scoped || part.len() > OPERANDS_MAX || !matches!(ast.expr(group), Expr::Group(_)) {
        return None;
    }
    let mut alternatives = Vec::new();
    let mut id = super::ungrouped(ast, group);
    while let Expr::Or(left, right) = *ast.expr(id) {
        alternatives.push(right);
        id = left;
    }
    alternatives.push(id);
    if alternatives.len() > OPERANDS_MAX {
        return None;
    }
    let texts: Vec<String> = alternatives
        .iter()
        .rev()
        .map(|&alternative| {
            let mut operands = operands(ast, super::ungrouped(ast, alternative));
            operands.extend(&rest);
            joined(ast, &operands)
        })
        .collect();
    if !texts.iter().all(|text| suits(text)) {
        return None;
    }
    Some(match &texts[..] {
        [only] => only.clone(),
        texts => format!("({})", texts.join(") or (")),
    })
}

/// The largest conjunction that begins with this one.
fn chain(ast: &Ast, id: ExprId) -> ExprId {
    let mut top = id;
    for (above, expr) in (0..).zip(&ast.exprs).skip(id.0 as usize + 1) {
        if matches!(expr, Expr::And(left, _) if *left == top) {
            top = ExprId(above);
        }
    }
    top
}

/// The operands of a chain of `and`, in the order of the text.
fn operands(ast: &Ast, mut id: ExprId) -> Vec<ExprId> {
    let mut operands = Vec::new();
    while let Expr::And(left, right) = *ast.expr(id) {
        operands.push(right);
        id = left;
    }
    operands.push(id);
    operands.reverse();
    operands
}

/// As one text; `or` binds as `and` does.
fn joined(ast: &Ast, operands: &[ExprId]) -> String {
    let word = |&operand: &ExprId| match ast.expr(operand) {
        Expr::Or(..) => format!("({})", fmt::expr(ast, operand)),
        _ => fmt::expr(ast, operand),
    };
    operands.iter().map(word).collect::<Vec<_>>().join(" and ")
}

fn encapsulates(ast: &Ast, id: ExprId) -> bool {
    has(ast, id, super::is_encapsulation)
}

/// Whether there is an encapsulation in a part that has something inside.
fn moves(ast: &Ast, id: ExprId) -> bool {
    has(ast, id, |expr| super::is_encapsulation(expr) && *expr != Expr::Pppoed)
}

fn has(ast: &Ast, root: ExprId, is_it: impl Fn(&Expr) -> bool) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        match *ast.expr(id) {
            Expr::And(a, b) | Expr::Or(a, b) => pending.extend([a, b]),
            Expr::Not(a) | Expr::Group(a) => pending.push(a),
            ref primitive if is_it(primitive) => return true,
            _ => {}
        }
    }
    false
}
