//! The time of a graph: nanoseconds since 1970, one value for all apps in a breath.
//!
//! The clock is read once a microsecond, not once a breath, as a reading takes as long as moving ten packets. It never goes back, and
//! does not follow when the system's clock is set; how far the time of day is ahead is kept beside it, for the timestamps of packets.
//! On capture time nothing is read: the clock jumps to the next event.

use rustix::time::{ClockId, clock_gettime};
use std::ops::RangeInclusive;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Which clock a graph runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockKind {
    /// The time of day when the engine was made, and what has passed since: it never goes back, nor forward where the system's clock is set
    /// or the machine suspended. The timestamps of packets follow the time of day.
    #[default]
    Wall,
    /// The time of the capture that is replayed: it does not move until the next packet is due, and then jumps there. For
    /// engines of one worker.
    Capture,
}

/// The clock of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    kind: ClockKind,
    /// The time of day when the instant was taken.
    start_ns: u64,
    start: Instant,
    /// What the time of day is asked from.
    day_ns: fn() -> u64,
    now_ns: u64,
    /// How far the time of day is ahead of that.
    ahead_ns: i64,
    /// Breaths since the clock was read, and how many there may be before it is read again.
    breaths: u32,
    breaths_max: u32,
}

/// By how much the time of day has to be set for packets to be stamped with it: less is the time between two readings.
const STEP_NS: u64 = 1_000_000;
/// How exact the time of a breath is, where breaths are shorter than that.
const PRECISION_NS: u64 = 1000;
/// How many breaths may share a time at most.
const BREATHS_MAX: u64 = 16;

impl Clock {
    pub(crate) fn new(kind: ClockKind) -> Self {
        let start_ns = day_ns();
        let now_ns = match kind {
            ClockKind::Wall => start_ns,
            ClockKind::Capture => 0,
        };
        Clock {
            kind,
            start_ns,
            start: Instant::now(),
            day_ns,
            now_ns,
            ahead_ns: 0,
            breaths: 0,
            breaths_max: 1,
        }
    }

    pub(crate) fn kind(&self) -> ClockKind {
        self.kind
    }

    /// The time when it was last advanced.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The time of the breath that begins.
    ///
    /// PERF: reading the clock takes as long as moving ten packets, so breaths of less than a microsecond share a reading. When breaths
    /// become longer, that is noticed after sixteen of them at most.
    #[inline]
    pub(crate) fn advance(&mut self) -> u64 {
        self.breaths += 1;
        if self.breaths >= self.breaths_max && self.kind == ClockKind::Wall {
            self.read();
        }
        self.now_ns
    }

    /// The time to stamp packets with: that of day, also after the system's clock was set, or stood still while the machine was suspended.
    #[inline]
    pub(crate) fn stamp_ns(&self) -> u64 {
        self.now_ns.saturating_add_signed(self.ahead_ns)
    }

    /// Looks how far the time of day is ahead. To be called now and then.
    pub(crate) fn follow_day(&mut self) {
        if self.kind == ClockKind::Wall {
            let before_ns = self.elapsed_ns();
            let day_ns = (self.day_ns)();
            self.follow(day_ns, before_ns..=self.elapsed_ns());
        }
    }

    /// The time of day was this between two of our own times. If they are far apart, since the thread was off its core, that says little.
    fn follow(&mut self, day_ns: u64, own_ns: RangeInclusive<u64>) {
        let ahead_ns = day_ns.wrapping_sub(*own_ns.start()).cast_signed();
        let is_told = own_ns.end() - own_ns.start() < STEP_NS / 2;
        if is_told && ahead_ns.abs_diff(self.ahead_ns) >= STEP_NS {
            self.ahead_ns = ahead_ns;
        }
    }

    /// The time of day at the start, and what has passed since.
    fn elapsed_ns(&self) -> u64 {
        self.start_ns + self.start.elapsed().as_nanos() as u64
    }

    /// The thread has slept: the next breath reads the clock.
    pub(crate) fn slept(&mut self) {
        self.breaths = self.breaths_max;
    }

    /// The workers have stood still, nobody knows for how long: what is done until they breathe again has the time that it is.
    pub(crate) fn stood(&mut self) {
        self.slept();
        self.advance();
        self.follow_day();
    }

    /// As if the system's clock was set.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn set_day(&mut self, day_ns: fn() -> u64) {
        self.day_ns = day_ns;
        let own_ns = self.elapsed_ns();
        self.follow(day_ns(), own_ns..=own_ns);
    }

    fn read(&mut self) {
        let now_ns = self.now_ns.max(self.elapsed_ns());
        let breath_ns = (now_ns - self.now_ns) / u64::from(self.breaths);
        self.breaths_max = (PRECISION_NS / breath_ns.max(1)).clamp(1, BREATHS_MAX) as u32;
        self.breaths = 0;
        self.now_ns = now_ns;
    }

    /// Jumps to a time, unless it is past.
    pub(crate) fn jump(&mut self, next_ns: u64) -> u64 {
        self.now_ns = self.now_ns.max(next_ns);
        self.now_ns
    }
}

/// The time of day, as the system's clock has it, in nanoseconds since 1970.
/// The time of day, exact to some milliseconds. PERF: a fifth of what an exact one takes.
pub(crate) fn coarse_day_ns() -> u64 {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn day_ns() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Clock, ClockKind};
    use std::time::Duration;

    #[test]
    fn a_breath_after_a_sleep_knows_what_time_it_is() {
        let mut clock = Clock::new(ClockKind::Wall);
        for _ in 0..100 {
            (0..10).for_each(|_| _ = clock.advance());
            let before = clock.now_ns();
            std::thread::sleep(Duration::from_micros(50));
            clock.slept();
            assert!(clock.advance() >= before + 50_000);
        }
    }

    #[test]
    fn packets_are_stamped_with_the_time_of_day_after_it_was_set() {
        const HOUR_NS: u64 = 3600 * 1_000_000_000;
        let mut clock = Clock::new(ClockKind::Wall);
        let now_ns = clock.now_ns();
        for (day_ns, stamp_ns) in [
            (now_ns + 999_999, now_ns),
            (now_ns + HOUR_NS, now_ns + HOUR_NS),
            (now_ns + HOUR_NS + 999, now_ns + HOUR_NS),
            (now_ns - HOUR_NS, now_ns - HOUR_NS),
            (now_ns, now_ns),
        ] {
            clock.follow(day_ns, now_ns..=now_ns + 99);
            assert_eq!((clock.now_ns(), clock.stamp_ns()), (now_ns, stamp_ns));
        }
        clock.follow(now_ns + HOUR_NS, now_ns..=now_ns + 2_000_000);
        assert_eq!(clock.stamp_ns(), now_ns, "it may have been set, or time has passed in between");
    }
}
