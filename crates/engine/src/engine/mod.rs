//! The engine: workers, and the graph they run.
//!
//! It owns everything that outlives a breath: settings, workers with their pools, links, counts of what is gone. Threads exist only while it
//! runs (`Engine::run_for` and the like); between runs, all is on the caller's thread, which is when graphs change (`configure`), apps
//! move (`balance`) and reports are made. It knows no app, no filter and no device.

mod balance;
mod configure;
mod placement;
mod rebalancer;
#[cfg(all(test, not(loom)))]
mod tests;
mod trace;

pub use configure::{Changes, ConfigureError};
pub use rebalancer::Rebalancer;

use crate::clock::{Clock, ClockKind};
use crate::discards::Discards;
use crate::graph::{Graph, Link};
use crate::link::Ring;
use crate::notice::Notices;
use crate::pool::Pool;
use crate::report::{Report, Retired};
use crate::shm::{Counter, EntryKind, Record, RecordKind, RecordSize, Segment};
use crate::worker::{Control, Outlook, Pace, Restarts, Stillness, TIMED_EVERY, Task, Worker};
use std::collections::BTreeMap;
use std::io;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How an engine runs, whatever its graph.
#[derive(Debug)]
pub struct Settings {
    /// Packets that a pull brings in at most: 1 to 1024; 64 fits the L1 cache.
    pub burst: usize,
    /// Packets of each worker's pool: 1 to [`Pool::MAX_PACKETS`], of 12 KiB each; those never used take no memory.
    /// [`Settings::packets_for`] a graph are enough whatever its links hold, up to that maximum.
    pub packets: usize,
    /// Packets of more than [`MAX_PAYLOAD`](crate::MAX_PAYLOAD) bytes that each worker's pool has besides: up to
    /// [`Pool::MAX_LARGE_PACKETS`], of 65.5 KiB each; 0 for none, when they are dropped where they come in. The memory is reserved
    /// when the first comes.
    pub large_packets: usize,
    /// Worker threads, at least 1.
    pub workers: usize,
    /// The cores that workers are bound to, in turn; empty leaves them to the system. A worker's packets are in memory of the node of its core.
    pub cores: Vec<usize>,
    /// Whether workers go on breathing when there is nothing to do, rather than sleep for up to 0.1 ms, and for longer
    /// after a second without packets. Those that fill and empty a link between them do not sleep in any case, unless other processes take their
    /// cores.
    pub busywait: bool,
    /// How often [`App::tick`](crate::App::tick) is called, in Hz; less often, a hundred times a second at least, while a worker waits for devices.
    pub tick_hz: u32,
    /// Which clock the apps see. Capture time is for one worker.
    pub clock: ClockKind,
    /// How long an app that panicked is down the first time, a millisecond at least.
    pub restart_first: Duration,
    /// How long it is down at most, after doubling every time.
    pub restart_max: Duration,
    /// Where the counters are kept.
    pub counters: Segment,
}

impl Settings {
    /// One worker, bursts of 64, 16,384 packets, counters that nobody else sees.
    ///
    /// # Errors
    /// When the system refuses the memory for the counters.
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_counters(Segment::private()?))
    }

    /// The number of packets of a pool, unless set otherwise.
    const PACKETS: usize = 16 * 1024;

    /// How many packets a pool for a graph should have: those that its links can hold and, for apps to keep, half of the default; the default
    /// at least.
    pub fn packets_for(graph: &Graph) -> usize {
        (graph.link_capacity() + Self::PACKETS / 2).clamp(Self::PACKETS, Pool::MAX_PACKETS)
    }

    /// The default settings, with counters in this segment.
    pub fn with_counters(counters: Segment) -> Self {
        Settings {
            burst: 64,
            packets: Self::PACKETS,
            large_packets: Pool::LARGE_PACKETS,
            workers: 1,
            cores: Vec::new(),
            busywait: false,
            tick_hz: 1000,
            clock: ClockKind::Wall,
            restart_first: Duration::from_millis(100),
            restart_max: Duration::from_secs(10),
            counters,
        }
    }

    fn pace(&self) -> Pace {
        Pace {
            burst: self.burst.clamp(1, crate::link::CAPACITY) as u32,
            tick_ns: 1_000_000_000 / u64::from(self.tick_hz.max(1)),
        }
    }

    /// The core of a worker, if it is bound to one.
    fn core_of(&self, worker: usize) -> Option<usize> {
        self.cores.get(worker % self.cores.len().max(1)).copied()
    }

    fn restarts(&self) -> Restarts {
        Restarts::new(self.restart_first, self.restart_max)
    }
}

/// The size of the engine's record: its own numbers, and reasons for drops of apps that are gone.
const RECORD_SIZE: RecordSize = RecordSize { entries: 64, numbers: 64 };

/// The number of the next engine; pools without one have 0.
static ENGINES: AtomicU64 = AtomicU64::new(1);

/// A number that no other engine of the process has, for its pools.
pub(crate) fn new_id() -> u64 {
    ENGINES.fetch_add(1, Ordering::Relaxed)
}

/// How often the engine looks after its workers, where something may have happened.
const POLL: Duration = Duration::from_millis(1);

/// The state of a running engine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Since it was started.
    pub elapsed: Duration,
    /// How long workers have stood still since the run before: from the end of the last breath of one to the beginning of its next, the longest of all. `None` until
    /// all breathe again; zero in the first run.
    pub stood_still: Option<Duration>,
}

/// Runs graphs.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    workers: Vec<Worker>,
    graph: Graph,
    links: BTreeMap<Link, LinkState>,
    balance: balance::Balance,
    /// The counts of apps and links that are gone.
    retired: Retired,
    counters: Counters,
    record: Record,
    notices: Notices,
    /// What a change has left to be dropped while workers run.
    discards: Discards,
}

/// A link, without its ends.
#[derive(Debug)]
struct LinkState {
    record: Record,
    /// Tells its ends from others, wherever they are.
    ring: Weak<Ring>,
}

#[derive(Debug)]
struct Counters {
    generation: Counter,
    apps: Counter,
    links: Counter,
}

impl Engine {
    /// An engine without apps.
    ///
    /// # Errors
    /// When the system refuses the memory for packets, or several workers are to run on capture time.
    pub fn new(settings: Settings) -> io::Result<Self> {
        if settings.clock == ClockKind::Capture && settings.workers > 1 {
            let why = "capture time is for one worker: with several, each would see another";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut record = settings.counters.record(RecordKind::Engine, "engine", "", RECORD_SIZE)?;
        let counters = Counters {
            generation: record.number("generation", EntryKind::Gauge),
            apps: record.number("apps", EntryKind::Gauge),
            links: record.number("links", EntryKind::Gauge),
        };
        // What readers need to know to make sense of the rest.
        record.number("burst", EntryKind::Gauge).set(settings.pace().burst as u64);
        record.number("timed_every", EntryKind::Gauge).set(TIMED_EVERY);
        let engine = new_id();
        // Of one beginning, so that an app that moves sees no time again.
        let clock = Clock::new(settings.clock);
        let workers = (0..settings.workers.max(1))
            .map(|index| new_worker(&settings, index, engine, clock.clone()))
            .collect::<io::Result<_>>()?;
        Ok(Engine {
            settings,
            workers,
            graph: Graph::new(),
            links: BTreeMap::new(),
            balance: balance::Balance::default(),
            retired: Retired::default(),
            counters,
            record,
            notices: Notices::default(),
            discards: Discards::default(),
        })
    }

    /// The graph that runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How it runs.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What its apps have to tell as it happens. May be taken on another thread, or by the function that [`Engine::run`] asks.
    pub fn notices(&self) -> Notices {
        self.notices.clone()
    }

    /// One breath of each worker, on this thread. Returns whether anything moved.
    pub fn breathe(&mut self) -> bool {
        self.workers.iter_mut().fold(false, |moved, worker| worker.breathe_once() | moved)
    }

    /// Breathes until `go_on` returns false, which is asked about every millisecond, or nothing is left to do: every app
    /// that pulls is finished, and all packets have come to rest; or until [an app ends the run](crate::Reporting::ends_run). Each worker
    /// has a thread.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn run(&mut self, mut go_on: impl FnMut(&Status) -> bool) -> io::Result<()> {
        self.run_until(|status| go_on(status).then_some(POLL))
    }

    /// As [`Engine::run`], but `next` says how long it need not be asked again, or `None` for the end. It is asked before that time is over when an
    /// app has told something ([`Engine::notices`]), or whoever knows of something unparks the calling thread
    /// ([`Thread::unpark`](std::thread::Thread::unpark)); no more than once a millisecond, unless it asks for more.
    ///
    /// # Errors
    /// As for [`Engine::run`].
    pub fn run_until(&mut self, mut next: impl FnMut(&Status) -> Option<Duration>) -> io::Result<()> {
        let begin = Instant::now();
        // A worker that rested, and has had no time since packets came for it, seems to rest still; now that all stand, what
        // waits can be seen.
        while self.run_threads(begin, &mut next)? && !self.workers.iter().all(Worker::is_at_rest) {}
        Ok(())
    }

    /// Breathes until `next` returns `None`, or all workers seem to be at rest: then it returns true.
    fn run_threads(
        &mut self,
        begin: Instant,
        next: &mut impl FnMut(&Status) -> Option<Duration>,
    ) -> io::Result<bool> {
        let control = Control::new(self.workers.len());
        let mut discards = std::mem::take(&mut self.discards);
        let _told = self.notices.wake_this_thread();
        let (settings, busywait) = (&self.settings, self.settings.busywait);
        std::thread::scope(|scope| {
            // Also when `next` panics: the scope ends only when its threads do.
            let stop = StopOnDrop(&control);
            let mut threads = Vec::with_capacity(self.workers.len());
            for (index, worker) in self.workers.iter_mut().enumerate() {
                let mut share = control.share(index);
                let core = settings.core_of(index);
                let thread = std::thread::Builder::new().name(format!("worker {index}"));
                threads.push(thread.spawn_scoped(scope, move || {
                    if let Some(core) = core {
                        bind_to_core(core);
                    }
                    worker.run(&mut share, busywait);
                })?);
            }
            discards.drop_aside();
            let is_to_go_on = loop {
                let stood_still = control.stood_still();
                let wait = next(&Status { elapsed: begin.elapsed(), stood_still });
                // One that ended before it was told to ends the run: an app wanted that, or it has panicked, which is handed on.
                let Some(wait) = wait.filter(|_| !control.has_ended()) else {
                    control.get_ready_to_stop();
                    break false;
                };
                match control.stillness() {
                    Stillness::Finished => break true,
                    Stillness::Resting => pause(wait.min(POLL)),
                    Stillness::Busy => pause(wait),
                }
            };
            drop(stop);
            // The scope would not wait for what threads do at their very end: libraries that keep packets for a thread give them back then.
            for thread in threads {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            Ok(is_to_go_on)
        })
    }

    /// Breathes for a time, or until nothing is left to do.
    ///
    /// # Errors
    /// As for [`Engine::run`].
    pub fn run_for(&mut self, duration: Duration) -> io::Result<()> {
        self.run_until(|status| duration.checked_sub(status.elapsed).filter(|left| !left.is_zero()))
    }

    /// An exact report of the time so far: packets on their way between workers are brought home first.
    pub fn report(&mut self) -> Report {
        loop {
            self.collect_returns();
            let links = self.links.iter().map(|(link, state)| (link, state.ring.as_ptr()));
            let report = Report::new(&self.workers, links, &self.retired);
            // An app that fails when it is asked has given no answer: it is down in the next report.
            let heard = |any, worker: &mut Worker| worker.hear_complaints(Outlook::MayEnd) | any;
            if !self.workers.iter_mut().fold(false, heard) {
                return report;
            }
        }
    }

    /// Publishes what apps and links had dropped that are gone.
    fn publish_retired(&mut self) {
        for (reason, &count) in &self.retired.drops {
            self.record.number(reason, EntryKind::Drop).set(count);
        }
    }

    /// The latest time that any app has seen.
    fn now_ns(&self) -> u64 {
        self.workers.iter().map(Worker::now_ns).max().unwrap_or(0)
    }

    /// Brings packets home that wait with, or on the way from, other workers.
    fn collect_returns(&mut self) {
        self.workers[0].sweep(Task::discarded);
        self.workers.iter_mut().for_each(|worker| worker.pool.return_foreign());
        self.workers.iter_mut().for_each(|worker| worker.pool.fetch_all_returns());
        self.workers.iter_mut().for_each(Worker::publish_pool);
    }
}

/// Apps are stopped, and packets come home, so that the memory of the pools can go.
impl Drop for Engine {
    fn drop(&mut self) {
        if !self.workers.iter().all(|worker| worker.tasks.is_empty()) {
            self.stop();
        }
        self.collect_returns();
    }
}

/// Stops the workers when it goes.
struct StopOnDrop<'a>(&'a Control);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn new_worker(settings: &Settings, index: usize, engine: u64, clock: Clock) -> io::Result<Worker> {
    let name = format!("worker {index}");
    let record = settings.counters.record(RecordKind::Worker, &name, "", Worker::RECORD_SIZE)?;
    record.set_worker(index);
    let pool = || Pool::of_engine(settings.packets, engine)?.with_large(settings.large_packets);
    let pool = match settings.core_of(index) {
        Some(core) => on_core(core, pool)?,
        None => pool()?,
    };
    Ok(Worker::new(pool, clock, settings.pace(), record))
}

/// Makes something on a core, by a thread of its own. Memory is of the node of the core that touches it first (numa(7)), and a pool touches
/// what it makes.
fn on_core<T: Send>(core: usize, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(format!("memory {core}"));
        let made = thread.spawn_scoped(scope, || {
            bind_to_core(core);
            make()
        })?;
        made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Waits for so long, or until the thread is unparked: workers that come to rest again and again do that often, so that it waits for [`POLL`] at least if it was
/// to wait that long.
fn pause(wait: Duration) {
    let begin = Instant::now();
    std::thread::park_timeout(wait);
    std::thread::sleep(wait.min(POLL).saturating_sub(begin.elapsed()));
}

/// Binds the calling thread to a core. Where that is not allowed it runs anywhere.
fn bind_to_core(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    if core < rustix::thread::CpuSet::MAX_CPU {
        set.set(core);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}
