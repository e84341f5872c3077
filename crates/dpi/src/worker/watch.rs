//! Whether the worker gets on.

use super::process::cpu_of;
use std::time::{Duration, Instant};

/// How many times the limit a worker may take that sleeps, and one that waits for a processor.
const ASLEEP: u32 = 4;
const STARVED: u32 = 40;
/// How often a worker that does not get on is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// How long a worker may take to get ready.
const START: Duration = Duration::from_secs(5);
/// How often the warm process is asked whether the worker has ended, while the worker does not get on.
const ASK: Duration = Duration::from_millis(1);

/// A stopwatch that begins anew with each job.
///
/// A job may take `limit`, if it uses an eighth of that of processor time, which is a hundred times what packets use. A machine with much to do may keep a worker of low priority from
/// running, which is no fault of the packet, so one that waits for a processor has 40 times the limit. One that sleeps has 4 times the limit, and
/// so has one that has ended, of which the warm process tells; one that is stopped has the limit alone.
pub(super) struct Watch {
    limit: Duration,
    /// The tail of the jobs that was last seen, and how long it is that.
    tail: Option<u32>,
    unchanged: Duration,
    seen: Option<Instant>,
    /// Processor time of the worker when it began with the job.
    cpu: Option<Duration>,
    asked: Option<Instant>,
    looked: Option<Instant>,
}

impl Watch {
    pub(super) fn new(limit: Duration) -> Watch {
        Watch {
            limit,
            tail: None,
            unchanged: Duration::ZERO,
            seen: None,
            cpu: None,
            asked: None,
            looked: None,
        }
    }

    /// There is no job.
    pub(super) fn idle(&mut self) {
        *self = Watch::new(self.limit);
    }

    /// There are jobs, of which this is the next. Whether the worker is stuck. One that is not ready yet has much longer.
    pub(super) fn see(&mut self, now: Instant, tail: u32, worker: Option<u32>, ready: bool) -> bool {
        if self.tail != Some(tail) {
            self.idle();
            (self.tail, self.seen) = (Some(tail), Some(now));
            return false;
        }
        // A data plane that does not look for long was perhaps not running, and nor was the worker.
        let passed = self.seen.map_or(Duration::ZERO, |seen| now.saturating_duration_since(seen));
        self.unchanged += passed.min(self.limit / 2);
        self.seen = Some(now);
        if !ready {
            return self.unchanged >= START;
        }
        let recently = self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK);
        if self.unchanged < self.limit / 8 || recently {
            return false;
        }
        self.looked = Some(now);
        let cpu = worker.and_then(cpu_of);
        let since = *self.cpu.get_or_insert(cpu.unwrap_or_default());
        if self.unchanged < self.limit {
            return false;
        }
        let used = cpu.unwrap_or_default().saturating_sub(since);
        let patience = match worker.map_or(Activity::Ended, activity) {
            Activity::Runnable => STARVED,
            Activity::Asleep | Activity::Ended => ASLEEP,
            Activity::Stopped => 1,
        };
        used >= self.limit / 8 || self.unchanged >= self.limit * patience
    }

    /// Whether it is time to ask if the worker has ended.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.unchanged >= ASK
            && self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= ASK);
        if due {
            self.asked = Some(now);
        }
        due
    }
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// It runs, or waits for a processor or for memory.
    Runnable,
    Asleep,
    Stopped,
    Ended,
}

fn activity(pid: u32) -> Activity {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return Activity::Ended };
    // The state follows the name, which is in parentheses and may contain anything.
    match text.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()) {
        Some('T' | 't') => Activity::Stopped,
        Some('Z' | 'X') => Activity::Ended,
        Some('R' | 'D') => Activity::Runnable,
        _ => Activity::Asleep,
    }
}

/// Whether a process is no more.
pub(super) fn has_ended(pid: u32) -> bool {
    activity(pid) == Activity::Ended
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(40);

    /// Looks at the same job every 10 ms, and tells after how long the worker is taken for stuck.
    fn stuck_after(pid: u32, work: impl Fn(Duration)) -> Duration {
        let mut watch = Watch::new(LIMIT);
        let begin = Instant::now();
        for step in 1..100 {
            let now = begin + Duration::from_millis(10) * step;
            if watch.see(now, 7, Some(pid), true) {
                return now - begin;
            }
            work(Duration::from_millis(10));
        }
        panic!("never");
    }

    #[test]
    fn a_worker_that_computes_is_stuck_after_the_limit() {
        let spin = |time| {
            let begin = cpu_of(std::process::id()).unwrap();
            while cpu_of(std::process::id()).unwrap() < begin + time {}
        };
        assert!(stuck_after(std::process::id(), spin) <= LIMIT * 2);
    }

    #[test]
    fn a_worker_that_sleeps_has_longer() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        while activity(sleeper.id()) != Activity::Asleep {}
        let after = stuck_after(sleeper.id(), |_| ());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(after >= LIMIT * ASLEEP, "{after:?}");
    }

    #[test]
    fn a_worker_that_is_no_more_is_left_to_the_warm_process() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let after = stuck_after(ended.id(), |_| ());
        assert!(after >= LIMIT * ASLEEP, "{after:?}");
    }

    #[test]
    fn another_job_begins_anew() {
        let mut watch = Watch::new(LIMIT);
        let begin = Instant::now();
        for step in 0..100 {
            let now = begin + Duration::from_millis(10) * step;
            assert!(!watch.see(now, step / 3, None, true));
        }
    }
}
