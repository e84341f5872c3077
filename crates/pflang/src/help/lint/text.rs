//! Warnings that the syntax tree alone can give: operators that bind otherwise than they look, and words that mean another thing than
//! they seem to.

use super::{Linted, SUGGESTION_MAX, ungrouped};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::lower::{for_each_load, left_aligned};
use crate::syntax::ast::{Arith, ArithId, Ast, Expr, ExprId, Id, Kind, Proto, Quals, RelOp, SetItem};
use crate::syntax::parse::member;
use crate::syntax::{fmt, range, words};
use std::net::Ipv4Addr;

pub(super) fn lints(linted: Linted<'_>) -> Vec<Diagnostic> {
    let Linted { ast, source, .. } = linted;
    let mut lints: Vec<Diagnostic> = precedence(ast, source).into_iter().collect();
    lints.extend(negated_list(ast, source));
    lints.extend(not_over_loads(ast));
    lints.extend(ip4_only(linted));
    lints.extend(ast.exprs.iter().zip(&ast.expr_spans).filter_map(|(expr, span)| not_equal(expr, *span)));
    lints.extend(addresses(linted));
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
    let short = ast.span(id).text(source).len() < SUGGESTION_MAX / 2;
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

/// Whether an identifier has no qualifiers of its own.
fn is_bare(ast: &Ast, id: ExprId, source: &str) -> bool {
    let first = ast.span(id).text(source).split([' ', '\t', '\r', '\n']).next().unwrap_or("");
    matches!(ast.expr(id), Expr::Id(..)) && words::word(first).is_none()
}

/// `not port 80 or not port 443`: the identifiers of a chain of `or` that are all negated and asked for alike.
pub(super) fn negated_alternatives(ast: &Ast, or: ExprId) -> Option<Vec<ExprId>> {
    let mut asked: Option<Quals> = None;
    let mut negated = |&id: &ExprId| {
        let Expr::Not(inside) = *ast.expr(ungrouped(ast, id)) else { return None };
        let inside = ungrouped(ast, inside);
        let Expr::Id(quals, _) = *ast.expr(inside) else { return None };
        (*asked.get_or_insert(quals) == quals).then_some(inside)
    };
    ast.chain(or).iter().map(&mut negated).collect()
}

/// `not` before comparisons that read fields.
fn not_over_loads(ast: &Ast) -> Vec<Diagnostic> {
    // By part: whether there is such a comparison in it. Operands have smaller ids.
    let mut reads: Vec<bool> = Vec::with_capacity(ast.exprs.len());
    let mut lints = Vec::new();
    for (expr, span) in ast.exprs.iter().zip(&ast.expr_spans) {
        let of = |id: &ExprId| reads[id.0 as usize];
        let is_reading = match expr {
            Expr::And(a, b) | Expr::Or(a, b) => of(a) || of(b),
            Expr::Not(a) | Expr::Group(a) => of(a),
            Expr::Relation(_, a, b) => loads(ast, *a) || loads(ast, *b),
            _ => false,
        };
        reads.push(is_reading);
        if is_reading && matches!(expr, Expr::Not(_)) {
            let words = "a packet too short for a field read here is rejected, `not` or no `not`";
            lints.push(Diagnostic::new(Code::NotOverLoad, *span, words));
        }
    }
    lints
}

/// Whether a packet can be too short for it.
fn loads(ast: &Ast, root: ArithId) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if let Arith::Load { .. } | Arith::AddressOf { .. } = ast.arith(id) {
            return true;
        }
        pending.extend(ast.arith_operands(id));
    }
    false
}

/// `tcp[…]` looks at IPv4 only; said once. A load whose guard is lost does see other packets, unless something else in the filter asks for
/// IPv4.
fn ip4_only(linted: Linted<'_>) -> Option<Diagnostic> {
    let Linted { ast, compiler, .. } = linted;
    if compiler.dialect.ipv6 {
        return None;
    }
    ast.exprs.iter().zip(&ast.expr_spans).find_map(|(expr, span)| {
        let Expr::Relation(_, a, b) = *expr else { return None };
        let word = ip4_only_load(ast, [a, b])?.name();
        Some(Diagnostic::new(Code::NoIpv6, *span, format!("`{word}[…]` never sees IPv6 packets")).help(
            "the `ipv6` dialect looks there too; without it, `ip6[40 + …]` reads behind a plain IPv6 header",
        ))
    })
}

/// What a comparison reads from IPv4 only, though IPv6 carries it as well.
pub(super) fn ip4_only_load(ast: &Ast, sides: [ArithId; 2]) -> Option<Proto> {
    let mut found = None;
    for_each_load(ast, sides, |load| {
        let is_one = matches!(load.proto, Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim);
        found = found.or(Some(load.proto).filter(|_| is_one && load.guarded));
    });
    found
}

/// `vpi != 5`.
fn not_equal(expr: &Expr, span: Span) -> Option<Diagnostic> {
    let (Expr::AtmField(_, RelOp::Ne, _) | Expr::Mtp3Field(_, RelOp::Ne, _)) = expr else { return None };
    let words = fmt::leaf(expr);
    let name = words.split(' ').next().unwrap_or_default();
    let message = format!("`!=` after `{name}` means `=`, as in libpcap");
    let help = "write `not` in front of it, and `=`";
    Some(Diagnostic::new(Code::NotEqualIsEqual, span, message).help(help))
}

/// Addresses that are others than they look, alone or as members of sets.
fn addresses(linted: Linted<'_>) -> Vec<Diagnostic> {
    let Linted { ast, compiler, .. } = linted;
    let mut lints = Vec::new();
    for (expr, span) in ast.exprs.iter().zip(&ast.expr_spans) {
        match expr {
            Expr::Id(quals, id) => lints.extend(address(*quals, id, *span, Stands::Alone)),
            Expr::In(quals, items) => {
                for item in items {
                    match item {
                        SetItem::Id(id, span) => lints.extend(address(*quals, id, *span, Stands::InSet)),
                        SetItem::File(path, span) => {
                            let text = compiler.names.set_file(path).unwrap_or_default();
                            let of_line = |line: &str| {
                                let line = line.split('#').next().unwrap_or("").trim_end();
                                match member(line, *quals, &compiler.dialect, &compiler.limits).ok()? {
                                    SetItem::Id(id, _) => address(*quals, &id, *span, Stands::InSet),
                                    _ => None,
                                }
                            };
                            // One has the place of all.
                            lints.extend(text.lines().find_map(of_line));
                        }
                        SetItem::Range(..) | SetItem::Addresses(..) => {}
                    }
                }
            }
            _ => {}
        }
    }
    lints
}

/// Where an address stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Alone,
    InSet,
}

/// An address that is another than it looks.
fn address(quals: Quals, id: &Id, span: Span, stands: Stands) -> Option<Diagnostic> {
    let found = match (quals.kind, quals.proto, id) {
        (None | Some(Kind::Host), None, &Id::Number(number)) => port_as_host(number, quals, stands),
        (None | Some(Kind::Host), proto, &Id::V4 { value, bits: bits @ ..32 })
            if proto != Some(Proto::Decnet) =>
        {
            Some(net_as_host(left_aligned(value, bits), bits, quals, stands))
        }
        _ => None,
    };
    let other = found.map(|(message, help)| Diagnostic::new(Code::OtherAddress, span, message).help(help));
    other.or_else(|| Some(Diagnostic::new(Code::AlwaysTrue, span, all_of_them(quals, id)?)))
}

/// `net 0.0.0.0/0` and `portrange 0-65535`, which ask for less than they seem to.
fn all_of_them(quals: Quals, id: &Id) -> Option<&'static str> {
    const PORTS: [(u32, u32); 2] = [(0, 65535), (65535, 0)];
    match (quals.kind, id) {
        (_, Id::V4Prefix { len: 0, .. } | Id::V4Mask { mask: 0, .. }) => {
            Some("every IPv4 address is in this network: only the protocol is asked for")
        }
        (_, Id::V6Prefix(_, 0)) => {
            Some("every IPv6 address is in this network: only the protocol is asked for")
        }
        (Some(Kind::Portrange), Id::Name(name))
            if range::numbers(name).is_some_and(|ends| PORTS.contains(&ends)) =>
        {
            Some("every port is in this range: it is only asked whether there are ports")
        }
        _ => None,
    }
}

/// `src 80`, which is the host 0.0.0.80. Nobody means a host whose number is that of a port; 0 is none that packets are sent to.
fn port_as_host(number: u32, quals: Quals, stands: Stands) -> Option<(String, String)> {
    let number = u16::try_from(number).ok().filter(|&number| number > 0)?;
    let address = Ipv4Addr::from(u32::from(number));
    let [port, host] = [Kind::Port, Kind::Host].map(|kind| Quals { kind: Some(kind), ..quals });
    let help = match stands {
        Stands::InSet => format!("write `{port}in {{{number}}}` for the port, `{address}` for the host"),
        Stands::Alone => format!("write `{port}{number}` for the port, `{host}{address}` for the host"),
    };
    Some((format!("this is the host {address}, not a port"), help))
}

/// `host 10.1.2`, which is a net.
fn net_as_host(address: u32, len: u8, quals: Quals, stands: Stands) -> (String, String) {
    let (first, last) = (Ipv4Addr::from(address), Ipv4Addr::from(address | u32::MAX >> len));
    let quals = Quals { kind: Some(Kind::Net), ..quals };
    let quals = if stands == Stands::InSet { String::new() } else { quals.to_string() };
    let help = format!("write `{quals}{first}/{len}` for these; one host has four numbers");
    (format!("this is a net: all hosts from {first} to {last}"), help)
}
