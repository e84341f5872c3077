//! A filter with the numbers as they were written: who wrote `0x88cc` looks for that, and not for 35020.

use crate::syntax::ast::{Ast, Id};
use crate::syntax::lex::{TokenKind, lex};
use std::collections::HashMap;
use std::ops::Deref;

/// A syntax tree, and which of its numbers its text has in hexadecimal.
pub(super) struct Written<'a> {
    ast: &'a Ast,
    /// By number; how it is written first.
    hex: HashMap<u32, &'a str>,
}

impl<'a> Written<'a> {
    pub(super) fn new(ast: &'a Ast, source: &'a str) -> Self {
        let mut hex = HashMap::new();
        // Most filters have none.
        if source.contains("0x") || source.contains("0X") {
            for token in lex(source).list {
                let text = token.span.text(source);
                if let (TokenKind::Number(number), Some("0x" | "0X")) = (token.kind, text.get(..2)) {
                    hex.entry(number).or_insert(text);
                }
            }
        }
        Written { ast, hex }
    }

    pub(super) fn number(&self, number: u32) -> String {
        self.hex.get(&number).map_or_else(|| number.to_string(), |text| (*text).to_owned())
    }

    pub(super) fn id(&self, id: &Id) -> String {
        match id {
            Id::Number(number) => self.number(*number),
            _ => id.to_string(),
        }
    }

    /// A text in canonical form, which has all numbers in decimal.
    pub(super) fn text(&self, canonical: String) -> String {
        if self.hex.is_empty() {
            return canonical;
        }
        let (mut out, mut done) = (String::with_capacity(canonical.len()), 0);
        for token in lex(&canonical).list {
            if let TokenKind::Number(number) = token.kind {
                out.push_str(&canonical[done..token.span.start as usize]);
                out.push_str(&self.number(number));
                done = token.span.end as usize;
            }
        }
        out.push_str(&canonical[done..]);
        out
    }
}

impl Deref for Written<'_> {
    type Target = Ast;

    fn deref(&self) -> &Ast {
        self.ast
    }
}
