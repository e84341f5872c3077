//! What was probably meant where the parser stopped.

use super::cursor::{Cursor, is_value, joined, lookup};
use super::{SUGGESTION_MAX, display_filter, fields, hints};
use crate::compiler::Compiler;
use crate::diag::{Diagnostic, Suggestion};
use crate::syntax::ast::{Ast, Expr, Kind, SetItem};
use crate::syntax::codes;
use crate::syntax::lex::{Sign, Token, TokenKind, Tokens, Within, lex, lex_within};
use crate::syntax::parser::expected::{Expected, after_protocol, is_transport};
use crate::syntax::parser::stop::{Stop, shown};
use crate::syntax::parser::{Parser, is_filter};
use crate::syntax::range;
use crate::syntax::words::{self, Word};

/// The finding with what was probably meant, if it is about the place where the parser stopped.
pub(crate) fn help(parser: &Parser<'_>, found: Diagnostic) -> Diagnostic {
    let stop = parser.stop.filter(|stop| stop.token.span == found.span);
    let Some(Stop { token, expected }) = stop else { return found };
    let tokens = parser.tokens;
    let at = tokens.list.partition_point(|other| other.span.start < token.span.start);
    let stopped = Stopped { parser, tokens, token, at, text: tokens.text(token), expected };
    if let Some(joined) = stopped.joined() {
        return Diagnostic { suggestion: Some(joined), ..found };
    }
    match (stopped.meant(), stopped.advice()) {
        (Some(meant), _) => found.suggest(meant),
        (None, Some(advice)) => found.help(advice),
        (None, None) => found,
    }
}

/// The parser where it stopped: what it found there, and what it expected.
struct Stopped<'p> {
    parser: &'p Parser<'p>,
    tokens: &'p Tokens<'p>,
    token: Token,
    at: usize,
    text: &'p str,
    expected: Expected,
}

/// Words of other languages.
#[rustfmt::skip]
static WORDS: &[(&str, &str)] = &[
    // One letter from `port`, which is another question.
    ("dport", "dst port"), ("sport", "src port"), ("source", "src"), ("destination|dest", "dst"),
    ("ipv4|inet", "ip"), ("inet6", "ip6"), ("802.1q|802.1Q|dot1q|qinq|802.1ad", "vlan"),
];

impl<'p> Stopped<'p> {
    fn is_term(&self) -> bool {
        matches!(self.expected, Expected::Term | Expected::TermAfterJoin)
    }

    /// The filter or word that was meant.
    fn meant(&self) -> Option<String> {
        let completed = || self.completed().filter(|_| self.is_term());
        let words = || self.words_for().filter(|_| self.token.kind == TokenKind::Name);
        self.in_lower_case().or_else(completed).or_else(words).or_else(|| self.operand())
    }

    /// The primitive that was meant by an operand alone.
    fn operand(&self) -> Option<String> {
        let (text, kind) = (self.text, self.token.kind);
        let flag = |flag: &str| flag.starts_with("tcp-").then(|| format!("tcp[tcpflags] & {flag} != 0"));
        let is_address = matches!(kind, TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_));
        match (self.expected, kind) {
            _ if is_address && self.is_term() => address(&mut Cursor { tokens: self.tokens, at: self.at }),
            (_, TokenKind::Name) if self.is_term() && !self.parser.dialect.strict => {
                let are_addresses =
                    range::ends(text, self.token.span)?.iter().all(|end| end.kind == TokenKind::Dotted);
                are_addresses.then(|| format!("host in {{{text}}}"))
            }
            (Expected::TermAfterJoin, TokenKind::Number(_)) => flag(text).or_else(|| self.port(self.at)),
            (Expected::Operator { number: true }, _) => {
                flag(self.tokens.text(self.parser.previous()?)).or_else(|| self.port(self.at - 1))
            }
            // All that it lacks is a comparison.
            (Expected::Operator { number: false }, _) => {
                let is_length =
                    self.parser.previous().is_some_and(|token| token.kind == TokenKind::Word(Word::Len));
                let (before, after) = self.split();
                self.whole(&format!("{before} != 0 {after}")).filter(|_| !is_length)
            }
            (Expected::Join, _) if is_address || matches!(kind, TokenKind::Number(_)) => {
                let proto = self.parser.protocol_before()?;
                let number = if is_transport(proto) { "port" } else { "proto" };
                Some(format!("{} {} {text}", proto.name(), if is_address { "host" } else { number }))
            }
            _ => None,
        }
    }

    /// The number at `at` as a port, which it is not if the primitive to the left ends with a number.
    fn port(&self, at: usize) -> Option<String> {
        let number = self.tokens.text(*self.tokens.list.get(at)?);
        let before = Cursor { tokens: self.tokens, at }.back(2);
        let is_port = number.starts_with(|first: char| first.is_ascii_digit())
            && !matches!(before, Some(TokenKind::Number(_)));
        is_port.then(|| format!("port {number}"))
    }

    /// The text before the token, and from it on.
    fn split(&self) -> (&'p str, &'p str) {
        let (before, after) = self.tokens.source.split_at(self.token.span.start as usize);
        (before.trim(), after.trim())
    }

    /// This text in place of the whole filter, if it is one.
    fn whole(&self, text: &str) -> Option<String> {
        let is_short = self.tokens.within != Within::Set && self.tokens.source.len() <= SUGGESTION_MAX;
        (is_short && is_filter(text, self.parser.dialect)).then(|| text.trim().to_owned())
    }

    /// The whole filter with `and` in front of the token, if that is all it lacks.
    fn joined(&self) -> Option<Suggestion> {
        if self.expected != Expected::Join || !matches!(self.token.kind, TokenKind::Word(_)) {
            return None;
        }
        // `src 80` is a filter, but nobody means the host 0.0.0.80.
        let is_bare_number = |pair: &[Token]| {
            matches!(pair[0].kind, TokenKind::Word(Word::Dir(_)))
                && matches!(pair[1].kind, TokenKind::Number(_))
        };
        let (before, after) = self.split();
        let [and, or] = ["and", "or"].map(|join| format!("{before} {join} {after}"));
        let means_other = self.tokens.list.windows(2).any(is_bare_number);
        self.whole(&and).filter(|_| !means_other).map(|and| Suggestion::Joined { and, or })
    }

    /// The whole filter in lower case, if that is all it lacks.
    fn in_lower_case(&self) -> Option<String> {
        let is_upper =
            self.token.kind == TokenKind::Name && self.text.contains(|c: char| c.is_ascii_uppercase());
        self.whole(&self.tokens.source.to_ascii_lowercase()).filter(|_| is_upper)
    }

    /// The whole filter with the qualifiers that its addresses lack, and with filters in place of protocols that have no word,
    /// if that is all it lacks.
    fn completed(&self) -> Option<String> {
        let tokens = self.tokens;
        if tokens.error.is_some() || tokens.source.len() > SUGGESTION_MAX {
            return None;
        }
        let (mut text, mut copied) = (String::new(), 0);
        let mut cursor = Cursor { tokens, at: 0 };
        let mut inherits = false;
        while let Some(token) = cursor.token() {
            let name = tokens.text(token);
            // From here on, identifiers may have their qualifiers from the left.
            inherits |= matches!(token.kind, TokenKind::Word(Word::Kind(_) | Word::Dir(_)));
            cursor.at += 1;
            let filter = match token.kind {
                // A word that would be taken for an identifier, and is none.
                TokenKind::Name if inherits && term_for(name).is_some() => return None,
                _ if inherits || !(Cursor { tokens, at: cursor.at - 1 }).begins_term() => continue,
                TokenKind::Name => term_for(name)?,
                TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_) => {
                    cursor.at -= 1;
                    address(&mut cursor)?
                }
                TokenKind::Number(_) => return None,
                _ => continue,
            };
            text.push_str(tokens.source.get(copied..token.span.start as usize)?);
            text.push_str(&filter);
            copied = tokens.list[cursor.at - 1].span.end as usize;
        }
        text.push_str(tokens.source.get(copied..)?);
        self.whole(&text)
    }

    /// What to know, where nothing in particular seems to be meant.
    fn advice(&self) -> Option<String> {
        use Expected::{Arith, Id, Join, Number, SetItem};
        let (text, kind) = (shown(self.text), self.token.kind);
        let (is_name, is_strict) = (kind == TokenKind::Name, self.parser.dialect.strict);
        let [is_join, is_operand, is_id] =
            [&[Join][..], &[Arith, Number], &[Id, SetItem]].map(|of| of.contains(&self.expected));
        let is_sign = |sign| is_join && kind == TokenKind::Sign(sign);
        let of_net =
            self.parser.quals.is_none_or(|quals| matches!(quals.kind, None | Some(Kind::Host | Kind::Net)));
        let is_number = |before: Token| matches!(before.kind, TokenKind::Number(_));
        let is_prefix = is_sign(Sign::Slash) && of_net && self.parser.previous().is_some_and(is_number);
        let is_keyword =
            matches!(kind, TokenKind::Word(word) if !matches!(word, Word::And | Word::Or | Word::Not));
        let (left, right) =
            difference(text).filter(|_| is_name && (self.is_term() || is_operand)).unwrap_or_default();
        #[rustfmt::skip]
        let advice = [
            (!left.is_empty(), "`{text}` is one word; a minus has blanks around it: `{left} - {right}`"),
            (is_name && self.is_term() && matches!(text, "any" | "all"),
                "an empty filter matches every packet; `host any` is a host of this name"),
            (is_name && self.is_term(), "if this is a host, write `host {text}`; pcap-filter(7) explains all words"),
            (is_sign(Sign::Comma) && is_strict, "write `or` between alternatives"),
            (is_sign(Sign::Comma), "write `or` between alternatives, or a set: `port in {80, 443}`"),
            (is_prefix, "a prefix needs at least two parts in front of it: `10.0/8`"),
            (is_sign(Sign::Ampersand), "`&` is for numbers: filters are joined by `and` or `&&`"),
            (is_sign(Sign::Pipe), "`|` is for numbers: filters are joined by `or` or `||`"),
            (is_join && matches!(kind, TokenKind::Word(_) | TokenKind::Name),
                "two primitives are joined by `and` or `or`"),
            (is_id && is_keyword, "`{text}` is a keyword: escape it as `\\{text}` to use it as a name"),
        ];
        let (_, advice) = advice.into_iter().find(|(is_so, _)| *is_so)?;
        Some(advice.replace("{text}", text).replace("{left}", left).replace("{right}", right))
    }

    /// The words that an unknown one was meant to be.
    fn words_for(&self) -> Option<String> {
        let text = self.text;
        let is_subtype =
            codes::is_wlan_subtype(text) && !codes::WLAN_TYPES.iter().any(|(kind, _)| *kind == text);
        if let Some(filter) = self.protocol_without_word(text) {
            return Some(filter);
        }
        let wanted = match (self.expected, self.parser.protocol_before()) {
            _ if let Some(word) = lookup(WORDS, text) => Some(word),
            _ if self.is_term() && is_subtype => return Some(format!("subtype {text}")),
            _ if self.is_term() && text == "pppoe" => Some("(pppoed or pppoes)"),
            _ if hints::is_foreign(text) => None,
            (Expected::Join, Some(proto)) => {
                let after = nearest(text, after_protocol(proto).iter().copied());
                after.or_else(|| nearest(text, ["and", "or"]))
            }
            (Expected::Arith | Expected::Number, _) => {
                let constant = self.short_constant().or_else(|| fields::message_constant(text));
                constant.or_else(|| nearest(text, self.expected.words()))
            }
            _ => nearest(text, self.expected.words()),
        }?;
        let words = self.with_neighbours(wanted);
        Some(if is_filter(&words, self.parser.dialect) { words } else { wanted.to_owned() })
    }

    /// The filter for `http` and others that have no keyword, also behind the protocol that carries them.
    fn protocol_without_word(&self, name: &str) -> Option<String> {
        let filter = display_filter::protocol(name)?;
        match (self.expected, self.parser.protocol_before()) {
            _ if self.is_term() => term_for(name),
            (Expected::Join, Some(proto)) if is_transport(proto) => {
                let (_, port) = filter.split_once("port ")?;
                Some(format!("{} port {port}", proto.name())).filter(|filter| !filter.contains(" or "))
            }
            _ => None,
        }
    }

    /// The constant `tcp-syn` for `syn`: of the protocol whose bytes were looked at last.
    fn short_constant(&self) -> Option<&'static str> {
        const OTHERS: &[(&str, &str)] = &[("flags", "tcpflags"), ("psh", "tcp-push"), ("reset", "tcp-rst")];
        let proto = self.tokens.list[..self.at].iter().rev().find_map(|token| match token.kind {
            TokenKind::Word(Word::Proto(proto)) => Some(proto.name()),
            _ => None,
        })?;
        let text = self.text.to_ascii_lowercase();
        let wanted = format!("{proto}-{text}");
        let constant = words::CONSTANTS.iter().map(|(constant, _)| *constant).find(|name| *name == wanted);
        let other = || lookup(OTHERS, &text).filter(|_| proto == "tcp");
        constant.or_else(other).or_else(|| fields::message_constant(&wanted))
    }

    /// `wanted` in the place of the token, with the word before it and the operand after it.
    fn with_neighbours(&self, wanted: &str) -> String {
        let text = |at: Option<usize>, is_one: fn(TokenKind) -> bool| {
            let token = at.and_then(|at| self.tokens.list.get(at)).filter(|token| is_one(token.kind));
            token.map_or("", |token| shown(self.tokens.text(*token)))
        };
        let is_before = |kind| {
            use Word::{Dir, Llc, Proto, Subtype, Type};
            matches!(kind, TokenKind::Word(Proto(_) | Dir(_) | Llc | Type | Subtype))
        };
        joined(&[text(self.at.checked_sub(1), is_before), wanted, text(Some(self.at + 1), is_value)])
    }
}

/// The filter for a protocol that has no word, as one operand: what stands around it may be `not` or `and`.
fn term_for(name: &str) -> Option<String> {
    let filter = display_filter::protocol(name)?;
    Some(if filter.contains(" or ") { format!("({filter})") } else { filter.to_owned() })
}

/// Reads an address: it with the qualifier that it needs.
fn address(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_mac = matches!(cursor.kind(), TokenKind::Mac(_));
    let text = cursor.value()?;
    Some(match text.split_once('/') {
        _ if is_mac => format!("ether host {text}"),
        Some((net, mask)) if mask.contains('.') => format!("net {net} mask {mask}"),
        Some(_) => format!("net {text}"),
        None => format!("host {text}"),
    })
}

/// `len-20`, which reads as one word: what stands to both sides of the minus.
fn difference(text: &str) -> Option<(&str, &str)> {
    let (left, right) = text.split_once('-')?;
    let is_number = |text: &str| matches!(lex(text).list[..], [Token { kind: TokenKind::Number(_), .. }, _]);
    let is_operand = |text: &str| matches!(words::word(text), Some(Word::Len)) || is_number(text);
    (is_operand(left) && is_operand(right)).then_some((left, right))
}

/// The candidate nearest to `text`, if one is near enough: equal except for case, or with one typing error
/// away (two in a long word). Of equals the first.
fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_ascii_lowercase();
    let errors_max = match text.len() {
        0..=1 => 0,
        2..=5 => 1,
        6..=40 => 2,
        _ => return None,
    };
    let near = candidates.into_iter().filter_map(|candidate| {
        let errors = strsim::osa_distance(&text, candidate);
        (errors <= errors_max && errors < candidate.len()).then_some((errors, candidate))
    });
    near.min_by_key(|(errors, _)| *errors).map(|(_, candidate)| candidate)
}

/// The finding, with what is meant by the first line of the file that is no member, if the finding is about the file of a set.
pub(super) fn help_with_set(compiler: &Compiler, ast: &Ast, found: Diagnostic) -> Diagnostic {
    let file = ast.exprs.iter().find_map(|expr| {
        let Expr::In(quals, items) = expr else { return None };
        let is_named = |item: &&SetItem| matches!(item, SetItem::File(_, span) if *span == found.span);
        let SetItem::File(path, _) = items.iter().find(is_named)? else { return None };
        Some((*quals, path))
    });
    let Some((quals, path)) = file else { return found };
    let Ok(text) = compiler.names.set_file(path) else { return found };
    // What is wrong with a list of another form has been told in words of its own.
    if classify::lists::format_of(&text) != classify::lists::Format::Plain {
        return found;
    }
    let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
    let members = lines.map(|line| line.split('#').next().unwrap_or("").trim_end());
    for line in members.filter(|line| !line.trim_start().is_empty()) {
        let tokens = lex_within(line, Within::Set);
        let mut parser = Parser::new(&tokens, &compiler.dialect, &compiler.limits);
        if let Err(wrong) = parser.member(quals) {
            let Diagnostic { help, suggestion, .. } = help(&parser, *wrong);
            return Diagnostic { help: help.or(found.help), suggestion, ..found };
        }
    }
    found
}
