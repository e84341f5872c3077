//! How long a worker sleeps between two breaths in which nothing moves.
//!
//! Only devices wake it: where nothing but these can bring in packets, and nothing has come for some short sleeps, it waits for them in poll(2), 10 ms at most. Otherwise it
//! finds out by itself what has come meanwhile, so that no sleep is longer than a tenth of a millisecond, or 0.4 ms
//! when nothing has come for a second and no other worker sends to it. Where no packet waits it sleeps at once, from breath to breath for longer. With links to or from another worker that fill up it stays [`Awake`].
//!
//! Where packets wait in its links that apps leave there, it does so only when no more have come for some breaths, as links that hold
//! packets already have less room for what comes during a sleep; and it is awake again when an app has said that time will
//! matter.
//!
//! A worker that is awake, and finds nothing to do, gives [way](Way) to others on its core.

use crate::link::CAPACITY;
use std::time::Duration;

/// Knowledge of the breaths before.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The longest sleep when nothing has come for a while, in microseconds.
    idle_sleep_us_max: u64,
    /// The last sleep.
    sleep_us: u64,
    /// The sum of the sleeps since anything moved or waited, in microseconds.
    idle_us: u64,
    /// How long it is to sleep before it waits for devices again, in microseconds: one had something, and then nothing has moved.
    devices_barred_us: u64,
    /// Packets that waited.
    waiting: usize,
    /// Breaths since that number was another, or something moved.
    quiet: u32,
}

/// The longest sleep, in microseconds.
const SLEEP_US_MAX: u64 = 100;
/// The sum of sleeps after which they become longer, in microseconds: packets that come several times a second find nobody in a long sleep.
const IDLE_US: u64 = 1_000_000;
/// The longest sleep then, in microseconds. The queue of a TAP device has room for 500 packets: they arrive in this time, with what Linux adds,
/// only if there are more than a million a second. A link has room for 1024, and nothing behind it that would hold more: whoever sends over it
/// drops what it has no room for, and a worker sends several millions a second. Its receiver sleeps no longer than ever.
const IDLE_SLEEP_US_MAX: u64 = 400;
/// The sum of sleeps after which it waits for devices, in microseconds: four sleeps. Packets that come one soon after the other are found without a call for each.
const DEVICE_AFTER_US: u64 = 10;
/// How long it waits for devices, in microseconds. So late may it see that it is to stop, and tick.
const DEVICE_WAIT_US: u64 = 10_000;
/// The time that a sleep may last too long, in microseconds: Linux adds 50 to spare its timers.
const OVERSLEEP_US: u64 = 60;
/// The number of breaths without change after which waiting packets are expected to wait for longer.
const QUIET_BREATHS: u32 = 16;

impl Rest {
    /// `is_sent_to` says whether another worker sends to this one.
    pub(super) fn new(is_sent_to: bool) -> Self {
        let idle_sleep_us_max = if is_sent_to { SLEEP_US_MAX } else { IDLE_SLEEP_US_MAX };
        Rest { idle_sleep_us_max, sleep_us: 0, idle_us: 0, devices_barred_us: 0, waiting: 0, quiet: 0 }
    }

    /// Something has moved.
    pub(super) fn moved(&mut self) {
        self.sleep_us /= 2;
        (self.quiet, self.idle_us, self.devices_barred_us) = (0, 0, 0);
    }

    /// How long it may wait for devices, where nothing else can come: when nothing has come for some sleeps, nor a device said in vain that
    /// it had something. `until_event_ns` is how long it is until an app wants to be called.
    pub(super) fn until_device(&self, until_event_ns: impl FnOnce() -> Option<u64>) -> Option<Duration> {
        let is_sent_to = self.idle_sleep_us_max < IDLE_SLEEP_US_MAX;
        if is_sent_to || self.devices_barred_us > 0 || self.idle_us < DEVICE_AFTER_US {
            return None;
        }
        Some(DEVICE_WAIT_US.min(punctual_us(until_event_ns())))
            .filter(|&us| us > self.idle_sleep_us_max)
            .map(Duration::from_micros)
    }

    /// A device has something: if nothing moves then, it would say so at once again and again, so that devices are not waited for. That is
    /// forgotten when something moves, or after a second: it may have been an error that has passed.
    pub(super) fn bar_devices(&mut self) {
        self.devices_barred_us = IDLE_US;
    }

    /// Nothing has moved, and nothing waits. `until_event_ns` is how long it is until an app wants to be called: it is not called later than it
    /// would be after short sleeps.
    pub(crate) fn without_packets(&mut self, until_event_ns: impl FnOnce() -> Option<u64>) -> Duration {
        self.waiting = 0;
        if self.idle_us < IDLE_US {
            self.idle_us += self.longer(SLEEP_US_MAX);
            return Duration::from_micros(self.sleep_us);
        }
        let sleep_us = self.longer(self.idle_sleep_us_max);
        self.devices_barred_us = self.devices_barred_us.saturating_sub(sleep_us);
        // A short sleep may make an app late, as it may any packet.
        Duration::from_micros(sleep_us.min(punctual_us(until_event_ns()).max(SLEEP_US_MAX)))
    }

    /// Nothing has moved, but `waiting` packets wait. `until_event_ns` is how long it is until an app wants to be called.
    pub(super) fn with_packets(&mut self, waiting: usize, until_event_ns: Option<u64>) -> Option<Duration> {
        if waiting != self.waiting {
            (self.waiting, self.quiet) = (waiting, 0);
        }
        self.idle_us = 0;
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet <= QUIET_BREATHS {
            return None;
        }
        match punctual_us(until_event_ns) {
            0 => None,
            punctual_us => Some(Duration::from_micros(self.longer(SLEEP_US_MAX).min(punctual_us))),
        }
    }

    /// A sleep that is a little longer than the last one.
    fn longer(&mut self, max_us: u64) -> u64 {
        self.sleep_us = (self.sleep_us + 1).min(max_us);
        self.sleep_us
    }
}

/// The longest sleep after which an app is called in time that wants to be called in so long, in microseconds.
fn punctual_us(until_event_ns: Option<u64>) -> u64 {
    until_event_ns.map_or(u64::MAX, |ns| (ns / 1000).saturating_sub(OVERSLEEP_US))
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
    /// Until then, it naps rather than yield.
    naps_until_ns: u64,
}

/// How a worker that is awake gives way to others that want its core, perhaps the worker it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By sched_yield(2), which comes back at once if there are none.
    Yield,
    /// By a sleep as short as can be.
    Nap,
}

/// A yield that takes longer has given the core to another process, whose slices take some milliseconds. A worker that shares the core comes back
/// when a link is full or empty: after 1024 packets, which take longer only if they are so dear that a nap costs nothing.
const LOST_NS: u64 = 1_000_000;
/// A nap; Linux makes 50 us of it.
pub(super) const NAP: Duration = Duration::from_micros(1);

/// How long it stays awake then. One sleep in this time, after which it is seen that the link fills up, costs little.
const AWAKE_NS: u64 = 10_000_000;
/// A link over which fewer packets went in that time is full of what an app leaves there.
const SENT_MIN: u32 = CAPACITY as u32 / 2;

impl Awake {
    /// Not awake, when so many packets have been sent over such links.
    pub(super) fn new(sent: u32) -> Self {
        Awake { until_ns: 0, sent, naps_until_ns: 0 }
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
            (self.until_ns, self.sent) = (now_ns.saturating_add(AWAKE_NS), sent);
        }
    }

    /// How it gives way at this time.
    ///
    /// PERF: who yields to a process that computes gives it a slice of some milliseconds, and has as much taken off its own share, though it has
    /// run for some microseconds. A sleeper keeps its share. Beside two processes that computed all the time, in turns, two workers moved 3 times
    /// as many packets with naps as with yields alone, 4 times as many cheap ones, 2 and 4 times as many where one end had five times the work of
    /// the other (medians of seven), and 2 to 32 times as many on one core. Where nobody else wants the cores, naps would be too long for cheap
    /// packets, and a yield comes back at once.
    pub(super) fn way(&self, now_ns: u64) -> Way {
        if now_ns < self.naps_until_ns { Way::Nap } else { Way::Yield }
    }

    /// A yield has taken so long. Returns whether it has lost the core meanwhile.
    pub(super) fn yielded(&mut self, now_ns: u64, took_ns: u64) -> bool {
        let is_lost = took_ns > LOST_NS;
        if is_lost {
            self.naps_until_ns = now_ns.saturating_add(took_ns).saturating_add(AWAKE_NS);
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AWAKE_NS, Awake, DEVICE_WAIT_US, IDLE_SLEEP_US_MAX, IDLE_US, LOST_NS, OVERSLEEP_US, QUIET_BREATHS,
        Rest, SENT_MIN, SLEEP_US_MAX, Way,
    };
    use std::time::Duration;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn sleeps_become_longer_until_something_moves() {
        let mut rest = Rest::new(false);
        assert_eq!([rest.without_packets(|| None), rest.without_packets(|| None)], [us(1), us(2)]);
        let last = (0..1000).map(|_| rest.without_packets(|| None)).last();
        assert_eq!(last, Some(us(SLEEP_US_MAX)));
        rest.moved();
        assert_eq!(rest.without_packets(|| None), us(SLEEP_US_MAX / 2 + 1));
    }

    #[test]
    fn sleeps_are_long_only_when_nothing_has_come_for_a_second() {
        let mut rest = Rest::new(false);
        let mut slept = Duration::ZERO;
        while slept < us(IDLE_US) {
            let sleep = rest.without_packets(|| None);
            assert!(sleep <= us(SLEEP_US_MAX), "{sleep:?} after {slept:?}");
            slept += sleep;
        }
        assert_eq!(rest.without_packets(|| None), us(SLEEP_US_MAX + 1));
        let last = (0..1000).map(|_| rest.without_packets(|| None)).last();
        assert_eq!(last, Some(us(IDLE_SLEEP_US_MAX)));
        let sleeps = [0, 250_000, 1_000_000].map(|ns| rest.without_packets(|| Some(ns)));
        assert_eq!(sleeps, [SLEEP_US_MAX, 250 - OVERSLEEP_US, IDLE_SLEEP_US_MAX].map(us));
        rest.moved();
        assert_eq!(rest.without_packets(|| None), us(SLEEP_US_MAX));
    }

    #[test]
    fn devices_are_waited_for_when_nothing_has_come_for_some_sleeps() {
        let idle = |is_sent_to| {
            let mut rest = Rest::new(is_sent_to);
            (0..2 * IDLE_US / SLEEP_US_MAX).for_each(|_| _ = rest.without_packets(|| None));
            rest
        };
        let mut rest = Rest::new(false);
        let waits = (0..6).map(|_| {
            let waits = rest.until_device(|| None).is_some();
            _ = rest.without_packets(|| None);
            waits
        });
        assert_eq!(waits.collect::<Vec<_>>(), [false, false, false, false, true, true]);
        assert_eq!(idle(true).until_device(|| None), None, "another worker may send");
        let mut rest = idle(false);
        assert_eq!(rest.until_device(|| None), Some(us(DEVICE_WAIT_US)));
        assert_eq!(rest.until_device(|| Some(2_000_000)), Some(us(2000 - OVERSLEEP_US)));
        assert_eq!(rest.until_device(|| Some(200_000)), None, "a sleep is enough");
        rest.bar_devices();
        assert_eq!(rest.until_device(|| None), None, "it would say so at once again");
        (0..2 * IDLE_US / IDLE_SLEEP_US_MAX).for_each(|_| _ = rest.without_packets(|| None));
        assert_eq!(rest.until_device(|| None), Some(us(DEVICE_WAIT_US)));
        rest.bar_devices();
        rest.moved();
        assert_eq!(rest.until_device(|| None), None);
    }

    #[test]
    fn sleeps_stay_short_where_another_worker_sends() {
        let mut rest = Rest::new(true);
        let longest = (0..2 * IDLE_US / SLEEP_US_MAX).map(|_| rest.without_packets(|| None)).max();
        assert_eq!(longest, Some(us(SLEEP_US_MAX)));
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
    fn who_has_lost_the_core_by_yielding_naps_for_a_while() {
        let mut awake = Awake::new(0);
        assert!(!awake.yielded(5, LOST_NS));
        assert_eq!(awake.way(6), Way::Yield, "the other worker had it");
        assert!(awake.yielded(5, LOST_NS + 1));
        let end_ns = 5 + LOST_NS + 1 + AWAKE_NS;
        assert_eq!(
            [awake.way(6), awake.way(end_ns - 1), awake.way(end_ns)],
            [Way::Nap, Way::Nap, Way::Yield]
        );
        awake.look(end_ns - 1, || Some(SENT_MIN));
        assert_eq!(awake.way(end_ns - 1), Way::Nap, "also where links fill up again meanwhile");
    }

    #[test]
    fn packets_that_come_keep_it_awake() {
        let mut rest = Rest::new(false);
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
        let mut rest = Rest::new(false);
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
