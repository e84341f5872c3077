//! An app of one's own, and a program that runs graphs with it: `dedup GRAPH.toml`.
//!
//! `dedup` drops packets that were seen before, byte for byte: what a switch sends twice to a mirror port, once for
//! each port that a packet passes.
//!
//! | inputs | `input` |
//! |---|---|
//! | outputs | `output` |
//! | `window` | among how many packets a packet is looked for: the last ones that passed; 1 to 1048576, 1024 unless set |
//! | `duplicate` | counts packets that were dropped |
//! | `remembered` | gauge: packets in the window |

use engine::shm::{Counter, Segment};
use engine::{App, Burst, Class, Engine, Io, OptionError, Reconfigured, Report, Settings, Setup};
use graphfile::GraphFile;
use serde::Deserialize;
use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

/// Options of `dedup`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Dedup {
    /// Among how many packets a packet is looked for.
    window: usize,
}

impl Default for Dedup {
    fn default() -> Self {
        Dedup { window: 1024 }
    }
}

impl Class for Dedup {
    const TYPE: &'static str = "dedup";
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("window", self.window, 1..=1 << 20)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            seen: Window::new(self.window),
            duplicate: setup.rejects("duplicate"),
            remembered: setup.gauge("remembered"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _old: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.seen.resize(self.window);
        Ok(Reconfigured::Kept)
    }
}

/// A running `dedup`.
struct Running {
    seen: Window,
    duplicate: Counter,
    remembered: Counter,
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst_of_at_most(Burst::SIFTED) {
            let duplicates = io.outputs[0].sift(burst, |packet| self.seen.is_new(packet.data()));
            io.pool.free_burst(duplicates, &self.duplicate);
        }
        self.remembered.set(self.seen.order.len() as u64);
    }
}

/// Hashes of the last packets that were new. No two are equal: a packet whose hash is here is not new.
struct Window {
    size: usize,
    hasher: RandomState,
    hashes: HashSet<u64>,
    /// The same hashes, the oldest first.
    order: VecDeque<u64>,
}

impl Window {
    fn new(size: usize) -> Self {
        let (hashes, order) = (HashSet::with_capacity(size + 1), VecDeque::with_capacity(size + 1));
        Window { size, hasher: RandomState::new(), hashes, order }
    }

    /// Whether a packet is none of the last; it is remembered then.
    fn is_new(&mut self, packet: &[u8]) -> bool {
        let hash = self.hasher.hash_one(packet);
        if !self.hashes.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        self.forget_all_but(self.size);
        true
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        self.forget_all_but(size);
        self.hashes.reserve(size + 1 - self.hashes.len());
        self.order.reserve(size + 1 - self.order.len());
    }

    fn forget_all_but(&mut self, count: usize) {
        let excess = self.order.len().saturating_sub(count);
        for hash in self.order.drain(..excess) {
            self.hashes.remove(&hash);
        }
    }
}

fn main() -> ExitCode {
    match program() {
        Ok(report) => {
            print!("{}", in_words(&report));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn program() -> Result<Report, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: dedup GRAPH.toml")?;
    let graph = std::fs::read_to_string(path)?;
    // Counters in a file of this name, where `sluss top` finds them.
    let settings = Settings::with_counters(Segment::of_instance("dedup")?);
    run(&graph, settings)
}

/// Runs a graph until all its packets have arrived.
pub(crate) fn run(graph: &str, settings: Settings) -> Result<Report, Box<dyn Error>> {
    let registry = apps::registry().and(io::registry()).with::<Dedup>();
    let file = GraphFile::parse(graph, &registry)?;
    let mut engine = Engine::new(settings)?;
    engine.configure(&file.graph)?;
    engine.run(|_| true)?;
    let report = engine.report();
    engine.stop();
    Ok(report)
}

pub(crate) fn in_words(report: &Report) -> String {
    let Report { delivered, drops, imbalances, .. } = report;
    format!("{delivered} packets delivered; dropped: {drops:?}; what does not add up: {imbalances:?}\n")
}

#[cfg(test)]
mod tests {
    use super::Dedup;
    use engine::Class;
    use testkit::rig::Rig;

    fn rig(window: usize) -> Rig {
        Rig::new(Dedup { window }, &["input"], &["output"])
    }

    #[test]
    fn what_was_seen_is_dropped_and_counted() {
        let mut rig = rig(1024);
        assert_eq!(rig.pass(&[b"a", b"b", b"a", b"a"]), [b"a", b"b"]);
        assert_eq!(rig.pass(&[b"b", b"c"]), [b"c"], "in another breath");
        assert_eq!(rig.counter("duplicate"), 3);
        assert_eq!(rig.counter("remembered"), 3);
    }

    #[test]
    fn what_left_the_window_is_new() {
        let mut rig = rig(2);
        assert_eq!(rig.pass(&[b"a", b"b", b"c", b"a", b"c"]), [b"a", b"b", b"c", b"a"]);
        rig.reconfigure(Dedup { window: 1 });
        assert_eq!(rig.pass(&[b"a", b"c", b"c"]), [b"c"], "a reload keeps what is known");
    }

    #[test]
    fn every_packet_is_accounted_for() {
        let mut rig = rig(4096);
        for number in 0..3000_u16 {
            rig.send("input", (number / 2).to_be_bytes());
        }
        (0..5).for_each(|_| rig.breathe());
        let report = rig.report();
        assert!(report.balanced(), "{:?}", report.imbalances);
        assert_eq!((report.delivered, &report.drops), (1500, &[("duplicate".to_owned(), 1500)].into()));
    }

    #[test]
    fn options_are_checked() {
        let error = Dedup { window: 0 }.check().unwrap_err();
        assert_eq!(error.to_string(), "`window`: 0 is not between 1 and 1048576");
    }
}
