//! Phrases of nftables and other tools, and their equivalents here.
//!
//! ```text
//! tcp dport {80, 443}      tcp dst port in {80, 443}
//! ip saddr 192.0.2.10      ip src host 192.0.2.10
//! meta l4proto tcp         tcp
//! icmp type echo-request   icmp[icmptype] = icmp-echo
//! ip ttl < 5               ip[8] < 5
//! tcp flags syn            tcp[tcpflags] & tcp-syn != 0
//! port 80 443              port 80 or port 443
//! ```
//! Runs only after the parser has failed, and looks at the words around that place: a phrase counts only if the place
//! lies within it.

use super::cursor::{Cursor, Phrase, joined};
use super::lex::{Sign, TokenKind, Tokens};
use super::parse::is_filter;
use super::slips;
use super::words::{self, Word};
use crate::diag::{Code, Diagnostic};
use crate::options::Dialect;
use crate::span::Span;

/// How many words in front of the place a phrase may begin.
const WORDS_BEFORE: usize = 7;
/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 100;

/// The finding with what was meant, where that is known and the dialect does not refuse it.
#[cold]
pub(crate) fn advise(tokens: &Tokens<'_>, found: Diagnostic, dialect: &Dialect) -> Diagnostic {
    let phrases: &[Phrase] = match found.code {
        Code::Unexpected | Code::UnknownWord => &[
            ports,
            addresses,
            transport,
            message,
            fields,
            flags,
            kinds,
            set,
            slips::range,
            slips::mask,
            slips::compared,
            slips::commas,
            slips::socket,
            slips::carrier_behind_direction,
            slips::hardware_address,
            slips::service,
            slips::length,
            slips::bounds,
            slips::rule,
            slips::arp,
            slips::wildcard,
            juxtaposed,
        ],
        // Types of ICMP or Ethernet that were read as types of 802.11.
        Code::OutOfRange | Code::LinkType => &[message, kinds],
        _ => &[],
    };
    // Of a text that ends too early the counterpart lacks a value as well.
    let is_helpful = |meant: &String| {
        meant.len() <= SUGGESTION_MAX
            && (is_filter(meant, dialect) || is_filter(&format!("{meant} 1"), dialect))
    };
    if let Some(meant) = meant(tokens, found.span, phrases).filter(is_helpful) {
        return found.suggest(meant);
    }
    match (found.code, found.span.text(tokens.source)) {
        (Code::UnknownWord, "ct" | "iif" | "iifname" | "oif" | "oifname") => found.help(
            "this has no counterpart: connections are not tracked, and which device a packet comes from, the graph says",
        ),
        (Code::UnknownWord, "meta") => found.help(metadata(tokens)),
        _ => found,
    }
}

/// What becomes of `meta`, which has no general counterpart.
fn metadata(tokens: &Tokens<'_>) -> &'static str {
    let mut words = tokens.list.iter().map(|token| tokens.text(*token)).skip_while(|word| *word != "meta");
    match words.nth(1) {
        // How long the link header is, the parser does not know.
        Some("length") => {
            "`len` counts the link header, too: of Ethernet, `meta length > 1000` is `len > 1014`"
        }
        _ => "most of `meta` has no counterpart: a filter sees the bytes and the length of a packet",
    }
}

/// The meaning of the phrase that `place` lies in, if it is one of these.
fn meant(tokens: &Tokens<'_>, place: Span, phrases: &[Phrase]) -> Option<String> {
    let at = tokens.list.iter().position(|token| token.span.start >= place.start)?;
    (at.saturating_sub(WORDS_BEFORE)..=at).find_map(|start| {
        phrases.iter().find_map(|phrase| {
            let mut cursor = Cursor { tokens, at: start };
            let meant = phrase(&mut cursor)?;
            // What follows a comma is part of the phrase, though not understood.
            let is_whole = cursor.at > at && cursor.sign(Sign::Comma).is_none();
            (is_whole && cursor.is_news(start, &meant)).then_some(meant)
        })
    })
}

/// `tcp dport 80`, `udp sport != 53`, `th dport 80-90`, `tcp dport >= 1024`.
fn ports(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "th"]).filter(|proto| *proto != "th");
    let dir = match cursor.one_of(&["dport", "sport"])? {
        "dport" => "dst",
        _ => "src",
    };
    let (not, value) = match cursor.ordering() {
        Some(sign) => (None, Some(ports_that_are(sign, cursor.value()?.parse().ok()?)?)),
        None => cursor.operand()?,
    };
    let kind = if is_range(value.as_deref()) { "portrange" } else { "port" };
    let ports = joined(&[Some(dir), Some(kind), value.as_deref()]);
    Some(cursor.of_protocol(start, proto, not, &ports))
}

/// The range of the ports that are less or greater than `bound`.
pub(super) fn ports_that_are(sign: Sign, bound: u16) -> Option<String> {
    let (low, high) = match sign {
        Sign::Lt => (0, bound.checked_sub(1)?),
        Sign::Le => (0, bound),
        Sign::Gt => (bound.checked_add(1)?, u16::MAX),
        _ => (bound, u16::MAX),
    };
    Some(format!("{low}-{high}"))
}

/// `ip saddr 192.0.2.10`, `ip6 daddr 2001:db8::/32`, `ether saddr …`.
fn addresses(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let proto = cursor.one_of(&["ip", "ip6", "ether"])?;
    let dir = match cursor.one_of(&["daddr", "saddr"])? {
        "daddr" => "dst",
        _ => "src",
    };
    let (not, value) = cursor.operand()?;
    let is_prefix = value.as_ref().is_some_and(|value| value.contains('/') && !value.contains('{'));
    let kind = if is_prefix { "net" } else { "host" };
    let addresses = joined(&[Some(dir), Some(kind), value.as_deref()]);
    Some(match not {
        // Every frame has these.
        Some(not) if proto == "ether" => format!("{not} {proto} {addresses}"),
        _ => cursor.of_protocol(start, Some(proto), not, &addresses),
    })
}

/// `meta l4proto tcp`, `meta l4proto {tcp, udp}`.
fn transport(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.one_of(&["meta"])?;
    cursor.one_of(&["l4proto"])?;
    let not = cursor.negation();
    let protocols = match cursor.enclosed(Sign::LBrace, Sign::RBrace, protocol) {
        Some(protocols) => protocols,
        None => vec![protocol(cursor)?],
    };
    let text = protocols.join(" or ");
    let text = if protocols.len() > 1 { format!("({text})") } else { text };
    Some(joined(&[not, Some(&text)]))
}

/// `ip protocol gre`, `ip ttl < 5`, `ip dscp ef`, `ip frag-off & 0x1fff != 0`.
fn fields(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = cursor.one_of(&["ip", "ip6"])?;
    let names = if proto == "ip" { &["protocol", "ttl", "dscp", "frag-off"][..] } else { &["hoplimit"] };
    let field = match cursor.one_of(names)? {
        "protocol" => return ip_protocol(cursor),
        "ttl" => "ip[8]",
        "dscp" => "ip[1] >> 2",
        "hoplimit" => "ip6[7]",
        _ if cursor.sign(Sign::Ampersand).is_some() => {
            let mask = cursor.number()?;
            return Some(format!("ip[6:2] & {mask} {} {}", cursor.comparison(), cursor.number()?));
        }
        _ => "ip[6:2]",
    };
    let op = cursor.comparison();
    let value = match field {
        "ip[1] >> 2" => dscp(&cursor.value()?)?.to_string(),
        _ => cursor.number()?,
    };
    Some(format!("{field} {op} {value}"))
}

/// The rest of `ip protocol gre`.
fn ip_protocol(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at.checked_sub(2)?;
    let not = cursor.negation();
    let token = cursor.token()?;
    let name = cursor.tokens.text(token);
    cursor.at += 1;
    let number = PROTOCOLS.iter().find(|(known, _)| *known == name).map(|(_, number)| number.to_string());
    let value = match (number, words::word(name), token.kind) {
        (Some(number), ..) => number,
        (None, Some(Word::Proto(_)), _) => format!("\\{name}"),
        (None, _, TokenKind::Number(_)) => name.to_owned(),
        _ => return None,
    };
    Some(match not {
        Some(not) => cursor.operands(start, &format!("ip and {not} ip proto {value}")),
        None => format!("ip proto {value}"),
    })
}

/// Protocols for which the language has no word, or another one, by IANA's numbers.
#[rustfmt::skip]
static PROTOCOLS: &[(&str, u32)] = &[
    ("ipencap", 4), ("ipv6", 41), ("gre", 47), ("icmpv6", 58), ("ipv6-icmp", 58), ("ospf", 89), ("comp", 108), ("udplite", 136),
];

/// The code point of a class that nftables names (RFC 2474, 2597, 3246), or of a number.
fn dscp(name: &str) -> Option<u32> {
    let digits = |prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
    match (name, digits("cs"), digits("af")) {
        ("ef", ..) => Some(46),
        ("be", ..) => Some(0),
        (_, Some(class @ 0..=7), _) => Some(8 * class),
        (_, _, Some(of @ 11..=43)) if (1..=3).contains(&(of % 10)) => Some(8 * (of / 10) + 2 * (of % 10)),
        _ => name.parse().ok().filter(|number| *number < 64),
    }
}

/// `tcp syn`, `tcp flags syn`, `tcp flags syn / syn,ack`, `tcp flags & (syn|ack) == syn`.
fn flags(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_term = cursor.begins_term();
    let is_tcp = cursor.one_of(&["tcp"]).is_some();
    if !is_tcp && !is_term {
        return None;
    }
    if !is_tcp || cursor.one_of(&["flags"]).is_none() {
        // `tcp syn`, `syn`.
        return Some(format!("tcp[tcpflags] & {} != 0", cursor.flags(Sign::Pipe)?));
    }
    if cursor.sign(Sign::Ampersand).is_some() {
        let in_parentheses = cursor.sign(Sign::LParen).is_some();
        let mask = cursor.flags(Sign::Pipe)?;
        if in_parentheses {
            cursor.sign(Sign::RParen)?;
        }
        let op = cursor.comparison();
        let value =
            if cursor.one_of(&["0"]).is_some() { "0".to_owned() } else { cursor.flags(Sign::Pipe)? };
        return Some(format!("tcp[tcpflags] & {mask} {op} {value}"));
    }
    let op = cursor.negation();
    let value = cursor.flags(Sign::Comma)?;
    match (cursor.sign(Sign::Slash), op) {
        (Some(()), _) => {
            let mask = cursor.flags(Sign::Comma)?;
            let op = if op.is_some() { "!=" } else { "=" };
            Some(format!("tcp[tcpflags] & {mask} {op} {value}"))
        }
        // Any of them.
        (None, None) => Some(format!("tcp[tcpflags] & {value} != 0")),
        (None, Some(_)) => None,
    }
}

/// `ether type arp`, `vlan id 10`, `mpls label 5`, `meta pkttype multicast`.
fn kinds(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    match cursor.one_of(&["ether", "vlan", "mpls", "geneve", "vxlan", "meta"])? {
        "ether" => {
            cursor.one_of(&["type"])?;
            match cursor.one_of(&["ip", "ip6", "arp", "vlan"]) {
                Some(word) => Some(word.to_owned()),
                None => Some(format!("ether proto {}", cursor.number()?)),
            }
        }
        word @ ("vlan" | "mpls" | "geneve" | "vxlan") => {
            cursor.one_of(&["id", "label", "vni"])?;
            cursor.negation().is_none().then_some(format!("{word} {}", cursor.number()?))
        }
        _ => {
            cursor.one_of(&["pkttype"])?;
            match cursor.one_of(&["multicast", "broadcast"])? {
                // The group bit is set in the broadcast address as well.
                "multicast" => Some(cursor.operands(start, "ether multicast and not ether broadcast")),
                _ => Some("ether broadcast".to_owned()),
            }
        }
    }
}

/// A protocol above IP as nftables names it.
fn protocol(cursor: &mut Cursor<'_>) -> Option<String> {
    let name = cursor.tokens.text(cursor.token()?);
    cursor.at += 1;
    let name = if matches!(name, "icmpv6" | "ipv6-icmp") { "icmp6" } else { name };
    match words::word(name) {
        Some(Word::Proto(_)) => Some(name.to_owned()),
        None if name.bytes().all(|byte| byte.is_ascii_digit()) => Some(format!("proto {name}")),
        _ => None,
    }
}

/// The types of ICMP messages that nftables names otherwise.
#[rustfmt::skip]
static MESSAGES: &[(&str, &str, &str)] = &[
    ("icmp", "echo-request", "icmp-echo"), ("icmp", "echo-reply", "icmp-echoreply"),
    ("icmp", "destination-unreachable", "icmp-unreach"), ("icmp", "time-exceeded", "icmp-timxceed"),
    ("icmp", "redirect", "icmp-redirect"), ("icmp", "parameter-problem", "icmp-paramprob"),
    ("icmp6", "echo-request", "icmp6-echo"), ("icmp6", "echo-reply", "icmp6-echoreply"),
    ("icmp6", "destination-unreachable", "icmp6-destinationunreach"),
    ("icmp6", "packet-too-big", "icmp6-packettoobig"), ("icmp6", "time-exceeded", "icmp6-timeexceeded"),
    ("icmp6", "nd-neighbor-solicit", "icmp6-neighborsolicit"),
    ("icmp6", "nd-neighbor-advert", "icmp6-neighboradvert"),
    ("icmp6", "nd-router-solicit", "icmp6-routersolicit"), ("icmp6", "nd-router-advert", "icmp6-routeradvert"),
];

/// The constant that `icmp-echo-request` or `icmp6-echorequest` stands for.
pub(super) fn message_constant(name: &str) -> Option<&'static str> {
    let (proto, message) = name.split_once('-')?;
    let letters = |text: &str| text.replace('-', "");
    let known = MESSAGES.iter().find(|(of, known, _)| *of == proto && letters(known) == letters(message));
    known.map(|(.., constant)| *constant)
}

/// `icmp type 8`, `icmpv6 code 0`, `icmp[type] = 8`.
fn message(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = match cursor.one_of(&["icmp", "icmp6", "icmpv6"])? {
        "icmp" => "icmp",
        _ => "icmp6",
    };
    let in_brackets = cursor.sign(Sign::LBracket).is_some();
    let field = cursor.one_of(&["type", "code"])?;
    if in_brackets {
        cursor.sign(Sign::RBracket)?;
    }
    let op = if cursor.negation().is_some() { "!=" } else { "=" };
    let is_number = matches!(cursor.token()?.kind, TokenKind::Number(_));
    let value = cursor.value()?;
    let known = MESSAGES.iter().find(|(of, name, _)| *of == proto && *name == value);
    let value = match known {
        Some((_, _, name)) if field == "type" => name,
        _ if is_number => value.as_str(),
        _ => return None,
    };
    Some(format!("{proto}[{proto}{field}] {op} {value}"))
}

/// `tcp port {80, 443}`, `port in (80, 443)`, `port in 80, 443`, `dst host (a, b)`.
fn set(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let is_named = cursor.one_of(&["in"]).is_some();
    let braces = cursor.token()?.kind == TokenKind::Sign(Sign::LBrace);
    let mut between = |open, close| cursor.enclosed(open, close, |cursor| cursor.value());
    let items = between(Sign::LBrace, Sign::RBrace)
        .or_else(|| between(Sign::LParen, Sign::RParen))
        .or_else(|| between(Sign::LBracket, Sign::RBracket));
    let items = items.or_else(|| cursor.commas().filter(|_| is_named))?;
    (braces || is_named || items.len() > 1).then(|| format!("{quals} in {{{}}}", items.join(", ")))
}

/// `port 80 443`.
fn juxtaposed(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let quals = cursor.qualifiers()?;
    let mut values = Vec::new();
    while cursor.token().is_some_and(|token| token.kind != TokenKind::Name) {
        let Some(value) = cursor.value() else { break };
        // A netmask is no further address.
        if value.starts_with("255.") {
            return None;
        }
        values.push(format!("{quals} {value}"));
    }
    (values.len() > 1).then(|| cursor.operands(start, &values.join(" or ")))
}

pub(super) fn is_range(value: Option<&str>) -> bool {
    value.and_then(super::ident::numeric_range).is_some()
}
