//! The command of ours that does what a command line of tcpdump asks for, where that takes the same words behind `sluss filter`.

use crate::args::{Cli, Command, FilterArgs};
use crate::words::{self, shell_word};
use clap::Parser;
use std::ffi::OsString;

/// The command, or tcpdump behind it, with the flags of printing; none where no device is asked for: by its name, or by where to write
/// and nothing that is read.
pub(super) fn live(words: &[OsString], printing: &str) -> Option<String> {
    let to_pipe: &[OsString] = if printing.is_empty() { &[] } else { &["-w".into(), "-".into()] };
    let typed = [to_pipe, words].concat();
    let args = parsed(&typed)?;
    let words = match &args.live.interface {
        Some(_) => typed,
        None => {
            let has_input =
                args.words.iter().any(|word| words::is_called_capture(word) || words::exists(word));
            let is_meant =
                printing.is_empty() && !args.output.is_empty() && args.read.is_empty() && !has_input;
            let words = [&["-i".into(), "eth0".into()], &typed[..]].concat();
            parsed(&words).filter(|_| is_meant)?;
            words
        }
    };
    let words: Vec<String> = words.iter().map(shell_word).collect();
    let there = if printing.is_empty() { String::new() } else { format!(" | tcpdump -r - {printing}") };
    Some(format!("sluss filter {}{there}", words.join(" ")))
}

/// The command that reads captures, where all that was typed can stand in it.
pub(super) fn of_captures(words: &[OsString]) -> Option<String> {
    let args = parsed(words).filter(|args| !args.read.is_empty())?;
    let words: Vec<String> = words.iter().map(shell_word).collect();
    args.live.interface.is_none().then(|| format!("sluss filter {}", words.join(" ")))
}

/// What these words are behind `sluss filter`, if they can stand there.
fn parsed(words: &[OsString]) -> Option<FilterArgs> {
    let line = ["sluss", "filter"].map(OsString::from).into_iter().chain(words.iter().cloned());
    match Cli::try_parse_from(line).ok()?.command {
        Command::Filter(args) => Some(*args),
        _ => None,
    }
}
