//! Recognises Wireshark's display filters, which people paste by mistake, and translates what has a counterpart.
//!
//! Runs only after the parser has failed. A text counts as a display filter if a field such as `tcp.port` is in
//! it, or a protocol that only Wireshark knows is used alone.

use super::cursor::{Cursor, joined, lookup};
use super::fields::{self, Field, exceeded};
use super::primitive::{self, of_protocol, ports_that_are};
use crate::diag::{Code, Diagnostic, Suggestion};
use crate::options::Dialect;
use crate::syntax::lex::{Sign, TokenKind, Tokens};
use crate::syntax::range;
use crate::syntax::words::Word;
use std::mem::{replace, take};

/// Protocols that have no keyword here.
#[rustfmt::skip]
static PROTOCOLS: &[(&str, &str)] = &[
    ("ipv6", "ip6"), ("icmpv6", "icmp6"), ("http", "tcp port 80"), ("http2|https|tls|ssl", "tcp port 443"),
    ("bgp", "tcp port 179"), ("mysql", "tcp port 3306"), ("nfs", "port 2049"), ("tftp", "udp port 69"),
    ("radius", "udp port 1812 or udp port 1813"), ("isakmp", "udp port 500 or udp port 4500"),
    ("netflow", "udp port 2055"), ("wireguard", "udp port 51820"), ("lldp", "ether proto 0x88cc"),
    ("quic", "udp port 443"), ("dns", "port 53"), ("mdns", "udp port 5353"),
    ("dhcp|bootp", "udp port 67 or udp port 68"), ("dhcpv6", "udp port 546 or udp port 547"),
    ("ntp", "udp port 123"), ("ssh", "tcp port 22"), ("ftp", "tcp port 21"), ("smtp", "tcp port 25"),
    ("imap", "tcp port 143"), ("pop", "tcp port 110"), ("telnet", "tcp port 23"), ("snmp", "udp port 161"),
    ("syslog", "udp port 514"), ("sip", "port 5060"), ("smb|smb2", "tcp port 445"), ("rdp", "tcp port 3389"),
    ("ldap", "tcp port 389"), ("ospf", "ip proto 89"), ("gre", "ip proto 47"),
    ("gtp", "udp port 2152 or udp port 2123"), ("l2tp", "udp port 1701"),
    ("cdp", "ether host 01:00:0c:cc:cc:cc"), ("lacp", "ether proto 0x8809"), ("eapol", "ether proto 0x888e"),
    ("ptp", "ether proto 0x88f7 or udp port 319 or udp port 320"), ("bfd", "udp port 3784"),
    ("hsrp", "udp port 1985"), ("kerberos", "port 88"), ("ipsec", "esp or ah or udp port 4500"),
    ("rsvp", "ip proto 46"), ("eigrp", "ip proto 88"), ("rip", "udp port 520"), ("ssdp", "udp port 1900"),
    ("llmnr", "udp port 5355"),
];

/// The first parts of fields that are surely Wireshark's, and what may follow without a comparison: "has it".
#[rustfmt::skip]
static PARTS: &[(&str, &str)] = &[
    ("bootp|data|eth|ftp|geneve|icmpv6|ipv6|mpls|ntp|pppoe|rtp|sctp|sip|smb|smb2|ssl|vlan|vxlan", ""),
    ("http", "request|response|host|cookie|content_type|user_agent|chat"), ("http2", "headers|streamid|type"),
    ("tcp", "analysis|flags|options|stream|payload|segment|window_size"), ("udp", "payload|stream"),
    ("ip", "flags|fragment|fragments|options"),
    ("dns", "qry|resp|flags|response_to|response_in|a|aaaa|cname"),
    ("tls", "handshake|record|alert_message|app_data"), ("quic", "long|short|connection"),
    ("frame", "number|time|time_delta|protocols|len|cap_len"), ("icmp", "type|code|resp_to|resp_in"),
    ("dhcp", "option|type"), ("arp", "opcode|duplicate-address-detected|src|dst"),
    ("wlan", "fc|ssid|bssid|sa|da"),
];

/// The filter for a protocol that has no keyword.
pub(crate) fn protocol(name: &str) -> Option<&'static str> {
    lookup(PROTOCOLS, &name.to_ascii_lowercase())
}

/// The error for a display filter, with its translation if all of it has one.
pub(super) fn recognise(tokens: &Tokens<'_>) -> Option<Diagnostic> {
    let find = |is_one: fn(Cursor<'_>) -> bool| {
        let at = (0..tokens.list.len()).find(|at| is_one(Cursor { tokens, at: *at }))?;
        Some(Diagnostic::new(Code::DisplaySyntax, tokens.list[at].span, "this is a Wireshark display filter"))
    };
    if let Some(found) = find(is_text_search) {
        return Some(found.label("a search for text").help(
            "capture filters do not search; bytes in a known place can be compared: of TCP, `tcp[(tcp[12] >> 2) & 0x3c:4] = 0x47455420` is \"GET \"",
        ));
    }
    let found = find(is_field)?.label("a field of a display filter");
    let Some(filter) = translate(tokens) else {
        let help = "capture filters have another language: `tcp port 80`, `host 10.0.0.1`, `ip[8] < 5`";
        return Some(found.help(help));
    };
    let exceeded = exceeded(&found, &filter, &Dialect::default());
    let suggestion = Some(Suggestion::CaptureFilter(filter));
    exceeded.or(Some(Diagnostic { suggestion, ..found }))
}

/// Whether this is the operator of `tcp contains …` or `http.host matches …`.
fn is_text_search(mut cursor: Cursor<'_>) -> bool {
    let before = cursor.at.checked_sub(1).map(|at| cursor.tokens.list[at]);
    let is_searched = before.is_some_and(|before| match before.kind {
        TokenKind::Word(Word::Proto(_)) => true,
        kind => kind == TokenKind::Name && lookup(PARTS, first_part(cursor.tokens.text(before))).is_some(),
    });
    is_searched && cursor.is_at("contains|matches")
}

fn first_part(field: &str) -> &str {
    field.split('.').next().unwrap_or_default()
}

/// A host may be called `http.example.com`: a field is compared, or is one that we know.
fn is_field(mut cursor: Cursor<'_>) -> bool {
    let qualifier = cursor.back(1);
    let Some(text) = cursor.text_of(|kind| kind == TokenKind::Name) else { return false };
    let is_qualified = matches!(qualifier, Some(TokenKind::Word(Word::Kind(_) | Word::Dir(_))));
    let is_compared = cursor.is_at("contains|matches|in") || cursor.comparison().is_some();
    let Some((prefix, rest)) = text.split_once('.') else { return false };
    lookup(PARTS, prefix).is_some()
        && (is_known(text) || (is_compared && !rest.is_empty()) || (!is_qualified && is_present(text)))
}

fn is_known(field: &str) -> bool {
    field.contains('.') && fields::field(field).is_some()
}

/// Whether a field is used alone, which a packet has or has not: `tcp.analysis.retransmission`.
fn is_present(text: &str) -> bool {
    let next = text.split('.').nth(1).unwrap_or_default();
    lookup(PARTS, first_part(text)).is_some_and(|fields| fields.split('|').any(|known| known == next))
}

/// What is between two parentheses, or outside of all.
#[derive(Default)]
struct Level {
    /// The operands of `or` to the left, each the operands of its `and`.
    alternatives: Vec<Vec<String>>,
    /// The operands of `and` since the last `or`.
    operands: Vec<String>,
    /// `not`, as often as it stands in front of the operand to come.
    nots: String,
}

impl Level {
    fn operand(&mut self, text: &str) {
        let nots = take(&mut self.nots);
        // Of two bounds for the ports of a packet, the range between.
        let narrowed = |operand: &mut String| between(operand, text).map(|range| *operand = range);
        if nots.is_empty() && self.operands.iter_mut().find_map(narrowed).is_some() {
            return;
        }
        // `and` and `or` bind alike, from the left, and `not` binds closer.
        let is_first = self.operands.is_empty() && nots.is_empty();
        let binds = !text.contains(" or ") && (is_first || !text.contains(" and "));
        let is_whole = binds || text.starts_with('(');
        self.operands.push(if is_whole { format!("{nots}{text}") } else { format!("{nots}({text})") });
    }

    /// A protocol or field, and what it is compared with behind it.
    fn field(&mut self, cursor: &mut Cursor<'_>, name: &str) -> Option<()> {
        let test = match lookup(PROTOCOLS, name) {
            Some(filter) => filter.to_owned(),
            None => test(cursor, name)?,
        };
        // Here the word shifts what follows, there it does not, wherever it stands.
        if shifts(name) {
            let keeps_order =
                |kind| matches!(kind, TokenKind::Word(Word::Or | Word::Not) | TokenKind::Sign(Sign::LParen));
            let shifting = self.operands.iter().take_while(|operand| shifts(operand)).count();
            self.operands.insert(shifting, test);
            return (!cursor.tokens.list.iter().any(|token| keeps_order(token.kind))).then_some(());
        }
        // The arithmetic alone does not ask for TCP.
        self.operand(&if name == "tcp.len" { format!("tcp and {test}") } else { test });
        Some(())
    }

    /// For Wireshark `and` binds closer than `or`; here both bind alike.
    fn text(self) -> String {
        let operand = |(at, operands): (usize, Vec<String>)| {
            let text = operands.join(" and ");
            let is_single = operands.len() == 1 && (text.starts_with('(') || text.starts_with("not "));
            let is_loose = at > 0 && !is_single && text.contains(" and ");
            if is_loose { format!("({text})") } else { text }
        };
        let alternatives = self.alternatives.into_iter().chain([self.operands]);
        alternatives.enumerate().map(operand).collect::<Vec<_>>().join(" or ")
    }
}

/// The range of ports that `tcp portrange 80-65535` and `tcp portrange 0-90` have in common.
fn between(one: &str, other: &str) -> Option<String> {
    let ports = |text: &'_ str| -> Option<(String, (u32, u32))> {
        let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
        let (quals, range) = text.split_once("portrange ")?;
        Some((quals.to_owned(), range::numbers(range)?))
    };
    let ((quals, one), (other_quals, other)) = (ports(one)?, ports(other)?);
    let last = u32::from(u16::MAX);
    // Two ranges with both their ends are asked for of either port.
    let are_bounds = (one.0 == 0 && other.1 == last) || (other.0 == 0 && one.1 == last);
    let (low, high) = primitive::between(one, other).filter(|_| quals == other_quals && are_bounds)?;
    Some(format!("{quals}portrange {low}-{high}"))
}

/// Writes the filter again, token by token; `None` as soon as something has no counterpart.
fn translate(tokens: &Tokens<'_>) -> Option<String> {
    if tokens.error.is_some() {
        return None;
    }
    let (mut outer, mut level) = (Vec::new(), Level::default());
    let (mut joined, mut cursor) = (false, Cursor { tokens, at: 0 });
    while let Some(token) = cursor.token() {
        cursor.at += 1;
        let text = tokens.text(token);
        let wants_operand = take(&mut joined) || level.operands.is_empty() || !level.nots.is_empty();
        match token.kind {
            TokenKind::Word(Word::And) if !wants_operand => joined = true,
            TokenKind::Word(Word::Or) if !wants_operand => level.alternatives.push(take(&mut level.operands)),
            TokenKind::Sign(Sign::RParen) if !wants_operand => {
                let inner = replace(&mut level, outer.pop()?);
                level.operand(&format!("({})", inner.text()));
            }
            _ if !wants_operand => return None,
            TokenKind::Word(Word::Not) => level.nots.push_str("not "),
            TokenKind::Sign(Sign::LParen) => outer.push(take(&mut level)),
            TokenKind::Word(Word::Proto(_)) => level.operand(text),
            TokenKind::Name => level.field(&mut cursor, text)?,
            _ => return None,
        }
    }
    let is_whole = outer.is_empty() && !joined && !level.operands.is_empty() && level.nots.is_empty();
    is_whole.then(|| level.text())
}

/// Whether what stands behind a field is looked for inside of what it names.
fn shifts(field: &str) -> bool {
    let word = field.split(['.', ' ']).next();
    matches!(word, Some("vlan" | "mpls" | "vxlan" | "geneve" | "pppoe" | "pppoes"))
}

/// `field op value`, or `field in {…}`.
fn test(cursor: &mut Cursor<'_>, name: &str) -> Option<String> {
    let field = fields::field(name)?;
    if cursor.one_of("in").is_some() {
        let Field::Id(quals, _) = field else { return None };
        let can_be_in = !quals.starts_with("ether") && (quals.ends_with("port") || quals.ends_with("host"));
        let items = cursor.enclosed(["{", "}"], |cursor| Some(cursor.value()?.replace("..", "-")))?;
        return can_be_in.then(|| format!("{quals} in {{{}}}", items.join(", ")));
    }
    let op = cursor.comparison()?;
    let other = cursor.tokens.text(cursor.token()?);
    if is_known(other) || is_present(other) {
        cursor.at += 1;
        return compared(field, op, fields::field(other)?);
    }
    let value = cursor.value()?;
    match field {
        Field::Id(quals, _) => id(quals, op, &value),
        Field::Number(number) => Some(format!("{number} {op} {value}")),
        Field::Version => {
            let proto = lookup(&[("4", "ip"), ("6", "ip6")], &value)?;
            Some(joined(&[lookup(&[("=", ""), ("!=", "not")], op)?, proto]))
        }
        Field::Bit(bit) => {
            let is_one = lookup(&[("0|false", false), ("1|true", true)], &value.to_ascii_lowercase())?;
            let is_set = lookup(&[("=", is_one), ("!=", !is_one)], op)?;
            Some(format!("{bit} {} 0", if is_set { "!=" } else { "=" }))
        }
        Field::Test(_) => None,
    }
}

/// Two fields of one header.
fn compared(field: Field, op: &str, other: Field) -> Option<String> {
    let place = |field| match field {
        Field::Id(_, place) | Field::Number(place) if !place.is_empty() => Some(place),
        _ => None,
    };
    let (left, right) = (place(field)?, place(other)?);
    (left.split('[').next() == right.split('[').next()).then(|| format!("{left} {op} {right}"))
}

/// An identifier. Only packets of its protocol have a field that is unequal; without that, all others would match as well.
fn id(quals: &str, op: &str, value: &str) -> Option<String> {
    let range = value.replace("..", "-");
    let (quals, value) = match quals.strip_suffix("port") {
        Some(directed) if range::numbers(&range).is_some() => (format!("{directed}portrange"), &*range),
        _ if value.contains('/') => (quals.replace("host", "net"), value),
        _ => (quals.to_owned(), value),
    };
    match (op, quals.split_once(' ')) {
        ("=", _) => Some(format!("{quals} {value}")),
        ("!=", Some((proto @ ("ip" | "ip6"), "proto"))) => Some(format!("{proto} and not {quals} {value}")),
        ("!=", Some((proto, rest))) => Some(of_protocol(proto, "not", &format!("{rest} {value}"))),
        // The word shifts what is behind it, but not the bytes of the frame.
        ("!=", None) => (quals == "vlan").then(|| format!("vlan and ether[14:2] & 0xfff != {value}")),
        _ => {
            let (low, high) = ports_that_are(op, value)?;
            Some(format!("{}portrange {low}-{high}", quals.strip_suffix("port")?))
        }
    }
}
