//! Results on standard output, messages on standard error, and whether they may be coloured.

use crate::exit::Failure;
use crate::message::Message;
use crate::reader;
use clap::ValueEnum;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// What is known of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Whether messages on standard error are coloured.
    pub(crate) colour_stderr: bool,
    /// Whether results on standard output are coloured.
    pub(crate) colour_stdout: bool,
    /// Whether errors and warnings are JSON, as the results are.
    pub(crate) json: bool,
    /// Whether packets move meanwhile, and nobody is waited for who does not read messages.
    is_beside_packets: bool,
}

impl Terminal {
    /// Follows the flag, then NO_COLOR (no-color.org) and CLICOLOR_FORCE (bixense.com/clicolors), then the terminal.
    pub(crate) fn new(when: When, json: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let colour = |is_terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            When::Auto => set("CLICOLOR_FORCE") || is_terminal,
        };
        Terminal {
            colour_stderr: colour(std::io::stderr().is_terminal()),
            colour_stdout: colour(std::io::stdout().is_terminal()),
            json,
            is_beside_packets: false,
        }
    }

    /// For a command that moves packets.
    pub(crate) fn beside_packets(self) -> Self {
        Terminal { is_beside_packets: true, ..self }
    }

    /// Prints an error, a warning or a note, in the form that is asked for.
    pub(crate) fn tell(&self, message: &Message) {
        if self.json { self.put(&message.to_json()) } else { self.say(&message.to_string()) }
    }

    /// Prints what is said to people only.
    pub(crate) fn say(&self, text: &str) {
        self.put(&harmless(text));
    }

    fn put(&self, line: &str) {
        if self.is_beside_packets { reader::say_beside_packets(line) } else { reader::say(line) }
    }
}

/// How many characters wide standard output is, if it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::writing("standard output", &error))
}

/// The text without control characters, which may come from the name of a file and would be obeyed by a terminal.
/// Line ends and our own colours stay.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let len = colour_len(rest).unwrap_or(next.len_utf8());
        if len > next.len_utf8() || next == '\n' || !next.is_control() {
            out.push_str(&rest[..len]);
        } else {
            out.extend(next.escape_default());
        }
        rest = &rest[len..];
    }
    out
}

/// The name of a file as it stands in a line: without any control character, as it has neither lines nor colours of ours.
pub(crate) fn shown(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return name.into();
    }
    let as_shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(as_shown).collect()
}

/// The length of the colour change with which the text begins: escape, `[`, digits and semicolons, `m`.
fn colour_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\x1b[")?;
    let digits = body.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    body[digits..].starts_with('m').then_some(digits + 3)
}

#[cfg(test)]
mod tests {
    use super::{harmless, shown};

    #[test]
    fn a_terminal_obeys_no_file_name() {
        assert_eq!(harmless("a\x1b]0;title\x07b\r\u{9b}2J"), "a\\u{1b}]0;title\\u{7}b\\r\\u{9b}2J");
        assert_eq!(shown("a\x1b[31m\nb \u{e9}.pcap"), "a\\u{1b}[31m\\nb \u{e9}.pcap");
        let ours = "\x1b[1;31merror\x1b[0m: line\nline \u{e9}";
        assert_eq!(harmless(ours), ours);
    }
}
