//! Links: what one app sends, another receives, in order, 1024 packets at most.
//!
//! A link has two ends, an [`Output`] of the sending app and an [`Input`] of the receiving one. The engine makes what an
//! app has sent visible, and the slots it has emptied free, when the app's turn is over: one store per burst and end.
//!
//! ```text
//!            head (receiver)        tail (sender)
//!              │                      │
//!  slots … ────┤ queued, visible ─────┤ sent in this turn ─┤ free …
//! ```
//!
//! There is one kind of ring. Between threads it is a single-producer single-consumer queue whose ends keep what they
//! saw last of each other; on one thread the same loads and stores are plain moves, and an emptied ring begins again at
//! its first slot, so that a graph that keeps up touches the same few lines in every breath.

mod input;
mod output;
mod ring;
#[cfg(all(test, not(loom)))]
mod tests;

pub use input::Input;
pub use output::Output;
pub(crate) use ring::Ring;

use crate::shm::LinkCounters;
use std::sync::Arc;

/// Packets that a link holds at most.
pub const CAPACITY: usize = ring::CAPACITY as usize;

/// Whose the ends of a link are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// Both belong to apps of one thread, and the receiver pushes after the sender in each breath.
    OneBreath,
    /// Both belong to apps of one thread.
    OneThread,
    /// They belong to apps of two.
    TwoThreads,
}

/// Both ends of a new link.
pub(crate) fn link(counters: LinkCounters, between: Between) -> (Output, Input) {
    let ring = Arc::new(Ring::new(between));
    (Output::new(Arc::clone(&ring), counters.clone()), Input::new(ring, counters))
}
