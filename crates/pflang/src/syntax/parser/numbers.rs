//! The extensions `NUMBER in { … }`: arithmetic, or a VLAN, that is one of some numbers; and `(src, dport) in {@file}`.
//!
//! Arithmetic is written out while it is parsed, so that nothing behind the parser knows of it: `ip[8] in {1, 64-128}` is
//! `(ip[8] = 1 or (ip[8] >= 64 and ip[8] <= 128))`. What many such tests become is the optimiser's business.

use super::expected::Expected;
use super::{Operand, Parser, Step, Value};
use crate::Span;
use crate::syntax::ast::{Arith, ArithId, Dir, Expr, ExprId, PairSet, RelOp};
use crate::syntax::lex::{Sign, TokenKind};
use crate::syntax::range;
use crate::syntax::words::Word;

/// A member: the first and the last number, and where it stands.
type Member = (u32, u32, Span);

impl Parser<'_> {
    /// `in { number, low-high, … }` behind arithmetic.
    pub(super) fn among(&mut self, left: ArithId, start: Span) -> Step<Operand> {
        let members = self.numbers()?;
        let span = self.span_from(start);
        let mut any: Option<ExprId> = None;
        for (low, high, at) in members {
            self.count_term(at)?;
            let is_it = self.lies_within(left, low, high, at);
            any = Some(match any {
                None => is_it,
                Some(any) => self.ast.push(Expr::Or(any, is_it), span),
            });
        }
        // INVARIANT: `numbers` gives at least one.
        let Some(any) = any else { return Err(self.unexpected(Expected::Number)) };
        self.quals = None;
        Ok(Operand { value: Value::Term(self.ast.push(Expr::Group(any), span)), span })
    }

    fn lies_within(&mut self, left: ArithId, low: u32, high: u32, at: Span) -> ExprId {
        let mut compare = |op, number| {
            let number = self.ast.push_arith(Arith::Number(number), at);
            self.ast.push(Expr::Relation(op, left, number), at)
        };
        if low == high {
            return compare(RelOp::Eq, low);
        }
        let (from, to) = (compare(RelOp::Ge, low), compare(RelOp::Le, high));
        let both = self.ast.push(Expr::And(from, to), at);
        self.ast.push(Expr::Group(both), at)
    }

    /// The numbers of a VLAN, with `in` to be read.
    pub(super) fn vlan_numbers(&mut self) -> Step<Expr> {
        let members = self.numbers()?;
        for &(.., at) in &members {
            self.count_term(at)?;
        }
        Ok(Expr::VlanIn(members.into_iter().map(|(low, high, _)| (low, high)).collect()))
    }

    /// A number, or two with a dash between, which without blanks are one word.
    fn number_or_range(&mut self) -> Step<(u32, u32)> {
        let token = self.peek();
        if token.kind == TokenKind::Name
            && let Some([low, high]) = range::ends(self.tokens.text(token), token.span)
            && let (TokenKind::Number(low), TokenKind::Number(high)) = (low.kind, high.kind)
        {
            self.next();
            return Ok((low, high));
        }
        let low = self.expect_number(Expected::Number)?;
        if !self.skip(Sign::Minus) {
            return Ok((low, low));
        }
        Ok((low, self.expect_number(Expected::Number)?))
    }

    /// Whether `(src,` or `(dst,` comes next: nothing else has a comma there.
    pub(super) fn is_pair(&self) -> bool {
        matches!(self.kind_after(1), TokenKind::Word(Word::Dir(Dir::Src | Dir::Dst)))
            && self.kind_after(2) == TokenKind::Sign(Sign::Comma)
    }

    /// `(src, dport) in {@file, …}`
    pub(super) fn pair_set(&mut self) -> Step<Operand> {
        let start = self.next().span;
        self.refuse_if_strict(start.to(self.peek().span), "a set of pairs")?;
        let TokenKind::Word(Word::Dir(address)) = self.next().kind else {
            return Err(self.unexpected(Expected::Sign("src")));
        };
        self.next();
        let port = match (self.peek().kind, self.tokens.text(self.peek())) {
            (TokenKind::Name, "sport") => Dir::Src,
            (TokenKind::Name, "dport") => Dir::Dst,
            _ => return Err(self.unexpected(Expected::Sign("`sport` or `dport`"))),
        };
        self.next();
        self.expect(TokenKind::Sign(Sign::RParen), Expected::Close)?;
        if !self.is_set() {
            return Err(self.unexpected(Expected::Sign("in {")));
        }
        self.next();
        self.next();
        let mut files = Vec::new();
        loop {
            let token = self.peek();
            if token.kind != TokenKind::File {
                return Err(self.unexpected(Expected::Sign("@")));
            }
            self.count_term(token.span)?;
            self.next();
            files.push((self.tokens.text(token)[1..].to_owned(), token.span));
            if self.next_kind_or(Expected::SetEnd)? != Sign::Comma {
                break;
            }
        }
        let span = self.span_from(start);
        self.quals = None;
        self.term(Expr::Pairs(PairSet { address, port, files }), span)
    }

    fn numbers(&mut self) -> Step<Vec<Member>> {
        let word = self.next().span;
        self.refuse_if_strict(word.to(self.peek().span), "a set")?;
        self.next();
        let mut members = Vec::new();
        loop {
            let (low, high) = self.number_or_range()?;
            let begin = self.peek().span;
            let at = self.previous().map_or(begin, |token| token.span);
            members.push((low.min(high), low.max(high), at));
            if self.next_kind_or(Expected::SetEnd)? != Sign::Comma {
                return Ok(members);
            }
        }
    }
}
