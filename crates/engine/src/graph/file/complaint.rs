//! Errors of serde about a value, in words for the author of the graph: without types of Rust, and always with the expected value.

use super::problem::shown;
use crate::graph::similar_of;

/// An error about a value.
#[derive(Debug, PartialEq)]
pub(super) struct Complaint {
    /// The rest of a sentence that begins with the name of the option.
    pub(super) rest: String,
    pub(super) label: Option<String>,
    pub(super) help: Option<String>,
}

impl Complaint {
    /// The meaning of `message`; `written` is the value as it is in the text.
    pub(super) fn new(message: &str, written: &str) -> Self {
        Complaint::of_type(message, written)
            .or_else(|| Complaint::of_choice(message))
            .or_else(|| Complaint::of_key(message))
            .or_else(|| Complaint::of_address(message, written))
            .unwrap_or_else(|| Complaint::only(format!(": {}", clipped(message))))
    }

    fn only(rest: String) -> Self {
        Complaint { rest, label: None, help: None }
    }

    fn expecting(expected: &str, found: &str) -> Self {
        let label = Some(format!("expected {expected}"));
        Complaint { label, ..Complaint::only(format!(" must be {expected}, not {found}")) }
    }

    /// "invalid type: string \"x\", expected usize".
    fn of_type(message: &str, written: &str) -> Option<Self> {
        let rest =
            ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix))?;
        let (found, expected) = rest.rsplit_once(", expected ")?;
        let is_size = matches!(expected, "u64" | "usize" | "i64" | "isize");
        if is_size && found.starts_with("integer ") && !found.contains('-') {
            return Some(Complaint::only(format!(": {} is too large a number", shown(written))));
        }
        Some(Complaint::expecting(&expected_in_words(expected), &found_in_words(found, written)))
    }

    /// "unknown variant `x`, expected one of `tail`, `head`".
    fn of_choice(message: &str) -> Option<Self> {
        let (found, expected) = unknown(message, "variant")?;
        let names: Vec<&str> = names(expected).collect();
        let help = similar_of(found, names.iter().copied()).map(|name| format!("did you mean \"{name}\"?"));
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let found = format!("the text \"{}\"", shown(found));
        Some(Complaint { help, ..Complaint::expecting(&alternatives(&quoted), &found) })
    }

    /// "unknown field `filtr`, expected `port` or `filter`", "missing field `port`", of what is inside of an option.
    fn of_key(message: &str) -> Option<Self> {
        if let Some(missing) = missing(message) {
            return Some(Complaint::only(format!(" needs a `{missing}`")));
        }
        let (found, expected) = unknown(message, "field")?;
        let names: Vec<&str> = names(expected).collect();
        let help = similar_of(found, names.iter().copied()).map(|name| format!("did you mean `{name}`?"));
        let label = Some(format!("it has: `{}`", names.join("`, `")));
        Some(Complaint { rest: format!(" has no `{}`", shown(found)), label, help })
    }

    /// "invalid IPv4 address syntax".
    fn of_address(message: &str, written: &str) -> Option<Self> {
        let kind = message.strip_prefix("invalid ")?.strip_suffix(" address syntax")?;
        Some(Complaint::expecting(&format!("an {kind} address"), &format!("the text {}", shown(written))))
    }
}

/// The option that is missing, if that is what a message says.
pub(super) fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// Whether a message says that a word of several is wanted, without saying which there are.
pub(super) fn wants_choice(message: &str) -> bool {
    message == "wanted string or table"
}

fn unknown<'m>(message: &'m str, what: &str) -> Option<(&'m str, &'m str)> {
    message.strip_prefix("unknown ")?.strip_prefix(what)?.strip_prefix(" `")?.split_once("`, expected ")
}

/// The text between backticks.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split('`').skip(1).step_by(2)
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
fn found_in_words(found: &str, written: &str) -> String {
    let is_number = found.starts_with("integer ") || found.starts_with("floating point ");
    let words = |prefix: &str| Some(found.strip_prefix(prefix)?.trim_matches('`').to_owned());
    match found {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        _ if is_number && !written.is_empty() => shown(written),
        _ => words("integer ")
            .or_else(|| words("floating point "))
            .or_else(|| words("boolean "))
            .or_else(|| Some(format!("the text {}", shown(found.strip_prefix("string ")?))))
            .unwrap_or_else(|| shown(found)),
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Complaint;

    #[test]
    fn what_serde_says_is_told_in_words() {
        for (message, written, rest) in [
            (
                "invalid type: integer `5`, expected path string",
                "5",
                " must be the path of a file, a text, not 5",
            ),
            (
                "invalid value: integer `99999999999999999999999` as i128, expected usize",
                "99999999999999999999999",
                ": 99999999999999999999999 is too large a number",
            ),
            ("invalid value: integer `-1`, expected u64", "-1", " must be a whole number, 0 or more, not -1"),
            (
                "invalid type: floating point `10000000.0`, expected u16",
                "1e7",
                " must be a whole number from 0 to 65535, not 1e7",
            ),
            (
                "invalid type: string \"a, expected b\", expected a sequence",
                "'a, expected b'",
                " must be a list, not the text \"a, expected b\"",
            ),
            (
                "unknown variant `exakt`, expected `fast` or `exact`",
                "",
                " must be \"fast\" or \"exact\", not the text \"exakt\"",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`, `c`",
                "",
                " must be \"a\", \"b\" or \"c\", not the text \"x\"",
            ),
            ("unknown field `filtr`, expected `port` or `filter`", "", " has no `filtr`"),
            ("missing field `port`", "", " needs a `port`"),
            (
                "invalid IPv6 address syntax",
                "\"1.2.3.4\"",
                " must be an IPv6 address, not the text \"1.2.3.4\"",
            ),
            ("`xyz` is no\n cookie", "", ": `xyz` is no cookie"),
        ] {
            assert_eq!(Complaint::new(message, written).rest, rest);
        }
        let complaint = Complaint::new("unknown field `filtr`, expected `port` or `filter`", "");
        assert_eq!(complaint.label.as_deref(), Some("it has: `port`, `filter`"));
        assert_eq!(complaint.help.as_deref(), Some("did you mean `filter`?"));
        let complaint = Complaint::new("unknown variant `exakt`, expected `fast` or `exact`", "");
        assert_eq!(complaint.help.as_deref(), Some("did you mean \"exact\"?"));
    }
}
