//! Hash-consing: the id of an item that is stored elsewhere. Only ids are kept here, and a hash is two words
//! folded by one multiplication, because interning is what compilation mostly does.
//!
//! A table with linear probing, at most half full. Part of the hash stands beside each id, so that an item which is
//! not the one looked for is hardly ever fetched, and growing looks at none.

use std::hash::BuildHasher;
use std::sync::LazyLock;

/// Ids by the hash of what they stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    /// As many as a power of two, or none.
    slots: Vec<Slot>,
    len: usize,
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
    /// Empty, with room for so many.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let slots = if capacity == 0 { 0 } else { slots_for(capacity) };
        Interner { slots: vec![FREE_SLOT; slots], len: 0 }
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
        if 2 * self.len >= self.slots.len() {
            self.grow();
        }
        let hash = folded(*SEED, words);
        let slot = find(&mut self.slots, hash, |slot| slot.hash == hash && is(slot.id));
        if slot.id != FREE {
            return slot.id;
        }
        *slot = Slot { hash, id: next };
        self.len += 1;
        next
    }

    #[cold]
    fn grow(&mut self) {
        let bigger = vec![FREE_SLOT; slots_for(self.slots.len())];
        let old = std::mem::replace(&mut self.slots, bigger);
        for slot in old.into_iter().filter(|slot| slot.id != FREE) {
            *find(&mut self.slots, slot.hash, |_| false) = slot;
        }
    }
}

fn slots_for(ids: usize) -> usize {
    (2 * ids).next_power_of_two().max(SLOTS_MIN)
}

/// The first slot for this hash that is the one wanted, or free. There is always a free one.
#[inline]
fn find(slots: &mut [Slot], hash: u32, is_wanted: impl Fn(&Slot) -> bool) -> &mut Slot {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at].id != FREE && !is_wanted(&slots[at]) {
        at = (at + 1) & mask;
    }
    &mut slots[at]
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
