//! A command line that cannot be understood.

mod tcpdump;
mod translated;

use crate::args::Cli;
use crate::escape::shown;
use crate::exit::Failure;
use crate::terminal::{Terminal, When};
use crate::words::{self, Known};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use pflang::{Backend, Code, Compiler};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use wire::LinkType;

/// Prints help, a version, or what is wrong with the command line.
pub(crate) fn tell(mut told: Error) -> ExitCode {
    let failure = match command() {
        Some(command) => from_tcpdump(&command, &told),
        None => without_command(&told),
    };
    if let Some(failure) = failure {
        return fail(&failure);
    }
    // Clap proposes to put an unknown flag after `--`. There it would be a filter or a file, which nobody means.
    told.remove(ContextKind::Suggested);
    if told.use_stderr() && is_json_asked_for() {
        return fail(&as_failure(&told));
    }
    escape_values(&mut told);
    match told.print() {
        Err(error) if !capture::reader_has_left(&error) => 3,
        _ => told.exit_code() as u8,
    }
    .into()
}

/// What was typed may hold line ends and colours, also as the name of a file that a shell has put there.
fn escape_values(told: &mut Error) {
    let text = |text: &String| shown(text).into_owned();
    let escaped = |value: &ContextValue| match value {
        ContextValue::String(value) => Some(ContextValue::String(text(value))),
        ContextValue::Strings(values) => Some(ContextValue::Strings(values.iter().map(text).collect())),
        _ => None,
    };
    let values: Vec<_> = told.context().filter_map(|(kind, value)| Some((kind, escaped(value)?))).collect();
    for (kind, value) in values {
        told.insert(kind, value);
    }
}

fn fail(failure: &Failure) -> ExitCode {
    Terminal::new(When::Auto, is_json_asked_for()).tell(&failure.message);
    failure.code()
}

/// With what clap proposes as help.
fn as_failure(told: &Error) -> Failure {
    let text = told.to_string();
    let (message, help) = paragraphs(&text);
    let failure = Failure::user(message);
    if help.is_empty() { failure } else { failure.help(help.trim()) }
}

/// What is wrong, and what clap proposes.
fn paragraphs(text: &str) -> (&str, &str) {
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    (message.strip_prefix("error: ").unwrap_or(message).trim_end(), help)
}

/// A command line of tcpdump, in which no command stands before flags and filter.
fn without_command(told: &Error) -> Option<Failure> {
    let (kind, word) = match told.kind() {
        ErrorKind::UnknownArgument => ("flag of `sluss` itself", told.get(ContextKind::InvalidArg)),
        ErrorKind::InvalidSubcommand => ("command", told.get(ContextKind::InvalidSubcommand)),
        _ => return None,
    };
    let Some(ContextValue::String(word)) = word else { return None };
    let is_meant = match word.strip_prefix('-') {
        Some(flag) => {
            flag.len() == 1
                && Cli::command().find_subcommand("filter").is_some_and(|filter| has(filter, flag))
        }
        None => Path::new(word).exists() || begins_filter(word),
    };
    let what = format_args!("`{word}` is no {kind}");
    is_meant.then(|| match (translated(0), tcpdump::instead_of("filter", word)) {
        (None, Some(instead)) => Failure::user(what).help(instead),
        (command, _) => {
            let command = command.unwrap_or_else(|| "sluss filter 'tcp port 80' FILE".to_owned());
            Failure::user(what).help(format_args!("packets of captures are selected by `{command}`"))
        }
    })
}

/// The command for a command line of tcpdump behind so many words of ours.
fn translated(before: usize) -> Option<String> {
    let line: Vec<OsString> = std::env::args_os().skip(1 + before).collect();
    let is_filter = |text: &str| compiler().compile(text).is_ok();
    let known = Known { exists: &words::exists, is_filter: &is_filter };
    translated::translated(&line, known, !std::io::stdout().is_terminal())
}

/// Whether a command, or tcpdump, has a flag of one letter.
fn has(command: &Command, flag: &str) -> bool {
    let is_ours = |arg: &Arg| arg.get_short().is_some_and(|short| flag.starts_with(short));
    command.get_arguments().any(is_ours) || tcpdump::instead_of("filter", &format!("-{flag}")).is_some()
}

/// Whether a filter may begin with this word.
fn begins_filter(word: &str) -> bool {
    compiler().compile(word).map_or_else(|error| error.code() == Code::Unexpected, |_| true)
}

fn compiler() -> Compiler {
    Compiler::new(LinkType::EN10MB).backend(Backend::Interpreter)
}

/// What there is in place of a flag that only tcpdump has, or that means something else there.
fn from_tcpdump(command: &str, told: &Error) -> Option<Failure> {
    let Some(ContextValue::String(flag)) = told.get(ContextKind::InvalidArg) else { return None };
    match told.kind() {
        ErrorKind::UnknownArgument => {
            let words = tcpdump::instead_of(command, flag)?;
            let what = format_args!("`{flag}` is a flag of tcpdump that `sluss {command}` does not have");
            // Where the flag only has to go.
            let without = (command == "filter").then(|| translated(1)).flatten();
            let without = without.map_or(String::new(), |command| format!("; without it: `{command}`"));
            Some(Failure::user(what).help(format_args!("{words}{without}")))
        }
        ErrorKind::ValueValidation if flag.starts_with("--jobs ") => {
            let Some(ContextValue::String(value)) = told.get(ContextKind::InvalidValue) else { return None };
            let is_word = value.starts_with(|first: char| first.is_ascii_alphabetic());
            is_word.then(|| Failure::user(paragraphs(&told.to_string()).0).help(tcpdump::JOBS))
        }
        _ => None,
    }
}

/// The command that was asked for, as far as it goes.
fn command() -> Option<String> {
    let commands = Cli::command();
    let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    words.take_while(|word| word != "--").find(|word| commands.find_subcommand(word).is_some())
}

/// Whether `--json` is among the flags.
fn is_json_asked_for() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}
