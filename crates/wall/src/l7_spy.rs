//! `l7_spy`: finds out what the flow of each packet speaks, and writes it into the packet's metadata.
//!
//! | inputs | `south`, `north` |
//! |---|---|
//! | outputs | `north`: what came from `south`; `south`: what came from `north` |
//! | `flows` | flows that are followed at a time, 1 to 134217728; 262144 unless set. Memory is fixed: some 136 bytes each |
//! | `dpi` | `"auto"`: our own identification, and nDPI for what that leaves open, if nDPI is installed; `"own"`: the first alone; `"ndpi"`: both, or the graph is refused |
//! | `wait` | whether packets wait for nDPI, so that each run over a capture says the same; `false` unless set |
//! | `midstream` | connections that were not seen from their first segment: `"follow"`, unless set, or `"ignore"` |
//! | `tcp_idle`, `udp_idle`, `half_open`, `closed`, `active` | seconds after which flows end: without packets, of open connections (300), of others (60), before a handshake is over (10), after the end (5); since the first packet (never) |
//! | `flows_created`, `flows_now` | count flows that began, and those that are there |
//! | `flows_idle`, `flows_closed`, `flows_active`, `flows_evicted` | count flows that ended, by reason; `flows_evicted` made room for others |
//! | `identified_own`, `identified_ndpi`, `unidentified` | count flows by who has identified them; the last of those that are over |
//! | `names_lost` | counts flows with names that there was no room for, which their records lack |
//! | `no_flow` | counts packets that belong to no flow, such as ARP, broken ones, and fragments whose first is not known |
//! | `ndpi_packets` | counts packets handed to nDPI |
//! | `ndpi_full`, `ndpi_too_long`, `ndpi_quarantined` | count packets that nDPI did not get: its ring was full, they are longer than 1952 bytes, or one of their flow has broken it; they went on all the same |
//! | `ndpi_flows_lost` | counts flows that nDPI was not asked about, or forgot, for want of room or as it was started again |
//! | `ndpi_restarts` | counts how often nDPI was started again after it had crashed or hung |
//!
//! Packets go on as they came; nothing is dropped here. An [`l7_fw`](crate::L7Fw) behind it judges them by what was found. Where nDPI runs, it is in
//! a process of its own that can do nothing but answer: if it dies, packets go on, and another is started.
//!
//! ```toml
//! links = ["in.output -> spy.south", "spy.north -> out.input"]
//!
//! [app.spy]
//! type = "l7_spy"
//! flows = 1000000
//! ```

use crate::ledger::{Ledger, Outcomes};
use crate::spy::{Settings, Spy, SpyError, Tag};
use dpi::worker::{Options, WorkerError};
use engine::shm::Counter;
use engine::{
    App, Burst, Class, Input, Io, OptionError, Output, Packet, Passage, Ports, Reporting, Roles, Setup,
};
use flow::{EndReason, Secret, Timeouts};
use serde::Deserialize;
use wire::LinkType;

/// Options of `l7_spy`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct L7Spy {
    /// Flows at a time.
    pub flows: usize,
    /// Who identifies.
    pub dpi: Dpi,
    /// Whether packets wait for nDPI.
    pub wait: bool,
    /// What becomes of connections without a beginning.
    pub midstream: Midstream,
    /// Seconds without packets after which an open TCP connection is over.
    pub tcp_idle: f64,
    /// The same of all that is not TCP.
    pub udp_idle: f64,
    /// Seconds after which a handshake is given up.
    pub half_open: f64,
    /// Seconds for which a connection that is over is remembered.
    pub closed: f64,
    /// Seconds after which a flow is told of and begins anew.
    pub active: Option<f64>,
    /// Where flows are told of.
    #[serde(skip)]
    pub ledger: Option<Ledger>,
    /// What flows turned out to be when the same packets were looked at before.
    #[serde(skip)]
    pub outcomes: Option<Outcomes>,
    /// A library of nDPI in place of the one that headers were found for, and faults: for tests.
    #[serde(skip)]
    pub ndpi: NdpiOptions,
}

/// Options of nDPI's worker that differ from the usual ones.
#[derive(Clone, Debug, Default)]
pub struct NdpiOptions(pub Option<Options>);

/// They are given by tests alone, which change nothing while a graph runs.
impl PartialEq for NdpiOptions {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

/// Who identifies flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dpi {
    /// Our own identification, and nDPI if it can be used.
    #[default]
    Auto,
    /// Our own alone.
    Own,
    /// Both; without nDPI nothing starts.
    Ndpi,
}

/// What becomes of TCP connections that were not seen from their first segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Midstream {
    /// They are flows like others.
    #[default]
    Follow,
    /// They are no flows.
    Ignore,
}

const SECOND: f64 = 1e9;

impl Default for L7Spy {
    fn default() -> Self {
        let timeouts = Timeouts::default();
        let seconds = |ns: u64| ns as f64 / SECOND;
        L7Spy {
            flows: 1 << 18,
            dpi: Dpi::default(),
            wait: false,
            midstream: Midstream::default(),
            tcp_idle: seconds(timeouts.idle_tcp),
            udp_idle: seconds(timeouts.idle_udp),
            half_open: seconds(timeouts.half_open),
            closed: seconds(timeouts.closed),
            active: None,
            ledger: None,
            outcomes: None,
            ndpi: NdpiOptions::default(),
        }
    }
}

impl L7Spy {
    /// For captures: every run says the same.
    #[must_use]
    pub fn for_captures() -> Self {
        L7Spy { wait: true, ..L7Spy::default() }
    }

    fn settings(&self, asks_ndpi: bool) -> Settings {
        let ns = |seconds: f64| (seconds * SECOND) as u64;
        let timeouts = Timeouts {
            idle_tcp: ns(self.tcp_idle),
            idle_udp: ns(self.udp_idle),
            half_open: ns(self.half_open),
            closed: ns(self.closed),
            active: self.active.map_or(Timeouts::NEVER, ns),
        };
        // A capture is looked at in the same way each time, down to which flow makes room for which.
        let secret = if self.wait { Secret::from_seed(0) } else { Secret::random() };
        let midstream = match self.midstream {
            Midstream::Follow => flow::Midstream::Established,
            Midstream::Ignore => flow::Midstream::Ignored,
        };
        let flows =
            flow::Settings { capacity: self.flows, timeouts, midstream, secret, ..flow::Settings::default() };
        Settings {
            flows,
            ndpi: asks_ndpi.then(|| self.ndpi.0.clone().unwrap_or_else(|| self.worker_options())),
            waits: self.wait,
            ledger: self.ledger.clone(),
            outcomes: self.outcomes.clone(),
            ..Settings::default()
        }
    }
}

impl L7Spy {
    /// Flows are never named by their ports. On captures packets wait for the worker, which therefore counts as much as who waits.
    fn worker_options(&self) -> Options {
        let usual = Options::default();
        Options { guess: false, nice: if self.wait { 0 } else { usual.nice }, ..usual }
    }
}

/// Packets that are looked at together.
const BURST: usize = 64;
/// The same on captures, where each burst waits for nDPI once: all that a link holds.
const BURST_THAT_WAITS: usize = engine::link::CAPACITY;
/// How often nDPI is listened to while no packets come, and flows are ended that have timed out, in nanoseconds.
const LISTEN_EVERY_NS: u64 = 10_000_000;

/// A running `l7_spy`.
#[derive(Debug)]
pub struct Running {
    spy: Spy,
    counters: Counters,
    /// Why nDPI is not asked, if it is not.
    without_ndpi: Option<String>,
    waits: bool,
    now_ns: u64,
    /// When flows were looked at last that may have timed out.
    rested_ns: u64,
}

#[derive(Debug)]
struct Counters {
    created: Counter,
    now: Counter,
    ended: [(EndReason, Counter); 4],
    own: Counter,
    ndpi: Counter,
    unidentified: Counter,
    names_lost: Counter,
    no_flow: Counter,
    ndpi_packets: Counter,
    ndpi_full: Counter,
    ndpi_too_long: Counter,
    ndpi_quarantined: Counter,
    ndpi_lost: Counter,
    ndpi_restarts: Counter,
}

impl Counters {
    fn new(setup: &mut Setup<'_>) -> Self {
        let mut counter = |name: &str| setup.counter(name);
        Counters {
            created: counter("flows_created"),
            ended: [
                (EndReason::Idle, counter("flows_idle")),
                (EndReason::Closed, counter("flows_closed")),
                (EndReason::Active, counter("flows_active")),
                (EndReason::Evicted, counter("flows_evicted")),
            ],
            own: counter("identified_own"),
            ndpi: counter("identified_ndpi"),
            unidentified: counter("unidentified"),
            names_lost: counter("names_lost"),
            no_flow: counter("no_flow"),
            ndpi_packets: counter("ndpi_packets"),
            ndpi_full: counter("ndpi_full"),
            ndpi_too_long: counter("ndpi_too_long"),
            ndpi_quarantined: counter("ndpi_quarantined"),
            ndpi_lost: counter("ndpi_flows_lost"),
            ndpi_restarts: counter("ndpi_restarts"),
            now: setup.gauge("flows_now"),
        }
    }

    fn set(&self, spy: &Spy) {
        let flows = spy.counters();
        self.created.set(flows.created);
        self.now.set(spy.flows() as u64);
        for (why, counter) in &self.ended {
            counter.set(flows.ended(*why));
        }
        let identified = spy.identified();
        self.own.set(identified.tier1);
        self.ndpi.set(identified.ndpi);
        self.unidentified.set(identified.nobody);
        self.names_lost.set(spy.names_lost());
        self.no_flow.set(flows.packets - flows.in_flows);
        if let Some((worker, unasked)) = spy.tier2() {
            self.ndpi_packets.set(worker.submitted);
            self.ndpi_full.set(worker.ring_full);
            self.ndpi_too_long.set(worker.too_long);
            self.ndpi_quarantined.set(worker.quarantined);
            self.ndpi_lost.set(worker.lost + worker.evicted + unasked);
            self.ndpi_restarts.set(worker.respawns);
        }
    }
}

impl Class for L7Spy {
    const TYPE: &'static str = "l7_spy";
    const INPUTS: Ports = Ports::Named(&["south", "north"]);
    const OUTPUTS: Ports = Ports::Named(&["south", "north"]);
    const PASSAGE: Passage = Passage::Across;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        let seconds = [
            ("tcp_idle", Some(self.tcp_idle)),
            ("udp_idle", Some(self.udp_idle)),
            ("half_open", Some(self.half_open)),
            ("closed", Some(self.closed)),
            ("active", self.active),
        ];
        OptionError::check_range("flows", self.flows, 1..=flow::table::CAPACITY_MAX)?;
        OptionError::all(
            seconds
                .into_iter()
                .filter_map(|(option, value)| Some((option, value?)))
                .map(|(option, value)| OptionError::check_range(option, value, 0.001..=31_536_000.0)),
        )
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let wrong = |error: &SpyError| match error {
            SpyError::Table(_) => OptionError::new("flows", error),
            _ => OptionError::new("dpi", error),
        };
        let (spy, without_ndpi) = match (self.dpi, Spy::new(self.settings(self.dpi != Dpi::Own))) {
            (_, Ok(spy)) => (spy, None),
            (Dpi::Auto, Err(SpyError::Worker(why))) => {
                let spy = Spy::new(self.settings(false)).map_err(|error| wrong(&error))?;
                (spy, Some(without(&why)))
            }
            (_, Err(error)) => return Err(wrong(&error)),
        };
        Ok(Running {
            spy,
            counters: Counters::new(setup),
            without_ndpi,
            waits: self.wait,
            now_ns: setup.now_ns,
            rested_ns: setup.now_ns,
        })
    }
}

fn without(why: &WorkerError) -> String {
    format!("nDPI is not asked: {why}; what our own identification leaves open stays unknown")
}

/// Ports, in the order of the class.
const SOUTH: usize = 0;
const NORTH: usize = 1;

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::TICK).and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.now_ns = io.now_ns;
        self.pass(&mut io.inputs[SOUTH], &mut io.outputs[NORTH]);
        self.pass(&mut io.inputs[NORTH], &mut io.outputs[SOUTH]);
        // At the end of a capture, the report comes before another tick does.
        if self.waits {
            self.counters.set(&self.spy);
        }
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        let quiet_ns = io.now_ns.saturating_sub(self.now_ns);
        if io.now_ns.saturating_sub(self.rested_ns) >= LISTEN_EVERY_NS {
            self.rested_ns = io.now_ns;
            self.spy.rest(quiet_ns);
        }
        if quiet_ns >= LISTEN_EVERY_NS {
            self.spy.poll();
        }
        self.spy.tell_open();
        self.counters.set(&self.spy);
    }

    fn stop(&mut self, _: &mut Io<'_>) {
        self.spy.finish();
        self.counters.set(&self.spy);
    }

    fn reporting(&self) -> Option<&dyn Reporting> {
        Some(self)
    }
}

impl Reporting for Running {
    fn report(&self) -> Option<String> {
        self.without_ndpi.clone()
    }
}

impl Running {
    fn pass(&mut self, input: &mut Input, output: &mut Output) {
        if self.waits {
            while let Some(mut burst) = input.burst_of_at_most(BURST_THAT_WAITS) {
                let (mut views, mut tags) = (vec![NOTHING; burst.len()], vec![Tag::default(); burst.len()]);
                self.look(&burst, &mut views, &mut tags);
                drop(views);
                write_tags(&mut burst, &tags);
                output.send(burst);
            }
        }
        while let Some(mut burst) = input.burst_of_at_most(BURST) {
            let mut tags = [Tag::default(); BURST];
            self.look(&burst, &mut [NOTHING; BURST], &mut tags);
            write_tags(&mut burst, &tags);
            output.send(burst);
        }
    }

    /// Finds a tag for each packet. There are as many views and tags, or more.
    fn look<'a>(&mut self, packets: &'a [Packet], views: &mut [flow::Packet<'a>], tags: &mut [Tag]) {
        for (view, packet) in views.iter_mut().zip(packets) {
            let metadata = packet.metadata();
            *view = flow::Packet {
                frame: packet.data(),
                linktype: LinkType::new(metadata.linktype.into()),
                time_ns: metadata.timestamp_ns,
                wire_len: packet.wire_len(),
            };
        }
        self.spy.burst(&views[..packets.len()], tags);
    }
}

/// Writes what is known of packets into their metadata.
fn write_tags(burst: &mut Burst<'_>, tags: &[Tag]) {
    for (packet, tag) in burst.iter_mut().zip(tags) {
        let metadata = packet.metadata_mut();
        metadata.application = tag.protocol;
        metadata.master = tag.master;
        metadata.flow_packets = tag.packets;
    }
}

/// In the place of a packet to look at.
const NOTHING: flow::Packet<'static> =
    flow::Packet { frame: &[], linktype: LinkType::EN10MB, time_ns: 0, wire_len: 0 };

#[cfg(test)]
mod tests;
