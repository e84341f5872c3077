//! Packets that wait until it is known what their flow speaks: `undecided = { hold = 8, ms = 200, then = "drop" }`.
//!
//! The packets of a flow wait in the order in which they came, and leave in it. So while one waits, later ones of the same direction wait behind it, whatever they say.
//!
//! ```text
//!                    flow decided: judged again ──► accepted, dropped or rejected
//!  packet ─► queue ─┤
//!                    too many, or too long: as `then` says
//!                    the wall ends: dropped, and counted
//! ```

use crate::spy::Tag;
use engine::Packet;
use flow::table::Slot;
use std::collections::{HashMap, VecDeque};

/// Packets that wait at most, of all flows: a quarter of a worker's pool.
const PACKETS_MAX: usize = 4096;

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) packet: Packet,
    /// What was known of it when it came.
    pub(super) tag: Tag,
    /// The ports that it came by and would leave by.
    pub(super) ports: (usize, usize),
}

/// The packets of a flow that wait.
#[derive(Debug)]
pub(super) struct FlowQueue {
    pub(super) packets: VecDeque<Held>,
    /// When the first of them came.
    since_ns: u64,
}

/// All packets that wait.
#[derive(Debug, Default)]
pub(super) struct Holding {
    flows: HashMap<Slot, FlowQueue>,
    packets: usize,
}

impl Holding {
    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Whether packets of a flow wait.
    pub(super) fn holds(&self, slot: Slot) -> bool {
        self.flows.contains_key(&slot)
    }

    /// Whether one more packet of a flow, which may have so many, may wait.
    pub(super) fn has_room(&self, slot: Slot, packets_max: u32) -> bool {
        let of_flow = self.flows.get(&slot).map_or(0, |queue| queue.packets.len());
        self.packets < PACKETS_MAX && of_flow < packets_max as usize
    }

    pub(super) fn push(&mut self, slot: Slot, held: Held, now_ns: u64) {
        let new = || FlowQueue { packets: VecDeque::new(), since_ns: now_ns };
        self.flows.entry(slot).or_insert_with(new).packets.push_back(held);
        self.packets += 1;
    }

    /// Takes the packets of a flow out.
    pub(super) fn take(&mut self, slot: Slot) -> Option<FlowQueue> {
        let queue = self.flows.remove(&slot)?;
        self.packets -= queue.packets.len();
        Some(queue)
    }

    /// Puts back those that wait on.
    pub(super) fn put_back(&mut self, slot: Slot, queue: FlowQueue) {
        self.packets += queue.packets.len();
        self.flows.insert(slot, queue);
    }

    /// The flows, each with whether it has waited so long, in the order of their first packets.
    pub(super) fn by_age(&self, now_ns: u64, longest_ns: u64) -> Vec<(Slot, bool)> {
        let mut flows: Vec<(u64, Slot)> =
            self.flows.iter().map(|(slot, queue)| (queue.since_ns, *slot)).collect();
        flows.sort_unstable_by_key(|(since_ns, slot)| (*since_ns, slot.index));
        flows
            .into_iter()
            .map(|(since_ns, slot)| (slot, now_ns.saturating_sub(since_ns) >= longest_ns))
            .collect()
    }
}
