//! Turns that last: apps that hold up the others of their workers, since they wait for something, or loop.

use crate::units::uptime;
use observe::{Rates, State};
use serde_json::{Value, json};
use std::time::Duration;

/// The turns of an instance that last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lasting(Vec<Turn>);

#[derive(Clone, Debug)]
struct Turn {
    worker: u32,
    app: String,
    since_unix_ns: u64,
    lasts: Duration,
}

impl Lasting {
    /// Those of an instance in a state, when the clock shows `now_unix_ns`. One that is stopped or gone has none: nobody has a turn there.
    pub(crate) fn of(rates: &Rates, state: State, now_unix_ns: u64) -> Self {
        let workers = rates.workers.iter().filter(|_| state == State::Running);
        let turns = workers.filter_map(|worker| {
            let turn = worker.turn.as_ref()?;
            let lasts = turn.lasts(now_unix_ns)?;
            Some(Turn {
                worker: worker.index,
                app: turn.app.clone(),
                since_unix_ns: turn.since_unix_ns,
                lasts,
            })
        });
        Lasting(turns.collect())
    }

    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// How long an app has had its turn, if that lasts.
    pub(crate) fn of_app(&self, app: &str) -> Option<Duration> {
        self.0.iter().find(|turn| turn.app == app).map(|turn| turn.lasts)
    }

    /// What is told of a worker, behind what else is.
    pub(crate) fn of_worker(&self, worker: u32) -> Option<String> {
        let turn = self.0.iter().find(|turn| turn.worker == worker)?;
        Some(format!("! turn of {} lasts {}", turn.app, uptime(turn.lasts)))
    }

    /// In words, for an instance of this name: a line for each.
    pub(crate) fn lines<'a>(&'a self, instance: &'a str) -> impl Iterator<Item = String> + 'a {
        self.0.iter().map(move |turn| {
            let (app, lasts) = (&turn.app, uptime(turn.lasts));
            format!(
                "! {instance}: the turn of app `{app}` lasts, {lasts} so far: it holds up worker {}",
                turn.worker
            )
        })
    }

    pub(crate) fn objects(&self) -> Vec<Value> {
        self.0.iter().map(object).collect()
    }

    /// The object of a worker, or null.
    pub(crate) fn object_of(&self, worker: u32) -> Value {
        self.0.iter().find(|turn| turn.worker == worker).map_or(Value::Null, object)
    }
}

fn object(Turn { worker, app, since_unix_ns, lasts }: &Turn) -> Value {
    json!({ "worker": worker, "app": app, "since_unix_ns": since_unix_ns, "for_s": lasts.as_secs_f64() })
}
