//! A filter as it is explained: with the numbers as they were written (who wrote `0x88cc` looks for that, and not for 35020),
//! and with the loads that are not of the header that they name.

use super::depth::{Depth, depths};
use crate::help::lint::guards::{Lost, Unguarded};
use crate::options::{Dialect, Names};
use crate::syntax::ast::{ArithId, Ast, ExprId, Id};
use crate::syntax::lex::{TokenKind, lex};
use std::collections::{HashMap, HashSet};
use std::ops::Deref;

/// A syntax tree, and which of its numbers its text has in hexadecimal.
pub(super) struct Written<'a> {
    ast: &'a Ast,
    /// By number; how it is written first. Not those that are in the text in decimal as well: the tree does not say which
    /// of them is which.
    hex: HashMap<u32, &'a str>,
    /// All numbers in the order of the text, if it has any in hexadecimal; with the text of those.
    numbers: Vec<(u32, Option<&'a str>)>,
    /// What is read from other packets than its name says.
    unguarded: HashMap<ArithId, Lost>,
    pub(super) dialect: Dialect,
    pub(super) names: &'a dyn Names,
    depths: HashMap<ExprId, Depth>,
}

impl<'a> Written<'a> {
    pub(super) fn new(
        ast: &'a Ast,
        source: &'a str,
        unguarded: &[Unguarded],
        dialect: Dialect,
        names: &'a dyn Names,
    ) -> Self {
        let unguarded = unguarded.iter().map(|unguarded| (unguarded.load, unguarded.lost)).collect();
        let mut written = Written {
            ast,
            hex: HashMap::new(),
            numbers: Vec::new(),
            unguarded,
            dialect,
            names,
            depths: if dialect.tagged { HashMap::new() } else { depths(ast, dialect.scoped) },
        };
        // Most filters have none.
        if source.contains("0x") || source.contains("0X") {
            let mut decimal = HashSet::new();
            for token in lex(source).list {
                let TokenKind::Number(number) = token.kind else { continue };
                let text = token.span.text(source);
                let hex = matches!(text.get(..2), Some("0x" | "0X")).then_some(text);
                if let Some(hex) = hex {
                    written.hex.entry(number).or_insert(hex);
                } else if text.starts_with(|sign: char| sign.is_ascii_digit()) {
                    decimal.insert(number);
                }
                written.numbers.push((number, hex));
            }
            written.hex.retain(|number, _| !decimal.contains(number));
        }
        written
    }

    pub(super) fn number(&self, number: u32) -> String {
        self.hex.get(&number).map_or_else(|| number.to_string(), |text| (*text).to_owned())
    }

    /// Which tag or label a word asks for.
    pub(super) fn depth(&self, word: ExprId) -> Depth {
        self.depths.get(&word).copied().unwrap_or_default()
    }

    /// What a load is read without being asked for.
    pub(super) fn lost(&self, load: ArithId) -> Option<Lost> {
        self.unguarded.get(&load).copied()
    }

    pub(super) fn id(&self, id: &Id) -> String {
        match id {
            Id::Number(number) => self.number(*number),
            _ => id.to_string(),
        }
    }

    /// A text in canonical form, which has all numbers in decimal. Of the whole filter, each is known by its place.
    pub(super) fn text(&self, canonical: String) -> String {
        if self.numbers.is_empty() {
            return canonical;
        }
        let tokens = lex(&canonical).list.into_iter();
        let numbers: Vec<_> = tokens
            .filter_map(|token| match token.kind {
                TokenKind::Number(number) => Some((number, token.span)),
                _ => None,
            })
            .collect();
        let is_whole =
            numbers.iter().map(|(number, _)| number).eq(self.numbers.iter().map(|(number, _)| number));
        let (mut out, mut done) = (String::with_capacity(canonical.len()), 0);
        for (place, (number, span)) in numbers.into_iter().enumerate() {
            let hex = if is_whole { self.numbers[place].1 } else { self.hex.get(&number).copied() };
            let text = hex.unwrap_or_else(|| span.text(&canonical));
            out.push_str(&canonical[done..span.start as usize]);
            out.push_str(text);
            done = span.end as usize;
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
