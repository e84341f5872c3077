//! Man pages, from the definitions of the flags.

use crate::exit::{Failure, Outcome};
use crate::help::{self, Behind};
use crate::unwritable;
use clap::builder::Resettable;
use clap::{Arg, Command};
use std::fs;
use std::io;
use std::path::Path;

/// Writes `sluss.1`, `sluss-filter.1`, …
pub(crate) fn write(folder: &Path) -> Result<Outcome, Failure> {
    // Without a page for `sluss help run`, which shows what the page of `sluss run` does.
    let mut command = help::whole().disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder).map_err(|error| unwritable::folder(folder, "man pages", &error))?;
    Ok(Outcome::Done)
}

/// The page of a command, and those of the commands below it.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, folder)?;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let shown = command.clone().after_help(Resettable::Reset).override_usage(usage).mut_args(with_aliases);
    let man = clap_mangen::Man::new(shown).source(concat!("sluss ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)?;
    // Not adjusted at the right, which would put blanks into what is to be typed.
    let page = String::from_utf8_lossy(&page).replacen("\n.SH NAME", "\n.ad l\n.SH NAME", 1);
    let (before, version) = page.find(".SH VERSION").map_or((page.as_str(), ""), |at| page.split_at(at));
    let sections = sections(help::behind(help::path_of(command)));
    // In the locale of C, roff shows nothing for what is not ASCII.
    let page = format!("{before}{sections}{}{version}", see_also(command)).replace('…', "...");
    fs::write(folder.join(man.get_filename()), page)
}

/// With the other names of an option behind what it does, as in the help: `clap_mangen` leaves them out.
fn with_aliases(arg: Arg) -> Arg {
    let short = arg.get_visible_short_aliases().unwrap_or_default().into_iter().map(|c| format!("-{c}"));
    let long = arg.get_visible_aliases().unwrap_or_default().into_iter().map(|name| format!("--{name}"));
    let names: Vec<String> = short.chain(long).collect();
    let Some(help) = arg.get_long_help().or_else(|| arg.get_help()).filter(|_| !names.is_empty()) else {
        return arg;
    };
    let help = format!("{help} [alias: {}]", names.join(", "));
    arg.long_help(help)
}

/// What stands behind the options in the help, as sections of a man page.
fn sections(behind: &Behind) -> String {
    let mut out = String::new();
    if !behind.first.is_empty() || !behind.notes.is_empty() {
        out.push_str(".SH NOTES\n");
        behind.first.iter().for_each(|line| out.push_str(&format!("{}\n", roff(line))));
        behind.notes.iter().for_each(|note| out.push_str(&format!(".PP\n{}\n", roff(note))));
    }
    if let Some(table) = &behind.table {
        out.push_str(&format!(".SH \"{}\"\n", roff(&table.heading.to_uppercase())));
        (table.rows)().iter().for_each(|(name, meaning)| out.push_str(&item(name, meaning)));
    }
    if !behind.examples.is_empty() {
        // As it is: neither filled nor adjusted, which would put blanks into commands.
        out.push_str(".SH EXAMPLES\n.nf\n");
        behind.examples.iter().for_each(|example| out.push_str(&format!("{}\n", roff(example))));
        out.push_str(".fi\n");
    }
    if !behind.exit_codes.is_empty() {
        out.push_str(".SH \"EXIT STATUS\"\n");
        behind.exit_codes.iter().for_each(|(numbers, meaning)| out.push_str(&item(numbers, meaning)));
    }
    out
}

/// The page of all commands, and that of the language where a command takes filters.
fn see_also(command: &Command) -> String {
    let all = (command.get_name() != "sluss").then_some("sluss");
    let takes_filters = all.is_none()
        || command.get_arguments().any(|arg| arg.get_id() == "dialect" || arg.get_id() == "graph");
    let pages = all.map(|name| (name, 1)).into_iter().chain(takes_filters.then_some(("pcap\\-filter", 7)));
    let pages: Vec<String> = pages.map(|(name, section)| format!("\\fB{name}\\fR({section})")).collect();
    format!(".SH \"SEE ALSO\"\n{}\n", pages.join(", "))
}

/// A word, and what it means.
fn item(word: &str, meaning: &str) -> String {
    format!(".TP\n{}\n{}\n", roff(word), roff(meaning))
}

/// A line of text that roff takes for nothing else.
fn roff(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help::Table;

    #[test]
    fn what_is_behind_the_options_has_sections() {
        let behind = Behind {
            first: &["A is b."],
            notes: &["So."],
            table: Some(Table { heading: "Kinds", rows: || vec![("x".to_owned(), "an x".to_owned())] }),
            examples: &["sluss a 'b  c'"],
            exit_codes: &[("0", "done"), ("1, 2 and 3", "not")],
        };
        let page = sections(&behind);
        assert!(page.starts_with(".SH NOTES\nA is b.\n.PP\nSo.\n.SH \"KINDS\"\n.TP\nx\nan x\n"), "{page}");
        assert!(page.contains(".nf\nsluss a \\(aqb  c\\(aq\n.fi\n"), "{page}");
        assert!(page.ends_with(".SH \"EXIT STATUS\"\n.TP\n0\ndone\n.TP\n1, 2 and 3\nnot\n"), "{page}");
    }

    #[test]
    fn nothing_is_a_request_of_roff() {
        assert_eq!(roff(".a \\ -b 'c'"), "\\&.a \\e \\-b \\(aqc\\(aq");
    }
}
