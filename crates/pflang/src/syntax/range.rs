//! Ranges, which the lexer reads as one name: `8000-8080`, `10.0.0.5-10.0.0.9`.

use super::lex::{Token, TokenKind, lex};
use crate::Span;

/// The ends of a range of numbers or addresses.
pub(crate) fn ends(name: &str, span: Span) -> Option<[Token; 2]> {
    let (low, high) = name.split_once('-')?;
    let end = |text: &str, start: u32| match lex(text).list[..] {
        [Token { kind: kind @ (TokenKind::Number(_) | TokenKind::Dotted), .. }, end]
            if end.span.start as usize == text.len() =>
        {
            Some(Token { kind, span: Span::new(start, start + end.span.start) })
        }
        _ => None,
    };
    Some([end(low, span.start)?, end(high, span.start + low.len() as u32 + 1)?])
}

/// The ends of a range of numbers.
pub(crate) fn numbers(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-')?;
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten();
    Some((number(low)?, number(high)?))
}
