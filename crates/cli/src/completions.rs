//! Completion scripts, from the definitions of the flags. What `clap_complete` makes offers files wherever it knows no words; here files are
//! offered only where they can stand.

use crate::exit::{Failure, Outcome};
use crate::help;
use crate::terminal::print;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

/// Prints the script of a shell.
pub(crate) fn run(shell: Shell) -> Result<Outcome, Failure> {
    print(&script(shell))?;
    Ok(Outcome::Done)
}

fn script(shell: Shell) -> String {
    let mut command = hinted(help::short());
    command.build();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "sluss", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => bash(script, &command),
        Shell::Fish => fish(&script, &command),
        _ => script,
    }
}

/// The script with one part in place of another, which `clap_complete` has written as it is here: should it write that otherwise, tests fail.
fn replaced(script: &str, part: &str, by: &str) -> String {
    debug_assert!(script.contains(part), "{part:?} is not in the script:\n{script}");
    script.replace(part, by)
}

/// What stands in front of a part of the script and behind it, that part left out. Tests fail where it is not there, as above.
fn parted<'s>(script: &'s str, part: &str) -> Option<(&'s str, &'s str)> {
    let parted = script.split_once(part);
    debug_assert!(parted.is_some(), "{part:?} is not in the script:\n{script}");
    parted
}

/// A value of which nothing is known is no file.
fn hinted(command: Command) -> Command {
    let is_unknown = |arg: &Arg| {
        arg.get_action().takes_values()
            && arg.get_value_hint() == ValueHint::Unknown
            && arg.get_possible_values().is_empty()
    };
    let hint = |arg: Arg| match arg.get_value_hint() {
        _ if is_unknown(&arg) => arg.value_hint(ValueHint::Other),
        // For other paths, bash is not told that they are names of files, and would not quote them.
        ValueHint::AnyPath => arg.value_hint(ValueHint::FilePath),
        _ => arg,
    };
    command.mut_args(hint).mut_subcommands(hinted)
}

/// What stands behind the flags of a command.
enum Behind {
    /// A command, or one of a few words.
    Words(Vec<String>),
    /// Captures, a graph.
    Files,
    Folder,
    /// Nothing, or what nobody can guess.
    Other,
}

fn behind(command: &Command) -> Behind {
    let positionals = || command.get_positionals().filter(|arg| !arg.is_hide_set());
    let values = positionals().flat_map(Arg::get_possible_values).map(|word| word.get_name().to_owned());
    let below = command.get_subcommands().map(|below| below.get_name().to_owned());
    let words: Vec<String> = values.chain(below).collect();
    match positionals().next().map(Arg::get_value_hint) {
        _ if !words.is_empty() => Behind::Words(words),
        Some(ValueHint::FilePath) => Behind::Files,
        Some(ValueHint::DirPath) => Behind::Folder,
        _ => Behind::Other,
    }
}

/// Whether a file may stand behind the flags.
fn has_files(command: &Command) -> bool {
    command.get_positionals().any(|arg| arg.get_value_hint() == ValueHint::FilePath)
}

/// Each command that a user may type, with the words in front of it.
fn all<'a>(command: &'a Command, before: &[&'a str], act: &mut impl FnMut(&[&str], &Command)) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let words = [before, &[below.get_name()]].concat();
        act(&words, below);
        all(below, &words, act);
    }
}

/// The script offers flags where a word is to come, and files where it knows no word. With flags only where one was begun, and files
/// only where they can stand; and with values behind `--flag=`, which bash takes for three words.
fn bash(script: String, command: &Command) -> String {
    const PREVIOUS: &str = "    prev=\"$3\"\n";
    const BEFORE_EQUALS: &str = "    [[ \"${prev}\" == \"=\" ]] && prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n";
    let mut script = replaced(&script, PREVIOUS, &format!("{PREVIOUS}{BEFORE_EQUALS}"));
    all(command, &[], &mut |words, command| {
        if let Some(changed) = with_words(&script, words, command) {
            script = changed;
        }
    });
    script
}

/// The script with what stands behind the flags of a command.
fn with_words(script: &str, words: &[&str], command: &Command) -> Option<String> {
    const OFFERED: &str = "COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )";
    let begin = format!("\n        sluss__subcmd__{})\n", words.join("__subcmd__"));
    let (before, rest) = parted(script, &begin)?;
    let (section, after) = parted(rest, "\n            ;;\n")?;
    // Where a flag was begun, and at the end of all.
    let (at_flags, _) = parted(section, OFFERED)?;
    let (flags, _) = section.rsplit_once(OFFERED).filter(|(flags, _)| *flags != at_flags)?;
    let at = format!(" || ${{COMP_CWORD}} -eq {} ]]", words.len() + 1);
    let offered = match behind(command) {
        Behind::Words(words) => {
            format!("COMPREPLY=( $(compgen -W \"{}\" -- \"${{cur}}\") )", words.join(" "))
        }
        Behind::Files => "COMPREPLY=()".to_owned(),
        Behind::Folder => "COMPREPLY=()\n            compopt +o default -o dirnames".to_owned(),
        Behind::Other => format!("{OFFERED}\n            compopt +o default +o bashdefault"),
    };
    let flags = replaced(flags, &at, " ]]");
    Some(format!("{before}{begin}{flags}{offered}\n            return 0\n            ;;\n{after}"))
}

/// The script has flags and commands only, and none behind `help`, which it takes for a command that was seen. Behind `sluss --color` it knows
/// no word, since that flag lacks its value, and so would offer files.
fn fish(script: &str, command: &Command) -> String {
    const ALL_WORDS: &str = "    argparse -s (__fish_sluss_global_optspecs) -- $cmd 2>/dev/null\n";
    let but_last = format!("{ALL_WORDS}    or begin\n        set -e cmd[-1]\n    {ALL_WORDS}    end\n");
    let script = replaced(script, ALL_WORDS, &but_last);
    // Unquoted, a comment begins at a `#`.
    let script = replaced(&script, " -s # ", " -s '#' ");
    let mut script = replaced(&script, " man help\" -f", " man\" -f");
    all(command, &[], &mut |words, command| {
        let condition = match words {
            [name] => format!("__fish_sluss_using_subcommand {name}"),
            [.., parent, name] => {
                format!("__fish_sluss_using_subcommand {parent}; and __fish_seen_subcommand_from {name}")
            }
            [] => return,
        };
        let offered = match behind(command) {
            Behind::Words(_) if command.has_subcommands() => return,
            // A word, and then a file.
            Behind::Words(words) if has_files(command) => {
                return script
                    .push_str(&format!("complete -c sluss -n \"{condition}\" -a \"{}\"\n", words.join(" ")));
            }
            Behind::Words(words) => format!(" -a \"{}\"", words.join(" ")),
            Behind::Files => return,
            Behind::Folder => " -a \"(__fish_complete_directories)\"".to_owned(),
            Behind::Other => String::new(),
        };
        script.push_str(&format!("complete -c sluss -n \"{condition}\" -f{offered}\n"));
    });
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fish_offers_files_only_where_they_can_stand() {
        let script = script(Shell::Fish);
        for line in [
            "using_subcommand apps\" -f -a \"af_packet ",
            "using_subcommand completions\" -f -a \"bash ",
            "using_subcommand top\" -f\n",
            "using_subcommand explain\" -f\n",
            "using_subcommand bench; and __fish_seen_subcommand_from engine\" -f\n",
            "using_subcommand wall; and __fish_seen_subcommand_from spy\" -a \"pcap raw tap\"\n",
            "using_subcommand man\" -f -a \"(__fish_complete_directories)\"\n",
            "using_subcommand help; and not __fish_seen_subcommand_from filter info match compile explain trace blast run wall set apps top doctor new quickcheck bench snsh ps completions man\" -f ",
            "-l interval -d 'Time between two looks: 100ms to 1h' -r -f\n",
        ] {
            assert!(script.contains(line), "{line}\n{script}");
        }
        let takes_files = |name: &str| !script.contains(&format!("using_subcommand {name}\" -f\n"));
        assert!(["filter", "info", "match", "trace", "run", "blast"].into_iter().all(takes_files));
    }

    #[test]
    fn zsh_offers_files_only_where_they_can_stand() {
        let script = script(Shell::Zsh);
        assert!(!script.contains(":_default'"), "{script}");
        assert!(script.contains(":folder -- An existing folder:_files -/'"), "{script}");
    }
}
