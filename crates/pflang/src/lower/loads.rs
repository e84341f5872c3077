//! The loads of a relation, and for which of them it asks.

use crate::syntax::ast::{Arith, ArithId, Ast, Proto};

/// A load of a relation.
pub(crate) struct Load {
    pub(crate) id: ArithId,
    pub(crate) proto: Proto,
    /// Whether the relation asks for its protocol: an operator does so for its left operand only.
    pub(crate) guarded: bool,
}

/// The loads of a relation, from left to right, an index after the load that it is for.
pub(crate) fn for_each_load(ast: &Ast, [a, b]: [ArithId; 2], mut visit: impl FnMut(Load)) {
    let mut pending = vec![(b, true), (a, true)];
    while let Some((id, guarded)) = pending.pop() {
        match ast.arith(id) {
            Arith::Number(_) | Arith::Len | Arith::Input(_) => {}
            Arith::Load { proto, index, .. } | Arith::AddressOf { proto, index, .. } => {
                visit(Load { id, proto, guarded });
                pending.push((index, guarded));
            }
            Arith::Neg(a) => pending.push((a, guarded)),
            Arith::Op(_, a, b) => pending.extend([(b, false), (a, guarded)]),
        }
    }
}
