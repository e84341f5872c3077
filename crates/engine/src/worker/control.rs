//! Messages between a running engine and its workers.

use crate::sync::OwnLine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// The engine's end.
#[derive(Debug)]
pub(crate) struct Control(Arc<Shared>);

/// The end of one worker.
#[derive(Debug)]
pub(crate) struct WorkerControl {
    shared: Arc<Shared>,
    worker: usize,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Whether a worker has ended, told or not.
    has_ended: AtomicBool,
    /// The thread that waits for the workers.
    engine: Thread,
    /// Of each worker: how often it has moved something, doubled; odd while it is at rest.
    progress: Vec<OwnLine<AtomicU64>>,
    /// The state in which the engine saw it last.
    seen: Vec<AtomicU64>,
}

/// The state of all workers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stillness {
    /// One moves packets, or waits for some.
    Busy,
    /// All rest, perhaps between two packets that they send each other.
    Resting,
    /// All rest, and rested when this was asked before, without having moved anything in between.
    Finished,
}

impl Control {
    /// For workers that the calling thread waits for.
    pub(crate) fn new(workers: usize) -> Self {
        let zeros = || (0..workers).map(|_| AtomicU64::new(0));
        let (progress, seen) = (zeros().map(OwnLine).collect(), zeros().collect());
        let (stop, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        Control(Arc::new(Shared { stop, has_ended, engine: thread::current(), progress, seen }))
    }

    /// The end of one worker.
    pub(crate) fn share(&self, worker: usize) -> WorkerControl {
        WorkerControl { shared: Arc::clone(&self.0), worker }
    }

    pub(crate) fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a worker has ended, as an app wanted or in a panic.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Acquire)
    }

    /// How the workers are.
    pub(crate) fn stillness(&self) -> Stillness {
        let (mut all_rest, mut none_has_moved) = (true, true);
        for (progress, seen) in self.0.progress.iter().zip(&self.0.seen) {
            let now = progress.0.load(Ordering::Acquire);
            all_rest &= now % 2 == 1;
            none_has_moved &= seen.swap(now, Ordering::Relaxed) == now;
        }
        match (all_rest, none_has_moved) {
            (false, _) => Stillness::Busy,
            (true, false) => Stillness::Resting,
            (true, true) => Stillness::Finished,
        }
    }
}

impl WorkerControl {
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// The worker has moved packets.
    #[inline]
    pub(crate) fn moved(&self) {
        let progress = self.progress();
        let count = progress.load(Ordering::Relaxed);
        progress.store((count | 1) + 1, Ordering::Relaxed);
    }

    /// The worker has nothing to do; `at_rest` says that it never will have unless something comes from another.
    #[inline]
    pub(crate) fn rests(&self, at_rest: bool) {
        let progress = self.progress();
        let count = progress.load(Ordering::Relaxed);
        progress.store((count & !1) | u64::from(at_rest), Ordering::Release);
        if at_rest && count.is_multiple_of(2) {
            self.shared.engine.unpark();
        }
    }

    #[inline]
    fn progress(&self) -> &AtomicU64 {
        &self.shared.progress[self.worker].0
    }
}

/// The worker ends, whatever the reason.
impl Drop for WorkerControl {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Release);
        self.shared.engine.unpark();
    }
}
