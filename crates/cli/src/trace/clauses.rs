//! A packet's way through a pfmatch program: each clause that it comes to, with what its test asks.

use super::object::Parts;
use super::{Wanted, text};
use crate::args::TraceArgs;
use crate::exit::{Failure, Outcome};
use crate::language::{self, FilterText, one_line};
use crate::matches;
use crate::terminal::{Terminal, print_with};
use pflang::{Compiler, MatchTrace};
use serde_json::json;
use std::io::{self, Write};

pub(super) fn run(
    args: &TraceArgs,
    source: &FilterText,
    filters: Compiler,
    packet: &Wanted,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let options = matches::options(&args.pfmatch);
    let compiler = options.compiler(filters);
    let wrong = |error| language::wrong_filter(&compiler, &error, source, &args.language, terminal);
    let parts = compiler.parts_of_match(source).map_err(wrong)?;
    matches::check_inputs(&parts.inputs, &options)?;
    language::tell_lints(&compiler.lints_of_match(source).map_err(wrong)?, source, terminal);
    let row: Vec<u32> = options.inputs.iter().map(|(_, number)| *number).collect();
    let trace = compiler.trace_match(source, &packet.data, packet.wire_len, &row).map_err(wrong)?;
    print_with(|out| match args.json {
        true => {
            serde_json::to_writer(&mut *out, &object(args.number, source, packet, &trace))?;
            writeln!(out)
        }
        false => write(out, args.number, source, packet, &trace),
    })?;
    Ok(if trace.call.is_some() || args.no_fail { Outcome::Done } else { Outcome::NothingMatched })
}

fn write(
    out: &mut dyn Write,
    number: u64,
    source: &str,
    packet: &Wanted,
    trace: &MatchTrace,
) -> io::Result<()> {
    text::write_packet(out, number, packet)?;
    for clause in &trace.clauses {
        let answer = if clause.holds { "yes" } else { "no" };
        let depth = 2 * clause.depth;
        writeln!(out, "{:depth$}{} => {answer}", "", one_line(clause.span.text(source)))?;
        text::write_primitives(out, &clause.text, packet, &clause.test)?;
    }
    match &trace.call {
        Some(call) => writeln!(out, "  => {call}"),
        None => writeln!(out, "  => no clause takes it"),
    }
}

fn object(number: u64, source: &str, packet: &Wanted, trace: &MatchTrace) -> serde_json::Value {
    let clauses: Vec<_> = trace
        .clauses
        .iter()
        .map(|clause| {
            json!({
                "clause": clause.span.text(source),
                "span": { "start": clause.span.start, "end": clause.span.end },
                "depth": clause.depth,
                "holds": clause.holds,
                "test": Parts::new(&clause.text, packet, &clause.test),
            })
        })
        .collect();
    json!({
        "v": 1,
        "type": "trace.match",
        "program": source,
        "file": packet.file.to_string_lossy(),
        "number": number,
        "linktype": packet.linktype.to_string(),
        "captured_bytes": packet.data.len(),
        "wire_bytes": packet.wire_len,
        "clauses": clauses,
        "call": trace.call,
    })
}
