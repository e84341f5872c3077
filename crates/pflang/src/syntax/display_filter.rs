//! Recognises Wireshark's display filters, which people paste by mistake, and translates what has a counterpart.
//!
//! Runs only after the parser has failed. A text counts as a display filter if a field such as `tcp.port` is in
//! it, or a protocol that only Wireshark knows is used alone.

use super::lex::{Sign, Token, TokenKind, Tokens};
use super::words::Word;
use crate::diag::{Code, Diagnostic, as_capture_filter};

/// Fields with a counterpart, and what comes before the value.
#[rustfmt::skip]
static FIELDS: &[(&str, &str)] = &[
    ("ip.addr", "ip host"), ("ip.host", "ip host"), ("ip.src", "ip src host"), ("ip.src_host", "ip src host"),
    ("ip.dst", "ip dst host"), ("ip.dst_host", "ip dst host"), ("ip.proto", "ip proto"),
    ("ipv6.addr", "ip6 host"), ("ipv6.host", "ip6 host"), ("ipv6.src", "ip6 src host"),
    ("ipv6.dst", "ip6 dst host"), ("ipv6.nxt", "ip6 proto"),
    ("tcp.port", "tcp port"), ("tcp.srcport", "tcp src port"), ("tcp.dstport", "tcp dst port"),
    ("udp.port", "udp port"), ("udp.srcport", "udp src port"), ("udp.dstport", "udp dst port"),
    ("sctp.port", "sctp port"), ("sctp.srcport", "sctp src port"), ("sctp.dstport", "sctp dst port"),
    ("eth.addr", "ether host"), ("eth.src", "ether src"), ("eth.dst", "ether dst"), ("eth.type", "ether proto"),
    ("vlan.id", "vlan"), ("mpls.label", "mpls"),
];

/// Fields that are numbers in a place of their own.
#[rustfmt::skip]
static NUMBERS: &[(&str, &str)] = &[
    ("frame.len", "len"), ("ip.ttl", "ip[8]"), ("ip.len", "ip[2:2]"), ("ip.id", "ip[4:2]"),
    ("ip.version", "ip[0] >> 4"), ("ipv6.hlim", "ip6[7]"), ("ipv6.plen", "ip6[4:2]"),
    ("tcp.seq_raw", "tcp[4:4]"), ("tcp.ack_raw", "tcp[8:4]"), ("tcp.flags", "tcp[tcpflags]"),
    ("tcp.window_size_value", "tcp[14:2]"), ("udp.length", "udp[4:2]"),
    ("icmp.type", "icmp[icmptype]"), ("icmp.code", "icmp[icmpcode]"),
    ("icmpv6.type", "icmp6[icmp6type]"), ("icmpv6.code", "icmp6[icmp6code]"),
    ("arp.opcode", "arp[6:2]"), ("tcp.len", "ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2)"),
];

/// Single bits.
#[rustfmt::skip]
static FLAGS: &[(&str, &str)] = &[
    ("tcp.flags.syn", "tcp[tcpflags] & tcp-syn"), ("tcp.flags.ack", "tcp[tcpflags] & tcp-ack"),
    ("tcp.flags.fin", "tcp[tcpflags] & tcp-fin"), ("tcp.flags.reset", "tcp[tcpflags] & tcp-rst"),
    ("tcp.flags.push", "tcp[tcpflags] & tcp-push"), ("tcp.flags.urg", "tcp[tcpflags] & tcp-urg"),
    ("ip.flags.df", "ip[6] & 0x40"), ("ip.flags.mf", "ip[6] & 0x20"),
];

/// Protocols that have no keyword here.
#[rustfmt::skip]
static PROTOCOLS: &[(&str, &str)] = &[
    ("ipv6", "ip6"), ("icmpv6", "icmp6"), ("http", "tcp port 80"), ("http2", "tcp port 443"),
    ("https", "tcp port 443"), ("bgp", "tcp port 179"), ("mysql", "tcp port 3306"), ("nfs", "port 2049"),
    ("tftp", "udp port 69"), ("radius", "udp port 1812 or udp port 1813"), ("isakmp", "udp port 500 or udp port 4500"),
    ("netflow", "udp port 2055"), ("wireguard", "udp port 51820"), ("lldp", "ether proto 0x88cc"),
    ("tls", "tcp port 443"), ("ssl", "tcp port 443"), ("quic", "udp port 443"), ("dns", "port 53"),
    ("mdns", "udp port 5353"), ("dhcp", "udp port 67 or udp port 68"), ("bootp", "udp port 67 or udp port 68"),
    ("dhcpv6", "udp port 546 or udp port 547"), ("ntp", "udp port 123"), ("ssh", "tcp port 22"),
    ("ftp", "tcp port 21"), ("smtp", "tcp port 25"), ("imap", "tcp port 143"), ("pop", "tcp port 110"),
    ("telnet", "tcp port 23"), ("snmp", "udp port 161"), ("syslog", "udp port 514"), ("sip", "port 5060"),
    ("smb", "tcp port 445"), ("smb2", "tcp port 445"), ("rdp", "tcp port 3389"), ("ldap", "tcp port 389"),
    ("ospf", "ip proto 89"), ("gre", "ip proto 47"),
];

/// The first parts of fields that are surely Wireshark's.
#[rustfmt::skip]
static PREFIXES: &[&str] = &[
    "arp", "bootp", "data", "dhcp", "dns", "eth", "frame", "ftp", "http", "http2", "icmp", "icmpv6", "ip", "ipv6",
    "mpls", "ntp", "quic", "rtp", "sctp", "sip", "smb", "smb2", "ssl", "tcp", "tls", "udp", "vlan", "wlan",
];

/// The rest of fields without a comparison, after the first part: "has it".
#[rustfmt::skip]
static PRESENT: &[(&str, &[&str])] = &[
    ("http", &["request", "response", "host", "cookie", "content_type", "user_agent", "chat"]),
    ("http2", &["headers", "streamid", "type"]),
    ("tcp", &["analysis", "flags", "options", "stream", "payload", "segment", "window_size"]),
    ("udp", &["payload", "stream"]), ("ip", &["flags", "fragment", "fragments", "options"]),
    ("dns", &["qry", "resp", "flags", "response_to", "response_in", "a", "aaaa", "cname"]),
    ("tls", &["handshake", "record", "alert_message", "app_data"]), ("quic", &["long", "short", "connection"]),
    ("frame", &["number", "time", "time_delta", "protocols", "len", "cap_len"]),
    ("icmp", &["type", "code", "resp_to", "resp_in"]), ("dhcp", &["option", "type"]),
    ("arp", &["opcode", "duplicate-address-detected", "src", "dst"]), ("wlan", &["fc", "ssid", "bssid", "sa", "da"]),
];

/// The filter for a protocol that has no keyword.
pub(super) fn protocol(name: &str) -> Option<&'static str> {
    find(PROTOCOLS, &name.to_ascii_lowercase())
}

/// The error for a display filter, with its translation if all of it has one.
pub(super) fn recognise(tokens: &Tokens<'_>) -> Option<Diagnostic> {
    let at = tokens.list.iter().position(|&token| is_field(tokens, token))?;
    let span = tokens.list[at].span;
    let found = Diagnostic::new(Code::DisplaySyntax, span, "this is a Wireshark display filter")
        .label("a field of a display filter");
    Some(match translate(tokens) {
        Some(filter) => found.help(as_capture_filter(&filter)),
        None => {
            found.help("capture filters have another language: `tcp port 80`, `host 10.0.0.1`, `ip[8] < 5`")
        }
    })
}

fn is_field(tokens: &Tokens<'_>, token: Token) -> bool {
    let text = tokens.text(token);
    if token.kind != TokenKind::Name {
        return false;
    }
    match text.split_once('.') {
        Some((prefix, rest)) => PREFIXES.contains(&prefix) && looks_like_field(tokens, token, rest),
        None => false,
    }
}

/// A host may be called `http.example.com`: a field is compared, or is one that we know.
fn looks_like_field(tokens: &Tokens<'_>, token: Token, rest: &str) -> bool {
    let text = tokens.text(token);
    let known = [FIELDS, NUMBERS, FLAGS].iter().any(|table| find(table, text).is_some());
    let at = tokens.list.partition_point(|other| other.span.start < token.span.start);
    let compared = tokens.list.get(at + 1).is_some_and(|next| comparison(tokens, *next).is_some());
    known || (compared && !rest.is_empty()) || (!is_qualified(tokens, at) && is_present(text))
}

/// Whether a field is used alone, which a packet has or has not: `tcp.analysis.retransmission`.
fn is_present(text: &str) -> bool {
    let mut parts = text.split('.');
    let (prefix, next) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    PRESENT.iter().any(|(of, fields)| *of == prefix && fields.contains(&next))
}

/// Whether the token at `at` is an identifier with its qualifier in front.
fn is_qualified(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens.list[before].kind);
    matches!(before, Some(TokenKind::Word(Word::Kind(_) | Word::Dir(_))))
}

/// Writes the filter again, token by token; `None` as soon as something has no counterpart.
fn translate(tokens: &Tokens<'_>) -> Option<String> {
    if tokens.error.is_some() {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    // Whether an `or` stands before, within each parenthesis that is open.
    let mut had_or = vec![false];
    let mut at = 0;
    while let Some(&token) = tokens.list.get(at) {
        at += 1;
        let text = tokens.text(token);
        match token.kind {
            TokenKind::End => break,
            // There `and` binds closer than `or`; here both bind alike.
            TokenKind::Word(Word::And) if had_or.last() == Some(&true) => return None,
            TokenKind::Word(Word::And) => parts.push("and".into()),
            TokenKind::Word(Word::Or) => {
                parts.push("or".into());
                had_or.last_mut().map(|had| *had = true)?;
            }
            TokenKind::Word(Word::Not) => parts.push("not".into()),
            TokenKind::Word(Word::Proto(_)) => parts.push(text.into()),
            TokenKind::Sign(Sign::LParen) => {
                parts.push("(".into());
                had_or.push(false);
            }
            TokenKind::Sign(Sign::RParen) => {
                parts.push(")".into());
                had_or.pop();
            }
            TokenKind::Name => match find(PROTOCOLS, text) {
                Some(filter) if filter.contains(" or ") => parts.push(format!("({filter})")),
                Some(filter) => parts.push(filter.into()),
                None => {
                    let test = test(tokens, text, &mut at)?;
                    // Here the word shifts what follows, there it does not.
                    let shifts = text.starts_with("vlan") || text.starts_with("mpls");
                    let is_last =
                        |token: &Token| matches!(token.kind, TokenKind::End | TokenKind::Sign(Sign::RParen));
                    if shifts && !tokens.list.get(at..)?.iter().all(is_last) {
                        return None;
                    }
                    // The arithmetic alone does not ask for TCP.
                    let test = if text == "tcp.len" { format!("tcp and {test}") } else { test };
                    // `and` and `or` bind alike, from the left, and `not` binds closer.
                    let is_first = parts.last().is_none_or(|part| part == "(");
                    let is_whole = is_first || !test.contains(" and ");
                    parts.push(if is_whole { test } else { format!("({test})") });
                }
            },
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join(" ").replace("( ", "(").replace(" )", ")"))
}

/// `field op value`, or `field in {…}`.
fn test(tokens: &Tokens<'_>, field: &str, at: &mut usize) -> Option<String> {
    if let [word, brace, ..] = tokens.list.get(*at..)?
        && (tokens.text(*word), brace.kind) == ("in", TokenKind::Sign(Sign::LBrace))
    {
        *at += 2;
        return set(tokens, field, at);
    }
    let op = comparison(tokens, *tokens.list.get(*at)?)?;
    if op == OTHER {
        return None;
    }
    *at += 1;
    let value = value(tokens, at)?;
    if let Some(quals) = find(FIELDS, field) {
        let quals = if value.contains('/') { quals.replace("host", "net") } else { quals.to_owned() };
        return match op {
            "=" => Some(format!("{quals} {value}")),
            "!=" => Some(unequal(&quals, &value)),
            _ => None,
        };
    }
    if let Some(bit) = find(FLAGS, field) {
        let set = (value == "0") == (op == "!=");
        return Some(format!("{bit} {} 0", if set { "!=" } else { "=" }));
    }
    find(NUMBERS, field).map(|number| format!("{number} {op} {value}"))
}

/// A field that has another value. Only packets of its protocol have the field; without that, all others would match as
/// well.
fn unequal(quals: &str, value: &str) -> String {
    match quals.split_once(' ') {
        Some((proto @ ("ip" | "ip6"), "proto")) => format!("{proto} and not {quals} {value}"),
        Some((proto @ ("ip" | "ip6" | "tcp" | "udp" | "sctp"), rest)) => {
            format!("{proto} and not {rest} {value}")
        }
        _ => format!("not {quals} {value}"),
    }
}

/// The members of a set, blanks or commas between, of a field that may be in one: a port or an IP address.
fn set(tokens: &Tokens<'_>, field: &str, at: &mut usize) -> Option<String> {
    let quals = find(FIELDS, field).filter(|quals| quals.ends_with("port") || quals.ends_with("host"))?;
    let mut items = Vec::new();
    while tokens.list.get(*at)?.kind != TokenKind::Sign(Sign::RBrace) {
        items.push(value(tokens, at)?.replace("..", "-"));
        *at += usize::from(tokens.list.get(*at)?.kind == TokenKind::Sign(Sign::Comma));
    }
    *at += 1;
    (!items.is_empty() && !quals.starts_with("ether")).then(|| format!("{quals} in {{{}}}", items.join(", ")))
}

/// A value, with its prefix length.
fn value(tokens: &Tokens<'_>, at: &mut usize) -> Option<String> {
    let token = *tokens.list.get(*at)?;
    let simple = matches!(
        token.kind,
        TokenKind::Number(_) | TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_) | TokenKind::Name
    );
    let mut span = token.span;
    *at += 1;
    if let [slash, len, ..] = tokens.list.get(*at..)?
        && slash.kind == TokenKind::Sign(Sign::Slash)
    {
        span = span.to(len.span);
        *at += 2;
    }
    simple.then(|| span.text(tokens.source).to_owned())
}

/// A comparison without counterpart.
const OTHER: &str = "";

/// The comparison that a token is for Wireshark.
fn comparison(tokens: &Tokens<'_>, token: Token) -> Option<&'static str> {
    Some(match token.kind {
        TokenKind::Sign(Sign::Eq) => "=",
        TokenKind::Sign(Sign::Ne) => "!=",
        TokenKind::Sign(Sign::Lt) => "<",
        TokenKind::Sign(Sign::Le) => "<=",
        TokenKind::Sign(Sign::Gt) => ">",
        TokenKind::Sign(Sign::Ge) => ">=",
        TokenKind::Name => match tokens.text(token) {
            "eq" => "=",
            "ne" => "!=",
            "lt" => "<",
            "le" => "<=",
            "gt" => ">",
            "ge" => ">=",
            "contains" | "matches" | "in" => OTHER,
            _ => return None,
        },
        _ => return None,
    })
}

fn find<'a>(table: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    table.iter().find(|(field, _)| *field == name).map(|(_, filter)| *filter)
}
