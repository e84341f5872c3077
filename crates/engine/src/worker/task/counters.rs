//! What the engine counts for an app, and what it makes of that.

use super::Task;
use crate::drops;
use crate::shm::format::HOUSEKEEPING;
use crate::shm::{Counter, EntryKind, Histogram, Record};
use crate::worker::usual::{Measured, Usual};

/// The engine's counters for every app.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) state: Counter,
    pub(super) restarts: Counter,
    pub(super) discarded: Counter,
    pub(super) panic: Counter,
    pub(super) app_down: Counter,
    pub(super) stopped: Counter,
    /// Nanoseconds in the breaths that were timed.
    pub(super) timed_ns: Counter,
    pub(super) latency: Histogram,
}

impl Counters {
    pub(super) fn new(record: &mut Record) -> Self {
        Counters {
            state: record.number("state", EntryKind::Gauge),
            restarts: record.number("restarts", EntryKind::Counter),
            timed_ns: record.number("timed_ns", EntryKind::Counter),
            discarded: record.number(drops::DISCARDED, EntryKind::Drop),
            panic: record.number(drops::PANIC, EntryKind::Drop),
            app_down: record.number(drops::APP_DOWN, EntryKind::Drop),
            stopped: record.number(drops::STOPPED, EntryKind::Drop),
            latency: record.histogram("turn_ns"),
        }
    }
}

impl Task {
    pub(in crate::worker) fn took(&self, ns: u64) {
        self.counters.timed_ns.add(ns);
        self.counters.latency.record(ns);
    }

    pub(crate) fn discarded(&self, count: u64) {
        self.counters.discarded.add(count);
    }

    pub(in crate::worker) fn lost_in_panic(&self, count: u64) {
        self.counters.panic.add(count);
    }

    pub(in crate::worker) fn lost_in_stop(&self, count: u64) {
        self.counters.stopped.add(count);
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.counters.restarts.get()
    }

    /// The usual time of its turns since [`Task::measure_anew`], of those that were timed.
    pub(crate) fn usual_turn(&self) -> Usual {
        self.measured.usual(&self.counters.latency)
    }

    /// Forgets what its turns have taken so far.
    pub(in crate::worker) fn measure_anew(&mut self) {
        self.measured = Measured::from_now(&self.counters.latency);
    }

    /// What its turns have taken in the breaths that were timed, if the longest were like the others.
    pub(in crate::worker) fn busy_ns(&self) -> u64 {
        let usual_ns = Histogram::usual_total_ns(&self.latency());
        self.counters.timed_ns.get().min(usual_ns as u64)
    }

    /// What the app counts, and what the engine counts for it, but for what that keeps for itself.
    pub(crate) fn told_counters(&self) -> Vec<(String, EntryKind, u64)> {
        let entries = self.record.entries();
        let told =
            entries.filter(|(name, kind, _)| *kind != EntryKind::Histogram && !HOUSEKEEPING.contains(name));
        told.map(|(name, kind, value)| (name.to_owned(), kind, value)).collect()
    }

    /// Packets for which it was the end of the way.
    pub(crate) fn delivered(&self) -> u64 {
        let delivered = self.record.entries().filter(|&(_, kind, _)| kind == EntryKind::Delivered);
        delivered.map(|(_, _, count)| count).sum()
    }

    pub(crate) fn latency(&self) -> Vec<u64> {
        self.counters.latency.counts()
    }
}
