//! Phrases of nftables and other tools, and their equivalents here.
//!
//! ```text
//! tcp dport {80, 443}      tcp dst port in {80, 443}
//! ip saddr 192.0.2.10      ip src host 192.0.2.10
//! meta l4proto tcp         tcp
//! tcp flags syn            tcp[tcpflags] & tcp-syn != 0
//! port 80 443              port 80 or port 443
//! ```

use super::cursor::{Cursor, joined};
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::words::{self, Word};

/// `tcp dport 80`, `udp sport != 53`, `th dport 80-90`, `tcp dport >= 1024`.
pub(super) fn ports(cursor: &mut Cursor<'_>) -> Option<String> {
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
pub(super) fn addresses(cursor: &mut Cursor<'_>) -> Option<String> {
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
pub(super) fn transport(cursor: &mut Cursor<'_>) -> Option<String> {
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

/// `tcp syn`, `tcp flags syn`, `tcp flags syn / syn,ack`, `tcp flags & (syn|ack) == syn`, `flags:SA`.
pub(super) fn flags(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_term = cursor.begins_term();
    let is_tcp = cursor.one_of(&["tcp"]).is_some();
    if !is_tcp && !is_term {
        return None;
    }
    if cursor.one_of(&["flags"]).is_none() {
        return named_flags(cursor);
    }
    if let Some(letters) = flag_letters(cursor) {
        return Some(format!("tcp[tcpflags] = {letters}"));
    }
    if !is_tcp {
        return None;
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
    let at = cursor.at;
    if let (None, Some(several)) = (op, cursor.flags(Sign::Pipe))
        && several.starts_with('(')
    {
        return Some(both(&several));
    }
    cursor.at = at;
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

/// The test for all flags of a mask.
fn both(mask: &str) -> String {
    format!("tcp[tcpflags] & {mask} = {mask}")
}

/// `tcp[tcpflags] = tcp-syn and tcp-ack`.
pub(super) fn joined_flags(cursor: &mut Cursor<'_>) -> Option<String> {
    const FLAGS: &[&str] =
        &["tcp-fin", "tcp-syn", "tcp-rst", "tcp-push", "tcp-ack", "tcp-urg", "tcp-ece", "tcp-cwr"];
    cursor.one_of(&["tcp"])?;
    cursor.sign(Sign::LBracket)?;
    cursor.one_of(&["tcpflags", "13"])?;
    cursor.sign(Sign::RBracket)?;
    cursor.sign(Sign::Eq)?;
    let mut flags = vec![cursor.one_of(FLAGS)?];
    let mut end = cursor.at;
    while cursor.one_of(&["and", "&&"]).is_some() {
        // What follows may be another primitive.
        let Some(flag) = cursor.one_of(FLAGS) else { break };
        flags.push(flag);
        end = cursor.at;
    }
    cursor.at = end;
    (flags.len() > 1).then(|| both(&format!("({})", flags.join("|"))))
}

/// `tcp syn` and `syn|ack`, which is any of them; `syn,ack`, `syn+ack` and `syn-ack`, which are both.
fn named_flags(cursor: &mut Cursor<'_>) -> Option<String> {
    if cursor.one_of(&["syn-ack", "synack", "syn_ack"]).is_some() {
        return Some(both("(tcp-syn|tcp-ack)"));
    }
    let start = cursor.at;
    for sign in [Sign::Comma, Sign::Plus] {
        match cursor.flags(sign) {
            Some(several) if several.starts_with('(') => return Some(both(&several)),
            _ => cursor.at = start,
        }
    }
    Some(format!("tcp[tcpflags] & {} != 0", cursor.flags(Sign::Pipe)?))
}

/// `S`, `:SA`: the mask of the flags that Snort and Scapy write as letters, which have to be just these.
fn flag_letters(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    cursor.sign(Sign::Colon).or_else(|| cursor.sign(Sign::Eq));
    let letters = cursor.text_of(|kind| kind == TokenKind::Name);
    let flags = letters.and_then(|letters| {
        let flag = |letter| {
            Some(match letter {
                'F' => "tcp-fin",
                'S' => "tcp-syn",
                'R' => "tcp-rst",
                'P' => "tcp-push",
                'A' => "tcp-ack",
                'U' => "tcp-urg",
                'E' => "tcp-ece",
                'C' => "tcp-cwr",
                _ => return None,
            })
        };
        letters.chars().map(flag).collect::<Option<Vec<_>>>()
    });
    match flags {
        Some(flags) => Some(flags.join("|")),
        None => {
            cursor.at = start;
            None
        }
    }
}

/// `ether type arp`, `vlan id 10`, `vlan:10`, `mpls label 5`, `meta pkttype multicast`.
pub(super) fn kinds(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    match cursor.one_of(&["ether", "vlan", "mpls", "geneve", "vxlan", "pppoes", "meta"])? {
        "ether" => {
            cursor.one_of(&["type"])?;
            match cursor.one_of(&["ip", "ip6", "arp", "vlan"]) {
                Some(word) => Some(word.to_owned()),
                None => Some(format!("ether proto {}", cursor.number()?)),
            }
        }
        word @ ("vlan" | "mpls" | "geneve" | "vxlan" | "pppoes") => {
            if cursor.one_of(&["any"]).is_some() {
                return Some(word.to_owned());
            }
            cursor.one_of(&["id", "label", "vni", "tag", "vid", "session"]);
            cursor.sign(Sign::Colon);
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

/// `tcp port {80, 443}`, `port in (80, 443)`, `port in 80, 443`, `dst host (a, b)`.
pub(super) fn set(cursor: &mut Cursor<'_>) -> Option<String> {
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
pub(super) fn juxtaposed(cursor: &mut Cursor<'_>) -> Option<String> {
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
    value.and_then(crate::syntax::range::numbers).is_some()
}
