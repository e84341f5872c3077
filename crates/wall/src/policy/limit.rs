//! Rates of rules: `limit 100/s burst 20`.
//!
//! Workers that judge by one policy share its buckets. Between the question and the count of one worker, each of the others may let a packet through as well: that
//! many packets more than `burst` at most pass at a time, and they count for later ones, so the rate holds.
//!
//! Time may go back: captures are read in another order than they were written in, or a clock is set. A bucket is full then, as what it has given lies in the future.

use std::sync::atomic::{AtomicU64, Ordering};

/// Time that a second has, in nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// Packets that come earlier than the last one by no more than this are late, not a sign that time has gone back: those of another worker, or which have waited until it was known what
/// their flow speaks (ten seconds at most).
const LATE_MAX_NS: u64 = 15 * SECOND;

/// So many packets in so much time, of which so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds for which one packet counts.
    pub period_ns: u64,
    /// Packets at once.
    pub burst: u32,
}

impl Rate {
    /// Reads `NUMBER/s`, `/m`, `/h` or `/d`; `burst` packets at once, or as many as come to a second, one at least.
    pub(super) fn read(text: &str, burst: Option<u32>) -> Option<Rate> {
        let (number, unit) = text.split_once('/')?;
        let number: u64 = number.parse().ok().filter(|number| (1..=SECOND).contains(number))?;
        let unit_ns = match unit {
            "s" | "sec" | "second" => SECOND,
            "m" | "min" | "minute" => 60 * SECOND,
            "h" | "hour" => 3600 * SECOND,
            "d" | "day" => 86_400 * SECOND,
            _ => return None,
        };
        let period_ns = (unit_ns / number).max(1);
        let usual = u32::try_from((SECOND / period_ns).max(1)).unwrap_or(u32::MAX);
        Some(Rate { period_ns, burst: burst.unwrap_or(usual) })
    }
}

/// What is left of a rate (the generic cell rate algorithm, ITU-T I.371: one time is kept, that at which the bucket is full again; a second one tells whether time has gone back).
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    full_at_ns: AtomicU64,
    /// When a packet was counted last.
    taken_ns: AtomicU64,
}

impl Bucket {
    pub(crate) fn new(rate: Rate) -> Bucket {
        Bucket { rate, full_at_ns: AtomicU64::new(0), taken_ns: AtomicU64::new(0) }
    }

    /// Whether a packet may pass now.
    pub(crate) fn has(&self, now_ns: u64) -> bool {
        let Rate { period_ns, burst } = self.rate;
        let room_ns = period_ns.saturating_mul(u64::from(burst.max(1)));
        self.has_gone_back(now_ns)
            || self.next_ns(self.full_at_ns.load(Ordering::Relaxed), now_ns) - now_ns <= room_ns
    }

    /// Counts a packet.
    pub(crate) fn take(&self, now_ns: u64) {
        let has_gone_back = self.has_gone_back(now_ns);
        let next = |full_at_ns| Some(self.next_ns(if has_gone_back { now_ns } else { full_at_ns }, now_ns));
        let _ = self.full_at_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        if has_gone_back {
            self.taken_ns.store(now_ns, Ordering::Relaxed);
        } else {
            self.taken_ns.fetch_max(now_ns, Ordering::Relaxed);
        }
    }

    /// Whether the last packet was counted in what is the future now.
    fn has_gone_back(&self, now_ns: u64) -> bool {
        self.taken_ns.load(Ordering::Relaxed) > now_ns.saturating_add(LATE_MAX_NS)
    }

    /// When the bucket is full again, with one packet more.
    fn next_ns(&self, full_at_ns: u64, now_ns: u64) -> u64 {
        full_at_ns.max(now_ns).saturating_add(self.rate.period_ns)
    }

    /// Takes over what is left of a bucket of the same rate.
    pub(crate) fn go_on_from(&self, other: &Bucket) {
        if self.rate == other.rate {
            self.full_at_ns.fetch_max(other.full_at_ns.load(Ordering::Relaxed), Ordering::Relaxed);
            self.taken_ns.fetch_max(other.taken_ns.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for (text, period_ns, burst) in [
            ("10/s", 100_000_000, 10),
            ("1/m", 60 * SECOND, 1),
            ("120/min", 500_000_000, 2),
            ("3/hour", 1200 * SECOND, 1),
        ] {
            assert_eq!(Rate::read(text, None), Some(Rate { period_ns, burst }), "{text}");
        }
        for text in ["", "10", "0/s", "x/s", "10/x", "-1/s", "9999999999999/s"] {
            assert_eq!(Rate::read(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let bucket = Bucket::new(Rate::read("10/s", Some(3)).unwrap());
        let taken = |ns| {
            let may = |bucket: &Bucket| {
                let has = bucket.has(ns);
                if has {
                    bucket.take(ns);
                }
                has
            };
            (0..10).filter(|_| may(&bucket)).count()
        };
        assert_eq!([taken(5 * SECOND), taken(5 * SECOND), taken(5 * SECOND + 100_000_000)], [3, 0, 1]);
        assert_eq!([taken(5 * SECOND + 250_000_000), taken(90 * SECOND), taken(80 * SECOND)], [1, 3, 0]);
        // Time has gone back.
        assert_eq!([SECOND, 2 * SECOND, 2 * SECOND, 89 * SECOND].map(taken), [3, 3, 0, 3]);
    }

    #[test]
    fn time_that_goes_back_exhausts_no_bucket() {
        let bucket = Bucket::new(Rate::read("1/s", None).unwrap());
        for (second, expected) in
            [(5000, true), (5001, true), (5001, false), (10, true), (10, false), (20, true), (4990, true)]
        {
            assert_eq!(bucket.has(second * SECOND), expected, "{second}");
            if expected {
                bucket.take(second * SECOND);
            }
        }
        // A policy that takes over the bucket knows it as well.
        let next = Bucket::new(bucket.rate);
        next.go_on_from(&bucket);
        assert!(!next.has(4990 * SECOND) && next.has(30 * SECOND));
    }
}
