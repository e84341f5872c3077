//! Messages between a running engine and its workers.

use crate::sync::OwnLine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    /// Of each worker: how often it has moved something, doubled; odd while it is at rest.
    progress: Vec<OwnLine<AtomicU64>>,
    /// The state in which the engine saw it last.
    seen: Vec<AtomicU64>,
}

impl Control {
    pub(crate) fn new(workers: usize) -> Self {
        let zeros = || (0..workers).map(|_| AtomicU64::new(0));
        let (progress, seen) = (zeros().map(OwnLine).collect(), zeros().collect());
        Control(Arc::new(Shared { stop: AtomicBool::new(false), progress, seen }))
    }

    /// The end of one worker.
    pub(crate) fn share(&self, worker: usize) -> WorkerControl {
        WorkerControl { shared: Arc::clone(&self.0), worker }
    }

    pub(crate) fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether all workers rest, and rested when this was asked before, without having moved anything in between.
    pub(crate) fn is_finished(&self) -> bool {
        let mut finished = true;
        for (progress, seen) in self.0.progress.iter().zip(&self.0.seen) {
            let now = progress.0.load(Ordering::Acquire);
            finished &= now % 2 == 1 && seen.swap(now, Ordering::Relaxed) == now;
        }
        finished
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
    }

    #[inline]
    fn progress(&self) -> &AtomicU64 {
        &self.shared.progress[self.worker].0
    }
}
