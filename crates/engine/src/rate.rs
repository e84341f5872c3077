//! How much a source may send by now: packets and bits a second.
//!
//! The time at which the next packet may leave is kept in fractions of a nanosecond, so the average is right over months. After a pause, at most 50 ms are made
//! up for: a source that was held up does not send a flood. It holds no packets; a limiter that does is the app `rate_limiter`.

use crate::option::OptionError;

/// The most time that is made up for after a pause, in nanoseconds: longer ones are lost.
const ARREARS_NS_MAX: f64 = 50e6;
/// How far `next_ns` may be from `base_ns`: a step of a billionth of a nanosecond is still told there. PERF: seldom.
const REBASED_NS: f64 = 1e6;
/// The rates that make sense: one packet in 1000 s up to what no machine reaches.
const RANGE: std::ops::RangeInclusive<f64> = 0.001..=1e12;

/// A rate that a source keeps to, on average and from burst to burst; the options `rate_pps` and `rate_mbps`.
///
/// ```
/// let mut rate = engine::Rate::new(Some(1000.0), None).expect("a limit");
/// let sent = |rate: &mut engine::Rate, now_ns| (0..9).take_while(|_| rate.take(now_ns, 60)).count();
/// assert_eq!(sent(&mut rate, 5_000_000), 1);
/// assert_eq!(sent(&mut rate, 8_000_000), 3);
/// assert_eq!(rate.next_ns(), Some(9_000_000));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    ns_per_packet: f64,
    ns_per_byte: f64,
    /// When the next packet may leave, in nanoseconds after `base_ns`.
    next_ns: f64,
    base_ns: Option<u64>,
}

impl Rate {
    /// Whether these are rates.
    ///
    /// # Errors
    /// Which is none.
    pub fn check(pps: Option<f64>, mbps: Option<f64>) -> Result<(), OptionError> {
        let check = |(option, rate): (&str, Option<f64>)| {
            rate.map_or(Ok(()), |rate| OptionError::check_range(option, rate, RANGE))
        };
        OptionError::all([("rate_pps", pps), ("rate_mbps", mbps)].map(check))
    }

    /// At most `pps` packets, and `mbps` million bits, a second. `None` without a limit.
    pub fn new(pps: Option<f64>, mbps: Option<f64>) -> Option<Self> {
        if pps.is_none() && mbps.is_none() {
            return None;
        }
        Some(Rate {
            ns_per_packet: pps.map_or(0.0, |pps| 1e9 / pps),
            ns_per_byte: mbps.map_or(0.0, |mbps| 8e3 / mbps),
            next_ns: 0.0,
            base_ns: None,
        })
    }

    /// Whether a packet of `len` bytes may leave now; if so, it is taken for sent.
    #[inline]
    pub fn take(&mut self, now_ns: u64, len: usize) -> bool {
        let is_due = self.is_due(now_ns);
        if is_due {
            self.sent(now_ns, len);
        }
        is_due
    }

    /// Whether a packet may leave now.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.base_ns.is_none_or(|base_ns| now_ns.saturating_sub(base_ns) as f64 >= self.next_ns)
    }

    /// A packet of `len` bytes has left.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, len: usize) {
        let base_ns = *self.base_ns.get_or_insert(now_ns);
        let now = now_ns.saturating_sub(base_ns) as f64;
        self.next_ns = self.next_ns.max(now - ARREARS_NS_MAX) + self.cost_ns(len);
        if self.next_ns >= REBASED_NS {
            self.rebase(now_ns);
        }
    }

    /// Counts from a later time, at most from now: the steps of a rate would be lost in the rounding of a number of months.
    fn rebase(&mut self, now_ns: u64) {
        if let Some(base_ns) = &mut self.base_ns {
            let later_ns = now_ns.saturating_sub(*base_ns).min(self.next_ns as u64);
            *base_ns += later_ns;
            self.next_ns -= later_ns as f64;
        }
    }

    /// The slower of the two limits decides.
    fn cost_ns(&self, len: usize) -> f64 {
        self.ns_per_packet.max(self.ns_per_byte * len as f64)
    }

    /// When the next packet may leave; `None` before the first, which may at any time.
    pub fn next_ns(&self) -> Option<u64> {
        Some(self.base_ns?.saturating_add(self.next_ns.ceil() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    fn sent_until(rate: &mut Rate, now_ns: u64, len: usize) -> usize {
        (0..1_000_000).take_while(|_| rate.take(now_ns, len)).count()
    }

    #[test]
    fn the_average_is_exact_whatever_the_steps() {
        let mut rate = Rate::new(Some(3_333_333.0), None).unwrap();
        let steps = (0..=1000).map(|step| 1_700_000_000_000_000_000 + step * 1_000_003);
        let sent: usize = steps.map(|now_ns| sent_until(&mut rate, now_ns, 60)).sum();
        assert!((3_333_342..=3_333_344).contains(&sent), "{sent} in 1.000003 s");
    }

    #[test]
    fn the_average_is_exact_after_a_year() {
        for pps in [14_880_952.0, 200e6] {
            let mut rate = Rate::new(Some(pps), None).unwrap();
            sent_until(&mut rate, 1_700_000_000_000_000_000, 60);
            let later_ns = 1_700_000_000_000_000_000 + 366 * 86_400 * 1_000_000_000;
            while sent_until(&mut rate, later_ns, 60) > 0 {}
            let sent: usize = (1..=100).map(|ms| sent_until(&mut rate, later_ns + ms * 1_000_000, 60)).sum();
            assert!((sent as f64 - pps / 10.0).abs() <= 1.0, "{sent} in 100 ms at {pps}");
        }
    }

    #[test]
    fn one_packet_in_a_thousand_seconds() {
        let mut rate = Rate::new(Some(0.001), None).unwrap();
        assert_eq!(sent_until(&mut rate, 5, 60), 1);
        assert_eq!(sent_until(&mut rate, 1_000_000_000_004, 60), 0);
        assert_eq!(rate.next_ns(), Some(1_000_000_000_005));
        assert_eq!(sent_until(&mut rate, 1_000_000_000_005, 60), 1);
    }

    #[test]
    fn the_slower_limit_decides() {
        let mut rate = Rate::new(Some(1000.0), Some(8.0)).unwrap();
        sent_until(&mut rate, 0, 100);
        assert_eq!(sent_until(&mut rate, 10_000_000, 100), 10, "1000 a second, below 8 Mbit/s");
        let mut rate = Rate::new(Some(1000.0), Some(8.0)).unwrap();
        sent_until(&mut rate, 0, 10_000);
        assert_eq!(sent_until(&mut rate, 20_000_000, 10_000), 2, "a packet of 10,000 bytes takes 10 ms");
    }

    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let mut rate = Rate::new(Some(1000.0), None).unwrap();
        sent_until(&mut rate, 0, 60);
        assert_eq!(sent_until(&mut rate, 10_000_000_000, 60), 51);
    }

    #[test]
    fn rates_are_checked() {
        let check = |pps| Rate::check(Some(pps), None);
        assert!(check(0.5).is_ok());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(check(wrong).unwrap_err().option.as_deref(), Some("rate_pps"), "{wrong}");
        }
    }
}
