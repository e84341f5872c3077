//! Two samples of one instance, and what happened between them.
//!
//! A rate is `None` where there is none to tell: no time has passed, the app or link is new or another one took its place
//! (the epochs differ), or a counter went backwards, which those of a sound engine never do. Numbers come from a file that
//! may say anything: sums saturate, nothing here panics, and nothing takes more than n log n steps.

use engine::AppState;
use engine::shm::{EntryKind, Histogram, RecordKind, RecordView, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Bytes that a packet takes on an Ethernet beside those that are counted: preamble and start of frame (8), checksum (4),
/// gap (12); IEEE 802.3.
pub const WIRE_OVERHEAD_BYTES: u64 = 24;

/// The counters of an instance, and when they were read.
#[derive(Clone, Debug)]
pub struct Sample {
    /// On a clock that never goes back.
    pub at: Duration,
    /// The CPU time of the process until then, if known.
    pub cpu: Option<Duration>,
    /// The counters.
    pub snapshot: Snapshot,
}

/// What happened between two samples.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// The time between them.
    pub interval: Duration,
    /// Which graph it runs: 1 is the first.
    pub generation: u64,
    /// Packets that a pull brings in at most.
    pub burst: u64,
    /// The CPU time that the process took of the interval, all threads and system calls included: 1 is all of one core.
    pub cpu: Option<f64>,
    /// Packets that have come to their end, delivered or dropped, of all workers.
    pub packets: u64,
    /// The same, per second.
    pub packets_per_s: Option<f64>,
    /// By index.
    pub workers: Vec<WorkerRates>,
    /// By name.
    pub apps: Vec<AppRates>,
    /// By name.
    pub links: Vec<LinkRates>,
    /// Drops of all apps and links, by reason; those never seen are left out.
    pub drops: Vec<DropRate>,
    /// Drops per second, for whatever reason.
    pub drops_per_s: Option<f64>,
}

/// What a worker did.
#[derive(Clone, Debug, Default)]
pub struct WorkerRates {
    /// Its index.
    pub index: u32,
    /// Breaths per second.
    pub breaths_per_s: Option<f64>,
    /// How long a breath took.
    pub breath: Option<Quantiles>,
    /// The share of its time that its apps took, 0 to 1; 0 where it has none.
    pub cpu: Option<f64>,
    /// The share of a core that its thread took, 0 to 1, sleeping and waiting left out.
    pub thread_cpu: Option<f64>,
    /// Packets of its pool.
    pub pool_total: u64,
    /// Those ready to be allocated.
    pub pool_free: u64,
    /// Allocations per second that found no packet.
    pub exhausted_per_s: Option<f64>,
    /// The turn that it was in; `None` between turns.
    pub turn: Option<Turn>,
}

/// The turn of an app in which a worker was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The app.
    pub app: String,
    /// When the breath began in which the app has this turn, in nanoseconds since 1970-01-01 UTC.
    pub since_unix_ns: u64,
}

impl Turn {
    /// A turn that takes longer holds up all other apps of its worker so that people notice. A thread that waits for its core is held up by
    /// less.
    const LASTS: Duration = Duration::from_millis(100);

    /// How long the turn lasts, for a clock that shows `now_unix_ns`; `None` if it is as short as turns are.
    pub fn lasts(&self, now_unix_ns: u64) -> Option<Duration> {
        let lasts = Duration::from_nanos(now_unix_ns.saturating_sub(self.since_unix_ns));
        Some(lasts).filter(|&lasts| lasts >= Self::LASTS)
    }
}

/// What an app did.
#[derive(Clone, Debug)]
pub struct AppRates {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// The worker it runs on.
    pub worker: u32,
    /// Whether it runs.
    pub state: AppState,
    /// How often it was started again.
    pub restarts: u64,
    /// The share of its worker's time that it took, 0 to 1: its usual turn, of the breaths that were timed, times all turns. All apps of a worker
    /// together take no more than its thread.
    pub cpu: Option<f64>,
    /// Packets per second from all its inputs.
    pub rx_per_s: Option<f64>,
    /// Packets per second to all its outputs.
    pub tx_per_s: Option<f64>,
    /// Packets in a breath (those it received, or sent if it has no inputs), as a share of the burst. More than 1 where bursts of several apps meet, or
    /// a link from another worker is emptied.
    pub fill: Option<f64>,
    /// How long a turn took.
    pub turn: Option<Quantiles>,
    /// What it counts beside drops: packets that have arrived, its own counters and gauges; also what is zero.
    pub counters: Vec<CounterRate>,
    /// What it dropped, by reason; those never seen are left out.
    pub drops: Vec<DropRate>,
    /// Drops per second, for whatever reason.
    pub drops_per_s: Option<f64>,
}

/// A number that an app keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRate {
    /// Its name.
    pub name: String,
    /// What it is now.
    pub total: u64,
    /// By how much it grows, per second; none of a gauge, which also falls.
    pub per_s: Option<f64>,
}

/// What a link carried.
#[derive(Clone, Debug)]
pub struct LinkRates {
    /// Its name: `a.output -> b.input`.
    pub name: String,
    /// Packets sent, ever.
    pub txpackets: u64,
    /// Packets received, ever.
    pub rxpackets: u64,
    /// Packets sent per second.
    pub tx_per_s: Option<f64>,
    /// Packets received per second.
    pub rx_per_s: Option<f64>,
    /// Bits sent per second, those of the packets only.
    pub bits_per_s: Option<f64>,
    /// Bits per second that they would take on an Ethernet: see [`WIRE_OVERHEAD_BYTES`].
    pub wire_bits_per_s: Option<f64>,
    /// Packets that the sender sent in a breath, as a share of the burst; more than 1 as for apps.
    pub fill: Option<f64>,
    /// What was dropped, by reason: it was full.
    pub drops: Vec<DropRate>,
    /// Drops per second, for whatever reason.
    pub drops_per_s: Option<f64>,
}

/// Packets dropped for a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRate {
    /// The reason.
    pub reason: String,
    /// How many, ever.
    pub total: u64,
    /// How many per second.
    pub per_s: Option<f64>,
    /// Whether it is what the app is for: packets that a filter rejects.
    pub is_purpose: bool,
}

impl DropRate {
    /// Whether packets are being lost that were to arrive.
    pub fn is_alarming(&self) -> bool {
        !self.is_purpose && self.per_s.is_some_and(|per_s| per_s > 0.0)
    }
}

/// Durations that were not exceeded, exact to a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// By half of them, in nanoseconds.
    pub p50_ns: u64,
    /// By 99 % of them, in nanoseconds.
    pub p99_ns: u64,
}

impl Rates {
    /// Compares two samples. `None` for the earlier gives totals, without rates.
    pub fn between(earlier: Option<&Sample>, later: &Sample) -> Self {
        Self::since(earlier, later, Durations::OfInterval)
    }

    /// All that there was up to a sample after which nothing came, such as the last of an instance that is gone: totals without
    /// rates, and quantiles of all durations since the start.
    pub fn in_all(last: &Sample) -> Self {
        Self::since(None, last, Durations::OfAllTime)
    }

    fn since(earlier: Option<&Sample>, later: &Sample, durations: Durations) -> Self {
        let is_same = |earlier: &&Sample| is_same_instance(&earlier.snapshot, &later.snapshot);
        let earlier = earlier.filter(is_same);
        let interval = earlier.map_or(Duration::ZERO, |earlier| later.at.saturating_sub(earlier.at));
        let pairs =
            Pairs::new(earlier.map(|earlier| &earlier.snapshot), &later.snapshot, interval, durations);
        let engine = later.snapshot.of(RecordKind::Engine).next();
        let gauge = |name: &str| engine.map_or(0, |record| record.value(name));
        let timed_every = gauge("timed_every");
        let burst = gauge("burst");
        let took = later.cpu.zip(earlier.and_then(|earlier| earlier.cpu));
        let took = took.and_then(|(later, earlier)| later.checked_sub(earlier));
        let cpu = took
            .zip(earlier)
            .filter(|_| !interval.is_zero())
            .map(|(took, _)| took.div_duration_f64(interval));
        let mut rates = Rates { interval, generation: gauge("generation"), burst, cpu, ..Rates::default() };
        let apps: BTreeMap<u64, &str> =
            later.snapshot.of(RecordKind::App).map(|app| (app.epoch, app.name.as_str())).collect();
        rates.workers = pairs.of(RecordKind::Worker).map(|pair| worker(pair, &apps)).collect();
        rates.workers.sort_by_key(|worker| worker.index);
        rates.apps = pairs.of(RecordKind::App).map(|pair| app(pair, timed_every)).collect();
        rates.apps.sort_by(|a, b| a.name.cmp(&b.name));
        rates.links = pairs.of(RecordKind::Link).map(link).collect();
        rates.links.sort_by(|a, b| a.name.cmp(&b.name));
        rates.add_up(&pairs);
        rates.connect();
        rates
    }

    /// Bits per second on the link that carries most, as on an Ethernet.
    pub fn wire_bits_per_s_max(&self) -> Option<f64> {
        self.links.iter().filter_map(|link| link.wire_bits_per_s).max_by(f64::total_cmp)
    }

    /// The share of their time that the apps of the busiest worker took.
    pub fn cpu_max(&self) -> Option<f64> {
        self.workers.iter().filter_map(|worker| worker.cpu).max_by(f64::total_cmp)
    }

    /// A measure of the memory that this takes, to bound a history by: its parts.
    pub fn weight(&self) -> usize {
        let drops = |drops: &[DropRate]| drops.len();
        let apps: usize = self.apps.iter().map(|app| 1 + app.counters.len() + drops(&app.drops)).sum();
        let links: usize = self.links.iter().map(|link| 1 + drops(&link.drops)).sum();
        1 + self.workers.len() + self.drops.len() + apps + links
    }

    /// Sums over workers, apps and links.
    fn add_up(&mut self, pairs: &Pairs<'_>) {
        for pair in pairs.of(RecordKind::Worker) {
            self.packets = self.packets.saturating_add(pair.now.value("freed"));
            add(&mut self.packets_per_s, pair.per_s("freed"));
        }
        let mut sums: BTreeMap<String, DropRate> = BTreeMap::new();
        pairs.all.iter().for_each(|pair| add(&mut self.drops_per_s, pair.drops_per_s()));
        for drop in pairs.all.iter().flat_map(Pair::drops) {
            match sums.get_mut(&drop.reason) {
                Some(sum) => {
                    sum.total = sum.total.saturating_add(drop.total);
                    add(&mut sum.per_s, drop.per_s);
                    sum.is_purpose &= drop.is_purpose;
                }
                None => _ = sums.insert(drop.reason.clone(), drop),
            }
        }
        self.drops = sums.into_values().collect();
    }

    /// What takes more than one record to tell: traffic of apps, fill of bursts, time of workers.
    fn connect(&mut self) {
        let breaths: BTreeMap<u32, f64> =
            self.workers.iter().filter_map(|worker| Some((worker.index, worker.breaths_per_s?))).collect();
        let burst = self.burst as f64;
        let fill = |rate: Option<f64>, worker: u32| {
            let room_per_s = breaths.get(&worker)? * burst;
            (room_per_s > 0.0).then_some(rate? / room_per_s)
        };
        let index: BTreeMap<String, usize> =
            self.apps.iter().enumerate().map(|(index, app)| (app.name.clone(), index)).collect();
        for link in &mut self.links {
            let (from, to) = ends(&link.name);
            if let Some(&from) = index.get(from) {
                add(&mut self.apps[from].tx_per_s, link.tx_per_s);
                link.fill = fill(link.tx_per_s, self.apps[from].worker);
            }
            if let Some(&to) = index.get(to) {
                add(&mut self.apps[to].rx_per_s, link.rx_per_s);
            }
        }
        for app in &mut self.apps {
            app.fill = fill(app.rx_per_s.or(app.tx_per_s), app.worker);
        }
        self.share_out();
    }

    /// Adds up the shares of each worker's apps. They are estimates, too high where looking at the clock takes as long as a turn, or others
    /// want the core: where they exceed what its thread took, or the whole, they are scaled down to it, which keeps their proportions.
    fn share_out(&mut self) {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for app in &self.apps {
            if let Some(share) = app.cpu {
                *sums.entry(app.worker).or_default() += share;
            }
        }
        let thread = |worker: &WorkerRates| Some((worker.index, worker.thread_cpu?));
        let threads: BTreeMap<u32, f64> = self.workers.iter().filter_map(thread).collect();
        let there_was = |worker: u32| threads.get(&worker).copied().unwrap_or(1.0);
        for app in &mut self.apps {
            let sum = sums.get(&app.worker).copied().unwrap_or(0.0);
            let scale = if sum > 0.0 { (there_was(app.worker) / sum).min(1.0) } else { 1.0 };
            app.cpu = app.cpu.map(|share| share * scale);
        }
        let with_apps: BTreeSet<u32> = self.apps.iter().map(|app| app.worker).collect();
        for worker in &mut self.workers {
            // Where there is an interval at all.
            let nothing = worker.breaths_per_s.filter(|_| !with_apps.contains(&worker.index)).map(|_| 0.0);
            worker.cpu = sums.get(&worker.index).map(|sum| sum.min(there_was(worker.index))).or(nothing);
        }
    }
}

impl LinkRates {
    /// Packets in the link. The two ends are not read at the same moment: while packets move this may be a few off.
    pub fn queued(&self) -> u64 {
        self.txpackets.saturating_sub(self.rxpackets)
    }

    /// Whether it begins or ends at an app.
    pub fn touches(&self, app: &str) -> bool {
        let (from, to) = ends(&self.name);
        from == app || to == app
    }
}

/// A process that is started anew may get the number, and the file, of one before.
fn is_same_instance(a: &Snapshot, b: &Snapshot) -> bool {
    (a.pid, a.started_unix_ns, a.start_ticks) == (b.pid, b.started_unix_ns, b.start_ticks)
}

/// The records of the later sample, each with what it was earlier.
struct Pairs<'a> {
    all: Vec<Pair<'a>>,
}

/// Which durations quantiles are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durations {
    /// Those between the two samples; unknown without an earlier one.
    OfInterval,
    /// Those since the start.
    OfAllTime,
}

/// A record now, and as it was, if it is still the same one.
#[derive(Clone, Copy)]
struct Pair<'a> {
    now: &'a RecordView,
    before: Option<&'a RecordView>,
    seconds: f64,
    durations: Durations,
}

impl<'a> Pairs<'a> {
    fn new(
        earlier: Option<&'a Snapshot>,
        later: &'a Snapshot,
        interval: Duration,
        durations: Durations,
    ) -> Self {
        let records = earlier.map_or(&[][..], |earlier| &earlier.records);
        let known: BTreeMap<_, _> = records.iter().map(|record| (identity(record), record)).collect();
        let seconds = interval.as_secs_f64();
        let pair = |now| Pair { now, before: known.get(&identity(now)).copied(), seconds, durations };
        Pairs { all: later.records.iter().map(pair).collect() }
    }

    fn of(&self, kind: RecordKind) -> impl Iterator<Item = Pair<'a>> {
        self.all.iter().copied().filter(move |pair| pair.now.kind == kind)
    }
}

/// What makes two records the same one.
fn identity(record: &RecordView) -> (&str, u64, u8) {
    (&record.name, record.epoch, record.kind as u8)
}

impl Pair<'_> {
    /// How much a counter grew; `None` if nobody knows, or it went backwards.
    fn growth(&self, name: &str) -> Option<u64> {
        self.now.value(name).checked_sub(self.before?.value(name))
    }

    /// The growth of a counter, per second.
    fn per_s(&self, name: &str) -> Option<f64> {
        per_second(self.growth(name)?, self.seconds)
    }

    fn drops(&self) -> impl Iterator<Item = DropRate> {
        // A counter may have the name of a reason; only drops are asked for.
        let before: Option<BTreeMap<&str, u64>> =
            self.before.map(|before| before.drops().map(|(reason, _, total)| (reason, total)).collect());
        self.now.drops().filter(|&(.., total)| total > 0).map(move |(reason, kind, total)| {
            let before = before.as_ref().map(|before| before.get(reason).copied().unwrap_or(0));
            let growth = before.and_then(|before| total.checked_sub(before));
            // What the engine tells of apps that are gone was dropped before they went.
            let growth = if self.now.kind == RecordKind::Engine { growth.map(|_| 0) } else { growth };
            let per_s = growth.and_then(|growth| per_second(growth, self.seconds));
            DropRate { reason: reason.to_owned(), total, per_s, is_purpose: kind == EntryKind::Reject }
        })
    }

    fn counters(&self) -> impl Iterator<Item = CounterRate> {
        let before = self.before.map(|before| before.counters());
        let before: BTreeMap<&str, u64> =
            before.into_iter().flatten().map(|(name, _, total)| (name, total)).collect();
        self.now.counters().map(move |(name, kind, total)| {
            let before = before.get(name).filter(|_| kind != EntryKind::Gauge);
            let growth = before.and_then(|before| total.checked_sub(*before));
            let per_s = growth.and_then(|growth| per_second(growth, self.seconds));
            CounterRate { name: name.to_owned(), total, per_s }
        })
    }

    /// Nothing dropped is 0 per second, where there is a second to speak of.
    fn drops_per_s(&self) -> Option<f64> {
        let rates = self.drops().filter_map(|drop| drop.per_s);
        // Not `sum`, which is -0.0 of nothing.
        (self.before.is_some() && self.seconds > 0.0).then(|| rates.fold(0.0, |sum, rate| sum + rate))
    }

    /// The durations that were added to a histogram.
    fn quantiles(&self, name: &str) -> Option<Quantiles> {
        let counts = match self.durations {
            Durations::OfAllTime => self.buckets(name)?.to_vec(),
            Durations::OfInterval => self.added(name)?,
        };
        let quantile = |q| Histogram::quantile(&counts, q);
        Some(Quantiles { p50_ns: quantile(0.5)?, p99_ns: quantile(0.99)? })
    }

    fn buckets(&self, name: &str) -> Option<&[u64]> {
        let buckets = &self.now.entry(name)?.values;
        (buckets.len() <= Histogram::BUCKETS).then_some(buckets)
    }

    fn added(&self, name: &str) -> Option<Vec<u64>> {
        added(self.buckets(name)?, &self.before?.entry(name)?.values)
    }

    /// What turns took in the interval, of those that were timed, in nanoseconds: if the longest were like the others. A thread that waited for
    /// a core in one of them seems to have waited in as many as that one stands for.
    fn timed_ns(&self) -> Option<f64> {
        let timed_ns = self.growth("timed_ns")? as f64;
        Some(self.added("turn_ns").map_or(timed_ns, |turns| timed_ns.min(Histogram::usual_total_ns(&turns))))
    }

    /// The share of the interval that the thread of a worker took; `None` where the file does not say, or none has run it.
    fn thread_cpu(&self) -> Option<f64> {
        let is_known = self.now.value("cpu_ns") > 0;
        self.per_s("cpu_ns").filter(|_| is_known).map(|ns_per_s| (ns_per_s / 1e9).min(1.0))
    }
}

/// What was added to the buckets of a histogram; `None` if it is another one, or went backwards.
fn added(now: &[u64], before: &[u64]) -> Option<Vec<u64>> {
    let growth = || now.iter().zip(before).map(|(now, before)| now.checked_sub(*before)).collect();
    if now.len() == before.len() { growth() } else { None }
}

/// `apps` are the names of apps by the epochs of their records.
fn worker(pair: Pair<'_>, apps: &BTreeMap<u64, &str>) -> WorkerRates {
    let since_unix_ns = pair.now.value("breath_unix_ns");
    let turn = apps.get(&pair.now.value("turn_of")).map(|&app| Turn { app: app.to_owned(), since_unix_ns });
    WorkerRates {
        turn,
        index: pair.now.worker,
        breaths_per_s: pair.per_s("breaths"),
        breath: pair.quantiles("breath_ns"),
        cpu: None,
        thread_cpu: pair.thread_cpu(),
        pool_total: pair.now.value("pool_total"),
        pool_free: pair.now.value("pool_free"),
        exhausted_per_s: pair.per_s("pool_exhausted"),
    }
}

fn app(pair: Pair<'_>, timed_every: u64) -> AppRates {
    let busy_ns = pair.timed_ns().map(|timed_ns| timed_ns * timed_every as f64);
    AppRates {
        name: pair.now.name.clone(),
        class: pair.now.what.clone(),
        worker: pair.now.worker,
        state: AppState::from_code(pair.now.value("state")),
        restarts: pair.now.value("restarts"),
        cpu: busy_ns.filter(|_| pair.seconds > 0.0).map(|ns| ns / 1e9 / pair.seconds),
        rx_per_s: None,
        tx_per_s: None,
        fill: None,
        turn: pair.quantiles("turn_ns"),
        counters: pair.counters().collect(),
        drops: pair.drops().collect(),
        drops_per_s: pair.drops_per_s(),
    }
}

fn link(pair: Pair<'_>) -> LinkRates {
    let (packets, bytes) = (pair.growth("txpackets"), pair.growth("txbytes"));
    let bits_per_s = |bytes: u64| per_second(bytes, pair.seconds).map(|bytes| bytes * 8.0);
    let on_wire =
        |packets: u64, bytes: u64| packets.saturating_mul(WIRE_OVERHEAD_BYTES).saturating_add(bytes);
    LinkRates {
        name: pair.now.name.clone(),
        txpackets: pair.now.value("txpackets"),
        rxpackets: pair.now.value("rxpackets"),
        tx_per_s: pair.per_s("txpackets"),
        rx_per_s: pair.per_s("rxpackets"),
        bits_per_s: bytes.and_then(bits_per_s),
        wire_bits_per_s: packets.zip(bytes).and_then(|(packets, bytes)| bits_per_s(on_wire(packets, bytes))),
        fill: None,
        drops: pair.drops().collect(),
        drops_per_s: pair.drops_per_s(),
    }
}

/// The apps at both ends of a link: `a.output -> b.input`.
fn ends(link: &str) -> (&str, &str) {
    let app = |port: &'_ str| port.rsplit_once('.').map_or("", |(app, _)| app).len();
    let (from, to) = link.split_once(" -> ").unwrap_or_default();
    (&from[..app(from)], &to[..app(to)])
}

fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// Adds what is known to what is known.
fn add(sum: &mut Option<f64>, more: Option<f64>) {
    *sum = match (*sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    };
}

#[cfg(test)]
mod tests;
