//! What time it is for a graph.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Which clock a graph runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockKind {
    /// The time of day, which never goes back here.
    #[default]
    Wall,
    /// The time of the capture that is replayed: it stands still until the next packet is due, and then jumps there.
    Capture,
}

/// The clock of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    kind: ClockKind,
    /// The time of day when the instant was taken.
    start_ns: u64,
    start: Instant,
    now_ns: u64,
}

impl Clock {
    pub(crate) fn new(kind: ClockKind) -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start_ns = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
        let now_ns = match kind {
            ClockKind::Wall => start_ns,
            ClockKind::Capture => 0,
        };
        Clock { kind, start_ns, start: Instant::now(), now_ns }
    }

    pub(crate) fn kind(&self) -> ClockKind {
        self.kind
    }

    /// The time when it was last advanced.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Looks at the clock on the wall.
    #[inline]
    pub(crate) fn advance(&mut self) -> u64 {
        if self.kind == ClockKind::Wall {
            self.now_ns = self.start_ns + self.start.elapsed().as_nanos() as u64;
        }
        self.now_ns
    }

    /// Jumps to the next event; time does not go back.
    pub(crate) fn jump(&mut self, next_ns: u64) -> u64 {
        self.now_ns = self.now_ns.max(next_ns);
        self.now_ns
    }
}
