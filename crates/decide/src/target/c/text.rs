//! Names, numbers and comments as C allows them.

/// Words that are no names: of C up to C23, and those of <stddef.h>, which the text needs. Those of <stdint.h> see [`is_integer`].
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "main",
    "nullptr",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "size_t",
    "ptrdiff_t",
    "wchar_t",
    "NULL",
    "offsetof",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "unix",
    "linux",
];

/// A name for a function in C, as like the given one as can be: other signs than letters, digits and `_` become `_`, and where
/// it would begin with a digit, begin with two `_`, or be a word of the language, `filter_` comes in front.
///
/// ```text
/// tcp_port_80 -> tcp_port_80     tcp-port 80 -> tcp_port_80     80 -> filter_80     int -> filter_int
/// ```
pub fn identifier(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(allowed).collect();
    let first = name.chars().next();
    // A leading `_` is for the implementation, and `SLUSS_` for the macros in front of the function.
    let is_taken = RESERVED.contains(&name.as_str()) || name.starts_with("SLUSS_") || is_integer(&name);
    if is_taken || first.is_none_or(|c| c.is_ascii_digit() || c == '_') {
        return format!("filter_{name}");
    }
    name
}

/// Whether it is a type of <stdint.h>, or a name that later versions of it may have: `int_fast8_t`.
fn is_integer(name: &str) -> bool {
    name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"))
}

/// A text that may stand in a comment: it ends none, begins none, and no compiler has anything to say of it.
///
/// What is not printable ASCII is written as an escape. Two signs that mean something to a compiler even here are parted by a blank:
/// `*/`, `/*`, and the trigraphs `??x`. Lines stay lines; the caller puts something in front of each, and no line ends in `\`.
pub fn in_comment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let before = out.chars().next_back();
        if matches!((before, c), (Some('*'), '/') | (Some('/'), '*') | (Some('?'), '?'))
            || (before == Some('\\') && c == '\n')
        {
            out.push(' ');
        }
        match c {
            '…' => out.push_str("..."),
            '\t' => out.push(' '),
            '\r' => {}
            '\n' | ' '..='~' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
    }
    if out.ends_with('\\') {
        out.push(' ');
    }
    out
}

/// Larger numbers are protocol numbers, addresses and masks, which are written in hexadecimal.
const HEX_FROM: u32 = 1024;

/// A number that is compared or returned.
pub(super) fn number(k: u32) -> String {
    if k < HEX_FROM { k.to_string() } else { format!("{k:#x}") }
}

/// A number in arithmetic: unsigned, so that all of it is.
pub(super) fn unsigned(k: u32) -> String {
    format!("{}u", number(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_c() {
        for (name, expected) in [
            ("tcp_port_80", "tcp_port_80"),
            ("tcp-port 80", "tcp_port_80"),
            ("80", "filter_80"),
            ("", "filter_"),
            ("int", "filter_int"),
            ("main", "filter_main"),
            ("uint16_t", "filter_uint16_t"),
            ("_x", "filter__x"),
            ("SLUSS_BE16", "filter_SLUSS_BE16"),
            ("é", "filter__"),
        ] {
            assert_eq!(identifier(name), expected);
            assert_eq!(identifier(expected), expected, "a name for C stays");
        }
    }

    #[test]
    fn comments_end_where_they_should() {
        for (text, expected) in [
            ("ip[0] */ 2", "ip[0] * / 2"),
            ("/* ** */", "/ * ** * /"),
            ("**//", "** //"),
            ("a ??/\nb ?????", "a ? ?/\nb ? ? ? ? ?"),
            ("host é\u{202e}\0", "host \\u{e9}\\u{202e}\\u{0}"),
            ("tcp \\\nudp\\", "tcp \\ \nudp\\ "),
            ("a\tb\r\nc …", "a b\nc ..."),
        ] {
            assert_eq!(in_comment(text), expected, "{text}");
        }
    }
}
