//! `sluss match`: captures in; out comes which handler of a pfmatch program each packet is for.

use crate::args::{MatchArgs, PfmatchArgs, ProgramArgs};
use crate::exit::{Failure, Outcome};
use crate::filter::dump::Dump;
use crate::filter::places;
use crate::filter::plan::{Output, Plan, Selection, is_stdin_empty};
use crate::filter::run::{How, Totals, run as run_plan};
use crate::filter::scan::Limits;
use crate::filter::select::{Filters, ProgramOptions, UNCLAIMED};
use crate::language::{self, FilterText};
use crate::message::Message;
use crate::reader::print_until_signal;
use crate::terminal::Terminal;
use pflang::LinkType;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(args: &MatchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let (source, inputs) = program_and_files(args)?;
    let mut options = options(&args.pfmatch);
    check(args, &source, &options)?;
    options.handlers = args.output.iter().map(|(handler, _)| handler.clone()).collect();
    let plan = Plan::new(selections(args), inputs);
    if writes_to_stdout(&plan) && args.count {
        return Err(Failure::user("`--count` and a capture cannot both go to standard output")
            .help("write the capture to a file"));
    }
    let none = ProgramArgs::default();
    let filters =
        Filters::new(vec![&source], Some(options), &none, (&args.language, args.at, args.quiet), terminal);
    let how = How {
        is_quiet: args.quiet,
        limits: Limits::default(),
        jobs: args.jobs,
        number: args.number,
        dump: Dump::default(),
        merges: false,
        by_input: false,
        progress: args.progress,
    };
    let totals = run_plan(&plan, &filters, how, terminal)?;
    let text = match (args.json, args.count) {
        (true, _) if writes_to_stdout(&plan) => {
            terminal.tell(&Message::found(String::new(), object(&totals)));
            String::new()
        }
        (true, _) => format!("{}\n", object(&totals)),
        (false, true) => counts(&totals),
        (false, false) => String::new(),
    };
    if !text.is_empty() {
        print_until_signal(&text)?;
    }
    Ok(totals.outcome(args.no_fail))
}

/// What the flags say of a program.
pub(crate) fn options(args: &PfmatchArgs) -> ProgramOptions {
    ProgramOptions { substitutions: args.set.clone(), inputs: args.input.clone(), handlers: Vec::new() }
}

fn program_and_files(args: &MatchArgs) -> Result<(FilterText, Vec<PathBuf>), Failure> {
    let (source, files) = match (&args.program_file, args.words.split_first()) {
        (Some(path), _) => (language::text_in(path, true)?, &args.words[..]),
        (None, Some((first, files))) => (language::text(std::slice::from_ref(first), true)?, files),
        (None, None) => {
            return Err(Failure::user("no program given")
                .help("sluss match --count 'match { tcp => a, otherwise => b }' trace.pcap"));
        }
    };
    let mut inputs = args.read.clone();
    inputs.extend(files.iter().map(PathBuf::from));
    if inputs.is_empty() {
        if is_stdin_empty() {
            let help = format!(
                "name one behind the program, `sluss match {} trace.pcap`, or pipe one in",
                source.as_word()
            );
            return Err(Failure::user("no capture given").help(help));
        }
        inputs.push("-".into());
    }
    Ok((source, inputs))
}

/// Refuses outputs for handlers that the program has not, and inputs without a number. What the program is for other link types is
/// found when packets come.
fn check(args: &MatchArgs, source: &FilterText, options: &ProgramOptions) -> Result<(), Failure> {
    let compiler = options.compiler(language::compiler(LinkType::EN10MB, &args.language, args.at));
    let Ok(parts) = compiler.parts_of_match(source) else { return Ok(()) };
    check_inputs(&parts.inputs, options)?;
    let is_known =
        |handler: &str| handler == UNCLAIMED || parts.handlers.iter().any(|known| known == handler);
    match args.output.iter().find(|(handler, _)| !is_known(handler)) {
        None => Ok(()),
        Some((handler, _)) => {
            let failure = Failure::user(format_args!("the program has no handler `{handler}`"));
            Err(match &parts.handlers[..] {
                [] => failure.help("it has none"),
                known => failure.help(format_args!("its handlers are {}", known.join(", "))),
            })
        }
    }
}

/// Refuses a program of whose inputs nobody knows a number.
pub(crate) fn check_inputs(declared: &[String], options: &ProgramOptions) -> Result<(), Failure> {
    let is_given = |name: &String| options.inputs.iter().any(|(given, _)| given == name);
    declared.iter().find(|name| !is_given(name)).map_or(Ok(()), |name| {
        Err(Failure::user(format_args!("the program has an input `{name}`, which captures do not have"))
            .help(format_args!("give it a number for all packets: --input {name}=0")))
    })
}

fn selections(args: &MatchArgs) -> Vec<Selection> {
    let to = |handler: &str, output| Selection { filter: handler.to_owned().into(), output };
    match (&args.output[..], args.count || args.json) {
        ([], true) => Vec::new(),
        ([], false) => vec![to("", Output::Calls)],
        (outputs, _) => {
            outputs.iter().map(|(handler, file)| to(handler, Output::Capture(file.clone()))).collect()
        }
    }
}

fn writes_to_stdout(plan: &Plan) -> bool {
    plan.selections
        .iter()
        .filter_map(|selection| selection.output.path())
        .any(|path: &Path| places::is_stdout(path))
}

/// A line for each call, sorted by its bytes.
fn counts(totals: &Totals) -> String {
    let mut lines: Vec<String> =
        totals.calls.iter().map(|(call, packets)| format!("{call}\t{packets}\n")).collect();
    let unclaimed = totals.packets - totals.calls.total();
    if unclaimed > 0 {
        lines.push(format!("{UNCLAIMED}\t{unclaimed}\n"));
    }
    lines.sort_unstable();
    lines.concat()
}

fn object(totals: &Totals) -> serde_json::Value {
    let mut calls: Vec<_> = totals.calls.iter().collect();
    calls.sort_unstable_by(|(a, _), (b, _)| (&a.handler, &a.arguments).cmp(&(&b.handler, &b.arguments)));
    let answers: Vec<_> = calls
        .into_iter()
        .map(|(call, packets)| json!({ "handler": call.handler, "args": call.arguments, "packets": packets }))
        .collect();
    json!({ "v": 1, "type": "match", "packets": totals.packets, "answers": answers, "errors": totals.errors })
}
