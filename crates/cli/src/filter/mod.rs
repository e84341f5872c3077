//! `sluss filter`: captures in, selected packets out.
//!
//! ```text
//!  inputs ──► worker: Reader ─ batch ─► filters ─ bits ─► renderers ─ chunk ─┐ (bounded, one queue an input)
//!         ──► worker: …                                                      ├──► sinks, in the order of inputs
//! ```
//! One input is worked on in this thread, without a queue.

mod bits;
mod budget;
pub(crate) mod dump;
mod duplicates;
pub(crate) mod fields;
mod intervals;
mod kernel;
mod live;
mod losses;
mod merge;
mod misfits;
mod names;
mod objects;
pub(crate) mod opening;
pub(crate) mod places;
pub(crate) mod plan;
mod prefiltered;
pub(crate) mod progress;
mod render;
mod rotation;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod select;
mod sinks;
mod tagged;
pub(crate) mod tallies;
pub(crate) mod window;

use crate::args::FilterArgs;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::language;
use crate::message::Message;
use crate::plural::{self, counted};
use crate::reader::print_until_signal;
use crate::terminal::Terminal;
use crate::words::{self, Known};
use dump::Dump;
use intervals::Form;
use live::Captured;
use plan::{Output, Plan};
use run::{How, OfInput, Totals};
use scan::Limits;
use select::Filters;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;
use window::Window;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.live.list_interfaces {
        return live::list();
    }
    if args.fields == ["help"] {
        print_until_signal(&fields::list())?;
        return Ok(Outcome::Done);
    }
    let is_filter = |text: &str| language::is_filter(text, &args.language);
    let begins_filter = |text: &str| language::begins_filter(text, &args.language);
    let known = Known { exists: &words::exists, is_filter: &is_filter, begins_filter: &begins_filter };
    let plan = plan::plan(args, known)?;
    if let Some(path) = places::capture_on_stdout().filter(|_| !args.quiet)
        && plan.selections.iter().any(|selection| selection.output.is_text())
    {
        terminal.tell(&is_no_capture(&path));
    }
    let sources = plan.selections.iter().map(|selection| &selection.filter).collect();
    let mut filters =
        Filters::new(sources, None, &args.program, (&args.language, args.at, args.quiet), terminal);
    if args.live.interface.as_deref().is_some_and(|device| device != io::live::ANY) {
        filters = filters.of_device();
    }
    let how = How {
        is_quiet: args.quiet,
        limits: Limits {
            max: args.max_count,
            first_of_each: args.files_with_matches,
            cut: args.snaplen.filter(|snaplen| *snaplen > 0),
            window: Window { since: args.files.since, until: args.files.until, range: args.files.range },
            with_times: plan.rotation.is_some(),
            dedup: args.files.dedup,
            interval_ns: args.per_interval.map(|span| span.as_nanos() as i64),
        },
        jobs: args.jobs,
        number: args.number,
        dump: Dump::of([args.hex, args.hex_and_text, args.text]),
        merges: args.files.merge.is_some(),
        by_input: args.per_file || args.files_with_matches,
        progress: args.progress,
    };
    if args.live.interface.is_some() {
        let (totals, captured) = live::run(&plan, args, &filters, how, terminal)?;
        tell(&plan, args, terminal, &totals, Some(&captured))?;
        return Ok(captured.outcome(&totals, args, terminal));
    }
    let totals = run::run(&plan, &filters, how, terminal)?;
    tell(&plan, args, terminal, &totals, None)?;
    if let Some(hint) = tagged::hint(&plan, args, &totals) {
        terminal.tell(&hint);
    }
    Ok(totals.outcome(args.no_fail))
}

/// Standard output is a file that is called a capture, and gets text.
fn is_no_capture(path: &Path) -> Message {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = shown(&name);
    Message::warning(format_args!(
        "text goes to {name}, whose name is that of a capture: to write one, use `-o {name}` in place of `> {name}`"
    ))
}

/// The result on standard output, or a summary beside it.
fn tell(
    plan: &Plan,
    args: &FilterArgs,
    terminal: &Terminal,
    totals: &Totals,
    captured: Option<&Captured>,
) -> Result<(), Failure> {
    let summary = |plan, totals| summary(plan, totals, captured);
    let text = if args.files_with_matches {
        names_of_inputs(&totals.by_input)
    } else if args.per_file {
        let by_input = counts_of_inputs(plan, &totals.by_input, args.json);
        if args.json { format!("{by_input}{}\n", summary(plan, totals)) } else { by_input }
    } else if args.per_interval.is_some() {
        let form = if args.csv {
            Form::Csv
        } else if args.json {
            Form::Json
        } else {
            Form::Tabs
        };
        let filters: Vec<String> = plan.selections.iter().map(|selection| selection.filter.shown()).collect();
        let intervals = totals.intervals.lines(form, &filters);
        if args.json { format!("{intervals}{}\n", summary(plan, totals)) } else { intervals }
    } else if args.json && writes_to_stdout(plan) {
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
        if let Some(captured) = captured.filter(|_| !args.quiet) {
            terminal.say(&captured.in_words(plan, totals));
        } else if !args.quiet && (std::io::stderr().is_terminal() || totals.signal.is_some()) {
            terminal.say(&in_words(plan, totals, args.max_count));
        }
        String::new()
    };
    if text.is_empty() { Ok(()) } else { print_until_signal(&text) }
}

/// Whether packets go to standard output, as a capture or in lines.
fn writes_to_stdout(plan: &Plan) -> bool {
    plan.selections.iter().any(|selection| match &selection.output {
        Output::Capture(path) => places::is_stdout(path),
        output => output.is_text(),
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

/// The names of inputs in which a packet matches, each on its line.
fn names_of_inputs(inputs: &[OfInput]) -> String {
    let has_match = |input: &&OfInput| input.matched.iter().any(|&matched| matched > 0);
    inputs.iter().filter(has_match).map(|input| format!("{}\n", shown(&input.name))).collect()
}

/// A line for each input and filter: the number, the name, and the filter where there are several.
fn counts_of_inputs(plan: &Plan, inputs: &[OfInput], is_json: bool) -> String {
    let mut out = String::new();
    for OfInput { name, packets, matched } in inputs {
        let counts = plan.selections.iter().map(|selection| selection.filter.shown()).zip(matched);
        if is_json {
            let filters: Vec<_> =
                counts.map(|(filter, matched)| json!({ "filter": filter, "matched": matched })).collect();
            let object =
                json!({ "v": 1, "type": "file", "file": name, "packets": packets, "filters": filters });
            out.push_str(&format!("{object}\n"));
        } else if plan.selections.len() == 1 {
            matched.iter().for_each(|matched| out.push_str(&format!("{matched}\t{}\n", shown(name))));
        } else {
            counts.for_each(|(filter, matched)| {
                out.push_str(&format!("{matched}\t{}\t{filter}\n", shown(name)));
            });
        }
    }
    out
}

fn summary(plan: &Plan, totals: &Totals, captured: Option<&Captured>) -> serde_json::Value {
    let filters: Vec<_> = plan
        .selections
        .iter()
        .zip(&totals.matched)
        .zip(&totals.duplicates)
        .map(|((selection, matched), duplicates)| {
            let output = selection.output.path().map(Path::to_string_lossy);
            let mut object =
                json!({ "filter": selection.filter.shown(), "matched": matched, "output": output });
            if let Some(duplicates) = duplicates {
                object["duplicates"] = json!(duplicates);
            }
            object
        })
        .collect();
    let mut object = json!({
        "v": 1,
        "type": "filter",
        "packets": totals.packets,
        "filters": filters,
        "errors": totals.errors,
        "complete": totals.is_complete(),
    });
    if let Some(captured) = captured {
        object["live"] = captured.object();
    }
    object
}

/// A line for each filter. Of one that had all the matches it may have nobody counted how many there are, nor among how
/// many packets: how far the last read went says nothing.
fn in_words(plan: &Plan, totals: &Totals, max: Option<u64>) -> String {
    let selections = plan.selections.iter().zip(&totals.matched).zip(&totals.duplicates);
    let lines = selections.map(|((selection, &matched), duplicates)| {
        let left_out =
            duplicates.map_or(String::new(), |count| format!(", {} left out", counted(count, "duplicate")));
        let packets = totals.packets;
        let file = selection.output.path().filter(|path| path.as_os_str() != "-");
        let place = file.map_or(String::new(), |path| format!(" -> {}", shown(&path.to_string_lossy())));
        if max == Some(matched) {
            return format!("{} matched{left_out}{place}; stopped there (-c)", counted(matched, "packet"));
        }
        let share = if packets == 0 { 0.0 } else { matched as f64 * 100.0 / packets as f64 };
        let packets = counted(packets, "packet");
        format!(
            "{matched} of {packets} {} ({share:.1} %){left_out}{place}",
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
        let plan = Plan {
            selections: vec![selection(Output::Lines), selection(to_file)],
            inputs: vec![],
            rotation: None,
            format: None,
        };
        let mut totals = Totals::default();
        (totals.packets, totals.matched) = (200, vec![3, 1]);
        totals.duplicates = vec![None; 2];
        for (max, words) in [
            (None, "3 of 200 packets match (1.5 %)\n1 of 200 packets matches (0.5 %) -> o.pcap"),
            (Some(3), "3 packets matched; stopped there (-c)\n1 of 200 packets matches (0.5 %) -> o.pcap"),
            (Some(1), "3 of 200 packets match (1.5 %)\n1 packet matched -> o.pcap; stopped there (-c)"),
        ] {
            assert_eq!(in_words(&plan, &totals, max), words);
        }
    }
}
