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
use capture::Input;
use dpi::protocol::Naming;
use engine::Config;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;
use wall::ledger::{Ledger, RECORDS_MAX, Wanted};
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
    check_eve(args)?;
    let mut told = Live { args, naming: naming(args), stats: Stats::default() };
    let how = How { from: &args.from, duration: args.duration, cpu: None, terminal, outputs: &[] };
    let mut kept = Kept { lists, ..Kept::default() };
    let mut memory = ran::MemoryNote::default();
    let ran = how.run(&graph, |elapsed| {
        memory.tell(&args.from, &ledger, terminal);
        told.tell(&ledger, elapsed)?;
        if let Some(view) = &mut view {
            view.show(&ledger, elapsed, naming(args))?;
        }
        kept.take(&ledger, args)
    })?;
    told.tell(&ledger, Duration::ZERO)?;
    kept.take(&ledger, args)?;
    ran::tell_last_words(&ran, terminal);
    let untold = ledger.untold() + kept.untold;
    if untold > 0 {
        terminal
            .tell(&Message::warning(format_args!("{untold} flows more are not listed: too many to keep")));
    }
    let mut text = kept.written(args);
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

/// A file of records must not be the capture that is read.
fn check_eve(args: &SpyArgs) -> Result<(), Failure> {
    let Some(eve) = args.eve.as_deref().filter(|_| args.from.kind == Kind::Pcap) else { return Ok(()) };
    let input = Path::new(&args.from.name);
    let input = if input == Path::new("-") { Input::Stdin } else { Input::File(input.to_owned()) };
    if input.is_same_file(eve) {
        return Err(Failure::lost_input(format_args!("--eve {} is the capture that is read", eve.display())));
    }
    Ok(())
}

/// What is kept of flows that are over, and where they are written.
#[derive(Default)]
struct Kept<'a> {
    /// Whether they are told of at the end.
    lists: bool,
    records: Vec<Record>,
    protocols: Protocols,
    /// Records that there was no room for.
    untold: u64,
    eve: Option<Eve<'a>>,
}

impl<'a> Kept<'a> {
    /// Takes records of flows that are over. The file for them is made when the packets have begun to come, so that nothing is lost where they do not.
    fn take(&mut self, ledger: &Ledger, args: &'a SpyArgs) -> Result<(), Failure> {
        let ended = ledger.take_ended();
        if let (None, Some(path)) = (&self.eve, &args.eve) {
            self.eve = Some(Eve::create(path)?);
        }
        if let Some(eve) = &mut self.eve {
            eve.write(&ended)?;
        }
        if !self.lists {
            return Ok(());
        }
        if by_protocol(args) {
            ended.iter().for_each(|record| self.protocols.add(record));
            return Ok(());
        }
        let room = RECORDS_MAX.saturating_sub(self.records.len());
        self.untold += ended.len().saturating_sub(room) as u64;
        self.records.extend(ended.into_iter().take(room));
        Ok(())
    }

    /// All of it, in the form that was asked for.
    fn written(mut self, args: &SpyArgs) -> String {
        if !self.lists {
            return String::new();
        }
        if by_protocol(args) {
            return protocols(self.protocols.sorted(naming(args)).into_iter(), args.tsv);
        }
        self.records.sort_unstable_by_key(|record| record.number);
        written(&self.records, args)
    }
}

/// Whether protocols are told of, and not flows.
fn by_protocol(args: &SpyArgs) -> bool {
    args.tsv || (args.json && !args.flows)
}

/// A line, or more, for each flow, in the form that was asked for.
pub(super) fn written(records: &[Record], args: &SpyArgs) -> String {
    let naming = naming(args);
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

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::writing(&self.path.display().to_string(), error)
    }
}
