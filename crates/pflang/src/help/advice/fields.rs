//! Header fields by the names that other tools and RFCs have for them, their largest values, and the numbers of protocols.
//!
//! ```text
//! ip ttl < 5               ip[8] < 5
//! ip frag                  ip[6:2] & 0x3fff != 0
//! ttl < 5                  ip[8] < 5
//! icmp type echo-request   icmp[icmptype] = icmp-echo
//! ```

use super::cursor::{Cursor, lookup};
use crate::diag::{Code, Diagnostic};
use crate::options::{Dialect, Limits};
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Expr};
use crate::syntax::lex::TokenKind;
use crate::syntax::parser::attempt;
use crate::syntax::words::{self, Word};

/// What a field of a header is here.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// What stands before an identifier, and its place, if it can be compared with that of another field.
    Id(&'static str, &'static str),
    Number(&'static str),
    /// A single bit, or several that are a flag.
    Bit(&'static str),
    Test(&'static str),
    /// It says by which protocol the packet is read.
    Version,
}

/// Fields by their names for Wireshark, which have a full stop, and for nftables and others, which have a blank.
#[rustfmt::skip]
static FIELDS: &[(&str, Field)] = {
    use Field::*;
    &[
    ("ip.addr|ip.host", Id("ip host", "")), ("ip.src|ip.src_host", Id("ip src host", "ip[12:4]")),
    ("ip.dst|ip.dst_host", Id("ip dst host", "ip[16:4]")), ("ip.proto", Id("ip proto", "ip[9]")),
    ("ipv6.addr|ipv6.host", Id("ip6 host", "")), ("ipv6.src", Id("ip6 src host", "")),
    ("ipv6.dst", Id("ip6 dst host", "")), ("ipv6.nxt", Id("ip6 proto", "ip6[6]")),
    ("tcp.port", Id("tcp port", "")), ("tcp.srcport", Id("tcp src port", "tcp[0:2]")),
    ("tcp.dstport", Id("tcp dst port", "tcp[2:2]")), ("udp.port", Id("udp port", "")),
    ("udp.srcport", Id("udp src port", "udp[0:2]")), ("udp.dstport", Id("udp dst port", "udp[2:2]")),
    ("sctp.port", Id("sctp port", "")), ("sctp.srcport", Id("sctp src port", "sctp[0:2]")),
    ("sctp.dstport", Id("sctp dst port", "sctp[2:2]")), ("eth.addr", Id("ether host", "")),
    ("eth.src", Id("ether src", "")), ("eth.dst", Id("ether dst", "")),
    ("eth.type", Id("ether proto", "ether[12:2]")), ("vlan.id", Id("vlan", "")),
    ("mpls.label", Id("mpls", "")), ("vxlan.vni", Id("vxlan", "")), ("geneve.vni", Id("geneve", "")),
    ("pppoe.session_id", Id("pppoes", "")), ("ip.version", Version), ("frame.len", Number("len")),
    ("ip.ttl|ip ttl", Number("ip[8]")), ("ip.id|ip id", Number("ip[4:2]")),
    ("ip.len|ip len|ip length", Number("ip[2:2]")), ("ip tos|ip dsfield", Number("ip[1]")),
    ("ip checksum", Number("ip[10:2]")), ("ip hdrlength|ip ihl", Number("ip[0] & 0xf")),
    ("ip frag-off", Number("ip[6:2]")), ("ipv6.hlim|ip6 hoplimit|ip6 hlim", Number("ip6[7]")),
    ("ipv6.plen|ip6 len|ip6 length", Number("ip6[4:2]")), ("ip6 flowlabel", Number("ip6[0:4] & 0xfffff")),
    ("tcp.flags", Number("tcp[tcpflags]")), ("tcp.window_size_value|tcp window|tcp win", Number("tcp[14:2]")),
    ("tcp checksum", Number("tcp[16:2]")), ("tcp.seq_raw|tcp seq|tcp sequence", Number("tcp[4:4]")),
    ("tcp.ack_raw|tcp ackseq", Number("tcp[8:4]")), ("tcp doff", Number("tcp[12] >> 4")),
    ("tcp.len", Number("ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2)")),
    ("udp.length|udp len|udp length", Number("udp[4:2]")), ("udp checksum", Number("udp[6:2]")),
    ("arp.opcode|arp opcode|arp operation|arp op", Number("arp[6:2]")),
    ("icmp.type", Number("icmp[icmptype]")), ("icmp.code", Number("icmp[icmpcode]")),
    ("icmp id", Number("icmp[4:2]")), ("icmp seq|icmp sequence", Number("icmp[6:2]")),
    ("icmpv6.type", Number("icmp6[icmp6type]")), ("icmpv6.code", Number("icmp6[icmp6code]")),
    ("icmp6 id", Number("icmp6[4:2]")), ("icmp6 seq|icmp6 sequence", Number("icmp6[6:2]")),
    ("tcp.flags.syn", Bit("tcp[tcpflags] & tcp-syn")), ("tcp.flags.ack", Bit("tcp[tcpflags] & tcp-ack")),
    ("tcp.flags.fin", Bit("tcp[tcpflags] & tcp-fin")), ("tcp.flags.reset", Bit("tcp[tcpflags] & tcp-rst")),
    ("tcp.flags.push", Bit("tcp[tcpflags] & tcp-push")), ("tcp.flags.urg", Bit("tcp[tcpflags] & tcp-urg")),
    ("ip.flags.df|ip df", Bit("ip[6] & 0x40")), ("ip.flags.mf|ip mf", Bit("ip[6] & 0x20")),
    ("ip frag|ip frags|ip fragment|ip fragments|ip fragmented", Bit("ip[6:2] & 0x3fff")),
    ("ip option|ip options", Test("ip[0] & 0xf > 5")), ("tcp option|tcp options", Test("tcp[12] >> 4 > 5")),
    ]
};

/// The field of this name.
pub(super) fn field(name: &str) -> Option<Field> {
    lookup(FIELDS, name)
}

/// The protocol that alone has a field of this name, which then is understood without it.
fn owner(field: &str) -> Option<&'static str> {
    let names = FIELDS.iter().flat_map(|(names, _)| names.split('|')).filter_map(|name| name.split_once(' '));
    let mut owners = names.filter(|(_, name)| *name == field).map(|(proto, _)| proto);
    owners.next().filter(|_| owners.next().is_none())
}

/// `ip ttl < 5`, `ip df`, `ttl < 5`, `df`.
pub(super) fn fields(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_term = cursor.begins_term();
    let proto = cursor.one_of("ip|ip6|tcp|udp|arp|icmp|icmp6");
    let word = cursor.text_of(|kind| matches!(kind, TokenKind::Name | TokenKind::Word(Word::Len)))?;
    let proto = proto.or_else(|| owner(word).filter(|_| is_term))?;
    // Options have names and values elsewhere, which a filter cannot look for.
    let is_alone = cursor.kind() != TokenKind::Name;
    match field(&format!("{proto} {word}"))? {
        Field::Number(place) => {
            Some(format!("{place} {} {}", cursor.comparison().unwrap_or("="), cursor.number()?))
        }
        Field::Bit(bits) => is_alone.then(|| format!("{bits} != 0")),
        Field::Test(test) => is_alone.then(|| test.to_owned()),
        _ => None,
    }
}

/// Protocols by IANA's numbers.
#[rustfmt::skip]
pub(super) static PROTOCOLS: &[(&str, &str)] = &[
    ("icmp", "1"), ("igmp", "2"), ("ipencap", "4"), ("tcp", "6"), ("udp", "17"), ("ipv6", "41"),
    ("gre", "47"), ("esp", "50"), ("ah", "51"), ("icmp6|icmpv6|ipv6-icmp", "58"), ("ospf", "89"),
    ("pim", "103"), ("comp", "108"), ("vrrp", "112"), ("sctp", "132"), ("udplite", "136"),
];

/// The same for Ethernet.
#[rustfmt::skip]
pub(super) static ETHERTYPES: &[(&str, &str)] = &[
    ("ip|ipv4", "0x0800"), ("arp", "0x0806"), ("vlan", "0x8100"), ("rarp", "0x8035"), ("ip6|ipv6", "0x86dd"),
    ("mpls", "0x8847"),
];

/// The code point of a class that nftables names (RFC 2474, 2597, 3246), or of a number.
pub(super) fn dscp(name: &str) -> Option<String> {
    let digits = |prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
    let number = match (name, digits("cs"), digits("af")) {
        ("ef", ..) => Some(46),
        ("be", ..) => Some(0),
        (_, Some(class @ 0..=7), _) => Some(8 * class),
        (_, _, Some(of @ 11..=43)) if (1..=3).contains(&(of % 10)) => Some(8 * (of / 10) + 2 * (of % 10)),
        _ => name.parse().ok().filter(|number| *number < 64),
    };
    number.map(|number: u32| number.to_string())
}

/// The types of ICMP messages that have other names elsewhere.
#[rustfmt::skip]
static ICMP: &[(&str, &str)] = &[
    ("echorequest|echo|request", "icmp-echo"), ("echoreply|reply", "icmp-echoreply"),
    ("redirect", "icmp-redirect"), ("destinationunreachable|unreachable", "icmp-unreach"),
    ("timeexceeded", "icmp-timxceed"), ("parameterproblem", "icmp-paramprob"),
];

/// The same for IPv6.
#[rustfmt::skip]
static ICMP6: &[(&str, &str)] = &[
    ("echorequest|echo", "icmp6-echo"), ("echoreply", "icmp6-echoreply"),
    ("packettoobig", "icmp6-packettoobig"), ("destinationunreachable", "icmp6-destinationunreach"),
    ("timeexceeded", "icmp6-timeexceeded"), ("ndneighborsolicit", "icmp6-neighborsolicit"),
    ("ndneighboradvert", "icmp6-neighboradvert"), ("ndroutersolicit", "icmp6-routersolicit"),
    ("ndrouteradvert", "icmp6-routeradvert"),
];

/// The constant for a message that has another name elsewhere.
fn message_name(proto: &str, name: &str) -> Option<&'static str> {
    lookup(if proto == "icmp" { ICMP } else { ICMP6 }, &name.replace('-', ""))
}

/// The constant that `icmp-echo-request` or `icmp6-echorequest` stands for.
pub(super) fn message_constant(name: &str) -> Option<&'static str> {
    let (proto, message) = name.split_once('-')?;
    message_name(proto, message).filter(|_| matches!(proto, "icmp" | "icmp6"))
}

/// `icmp type 8`, `icmpv6 code 0`, `icmp[type] = 8`, `icmp type {echo-request, echo-reply}`, `icmp echo-request`.
pub(super) fn message(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = if cursor.one_of("icmp|icmp6|icmpv6")? == "icmp" { "icmp" } else { "icmp6" };
    let in_brackets = cursor.one_of("[").is_some();
    let field = cursor.one_of("type|code");
    if in_brackets {
        cursor.one_of("]").and(field)?;
    }
    let (op, join) = if cursor.negation().is_empty() { ("=", " or ") } else { ("!=", " and ") };
    let test = |value: &String| {
        let is_number =
            value.starts_with(|first: char| first.is_ascii_digit()) || words::constant(value).is_some();
        let constant = message_name(proto, value).filter(|_| field != Some("code"));
        let value = constant.or((is_number && field.is_some()).then_some(value))?;
        Some(format!("{proto}[{proto}{}] {op} {value}", field.unwrap_or("type")))
    };
    let list = cursor.enclosed(["{", "}"], |cursor| cursor.value());
    let values = list.or_else(|| Some(vec![cursor.value()?]))?;
    Some(values.iter().map(test).collect::<Option<Vec<_>>>()?.join(join))
}

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
        Arith::Op(ArithOp::Shr, a, b) if let Arith::Number(bits) = ast.arith(b) => {
            largest(ast, a).checked_shr(bits).unwrap_or(0)
        }
        _ => u32::MAX,
    }
}
