//! Flows: who speaks to whom, in both directions, and since when.
//!
//! ```text
//!  frames ──decode──► key, direction, payload ──fragments──► table ──tcp──► Seen: slot, new or not
//!                     └► NoFlow, with a reason                 └► Ended: what was counted, why it ended
//! ```
//!
//! [`Tracker`] does all of it; its parts serve by themselves.
//!
//! | to | see |
//! |---|---|
//! | follow the flows of packets | [`Tracker`] |
//! | find out which flow one packet belongs to, and where its payload is | [`decode()`], [`Decoded`] |
//! | name and hash a flow | [`Key`], [`Secret`] |
//! | store something for each flow, in fixed memory | [`table`] |
//! | follow fragments | [`fragments`] |
//! | follow a TCP connection | [`tcp`] |
//!
//! Any bytes may come. What cannot be read belongs to no flow, and is counted by reason. Memory is fixed when a tracker is made; where it does not
//! suffice, old flows make room and are handed out.

#![deny(unsafe_code)]

pub mod decode;
pub mod fragments;
pub mod key;
#[allow(unsafe_code)]
pub mod table;
pub mod tcp;
pub mod tracker;

pub use decode::{Decoded, NoFlow, Part, Segment, decode};
pub use key::{Direction, Key, Secret};
pub use table::Slot;
pub use tcp::{Observed, Tcp, TcpState};
pub use tracker::{
    Counters, EndReason, Ended, Flow, Midstream, Packet, Seen, Settings, Stats, Timeouts, Tracker, Watcher,
};
