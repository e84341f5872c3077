//! A worker: the apps of one thread, breathing in turn.
//!
//! ```text
//! for each app that pulls, by name:                  pull
//! for each app with links in, senders first:         push, if anything waits
//! for each of these that has left packets:           push again, when links have room (`task/room.rs`)
//! now and then:                                      tick, restarts
//! if any packet was dropped by going out of scope:   take it home, count it
//! ```
//!
//! An app that panics is taken down alone: what it held is dropped and counted, and the breath goes on with the next. A worker shares nothing with
//! others but the rings between them, the stacks on which packets come home, and a flag that says stop.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | a breath |
//! | `schedule.rs`, `turns.rs` | whose turn follows whose; the turns of a breath |
//! | `capture_time.rs` | the time that captures tell |
//! | `failures.rs` | apps that panic, stop or change, and the packets that they leave |
//! | `run.rs`, `rest.rs` | breaths until the end of a run, and sleep between them |
//! | `gauges.rs`, `load.rs`, `usual.rs`, `time.rs` | what is counted and measured meanwhile |
//! | `trace/` | breaths in which packets are followed |
//! | `task/` | one app on its worker |
//! | `control.rs` | messages between a running engine and its workers |

mod capture_time;
mod control;
mod failures;
mod gauges;
mod load;
mod rest;
mod restarts;
mod run;
mod schedule;
mod state;
mod task;
mod time;
mod trace;
mod turns;
mod usual;

pub(crate) use control::{Control, Stillness};
pub(crate) use restarts::Restarts;
pub use state::AppState;
pub use task::LastWords;
pub(crate) use task::{Method, Outlook, Task};
pub use trace::{Trace, TraceChange, TraceEvent, TracePacket, TraceStep, TraceTotals};

use crate::clock::Clock;
use crate::pool::{Orphans, Pool};
use crate::shm::{Histogram, Record, RecordSize};
use capture_time::CaptureTime;
use gauges::Gauges;
use load::Load;
#[cfg(all(test, not(loom)))]
pub(crate) use rest::Rest;
use schedule::Schedule;
use std::time::Instant;
use time::ThreadTime;
pub(crate) use trace::Follower;

use usual::Measured;

/// Every 256th breath is timed app by app; halfway between two of these, one breath is timed as a whole.
///
/// PERF: reading the clock takes five times as long as an idle app's turn.
pub(crate) const TIMED_EVERY: u64 = 256;
/// The number of breaths after which a worker looks after its apps, and publishes the state of the pool.
const LOOKED_AFTER_EVERY: u64 = 64;
/// The number of breaths after which apps are asked whether the run is to end, even if time does not pass.
const ASKED_EVERY: u64 = 64 * LOOKED_AFTER_EVERY;

/// The apps of one thread, and their packets.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) tasks: Vec<Task>,
    pub(crate) pool: Pool,
    schedule: Schedule,
    clock: Clock,
    pace: Pace,
    next_tick_ns: u64,
    breaths: u64,
    load: Load,
    measured: Measured,
    time: ThreadTime,
    capture_time: CaptureTime,
    /// Whether any app is down and waits to be started again, or is just back.
    any_down: bool,
    /// Whether an app wants the run to end.
    is_over: bool,
    /// When it ended its last breath, while it stands still.
    stopped: Option<Instant>,
    gauges: Gauges,
    /// Follows packets, while somebody wants that.
    pub(crate) follower: Option<Box<Follower>>,
    _record: Record,
}

/// How a worker breathes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) burst: u32,
    pub(crate) tick_ns: u64,
}

impl Worker {
    /// The size of a worker's record.
    pub(crate) const RECORD_SIZE: RecordSize = RecordSize { entries: 11, numbers: 11 + Histogram::BUCKETS };

    pub(crate) fn new(pool: Pool, clock: Clock, pace: Pace, mut record: Record) -> Self {
        let gauges = Gauges::new(&mut record);
        let time = ThreadTime::new(&mut record);
        Worker {
            tasks: Vec::new(),
            pool,
            schedule: Schedule::default(),
            next_tick_ns: 0,
            clock,
            pace,
            breaths: 0,
            load: Load::default(),
            measured: Measured::default(),
            time,
            capture_time: CaptureTime::Unasked,
            any_down: false,
            is_over: false,
            stopped: None,
            gauges,
            follower: None,
            _record: record,
        }
    }

    /// Takes the apps on, given in the order in which they push.
    pub(crate) fn install(&mut self, tasks: Vec<Task>) {
        self.tasks = tasks;
        self.schedule = Schedule::new(&self.tasks);
        self.load = Load::new(self.sent_away());
        self.any_down = self.tasks.iter().any(Task::is_looked_after);
        for task in 0..self.tasks.len() {
            if let Err(panic) = self.tasks[task].announce_ports() {
                self.app_panicked(task, panic.message(), Outlook::GoesOn);
            }
        }
    }

    /// One breath: every app that pulls, then every app that got packets. Returns whether anything moved.
    pub(crate) fn breathe(&mut self) -> bool {
        self.breath(Self::turns_by_count)
    }

    /// One breath, with these turns.
    #[inline(always)]
    fn breath(&mut self, turns: impl FnOnce(&mut Self, u64) -> bool) -> bool {
        let now_ns = self.advance();
        self.load.breath(now_ns);
        self.pool.stamp_time(self.clock.stamp_ns());
        self.pool.fetch_returns();
        self.breaths += 1;
        self.gauges.breaths.set(self.breaths);
        let moved = turns(self, now_ns);
        self.load.moved(moved);
        if self.breaths.is_multiple_of(LOOKED_AFTER_EVERY) {
            self.publish_pool();
            // Too few for a bundle may be all that another worker has.
            self.return_foreign();
            // Not with the ticks only: time may stand still until an app runs again.
            self.look_after_apps(now_ns);
            if self.breaths.is_multiple_of(ASKED_EVERY) {
                self.is_over = self.tasks.iter().any(Task::ends_run);
                self.time.publish();
            }
        }
        if now_ns >= self.next_tick_ns {
            self.next_tick_ns = now_ns.saturating_add(self.pace.tick_ns);
            self.tick(now_ns);
        }
        if Orphans::any() {
            self.sweep(Task::discarded);
        }
        self.gauges.turn_of.set(0);
        moved
    }

    /// The turns of a breath: most are like one another, some are timed.
    #[inline(always)]
    fn turns_by_count(&mut self, now_ns: u64) -> bool {
        if self.capture_time == CaptureTime::Awaited {
            self.turns_before_time(now_ns)
        } else if self.breaths.is_multiple_of(TIMED_EVERY / 2) {
            self.timed_turns(now_ns)
        } else {
            self.turns_of_breath::<turns::Usual>(now_ns)
        }
    }

    pub(crate) fn breaths(&self) -> u64 {
        self.breaths
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// It breathes, or its apps change, after nobody has looked at the clock for a while.
    pub(crate) fn stood(&mut self) {
        self.clock.stood();
        self.pool.stamp_time(self.clock.stamp_ns());
    }

    /// From now on, new packets get metadata, as do those that are out.
    pub(crate) fn stamp(&mut self) {
        self.pool.stamp(self.clock.stamp_ns());
    }

    /// As if the system's clock was set.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn set_day(&mut self, day_ns: fn() -> u64) {
        self.clock.set_day(day_ns);
    }

    /// It is at least so late: an app that came from another worker has seen this time.
    pub(crate) fn not_before(&mut self, now_ns: u64) {
        self.clock.jump(now_ns);
    }

    /// Packets that were dropped while no app ran.
    pub(crate) fn without_app(&self) -> u64 {
        self.gauges.without_app.get()
    }
}
