//! The parser's part for identifiers (hosts, nets, ports, numbers) and sets of them.

use super::expected::Expected;
use super::{Context, Operand, Parser, Step, Value};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Expr, Id, Kind, Proto, Quals, SetItem};
use crate::syntax::lex::{Sign, Token, TokenKind};
use crate::syntax::range;
use crate::syntax::words::Word;

impl Parser<'_> {
    /// Reads a member of a set, and nothing behind it.
    pub(crate) fn member(&mut self, quals: Quals) -> Step<SetItem> {
        self.quals = Some(quals);
        let item = self.set_item(quals)?;
        match self.peek().kind {
            TokenKind::End if self.tokens.error.is_none() => Ok(item),
            _ => Err(self.unexpected(Expected::LineEnd)),
        }
    }

    /// Whether a token begins an identifier that is no number.
    pub(super) fn begins_id(&self, token: Token) -> bool {
        match token.kind {
            TokenKind::Name => !(self.context.allows_term() && !self.dialect.strict && self.is_vxlan()),
            TokenKind::Dotted | TokenKind::V6(_) | TokenKind::Mac(_) | TokenKind::Arcnet(_) => true,
            _ => false,
        }
    }

    /// Whether `in {` comes next: elsewhere `in` is a name like any other.
    pub(super) fn is_set(&self) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Name
            && self.kind_after(1) == TokenKind::Sign(Sign::LBrace)
            && self.tokens.text(token) == "in"
    }

    /// Reads an identifier or a set, under the qualifiers that hold here.
    pub(super) fn identifier(&mut self) -> Step<Operand> {
        let Some(quals) = self.quals else { return Err(self.unqualified(self.peek())) };
        if self.is_set() {
            return self.set(quals);
        }
        let start = self.peek().span;
        let id = self.single(quals)?;
        if let (Id::V4 { .. }, Some(Kind::Port | Kind::Portrange | Kind::Proto | Kind::Protochain)) =
            (&id, quals.kind)
        {
            return Err(self.address_for(quals, start));
        }
        let span = self.span_from(start);
        self.push_id(quals, id, span)
    }

    /// A number in the place of an identifier.
    pub(super) fn number_as_id(&mut self, number: u32, span: Span) -> Step<Operand> {
        match self.quals {
            Some(quals) => self.push_id(quals, Id::Number(number), span),
            None => Err(self.unqualified(Token { kind: TokenKind::Number(number), span })),
        }
    }

    fn push_id(&mut self, quals: Quals, id: Id, span: Span) -> Step<Operand> {
        self.count_term(span)?;
        Ok(Operand { value: Value::Id(self.ast.push(Expr::Id(quals, id), span)), span })
    }

    /// One identifier of any kind but a number.
    fn single(&mut self, quals: Quals) -> Step<Id> {
        let token = self.next();
        Ok(match token.kind {
            TokenKind::Name => Id::Name(self.tokens.name(token).to_owned()),
            TokenKind::V6(address) => match self.prefix_length()? {
                Some(len) => Id::V6Prefix(address, len),
                None => Id::V6(address),
            },
            TokenKind::Mac(address) => Id::Mac(address),
            TokenKind::Arcnet(address) => Id::Arcnet(address),
            _ => self.dotted(token, quals)?,
        })
    }

    /// `/n`, if it follows.
    fn prefix_length(&mut self) -> Step<Option<u32>> {
        if !self.skip(Sign::Slash) {
            return Ok(None);
        }
        self.expect_number(Expected::PrefixLength).map(Some)
    }

    /// Dotted numbers: an IPv4 address, perhaps with a prefix length or mask, or a DECnet one.
    fn dotted(&mut self, token: Token, quals: Quals) -> Step<Id> {
        if let Some(len) = self.prefix_length()? {
            let (value, bits) = self.v4(token)?;
            return Ok(Id::V4Prefix { value, bits, len });
        }
        if self.peek().kind == TokenKind::Word(Word::Mask) {
            self.next();
            let mask_token = self.expect(TokenKind::Dotted, Expected::NetMask)?;
            let (value, bits) = self.v4(token)?;
            let (mask, mask_bits) = self.v4(mask_token)?;
            return Ok(Id::V4Mask { value, bits, mask, mask_bits });
        }
        if quals.proto == Some(Proto::Decnet)
            && matches!(quals.kind, None | Some(Kind::Host | Kind::Net | Kind::Gateway))
        {
            return self.decnet(token);
        }
        let (value, bits) = self.v4(token)?;
        Ok(Id::V4 { value, bits })
    }

    /// The parts of an IPv4 address: decimal, whatever zeros they begin with, each at most 255.
    fn v4(&self, token: Token) -> Step<(u32, u8)> {
        let (mut value, mut bits) = (0, 0);
        let text = self.tokens.text(token);
        for part in text.split('.') {
            let digits = part.trim_start_matches('0');
            let Ok(byte) = (if digits.is_empty() { Ok(0) } else { digits.parse::<u8>() }) else {
                let message = format!("`{text}` is no IPv4 address");
                let found = Diagnostic::new(Code::OutOfRange, token.span, message);
                return Err(Box::new(found.label(format!("`{part}` is no number from 0 to 255"))));
            };
            value = value << 8 | u32::from(byte);
            bits += 8;
        }
        Ok((value, bits))
    }

    /// `area.node`: like libpcap, ignores whatever follows the digits of the node or does not fit 6 and 10 bits.
    fn decnet(&self, token: Token) -> Step<Id> {
        let text = self.tokens.text(token);
        match text.split_once('.').map(|(area, rest)| (decimal_like_scanf(area), decimal_like_scanf(rest))) {
            Some((Some((area, "")), Some((node, _)))) => {
                Ok(Id::Decnet((area << 10 & 0xfc00 | node & 0x03ff) as u16))
            }
            _ => Err(Box::new(
                Diagnostic::new(Code::OutOfRange, token.span, format!("`{text}` is no DECnet address"))
                    .label("expected `area.node` in decimal"),
            )),
        }
    }

    fn address_for(&self, quals: Quals, span: Span) -> Box<Diagnostic> {
        let kind = quals.kind.map_or("host", Kind::name);
        let address = span.text(self.tokens.source);
        let message = format!("`{kind}` cannot have an address");
        Box::new(
            Diagnostic::new(Code::BadQualifier, span, message)
                .label("this is an IPv4 address")
                .suggest(format_args!("host {address}")),
        )
    }

    /// `in { item, … }`.
    fn set(&mut self, quals: Quals) -> Step<Operand> {
        let start = self.next().span;
        self.refuse_if_strict(start.to(self.peek().span), "a set")?;
        self.next();
        let mut items = Vec::new();
        loop {
            items.push(self.set_item(quals)?);
            if self.next_kind_or(Expected::SetEnd)? != Sign::Comma {
                break;
            }
        }
        let span = self.span_from(start);
        Ok(Operand { value: Value::Id(self.ast.push(Expr::In(quals, items), span)), span })
    }

    /// Consumes the `,` or `}` after an item.
    pub(super) fn next_kind_or(&mut self, expected: Expected) -> Step<Sign> {
        match self.peek().kind {
            TokenKind::Sign(sign @ (Sign::Comma | Sign::RBrace)) => {
                self.next();
                Ok(sign)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn set_item(&mut self, quals: Quals) -> Step<SetItem> {
        let token = self.peek();
        self.count_term(token.span)?;
        match token.kind {
            TokenKind::File => {
                self.next();
                Ok(SetItem::File(self.tokens.text(token)[1..].to_owned(), token.span))
            }
            TokenKind::Number(_) | TokenKind::Dotted
                if self.kind_after(1) == TokenKind::Sign(Sign::Minus) =>
            {
                self.next();
                self.next();
                let high = self.next();
                self.range(quals, token, high)
            }
            TokenKind::Number(number) => {
                self.next();
                Ok(SetItem::Id(Id::Number(number), token.span))
            }
            TokenKind::Name => {
                self.next();
                match range::ends(self.tokens.text(token), token.span) {
                    Some([low, high]) => self.range(quals, low, high),
                    None => Ok(SetItem::Id(Id::Name(self.tokens.name(token).to_owned()), token.span)),
                }
            }
            _ if self.begins_id(token) => {
                let id = self.single(quals)?;
                Ok(SetItem::Id(id, self.span_from(token.span)))
            }
            _ => Err(self.unexpected(Expected::SetItem)),
        }
    }

    /// A range of ports or of IPv4 addresses; like libpcap's `portrange`, it may be written the wrong way round.
    fn range(&mut self, quals: Quals, low: Token, high: Token) -> Step<SetItem> {
        let span = low.span.to(high.span);
        let bad = |label: &str| {
            let found =
                Diagnostic::new(Code::BadQualifier, span, "only ports and IPv4 addresses have ranges");
            let help = "write addresses as `10.0.0.5-10.0.0.9` or as prefixes, `10.0.0.0/8`";
            Box::new(found.label(label).help(help))
        };
        let addresses_for = |kind: Kind| {
            let text = span.text(self.tokens.source);
            let message = format!("a set of `{}` cannot have a range of addresses", kind.name());
            let found = Diagnostic::new(Code::BadQualifier, span, message).label("these are IPv4 addresses");
            Box::new(found.help(format!("write `host in {{{text}}}`")))
        };
        match (low.kind, high.kind) {
            (TokenKind::Number(low), TokenKind::Number(high)) => match quals.kind {
                Some(Kind::Port | Kind::Portrange) => Ok(SetItem::Range(low.min(high), low.max(high), span)),
                _ => Err(bad("this is a range of numbers")),
            },
            (TokenKind::Dotted, TokenKind::Dotted) => {
                let ((low, low_bits), (high, high_bits)) = (self.v4(low)?, self.v4(high)?);
                match (quals.kind, quals.proto) {
                    (None | Some(Kind::Host | Kind::Net), proto)
                        if proto != Some(Proto::Decnet) && low_bits == 32 && high_bits == 32 =>
                    {
                        Ok(SetItem::Addresses(low.min(high).into(), low.max(high).into(), span))
                    }
                    (Some(kind), _) if !matches!(kind, Kind::Host | Kind::Net) => Err(addresses_for(kind)),
                    _ => Err(bad("this is a range of something else")),
                }
            }
            (TokenKind::Number(_), _) => Err(self.unexpected_at(high, Expected::Number)),
            _ => Err(self.unexpected_at(high, Expected::Address)),
        }
    }

    /// An identifier where nothing can be inherited from.
    fn unqualified(&mut self, token: Token) -> Box<Diagnostic> {
        let inside = matches!(self.context, Context::TermOrId | Context::TermOrFirstId);
        self.unexpected_at(token, if inside { Expected::TermAfterJoin } else { Expected::Term })
    }
}

/// What C's `%d` makes of the digits that a text begins with, and the rest of it: too large a number becomes -1.
fn decimal_like_scanf(text: &str) -> Option<(u32, &str)> {
    match text.split_at(text.bytes().take_while(u8::is_ascii_digit).count()) {
        ("", _) => None,
        (digits, rest) => Some((digits.parse::<i64>().map_or(u32::MAX, |number| number as u32), rest)),
    }
}
