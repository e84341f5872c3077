//! The trace of a program of BPF: each instruction that was executed, with A and X behind it.
//!
//! ```text
//!   (000) ldh      [12]                            A = 2048 (0x800)     X = 0
//!   (001) jeq      #0x800           jt 2  jf 5     yes, to 2
//! ```

use super::{TraceArgs, Wanted};
use crate::args::At;
use crate::bytecode;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::language::FilterText;
use crate::terminal::print_with;
use bpf::machine::{self, Observer};
use bpf::{Format, Insn, Program};
use serde_json::{Value, json};

/// Traces a program on a packet.
pub(super) fn run(
    args: &TraceArgs,
    source: &FilterText,
    program: &Program,
    packet: &Wanted,
) -> Result<Outcome, Failure> {
    // What cannot be run is refused as everywhere; what can be jumps forward only.
    bytecode::compile(program, At::Interp)?;
    let mut steps = Steps::default();
    let end = machine::run(program.insns(), &packet.data, packet.wire_len, program.insns().len(), &mut steps);
    let listing = String::from_utf8_lossy(&program.write(Format::Listing)).into_owned();
    let lines: Vec<&str> = listing.lines().collect();
    print_with(|out| {
        if args.json {
            serde_json::to_writer(&mut *out, &object(args, source, packet, &steps, end, &lines))?;
            return writeln!(out);
        }
        let summary = wire::summary::summarize(packet.linktype, &packet.data, packet.wire_len);
        let summary = summary.going(packet.direction);
        writeln!(out, "packet {} of {}: {summary}", args.number, shown(&packet.file.to_string_lossy()))?;
        for (i, step) in steps.0.iter().enumerate() {
            let line = lines[step.pc].replace('\t', "  ");
            let told = match steps.0.get(i + 1) {
                Some(next) => format!("A = {:<22} X = {}", number(next.a), number(next.x)),
                None => ended(end, step, packet),
            };
            writeln!(out, "  {line:<46}  {}", told.trim_end())?;
        }
        writeln!(out, "  => {}", if end.accepts() { "matches" } else { "does not match" })
    })?;
    Ok(if end.accepts() || args.no_fail { Outcome::Done } else { Outcome::NothingMatched })
}

/// What was done, with the registers before.
#[derive(Default)]
struct Steps(Vec<Step>);

struct Step {
    pc: usize,
    a: u32,
    x: u32,
    /// The bytes that were read, where any were.
    load: Option<(u64, usize)>,
}

impl Observer for Steps {
    fn step(&mut self, pc: usize, _insn: Insn, a: u32, x: u32) {
        self.0.push(Step { pc, a, x, load: None });
    }

    fn load(&mut self, offset: u64, size: usize, _inside: bool) {
        if let Some(step) = self.0.last_mut() {
            step.load = Some((offset, size));
        }
    }
}

fn number(k: u32) -> String {
    if k < 10 { k.to_string() } else { format!("{k} ({k:#x})") }
}

/// What the last instruction came to.
fn ended(end: machine::Outcome, step: &Step, packet: &Wanted) -> String {
    match (end, step.load) {
        (machine::Outcome::Returned(k), _) => format!("returns {}", k as i32),
        (_, Some((offset, size))) => {
            let needed = offset + size as u64;
            format!("needs {needed} captured bytes, there are {}: rejected", packet.data.len())
        }
        _ => "divides by zero: rejected".to_owned(),
    }
}

fn object(
    args: &TraceArgs,
    source: &FilterText,
    packet: &Wanted,
    steps: &Steps,
    end: machine::Outcome,
    lines: &[&str],
) -> Value {
    let instructions: Vec<Value> = steps
        .0
        .iter()
        .enumerate()
        .map(|(i, step)| {
            let text = lines[step.pc].split_once(") ").map_or("", |(_, text)| text);
            let text: Vec<&str> = text.split_whitespace().collect();
            let (a, x) = steps.0.get(i + 1).map_or((step.a, step.x), |next| (next.a, next.x));
            json!({ "instruction": step.pc, "text": text.join(" "), "a": a, "x": x })
        })
        .collect();
    let returned = match end {
        machine::Outcome::Returned(k) => Some(k),
        _ => None,
    };
    json!({
        "v": 1,
        "type": "trace",
        "filter": source.shown(),
        "file": packet.file.to_string_lossy(),
        "number": args.number,
        "linktype": packet.linktype.to_string(),
        "captured_bytes": packet.data.len(),
        "wire_bytes": packet.wire_len,
        "instructions": instructions,
        "returned": returned,
        "matches": end.accepts(),
    })
}
