//! Messages between a running engine and its workers.

use crate::sync::OwnLine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often it is looked whether all workers are ready, where none tells.
const READY_EVERY: Duration = Duration::from_millis(1);

/// The engine's end.
#[derive(Debug)]
pub(crate) struct Control(Arc<Shared>);

/// The end of one worker.
#[derive(Debug)]
pub(crate) struct WorkerControl {
    shared: Arc<Shared>,
    worker: usize,
    is_ready: bool,
}

#[derive(Debug)]
struct Shared {
    /// What workers are to do: [`GO_ON`], [`GET_READY`] or [`STOP`].
    wish: AtomicU8,
    /// Workers that are ready to stop at once.
    ready: AtomicUsize,
    /// Workers that have begun to breathe.
    begun: AtomicUsize,
    /// The longest time that one of these had stood still, in nanoseconds.
    stood_ns: AtomicU64,
    /// Whether a worker has ended, told or not.
    has_ended: AtomicBool,
    /// The thread that waits for the workers.
    engine: Thread,
    /// Of each worker: how often it has moved something, doubled; odd while it is at rest.
    progress: Vec<OwnLine<AtomicU64>>,
    /// The state in which the engine saw it last.
    seen: Vec<AtomicU64>,
}

const GO_ON: u8 = 0;
/// Not to sleep for long any more: a worker is about to stop, and others are not to wait for it.
const GET_READY: u8 = 1;
const STOP: u8 = 2;

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
        Control(Arc::new(Shared {
            wish: AtomicU8::new(GO_ON),
            ready: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            stood_ns: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
            engine: thread::current(),
            progress,
            seen,
        }))
    }

    /// The end of one worker.
    pub(crate) fn share(&self, worker: usize) -> WorkerControl {
        WorkerControl { shared: Arc::clone(&self.0), worker, is_ready: false }
    }

    pub(crate) fn stop(&self) {
        self.0.wish.store(STOP, Ordering::Relaxed);
    }

    /// Waits until each worker can stop at once: those that sleep until a device has something have woken, and all sleep for a moment at most. Others go on
    /// meanwhile, so that all stand still only as long as what is done then takes.
    pub(crate) fn get_ready_to_stop(&self) {
        self.0.wish.store(GET_READY, Ordering::Relaxed);
        while !self.has_ended() && self.0.ready.load(Ordering::Acquire) < self.0.progress.len() {
            thread::park_timeout(READY_EVERY);
        }
    }

    /// How long workers had stood still before they began, once all have.
    pub(crate) fn stood_still(&self) -> Option<Duration> {
        let have_begun = self.0.begun.load(Ordering::Acquire) == self.0.progress.len();
        have_begun.then(|| Duration::from_nanos(self.0.stood_ns.load(Ordering::Relaxed)))
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
    pub(crate) fn is_stopping(&mut self) -> bool {
        match self.shared.wish.load(Ordering::Relaxed) {
            GO_ON => false,
            wish => self.get_ready(wish),
        }
    }

    #[cold]
    fn get_ready(&mut self, wish: u8) -> bool {
        if !std::mem::replace(&mut self.is_ready, true) {
            self.shared.ready.fetch_add(1, Ordering::Release);
            self.shared.engine.unpark();
        }
        wish == STOP
    }

    /// Whether it is about to stop, so that it is not to sleep for long.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// The worker begins to breathe, and has stood still for so long.
    pub(crate) fn begins(&self, stood: Duration) {
        self.shared.stood_ns.fetch_max(stood.as_nanos() as u64, Ordering::Relaxed);
        self.shared.begun.fetch_add(1, Ordering::Release);
        self.shared.engine.unpark();
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

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn all_get_ready_before_any_stops() {
        let control = Control::new(2);
        let [mut one, mut two] = [control.share(0), control.share(1)];
        assert!(!one.is_stopping() && !one.is_ready());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| control.get_ready_to_stop());
            while !one.is_ready() {
                assert!(!one.is_stopping(), "it breathes on");
            }
            assert!(!waiter.is_finished(), "the other does not know yet");
            while !two.is_ready() {
                assert!(!two.is_stopping());
            }
            waiter.join().unwrap();
        });
        assert!(!one.is_stopping());
        control.stop();
        assert!(one.is_stopping() && two.is_stopping());
    }

    #[test]
    fn nobody_waits_for_one_that_has_ended() {
        let control = Control::new(2);
        drop(control.share(0));
        control.get_ready_to_stop();
    }
}
