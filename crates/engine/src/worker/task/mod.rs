//! A task: an app on its worker, with its links, its counters, and what is needed to start it again.
//!
//! A task outlives its app. While the app is down, its inputs are emptied (`app_down`), its links and counters stay, and what it has left for
//! the next one (`Setup::legacy`) waits. Every call into an app is guarded against panics, in the breath or here.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | its place, and its turns |
//! | `room.rs` | how many packets it is given, and when it is called again |
//! | `apart.rs` | turns that are shown a part of what waits |
//! | `life.rs` | how the app starts, fails, changes and stops |
//! | `questions.rs` | what the app is asked between turns |
//! | `counters.rs` | what the engine counts for it |

mod apart;
mod counters;
mod life;
mod questions;
mod room;

pub(super) use life::ChangeFailure;
pub use life::LastWords;
pub(crate) use life::Outlook;
pub(super) use room::AGAIN;

use super::restarts::{Outage, Restarts};
use super::state::AppState;
use super::usual::Measured;
use crate::app::{AnyApp, Breath, Legacy, Plugs, Roles};
use crate::clock::ClockKind;
use crate::config::Config;
use crate::discards::Discards;
use crate::link::{Output, Ring};
use crate::notice::{Notices, Notifier};
use crate::panic::let_go;
use crate::pool::Pool;
use crate::shm::{Histogram, Record, RecordSize};
use counters::Counters;
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
    /// The epoch of its record.
    epoch: u64,
    pub(crate) plugs: Plugs,
    roles: Roles,
    /// Whether it has something to do at times of its own.
    is_timed: bool,
    /// How much room its links had, at least, when it left packets since they had too little.
    left_at: Option<u32>,
    /// The input that comes first where not all packets have room.
    first_input: usize,
    counters: Counters,
    measured: Measured,
    outage: Outage,
    /// The breath after which it was started again, until it is told that it runs.
    back_in: Option<u64>,
    last_error: Option<String>,
    /// The message of a panic when the app was asked something; the app is still there, and has to be taken down.
    complaint: Cell<Option<String>>,
    /// Whether the app has said that it will know when capture time begins.
    tells_time: Cell<bool>,
    name: String,
    config: Config,
    clock: ClockKind,
    legacy: Legacy,
    /// What it has left to be dropped later.
    pub(crate) discards: Discards,
    notifier: Notifier,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    /// Last: the counters of the app are in it.
    pub(crate) record: Record,
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
            is_timed: false,
            left_at: None,
            first_input: 0,
            app: None,
            epoch: record.epoch(),
            plugs: Plugs::default(),
            counters,
            measured: Measured::default(),
            outage: Outage::none(restarts),
            back_in: None,
            last_error: None,
            complaint: Cell::new(None),
            tells_time: Cell::new(false),
            name: name.to_owned(),
            config,
            clock,
            legacy: None,
            discards: Discards::default(),
            notifier: Notifier::new(name, notices),
            input_names: Vec::new(),
            output_names: Vec::new(),
            record,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What tells its record from any other.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
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

    /// Lets it push, if anything waits. Returns 0 if nothing moved, and [`AGAIN`]; `None` if it did not run.
    #[inline(always)]
    pub(super) fn push(&mut self, breath: &mut Breath<'_>) -> Option<u32> {
        let mut waiting = 0;
        for input in &mut self.plugs.inputs {
            waiting += input.begin();
        }
        (waiting > 0).then(|| self.push_ready(breath, waiting))
    }

    /// Lets the app push what waits. PERF: a function of its own, so that a breath asks without a call.
    #[inline(never)]
    fn push_ready(&mut self, breath: &mut Breath<'_>, waiting: u32) -> u32 {
        let has_room = self.plugs.outputs.iter().all(|output| output.bound() >= waiting);
        match self.app.as_deref_mut() {
            Some(app) if has_room && !self.roles.has(Roles::ROOM) => {
                app.push(&mut breath.io(&mut self.plugs));
                self.end_turn()
            }
            _ => self.push_bounded(breath, waiting),
        }
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

    pub(crate) fn is_down(&self) -> bool {
        self.outage.is_on()
    }

    /// Whether it is down, or was so a moment ago.
    pub(in crate::worker) fn is_looked_after(&self) -> bool {
        self.is_down() || self.back_in.is_some()
    }

    pub(crate) fn state(&self) -> AppState {
        if self.is_down() { AppState::Down } else { AppState::Running }
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
}

/// A task goes whatever the destructors of the app, and of what it has left, do.
impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.drop_app();
        let_go(self.legacy.take());
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.config)
    }
}
