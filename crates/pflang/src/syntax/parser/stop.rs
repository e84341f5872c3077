//! Where the parser stops: what it found there, and what could have stood in its place.

use super::expected::{Expected, after_protocol};
use super::{Context, Parser, Purpose};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Kind, Proto};
use crate::syntax::lex::{Token, TokenKind, Within};
use crate::syntax::words::Word;

/// Why the parser stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// What it found.
    pub(crate) token: Token,
    pub(crate) expected: Expected,
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
    pub(super) fn unexpected(&mut self, expected: Expected) -> Box<Diagnostic> {
        self.unexpected_at(self.peek(), expected)
    }

    /// The error for `token`: the lexer's own, if that is why the tokens end here.
    pub(super) fn unexpected_at(&mut self, token: Token, expected: Expected) -> Box<Diagnostic> {
        if let (TokenKind::End, Some(error)) = (token.kind, &self.tokens.error) {
            return Box::new(error.clone());
        }
        let text = self.tokens.text(token);
        let (code, message) = match token.kind {
            TokenKind::End => {
                let text = match self.tokens.within {
                    Within::Filter => "filter",
                    Within::Program => "program",
                    Within::Set => "line",
                };
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
        self.stop = Some(Stop { token, expected });
        Box::new(found.label(self.label(expected, token)))
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
                None if self.tokens.within == Within::Program => "expected `and`, `or` or `=>`".into(),
                None => "expected `and`, `or` or the end".into(),
            },
            Expected::NoClose => "no parenthesis is open here".into(),
            Expected::Protocol => "expected a protocol such as `ip` or `tcp`".into(),
            Expected::Sign(sign) => format!("expected `{sign}`"),
            Expected::Word(word) => format!("expected `{word}`"),
            Expected::Size => "expected 1, 2 or 4: how many bytes to load".into(),
            Expected::ByteOperator => "expected `=`, `<`, `>`, `&` or `|`".into(),
            Expected::Name => "expected a name".into(),
            Expected::Program(what) => format!("expected {what}"),
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
            | Expected::PfAction => one_of(expected.words()),
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
    pub(crate) fn protocol_before(&self) -> Option<Proto> {
        match self.previous()?.kind {
            TokenKind::Word(Word::Proto(proto)) => Some(proto),
            _ => None,
        }
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
pub(crate) fn shown(text: &str) -> &str {
    const BYTES_SHOWN: usize = 60;
    match text.char_indices().find(|(at, _)| *at >= BYTES_SHOWN) {
        Some((at, _)) => Span::new(0, at as u32).text(text),
        None => text,
    }
}
