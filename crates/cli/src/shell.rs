//! What the definitions of the flags give for free: completion scripts and man pages.

use crate::args::Cli;
use crate::exit::{Failure, Outcome};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use std::fs;
use std::io;
use std::path::Path;

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sluss", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)
        .map_err(|error| Failure::writing("standard output", &error))?;
    Ok(Outcome::Done)
}

/// Writes `sluss.1`, `sluss-filter.1`, …
pub(crate) fn man_pages(folder: &Path) -> Result<Outcome, Failure> {
    // Without a page for `sluss help run`, which shows what the page of `sluss run` does.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder).map_err(|error| {
        Failure::world(format!("cannot write man pages to {}: {error}", folder.display()))
    })?;
    Ok(Outcome::Done)
}

/// The page of a command, and those of the commands below it.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, folder)?;
    }
    let man = clap_mangen::Man::new(command.clone().after_help(Resettable::Reset));
    let mut page = Vec::new();
    man.render(&mut page)?;
    // Not adjusted at the right, which would put blanks into what is to be typed.
    let page = String::from_utf8_lossy(&page).replacen("\n.SH NAME", "\n.ad l\n.SH NAME", 1);
    let (before, version) = page.find(".SH VERSION").map_or((page.as_str(), ""), |at| page.split_at(at));
    let behind = Behind::of(command).sections(general_codes(command.get_name()));
    fs::write(folder.join(man.get_filename()), format!("{before}{behind}{version}"))
}

/// The exit codes of commands whose help has no room for them: only those that a command can end with.
fn general_codes(command: &str) -> &'static [&'static str] {
    const REFUSED: &str = "3 the system refused";
    const INTERNAL: &str = "4 internal error";
    const DAMAGED: &str = "5 incomplete: the input is damaged, cut off or not a capture";
    match command {
        "filter" => &[
            "0 at least one packet matched, or --no-fail",
            "1 no packet matched",
            "2 wrong filter or flag",
            REFUSED,
            INTERNAL,
            "5 incomplete: an input is damaged, cut off, unreadable or not a capture",
            "130 and 143 ended by SIGINT and SIGTERM, with everything written so far intact",
        ],
        "trace" => &[
            "0 the packet matches",
            "1 the packet does not match",
            "2 wrong filter or flag, or no packet of this number",
            REFUSED,
            INTERNAL,
            DAMAGED,
        ],
        "engine" => {
            &["0 measured", "2 wrong flag", REFUSED, "4 packets unaccounted for, or an app failed", DAMAGED]
        }
        "compile" | "explain" => &["0 done", "2 wrong filter or flag", REFUSED, INTERNAL],
        _ => &["0 done", "2 wrong flag", REFUSED, INTERNAL],
    }
}

/// What stands behind the options in the help of a command.
#[derive(Debug, Default, PartialEq)]
struct Behind {
    /// Sentences.
    notes: Vec<String>,
    /// Commands, a line each.
    examples: Vec<String>,
    /// The codes, and then what they mean.
    exit_codes: Vec<String>,
}

impl Behind {
    fn of(command: &Command) -> Self {
        let help = command.get_after_help().map(ToString::to_string);
        Behind::read(&help.unwrap_or_default())
    }

    /// Tells apart what the help has under each other: lines of notes, `Exit codes: …; …`, which may have several lines, and `Examples:`.
    fn read(help: &str) -> Self {
        let mut behind = Behind::default();
        let mut exit_codes: Option<String> = None;
        for line in help.lines() {
            if let Some(example) = line.strip_prefix("  ") {
                behind.examples.push(example.trim().to_owned());
            } else if let Some(codes) = line.strip_prefix("Exit codes: ") {
                exit_codes = Some(codes.to_owned());
            } else if let Some(codes) = &mut exit_codes {
                codes.push_str(&format!(" {line}"));
            } else if let Some(example) = line.strip_prefix("Example: ") {
                behind.examples.push(example.to_owned());
            } else {
                behind.notes.push(line.trim_end_matches("Examples:").trim().to_owned());
            }
        }
        let codes = exit_codes.unwrap_or_default();
        let codes = codes.split(". ").next().unwrap_or_default().trim_end_matches('.');
        behind.exit_codes = codes.split("; ").filter(|code| !code.is_empty()).map(str::to_owned).collect();
        behind
    }

    /// As sections of a man page. `general` are the exit codes of a command whose help says nothing of them.
    fn sections(&self, general: &[&str]) -> String {
        let mut out = String::new();
        if self.notes.iter().any(|note| !note.is_empty()) {
            out.push_str(".SH NOTES\n");
            self.notes.iter().for_each(|note| out.push_str(&format!("{}\n", roff(note))));
        }
        if !self.examples.is_empty() {
            // As it is: neither filled nor adjusted, which would put blanks into commands.
            out.push_str(".SH EXAMPLES\n.nf\n");
            self.examples.iter().for_each(|example| out.push_str(&format!("{}\n", roff(example))));
            out.push_str(".fi\n");
        }
        out.push_str(".SH \"EXIT STATUS\"\n");
        let own: Vec<&str> = self.exit_codes.iter().map(String::as_str).collect();
        for code in if own.is_empty() { general } else { &own } {
            let (numbers, meaning) = numbers(code);
            out.push_str(&format!(".TP\n{}\n{}\n", roff(numbers), roff(meaning)));
        }
        out
    }
}

/// The numbers that an exit code begins with, such as `129, 130 and 143`, and what they mean.
fn numbers(code: &str) -> (&str, &str) {
    let is_number =
        |word: &str| word == "and" || word.trim_end_matches(',').bytes().all(|byte| byte.is_ascii_digit());
    let len: usize = code.split_inclusive(' ').take_while(|word| is_number(word.trim())).map(str::len).sum();
    let (numbers, meaning) = code.split_at(len);
    (numbers.trim(), meaning)
}

/// A line of text that roff takes for nothing else.
fn roff(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_told_apart() {
        let behind =
            Behind::read("A is b. Examples:\n  sluss a 'b  c'\nExit codes: 0 done;\n1, 2 and 3 not. More: x");
        assert_eq!(behind.notes, ["A is b."]);
        assert_eq!(behind.examples, ["sluss a 'b  c'"]);
        assert_eq!(behind.exit_codes, ["0 done", "1, 2 and 3 not"]);
        let page = behind.sections(&[]);
        assert!(page.contains(".nf\nsluss a \\(aqb  c\\(aq\n.fi\n"), "{page}");
        assert!(page.ends_with(".SH \"EXIT STATUS\"\n.TP\n0\ndone\n.TP\n1, 2 and 3\nnot\n"), "{page}");
        let general = Behind::read("Example: sluss x").sections(&["0 done"]);
        assert!(general.contains("sluss x\n.fi") && general.ends_with(".TP\n0\ndone\n"), "{general}");
    }

    #[test]
    fn nothing_is_a_request_of_roff() {
        assert_eq!(roff(".a \\ -b 'c'"), "\\&.a \\e \\-b \\(aqc\\(aq");
    }
}
