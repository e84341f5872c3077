//! Text out of a packet, made fit for a line: it may be of any length and hold any byte.

use std::fmt::{self, Write};

/// Characters of a text in quotation marks, and of a word, in a line; `...` stands for the rest.
const QUOTED_MAX: usize = 48;
pub(super) const WORD_MAX: usize = 100;
/// The same of a line of text.
pub(super) const LINE_MAX: usize = 80;

/// What a text is a part of, and so what may not stand in it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text between quotation marks.
    Quoted,
    /// A label of a name, between dots.
    Label,
    /// A word; the next begins behind a blank.
    Word,
}

impl Kind {
    fn is_plain(self, byte: u8) -> bool {
        match byte {
            b'\\' => false,
            b' ' => self == Kind::Quoted,
            b'"' => self != Kind::Quoted,
            b'.' => self != Kind::Label,
            _ => byte.is_ascii_graphic(),
        }
    }
}

/// Writes the bytes of a text, with what a terminal might act upon, and what would end the text, as `\` and three decimal digits, as
/// names in zone files have it (RFC 4343, 2.1). What is beyond a number of characters is left out.
pub(super) struct Escaper<'f, 'g> {
    f: &'f mut fmt::Formatter<'g>,
    left: usize,
    kind: Kind,
}

impl<'f, 'g> Escaper<'f, 'g> {
    pub(super) fn new(f: &'f mut fmt::Formatter<'g>, kind: Kind, characters_max: usize) -> Self {
        Escaper { f, left: characters_max, kind }
    }

    /// Writes bytes; `false` once there is no more room.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<bool, fmt::Error> {
        for &byte in bytes {
            let is_plain = self.kind.is_plain(byte);
            let width = if is_plain { 1 } else { 4 };
            if width > self.left {
                self.left = 0;
                self.f.write_str("...")?;
                return Ok(false);
            }
            self.left -= width;
            if is_plain {
                self.f.write_char(byte.into())?;
            } else {
                write!(self.f, "\\{byte:03}")?;
            }
        }
        Ok(true)
    }

    /// Writes a separator, which is not escaped.
    pub(super) fn separator(&mut self, separator: char) -> fmt::Result {
        self.left = self.left.saturating_sub(1);
        self.f.write_char(separator)
    }
}

/// A text between quotation marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'a>(pub(super) &'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.0, QUOTED_MAX, f)
    }
}

/// A line of text between quotation marks, which may be longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotedLine<'a>(pub(super) &'a [u8]);

impl fmt::Display for QuotedLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.0, LINE_MAX, f)
    }
}

fn write_quoted(text: &[u8], characters_max: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    Escaper::new(f, Kind::Quoted, characters_max).bytes(text)?;
    f.write_char('"')
}

/// A word without blanks, such as the name of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a>(pub(super) &'a [u8]);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaper::new(f, Kind::Word, WORD_MAX).bytes(self.0).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_as_it_is() {
        assert_eq!(Quoted(b"port 1 \"up\"\\").to_string(), r#""port 1 \034up\034\092""#);
        assert_eq!(Word(b"a b\x1b[31m\x07\xff").to_string(), r"a\032b\027[31m\007\255");
        assert_eq!(Word(&[b'x'; 101]).to_string(), format!("{}...", "x".repeat(100)));
        assert_eq!(Word(&[0; 99]).to_string(), format!("{}...", r"\000".repeat(25)));
        assert_eq!(Word(&[b'x'; 100]).to_string(), "x".repeat(100));
    }
}
