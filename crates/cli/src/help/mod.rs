//! Help in two lengths: `sluss filter -h` fits a terminal of 24 lines; `sluss filter --help`, or `sluss help filter`, is all there is.
//!
//! Both come from the one definition of the flags in `args`. What the short one leaves out is marked there (`hide_short_help`), and what is
//! said at greater length in the other has a `long_help`. Clap would print the long form with each flag in a paragraph of its own; here it keeps
//! its two columns, in which one can look things up.

mod behind;

use crate::args::Cli;
use crate::terminal::When;
use clap::builder::Resettable;
use clap::{Arg, ArgAction, ColorChoice, Command, CommandFactory};
use std::ffi::OsString;

#[cfg(test)]
pub(crate) use behind::Table;
pub(crate) use behind::{Behind, behind};

/// The definition of the command line, whose help is as long as was asked for.
pub(crate) fn command() -> Command {
    let command = if is_all_asked_for(std::env::args_os()) { whole() } else { short() };
    command.color(match When::asked_for(std::env::args_os()) {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    })
}

/// The definition whose help fits a terminal. Man pages and completions are written once, when sluss is packaged or installed; `quickcheck` is for
/// those who work on compilers, `bench` for those who measure, `snsh` for those who know it from Snabb, and `new` for those who read how to write an app;
/// `top` lists what `ps` does.
pub(crate) fn short() -> Command {
    let hidden = ["new", "quickcheck", "bench", "snsh", "ps", "completions", "man"];
    let command = hidden
        .into_iter()
        .fold(Cli::command(), |command, name| command.mut_subcommand(name, |below| below.hide(true)));
    each(command, "sluss help", &brief)
}

/// The definition whose help tells everything.
pub(crate) fn whole() -> Command {
    each(Cli::command(), "sluss help", &in_full)
}

/// How to ask for all the help of a command, by the name that it calls itself: `sluss help filter` for `sluss filter`.
pub(crate) fn how_to_ask(name: &str) -> String {
    let (program, below) = name.split_once(' ').map_or((name, ""), |(program, below)| (program, below));
    format!("{program} help {below}").trim_end().to_owned()
}

/// The words of the command line. That help is asked for twice, as by `help filter -h`, is no error. What follows a program in Lua is its own.
pub(crate) fn words(words: impl Iterator<Item = OsString>, command: &Command) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    let is_help = words.get(1).is_some_and(|word| word == "help");
    let words = words.into_iter().filter(|word| !(is_help && (word == "-h" || word == "--help"))).collect();
    crate::lua::ends_options(words, |word| takes_value(command, word))
}

/// Whether the word behind an option of `sluss run` or `sluss snsh` is its value.
fn takes_value(command: &Command, option: &std::ffi::OsStr) -> bool {
    let option = option.to_string_lossy();
    let is_it = |arg: &Arg| match option.strip_prefix("--") {
        Some(name) => arg.get_long() == Some(name),
        None => option.len() == 2 && arg.get_short() == option.chars().nth(1),
    };
    let below = command.get_subcommands().filter(|below| ["run", "snsh"].contains(&below.get_name()));
    let mut args = below.flat_map(Command::get_arguments).chain(command.get_arguments());
    args.any(|arg| is_it(arg) && arg.get_action().takes_values())
}

/// A guess from the words alone is good enough: the two definitions take the same command lines, and differ in their help only.
fn is_all_asked_for(words: impl Iterator<Item = OsString>) -> bool {
    let mut words = words.skip(1).take_while(|word| word != "--").peekable();
    words.peek().is_some_and(|word| word == "help") || words.any(|word| word == "--help")
}

/// With a change made to the command and to all below it; `asked` is how all the help of the command is asked for.
fn each(command: Command, asked: &str, change: &dyn Fn(Command, &str) -> Command) -> Command {
    change(command, asked).mut_subcommands(|below| {
        let asked = format!("{asked} {}", below.get_name());
        each(below, &asked, change)
    })
}

/// Of what is not left out, without headings and with examples.
fn brief(command: Command, asked: &str) -> Command {
    let told = behind(path(asked)).brief();
    command
        .mut_args(|arg| if arg.is_hide_short_help_set() { arg } else { arg.help_heading(None) })
        .disable_help_flag(true)
        .arg(help_flag("Print help in brief; --help prints all".to_owned()))
        .after_help(told)
}

fn in_full(command: Command, asked: &str) -> Command {
    let told = behind(path(asked)).in_full();
    command
        .mut_args(arg_in_full)
        .disable_help_flag(true)
        .arg(help_flag("Print help in brief (-h), or all of it (--help)".to_owned()))
        .after_help(told)
}

/// The words that lead to a command, by how all its help is asked for.
fn path(asked: &str) -> &str {
    asked.strip_prefix("sluss help").unwrap_or(asked).trim_start()
}

/// The same, of a command that was built.
pub(crate) fn path_of(command: &Command) -> &str {
    let name = command.get_bin_name().unwrap_or_default();
    name.strip_prefix("sluss").unwrap_or(name).trim_start()
}

fn help_flag(about: String) -> Arg {
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    flag.help_heading(None).help(about)
}

/// Clap takes what is said at length as a reason for its long form.
fn arg_in_full(arg: Arg) -> Arg {
    let help = arg.get_long_help().or(arg.get_help()).cloned();
    arg.hide_short_help(false).help(Resettable::from(help)).long_help(Resettable::Reset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paragraphs are broken anywhere; columns, examples and what `-h` shows too are not.
    #[test]
    fn no_line_behind_the_options_is_wider_than_a_small_terminal() {
        let mut root = whole();
        root.build();
        let mut commands: Vec<&Command> = vec![&root];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            let behind = behind(path_of(command));
            let text = behind.in_full();
            let fixed =
                text.lines().filter(|line| line.starts_with("  ")).chain(behind.first.iter().copied());
            for line in fixed {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn all_help_has_every_flag_and_the_exit_codes() {
        let mut command = whole();
        command.build();
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            let text = below.render_help().to_string();
            let is_shown = |arg: &&Arg| !arg.is_hide_set() && !arg.is_positional();
            for arg in below.get_arguments().filter(is_shown) {
                let long = arg.get_long().unwrap_or_default();
                assert!(text.contains(&format!("--{long}")), "{}: --{long}\n{text}", below.get_name());
            }
            assert!(
                below.has_subcommands() || text.contains("Exit codes:\n  0"),
                "{}\n{text}",
                below.get_name()
            );
        }
    }

    #[test]
    fn all_is_asked_for_by_word() {
        let is_asked = |line: &str| is_all_asked_for(line.split(' ').map(OsString::from));
        assert!(is_asked("sluss help filter") && is_asked("sluss help") && is_asked("sluss filter --help"));
        assert!(!is_asked("sluss filter -h") && !is_asked("sluss filter help -h") && !is_asked("sluss"));
        assert!(!is_asked("sluss filter x.pcap -- --help"));
        assert_eq!(
            (how_to_ask("sluss"), how_to_ask("sluss bench engine")),
            ("sluss help".into(), "sluss help bench engine".into())
        );
    }

    #[test]
    fn help_that_is_asked_for_twice_is_help() {
        let command = short();
        let words =
            |line: &str| words(line.split(' ').map(OsString::from), &command).join(&OsString::from(" "));
        assert_eq!(words("sluss help filter -h"), "sluss help filter");
        assert_eq!(
            (words("sluss help --help"), words("sluss filter -h")),
            ("sluss help".into(), "sluss filter -h".into())
        );
    }
}
