//! A worker: the apps of one thread, breathing in turn.
//!
//! ```text
//! for each app that pulls, by name:                  pull
//! for each app with links in, senders first:         push, if anything waits
//! now and then:                                      tick, restarts
//! if any packet was dropped by going out of scope:   take it home, count it
//! ```
//!
//! An app that panics is taken down alone: what it held is dropped and counted, and the breath goes on with the next. A worker shares nothing with
//! others but the rings between them, the stacks on which packets come home, and a flag that says stop.

mod control;
mod load;
mod rest;
mod restarts;
mod state;
mod task;
mod time;
mod usual;

pub(crate) use control::{Control, Stillness};
pub(crate) use restarts::Restarts;
pub use state::AppState;
pub use task::LastWords;
pub(crate) use task::{Method, Outlook, Task};
pub(crate) use usual::Usual;

use crate::app::{Breath, Reconfigured};
use crate::clock::{Clock, ClockKind};
use crate::config::Config;
use crate::drops;
use crate::link::Ring;
use crate::option::OptionError;
use crate::panic::{Panic, guarded};
use crate::pool::{Orphans, Pool, Whose};
use crate::shm::{Counter, EntryKind, Histogram, Record, RecordSize};
use control::WorkerControl;
use load::{Load, Sent};
pub(crate) use rest::Rest;
use rest::{Awake, Way};
use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use std::time::{Duration, Instant};
use task::ChangeFailure;
use time::{ThreadTime, share_out};
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
    /// Whether an app has said when capture time begins.
    has_time: bool,
    /// Whether none has, and one will.
    awaits_time: bool,
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
    pub(crate) burst: u32,
    pub(crate) tick_ns: u64,
}

/// Whose turn follows whose, by their numbers.
#[derive(Debug, Default)]
struct Schedule {
    pulls: Vec<u32>,
    pushes: Vec<u32>,
    ticks: Vec<u32>,
}

impl Schedule {
    /// Those in this order push; those that pull do so in the order of their names.
    fn new(tasks: &[Task]) -> Self {
        let with = |method| (0..).zip(tasks).filter(move |(_, task)| task.has(method)).map(|(task, _)| task);
        let mut pulls: Vec<u32> = with(Method::Pull).collect();
        pulls.sort_by_key(|&task| tasks[task as usize].name());
        Schedule { pulls, pushes: with(Method::Push).collect(), ticks: with(Method::Tick).collect() }
    }

    fn of(&self, method: Method) -> &[u32] {
        match method {
            Method::Pull => &self.pulls,
            Method::Push => &self.pushes,
            Method::Tick => &self.ticks,
        }
    }
}

/// The state of a worker, as seen from outside.
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
    without_app: Counter,
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
            without_app: record.number(drops::LINK_REMOVED, EntryKind::Drop),
            latency: record.histogram("breath_ns"),
        }
    }
}

impl Worker {
    /// The size of a worker's record.
    pub(crate) const RECORD_SIZE: RecordSize = RecordSize { entries: 9, numbers: 9 + Histogram::BUCKETS };

    pub(crate) fn new(pool: Pool, clock: Clock, pace: Pace, mut record: Record) -> Self {
        let gauges = Gauges::new(&mut record);
        let time = ThreadTime::new(record.number("cpu_ns", EntryKind::Counter));
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
            has_time: false,
            awaits_time: false,
            any_down: false,
            is_over: false,
            gauges,
            _record: record,
        }
    }

    /// Takes the apps on, given in the order in which they push.
    pub(crate) fn install(&mut self, tasks: Vec<Task>) {
        self.tasks = tasks;
        self.schedule = Schedule::new(&self.tasks);
        self.load = Load::new(self.sent_away());
        self.any_down = self.tasks.iter().any(Task::is_down);
        for task in 0..self.tasks.len() {
            if let Err(panic) = self.tasks[task].announce_ports() {
                self.app_panicked(task, panic.message(), Outlook::GoesOn);
            }
        }
    }

    /// One breath: every app that pulls, then every app that got packets. Returns whether anything moved.
    pub(crate) fn breathe(&mut self) -> bool {
        let now_ns = self.advance();
        self.load.breath(now_ns);
        self.pool.stamp_time(self.clock.stamp_ns());
        self.pool.fetch_returns();
        self.breaths += 1;
        self.gauges.breaths.set(self.breaths);
        let moved = if self.awaits_time {
            self.turns_before_time(now_ns)
        } else if self.breaths.is_multiple_of(TIMED_EVERY / 2) {
            self.timed_turns(now_ns)
        } else {
            self.turns::<false>(Method::Pull, Task::pull, now_ns)
                | self.turns::<false>(Method::Push, Task::push, now_ns)
        };
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
        moved
    }

    /// The time of this breath.
    fn advance(&mut self) -> u64 {
        if self.clock.kind() == ClockKind::Wall {
            return self.clock.advance();
        }
        let events = self.tasks.iter().filter_map(Task::next_event_ns);
        let next_ns = events.min();
        self.awaits_time = next_ns == Some(0) && !self.has_time;
        let Some(next_ns) = self.beginning_ns().or(next_ns) else { return self.clock.now_ns() };
        if next_ns <= self.clock.now_ns() {
            // It was due in the breath before, which has not settled it: perhaps the app does that when it ticks.
            self.next_tick_ns = 0;
        }
        self.clock.jump(next_ns)
    }

    /// When capture time begins, if an app has found out since the breath before, and time was counted from 1970 until then: what others wait for by that count
    /// is past.
    fn beginning_ns(&mut self) -> Option<u64> {
        if self.has_time || self.awaits_time {
            return None;
        }
        let who_know = self.tasks.iter().filter(|task| task.tells_time());
        let begin_ns = who_know.filter_map(Task::next_event_ns).min();
        self.has_time = begin_ns.is_some();
        begin_ns.filter(|_| self.clock.now_ns() > 0)
    }

    /// The turns of a breath before capture time has begun: of the apps that pull, those alone that will know when.
    #[cold]
    fn turns_before_time(&mut self, now_ns: u64) -> bool {
        let pull = |task: &mut Task, breath: &mut Breath<'_>| match task.next_event_ns() {
            Some(0) => task.pull(breath),
            _ => None,
        };
        self.turns::<false>(Method::Pull, pull, now_ns)
            | self.turns::<false>(Method::Push, Task::push, now_ns)
    }

    /// Times the turns of one breath, or another breath as a whole, in which no clock is read between turns.
    #[cold]
    fn timed_turns(&mut self, now_ns: u64) -> bool {
        if self.breaths.is_multiple_of(TIMED_EVERY) {
            return self.turns::<true>(Method::Pull, Task::pull, now_ns)
                | self.turns::<true>(Method::Push, Task::push, now_ns);
        }
        let begin = Instant::now();
        let moved = self.turns::<false>(Method::Pull, Task::pull, now_ns)
            | self.turns::<false>(Method::Push, Task::push, now_ns);
        self.gauges.latency.record(begin.elapsed().as_nanos() as u64);
        moved
    }

    /// Gives all apps of a schedule their turns; an app that panics is stopped, and the schedule goes on after it. Returns whether
    /// anything moved.
    #[inline(always)]
    fn turns<const TIMED: bool>(
        &mut self,
        method: Method,
        turn: impl Fn(&mut Task, &mut Breath<'_>) -> Option<u32> + Copy,
        now_ns: u64,
    ) -> bool {
        // Unless an app has an engine of its own, nobody.
        let outer = Orphans::running();
        let mut first = 0;
        let mut moved = false;
        loop {
            let turns = || {
                let Worker { tasks, schedule, pool, pace, .. } = self;
                let schedule = schedule.of(method).get(first..).unwrap_or_default();
                each::<TIMED>(schedule, tasks, Breath { pool, now_ns, burst: pace.burst }, turn)
            };
            match guarded(turns) {
                Ok(more) => {
                    Orphans::back_to(outer);
                    return moved | more;
                }
                Err(panic) => {
                    moved = true;
                    first = self.turn_panicked(method, panic);
                }
            }
        }
    }

    /// The app that ran has panicked. Returns who is next in the schedule.
    #[cold]
    fn turn_panicked(&mut self, method: Method, panic: Panic) -> usize {
        let Some(running) = Orphans::running() else { panic.resume() };
        let position = self.schedule.of(method).iter().position(|&task| task == running);
        self.app_panicked(running as usize, panic.message(), Outlook::GoesOn);
        position.map_or(usize::MAX, |position| position + 1)
    }

    /// Work that is done from time to time.
    #[cold]
    fn tick(&mut self, now_ns: u64) {
        self.clock.follow_day();
        // It may tick in every breath on capture time.
        if self.clock.kind() == ClockKind::Wall {
            self.time.publish();
        }
        self.turns::<false>(Method::Tick, Task::tick, now_ns);
        self.look_after_apps(now_ns);
    }

    /// Takes down apps that failed when they were asked something, and starts those that have been down for long enough.
    fn look_after_apps(&mut self, now_ns: u64) {
        self.hear_complaints(Outlook::GoesOn);
        if self.any_down {
            self.tasks.iter_mut().for_each(|task| task.restart_if_due(now_ns));
            self.any_down = self.tasks.iter().any(Task::is_down);
        }
    }

    /// Takes down apps that failed when they were asked something. Returns whether there were any.
    pub(crate) fn hear_complaints(&mut self, outlook: Outlook) -> bool {
        let mut any = false;
        for task in 0..self.tasks.len() {
            if let Some(complaint) = self.tasks[task].take_complaint() {
                self.app_panicked(task, complaint, outlook);
                any = true;
            }
        }
        any
    }

    fn app_panicked(&mut self, task: usize, why: String, outlook: Outlook) {
        // The app's own packets are dropped with it, on its account.
        Orphans::enter(task as u32);
        self.tasks[task].panicked(why, outlook);
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
    pub(crate) fn sweep(&mut self, count: impl Fn(&Task, u64)) {
        let Worker { tasks, pool, gauges, .. } = self;
        Orphans::sweep(pool.engine(), |whose, packet| {
            match whose {
                Whose::App(task) => match tasks.get(task as usize) {
                    Some(task) => count(task, 1),
                    None => gauges.without_app.add(1),
                },
                Whose::Nobody => gauges.without_app.add(1),
                Whose::Counted => {}
            }
            pool.put_back(packet);
        });
    }

    /// Stops an app that was taken off: it may still send what it holds, and what it then drops is counted.
    /// Returns what it had to report at last.
    pub(crate) fn stop(&mut self, task: &mut Task) -> Option<LastWords> {
        Orphans::leave();
        let (now_ns, burst) = (self.clock.now_ns(), self.pace.burst);
        let report = task.stop(&mut Breath { pool: &mut self.pool, now_ns, burst });
        self.take_home(|whose| {
            if whose != Whose::Counted {
                task.lost_in_stop(1);
            }
        });
        report
    }

    /// Gives other options to an app that was taken off. If it panics, it is down.
    pub(crate) fn reconfigure(
        &mut self,
        task: &mut Task,
        config: &Config,
    ) -> Result<Reconfigured, OptionError> {
        let why = match task.reconfigure(config, self.clock.now_ns()) {
            Ok(done) => return Ok(done),
            Err(ChangeFailure::Refused(error)) => return Err(error),
            Err(ChangeFailure::Panicked(panic)) => panic.message(),
        };
        Orphans::leave();
        task.panicked(why.clone(), Outlook::GoesOn);
        self.take_home(|whose| {
            if whose != Whose::Counted {
                task.lost_in_panic(1);
            }
        });
        Err(OptionError::failed("take on other options", why))
    }

    /// Takes home what was dropped while apps are taken off.
    fn take_home(&mut self, count: impl Fn(Whose)) {
        Orphans::sweep(self.pool.engine(), |whose, packet| {
            count(whose);
            self.pool.put_back(packet);
        });
    }

    /// Breathes until told to stop, or an app wants the run to end.
    pub(crate) fn run(&mut self, control: &WorkerControl, busywait: bool) {
        let (mut rest, mut awake) = (self.rest(), Awake::new(self.exchanged()));
        self.load.pause();
        self.stood();
        self.time.begin();
        self.is_over = false;
        while !control.is_stopping() && !self.is_over {
            if self.breathe() {
                rest.moved();
                control.moved();
                continue;
            }
            // Packets freed here may be what another worker waits for.
            self.return_foreign();
            control.rests(self.is_at_rest());
            if busywait {
                continue;
            }
            let now_ns = self.clock.now_ns();
            awake.look(now_ns, || self.pressed());
            if awake.is_on(now_ns) {
                self.give_way(&mut awake);
            } else if let Some(time) = self.may_sleep(&mut rest) {
                if !self.waits_for_devices(&mut rest) {
                    std::thread::sleep(time);
                }
                self.clock.slept();
                // What has come meanwhile will soon be gone.
                awake.look(now_ns, || self.pressed());
            }
        }
        // The thread ends, and its list with it, some time after the engine goes on.
        self.sweep(Task::discarded);
        self.return_foreign();
        self.publish_pool();
        self.time.end();
    }

    /// Waits until a device has something, if nothing else can come. Returns whether it has waited.
    ///
    /// PERF: of an idle worker with an `af_packet`, this leaves 0.4 % of a core of 4.1 %, and 100 of 2,080 wakings a second; a packet that
    /// comes then is there and back in 0.17 and 0.18 ms (medians of two series) in place of 0.23 and 0.49.
    pub(crate) fn waits_for_devices(&mut self, rest: &mut Rest) -> bool {
        // Capture time comes when somebody asks for it.
        if self.clock.kind() != ClockKind::Wall {
            return false;
        }
        let Some(time) = rest.until_device(|| self.until_called_ns()) else { return false };
        let mut devices = Vec::new();
        if self.any_down || !self.tasks.iter().all(|task| task.waits_for(&mut devices)) || devices.is_empty()
        {
            return false;
        }
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut devices, Some(&timeout)) {
            // After a signal, too, the next breath looks anyway.
            Ok(0) | Err(Errno::INTR) => {}
            // Where the system has no memory, or forbids it, it would return at once again and again.
            Ok(_) | Err(_) => rest.bar_devices(),
        }
        // So few breaths come that to count them takes long.
        self.is_over |= self.tasks.iter().any(Task::ends_run);
        true
    }

    /// How long it is until an app wants to be called, or is to tick since it has not settled in its turn what was due.
    pub(crate) fn until_called_ns(&self) -> Option<u64> {
        let now_ns = self.clock.now_ns();
        let call_ns = |task: &Task| match task.next_event_ns()? {
            next_ns if next_ns > now_ns => Some(next_ns),
            _ => task.has(Method::Tick).then_some(self.next_tick_ns),
        };
        let next_ns = self.tasks.iter().filter_map(call_ns).min()?;
        Some(next_ns.saturating_sub(now_ns))
    }

    /// Lets others have the core for a moment.
    fn give_way(&mut self, awake: &mut Awake) {
        let now_ns = self.clock.now_ns();
        let has_paused = match awake.way(now_ns) {
            Way::Nap => {
                std::thread::sleep(rest::NAP);
                true
            }
            Way::Yield => {
                let begin = Instant::now();
                std::thread::yield_now();
                awake.yielded(now_ns, begin.elapsed().as_nanos() as u64)
            }
        };
        if has_paused {
            self.clock.slept();
        }
    }

    /// Sends packets of other workers back to them, if there are any.
    fn return_foreign(&mut self) {
        if self.pool.foreign() > 0 {
            self.pool.return_foreign();
        }
    }

    /// [`Worker::exchanged`], where a link to or from another worker is half full.
    fn pressed(&self) -> Option<u32> {
        self.tasks.iter().flat_map(Task::rings).any(Ring::is_pressed).then(|| self.exchanged())
    }

    /// How it sleeps in a run.
    pub(crate) fn rest(&self) -> Rest {
        Rest::new(self.is_sent_to())
    }

    /// Whether another worker sends to this one. Apps move between runs only.
    fn is_sent_to(&self) -> bool {
        self.tasks.iter().flat_map(|task| &task.plugs.inputs).any(|input| !input.ring().is_local())
    }

    /// How many packets have been sent over all links to or from other workers, modulo 2^32.
    fn exchanged(&self) -> u32 {
        let away = self.tasks.iter().flat_map(Task::rings).filter(|ring| !ring.is_local());
        away.fold(0, |sum: u32, ring| sum.wrapping_add(ring.sent()))
    }

    /// How long to sleep after a breath in which nothing moved.
    fn may_sleep(&self, rest: &mut Rest) -> Option<Duration> {
        let now_ns = self.clock.now_ns();
        // What was due has had its turn, and did nothing.
        let events = || self.tasks.iter().filter_map(Task::next_event_ns).filter(|&ns| ns > now_ns);
        let until_event_ns = || events().min().map(|next_ns| next_ns - now_ns);
        match self.tasks.iter().map(Task::waiting).sum() {
            0 => Some(rest.without_packets(until_event_ns)),
            waiting => match until_event_ns() {
                // The next breath has that time.
                Some(_) if self.clock.kind() == ClockKind::Capture => None,
                until_event_ns => rest.with_packets(waiting, until_event_ns),
            },
        }
    }

    /// Whether nothing will move unless something comes from outside, and nothing will.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.tasks.iter().all(Task::is_at_rest)
    }

    pub(crate) fn publish_pool(&mut self) {
        self.pool.fetch_all_returns();
        self.gauges.total.set(self.pool.total() as u64);
        self.gauges.free.set(self.pool.available() as u64);
        // It has gone below zero if packets were taken back here that another worker had allocated.
        self.gauges.allocated.set(self.pool.allocated().cast_signed().max(0).cast_unsigned());
        self.gauges.freed.set(self.pool.freed());
        self.gauges.exhausted.set(self.pool.exhausted());
    }

    /// The time that each of its apps has taken so far, in nanoseconds: their usual turns times all turns, but together no more than its thread has
    /// taken, if one has run it.
    pub(crate) fn busy_ns(&self) -> Vec<u64> {
        let mut busy_ns: Vec<u64> =
            self.tasks.iter().map(|task| task.busy_ns().saturating_mul(TIMED_EVERY)).collect();
        if let Some(thread_ns) = self.thread_ns() {
            share_out(&mut busy_ns, thread_ns);
        }
        busy_ns
    }

    /// The CPU time of the threads that have run it, if any has.
    pub(crate) fn thread_ns(&self) -> Option<u64> {
        self.time.total_ns()
    }

    /// The usual time of its breaths since [`Worker::measure_anew`], of those that were timed as a whole.
    pub(crate) fn usual_breath(&self) -> Usual {
        self.measured.usual(&self.gauges.latency)
    }

    /// Forgets what its breaths, and the turns of its apps, have taken so far.
    pub(crate) fn measure_anew(&mut self) {
        self.measured = Measured::from_now(&self.gauges.latency);
        self.load = Load::new(self.sent_away());
        self.tasks.iter_mut().for_each(Task::measure_anew);
    }

    /// For how long it has breathed since then.
    pub(crate) fn measured_ns(&self) -> u64 {
        self.load.total_ns()
    }

    /// For how long it has done something of use since it is measured, if it has breathed.
    pub(crate) fn useful_ns(&self) -> Option<f64> {
        self.load.useful_ns(self.sent_away())
    }

    /// Packets that links to other workers had no room for since it is measured.
    pub(crate) fn lost(&self) -> u64 {
        self.load.lost(self.sent_away())
    }

    /// Whether others could do more if it did.
    pub(crate) fn holds_up_others(&self) -> bool {
        self.load.holds_up_others(self.sent_away())
    }

    /// Packets sent by those of its apps that send to other workers.
    fn sent_away(&self) -> Sent {
        let outputs = self.tasks.iter().filter(|task| task.sends_away()).flat_map(|task| &task.plugs.outputs);
        outputs.fold(Sent::default(), |sum, output| sum + Sent::over(output))
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

/// Gives apps their turns, one after the other. Returns whether anything moved.
#[inline(always)]
fn each<const TIMED: bool>(
    schedule: &[u32],
    tasks: &mut [Task],
    mut breath: Breath<'_>,
    turn: impl Fn(&mut Task, &mut Breath<'_>) -> Option<u32>,
) -> bool {
    let mut moved = false;
    let mut begin = TIMED.then(Instant::now);
    for &task in schedule {
        Orphans::enter(task);
        let task = &mut tasks[task as usize];
        let Some(count) = turn(task, &mut breath) else { continue };
        if count > 0 {
            moved = true;
        }
        if let Some(begin) = &mut begin {
            let end = Instant::now();
            task.took((end - *begin).as_nanos() as u64);
            *begin = end;
        }
    }
    moved
}
