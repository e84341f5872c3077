//! Errors about a value, in words for the author of the graph: without types of Rust, and always with the expected value.

use super::problem::shown;
use crate::similar::similar;
use engine::{Found, ReadErrorKind};

/// An error about a value.
#[derive(Debug, PartialEq)]
pub(super) struct Complaint {
    /// The rest of a sentence that begins with the name of the option.
    pub(super) rest: String,
    pub(super) label: Option<String>,
    pub(super) help: Option<String>,
}

impl Complaint {
    /// The meaning of an error; `written` is the value as it is in the text.
    pub(super) fn new(kind: &ReadErrorKind, written: &str) -> Self {
        match kind {
            ReadErrorKind::Type { found, expected } => Complaint::of_type(found, expected, written),
            ReadErrorKind::Choice { found, choices } => Complaint::of_choice(found, choices, written),
            ReadErrorKind::UnknownName { found, known } => Complaint::of_name(found, known),
            ReadErrorKind::Missing(name) => Complaint::only(format!(" needs a `{name}`")),
            ReadErrorKind::Other(message) => Complaint::of_address(message, written)
                .unwrap_or_else(|| Complaint::only(format!(": {}", clipped(message)))),
            // Kinds are added to.
            _ => Complaint::only(format!(": {}", clipped(&kind.to_string()))),
        }
    }

    fn only(rest: String) -> Self {
        Complaint { rest, label: None, help: None }
    }

    fn expecting(expected: &str, found: &str) -> Self {
        let label = Some(format!("expected {expected}"));
        Complaint { label, ..Complaint::only(format!(" must be {expected}, not {found}")) }
    }

    fn of_type(found: &Found, expected: &str, written: &str) -> Self {
        let is_size = matches!(expected, "u64" | "usize" | "i64" | "isize");
        if is_size && matches!(found, Found::Integer(0..)) {
            return Complaint::only(format!(": {} is too large a number", shown(written)));
        }
        Complaint::expecting(&expected_in_words(expected), &found_in_words(found, written))
    }

    fn of_choice(found: &Found, choices: &[String], written: &str) -> Self {
        let help = match found {
            Found::Text(text) => similar(text, choices.iter().map(String::as_str)),
            _ => None,
        };
        let help = help.map(|name| format!("did you mean \"{name}\"?"));
        let quoted: Vec<String> = choices.iter().map(|name| format!("\"{name}\"")).collect();
        let found = match found {
            Found::Text(text) => format!("the text \"{}\"", shown(text)),
            _ => shown(written),
        };
        Complaint { help, ..Complaint::expecting(&alternatives(&quoted), &found) }
    }

    fn of_name(found: &str, known: &[String]) -> Self {
        let help =
            similar(found, known.iter().map(String::as_str)).map(|name| format!("did you mean `{name}`?"));
        let label = Some(format!("it has: `{}`", known.join("`, `")));
        Complaint { rest: format!(" has no `{}`", shown(found)), label, help }
    }

    /// Rust's library says "invalid IPv4 address syntax", and not what it has read.
    fn of_address(message: &str, written: &str) -> Option<Self> {
        let kind = message.strip_prefix("invalid ")?.strip_suffix(" address syntax")?;
        Some(Complaint::expecting(&format!("an {kind} address"), &format!("the text {}", shown(written))))
    }
}

fn alternatives(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// The expected value, without the names of Rust's types.
fn expected_in_words(expected: &str) -> String {
    match expected {
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text".into(),
        "a string, or a list of strings" => "a text, or a list of texts".into(),
        "path string" => "the path of a file, a text".into(),
        "IP address" | "IPv4 address" | "IPv6 address" => format!("an {expected}, a text"),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ => expected.to_owned(),
    }
}

/// Numbers are shown as they are written: `1e99` has a hundred digits otherwise.
fn found_in_words(found: &Found, written: &str) -> String {
    match found {
        Found::List => "a list".into(),
        Found::Table => "a table".into(),
        Found::Integer(_) | Found::Float(_) if !written.is_empty() => shown(written),
        Found::Text(text) => format!("the text {}", shown(&format!("{text:?}"))),
        found => shown(&found.to_string()),
    }
}

/// A message of somebody else's, in one line of bounded length.
fn clipped(message: &str) -> String {
    const MAX: usize = 400;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::{Complaint, Found, ReadErrorKind};

    fn of_type(found: Found, expected: &str) -> ReadErrorKind {
        ReadErrorKind::Type { found, expected: expected.to_owned() }
    }

    fn of_choice(found: &str, choices: &[&str]) -> ReadErrorKind {
        let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
        ReadErrorKind::Choice { found: Found::Text(found.to_owned()), choices }
    }

    #[test]
    fn what_is_wrong_is_told_in_words() {
        let filtr = ReadErrorKind::UnknownName {
            found: "filtr".to_owned(),
            known: vec!["port".to_owned(), "filter".to_owned()],
        };
        let exakt = of_choice("exakt", &["fast", "exact"]);
        let integers =
            ReadErrorKind::Choice { found: Found::Integer(5), choices: vec!["a".to_owned(), "b".to_owned()] };
        for (kind, written, rest) in [
            (of_type(Found::Integer(5), "path string"), "5", " must be the path of a file, a text, not 5"),
            (
                of_type(Found::Integer(99_999_999_999_999_999_999_999), "usize"),
                "99999999999999999999999",
                ": 99999999999999999999999 is too large a number",
            ),
            (of_type(Found::Integer(-1), "u64"), "-1", " must be a whole number, 0 or more, not -1"),
            (of_type(Found::Float(1e7), "u16"), "1e7", " must be a whole number from 0 to 65535, not 1e7"),
            (
                of_type(Found::Text("a, expected b".to_owned()), "a sequence"),
                "'a, expected b'",
                " must be a list, not the text \"a, expected b\"",
            ),
            (exakt.clone(), "", " must be \"fast\" or \"exact\", not the text \"exakt\""),
            (of_choice("x", &["a", "b", "c"]), "", " must be \"a\", \"b\" or \"c\", not the text \"x\""),
            (integers, "0x5", " must be \"a\" or \"b\", not 0x5"),
            (filtr.clone(), "", " has no `filtr`"),
            (ReadErrorKind::Missing("port".to_owned()), "", " needs a `port`"),
            (
                ReadErrorKind::Other("invalid IPv6 address syntax".to_owned()),
                "\"1.2.3.4\"",
                " must be an IPv6 address, not the text \"1.2.3.4\"",
            ),
            (ReadErrorKind::Other("`xyz` is no\n cookie".to_owned()), "", ": `xyz` is no cookie"),
        ] {
            assert_eq!(Complaint::new(&kind, written).rest, rest);
        }
        let complaint = Complaint::new(&filtr, "");
        assert_eq!(complaint.label.as_deref(), Some("it has: `port`, `filter`"));
        assert_eq!(complaint.help.as_deref(), Some("did you mean `filter`?"));
        assert_eq!(Complaint::new(&exakt, "").help.as_deref(), Some("did you mean \"exact\"?"));
    }
}
