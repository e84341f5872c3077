//! `make bench`: sluss against its peers, in one run, as ratios.
//!
//! Absolute figures depend on the machine and on who else uses it; ratios of interleaved runs survive that. Every
//! count is compared in every repetition before a time is believed. Suites by name: `make bench BENCH=packet`.

#[cfg(has_acl)]
mod acl;
mod agree;
mod burst;
mod bytecode;
mod command;
mod drain;
mod engine;
mod engines;
mod hand;
mod hipac;
mod kernel;
mod lines;
mod list;
mod lua;
mod mixed;
mod notes;
mod packet;
mod program;
mod race;
mod report;
mod rules;
mod sets;
mod short;
mod snabb;
mod svg;
mod terms;
mod traffic;
mod wall;
mod workers;

use report::Report;
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

/// What is measured together.
struct Suite {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Report),
}

/// Whole commands first: a child inherits the peak memory of the process that starts it.
#[rustfmt::skip]
const SUITES: &[Suite] = &[
    Suite { name: "command", about: "`sluss filter` against tcpdump and the least C that does the work", run: command::run },
    Suite { name: "packet", about: "one packet a call, hot in cache", run: packet::run },
    Suite { name: "burst", about: "a burst of packets a call", run: burst::run },
    Suite { name: "bytecode", about: "libpcap's bytecode run here, against the same filters as text and against bpf_filter", run: bytecode::run },
    Suite { name: "terms", about: "filters of many terms, from text to code, and per packet", run: terms::run },
    Suite { name: "list", about: "ordered lists of filters, of which the first that matches decides", run: list::run },
    Suite { name: "sets", about: "sets of addresses against tries of other crates, a hash set, and the binary tree of 2007", run: sets::run },
    Suite { name: "program", about: "pfmatch programs of many clauses on addresses", run: program::run },
    Suite { name: "rules", about: "first-match rule lists against librte_acl, whose lists SLUSS_CLASSBENCH names a folder of", run: rules::run },
    Suite { name: "notes", about: "the rule list of 2007 from 16 to 16384 addresses, against librte_acl and the kernel's firewalls; a chart", run: notes::run },
    Suite { name: "lua", about: "filters as Lua in LuaJIT, against the Lua of pflua, a checkout of which SLUSS_PFLUA names", run: lua::run },
    Suite { name: "snabb", about: "networks of apps in Lua, and filters in a loop of Lua, against Snabb, a checkout of which SLUSS_SNABB names", run: snabb::run },
    Suite { name: "engine", about: "networks of apps against loops written by hand", run: engine::run },
    Suite { name: "wall", about: "the wall against the least C that finds a verdict, and against ndpiReader", run: wall::run },
    Suite { name: "workers", about: "one network on one worker and on two", run: workers::run },
];

fn main() -> ExitCode {
    // The wall's suite starts this program again as the process in which nDPI runs.
    dpi::worker::enter();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Task::of(&arguments) {
        Ok(Task::Help) => println!("{}", help()),
        Ok(Task::Drain(path)) => drain::drain(path),
        Ok(Task::Agree(folder)) => {
            if let Err(message) = agree::run(Path::new(folder)) {
                eprintln!("bench: {message}");
                return ExitCode::FAILURE;
            }
        }
        Ok(Task::Chart(path)) => return print_chart(chart(path)),
        Ok(Task::ShortChart(paths)) => return print_chart(short_chart(&paths)),
        Ok(Task::Run(suites)) => run(&suites),
        Err(message) => {
            eprintln!("bench: {message}\n\n{}", help());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn print_chart(chart: Result<String, String>) -> ExitCode {
    match chart {
        Ok(chart) => {
            print!("{chart}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::from(2)
        }
    }
}

/// What the arguments ask for.
enum Task<'a> {
    Help,
    /// Decodes a file and does nothing else: what a suite starts as a peer.
    Drain(&'a str),
    /// Compares the answers of rule lists with those of others.
    Agree(&'a str),
    /// Draws the chart of an earlier run, of which this is the JSON, on standard output.
    Chart(&'a str),
    /// Draws the README's chart of runs, of which these are the JSON, on standard output.
    ShortChart(Vec<&'a str>),
    /// Runs suites, in their own order.
    Run(Vec<&'static Suite>),
}

impl<'a> Task<'a> {
    fn of(arguments: &'a [String]) -> Result<Self, String> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if let ["--drain", path] = words[..] {
            return Ok(Task::Drain(path));
        }
        if let ["--agree", folder] = words[..] {
            return Ok(Task::Agree(folder));
        }
        if let ["--chart", path] = words[..] {
            return Ok(Task::Chart(path));
        }
        if let ["--chart-short", paths @ ..] = &words[..]
            && !paths.is_empty()
        {
            return Ok(Task::ShortChart(paths.to_vec()));
        }
        if words.iter().any(|word| ["--help", "-h"].contains(word)) {
            return Ok(Task::Help);
        }
        let is_known = |word: &str| SUITES.iter().any(|suite| suite.name == word);
        match words.iter().find(|word| !is_known(word)) {
            Some(flag) if flag.starts_with('-') => Err(format!("there is no option `{flag}`")),
            Some(name) => Err(format!("there is no suite `{name}`")),
            None => {
                let is_wanted = |suite: &&Suite| words.is_empty() || words.contains(&suite.name);
                Ok(Task::Run(SUITES.iter().filter(is_wanted).collect()))
            }
        }
    }
}

fn help() -> String {
    let list: String = SUITES.iter().map(|suite| format!("  {:<8} {}\n", suite.name, suite.about)).collect();
    format!(
        "Usage: bench [SUITE]...\n\n\
         Measures sluss against its peers, in one run, as ratios. Suites, all of which run unless some are named:\n\
         {list}\n\
         Results go to standard output, bench/out/bench.json and bench/out/bench.svg.\n\
         `bench --chart FILE.json` draws the chart of an earlier run on standard output, `bench --chart-short FILE.json...` that of the README.\n\
         `bench --agree FOLDER` compares what rule lists answer for 20 million headers with a scan and with librte_acl; the folder has ClassBench's lists."
    )
}

fn title(machine: &Value) -> String {
    format!("sluss against its peers on {}", machine["processor"].as_str().unwrap_or_default())
}

fn chart(path: &str) -> Result<String, String> {
    let (report, machine) = read(path)?;
    Ok(svg::chart(&report, &title(&machine)))
}

fn short_chart(paths: &[&str]) -> Result<String, String> {
    let runs = paths.iter().map(|path| Ok(read(path)?.0)).collect::<Result<Vec<_>, String>>()?;
    short::chart(&runs)
}

/// The ratios of an earlier run, and its machine.
fn read(path: &str) -> Result<(Report, Value), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let run: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    Ok((Report::of_json(&run), run["machine"].clone()))
}

fn run(suites: &[&Suite]) {
    let mut report = Report::default();
    for suite in suites {
        eprintln!("bench: {} …", suite.name);
        (suite.run)(&mut report);
    }
    let machine = report::machine();
    println!("{}", report.table());
    println!("measured on: {machine}");
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let title = title(&machine);
    let written = std::fs::create_dir_all(&out)
        .and_then(|()| std::fs::write(out.join("bench.json"), format!("{:#}\n", report.json(machine))))
        .and_then(|()| std::fs::write(out.join("bench.svg"), svg::chart(&report, &title)));
    match written {
        Ok(()) => println!("written: bench/out/bench.json, bench/out/bench.svg"),
        Err(error) => eprintln!("bench: cannot write {}: {error}", out.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::{SUITES, Task, help};

    /// The names of the suites that run, or what is told instead.
    fn asked(arguments: &str) -> Result<Vec<&'static str>, String> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        match Task::of(&arguments)? {
            Task::Help => Err("help".to_owned()),
            Task::Drain(path) => Err(format!("drain {path}")),
            Task::Agree(folder) => Err(format!("agree {folder}")),
            Task::Chart(path) => Err(format!("chart {path}")),
            Task::ShortChart(paths) => Err(format!("short chart {paths:?}")),
            Task::Run(suites) => Ok(suites.iter().map(|suite| suite.name).collect()),
        }
    }

    #[test]
    fn suites_are_chosen_by_name() {
        assert_eq!(asked("").unwrap().len(), SUITES.len());
        assert_eq!(asked("burst packet burst").unwrap(), ["packet", "burst"]);
        for (arguments, told) in [
            ("pakket", "there is no suite `pakket`"),
            ("packet pakket", "there is no suite `pakket`"),
            ("--fast", "there is no option `--fast`"),
            ("--drain", "there is no option `--drain`"),
            ("--drain a.pcap", "drain a.pcap"),
            ("--agree lists", "agree lists"),
            ("--chart a.json", "chart a.json"),
            ("--chart-short a.json b.json", "short chart [\"a.json\", \"b.json\"]"),
            ("--chart-short", "there is no option `--chart-short`"),
            ("-h", "help"),
            ("packet --help", "help"),
        ] {
            assert_eq!(asked(arguments), Err(told.to_owned()), "{arguments}");
        }
        let help = help();
        assert!(SUITES.iter().all(|suite| help.contains(suite.name)), "{help}");
    }
}
