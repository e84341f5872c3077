//! `sluss wall filter`: packets accepted, dropped or rejected by what their flows speak.

use super::ran::{self, How, Ran};
use crate::args::{Dpi, Kind, LogLevel, WallFilterArgs};
use crate::blame::Blame;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::reader::print_at_end;
use crate::terminal::Terminal;
use apps::Sink;
use engine::{Config, Graph};
use io::PcapWriter;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wall::ledger::{Ledger, Outcomes, Wanted};
use wall::rules::{RuleError, Rules, TEXT_MAX};
use wall::{L7Fw, L7Spy, Log};

const FIREWALL: &str = "fw";
/// Replies to rejected packets from a device, at most.
const REPLIES_PER_SECOND: u64 = 1000;

/// Runs the command.
pub(crate) fn run(args: &WallFilterArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.look.dpi == Dpi::Exact {
        return Err(Failure::user("`--dpi exact` counts flows as ndpiReader does, and filters nothing")
            .help("leave it out, or use `sluss wall spy`"));
    }
    let rules = rules(args)?;
    let outputs = [(ran::ACCEPTED, &args.output), (ran::TOLD, &args.reject)];
    let outputs: Vec<_> =
        outputs.into_iter().filter_map(|(app, path)| Some((app, path.as_deref()?))).collect();
    let how = How { from: &args.from, duration: args.duration, cpu: args.cpu, terminal, outputs: &outputs };
    let outcomes = match args.offline.then(|| outcomes(args, &how)).transpose()? {
        Some((_, Some(signal))) => return Ok(Outcome::Interrupted(signal)),
        outcomes => outcomes.map(|(outcomes, _)| outcomes),
    };
    let ledger = Ledger::new(Wanted::default());
    let mut memory = ran::MemoryNote::default();
    let ran = how.run(&graph(args, &rules, outcomes, ledger.clone())?, |_| {
        memory.tell(&args.from, &ledger, terminal);
        Ok(())
    })?;
    ran::tell_last_words(&ran, terminal);
    tell_limited(&ran, terminal);
    let told = Told::of(&ran);
    let mut text = if args.print_report { told.report() } else { String::new() };
    if args.json {
        text += &told.object();
    }
    let printed = print_at_end(&text, &ran.signals);
    ran.ended.outcome(printed, ran.signals.signal())
}

/// Tells of replies that were not made.
fn tell_limited(ran: &Ran, terminal: &Terminal) {
    let [limited, no_packet] =
        ["replies_limited", "replies_no_packet"].map(|name| ran.counter(FIREWALL, name));
    if limited + no_packet > 0 {
        terminal.tell(&Message::warning(format_args!(
            "{limited} replies to rejected packets were over the limit of {REPLIES_PER_SECOND} a second, and {no_packet} had no memory"
        )));
    }
}

/// The text of the rules, in which nothing is wrong.
fn rules(args: &WallFilterArgs) -> Result<String, Failure> {
    let (name, text) = match (&args.rules, &args.rules_file) {
        (_, Some(path)) => (path.display().to_string(), read(path)?),
        (Some(text), None) => ("the rules".to_owned(), text.clone()),
        (None, None) => {
            return Err(Failure::user("no rules given")
                .help("-e \"{ HTTP = 'reject', default = 'accept' }\", or -f FILE"));
        }
    };
    Rules::read(&text).map_err(|error| wrong(&name, &error))?;
    Ok(text)
}

fn read(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let failed = |error: &std::io::Error| {
        let failure = Failure::world(format_args!("cannot read the rules of {name}: {error}"));
        failure.if_missing(path, error)
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    // One byte more than there may be, whatever kind of file it is.
    file.take(TEXT_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() > TEXT_MAX {
        return Err(Failure::user(format_args!("{name}: rules have {TEXT_MAX} bytes at most")));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::user(format_args!("{name}: rules are text in UTF-8, and this is not")))
}

/// What is wrong with rules, with the line and what is meant in it.
fn wrong(name: &str, error: &RuleError) -> Failure {
    let (line, column) = error.place;
    let shown: String = error.line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let room = shown.chars().count().saturating_sub(column - 1).max(1);
    let marked = "^".repeat(error.span.len().clamp(1, room));
    let mut text =
        format!("error: {name}: {}\n  | {shown}\n  | {}{marked}", error.message, " ".repeat(column - 1));
    if let Some(help) = &error.help {
        text += &format!("\nhelp: {help}");
    }
    let object = json!({
        "code": "CL002", "severity": "error", "message": error.message, "line": line, "column": column,
        "span": [error.span.start, error.span.end], "help": error.help,
    });
    let message = Message::found(text, json!({ "v": 1, "type": "error", "error": object }));
    Failure { message, blame: Blame::User }
}

/// What the flows of a capture turn out to be.
fn outcomes(args: &WallFilterArgs, how: &How<'_>) -> Result<(Outcomes, Option<i32>), Failure> {
    let is_file = Path::new(&args.from.name).is_file();
    if args.from.kind != Kind::Pcap
        || !is_file && Path::new(&args.from.name).exists()
        || args.from.name == "-"
    {
        return Err(
            Failure::user("`--offline` reads a capture twice, and this can be read once").help("name a file")
        );
    }
    let ledger = Ledger::new(Wanted { identified: false, ended: true });
    let mut graph = ran::graph(&args.from, ran::spy(&args.from, &args.look, ledger.clone()))?;
    ran::add(&mut graph, "sink", Config::new(Sink {}))?;
    ran::link(&mut graph, "spy.north -> sink.input")?;
    let mut outcomes = Outcomes::default();
    let first = How { duration: None, ..*how };
    let ran = first.run(&graph, |_| {
        outcomes.add(&ledger.take_ended());
        Ok(())
    })?;
    outcomes.add(&ledger.take_ended());
    Ok((outcomes, ran.signals.signal()))
}

fn graph(
    args: &WallFilterArgs,
    rules: &str,
    outcomes: Option<Outcomes>,
    ledger: Ledger,
) -> Result<Graph, Failure> {
    let spy = L7Spy { outcomes, ..ran::spy(&args.from, &args.look, ledger) };
    let firewall = L7Fw {
        local_mac: args.mac,
        local_ipv4: args.ipv4,
        local_ipv6: args.ipv6,
        log: if args.log == LogLevel::On { Log::On } else { Log::Off },
        // Of a capture, replies go into a file: nobody is flooded.
        reject_pps: if args.from.kind == Kind::Pcap { u64::MAX } else { REPLIES_PER_SECOND },
        ..L7Fw::new(rules)
    };
    let mut graph = ran::graph(&args.from, spy)?;
    ran::add(&mut graph, FIREWALL, Config::new(firewall))?;
    ran::link(&mut graph, "spy.north -> fw.input")?;
    for (port, path) in [("output", &args.output), ("reject", &args.reject)] {
        let app = if port == "output" { ran::ACCEPTED } else { ran::TOLD };
        let config = match path {
            Some(path) => Config::new(PcapWriter { path: path.clone(), ..PcapWriter::default() }),
            None => Config::new(Sink {}),
        };
        ran::add(&mut graph, app, config)?;
        ran::link(&mut graph, &format!("fw.{port} -> {app}.input"))?;
    }
    Ok(graph)
}

/// What became of the packets.
struct Told {
    accepted: u64,
    rejected: u64,
    dropped: u64,
    bytes: u64,
    seconds: f64,
}

impl Told {
    fn of(ran: &Ran) -> Told {
        let counter = |name| ran.counter(FIREWALL, name);
        let into = ran.ended.report.links.iter().find(|link| link.link.to.app == FIREWALL);
        Told {
            accepted: counter("accepted"),
            rejected: counter("rejected"),
            dropped: counter("dropped"),
            bytes: into.map_or(0, |link| link.txbytes),
            seconds: ran.seconds,
        }
    }

    fn total(&self) -> u64 {
        self.accepted + self.rejected + self.dropped
    }

    /// As SnabbWall prints it.
    fn report(&self) -> String {
        let percent = |count: u64| (count * 100).div_ceil(self.total().max(1));
        let [accepted, rejected, dropped] =
            [self.accepted, self.rejected, self.dropped].map(|count| (count, percent(count)));
        let bps = (self.bytes * 8) as f64 / self.seconds.max(1e-9);
        format!(
            "Accepted packets: {} ({}%)\nRejected packets: {} ({}%)\nDropped packets:  {} ({}%)\nFirewall stats:\nbytes: {} packets: {} bps: {}\n",
            accepted.0,
            accepted.1,
            rejected.0,
            rejected.1,
            dropped.0,
            dropped.1,
            with_commas(self.bytes),
            with_commas(self.total()),
            with_commas(bps as u64),
        )
    }

    fn object(&self) -> String {
        let object = json!({
            "v": 1,
            "type": "wall.filter",
            "total": self.total(),
            "accepted": self.accepted,
            "rejected": self.rejected,
            "dropped": self.dropped,
        });
        format!("{object}\n")
    }
}

/// A number with a comma between its thousands.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(with_commas(number), text);
        }
    }

    #[test]
    fn shares_are_rounded_up_and_those_of_nothing_are_0() {
        let told =
            |accepted, rejected, dropped| Told { accepted, rejected, dropped, bytes: 1500, seconds: 1.0 };
        assert_eq!(
            told(48, 7, 0).report(),
            "Accepted packets: 48 (88%)\nRejected packets: 7 (13%)\nDropped packets:  0 (0%)\nFirewall stats:\nbytes: 1,500 packets: 55 bps: 12,000\n"
        );
        assert!(told(0, 0, 0).report().starts_with("Accepted packets: 0 (0%)\n"));
    }
}
