//! Loads whose protocol nobody asks for.
//!
//! Each load brings a guard: `tcp[13]` is of IPv4 packets that carry TCP. The guards of an index hold for the load, and those
//! of both sides of a comparison for the comparison. But an operator keeps those of its left operand only: libpcap's
//! `gen_arth` returns the left operand with all that belongs to it. So `ip[2:2] - ((tcp[12] & 0xf0) >> 2)` reads a byte of any
//! IPv4 packet, unless something else in the filter asks for TCP.

use super::parts;
use super::possible::Possible;
use crate::lower::tells_protocols;
use crate::options::Dialect;
use crate::syntax::ast::{Arith, ArithId, Ast, Expr, ExprId, Proto};
use wire::LinkType;

/// A load that is read whatever the packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unguarded {
    pub(crate) relation: ExprId,
    pub(crate) load: ArithId,
    pub(crate) proto: Proto,
}

/// The loads of a filter whose guard is lost, and does not follow from the others and what stands around.
pub(crate) fn unguarded(ast: &Ast, linktype: LinkType, dialect: Dialect) -> Vec<Unguarded> {
    let relations = ast.exprs.iter().enumerate().filter_map(|(id, expr)| match *expr {
        Expr::Relation(_, a, b) if loses_guards(ast, [a, b]) => Some((ExprId(id as u32), [a, b])),
        _ => None,
    });
    // Where packets do not say what they carry, a guard says nothing either. Most filters have no such relation.
    let relations: Vec<_> = relations.filter(|_| !dialect.ipv6 && tells_protocols(linktype)).collect();
    if relations.is_empty() {
        return Vec::new();
    }
    let around = around(ast, linktype);
    let mut unguarded = Vec::new();
    for (relation, sides) in relations {
        let known = around[relation.0 as usize].and_then(|around| around.and(Possible::guards(ast, sides)));
        for_each_load(ast, sides, |Load { id: load, proto, guarded }| {
            let guard = Possible::guard(proto).filter(|_| !guarded);
            if let (Some(known), Some(guard)) = (known, guard)
                && !known.is_within(guard)
            {
                unguarded.push(Unguarded { relation, load, proto });
            }
        });
    }
    unguarded
}

fn loses_guards(ast: &Ast, sides: [ArithId; 2]) -> bool {
    let mut lost = false;
    for_each_load(ast, sides, |load| lost |= !load.guarded && Possible::guard(load.proto).is_some());
    lost
}

/// By part: what the packets are like for which it matters, as far as the other operands of each `and` around it tell. `None`
/// where that is no packet.
fn around(ast: &Ast, linktype: LinkType) -> Vec<Option<Possible>> {
    let possible = parts(ast, linktype, |_, _| {});
    let mut around = vec![Some(Possible::ANY); possible.len()];
    // Operators have greater ids than their operands.
    for (id, expr) in ast.exprs.iter().enumerate().rev() {
        let here = around[id];
        match *expr {
            Expr::And(a, b) => {
                for (one, other) in [(a, b), (b, a)] {
                    around[one.0 as usize] = here.and_then(|here| here.and(possible[other.0 as usize]));
                }
            }
            Expr::Or(a, b) => (around[a.0 as usize], around[b.0 as usize]) = (here, here),
            Expr::Not(a) | Expr::Group(a) => around[a.0 as usize] = here,
            _ => {}
        }
    }
    around
}

/// A load of a relation.
pub(super) struct Load {
    pub(super) id: ArithId,
    pub(super) proto: Proto,
    /// Whether the relation asks for its protocol.
    pub(super) guarded: bool,
}

/// The loads of a relation, from left to right, an index after the load that it is for.
pub(super) fn for_each_load(ast: &Ast, [a, b]: [ArithId; 2], mut visit: impl FnMut(Load)) {
    let mut pending = vec![(b, true), (a, true)];
    while let Some((id, guarded)) = pending.pop() {
        match ast.arith(id) {
            Arith::Number(_) | Arith::Len => {}
            Arith::Load { proto, index, .. } | Arith::AddressOf { proto, index } => {
                visit(Load { id, proto, guarded });
                pending.push((index, guarded));
            }
            Arith::Neg(a) => pending.push((a, guarded)),
            Arith::Op(_, a, b) => pending.extend([(b, false), (a, guarded)]),
        }
    }
}
