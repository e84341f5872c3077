//! Hash-consing: the id of an item that is stored elsewhere. Only ids are kept here, and a hash is two words
//! folded by one multiplication, because interning is what compilation mostly does.
//!
//! A table with linear probing, at most half full. Part of the hash is beside each id, so that an item which is
//! not the one looked for is hardly ever fetched, and growing looks at none.

use std::hash::BuildHasher;
use std::sync::LazyLock;

/// Ids by the hashes of their items.
#[derive(Clone, Debug)]
pub(super) struct Interner {
    /// As many as a power of two, or none.
    slots: Vec<Slot>,
    len: usize,
    /// The one that all have.
    seed: u64,
}

impl Default for Interner {
    fn default() -> Self {
        Interner::with_capacity(0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// [`FREE`] where there is none.
    id: u32,
}

const FREE: u32 = u32::MAX;
const FREE_SLOT: Slot = Slot { hash: 0, id: FREE };
/// Enough for most filters.
const SLOTS_MIN: usize = 64;

/// Secret: filters come from anywhere, and must not be able to choose where they collide.
static SEED: LazyLock<u64> = LazyLock::new(|| foldhash::fast::RandomState::default().hash_one(0));

impl Interner {
    /// Empty, with room for this many.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let slots = if capacity == 0 { 0 } else { slots_for(capacity) };
        Interner { slots: vec![FREE_SLOT; slots], len: 0, seed: *SEED }
    }

    /// Forgets every id, keeping as much memory as they needed.
    pub(super) fn clear(&mut self) {
        self.slots.truncate(slots_for(self.len));
        self.slots.fill(FREE_SLOT);
        self.len = 0;
    }

    /// The id for which `is` holds, or `next`, which then belongs to it. Equal items have equal `words`, to which they
    /// hash.
    #[inline]
    pub(super) fn id(&mut self, words: (u64, u64), next: u32, is: impl Fn(u32) -> bool) -> u32 {
        let hash = folded(self.seed, words);
        // Of an empty table anything is a place that is not there.
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots.get(at)
            && slot.id != FREE
        {
            if slot.hash == hash && is(slot.id) {
                return slot.id;
            }
            at = (at + 1) & mask;
        }
        if 2 * self.len >= self.slots.len() {
            at = self.grow(hash);
        }
        self.slots[at] = Slot { hash, id: next };
        self.len += 1;
        next
    }

    /// Makes room, and says where this hash belongs then.
    #[cold]
    fn grow(&mut self, hash: u32) -> usize {
        let bigger = vec![FREE_SLOT; slots_for(self.slots.len())];
        let old = std::mem::replace(&mut self.slots, bigger);
        for slot in old.into_iter().filter(|slot| slot.id != FREE) {
            let at = self.free(slot.hash);
            self.slots[at] = slot;
        }
        self.free(hash)
    }

    /// The first free slot for a hash. There is always one.
    fn free(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].id != FREE {
            at = (at + 1) & mask;
        }
        at
    }
}

fn slots_for(ids: usize) -> usize {
    (2 * ids).next_power_of_two().max(SLOTS_MIN)
}

/// Half of the 128-bit product's halves, xored.
#[inline]
fn folded(seed: u64, (a, b): (u64, u64)) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(a ^ seed) * u128::from(b ^ seed.rotate_left(32) ^ ODD);
    ((product as u64) ^ (product >> 64) as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_have_one_id() {
        let mut interner = Interner::default();
        let mut items: Vec<u64> = Vec::new();
        for round in 0..3 {
            for i in 0..5000u64 {
                let item = i * i % 3001;
                let next = items.len() as u32;
                let id = interner.id((item, 7), next, |id| items[id as usize] == item);
                if id == next {
                    assert!(!items.contains(&item), "{item} has an id already");
                    items.push(item);
                }
                assert_eq!(items[id as usize], item);
            }
            assert!(items.len() == 1501, "{} in round {round}", items.len());
        }
        interner.clear();
        assert_eq!(interner.id((1, 7), 0, |_| true), 0, "nothing is known any more");
    }
}
