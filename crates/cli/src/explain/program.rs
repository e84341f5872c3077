//! A program of BPF in words: an instruction a line, then what it comes to.

use super::ExplainArgs;
use crate::bytecode::{self, words::words};
use crate::exit::{Failure, Outcome};
use crate::language::FilterText;
use crate::terminal::print;
use bpf::internals::Stages;
use bpf::{Format, Options, Program};
use decide::internals::ir::print::listing;
use serde_json::{Value, json};

/// Explains a program.
pub(super) fn run(args: &ExplainArgs, source: &FilterText, program: &Program) -> Result<Outcome, Failure> {
    let options = Options::default();
    let wrong = |error: bpf::Error| bytecode::wrong(&error);
    let stages = Stages::new(program, &[], &options).map_err(wrong)?;
    // Bytes in the order of the network, as the listing has them, and each check once.
    let graph = stages.checked(decide::internals::opt::Passes::CBPF, &options).map_err(wrong)?;
    let graph = listing(graph.graph(), "");
    let words = words(program.insns(), args.text.linktype);
    let listing = String::from_utf8_lossy(&program.write(Format::Listing)).replace('\t', "  ");
    if args.text.json {
        let instructions: Vec<Value> = listing
            .lines()
            .zip(&words)
            .enumerate()
            .map(|(number, (line, words))| {
                let text: Vec<&str> =
                    line.split_once(") ").map_or("", |(_, text)| text).split_whitespace().collect();
                json!({ "instruction": number, "text": text.join(" "), "words": words })
            })
            .collect();
        let object = json!({
            "v": 1,
            "type": "explain",
            "filter": source.shown(),
            "linktype": args.text.linktype.to_string(),
            "instructions": instructions,
            "graph": graph,
        });
        print(&format!("{object}\n"))?;
        return Ok(Outcome::Done);
    }
    let lines: String = listing
        .lines()
        .zip(&words)
        .map(|(line, words)| format!("{}\n", format!("{line:<46}  {words}").trim_end()))
        .collect();
    print(&format!("{lines}\nWhat it comes to, as a decision graph:\n{graph}"))?;
    Ok(Outcome::Done)
}
