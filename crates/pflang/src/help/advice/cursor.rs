//! Reading phrases that the grammar does not have, token by token.

use crate::syntax::lex::{Sign, Token, TokenKind, Tokens, lex};
use crate::syntax::words::Word;

/// Reads a phrase and says it in other words.
pub(super) type Phrase = fn(&mut Cursor<'_>) -> Option<String>;

/// A place among the tokens; what is read is behind it.
pub(super) struct Cursor<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// The next token, unless it is the end.
    pub(super) fn token(&self) -> Option<Token> {
        self.tokens.list.get(self.at).copied().filter(|token| token.kind != TokenKind::End)
    }

    /// What the next token is.
    pub(super) fn kind(&self) -> TokenKind {
        self.tokens.list.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    /// The token in front.
    pub(super) fn back(&self, by: usize) -> Option<TokenKind> {
        Some(self.tokens.list.get(self.at.checked_sub(by)?)?.kind)
    }

    /// Whether a primitive may begin here.
    pub(super) fn begins_term(&self) -> bool {
        // The `or` of `src or dst` joins no primitives.
        let is_direction = matches!(self.back(2), Some(TokenKind::Word(Word::Dir(_))));
        let is_front = |kind| {
            matches!(kind, TokenKind::Word(Word::And | Word::Or | Word::Not) | TokenKind::Sign(Sign::LParen))
        };
        self.back(1).is_none_or(|before| !is_direction && is_front(before))
    }

    /// Whether `not` stands right in front.
    pub(super) fn is_negated(&self) -> bool {
        self.back(1) == Some(TokenKind::Word(Word::Not))
    }

    /// What `read` reads, or nothing.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = read(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    /// Reads one of these words or signs, between which `|` stands.
    pub(super) fn one_of(&mut self, words: &'static str) -> Option<&'static str> {
        let text = self.tokens.text(self.token()?);
        words.split('|').find(|word| *word == text).inspect(|_| self.at += 1)
    }

    /// Whether one of these is next.
    pub(super) fn is_at(&mut self, words: &'static str) -> bool {
        let is_next = self.one_of(words).is_some();
        self.at -= usize::from(is_next);
        is_next
    }

    /// Reads `and`, `or`, or a sign for one of them.
    pub(super) fn join(&mut self) -> Option<&'static str> {
        let joins = self.text_of(|kind| matches!(kind, TokenKind::Word(Word::And | Word::Or)))?;
        Some(if matches!(joins, "or" | "||") { "or" } else { "and" })
    }

    /// Reads a comparison: `not` if it stands for "unequal".
    pub(super) fn negation(&mut self) -> &'static str {
        let is_unequal = self.one_of("!=|ne|neq").is_some();
        self.one_of("=|==|eq");
        if is_unequal { "not" } else { "" }
    }

    /// Reads a token of this kind: its text.
    pub(super) fn text_of(&mut self, is_one: impl Fn(TokenKind) -> bool) -> Option<&'a str> {
        let token = self.token().filter(|token| is_one(token.kind))?;
        self.at += 1;
        Some(self.tokens.text(token))
    }

    /// Reads `<`, `<=`, `>` or `>=`, or the words that Wireshark, nftables and routers have for them.
    pub(super) fn ordering(&mut self) -> Option<&'static str> {
        let signs = [("<|lt", "<"), ("<=|le", "<="), (">|gt", ">"), (">=|ge", ">=")];
        signs.into_iter().find_map(|(words, sign)| self.one_of(words).map(|_| sign))
    }

    /// Reads a comparison: the sign for it here.
    pub(super) fn comparison(&mut self) -> Option<&'static str> {
        let equal = |cursor: &mut Self| cursor.one_of("=|==|eq").map(|_| "=");
        self.ordering().or_else(|| equal(self)).or_else(|| self.one_of("!=|ne|neq").map(|_| "!="))
    }

    /// Reads a number, as it is written.
    pub(super) fn number(&mut self) -> Option<String> {
        self.text_of(|kind| matches!(kind, TokenKind::Number(_))).map(str::to_owned)
    }

    /// Reads a number, name, address or prefix.
    pub(super) fn value(&mut self) -> Option<String> {
        let mut span = self.token()?.span;
        self.text_of(is_value)?;
        if let Some([slash, len, ..]) = self.tokens.list.get(self.at..)
            && (slash.kind, slash.span.start) == (TokenKind::Sign(Sign::Slash), span.end)
        {
            span = span.to(len.span);
            self.at += 2;
        }
        Some(span.text(self.tokens.source).to_owned())
    }

    /// Reads `{a, b}` between these signs, with or without commas; of a list that is not understood, nothing.
    pub(super) fn enclosed(&mut self, signs: [&'static str; 2], item: Phrase) -> Option<Vec<String>> {
        self.attempt(|cursor| {
            cursor.one_of(signs[0])?;
            let mut items = Vec::new();
            while cursor.one_of(signs[1]).is_none() {
                items.push(item(cursor)?);
                cursor.one_of(",");
            }
            Some(items).filter(|items| !items.is_empty())
        })
    }

    /// Whether `meant` is something else than what has been read since `start`.
    pub(super) fn is_news(&self, start: usize, meant: &str) -> bool {
        let read = self.tokens.list[start..self.at].iter().map(|token| self.tokens.text(*token));
        let tokens = lex(meant).list;
        !read.eq(tokens.iter().map(|token| token.span.text(meant)).filter(|text| !text.is_empty()))
    }
}

/// Whether a token is a number, a name or an address.
pub(super) fn is_value(kind: TokenKind) -> bool {
    use TokenKind::{Dotted, Mac, Name, Number, V6};
    matches!(kind, Number(_) | Name | Dotted | V6(_) | Mac(_))
}

/// Whether a protocol has ports.
pub(super) fn has_ports(proto: &str) -> bool {
    matches!(proto, "tcp" | "udp" | "sctp")
}

/// What a name stands for, of a table whose names have `|` between.
pub(super) fn lookup<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(names, _)| names.split('|').any(|known| known == name)).map(|(_, value)| *value)
}

/// The words that there are, with blanks between.
pub(super) fn joined(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
