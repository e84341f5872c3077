//! `sluss wall spy`: which protocol each flow speaks.

use super::ran::{self, How};
use super::view::View;
use crate::args::{Dpi, Kind, SpyArgs};
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::reader::{print_at_end, print_beside_packets};
use crate::table::{Column, Table};
use crate::terminal::{Terminal, columns};
use crate::units::nanoseconds;
use crate::unwritable;
use apps::Sink;
use dpi::protocol::Naming;
use engine::Config;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;
use wall::ledger::{Ledger, Wanted};
use wall::record::Record;
use wall::report::{self, Protocols, Tally};

/// How often rates are printed with --live.
const STATS_EVERY: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &SpyArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.look.dpi == Dpi::Exact {
        return super::exact::run(args, terminal);
    }
    // Who watches wants no list at the end.
    let lists = !(args.live || args.top);
    let ledger = Ledger::new(Wanted { identified: args.live, ended: lists || args.eve.is_some() });
    let mut graph = ran::graph(&args.from, ran::spy(&args.from, &args.look, ledger.clone()))?;
    ran::add(&mut graph, "sink", Config::new(Sink {}))?;
    ran::link(&mut graph, "spy.north -> sink.input")?;
    let mut view = args.top.then(View::new).transpose()?;
    let mut eve = args.eve.as_deref().map(Eve::create).transpose()?;
    let mut told = Live { args, naming: naming(args), stats: Stats::default() };
    let how = How { from: &args.from, duration: args.duration, cpu: None, terminal, outputs: &[] };
    let mut records = Vec::new();
    let mut has_told_memory = false;
    let ran = how.run(&graph, |elapsed| {
        if args.from.kind != Kind::Pcap && !has_told_memory && ledger.memory() > 0 {
            has_told_memory = true;
            let megabytes = ledger.memory().div_ceil(1 << 20);
            terminal.tell(&Message::note(format_args!(
                "flows and their identification take {megabytes} MiB at most"
            )));
        }
        told.tell(&ledger, elapsed)?;
        if let Some(view) = &mut view {
            view.show(&ledger, elapsed, naming(args))?;
        }
        keep(&ledger, args, &mut eve, &mut records)
    })?;
    told.tell(&ledger, Duration::ZERO)?;
    keep(&ledger, args, &mut eve, &mut records)?;
    if let Some(eve) = eve {
        eve.close()?;
    }
    ran::tell_last_words(&ran, terminal);
    if ledger.untold() > 0 {
        let untold = ledger.untold();
        terminal
            .tell(&Message::warning(format_args!("{untold} flows more are not listed: too many to keep")));
    }
    records.sort_unstable_by_key(|record| record.number);
    let mut text = if lists { written(&records, args) } else { String::new() };
    if args.stats {
        text += &told.stats.line(ledger.looked_at(), ran.seconds);
    }
    let printed = print_at_end(&text, &ran.signals);
    ran.ended.outcome(printed, ran.signals.signal())
}

/// Whose names, where nobody has said.
pub(super) fn naming(args: &SpyArgs) -> Naming {
    let is_snabbwalls = !(args.table || args.json || args.tsv);
    args.names.map_or(if is_snabbwalls { Naming::Snabbwall } else { Naming::Ndpi }, Naming::from)
}

/// Writes records of flows that are over where they are wanted; keeps them if they are told of at the end.
fn keep(
    ledger: &Ledger,
    args: &SpyArgs,
    eve: &mut Option<Eve<'_>>,
    records: &mut Vec<Record>,
) -> Result<(), Failure> {
    let ended = ledger.take_ended();
    if let Some(eve) = eve {
        eve.write(&ended)?;
    }
    if !(args.live || args.top) {
        records.extend(ended);
    }
    Ok(())
}

/// All flows, in the form that was asked for.
pub(super) fn written(records: &[Record], args: &SpyArgs) -> String {
    let naming = naming(args);
    if args.tsv || (args.json && !args.flows) {
        let mut tallies = Protocols::default();
        records.iter().for_each(|record| tallies.add(record));
        return protocols(tallies.sorted(naming).into_iter(), args.tsv);
    }
    if args.json {
        return records.iter().map(|record| format!("{}\n", report::object(record, naming))).collect();
    }
    if args.table {
        return table(records, naming);
    }
    records.iter().map(|record| format!("{}\n", report::snabbwall(record, naming))).collect()
}

/// A line for each protocol: an object, or fields with tabulators between them.
pub(super) fn protocols<'a>(protocols: impl Iterator<Item = (&'a str, Tally)>, is_tsv: bool) -> String {
    let line = |(name, tally): (&str, Tally)| {
        let Tally { packets, bytes, flows } = tally;
        if is_tsv {
            return format!("{name}\t{packets}\t{bytes}\t{flows}\n");
        }
        let object = serde_json::json!({
            "v": 1, "type": "protocol", "name": name, "packets": packets, "bytes": bytes, "flows": flows,
        });
        format!("{object}\n")
    };
    protocols.map(line).collect()
}

fn table(records: &[Record], naming: Naming) -> String {
    let mut table = Table::new(vec![
        Column::left("protocol", 0, 0),
        Column::left("l4", 0, 5),
        Column::left("client", 0, 0),
        Column::left("server", 0, 0),
        Column::right("packets", 0, 0),
        Column::right("sent", 0, 2),
        Column::right("received", 0, 2),
        Column::right("duration", 0, 3),
        Column::left("how", 0, 4),
        Column::left("name", 0, 1),
    ])
    .with_gap(2);
    for record in records {
        let master = record.master().map(|master| format!("/{}", master.name(naming))).unwrap_or_default();
        let details = record.details.as_deref();
        table.push(vec![
            format!("{}{master}", record.verdict.protocol.name(naming)),
            record.transport_name(),
            record.ends[0].to_string(),
            record.ends[1].to_string(),
            record.total_packets().to_string(),
            record.bytes[0].to_string(),
            record.bytes[1].to_string(),
            nanoseconds(Some(record.last_ns.saturating_sub(record.first_ns))),
            record.verdict.evidence.to_owned(),
            details.and_then(|details| details.sni.as_deref()).unwrap_or_default().to_owned(),
        ]);
    }
    let width = columns(std::io::stdout());
    width.map_or_else(|| table.text(), |width| table.text_within(width))
}

/// What is printed while packets come.
struct Live<'a> {
    args: &'a SpyArgs,
    naming: Naming,
    stats: Stats,
}

impl Live<'_> {
    fn tell(&mut self, ledger: &Ledger, elapsed: Duration) -> Result<(), Failure> {
        let mut lines: String = ledger.take_identified().iter().map(|record| self.line(record)).collect();
        let is_due = elapsed.as_secs_f64() - self.stats.seconds >= STATS_EVERY.as_secs_f64();
        if self.args.stats && self.args.live && is_due {
            lines += &self.stats.line(ledger.looked_at(), elapsed.as_secs_f64());
        }
        if lines.is_empty() { Ok(()) } else { print_beside_packets(&lines) }
    }

    fn line(&self, record: &Record) -> String {
        if self.args.json {
            format!("{}\n", report::object(record, self.naming))
        } else {
            format!("{}\n", report::snabbwall(record, self.naming))
        }
    }
}

/// Packets and bytes, as SnabbWall tells of them.
#[derive(Default)]
struct Stats {
    bytes: u64,
    packets: u64,
    seconds: f64,
}

impl Stats {
    /// What came since the line before.
    fn line(&mut self, (packets, bytes): (u64, u64), seconds: f64) -> String {
        let (new_bytes, new_packets) = (bytes - self.bytes, packets - self.packets);
        let elapsed = (seconds - self.seconds).max(1e-9);
        *self = Stats { bytes, packets, seconds };
        let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
        let now = now.to_string().replace('Z', "+0000");
        let [byte_rate, packet_rate] = [new_bytes, new_packets].map(|count| count as f64 / elapsed);
        format!(
            "=== {now} === {new_bytes} Bytes, {new_packets} packets, {byte_rate:.3} B/s, {packet_rate:.3} PPS\n"
        )
    }
}

/// A file of EVE.
struct Eve<'a> {
    path: &'a Path,
    file: BufWriter<File>,
}

impl<'a> Eve<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| unwritable::capture(path, &error))?;
        Ok(Eve { path, file: BufWriter::new(file) })
    }

    fn write(&mut self, records: &[Record]) -> Result<(), Failure> {
        let written = records.iter().try_for_each(|record| writeln!(self.file, "{}", report::eve(record)));
        written.and_then(|()| self.file.flush()).map_err(|error| self.failed(&error))
    }

    fn close(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::writing(&self.path.display().to_string(), error)
    }
}
