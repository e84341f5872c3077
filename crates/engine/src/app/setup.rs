//! What an app is given when it starts.

use crate::clock::ClockKind;
use crate::discards::Discards;
use crate::notice::Notifier;
use crate::option::Prepared;
use crate::shm::{Counter, EntryKind, Record};
use std::any::Any;
use std::sync::Arc;

/// Name, clock and counters of an app that starts.
///
/// A counter of the same name as before a restart goes on where it was.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The name of the app in the graph.
    pub name: &'a str,
    /// Which clock the graph runs on.
    pub clock: ClockKind,
    /// The time, in nanoseconds since 1970.
    pub now_ns: u64,
    pub(crate) record: &'a mut Record,
    pub(crate) legacy: &'a mut Legacy,
    pub(crate) notifier: &'a Notifier,
    pub(crate) prepared: &'a Prepared,
    pub(crate) discards: &'a mut Discards,
}

/// Things that apps of one place have left for the next.
pub(crate) type Legacy = Option<Arc<dyn Any + Send + Sync>>;

impl Setup<'_> {
    /// A counter, shown by `sluss top` and in reports. Names are at most 24 bytes long.
    pub fn counter(&mut self, name: &str) -> Counter {
        self.record.number(name, EntryKind::Counter)
    }

    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &str) -> Counter {
        self.record.number(name, EntryKind::Gauge)
    }

    /// The counter of a reason for which the app drops packets.
    pub fn drops(&mut self, reason: &str) -> Counter {
        self.record.number(reason, EntryKind::Drop)
    }

    /// The counter of packets that have arrived where they were meant to: written, sent, or swallowed by a sink.
    pub fn delivered(&mut self) -> Counter {
        self.consumed("delivered")
    }

    /// As [`Setup::drops`], where that is what the app is for, such as packets that a filter rejects: who watches is not alarmed.
    pub fn rejects(&mut self, reason: &str) -> Counter {
        self.record.number(reason, EntryKind::Reject)
    }

    /// The counter of packets that were lost before the app had them, such as those that the kernel had no room for. They are no packets of the engine,
    /// so no drops; but who reads a report wants to know of them.
    pub fn missed(&mut self, how: &str) -> Counter {
        self.record.number(how, EntryKind::Missed)
    }

    /// The counter of packets that have served their purpose otherwise, such as fragments that were joined.
    pub fn consumed(&mut self, how: &str) -> Counter {
        self.record.number(how, EntryKind::Delivered)
    }

    /// What the app tells whoever runs the engine by, as things happen.
    pub fn notifier(&self) -> Notifier {
        self.notifier.clone()
    }

    /// What [`Class::review`](super::Class::review) has made of the options for this start, if it has handed over anything. An app is started again without it after it
    /// has failed.
    pub fn take_prepared<T: Send + 'static>(&mut self) -> Option<T> {
        self.prepared.take()
    }

    /// Takes what is of no use any more and takes long to drop, such as a large table in whose place another has come. It is dropped when the workers run
    /// again, on another thread; so it must hold no packet.
    pub fn discard(&mut self, thing: impl Send + 'static) {
        self.discards.add(thing);
    }

    /// What an app before this one has left: it failed, was stopped to be given other options, or had another name and the same
    /// [claim](super::Class::claim). The default at first. It goes with the app's place in the graph.
    pub fn legacy<T: Default + Send + Sync + 'static>(&mut self) -> Arc<T> {
        let known = self.legacy.clone().and_then(|known| known.downcast().ok());
        known.unwrap_or_else(|| {
            let legacy = Arc::new(T::default());
            *self.legacy = Some(legacy.clone());
            legacy
        })
    }
}
