//! The parser: from tokens to the syntax tree.
//!
//! The grammar is that of pcap-filter(7), which is LALR(1) and, but for two operators, free of conflicts. This is a
//! shift-reduce parser written by hand: an explicit stack of `Frame`s that wait for an operand, and a
//! `Context` that says which operands may come. Two steps alternate:
//!
//! ```text
//! operand:  read one token; either it is an operand (a number, a primitive), or it pushes a frame (`(`, `not`)
//! reduce:   give the operand to the frame on top, as long as the next token cannot extend the operand
//! ```
//!
//! What makes the grammar unusual, and this parser with it:
//!
//! * **Implicit qualifiers.** A bare identifier takes the qualifiers of what stands to its left, so in
//!   `host a or b` the name `b` is a host. `Parser::quals` is that inherited value; a primitive without identifier
//!   clears it, and the closing of a parenthesis restores what it was before the opening.
//! * **One parenthesis, four meanings.** `(` may open a filter, a list of identifiers, a number, or
//!   arithmetic; which one shows only later. The frame remembers the context, and the operand its kind.
//!   A list of identifiers does not begin with a parenthesis: `host ((a))` is an error, `port ((80))` is not.
//! * **`and` and `or` bind equally**, to the left; `not` binds to one primitive or identifier.
//! * **`%` and `^` have no precedence**: the generated parser shifts, so `a % b + c` is `a % (b + c)`.
//!
//! Nothing recurses, and every token is looked at a bounded number of times.

pub(crate) mod expected;
mod ident;
mod numbers;
mod primitive;
mod program;
pub(crate) mod stop;

use super::ast::{Arith, ArithId, ArithOp, Ast, Expr, ExprId, Proto, Quals, RelOp};
use super::lex::{Sign, Token, TokenKind, Tokens, lex};
use super::words::Word;
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::options::{Dialect, Limits};
use expected::Expected;
use std::collections::HashMap;
use stop::Stop;

/// The result of a step: boxed, since an error is rare and large.
pub(crate) type Step<T> = Result<T, Box<Diagnostic>>;

/// Which operands may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// A primitive, also one that begins with arithmetic.
    Term,
    /// A primitive or an identifier: after `and` and `or`.
    TermOrId,
    /// A primitive or an identifier at the beginning of a parenthesis, where an identifier may not have one of its own.
    TermOrFirstId,
    /// An identifier: after qualifiers.
    Id,
    /// An identifier at the beginning of its parenthesis.
    FirstId,
    /// A number in parentheses.
    Number,
    /// An operand of arithmetic.
    Arith,
}

impl Context {
    pub(super) fn allows_term(self) -> bool {
        matches!(self, Context::Term | Context::TermOrId | Context::TermOrFirstId)
    }

    pub(super) fn allows_id(self) -> bool {
        !matches!(self, Context::Term | Context::Number | Context::Arith)
    }

    pub(super) fn allows_arith(self) -> bool {
        self.allows_term() || self == Context::Arith
    }

    /// After `not`.
    fn negated(self) -> Option<Context> {
        match self {
            Context::Term => Some(Context::Term),
            Context::TermOrId | Context::TermOrFirstId => Some(Context::TermOrId),
            Context::Id | Context::FirstId => Some(Context::Id),
            Context::Number | Context::Arith => None,
        }
    }

    /// After `(`.
    fn opened(self) -> Context {
        match self {
            Context::Term | Context::TermOrFirstId => Context::Term,
            Context::TermOrId => Context::TermOrFirstId,
            Context::Id => Context::FirstId,
            Context::FirstId | Context::Number => Context::Number,
            Context::Arith => Context::Arith,
        }
    }
}

/// Something that waits for an operand to its right.
struct Frame {
    kind: FrameKind,
    /// The context in which the finished thing stands.
    context: Context,
    /// Where it begins.
    start: Span,
}

/// What joins two operands.
#[derive(Clone, Copy)]
enum Join {
    And,
    Or,
}

/// What is joined: a list of identifiers goes on with identifiers only.
#[derive(Clone, Copy)]
enum Listed {
    Ids,
    Terms,
}

impl Listed {
    fn value(self, id: ExprId) -> Value {
        match self {
            Listed::Ids => Value::Id(id),
            Listed::Terms => Value::Term(id),
        }
    }
}

enum FrameKind {
    Not,
    /// With the qualifiers to inherit after it.
    Paren(Option<Quals>),
    /// `left and` or `left or`.
    Join(Join, ExprId, Listed),
    /// Qualifiers that wait for their identifier.
    Head,
    Neg,
    Op(ArithOp, ArithId),
    /// `proto[`, with `address` `&proto[`.
    Index {
        proto: Proto,
        address: bool,
    },
    Relation(RelOp, ArithId),
}

/// What has been read last, whole as far as it goes.
pub(super) struct Operand {
    pub(super) value: Value,
    pub(super) span: Span,
}

#[derive(Clone, Copy)]
pub(super) enum Value {
    /// A number, perhaps in parentheses: arithmetic or an identifier.
    Number(u32),
    Arith(ArithId),
    Id(ExprId),
    Term(ExprId),
}

/// What became of an operand.
enum Reduced {
    /// It is the whole filter.
    Filter(ExprId),
    /// It is a whole argument of a handler.
    Argument(ArithId),
    /// Another is needed.
    Wants,
}

pub(crate) struct Parser<'a> {
    pub(crate) tokens: &'a Tokens<'a>,
    at: usize,
    pub(crate) ast: Ast,
    stack: Vec<Frame>,
    pub(super) context: Context,
    /// What a bare identifier inherits here.
    pub(crate) quals: Option<Quals>,
    pub(crate) dialect: &'a Dialect,
    limits: &'a Limits,
    purpose: Purpose,
    /// The inputs of a program: their places in the row.
    slots: HashMap<String, u32>,
    /// Where the test of a program begins that is being read.
    pub(crate) test_start: Option<Span>,
    /// Where it stopped, for advice about it.
    pub(crate) stop: Option<Stop>,
}

/// What a text is parsed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To compile it: an error says what was meant.
    Filter,
    /// To know whether it is a filter.
    Trial,
}

/// Whether a suggestion is a filter.
pub(crate) fn is_filter(text: &str, dialect: &Dialect) -> bool {
    attempt(text, dialect, &Limits::default()).is_some()
}

/// Parses a suggestion, if it is a filter.
pub(crate) fn attempt(text: &str, dialect: &Dialect, limits: &Limits) -> Option<Ast> {
    let tokens = lex(text);
    let mut parser = Parser::new(&tokens, dialect, limits);
    parser.purpose = Purpose::Trial;
    parser.filter().is_ok().then_some(parser.ast)
}

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: &'a Tokens<'a>, dialect: &'a Dialect, limits: &'a Limits) -> Self {
        Parser {
            tokens,
            at: 0,
            ast: Ast::default(),
            stack: Vec::new(),
            context: Context::Term,
            quals: None,
            dialect,
            limits,
            purpose: Purpose::Filter,
            slots: HashMap::new(),
            test_start: None,
            stop: None,
        }
    }

    /// Reads a filter, up to the end.
    pub(crate) fn filter(&mut self) -> Step<()> {
        if self.tokens.list.len() == 1 && self.tokens.error.is_none() {
            return Ok(());
        }
        self.ast.root = Some(self.expression()?);
        Ok(())
    }

    /// Reads an expression, up to what ends it.
    fn expression(&mut self) -> Step<ExprId> {
        loop {
            let Some(operand) = self.operand()? else { continue };
            if let Reduced::Filter(root) = self.reduce(operand)? {
                return Ok(root);
            }
        }
    }

    /// Reads a token where an operand may stand.
    fn operand(&mut self) -> Step<Option<Operand>> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(number) => {
                self.next();
                Ok(Some(Operand { value: Value::Number(number), span: token.span }))
            }
            TokenKind::Word(Word::Not) if self.context.negated().is_some() => {
                let inside = self.context.negated().unwrap_or(self.context);
                self.open(FrameKind::Not, inside)
            }
            TokenKind::Sign(Sign::LParen) if self.context.allows_term() && self.is_pair() => {
                self.pair_set().map(Some)
            }
            TokenKind::Sign(Sign::LParen) => self.open(FrameKind::Paren(self.quals), self.context.opened()),
            TokenKind::Sign(Sign::Minus) if self.context.allows_arith() => {
                self.open(FrameKind::Neg, Context::Arith)
            }
            TokenKind::Word(Word::Len) if self.context.allows_arith() => {
                self.next();
                let id = self.ast.push_arith(Arith::Len, token.span);
                Ok(Some(Operand { value: Value::Arith(id), span: token.span }))
            }
            TokenKind::Word(Word::Proto(proto))
                if self.context.allows_arith() && self.kind_after(1) == TokenKind::Sign(Sign::LBracket) =>
            {
                self.next();
                self.open_at(token.span, FrameKind::Index { proto, address: false }, Context::Arith)
            }
            TokenKind::Sign(Sign::Ampersand) if self.context.allows_arith() => self.address_of(),
            TokenKind::Name if self.context.allows_arith() && self.input(token).is_some() => {
                let slot = self.input(token).unwrap_or_default();
                self.next();
                let id = self.ast.push_arith(Arith::Input(slot), token.span);
                Ok(Some(Operand { value: Value::Arith(id), span: token.span }))
            }
            _ if self.context.allows_id() && self.begins_id(token) => self.identifier().map(Some),
            _ if self.context.allows_term() => self.primitive(),
            _ => Err(self.unexpected(self.expected_operand())),
        }
    }

    /// Whether the next token ends an expression that has nothing open.
    fn ends_expression(&self) -> bool {
        matches!(self.peek().kind, TokenKind::End | TokenKind::Sign(Sign::Arrow))
    }

    /// `&proto[`.
    fn address_of(&mut self) -> Step<Option<Operand>> {
        let start = self.next().span;
        let TokenKind::Word(Word::Proto(proto)) = self.peek().kind else {
            return Err(self.unexpected(Expected::Protocol));
        };
        self.refuse_if_strict(start, "`&proto[…]`")?;
        self.next();
        if self.peek().kind != TokenKind::Sign(Sign::LBracket) {
            return Err(self.unexpected(Expected::Sign("[")));
        }
        self.open_at(start, FrameKind::Index { proto, address: true }, Context::Arith)
    }

    /// Hands an operand to what waits for it.
    fn reduce(&mut self, mut operand: Operand) -> Step<Reduced> {
        loop {
            let reduced = match operand.value {
                Value::Number(number) => self.reduce_number(number, operand.span)?,
                Value::Arith(id) if self.ends_argument() => return Ok(Reduced::Argument(id)),
                Value::Arith(id) => self.reduce_arith(id, operand.span)?,
                Value::Id(id) => self.reduce_id(id, operand.span)?,
                Value::Term(id) if self.stack.is_empty() && self.ends_expression() => {
                    let is_cut = self.peek().kind == TokenKind::End && self.tokens.error.is_some();
                    return if is_cut {
                        Err(self.unexpected(Expected::Join))
                    } else {
                        Ok(Reduced::Filter(id))
                    };
                }
                Value::Term(id) => self.reduce_term(id, operand.span)?,
            };
            match reduced {
                Some(larger) => operand = larger,
                None => return Ok(Reduced::Wants),
            }
        }
    }

    /// A number becomes arithmetic before an operator and an identifier elsewhere; in parentheses it stays what
    /// it is.
    fn reduce_number(&mut self, number: u32, span: Span) -> Step<Option<Operand>> {
        let next = self.peek().kind;
        let context = self.context;
        let operator = binary_operator(next).is_some() || relation(next).is_some();
        let in_paren = matches!(self.top(), Some(FrameKind::Paren(_)));
        let join = matches!(next, TokenKind::Word(Word::And | Word::Or));
        if in_paren && next == TokenKind::Sign(Sign::RParen) {
            return Ok(Some(self.close(Value::Number(number))));
        }
        if context == Context::Arith || (operator && context.allows_arith()) {
            let id = self.ast.push_arith(Arith::Number(number), span);
            return Ok(Some(Operand { value: Value::Arith(id), span }));
        }
        match context {
            Context::TermOrId | Context::Id => self.number_as_id(number, span).map(Some),
            Context::TermOrFirstId | Context::FirstId if join => self.number_as_id(number, span).map(Some),
            Context::Term => Err(self.unexpected(Expected::Operator { number: true })),
            _ => Err(self.unexpected(Expected::Close)),
        }
    }

    fn reduce_arith(&mut self, id: ArithId, span: Span) -> Step<Option<Operand>> {
        let next = self.peek().kind;
        let incoming = binary_operator(next);
        match self.top() {
            Some(&FrameKind::Op(op, left)) if incoming.is_none_or(|new| binds_first(op, new)) => {
                let (start, _) = self.pop();
                Ok(Some(self.arith(Arith::Op(op, left, id), start.to(span))))
            }
            Some(FrameKind::Neg) if incoming.is_none_or(|op| precedence(op).is_some()) => {
                let (start, _) = self.pop();
                Ok(Some(self.arith(Arith::Neg(id), start.to(span))))
            }
            _ if incoming.is_some() => {
                let op = incoming.unwrap_or(ArithOp::Add);
                self.next();
                self.push(FrameKind::Op(op, id), span, Context::Arith)?;
                Ok(None)
            }
            Some(&FrameKind::Index { proto, address }) => self.close_index(proto, address, id),
            Some(&FrameKind::Relation(op, left)) => {
                let (start, _) = self.pop();
                self.quals = None;
                self.term(Expr::Relation(op, left, id), start.to(span)).map(Some)
            }
            Some(FrameKind::Paren(_)) if next == TokenKind::Sign(Sign::RParen) => {
                Ok(Some(self.close(Value::Arith(id))))
            }
            _ if self.context.allows_term() && self.is_set() => self.among(id, span).map(Some),
            _ => {
                let Some(op) = relation(next).filter(|_| self.context.allows_term()) else {
                    return Err(self.unexpected(Expected::Operator { number: false }));
                };
                self.next();
                self.push(FrameKind::Relation(op, id), span, Context::Arith)?;
                Ok(None)
            }
        }
    }

    /// `]` or `:size]`.
    fn close_index(&mut self, proto: Proto, address: bool, index: ArithId) -> Step<Option<Operand>> {
        let size = if self.skip(Sign::Colon) { self.expect_number(Expected::Size)? } else { 1 };
        let end = self.expect(TokenKind::Sign(Sign::RBracket), Expected::Sign("]"))?.span;
        let (start, _) = self.pop();
        let arith = match address {
            true => Arith::AddressOf { proto, index, size },
            false => Arith::Load { proto, index, size },
        };
        Ok(Some(self.arith(arith, start.to(end))))
    }

    /// An identifier: negated, joined to what stands before it, or the beginning of a list.
    fn reduce_id(&mut self, id: ExprId, span: Span) -> Step<Option<Operand>> {
        match self.top() {
            Some(FrameKind::Not) => {
                let (start, _) = self.pop();
                let span = start.to(span);
                Ok(Some(Operand { value: Value::Id(self.ast.push(Expr::Not(id), span)), span }))
            }
            Some(FrameKind::Head) => {
                let (start, _) = self.pop();
                let span = start.to(span);
                self.ast.expr_spans[id.0 as usize] = span;
                Ok(Some(Operand { value: Value::Term(id), span }))
            }
            Some(&FrameKind::Join(join, left, listed)) => Ok(Some(self.join(join, left, id, listed, span))),
            _ => self.extend(id, span, Listed::Ids),
        }
    }

    /// A primitive: negated or joined to what stands before it.
    fn reduce_term(&mut self, id: ExprId, span: Span) -> Step<Option<Operand>> {
        match self.top() {
            Some(FrameKind::Not) => {
                let (start, _) = self.pop();
                let span = start.to(span);
                Ok(Some(Operand { value: Value::Term(self.ast.push(Expr::Not(id), span)), span }))
            }
            Some(&FrameKind::Join(join, left, _)) => Ok(Some(self.join(join, left, id, Listed::Terms, span))),
            _ => self.extend(id, span, Listed::Terms),
        }
    }

    fn join(&mut self, join: Join, left: ExprId, right: ExprId, listed: Listed, span: Span) -> Operand {
        let (start, _) = self.pop();
        let span = start.to(span);
        let expr = match join {
            Join::And => Expr::And(left, right),
            Join::Or => Expr::Or(left, right),
        };
        Operand { value: listed.value(self.ast.push(expr, span)), span }
    }

    /// A filter or list of identifiers goes on, or its parenthesis ends.
    fn extend(&mut self, left: ExprId, span: Span, listed: Listed) -> Step<Option<Operand>> {
        let next = self.peek().kind;
        match next {
            TokenKind::Word(Word::And | Word::Or) => {
                self.next();
                let join = if next == TokenKind::Word(Word::Or) { Join::Or } else { Join::And };
                let inside = match listed {
                    Listed::Ids => Context::Id,
                    Listed::Terms => Context::TermOrId,
                };
                self.push(FrameKind::Join(join, left, listed), span, inside)?;
                Ok(None)
            }
            TokenKind::Sign(Sign::RParen) if matches!(self.top(), Some(FrameKind::Paren(_))) => {
                Ok(Some(self.close(listed.value(left))))
            }
            TokenKind::Sign(Sign::RParen) => Err(self.unexpected(Expected::NoClose)),
            _ => Err(self.unexpected(Expected::Join)),
        }
    }

    /// Ends the parenthesis on top of the stack around `value`.
    fn close(&mut self, value: Value) -> Operand {
        let end = self.next().span;
        let (start, kind) = self.pop();
        if let FrameKind::Paren(quals) = kind {
            self.quals = quals;
        }
        let span = start.to(end);
        let value = match value {
            Value::Id(id) => Value::Id(self.ast.push(Expr::Group(id), span)),
            Value::Term(id) => Value::Term(self.ast.push(Expr::Group(id), span)),
            number => number,
        };
        Operand { value, span }
    }

    // ------------------------------------------------------------------ the stack

    /// Consumes the token that opens a frame.
    fn open(&mut self, kind: FrameKind, inside: Context) -> Step<Option<Operand>> {
        let start = self.peek().span;
        self.open_at(start, kind, inside)
    }

    fn open_at(&mut self, start: Span, kind: FrameKind, inside: Context) -> Step<Option<Operand>> {
        self.next();
        self.push(kind, start, inside)?;
        Ok(None)
    }

    /// Waits for the identifier that belongs to `quals`.
    pub(super) fn push_head(&mut self, quals: Quals, start: Span) -> Step<Option<Operand>> {
        self.quals = Some(quals);
        self.push(FrameKind::Head, start, Context::Id)?;
        Ok(None)
    }

    fn push(&mut self, kind: FrameKind, start: Span, inside: Context) -> Step<()> {
        if self.stack.len() >= self.limits.depth {
            let message = format!("nested deeper than the limit of {}", self.limits.depth);
            return Err(Box::new(Diagnostic::new(Code::Limit, start, message)));
        }
        self.stack.push(Frame { kind, context: self.context, start });
        self.context = inside;
        Ok(())
    }

    /// Removes the frame on top and returns to its context.
    fn pop(&mut self) -> (Span, FrameKind) {
        match self.stack.pop() {
            Some(frame) => {
                self.context = frame.context;
                (frame.start, frame.kind)
            }
            // INVARIANT: every caller has just matched the top of the stack.
            None => unreachable!("a frame was on top"),
        }
    }

    fn top(&self) -> Option<&FrameKind> {
        self.stack.last().map(|frame| &frame.kind)
    }

    /// The innermost parenthesis that still waits for its end.
    pub(super) fn open_parenthesis(&self) -> Option<Span> {
        let open = self.stack.iter().rev().find(|frame| matches!(frame.kind, FrameKind::Paren(_)));
        open.map(|frame| frame.start)
    }

    fn arith(&mut self, arith: Arith, span: Span) -> Operand {
        Operand { value: Value::Arith(self.ast.push_arith(arith, span)), span }
    }

    /// Adds a primitive.
    pub(super) fn term(&mut self, expr: Expr, span: Span) -> Step<Operand> {
        self.count_term(span)?;
        Ok(Operand { value: Value::Term(self.ast.push(expr, span)), span })
    }

    /// Counts a primitive, identifier or member of a set.
    pub(super) fn count_term(&mut self, span: Span) -> Step<()> {
        self.ast.terms += 1;
        check_terms(self.ast.terms, self.limits, span)
    }

    // ------------------------------------------------------------------ the tokens

    pub(crate) fn peek(&self) -> Token {
        self.tokens.list[self.at]
    }

    /// The token that was read last.
    pub(crate) fn previous(&self) -> Option<Token> {
        self.at.checked_sub(1).map(|at| self.tokens.list[at])
    }

    pub(super) fn kind_after(&self, count: usize) -> TokenKind {
        self.tokens.list.get(self.at + count).map_or(TokenKind::End, |token| token.kind)
    }

    /// Consumes a token; the end stays.
    pub(super) fn next(&mut self) -> Token {
        let token = self.peek();
        if self.at + 1 < self.tokens.list.len() {
            self.at += 1;
        }
        token
    }

    /// Consumes a sign, if it comes next.
    pub(super) fn skip(&mut self, sign: Sign) -> bool {
        let is_there = self.peek().kind == TokenKind::Sign(sign);
        if is_there {
            self.next();
        }
        is_there
    }

    /// Consumes a token of this kind, which has to come next.
    pub(super) fn expect(&mut self, kind: TokenKind, expected: Expected) -> Step<Token> {
        if self.peek().kind == kind { Ok(self.next()) } else { Err(self.unexpected(expected)) }
    }

    /// From `start` to the end of the token that was read last.
    pub(super) fn span_from(&self, start: Span) -> Span {
        self.previous().map_or(start, |last| start.to(last.span))
    }

    pub(super) fn expect_number(&mut self, expected: Expected) -> Step<u32> {
        match self.peek().kind {
            TokenKind::Number(number) => {
                self.next();
                Ok(number)
            }
            _ => Err(self.unexpected(expected)),
        }
    }
}

/// Whether there may be so many terms; if not, the one at `span` is to blame.
pub(crate) fn check_terms(terms: usize, limits: &Limits, span: Span) -> Step<()> {
    if terms <= limits.terms {
        return Ok(());
    }
    let message = format!("more than {} terms, the limit", limits.terms);
    Err(Box::new(Diagnostic::new(Code::Limit, span, message).label("one too many")))
}

/// The arithmetic operator that a token is.
fn binary_operator(kind: TokenKind) -> Option<ArithOp> {
    let TokenKind::Sign(sign) = kind else { return None };
    Some(match sign {
        Sign::Plus => ArithOp::Add,
        Sign::Minus => ArithOp::Sub,
        Sign::Star => ArithOp::Mul,
        Sign::Slash => ArithOp::Div,
        Sign::Percent => ArithOp::Mod,
        Sign::Ampersand => ArithOp::And,
        Sign::Pipe => ArithOp::Or,
        Sign::Caret => ArithOp::Xor,
        Sign::Shl => ArithOp::Shl,
        Sign::Shr => ArithOp::Shr,
        _ => return None,
    })
}

/// The comparison that a token is.
pub(crate) fn relation(kind: TokenKind) -> Option<RelOp> {
    let TokenKind::Sign(sign) = kind else { return None };
    Some(match sign {
        Sign::Eq => RelOp::Eq,
        Sign::Ne => RelOp::Ne,
        Sign::Lt => RelOp::Lt,
        Sign::Le => RelOp::Le,
        Sign::Gt => RelOp::Gt,
        Sign::Ge => RelOp::Ge,
        _ => return None,
    })
}

/// How tightly an operator binds; `None` for the two that the grammar forgot.
pub(super) fn precedence(op: ArithOp) -> Option<u8> {
    match op {
        ArithOp::Or => Some(1),
        ArithOp::And => Some(2),
        ArithOp::Shl | ArithOp::Shr => Some(3),
        ArithOp::Add | ArithOp::Sub => Some(4),
        ArithOp::Mul | ArithOp::Div => Some(5),
        ArithOp::Mod | ArithOp::Xor => None,
    }
}

/// Whether `a old b` is complete before `new`. Without a precedence on either side the generated parser shifts.
fn binds_first(old: ArithOp, new: ArithOp) -> bool {
    match (precedence(old), precedence(new)) {
        (Some(old), Some(new)) => old >= new,
        _ => false,
    }
}
