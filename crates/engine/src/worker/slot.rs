//! An app in its place: with its links, its counters, and what is needed to start it again.

use crate::app::{App, Io, Legacy, PortNames, Roles, Setup};
use crate::clock::ClockKind;
use crate::config::{Config, OptionError};
use crate::link::{Input, Output};
use crate::pool::Pool;
use crate::report::AppState;
use crate::shm::{Counter, EntryKind, Histogram, Record};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A method that is called by a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Pull,
    Push,
    Tick,
}

/// An app in its place.
pub(crate) struct Slot {
    /// `None` while it is down.
    app: Option<Box<dyn App>>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    roles: Roles,
    counters: Counters,
    down: Option<Down>,
    /// How long it stays down the next time.
    delay: Duration,
    started: Instant,
    last_error: Option<String>,
    name: String,
    config: Config,
    clock: ClockKind,
    legacy: Legacy,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    /// Last: the counters of the app are in it.
    pub(crate) record: Record,
}

#[derive(Clone, Copy, Debug)]
struct Down {
    until: Instant,
}

/// When apps that failed are started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarts {
    /// How long an app is down the first time.
    pub(crate) first: Duration,
    /// How long at most, after doubling each time.
    pub(crate) max: Duration,
}

/// What the engine counts for every app.
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
            discarded: record.number("discarded", EntryKind::Drop),
            panic: record.number("panic", EntryKind::Drop),
            app_down: record.number("app_down", EntryKind::Drop),
            stopped: record.number("stopped", EntryKind::Drop),
            latency: record.histogram("turn_ns"),
        }
    }
}

impl Slot {
    /// Entries and numbers of an app's record: those of the engine, and room for the app's own.
    pub(crate) const RECORD: (usize, usize) = (48, 48 + Histogram::BUCKETS);

    /// Starts an app.
    pub(crate) fn start(
        name: &str,
        config: Config,
        mut record: Record,
        (clock, now_ns): (ClockKind, u64),
        restarts: Restarts,
    ) -> Result<Self, OptionError> {
        let counters = Counters::new(&mut record);
        let mut legacy = None;
        let app =
            config.start(&mut Setup { name, clock, now_ns, record: &mut record, legacy: &mut legacy })?;
        Ok(Slot {
            roles: app.roles(),
            app: Some(app),
            inputs: Vec::new(),
            outputs: Vec::new(),
            counters,
            down: None,
            delay: restarts.first,
            started: Instant::now(),
            last_error: None,
            name: name.to_owned(),
            config,
            clock,
            legacy,
            input_names: Vec::new(),
            output_names: Vec::new(),
            record,
        })
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
            Method::Push => !self.inputs.is_empty(),
            Method::Tick => self.roles.has(Roles::TICK),
        }
    }

    /// Lets it pull. Returns whether packets moved; `None` if it did not run.
    #[inline]
    pub(super) fn pull(&mut self, pool: &mut Pool, now_ns: u64, burst: usize) -> Option<bool> {
        let app = self.app.as_deref_mut()?;
        app.pull(&mut Io { inputs: &mut self.inputs, outputs: &mut self.outputs, pool, now_ns, burst });
        Some(self.end_turn())
    }

    /// Lets it push, if anything waits. Returns whether packets moved; `None` if it did not run.
    #[inline]
    pub(super) fn push(&mut self, pool: &mut Pool, now_ns: u64, burst: usize) -> Option<bool> {
        let mut ready = false;
        for input in &mut self.inputs {
            ready |= input.begin();
        }
        if !ready {
            return None;
        }
        match self.app.as_deref_mut() {
            Some(app) => app.push(&mut Io {
                inputs: &mut self.inputs,
                outputs: &mut self.outputs,
                pool,
                now_ns,
                burst,
            }),
            None => self.drain(pool),
        }
        self.end_turn();
        Some(true)
    }

    #[inline]
    fn end_turn(&mut self) -> bool {
        let mut sent = 0;
        for output in &mut self.outputs {
            sent |= output.end();
        }
        for input in &mut self.inputs {
            input.end();
        }
        sent != 0
    }

    /// Throws away what waits for an app that is down.
    #[cold]
    fn drain(&mut self, pool: &mut Pool) {
        for input in &mut self.inputs {
            while let Some(burst) = input.burst() {
                pool.free_burst(burst, &self.counters.app_down);
            }
        }
    }

    pub(super) fn tick(&mut self, pool: &mut Pool, now_ns: u64, burst: usize) {
        if let Some(app) = self.app.as_deref_mut() {
            app.tick(&mut Io { inputs: &mut self.inputs, outputs: &mut self.outputs, pool, now_ns, burst });
            self.end_turn();
        }
    }

    /// Tells the app which links it has.
    pub(super) fn announce_ports(&mut self) {
        let names = PortNames {
            inputs: self.input_names.iter().map(String::as_str).collect(),
            outputs: self.output_names.iter().map(String::as_str).collect(),
        };
        if let Some(app) = self.app.as_deref_mut() {
            app.link(&names);
        }
    }

    /// The app has panicked: it is dropped, and waits to be started again.
    pub(super) fn panicked(&mut self, payload: &(dyn Any + Send), restarts: Restarts) {
        self.end_turn();
        let app = self.app.take();
        // Its destructor may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(app)));
        self.goes_down(message(payload), restarts);
    }

    fn goes_down(&mut self, why: String, restarts: Restarts) {
        if self.started.elapsed() > restarts.max {
            self.delay = restarts.first;
        }
        self.down = Some(Down { until: Instant::now() + self.delay });
        self.delay = (self.delay * 2).min(restarts.max);
        self.last_error = Some(why);
        self.counters.state.set(AppState::Down.code());
    }

    /// Starts the app again, when it has been down for long enough.
    pub(super) fn restart_if_due(&mut self, now_ns: u64, restarts: Restarts) {
        if self.down.is_none_or(|down| Instant::now() < down.until) {
            return;
        }
        self.counters.restarts.add(1);
        let Slot { name, record, config, clock, legacy, .. } = self;
        let start = || config.start(&mut Setup { name, clock: *clock, now_ns, record, legacy });
        match catch_unwind(AssertUnwindSafe(start)) {
            Ok(Ok(app)) => self.goes_up(app),
            Ok(Err(error)) => self.goes_down(error.to_string(), restarts),
            Err(payload) => self.goes_down(message(&*payload), restarts),
        }
    }

    fn goes_up(&mut self, app: Box<dyn App>) {
        self.roles = app.roles();
        self.app = Some(app);
        self.down = None;
        self.started = Instant::now();
        self.counters.state.set(AppState::Running.code());
        self.announce_ports();
    }

    /// Gives the app other options; `false` if it has to be started anew.
    pub(crate) fn reconfigure(&mut self, config: &Config, now_ns: u64) -> Result<bool, OptionError> {
        let Slot { app, name, record, config: old, clock, legacy, .. } = self;
        let Some(app) = app.as_deref_mut() else { return Ok(false) };
        let done =
            config.reconfigure(app, old, &mut Setup { name, clock: *clock, now_ns, record, legacy })?;
        if done {
            self.roles = app.roles();
            self.config = config.clone();
        }
        Ok(done)
    }

    /// Puts another app in the place of one that was stopped; links and counters stay.
    pub(crate) fn replace(
        &mut self,
        config: &Config,
        now_ns: u64,
        restarts: Restarts,
    ) -> Result<(), OptionError> {
        let Slot { name, record, clock, legacy, .. } = self;
        match config.start(&mut Setup { name, clock: *clock, now_ns, record, legacy }) {
            Ok(app) => {
                self.config = config.clone();
                self.goes_up(app);
                Ok(())
            }
            Err(error) => {
                self.goes_down(error.to_string(), restarts);
                Err(error)
            }
        }
    }

    /// Stops the app, and drops it. Returns what it had to report at last.
    pub(super) fn stop(&mut self, pool: &mut Pool, now_ns: u64, burst: usize) -> Option<String> {
        let mut app = self.app.take()?;
        let Slot { inputs, outputs, .. } = self;
        let report = catch_unwind(AssertUnwindSafe(|| {
            app.stop(&mut Io { inputs, outputs, pool, now_ns, burst });
            let report = app.report();
            drop(app);
            report
        }));
        self.end_turn();
        self.counters.state.set(AppState::Stopped.code());
        report
            .unwrap_or_else(|payload| Some(format!("it failed when it was stopped: {}", message(&*payload))))
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
        self.down.is_some()
    }

    pub(super) fn next_event_ns(&self) -> Option<u64> {
        self.app.as_deref()?.next_event_ns()
    }

    /// Packets that the app keeps.
    pub(crate) fn held(&self) -> usize {
        self.app.as_deref().map_or(0, App::held)
    }

    pub(crate) fn uses_metadata(&self) -> bool {
        self.app.as_deref().is_some_and(App::uses_metadata)
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let finished = |app: &dyn App| !self.roles.has(Roles::PULL) || app.is_finished();
        self.app.as_deref().is_some_and(|app| finished(app) && app.held() == 0)
            && self.inputs.iter().all(|input| input.queued() == 0)
    }

    /// The output of a name.
    pub(crate) fn output(&self, port: &str) -> Option<&Output> {
        self.output_names.iter().position(|name| name == port).map(|index| &self.outputs[index])
    }

    /// The input of a name.
    pub(crate) fn input(&self, port: &str) -> Option<&Input> {
        self.input_names.iter().position(|name| name == port).map(|index| &self.inputs[index])
    }

    pub(crate) fn state(&self) -> AppState {
        if self.is_down() { AppState::Down } else { AppState::Running }
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.counters.restarts.get()
    }

    pub(crate) fn timed_ns(&self) -> u64 {
        self.counters.timed_ns.get()
    }

    pub(crate) fn latency(&self) -> Vec<u64> {
        self.counters.latency.counts()
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    pub(crate) fn report(&self) -> Option<String> {
        self.app.as_deref()?.report()
    }
}

/// What a panic said.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.config)
    }
}
