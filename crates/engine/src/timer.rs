//! Timers: what is to happen at a time, once or over and over.
//!
//! They do not run by themselves. Whoever has them asks what is due, in the time they go by: an app in its
//! [`tick`](crate::App::tick), with the time of the breath; code around [`Engine::run`](crate::Engine::run), with the time since the run began.
//!
//! ```
//! use engine::Timers;
//! use std::time::Duration;
//!
//! let mut timers = Timers::new();
//! timers.every(0, Duration::from_millis(10), "beat");
//! let late = timers.after(0, Duration::from_millis(15), "late");
//! let mut fired = Vec::new();
//! while let Some(event) = timers.next_due(20_000_000) {
//!     fired.push(event);
//! }
//! assert_eq!(fired, ["beat", "late", "beat"]);
//! assert_eq!(timers.next_ns(), Some(30_000_000));
//! assert!(!timers.cancel(late), "it has fired");
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

/// Events to come, each with its time in nanoseconds. Events of one time happen in the order in which they were set.
#[derive(Clone, Debug)]
pub struct Timers<E> {
    timers: BTreeMap<(u64, TimerId), Timer<E>>,
    set: u64,
}

/// The name of a timer, by which it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(u64);

#[derive(Clone, Debug)]
struct Timer<E> {
    /// 0: once.
    period_ns: u64,
    event: E,
}

impl<E: Clone> Timers<E> {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Timers { timers: BTreeMap::new(), set: 0 }
    }

    /// Sets a timer that is due once, so long after `now_ns`. One of more than 584 years is due never.
    pub fn after(&mut self, now_ns: u64, delay: Duration, event: E) -> TimerId {
        self.set(now_ns.saturating_add(nanos(delay)), Timer { period_ns: 0, event })
    }

    /// Sets a timer that is due over and over, so long after `now_ns` for the first time. When it is asked for late, it is due as often
    /// as it would have been. A period of 0 counts as one of 1 ns.
    pub fn every(&mut self, now_ns: u64, period: Duration, event: E) -> TimerId {
        let period_ns = nanos(period).max(1);
        self.set(now_ns.saturating_add(period_ns), Timer { period_ns, event })
    }

    fn set(&mut self, due_ns: u64, timer: Timer<E>) -> TimerId {
        let id = TimerId(self.set);
        self.set += 1;
        self.timers.insert((due_ns, id), timer);
        id
    }

    /// Takes a timer off. Returns whether it was there.
    pub fn cancel(&mut self, id: TimerId) -> bool {
        let key = self.timers.keys().find(|(_, of)| *of == id).copied();
        key.and_then(|key| self.timers.remove(&key)).is_some()
    }

    /// When the next is due; `None` without any. This is what an app answers to
    /// [`Timed::next_event`](crate::Timed::next_event).
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.timers.first_key_value().map(|((due_ns, _), _)| *due_ns).filter(|&due_ns| due_ns < u64::MAX)
    }

    /// The event of the next timer that is due by `now_ns`: to be asked for until there is none.
    #[inline]
    pub fn next_due(&mut self, now_ns: u64) -> Option<E> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let ((due_ns, id), timer) = self.timers.pop_first()?;
        if timer.period_ns == 0 {
            return Some(timer.event);
        }
        let event = timer.event.clone();
        self.timers.insert((due_ns.saturating_add(timer.period_ns), id), timer);
        Some(event)
    }
}

impl<E: Clone> Default for Timers<E> {
    fn default() -> Self {
        Self::new()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Timers;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);
    const MS_NS: u64 = 1_000_000;

    fn due(timers: &mut Timers<char>, now_ns: u64) -> String {
        std::iter::from_fn(|| timers.next_due(now_ns)).collect()
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut timers = Timers::new();
        timers.after(5, MS, 'a');
        assert_eq!(due(&mut timers, MS_NS + 4), "");
        assert_eq!(timers.next_ns(), Some(MS_NS + 5));
        assert_eq!(due(&mut timers, MS_NS + 5), "a");
        assert_eq!(due(&mut timers, u64::MAX), "");
        assert_eq!(timers.next_ns(), None);
    }

    #[test]
    fn what_is_due_at_once_happens_in_the_order_in_which_it_was_set() {
        let mut timers = Timers::new();
        timers.after(0, 2 * MS, 'c');
        timers.every(0, MS, 'a');
        timers.every(0, MS, 'b');
        assert_eq!(due(&mut timers, 2 * MS_NS), "abcab");
    }

    #[test]
    fn a_late_one_catches_up() {
        let mut timers = Timers::new();
        timers.every(0, MS, 'a');
        assert_eq!(due(&mut timers, 4 * MS_NS + 1), "aaaa");
        assert_eq!(timers.next_ns(), Some(5 * MS_NS));
    }

    #[test]
    fn one_that_is_cancelled_does_not_happen() {
        let mut timers = Timers::new();
        let (a, b) = (timers.every(0, MS, 'a'), timers.after(0, MS, 'b'));
        assert!(timers.cancel(b) && !timers.cancel(b));
        assert_eq!(due(&mut timers, MS_NS), "a");
        assert!(timers.cancel(a));
        assert_eq!(due(&mut timers, u64::MAX), "");
    }

    #[test]
    fn the_end_of_time_never_comes() {
        let mut timers = Timers::new();
        timers.after(1, Duration::MAX, 'a');
        timers.every(1, Duration::MAX, 'b');
        assert_eq!((timers.next_ns(), due(&mut timers, u64::MAX).as_str()), (None, ""));
    }
}
