//! The CPU time of a worker's thread, and how apps share it.
//!
//! Turns are timed by the clock on the wall, one breath of so many: a thread that is taken off its core in one seems to have worked
//! all the while in as many. What its apps took is no more than what the system says that the thread has taken.

use crate::shm::{Counter, EntryKind, Record};
use rustix::time::{ClockId, clock_gettime};

/// The CPU time that the threads of a worker have taken, as far as they ran it ([`Worker::run`](super::Worker::run)).
#[derive(Debug)]
pub(super) struct ThreadTime {
    total_ns: Counter,
    /// What the thread that runs it had taken at the last look.
    last_ns: Option<u64>,
}

impl ThreadTime {
    pub(super) fn new(record: &mut Record) -> Self {
        ThreadTime { total_ns: record.number("cpu_ns", EntryKind::Counter), last_ns: None }
    }

    /// The calling thread runs the worker from now on.
    pub(super) fn begin(&mut self) {
        self.last_ns = Some(thread_ns());
    }

    /// Publishes what the thread has taken, if one runs it.
    pub(super) fn publish(&mut self) {
        if let Some(last_ns) = &mut self.last_ns {
            let now_ns = thread_ns();
            self.total_ns.add(now_ns.saturating_sub(*last_ns));
            *last_ns = now_ns;
        }
    }

    /// It no longer does.
    pub(super) fn end(&mut self) {
        self.publish();
        self.last_ns = None;
    }

    /// `None` where none has run it.
    pub(super) fn total_ns(&self) -> Option<u64> {
        Some(self.total_ns.get()).filter(|&ns| ns > 0)
    }
}

fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Scales what apps seem to have taken down to what there was, if that is less than their sum. Their proportions stay.
pub(super) fn share_out(busy_ns: &mut [u64], there_was_ns: u64) {
    let sum_ns: f64 = busy_ns.iter().map(|&ns| ns as f64).sum();
    let scale = there_was_ns as f64 / sum_ns;
    if scale < 1.0 {
        busy_ns.iter_mut().for_each(|ns| *ns = (*ns as f64 * scale) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadTime, share_out};
    use crate::shm::Counter;

    #[test]
    fn apps_have_taken_no_more_than_there_was() {
        for (there_was, shares) in
            [(1000, [300, 100, 0]), (400, [300, 100, 0]), (200, [150, 50, 0]), (0, [0; 3])]
        {
            let mut busy = [300, 100, 0];
            share_out(&mut busy, there_was);
            assert_eq!(busy, shares, "{there_was}");
        }
        let mut idle = [0, 0];
        share_out(&mut idle, 0);
        assert_eq!(idle, [0, 0]);
    }

    #[test]
    fn only_the_thread_that_runs_it_counts() {
        let mut time = ThreadTime { total_ns: Counter::hidden(), last_ns: None };
        time.publish();
        assert_eq!(time.total_ns(), None);
        time.begin();
        time.publish();
        time.end();
        let total_ns = time.total_ns();
        assert!(total_ns.is_some(), "two looks at the clock take some time");
        (0..10_000).for_each(|_| _ = std::hint::black_box(String::from("x")));
        time.publish();
        assert_eq!(time.total_ns(), total_ns);
    }
}
