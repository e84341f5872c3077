//! When an app that failed is started again: after a time that doubles with each failure, up to a longest.

use std::time::{Duration, Instant};

/// When apps that failed are started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarts {
    /// How long an app is down the first time.
    pub(crate) first: Duration,
    /// How long at most, after doubling each time.
    pub(crate) max: Duration,
}

impl Restarts {
    /// The least time between two starts.
    const LEAST: Duration = Duration::from_millis(1);

    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        let first = first.max(Self::LEAST);
        Restarts { first, max: max.max(first) }
    }
}

/// Since when one app runs, or until when it is down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    restarts: Restarts,
    down: Option<Down>,
    /// How long it stays down the next time.
    delay: Duration,
    started: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Down {
    /// When it is started again; `None` is beyond all time.
    until: Option<Instant>,
    /// How long it is down.
    delay: Duration,
    /// Whether it did not even start after the longest time that it can be down.
    is_given_up: bool,
}

impl Outage {
    /// Of an app that has never failed, and is started now.
    pub(super) fn none(restarts: Restarts) -> Self {
        Outage { restarts, down: None, delay: restarts.first, started: Instant::now() }
    }

    /// The app has failed.
    pub(super) fn begin(&mut self) {
        let Restarts { first, max } = self.restarts;
        // Only an app that ran for long begins again with short times.
        if !self.is_on() && self.started.elapsed() > max {
            self.delay = first;
        }
        let is_given_up = self.down.is_some_and(|down| down.delay >= max);
        let delay = self.delay;
        self.down = Some(Down { until: Instant::now().checked_add(delay), delay, is_given_up });
        self.delay = delay.saturating_mul(2).min(max);
    }

    /// The app was started again.
    pub(super) fn end(&mut self) {
        self.down = None;
        self.started = Instant::now();
    }

    /// Whether the app is down.
    pub(super) fn is_on(&self) -> bool {
        self.down.is_some()
    }

    /// Whether it has been down for long enough.
    pub(super) fn is_over(&self) -> bool {
        self.down.and_then(|down| down.until).is_some_and(|until| Instant::now() >= until)
    }

    /// Whether it is down and did not even start after the longest time that it can be.
    pub(super) fn is_given_up(&self) -> bool {
        self.down.is_some_and(|down| down.is_given_up)
    }

    /// As if the app had been started longer ago.
    #[cfg(all(test, not(loom)))]
    pub(super) fn age(&mut self, ago: Duration) {
        self.started -= ago;
    }
}
