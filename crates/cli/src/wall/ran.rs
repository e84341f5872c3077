//! A graph of the wall that runs: from its source, until that is at its end, the time is over, or a signal comes.

use crate::args::{Dpi, FromArgs, Kind, LookArgs};
use crate::blame::Blame;
use crate::ended::Ended;
use crate::exit::Failure;
use crate::message::Message;
use crate::notices::Announcer;
use crate::signals::{self, Caught};
use crate::terminal::Terminal;
use crate::unwritable;
use engine::{Config, ConfigureError, Engine, Graph, OptionError, Settings};
use io::{AfPacket, PcapReader, Tap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wall::{L7Spy, ledger::Ledger};

pub(super) const SOURCE: &str = "source";
const SPY: &str = "spy";
/// Who takes what a firewall accepts, and what the ends of rejected flows are told.
pub(super) const ACCEPTED: &str = "accepted";
pub(super) const TOLD: &str = "told";

/// Packets of a capture that are brought in at a time: as many as a link holds.
const CAPTURE_BURST: usize = engine::link::CAPACITY;
/// How often what has happened is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The source of packets.
pub(super) fn source(from: &FromArgs) -> Result<Config, Failure> {
    let name = from.name.to_string_lossy();
    let path = PathBuf::from(&from.name);
    Ok(match from.kind {
        Kind::Pcap if path.is_dir() => return Err(Failure::is_folder(&path)),
        Kind::Pcap => Config::new(PcapReader { path, for_any_linktype: true, ..PcapReader::default() }),
        Kind::Raw => Config::new(AfPacket { device: name.into_owned(), ..AfPacket::default() }),
        Kind::Tap => Config::new(Tap { name: name.into_owned(), mtu: None }),
    })
}

/// The spy behind it.
pub(super) fn spy(from: &FromArgs, look: &LookArgs, ledger: Ledger) -> L7Spy {
    let base = if from.kind == Kind::Pcap { L7Spy::for_captures() } else { L7Spy::default() };
    let dpi = if look.dpi == Dpi::Own { wall::Dpi::Own } else { wall::Dpi::Auto };
    L7Spy { dpi, flows: look.flows_max.unwrap_or(base.flows), ledger: Some(ledger), ..base }
}

/// A graph in which a source feeds a spy.
pub(super) fn graph(from: &FromArgs, spy: L7Spy) -> Result<Graph, Failure> {
    let mut graph = Graph::new();
    add(&mut graph, SOURCE, source(from)?)?;
    add(&mut graph, SPY, Config::new(spy))?;
    link(&mut graph, "source.output -> spy.south")?;
    Ok(graph)
}

pub(super) fn add(graph: &mut Graph, name: &str, config: Config) -> Result<(), Failure> {
    graph.add(name, config).map(drop).map_err(|error| Failure::internal(format!("{error}")))
}

pub(super) fn link(graph: &mut Graph, link: &str) -> Result<(), Failure> {
    graph.link(link).map_err(|error| Failure::internal(format!("{error}")))
}

/// A graph that has run.
pub(super) struct Ran {
    pub(super) ended: Ended,
    pub(super) seconds: f64,
    pub(super) signals: Caught,
}

impl Ran {
    /// A counter of an app.
    pub(super) fn counter(&self, app: &str, name: &str) -> u64 {
        let counters = self.ended.report.apps.get(app).map(|app| &app.counters);
        counters.into_iter().flatten().filter(|(known, ..)| known == name).map(|(.., count)| count).sum()
    }
}

/// How a graph is run.
pub(super) struct How<'a> {
    pub(super) from: &'a FromArgs,
    pub(super) duration: Option<Duration>,
    pub(super) cpu: Option<usize>,
    pub(super) terminal: &'a Terminal,
    /// Files that apps write.
    pub(super) outputs: &'a [(&'static str, &'a Path)],
}

impl How<'_> {
    /// Runs a graph to its end; `look` is called now and then.
    pub(super) fn run(
        &self,
        graph: &Graph,
        mut look: impl FnMut(Duration) -> Result<(), Failure>,
    ) -> Result<Ran, Failure> {
        let usual = Settings::new().map_err(Failure::no_engine)?;
        // Each burst of a capture waits for nDPI once.
        let burst = if self.from.kind == Kind::Pcap { CAPTURE_BURST } else { usual.burst };
        let settings = Settings { burst, cores: self.cpu.into_iter().collect(), ..usual };
        let mut engine = Engine::new(settings).map_err(Failure::no_engine)?;
        engine.configure(graph).map_err(|error| self.refused(&error))?;
        let signals = signals::caught(signals::ENDING)?;
        let name = self.from.name.to_string_lossy();
        let mut announcer = Announcer::new(&engine, self.terminal).calling(SOURCE, &name);
        let begin = Instant::now();
        let limit = self.duration.unwrap_or(Duration::MAX);
        let mut failed = None;
        let ran = engine.run_until(|status| {
            announcer.announce();
            if let Err(failure) = look(status.elapsed) {
                failed = Some(failure);
                return None;
            }
            let left = limit.saturating_sub(status.elapsed);
            (!left.is_zero() && signals.signal().is_none()).then(|| left.min(LOOK_EVERY))
        });
        ran.map_err(Failure::no_engine)?;
        let seconds = begin.elapsed().as_secs_f64();
        let ended = Ended::stop(&mut engine);
        announcer.announce_last();
        match failed {
            Some(failure) => Err(failure),
            None => Ok(Ran { ended, seconds, signals }),
        }
    }

    fn refused(&self, error: &ConfigureError) -> Failure {
        let ConfigureError::App { app, error, .. } = error else { return Failure::world(error) };
        let OptionError { option, message, detail, fault, .. } = &**error;
        let failure = Failure::of_option((*fault).into(), message, detail.as_deref());
        match (&app[..], option.as_deref()) {
            (SOURCE, Some("path")) => failure.about_capture(Path::new(&self.from.name)),
            (name, Some("path")) => match self.outputs.iter().find(|(app, _)| *app == name) {
                Some((_, path)) => unwritable::with_help(failure, path),
                None => failure,
            },
            _ => failure,
        }
    }
}

/// The note of how much memory flows take, where they come from a device.
#[derive(Default)]
pub(super) struct MemoryNote {
    is_told: bool,
}

impl MemoryNote {
    pub(super) fn tell(&mut self, from: &FromArgs, ledger: &Ledger, terminal: &Terminal) {
        if from.kind != Kind::Pcap && !self.is_told && ledger.memory() > 0 {
            self.is_told = true;
            let megabytes = ledger.memory().div_ceil(1 << 20);
            terminal.tell(&Message::note(format_args!(
                "flows and their identification take {megabytes} MiB at most"
            )));
        }
    }
}

/// What was left out of identification, in words.
const LEFT_OUT: [(&str, &str); 7] = [
    ("flows_evicted", "flows made room for others: more of them are followed with --flows-max"),
    ("names_lost", "flows have names that there was no room for: their records lack them"),
    ("ndpi_full", "packets did not reach nDPI: it had not caught up"),
    ("ndpi_too_long", "packets did not reach nDPI: they are too long for it"),
    ("ndpi_quarantined", "packets did not reach nDPI: one of their flow had made it crash or hang"),
    ("ndpi_flows_lost", "flows were lost to nDPI: too many at a time, or it was started again"),
    ("ndpi_restarts", "times nDPI was started again: it had crashed or hung"),
];

/// Tells on standard error what apps have to say at the end.
pub(super) fn tell_last_words(ran: &Ran, terminal: &Terminal) {
    for (counter, what) in LEFT_OUT {
        let count = ran.counter(SPY, counter);
        if count > 0 {
            terminal.tell(&Message::warning(format_args!("{count} {what}")));
        }
    }
    for app in [ACCEPTED, TOLD] {
        let count = ran.counter(app, "wrong_linktype");
        if count > 0 {
            terminal.tell(&Message::warning(format_args!(
                "{count} packets were not written: a pcap file holds one link type; name it .pcapng"
            )));
        }
    }
    for app in ran.ended.report.apps.values() {
        for line in app.text.iter().flat_map(|text| text.lines()) {
            terminal.tell(&match app.has_failed {
                true => Message::error(Blame::Damage, line),
                false => Message::warning(line),
            });
        }
    }
}
