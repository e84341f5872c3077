//! Results on standard output, messages on standard error, and whether they may be coloured.

use crate::escape::harmless;
use crate::exit::Failure;
use crate::message::Message;
use crate::reader;
use clap::ValueEnum;
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl When {
    /// What `--color` says in a command line that is not understood yet.
    pub(crate) fn asked_for(words: impl Iterator<Item = OsString>) -> When {
        let words: Vec<String> =
            words.take_while(|word| word != "--").map(|word| word.to_string_lossy().into_owned()).collect();
        let behind = |pair: &[String]| (pair[0] == "--color").then(|| pair[1].clone());
        let within = words.iter().find_map(|word| word.strip_prefix("--color=")).map(str::to_owned);
        let value = words.windows(2).find_map(behind).or(within);
        value.and_then(|value| When::from_str(&value, false).ok()).unwrap_or(When::Auto)
    }
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
    /// Follows the flag, then NO_COLOR (no-color.org) and CLICOLOR_FORCE (bixense.com/clicolors), then the terminal and its kind.
    pub(crate) fn new(when: When, json: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let colour = |is_terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            When::Auto => set("CLICOLOR_FORCE") || is_terminal && !is_dumb(),
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
        match self.json {
            true => self.put(&message.to_json()),
            false if self.colour_stderr => self.say(&message.coloured()),
            false => self.say(&message.to_string()),
        }
    }

    /// Prints what is said to people only.
    pub(crate) fn say(&self, text: &str) {
        self.put(&harmless(text));
    }

    /// Says what a run has to say of itself; to programs as a note.
    pub(crate) fn inform(&self, text: &str) {
        if self.json { self.tell(&Message::note(text)) } else { self.say(text) }
    }

    fn put(&self, line: &str) {
        if self.is_beside_packets { reader::say_beside_packets(line) } else { reader::say(line) }
    }
}

/// Whether standard error is a terminal on which a line can be drawn anew.
pub(crate) fn has_cursor() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

/// Whether the terminal shows control sequences as text, as that of an editor may (terminfo's `dumb`).
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether a shell has put this process into the background of the terminal that standard error is. People type there, and the terminal may
/// stop who writes to it (`stty tostop`).
pub(crate) fn is_in_background() -> bool {
    rustix::termios::tcgetpgrp(std::io::stderr()).is_ok_and(|group| group != rustix::process::getpgrp())
}

/// How many characters wide a stream is, if it is a terminal.
pub(crate) fn columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// Prints a result that may be too large to be had whole.
pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    write(&mut stdout)
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::writing("standard output", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_asked_for_in_two_ways() {
        let asked = |line: &str| When::asked_for(line.split(' ').map(OsString::from));
        assert_eq!(asked("sluss --color never -h"), When::Never);
        assert_eq!(asked("sluss filter --color=always --foo"), When::Always);
        for line in ["sluss", "sluss --color", "sluss --color red", "sluss filter -- --color never"] {
            assert_eq!(asked(line), When::Auto, "{line}");
        }
    }
}
