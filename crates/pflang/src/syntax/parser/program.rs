//! The parser's part for pfmatch programs: what stands around tests and arguments.

use super::expected::Expected;
use super::{Context, Parser, Reduced, Step};
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::ArithId;
use crate::syntax::lex::{Sign, Token, TokenKind, identifier_of_program};
use crate::syntax::program::{Call, Clause, Line};
use crate::syntax::words;

impl Parser<'_> {
    /// Reads a program, up to the end.
    pub(crate) fn program(&mut self) -> Step<Vec<Line>> {
        if !self.is_name("match") {
            return Err(self.unexpected(Expected::Program("`match { … }`")));
        }
        self.next();
        if self.skip(Sign::LParen) {
            self.declared_inputs()?;
        }
        let begin = self.peek().span;
        self.expect_sign(Sign::LBrace, "`{`")?;
        let (mut lines, mut open) = (Vec::new(), vec![begin]);
        while let Some(&block) = open.last() {
            match self.peek().kind {
                TokenKind::Sign(Sign::RBrace) => {
                    self.next();
                    open.pop();
                    if !open.is_empty() {
                        lines.push(Line::End);
                        self.skip_separator();
                    }
                }
                TokenKind::End if self.tokens.error.is_none() => return Err(self.unclosed(block)),
                _ => {
                    let clause = self.clause()?;
                    if clause.call.is_none() {
                        self.check_depth(open.len(), clause.span)?;
                        open.push(self.previous().map_or(clause.span, |brace| brace.span));
                    }
                    lines.push(Line::Clause(clause));
                }
            }
        }
        match self.peek().kind {
            TokenKind::End if self.tokens.error.is_none() => Ok(lines),
            _ => Err(self.unexpected(Expected::Program("the end of the program"))),
        }
    }

    fn clause(&mut self) -> Step<Clause> {
        let start = self.peek().span;
        self.count_term(start)?;
        self.quals = None;
        let test = if self.is_name("otherwise") && self.kind_after(1) == TokenKind::Sign(Sign::Arrow) {
            self.next();
            None
        } else {
            self.test_start = Some(start);
            let test = self.expression()?;
            self.test_start = None;
            Some(test)
        };
        let test_span = self.span_from(start);
        self.expect_sign(Sign::Arrow, "`=>`")?;
        if self.skip(Sign::LBrace) {
            return Ok(Clause { span: test_span, test, test_span, call: None });
        }
        let call = self.call()?;
        let span = self.span_from(start);
        self.skip_separator();
        Ok(Clause { span, test, test_span, call: Some(call) })
    }

    /// The test in which a place stands, from what begins its clause to its arrow.
    pub(crate) fn test_around(&self, place: Span) -> Option<Span> {
        let tokens = &self.tokens.list;
        let is_arrow = |token: &&Token| token.kind == TokenKind::Sign(Sign::Arrow);
        let start = self.test_start?;
        let arrow = tokens.iter().find(|token| is_arrow(token) && token.span.start >= place.end)?;
        let last = tokens.iter().rfind(|token| token.span.end <= arrow.span.start)?;
        (start.start <= place.start).then_some(start.to(last.span))
    }

    fn call(&mut self) -> Step<Call> {
        let token = self.peek();
        if token.kind != TokenKind::Name || !is_identifier(self.tokens.text(token)) {
            return Err(self.unexpected(Expected::Program("a handler, letters, digits and `_`, or `{`")));
        }
        let handler = self.tokens.text(token).to_owned();
        self.next();
        let mut arguments = Vec::new();
        if self.skip(Sign::LParen) && !self.skip(Sign::RParen) {
            loop {
                arguments.push(self.argument()?);
                if !self.skip(Sign::Comma) {
                    break;
                }
            }
            self.expect_sign(Sign::RParen, "`)`")?;
        }
        Ok(Call { handler, arguments })
    }

    fn argument(&mut self) -> Step<ArithId> {
        self.context = Context::Arith;
        loop {
            let Some(operand) = self.operand()? else { continue };
            if let Reduced::Argument(id) = self.reduce(operand)? {
                self.context = Context::Term;
                return Ok(id);
            }
        }
    }

    /// Whether what was read is a whole argument.
    pub(super) fn ends_argument(&self) -> bool {
        let is_end = matches!(self.peek().kind, TokenKind::Sign(Sign::Comma | Sign::RParen));
        is_end && self.stack.is_empty() && self.context == Context::Arith
    }

    /// `name, … )`.
    fn declared_inputs(&mut self) -> Step<()> {
        loop {
            let token = self.peek();
            let name = self.tokens.text(token);
            if words::word(name).is_some() || words::constant(name).is_some() {
                let message = format!("`{name}` is a word of the language, and no name for an input");
                return Err(Box::new(Diagnostic::new(Code::BadQualifier, token.span, message)));
            }
            if token.kind != TokenKind::Name || !is_identifier(name) {
                let expected = "the name of an input: letters, digits and `_`";
                return Err(self.unexpected(Expected::Program(expected)));
            }
            if !self.slots.contains_key(name) {
                self.add_input(name.to_owned());
            }
            self.next();
            if !self.skip(Sign::Comma) {
                return self.expect_sign(Sign::RParen, "`,` or `)`");
            }
        }
    }

    /// The place in the row of the input that a token names.
    pub(super) fn input(&self, token: Token) -> Option<u32> {
        self.slots.get(self.tokens.text(token)).copied()
    }

    /// Adds a number to the row that the caller gives with each packet. Of two with one name the first is meant.
    pub(crate) fn add_input(&mut self, name: String) {
        let slot = self.ast.inputs.len() as u32;
        self.slots.entry(name.clone()).or_insert(slot);
        self.ast.inputs.push(name);
    }

    fn is_name(&self, name: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Name && self.tokens.text(token) == name
    }

    fn skip_separator(&mut self) {
        let _ = self.skip(Sign::Comma) || self.skip(Sign::Semicolon);
    }

    fn expect_sign(&mut self, sign: Sign, what: &'static str) -> Step<()> {
        self.expect(TokenKind::Sign(sign), Expected::Program(what)).map(|_| ())
    }

    fn unclosed(&self, block: Span) -> Box<Diagnostic> {
        let end = self.peek().span;
        let found = Diagnostic::new(Code::Unexpected, end, "the program ends too early");
        let mut found = found.label("expected `}`");
        found.also = Some((block, "this block is open".into()));
        Box::new(found)
    }

    fn check_depth(&self, depth: usize, at: Span) -> Step<()> {
        if depth < self.limits.depth {
            return Ok(());
        }
        let message = format!("nested deeper than the limit of {}", self.limits.depth);
        Err(Box::new(Diagnostic::new(Code::Limit, at, message)))
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && identifier_of_program(text) == text.len()
}
