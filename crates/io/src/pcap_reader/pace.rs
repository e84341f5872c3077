//! When the next packet of a replay may leave.

use engine::{NextEvent, Rate};

/// The pace at which packets leave.
#[derive(Debug)]
pub(super) enum Pace {
    /// Nothing: they leave when there is room.
    Free,
    /// A rate.
    Rate(Rate),
    /// Their timestamps.
    Timestamps(Timestamps),
}

/// A pass in time: a packet leaves `base_ns + (its time - first_ns)`.
#[derive(Debug)]
pub(super) struct Timestamps {
    /// When the pass begins; `None` before the first.
    base_ns: Option<u64>,
    /// Whether the first pass begins at its first packet's time, instead of now.
    on_capture_time: bool,
    /// The timestamp of the pass's first packet.
    first_ns: Option<u64>,
    /// The latest time at which a packet of the pass was due.
    latest_ns: u64,
    /// When the next packet is due.
    next_ns: u64,
}

impl Pace {
    /// The first packet leaves at once.
    pub(super) fn exact() -> Self {
        Self::timestamps(false)
    }

    /// Every packet leaves at its time.
    pub(super) fn capture_time() -> Self {
        Self::timestamps(true)
    }

    fn timestamps(on_capture_time: bool) -> Self {
        Pace::Timestamps(Timestamps {
            base_ns: None,
            on_capture_time,
            first_ns: None,
            latest_ns: 0,
            next_ns: 0,
        })
    }

    /// Whether the next packet may leave now.
    #[inline]
    pub(super) fn is_due(&mut self, now_ns: u64, timestamp_ns: impl Fn() -> u64) -> bool {
        match self {
            Pace::Free => true,
            Pace::Rate(rate) => rate.is_due(now_ns),
            Pace::Timestamps(timestamps) => timestamps.is_due(now_ns, timestamp_ns()),
        }
    }

    /// A packet has left.
    #[inline]
    pub(super) fn sent(&mut self, now_ns: u64, len: usize) {
        if let Pace::Rate(rate) = self {
            rate.sent(now_ns, len);
        }
    }

    /// A pass has ended: the next begins when its last packet was due.
    pub(super) fn begin_pass(&mut self) {
        if let Pace::Timestamps(timestamps) = self {
            timestamps.base_ns = timestamps.base_ns.map(|_| timestamps.latest_ns);
            timestamps.first_ns = None;
        }
    }

    /// When the next packet may leave.
    pub(super) fn next_event(&self) -> NextEvent {
        match self {
            Pace::Free => NextEvent::None,
            Pace::Rate(rate) => NextEvent::at(rate.next_ns()),
            Pace::Timestamps(timestamps) => match timestamps.base_ns {
                Some(_) => NextEvent::At(timestamps.next_ns),
                None => NextEvent::CaptureStart,
            },
        }
    }
}

impl Timestamps {
    fn is_due(&mut self, now_ns: u64, timestamp_ns: u64) -> bool {
        let first_ns = *self.first_ns.get_or_insert(timestamp_ns);
        let first_base_ns = if self.on_capture_time { timestamp_ns } else { now_ns };
        let base_ns = *self.base_ns.get_or_insert(first_base_ns);
        // A packet that is older than the first leaves at once.
        self.next_ns = base_ns.saturating_add(timestamp_ns.saturating_sub(first_ns));
        self.latest_ns = self.latest_ns.max(self.next_ns);
        self.next_ns <= now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{NextEvent, Pace};

    #[test]
    fn a_capture_may_begin_when_time_does() {
        let mut pace = Pace::capture_time();
        assert_eq!(pace.next_event(), NextEvent::CaptureStart);
        assert!(pace.is_due(0, || 0));
        assert_eq!(pace.next_event(), NextEvent::At(0), "a capture may begin in 1970");
        assert!(!pace.is_due(0, || 7));
        assert_eq!(pace.next_event(), NextEvent::At(7));
    }
}
