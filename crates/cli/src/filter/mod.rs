//! `sluss filter`: captures in, selected packets out.
//!
//! ```text
//!  inputs ──► worker: Reader ─ batch ─► filters ─ bits ─► renderers ─ chunk ─┐ (bounded, one queue an input)
//!         ──► worker: …                                                      ├──► sinks, in the order of inputs
//! ```
//! One input is worked on in this thread, without a queue.

mod plan;
mod progress;
mod render;
mod run;
mod scan;
mod select;
mod sinks;

use crate::args::FilterArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;
use plan::{Output, Plan};
pub(crate) use render::capture_failure;
use run::Totals;
pub(crate) use scan::as_written;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let plan = plan::plan(args, &|word| word == "-" || Path::new(word).exists())?;
    let totals = run::run(&plan, args, terminal)?;
    tell(&plan, args, terminal, &totals)?;
    Ok(totals.outcome(args.no_fail))
}

/// The result on standard output, or a summary beside it.
fn tell(plan: &Plan, args: &FilterArgs, terminal: &Terminal, totals: &Totals) -> Result<(), Failure> {
    let text = if args.json {
        format!("{}\n", summary(plan, totals))
    } else if args.count {
        counts(plan, totals)
    } else {
        if !args.quiet && (std::io::stderr().is_terminal() || totals.signal.is_some()) {
            terminal.message(&in_words(plan, totals));
        }
        String::new()
    };
    crate::text::print(&text)
}

/// One filter: exactly one number. Several: a number, a tab and the filter on each line.
fn counts(plan: &Plan, totals: &Totals) -> String {
    match plan.selections.as_slice() {
        [_] => format!("{}\n", totals.matched[0]),
        selections => selections
            .iter()
            .zip(&totals.matched)
            .map(|(selection, matched)| format!("{matched}\t{}\n", selection.filter))
            .collect(),
    }
}

fn summary(plan: &Plan, totals: &Totals) -> serde_json::Value {
    let filters: Vec<_> = plan
        .selections
        .iter()
        .zip(&totals.matched)
        .map(|(selection, matched)| {
            let output = match &selection.output {
                Output::Capture(path) => Some(path.as_str()),
                _ => None,
            };
            json!({ "filter": selection.filter, "matched": matched, "output": output })
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

fn in_words(plan: &Plan, totals: &Totals) -> String {
    let mut text = String::new();
    for (selection, matched) in plan.selections.iter().zip(&totals.matched) {
        let packets = totals.packets;
        let share = if packets == 0 { 0.0 } else { *matched as f64 * 100.0 / packets as f64 };
        let place = match &selection.output {
            Output::Capture(path) if path != "-" => format!(" -> {path}"),
            _ => String::new(),
        };
        text.push_str(&format!("{matched} of {packets} packets match ({share:.1} %){place}\n"));
    }
    text.pop();
    text
}
