//! Numbers that do not fit the field that they are compared with.

use crate::diag::{Code, Diagnostic};
use crate::options::{Dialect, Limits};
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Expr};
use crate::syntax::parser::attempt;

/// Of a suggestion that no packet can match, or every packet, the finding with the range of the field: of `ip[8] = 300`, 0 to 255.
pub(super) fn exceeded(found: &Diagnostic, meant: &str, dialect: &Dialect) -> Option<Diagnostic> {
    let ast = attempt(meant, dialect, &Limits::default())?;
    let (field, number, max) = ast.exprs.iter().find_map(|expr| {
        let Expr::Relation(_, field, number) = *expr else { return None };
        let Arith::Number(number) = ast.arith(number) else { return None };
        let (max, field) = (largest(&ast, field), ast.arith_spans[field.0 as usize].text(meant));
        (number > max).then_some((field, number, max))
    })?;
    if found.code != Code::OutOfRange {
        let help = format!("it is written `{field}`, a number from 0 to {max}");
        return Some(found.clone().help(help));
    }
    // Something else was found wrong with it that is read as a number of another field.
    let found = Diagnostic { message: format!("`{number}` is above {max}"), ..found.clone() };
    Some(found.label(format!("expected a number from 0 to {max}")).help(format!("it is written `{field}`")))
}

/// The largest value of a field, its bits masked or moved; of other arithmetic that of any number. Suggestions are short, so
/// the recursion is shallow.
fn largest(ast: &Ast, id: ArithId) -> u32 {
    match ast.arith(id) {
        Arith::Number(number) => number,
        Arith::Load { size: 1, .. } => u32::from(u8::MAX),
        Arith::Load { size: 2, .. } => u32::from(u16::MAX),
        Arith::Op(ArithOp::And, a, b) => largest(ast, a).min(largest(ast, b)),
        Arith::Op(ArithOp::Shr, a, b) => match ast.arith(b) {
            Arith::Number(bits) => largest(ast, a).checked_shr(bits).unwrap_or(0),
            _ => u32::MAX,
        },
        _ => u32::MAX,
    }
}
