//! Names an app of a Lua program whose turn does not end: a thread looks now and then whether the same turn lasts.

use super::breath::Turn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the watch looks.
const LOOK: Duration = Duration::from_millis(250);
/// After which times a turn that lasts is told of.
const TOLD_AFTER: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(60)];

/// What the watch sees.
#[derive(Debug, Default)]
pub(super) struct TurnWatch {
    /// The turn that runs: its breath, its kind, and the number of its step from 1. 0 between breaths.
    at: AtomicU64,
    names: Mutex<[Vec<String>; 3]>,
    is_over: AtomicBool,
}

/// The watch, which ends with this.
pub(super) struct Watching {
    watch: Arc<TurnWatch>,
    thread: Option<JoinHandle<()>>,
}

impl TurnWatch {
    /// PERF: one store a turn.
    #[inline]
    pub(super) fn enter(&self, breath: u64, turn: Turn, index: usize) {
        let code = (breath << 24) | (turn as u64) << 22 | (index as u64 + 1) & 0x3f_ffff;
        self.at.store(code, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn leave(&self) {
        self.at.store(0, Ordering::Relaxed);
    }

    /// The names of the apps of each step.
    pub(super) fn name(&self, names: [Vec<String>; 3]) {
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The app of a turn, and the name of the method.
    fn turn(&self, code: u64) -> Option<(String, &'static str)> {
        let (turn, index) = ((code >> 22) as usize & 3, (code & 0x3f_ffff) as usize);
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let app = names.get(turn)?.get(index.checked_sub(1)?)?.clone();
        Some((app, ["pull", "push", "tick"][turn]))
    }
}

impl Watching {
    /// Begins to watch. Without a thread for it, nothing is watched.
    pub(super) fn begin(watch: Arc<TurnWatch>) -> Self {
        let watched = watch.clone();
        let thread = std::thread::Builder::new().name("lua turns".into()).spawn(move || look(&watched)).ok();
        Watching { watch, thread }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watch.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn look(watch: &TurnWatch) {
    let (mut seen, mut since, mut told) = (0, Instant::now(), 0);
    while !watch.is_over.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOK);
        let at = watch.at.load(Ordering::Relaxed);
        if at != seen {
            (seen, since, told) = (at, Instant::now(), 0);
        } else if at != 0
            && told < TOLD_AFTER.len()
            && since.elapsed() >= TOLD_AFTER[told]
            && let Some((app, method)) = watch.turn(at)
        {
            let seconds = TOLD_AFTER[told].as_secs();
            eprintln!(
                "warning: app `{app}`: its `{method}` has not returned for {seconds} s; no other app has a turn until it does"
            );
            told += 1;
        }
    }
}
