//! A task: an app on its worker, with its links, its counters, and what is needed to start it again.
//!
//! A task outlives its app. While the app is down, its inputs are emptied (`app_down`), its links and counters stay, and what it has left for
//! the next one (`Setup::legacy`) waits. Every call into an app is guarded against panics, in the breath or here.

use super::restarts::{Outage, Restarts};
use super::state::AppState;
use super::usual::{Measured, Usual};
use crate::app::{AnyApp, App, Breath, Legacy, Plugs, PortNames, Reconfigured, Roles, Setup};
use crate::clock::ClockKind;
use crate::config::Config;
use crate::drops;
use crate::link::{Input, Output, Ring};
use crate::notice::{Notices, Notifier};
use crate::option::OptionError;
use crate::panic::{Panic, guarded, let_go};
use crate::pool::Pool;
use crate::shm::format::HOUSEKEEPING;
use crate::shm::{Counter, EntryKind, Histogram, Record, RecordSize};
use rustix::event::{PollFd, PollFlags};
use std::cell::Cell;
use std::fmt;

/// A method that is called by a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Pull,
    Push,
    Tick,
}

/// An app on its worker.
pub(crate) struct Task {
    /// `None` while it is down.
    app: Option<Box<dyn AnyApp>>,
    pub(crate) plugs: Plugs,
    roles: Roles,
    counters: Counters,
    measured: Measured,
    outage: Outage,
    last_error: Option<String>,
    /// The message of a panic when the app was asked something; the app is still there, and has to be taken down.
    complaint: Cell<Option<String>>,
    /// Whether the app has said that it will know when capture time begins.
    tells_time: Cell<bool>,
    name: String,
    config: Config,
    clock: ClockKind,
    legacy: Legacy,
    notifier: Notifier,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    /// Last: the counters of the app are in it.
    pub(crate) record: Record,
}

/// The engine's counters for every app.
#[derive(Debug)]
struct Counters {
    state: Counter,
    restarts: Counter,
    discarded: Counter,
    panic: Counter,
    app_down: Counter,
    stopped: Counter,
    /// Nanoseconds in the breaths that were timed.
    timed_ns: Counter,
    latency: Histogram,
}

impl Counters {
    fn new(record: &mut Record) -> Self {
        Counters {
            state: record.number("state", EntryKind::Gauge),
            restarts: record.number("restarts", EntryKind::Counter),
            timed_ns: record.number("timed_ns", EntryKind::Counter),
            discarded: record.number(drops::DISCARDED, EntryKind::Drop),
            panic: record.number(drops::PANIC, EntryKind::Drop),
            app_down: record.number(drops::APP_DOWN, EntryKind::Drop),
            stopped: record.number(drops::STOPPED, EntryKind::Drop),
            latency: record.histogram("turn_ns"),
        }
    }
}

impl Task {
    /// The size of an app's record: the entries of the engine, and room for the app's own.
    pub(crate) const RECORD_SIZE: RecordSize = RecordSize { entries: 48, numbers: 48 + Histogram::BUCKETS };

    /// A place for an app that is still to be started.
    pub(crate) fn vacant(
        name: &str,
        config: Config,
        mut record: Record,
        clock: ClockKind,
        restarts: Restarts,
        notices: &Notices,
    ) -> Self {
        let counters = Counters::new(&mut record);
        Task {
            roles: Roles::NONE,
            app: None,
            plugs: Plugs::default(),
            counters,
            measured: Measured::default(),
            outage: Outage::none(restarts),
            last_error: None,
            complaint: Cell::new(None),
            tells_time: Cell::new(false),
            name: name.to_owned(),
            config,
            clock,
            legacy: None,
            notifier: Notifier::new(name, notices),
            input_names: Vec::new(),
            output_names: Vec::new(),
            record,
        }
    }

    /// Starts the app.
    pub(crate) fn start(&mut self, now_ns: u64) -> Result<(), OptionError> {
        let Task { name, record, clock, legacy, notifier, config, .. } = self;
        let prepared = config.prepared();
        let (app, roles) =
            start(config, Setup { name, clock: *clock, now_ns, record, legacy, notifier, prepared })?;
        (self.app, self.roles) = (Some(app), roles);
        Ok(())
    }

    /// Starts the app, which takes over what another has left. If it does not start, it is down.
    pub(crate) fn take_over(&mut self, before: &mut Task, now_ns: u64) -> Result<(), OptionError> {
        self.legacy = before.legacy.take();
        // Of the same class: should it start later only, the schedule knows what to call.
        self.roles = before.roles;
        self.start(now_ns).inspect_err(|error| self.goes_down(error.to_string()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Whether a schedule calls this method. A push is there for every app with inputs: while it is down, they are emptied.
    pub(crate) fn has(&self, method: Method) -> bool {
        match method {
            Method::Pull => self.roles.has(Roles::PULL),
            Method::Push => !self.plugs.inputs.is_empty(),
            Method::Tick => self.roles.has(Roles::TICK),
        }
    }

    /// Lets it pull. Returns 0 if nothing moved; `None` if it did not run.
    #[inline(always)]
    pub(super) fn pull(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        self.app.as_deref_mut()?.take_pull(&mut self.plugs, breath);
        Some(if self.plugs.are_none() { 0 } else { self.end_linked_turn() })
    }

    /// Lets it push, if anything waits. Returns 0 if nothing moved; `None` if it did not run.
    #[inline(always)]
    pub(super) fn push(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        let mut ready = false;
        for input in &mut self.plugs.inputs {
            ready |= input.begin();
        }
        ready.then(|| self.push_ready(breath))
    }

    /// Lets the app push what waits. PERF: a function of its own, so that a breath asks without a call.
    #[inline(never)]
    fn push_ready(&mut self, breath: &mut Breath<'_>) -> u32 {
        match self.app.as_deref_mut() {
            Some(app) => app.push(&mut breath.io(&mut self.plugs)),
            None => self.drain(breath.pool),
        }
        self.end_turn()
    }

    /// Ends a turn. Returns 0 if nothing was sent or taken.
    #[inline]
    fn end_turn(&mut self) -> u32 {
        let mut moved = 0;
        for output in &mut self.plugs.outputs {
            moved |= output.end();
        }
        for input in &mut self.plugs.inputs {
            moved |= input.end();
        }
        moved
    }

    /// Ends the turn of an app that has links.
    ///
    /// PERF: a function of its own, so that apps without links do not save and restore its registers: 50 of them take half as long.
    #[inline(never)]
    fn end_linked_turn(&mut self) -> u32 {
        self.end_turn()
    }

    /// Throws away what waits for an app that is down.
    #[cold]
    fn drain(&mut self, pool: &mut Pool) {
        for input in &mut self.plugs.inputs {
            while let Some(burst) = input.burst() {
                pool.free_burst(burst, &self.counters.app_down);
            }
        }
    }

    /// Lets it tick. Returns 0 if nothing moved; `None` if it did not run.
    pub(super) fn tick(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        self.app.as_deref_mut()?.tick(&mut breath.io(&mut self.plugs));
        Some(self.end_turn())
    }

    /// Tells the app which links it has.
    pub(super) fn announce_ports(&mut self) -> Result<(), Panic> {
        let ports = names(&self.input_names, &self.output_names);
        match self.app.as_deref_mut() {
            Some(app) => guarded(|| app.link(&ports)),
            None => Ok(()),
        }
    }

    /// The app has panicked: it is dropped, and waits to be started again.
    pub(super) fn panicked(&mut self, why: String, outlook: Outlook) {
        self.end_turn();
        let _ = self.drop_app();
        let and_then = match outlook {
            Outlook::GoesOn => ", and is started again after a while",
            Outlook::MayEnd => "",
        };
        // Of the lines of a failed assertion, the first says what failed.
        let first = why.lines().next().unwrap_or_default();
        self.notifier.warn(format!("it has failed{and_then}: {first}"));
        self.goes_down(why);
    }

    /// Drops the app. Its destructor may panic.
    fn drop_app(&mut self) -> Result<(), Panic> {
        let app = self.app.take();
        guarded(|| drop(app))
    }

    fn goes_down(&mut self, why: String) {
        self.outage.begin();
        self.last_error = Some(why);
        self.counters.state.set(AppState::Down.code());
    }

    /// Starts the app again, when it has been down for long enough.
    pub(super) fn restart_if_due(&mut self, now_ns: u64) {
        if !self.outage.is_over() {
            return;
        }
        self.counters.restarts.add(1);
        let config = self.config.clone();
        match self.start_again(&config, now_ns) {
            Ok(()) => self.notifier.note("it runs again"),
            Err(error) => {
                let why = error.to_string();
                if self.last_error.as_ref() != Some(&why) {
                    self.notifier.warn(format!("it does not start again: {why}"));
                }
                self.goes_down(why);
            }
        }
    }

    /// Starts an app in the place of one that is gone, and tells it which links it has.
    fn start_again(&mut self, config: &Config, now_ns: u64) -> Result<(), OptionError> {
        let Task { name, record, clock, legacy, notifier, input_names, output_names, .. } = self;
        let prepared = config.prepared();
        let (mut app, roles) =
            start(config, Setup { name, clock: *clock, now_ns, record, legacy, notifier, prepared })?;
        let ports = names(input_names, output_names);
        if let Err(panic) = guarded(|| app.link(&ports)) {
            let_go(app);
            return Err(failed_to_start(&panic));
        }
        self.roles = roles;
        self.app = Some(app);
        self.outage.end();
        self.counters.state.set(AppState::Running.code());
        Ok(())
    }

    /// Gives the app other options.
    pub(super) fn reconfigure(
        &mut self,
        config: &Config,
        now_ns: u64,
    ) -> Result<Reconfigured, ChangeFailure> {
        let Task { app, name, record, config: old, clock, legacy, notifier, .. } = self;
        let Some(app) = app.as_deref_mut() else { return Ok(Reconfigured::NeedsRestart) };
        let prepared = config.prepared();
        let setup = &mut Setup { name, clock: *clock, now_ns, record, legacy, notifier, prepared };
        let change = || config.reconfigure(app, old, setup).map(|done| (done, app.roles()));
        let done = guarded(change).map_err(ChangeFailure::Panicked)?;
        // With counters that nobody sees it cannot go on: it is started anew, which is refused.
        let is_overfull = self.record.take_overfull();
        let (done, roles) = done.map_err(ChangeFailure::Refused)?;
        if done == Reconfigured::NeedsRestart || is_overfull {
            return Ok(Reconfigured::NeedsRestart);
        }
        self.roles = roles;
        self.config = config.clone();
        Ok(Reconfigured::Kept)
    }

    /// Puts another app in the place of one that was stopped; links and counters stay. If it does not start, it is down.
    pub(crate) fn replace(&mut self, config: &Config, now_ns: u64) -> Result<(), OptionError> {
        self.start_again(config, now_ns).inspect_err(|error| self.goes_down(error.to_string()))?;
        self.config = config.clone();
        Ok(())
    }

    /// Stops the app, and drops it. Returns what it had to report at last.
    pub(super) fn stop(&mut self, breath: &mut Breath<'_>) -> Option<LastWords> {
        let app = self.app.as_deref_mut()?;
        let report = guarded(|| {
            app.stop(&mut breath.io(&mut self.plugs));
            (app.report(), app.has_failed())
        });
        let dropped = self.drop_app();
        self.end_turn();
        self.counters.state.set(AppState::Stopped.code());
        match report.and_then(|report| dropped.map(|()| report)) {
            Ok((text, has_failed)) => {
                text.map(|text| LastWords { text, has_failed, counters: self.told_counters() })
            }
            Err(panic) => {
                let text = format!("it failed when it was stopped: {}", panic.message());
                Some(LastWords { text, has_failed: true, counters: self.told_counters() })
            }
        }
    }

    /// As if it had options that it refuses, and had been started longer ago.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn refuse(&mut self, config: Config, ago: std::time::Duration) {
        self.config = config;
        self.outage.age(ago);
    }

    pub(super) fn took(&self, ns: u64) {
        self.counters.timed_ns.add(ns);
        self.counters.latency.record(ns);
    }

    pub(crate) fn discarded(&self, count: u64) {
        self.counters.discarded.add(count);
    }

    pub(super) fn lost_in_panic(&self, count: u64) {
        self.counters.panic.add(count);
    }

    pub(super) fn lost_in_stop(&self, count: u64) {
        self.counters.stopped.add(count);
    }

    pub(crate) fn is_down(&self) -> bool {
        self.outage.is_on()
    }

    /// Asks the app something. `None` if there is none, or if it panics, which is kept as a complaint.
    fn ask<'a, T>(&'a self, question: impl FnOnce(&'a dyn App) -> T) -> Option<T> {
        let app = self.app.as_deref()?;
        let answer = guarded(|| question(app));
        answer.map_err(|panic| self.complaint.set(Some(panic.message()))).ok()
    }

    /// The message of a panic when the app was asked something.
    pub(super) fn take_complaint(&self) -> Option<String> {
        self.complaint.take()
    }

    pub(super) fn next_event_ns(&self) -> Option<u64> {
        let next_ns = self.ask(App::next_event_ns)?;
        if next_ns == Some(0) {
            self.tells_time.set(true);
        }
        next_ns
    }

    /// Whether the app has said that it will know when capture time begins.
    pub(super) fn tells_time(&self) -> bool {
        self.tells_time.get()
    }

    /// Packets that the app keeps.
    pub(crate) fn held(&self) -> usize {
        self.ask(App::held).unwrap_or(0)
    }

    pub(crate) fn uses_metadata(&self) -> bool {
        self.ask(App::uses_metadata).unwrap_or(false)
    }

    /// Whether nothing will come from it unless something comes to it. One that is down is waited for; but an app that only
    /// works on what comes, or has no link to send anything on, and does not start, is not waited for without end.
    pub(super) fn is_at_rest(&self) -> bool {
        let pulls = self.roles.has(Roles::PULL);
        let rests = if self.is_down() {
            self.outage.is_given_up() && !(pulls && self.plugs.outputs.iter().any(Output::is_linked))
        } else {
            self.ask(|app| (!pulls || app.is_finished()) && app.held() == 0).unwrap_or(false)
        };
        rests && self.plugs.inputs.iter().all(|input| input.queued() == 0)
    }

    /// Whether nothing will move in this place before one of these devices has something, to which its own are added.
    pub(super) fn waits_for<'a>(&'a self, devices: &mut Vec<PollFd<'a>>) -> bool {
        if self.waiting() > 0 {
            return false;
        }
        if !self.roles.has(Roles::PULL) {
            return true;
        }
        let device = self.ask(App::wakes_on).flatten();
        devices.extend(device.map(|device| PollFd::from_borrowed_fd(device, PollFlags::IN)));
        device.is_some() || self.ask(|app| app.is_finished() && app.held() == 0).unwrap_or(false)
    }

    /// Whether the app wants the run to end.
    pub(super) fn ends_run(&self) -> bool {
        self.ask(App::ends_run).unwrap_or(false)
    }

    /// Packets that wait for it.
    pub(super) fn waiting(&self) -> usize {
        self.plugs.inputs.iter().map(Input::queued).sum()
    }

    pub(crate) fn state(&self) -> AppState {
        if self.is_down() { AppState::Down } else { AppState::Running }
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.counters.restarts.get()
    }

    /// Whether a link leads from it to an app of another worker.
    pub(super) fn sends_away(&self) -> bool {
        self.plugs.outputs.iter().any(Output::leads_away)
    }

    /// Those of all its links.
    pub(super) fn rings(&self) -> impl Iterator<Item = &Ring> {
        let (outputs, inputs) = (self.plugs.outputs.iter(), self.plugs.inputs.iter());
        outputs.map(|output| &**output.ring()).chain(inputs.map(|input| &**input.ring()))
    }

    /// The usual time of its turns since [`Task::measure_anew`], of those that were timed.
    pub(crate) fn usual_turn(&self) -> Usual {
        self.measured.usual(&self.counters.latency)
    }

    /// Forgets what its turns have taken so far.
    pub(super) fn measure_anew(&mut self) {
        self.measured = Measured::from_now(&self.counters.latency);
    }

    /// What its turns have taken in the breaths that were timed, if the longest were like the others.
    pub(super) fn busy_ns(&self) -> u64 {
        let usual_ns = Histogram::usual_total_ns(&self.latency());
        self.counters.timed_ns.get().min(usual_ns as u64)
    }

    /// What the app counts, and what the engine counts for it, but for what that keeps for itself.
    pub(crate) fn told_counters(&self) -> Vec<(String, EntryKind, u64)> {
        let entries = self.record.entries();
        let told =
            entries.filter(|(name, kind, _)| *kind != EntryKind::Histogram && !HOUSEKEEPING.contains(name));
        told.map(|(name, kind, value)| (name.to_owned(), kind, value)).collect()
    }

    /// Packets for which it was the end of the way.
    pub(crate) fn delivered(&self) -> u64 {
        let delivered = self.record.entries().filter(|&(_, kind, _)| kind == EntryKind::Delivered);
        delivered.map(|(_, _, count)| count).sum()
    }

    pub(crate) fn latency(&self) -> Vec<u64> {
        self.counters.latency.counts()
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    pub(crate) fn report(&self) -> Option<String> {
        self.ask(App::report)?
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.ask(App::has_failed).unwrap_or(false)
    }
}

/// The last report of an app that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWords {
    /// Its own words.
    pub text: String,
    /// Whether that tells of a [failure](crate::App::has_failed), such as that the end of a file could not be written.
    pub has_failed: bool,
    /// Its counters, as in [`AppReport::counters`](crate::AppReport::counters).
    pub counters: Vec<(String, EntryKind, u64)>,
}

/// A task goes whatever the destructors of the app, and of what it has left, do.
impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.drop_app();
        let_go(self.legacy.take());
    }
}

/// Whether apps run on after one has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outlook {
    /// They do, so that it is started again.
    GoesOn,
    /// They stand, perhaps for ever: a report was asked for.
    MayEnd,
}

/// Why an app has not taken on other options.
pub(super) enum ChangeFailure {
    /// It refuses them.
    Refused(OptionError),
    /// It has panicked.
    Panicked(Panic),
}

/// Starts an app, and asks for its roles.
fn start(config: &Config, mut setup: Setup<'_>) -> Result<(Box<dyn AnyApp>, Roles), OptionError> {
    // It may be left from an app that panicked.
    setup.record.take_overfull();
    let started = guarded(|| config.start(&mut setup));
    let app = started.unwrap_or_else(|panic| Err(failed_to_start(&panic)))?;
    let roles = match guarded(|| app.roles()) {
        Ok(roles) => roles,
        Err(panic) => {
            let_go(app);
            return Err(failed_to_start(&panic));
        }
    };
    if setup.record.take_overfull() {
        let_go(app);
        // Packets that it drops for a reason nobody sees would be missing in the books.
        let why = format!(
            "it has more counters than there is room for: {} with those of the engine, and those of the options before; \
             an app of another name begins with none",
            Task::RECORD_SIZE.entries
        );
        return Err(OptionError::failed("start", why));
    }
    Ok((app, roles))
}

fn failed_to_start(panic: &Panic) -> OptionError {
    OptionError::failed("start", panic.message())
}

fn names<'a>(inputs: &'a [String], outputs: &'a [String]) -> PortNames<'a> {
    PortNames {
        inputs: inputs.iter().map(String::as_str).collect(),
        outputs: outputs.iter().map(String::as_str).collect(),
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.config)
    }
}
