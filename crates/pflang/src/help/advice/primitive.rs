//! A primitive in the words, or in the order, of other tools.
//!
//! ```text
//! tcp dport {80, 443}      tcp dst port in {80, 443}
//! ip saddr != 192.0.2.10   ip and not src host 192.0.2.10
//! port src 80              src port 80
//! port > 1023              portrange 1024-65535
//! portrange 80:90          portrange 80-90
//! net 10.0.0.0 255.0.0.0   net 10.0.0.0 mask 255.0.0.0
//! host 10.0.0.1:80         host 10.0.0.1 and port 80
//! 443/tcp                  tcp port 443
//! from 10.0.0.1 to ace     src host 10.0.0.1 and dst host ace
//! port 80 443              port 80 or port 443
//! ```

use super::cursor::{Cursor, has_ports, is_value, joined, lookup};
use super::display_filter;
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::range;
use std::net::Ipv4Addr;

/// Protocol, direction and kind, as they stand in front of an identifier; empty where there is none.
type Quals = [&'static str; 3];

/// Words for qualifiers, and what they stand for.
#[rustfmt::skip]
static WORDS: &[(&str, Quals)] = &[
    ("tcp", ["tcp", "", ""]), ("udp", ["udp", "", ""]), ("sctp", ["sctp", "", ""]), ("th", ["", "", ""]),
    ("ip", ["ip", "", ""]), ("ip6", ["ip6", "", ""]), ("arp", ["arp", "", ""]), ("rarp", ["rarp", "", ""]),
    ("ether|ethernet|eth|mac", ["ether", "", ""]), ("src|source|from", ["", "src", ""]),
    ("dst|destination|dest|to", ["", "dst", ""]), ("host|hosts|addr|address", ["", "", "host"]),
    ("net|nets|network|subnet|cidr", ["", "", "net"]), ("port|ports", ["", "", "port"]),
    ("portrange", ["", "", "portrange"]), ("saddr", ["", "src", "host"]), ("daddr", ["", "dst", "host"]),
    ("sport", ["", "src", "port"]), ("dport", ["", "dst", "port"]),
];

/// What a word stands for; of `srcport`, `dst-port`, `src.port` or `src_ip`, a direction and a kind.
fn qualifier(word: &str) -> Option<Quals> {
    lookup(WORDS, word).or_else(|| {
        let (dir, rest) = ["src", "dst"].iter().find_map(|dir| Some((*dir, word.strip_prefix(dir)?)))?;
        match rest.trim_start_matches(['-', '_', '.']) {
            "ip" => Some(["", dir, "host"]),
            kind => {
                lookup(WORDS, kind).filter(|[.., kind]| !kind.is_empty()).map(|[.., kind]| ["", dir, kind])
            }
        }
    })
}

/// Reads qualifiers in any order, also `src or dst port` and `src port or dst port`; not the rest of some.
fn qualifiers(cursor: &mut Cursor<'_>) -> Option<Quals> {
    let before = cursor.at.checked_sub(1).map(|at| cursor.tokens.text(cursor.tokens.list[at]));
    if before.is_some_and(|word| qualifier(word).is_some()) {
        return None;
    }
    let [proto, dir, kind] = plain_qualifiers(cursor);
    let both = cursor.attempt(|cursor| {
        let join = cursor.join().filter(|_| !dir.is_empty())?;
        let ["", other, other_kind] = plain_qualifiers(cursor) else { return None };
        let are_both = !other.is_empty() && other != dir && !other_kind.is_empty();
        let dirs = if join == "or" { "src or dst" } else { "src and dst" };
        (are_both && (kind.is_empty() || kind == other_kind)).then_some([proto, dirs, other_kind])
    });
    Some(both.unwrap_or([proto, dir, kind]))
}

fn plain_qualifiers(cursor: &mut Cursor<'_>) -> Quals {
    let mut quals = [""; 3];
    while let Some(found) = cursor.token().and_then(|token| qualifier(cursor.tokens.text(token))) {
        if quals.iter().zip(found).any(|(known, word)| ![*known, ""].contains(&word) && !known.is_empty()) {
            break;
        }
        cursor.at += 1;
        for (known, word) in quals.iter_mut().zip(found).filter(|(_, word)| !word.is_empty()) {
            *known = word;
        }
        if found[2] == "port" && cursor.one_of("range").is_some() {
            quals[2] = "portrange";
        }
    }
    quals
}

/// `tcp dport != 80`, `port 80, 443`, `src ip 10.0.0.1`, `from 10.0.0.1 to 10.0.0.2`.
pub(super) fn primitive(cursor: &mut Cursor<'_>) -> Option<String> {
    let (start, is_term, is_negated) = (cursor.at, cursor.begins_term(), cursor.is_negated());
    let mut quals @ [proto, dir, mut kind] = qualifiers(cursor)?;
    // `tcp:80`, `tcp/80`, `tcp = 80`.
    if has_ports(proto) && dir.is_empty() && kind.is_empty() {
        cursor
            .one_of(":|/|=|==")
            .filter(|sign| !sign.starts_with('=') || matches!(cursor.kind(), TokenKind::Number(_)))?;
        kind = "port";
        quals[2] = kind;
    }
    let (not, mut tests) = compared(cursor, quals, is_term && !is_negated)?;
    let has = |is_one: fn(TokenKind) -> bool| {
        cursor.tokens.list[start..cursor.at].iter().any(|token| is_one(token.kind))
    };
    let is_qualified = match quals {
        // An address alone is another matter, unless it has signs in it.
        ["", "", ""] => has(|kind| matches!(kind, TokenKind::Sign(Sign::Percent | Sign::Star))),
        ["ether", _, ""] => has(|kind| matches!(kind, TokenKind::Mac(_))),
        ["ether", _, kind] => kind == "host",
        [_, dir, ""] => is_term && !dir.is_empty(),
        _ => true,
    };
    if !is_qualified {
        return None;
    }
    let alternatives: Vec<String> = tests.iter().map(|test| of_protocol(proto, not, test)).collect();
    while is_term && !dir.is_empty() && proto != "ether" && alternatives.len() == 1 {
        let next = cursor.attempt(|cursor| {
            // Behind `and`, what is a primitive of the language is none of this phrase.
            if cursor.one_of("and").is_some() && (is_negated || cursor.is_at("src|dst")) {
                return None;
            }
            let quals @ ["", dir, _] = qualifiers(cursor)? else { return None };
            cursor.token().filter(|_| !dir.is_empty())?;
            compared(cursor, quals, false).filter(|(_, tests)| tests.len() == 1)
        });
        let Some((not, other)) = next else { break };
        tests.push(joined(&[not, &other[0]]));
    }
    if tests.len() == alternatives.len() {
        return Some(alternatives.join(" or "));
    }
    tests[0] = joined(&[not, &tests[0]]);
    tests.splice(0..0, Some(proto.to_owned()).filter(|proto| !proto.is_empty()));
    Some(tests.join(" and "))
}

/// Ports or addresses of a protocol, which is no qualifier of addresses if it has ports, nor the other way round. What is not on
/// them is still of the protocol: without that, all packets of other protocols would match as well. Every frame has addresses.
pub(super) fn of_protocol(proto: &str, not: &str, test: &str) -> String {
    let are_ports = test.split(' ').any(|word| matches!(word, "port" | "portrange"));
    let is_qualifier = not.is_empty() && has_ports(proto) == are_ports;
    if proto.is_empty() || proto == "ether" || is_qualifier {
        joined(&[not, proto, test])
    } else {
        joined(&[proto, "and", not, test])
    }
}

/// Reads a comparison and what stands behind it: `not` or nothing, and the test with direction and kind, of `port 80 443` several.
fn compared(cursor: &mut Cursor<'_>, quals: Quals, may_go_on: bool) -> Option<(&'static str, Vec<String>)> {
    let (start, [proto, dir, kind]) = (cursor.at, quals);
    cursor.one_of(":");
    let word = cursor.one_of("in|between").unwrap_or_default();
    if kind == "port"
        && let Some(ports) = cursor.attempt(bound)
    {
        // `port > 1023 and port < 2001`; not behind `not`, which holds for the first bound only.
        let other = cursor.attempt(|cursor| {
            cursor.join().filter(|join| may_go_on && *join == "and")?;
            let other = qualifiers(cursor)?;
            let ports = between(ports, bound(cursor)?)?;
            (other == [""; 3] || other == quals).then_some(ports)
        });
        let (low, high) = other.unwrap_or(ports);
        return Some(("", vec![joined(&[dir, &format!("portrange {low}-{high}")])]));
    }
    let not = cursor.negation();
    let test = |kind: &str, value: &str| Some((not, vec![joined(&[dir, kind, value])]));
    let whole = match kind {
        "port" | "portrange" => cursor.attempt(|cursor| range(cursor, kind, word)).zip(Some("portrange")),
        "host" | "net" => cursor.attempt(mask).zip(Some("net")),
        _ => None,
    };
    if let Some((value, kind)) = whole {
        return test(kind, &value);
    }
    let is_set = word == "in" || cursor.is_at("{");
    let is_end = cursor.at + 1 >= cursor.tokens.list.len() && cursor.tokens.error.is_none();
    if is_end && cursor.at == start && !dir.is_empty() && !kind.is_empty() {
        return test(kind, "");
    }
    let is_address = |cursor: &Cursor<'_>| is_value(cursor.kind()) && cursor.kind() != TokenKind::Name;
    let may_follow = cursor.at == start && is_address(cursor) && matches!(quals[2], "host" | "net" | "port");
    let signs = [["{", "}"], ["(", ")"], ["[", "]"]];
    let mut values = signs
        .into_iter()
        .filter(|_| word != "between")
        .find_map(|signs| cursor.enclosed(signs, address))
        .unwrap_or_default();
    while values.is_empty() || cursor.one_of(",").is_some() {
        values.push(address(cursor).filter(|_| word != "between")?);
    }
    let (first, is_one) = (values[0].as_str(), values.len() == 1 && !is_set);
    let is_range = range::numbers(first).is_some();
    let kind = match kind {
        "port" | "" if is_range && is_one => "portrange",
        "" if proto == "ether" => ["host", ""][usize::from(!dir.is_empty())],
        "host" | "" if first.contains('/') && is_one => "net",
        // Nobody means the host 0.0.0.80.
        "host" if has_ports(proto) && first.bytes().all(|byte| byte.is_ascii_digit()) => return None,
        "" if is_range || first.bytes().all(|byte| byte.is_ascii_digit()) => "port",
        "" if has_ports(proto) && display_filter::protocol(first).is_some() => "port",
        "" => "host",
        kind => kind,
    };
    let value = if is_one { values.concat() } else { format!("in {{{}}}", values.join(", ")) };
    let (_, mut tests) = test(kind, &value)?;
    let is_qualifier = proto.is_empty() || has_ports(proto) == (kind == "port");
    while may_follow && is_one && is_qualifier && is_address(cursor) {
        let value = cursor.value()?;
        tests.push(joined(&[dir, if kind == "host" && value.contains('/') { "net" } else { kind }, &value]));
    }
    // A netmask is no further address.
    let has_mask =
        tests.len() > 1 && tests.iter().any(|test| test.contains(" 255.") || test.contains("/255."));
    (!has_mask).then_some((not, tests))
}

/// Reads `>= 1024`: the ports that are.
fn bound(cursor: &mut Cursor<'_>) -> Option<(u32, u32)> {
    let sign = cursor.ordering()?;
    ports_that_are(sign, &cursor.value()?)
}

/// The first and the last of the ports that are less or greater than another.
pub(super) fn ports_that_are(sign: &str, bound: &str) -> Option<(u32, u32)> {
    let (bound, last): (u16, _) = (bound.parse().ok()?, u16::MAX);
    let (low, high) = match sign {
        "<" => (0, bound.checked_sub(1)?),
        "<=" => (0, bound),
        ">" => (bound.checked_add(1)?, last),
        _ => (bound, last),
    };
    Some((low.into(), high.into()))
}

/// What two ranges have in common.
pub(super) fn between(one: (u32, u32), other: (u32, u32)) -> Option<(u32, u32)> {
    let (low, high) = (one.0.max(other.0), one.1.min(other.1));
    (low <= high).then_some((low, high))
}

/// `80 - 90`, `80:90`, `80 to 90`, of `between` also `80 and 90`, of `portrange` also `80 90`.
fn range(cursor: &mut Cursor<'_>, kind: &str, word: &str) -> Option<String> {
    let low = cursor.number()?;
    let joins = if word == "between" { "-|:|to|and" } else { "-|:|to" };
    cursor.one_of(joins).or((kind == "portrange").then_some(""))?;
    Some(format!("{low}-{}", cursor.number()?))
}

/// `10.0.0.0 255.0.0.0`, `10.0.0.0 netmask 255.0.0.0`, `10.0.0.0/255.0.0.0`, `10.0.0.0 mask 8`.
fn mask(cursor: &mut Cursor<'_>) -> Option<String> {
    let net = cursor.text_of(|kind| kind == TokenKind::Dotted)?;
    if cursor.one_of("/|netmask|mask").is_some_and(|word| word != "/")
        && let Some(len) = cursor.number()
    {
        // `0xffff0000`.
        let mask = len.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        return Some(match mask.filter(|mask| *mask > 32) {
            Some(mask) => format!("{net} mask {}", Ipv4Addr::from(mask)),
            None => format!("{net}/{len}"),
        });
    }
    // Another network would not begin with ones.
    let mask = cursor.text_of(|kind| kind == TokenKind::Dotted).filter(|mask| mask.starts_with("255."))?;
    Some(format!("{net} mask {mask}"))
}

/// A value, also `10.0.*` and `fe80::1%eth0`.
fn address(cursor: &mut Cursor<'_>) -> Option<String> {
    let net = cursor.attempt(wildcard);
    if net.is_some() || cursor.is_at("lt|le|gt|ge|eq|ne|neq|in|is|not|between|range") {
        return net;
    }
    let value = cursor.value().filter(|value| qualifier(value).is_none())?;
    if matches!(cursor.back(1), Some(TokenKind::V6(_))) && cursor.one_of("%").is_some() {
        cursor.value()?;
    }
    Some(value)
}

/// `10.0.0.*`, `10.*`.
fn wildcard(cursor: &mut Cursor<'_>) -> Option<String> {
    let parts = cursor.text_of(|kind| kind == TokenKind::Name)?.strip_suffix('.')?;
    cursor.one_of("*")?;
    // `192.168.*.*`, but not `192.168.*.1`.
    while cursor.one_of(".").is_some() {
        cursor.one_of("*")?;
    }
    let (end, next) = (cursor.tokens.list[cursor.at - 1].span.end, cursor.tokens.list[cursor.at]);
    if is_value(next.kind) && next.span.start == end {
        return None;
    }
    let count = parts.split('.').map(|part| part.parse::<u8>().ok()).collect::<Option<Vec<_>>>()?.len();
    Some(format!("{parts}{}/{}", ".0".repeat(4usize.checked_sub(count)?), 8 * count))
}

/// Reads qualifiers of one of these kinds, without a protocol: the direction.
pub(super) fn direction(cursor: &mut Cursor<'_>, kinds: &[&str]) -> Option<String> {
    let [proto, dir, kind] = plain_qualifiers(cursor);
    (proto.is_empty() && kinds.contains(&kind)).then(|| dir.to_owned())
}
