//! Packets in the making, and which of them hold a packet of the pool.

use super::assembly::{Assembly, Outcome};
use super::piece::{Key, Piece};
use engine::{Packet, Pool};
use std::collections::VecDeque;
use table::ageing::{AgeingTable, EntryId};

/// Packets in the making, oldest first. All wait equally long, so the oldest is the next to time out, and the one that gives way.
#[derive(Debug)]
pub(super) struct Assemblies {
    table: AgeingTable<{ size_of::<Key>() / size_of::<u64>() }, Assembly>,
    /// Entries that hold a packet.
    held: usize,
    /// Those of them that hold a large one, in the order in which they came to it. There are few.
    large: VecDeque<EntryId>,
}

/// Entries among which one is looked for that makes room. Where all packets are of one pool, the first that holds one does.
const LOOKED_AT_MAX: usize = 64;

impl Assemblies {
    /// A table for `max` packets.
    pub(super) fn new(max: usize) -> Self {
        Assemblies { table: AgeingTable::new(max), held: 0, large: VecDeque::new() }
    }

    /// Whether there is no room for another.
    pub(super) fn is_full(&self) -> bool {
        self.table.is_full()
    }

    /// Those that hold a packet.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Those that hold a packet of usual size.
    pub(super) fn usual(&self) -> usize {
        self.held - self.large.len()
    }

    /// Those that hold a large packet.
    pub(super) fn large(&self) -> usize {
        self.large.len()
    }

    /// One more holds a packet.
    pub(super) fn note_held(&mut self) {
        self.held += 1;
    }

    /// One less holds a packet.
    pub(super) fn note_released(&mut self) {
        self.held -= 1;
    }

    /// The one of a key.
    #[inline]
    pub(super) fn find(&mut self, key: &Key) -> Option<EntryId> {
        self.table.find(key)
    }

    /// The one of a number.
    #[inline]
    pub(super) fn get(&self, id: EntryId) -> &Assembly {
        self.table.get(id)
    }

    /// Adds a fragment to the one of a number.
    #[inline]
    pub(super) fn add(
        &mut self,
        id: EntryId,
        piece: &Piece,
        packet: Packet,
        max_fragments: u32,
        pool: &mut Pool,
    ) -> Outcome {
        let assembly = self.table.get_mut(id);
        let was_large = assembly.is_large();
        let outcome = assembly.add(piece, packet, max_fragments, pool);
        match (was_large, assembly.is_large()) {
            (false, true) => self.large.push_back(id),
            (true, false) => self.large.retain(|&large| large != id),
            _ => {}
        }
        outcome
    }

    /// Adds one, which is not there yet, as the newest. `None` if the table is full.
    pub(super) fn insert(&mut self, key: Key, began_ns: u64) -> Option<EntryId> {
        let id = self.table.insert(key, began_ns)?;
        self.table.get_mut(id).reset();
        Some(id)
    }

    /// When the one began that began first.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.table.oldest().map(|id| self.table.since_ns(id))
    }

    /// Removes the one that began first, and returns the packet it holds, if it does.
    pub(super) fn remove_oldest(&mut self) -> Option<Packet> {
        self.table.oldest().and_then(|id| self.remove_with_packet(id))
    }

    /// Removes the one that began first of those whose packet is of the same pool and size as this, and returns that packet. Looks at few;
    /// those among them that hold no packet are removed.
    pub(super) fn remove_oldest_beside(&mut self, packet: &Packet) -> Option<Packet> {
        let mut next = self.table.oldest();
        for _ in 0..LOOKED_AT_MAX {
            let id = next?;
            next = self.table.newer(id);
            match self.table.get(id).is_beside(packet) {
                Some(true) => return self.remove_with_packet(id),
                Some(false) => {}
                None => self.remove(id),
            }
        }
        None
    }

    /// Removes the one that has held a large packet for longest, and returns that.
    pub(super) fn remove_first_large(&mut self) -> Option<Packet> {
        let id = *self.large.front()?;
        self.remove_with_packet(id)
    }

    /// Removes one, and returns the packet it holds, if it does.
    pub(super) fn remove_with_packet(&mut self, id: EntryId) -> Option<Packet> {
        let assembly = self.table.get_mut(id);
        if assembly.is_large() {
            self.large.retain(|&large| large != id);
        }
        let packet = assembly.take_packet();
        self.held -= usize::from(packet.is_some());
        self.remove(id);
        packet
    }

    /// Removes one, which holds no packet any more.
    pub(super) fn remove(&mut self, id: EntryId) {
        self.table.remove(id);
    }
}
