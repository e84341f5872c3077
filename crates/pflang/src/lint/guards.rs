//! Loads whose protocol nobody asks for.
//!
//! Each load brings a guard: `tcp[13]` is of IPv4 packets that carry TCP, and of their first fragments. The guards of an index
//! hold for the load, and those of both sides of a comparison for the comparison. But an operator keeps those of its left operand
//! only: libpcap's `gen_arth` returns the left operand with all that belongs to it. So `ip[2:2] - ((tcp[12] & 0xf0) >> 2)` reads a
//! byte of any IPv4 packet, unless something else in the filter asks for TCP.
//!
//! Something else counts only if it looks at the headers that the load looks at: not across an encapsulation, which moves them
//! for all that follows.

use super::parts;
use super::possible::{Outcomes, Possible};
use crate::lower::{Load, for_each_load, tells_protocols};
use crate::options::Dialect;
use crate::syntax::ast::{ArithId, Ast, Expr, ExprId, Proto};
use wire::LinkType;

/// How many places between encapsulations are looked at: each costs a pass over the filter.
const PLACES_MAX: usize = 16;

/// A load that is read whatever the packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unguarded {
    pub(crate) relation: ExprId,
    pub(crate) load: ArithId,
    pub(crate) proto: Proto,
    pub(crate) lost: Lost,
}

/// What of a load's guard is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The protocol.
    Protocol,
    /// The version of IP: the protocol is asked for, of IPv6 as well.
    Version,
    /// That it is a first fragment.
    FirstFragment,
}

/// The loads of a filter whose guard is lost, and does not follow from the others and from the rest of the filter; in the order
/// of the text.
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
    let places = places(ast, dialect);
    let mut looked_at: Vec<Place> = relations.iter().map(|(id, _)| places[id.0 as usize]).collect();
    looked_at.sort_unstable();
    looked_at.dedup();
    let mut unguarded = Vec::new();
    for place in looked_at.into_iter().take(PLACES_MAX) {
        let around = around(ast, linktype, &places, place);
        for &(relation, sides) in relations.iter().filter(|(id, _)| places[id.0 as usize] == place) {
            let Some(known) =
                around[relation.0 as usize].and_then(|known| known.and(Possible::guards(ast, sides)))
            else {
                continue;
            };
            for_each_load(ast, sides, |Load { id: load, proto, guarded }| {
                let guard = Possible::guard(proto).filter(|_| !guarded);
                if let Some(lost) = guard.and_then(|guard| lost(known, guard)) {
                    unguarded.push(Unguarded { relation, load, proto, lost });
                }
            });
        }
    }
    unguarded.sort_by_key(|unguarded| unguarded.relation.0);
    unguarded
}

/// What does not follow from what is known.
fn lost(known: Possible, guard: Possible) -> Option<Lost> {
    let of_networks = known.has_networks_of(guard);
    let of_protocols = known.has_protocols_of(guard);
    match (of_networks, of_protocols) {
        (true, true) => (guard.starts && !known.starts).then_some(Lost::FirstFragment),
        (false, true) if known.is_ip() => Some(Lost::Version),
        _ => Some(Lost::Protocol),
    }
}

fn loses_guards(ast: &Ast, sides: [ArithId; 2]) -> bool {
    let mut lost = false;
    for_each_load(ast, sides, |load| lost |= !load.guarded && Possible::guard(load.proto).is_some());
    lost
}

/// Which headers a part looks at: those behind this encapsulation, or the outer ones.
type Place = Option<u32>;

/// By part: where it begins to look.
fn places(ast: &Ast, dialect: Dialect) -> Vec<Place> {
    // The last encapsulation in each part that still holds to its right.
    let mut moves: Vec<Place> = Vec::with_capacity(ast.exprs.len());
    for (id, expr) in ast.exprs.iter().enumerate() {
        let of = |part: ExprId| moves[part.0 as usize];
        moves.push(match *expr {
            Expr::Or(..) | Expr::Not(_) | Expr::Group(_) if dialect.scoped => None,
            Expr::And(a, b) | Expr::Or(a, b) => of(b).or(of(a)),
            Expr::Not(a) | Expr::Group(a) => of(a),
            ref primitive => super::is_encapsulation(primitive).then_some(id as u32),
        });
    }
    let mut places = vec![None; moves.len()];
    // Operators have greater ids than their operands.
    for (id, expr) in ast.exprs.iter().enumerate().rev() {
        let here = places[id];
        match *expr {
            Expr::And(a, b) | Expr::Or(a, b) => {
                let is_undone = dialect.scoped && matches!(expr, Expr::Or(..));
                places[a.0 as usize] = here;
                places[b.0 as usize] = moves[a.0 as usize].filter(|_| !is_undone).or(here);
            }
            Expr::Not(a) | Expr::Group(a) => places[a.0 as usize] = here,
            _ => {}
        }
    }
    places
}

/// By part: what the packets are like for which it matters, as far as the other operands of each `and` and `or` around it tell
/// that look at the same headers. `None` where that is no packet.
fn around(ast: &Ast, linktype: LinkType, places: &[Place], place: Place) -> Vec<Option<Possible>> {
    let outer = place.is_none().then_some(linktype);
    let outcomes = |id: ExprId| match places[id.0 as usize] == place {
        true => Outcomes::of(ast, ast.expr(id), outer),
        false => Outcomes::ANY,
    };
    let outcomes = parts(ast, outcomes, |_, _| {});
    let told = outer.map_or(Possible::ANY, Possible::on);
    let mut around = vec![Some(told); outcomes.len()];
    for (id, expr) in ast.exprs.iter().enumerate().rev() {
        let here = around[id];
        match *expr {
            Expr::And(a, b) => {
                for (one, other) in [(a, b), (b, a)] {
                    around[one.0 as usize] =
                        here.and_then(|here| here.and(outcomes[other.0 as usize].accepted));
                }
            }
            Expr::Or(a, b) => {
                for (one, other) in [(a, b), (b, a)] {
                    around[one.0 as usize] =
                        here.and_then(|here| here.and(outcomes[other.0 as usize].refused));
                }
            }
            Expr::Not(a) | Expr::Group(a) => around[a.0 as usize] = here,
            _ => {}
        }
    }
    around
}
