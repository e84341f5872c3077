//! How much of its time a worker does something that is of use: breaths that moved packets, less the share that a full link to another
//! worker dropped.
//!
//! An idle worker still calls its apps, and each call takes time; so the time in apps says little. Sleep
//! counts as idle; what passes between two runs, such as a change of the graph, counts as nothing.

use crate::link::Output;
use std::ops::Add;

/// The work of a worker since measuring began.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// When the last breath began, unless time has passed since that is not its own.
    last_ns: Option<u64>,
    was_idle: bool,
    total_ns: u64,
    idle_ns: u64,
    /// Packets that had been sent towards other workers when it began.
    sent_before: Sent,
}

/// Packets that apps have sent, and those that found a link to another worker full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) sent: u64,
    pub(super) dropped: u64,
}

impl Sent {
    /// Over one link. What a link between apps of one worker had no room for is no concern of others: it is done with.
    pub(super) fn over(output: &Output) -> Self {
        let (sent, dropped) = (output.sent(), output.dropped());
        if output.leads_away() { Sent { sent, dropped } } else { Sent { sent: sent + dropped, dropped: 0 } }
    }
}

impl Add for Sent {
    type Output = Sent;

    fn add(self, other: Sent) -> Sent {
        Sent { sent: self.sent + other.sent, dropped: self.dropped + other.dropped }
    }
}

impl Load {
    /// Begins anew, when so much has been sent towards other workers.
    pub(super) fn new(sent_before: Sent) -> Self {
        Load { sent_before, ..Load::default() }
    }

    /// A breath begins: the one before is over.
    #[inline]
    pub(super) fn breath(&mut self, now_ns: u64) {
        let took_ns = now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns));
        self.total_ns += took_ns;
        self.idle_ns += if self.was_idle { took_ns } else { 0 };
        self.last_ns = Some(now_ns);
    }

    /// What the breath that has begun came to.
    #[inline]
    pub(super) fn moved(&mut self, moved: bool) {
        self.was_idle = !moved;
    }

    /// The time that follows is not its own.
    pub(super) fn pause(&mut self) {
        self.last_ns = None;
    }

    /// How long it has breathed.
    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// How long it was busy, nothing if it has not breathed. Where packets were dropped because another worker does not keep
    /// up, it would have needed less time for those that arrived.
    pub(super) fn useful_ns(&self, now: Sent) -> Option<f64> {
        let busy_ns = (self.total_ns - self.idle_ns) as f64;
        (self.total_ns > 0).then(|| busy_ns * (1.0 - self.dropped(now)))
    }

    /// Whether others could do more if it did: it sends to them, is hardly ever idle, and hardly anything is dropped.
    pub(super) fn holds_up_others(&self, now: Sent) -> bool {
        let is_busy = self.idle_ns <= self.total_ns / HARDLY;
        is_busy && now.sent > self.sent_before.sent && self.dropped(now) < 1.0 / HARDLY as f64
    }

    /// How many packets links to other workers had no room for.
    pub(super) fn lost(&self, now: Sent) -> u64 {
        now.dropped.saturating_sub(self.sent_before.dropped)
    }

    /// Which share of what was sent towards other workers was dropped.
    fn dropped(&self, now: Sent) -> f64 {
        let sent = now.sent.saturating_sub(self.sent_before.sent);
        let dropped = self.lost(now);
        dropped as f64 / (sent + dropped).max(1) as f64
    }
}

/// One of so many.
const HARDLY: u64 = 50;

#[cfg(test)]
mod tests {
    use super::{Load, Sent};
    use crate::link::{Between, CAPACITY, link};
    use crate::pool::Pool;
    use crate::shm::LinkCounters;

    const NOTHING: Sent = Sent { sent: 0, dropped: 0 };

    #[test]
    fn only_links_to_other_workers_tell_that_these_do_not_keep_up() {
        for between in [Between::OneThread, Between::TwoThreads] {
            let mut pool = Pool::of_engine(CAPACITY + 10, u64::MAX).expect("memory");
            let (mut output, input) = link(LinkCounters::hidden(), between);
            for _ in 0..CAPACITY + 10 {
                output.put(pool.packet(b"x").expect("a packet"));
            }
            output.end();
            let dropped = if between == Between::OneThread { 0 } else { 10 };
            assert_eq!(Sent::over(&output), Sent { sent: CAPACITY as u64 + 10 - dropped, dropped });
            drop(input);
        }
    }

    #[test]
    fn breaths_in_which_nothing_moves_are_idle() {
        let mut load = Load::default();
        assert_eq!(load.useful_ns(NOTHING), None);
        for (now_ns, moved) in [(100, true), (130, false), (170, false), (200, true)] {
            load.breath(now_ns);
            load.moved(moved);
        }
        assert_eq!(load.useful_ns(NOTHING), Some(30.0));
        load.breath(225);
        assert_eq!(load.useful_ns(NOTHING), Some(55.0));
        load.pause();
        load.breath(9000);
        assert_eq!(load.useful_ns(NOTHING), Some(55.0));
    }

    #[test]
    fn work_for_packets_that_are_dropped_does_not_count() {
        let mut load = Load::new(Sent { sent: 50, dropped: 10 });
        load.breath(1);
        load.moved(true);
        load.breath(101);
        assert_eq!(load.useful_ns(Sent { sent: 110, dropped: 30 }), Some(75.0));
        assert_eq!(load.lost(Sent { sent: 110, dropped: 30 }), 20);
    }

    #[test]
    fn who_is_never_idle_holds_up_others_unless_they_drop() {
        let mut load = Load::new(Sent { sent: 50, dropped: 10 });
        load.breath(1);
        load.moved(true);
        load.breath(1001);
        let holds_up = |load: &Load, sent, dropped| load.holds_up_others(Sent { sent, dropped });
        assert!(holds_up(&load, 1050, 10) && holds_up(&load, 1050, 29));
        assert!(!holds_up(&load, 1050, 40) && !holds_up(&load, 50, 10));
        load.moved(false);
        load.breath(1100);
        assert!(!holds_up(&load, 1050, 10));
    }
}
