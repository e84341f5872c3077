//! What few apps have besides their turns. [`App::timed`](super::App::timed), [`App::wakeable`](super::App::wakeable) and
//! [`App::reporting`](super::App::reporting) say whether an app has them.

use std::os::fd::BorrowedFd;

/// An app that does something at times of its own: a source that follows a capture, a queue that delays.
///
/// ```
/// use engine::{App, NextEvent, Timed};
///
/// struct Alarm {
///     at_ns: Option<u64>,
/// }
///
/// impl App for Alarm {
///     fn timed(&self) -> Option<&dyn Timed> {
///         Some(self)
///     }
/// }
///
/// impl Timed for Alarm {
///     fn next_event(&self) -> NextEvent {
///         NextEvent::at(self.at_ns)
///     }
/// }
/// ```
pub trait Timed {
    /// When the app has something to do next of its own accord.
    ///
    /// On capture time, the clock jumps to the earliest of these times. On the time of day, a worker whose apps leave packets in their links,
    /// and that has nothing else to do, does not sleep beyond it.
    fn next_event(&self) -> NextEvent;
}

/// When an app has something to do of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextEvent {
    /// Never, unless packets come. So it is for an app that waits for room or memory as well.
    None,
    /// At this time, in nanoseconds since 1970. One that has passed is due: the clock of captures stands still until the app has had its turn and
    /// names another.
    At(u64),
    /// At the first time of a capture, which the app does not know yet and will name. Until then no other app pulls, and the clock of captures
    /// counts from 0.
    CaptureStart,
}

impl NextEvent {
    /// At this time, or never.
    pub fn at(time_ns: Option<u64>) -> Self {
        time_ns.map_or(NextEvent::None, NextEvent::At)
    }

    /// The time, if it is known.
    pub fn time_ns(self) -> Option<u64> {
        match self {
            NextEvent::At(time_ns) => Some(time_ns),
            NextEvent::None | NextEvent::CaptureStart => None,
        }
    }
}

/// An app that pulls from a device, which can say that it has something.
pub trait Wakeable {
    /// What becomes readable when there is something to pull, for an app that pulls nothing else, and holds nothing back. Where all that pull
    /// name such a thing, or are finished, and nothing has come for a second, the worker waits for these, 10 ms at a time.
    fn wakes_on(&self) -> Option<BorrowedFd<'_>>;
}

/// An app that is a device: packets come from it and go to it, beyond the process.
pub trait Device {
    /// How it works now, and what it can do.
    fn facts(&self) -> DeviceFacts;
}

/// How a device works, and what it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// How packets come and go, in words: through which interface, and who copies them.
    pub mode: String,
    /// Which memory it works in, in words, where it has a choice.
    pub memory: Option<&'static str>,
    /// Its queues that this app has, in each direction.
    pub queues: u16,
    /// Whether packets come and go without being copied.
    pub is_zero_copy: bool,
    /// Whether packets have the time at which they came, not that of their breath.
    pub has_timestamps: bool,
    /// Whether it is switched on, and has something at the other end; `None` where that is not known.
    pub is_up: Option<bool>,
    /// What it does to packets on its own, by the names that `ethtool -K` takes.
    pub offloads: Vec<&'static str>,
}

/// An app that tells more than its counters do.
pub trait Reporting {
    /// A line or more for the final report.
    fn report(&self) -> Option<String> {
        None
    }

    /// Whether the app failed in its work, as [`Reporting::report`] says: a capture is damaged, a
    /// disk is full. The run goes on, and `sluss run` ends with exit code 5.
    fn has_failed(&self) -> bool {
        false
    }

    /// Whether the whole run is to end, as if its time were over: whoever it was for has gone, such as the reader of what a printer prints.
    /// Asked with the ticks.
    fn ends_run(&self) -> bool {
        false
    }
}
