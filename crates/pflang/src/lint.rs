//! Warnings that the syntax tree alone can give: operators that bind otherwise than they look, and parts that
//! exclude each other.
//!
//! What depends on offsets and widths (encapsulations, loads, comparisons) is the business of lowering.
//!
//! Contradictions are found by computing for each part, operands first, what every packet it accepts must be like
//! (`Possible`, an over-approximation: `or` unites, `and` intersects, `not` forgets). An intersection that comes
//! out empty accepts nothing.

use crate::diag::{Code, Diagnostic};
use crate::options::Dialect;
use crate::span::Span;
use crate::syntax::ast::{Arith, Ast, AtmType, Dir, Expr, ExprId, Id, Kind, Proto, Quals, RelOp};
use crate::syntax::fmt;
use crate::syntax::words;

#[cfg(test)]
mod tests;

/// More than this nobody reads.
const LINTS_MAX: usize = 20;
/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 100;

/// The warnings about a filter, in the order of the text.
///
/// ```
/// use pflang::internals::{lint::lint, syntax::parse::parse};
/// use pflang::{Code, Dialect, Limits};
///
/// let source = "tcp or udp and port 53";
/// let ast = parse(source, &Dialect::default(), &Limits::default()).unwrap();
/// assert_eq!(lint(&ast, source, Dialect::default())[0].code, Code::Precedence);
/// ```
pub fn lint(ast: &Ast, source: &str, dialect: Dialect) -> Vec<Diagnostic> {
    let mut lints: Vec<Diagnostic> = precedence(ast, source).into_iter().collect();
    lints.extend(negated_list(ast, source));
    // Where headers of extension are walked, a packet is of each of their protocols.
    if !dialect.ipv6 {
        lints.extend(contradictions(ast));
    }
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

/// Whether an identifier stands without qualifiers of its own.
fn is_bare(ast: &Ast, id: ExprId, source: &str) -> bool {
    let first = ast.span(id).text(source).split([' ', '\t', '\r', '\n']).next().unwrap_or("");
    matches!(ast.expr(id), Expr::Id(..)) && words::word(first).is_none()
}

/// The conjunctions that no packet satisfies.
fn contradictions(ast: &Ast) -> Vec<Diagnostic> {
    let mut lints = Vec::new();
    // Behind an encapsulation the same words look at another header.
    if ast.exprs.iter().any(is_encapsulation) {
        return lints;
    }
    let mut possible: Vec<Possible> = Vec::with_capacity(ast.exprs.len());
    for expr in &ast.exprs {
        let of = |id: &ExprId| possible[id.0 as usize];
        possible.push(match expr {
            Expr::Group(a) => of(a),
            Expr::Or(a, b) => of(a).or(of(b)),
            Expr::And(a, b) => match of(a).and(of(b)) {
                Some(both) => both,
                None => {
                    lints.push(contradiction(ast.span(*a), ast.span(*b)));
                    // Said once: what stands around it may be right.
                    Possible::ANY
                }
            },
            primitive => Possible::of(ast, primitive),
        });
    }
    lints
}

fn contradiction(left: Span, right: Span) -> Diagnostic {
    let mut found = Diagnostic::new(Code::AlwaysFalse, right, "these exclude each other: no packet is both")
        .label("this and")
        .help("write `or` to accept either");
    found.also = Some((left, "this".to_owned()));
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

/// Network layers, as bits.
const IP4: u8 = 1;
const IP6: u8 = 2;
const ARP: u8 = 4;
const RARP: u8 = 8;
const OTHER: u8 = 16;

/// IP protocols that are told apart, as bits; the last stands for all others.
const PROTOCOLS: [u32; 11] = [1, 2, 6, 9, 17, 50, 51, 58, 103, 112, 132];

/// What the packets that a part accepts can be like.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Possible {
    /// Which network layers.
    networks: u8,
    /// Which IP protocols; means nothing for other network layers.
    protocols: u16,
    /// Smallest and largest wire length.
    length: (u32, u32),
    /// The source and destination port, where it must be one.
    ports: [Option<u32>; 2],
}

impl Possible {
    const ANY: Possible =
        Possible { networks: 0x1f, protocols: u16::MAX, length: (0, u32::MAX), ports: [None, None] };

    fn or(self, other: Possible) -> Possible {
        let same = |i: usize| self.ports[i].filter(|_| self.ports[i] == other.ports[i]);
        Possible {
            networks: self.networks | other.networks,
            protocols: self.protocols | other.protocols,
            length: (self.length.0.min(other.length.0), self.length.1.max(other.length.1)),
            ports: [same(0), same(1)],
        }
    }

    /// `None` if no packet is both.
    fn and(self, other: Possible) -> Option<Possible> {
        let mut ports = [None, None];
        for (i, port) in ports.iter_mut().enumerate() {
            if let (Some(a), Some(b)) = (self.ports[i], other.ports[i])
                && a != b
            {
                return None;
            }
            *port = self.ports[i].or(other.ports[i]);
        }
        let both = Possible {
            networks: self.networks & other.networks,
            protocols: self.protocols & other.protocols,
            length: (self.length.0.max(other.length.0), self.length.1.min(other.length.1)),
            ports,
        };
        let only_ip = both.networks & (ARP | RARP | OTHER) == 0;
        let empty = both.networks == 0 || (only_ip && both.protocols == 0) || both.length.0 > both.length.1;
        (!empty).then_some(both)
    }

    fn of(ast: &Ast, expr: &Expr) -> Possible {
        match expr {
            Expr::Proto(proto) => Possible::proto(*proto),
            Expr::Id(quals, id) => Possible::id(*quals, Some(id)),
            Expr::In(quals, _) => Possible::id(*quals, None),
            Expr::Less(most) => Possible { length: (0, *most), ..Possible::ANY },
            Expr::Greater(least) => Possible { length: (*least, u32::MAX), ..Possible::ANY },
            Expr::Relation(op, a, b) => match (ast.arith(*a), ast.arith(*b)) {
                (Arith::Len, Arith::Number(n)) => Possible::length(*op, n),
                _ => Possible::ANY,
            },
            Expr::Broadcast(Some(Proto::Ip)) | Expr::Multicast(Some(Proto::Ip)) => Possible::networks(IP4),
            Expr::Multicast(Some(Proto::Ip6)) => Possible::networks(IP6),
            _ => Possible::ANY,
        }
    }

    fn networks(networks: u8) -> Possible {
        Possible { networks, ..Possible::ANY }
    }

    fn ip(networks: u8, number: u32) -> Possible {
        Possible { networks, protocols: bit(number), ..Possible::ANY }
    }

    fn proto(proto: Proto) -> Possible {
        match proto {
            Proto::Ip => Possible::networks(IP4),
            Proto::Ip6 => Possible::networks(IP6),
            Proto::Arp => Possible::networks(ARP),
            Proto::Rarp => Possible::networks(RARP),
            Proto::Tcp => Possible::ip(IP4 | IP6, 6),
            Proto::Udp => Possible::ip(IP4 | IP6, 17),
            Proto::Sctp => Possible::ip(IP4 | IP6, 132),
            Proto::Esp => Possible::ip(IP4 | IP6, 50),
            Proto::Ah => Possible::ip(IP4 | IP6, 51),
            Proto::Pim => Possible::ip(IP4 | IP6, 103),
            Proto::Icmp => Possible::ip(IP4, 1),
            Proto::Igmp => Possible::ip(IP4, 2),
            Proto::Igrp => Possible::ip(IP4, 9),
            Proto::Vrrp | Proto::Carp => Possible::ip(IP4, 112),
            Proto::Icmp6 => Possible::ip(IP6, 58),
            Proto::Link | Proto::Radio => Possible::ANY,
            _ => Possible::networks(OTHER),
        }
    }

    /// An identifier, or with `None` a set of them.
    fn id(quals: Quals, id: Option<&Id>) -> Possible {
        match quals.kind {
            Some(Kind::Port | Kind::Portrange) => Possible::port(quals, id),
            Some(Kind::Proto) => Possible::number(quals, id),
            Some(Kind::Protochain | Kind::Gateway) => Possible::ANY,
            None | Some(Kind::Host | Kind::Net) => match (quals.proto, id) {
                (Some(proto), _) => Possible::proto(proto),
                (None, Some(Id::V6(_) | Id::V6Prefix(..))) => Possible::networks(IP6),
                (None, None | Some(Id::Name(_))) => Possible::networks(IP4 | IP6 | ARP | RARP),
                (None, Some(_)) => Possible::networks(IP4 | ARP | RARP),
            },
        }
    }

    fn port(quals: Quals, id: Option<&Id>) -> Possible {
        let protocol = match quals.proto {
            Some(proto) => Possible::proto(proto),
            None => Possible { networks: IP4 | IP6, protocols: bit(6) | bit(17) | bit(132), ..Possible::ANY },
        };
        let number = match (quals.kind, id) {
            (Some(Kind::Port), Some(Id::Number(number))) => Some(*number),
            _ => None,
        };
        let ports = match quals.dir {
            Some(Dir::Src) => [number, None],
            Some(Dir::Dst) => [None, number],
            _ => [None, None],
        };
        Possible { ports, ..protocol }
    }

    /// `proto n`. An IPv6 fragment header (44) may stand in front of any other protocol, so it says nothing.
    fn number(quals: Quals, id: Option<&Id>) -> Possible {
        const FRAGMENT: u32 = 44;
        let networks = match quals.proto {
            None => IP4 | IP6,
            Some(Proto::Ip) => IP4,
            Some(Proto::Ip6) => IP6,
            Some(_) => return Possible::ANY,
        };
        match id {
            Some(Id::Number(number)) if *number != FRAGMENT => Possible::ip(networks, *number),
            _ => Possible::networks(networks),
        }
    }

    fn length(op: RelOp, n: u32) -> Possible {
        let length = match op {
            RelOp::Eq => (n, n),
            RelOp::Ne => (0, u32::MAX),
            RelOp::Lt => (0, n.saturating_sub(1)),
            RelOp::Le => (0, n),
            RelOp::Gt => (n.saturating_add(1), u32::MAX),
            RelOp::Ge => (n, u32::MAX),
        };
        Possible { length, ..Possible::ANY }
    }
}

fn bit(protocol: u32) -> u16 {
    1 << PROTOCOLS.iter().position(|known| *known == protocol).unwrap_or(PROTOCOLS.len())
}
