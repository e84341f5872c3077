//! What the parser accepts, what it makes of it, and what it says about the rest.

use super::parse;
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::options::{Dialect, Limits};
use crate::syntax::ast::{Arith, Ast, Expr, Id, Kind, SetItem};
use crate::syntax::fmt::canonical;

fn ast(source: &str) -> Ast {
    parse(source, &Dialect::default(), &Limits::default())
        .unwrap_or_else(|error| panic!("{source}: {error:?}"))
}

fn error(source: &str) -> Diagnostic {
    match parse(source, &Dialect::default(), &Limits::default()) {
        Ok(ast) => panic!("accepted {source} as {}", canonical(&ast)),
        Err(error) => *error,
    }
}

/// What is left of a tree when two texts of one filter are compared.
fn without_spans(mut ast: Ast) -> (Vec<Expr>, Vec<Arith>) {
    for expr in &mut ast.exprs {
        let Expr::In(_, items) = expr else { continue };
        for item in items {
            match item {
                SetItem::Id(_, span)
                | SetItem::Range(_, _, span)
                | SetItem::Addresses(_, _, span)
                | SetItem::File(_, span) => *span = Span::default(),
            }
        }
    }
    (ast.exprs, ast.ariths)
}

/// Filters and their canonical texts, each of which must be its own.
#[rustfmt::skip]
const CANONICAL: &[(&str, &str)] = &[
    ("", ""), ("  \t\n", ""),
    ("tcp", "tcp"), ("link", "ether"), ("is-is", "isis"),
    ("tcp port 80", "tcp port 80"),
    // Implicit qualifiers.
    ("host a or b", "host a or host b"),
    ("not host vs and ace", "not host vs and host ace"),
    ("port 80 or 443", "port 80 or port 443"),
    ("host (a or b)", "(host a or host b)"),
    ("host (a or not b and (c))", "(host a or not host b and (host c))"),
    ("host not a or b", "not host a or host b"),
    ("port ((80))", "port 80"), ("port ((80) or 443)", "(port 80 or port 443)"),
    ("src foo and bar", "src foo and src bar"),
    ("host a and (b or c)", "host a and (host b or host c)"),
    ("host a and (not b or c)", "host a and (not host b or host c)"),
    ("host a and (not host b or c)", "host a and (not host b or host c)"),
    ("host a and (not (b))", "host a and (not (host b))"),
    ("port 22 and (80)", "port 22 and port 80"),
    ("port 22 and (80 or 443)", "port 22 and (port 80 or port 443)"),
    ("port 22 or (80 + 1 = len)", "port 22 or (80 + 1 = len)"),
    ("host x and (port 80) and y", "host x and (port 80) and host y"),
    ("port 22 and not 80", "port 22 and not port 80"),
    // Directions.
    ("src or dst port 80", "src or dst port 80"), ("dst and src host a", "src and dst host a"),
    ("tcp src portrange 1-2", "tcp src portrange 1-2"), ("wlan ra 1:2:3:4:5:6", "ether ra 01:02:03:04:05:06"),
    ("address1 a", "addr1 a"),
    // Identifiers.
    ("net 10.1", "net 10.1"), ("net 10.0.0.0/8", "net 10.0.0.0/8"),
    ("net 10.0.0.0 mask 255.0.0.0", "net 10.0.0.0 mask 255.0.0.0"),
    ("ip6 net fe80::/10", "ip6 net fe80::/10"), ("host ::FFFF:1.2.3.4", "host ::ffff:1.2.3.4"),
    ("ether host 0-1-2-3-4-5", "ether host 00:01:02:03:04:05"),
    ("decnet host 1.2000", "decnet host 1.976"), ("decnet src 1.2", "decnet src 1.2"),
    ("link host $5", "ether host $5"), ("host 010.0.0.1", "host 10.0.0.1"),
    (r"proto \tcp", r"proto \tcp"), (r"host \foo", "host foo"), (r"host \a&b", r"host \a&b"),
    ("ether proto 0x800", "ether proto 2048"), ("ip protochain 6", "ip protochain 6"),
    ("gateway gw", "gateway gw"), ("host in", "host in"), ("host vxlan", "host vxlan"),
    // Arithmetic.
    ("ip[0] & 0xf != 5", "ip[0] & 15 != 5"), ("len - ip[0] > 5", "len - ip[0] > 5"),
    ("ip[0] % 4 + 1 = 2", "ip[0] % (4 + 1) = 2"), ("2 * ip[0] % 3 = 1", "2 * (ip[0] % 3) = 1"),
    ("ip[0] ^ 3 & 1 = 1", "ip[0] ^ (3 & 1) = 1"), ("-ip[0] % 2 = 0", "-(ip[0] % 2) = 0"),
    ("-ip[0] * 2 = 0", "(-ip[0]) * 2 = 0"), ("- -1 = 1", "-(-1) = 1"),
    ("ip[1] & 0xfc >> 2 = 1", "ip[1] & (252 >> 2) = 1"), ("1 | 2 & 3 << 4 + 5 * 6 = 0", "1 | (2 & (3 << (4 + (5 * 6)))) = 0"),
    ("1 - 2 - 3 = 0", "(1 - 2) - 3 = 0"), ("((5)) = 5", "5 = 5"), ("(ip[0]) = 5", "ip[0] = 5"),
    ("(ip[0] & 1) + 2 = 5", "(ip[0] & 1) + 2 = 5"), ("((ip[0] & 1)) = (5)", "ip[0] & 1 = 5"),
    ("(5 = len)", "(5 = len)"), ("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "tcp[13] & (2 | 1) != 0"),
    ("tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420", "tcp[(tcp[12] & 240) >> 2:4] = 1195725856"),
    ("not ip[0] = 1", "not ip[0] = 1"), ("&ip[0] > 14", "&ip[0] > 14"), ("1<2", "1 < 2"), ("1>=2 or 1<=2", "1 >= 2 or 1 <= 2"),
    ("5 & &tcp[0] = 1", "5 & &tcp[0] = 1"),
    // The other primitives.
    ("ether broadcast or ip6 multicast or broadcast", "ether broadcast or ip6 multicast or broadcast"),
    ("less 64 or greater 128 or len = 3", "less 64 or greater 128 or len = 3"),
    ("byte 0 & 5", "byte 0 & 5"), ("inbound or outbound or ifindex 3", "inbound or outbound or ifindex 3"),
    ("vlan 5 and vlan (6) and mpls and mpls ((7))", "vlan 5 and vlan 6 and mpls and mpls 7"),
    ("pppoed or pppoes or pppoes 1 or geneve 0x10 or vxlan or vxlan 7", "pppoed or pppoes or pppoes 1 or geneve 16 or vxlan or vxlan 7"),
    ("host a and vxlan 5", "host a and vxlan 5"), (r"host a and \vxlan", "host a and host vxlan"),
    ("type mgt subtype BEACON", "type mgt subtype beacon"), ("subtype ack", "type ctl subtype ack"),
    ("wlan type 8 or type 12 subtype 0x10", "type data or type 12 subtype 16"),
    ("dir tods or direction 7", "dir tods or dir 7"),
    ("llc or llc i or llc rnr or llc rr or llc XID", "llc or llc i or llc rnr or llc rr or llc xid"),
    ("on eth0 and rset foo and rnr 1 and srnr 2", "ifname eth0 and ruleset foo and rulenum 1 and subrulenum 2"),
    ("reason match or reason 77 or action block", "reason match or reason 77 or action drop"),
    ("vpi 5 or vci > 3 or vpi (1 or 2)", "vpi = 5 or vci > 3 or (vpi = 1 or vpi = 2)"),
    ("opc 5 or hsls != 3 or lsu or oam", "opc = 5 or hsls != 3 or lssu or oam"),
    // Sets.
    ("host in {a, 10.0.0.1, 10.0.0.0/8, ::1, @x}", "host in {a, 10.0.0.1, 10.0.0.0/8, ::1, @x}"),
    ("tcp dst port in {80,443,8000-8080,9 - 5}", "tcp dst port in {80, 443, 8000-8080, 5-9}"),
    ("ip in {10.0.0.1} or in {10.0.0.2}", "ip in {10.0.0.1} or ip in {10.0.0.2}"),
    ("not host in {a}", "not host in {a}"), (r"proto in {\tcp,17}", r"proto in {\tcp, 17}"),
    (r"port in {\a-b,\80-90, 0x50-0120}", r"port in {a-b, \80-90, 80-80}"),
    ("host in {10.0.0.9-10.0.0.5, 10.0.0.1 - 10.0.0.2}", "host in {10.0.0.5-10.0.0.9, 10.0.0.1-10.0.0.2}"),
];

#[test]
fn canonical_texts() {
    for (source, expected) in CANONICAL {
        let first = ast(source);
        assert_eq!(canonical(&first), *expected, "{source}");
        let second = ast(expected);
        assert_eq!(without_spans(first), without_spans(second), "{source}");
    }
}

#[test]
fn every_filter_ends_where_its_span_ends() {
    for (source, _) in CANONICAL {
        let ast = ast(source);
        if let Some(root) = ast.root {
            assert_eq!(ast.span(root).text(source), source.trim(), "{source}");
        }
    }
}

#[test]
fn operands_come_before_operators() {
    for (source, _) in CANONICAL {
        let ast = ast(source);
        for (i, expr) in ast.exprs.iter().enumerate() {
            let below = |id: crate::syntax::ast::ExprId| assert!((id.0 as usize) < i, "{source}");
            match *expr {
                Expr::And(a, b) | Expr::Or(a, b) => {
                    below(a);
                    below(b);
                }
                Expr::Not(a) | Expr::Group(a) => below(a),
                _ => {}
            }
        }
    }
}

#[test]
fn rejects() {
    #[rustfmt::skip]
    let cases = [
        ("tcp and 80", Code::Unexpected, "80"), ("10.0.0.1", Code::Unexpected, "10.0.0.1"), ("foo", Code::UnknownWord, "foo"),
        ("tcp or foo", Code::UnknownWord, "foo"), ("(host a) and b", Code::UnknownWord, "b"),
        ("host ((a))", Code::UnknownWord, "a"), ("host ((a) or b)", Code::UnknownWord, "a"),
        ("port ((80 or 443))", Code::Unexpected, "or"), ("host", Code::Unexpected, ""), ("host a b", Code::UnknownWord, "b"),
        ("src and port 80", Code::Unexpected, "port"), ("src proto 6", Code::BadQualifier, "proto"),
        ("not", Code::Unexpected, ""), ("(tcp", Code::Unexpected, ""), ("tcp)", Code::Unexpected, ")"), ("()", Code::Unexpected, ")"),
        ("80", Code::Unexpected, ""), ("(80)", Code::Unexpected, ""), ("ip[0]", Code::Unexpected, ""),
        ("ip[0] = 1 = 2", Code::Unexpected, "="), ("ip[0", Code::Unexpected, ""), ("ip[0:ip]", Code::Unexpected, "ip"),
        ("ip[0] + (5 > 3)", Code::Unexpected, ">"), ("port 80 + 1", Code::Unexpected, "+"),
        ("port 10.0.0.1", Code::BadQualifier, "10.0.0.1"), ("host 10.0.0.256", Code::OutOfRange, "10.0.0.256"),
        ("net 10/8", Code::Unexpected, "/"), ("less (5)", Code::Unexpected, "("), ("vlan (tcp)", Code::Unexpected, "tcp"),
        ("type foo", Code::UnknownWord, "foo"), ("type 1", Code::OutOfRange, "1"), ("type 12 subtype beacon", Code::UnknownWord, "beacon"),
        ("subtype 16", Code::Unexpected, "16"), ("llc foo", Code::UnknownWord, "foo"), ("action 5", Code::Unexpected, "5"),
        ("vpi (5 and 6)", Code::Unexpected, "and"), ("host len", Code::Unexpected, "len"), ("proto tcp", Code::Unexpected, "tcp"),
        ("host in {}", Code::Unexpected, "}"), ("host in {a", Code::Unexpected, ""), ("host in {1-2}", Code::BadQualifier, "1-2"),
        ("tcp é", Code::BadToken, "é"), ("port 08", Code::BadToken, "08"), ("tcp é )", Code::BadToken, "é"),
        ("tcp host a mask b", Code::Unexpected, "mask"),
    ];
    for (source, code, text) in cases {
        let error = error(source);
        assert_eq!((error.code, error.span.text(source)), (code, text), "{source}: {error:?}");
    }
}

#[test]
fn strict_refuses_extensions() {
    for source in ["host in {a}", "vxlan", "vxlan 5", "gateway gw", "&ip[0] = 14", "tcp and vxlan"] {
        let error = parse(source, &Dialect::STRICT, &Limits::default()).unwrap_err();
        let expected = if source == "tcp and vxlan" { Code::UnknownWord } else { Code::Strict };
        assert_eq!(error.code, expected, "{source}: {error:?}");
    }
    assert!(parse("host a and vxlan", &Dialect::STRICT, &Limits::default()).is_ok(), "a name there");
}

#[test]
fn sets_keep_their_items() {
    let ast = ast("port in {80, 8000-8080}");
    let Expr::In(quals, items) = &ast.exprs[0] else { panic!("{:?}", ast.exprs) };
    assert_eq!(quals.kind, Some(Kind::Port));
    assert!(matches!(&items[0], SetItem::Id(Id::Number(80), span) if span.start == 9));
    assert!(matches!(items[1], SetItem::Range(8000, 8080, _)));
}

#[test]
fn limits_have_spans() {
    let limits = Limits { depth: 3, terms: 2, source_bytes: 40, ..Limits::default() };
    for (source, start) in [("((((tcp))))", 3), ("tcp or udp or icmp", 14), ("port in {1, 2, 3}", 15)] {
        let error = parse(source, &Dialect::default(), &limits).unwrap_err();
        assert_eq!((error.code, error.span.start), (Code::Limit, start), "{source}");
    }
    let long = "x".repeat(41);
    assert_eq!(parse(&long, &Dialect::default(), &limits).unwrap_err().code, Code::Limit);
}

/// Hundred thousand of everything that nests or repeats, without recursion and in time.
#[test]
fn depth_costs_no_stack() {
    const N: usize = 100_000;
    let both = |open: &str, inside: &str, close: &str| open.repeat(N) + inside + &close.repeat(N);
    for source in [
        both("(", "tcp", ")"),
        both("not ", "tcp", ""),
        both("! ", "ip[0] = 1", ""),
        both("", "host a", " or b"),
        both("", "tcp", " and udp"),
        both("(", "5", ")") + " = 1",
        both("(", "len", ")") + " = 1",
        both("-", "1", "") + " = 1",
        both("ip[", "1", "]") + " = 1",
        both("", "len", " % 3") + " = 1",
        both("", "len", " + 3") + " = 1",
        both("port (", "80", ")"),
        both("(", "host a", ")") + " or " + &both("host (not ", "b", ")"),
        both("vlan ", "", "") + &both("(", "5", ")"),
        format!("host in {{{}a}}", "10.0.0.1, ".repeat(N)),
        both("(", "", ""),
        both("tcp and (", "port 80 or (", ""),
    ] {
        if let Ok(ast) = parse(&source, &Dialect::default(), &Limits::default()) {
            let text = canonical(&ast);
            assert!(crate::syntax::print::tree(&ast).len() < 100 * source.len());
            assert_eq!(canonical(&self::ast(&text)), text);
        }
    }
}
