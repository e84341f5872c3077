//! A command line that cannot be understood.

mod dashed;
mod live;
mod tcpdump;
mod translated;
mod usage;

use crate::args::Cli;
use crate::exit::Failure;
use crate::reader::close_stdout;
use crate::terminal::{Terminal, When};
use crate::words::{self, Known};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use pflang::{Backend, Code, Compiler};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;
use usage::Usage;
use wire::LinkType;

/// Prints help, a version, or what is wrong with the command line.
pub(crate) fn tell(told: Error) -> ExitCode {
    let usage = Usage::of(typed(0));
    let failure = dashed::failure(&told, &usage).or_else(|| match command() {
        Some(command) => from_tcpdump(&command, &told),
        None => without_command(&told),
    });
    let failure = failure.or_else(|| usage.failure(&told));
    if let Some(failure) = failure.or_else(|| told.use_stderr().then(|| as_failure(&told)).flatten()) {
        return fail(&failure);
    }
    match told.print() {
        Err(error) if !capture::reader_has_left(&error) => fail(&Failure::writing("standard output", &error)),
        _ => match close_stdout(told.exit_code() as u8) {
            Ok(code) => code.into(),
            Err(failure) => fail(&failure),
        },
    }
}

fn fail(failure: &Failure) -> ExitCode {
    Terminal::new(When::asked_for(std::env::args_os()), is_json_asked_for()).tell(&failure.message);
    failure.code()
}

/// What parsers of values have put into words, and what else clap says with an `error: ` in front. Other text is help.
fn as_failure(told: &Error) -> Option<Failure> {
    let text = told.to_string();
    let (message, help) = paragraphs(&text)?;
    if told.kind() == ErrorKind::MissingRequiredArgument {
        // It has names of ours alone, one a line, and the usage below.
        let [message, help] = [message, help.split("\n\n").next().unwrap_or_default()]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        return Some(Failure::user(message).help(help));
    }
    let failure = Failure::user(message);
    Some(if help.is_empty() { failure } else { failure.help(help) })
}

/// What is wrong, and what clap proposes.
fn paragraphs(text: &str) -> Option<(&str, &str)> {
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    Some((message.strip_prefix("error: ")?.trim_end(), help.trim()))
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
    is_meant.then(|| Failure::user(what).help(in_place_of(word)))
}

/// What there is in place of a command line of tcpdump in which this word is the first that is wrong.
fn in_place_of(word: &str) -> String {
    if let Some(command) = piped(&typed(0)) {
        return format!("lines show no more of a packet than its headers, and tcpdump all: `{command}`");
    }
    let device = live(0).map(|command| format!("of a device, as root, by `{command}`"));
    let command = translated(0).or_else(|| live::of_captures(&typed(0)));
    match (command, tcpdump::instead_of("filter", word), device) {
        (None, _, None)
            if let Some((flag, instead)) = without_counterpart(&typed(0))
                && word != format!("-{flag}") =>
        {
            format!("`-{flag}` has no counterpart: {instead}")
        }
        (None, Some(instead), None) => instead.to_owned(),
        (None, _, Some(device)) => format!("captures are read by `sluss filter`, and packets {device}"),
        (command, _, device) => {
            let command = command.unwrap_or_else(|| "sluss filter 'tcp port 80' FILE".to_owned());
            let device = device.map_or(String::new(), |device| format!(", those {device}"));
            format!("packets of captures are selected by `{command}`{device}")
        }
    }
}

/// The first flag of one letter that nothing here does, and what there is in its place.
fn without_counterpart(words: &[OsString]) -> Option<(char, &'static str)> {
    let words = words.iter().take_while(|word| *word != "--");
    let letters = words.filter_map(|word| word.to_str()?.strip_prefix('-')).flat_map(|letters| {
        let value_at = letters.bytes().position(|letter| tcpdump::WITH_VALUE.contains(&letter));
        letters.char_indices().take_while(move |(at, _)| value_at.is_none_or(|value_at| *at <= value_at))
    });
    let mut strange = letters
        .map(|(_, letter)| letter)
        .filter(|letter| !translated::is_known(*letter) && !tcpdump::MORE.contains(letter));
    strange.find_map(|flag| Some((flag, tcpdump::instead_of("filter", &format!("-{flag}"))?)))
}

/// The command that lets tcpdump print what this flag asks for; of what was typed, it has what it can have.
fn through_tcpdump(flag: &str) -> String {
    let mut words = typed(words_to_command());
    // It stands in front of the command, or in one word with others.
    if split_off_printing(&words).0.is_empty() {
        words.insert(0, flag.into());
    }
    piped(&words).unwrap_or_else(|| {
        format!("sluss filter FILTER FILE -o - | tcpdump -r - {}", split_off_printing(&words).0)
    })
}

/// That command for a command line of tcpdump which has such flags, if all of it can go that way.
fn piped(words: &[OsString]) -> Option<String> {
    let (flags, others) = split_off_printing(words);
    let is_other_output = |word: &OsString| word != "--" && word.as_encoded_bytes().starts_with(b"--");
    let is_meant = !flags.is_empty()
        && !others.iter().any(is_other_output)
        && translated::line(&others).is_some_and(|line| line.output.is_none());
    let to_stdout = [&["-w".into(), "-".into()][..], &others].concat();
    let command = known(|known| translated::translated(&to_stdout, known)).filter(|_| is_meant)?;
    Some(format!("{command} | tcpdump -r - {flags}"))
}

/// Flags of printing, in words of their own, if one asks for more of each packet than lines here show; and the other words.
fn split_off_printing(words: &[OsString]) -> (String, Vec<OsString>) {
    let (mut flags, mut others) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let letters = word.as_bytes().strip_prefix(b"-").unwrap_or_default();
        if letters.is_empty() || letters.starts_with(b"-") {
            others.push(word.clone());
            if word == "--" {
                others.extend(rest.by_ref().cloned());
            }
            continue;
        }
        let value_at = letters.iter().position(|letter| tcpdump::WITH_VALUE.contains(letter));
        let (ours, behind) = letters.split_at(value_at.unwrap_or(letters.len()));
        let (printing, kept): (Vec<u8>, Vec<u8>) =
            ours.iter().partition(|letter| tcpdump::is_of_printing(**letter));
        let kept = [&kept, behind].concat();
        flags.extend((!printing.is_empty()).then(|| format!("-{}", String::from_utf8_lossy(&printing))));
        others.extend((!kept.is_empty()).then(|| OsString::from_vec([b"-", &kept[..]].concat())));
        if behind.len() == 1 {
            others.extend(rest.next().cloned());
        }
    }
    let is_asked_for = flags.iter().any(|flag| flag.contains(tcpdump::MORE));
    if is_asked_for { (flags.join(" "), others) } else { (String::new(), words.to_vec()) }
}

/// The command for a capture from a device, if the words behind so many of ours ask for one.
fn live(before: usize) -> Option<String> {
    let (printing, words) = split_off_printing(&typed(before));
    live::live(&words, &printing)
}

/// The command for a command line of tcpdump behind so many words of ours.
fn translated(before: usize) -> Option<String> {
    let line = typed(before);
    known(|known| translated::translated(&line, known))
}

fn known<T>(ask: impl FnOnce(Known<'_>) -> T) -> T {
    let is_filter = |text: &str| compiler().compile(text).is_ok();
    ask(Known { exists: &words::exists, is_filter: &is_filter, begins_filter: &begins_filter })
}

/// The words of the command line behind so many of ours.
fn typed(before: usize) -> Vec<OsString> {
    std::env::args_os().skip(1 + before).collect()
}

/// Whether a command, or tcpdump, has a flag of one letter.
fn has(command: &Command, flag: &str) -> bool {
    let is_ours = |arg: &Arg| {
        let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
        shorts.iter().any(|short| flag.starts_with(*short))
    };
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
            let device = if command == "filter" { live(words_to_command()) } else { None };
            let instead = match command {
                // The device has a command of its own.
                _ if let Some(device) = device => format!(": `{device}`"),
                "filter" if tcpdump::prints_more(flag) => format!(": `{}`", through_tcpdump(flag)),
                // Where the flag only has to go.
                "filter" => translated(words_to_command())
                    .map_or(String::new(), |command| format!("; without it: `{command}`")),
                _ => String::new(),
            };
            Some(Failure::user(what).help(format_args!("{words}{instead}")))
        }
        ErrorKind::ValueValidation if flag.starts_with("--jobs ") => {
            let Some(ContextValue::String(value)) = told.get(ContextKind::InvalidValue) else { return None };
            let is_word = value.starts_with(|first: char| first.is_ascii_alphabetic());
            is_word.then(|| {
                Failure::user(format_args!("-j {value}: write a whole number, 1 or more")).help(tcpdump::JOBS)
            })
        }
        _ => None,
    }
}

/// The command that was asked for, as far as it goes.
fn command() -> Option<String> {
    typed(0).get(command_at()?)?.to_str().map(str::to_owned)
}

/// Up to and with the command: flags of all commands may stand in front of it.
fn words_to_command() -> usize {
    command_at().map_or(0, |at| at + 1)
}

/// Which word is the command.
fn command_at() -> Option<usize> {
    let commands = Cli::command();
    let words = typed(0);
    words.iter().take_while(|word| *word != "--").position(|word| commands.find_subcommand(word).is_some())
}

/// Whether `--json` is among the flags.
fn is_json_asked_for() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}
