//! `sluss bench rules`: what a packet costs in a first-match rule list, and whether the answers are those of a linear scan.

mod lists;
mod measure;
mod scan;

use crate::args::RulesBenchArgs;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural::{choose, counted};
use crate::terminal::{Terminal, print};
use classify::rules::{Isa, Key, NO_RULE, Options, Rules};
use lists::Bed;
use measure::Measured;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

/// Runs the suite.
pub(super) fn run(args: &RulesBenchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let isa = args.isa.map_or_else(Isa::best, Into::into);
    if !isa.is_here() {
        terminal.tell(&Message::warning(format!(
            "--isa {}: this processor does not have it; look-ups run with {}",
            isa.name(),
            Isa::Portable.name()
        )));
    }
    let bed = Bed::new(args)?;
    let begin = Instant::now();
    let rules = Rules::build(&bed.rules, &Options { isa, ..Options::default() })
        .map_err(|error| Failure::user(format_args!("{}: {error}", bed.name)))?;
    let build_s = begin.elapsed().as_secs_f64();
    let answers = answers(&rules, &bed.headers);
    let mismatches = scan::mismatches(&bed.rules, &bed.headers, &answers);
    let measured = measure::measure(&rules, &bed.headers);
    if let Some(path) = &args.answers {
        write_answers(path, &answers)?;
    }
    let result = result(&bed, &rules, &measured, mismatches, build_s);
    print(&if args.json {
        format!("{result}\n")
    } else {
        in_words(&bed, &rules, &measured, mismatches, build_s)
    })?;
    if mismatches > 0 {
        return Err(Failure::internal(format_args!(
            "{} of a linear scan differ",
            counted(mismatches, "answer")
        )));
    }
    Ok(Outcome::Done)
}

/// The rule of each header, once both ways of looking up agree; a header on which they do not has an answer that no scan gives.
fn answers(rules: &Rules<u32>, headers: &[Key<u32>]) -> Vec<u32> {
    let mut answers = vec![NO_RULE; headers.len()];
    rules.find_batch(headers, &mut answers);
    for (answer, header) in answers.iter_mut().zip(headers) {
        if rules.find(header).unwrap_or(NO_RULE) != *answer {
            *answer = NO_RULE - 1;
        }
    }
    answers
}

fn result(bed: &Bed, rules: &Rules<u32>, measured: &Measured, mismatches: u64, build_s: f64) -> Value {
    json!({
        "v": 1,
        "type": "bench",
        "suite": "rules",
        "rules": bed.rules.len(),
        "headers": bed.headers.len(),
        "mismatches": mismatches,
        "ns_single": super::round(measured.single_ns),
        "ns_batch": super::round(measured.batch_ns),
        "build_s": super::round(build_s),
        "bytes": rules.bytes(),
    })
}

fn in_words(bed: &Bed, rules: &Rules<u32>, measured: &Measured, mismatches: u64, build_s: f64) -> String {
    let mut text = format!(
        "{}: {:.1} ns a packet one by one, {:.1} ns in batches of {}, with {}\n",
        bed.name,
        measured.single_ns,
        measured.batch_ns,
        measure::BATCH,
        rules.isa().name()
    );
    let certificate = rules.certificate();
    let _ = writeln!(text, "built in {build_s:.3} s: {certificate}");
    for table in &certificate.tables {
        let _ = writeln!(
            text,
            "  {} by {}: at most {} and {}",
            counted(table.rules as u64, "rule"),
            counted(table.bits.into(), "bit"),
            counted(table.nodes as u64, "node"),
            counted(table.groups as u64, "group")
        );
    }
    let scanned = scan::sample_len(bed.rules.len(), bed.headers.len()) as u64;
    let _ = writeln!(
        text,
        "{} compared with a linear scan: {}",
        counted(scanned, "header"),
        format_args!("{mismatches} {}", choose(mismatches, "mismatch", "mismatches"))
    );
    text
}

/// A line for each header: the number of its rule, or `-`.
fn write_answers(path: &Path, answers: &[u32]) -> Result<(), Failure> {
    let name = path.display().to_string();
    let write = || {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        for &answer in answers {
            match answer {
                NO_RULE => writeln!(file, "-")?,
                rule => writeln!(file, "{rule}")?,
            }
        }
        file.flush()
    };
    write().map_err(|error| Failure::writing(&name, &error))
}
