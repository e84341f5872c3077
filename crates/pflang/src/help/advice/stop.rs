//! What was probably meant where the parser stopped.

use super::cursor::Cursor;
use super::suggest::{SUGGESTION_MAX, nearest};
use super::{display_filter, fields, hints};
use crate::Span;
use crate::diag::{Diagnostic, Suggestion};
use crate::syntax::ast::Kind;
use crate::syntax::codes;
use crate::syntax::lex::{Sign, Token, TokenKind, Tokens, Within, lex};
use crate::syntax::parser::expected::{Expected, after_protocol, is_transport};
use crate::syntax::parser::stop::{Stop, shown};
use crate::syntax::parser::{Parser, is_filter};
use crate::syntax::range;
use crate::syntax::words::{self, Word};

/// The finding with what was probably meant, if it is about the place where the parser stopped.
pub(crate) fn help(parser: &Parser<'_>, found: Diagnostic) -> Diagnostic {
    let stop = parser.stop.filter(|stop| stop.token.span == found.span);
    let Some(Stop { token, expected }) = stop else { return found };
    let stopped = Stopped { parser, token, expected };
    if let Some(joined) = stopped.joined() {
        return Diagnostic { suggestion: Some(joined), ..found };
    }
    match (stopped.meant(), stopped.advice()) {
        (Some(meant), _) => found.suggest(meant),
        (None, Some(advice)) => found.help(advice),
        (None, None) => found,
    }
}

/// The parser where it stopped.
struct Stopped<'p> {
    parser: &'p Parser<'p>,
    token: Token,
    expected: Expected,
}

impl Stopped<'_> {
    /// The filter or word that was meant.
    fn meant(&self) -> Option<String> {
        if let Some(filter) = self.in_lower_case() {
            return Some(filter);
        }
        if matches!(self.expected, Expected::Term | Expected::TermAfterJoin)
            && let Some(filter) = self.completed()
        {
            return Some(filter);
        }
        if self.token.kind == TokenKind::Name
            && let Some(words) = self.words_for()
        {
            return Some(words);
        }
        let text = self.parser.tokens.text(self.token);
        match (self.expected, self.token.kind) {
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Dotted | TokenKind::V6(_)) => {
                Some(address(self.parser.tokens, self.at()).0)
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Name)
                if !self.parser.dialect.strict && is_range_of_addresses(text) =>
            {
                Some(format!("host in {{{text}}}"))
            }
            (Expected::Term | Expected::TermAfterJoin, TokenKind::Mac(_)) => {
                Some(format!("ether host {text}"))
            }
            (Expected::TermAfterJoin, TokenKind::Number(_)) if text.starts_with("tcp-") => {
                Some(format!("tcp[tcpflags] & {text} != 0"))
            }
            (Expected::TermAfterJoin, TokenKind::Number(_)) => {
                (!self.is_next_to_number(self.at())).then(|| format!("port {text}"))
            }
            (Expected::Operator { number: true }, _) => {
                match self.parser.tokens.text(self.parser.previous()?) {
                    flag if flag.starts_with("tcp-") => Some(format!("tcp[tcpflags] & {flag} != 0")),
                    number
                        if number.starts_with(|first: char| first.is_ascii_digit())
                            && !self.is_next_to_number(self.at() - 1) =>
                    {
                        Some(format!("port {number}"))
                    }
                    _ => None,
                }
            }
            (Expected::Operator { number: false }, _) => self.with_comparison(),
            (Expected::Join, TokenKind::Number(_)) => {
                let proto = self.parser.protocol_before()?;
                let kind = if is_transport(proto) { "port" } else { "proto" };
                Some(format!("{} {kind} {text}", proto.name()))
            }
            (Expected::Join, TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_)) => {
                self.parser.protocol_before().map(|proto| format!("{} host {text}", proto.name()))
            }
            _ => None,
        }
    }

    /// The place of the token.
    fn at(&self) -> usize {
        self.parser.tokens.list.partition_point(|other| other.span.start < self.token.span.start)
    }

    /// Whether the primitive to the left ends with a number, which is no port: the number at `at` would be one.
    fn is_next_to_number(&self, at: usize) -> bool {
        let before = at.checked_sub(2).and_then(|before| self.parser.tokens.list.get(before));
        before.is_some_and(|before| matches!(before.kind, TokenKind::Number(_)))
    }

    /// The whole filter with the qualifiers that its addresses lack, and with filters in place of protocols that have no word,
    /// if that is all it lacks.
    fn completed(&self) -> Option<String> {
        let tokens = self.parser.tokens;
        if tokens.within == Within::Set || tokens.error.is_some() || tokens.source.len() > SUGGESTION_MAX {
            return None;
        }
        let (mut text, mut copied) = (String::new(), 0);
        let mut cursor = Cursor { tokens, at: 0 };
        while let Some(token) = cursor.token() {
            let name = tokens.text(token);
            let filter = match token.kind {
                // From here on, identifiers may have their qualifiers from the left.
                TokenKind::Word(Word::Kind(_) | Word::Dir(_)) => break,
                _ if !cursor.begins_term() => None,
                TokenKind::Name => Some((term_for(name)?, cursor.at + 1)),
                TokenKind::Dotted | TokenKind::V6(_) => Some(address(tokens, cursor.at)),
                TokenKind::Mac(_) => Some((format!("ether host {name}"), cursor.at + 1)),
                TokenKind::Number(_) => return None,
                _ => None,
            };
            cursor.at += 1;
            if let Some((filter, next)) = filter {
                text.push_str(tokens.source.get(copied..token.span.start as usize)?);
                text.push_str(&filter);
                cursor.at = next;
                copied = tokens.list.get(next - 1)?.span.end as usize;
            }
        }
        // A word that would be taken for an identifier, and is none.
        let is_left =
            |token: &Token| token.kind == TokenKind::Name && term_for(tokens.text(*token)).is_some();
        if tokens.list.get(cursor.at..)?.iter().any(is_left) {
            return None;
        }
        text.push_str(tokens.source.get(copied..)?);
        is_filter(&text, self.parser.dialect).then(|| text.trim().to_owned())
    }

    /// What to know, where nothing in particular seems to be meant.
    fn advice(&self) -> Option<String> {
        let text = shown(self.parser.tokens.text(self.token));
        match (self.expected, self.token.kind) {
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
        let is_net =
            self.parser.quals.is_none_or(|quals| matches!(quals.kind, None | Some(Kind::Host | Kind::Net)));
        match sign {
            Sign::Comma if self.parser.dialect.strict => Some("write `or` between alternatives"),
            Sign::Comma => Some("write `or` between alternatives, or a set: `port in {80, 443}`"),
            Sign::Slash if is_net && matches!(self.parser.previous()?.kind, TokenKind::Number(_)) => {
                Some("a prefix needs at least two parts in front of it: `10.0/8`")
            }
            Sign::Ampersand => Some("`&` is for numbers: filters are joined by `and` or `&&`"),
            Sign::Pipe => Some("`|` is for numbers: filters are joined by `or` or `||`"),
            _ => None,
        }
    }

    /// The words that an unknown one was meant to be.
    fn words_for(&self) -> Option<String> {
        let text = self.parser.tokens.text(self.token);
        if let Some(filter) = self.protocol_without_word(text) {
            return Some(filter);
        }
        let wanted = match (self.expected, self.parser.protocol_before()) {
            // One letter from `port`, which is another question.
            _ if text == "dport" => Some("dst port"),
            _ if text == "sport" => Some("src port"),
            _ if matches!(text, "source") => Some("src"),
            _ if matches!(text, "destination" | "dest") => Some("dst"),
            _ if matches!(text, "ipv4" | "inet") => Some("ip"),
            _ if text == "inet6" => Some("ip6"),
            _ if matches!(text, "802.1q" | "802.1Q" | "dot1q" | "qinq" | "802.1ad") => Some("vlan"),
            (Expected::Term | Expected::TermAfterJoin, _)
                if codes::is_wlan_subtype(text)
                    && !codes::WLAN_TYPES.iter().any(|(kind, _)| *kind == text) =>
            {
                return Some(format!("subtype {text}"));
            }
            (Expected::Term | Expected::TermAfterJoin, _) if text == "pppoe" => Some("(pppoed or pppoes)"),
            _ if hints::is_foreign(text) => None,
            (Expected::Join, Some(proto)) => {
                let after = nearest(text, after_protocol(proto).iter().copied());
                after.or_else(|| nearest(text, ["and", "or"]))
            }
            (Expected::Arith | Expected::Number, _) => {
                let constant = self.short_constant(text).or_else(|| fields::message_constant(text));
                constant.or_else(|| nearest(text, self.expected.words()))
            }
            _ => nearest(text, self.expected.words()),
        };
        wanted.map(|wanted| {
            let words = self.with_neighbours(wanted);
            if is_filter(&words, self.parser.dialect) { words } else { wanted.to_owned() }
        })
    }

    /// The whole filter with `!= 0` in front of the token, if that is all it lacks.
    fn with_comparison(&self) -> Option<String> {
        let source = self.parser.tokens.source;
        let is_length = self.parser.previous().is_some_and(|token| token.kind == TokenKind::Word(Word::Len));
        if is_length || self.parser.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let (before, after) = source.split_at(self.token.span.start as usize);
        let filter = format!("{} != 0 {after}", before.trim_end());
        is_filter(&filter, self.parser.dialect).then(|| filter.trim_end().to_owned())
    }

    /// The whole filter with `and` in front of the token, if that is all it lacks.
    fn joined(&self) -> Option<Suggestion> {
        if self.expected != Expected::Join || !matches!(self.token.kind, TokenKind::Word(_)) {
            return None;
        }
        let source = self.parser.tokens.source;
        // `src 80` is a filter, but nobody means the host 0.0.0.80.
        let is_bare_number = |pair: &[Token]| {
            matches!(pair, [dir, number]
                if matches!((dir.kind, number.kind), (TokenKind::Word(Word::Dir(_)), TokenKind::Number(_))))
        };
        let means_other = self.parser.tokens.list.windows(2).any(is_bare_number);
        if means_other || self.parser.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let (before, after) = source.split_at(self.token.span.start as usize);
        let [and, or] = ["and", "or"].map(|join| format!("{} {join} {}", before.trim(), after.trim()));
        is_filter(&and, self.parser.dialect).then_some(Suggestion::Joined { and, or })
    }

    /// The whole filter in lower case, if that is all it lacks.
    fn in_lower_case(&self) -> Option<String> {
        let (text, source) = (self.parser.tokens.text(self.token), self.parser.tokens.source);
        let is_upper = self.token.kind == TokenKind::Name && text.contains(|c: char| c.is_ascii_uppercase());
        if !is_upper || self.parser.tokens.within == Within::Set || source.len() > SUGGESTION_MAX {
            return None;
        }
        let lower = source.to_ascii_lowercase();
        is_filter(&lower, self.parser.dialect).then_some(lower)
    }

    /// The filter for `http` and others that have no keyword, also behind the protocol that carries them.
    fn protocol_without_word(&self, name: &str) -> Option<String> {
        let filter = display_filter::protocol(name)?;
        match (self.expected, self.parser.protocol_before()) {
            (Expected::Term | Expected::TermAfterJoin, _) => term_for(name),
            (Expected::Join, Some(proto)) if is_transport(proto) => {
                let (_, port) = filter.split_once("port ")?;
                Some(format!("{} port {port}", proto.name())).filter(|filter| !filter.contains(" or "))
            }
            _ => None,
        }
    }

    /// The constant `tcp-syn` for `syn`: of the protocol whose bytes were looked at last.
    fn short_constant(&self, text: &str) -> Option<&'static str> {
        let before = self
            .parser
            .tokens
            .list
            .iter()
            .take_while(|token| token.span.start < self.parser.peek().span.start);
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

    /// `wanted` in the place of the token, with the word before it and the operand after it.
    fn with_neighbours(&self, wanted: &str) -> String {
        let list = &self.parser.tokens.list;
        let at = list.partition_point(|other| other.span.start < self.token.span.start);
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
        let words = [
            before.map(|t| self.parser.tokens.text(t)),
            Some(wanted),
            after.map(|t| self.parser.tokens.text(t)),
        ];
        words.into_iter().flatten().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// The filter for a protocol that has no word, as one operand: what stands around it may be `not` or `and`.
fn term_for(name: &str) -> Option<String> {
    let filter = display_filter::protocol(name)?;
    Some(if filter.contains(" or ") { format!("({filter})") } else { filter.to_owned() })
}

/// The address at `at` with the qualifier that it needs, and the place behind it.
fn address(tokens: &Tokens<'_>, at: usize) -> (String, usize) {
    let text = tokens.text(tokens.list[at]);
    match tokens.list.get(at + 1..at + 3) {
        Some([slash, len]) if slash.kind == TokenKind::Sign(Sign::Slash) => {
            let word = if len.kind == TokenKind::Dotted { " mask " } else { "/" };
            (format!("net {text}{word}{}", tokens.text(*len)), at + 3)
        }
        _ => (format!("host {text}"), at + 1),
    }
}

/// `len-20`, which reads as one word: what stands to both sides of the minus.
fn difference(text: &str) -> Option<(&str, &str)> {
    let (left, right) = text.split_once('-')?;
    let is_number = |text: &str| matches!(lex(text).list[..], [Token { kind: TokenKind::Number(_), .. }, _]);
    let is_operand = |text: &str| matches!(words::word(text), Some(Word::Len)) || is_number(text);
    (is_operand(left) && is_operand(right)).then_some((left, right))
}

/// `10.0.0.5-10.0.0.9`.
fn is_range_of_addresses(text: &str) -> bool {
    range::ends(text, Span::new(0, 0))
        .is_some_and(|ends| ends.iter().all(|end| end.kind == TokenKind::Dotted))
}
