//! Recognises Wireshark's display filters, which people paste by mistake, and translates what has a counterpart.
//!
//! Runs only after the parser has failed. A text counts as a display filter if a field such as `tcp.port` is in
//! it, or a protocol that only Wireshark knows is used alone.

use super::fields;
use super::primitive::ports_that_are;
use crate::diag::{Code, Diagnostic, Suggestion};
use crate::options::Dialect;
use crate::syntax::lex::{Sign, Token, TokenKind, Tokens};
use crate::syntax::range;
use crate::syntax::words::Word;

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
    ("vlan.id", "vlan"), ("mpls.label", "mpls"), ("vxlan.vni", "vxlan"), ("geneve.vni", "geneve"), ("pppoe.session_id", "pppoes"),
];

/// Where fields of these are that can be compared with others; those of [`NUMBERS`] say it themselves.
#[rustfmt::skip]
static PLACES: &[(&str, &str)] = &[
    ("ip.src", "ip[12:4]"), ("ip.dst", "ip[16:4]"), ("ip.proto", "ip[9]"), ("ipv6.nxt", "ip6[6]"), ("eth.type", "ether[12:2]"),
    ("tcp.srcport", "tcp[0:2]"), ("tcp.dstport", "tcp[2:2]"), ("udp.srcport", "udp[0:2]"), ("udp.dstport", "udp[2:2]"),
    ("sctp.srcport", "sctp[0:2]"), ("sctp.dstport", "sctp[2:2]"),
];

/// Fields that are numbers in a place of their own.
#[rustfmt::skip]
static NUMBERS: &[(&str, &str)] = &[
    ("frame.len", "len"), ("ip.ttl", "ip[8]"), ("ip.len", "ip[2:2]"), ("ip.id", "ip[4:2]"),
    ("ipv6.hlim", "ip6[7]"), ("ipv6.plen", "ip6[4:2]"),
    ("tcp.seq_raw", "tcp[4:4]"), ("tcp.ack_raw", "tcp[8:4]"), ("tcp.flags", "tcp[tcpflags]"),
    ("tcp.window_size_value", "tcp[14:2]"), ("udp.length", "udp[4:2]"),
    ("icmp.type", "icmp[icmptype]"), ("icmp.code", "icmp[icmpcode]"),
    ("icmpv6.type", "icmp6[icmp6type]"), ("icmpv6.code", "icmp6[icmp6code]"),
    ("arp.opcode", "arp[6:2]"), ("tcp.len", "ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2)"),
];

/// The field that says by which protocol the packet is read.
const VERSION: &str = "ip.version";

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
    ("ospf", "ip proto 89"), ("gre", "ip proto 47"), ("gtp", "udp port 2152 or udp port 2123"), ("l2tp", "udp port 1701"),
    ("cdp", "ether host 01:00:0c:cc:cc:cc"), ("lacp", "ether proto 0x8809"), ("eapol", "ether proto 0x888e"),
    ("ptp", "ether proto 0x88f7 or udp port 319 or udp port 320"), ("bfd", "udp port 3784"), ("hsrp", "udp port 1985"),
    ("kerberos", "port 88"), ("ipsec", "esp or ah or udp port 4500"), ("rsvp", "ip proto 46"),
    ("eigrp", "ip proto 88"), ("rip", "udp port 520"), ("ssdp", "udp port 1900"), ("llmnr", "udp port 5355"),
];

/// The first parts of fields that are surely Wireshark's.
#[rustfmt::skip]
static PREFIXES: &[&str] = &[
    "arp", "bootp", "data", "dhcp", "dns", "eth", "frame", "ftp", "geneve", "http", "http2", "icmp", "icmpv6", "ip",
    "ipv6", "mpls", "ntp", "pppoe", "quic", "rtp", "sctp", "sip", "smb", "smb2", "ssl", "tcp", "tls", "udp", "vlan", "vxlan", "wlan",
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
pub(crate) fn protocol(name: &str) -> Option<&'static str> {
    find(PROTOCOLS, &name.to_ascii_lowercase())
}

/// The error for a display filter, with its translation if all of it has one.
pub(super) fn recognise(tokens: &Tokens<'_>) -> Option<Diagnostic> {
    if let Some(at) = text_search(tokens) {
        let found =
            Diagnostic::new(Code::DisplaySyntax, tokens.list[at].span, "this is a Wireshark display filter");
        return Some(found.label("a search for text").help(
            "capture filters do not search; bytes in a known place can be compared: of TCP, `tcp[(tcp[12] >> 2) & 0x3c:4] = 0x47455420` is \"GET \"",
        ));
    }
    let at = tokens.list.iter().position(|&token| is_field(tokens, token))?;
    let span = tokens.list[at].span;
    let found = Diagnostic::new(Code::DisplaySyntax, span, "this is a Wireshark display filter")
        .label("a field of a display filter");
    Some(match translate(tokens) {
        Some(filter) => match super::width::exceeded(&filter, &Dialect::default()) {
            Some(range) => found.help(range.to_string()),
            None => Diagnostic { suggestion: Some(Suggestion::CaptureFilter(filter)), ..found },
        },
        None => {
            found.help("capture filters have another language: `tcp port 80`, `host 10.0.0.1`, `ip[8] < 5`")
        }
    })
}

/// Where `tcp contains …` or `http.host matches …` has its operator.
fn text_search(tokens: &Tokens<'_>) -> Option<usize> {
    let is_searched = |before: &Token| match before.kind {
        TokenKind::Word(Word::Proto(_)) => true,
        TokenKind::Name => {
            let text = tokens.text(*before);
            PREFIXES.contains(&text.split('.').next().unwrap_or_default())
        }
        _ => false,
    };
    let is_search = |pair: &[Token]| {
        let [before, token] = pair else { return false };
        token.kind == TokenKind::Name
            && matches!(tokens.text(*token), "contains" | "matches")
            && is_searched(before)
    };
    Some(tokens.list.windows(2).position(is_search)? + 1)
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
    let at = tokens.list.partition_point(|other| other.span.start < token.span.start);
    let compared = tokens.list.get(at + 1).is_some_and(|next| comparison(tokens, *next).is_some());
    is_known(text) || (compared && !rest.is_empty()) || (!is_qualified(tokens, at) && is_present(text))
}

fn is_known(field: &str) -> bool {
    field == VERSION || [FIELDS, NUMBERS, FLAGS].iter().any(|table| find(table, field).is_some())
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

/// What is between two parentheses, or outside of all: operands of `or`, each of operands of `and`.
#[derive(Default)]
struct Level {
    alternatives: Vec<String>,
    conjunction: Vec<String>,
    /// `not`, as often as it stands in front of the operand to come.
    nots: String,
    /// Operands at the front of the conjunction inside of which the others are looked for.
    shifting: usize,
}

impl Level {
    /// Whether something has to come before this can end.
    fn wants_operand(&self) -> bool {
        self.conjunction.is_empty() || !self.nots.is_empty()
    }

    fn operand(&mut self, text: &str) {
        if self.nots.is_empty()
            && let Some((at, range)) = self.range_with(text)
        {
            self.conjunction[at] = range;
            return;
        }
        // `and` and `or` bind alike, from the left, and `not` binds closer.
        let is_first = self.conjunction.is_empty() && self.nots.is_empty();
        let is_whole = text.starts_with('(') || (!text.contains(" and ") && !text.contains(" or "));
        let nots = std::mem::take(&mut self.nots);
        self.conjunction.push(match is_whole || (is_first && !text.contains(" or ")) {
            true => format!("{nots}{text}"),
            false => format!("{nots}({text})"),
        });
    }

    /// Of two bounds for the ports of a packet, the range between: which of the operands becomes it.
    fn range_with(&self, text: &str) -> Option<(usize, String)> {
        let between = |(at, other): (usize, &String)| Some((at, between(other, text)?));
        self.conjunction.iter().enumerate().find_map(between)
    }

    /// For Wireshark `and` binds closer than `or`; here both bind alike.
    fn or(&mut self) {
        let text = self.conjunction.join(" and ");
        let is_one = |operand: &String| operand.starts_with('(') || operand.starts_with("not ");
        let is_single = self.conjunction.len() == 1 && self.conjunction.iter().all(is_one);
        let is_loose = text.contains(" and ") && !is_single && !self.alternatives.is_empty();
        self.alternatives.push(if is_loose { format!("({text})") } else { text });
        self.conjunction.clear();
        self.shifting = 0;
    }

    /// A protocol or field, and what it is compared with from `at` on.
    fn field(&mut self, tokens: &Tokens<'_>, name: &str, at: &mut usize) -> Option<()> {
        let test = match find(PROTOCOLS, name) {
            Some(filter) => filter.to_owned(),
            None => test(tokens, name, at)?,
        };
        // Here the word shifts what follows, there it does not, wherever it stands.
        if shifts(name) {
            if tokens.list.iter().any(|token| is_no_conjunction(token.kind)) || !self.nots.is_empty() {
                return None;
            }
            self.conjunction.insert(self.shifting, test);
            self.shifting += 1;
        } else if name == "tcp.len" {
            // The arithmetic alone does not ask for TCP.
            self.operand(&format!("tcp and {test}"));
        } else {
            self.operand(&test);
        }
        Some(())
    }

    fn text(mut self) -> String {
        self.or();
        self.alternatives.join(" or ")
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
    let (low, high) = (one.0.max(other.0), one.1.min(other.1));
    let last = u32::from(u16::MAX);
    // Two ranges with both their ends are asked for of either port.
    let are_bounds = (one.0 == 0 && other.1 == last) || (other.0 == 0 && one.1 == last);
    (quals == other_quals && are_bounds && low <= high).then(|| format!("{quals}portrange {low}-{high}"))
}

/// Writes the filter again, token by token; `None` as soon as something has no counterpart.
fn translate(tokens: &Tokens<'_>) -> Option<String> {
    if tokens.error.is_some() {
        return None;
    }
    let (mut outer, mut level) = (Vec::new(), Level::default());
    let mut joined = false;
    let mut at = 0;
    while let Some(&token) = tokens.list.get(at) {
        at += 1;
        let text = tokens.text(token);
        let wants_operand = joined || level.wants_operand();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Word(Word::And) if !wants_operand => joined = true,
            TokenKind::Word(Word::Or) if !wants_operand => level.or(),
            TokenKind::Sign(Sign::RParen) if !wants_operand => {
                let inner = std::mem::replace(&mut level, outer.pop()?);
                level.operand(&format!("({})", inner.text()));
            }
            _ if !wants_operand => return None,
            TokenKind::Word(Word::Not) => level.nots.push_str("not "),
            TokenKind::Sign(Sign::LParen) => {
                outer.push(std::mem::take(&mut level));
                joined = false;
            }
            TokenKind::Word(Word::Proto(_)) => {
                level.operand(text);
                joined = false;
            }
            TokenKind::Name => {
                level.field(tokens, text, &mut at)?;
                joined = false;
            }
            _ => return None,
        }
    }
    let is_whole = outer.is_empty() && !joined && !level.wants_operand();
    is_whole.then(|| level.text())
}

/// Whether what stands behind a field is looked for inside of what it names.
fn shifts(field: &str) -> bool {
    matches!(field.split('.').next(), Some("vlan" | "mpls" | "vxlan" | "geneve" | "pppoe"))
}

/// What keeps the operands of a filter from changing places.
fn is_no_conjunction(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Word(Word::Or | Word::Not) | TokenKind::Sign(Sign::LParen))
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
    let other = tokens.text(*tokens.list.get(*at)?);
    if is_known(other) || is_present(other) {
        *at += 1;
        return compared(field, op, other);
    }
    let value = value(tokens, at)?;
    if field == VERSION {
        let proto = fields::of_version(&value)?;
        return match op {
            "=" => Some(proto.to_owned()),
            "!=" => Some(format!("not {proto}")),
            _ => None,
        };
    }
    if let Some(quals) = find(FIELDS, field) {
        let range = value.replace("..", "-");
        let (quals, value) = match quals.strip_suffix("port") {
            Some(directed) if range::numbers(&range).is_some() => (format!("{directed}portrange"), range),
            _ if value.contains('/') => (quals.replace("host", "net"), value),
            _ => (quals.to_owned(), value),
        };
        return match op {
            "=" => Some(format!("{quals} {value}")),
            // The word would still shift what is behind it.
            "!=" if shifts(field) && quals != "vlan" => None,
            "!=" => Some(unequal(&quals, &value)),
            _ => {
                let (low, high) = ports_that_are(op, &value)?;
                Some(format!("{}portrange {low}-{high}", quals.strip_suffix("port")?))
            }
        };
    }
    if let Some(bit) = find(FLAGS, field) {
        let is_one = match value.to_ascii_lowercase().as_str() {
            "0" | "false" => false,
            "1" | "true" => true,
            _ => return None,
        };
        let set = match op {
            "=" => is_one,
            "!=" => !is_one,
            _ => return None,
        };
        return Some(format!("{bit} {} 0", if set { "!=" } else { "=" }));
    }
    find(NUMBERS, field).map(|number| format!("{number} {op} {value}"))
}

/// Two fields of one header.
fn compared(field: &str, op: &str, other: &str) -> Option<String> {
    let place = |field| find(PLACES, field).or_else(|| find(NUMBERS, field));
    let (left, right) = (place(field)?, place(other)?);
    let header = |place: &'static str| place.split('[').next();
    (header(left) == header(right)).then(|| format!("{left} {op} {right}"))
}

/// A field that has another value. Only packets of its protocol have the field; without that, all others would match as
/// well.
fn unequal(quals: &str, value: &str) -> String {
    match quals.split_once(' ') {
        Some((proto @ ("ip" | "ip6"), "proto")) => format!("{proto} and not {quals} {value}"),
        Some((proto @ ("ip" | "ip6" | "tcp" | "udp" | "sctp"), rest)) => {
            format!("{proto} and not {rest} {value}")
        }
        // The word shifts what is behind it, but not the bytes of the frame.
        None if quals == "vlan" => format!("vlan and ether[14:2] & 0xfff != {value}"),
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
