//! Frames that the kernel could not put into the queue of a device, and dropped.

use super::tun;
use engine::shm::Counter;
use std::fs::{self, File};

/// How often the kernel is asked, in nanoseconds: its answer tells of all devices.
const EVERY_NS: u64 = 1_000_000_000;

/// Counts frames that the kernel has dropped.
#[derive(Debug)]
pub(super) struct Losses {
    /// What the kernel had counted when it was asked last; `None` if it did not say.
    known: Option<u64>,
    next_look_ns: u64,
    counter: Counter,
}

impl Losses {
    /// From now on.
    pub(super) fn new(file: &File, counter: Counter) -> Self {
        Losses { known: dropped(file), next_look_ns: 0, counter }
    }

    /// Another device has taken the place of the one before.
    pub(super) fn begin_again(&mut self, file: &File) {
        self.known = dropped(file);
    }

    /// Counts, if it is time to.
    pub(super) fn count_if_due(&mut self, file: &File, now_ns: u64) {
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns.saturating_add(EVERY_NS);
            self.count(file);
        }
    }

    pub(super) fn count(&mut self, file: &File) {
        let now = dropped(file);
        if let (Some(now), Some(known)) = (now, self.known) {
            self.counter.add(now.saturating_sub(known));
        }
        self.known = now.or(self.known);
    }
}

/// Frames that the kernel has dropped on their way out of a device, which is in the network namespace of this thread, as sysfs need not be.
fn dropped(file: &File) -> Option<u64> {
    dropped_of(&fs::read_to_string("/proc/thread-self/net/dev").ok()?, &tun::name(file).ok()?)
}

/// Which column that is, of those after the name (`dev_seq_printf_stats` of net/core/net-procfs.c).
const TX_DROPPED: usize = 11;

fn dropped_of(statistics: &str, device: &str) -> Option<u64> {
    let mut lines = statistics.lines().filter_map(|line| line.trim_start().split_once(':'));
    let (_, columns) = lines.find(|(name, _)| *name == device)?;
    columns.split_ascii_whitespace().nth(TX_DROPPED)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::dropped_of;

    #[test]
    fn the_column_of_the_device_is_found() {
        let statistics = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     200       2    0    0    0     0          0         0      200       2    0    0    0     0       0          0
 tap10:       0       0    0    5    0     0          0         0      846       9    0   77    0     0       0          0
  tap1:       0       0    0    6    0     0          0         0      846       9    0   78    0     0       0          0
";
        assert_eq!(
            ["lo", "tap10", "tap1", "tap", "face |bytes"].map(|name| dropped_of(statistics, name)),
            [Some(0), Some(77), Some(78), None, None]
        );
        assert_eq!(dropped_of("t0: 1 2 3\n", "t0"), None);
    }
}
