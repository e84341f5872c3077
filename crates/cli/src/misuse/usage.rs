//! What clap refuses, told as all that is wrong is told: what it is, why, and what to type instead.

use crate::args::Cli;
use crate::exit::Failure;
use crate::help;
use crate::words::shell_word;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A command, and the command line on which it stands.
pub(super) struct Usage {
    /// `sluss bench engine`.
    name: String,
    command: Command,
    /// What was typed.
    words: Vec<OsString>,
}

/// Flags of a command that exclude each other, by their names in its definition: why, and what to do.
struct Conflict {
    command: &'static str,
    one: &'static [&'static str],
    other: &'static [&'static str],
    why: &'static str,
    help: &'static str,
}

const CONFLICTS: &[Conflict] = &[
    Conflict {
        command: "filter",
        one: &["count"],
        other: &["lines", "number"],
        why: "a count is one number, without lines",
        help: "leave one of them out",
    },
    Conflict {
        command: "filter",
        one: &["output"],
        other: &["lines", "number"],
        why: "packets are written to a capture, or printed",
        help: "leave one of them out; `sluss filter --lines OUT` prints what was written to OUT",
    },
    Conflict {
        command: "filter",
        one: &["interface"],
        other: &["read"],
        why: "packets are those of a device, or of captures",
        help: "leave one of them out; `-w` writes what is captured",
    },
    Conflict {
        command: "filter",
        one: &["filter"],
        other: &["filter_file"],
        why: "each gives a filter",
        help: "write `-f @FILE` in place of `-F FILE`, if there are to be several",
    },
    Conflict {
        command: "compile",
        one: &["words"],
        other: &["filter_file"],
        why: "each gives a filter",
        help: "leave one of them out",
    },
    Conflict {
        command: "explain",
        one: &["words"],
        other: &["filter_file"],
        why: "each gives a filter",
        help: "leave one of them out",
    },
    Conflict {
        command: "run",
        one: &["check"],
        other: &["dot", "svg"],
        why: "a check prints no drawing",
        help: "leave out --check: a graph that is drawn is checked as well",
    },
    Conflict {
        command: "run",
        one: &["dot"],
        other: &["svg"],
        why: "only one drawing is printed",
        help: "leave one of them out",
    },
    Conflict {
        command: "blast",
        one: &["capture"],
        other: &["synth"],
        why: "packets are those of a capture, or made up",
        help: "leave one of them out",
    },
    Conflict {
        command: "blast",
        one: &["passes"],
        other: &["synth"],
        why: "packets that are made up have no end, behind which they could begin again",
        help: "`--count` or `--duration` say how much is sent",
    },
    Conflict {
        command: "blast",
        one: &["capture"],
        other: &[
            "size", "src", "dst", "proto", "sport", "dport", "flows", "random", "src_mac", "dst_mac", "vlan",
        ],
        why: "packets of a capture are sent as they are",
        help: "leave the flag out, or write `--synth` in place of the capture: packets are made up then",
    },
];

/// What is missing of a command, by its name in the definition: what it is, and what to type.
const MISSING: &[(&str, &str, &str, &str)] = &[
    ("compile", "words", "no filter given", "`sluss compile 'tcp port 80'`"),
    ("explain", "words", "no filter given", "`sluss explain 'tcp port 80'`"),
    ("run", "graph", "no graph given", "`sluss run net.toml`; `sluss help run` says what stands in a graph"),
    ("man", "folder", "no folder given", "`sluss man .` writes man pages into this one"),
    ("top", "once", "`--json` is for one look only: `--once` is missing", "`sluss top --once --json`"),
    (
        "blast",
        "to",
        "no target given: `--to` is missing",
        "write `--to eth0`, `--to tap:NAME`, `--to out.pcap`, or `--to null`, which only counts",
    ),
    (
        "blast",
        "synth",
        "packets are to be made up: `--synth` is missing",
        "`sluss blast --synth --to eth0`, and the other flags",
    ),
    (
        "blast",
        "capture",
        "no capture given",
        "`sluss blast trace.pcap --to eth0`, or `--synth` in its place, which makes packets up",
    ),
];

/// Flags of `wall run` that a wall needs which runs between devices or behind a queue, by their names in the definition.
const LIVE_WALL: &[&str] =
    &["eve", "name", "control", "duration", "keep_capabilities", "no_landlock", "no_seccomp"];

/// What commands of other tools do, and what does it here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["capture", "sniff", "listen", "live"],
        "`sluss filter -i eth0 tcp` captures from a device; `sluss run` with the app `af_packet`, in a graph",
    ),
    (&["read", "show", "print", "view", "dump", "cat"], "`sluss filter --lines FILTER FILE` prints packets"),
    (&["count"], "`sluss filter --count FILTER FILE`"),
    (&["stat", "stats", "capinfos", "about"], "`sluss info FILE` says what is in a capture"),
    (
        &["select", "grep", "extract", "split", "merge", "convert"],
        "`sluss filter FILTER FILE -o OUT`; `sluss filter -h` shows more",
    ),
    (&["check", "lint", "validate"], "`sluss run --check GRAPH`, or `sluss explain FILTER`"),
    (&["list", "status", "instances"], "`sluss ps` lists what runs, `sluss apps` the types of apps"),
    (&["start"], "`sluss run GRAPH`"),
    (&["stop", "kill"], "Ctrl-C, or SIGTERM to the process that `sluss ps` lists"),
    (&["reload"], "SIGHUP to the process that `sluss ps` lists, or just save the file of its graph"),
    (
        &["send", "replay", "generate"],
        "`sluss blast trace.pcap --to eth0`, or `sluss blast --synth --to eth0`",
    ),
    (&["version"], "`sluss --version`"),
];

impl Usage {
    /// Of the command that these words, without the program's name, ask for, as far as they go.
    pub(super) fn of(words: Vec<OsString>) -> Usage {
        let mut command = Cli::command();
        command.build();
        let mut name = "sluss".to_owned();
        for word in words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str()) {
            if let Some(below) = command.find_subcommand(word).filter(|_| word != "help") {
                command = below.clone();
                name.push_str(&format!(" {word}"));
            }
        }
        Usage { name, command, words }
    }

    /// What is wrong; nothing where help was asked for, or clap's own words have to do.
    pub(super) fn failure(&self, told: &Error) -> Option<Failure> {
        let arg = text(told, ContextKind::InvalidArg);
        let value = text(told, ContextKind::InvalidValue);
        match told.kind() {
            ErrorKind::ArgumentConflict => self.conflict(arg?, told),
            ErrorKind::MissingRequiredArgument => self.missing(told),
            ErrorKind::UnknownArgument => Some(self.unknown(arg?, told)),
            ErrorKind::InvalidSubcommand => {
                self.no_command(text(told, ContextKind::InvalidSubcommand)?, told).into()
            }
            ErrorKind::InvalidValue if value == Some("") => Some(self.no_value(arg?)),
            ErrorKind::InvalidValue => Some(self.wrong_value(arg?, value?, told)),
            ErrorKind::ValueValidation => Some(self.refused_value(arg?, value?, told)),
            ErrorKind::WrongNumberOfValues => Some(self.wrong_number(arg?, told)),
            ErrorKind::TooManyValues => {
                let flag = self.typed(arg?);
                Some(
                    Failure::user(format_args!("`{flag}` takes no value, and was given `{}`", value?))
                        .help("leave the value out"),
                )
            }
            ErrorKind::InvalidUtf8 => Some(
                Failure::user("an argument is not UTF-8 text")
                    .help("only names of files and folders may have other bytes in them"),
            ),
            _ => None,
        }
    }

    /// `sluss bench engine`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The first word that is meant, and the flag in front whose value it would be if it were none.
    pub(super) fn word(&self, is_meant: &dyn Fn(&OsStr) -> bool) -> Option<(Option<String>, &OsStr)> {
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        let at = self.words[..end].iter().position(|word| is_meant(word))?;
        let takes_value =
            |flag: &&OsString| self.flag(flag).is_some_and(|arg| arg.get_action().takes_values());
        let before = at.checked_sub(1).map(|before| &self.words[before]).filter(takes_value);
        Some((before.map(|flag| flag.to_string_lossy().into_owned()), &self.words[at]))
    }

    fn conflict(&self, arg: &str, told: &Error) -> Option<Failure> {
        let prior = match told.get(ContextKind::PriorArg)? {
            ContextValue::String(prior) => prior,
            ContextValue::Strings(priors) => priors.first()?,
            _ => return None,
        };
        let flag = self.typed(arg);
        if prior == arg {
            return Some(
                Failure::user(format_args!("`{flag}` is given more than once")).help("give it once"),
            );
        }
        let [one, other] = [arg, prior].map(|arg| self.arg(arg).map_or("", |arg| arg.get_id().as_str()));
        let is_meant = |conflict: &&Conflict| {
            let are = |one, other| conflict.one.contains(&one) && conflict.other.contains(&other);
            self.is(conflict.command) && (are(one, other) || are(other, one))
        };
        let conflict = CONFLICTS.iter().find(is_meant);
        let why = conflict.map_or(String::new(), |conflict| format!(": {}", conflict.why));
        let failure =
            Failure::user(format_args!("`{flag}` and `{}` exclude each other{why}", self.typed(prior)));
        Some(failure.help(conflict.map_or("leave one of them out", |conflict| conflict.help)))
    }

    fn missing(&self, told: &Error) -> Option<Failure> {
        let Some(ContextValue::Strings(missing)) = told.get(ContextKind::InvalidArg) else { return None };
        let args: Vec<&Arg> = missing.iter().filter_map(|arg| self.arg(arg)).collect();
        if let Some(flag) = self.flag_of_live_wall(&args) {
            let what = format_args!("`{flag}` is for a wall that runs");
            let help = "add `--inline IN OUT` or `--nfqueue N` in place of captures";
            return Some(Failure::user(what).help(help));
        }
        let is_missing = |id: &str| args.iter().any(|arg| arg.get_id() == id);
        let known = MISSING.iter().find(|(command, id, ..)| self.is(command) && is_missing(id));
        if let Some((_, _, what, help)) = known {
            return Some(Failure::user(what).help(help));
        }
        let arg = args.first()?;
        let values = names(arg);
        let what = Failure::user(format_args!("no {} given", self.called(arg)));
        Some(if values.is_empty() { what.help(self.more()) } else { what.help(values) })
    }

    /// The flag that was typed without the place where the wall stands, which it needs.
    fn flag_of_live_wall(&self, missing: &[&Arg]) -> Option<String> {
        // The places are a group, which is shown in one.
        if self.name != "sluss wall run" || !missing.is_empty() {
            return None;
        }
        let is_typed = |arg: &&Arg| LIVE_WALL.contains(&arg.get_id().as_str()) && self.is_typed(arg);
        self.command.get_arguments().find(is_typed).map(|arg| self.called(arg))
    }

    /// A flag that takes several values, and was given another number of them.
    fn wrong_number(&self, arg: &str, told: &Error) -> Failure {
        let number = |kind: ContextKind| match told.get(kind) {
            Some(ContextValue::Number(number)) => *number,
            _ => 0,
        };
        let [expected, given] = [ContextKind::ExpectedNumValues, ContextKind::ActualNumValues].map(number);
        let flag = self.typed(arg);
        let what = Failure::user(format_args!("`{flag}` takes {expected} values, and was given {given}"));
        let values = self.arg(arg).and_then(Arg::get_value_names).unwrap_or_default();
        let values: Vec<&str> = values.iter().map(|name| name.as_str()).collect();
        let example = if flag == "--inline" { "eth0 eth1".to_owned() } else { values.join(" ") };
        what.help(format_args!("write `{flag} {example}`"))
    }

    /// A flag that is none, or a word where none is taken.
    fn unknown(&self, arg: &str, told: &Error) -> Failure {
        if !arg.starts_with('-') {
            let what = format_args!("`{arg}` is one word too many for `{}`", self.name);
            return Failure::user(what).help(self.more());
        }
        if let Some(flag) = self.flag(OsStr::new(arg)) {
            let what = format_args!("`{arg}` is a flag of `{}`, and stands in front of it", self.name);
            let moved = self.with_value(arg, flag);
            return Failure::user(what)
                .help(format_args!("flags of a command stand behind it: `{} {moved} …`", self.name));
        }
        let what = Failure::user(format_args!("`{arg}` is no flag of `{}`", self.name));
        match text(told, ContextKind::SuggestedArg) {
            Some(similar) => {
                what.help(format_args!("did you mean `{}`?", similar.split(' ').next().unwrap_or(similar)))
            }
            None => what.help(format_args!("`{}` lists the flags", help::how_to_ask(&self.name))),
        }
    }

    /// A flag as it was typed, with its value, if it is a word of its own.
    fn with_value(&self, typed: &str, flag: &Arg) -> String {
        let at = self.words.iter().position(|word| word == typed);
        let value = at.and_then(|at| self.words.get(at + 1)).filter(|_| flag.get_action().takes_values());
        value.map_or_else(|| typed.to_owned(), |value| format!("{typed} {}", shell_word(value)))
    }

    fn no_command(&self, word: &str, told: &Error) -> Failure {
        let of = if self.name == "sluss" { String::new() } else { format!(" of `{}`", self.name) };
        let what = Failure::user(format_args!("`{word}` is no command{of}"));
        if let Some((_, ours)) = ELSEWHERE.iter().find(|(words, _)| words.contains(&word)) {
            return what.help(ours);
        }
        let similar = match told.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(similar)) => similar.first(),
            _ => None,
        };
        match similar {
            Some(similar) => what.help(format_args!("did you mean `{} {similar}`?", self.name)),
            None => what.help(format_args!("`{} -h` lists the commands", self.name)),
        }
    }

    fn no_value(&self, arg: &str) -> Failure {
        let flag = self.typed(arg);
        let Some(of) = self.arg(arg).filter(|arg| !arg.is_positional()) else {
            return Failure::user(format_args!("{flag} is empty")).help(self.more());
        };
        let what = Failure::user(format_args!("`{flag}` has no value"));
        let value =
            of.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
        match names(of) {
            values if values.is_empty() => what.help(format_args!("write `{flag} {value}`")),
            values => what.help(values),
        }
    }

    fn wrong_value(&self, arg: &str, value: &str, told: &Error) -> Failure {
        let what = Failure::user(format_args!("{}: there is no `{value}`", self.typed(arg)));
        let values = self.arg(arg).map(names).unwrap_or_default();
        match text(told, ContextKind::SuggestedValue) {
            Some(similar) if values == similar => what.help(format_args!("did you mean `{similar}`?")),
            Some(similar) => what.help(format_args!("did you mean `{similar}`? It is {values}")),
            None => what.help(values),
        }
    }

    fn refused_value(&self, arg: &str, value: &str, told: &Error) -> Failure {
        let why = std::error::Error::source(told)
            .map_or_else(|| "this is no value for it".to_owned(), ToString::to_string);
        Failure::user(format_args!("{} {value}: {why}", self.typed(arg)))
    }

    /// A flag as it was typed, a word by what it is.
    fn typed(&self, shown: &str) -> String {
        self.arg(shown).map_or_else(|| shown.to_owned(), |arg| self.called(arg))
    }

    fn called(&self, arg: &Arg) -> String {
        if arg.is_positional() {
            return arg
                .get_value_names()
                .and_then(|names| names.first())
                .map_or("word", |name| name.as_str())
                .to_owned();
        }
        let long = arg.get_long().map(|long| format!("--{long}"));
        let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
        let short = shorts.iter().find(|short| self.is_short_typed(**short)).or(shorts.first());
        match (long, short.map(|short| format!("-{short}"))) {
            (Some(long), Some(short)) => {
                if self.is_long_typed(&long) {
                    long
                } else {
                    short
                }
            }
            (Some(name), None) | (None, Some(name)) => name,
            (None, None) => arg.to_string(),
        }
    }

    fn is_typed(&self, arg: &Arg) -> bool {
        let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
        let is_long = arg.get_long().is_some_and(|long| self.is_long_typed(&format!("--{long}")));
        is_long || shorts.iter().any(|short| self.is_short_typed(*short))
    }

    fn is_long_typed(&self, long: &str) -> bool {
        self.flags().any(|word| {
            word.strip_prefix(long.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'=', ..]))
        })
    }

    fn is_short_typed(&self, short: char) -> bool {
        self.flags().any(|word| matches!(word, [b'-', first, ..] if char::from(*first) == short))
    }

    /// The definition of the flag that is written so.
    fn flag(&self, typed: &OsStr) -> Option<&Arg> {
        self.command.get_arguments().find(|arg| {
            let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
            let longs = arg.get_long_and_visible_aliases().unwrap_or_default();
            shorts.iter().any(|short| *typed == *format!("-{short}"))
                || longs.iter().any(|long| *typed == *format!("--{long}"))
        })
    }

    fn flags(&self) -> impl Iterator<Item = &[u8]> {
        self.words.iter().take_while(|word| *word != "--").map(|word| word.as_bytes())
    }

    /// The definition of what clap shows as this.
    fn arg(&self, shown: &str) -> Option<&Arg> {
        // What is required stands in other brackets in a list of what is missing.
        let bare = |text: &str| text.replace(['[', ']', '<', '>', '.'], "");
        self.command.get_arguments().find(|arg| bare(&arg.to_string()) == bare(shown))
    }

    fn is(&self, command: &str) -> bool {
        self.command.get_name() == command
    }

    fn more(&self) -> String {
        format!("`{} -h` shows how it is used", self.name)
    }
}

/// More names than this say nothing to who reads them: there are more than 200 link types.
const NAMES_MAX: usize = 50;

/// The values that an argument can have, if they can be listed; the value itself where there is one.
fn names(arg: &Arg) -> String {
    let values = arg.get_possible_values();
    if !(1..=NAMES_MAX).contains(&values.len()) {
        return String::new();
    }
    let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    match names[..] {
        [only] => only.to_owned(),
        _ => format!("one of {}", names.join(", ")),
    }
}

fn text(told: &Error, kind: ContextKind) -> Option<&str> {
    match told.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
