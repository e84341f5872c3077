//! `make bench`: sluss against its peers, in one run, as ratios.
//!
//! Absolute figures depend on the machine and on who else uses it; ratios of interleaved runs survive that. Every
//! count is compared in every repetition before a time is believed. Suites by name: `make bench BENCH=packet`.

mod burst;
mod command;
mod drain;
mod engine;
mod engines;
mod hand;
mod list;
mod packet;
mod race;
mod report;
mod svg;
mod terms;
mod traffic;
mod workers;

use report::Report;
use std::path::Path;

type Suite = fn(&mut Report);

/// Whole commands first: a child inherits the peak memory of the process that starts it.
const SUITES: &[(&str, Suite)] = &[
    ("command", command::run),
    ("packet", packet::run),
    ("burst", burst::run),
    ("terms", terms::run),
    ("list", list::run),
    ("engine", engine::run),
    ("workers", workers::run),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some("--drain"), Some(path)) = (arguments.next().as_deref(), arguments.next()) {
        return drain::drain(&path);
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut report = Report::default();
    for (name, run) in SUITES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            eprintln!("bench: {name} …");
            run(&mut report);
        }
    }
    let machine = report::machine();
    println!("{}", report.table());
    println!("measured on: {machine}");
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let title = format!("sluss against its peers on {}", machine["processor"].as_str().unwrap_or_default());
    let written = std::fs::create_dir_all(&out)
        .and_then(|()| std::fs::write(out.join("bench.json"), format!("{:#}\n", report.json(machine))))
        .and_then(|()| std::fs::write(out.join("bench.svg"), svg::chart(&report, &title)));
    match written {
        Ok(()) => println!("written: bench/out/bench.json, bench/out/bench.svg"),
        Err(error) => eprintln!("bench: cannot write {}: {error}", out.display()),
    }
}
