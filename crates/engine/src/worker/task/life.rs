//! How an app starts, fails, changes and stops.

use super::{AppState, Task};
use crate::app::{AnyApp, Breath, PortNames, Reconfigured, Roles, Setup};
use crate::config::Config;
use crate::option::OptionError;
use crate::panic::{Panic, guarded, let_go};
use crate::shm::EntryKind;

impl Task {
    /// Starts the app.
    pub(crate) fn start(&mut self, now_ns: u64) -> Result<(), OptionError> {
        let Task { name, record, clock, legacy, notifier, config, discards, .. } = self;
        let (clock, prepared) = (*clock, config.prepared());
        let setup = Setup { name, clock, now_ns, record, legacy, notifier, prepared, discards };
        let started = Started::new(config, setup)?;
        self.put_in(started);
        Ok(())
    }

    /// Starts the app, which takes over what another has left. If it does not start, it is down.
    pub(crate) fn take_over(&mut self, before: &mut Task, now_ns: u64) -> Result<(), OptionError> {
        self.legacy = before.legacy.take();
        // Of the same class: should it start later only, the schedule knows what to call.
        (self.roles, self.is_timed) = (before.roles, before.is_timed);
        self.start(now_ns).inspect_err(|error| self.goes_down(error.to_string()))
    }

    fn put_in(&mut self, started: Started) {
        (self.roles, self.is_timed) = (started.roles, started.is_timed);
        self.app = Some(started.app);
    }

    /// Tells the app which links it has.
    pub(in crate::worker) fn announce_ports(&mut self) -> Result<(), Panic> {
        let ports = names(&self.input_names, &self.output_names);
        match self.app.as_deref_mut() {
            Some(app) => guarded(|| app.link(&ports)),
            None => Ok(()),
        }
    }

    /// The app has panicked: it is dropped, and waits to be started again.
    pub(in crate::worker) fn panicked(&mut self, why: String, outlook: Outlook) {
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
    pub(super) fn drop_app(&mut self) -> Result<(), Panic> {
        let app = self.app.take();
        guarded(|| drop(app))
    }

    fn goes_down(&mut self, why: String) {
        self.outage.begin();
        self.back_in = None;
        self.last_error = Some(why);
        self.counters.state.set(AppState::Down.code());
    }

    /// Tells that the app runs again, when it has had a breath to fail in.
    pub(in crate::worker) fn tell_of_return(&mut self, breath: u64) {
        if self.back_in.is_some_and(|started| started != breath) {
            self.back_in = None;
            self.notifier.note("it runs again");
        }
    }

    /// Starts the app again, when it has been down for long enough.
    pub(in crate::worker) fn restart_if_due(&mut self, now_ns: u64, breath: u64) {
        if !self.outage.is_over() {
            return;
        }
        self.counters.restarts.add(1);
        let config = self.config.clone();
        match self.start_again(&config, now_ns) {
            Ok(()) => self.back_in = Some(breath),
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
        let Task { name, record, clock, legacy, notifier, input_names, output_names, discards, .. } = self;
        let (clock, prepared) = (*clock, config.prepared());
        let setup = Setup { name, clock, now_ns, record, legacy, notifier, prepared, discards };
        let mut started = Started::new(config, setup)?;
        let ports = names(input_names, output_names);
        if let Err(panic) = guarded(|| started.app.link(&ports)) {
            let_go(started);
            return Err(failed_to_start(&panic));
        }
        self.put_in(started);
        self.outage.end();
        self.counters.state.set(AppState::Running.code());
        Ok(())
    }

    /// Gives the app other options.
    pub(in crate::worker) fn reconfigure(
        &mut self,
        config: &Config,
        now_ns: u64,
    ) -> Result<Reconfigured, ChangeFailure> {
        let Task { app, name, record, config: old, clock, legacy, notifier, discards, .. } = self;
        let Some(app) = app.as_deref_mut() else { return Ok(Reconfigured::NeedsRestart) };
        let (clock, prepared) = (*clock, config.prepared());
        let setup = &mut Setup { name, clock, now_ns, record, legacy, notifier, prepared, discards };
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
    pub(in crate::worker) fn stop(&mut self, breath: &mut Breath<'_>) -> Option<LastWords> {
        let app = self.app.as_deref_mut()?;
        let report = guarded(|| {
            app.stop(&mut breath.io(&mut self.plugs));
            app.reporting().map_or((None, false), |app| (app.report(), app.has_failed()))
        });
        let app = self.app.take();
        let dropped = guarded(|| app.and_then(|app| app.into_discards()));
        let dropped = dropped.map(|thing| thing.into_iter().for_each(|thing| self.discards.add(thing)));
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

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}

/// The last report of an app that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWords {
    /// Its own words.
    pub text: String,
    /// Whether that tells of a [failure](crate::Reporting::has_failed), such as that the end of a file could not be written.
    pub has_failed: bool,
    /// Its counters, as in [`AppReport::counters`](crate::AppReport::counters).
    pub counters: Vec<(String, EntryKind, u64)>,
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
pub(in crate::worker) enum ChangeFailure {
    /// It refuses them.
    Refused(OptionError),
    /// It has panicked.
    Panicked(Panic),
}

/// An app that has started, with what it says of itself.
struct Started {
    app: Box<dyn AnyApp>,
    roles: Roles,
    is_timed: bool,
}

impl Started {
    /// Starts an app, and asks what the engine needs to know of it.
    fn new(config: &Config, mut setup: Setup<'_>) -> Result<Self, OptionError> {
        // It may be left from an app that panicked.
        setup.record.take_overfull();
        let started = guarded(|| config.start(&mut setup));
        let app = started.unwrap_or_else(|panic| Err(failed_to_start(&panic)))?;
        let (roles, is_timed) = match guarded(|| (app.roles(), app.timed().is_some())) {
            Ok(answers) => answers,
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
        Ok(Started { app, roles, is_timed })
    }
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
