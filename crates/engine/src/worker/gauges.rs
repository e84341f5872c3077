//! What a worker counts and measures, for those who watch it, and for the placement of apps (`engine/balance`).

use super::load::{Load, Sent};
use super::time::share_out;
use super::usual::{Measured, Usual};
use super::{TIMED_EVERY, Task, Worker};
use crate::drops;
use crate::shm::{Counter, EntryKind, Histogram, Record};

/// The state of a worker, as seen from outside.
#[derive(Debug)]
pub(super) struct Gauges {
    pub(super) breaths: Counter,
    /// When the breath began, in nanoseconds since 1970 UTC, and the app that has its turn, by the epoch of its record; 0 for none. So others see
    /// which turn lasts, also one that never ends.
    pub(super) began_unix_ns: Counter,
    pub(super) turn_of: Counter,
    pub(super) latency: Histogram,
    total: Counter,
    free: Counter,
    allocated: Counter,
    freed: Counter,
    exhausted: Counter,
    /// Packets that were dropped while no app ran.
    pub(super) without_app: Counter,
}

impl Gauges {
    pub(super) fn new(record: &mut Record) -> Self {
        Gauges {
            breaths: record.number("breaths", EntryKind::Counter),
            began_unix_ns: record.number("breath_unix_ns", EntryKind::Gauge),
            turn_of: record.number("turn_of", EntryKind::Gauge),
            total: record.number("pool_total", EntryKind::Gauge),
            free: record.number("pool_free", EntryKind::Gauge),
            allocated: record.number("allocated", EntryKind::Counter),
            freed: record.number("freed", EntryKind::Counter),
            exhausted: record.number("pool_exhausted", EntryKind::Counter),
            without_app: record.number(drops::LINK_REMOVED, EntryKind::Drop),
            latency: record.histogram("breath_ns"),
        }
    }
}

impl Worker {
    pub(crate) fn publish_pool(&mut self) {
        self.pool.fetch_all_returns();
        self.gauges.total.set(self.pool.total() as u64);
        self.gauges.free.set(self.pool.available() as u64);
        // It has gone below zero if packets were taken back here that another worker had allocated.
        self.gauges.allocated.set(self.pool.allocated().cast_signed().max(0).cast_unsigned());
        self.gauges.freed.set(self.pool.freed());
        self.gauges.exhausted.set(self.pool.exhausted());
    }

    /// The time that each of its apps has taken so far, in nanoseconds: their usual turns times all turns, but together no more than its thread has
    /// taken, if one has run it.
    pub(crate) fn busy_ns(&self) -> Vec<u64> {
        let mut busy_ns: Vec<u64> =
            self.tasks.iter().map(|task| task.busy_ns().saturating_mul(TIMED_EVERY)).collect();
        if let Some(thread_ns) = self.thread_ns() {
            share_out(&mut busy_ns, thread_ns);
        }
        busy_ns
    }

    /// The CPU time of the threads that have run it, if any has.
    pub(crate) fn thread_ns(&self) -> Option<u64> {
        self.time.total_ns()
    }

    /// The usual time of its breaths since [`Worker::measure_anew`], of those that were timed as a whole.
    pub(crate) fn usual_breath(&self) -> Usual {
        self.measured.usual(&self.gauges.latency)
    }

    /// Forgets what its breaths, and the turns of its apps, have taken so far.
    pub(crate) fn measure_anew(&mut self) {
        self.measured = Measured::from_now(&self.gauges.latency);
        self.load = Load::new(self.sent_away());
        self.tasks.iter_mut().for_each(Task::measure_anew);
    }

    /// For how long it has breathed since then.
    pub(crate) fn measured_ns(&self) -> u64 {
        self.load.total_ns()
    }

    /// For how long it has done something of use since it is measured, if it has breathed.
    pub(crate) fn useful_ns(&self) -> Option<f64> {
        self.load.useful_ns(self.sent_away())
    }

    /// Packets that links to other workers had no room for since it is measured.
    pub(crate) fn lost(&self) -> u64 {
        self.load.lost(self.sent_away())
    }

    /// Whether others could do more if it did.
    pub(crate) fn holds_up_others(&self) -> bool {
        self.load.holds_up_others(self.sent_away())
    }

    /// Packets sent by those of its apps that send to other workers.
    pub(super) fn sent_away(&self) -> Sent {
        let outputs = self.tasks.iter().filter(|task| task.sends_away()).flat_map(|task| &task.plugs.outputs);
        outputs.fold(Sent::default(), |sum, output| sum + Sent::over(output))
    }
}
