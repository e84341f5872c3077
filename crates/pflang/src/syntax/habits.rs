//! Phrases of nftables and other tools, and their equivalents here.
//!
//! ```text
//! tcp dport {80, 443}      tcp dst port in {80, 443}
//! ip saddr 192.0.2.10      ip src host 192.0.2.10
//! meta l4proto tcp         tcp
//! icmp type echo-request   icmp[icmptype] = icmp-echo
//! port 80 443              port 80 or port 443
//! ```
//! Runs only after the parser has failed, and looks at the words around that place: a phrase counts only if the place
//! lies within it.

use super::lex::{Sign, Token, TokenKind, Tokens, lex};
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
        Code::Unexpected | Code::UnknownWord => {
            &[ports, addresses, transport, message, set, range, juxtaposed]
        }
        // Types of ICMP that were read as types of 802.11.
        Code::OutOfRange | Code::LinkType => &[message],
        _ => &[],
    };
    let is_helpful =
        |meant: &String| meant.len() <= SUGGESTION_MAX && !(dialect.strict && meant.contains('{'));
    match meant(tokens, found.span, phrases).filter(is_helpful) {
        Some(meant) => found.help(format!("did you mean `{meant}`?")),
        None => found,
    }
}

/// Reads a phrase and says it in other words.
type Phrase = fn(&mut Cursor<'_>) -> Option<String>;

/// The meaning of the phrase that `place` lies in, if it is one of these.
fn meant(tokens: &Tokens<'_>, place: Span, phrases: &[Phrase]) -> Option<String> {
    let at = tokens.list.iter().position(|token| token.span.start >= place.start)?;
    (at.saturating_sub(WORDS_BEFORE)..=at).find_map(|start| {
        phrases.iter().find_map(|phrase| {
            let mut cursor = Cursor { tokens, at: start };
            phrase(&mut cursor).filter(|meant| cursor.at > at && cursor.is_news(start, meant))
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
fn ports_that_are(sign: Sign, bound: u16) -> Option<String> {
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

/// `icmp type 8`, `icmpv6 code 0`.
fn message(cursor: &mut Cursor<'_>) -> Option<String> {
    let proto = match cursor.one_of(&["icmp", "icmp6", "icmpv6"])? {
        "icmp" => "icmp",
        _ => "icmp6",
    };
    let field = cursor.one_of(&["type", "code"])?;
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

/// `tcp port {80, 443}`, `port in (80, 443)`, `dst host (a, b)`.
fn set(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = qualifiers(cursor)?;
    let is_named = cursor.one_of(&["in"]).is_some();
    let braces = cursor.token()?.kind == TokenKind::Sign(Sign::LBrace);
    let items = if braces {
        cursor.list()
    } else {
        cursor.enclosed(Sign::LParen, Sign::RParen, |cursor| cursor.value())
    }?;
    (braces || is_named || items.len() > 1).then(|| format!("{quals} in {{{}}}", items.join(", ")))
}

/// `port 80 - 90`.
fn range(cursor: &mut Cursor<'_>) -> Option<String> {
    let quals = qualifiers(cursor)?;
    let directed = quals.strip_suffix("port")?;
    let low = cursor.value()?;
    cursor.sign(Sign::Minus)?;
    Some(format!("{directed}portrange {low}-{}", cursor.value()?))
}

/// `port 80 443`.
fn juxtaposed(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    let quals = qualifiers(cursor)?;
    let mut values = Vec::new();
    while cursor.token().is_some_and(|token| token.kind != TokenKind::Name) {
        let Some(value) = cursor.value() else { break };
        values.push(format!("{quals} {value}"));
    }
    (values.len() > 1).then(|| cursor.operands(start, &values.join(" or ")))
}

/// The qualifiers in front of hosts, nets and ports, as they are written.
fn qualifiers(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.token()?.span;
    cursor.one_of(&["tcp", "udp", "sctp", "ip", "ip6", "arp", "rarp", "ether"]);
    if cursor.one_of(&["src", "dst"]).is_some() && cursor.one_of(&["or", "and"]).is_some() {
        cursor.one_of(&["src", "dst"])?;
    }
    cursor.one_of(&["host", "net", "port"])?;
    let end = cursor.tokens.list.get(cursor.at.checked_sub(1)?)?.span;
    let text = start.to(end).text(cursor.tokens.source);
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A place among the tokens; what is read is behind it.
struct Cursor<'a> {
    tokens: &'a Tokens<'a>,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The next token, unless it is the end.
    fn token(&self) -> Option<Token> {
        self.tokens.list.get(self.at).copied().filter(|token| token.kind != TokenKind::End)
    }

    /// Reads one of these words.
    fn one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let text = self.tokens.text(self.token()?);
        let word = words.iter().find(|word| **word == text)?;
        self.at += 1;
        Some(word)
    }

    fn sign(&mut self, sign: Sign) -> Option<()> {
        let is_next = self.token()?.kind == TokenKind::Sign(sign);
        self.at += usize::from(is_next);
        is_next.then_some(())
    }

    /// Reads a comparison: what stands for "unequal" here.
    fn negation(&mut self) -> Option<&'static str> {
        let is_unequal = self.sign(Sign::Ne).is_some();
        self.sign(Sign::Eq);
        is_unequal.then_some("not")
    }

    /// Reads `<`, `<=`, `>` or `>=`.
    fn ordering(&mut self) -> Option<Sign> {
        let signs = [Sign::Lt, Sign::Le, Sign::Gt, Sign::Ge];
        signs.into_iter().find(|sign| self.sign(*sign).is_some())
    }

    /// Reads what a field is compared with: one value or a set, or nothing where the text ends. `None` if it is
    /// something else, without which the phrase would mean nothing.
    fn operand(&mut self) -> Option<(Option<&'static str>, Option<String>)> {
        let not = self.negation();
        let value = match self.list() {
            Some(items) => Some(format!("in {{{}}}", items.join(", "))),
            None => self.value(),
        };
        let is_end = self.at + 1 >= self.tokens.list.len() && self.tokens.error.is_none();
        (value.is_some() || is_end).then_some((not, value))
    }

    /// Ports or addresses of a protocol. What is not on them is still of the protocol: without that, all packets of
    /// other protocols would match as well.
    fn of_protocol(&self, start: usize, proto: Option<&str>, not: Option<&str>, text: &str) -> String {
        match (proto, not) {
            (Some(proto), Some(not)) => self.operands(start, &format!("{proto} and {not} {text}")),
            _ => joined(&[proto, not, Some(text)]),
        }
    }

    /// Operands of `and` or `or` in place of what begins at `start`. They stay together: the two bind alike, from the left,
    /// and `not` binds closer.
    fn operands(&self, start: usize, text: &str) -> String {
        let before = start.checked_sub(1).and_then(|before| self.tokens.list.get(before));
        match before.is_none_or(|before| before.kind == TokenKind::Sign(Sign::LParen)) {
            true => text.to_owned(),
            false => format!("({text})"),
        }
    }

    /// Reads a number, name, address or prefix.
    fn value(&mut self) -> Option<String> {
        let token = self.token()?;
        let is_value = matches!(
            token.kind,
            TokenKind::Number(_) | TokenKind::Name | TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_)
        );
        if !is_value {
            return None;
        }
        self.at += 1;
        let mut span = token.span;
        if let Some([slash, len, ..]) = self.tokens.list.get(self.at..)
            && (slash.kind, slash.span.start) == (TokenKind::Sign(Sign::Slash), span.end)
        {
            span = span.to(len.span);
            self.at += 2;
        }
        Some(span.text(self.tokens.source).to_owned())
    }

    /// Reads `{a, b}`.
    fn list(&mut self) -> Option<Vec<String>> {
        self.enclosed(Sign::LBrace, Sign::RBrace, |cursor| cursor.value())
    }

    /// Reads items with or without commas between; of a list that is not understood, nothing.
    fn enclosed(&mut self, open: Sign, close: Sign, item: Phrase) -> Option<Vec<String>> {
        let start = self.at;
        let items = self.items(open, close, item);
        if items.is_none() {
            self.at = start;
        }
        items
    }

    fn items(&mut self, open: Sign, close: Sign, item: Phrase) -> Option<Vec<String>> {
        self.sign(open)?;
        let mut items = Vec::new();
        while self.sign(close).is_none() {
            items.push(item(self)?);
            self.sign(Sign::Comma);
        }
        Some(items).filter(|items| !items.is_empty())
    }

    /// Whether `meant` is something else than what has been read since `start`.
    fn is_news(&self, start: usize, meant: &str) -> bool {
        let read = &self.tokens.list[start..self.at];
        !read.iter().map(|token| self.tokens.text(*token)).eq(lex(meant)
            .list
            .iter()
            .map(|token| token.span.text(meant))
            .filter(|text| !text.is_empty()))
    }
}

fn is_range(value: Option<&str>) -> bool {
    value.and_then(super::ident::numeric_range).is_some()
}

fn joined(words: &[Option<&str>]) -> String {
    words.iter().flatten().copied().collect::<Vec<_>>().join(" ")
}
