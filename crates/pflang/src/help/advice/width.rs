//! Numbers that do not fit the field that they are compared with.

use crate::diag::Diagnostic;
use crate::options::{Dialect, Limits};
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Expr};
use crate::syntax::parser::attempt;
use std::fmt;

/// A field, and a number that it cannot be.
pub(super) struct Exceeded<'a> {
    field: &'a str,
    number: u32,
    max: u32,
}

impl fmt::Display for Exceeded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is written `{}`, a number from 0 to {}", self.field, self.max)
    }
}

impl Exceeded<'_> {
    /// What is wrong with the number, where something else was found wrong with it that is read as a number of another field.
    pub(super) fn instead_of(&self, found: Diagnostic) -> Diagnostic {
        let Exceeded { field, number, max } = self;
        let message = format!("`{number}` is above {max}");
        let found = Diagnostic { message, ..found };
        found.label(format!("expected a number from 0 to {max}")).help(format!("it is written `{field}`"))
    }
}

/// Of a suggestion that no packet can match, or every packet, the range of the field: of `ip[8] = 300`, 0 to 255.
pub(super) fn exceeded<'a>(meant: &'a str, dialect: &Dialect) -> Option<Exceeded<'a>> {
    let ast = attempt(meant, dialect, &Limits::default())?;
    ast.exprs.iter().find_map(|expr| {
        let Expr::Relation(_, field, number) = *expr else { return None };
        let Arith::Number(number) = ast.arith(number) else { return None };
        let (max, field) = (largest(&ast, field), ast.arith_spans[field.0 as usize].text(meant));
        (number > max).then_some(Exceeded { field, number, max })
    })
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
