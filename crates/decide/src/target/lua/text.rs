//! Names, numbers and comments as Lua allows them.

/// Words that are no names: those of Lua 5.1 and LuaJIT, and the names that the text itself uses.
const RESERVED: &[&str] = &[
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while", "P", "length", "self", "at",
    "f", "ffi", "cast", "floor", "tobit", "band", "bor", "bxor", "lshift", "rshift", "bswap", "mul", "shl",
    "shr", "ranges", "sets", "require", "bit", "math",
];

/// Whether a word is a name in Lua that the text leaves free.
pub(super) fn is_name(name: &str) -> bool {
    let mut signs = name.chars();
    let begins = signs.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    begins && signs.all(|c| c.is_ascii_alphanumeric() || c == '_') && !RESERVED.contains(&name)
}

/// Names for parameters, as like the given ones as can be: each a name in Lua, none that the text itself uses, none twice.
pub(super) fn parameters(names: &[String]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = name.chars().map(allowed).collect();
        // Local variables are `v1` and `u8_at_1`, tables `set1`: all of them end with a digit.
        while !is_name(&name) || name.ends_with(|last: char| last.is_ascii_digit()) || taken.contains(&name) {
            let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
            name = if begins { format!("{name}_") } else { format!("_{name}") };
        }
        taken.push(name);
    }
    taken
}

/// A text as lines of comments. No line ends its comment early, and none begins a long one.
pub fn in_comment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '…' => out.push_str("..."),
            '\t' => out.push(' '),
            '\r' => {}
            '\n' | ' '..='~' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
    }
    out
}

/// A string in Lua.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            b' '..=b'~' => out.push(byte as char),
            _ => out.push_str(&format!("\\{byte:03}")),
        }
    }
    out + "\""
}

/// Larger numbers are protocol numbers, addresses and masks, which are written in hexadecimal.
const HEX_FROM: i64 = 1024;

/// A number.
pub(super) fn number(k: i64) -> String {
    match k {
        HEX_FROM.. => format!("{k:#x}"),
        _ if k <= -HEX_FROM => format!("-{:#x}", -k),
        _ => k.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_names() {
        let given = ["mark", "end", "é", "1", "mark", "v1", "P", "_"].map(str::to_owned);
        assert_eq!(parameters(&given), ["mark", "end_", "_", "_1_", "mark_", "v1_", "P_", "__"]);
    }

    #[test]
    fn texts_stay_in_their_place() {
        assert_eq!(in_comment("[[ tcp\r\n\u{1b}é ]]"), "[[ tcp\n\\u{1b}\\u{e9} ]]");
        assert_eq!(quoted("a\"\\\né"), "\"a\\\"\\\\\\010\\195\\169\"");
        assert_eq!([number(5), number(2048), number(-1), number(-2048)], ["5", "0x800", "-1", "-0x800"]);
    }
}
