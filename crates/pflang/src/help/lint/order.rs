//! What to write in place of a conjunction that nothing satisfies: mostly, what stands to the left of an encapsulation is looked for
//! outside of it, and has to stand to its right.

use super::decide::Decider;
use super::{Linted, has, is_encapsulation, shifts, ungrouped};
use crate::syntax::ast::{Ast, Expr, ExprId};
use crate::syntax::fmt;

/// Operands of a suggestion that is still helpful.
const OPERANDS_MAX: usize = 8;

const EITHER: &str = "write `or` to accept either";
const FIRST: &str =
    "what stands to the left of an encapsulation is looked for outside of it: put the encapsulation first";

/// What to write in place of a conjunction that nothing satisfies.
pub(super) fn help(linted: Linted<'_>, id: ExprId, decider: &Decider) -> Option<String> {
    let ast = linted.ast;
    let Expr::And(left, right) = *ast.expr(id) else { return None };
    if let Some(help) = reordered(linted, id, decider) {
        return Some(help);
    }
    if has(ast, right, shifts) {
        return Some(FIRST.to_owned());
    }
    // To accept either would match nearly every packet.
    let is_not = |side: ExprId| matches!(ast.expr(ungrouped(ast, side)), Expr::Not(_));
    (!is_not(left) && !is_not(right)).then(|| EITHER.to_owned())
}

/// The same for a part within a conjunction that excludes `other` in it.
pub(super) fn help_inside(
    linted: Linted<'_>,
    and: ExprId,
    part: ExprId,
    other: Option<ExprId>,
    decider: &Decider,
) -> Option<String> {
    let ast = linted.ast;
    let is_left = other.is_some_and(|other| ast.span(other).start < ast.span(part).start);
    if !has(ast, and, is_encapsulation) {
        return None;
    }
    distributed(linted, &ast.chain(and), decider)
        .map(|text| format!("put the encapsulation first: `{text}`"))
        .or_else(|| (is_left && has(ast, part, shifts)).then(|| FIRST.to_owned()))
}

/// A conjunction with its encapsulations first, or with all that they hold for in each alternative.
fn reordered(linted: Linted<'_>, id: ExprId, decider: &Decider) -> Option<String> {
    let ast = linted.ast;
    let part = ast.chain(id);
    if !has(ast, id, is_encapsulation) {
        return None;
    }
    let whole = ast.chain(largest_conjunction(ast, id));
    let mut texts =
        [&whole, &part].into_iter().filter(|list| list.len() <= OPERANDS_MAX).filter_map(|list| {
            let ordered = encapsulations_first(ast, list);
            (ordered != *list).then(|| joined(ast, &ordered))
        });
    if let Some(text) = texts.find(|text| linted.suits(text, decider)) {
        return Some(format!("put the encapsulation first: `{text}`"));
    }
    let text = distributed(linted, &part, decider)?;
    Some(match linted.compiler.dialect.scoped {
        true => format!("it ends at its parenthesis in this dialect: write `{text}`"),
        false => format!("put the encapsulation first: `{text}`"),
    })
}

/// `(ip or vlan) and tcp` with `and tcp` in each alternative, those with encapsulations last.
pub(super) fn distributed(linted: Linted<'_>, part: &[ExprId], decider: &Decider) -> Option<String> {
    let ast = linted.ast;
    let is_choice = |&operand: &ExprId| {
        has(ast, operand, is_encapsulation) && matches!(ast.expr(operand), Expr::Group(_) | Expr::Or(..))
    };
    let (groups, rest): (Vec<ExprId>, Vec<ExprId>) = part.iter().partition(|operand| is_choice(operand));
    let [group] = groups[..] else { return None };
    if part.len() > OPERANDS_MAX {
        return None;
    }
    let inside = ungrouped(ast, group);
    let alternatives = match ast.expr(inside) {
        Expr::Or(..) => ast.chain(inside),
        _ => vec![inside],
    };
    if alternatives.len() > OPERANDS_MAX {
        return None;
    }
    let (last, first): (Vec<ExprId>, Vec<ExprId>) =
        alternatives.into_iter().partition(|&alternative| has(ast, alternative, is_encapsulation));
    let text_of = |alternative: ExprId| {
        let is_behind = |operand: &&ExprId| operand.0 > alternative.0;
        let mut list: Vec<ExprId> = rest.iter().filter(|operand| !is_behind(operand)).copied().collect();
        list.extend(match ast.expr(ungrouped(ast, alternative)) {
            Expr::And(..) => ast.chain(ungrouped(ast, alternative)),
            _ => vec![alternative],
        });
        list.extend(rest.iter().filter(is_behind));
        joined(ast, &encapsulations_first(ast, &list))
    };
    let texts: Vec<String> = first.into_iter().chain(last).map(text_of).collect();
    let text = match &texts[..] {
        [only] => only.clone(),
        texts => format!("({})", texts.join(") or (")),
    };
    linted.suits(&text, decider).then_some(text)
}

/// Operands that have an encapsulation in them, and then the others.
fn encapsulations_first(ast: &Ast, list: &[ExprId]) -> Vec<ExprId> {
    let (mut first, rest): (Vec<ExprId>, Vec<ExprId>) =
        list.iter().partition(|&&operand| has(ast, operand, is_encapsulation));
    first.extend(rest);
    first
}

/// The largest conjunction that begins with this one.
pub(super) fn largest_conjunction(ast: &Ast, id: ExprId) -> ExprId {
    let mut top = id;
    for (above, expr) in (0..).zip(&ast.exprs).skip(id.0 as usize + 1) {
        if matches!(expr, Expr::And(left, _) if *left == top) {
            top = ExprId(above);
        }
    }
    top
}

/// As one text; `or` binds as `and` does.
pub(super) fn joined(ast: &Ast, operands: &[ExprId]) -> String {
    let word = |&operand: &ExprId| match ast.expr(operand) {
        Expr::Or(..) => format!("({})", fmt::expr(ast, operand)),
        _ => fmt::expr(ast, operand),
    };
    operands.iter().map(word).collect::<Vec<_>>().join(" and ")
}
