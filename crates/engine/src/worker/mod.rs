//! A worker: the apps of one thread, breathing in turn.

mod rest;
mod slot;

pub use slot::LastWords;
pub(crate) use slot::{Method, Restarts, Slot, message};

use crate::clock::{Clock, ClockKind};
use crate::config::{Config, OptionError};
use crate::pool::{Orphans, Pool, Whose};
use crate::shm::{Counter, EntryKind, Histogram, Record};
use rest::Rest;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Of so many breaths, one is timed, app by app.
///
/// PERF: reading the clock takes five times as long as an idle app's turn.
pub(crate) const TIMED_EVERY: u64 = 256;
/// Of so many breaths, one looks after the apps, and tells how the pool is.
const LOOKED_AFTER_EVERY: u64 = 64;
/// Of so many breaths, one asks apps whether the run is to end, though time may stand still.
const ASKED_EVERY: u64 = 64 * LOOKED_AFTER_EVERY;

/// The apps of one thread, and their packets.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) slots: Vec<Slot>,
    pub(crate) pool: Pool,
    /// Whose turn follows whose.
    schedule: Vec<Step>,
    ticks: Vec<Step>,
    /// Which step of a schedule runs.
    at: usize,
    clock: Clock,
    pace: Pace,
    next_tick_ns: u64,
    breaths: u64,
    /// Whether any app is down and waits to be started again.
    any_down: bool,
    /// Whether an app wants the run to end.
    is_over: bool,
    gauges: Gauges,
    _record: Record,
}

/// How a worker breathes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) burst: usize,
    pub(crate) tick_ns: u64,
    pub(crate) restarts: Restarts,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    slot: usize,
    method: Method,
}

/// What is known of a worker from outside.
#[derive(Debug)]
struct Gauges {
    breaths: Counter,
    latency: Histogram,
    total: Counter,
    free: Counter,
    allocated: Counter,
    freed: Counter,
    exhausted: Counter,
    /// Packets that were dropped while no app ran.
    ownerless: Counter,
}

impl Gauges {
    fn new(record: &mut Record) -> Self {
        Gauges {
            breaths: record.number("breaths", EntryKind::Counter),
            total: record.number("pool_total", EntryKind::Gauge),
            free: record.number("pool_free", EntryKind::Gauge),
            allocated: record.number("allocated", EntryKind::Counter),
            freed: record.number("freed", EntryKind::Counter),
            exhausted: record.number("pool_exhausted", EntryKind::Counter),
            ownerless: record.number("link_removed", EntryKind::Drop),
            latency: record.histogram("breath_ns"),
        }
    }
}

impl Worker {
    /// Numbers and entries of a worker's record.
    pub(crate) const RECORD: (usize, usize) = (8, 8 + Histogram::BUCKETS);

    pub(crate) fn new(pool: Pool, clock: Clock, pace: Pace, mut record: Record) -> Self {
        let gauges = Gauges::new(&mut record);
        Worker {
            slots: Vec::new(),
            pool,
            schedule: Vec::new(),
            ticks: Vec::new(),
            at: 0,
            next_tick_ns: 0,
            clock,
            pace,
            breaths: 0,
            any_down: false,
            is_over: false,
            gauges,
            _record: record,
        }
    }

    /// Takes the apps on, given in the order in which they push. Those that pull do so in the order of their names.
    pub(crate) fn install(&mut self, slots: Vec<Slot>) {
        self.slots = slots;
        let steps = |method: Method, slots: &[Slot]| -> Vec<Step> {
            let with = slots.iter().enumerate().filter(|(_, slot)| slot.has(method));
            with.map(|(slot, _)| Step { slot, method }).collect()
        };
        self.schedule = steps(Method::Pull, &self.slots);
        self.schedule.sort_by(|a, b| self.slots[a.slot].name().cmp(self.slots[b.slot].name()));
        self.schedule.extend(steps(Method::Push, &self.slots));
        self.ticks = steps(Method::Tick, &self.slots);
        self.any_down = self.slots.iter().any(Slot::is_down);
        for slot in 0..self.slots.len() {
            if let Err(payload) = self.slots[slot].announce_ports() {
                self.app_panicked(slot, &*payload);
            }
        }
    }

    /// One breath: every app that pulls, then every app that got packets. Returns whether anything moved.
    pub(crate) fn breathe(&mut self) -> bool {
        let now_ns = self.advance();
        self.pool.stamp_time(now_ns);
        self.pool.fetch_returns();
        self.breaths += 1;
        self.gauges.breaths.set(self.breaths);
        let moved = if self.breaths.is_multiple_of(TIMED_EVERY) {
            let begin = Instant::now();
            let moved = self.protected(|worker| worker.turns::<true>(now_ns));
            self.gauges.latency.record(begin.elapsed().as_nanos() as u64);
            moved
        } else {
            self.protected(|worker| worker.turns::<false>(now_ns))
        };
        if self.breaths.is_multiple_of(LOOKED_AFTER_EVERY) {
            self.publish_pool();
            // Not with the ticks only: time may stand still until an app runs again.
            self.look_after_apps(now_ns);
            if self.breaths.is_multiple_of(ASKED_EVERY) {
                self.is_over = self.slots.iter().any(Slot::ends_run);
            }
        }
        if now_ns >= self.next_tick_ns {
            self.next_tick_ns = now_ns.saturating_add(self.pace.tick_ns);
            self.tick(now_ns);
        }
        if Orphans::any() {
            self.sweep(Slot::discarded);
        }
        moved
    }

    /// What time it is for this breath.
    fn advance(&mut self) -> u64 {
        if self.clock.kind() == ClockKind::Wall {
            return self.clock.advance();
        }
        let Some(next_ns) = self.slots.iter().filter_map(Slot::next_event_ns).min() else {
            return self.clock.now_ns();
        };
        if next_ns <= self.clock.now_ns() {
            // It was due in the breath before, which has not settled it: perhaps the app does that when it ticks.
            self.next_tick_ns = 0;
        }
        self.clock.jump(next_ns)
    }

    /// Runs what is left of a schedule; an app that panics is stopped, and the schedule goes on behind it.
    fn protected(&mut self, mut run: impl FnMut(&mut Self) -> bool) -> bool {
        let mut moved = false;
        self.at = 0;
        loop {
            match catch_unwind(AssertUnwindSafe(|| run(self))) {
                Ok(more) => break moved | more,
                Err(payload) => {
                    let step = self.schedule.get(self.at).copied();
                    moved = true;
                    self.at += 1;
                    if let Some(step) = step {
                        self.app_panicked(step.slot, &*payload);
                    }
                }
            }
        }
    }

    fn turns<const TIMED: bool>(&mut self, now_ns: u64) -> bool {
        let Worker { slots, schedule, at, pool, pace: Pace { burst, .. }, .. } = self;
        // PERF: as slices they stay in registers.
        let (slots, schedule) = (slots.as_mut_slice(), schedule.as_slice());
        let mut moved = false;
        let mut begin = TIMED.then(Instant::now);
        for (index, &Step { slot, method }) in schedule.iter().enumerate().skip(*at) {
            *at = index;
            Orphans::enter(slot as u32);
            let slot = &mut slots[slot];
            let ran = match method {
                Method::Push => slot.push(pool, now_ns, *burst),
                _ => slot.pull(pool, now_ns, *burst),
            };
            if let (Some(begin), Some(_)) = (&mut begin, ran) {
                let end = Instant::now();
                slot.took((end - *begin).as_nanos() as u64);
                *begin = end;
            }
            moved |= ran == Some(true);
        }
        Orphans::leave();
        moved
    }

    /// What is done from time to time.
    #[cold]
    fn tick(&mut self, now_ns: u64) {
        std::mem::swap(&mut self.schedule, &mut self.ticks);
        self.protected(|worker| {
            while let Some(&Step { slot, .. }) = worker.schedule.get(worker.at) {
                Orphans::enter(slot as u32);
                worker.slots[slot].tick(&mut worker.pool, now_ns, worker.pace.burst);
                worker.at += 1;
            }
            Orphans::leave();
            false
        });
        std::mem::swap(&mut self.schedule, &mut self.ticks);
        self.is_over = self.slots.iter().any(Slot::ends_run);
        self.look_after_apps(now_ns);
    }

    /// Takes down apps that failed when they were asked something, and starts those that have been down for long enough.
    fn look_after_apps(&mut self, now_ns: u64) {
        self.hear_complaints();
        if self.any_down {
            self.slots.iter_mut().for_each(|slot| slot.restart_if_due(now_ns, self.pace.restarts));
            self.any_down = self.slots.iter().any(Slot::is_down);
        }
    }

    /// Takes down apps that failed when they were asked something. Returns whether there were any.
    pub(crate) fn hear_complaints(&mut self) -> bool {
        let mut any = false;
        for slot in 0..self.slots.len() {
            if let Some(complaint) = self.slots[slot].take_complaint() {
                self.app_panicked(slot, &complaint);
                any = true;
            }
        }
        any
    }

    fn app_panicked(&mut self, slot: usize, payload: &(dyn Any + Send)) {
        // The app's own packets are dropped with it, on its account.
        Orphans::enter(slot as u32);
        self.slots[slot].panicked(payload, self.pace.restarts);
        Orphans::leave();
        self.any_down = true;
        self.sweep(
            |owner, count| {
                if owner.is_down() { owner.lost_in_panic(count) } else { owner.discarded(count) }
            },
        );
    }

    /// Takes home what was dropped, and has it counted by the app that dropped it.
    #[cold]
    pub(crate) fn sweep(&mut self, count: impl Fn(&Slot, u64)) {
        let Worker { slots, pool, gauges, .. } = self;
        Orphans::sweep(pool.engine(), |whose, packet| {
            match whose {
                Whose::App(slot) => match slots.get(slot as usize) {
                    Some(slot) => count(slot, 1),
                    None => gauges.ownerless.add(1),
                },
                Whose::Nobody => gauges.ownerless.add(1),
                Whose::Counted => {}
            }
            pool.put_back(packet);
        });
    }

    /// Stops an app that was taken off: it may still send what it holds, and what it then drops is counted.
    /// Returns what it had to report at last.
    pub(crate) fn stop(&mut self, slot: &mut Slot) -> Option<LastWords> {
        Orphans::leave();
        let report = slot.stop(&mut self.pool, self.clock.now_ns(), self.pace.burst);
        self.take_home(|whose| {
            if whose != Whose::Counted {
                slot.lost_in_stop(1);
            }
        });
        report
    }

    /// Gives other options to an app that was taken off; `false` if it has to be started anew. If it fails, it is down.
    pub(crate) fn reconfigure(&mut self, slot: &mut Slot, config: &Config) -> Result<bool, OptionError> {
        slot.reconfigure(config, self.clock.now_ns()).unwrap_or_else(|payload| {
            Orphans::leave();
            slot.panicked(&*payload, self.pace.restarts);
            self.take_home(|whose| {
                if whose != Whose::Counted {
                    slot.lost_in_panic(1);
                }
            });
            Err(OptionError::failed("take on other options", message(&*payload)))
        })
    }

    /// Takes home what was dropped while apps are taken off.
    fn take_home(&mut self, count: impl Fn(Whose)) {
        Orphans::sweep(self.pool.engine(), |whose, packet| {
            count(whose);
            self.pool.put_back(packet);
        });
    }

    /// Breathes until told to stop, or an app wants the run to end.
    pub(crate) fn run(&mut self, control: &crate::engine::Control, busywait: bool) {
        let mut rest = Rest::default();
        self.is_over = false;
        while !control.is_stopping() && !self.is_over {
            if self.breathe() {
                rest.moved();
                control.moved();
                continue;
            }
            // Packets freed here may be what another worker waits for.
            if self.pool.foreign() > 0 {
                self.pool.return_foreign();
            }
            control.rests(self.is_at_rest());
            if !busywait && let Some(time) = self.may_sleep(&mut rest) {
                std::thread::sleep(time);
                self.clock.slept();
            }
        }
        // The thread ends, and its list with it, some time after the engine goes on.
        self.sweep(Slot::discarded);
        if self.pool.foreign() > 0 {
            self.pool.return_foreign();
        }
        self.publish_pool();
    }

    /// How long to sleep after a breath in which nothing moved.
    fn may_sleep(&self, rest: &mut Rest) -> Option<Duration> {
        match self.slots.iter().map(Slot::waiting).sum() {
            0 => Some(rest.without_packets()),
            waiting => {
                let now_ns = self.clock.now_ns();
                // What was due has had its turn, and did nothing.
                let events = || self.slots.iter().filter_map(Slot::next_event_ns).filter(|&ns| ns > now_ns);
                match events().min() {
                    // The next breath has that time.
                    Some(_) if self.clock.kind() == ClockKind::Capture => None,
                    next_ns => rest.with_packets(waiting, next_ns.map(|next_ns| next_ns - now_ns)),
                }
            }
        }
    }

    /// Whether nothing will move unless something comes from outside, and nothing will.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.slots.iter().all(Slot::is_at_rest)
    }

    pub(crate) fn publish_pool(&mut self) {
        self.gauges.total.set(self.pool.total() as u64);
        self.gauges.free.set(self.pool.available() as u64);
        // It has gone below zero if packets were taken back here that another worker had allocated.
        self.gauges.allocated.set(self.pool.allocated().cast_signed().max(0).cast_unsigned());
        self.gauges.freed.set(self.pool.freed());
        self.gauges.exhausted.set(self.pool.exhausted());
    }

    pub(crate) fn breaths(&self) -> u64 {
        self.breaths
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// It is at least so late: an app that came from another worker has seen this time.
    pub(crate) fn not_before(&mut self, now_ns: u64) {
        self.clock.jump(now_ns);
    }

    /// Packets that were dropped while no app ran.
    pub(crate) fn ownerless(&self) -> u64 {
        self.gauges.ownerless.get()
    }
}
