//! Warnings that the syntax tree alone can give: operators that bind otherwise than they look, and parts that
//! exclude each other.
//!
//! What depends on offsets and widths (encapsulations, loads, comparisons) is the business of lowering. What only the
//! optimiser finds out is told of the filter as a whole ([`of_whole`]).
//!
//! Contradictions are found by computing for each part, operands first, what every packet it accepts must be like
//! ([`Possible`]). An intersection that comes out empty accepts nothing.

pub(crate) mod guards;
mod order;
mod possible;
#[cfg(test)]
mod tests;
mod whole;

use crate::diag::{Code, Diagnostic};
use crate::lower::{for_each_load, tells_protocols};
use crate::options::Dialect;
use crate::syntax::ast::{Ast, AtmType, Expr, ExprId, Proto};
use crate::syntax::fmt;
use crate::syntax::words;
use guards::Lost;
pub(crate) use order::out_of_order;
use possible::{Outcomes, Possible};
pub(crate) use whole::of_whole;
use wire::LinkType;

/// More than this nobody reads.
const LINTS_MAX: usize = 20;
/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 100;

/// The warnings about a filter, in the order of the text.
///
/// ```
/// use pflang::internals::{lint::lint, syntax::parse::parse};
/// use pflang::{Code, Dialect, Limits};
/// use wire::LinkType;
///
/// let source = "tcp or udp and port 53";
/// let ast = parse(source, &Dialect::default(), &Limits::default()).unwrap();
/// let lints = lint(&ast, source, LinkType::EN10MB, Dialect::default());
/// assert_eq!(lints[0].code, Code::Precedence);
/// ```
pub fn lint(ast: &Ast, source: &str, linktype: LinkType, dialect: Dialect) -> Vec<Diagnostic> {
    let mut lints: Vec<Diagnostic> = precedence(ast, source).into_iter().collect();
    lints.extend(negated_list(ast, source));
    lints.extend(either_way(ast));
    // Where headers of extension are walked, a packet is of each of their protocols.
    if !dialect.ipv6 {
        lints.extend(contradictions(ast, linktype));
    }
    lints.extend(lost_guards(ast, linktype, dialect));
    lints.sort_by_key(|lint| (lint.span.start, lint.code));
    lints.truncate(LINTS_MAX);
    lints
}

/// `a or b and c`, which is `(a or b) and c`; said once. The other way round, `a and b or c` is what everybody
/// expects.
fn precedence(ast: &Ast, source: &str) -> Option<Diagnostic> {
    let (id, left, right) = ast.exprs.iter().enumerate().find_map(|(i, expr)| match *expr {
        Expr::And(left, right) if matches!(ast.expr(left), Expr::Or(..)) => {
            Some((ExprId(i as u32), left, right))
        }
        _ => None,
    })?;
    let found =
        Diagnostic::new(Code::Precedence, ast.span(id), "`and` and `or` bind equally, from left to right")
            .label("the `and` holds for all that stands to its left");
    let Expr::Or(first, last) = *ast.expr(left) else { return Some(found) };
    let short = ast.span(id).text(source).len() < SUGGESTION_MAX;
    Some(match short {
        true => {
            let [first, last, right] = [first, last, right].map(|part| fmt::expr(ast, part));
            found.help(format!(
                "write `({first} or {last}) and {right}`, or `{first} or ({last} and {right})`"
            ))
        }
        false => found.help("put parentheses around the `or`, or around the `and`"),
    })
}

/// `not port 80 or 443`, which is true of port 443; said once.
fn negated_list(ast: &Ast, source: &str) -> Option<Diagnostic> {
    let (id, negated, right) = ast.exprs.iter().enumerate().find_map(|(i, expr)| match *expr {
        Expr::Or(left, right) if is_bare(ast, right, source) => match *ast.expr(left) {
            Expr::Not(negated) if matches!(ast.expr(negated), Expr::Id(..)) => {
                Some((ExprId(i as u32), negated, right))
            }
            _ => None,
        },
        _ => None,
    })?;
    let [first, second] = [negated, right].map(|part| fmt::expr(ast, part));
    Some(
        Diagnostic::new(Code::Precedence, ast.span(id), "`not` negates the first of these only")
            .label(format!("this is `(not {first}) or {second}`"))
            .help(format!("to exclude both, write `not ({first} or {second})`")),
    )
}

/// `tcp or not tcp`; said once. What an encapsulation stands in is not the same twice.
fn either_way(ast: &Ast) -> Option<Diagnostic> {
    let is_not = |expr: &Expr| matches!(expr, Expr::Not(_));
    if ast.exprs.iter().any(is_encapsulation) || !ast.exprs.iter().any(is_not) {
        return None;
    }
    let id = ast.exprs.iter().enumerate().find_map(|(i, expr)| match *expr {
        Expr::Or(left, right) if is_negation(ast, left, right) || is_negation(ast, right, left) => {
            Some(ExprId(i as u32))
        }
        _ => None,
    })?;
    let words = "this is true of every packet that has the bytes it reads";
    let found = Diagnostic::new(Code::AlwaysTrue, ast.span(id), words);
    Some(found.label("one or the other always holds"))
}

/// Whether `negated` is `not` before what `part` is.
fn is_negation(ast: &Ast, part: ExprId, negated: ExprId) -> bool {
    let Expr::Not(negated) = *ast.expr(ungrouped(ast, negated)) else { return false };
    let [part, negated] = [part, negated].map(|id| ungrouped(ast, id));
    let [one, other] = [part, negated].map(|id| ast.span(id));
    // Of long ones nobody writes both.
    one.end - one.start <= SUGGESTION_MAX as u32
        && other.end - other.start <= SUGGESTION_MAX as u32
        && fmt::expr(ast, part) == fmt::expr(ast, negated)
}

/// Whether an identifier has no qualifiers of its own.
fn is_bare(ast: &Ast, id: ExprId, source: &str) -> bool {
    let first = ast.span(id).text(source).split([' ', '\t', '\r', '\n']).next().unwrap_or("");
    matches!(ast.expr(id), Expr::Id(..)) && words::word(first).is_none()
}

/// The conjunctions that no packet satisfies.
fn contradictions(ast: &Ast, linktype: LinkType) -> Vec<Diagnostic> {
    let mut lints = Vec::new();
    // Behind an encapsulation the same words look at another header.
    if ast.exprs.iter().any(is_encapsulation) {
        return lints;
    }
    let tells = tells_protocols(linktype);
    let outcomes = |id| match Outcomes::of(ast, ast.expr(id), Some(linktype)) {
        outcomes if tells => outcomes,
        outcomes => Outcomes { accepted: outcomes.accepted.length_only(), ..Outcomes::ANY },
    };
    parts(ast, outcomes, |sides, accepted| lints.push(contradiction(ast, sides, accepted)));
    lints
}

/// What the packets are like that each part accepts or does not, by its id, from `primitive`, which says so of each primitive;
/// `exclusive` is given the operands of each `and` that accepts none, and what they accept.
fn parts(
    ast: &Ast,
    primitive: impl Fn(ExprId) -> Outcomes,
    mut exclusive: impl FnMut([ExprId; 2], [Possible; 2]),
) -> Vec<Outcomes> {
    let mut outcomes: Vec<Outcomes> = Vec::with_capacity(ast.exprs.len());
    for (id, expr) in ast.exprs.iter().enumerate() {
        let of = |id: &ExprId| outcomes[id.0 as usize];
        outcomes.push(match expr {
            Expr::Group(a) => of(a),
            Expr::Not(a) => of(a).not(),
            Expr::Or(a, b) => Outcomes {
                accepted: of(a).accepted.or(of(b).accepted),
                refused: of(a).refused.and(of(b).refused).unwrap_or(Possible::ANY),
            },
            Expr::And(a, b) => Outcomes {
                accepted: of(a).accepted.and(of(b).accepted).unwrap_or_else(|| {
                    exclusive([*a, *b], [of(a).accepted, of(b).accepted]);
                    // Said once: the rest of the filter may be right.
                    Possible::ANY
                }),
                refused: of(a).refused.or(of(b).refused),
            },
            _ => primitive(ExprId(id as u32)),
        });
    }
    outcomes
}

/// `len - ip[0] > 5`, which reads a byte of any packet; said once of each relation.
fn lost_guards(ast: &Ast, linktype: LinkType, dialect: Dialect) -> Vec<Diagnostic> {
    let mut unguarded = guards::unguarded(ast, linktype, dialect);
    // That a load reads later fragments as well is true of most, and said by `explain`.
    unguarded.retain(|unguarded| unguarded.lost != Lost::FirstFragment);
    unguarded.dedup_by_key(|unguarded| unguarded.relation);
    let lint = |&guards::Unguarded { load, proto, lost, .. }: &guards::Unguarded| {
        let name = proto.name();
        let message = match lost {
            Lost::Version => format!("`{name}[…]` is read here from IPv6 packets, too, as if they were IPv4"),
            _ => format!("`{name}[…]` is read here whatever the packet carries"),
        };
        let asked = match proto {
            // The words are of both versions of IP, the bytes are read from IPv4.
            Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim => format!("ip and {name}"),
            _ => name.to_owned(),
        };
        Diagnostic::new(Code::LostGuard, ast.arith_spans[load.0 as usize], message)
            .label(format!("an operator asks for the protocol of its left operand only, not for `{name}`"))
            .help(format!("put `{asked} and` in front of the comparison"))
    };
    unguarded.iter().map(lint).collect()
}

fn contradiction(ast: &Ast, sides: [ExprId; 2], accepted: [Possible; 2]) -> Diagnostic {
    let found = exclusive(ast, sides);
    let [a, b] = sides.map(|side| ip4_only_load(ast, side));
    let of_ip4 = a.filter(|_| accepted[1].is_ip6()).or(b.filter(|_| accepted[0].is_ip6()));
    match of_ip4.map(Proto::name) {
        Some(name) => {
            found.help(format!("`{name}[…]` sees IPv4 only; the `ipv6` dialect looks into IPv6, too"))
        }
        None => found.help("write `or` to accept either"),
    }
}

fn exclusive(ast: &Ast, sides: [ExprId; 2]) -> Diagnostic {
    let [left, right] = sides.map(|side| ast.span(side));
    let found = Diagnostic::new(Code::AlwaysFalse, right, "these exclude each other: no packet is both");
    let mut found = found.label("this and");
    found.also = Some((left, "this".to_owned()));
    found
}

/// Without the parentheses around it.
fn ungrouped(ast: &Ast, mut id: ExprId) -> ExprId {
    while let Expr::Group(inside) = *ast.expr(id) {
        id = inside;
    }
    id
}

/// What a comparison reads from IPv4 only, though IPv6 carries it as well.
fn ip4_only_load(ast: &Ast, id: ExprId) -> Option<Proto> {
    let Expr::Relation(_, a, b) = *ast.expr(ungrouped(ast, id)) else { return None };
    let mut found = None;
    for_each_load(ast, [a, b], |load| {
        let is_one = matches!(load.proto, Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim);
        found = found.or(Some(load.proto).filter(|_| is_one));
    });
    found
}

fn is_encapsulation(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Atm(AtmType::Lane)
            | Expr::Vlan(_)
            | Expr::Mpls(_)
            | Expr::Pppoes(_)
            | Expr::Geneve(_)
            | Expr::Vxlan(_)
            | Expr::Pppoed
    )
}
