//! From text to tokens, by the rule of a generated scanner: the longest match wins, of equals the earlier kind.
//!
//! The rule has traps that users meet: `len-1` is one name, `10-20` too; twelve digits are an Ethernet address;
//! `1:2:3` is a broken one. A name takes dots and dashes inside, but never at its end a dash.
//!
//! The first malformed token ends the list and is reported when the parser gets there, so that an earlier
//! mistake is reported first.

use super::literal;
use super::words::{self, Word};
use crate::Span;
use crate::diag::{Code, Diagnostic, is_dangerous};
use std::fmt;
use std::net::Ipv6Addr;

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// What a token is. Names and dotted numbers are read from the source by their span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenKind {
    /// A keyword. `!`, `&&` and `||` are keywords too.
    Word(Word),
    /// A number or a named constant.
    Number(u32),
    /// A name, perhaps escaped with a backslash.
    Name,
    /// Two to four dotted numbers.
    Dotted,
    /// An IPv6 address.
    V6(Ipv6Addr),
    /// An Ethernet address.
    Mac([u8; 6]),
    /// `$n`: the byte that libpcap makes of it.
    Arcnet(u8),
    /// An operator, a bracket, a comma.
    Sign(Sign),
    /// Extension: `@path` within braces.
    File,
    /// The end of the text, or what cannot be a token.
    End,
}

/// Operators and punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub enum Sign {
    Plus, Minus, Star, Slash, Percent, Ampersand, Pipe, Caret, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge,
    LParen, RParen, LBracket, RBracket, Colon, LBrace, RBrace, Comma,
    // `;` and `=>`, only in programs.
    Semicolon, Arrow,
}

/// The signs, longer spellings first.
#[rustfmt::skip]
static SIGNS: &[(&str, TokenKind)] = {
    use Sign::*;
    use TokenKind::{Sign as S, Word as W};
    &[
        ("&&", W(Word::And)), ("||", W(Word::Or)),
        ("<<", S(Shl)), (">>", S(Shr)), (">=", S(Ge)), ("<=", S(Le)), ("!=", S(Ne)), ("==", S(Eq)),
        ("!", W(Word::Not)), ("+", S(Plus)), ("-", S(Minus)), ("*", S(Star)), ("/", S(Slash)),
        ("%", S(Percent)), ("&", S(Ampersand)), ("|", S(Pipe)), ("^", S(Caret)), ("=", S(Eq)), ("<", S(Lt)),
        (">", S(Gt)), ("(", S(LParen)), (")", S(RParen)), ("[", S(LBracket)), ("]", S(RBracket)),
        (":", S(Colon)), ("{", S(LBrace)), ("}", S(RBrace)), (",", S(Comma)),
    ]
};

/// Where a token stands: a set ends names that go on elsewhere, and has files; a program has signs and comments of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Outside of braces.
    Filter,
    /// In a pfmatch program, outside of sets.
    Program,
    /// Within the braces of a set, or on a line of its file.
    Set,
}

/// The tokens of a text.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    /// The text.
    pub source: &'a str,
    /// Where it stands.
    pub within: Within,
    /// The tokens; the last is always [`TokenKind::End`], and stands where reading ended.
    pub list: Vec<Token>,
    /// What is wrong at the end, if that is not the end of the text.
    pub error: Option<Diagnostic>,
}

/// Splits a text into tokens.
///
/// ```
/// use pflang::internals::syntax::lex::lex;
/// assert_eq!(lex("tcp port 80").list.len(), 4); // with the end
/// ```
pub fn lex(source: &str) -> Tokens<'_> {
    lex_within(source, Within::Filter)
}

/// Splits a text that stands there into tokens.
pub(crate) fn lex_within(source: &str, within: Within) -> Tokens<'_> {
    let mut tokens = Tokens { source, within, list: Vec::new(), error: None };
    let around = if within == Within::Program { Within::Program } else { Within::Filter };
    let (mut at, mut within) = (0, within);
    // In a program, whether a handler or a block comes next: behind an arrow, and once at the beginning.
    let mut is_target = false;
    let mut has_begun = false;
    loop {
        at += blanks(&source.as_bytes()[at..]);
        if around == Within::Program && begins_comment(source.as_bytes(), at) {
            at += source[at..].find('\n').unwrap_or(source.len() - at);
            continue;
        }
        let found = match identifier_of_program(&source[at..]) {
            0 => token_at(source, at, within),
            len if is_target => {
                Ok(Token { kind: TokenKind::Name, span: Span::new(at as u32, (at + len) as u32) })
            }
            _ => token_at(source, at, within),
        };
        let token = match found {
            Ok(token) => token,
            Err(diagnostic) => {
                tokens.list.push(Token { kind: TokenKind::End, span: diagnostic.span });
                tokens.error = Some(*diagnostic);
                return tokens;
            }
        };
        tokens.list.push(token);
        match token.kind {
            TokenKind::End => return tokens,
            TokenKind::Sign(Sign::LBrace) if around == Within::Program && (is_target || !has_begun) => {
                has_begun = true;
            }
            TokenKind::Sign(Sign::LBrace) => within = Within::Set,
            TokenKind::Sign(Sign::RBrace) => within = around,
            _ => {}
        }
        is_target = token.kind == TokenKind::Sign(Sign::Arrow);
        at = token.span.end as usize;
    }
}

/// How much white space a text begins with.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|b| matches!(b, b' ' | b'\r' | b'\n' | b'\t')).count()
}

/// Whether a comment of a program begins there. Names in tests may have dashes inside, those of handlers may not.
pub(crate) fn begins_comment(text: &[u8], at: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !text[at..].starts_with(b"--") {
        return false;
    }
    // No handler is longer, and a text of dashes takes no time.
    const HANDLER_LIKELY_MAX: usize = 256;
    let name = text[..at].iter().rev().take(HANDLER_LIKELY_MAX).take_while(|byte| is_part(byte)).count();
    name == 0 || text[..at - name].trim_ascii_end().ends_with(b"=>")
}

/// The length of the name of a handler or an input that a text begins with.
pub(crate) fn identifier_of_program(text: &str) -> usize {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let len = text.bytes().take_while(is_part).count();
    if text.bytes().next().is_some_and(|first| first.is_ascii_digit()) { 0 } else { len }
}

/// The token at `at`, where no white space stands.
fn token_at(source: &str, at: usize, within: Within) -> Result<Token, Box<Diagnostic>> {
    let rest = &source[at..];
    let span = |len: usize| Span::new(at as u32, (at + len) as u32);
    let token = |kind, len| Ok(Token { kind, span: span(len) });
    match rest.as_bytes().first() {
        None => return token(TokenKind::End, 0),
        Some(b'\\') => match escaped(rest, within) {
            0 => {}
            len => return token(TokenKind::Name, 1 + len),
        },
        Some(b'$') => match hex_digits(&rest[1..], 2) {
            "" => {}
            digits => return token(TokenKind::Arcnet(arcnet(digits)), 1 + digits.len()),
        },
        Some(b'@') if within == Within::Set => match file(rest) {
            1 => {}
            len => return token(TokenKind::File, len),
        },
        Some(b';') if within == Within::Program => return token(TokenKind::Sign(Sign::Semicolon), 1),
        Some(b'=') if within == Within::Program && rest.starts_with("=>") => {
            return token(TokenKind::Sign(Sign::Arrow), 2);
        }
        Some(_) => {}
    }
    let (shape, len) = longest(rest.as_bytes());
    if len > 0 {
        return Ok(Token { kind: classify(shape, &rest[..len], span(len))?, span: span(len) });
    }
    match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, kind)) => token(*kind, sign.len()),
        None => Err(Box::new(bad_character(rest, at))),
    }
}

/// What a run of letters, digits, dots, dashes and colons can be, in the order that decides between equals.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Mac,
    Number,
    Dotted,
    V6,
    BogusMac,
    Identifier,
}

fn longest(text: &[u8]) -> (Shape, usize) {
    match text.first() {
        Some(b':' | b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {}
        // PERF: most words begin with a letter that is no hexadecimal digit, and can be nothing else.
        _ => return (Shape::Identifier, literal::identifier(text)),
    }
    let candidates = [
        (Shape::Mac, literal::mac(text)),
        (Shape::Number, literal::number(text)),
        (Shape::Dotted, literal::dotted(text)),
        (Shape::V6, literal::ipv6(text)),
        (Shape::BogusMac, literal::bogus_mac(text)),
        (Shape::Identifier, literal::identifier(text)),
    ];
    // `max_by_key` keeps the last of equals, hence backwards.
    candidates.into_iter().rev().max_by_key(|&(_, len)| len).unwrap_or((Shape::Identifier, 0))
}

fn classify(shape: Shape, text: &str, span: Span) -> Result<TokenKind, Box<Diagnostic>> {
    let bad = |message: String, label: &str| {
        Err(Box::new(Diagnostic::new(Code::BadToken, span, message).label(label)))
    };
    match shape {
        Shape::Mac => Ok(TokenKind::Mac(mac_bytes(text))),
        Shape::Number => number(text, span).map(TokenKind::Number),
        Shape::Dotted => Ok(TokenKind::Dotted),
        Shape::V6 => match text.parse() {
            Ok(address) => Ok(TokenKind::V6(address)),
            Err(_) => bad(format!("`{text}` is no IPv6 address"), "a part of it is out of range"),
        },
        Shape::BogusMac => bad(
            format!("`{text}` begins like an Ethernet address and is none"),
            "an Ethernet address has six parts, an IPv6 address eight or `::`",
        ),
        Shape::Identifier => Ok(words::word(text)
            .map(TokenKind::Word)
            .or_else(|| words::constant(text).map(TokenKind::Number))
            .unwrap_or(TokenKind::Name)),
    }
}

/// A number of 32 bits: octal after 0, hexadecimal after 0x.
fn number(text: &str, span: Span) -> Result<u32, Box<Diagnostic>> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if radix == 8 && digits.bytes().any(|b| b > b'7') {
        let decimal = text.trim_start_matches('0');
        return Err(Box::new(
            Diagnostic::new(Code::BadToken, span, format!("`{text}` has a digit that is not octal"))
                .label("a number that begins with 0 is octal")
                .suggest(if decimal.is_empty() { "0" } else { decimal }),
        ));
    }
    u32::from_str_radix(digits, radix).map_err(|_| {
        Box::new(
            Diagnostic::new(Code::OutOfRange, span, format!("`{text}` does not fit 32 bits"))
                .label("the largest number is 4294967295"),
        )
    })
}

/// The bytes of what [`literal::mac`] recognised.
fn mac_bytes(text: &str) -> [u8; 6] {
    let mut bytes = [0; 6];
    let hex = |digits: &str| u8::from_str_radix(digits, 16).unwrap_or(0);
    let groups: Vec<&str> = text.split([':', '-', '.']).collect();
    if groups.len() == 6 {
        for (byte, group) in bytes.iter_mut().zip(groups) {
            *byte = hex(group);
        }
    } else {
        let digits = groups.concat();
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = hex(&digits[2 * i..2 * i + 2]);
        }
    }
    bytes
}

/// The address that libpcap reads: the dollar sign counts as a first digit of value 0xed, of which a shift leaves
/// 0xd, and whatever comes after the next digit goes elsewhere.
fn arcnet(digits: &str) -> u8 {
    0xd0 | u8::from_str_radix(&digits[..1], 16).unwrap_or(0)
}

fn hex_digits(text: &str, at_most: usize) -> &str {
    &text[..text.bytes().take(at_most).take_while(u8::is_ascii_hexdigit).count()]
}

/// The length of the name after a backslash: in a set it leaves the comma and the closing brace.
fn escaped(text: &str, within: Within) -> usize {
    length_until(&text[1..], |c| match c {
        ' ' | '!' | '(' | ')' | '\n' | '\t' => true,
        ',' | '}' => within == Within::Set,
        _ => false,
    })
}

/// The length of `@path`: up to white space, a comma or the closing brace.
fn file(text: &str) -> usize {
    length_until(text, |c| matches!(c, ' ' | '\t' | '\r' | '\n' | ',' | '}'))
}

/// How far a text goes that may hold nearly anything, but nothing that a terminal obeys: so no filter that compiles does.
/// A carriage return is part of an escaped name for libpcap, which therefore knows no such name, and refuses it.
fn length_until(text: &str, ends: impl Fn(char) -> bool) -> usize {
    text.find(|c| ends(c) || c != '\r' && is_dangerous(c)).unwrap_or(text.len())
}

fn bad_character(rest: &str, at: usize) -> Diagnostic {
    let character = rest.chars().next().unwrap_or('?');
    let span = Span::new(at as u32, (at + character.len_utf8()) as u32);
    // Quotes and backslashes are shown as they are.
    let is_plain = character.is_ascii_punctuation();
    let shown = if is_plain { character.to_string() } else { character.escape_debug().collect() };
    let found =
        Diagnostic::new(Code::BadToken, span, format!("no word, number or sign begins with `{shown}`"));
    match character {
        '"' | '\'' | '“' | '”' | '‘' | '’' => found.label("names are written without quotes"),
        '\\' => found.label("a backslash needs the name that it escapes right after it"),
        '$' => found.label("an ARCnet address is `$` and one or two hexadecimal digits"),
        '#' => found.label("comments may stand only in files of filters and of sets"),
        '@' => found.label("a file may stand only within the braces of a set"),
        '–' | '—' | '−' => found.label("this is a dash; a minus is `-`"),
        '\u{feff}' => found.help("this is a byte order mark: save the text without it"),
        _ => found.label("this sign has no meaning in a filter"),
    }
}

impl Tokens<'_> {
    /// The text of a token.
    pub fn text(&self, token: Token) -> &str {
        token.span.text(self.source)
    }

    /// A name without its escaping backslash.
    pub fn name(&self, token: Token) -> &str {
        let text = self.text(token);
        text.strip_prefix('\\').unwrap_or(text)
    }
}

/// One token a line: where it stands, its kind, its text.
impl fmt::Display for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &token in &self.list {
            let kind = match token.kind {
                TokenKind::Word(_) => "word",
                TokenKind::Number(_) => "number",
                TokenKind::Name => "name",
                TokenKind::Dotted => "dotted",
                TokenKind::V6(_) => "ipv6",
                TokenKind::Mac(_) => "mac",
                TokenKind::Arcnet(_) => "arcnet",
                TokenKind::Sign(_) => "sign",
                TokenKind::File => "file",
                TokenKind::End if self.error.is_some() => "error",
                TokenKind::End => "end",
            };
            let text: String = self.text(token).chars().flat_map(char::escape_debug).collect();
            let line = format!("{:>4}..{:<4} {kind:<7} {text}", token.span.start, token.span.end);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<String> {
        let tokens = lex(source);
        assert!(tokens.error.is_none(), "{source}: {:?}", tokens.error);
        tokens
            .list
            .iter()
            .map(|t| match t.kind {
                TokenKind::Word(_) => format!("w:{}", tokens.text(*t)),
                TokenKind::Number(n) => n.to_string(),
                TokenKind::Name => format!("n:{}", tokens.name(*t)),
                TokenKind::Dotted => format!("d:{}", tokens.text(*t)),
                TokenKind::V6(a) => format!("6:{a}"),
                TokenKind::Mac(m) => format!("m:{m:02x?}"),
                TokenKind::Arcnet(a) => format!("a:{a:x}"),
                TokenKind::Sign(_) => tokens.text(*t).to_string(),
                TokenKind::File => format!("f:{}", tokens.text(*t)),
                TokenKind::End => "end".to_string(),
            })
            .collect()
    }

    #[test]
    fn the_longest_match_wins() {
        for (source, expected) in [
            ("tcp[tcpflags]&tcp-syn!=0", "w:tcp [ 13 ] & 2 != 0 end"),
            ("len-1", "n:len-1 end"),
            ("len -1", "w:len - 1 end"),
            ("10-20", "n:10-20 end"),
            ("tcp- 1", "w:tcp - 1 end"),
            ("0x1F 017 0 4294967295", "31 15 0 4294967295 end"),
            ("80a 10.0.0.1 10.0 1.2.3.4.5", "n:80a d:10.0.0.1 d:10.0 n:1.2.3.4.5 end"),
            ("10.0.0.", "n:10.0.0. end"),
            ("::1 fe80:: 1:2:3:4:5:6:7:8", "6:::1 6:fe80:: 6:1:2:3:4:5:6:7:8 end"),
            ("ip[2:2]", "w:ip [ 2 : 2 ] end"),
            ("es-is icmp6-echo length", "w:es-is 128 w:length end"),
            (r"\tcp \a&b", "n:tcp n:a&b end"),
            ("a&&b||!c", "n:a w:&& n:b w:|| w:! n:c end"),
            ("$5 $1f $1ff", "a:d5 a:d1 a:d1 n:f end"),
            ("1.2.3.4.5.6", "m:[01, 02, 03, 04, 05, 06] end"),
            ("000000000001", "m:[00, 00, 00, 00, 00, 01] end"),
            ("1234.5678.9012", "m:[12, 34, 56, 78, 90, 12] end"),
            ("aa-b-c-d-e-f", "m:[aa, 0b, 0c, 0d, 0e, 0f] end"),
            ("{a, @x.txt}", "{ n:a , f:@x.txt } end"),
            (r"\a,b} {\a,\b}", "n:a,b} { n:a , n:b } end"),
        ] {
            assert_eq!(kinds(source).join(" "), expected, "{source}");
        }
    }

    #[test]
    fn malformed_tokens_say_what_is_wrong() {
        for (source, code, start, end) in [
            ("port 08", Code::BadToken, 5, 7),
            ("port 4294967296", Code::OutOfRange, 5, 15),
            ("len = 0x100000000", Code::OutOfRange, 6, 17),
            ("ether host 1:2:3:4:5", Code::BadToken, 11, 19),
            ("host é", Code::BadToken, 5, 7),
            ("a \\ b", Code::BadToken, 2, 3),
            ("host ::0x1.2.3.4", Code::BadToken, 5, 16),
            ("x\u{b}", Code::BadToken, 1, 2),
            ("host \\a\u{1b}[2J", Code::BadToken, 7, 8),
            ("port in {@a\u{202e}b}", Code::BadToken, 11, 14),
        ] {
            let error = lex(source).error.unwrap_or_else(|| panic!("{source}"));
            assert_eq!((error.code, error.span), (code, Span::new(start, end)), "{source}");
        }
    }

    #[test]
    fn prints_one_token_a_line() {
        assert_eq!(
            lex("ip[0]").to_string(),
            "   0..2    word    ip\n   2..3    sign    [\n   3..4    number  0\n   4..5    sign    ]\n   5..5    end\n"
        );
    }
}
