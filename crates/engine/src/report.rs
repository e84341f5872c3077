//! Reports: the counts of apps, links and pools, and whether they agree.
//!
//! ```text
//! total = free + queued + held + lent       allocated = freed + queued + held + lent
//! freed = delivered + the drops by reason   of each link: sent = received + queued
//! ```
//!
//! Sums that differ are in `Report::imbalances`. A report is for the end of a run and for tests; who watches a run reads the
//! file of counters (`shm`), which asks no worker.

use crate::app::DeviceFacts;
use crate::drops;
use crate::graph::Link;
use crate::link::{Input, Output, Ring};
use crate::shm::{EntryKind, Histogram};
use crate::worker::{AppState, LastWords, Task, Worker};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that an engine has counted since it was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Breaths of all workers.
    pub breaths: u64,
    /// Apps, by name.
    pub apps: BTreeMap<String, AppReport>,
    /// Links, in the order of the graph.
    pub links: Vec<LinkReport>,
    /// Packets that were dropped, by reason, those of apps and links that are gone included.
    pub drops: BTreeMap<String, u64>,
    /// Packets that have served their purpose.
    pub delivered: u64,
    /// Packets that were lost before they came in, as the kernel had no room for them. They are in no other number.
    pub missed: u64,
    /// Packet memory, of all workers.
    pub pool: PoolReport,
    /// Sums that differ; empty in a sound engine.
    pub imbalances: Vec<String>,
}

/// State and counts of an app.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppReport {
    /// Its class.
    pub class: Cow<'static, str>,
    /// Whether it runs.
    pub state: AppState,
    /// How often it was started again.
    pub restarts: u64,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// The worker it runs on.
    pub worker: usize,
    /// Time in its methods, in nanoseconds: its usual turn, of the breaths that were timed, times all turns. All apps of a worker together have taken
    /// no more than its thread.
    pub busy_ns: u64,
    /// The time that half, and 99 %, of its turns did not exceed, in nanoseconds.
    pub turn_ns: Option<(u64, u64)>,
    /// Packets that it keeps.
    pub held: usize,
    /// Its numbers, and the drops that the engine counts for it; those that are zero included.
    pub counters: Vec<(String, EntryKind, u64)>,
    /// Its own report, [`Reporting::report`](crate::Reporting::report).
    pub text: Option<String>,
    /// Whether that tells of a [failure](crate::Reporting::has_failed).
    pub has_failed: bool,
    /// How it works, if it is a [device](crate::Device).
    pub device: Option<DeviceFacts>,
}

/// Counts of a link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkReport {
    /// The link.
    pub link: Link,
    /// Packets sent.
    pub txpackets: u64,
    /// Bytes sent.
    pub txbytes: u64,
    /// Packets dropped because it was full.
    pub txdrop: u64,
    /// Packets received.
    pub rxpackets: u64,
    /// Packets in it.
    pub queued: usize,
}

/// Where packet memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolReport {
    /// All packets.
    pub total: usize,
    /// Those ready to be allocated.
    pub free: usize,
    /// Those in links.
    pub queued: usize,
    /// Those that apps keep.
    pub held: usize,
    /// Those whose memory devices have, to receive into or to send from.
    pub lent: usize,
    /// Allocations so far.
    pub allocated: u64,
    /// Frees so far.
    pub freed: u64,
    /// Allocations that found no packet.
    pub exhausted: u64,
}

impl AppReport {
    /// Its numbers without drops: packets that have arrived, its own counters and gauges; those that are zero included.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.counters.iter().filter(|(_, kind, _)| !kind.is_drop());
        counts.map(|(name, _, value)| (name.as_str(), *value))
    }

    /// Packets that were lost before it had them.
    pub fn missed(&self) -> u64 {
        let missed = self.counters.iter().filter(|(_, kind, _)| *kind == EntryKind::Missed);
        missed.map(|&(_, _, value)| value).sum()
    }

    /// Packets that it has dropped, or the engine for it, by reason; no reason for which there was none.
    pub fn drops(&self) -> impl Iterator<Item = (&str, u64)> {
        let drops = self.counters.iter().filter(|(_, kind, value)| kind.is_drop() && *value > 0);
        drops.map(|(name, _, value)| (name.as_str(), *value))
    }
}

impl Report {
    /// Adds what apps had to report when they were stopped.
    pub fn add_last_words(&mut self, words: impl IntoIterator<Item = (String, LastWords)>) {
        for (app, last) in words {
            if let Some(app) = self.apps.get_mut(&app) {
                app.text = Some(last.text);
                app.has_failed |= last.has_failed;
                if last.has_failed {
                    // What had seemed to be delivered may have been lost.
                    app.counters = last.counters;
                }
            }
        }
    }

    /// Whether every packet is accounted for: `total = free + queued + held + lent`, `allocated = delivered + drops + queued + held + lent`,
    /// and `sent = received + queued` for every link.
    pub fn balanced(&self) -> bool {
        self.imbalances.is_empty()
    }

    /// Where so many packets may be that are missing, in words: apps have taken them and neither sent, dropped or delivered them, nor
    /// say that they keep them; or apps kept some in this report. `None` if nothing of that is so.
    ///
    /// Packets that an app makes or copies are counted nowhere, so that such an app may have lost more than this tells.
    pub fn suspects(&self, missing: usize) -> Option<String> {
        let mut open: BTreeMap<&str, i128> = BTreeMap::new();
        for (name, app) in &self.apps {
            let ends =
                app.counters.iter().filter(|(_, kind, _)| kind.is_drop() || *kind == EntryKind::Delivered);
            let ended: i128 = ends.map(|&(_, _, count)| i128::from(count)).sum();
            open.insert(name, -ended - app.held as i128);
        }
        for LinkReport { link, txpackets, txdrop, rxpackets, .. } in &self.links {
            let sent = i128::from(*txpackets) + i128::from(*txdrop);
            open.entry(&link.from.app).and_modify(|open| *open -= sent);
            open.entry(&link.to.app).and_modify(|open| *open += i128::from(*rxpackets));
        }
        open.retain(|_, open| *open > 0);
        // Of a link that another graph has replaced, the counts are gone, so that its ends seem to have lost what it carried.
        let is_likely = open.values().sum::<i128>() <= missing as i128;
        let lost =
            open.iter().filter(|_| is_likely).map(|(name, open)| format!("{open} lost by app `{name}`"));
        let kept = self.apps.iter().filter(|(_, app)| app.held > 0);
        let kept = kept.map(|(name, app)| format!("{} kept by app `{name}`", app.held));
        let lost: Vec<String> = lost.collect();
        let told = if lost.is_empty() { kept.collect() } else { lost };
        (!told.is_empty()).then(|| told.join(", "))
    }

    pub(crate) fn new<'a>(
        workers: &[Worker],
        links: impl Iterator<Item = (&'a Link, *const Ring)>,
        retired: &Retired,
    ) -> Self {
        let mut report = Report {
            breaths: workers.iter().map(Worker::breaths).sum(),
            apps: BTreeMap::new(),
            links: Vec::new(),
            drops: retired.drops.clone(),
            delivered: retired.delivered,
            missed: retired.missed,
            pool: PoolReport::default(),
            imbalances: Vec::new(),
        };
        for (index, worker) in workers.iter().enumerate() {
            report.add_pool(worker);
            for (task, busy_ns) in worker.tasks.iter().zip(worker.busy_ns()) {
                report.add_app(index, task, busy_ns);
            }
        }
        let plugs = || workers.iter().flat_map(|worker| &worker.tasks).map(|task| &task.plugs);
        let outputs = plugs().flat_map(|plugs| &plugs.outputs).map(|end| (Arc::as_ptr(end.ring()), end));
        let inputs = plugs().flat_map(|plugs| &plugs.inputs).map(|end| (Arc::as_ptr(end.ring()), end));
        let (outputs, inputs): (BTreeMap<_, _>, BTreeMap<_, _>) = (outputs.collect(), inputs.collect());
        for (link, ring) in links {
            if let (Some(output), Some(input)) = (outputs.get(&ring), inputs.get(&ring)) {
                report.add_link(link, output, input);
            }
        }
        report.drops.retain(|_, count| *count > 0);
        report.find_imbalances();
        report
    }

    fn add_pool(&mut self, worker: &Worker) {
        let pool = &worker.pool;
        self.pool.total += pool.total();
        self.pool.free += pool.available();
        self.pool.allocated = self.pool.allocated.wrapping_add(pool.allocated());
        self.pool.lent = self.pool.lent.wrapping_add(pool.lent() as usize);
        self.pool.freed += pool.freed();
        self.pool.exhausted += pool.exhausted();
        *self.drops.entry(drops::LINK_REMOVED.to_owned()).or_default() += worker.without_app();
    }

    fn add_app(&mut self, worker: usize, task: &Task, busy_ns: u64) {
        self.pool.held += task.held();
        let counters = task.told_counters();
        for (name, kind, value) in &counters {
            match kind {
                kind if kind.is_drop() => *self.drops.entry(name.clone()).or_default() += value,
                EntryKind::Delivered => self.delivered += value,
                EntryKind::Missed => self.missed += value,
                _ => {}
            }
        }
        let latency = task.latency();
        let quantile = |q| Histogram::quantile(&latency, q);
        let app = AppReport {
            class: task.config().class().name,
            state: task.state(),
            restarts: task.restarts(),
            last_error: task.last_error().map(str::to_owned),
            worker,
            busy_ns,
            turn_ns: quantile(0.5).zip(quantile(0.99)),
            held: task.held(),
            counters,
            text: task.report(),
            has_failed: task.has_failed(),
            device: task.device(),
        };
        self.apps.insert(task.name().to_owned(), app);
    }

    /// `output` and `input` are its ends: an app may have changed the places of its own.
    fn add_link(&mut self, link: &Link, output: &Output, input: &Input) {
        self.pool.queued += input.queued();
        *self.drops.entry(drops::LINK_FULL.to_owned()).or_default() += output.dropped();
        self.links.push(LinkReport {
            link: link.clone(),
            txpackets: output.sent(),
            txbytes: output.bytes(),
            txdrop: output.dropped(),
            rxpackets: input.received(),
            queued: input.queued(),
        });
    }

    fn find_imbalances(&mut self) {
        let PoolReport { total, free, queued, held, lent, allocated, freed, .. } = self.pool;
        let out = (queued + held).wrapping_add(lent);
        let known = free.wrapping_add(out);
        let suspects = total.checked_sub(known).filter(|&missing| missing > 0);
        let suspects = suspects.and_then(|missing| self.suspects(missing));
        let suspects = suspects.map_or(String::new(), |suspects| format!(" ({suspects})"));
        let mut check = |what: &str, left: u64, right: u64| {
            if left != right {
                self.imbalances.push(format!("{what}: {left} and {right}"));
            }
        };
        check(
            &format!("packets of the pools, and those free, queued, held and lent{suspects}"),
            total as u64,
            known as u64,
        );
        check(
            "packets allocated, and those freed, queued, held and lent",
            allocated,
            freed.wrapping_add(out as u64),
        );
        let ended = self.delivered + self.drops.values().sum::<u64>();
        check("packets freed, and those delivered and dropped", freed, ended);
        for link in &self.links {
            let what = format!("packets sent to, and received from or queued in, {}", link.link);
            check(&what, link.txpackets, link.rxpackets + link.queued as u64);
        }
    }
}

/// Sums over apps and links that are gone.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    pub(crate) drops: BTreeMap<String, u64>,
    pub(crate) delivered: u64,
    pub(crate) missed: u64,
}

impl Retired {
    /// Keeps what an app has counted that goes.
    pub(crate) fn add_app(&mut self, task: &Task) {
        for (name, kind, value) in task.record.entries() {
            match kind {
                kind if kind.is_drop() => *self.drops.entry(name.to_owned()).or_default() += value,
                EntryKind::Delivered => self.delivered += value,
                EntryKind::Missed => self.missed += value,
                _ => {}
            }
        }
    }
}
