//! What is said on standard error: a text for people and, where `--json` asks for it, the same as an object for programs.

use crate::blame::Blame;
use crate::escape::shown;
use serde_json::{Value, json};
use std::fmt;

/// An error, a warning or a note, in both forms. Each of its sentences is one line: the name of a file in it may have line ends and colours,
/// which are escaped for people. JSON has its own escapes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// Ready to print; several lines where there is a caret.
    text: String,
    /// Whether the text has the colours that it is to have.
    is_rendered: bool,
    /// Of type `error` or `warning`.
    object: Value,
}

impl Message {
    /// An error that is about neither a filter nor a graph. Its code says whose fault it is.
    pub(crate) fn error(blame: Blame, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        // What broke of ours is told in lines of ours.
        let text = if blame == Blame::Internal { message.as_str().into() } else { shown(&message) };
        Message::of_error(blame, &message, &text)
    }

    /// The same, where what is wrong is told in lines: it has a filter with carets in it, or what a program says. Names in it are escaped before.
    pub(crate) fn error_in_lines(blame: Blame, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let lines = message.lines().map(|line| shown(&line.replace('\t', "    ")).into_owned());
        Message::of_error(blame, &message, &lines.collect::<Vec<_>>().join("\n"))
    }

    fn of_error(blame: Blame, message: &str, text: &str) -> Self {
        let kind = if blame == Blame::Internal { "internal error" } else { "error" };
        let code = format!("CL{:03}", blame.code());
        let object = json!({ "v": 1, "type": "error", "error": finding(Some(&code), "error", message) });
        Message { text: format!("{kind}: {text}"), is_rendered: false, object }
    }

    /// A warning that is about neither a filter nor a graph.
    pub(crate) fn warning(message: impl fmt::Display) -> Self {
        Message::unasked("warning", &message.to_string())
    }

    /// What may be good to know.
    pub(crate) fn note(message: impl fmt::Display) -> Self {
        Message::unasked("note", &message.to_string())
    }

    /// What a filter or a graph has in it, as those have rendered it who know its text.
    pub(crate) fn found(text: String, object: Value) -> Self {
        Message { text, is_rendered: true, object }
    }

    fn unasked(severity: &str, message: &str) -> Self {
        let object = json!({ "v": 1, "type": "warning", "warning": finding(None, severity, message) });
        Message { text: format!("{severity}: {}", shown(message)), is_rendered: false, object }
    }

    /// What is wrong, as programs have it. Only for an error from [`Message::error`].
    pub(crate) fn what(&self) -> &str {
        self.object["error"]["message"].as_str().unwrap_or(&self.text)
    }

    /// With what the user can do about it. Only for an error from [`Message::error`].
    pub(crate) fn with_help(mut self, help: &str) -> Self {
        debug_assert!(self.object["error"].is_object(), "help for what is no error: {}", self.text);
        self.text.push_str(&format!("\nhelp: {}", shown(help)));
        self.object["error"]["help"] = help.into();
        self
    }

    /// With what explains it.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        self.text.push_str(&format!("\nnote: {}", shown(note)));
        self.object["note"] = note.into();
        self
    }

    /// With the capture it is about, as a part of the object.
    pub(crate) fn with_file(mut self, name: &str) -> Self {
        self.object["file"] = name.into();
        self
    }

    /// With the app it is about, as a part of the object.
    pub(crate) fn with_app(mut self, name: &str) -> Self {
        self.object["app"] = name.into();
        self
    }

    /// For people whose terminal takes colours: those that errors of filters have.
    pub(crate) fn coloured(&self) -> String {
        if self.is_rendered {
            return self.text.clone();
        }
        let lines: Vec<String> = self.text.lines().map(coloured).collect();
        lines.join("\n")
    }

    /// On one line, for programs. Control characters that JSON allows in texts, and a terminal would obey, are escaped as well.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        for c in self.object.to_string().chars() {
            if c.is_control() {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            } else {
                out.push(c);
            }
        }
        out
    }
}

/// A line with its first word in colour, if that says what the line is.
fn coloured(line: &str) -> String {
    const WORDS: [(&str, &str, bool); 5] = [
        ("internal error", "\x1b[1;31m", true),
        ("error", "\x1b[1;31m", true),
        ("warning", "\x1b[1;33m", true),
        ("note", "\x1b[1;36m", false),
        ("help", "\x1b[1;36m", false),
    ];
    let word = |(word, colour, is_bold)| {
        let rest = line.strip_prefix(word)?.strip_prefix(": ")?;
        let (bold, reset) = if is_bold { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        Some(format!("{colour}{word}\x1b[0m{bold}: {rest}{reset}"))
    };
    WORDS.into_iter().find_map(word).unwrap_or_else(|| line.to_owned())
}

/// The text for people.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// With the parts that an error of a filter has.
fn finding(code: Option<&str>, severity: &str, message: &str) -> Value {
    json!({
        "code": code,
        "severity": severity,
        "message": message,
        "span": null,
        "label": null,
        "also": null,
        "help": null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let message = Message::error(Blame::World, "cannot read a").with_help("look").with_note("odd");
        assert_eq!(message.to_string(), "error: cannot read a\nhelp: look\nnote: odd");
        let object: Value = serde_json::from_str(&message.to_json()).unwrap();
        let error = &object["error"];
        assert_eq!(
            (&error["code"], &error["message"], &error["help"], &object["note"]),
            (&"CL003".into(), &"cannot read a".into(), &"look".into(), &"odd".into())
        );
        assert_eq!(Message::error(Blame::Internal, "x").to_string(), "internal error: x");
        assert_eq!(Message::note("x").to_string(), "note: x");
    }

    #[test]
    fn colours_are_those_of_filters() {
        let message = Message::error(Blame::World, "a: b\x1b[0m").with_help("c");
        let text = "\x1b[1;31merror\x1b[0m\x1b[1m: a: b\\u{1b}[0m\x1b[0m\n\x1b[1;36mhelp\x1b[0m: c";
        assert_eq!(message.coloured(), text);
        let internal = Message::error(Blame::Internal, "a\nat b").coloured();
        assert_eq!(internal, "\x1b[1;31minternal error\x1b[0m\x1b[1m: a\x1b[0m\nat b");
        assert_eq!(Message::note("x").coloured(), "\x1b[1;36mnote\x1b[0m: x");
        assert_eq!(Message::found("error: x".to_owned(), Value::Null).coloured(), "error: x");
    }

    #[test]
    fn a_name_makes_no_lines_and_no_colours() {
        let message = Message::error(Blame::World, "a\x1b[31m\nerror: b").with_help("c\nd").with_note("e\r");
        let text = "error: a\\u{1b}[31m\\nerror: b\nhelp: c\\nd\nnote: e\\r";
        assert_eq!((message.to_string().as_str(), message.what()), (text, "a\x1b[31m\nerror: b"));
        assert_eq!(Message::warning("a\nb").to_string(), "warning: a\\nb");
        assert_eq!(Message::error(Blame::Internal, "a\nb").to_string(), "internal error: a\nb");
    }

    #[test]
    fn what_is_told_in_lines_keeps_them_and_nothing_else() {
        let message =
            Message::error_in_lines(Blame::User, "no filter\n\tip prot\x1b[2J\r\n   ^^^^").with_help("a\nb");
        assert_eq!(message.to_string(), "error: no filter\n    ip prot\\u{1b}[2J\n   ^^^^\nhelp: a\\nb");
        assert_eq!(message.what(), "no filter\n\tip prot\x1b[2J\r\n   ^^^^");
    }

    #[test]
    fn a_terminal_obeys_no_name_in_json() {
        let message = Message::warning("a\x1b]0;title\x07\u{9b}2J\u{7f}");
        let json = message.to_json();
        assert!(!json.chars().any(char::is_control), "{json:?}");
        let object: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(object["warning"]["message"], "a\x1b]0;title\x07\u{9b}2J\u{7f}");
    }
}
