//! How long a worker sleeps between two breaths in which nothing moves.
//!
//! Nobody wakes it: it finds out by itself what has come meanwhile, so that no sleep is longer than a tenth of a millisecond. Where
//! no packet waits it sleeps at once, from breath to breath for longer. With links to or from another worker that fill up it stays [`Awake`].
//!
//! Where packets wait in its links that apps leave there, it does so only when no more have come for some breaths, as links that hold
//! packets already have less room for what comes during a sleep; and it is awake again when an app has said that time will
//! matter.

use crate::link::CAPACITY;
use std::time::Duration;

/// Knowledge of the breaths before.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// The last sleep.
    sleep_us: u64,
    /// Packets that waited.
    waiting: usize,
    /// Breaths since that number was another, or something moved.
    quiet: u32,
}

/// The longest sleep, in microseconds.
const SLEEP_US_MAX: u64 = 100;
/// The time that a sleep may last too long, in microseconds: Linux adds 50 to spare its timers.
const OVERSLEEP_US: u64 = 60;
/// The number of breaths without change after which waiting packets are expected to wait for longer.
const QUIET_BREATHS: u32 = 16;

impl Rest {
    /// Something has moved.
    pub(super) fn moved(&mut self) {
        self.sleep_us /= 2;
        self.quiet = 0;
    }

    /// Nothing has moved, and nothing waits.
    pub(super) fn without_packets(&mut self) -> Duration {
        self.waiting = 0;
        Duration::from_micros(self.longer())
    }

    /// Nothing has moved, but `waiting` packets wait. `until_event_ns` is how long it is until an app wants to be called.
    pub(super) fn with_packets(&mut self, waiting: usize, until_event_ns: Option<u64>) -> Option<Duration> {
        if waiting != self.waiting {
            (self.waiting, self.quiet) = (waiting, 0);
        }
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet <= QUIET_BREATHS {
            return None;
        }
        let spare_us = match until_event_ns {
            Some(ns) => (ns / 1000).checked_sub(OVERSLEEP_US).filter(|&us| us > 0)?,
            None => u64::MAX,
        };
        Some(Duration::from_micros(self.longer().min(spare_us)))
    }

    fn longer(&mut self) -> u64 {
        self.sleep_us = (self.sleep_us + 1).min(SLEEP_US_MAX);
        self.sleep_us
    }
}

/// Whether a worker goes on without sleep where nothing moves, since a link to or from another worker was filling up.
///
/// PERF: where one worker fills a link and another empties it, each waits for the other a few microseconds at a time. If that makes them
/// sleep, they take turns at it: 12 million packets a second from a `synth` through an `rss` to filters, and 34 without.
#[derive(Debug)]
pub(super) struct Awake {
    until_ns: u64,
    /// Packets that had been sent over such links when it was found filling up.
    sent: u32,
}

/// How long it stays awake then. One sleep in this time, after which it is seen that the link fills up, costs little.
const AWAKE_NS: u64 = 10_000_000;
/// A link over which fewer packets went in that time is full of what an app leaves there.
const SENT_MIN: u32 = CAPACITY as u32 / 2;

impl Awake {
    /// Not awake, when so many packets have been sent over such links.
    pub(super) fn new(sent: u32) -> Self {
        Awake { until_ns: 0, sent }
    }

    /// Whether it is awake at this time.
    pub(super) fn is_on(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns
    }

    /// Sees to it that it is, if a link fills up: then `pressed` tells how many packets have been sent over all of them so far, modulo 2^32.
    pub(super) fn look(&mut self, now_ns: u64, pressed: impl FnOnce() -> Option<u32>) {
        if !self.is_on(now_ns)
            && let Some(sent) = pressed()
            && sent.wrapping_sub(self.sent) >= SENT_MIN
        {
            *self = Awake { until_ns: now_ns.saturating_add(AWAKE_NS), sent };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AWAKE_NS, Awake, OVERSLEEP_US, QUIET_BREATHS, Rest, SENT_MIN, SLEEP_US_MAX};
    use std::time::Duration;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn sleeps_become_longer_until_something_moves() {
        let mut rest = Rest::default();
        assert_eq!([rest.without_packets(), rest.without_packets()], [us(1), us(2)]);
        let last = (0..1000).map(|_| rest.without_packets()).last();
        assert_eq!(last, Some(us(SLEEP_US_MAX)));
        rest.moved();
        assert_eq!(rest.without_packets(), us(SLEEP_US_MAX / 2 + 1));
    }

    #[test]
    fn links_that_fill_up_keep_it_awake() {
        let mut awake = Awake::new(7);
        let is_awake = |awake: &mut Awake, now_ns, pressed| {
            awake.look(now_ns, || pressed);
            awake.is_on(now_ns)
        };
        assert!(!is_awake(&mut awake, 5, None));
        assert!(!is_awake(&mut awake, 6, Some(7 + SENT_MIN - 1)), "that is little");
        assert!(is_awake(&mut awake, 6, Some(7 + SENT_MIN)));
        assert!(is_awake(&mut awake, 5 + AWAKE_NS, None));
        assert!(!is_awake(&mut awake, 6 + AWAKE_NS, None));
        assert!(!is_awake(&mut awake, 7 + AWAKE_NS, Some(7 + 2 * SENT_MIN - 1)), "that lies there");
        assert!(is_awake(&mut awake, 8 + AWAKE_NS, Some(7 + 2 * SENT_MIN)));
    }

    #[test]
    fn packets_that_come_keep_it_awake() {
        let mut rest = Rest::default();
        for waiting in 1..200 {
            assert_eq!(rest.with_packets(waiting, None), None);
        }
        for _ in 1..QUIET_BREATHS {
            assert_eq!(rest.with_packets(199, None), None);
        }
        assert_eq!(rest.with_packets(199, None), Some(us(1)));
        assert_eq!(rest.with_packets(199, None), Some(us(2)));
        assert_eq!(rest.with_packets(200, None), None);
        rest.moved();
        assert_eq!(rest.with_packets(200, None), None);
    }

    #[test]
    fn it_is_awake_when_time_matters() {
        let mut rest = Rest::default();
        let mut sleep = |ns| {
            let longest = (0..QUIET_BREATHS + SLEEP_US_MAX as u32).map(|_| rest.with_packets(5, None)).last();
            assert_eq!(longest.flatten(), Some(us(SLEEP_US_MAX)));
            rest.with_packets(5, Some(ns))
        };
        assert_eq!(sleep(1), None);
        assert_eq!(sleep(OVERSLEEP_US * 1000), None);
        assert_eq!(sleep((OVERSLEEP_US + 7) * 1000), Some(us(7)));
        assert_eq!(sleep(1_000_000), Some(us(SLEEP_US_MAX)));
        assert_eq!(sleep(u64::MAX), Some(us(SLEEP_US_MAX)));
    }
}
