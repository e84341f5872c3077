//! The usual times of turns and breaths: means without the longest hundredth.
//!
//! They come from the histograms that are counted anyway, by what has been added since measuring began; so they are right to a quarter, as
//! buckets are. What apps cost is derived from them (`engine/balance`).

use crate::shm::Histogram;

/// How many durations there were, and their mean without the longest hundredth ([`Histogram::usual_total_ns`]).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usual {
    pub(crate) count: u64,
    pub(crate) mean_ns: f64,
}

/// From when on durations count: those that a histogram held before do not.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    before: Vec<u64>,
}

impl Measured {
    /// From now on.
    pub(super) fn from_now(histogram: &Histogram) -> Self {
        Measured { before: histogram.counts() }
    }

    /// The usual time since then.
    pub(super) fn usual(&self, histogram: &Histogram) -> Usual {
        let mut counts = histogram.counts();
        counts
            .iter_mut()
            .zip(&self.before)
            .for_each(|(count, &before)| *count = count.saturating_sub(before));
        Usual::of(&counts)
    }
}

impl Usual {
    /// Of the durations in a histogram, which knows each to a quarter.
    pub(super) fn of(buckets: &[u64]) -> Self {
        let count: u64 = buckets.iter().sum();
        Usual { count, mean_ns: Histogram::usual_total_ns(buckets) / count.max(1) as f64 }
    }

    /// All of them together.
    pub(crate) fn total_ns(self) -> f64 {
        self.count as f64 * self.mean_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{Measured, Usual};
    use crate::shm::Histogram;

    #[test]
    fn the_longest_do_not_count() {
        let histogram = Histogram::hidden();
        (0..198).for_each(|_| histogram.record(1000));
        (0..2).for_each(|_| histogram.record(2_000_000));
        let usual = Usual::of(&histogram.counts());
        assert_eq!(usual.count, 200);
        assert!((896.0..=1024.0).contains(&usual.mean_ns), "{usual:?}");
        let few = |long| {
            let histogram = Histogram::hidden();
            (0..9).for_each(|_| histogram.record(1000));
            (0..long).for_each(|_| histogram.record(2_000_000));
            Usual::of(&histogram.counts()).mean_ns
        };
        assert!(few(1) < 1024.0 && few(2) > 100_000.0, "one of ten, or of eleven");
        let none = Usual::of(&Histogram::hidden().counts());
        assert!(none.count == 0 && none.total_ns() == 0.0, "{none:?}");
    }

    #[test]
    fn what_was_before_does_not_count() {
        let histogram = Histogram::hidden();
        let usual = |measured: &Measured| measured.usual(&histogram);
        assert_eq!(usual(&Measured::default()).count, 0);
        (0..100).for_each(|_| histogram.record(1000));
        assert_eq!(usual(&Measured::default()).count, 100);
        let measured = Measured::from_now(&histogram);
        assert_eq!(usual(&measured).count, 0);
        (0..10).for_each(|_| histogram.record(30));
        let later = usual(&measured);
        assert!(later.count == 10 && later.mean_ns < 40.0, "{later:?}");
    }
}
