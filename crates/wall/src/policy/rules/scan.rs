//! From the text of rules to words and signs. Tests keep the tokens of the language of filters; only what rules add is looked at here.

use std::ops::Range;

/// A word or a sign, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and what names and addresses have inside.
    Word,
    /// A word in quotation marks.
    Quoted,
    /// `=>`.
    Arrow,
    /// One of `( ) [ ] { } , ;`.
    Sign(u8),
    /// Operators and other characters, as they stand.
    Other,
    /// The end of the text.
    End,
}

/// The tokens of a text; the last is [`Kind::End`]. Comments are left out.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    // Behind an arrow stands a verdict, in which a comment may follow a letter.
    let mut is_verdict = false;
    loop {
        at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if bytes[at..].starts_with(b"--") {
            at += bytes[at..].iter().take_while(|byte| **byte != b'\n').count();
            continue;
        }
        let Some(&first) = bytes.get(at) else {
            tokens.push(Token { kind: Kind::End, span: at..at });
            return tokens;
        };
        let run = |is_part: fn(u8) -> bool| bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
        let (kind, len) = match first {
            b'=' if bytes.get(at + 1) == Some(&b'>') => (Kind::Arrow, 2),
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' => (Kind::Sign(first), 1),
            b'"' => match text[at + 1..].find(['"', '\n']) {
                Some(len) if bytes[at + 1 + len] == b'"' => (Kind::Quoted, len + 2),
                _ => (Kind::Other, 1),
            },
            _ if is_verdict && is_letter(first) => (Kind::Word, run(is_letter)),
            _ if is_word(first) => (Kind::Word, run(is_word)),
            _ if first < 0x80 => (Kind::Other, run(is_operator).max(1)),
            _ => (Kind::Other, text[at..].chars().next().map_or(1, char::len_utf8)),
        };
        is_verdict = kind == Kind::Arrow;
        tokens.push(Token { kind, span: at..at + len });
        at += len;
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_word(byte: u8) -> bool {
    is_letter(byte) || matches!(byte, b'.' | b'-' | b':' | b'*' | b'/' | b'@' | b'$' | b'\\')
}

fn is_operator(byte: u8) -> bool {
    matches!(byte, b'&' | b'|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| &text[token.span]).collect()
    }

    #[test]
    fn texts_are_split() {
        assert_eq!(
            words("tcp[13]&2!=0 and in @bad => drop(log)--x\nnot(a) => accept -- y"),
            [
                "tcp", "[", "13", "]", "&", "2", "!", "=", "0", "and", "in", "@bad", "=>", "drop", "(",
                "log", ")", "not", "(", "a", ")", "=>", "accept", ""
            ]
        );
        assert_eq!(words("sni \"a b\" \" é"), ["sni", "\"a b\"", "\"", "é", ""]);
        assert_eq!(words("=> drop--gone"), ["=>", "drop", ""]);
    }
}
