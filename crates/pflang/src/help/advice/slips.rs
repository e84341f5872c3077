//! What people write who know the language but not this corner of it, and what they mean.
//!
//! ```text
//! port != 80               not port 80
//! port 80, 443             port in {80, 443}
//! portrange 80:90          portrange 80-90
//! net 10.0.0.0/255.0.0.0   net 10.0.0.0 mask 255.0.0.0
//! host 10.0.0.1:80         host 10.0.0.1 and port 80
//! src ip 10.0.0.1          ip src host 10.0.0.1
//! vlan 5 or 6              vlan 5 or vlan 6
//! length greater 100       len > 100
//! ```
//! Like [`habits`](super::habits), these phrases are looked for only after the parser has failed.

use super::cursor::{Cursor, has_ports, joined};
use super::habits::is_range;
use crate::Span;
use crate::options::Dialect;
use crate::syntax::ast::Proto;
use crate::syntax::codes;
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::parser::is_filter;
use crate::syntax::words::Word;

/// `port 80 - 90`, `portrange 80:90`, `portrange 80 to 90`, `portrange 80 90`, `port between 80 and 90`.
pub(super) fn range(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let directed = quals.strip_suffix("portrange").or(quals.strip_suffix("port"))?;
    let is_between = cursor.one_of(&["between"]).is_some();
    let low = cursor.number()?;
    let is_joined = cursor.sign(Sign::Minus).or_else(|| cursor.sign(Sign::Colon)).is_some()
        || cursor.one_of(if is_between { &["and", "to"] } else { &["to"] }).is_some();
    if !is_joined && quals.ends_with("port") {
        return None;
    }
    Some(format!("{directed}portrange {low}-{}", cursor.number()?))
}

/// `net 10.0.0.0 255.0.0.0`, `net 10.0.0.0 netmask 255.0.0.0`, `host 10.0.0.0/255.0.0.0`, `net 10.0.0.0 mask 8`.
pub(super) fn mask(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let directed = quals.strip_suffix("net").or(quals.strip_suffix("host"))?;
    let net = cursor.dotted()?;
    if cursor.sign(Sign::Slash).is_none()
        && cursor.one_of(&["netmask", "mask"]).is_some()
        && let Some(len) = cursor.number()
    {
        // `0xffff0000`.
        let mask = len.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        return Some(match mask.filter(|mask| *mask > 32) {
            Some(mask) => format!("{directed}net {net} mask {}", std::net::Ipv4Addr::from(mask)),
            None => format!("{directed}net {net}/{len}"),
        });
    }
    // Another network would not begin with ones.
    let mask = cursor.dotted().filter(|mask| mask.starts_with("255."))?;
    Some(format!("{directed}net {net} mask {mask}"))
}

/// `port >= 1024 and port <= 2000`, `port > 1023 and < 2001`; not behind `not`, which holds for the first bound only.
pub(super) fn between(cursor: &mut Cursor<'_>) -> Option<String> {
    if !cursor.begins_term() || cursor.is_negated() {
        return None;
    }
    let quals = cursor.qualifiers()?;
    let directed = quals.strip_suffix("port")?;
    let (first_low, first_high) = bound(cursor)?;
    cursor.one_of(&["and", "&&"])?;
    let again = cursor.at;
    if cursor.qualifiers().is_none_or(|other| other != quals) {
        cursor.at = again;
    }
    let (low, high) = bound(cursor)?;
    let (low, high) = (low.max(first_low), high.min(first_high));
    (low <= high).then(|| format!("{directed}portrange {low}-{high}"))
}

/// Reads `>= 1024`: the ports that are.
fn bound(cursor: &mut Cursor<'_>) -> Option<(u32, u32)> {
    let sign = cursor.ordering()?;
    let range = super::habits::ports_that_are(sign, cursor.value()?.parse().ok()?)?;
    crate::syntax::range::numbers(&range)
}

/// `src port or dst port 80`, `tcp src port or dst port 80`.
pub(super) fn both_ends(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let (before, kind) = quals.rsplit_once(' ')?;
    let proto = before.strip_suffix("src").or(before.strip_suffix("dst"))?;
    let join = match cursor.one_of(&["and", "or", "&&", "||"])? {
        "and" | "&&" => "and",
        _ => "or",
    };
    let other = cursor.qualifiers()?;
    let same = other.ends_with(kind)
        && !other.ends_with(before)
        && (other.starts_with("src") || other.starts_with("dst"));
    let value = cursor.value()?;
    same.then(|| format!("{proto}src {join} dst {kind} {value}"))
}

/// `from 10.0.0.1 to 10.0.0.2`, `source port 80`, `destination 10.0.0.1`, `src=10.0.0.1`, `src != 10.0.0.1`, `dst: 10.0.0.1`.
pub(super) fn sender(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.begins_term() {
        return None;
    }
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "ip", "ip6"]);
    let mut ends = Vec::new();
    while let Some(word) = cursor.one_of(&["from", "to", "source", "destination", "dest", "src", "dst"]) {
        let dir = if matches!(word, "from" | "source" | "src") { "src" } else { "dst" };
        cursor.one_of(&["ip"]);
        let kind = cursor.kind();
        let not = cursor.negation();
        cursor.sign(Sign::Colon);
        let value = cursor.value()?;
        let is_bare = kind.is_none() && value.bytes().all(|byte| byte.is_ascii_digit());
        let kind = match kind {
            Some("host") if value.contains('/') => "net",
            Some(kind) => kind,
            // Nobody means the host 0.0.0.80.
            None if is_bare => "port",
            None if value.contains('/') => "net",
            None => "host",
        };
        ends.push((not, format!("{dir} {kind} {value}")));
        let joined = cursor.at;
        if cursor.one_of(&["and"]).is_some() && cursor.one_of(&["to", "destination", "dest"]).is_some() {
            cursor.at -= 1;
        } else {
            cursor.at = joined;
        }
    }
    match &ends[..] {
        [] => None,
        [(not, one)] => Some(cursor.of_protocol(start, proto, *not, one)),
        several => {
            let tests = several.iter().map(|(not, one)| joined(&[*not, Some(one)]));
            let tests: Vec<String> = proto.map(str::to_owned).into_iter().chain(tests).collect();
            Some(cursor.operands(start, &tests.join(" and ")))
        }
    }
}

/// `host fe80::1%eth0`.
pub(super) fn scoped_address(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers().unwrap_or_else(|| "host".to_owned());
    let address = cursor.text_of(|kind| matches!(kind, TokenKind::V6(_)))?;
    cursor.sign(Sign::Percent)?;
    cursor.value()?;
    Some(format!("{quals} {address}"))
}

/// `ether dst broadcast`, `ip dst multicast`.
pub(super) fn group(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = cursor.one_of(&["ether", "link", "ip", "ip6"]).unwrap_or("ether");
    cursor.one_of(&["dst"])?;
    cursor.one_of(&["host"]);
    Some(format!("{proto} {}", cursor.one_of(&["broadcast", "multicast"])?))
}

/// `proto tcp`, `ip proto udp`, `protocol icmp`, `proto = 6`.
pub(super) fn protocol(cursor: &mut Cursor<'_>) -> Option<String> {
    let carrier = cursor.one_of(&["ip", "ip6", "ether"]);
    let word = match cursor.one_of(&["proto", "protocol", "protochain"])? {
        "protochain" => "protochain",
        _ => "proto",
    };
    if cursor.negation().is_some() {
        return None;
    }
    let token = cursor.token()?;
    cursor.at += 1;
    let value = match token.kind {
        // The files that name protocols call it otherwise.
        TokenKind::Word(Word::Proto(Proto::Icmp6)) if carrier != Some("ether") => {
            return Some("icmp6".to_owned());
        }
        TokenKind::Word(Word::Proto(_)) => format!("\\{}", cursor.tokens.text(token)),
        TokenKind::Word(Word::Vlan) if carrier == Some("ether") => "0x8100".to_owned(),
        TokenKind::Word(Word::Mpls) if carrier == Some("ether") => "0x8847".to_owned(),
        TokenKind::Number(_) | TokenKind::Name => cursor.tokens.text(token).to_owned(),
        _ => return None,
    };
    Some(joined(&[carrier, Some(word), Some(&value)]))
}

/// `port = 80`, `tcp port != 80`, `port != 80, 443`, `port = 80-90`, `host == 10.0.0.1`, `port > 1023`.
pub(super) fn compared(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "ip", "ip6", "arp", "rarp"]);
    let quals = cursor.qualifiers()?;
    let next = cursor.token()?;
    let is_signed =
        matches!(next.kind, TokenKind::Sign(_)) || matches!(cursor.tokens.text(next), "eq" | "ne" | "neq");
    // `port:80`.
    cursor.sign(Sign::Colon);
    match (cursor.ordering(), quals.strip_suffix("port")) {
        (Some(sign), Some(directed)) => {
            let range = super::habits::ports_that_are(sign, cursor.value()?.parse().ok()?)?;
            Some(cursor.of_protocol(start, proto, None, &format!("{directed}portrange {range}")))
        }
        (None, directed) if is_signed => {
            let not = cursor.negation();
            let ids = match (&cursor.commas()?[..], directed) {
                ([one], Some(directed)) if is_range(Some(one)) => format!("{directed}portrange {one}"),
                ([one], _) => format!("{quals} {one}"),
                (several, _) => format!("{quals} in {{{}}}", several.join(", ")),
            };
            Some(cursor.of_protocol(start, proto, not, &ids))
        }
        _ => None,
    }
}

/// `port 80, 443`, `host ace, vs`.
pub(super) fn commas(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let members = cursor.commas()?;
    (members.len() > 1).then(|| format!("{quals} in {{{}}}", members.join(", ")))
}

/// `tcp host ace or vs`, `udp dst net in {10.0.0.0/8, 192.0.2.0/24}`: a protocol without addresses in front of several.
pub(super) fn addresses_of_transport(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.begins_term() || cursor.is_negated() {
        return None;
    }
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "icmp", "icmp6"])?;
    let (dir, kind) = (cursor.one_of(&["src", "dst"]), cursor.one_of(&["host", "net"]));
    let quals = joined(&[dir, kind]);
    if cursor.one_of(&["in"]).is_some() {
        let from = cursor.token()?.span;
        while cursor.sign(Sign::RBrace).is_none() {
            cursor.token()?;
            cursor.at += 1;
        }
        let set = from.to(cursor.tokens.list[cursor.at - 1].span).text(cursor.tokens.source);
        return Some(cursor.operands(start, &format!("{proto} and {quals} in {set}")));
    }
    let mut list = cursor.value()?;
    let mut end = cursor.at;
    while let Some(join) = cursor.one_of(&["or", "and", "||", "&&"])
        && let Some(value) = cursor.value()
    {
        let join = if matches!(join, "or" | "||") { "or" } else { "and" };
        list = format!("{list} {join} {value}");
        end = cursor.at;
    }
    cursor.at = end;
    (list.contains(' ') && !quals.is_empty())
        .then(|| cursor.operands(start, &format!("{proto} and ({quals} {list})")))
}

/// `10.0.0.1:80`, `tcp src 10.0.0.1:80`, `host [2001:db8::1]:80`.
pub(super) fn socket(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    // `src or dst` is not understood, and half of it not meant.
    if !cursor.begins_term() {
        return None;
    }
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "ip", "ip6"]);
    let dir = cursor.one_of(&["src", "dst"]);
    cursor.one_of(&["host"]);
    let address = match cursor.sign(Sign::LBracket) {
        Some(()) => {
            let address = cursor.text_of(|kind| matches!(kind, TokenKind::V6(_)))?;
            cursor.sign(Sign::RBracket)?;
            address
        }
        None => cursor.dotted()?,
    };
    cursor.sign(Sign::Colon)?;
    let port = cursor.number()?;
    let host = joined(&[dir, Some("host"), Some(address)]);
    let port = joined(&[dir, Some("port"), Some(&port)]);
    let proto = proto.map(|proto| format!("{proto} and "));
    Some(cursor.operands(start, &format!("{}{host} and {port}", proto.unwrap_or_default())))
}

/// `port src 80`, `tcp port dst 80`, `host src 10.0.0.1`.
pub(super) fn direction_behind_kind(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = cursor.one_of(&["tcp", "udp", "sctp", "ip", "ip6"]);
    let (kind, dir) = (cursor.kind()?, cursor.one_of(&["src", "dst"])?);
    Some(joined(&[proto, Some(dir), Some(kind), Some(&cursor.value()?)]))
}

/// `src ip 10.0.0.1`, `dst tcp port 80`, `port tcp 443`.
pub(super) fn carrier_behind_direction(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.begins_term() {
        return None;
    }
    let (dir, kind) = (cursor.one_of(&["src", "dst"]), cursor.kind());
    if dir.is_none() && kind.is_none() {
        return None;
    }
    let proto = cursor.one_of(&["ip", "ip6", "arp", "tcp", "udp", "sctp"])?;
    let kind = match (kind.or_else(|| cursor.kind()), proto) {
        (Some(kind), _) => kind,
        (None, proto) if has_ports(proto) => "port",
        (None, _) => "host",
    };
    let value = cursor.value()?;
    // Nobody means the host 0.0.0.80.
    if kind == "host" && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kind = if kind == "host" && value.contains('/') { "net" } else { kind };
    Some(cursor.of_protocol(start, Some(proto), None, &joined(&[dir, Some(kind), Some(&value)])))
}

/// `mac 1:2:3:4:5:6`, `src mac 1:2:3:4:5:6`, `eth src 1:2:3:4:5:6`.
pub(super) fn hardware_address(cursor: &mut Cursor<'_>) -> Option<String> {
    let before = cursor.one_of(&["src", "dst"]);
    cursor.one_of(&["mac", "eth", "ether", "ethernet"])?;
    let dir = before.or_else(|| cursor.one_of(&["src", "dst"]));
    cursor.one_of(&["host", "mac"]);
    let address = cursor.text_of(|kind| matches!(kind, TokenKind::Mac(_)))?;
    Some(format!("ether {} {address}", dir.unwrap_or("host")))
}

/// `ether[0:6] = 0x010203040506`: more bytes than numbers have.
pub(super) fn bytes_of_address(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.one_of(&["ether", "link"])?;
    cursor.sign(Sign::LBracket)?;
    let dir = if cursor.one_of(&["0", "6"])? == "0" { "dst" } else { "src" };
    cursor.sign(Sign::Colon)?;
    cursor.one_of(&["6"])?;
    cursor.sign(Sign::RBracket)?;
    let not = cursor.negation();
    let token = *cursor.tokens.list.get(cursor.at)?;
    cursor.at += 1;
    let address = match token.kind {
        TokenKind::Mac(_) => cursor.tokens.text(token).to_owned(),
        // A number that is too large ends the tokens.
        TokenKind::Number(_) | TokenKind::End => {
            let text = cursor.tokens.source.get(token.span.start as usize..)?.strip_prefix("0x")?;
            let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
            let bytes: Vec<&str> = (0..6).map_while(|byte| text.get(2 * byte..2 * byte + 2)).collect();
            (end == 12).then(|| bytes.join(":"))?
        }
        _ => return None,
    };
    Some(joined(&[not, Some("ether"), Some(dir), Some(&address)]))
}

/// `subnet 10.0.0.0/8`, `ip addr 10.0.0.1`, `srcport 80`, `port range 80-90`: other words for the qualifiers.
pub(super) fn qualified(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = cursor.qualifiers()?;
    let value = cursor.value()?;
    match quals.strip_suffix("host") {
        Some(directed) if value.contains('/') => Some(format!("{directed}net {value}")),
        _ => Some(format!("{quals} {value}")),
    }
}

/// `vlan 5 or 6`, `tcp[13] = 2 or 18`, `less 60 or 70`: numbers of a primitive that hands nothing on, which has to be written
/// again; `vci 5 or 6`, which has to have parentheses.
pub(super) fn repeated(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.begins_term() || cursor.is_negated() || cursor.one_of(&["not", "!"]).is_some() {
        return None;
    }
    let is_join = |kind| matches!(kind, TokenKind::Word(Word::And | Word::Or));
    while cursor.token().is_some_and(|token| !is_join(token.kind)) {
        cursor.at += 1;
    }
    let (first, last) = (cursor.tokens.list[start], cursor.at.checked_sub(2).filter(|last| *last >= start)?);
    cursor.at -= 1;
    let number = cursor.tokens.list[cursor.at].span.start;
    let head = Span::new(first.span.start, number).text(cursor.tokens.source);
    let mut numbers = vec![cursor.number()?];
    let join = cursor.token()?.kind;
    while cursor.token().is_some_and(|token| token.kind == join) {
        cursor.at += 1;
        let Some(number) = cursor.number() else {
            cursor.at -= 1;
            break;
        };
        numbers.push(number);
    }
    let is_end =
        cursor.token().is_none_or(|next| is_join(next.kind) || next.kind == TokenKind::Sign(Sign::RParen));
    let is_filter = |text: &str| is_filter(text, &Dialect::default());
    if !is_end || numbers.len() < 2 || !is_filter(&format!("{head}{}", numbers[0])) {
        return None;
    }
    let list = format!("{head}({})", numbers.join(" or "));
    let join = match (cursor.tokens.list[last].kind, join == TokenKind::Word(Word::Or)) {
        (_, true) if is_filter(&list) => return Some(list),
        // What is not one of them is unequal to each.
        (TokenKind::Sign(Sign::Ne), true) => " and ",
        (_, true) => " or ",
        // Nothing is two numbers at once.
        (TokenKind::Sign(Sign::Eq), false) => return None,
        (_, false) if is_filter(&list) => return None,
        (_, false) => " and ",
    };
    let tests: Vec<String> = numbers.iter().map(|number| format!("{head}{number}")).collect();
    Some(cursor.operands(start, &tests.join(join)))
}

/// `wlan type beacon`, `wlan beacon`: a subtype of 802.11 where its type is asked for.
pub(super) fn subtype(cursor: &mut Cursor<'_>) -> Option<String> {
    let of_wlan = cursor.one_of(&["wlan"]);
    let of_type = cursor.one_of(&["type"]);
    let name = cursor.text_of(|kind| kind == TokenKind::Name).filter(|name| codes::is_wlan_subtype(name))?;
    of_wlan.or(of_type).map(|_| format!("subtype {name}"))
}

/// `443/tcp`, `dst port 443/tcp`, `port http/tcp`, `tcp:443`, `tcp/80,443`, `tcp = 443`.
pub(super) fn service(cursor: &mut Cursor<'_>) -> Option<String> {
    const PROTOS: &[&str] = &["tcp", "udp", "sctp"];
    if let Some(proto) = cursor.one_of(PROTOS) {
        if cursor.sign(Sign::Eq).is_some() {
            return Some(format!("{proto} port {}", cursor.number()?));
        }
        cursor.sign(Sign::Colon).or_else(|| cursor.sign(Sign::Slash))?;
        return Some(match &cursor.commas()?[..] {
            [one] if is_range(Some(one)) => format!("{proto} portrange {one}"),
            [one] => format!("{proto} port {one}"),
            several => format!("{proto} port in {{{}}}", several.join(", ")),
        });
    }
    let dir = cursor.one_of(&["src", "dst"]);
    let is_port = cursor.one_of(&["port"]).is_some();
    let is_service = |kind| matches!(kind, TokenKind::Number(_)) || (is_port && kind == TokenKind::Name);
    let port = cursor.text_of(is_service)?;
    cursor.sign(Sign::Slash)?;
    let proto = cursor.one_of(PROTOS)?;
    Some(joined(&[Some(proto), dir, Some("port"), Some(port)]))
}

/// `length greater 100`, `greater than 100`, `less than 100`, `len 100`, `size > 100`.
pub(super) fn length(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_named = cursor.one_of(&["len", "length", "size", "pktlen", "caplen"]).is_some();
    let start = cursor.at;
    if is_named && cursor.one_of(&["greater", "less"]).is_none() {
        let op = cursor.comparison();
        return Some(format!("len {op} {}", cursor.number()?));
    }
    cursor.at = start;
    let sign = if cursor.one_of(&["greater", "less"])? == "greater" { ">" } else { "<" };
    // Without either it is a primitive of the language, in which equal is enough.
    let is_than = cursor.one_of(&["than"]).is_some();
    (is_named || is_than).then_some(())?;
    Some(format!("len {sign} {}", cursor.number()?))
}

/// `100 < len < 200`, `len > 100 < 200`, `len > 100 and < 200`, `len between 100 and 200`.
pub(super) fn bounds(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let low = cursor.number();
    let before = low.as_ref().and_then(|_| cursor.ordering());
    cursor.one_of(&["len", "length"])?;
    if low.is_none() && cursor.one_of(&["between"]).is_some() {
        let low = cursor.number()?;
        cursor.one_of(&["and", "to"])?;
        let high = cursor.number()?;
        return Some(cursor.operands(start, &format!("len >= {low} and len <= {high}")));
    }
    let (first, number) = match (before, low) {
        (Some(sign), Some(number)) => (mirrored(sign), number),
        _ => (ordering(cursor.ordering()?), cursor.number()?),
    };
    cursor.one_of(&["and", "&&"]);
    let (second, other) = (ordering(cursor.ordering()?), cursor.number()?);
    Some(cursor.operands(start, &format!("len {first} {number} and len {second} {other}")))
}

fn ordering(sign: Sign) -> &'static str {
    match sign {
        Sign::Lt => "<",
        Sign::Le => "<=",
        Sign::Gt => ">",
        _ => ">=",
    }
}

/// With its sides exchanged.
fn mirrored(sign: Sign) -> &'static str {
    match sign {
        Sign::Lt => ">",
        Sign::Le => ">=",
        Sign::Gt => "<",
        _ => "<=",
    }
}

/// The head of a rule of Suricata's or Snort's: `alert tcp any any -> 10.0.0.0/8 80`.
pub(super) fn rule(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let is_rule = cursor.one_of(&["alert", "drop", "pass", "reject"]).is_some();
    let proto = cursor.one_of(&["tcp", "udp", "icmp", "ip"]).filter(|_| is_rule || start == 0)?;
    let sources = end_of_rule(cursor, "src")?;
    cursor.sign(Sign::Minus)?;
    cursor.sign(Sign::Gt)?;
    let mut tests = end_of_rule(cursor, "dst")?;
    tests.splice(0..0, sources);
    if let [test] = &tests[..]
        && has_ports(proto)
        && test.contains(" port")
        && !test.starts_with("not")
    {
        return Some(format!("{proto} {test}"));
    }
    tests.insert(0, proto.to_owned());
    Some(if tests.len() > 1 { cursor.operands(start, &tests.join(" and ")) } else { proto.to_owned() })
}

/// An address and a port of such a rule, each of which may be `any`, or not be: `!10.0.0.1`.
fn end_of_rule(cursor: &mut Cursor<'_>, dir: &str) -> Option<Vec<String>> {
    let mut tests = Vec::new();
    for kind in ["host", "port"] {
        if cursor.one_of(&["any"]).is_some() {
            continue;
        }
        let not = cursor.one_of(&["!"]).map(|_| "not");
        let value = cursor.value()?;
        let kind = match kind {
            "host" if value.contains('/') => "net",
            "port" if value.contains('-') => "portrange",
            kind => kind,
        };
        tests.push(joined(&[not, Some(dir), Some(kind), Some(&value)]));
    }
    Some(tests)
}

/// `arp request`, `arp reply`, `arp who-has 10.0.0.1`, as tcpdump prints them.
pub(super) fn arp(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    cursor.one_of(&["arp"])?;
    match cursor.one_of(&["request", "reply", "who-has"])? {
        "request" => Some("arp[6:2] = 1".to_owned()),
        "reply" => Some("arp[6:2] = 2".to_owned()),
        _ => {
            let text = format!("arp[6:2] = 1 and arp dst host {}", cursor.dotted()?);
            Some(cursor.operands(start, &text))
        }
    }
}

/// `host 10.0.0.*`, `net 10.*`.
pub(super) fn wildcard(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = cursor.one_of(&["ip", "arp", "rarp"]);
    let dir = cursor.one_of(&["src", "dst"]);
    cursor.one_of(&["host", "net"]);
    let parts = cursor.text_of(|kind| kind == TokenKind::Name)?.strip_suffix('.')?;
    cursor.sign(Sign::Star)?;
    // `192.168.*.*`, but not `192.168.*.1`.
    while cursor.text_of(|kind| kind == TokenKind::Name).is_some_and(|dot| dot == ".") {
        cursor.sign(Sign::Star)?;
    }
    let end = cursor.tokens.list.get(cursor.at.checked_sub(1)?)?.span.end;
    if cursor.token().is_some_and(|next| next.span.start == end)
        || cursor.tokens.list[cursor.at - 1].kind == TokenKind::Name
    {
        return None;
    }
    let count = parts.split('.').map(|part| part.parse::<u8>().ok()).collect::<Option<Vec<_>>>()?.len();
    let zeros = ".0".repeat(4usize.checked_sub(count)?);
    Some(joined(&[proto, dir, Some("net"), Some(&format!("{parts}{zeros}/{}", 8 * count))]))
}
