//! `sluss filter`: captures in, selected packets out.
//!
//! ```text
//!  inputs ──► worker: Reader ─ batch ─► filters ─ bits ─► renderers ─ chunk ─┐ (bounded, one queue an input)
//!         ──► worker: …                                                      ├──► sinks, in the order of inputs
//! ```
//! One input is worked on in this thread, without a queue.

mod bits;
mod budget;
pub(crate) mod fields;
mod losses;
mod misfits;
mod names;
mod opening;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod progress;
mod render;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod select;
mod sinks;
pub(crate) mod tallies;

use crate::args::FilterArgs;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::language;
use crate::message::Message;
use crate::plural::{self, counted};
use crate::reader::print_until_signal;
use crate::terminal::Terminal;
use crate::words::{self, Known};
use plan::{Output, Plan};
use run::{How, Totals};
use select::Filters;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.fields == ["help"] {
        print_until_signal(&fields::list())?;
        return Ok(Outcome::Done);
    }
    let is_filter = |text: &str| language::is_filter(text, &args.language);
    let begins_filter = |text: &str| language::begins_filter(text, &args.language);
    let known = Known { exists: &words::exists, is_filter: &is_filter, begins_filter: &begins_filter };
    let plan = plan::plan(args, known)?;
    let sources = plan.selections.iter().map(|selection| &selection.filter).collect();
    let filters = Filters::new(sources, None, &args.program, (&args.language, args.at, args.quiet), terminal);
    let how = How {
        is_quiet: args.quiet,
        max: args.max_count,
        jobs: args.jobs,
        number: args.number,
        progress: args.progress,
    };
    let totals = run::run(&plan, &filters, how, terminal)?;
    tell(&plan, args, terminal, &totals)?;
    Ok(totals.outcome(args.no_fail))
}

/// The result on standard output, or a summary beside it.
fn tell(plan: &Plan, args: &FilterArgs, terminal: &Terminal, totals: &Totals) -> Result<(), Failure> {
    let text = if args.json && writes_to_stdout(plan) {
        // Behind packets it is one line too many, and would damage a capture.
        if !args.quiet {
            terminal.tell(&Message::found(String::new(), summary(plan, totals)));
        }
        String::new()
    } else if args.json {
        format!("{}\n", summary(plan, totals))
    } else if args.count {
        counts(plan, totals)
    } else {
        if !args.quiet && (std::io::stderr().is_terminal() || totals.signal.is_some()) {
            terminal.say(&in_words(plan, totals, args.max_count));
        }
        String::new()
    };
    if text.is_empty() { Ok(()) } else { print_until_signal(&text) }
}

/// Whether packets go to standard output, as a capture or in lines.
fn writes_to_stdout(plan: &Plan) -> bool {
    plan.selections.iter().any(|selection| match &selection.output {
        Output::Count => false,
        Output::Capture(path) => places::is_stdout(path),
        Output::Lines | Output::Calls | Output::Fields(_) | Output::Json => true,
    })
}

/// One filter: exactly one number. Several: a number, a tab and the filter on each line.
fn counts(plan: &Plan, totals: &Totals) -> String {
    match plan.selections.as_slice() {
        [_] => format!("{}\n", totals.matched[0]),
        selections => selections
            .iter()
            .zip(&totals.matched)
            .map(|(selection, matched)| format!("{matched}\t{}\n", selection.filter.shown()))
            .collect(),
    }
}

fn summary(plan: &Plan, totals: &Totals) -> serde_json::Value {
    let filters: Vec<_> = plan
        .selections
        .iter()
        .zip(&totals.matched)
        .map(|(selection, matched)| {
            let output = selection.output.path().map(Path::to_string_lossy);
            json!({ "filter": selection.filter.shown(), "matched": matched, "output": output })
        })
        .collect();
    json!({
        "v": 1,
        "type": "filter",
        "packets": totals.packets,
        "filters": filters,
        "errors": totals.errors,
        "complete": totals.is_complete(),
    })
}

/// A line for each filter. Of one that had all the matches it may have nobody counted how many there are, nor among how
/// many packets: how far the last read went says nothing.
fn in_words(plan: &Plan, totals: &Totals, max: Option<u64>) -> String {
    let lines = plan.selections.iter().zip(&totals.matched).map(|(selection, &matched)| {
        let packets = totals.packets;
        let file = selection.output.path().filter(|path| path.as_os_str() != "-");
        let place = file.map_or(String::new(), |path| format!(" -> {}", shown(&path.to_string_lossy())));
        if max == Some(matched) {
            return format!("{} matched{place}; stopped there (-c)", counted(matched, "packet"));
        }
        let share = if packets == 0 { 0.0 } else { matched as f64 * 100.0 / packets as f64 };
        let packets = counted(packets, "packet");
        format!(
            "{matched} of {packets} {} ({share:.1} %){place}",
            plural::choose(matched, "matches", "match")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Selection;

    #[test]
    fn a_share_is_told_of_what_was_read_to_its_end() {
        let selection = |output| Selection { filter: "tcp".to_owned().into(), output };
        let to_file = Output::Capture("o.pcap".into());
        let plan = Plan { selections: vec![selection(Output::Lines), selection(to_file)], inputs: vec![] };
        let mut totals = Totals::default();
        (totals.packets, totals.matched) = (200, vec![3, 1]);
        for (max, words) in [
            (None, "3 of 200 packets match (1.5 %)\n1 of 200 packets matches (0.5 %) -> o.pcap"),
            (Some(3), "3 packets matched; stopped there (-c)\n1 of 200 packets matches (0.5 %) -> o.pcap"),
            (Some(1), "3 of 200 packets match (1.5 %)\n1 packet matched -> o.pcap; stopped there (-c)"),
        ] {
            assert_eq!(in_words(&plan, &totals, max), words);
        }
    }
}
