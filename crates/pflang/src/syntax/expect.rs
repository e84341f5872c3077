//! What could have stood where the parser stopped, in words, and what was probably meant.

use super::ast::{Kind, Proto};
use super::codes;
use super::display_filter;
use super::fields;
use super::hints;
use super::ident::range_ends;
use super::lex::{Sign, Token, TokenKind, Within, lex};
use super::parse::{Context, Parser, Purpose, is_filter};
use super::suggest::nearest;
use super::words::{self, WORDS, Word};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::span::Span;

/// Bytes of a suggestion that is still helpful.
const SUGGESTION_MAX: usize = 100;

/// What the grammar allows at some place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    Term,
    /// After `and` and `or`, where identifiers could stand if there were qualifiers.
    TermAfterJoin,
    Id,
    Number,
    /// In a second parenthesis around an identifier.
    OneParenthesis,
    Arith,
    Close,
    /// After arithmetic; after a lone number it could have been meant as an identifier.
    Operator {
        number: bool,
    },
    Join,
    /// Nothing is open that `)` could close.
    NoClose,
    Protocol,
    Sign(&'static str),
    Word(&'static str),
    Size,
    ByteOperator,
    LlcType,
    WlanType,
    WlanSubtype(u8),
    AnyWlanSubtype,
    WlanDirection,
    PfReason,
    PfAction,
    Name,
    FieldValue,
    OrClose,
    PrefixLength,
    NetMask,
    SetEnd,
    SetItem,
    /// The other end of a range.
    Address,
    /// After a member on a line of a set's file.
    LineEnd,
}

impl Parser<'_> {
    pub(super) fn expected_operand(&self) -> Expected {
        match self.context {
            Context::Term => Expected::Term,
            Context::TermOrId | Context::TermOrFirstId => Expected::TermAfterJoin,
            Context::Id | Context::FirstId => Expected::Id,
            Context::Number => Expected::OneParenthesis,
            Context::Arith => Expected::Arith,
        }
    }

    /// The error for the next token.
    pub(super) fn unexpected(&self, expected: Expected) -> Box<Diagnostic> {
        self.unexpected_at(self.peek(), expected)
    }

    /// The error for `token`: the lexer's own, if that is why the tokens end here.
    pub(super) fn unexpected_at(&self, token: Token, expected: Expected) -> Box<Diagnostic> {
        if let (TokenKind::End, Some(error)) = (token.kind, &self.tokens.error) {
            return Box::new(error.clone());
        }
        let text = self.tokens.text(token);
        let (code, message) = match token.kind {
            TokenKind::End => {
                let text = if self.tokens.within == Within::Set { "line" } else { "filter" };
                (Code::Unexpected, format!("the {text} ends too early"))
            }
            TokenKind::Name => (Code::UnknownWord, format!("unknown word `{}`", shown(text))),
            _ => (Code::Unexpected, format!("unexpected `{}`", shown(text))),
        };
        if let (Expected::Join, TokenKind::End, Some(open)) = (expected, token.kind, self.open_parenthesis())
        {
            let mut found = Diagnostic::new(code, token.span, message).label("expected `)`");
            found.also = Some((open, "this parenthesis is open".into()));
            return Box::new(found);
        }
        let found = Diagnostic::new(code, token.span, message);
        if self.purpose == Purpose::Trial {
            return Box::new(found);
        }
        let found = found.label(self.label(expected, token));
        Box::new(match self.help(token, expected) {
            Some(help) => found.help(help),
            None => found,
        })
    }

    /// What stands under the carets.
    fn label(&self, expected: Expected, token: Token) -> String {
        let one_of = |names: Vec<&str>| format!("expected {}", list(&names));
        match expected {
            Expected::Term => "expected a primitive such as `host`, `net`, `port` or `tcp`".into(),
            Expected::TermAfterJoin if self.quals.is_none() && token.kind != TokenKind::End => {
                "expected a primitive: there are no qualifiers to the left that this could inherit".into()
            }
            Expected::TermAfterJoin => "expected a primitive or another identifier".into(),
            Expected::Id => self.expected_id().into(),
            Expected::Number => "expected a number".into(),
            Expected::OneParenthesis => {
                "expected a number: identifiers have but one pair of parentheses".into()
            }
            Expected::Arith => "expected a number, `len` or a load such as `ip[0]`".into(),
            Expected::Close => "expected `)`".into(),
            Expected::Operator { .. } => "expected a comparison such as `= 80` or `& 1 != 0`".into(),
            Expected::Join => match self.protocol_before() {
                Some(proto) => one_of(after_protocol(proto).to_vec()),
                None => "expected `and`, `or` or the end".into(),
            },
            Expected::NoClose => "no parenthesis is open here".into(),
            Expected::Protocol => "expected a protocol such as `ip` or `tcp`".into(),
            Expected::Sign(sign) => format!("expected `{sign}`"),
            Expected::Word(word) => format!("expected `{word}`"),
            Expected::Size => "expected 1, 2 or 4: how many bytes to load".into(),
            Expected::ByteOperator => "expected `=`, `<`, `>`, `&` or `|`".into(),
            Expected::Name => "expected a name".into(),
            Expected::FieldValue => "expected a number, a comparison or a list such as `(1 or 2)`".into(),
            Expected::OrClose => "expected `or` or `)`".into(),
            Expected::PrefixLength => "expected a prefix length from 0 to 32, or to 128 for IPv6".into(),
            Expected::NetMask => "expected a netmask such as 255.255.255.0".into(),
            Expected::SetEnd => "expected `,` or `}`".into(),
            Expected::SetItem if self.tokens.within == Within::Set => {
                "expected an identifier or a range".into()
            }
            Expected::SetItem => "expected an identifier, a range or `@file`".into(),
            Expected::Address => "expected the address that ends the range".into(),
            Expected::LineEnd => "expected the end of the line: a file has one member a line".into(),
            Expected::LlcType
            | Expected::WlanType
            | Expected::WlanSubtype(_)
            | Expected::AnyWlanSubtype
            | Expected::WlanDirection
            | Expected::PfReason
            | Expected::PfAction => one_of(candidates(expected)),
        }
    }

    fn expected_id(&self) -> &'static str {
        match self.quals.and_then(|quals| quals.kind) {
            Some(Kind::Port) => "expected a port: a number or a service such as `https`",
            Some(Kind::Portrange) => "expected a range of ports such as 6000-6008",
            Some(Kind::Net) => "expected a network such as 10.0.0.0/8",
            Some(Kind::Proto | Kind::Protochain) => {
                "expected a protocol: a number, or a name such as `\\tcp`"
            }
            Some(Kind::Host | Kind::Gateway) => "expected a host: a name or an address",
            None => "expected `host`, `net`, `port`, `portrange` or a host",
        }
    }

    /// The protocol name that has just been read.
    fn protocol_before(&self) -> Option<Proto> {
        match self.previous()?.kind {
            TokenKind::Word(Word::Proto(proto)) => Some(proto),
            _ => None,
        }
    }

    /// What to write instead.
    fn help(&self, token: Token, expected: Expected) -> Option<String> {
        let meant = self.meant(token, expected).map(did_you_mean);
        meant.or_else(|| self.advice(token, expected))
    }

    /// The filter or word that was meant.
    fn meant(&self, token: Token, expected: Expected) -> Option<String> {
        if let Some(filter) = self.in_lower_case(token) {
            return Some(filter);
        }
        if token.kind == TokenKind::Name
            && let Some(words) = self.words_for(token, expected)
        {
            return Some(words);
        }
        let text = self.tokens.text(token);
        match (expected, token.kind) {
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Dotted | TokenKind::V6(_)) => {
                Some(self.address(token))
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Name)
                if !self.dialect.strict && is_range_of_addresses(text) =>
            {
                Some(format!("host in {{{text}}}"))
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Mac(_)) => {
                Some(format!("ether host {text}"))
            }
            (Expected::TermAfterJoin, TokenKind::Number(_)) if text.starts_with("tcp-") => {
                Some(format!("tcp[tcpflags] & {text} != 0"))
            }
            (Expected::TermAfterJoin, TokenKind::Number(_)) => Some(format!("port {text}")),
            (Expected::Operator { number: true }, _) => match self.tokens.text(self.previous()?) {
                flag if flag.starts_with("tcp-") => Some(format!("tcp[tcpflags] & {flag} != 0")),
                number if number.starts_with(|first: char| first.is_ascii_digit()) => {
                    Some(format!("port {number}"))
                }
                _ => None,
            },
            (Expected::Operator { number: false }, _) => self.with_comparison(token),
            (Expected::Join, TokenKind::Number(_)) => {
                let proto = self.protocol_before()?;
                let kind = if is_transport(proto) { "port" } else { "proto" };
                Some(format!("{} {kind} {text}", proto.name()))
            }
            (Expected::Join, TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_)) => {
                self.protocol_before().map(|proto| format!("{} host {text}", proto.name()))
            }
            (Expected::Join, TokenKind::Word(_)) => self.joined_by_and(token),
            _ => None,
        }
    }

    /// What to know, where nothing in particular seems to be meant.
    fn advice(&self, token: Token, expected: Expected) -> Option<String> {
        let text = shown(self.tokens.text(token));
        match (expected, token.kind) {
            (
                Expected::Term | Expected::TermAfterJoin | Expected::Arith | Expected::Number,
                TokenKind::Name,
            ) if let Some((left, right)) = difference(text) => {
                Some(format!("`{text}` is one word; a minus has blanks around it: `{left} - {right}`"))
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Name) if matches!(text, "any" | "all") => {
                Some("an empty filter matches every packet; `host any` is a host of this name".into())
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Name) => {
                Some(format!("if this is a host, write `host {text}`; pcap-filter(7) explains all words"))
            }
            (Expected::Join, TokenKind::Sign(sign)) => self.advice_for_sign(sign).map(str::to_owned),
            (Expected::Join, TokenKind::Word(_) | TokenKind::Name) => {
                Some("two primitives are joined by `and` or `or`".into())
            }
            (Expected::Id | Expected::SetItem, TokenKind::Word(Word::And | Word::Or | Word::Not)) => None,
            (Expected::Id | Expected::SetItem, TokenKind::Word(_)) => {
                Some(format!("`{text}` is a keyword: escape it as `\\{text}` to use it as a name"))
            }
            _ => None,
        }
    }

    /// The same for a sign where a filter may end.
    fn advice_for_sign(&self, sign: Sign) -> Option<&'static str> {
        let is_net = self.quals.is_none_or(|quals| matches!(quals.kind, None | Some(Kind::Host | Kind::Net)));
        match sign {
            Sign::Comma if self.dialect.strict => Some("write `or` between alternatives"),
            Sign::Comma => Some("write `or` between alternatives, or a set: `port in {80, 443}`"),
            Sign::Slash if is_net && matches!(self.previous()?.kind, TokenKind::Number(_)) => {
                Some("a prefix needs at least two parts in front of it: `10.0/8`")
            }
            Sign::Ampersand => Some("`&` is for numbers: filters are joined by `and` or `&&`"),
            Sign::Pipe => Some("`|` is for numbers: filters are joined by `or` or `||`"),
            _ => None,
        }
    }

    /// The words that an unknown one was meant to be.
    fn words_for(&self, token: Token, expected: Expected) -> Option<String> {
        let text = self.tokens.text(token);
        if let Some(filter) = self.protocol_without_word(text, expected) {
            return Some(filter);
        }
        let wanted = match (expected, self.protocol_before()) {
            // One letter from `port`, which is another question.
            _ if text == "dport" => Some("dst port"),
            _ if text == "sport" => Some("src port"),
            _ if matches!(text, "source") => Some("src"),
            _ if matches!(text, "destination" | "dest") => Some("dst"),
            _ if matches!(text, "ipv4" | "inet") => Some("ip"),
            _ if text == "inet6" => Some("ip6"),
            _ if matches!(text, "802.1q" | "802.1Q" | "dot1q" | "qinq" | "802.1ad") => Some("vlan"),
            (Expected::Term | Expected::TermAfterJoin, _) if text == "pppoe" => Some("(pppoed or pppoes)"),
            _ if hints::is_foreign(text) => None,
            (Expected::Join, Some(proto)) => {
                let after = nearest(text, after_protocol(proto).iter().copied());
                after.or_else(|| nearest(text, ["and", "or"]))
            }
            (Expected::Arith | Expected::Number, _) => {
                let constant = self.short_constant(text).or_else(|| fields::message_constant(text));
                constant.or_else(|| nearest(text, candidates(expected)))
            }
            _ => nearest(text, candidates(expected)),
        };
        wanted.map(|wanted| {
            let words = self.with_neighbours(token, wanted);
            if is_filter(&words, self.dialect) { words } else { wanted.to_owned() }
        })
    }

    /// The whole filter with `!= 0` in front of `token`, if that is all it lacks.
    fn with_comparison(&self, token: Token) -> Option<String> {
        let source = self.tokens.source;
        let is_length = self.previous().is_some_and(|token| token.kind == TokenKind::Word(Word::Len));
        if is_length || self.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let (before, after) = source.split_at(token.span.start as usize);
        let filter = format!("{} != 0 {after}", before.trim_end());
        is_filter(&filter, self.dialect).then(|| filter.trim_end().to_owned())
    }

    /// The whole filter with `and` in front of `token`, if that is all it lacks.
    fn joined_by_and(&self, token: Token) -> Option<String> {
        let source = self.tokens.source;
        // `src 80` is a filter, but nobody means the host 0.0.0.80.
        let is_bare_number = |pair: &[Token]| {
            matches!(pair, [dir, number]
                if matches!((dir.kind, number.kind), (TokenKind::Word(Word::Dir(_)), TokenKind::Number(_))))
        };
        let means_other = self.tokens.list.windows(2).any(is_bare_number);
        if means_other || self.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let (before, after) = source.split_at(token.span.start as usize);
        let filter = format!("{} and {}", before.trim(), after.trim());
        is_filter(&filter, self.dialect).then_some(filter)
    }

    /// The whole filter in lower case, if that is all it lacks.
    fn in_lower_case(&self, token: Token) -> Option<String> {
        let (text, source) = (self.tokens.text(token), self.tokens.source);
        let is_upper = token.kind == TokenKind::Name && text.contains(|c: char| c.is_ascii_uppercase());
        if !is_upper || self.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let lower = source.to_ascii_lowercase();
        is_filter(&lower, self.dialect).then_some(lower)
    }

    /// The filter for `http` and others that have no keyword, also behind the protocol that carries them.
    fn protocol_without_word(&self, name: &str, expected: Expected) -> Option<String> {
        let filter = display_filter::protocol(name)?;
        match (expected, self.protocol_before()) {
            // What stands around it may be `not` or `and`.
            (Expected::Term | Expected::TermAfterJoin, _) if filter.contains(" or ") => {
                Some(format!("({filter})"))
            }
            (Expected::Term | Expected::TermAfterJoin, _) => Some(filter.to_owned()),
            (Expected::Join, Some(proto)) if is_transport(proto) => {
                let (_, port) = filter.split_once("port ")?;
                Some(format!("{} port {port}", proto.name())).filter(|filter| !filter.contains(" or "))
            }
            _ => None,
        }
    }

    /// The constant `tcp-syn` for `syn`: of the protocol whose bytes were looked at last.
    fn short_constant(&self, text: &str) -> Option<&'static str> {
        let before = self.tokens.list.iter().take_while(|token| token.span.start < self.peek().span.start);
        let proto = before.filter_map(|token| match token.kind {
            TokenKind::Word(Word::Proto(proto)) => Some(proto.name()),
            _ => None,
        });
        let text = text.to_ascii_lowercase();
        let name = match text.as_str() {
            "flags" => return Some("tcpflags").filter(|_| proto.last() == Some("tcp")),
            "psh" => "push",
            "reset" => "rst",
            other => other,
        };
        let wanted = format!("{}-{name}", proto.last()?);
        let constant =
            words::CONSTANTS.iter().map(|(constant, _)| *constant).find(|constant| *constant == wanted);
        constant.or_else(|| fields::message_constant(&wanted))
    }

    /// An address with the qualifier that it needs.
    fn address(&self, token: Token) -> String {
        let text = self.tokens.text(token);
        let slash = self.tokens.list.iter().position(|other| other.span == token.span).map(|at| at + 1);
        let next = slash.and_then(|at| Some((self.tokens.list.get(at)?, self.tokens.list.get(at + 1)?)));
        match next {
            Some((slash, len)) if slash.kind == TokenKind::Sign(Sign::Slash) => {
                let word = if len.kind == TokenKind::Dotted { " mask " } else { "/" };
                format!("net {text}{word}{}", self.tokens.text(*len))
            }
            _ => format!("host {text}"),
        }
    }

    /// `wanted` in the place of `token`, with the word before it and the operand after it.
    fn with_neighbours(&self, token: Token, wanted: &str) -> String {
        let list = &self.tokens.list;
        let at = list.partition_point(|other| other.span.start < token.span.start);
        let before = at.checked_sub(1).map(|at| list[at]).filter(|other| {
            matches!(
                other.kind,
                TokenKind::Word(Word::Proto(_) | Word::Dir(_) | Word::Llc | Word::Type | Word::Subtype)
            )
        });
        let after = list.get(at + 1).copied().filter(|other| {
            matches!(
                other.kind,
                TokenKind::Number(_)
                    | TokenKind::Name
                    | TokenKind::Dotted
                    | TokenKind::V6(_)
                    | TokenKind::Mac(_)
            )
        });
        let words = [before.map(|t| self.tokens.text(t)), Some(wanted), after.map(|t| self.tokens.text(t))];
        words.into_iter().flatten().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// What can follow a protocol name and makes sense there; the grammar would take any qualifier.
fn after_protocol(proto: Proto) -> &'static [&'static str] {
    match proto {
        _ if is_transport(proto) => &["port", "portrange", "src", "dst"],
        Proto::Ip | Proto::Ip6 => &["host", "net", "proto", "src", "dst"],
        Proto::Link => &["host", "proto", "src", "dst", "broadcast", "multicast"],
        Proto::Arp | Proto::Rarp | Proto::Decnet => &["host", "net", "src", "dst"],
        Proto::Iso | Proto::Isis => &["proto", "and", "or"],
        _ => &["and", "or"],
    }
}

/// `len-20`, which reads as one word: what stands to both sides of the minus.
fn difference(text: &str) -> Option<(&str, &str)> {
    let (left, right) = text.split_once('-')?;
    let is_number = |text: &str| matches!(lex(text).list[..], [Token { kind: TokenKind::Number(_), .. }, _]);
    let is_operand = |text: &str| matches!(words::word(text), Some(Word::Len)) || is_number(text);
    (is_operand(left) && is_operand(right)).then_some((left, right))
}

fn is_transport(proto: Proto) -> bool {
    matches!(proto, Proto::Tcp | Proto::Udp | Proto::Sctp)
}

/// `10.0.0.5-10.0.0.9`.
fn is_range_of_addresses(text: &str) -> bool {
    range_ends(text, Span::new(0, 0)).is_some_and(|ends| ends.iter().all(|end| end.kind == TokenKind::Dotted))
}

/// The words that could stand there.
fn candidates(expected: Expected) -> Vec<&'static str> {
    let firsts = |table: &[(&'static str, u8)]| table.iter().map(|entry| entry.0).collect::<Vec<_>>();
    let numbers = |table: &[(&'static str, u32)]| table.iter().map(|entry| entry.0).collect::<Vec<_>>();
    match expected {
        Expected::Term | Expected::TermAfterJoin => WORDS
            .iter()
            .filter(|(_, word)| !matches!(word, Word::And | Word::Or | Word::Mask))
            .map(|(name, _)| *name)
            .collect(),
        Expected::Join => vec!["and", "or"],
        Expected::OrClose => vec!["or"],
        Expected::Word(word) => vec![word],
        Expected::Protocol => {
            WORDS.iter().filter(|(_, word)| matches!(word, Word::Proto(_))).map(|(name, _)| *name).collect()
        }
        Expected::Arith | Expected::Number | Expected::Size => {
            words::CONSTANTS.iter().map(|(name, _)| *name).collect()
        }
        Expected::LlcType => {
            let mut names = vec!["i", "s", "u"];
            names.extend(firsts(codes::LLC_SUPERVISORY));
            names.extend(firsts(codes::LLC_UNNUMBERED));
            names
        }
        Expected::WlanType => firsts(codes::WLAN_TYPES),
        Expected::WlanSubtype(kind) => codes::WLAN_SUBTYPES
            .iter()
            .find(|(of, _)| *of == kind)
            .map_or_else(|| vec!["a type that has subtypes"], |(_, names)| firsts(names)),
        Expected::AnyWlanSubtype => {
            codes::WLAN_SUBTYPES.iter().flat_map(|(_, names)| firsts(names)).collect()
        }
        Expected::WlanDirection => numbers(codes::WLAN_DIRECTIONS),
        Expected::PfReason => numbers(codes::PF_REASONS),
        Expected::PfAction => numbers(codes::PF_ACTIONS),
        _ => Vec::new(),
    }
}

/// `a`, `b` or `c`; a long list is cut.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let quoted = |name: &&str| format!("`{name}`");
    match names {
        [] => "something else".to_owned(),
        [one] => quoted(one),
        many if many.len() > SHOWN => {
            format!("{}, …", many[..SHOWN].iter().map(quoted).collect::<Vec<_>>().join(", "))
        }
        [most @ .., last] => {
            format!("{} or {}", most.iter().map(quoted).collect::<Vec<_>>().join(", "), quoted(last))
        }
    }
}

/// A piece of the source, short enough for a message.
pub(super) fn shown(text: &str) -> &str {
    const BYTES_SHOWN: usize = 60;
    match text.char_indices().find(|(at, _)| *at >= BYTES_SHOWN) {
        Some((at, _)) => Span::new(0, at as u32).text(text),
        None => text,
    }
}
