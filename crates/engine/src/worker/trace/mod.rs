//! Following packets through a graph.
//!
//! ```text
//! a source sends:     those that match become followed packets, known by their chunks
//! an app pushes:      a followed packet is alone in its turn; before and after it, the others as usual
//! after each turn:    where is the chunk?   in an output: sent      free: ended, as the counter says that has gone up
//!                                           neither: held by the app
//! ```
//!
//! Other packets that leave in the turn of a followed one are its offspring, and are followed as branches of it. Nothing of this is in the way of a
//! worker that follows nothing: it runs other breaths (`Worker::run`).
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | what is asked for, and what is told |
//! | `turns.rs` | the turns of a breath in which packets are followed |
//! | `books.rs` | what an app has counted in a turn |
//! | `follower.rs` | the followed packets, and what became of them |
//! | `changes.rs` | what has changed in a packet |

mod books;
mod changes;
mod follower;
mod turns;

pub use changes::TraceChange;
pub(crate) use follower::Follower;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Which packets are followed, and who is told.
pub struct Trace {
    /// How many are followed: when it is known what became of all, the run ends.
    pub packets: u64,
    /// Whether to follow a packet that an app without an input for it, such as a source or a device, brings into the graph.
    pub matches: Box<dyn FnMut(&TracePacket<'_>) -> bool + Send>,
    /// Takes a step. If it returns false, nothing is followed any more, and the run ends.
    pub tell: Box<dyn FnMut(&TraceStep) -> bool + Send>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} packets)", self.packets)
    }
}

/// A packet where it enters the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracePacket<'a> {
    /// Its bytes.
    pub data: Cow<'a, [u8]>,
    /// How long it was on the wire.
    pub wire_len: u32,
    /// Its link type.
    pub linktype: u16,
}

/// A step of a packet: what became of it in the turn of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStep {
    /// The number of the packet, in the order in which they entered the graph, from 1.
    pub packet: u64,
    /// Which of its branches, from 1: the others are copies of it, fragments, answers.
    pub branch: u64,
    /// The branch that this one came from, in its first step.
    pub parent: Option<u64>,
    /// The app.
    pub app: String,
    /// The input by which it came in this turn. `None` where it entered the graph, or was held before.
    pub input: Option<String>,
    /// The output by which it has left, or would have left if there had been room.
    pub output: Option<String>,
    /// What became of it.
    pub event: TraceEvent,
    /// The counter that says why it has ended.
    pub reason: Option<String>,
    /// What has changed since it came, or since its parent was there.
    pub changed: Vec<TraceChange>,
    /// The time of the breath, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The packet, where it enters the graph.
    pub entered: Option<TracePacket<'static>>,
    /// Whether it is known now what became of all branches of the packet.
    pub is_last: bool,
}

/// What became of a packet in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// It has left the app.
    Sent,
    /// Another packet that was made of it has left the app.
    Copied,
    /// It has ended without having arrived.
    Dropped,
    /// The app keeps it; as the last step: it is still there when the trace ends.
    Held,
    /// It has arrived, or served its purpose.
    Delivered,
}

impl TraceEvent {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            TraceEvent::Sent => "sent",
            TraceEvent::Copied => "copied",
            TraceEvent::Dropped => "dropped",
            TraceEvent::Held => "held",
            TraceEvent::Delivered => "delivered",
        }
    }
}

/// What became of all packets that were followed, each branch for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceTotals {
    /// Packets that entered the graph.
    pub packets: u64,
    /// Their other branches.
    pub copies: u64,
    /// Those that arrived, by counter.
    pub delivered: BTreeMap<String, u64>,
    /// Those that were dropped, by counter.
    pub dropped: BTreeMap<String, u64>,
    /// Those that are still there.
    pub held: u64,
}
