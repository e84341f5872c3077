//! Header fields by the names that other tools and RFCs have for them, and the numbers of protocols.
//!
//! ```text
//! ip ttl < 5               ip[8] < 5
//! ip frag                  ip[6:2] & 0x3fff != 0
//! ttl < 5                  ip[8] < 5
//! icmp type echo-request   icmp[icmptype] = icmp-echo
//! ```

use super::cursor::{BRACES, Cursor};
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::words::{self, Word};

/// Fields that are numbers: the protocol, its names for the field, where it stands.
#[rustfmt::skip]
static NUMBERS: &[(&str, &[&str], &str)] = &[
    ("ip", &["ttl"], "ip[8]"), ("ip", &["tos", "dsfield"], "ip[1]"), ("ip", &["id"], "ip[4:2]"),
    ("ip", &["len", "length"], "ip[2:2]"), ("ip", &["checksum"], "ip[10:2]"), ("ip", &["hdrlength", "ihl"], "ip[0] & 0xf"),
    ("ip", &["frag-off"], "ip[6:2]"), ("ip6", &["hoplimit", "hlim"], "ip6[7]"), ("ip6", &["len", "length"], "ip6[4:2]"),
    ("ip6", &["flowlabel"], "ip6[0:4] & 0xfffff"), ("tcp", &["window", "win"], "tcp[14:2]"),
    ("tcp", &["seq", "sequence"], "tcp[4:4]"), ("tcp", &["ackseq"], "tcp[8:4]"), ("tcp", &["checksum"], "tcp[16:2]"),
    ("tcp", &["doff"], "tcp[12] >> 4"), ("udp", &["len", "length"], "udp[4:2]"), ("udp", &["checksum"], "udp[6:2]"),
    ("arp", &["opcode", "operation", "op"], "arp[6:2]"), ("icmp", &["id"], "icmp[4:2]"),
    ("icmp", &["seq", "sequence"], "icmp[6:2]"), ("icmp6", &["id"], "icmp6[4:2]"), ("icmp6", &["seq", "sequence"], "icmp6[6:2]"),
];

/// Tests of bits that a word alone stands for.
#[rustfmt::skip]
static BITS: &[(&str, &[&str], &str)] = &[
    ("ip", &["frag", "frags", "fragment", "fragments", "fragmented"], "ip[6:2] & 0x3fff != 0"),
    ("ip", &["df"], "ip[6] & 0x40 != 0"), ("ip", &["mf"], "ip[6] & 0x20 != 0"),
    ("ip", &["option", "options"], "ip[0] & 0xf > 5"), ("tcp", &["option", "options"], "tcp[12] >> 4 > 5"),
];

/// The protocol that alone has a field of this name, which then is understood without it.
fn owner(field: &str) -> Option<&'static str> {
    let of = |(_, names, _): &&(&str, &[&str], &str)| names.contains(&field);
    let mut owners = NUMBERS.iter().chain(BITS).filter(of).map(|(proto, ..)| *proto);
    owners.next().filter(|_| owners.next().is_none())
}

/// `ip ttl < 5`, `ip df`, `ttl < 5`, `df`.
pub(super) fn fields(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_term = cursor.begins_term();
    let proto = cursor.one_of("ip|ip6|tcp|udp|arp|icmp|icmp6");
    let word = cursor.text_of(|kind| matches!(kind, TokenKind::Name | TokenKind::Word(Word::Len)))?;
    let proto = proto.or_else(|| owner(word).filter(|_| is_term))?;
    let named = |table: &'static [(&str, &[&str], &str)]| {
        table.iter().find(|(of, names, _)| *of == proto && names.contains(&word)).map(|(.., field)| *field)
    };
    if let Some(test) = named(BITS) {
        // Options have names and values elsewhere, which a filter cannot look for.
        return cursor.token().is_none_or(|next| next.kind != TokenKind::Name).then(|| test.to_owned());
    }
    let field = named(NUMBERS)?;
    Some(format!("{field} {} {}", cursor.comparison(), cursor.number()?))
}

/// Protocols for which the language has no word, or another one, by IANA's numbers.
#[rustfmt::skip]
pub(super) static PROTOCOLS: &[(&str, &str)] = &[
    ("ipencap", "4"), ("ipv6", "41"), ("gre", "47"), ("icmpv6", "58"), ("ipv6-icmp", "58"), ("ospf", "89"),
    ("comp", "108"), ("udplite", "136"),
];

/// Protocols that are words, by IANA's numbers.
#[rustfmt::skip]
pub(super) static WORDS: &[(&str, &str)] = &[
    ("icmp", "1"), ("igmp", "2"), ("tcp", "6"), ("udp", "17"), ("esp", "50"), ("ah", "51"), ("icmp6", "58"),
    ("pim", "103"), ("vrrp", "112"), ("sctp", "132"),
];

/// The same for Ethernet.
#[rustfmt::skip]
pub(super) static ETHERTYPES: &[(&str, &str)] = &[
    ("ip", "0x0800"), ("ipv4", "0x0800"), ("arp", "0x0806"), ("rarp", "0x8035"), ("ip6", "0x86dd"),
    ("ipv6", "0x86dd"), ("vlan", "0x8100"), ("mpls", "0x8847"),
];

/// The number of a protocol that is in one of these tables.
pub(super) fn number_of(tables: &[&[(&str, &str)]], name: &str) -> Option<String> {
    let known = tables.iter().copied().flatten().find(|(known, _)| *known == name);
    known.map(|(_, number)| (*number).to_owned())
}

/// The protocol of a version of IP.
pub(super) fn of_version(number: &str) -> Option<&'static str> {
    match number {
        "4" => Some("ip"),
        "6" => Some("ip6"),
        _ => None,
    }
}

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
static MESSAGES: &[(&str, &str, &str)] = &[
    ("icmp", "echo-request", "icmp-echo"), ("icmp", "echo", "icmp-echo"), ("icmp", "request", "icmp-echo"),
    ("icmp", "echo-reply", "icmp-echoreply"), ("icmp", "reply", "icmp-echoreply"),
    ("icmp", "destination-unreachable", "icmp-unreach"), ("icmp", "unreachable", "icmp-unreach"),
    ("icmp", "time-exceeded", "icmp-timxceed"),
    ("icmp", "redirect", "icmp-redirect"), ("icmp", "parameter-problem", "icmp-paramprob"),
    ("icmp6", "echo-request", "icmp6-echo"), ("icmp6", "echo", "icmp6-echo"), ("icmp6", "echo-reply", "icmp6-echoreply"),
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

/// `icmp type 8`, `icmpv6 code 0`, `icmp[type] = 8`, `icmp type {echo-request, echo-reply}`, `icmp echo-request`.
pub(super) fn message(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = match cursor.one_of("icmp|icmp6|icmpv6")? {
        "icmp" => "icmp",
        _ => "icmp6",
    };
    let in_brackets = cursor.sign(Sign::LBracket).is_some();
    let Some(field) = cursor.one_of("type|code") else {
        let name = cursor.value().filter(|_| !in_brackets)?;
        return Some(format!("{proto}[{proto}type] = {}", message_name(proto, &name)?));
    };
    if in_brackets {
        cursor.sign(Sign::RBracket)?;
    }
    let op = if cursor.negation().is_empty() { "=" } else { "!=" };
    let test = |value: &str| {
        let constant = message_name(proto, value).filter(|_| field == "type");
        let is_number =
            value.starts_with(|first: char| first.is_ascii_digit()) || words::constant(value).is_some();
        Some(format!("{proto}[{proto}{field}] {op} {}", constant.or(is_number.then_some(value))?))
    };
    if let Some(values) = cursor.enclosed(BRACES, |cursor| cursor.value()) {
        let tests: Option<Vec<String>> = values.iter().map(|value| test(value)).collect();
        return Some(tests?.join(if op == "=" { " or " } else { " and " }));
    }
    test(&cursor.value()?)
}

/// The constant for a message that has another name elsewhere.
fn message_name(proto: &str, name: &str) -> Option<&'static str> {
    let known = MESSAGES.iter().find(|(of, known, _)| *of == proto && *known == name);
    known.map(|(.., constant)| *constant)
}
