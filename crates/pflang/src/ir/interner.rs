//! Hash-consing: the id of an item that is stored elsewhere. Only ids are kept here, and a hash is two words
//! folded by one multiplication, because interning is what compilation mostly does.

use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Ids by the hash of what they stand for.
#[derive(Clone, Debug)]
pub(super) struct Interner {
    ids: HashTable<u32>,
    /// Secret: filters come from anywhere, and must not be able to choose where they collide.
    seed: u64,
}

impl Interner {
    /// Empty, with a fresh seed, and with room for so many.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let seed = foldhash::fast::RandomState::default().hash_one(0);
        Interner { ids: HashTable::with_capacity(capacity), seed }
    }

    /// Forgets every id, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }

    /// The id for which `is` holds, or `next`, which then belongs to it. `key` gives the two words that an id hashes
    /// to; equal items have equal words.
    #[inline]
    pub(super) fn id(
        &mut self,
        words: (u64, u64),
        next: u32,
        is: impl Fn(u32) -> bool,
        key: impl Fn(u32) -> (u64, u64),
    ) -> u32 {
        let seed = self.seed;
        let entry = self.ids.entry(folded(seed, words), |&id| is(id), |&id| folded(seed, key(id)));
        *entry.or_insert(next).get()
    }
}

impl Default for Interner {
    fn default() -> Self {
        Interner::with_capacity(0)
    }
}

/// The 128-bit product's halves, xored.
#[inline]
fn folded(seed: u64, (a, b): (u64, u64)) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(a ^ seed) * u128::from(b ^ seed.rotate_left(32) ^ ODD);
    (product as u64) ^ (product >> 64) as u64
}
