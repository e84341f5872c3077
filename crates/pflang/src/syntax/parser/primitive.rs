//! The parser's part for primitives: keywords and what follows them, up to an identifier or an operator.

use super::expected::Expected;
use super::{Operand, Parser, Step, Value, relation};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{
    AtmField, ByteOp, Dir, Expr, ExprId, Kind, Llc, Mtp3Field, Pf, Proto, Quals, RelOp, Wlan,
};
use crate::syntax::codes;
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::words::Word;

/// A field of ATM or MTP3 that is compared with numbers.
#[derive(Clone, Copy)]
enum Field {
    Atm(AtmField),
    Mtp3(Mtp3Field),
}

impl Field {
    fn compare(self, op: RelOp, value: u32) -> Expr {
        match self {
            Field::Atm(field) => Expr::AtmField(field, op, value),
            Field::Mtp3(field) => Expr::Mtp3Field(field, op, value),
        }
    }
}

impl Parser<'_> {
    /// Reads a primitive, or qualifiers that then wait for their identifier.
    pub(super) fn primitive(&mut self) -> Step<Option<Operand>> {
        let token = self.peek();
        let start = token.span;
        if self.is_vxlan() {
            self.refuse_if_strict(start, "`vxlan`")?;
            self.next();
            let vni = self.optional_number()?;
            return self.simple(Expr::Vxlan(vni), start).map(Some);
        }
        let TokenKind::Word(word) = token.kind else {
            return Err(self.unexpected(self.expected_operand()));
        };
        let expr = match word {
            Word::Proto(proto) => return self.protocol(proto),
            Word::Dir(_) | Word::Kind(_) => return self.qualifiers(None, start),
            Word::AtmField(field) => return self.field(Field::Atm(field)).map(Some),
            Word::Mtp3(field) => return self.field(Field::Mtp3(field)).map(Some),
            Word::Broadcast => self.word(Expr::Broadcast(None)),
            Word::Multicast => self.word(Expr::Multicast(None)),
            Word::Inbound => self.word(Expr::Inbound),
            Word::Outbound => self.word(Expr::Outbound),
            Word::Atm(kind) => self.word(Expr::Atm(kind)),
            Word::Mtp2(kind) => self.word(Expr::Mtp2(kind)),
            Word::Pppoed => self.word(Expr::Pppoed),
            Word::Less => Expr::Less(self.word_number()?),
            Word::Greater => Expr::Greater(self.word_number()?),
            Word::Ifindex => Expr::Ifindex(self.word_number()?),
            Word::Vlan => {
                self.next();
                if self.is_set() { self.vlan_numbers()? } else { Expr::Vlan(self.optional_number()?) }
            }
            Word::Mpls => Expr::Mpls(self.word_optional()?),
            Word::Pppoes => Expr::Pppoes(self.word_optional()?),
            Word::Geneve => Expr::Geneve(self.word_optional()?),
            Word::Byte => self.byte()?,
            Word::Llc => self.llc()?,
            Word::Type | Word::Subtype | Word::WlanDir => self.wlan(word)?,
            Word::Ifname | Word::Ruleset | Word::Rulenum | Word::Subrulenum | Word::Reason | Word::Action => {
                self.pf(word)?
            }
            Word::Mask | Word::And | Word::Or | Word::Not | Word::Len => {
                return Err(self.unexpected(self.expected_operand()));
            }
        };
        self.simple(expr, start).map(Some)
    }

    /// A primitive without identifier, from `start` to the last token read. Nothing can be inherited from it.
    fn simple(&mut self, expr: Expr, start: Span) -> Step<Operand> {
        self.quals = None;
        self.term(expr, self.span_from(start))
    }

    fn word(&mut self, expr: Expr) -> Expr {
        self.next();
        expr
    }

    fn word_number(&mut self) -> Step<u32> {
        self.next();
        self.expect_number(Expected::Number)
    }

    fn word_optional(&mut self) -> Step<Option<u32>> {
        self.next();
        self.optional_number()
    }

    /// A number, perhaps in any number of parentheses, if one follows.
    fn optional_number(&mut self) -> Step<Option<u32>> {
        let mut open = 0usize;
        while self.skip(Sign::LParen) {
            open += 1;
        }
        let TokenKind::Number(number) = self.peek().kind else {
            return if open == 0 { Ok(None) } else { Err(self.unexpected(Expected::Number)) };
        };
        self.next();
        for _ in 0..open {
            self.expect(TokenKind::Sign(Sign::RParen), Expected::Close)?;
        }
        Ok(Some(number))
    }

    /// A phrase that begins with a protocol name: a test for it, qualifiers, or a primitive that it modifies.
    fn protocol(&mut self, proto: Proto) -> Step<Option<Operand>> {
        let start = self.next().span;
        let expr = match self.peek().kind {
            TokenKind::Word(Word::Dir(_) | Word::Kind(_)) => return self.qualifiers(Some(proto), start),
            TokenKind::Name if self.is_set() => {
                return self.push_head(Quals { proto: Some(proto), dir: None, kind: None }, start);
            }
            TokenKind::Word(Word::Broadcast) => self.word(Expr::Broadcast(Some(proto))),
            TokenKind::Word(Word::Multicast) => self.word(Expr::Multicast(Some(proto))),
            TokenKind::Word(word @ (Word::Type | Word::Subtype | Word::WlanDir)) => self.wlan(word)?,
            _ => Expr::Proto(proto),
        };
        self.simple(expr, start).map(Some)
    }

    /// `[dir] [kind]`, at least one of them.
    fn qualifiers(&mut self, proto: Option<Proto>, start: Span) -> Step<Option<Operand>> {
        let dir = self.direction()?;
        let kind = match self.peek().kind {
            TokenKind::Word(Word::Kind(kind)) => Some(kind),
            _ => None,
        };
        if let Some(kind) = kind {
            if dir.is_some() && matches!(kind, Kind::Proto | Kind::Protochain | Kind::Gateway) {
                return Err(self.undirected(kind));
            }
            if kind == Kind::Gateway {
                self.refuse_gateway()?;
            }
            self.next();
        }
        self.push_head(Quals { proto, dir, kind }, start)
    }

    fn direction(&mut self) -> Step<Option<Dir>> {
        let TokenKind::Word(Word::Dir(first)) = self.peek().kind else { return Ok(None) };
        self.next();
        let both = match self.peek().kind {
            TokenKind::Word(Word::Or) => Dir::SrcOrDst,
            TokenKind::Word(Word::And) => Dir::SrcAndDst,
            _ => return Ok(Some(first)),
        };
        let other = match first {
            Dir::Src => Dir::Dst,
            Dir::Dst => Dir::Src,
            _ => return Err(self.unexpected(Expected::Id)),
        };
        self.next();
        self.expect(TokenKind::Word(Word::Dir(other)), Expected::Word(other.name()))?;
        Ok(Some(both))
    }

    fn undirected(&self, kind: Kind) -> Box<Diagnostic> {
        let message = format!("`{}` has no direction", kind.name());
        Box::new(
            Diagnostic::new(Code::BadQualifier, self.peek().span, message)
                .label("expected `host`, `net`, `port`, `portrange` or an identifier"),
        )
    }

    fn refuse_gateway(&self) -> Step<()> {
        if !self.dialect.strict {
            return Ok(());
        }
        let found = Diagnostic::new(Code::Strict, self.peek().span, "`gateway` is an extension")
            .label("libpcap refuses it when built with IPv6")
            .help("write `ether host E and not host H`, or compile it without the `strict` dialect");
        Err(Box::new(found))
    }

    /// Refuses what libpcap 1.10.3 has not.
    pub(super) fn refuse_if_strict(&self, span: Span, what: &str) -> Step<()> {
        if !self.dialect.strict {
            return Ok(());
        }
        let found = Diagnostic::new(Code::Strict, span, format!("{what} is an extension"))
            .label("libpcap 1.10.3 does not know it")
            .help("compile it without the `strict` dialect");
        Err(Box::new(found))
    }

    /// Whether the next token is the unescaped word `vxlan`: reserved only where a primitive may begin, so that
    /// `host vxlan` stays what it was.
    pub(super) fn is_vxlan(&self) -> bool {
        self.peek().kind == TokenKind::Name && self.tokens.text(self.peek()) == "vxlan"
    }

    fn byte(&mut self) -> Step<Expr> {
        let index = self.word_number()?;
        let op = match self.peek().kind {
            TokenKind::Sign(Sign::Eq) => ByteOp::Eq,
            TokenKind::Sign(Sign::Lt) => ByteOp::Lt,
            TokenKind::Sign(Sign::Gt) => ByteOp::Gt,
            TokenKind::Sign(Sign::Ampersand) => ByteOp::And,
            TokenKind::Sign(Sign::Pipe) => ByteOp::Or,
            _ => return Err(self.unexpected(Expected::ByteOperator)),
        };
        Ok(Expr::Byte { index, op, value: self.word_number()? })
    }

    /// `llc`, perhaps with a frame type. `rnr` is a keyword of pf's and has to be taken back.
    fn llc(&mut self) -> Step<Expr> {
        self.next();
        let token = self.peek();
        let name = self.tokens.name(token);
        let kind = match token.kind {
            TokenKind::Word(Word::Rulenum) => Llc::SupervisorySub(0x05),
            TokenKind::Name if name.eq_ignore_ascii_case("i") => Llc::Information,
            TokenKind::Name if name.eq_ignore_ascii_case("s") => Llc::Supervisory,
            TokenKind::Name if name.eq_ignore_ascii_case("u") => Llc::Unnumbered,
            TokenKind::Name => match codes::value_of(codes::LLC_SUPERVISORY, name) {
                Some(control) => Llc::SupervisorySub(control),
                None => match codes::value_of(codes::LLC_UNNUMBERED, name) {
                    Some(control) => Llc::UnnumberedSub(control),
                    None => return Err(self.unexpected(Expected::LlcType)),
                },
            },
            _ => return Ok(Expr::Llc(Llc::Any)),
        };
        self.next();
        Ok(Expr::Llc(kind))
    }

    fn wlan(&mut self, word: Word) -> Step<Expr> {
        self.next();
        let wlan = match word {
            Word::Type => self.wlan_type()?,
            Word::Subtype => Wlan::Subtype(self.wlan_lone_subtype()?),
            _ => Wlan::Dir(self.named_or_number(codes::WLAN_DIRECTIONS, Expected::WlanDirection)?),
        };
        Ok(Expr::Wlan(wlan))
    }

    /// `type t` and `type t subtype s`; numbers are in their place in the frame's first byte.
    fn wlan_type(&mut self) -> Step<Wlan> {
        let kind = self.wlan_number(codes::WLAN_TYPES, 0x0c, Expected::WlanType)?;
        if self.peek().kind != TokenKind::Word(Word::Subtype) {
            return Ok(Wlan::Type(kind));
        }
        self.next();
        let subtypes = codes::WLAN_SUBTYPES.iter().find(|(of, _)| *of == kind).map(|&(_, names)| names);
        let subtype = self.wlan_number(subtypes.unwrap_or(&[]), 0xf0, Expected::WlanSubtype(kind))?;
        Ok(Wlan::Subtype(kind | subtype))
    }

    fn wlan_lone_subtype(&mut self) -> Step<u8> {
        let token = self.peek();
        let name = self.tokens.name(token);
        let found = codes::WLAN_SUBTYPES
            .iter()
            .find_map(|&(kind, names)| codes::value_of(names, name).map(|subtype| kind | subtype));
        match found.filter(|_| token.kind == TokenKind::Name) {
            Some(both) => {
                self.next();
                Ok(both)
            }
            None => Err(self.unexpected(Expected::AnyWlanSubtype)),
        }
    }

    /// A name from a table, or a number within `mask`.
    fn wlan_number(&mut self, names: &[(&str, u8)], mask: u8, expected: Expected) -> Step<u8> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(number) if number & !u32::from(mask) == 0 => {
                self.next();
                Ok(number as u8)
            }
            TokenKind::Number(_) => {
                let message = format!("`{}` has bits outside the field", self.tokens.text(token));
                Err(Box::new(
                    Diagnostic::new(Code::OutOfRange, token.span, message)
                        .label(format!("expected a number within the mask {mask:#04x}")),
                ))
            }
            _ => self.named(names, expected),
        }
    }

    /// A name from a table.
    fn named<T: Copy>(&mut self, names: &[(&str, T)], expected: Expected) -> Step<T> {
        let token = self.peek();
        let value = codes::value_of(names, self.tokens.name(token)).filter(|_| token.kind == TokenKind::Name);
        let value = value.ok_or_else(|| self.unexpected(expected))?;
        self.next();
        Ok(value)
    }

    /// A name from a table, or any number.
    fn named_or_number(&mut self, names: &[(&str, u32)], expected: Expected) -> Step<u32> {
        match self.peek().kind {
            TokenKind::Name => self.named(names, expected),
            _ => self.expect_number(expected),
        }
    }

    fn pf(&mut self, word: Word) -> Step<Expr> {
        self.next();
        let pf = match word {
            Word::Ifname => Pf::Ifname(self.plain_name()?),
            Word::Ruleset => Pf::Ruleset(self.plain_name()?),
            Word::Rulenum => Pf::Rulenum(self.expect_number(Expected::Number)?),
            Word::Subrulenum => Pf::Subrulenum(self.expect_number(Expected::Number)?),
            Word::Reason => Pf::Reason(self.named_or_number(codes::PF_REASONS, Expected::PfReason)?),
            _ if self.peek().kind == TokenKind::Name => {
                Pf::Action(self.named_or_number(codes::PF_ACTIONS, Expected::PfAction)?)
            }
            _ => return Err(self.unexpected(Expected::PfAction)),
        };
        Ok(Expr::Pf(pf))
    }

    fn plain_name(&mut self) -> Step<String> {
        let token = self.expect(TokenKind::Name, Expected::Name)?;
        Ok(self.tokens.name(token).to_owned())
    }

    /// `field n`, `field op n` or `field (n or n …)`.
    fn field(&mut self, field: Field) -> Step<Operand> {
        let start = self.next().span;
        if self.peek().kind == TokenKind::Sign(Sign::LParen) {
            return self.field_list(field, start);
        }
        let op = relation(self.peek().kind);
        if op.is_some() {
            self.next();
        }
        let value = self.expect_number(Expected::FieldValue)?;
        self.simple(field.compare(op.unwrap_or(RelOp::Eq), value), start)
    }

    fn field_list(&mut self, field: Field, start: Span) -> Step<Operand> {
        self.next();
        self.quals = None;
        let mut list: Option<ExprId> = None;
        loop {
            let span = self.peek().span;
            let value = self.expect_number(Expected::Number)?;
            self.count_term(span)?;
            let right = self.ast.push(field.compare(RelOp::Eq, value), span);
            list = Some(match list {
                Some(left) => {
                    let both = self.ast.span(left).to(span);
                    self.ast.push(Expr::Or(left, right), both)
                }
                None => right,
            });
            match (self.peek().kind, list) {
                (TokenKind::Word(Word::Or), _) => self.next(),
                (TokenKind::Sign(Sign::RParen), Some(list)) => {
                    let span = start.to(self.next().span);
                    return Ok(Operand { value: Value::Term(self.ast.push(Expr::Group(list), span)), span });
                }
                _ => return Err(self.unexpected(Expected::OrClose)),
            };
        }
    }
}
