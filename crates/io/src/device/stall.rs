//! Devices that take no packets for long, while some wait.

use engine::shm::Counter;
use engine::{Notifier, Setup};

/// How long a device may take none, in nanoseconds.
const STALL_NS: u64 = 1_000_000_000;

/// Whether a device takes packets, looked at now and then.
#[derive(Debug)]
pub(crate) struct StallWatch {
    device: String,
    /// When it took one last, or none waited, and how many it had taken then.
    since_ns: u64,
    sent: u64,
    is_stalled: bool,
    stalls: Counter,
    notifier: Notifier,
}

impl StallWatch {
    pub(crate) fn new(device: &str, setup: &mut Setup<'_>) -> Self {
        StallWatch {
            device: device.to_owned(),
            since_ns: setup.now_ns,
            sent: 0,
            is_stalled: false,
            stalls: setup.counter("stalls"),
            notifier: setup.notifier(),
        }
    }

    /// Looks at a device that has taken `sent` packets so far, while so many are waiting.
    pub(crate) fn look(&mut self, now_ns: u64, sent: u64, waiting: usize) {
        if waiting == 0 || sent != self.sent {
            (self.since_ns, self.sent) = (now_ns, sent);
            if std::mem::take(&mut self.is_stalled) {
                self.notifier.note(format!("device {} takes packets again", self.device));
            }
        } else if !self.is_stalled && now_ns.saturating_sub(self.since_ns) >= STALL_NS {
            self.is_stalled = true;
            self.stalls.add(1);
            self.report().into_iter().for_each(|text| self.notifier.warn(text));
        }
    }

    /// Forgets what was, without a word: the device is gone, or another has come in its place.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        (self.since_ns, self.is_stalled) = (now_ns, false);
    }

    /// What is said of a device that takes none.
    pub(crate) fn report(&self) -> Option<String> {
        let device = &self.device;
        self.is_stalled.then(|| {
            format!(
                "device {device} takes no packets: what is sent to it waits, and so does what is before it"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, Notifier, StallWatch};

    #[test]
    fn a_device_stalls_when_it_takes_nothing_of_what_waits() {
        let mut watch = StallWatch {
            device: "x".to_owned(),
            since_ns: 0,
            sent: 0,
            is_stalled: false,
            stalls: Counter::hidden(),
            notifier: Notifier::unheard(),
        };
        let mut look = |now_ms: u64, sent, waiting| {
            watch.look(now_ms * 1_000_000, sent, waiting);
            watch.report().is_some()
        };
        assert_eq!([look(900, 0, 0), look(1800, 0, 5), look(1900, 0, 5)], [false, false, true]);
        assert_eq!(
            [look(5000, 0, 5), look(5100, 1, 5), look(6000, 1, 5), look(6200, 1, 5)],
            [true, false, false, true]
        );
        assert_eq!([look(6300, 1, 0), look(8000, 1, 5), watch.stalls.get() == 3], [false, true, true]);
        watch.reset(8_100_000_000);
        assert!(watch.report().is_none());
    }
}
