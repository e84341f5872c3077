//! Phrases of other tools, and phrases of this language, nearly.
//!
//! Most are a pattern and the filter that is meant. Like those of the other files, they are looked for only after the parser has failed.

use super::cursor::{Cursor, has_ports, joined, lookup};
use super::fields;
use super::primitive::{direction, of_protocol};
use crate::Span;
use crate::options::Dialect;
use crate::syntax::codes;
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::parser::is_filter;
use crate::syntax::words::{self, Word};

/// A pattern, and the filter for what it reads: `$3` is what its third part has read.
pub(super) type Pattern = (&'static str, &'static str);

/// Phrases that may have been read as types of 802.11, or that have a number which is too large.
#[rustfmt::skip]
pub(super) const OF_FILTERS: &[Pattern] = &[
    ("ether type ip|ip6|arp|vlan", "$3"), ("ether type NUMBER", "ether proto $3"),
    ("vlan|mpls|geneve|vxlan|pppoes any", "$1"),
    ("vlan|mpls|geneve|vxlan|pppoes id|label|vni|tag|vid|session? :? =? NUMBER", "$1 $5"),
    ("meta pkttype broadcast", "ether broadcast"),
    // The group bit is set in the broadcast address as well.
    ("meta pkttype multicast", "ether multicast and not ether broadcast"),
    // More bytes than numbers have.
    ("ether|link [ 0 : 6 ] EQ MAC", "$7 ether dst $8"), ("ether|link [ 6 : 6 ] EQ MAC", "$7 ether src $8"),
];

/// Phrases of texts that are no filters.
#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    ("meta l4proto EQ TRANSPORT", "$3 $4"),
    // An address with a port, of which one direction is meant, and a port with its protocol.
    ("TERM HOST SOCKET : NUMBER", "$2 host $3 and $2 port $5"),
    ("TERM tcp|udp|sctp|ip|ip6 HOST SOCKET : NUMBER", "$2 and $3 host $4 and $3 port $6"),
    ("DIR NUMBER / tcp|udp|sctp", "$4 $1 port $2"), ("PORT NAME / tcp|udp|sctp", "$4 $1 port $2"),
    ("arp request", "arp[6:2] = 1"), ("arp reply", "arp[6:2] = 2"),
    ("arp who-has DOTTED", "arp[6:2] = 1 and arp dst host $3"),
    ("ether|link|ip|ip6 dst host? broadcast|multicast", "$1 $4"),
    ("dst host? broadcast|multicast", "ether $3"), ("wlan type? SUBTYPE", "subtype $3"),
    ("type SUBTYPE", "subtype $2"),
    // Fields of IP and Ethernet.
    ("ip|ip6? proto|protocol|protochain =? icmp6", "icmp6"),
    ("ip|ip6 protocol|nexthdr|next-header =? PROTOCOL", "$1 proto $4"),
    ("ip|ip6 protocol|nexthdr|next-header != PROTOCOL", "$1 and not $1 proto $4"),
    ("ether proto|protocol =? vlan", "ether proto 0x8100"),
    ("ether proto|protocol =? mpls", "ether proto 0x8847"),
    ("ip|ip6|ether? proto|protocol =? NAME", "$1 proto $4"),
    ("ip|ip6|ether? protochain =? NAME", "$1 protochain $4"), ("ip [ 9 ] OP IPNUMBER", "ip[9] $5 $6"),
    ("ip6 [ 6 ] OP IPNUMBER", "ip6[6] $5 $6"), ("ether|link [ 12 : 2 ] OP ETHERTYPE", "ether[12:2] $7 $8"),
    ("ip version EQ 4", "$3 ip"), ("ip version EQ 6", "$3 ip6"), ("ip dscp OP DSCP", "ip[1] >> 2 $3 $4"),
    ("ip frag-off & NUMBER OP NUMBER", "ip[6:2] & $4 $5 $6"),
    // Flags of TCP.
    ("TCP flags :|=? LETTERS", "tcp[tcpflags] = $4"),
    ("tcp flags & (? FLAGS| )? OP 0", "tcp[tcpflags] & $5 $7 0"),
    ("tcp flags & (? FLAGS| )? OP FLAGS|", "tcp[tcpflags] & $5 $7 $8"),
    ("tcp flags =? SEVERAL|", "tcp[tcpflags] & $4 = $4"),
    ("tcp flags =? FLAGS, / FLAGS,", "tcp[tcpflags] & $6 = $4"),
    ("tcp flags != FLAGS, / FLAGS,", "tcp[tcpflags] & $6 != $4"),
    ("tcp flags =? FLAGS,", "tcp[tcpflags] & $4 != 0"),
    ("TCP syn-ack|synack|syn_ack", "tcp[tcpflags] & (tcp-syn|tcp-ack) = (tcp-syn|tcp-ack)"),
    ("TCP SEVERAL,", "tcp[tcpflags] & $2 = $2"), ("TCP SEVERAL+", "tcp[tcpflags] & $2 = $2"),
    ("TCP FLAGS|", "tcp[tcpflags] & $2 != 0"), ("tcp [ tcpflags|13 ] = SEVERAL&", "tcp[tcpflags] & $6 = $6"),
    // The length of packets.
    ("len|length|size|pktlen|caplen greater than? NUMBER", "len > $4"), ("greater than NUMBER", "len > $3"),
    ("len|length|size|pktlen|caplen less than? NUMBER", "len < $4"), ("less than NUMBER", "len < $3"),
    ("len|length|size|pktlen|caplen OP NUMBER", "len $2 $3"),
    ("len|length between NUMBER and|to NUMBER", "len >= $3 and len <= $5"),
    ("len|length ORDER NUMBER and|&&? ORDER NUMBER", "len $2 $3 and len $5 $6"),
    ("NUMBER MIRRORED len|length and|&&? ORDER NUMBER", "len $2 $1 and len $5 $6"),
];

/// The filter for what a pattern reads: words and signs, of which one is there, and what stands for it in upper case; a part with
/// `?` may be missing.
pub(super) fn read(cursor: &mut Cursor<'_>, (pattern, filter): Pattern) -> Option<String> {
    let mut parts = Vec::new();
    for part in pattern.split(' ') {
        let (part, may_miss) = part.strip_suffix('?').map_or((part, false), |part| (part, true));
        let found = cursor.attempt(|cursor| read_part(cursor, part));
        parts.push(found.or(may_miss.then(String::new))?);
    }
    let part = |word: &'static str| match word.strip_prefix('$') {
        Some(number) => parts.get(number.parse::<usize>().ok()?.checked_sub(1)?).map(String::as_str),
        None => Some(word),
    };
    Some(joined(&filter.split(' ').map(part).collect::<Option<Vec<_>>>()?))
}

fn read_part(cursor: &mut Cursor<'_>, part: &'static str) -> Option<String> {
    let word = match part {
        "NUMBER" => return cursor.number(),
        "TRANSPORT" => return transports(cursor),
        "MAC" => return hardware_address(cursor),
        "LETTERS" => return flag_letters(cursor),
        "HOST" => return direction(cursor, &["", "host"]),
        "DIR" => return direction(cursor, &[""]),
        "PORT" => return direction(cursor, &["port"]),
        "TERM" => cursor.begins_term().then_some("")?,
        "SOCKET" if cursor.one_of("[").is_some() => {
            let address = cursor.text_of(|kind| matches!(kind, TokenKind::V6(_)))?;
            cursor.one_of("]").map(|_| address)?
        }
        "DSCP" => return fields::dscp(&cursor.value()?),
        "SOCKET" | "DOTTED" => cursor.text_of(|kind| kind == TokenKind::Dotted)?,
        "EQ" => cursor.negation(),
        "OP" => cursor.comparison().unwrap_or("="),
        "ORDER" => cursor.ordering()?,
        // With its sides exchanged.
        "MIRRORED" => lookup(&[("<", ">"), ("<=", ">="), (">", "<"), (">=", "<=")], cursor.ordering()?)?,
        "SUBTYPE" => {
            cursor.text_of(|kind| kind == TokenKind::Name).filter(|name| codes::is_wlan_subtype(name))?
        }
        "TCP" if cursor.begins_term() => cursor.one_of("tcp").unwrap_or_default(),
        "TCP" => cursor.one_of("tcp")?,
        "PROTOCOL" | "IPNUMBER" | "ETHERTYPE" | "NAME" => return protocol(cursor, part),
        "=" => cursor.one_of("=|==|eq")?,
        "!=" => cursor.one_of("!=|ne|neq")?,
        _ if let Some(between) = part.strip_prefix("FLAGS") => return flags(cursor, between),
        _ if let Some(between) = part.strip_prefix("SEVERAL") => {
            return flags(cursor, between).filter(|mask| mask.starts_with('('));
        }
        words => cursor.one_of(words)?,
    };
    Some(word.to_owned())
}

/// Reads a protocol where a number, or a name of one, has to stand.
fn protocol(cursor: &mut Cursor<'_>, part: &str) -> Option<String> {
    let kind = cursor.kind();
    let name = cursor.text_of(|_| true)?;
    let number_of = |table| lookup(table, name).map(str::to_owned);
    match (part, kind) {
        ("IPNUMBER", _) => number_of(fields::PROTOCOLS),
        ("ETHERTYPE", _) => number_of(fields::ETHERTYPES),
        (_, TokenKind::Word(Word::Proto(_))) => Some(format!("\\{name}")),
        (_, TokenKind::Number(_)) => Some(name.to_owned()),
        ("PROTOCOL", _) => number_of(fields::PROTOCOLS),
        (_, kind) => (kind == TokenKind::Name).then(|| name.to_owned()),
    }
}

/// Reads protocols above IP as nftables names them: `tcp`, `{tcp, ipv6-icmp}`.
fn transports(cursor: &mut Cursor<'_>) -> Option<String> {
    let transport = |cursor: &mut Cursor<'_>| {
        let name = cursor.text_of(|_| true)?;
        let name = if matches!(name, "icmpv6" | "ipv6-icmp") { "icmp6" } else { name };
        match words::word(name) {
            Some(Word::Proto(_)) => Some(name.to_owned()),
            None if name.bytes().all(|byte| byte.is_ascii_digit()) => Some(format!("proto {name}")),
            _ => None,
        }
    };
    let several = cursor.enclosed(["{", "}"], transport).or_else(|| Some(vec![transport(cursor)?]))?;
    Some(if several.len() > 1 { format!("({})", several.join(" or ")) } else { several.concat() })
}

/// Reads `1:2:3:4:5:6` or `0x010203040506`.
fn hardware_address(cursor: &mut Cursor<'_>) -> Option<String> {
    let token = *cursor.tokens.list.get(cursor.at)?;
    cursor.at += 1;
    match token.kind {
        TokenKind::Mac(_) => Some(cursor.tokens.text(token).to_owned()),
        // A number that is too large ends the tokens.
        TokenKind::Number(_) | TokenKind::End => {
            let text = cursor.tokens.source.get(token.span.start as usize..)?.strip_prefix("0x")?;
            let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
            let bytes: Vec<&str> = (0..6).map_while(|byte| text.get(2 * byte..2 * byte + 2)).collect();
            (end == 12).then(|| bytes.join(":"))
        }
        _ => None,
    }
}

/// Flags of TCP, their letters in Snort and Scapy, and their constants.
#[rustfmt::skip]
static FLAGS: &[(&str, char, &str)] = &[
    ("fin", 'F', "tcp-fin"), ("syn", 'S', "tcp-syn"), ("rst", 'R', "tcp-rst"), ("psh", 'P', "tcp-push"),
    ("ack", 'A', "tcp-ack"), ("urg", 'U', "tcp-urg"), ("ecn", 'E', "tcp-ece"), ("cwr", 'C', "tcp-cwr"),
];

/// Reads `SA`.
fn flag_letters(cursor: &mut Cursor<'_>) -> Option<String> {
    let letters = cursor.text_of(|kind| kind == TokenKind::Name)?;
    let flag = |letter| FLAGS.iter().find(|flag| flag.1 == letter).map(|flag| flag.2);
    Some(letters.chars().map(flag).collect::<Option<Vec<_>>>()?.join("|"))
}

/// Reads `syn,ack`, `syn|ack`, or `tcp-syn and tcp-ack`: the mask of these flags, in parentheses if they are several.
fn flags(cursor: &mut Cursor<'_>, between: &str) -> Option<String> {
    let flag = |cursor: &mut Cursor<'_>| {
        let text = cursor.text_of(|_| true)?;
        let is_it = |name: &str, constant: &str| text == if between == "&" { constant } else { name };
        FLAGS.iter().find(|(name, _, constant)| is_it(name, constant)).map(|flag| flag.2)
    };
    let next = |cursor: &mut Cursor<'_>| {
        let join = cursor.text_of(|_| true)?;
        (join == between || (between == "&" && matches!(join, "and" | "&&"))).then(|| flag(cursor))?
    };
    let mut flags = vec![flag(cursor)?];
    flags.extend(std::iter::from_fn(|| cursor.attempt(next)));
    let text = flags.join("|");
    Some(if flags.len() > 1 { format!("({text})") } else { text })
}

/// `tcp host ace or vs`, `udp dst net in {10.0.0.0/8, 192.0.2.0/24}`: a protocol without addresses in front of several.
pub(super) fn addresses_of_transport(cursor: &mut Cursor<'_>) -> Option<String> {
    if !cursor.begins_term() || cursor.is_negated() {
        return None;
    }
    let proto = cursor.one_of("tcp|udp|sctp|icmp|icmp6")?;
    let first = cursor.token()?.span;
    let (dir, kind) = (cursor.one_of("src|dst"), cursor.one_of("host|net"));
    let is_set = cursor.one_of("in").is_some();
    if is_set {
        while cursor.text_of(|_| true)? != "}" {}
    } else {
        cursor.value()?;
        cursor.attempt(|cursor| cursor.join().and_then(|_| cursor.value()))?;
        while cursor.attempt(|cursor| cursor.join().and_then(|_| cursor.value())).is_some() {}
    }
    let list = first.to(cursor.tokens.list[cursor.at - 1].span).text(cursor.tokens.source);
    let test = if is_set { list.to_owned() } else { format!("({list})") };
    dir.or(kind).map(|_| format!("{proto} and {test}"))
}

/// `vlan 5 or 6`, `tcp[13] = 2 or 18`, `less 60 or 70`: numbers of a primitive that hands nothing on, which has to be written
/// again; `vci 5 or 6`, which has to have parentheses.
pub(super) fn repeated(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.begins_term() || cursor.is_negated() || cursor.one_of("not|!").is_some() {
        return None;
    }
    let is_join = |kind| matches!(kind, TokenKind::Word(Word::And | Word::Or));
    while cursor.text_of(|kind| !is_join(kind)).is_some() {}
    let (first, last) = (cursor.tokens.list[start], cursor.at.checked_sub(2).filter(|last| *last >= start)?);
    cursor.at -= 1;
    let number = cursor.tokens.list[cursor.at].span.start;
    let head = Span::new(first.span.start, number).text(cursor.tokens.source);
    let mut numbers = vec![cursor.number()?];
    let join = Some(cursor.kind()).filter(|kind| is_join(*kind))?;
    let next = |cursor: &mut Cursor<'_>| cursor.text_of(|kind| kind == join).and_then(|_| cursor.number());
    numbers.extend(std::iter::from_fn(|| cursor.attempt(next)));
    let next = cursor.kind();
    let is_end = is_join(next) || matches!(next, TokenKind::End | TokenKind::Sign(Sign::RParen));
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
    Some(tests.join(join))
}

/// The head of a rule of Suricata's or Snort's: `alert tcp any any -> 10.0.0.0/8 80`. Each address and port may be `any`, or not
/// be: `!10.0.0.1`.
pub(super) fn rule(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_first = cursor.at == 0;
    let is_rule = cursor.one_of("alert|drop|pass|reject").is_some();
    let proto = cursor.one_of("tcp|udp|icmp|ip").filter(|_| is_rule || is_first)?;
    let mut tests = Vec::new();
    for (dir, kind) in [("src", "host"), ("src", "port"), ("dst", "host"), ("dst", "port")] {
        if (dir, kind) == ("dst", "host") {
            cursor.one_of("-")?;
            cursor.one_of(">")?;
        }
        if cursor.one_of("any").is_none() {
            let not = cursor.one_of("!").map_or("", |_| "not");
            let value = cursor.value()?;
            let kind = match kind {
                "host" if value.contains('/') => "net",
                "port" if value.contains('-') => "portrange",
                kind => kind,
            };
            tests.push((not, joined(&[dir, kind, &value])));
        }
    }
    match &tests[..] {
        [(not, test)] if has_ports(proto) => Some(of_protocol(proto, not, test)),
        tests => {
            Some(tests.iter().fold(proto.to_owned(), |all, (not, test)| joined(&[&all, "and", not, test])))
        }
    }
}
