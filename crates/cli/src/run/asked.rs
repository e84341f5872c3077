//! Changes of sets that other processes ask for: noted by the thread of the control socket, in effect when the graph has been read again.
//!
//! ```text
//!  control   note the change; wanted += 1; wake main; wait until done = wanted
//!  main      begun = wanted, read the graph again ─► apply ─► done = begun, or why not
//! ```

use super::source::Source;
use crate::control::{self, Served, Server};
use crate::exit::Failure;
use crate::set::change;
use apps::SetChanges;
use classify::lists::Change;
use engine::shm::runtime;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long is waited until a change is in effect.
const IN_EFFECT_WITHIN: Duration = Duration::from_secs(60);
/// After which time it is tried again to put entries that have expired out of effect.
const RETRY: Duration = Duration::from_secs(2);

/// What the control socket of a graph is asked, and who answers.
#[derive(Debug, Default)]
pub(super) struct Asked {
    shared: Arc<Shared>,
    /// What is under way.
    begun: u64,
    /// Whether what is under way is to put entries out of effect that have expired.
    is_for_expired: bool,
    /// When that is tried again, if it has failed.
    retry: Option<Instant>,
    served: Option<Served>,
    has_failed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    is_done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: u64,
    done: u64,
    failed: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change, and waits until it is in effect. If it is refused, nothing has changed.
    fn change(&self, main: &Thread, name: &str, change: &Change) -> Result<usize, Failure> {
        let named = SetChanges::named();
        if !named.iter().any(|one| one == name) {
            return Err(change::no_such_set(name, &named.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        let before = SetChanges::all();
        SetChanges::put(name, change).map_err(Failure::user)?;
        let mut state = self.state();
        state.wanted += 1;
        let wanted = state.wanted;
        main.unpark();
        let waited = self.is_done.wait_timeout_while(state, IN_EFFECT_WITHIN, |state| state.done < wanted);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let refused = match state.failed.take() {
            Some(why) => Some(Failure::user(why)),
            None if state.done < wanted => Some(Failure::world("the graph stands still, or is about to end")),
            None => None,
        };
        drop(state);
        match refused {
            Some(failure) => {
                SetChanges::restore(before);
                Err(failure)
            }
            None => Ok(SetChanges::entries(name)),
        }
    }
}

impl Asked {
    /// Answers from now on, if filters name sets and nobody answers yet. Says once why that cannot be.
    pub(super) fn serve(&mut self, name: &str, source: &Source) -> Result<(), Failure> {
        if self.served.is_some() || self.has_failed || SetChanges::named().is_empty() {
            return Ok(());
        }
        let served = socket(name).and_then(|path| Server::bind(&path)).and_then(|server| {
            let (shared, main, is_read_once) =
                (Arc::clone(&self.shared), thread::current(), source.is_read_once());
            server.serve(Arc::new(move |request: &Value| match request["cmd"].as_str() {
                Some("set") if is_read_once => {
                    control::error("the graph came from a pipe, and cannot be read again")
                }
                Some("set") => change::answered(request, |name, change| shared.change(&main, name, change)),
                _ => control::error("there is no such command; there is `set`"),
            }))
        });
        self.has_failed = served.is_err();
        self.served = Some(served?);
        Ok(())
    }

    /// Whether the graph is to be read again: a change is wanted, or entries have expired. To be asked while it is not being read.
    pub(super) fn wants_reread(&mut self) -> bool {
        let has_expired =
            SetChanges::expire(control::now_ns()) | self.retry.take_if(|at| *at <= Instant::now()).is_some();
        self.is_for_expired |= has_expired;
        let wanted = self.shared.state().wanted;
        let is_more = wanted > self.begun;
        self.begun = wanted;
        is_more || has_expired
    }

    /// How long until entries expire.
    pub(super) fn until_expiry(&self) -> Option<Duration> {
        let next =
            SetChanges::next_expiry().map(|at| Duration::from_nanos(at.saturating_sub(control::now_ns())));
        let again = self.retry.map(|at| at.saturating_duration_since(Instant::now()));
        next.into_iter().chain(again).min()
    }

    /// What was begun is in effect, or why it is not.
    pub(super) fn done(&mut self, outcome: Result<(), String>) {
        if std::mem::take(&mut self.is_for_expired) && outcome.is_err() {
            self.retry = Some(Instant::now() + RETRY);
        }
        let mut state = self.shared.state();
        if state.done < self.begun {
            state.done = self.begun;
            state.failed = outcome.err();
            self.shared.is_done.notify_all();
        }
    }
}

fn socket(name: &str) -> Result<PathBuf, Failure> {
    let folder =
        runtime::folder().map_err(|error| Failure::world(format_args!("no control socket: {error}")))?;
    Ok(change::of_counters(&folder.join(runtime::file_name(name, std::process::id()))))
}
