//! Packets in the making, found by key, and in the order in which they began.
//!
//! ```text
//! index:   ░ 2 ░ ░ 0 1 ░ ░      open addressing; twice as many places as entries, at least
//! entries: [key, assembly, older, newer]; all are made at the start, and used again
//! order:   oldest ⇄ … ⇄ newest
//! ```
//!
//! All wait equally long, so the oldest is the next to time out, and the one that gives way. The hash is keyed at random: who
//! chooses identifications cannot choose where they collide.

use super::assembly::{Assembly, Outcome};
use super::piece::{Key, Piece};
use engine::{Packet, Pool};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

/// Packets in the making.
#[derive(Debug)]
pub(super) struct Table {
    /// Entries, each one more than its number; 0 where there is none.
    index: Vec<u32>,
    entries: Vec<Entry>,
    /// Entries that are not in use.
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// The entry found last: fragments of a packet come together.
    last: u32,
    /// Entries that hold a packet.
    held: usize,
    /// Those of them that hold a large one, in the order in which they came to it. There are few.
    large: VecDeque<u32>,
    secret: [u64; 5],
}

#[derive(Debug)]
struct Entry {
    key: Key,
    is_used: bool,
    older: u32,
    newer: u32,
    assembly: Assembly,
}

const NONE: u32 = u32::MAX;

/// Entries among which one is looked for that makes room. Where all packets are of one pool, the first that holds one does.
const LOOKED_AT_MAX: usize = 64;

impl Table {
    /// A table for `max` packets.
    pub(super) fn new(max: usize) -> Self {
        let entry = |_| Entry {
            key: [0; 5],
            is_used: false,
            older: NONE,
            newer: NONE,
            assembly: Assembly::default(),
        };
        let state = RandomState::new();
        Table {
            index: vec![0; (2 * max).next_power_of_two()],
            entries: (0..max).map(entry).collect(),
            free: (0..max as u32).rev().collect(),
            oldest: NONE,
            newest: NONE,
            last: 0,
            held: 0,
            large: VecDeque::new(),
            secret: std::array::from_fn(|word| state.hash_one(word) | 1),
        }
    }

    /// Whether there is no room for another.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
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
    pub(super) fn find(&mut self, key: &Key) -> Option<u32> {
        let last = &self.entries[self.last as usize];
        if last.is_used && last.key == *key {
            return Some(self.last);
        }
        let mut at = self.home(key);
        loop {
            let id = self.index[at].checked_sub(1)?;
            if self.entries[id as usize].key == *key {
                self.last = id;
                return Some(id);
            }
            at = self.next(at);
        }
    }

    /// The one of a number that [`Table::find`] or [`Table::insert`] has returned.
    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Assembly {
        &mut self.entries[id as usize].assembly
    }

    /// Adds a fragment to the one of a number, as above.
    #[inline]
    pub(super) fn add(
        &mut self,
        id: u32,
        piece: &Piece,
        packet: Packet,
        max_fragments: u32,
        pool: &mut Pool,
    ) -> Outcome {
        let assembly = &mut self.entries[id as usize].assembly;
        let was_large = assembly.is_large();
        let outcome = assembly.add(piece, packet, max_fragments, pool);
        match (was_large, assembly.is_large()) {
            (false, true) => self.large.push_back(id),
            (true, false) => self.large.retain(|&large| large != id),
            _ => {}
        }
        outcome
    }

    /// Adds one, which is not there yet, as the newest.
    ///
    /// # Panics
    /// If the table is full.
    pub(super) fn insert(&mut self, key: Key, began_ns: u64) -> u32 {
        let id = self.free.pop().expect("room for another");
        let mut at = self.home(&key);
        while self.index[at] != 0 {
            at = self.next(at);
        }
        self.index[at] = id + 1;
        let newest = std::mem::replace(&mut self.newest, id);
        match newest {
            NONE => self.oldest = id,
            newest => self.entries[newest as usize].newer = id,
        }
        let entry = &mut self.entries[id as usize];
        (entry.key, entry.is_used, entry.older, entry.newer) = (key, true, newest, NONE);
        entry.assembly.reset(began_ns);
        self.last = id;
        id
    }

    /// The one that began first.
    pub(super) fn oldest(&self) -> Option<&Assembly> {
        Some(&self.entries.get(self.oldest as usize)?.assembly)
    }

    /// Removes the one that began first, and returns the packet it holds, if it does.
    pub(super) fn remove_oldest(&mut self) -> Option<Packet> {
        if self.oldest == NONE { None } else { self.remove_with_packet(self.oldest) }
    }

    /// Removes the one that began first of those whose packet is of the same pool and size as this, and returns that packet. Looks at few;
    /// those among them that hold no packet are removed.
    pub(super) fn remove_oldest_beside(&mut self, packet: &Packet) -> Option<Packet> {
        let mut id = self.oldest;
        for _ in 0..LOOKED_AT_MAX {
            let entry = self.entries.get(id as usize)?;
            let newer = entry.newer;
            match entry.assembly.is_beside(packet) {
                Some(true) => return self.remove_with_packet(id),
                Some(false) => {}
                None => self.remove(id),
            }
            id = newer;
        }
        None
    }

    /// Removes the one that has held a large packet for longest, and returns that.
    pub(super) fn remove_first_large(&mut self) -> Option<Packet> {
        let id = *self.large.front()?;
        self.remove_with_packet(id)
    }

    /// Removes one, and returns the packet it holds, if it does.
    pub(super) fn remove_with_packet(&mut self, id: u32) -> Option<Packet> {
        let assembly = &mut self.entries[id as usize].assembly;
        if assembly.is_large() {
            self.large.retain(|&large| large != id);
        }
        let packet = assembly.take_packet();
        self.held -= usize::from(packet.is_some());
        self.remove(id);
        packet
    }

    /// Removes one, which holds no packet any more.
    pub(super) fn remove(&mut self, id: u32) {
        let Entry { key, older, newer, .. } = self.entries[id as usize];
        self.entries[id as usize].is_used = false;
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        let mut at = self.home(&key);
        while self.index[at] != id + 1 {
            at = self.next(at);
        }
        self.close_up(at);
        self.free.push(id);
    }

    /// Empties a place of the index, and moves those back that had to pass it (Knuth, 6.4, algorithm R).
    fn close_up(&mut self, mut hole: usize) {
        let mask = self.index.len() - 1;
        let mut at = hole;
        loop {
            at = self.next(at);
            let Some(id) = self.index[at].checked_sub(1) else { break };
            let home = self.home(&self.entries[id as usize].key);
            // Not those whose home lies cyclically between the hole and them.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.index[hole] = id + 1;
                hole = at;
            }
        }
        self.index[hole] = 0;
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    /// Where the search for a key begins.
    #[inline]
    fn home(&self, key: &Key) -> usize {
        let product = |a: usize, b: usize| {
            let product = u128::from(key[a] ^ self.secret[a]) * u128::from(key[b] ^ self.secret[b]);
            (product >> 64) as u64 ^ product as u64
        };
        let tail = (key[4] ^ self.secret[4]).wrapping_mul(self.secret[0]);
        let mixed = u128::from(product(0, 1) ^ tail)
            * u128::from(product(2, 3) ^ self.secret[1].rotate_left(32) ^ tail.rotate_left(32));
        ((mixed >> 64) as u64 ^ mixed as u64) as usize & (self.index.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use std::collections::BTreeMap;
    use testkit::rng::Rng;

    #[test]
    fn it_holds_what_a_map_holds() {
        let mut rng = Rng::new(7);
        let mut table = Table::new(50);
        let mut map = BTreeMap::new();
        let mut order = Vec::new();
        for step in 0..20_000_u64 {
            let key = [0, rng.below(3) as u64, 0, 1, rng.below(60) as u64];
            match (table.find(&key), map.get(&key)) {
                (Some(found), Some(&id)) => {
                    assert_eq!((found, table.get_mut(found).began_ns()), id);
                    if rng.below(2) == 0 {
                        table.remove(found);
                        map.remove(&key);
                        order.retain(|other| *other != key);
                    }
                }
                (None, None) => {
                    if table.is_full() {
                        assert!(table.remove_oldest().is_none(), "no packet in it");
                        map.remove(&order.remove(0));
                    }
                    map.insert(key, (table.insert(key, step), step));
                    order.push(key);
                }
                (found, expected) => panic!("{step}: {found:?}, not {expected:?}"),
            }
            assert_eq!(table.is_full(), map.len() == 50);
            let oldest = order.first().map(|key| map[key].1);
            assert_eq!(table.oldest().map(|assembly| assembly.began_ns()), oldest);
        }
        assert!(map.len() > 10);
    }
}
