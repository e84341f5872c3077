//! What belongs to this key, and which entry is the oldest? An exact table of fixed memory, with its entries in the order in which they came.
//!
//! ```text
//! index:   ░ 2 ░ ░ 0 1 ░ ░      open addressing; at least twice as many places as entries
//! entries: [key, value, since, older, newer]; all are made at the start, and used again
//! order:   oldest ⇄ … ⇄ newest
//! ```
//!
//! Where all entries may stay equally long, the oldest is the next to time out, and the one that gives way when the table is full: the owner
//! removes it, and so knows what it loses. A value stays where it is when its entry is removed, and the next entry finds it there: memory that
//! it holds is used again. The hash is keyed at random: who chooses keys cannot choose where they collide.
//!
//! ```
//! use table::ageing::AgeingTable;
//! let mut table: AgeingTable<2, String> = AgeingTable::new(2);
//! for (key, now_ns) in [([1, 1], 10), ([2, 2], 20)] {
//!     let id = table.insert(key, now_ns).unwrap();
//!     table.get_mut(id).clear();
//! }
//! assert_eq!(table.insert([3, 3], 30), None, "full");
//! let oldest = table.oldest().unwrap();
//! assert_eq!((table.key(oldest), table.since_ns(oldest)), (&[1, 1], 10));
//! table.remove(oldest);
//! assert!(table.insert([3, 3], 30).is_some() && table.find(&[1, 1]).is_none());
//! ```

use std::hash::{BuildHasher, RandomState};

/// Values by keys of `WORDS` words, oldest first.
#[derive(Debug)]
pub struct AgeingTable<const WORDS: usize, V> {
    /// Entries, each one more than its number; 0 where there is none.
    index: Vec<u32>,
    entries: Vec<Entry<WORDS, V>>,
    /// Entries that are not in use.
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// The entry found last: look-ups of a key often come together.
    last: u32,
    secret: [u64; WORDS],
}

/// An entry's number: its own until it is removed, then that of the next in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId(u32);

#[derive(Debug)]
struct Entry<const WORDS: usize, V> {
    key: [u64; WORDS],
    is_used: bool,
    older: u32,
    newer: u32,
    since_ns: u64,
    value: V,
}

const NONE: u32 = u32::MAX;
/// Two to the power of 64 over the golden ratio: an odd number with bits everywhere.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl<const WORDS: usize, V: Default> AgeingTable<WORDS, V> {
    /// A table for so many entries, 2^30 at most.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(1 << 30);
        let entry = |_| Entry {
            key: [0; WORDS],
            is_used: false,
            older: NONE,
            newer: NONE,
            since_ns: 0,
            value: V::default(),
        };
        let state = RandomState::new();
        AgeingTable {
            index: vec![0; (2 * capacity.max(1)).next_power_of_two()],
            entries: (0..capacity).map(entry).collect(),
            free: (0..capacity as u32).rev().collect(),
            oldest: NONE,
            newest: NONE,
            last: NONE,
            secret: std::array::from_fn(|word| state.hash_one(word)),
        }
    }
}

impl<const WORDS: usize, V> AgeingTable<WORDS, V> {
    /// How many entries there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Whether there is no room for another.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// The entry of a key.
    #[inline]
    pub fn find(&mut self, key: &[u64; WORDS]) -> Option<EntryId> {
        if let Some(last) = self.entries.get(self.last as usize)
            && last.is_used
            && last.key == *key
        {
            return Some(EntryId(self.last));
        }
        let mut at = self.home(key);
        loop {
            let id = self.index[at].checked_sub(1)?;
            if self.entries[id as usize].key == *key {
                self.last = id;
                return Some(EntryId(id));
            }
            at = self.next(at);
        }
    }

    /// The value of an entry.
    #[inline]
    #[must_use]
    pub fn get(&self, id: EntryId) -> &V {
        &self.entries[id.0 as usize].value
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: EntryId) -> &mut V {
        &mut self.entries[id.0 as usize].value
    }

    /// The key of an entry.
    #[inline]
    #[must_use]
    pub fn key(&self, id: EntryId) -> &[u64; WORDS] {
        &self.entries[id.0 as usize].key
    }

    /// When an entry was inserted, as the owner said.
    #[inline]
    #[must_use]
    pub fn since_ns(&self, id: EntryId) -> u64 {
        self.entries[id.0 as usize].since_ns
    }

    /// Inserts an entry, of a key that is not there yet, as the newest. Its value is that of some entry that was removed, or the default. `None` if the
    /// table is full.
    pub fn insert(&mut self, key: [u64; WORDS], now_ns: u64) -> Option<EntryId> {
        let id = self.free.pop()?;
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
        (entry.key, entry.is_used, entry.since_ns) = (key, true, now_ns);
        (entry.older, entry.newer) = (newest, NONE);
        self.last = id;
        Some(EntryId(id))
    }

    /// The entry that was inserted first.
    #[inline]
    #[must_use]
    pub fn oldest(&self) -> Option<EntryId> {
        some(self.oldest)
    }

    /// The entry that was inserted next after this.
    #[inline]
    #[must_use]
    pub fn newer(&self, id: EntryId) -> Option<EntryId> {
        some(self.entries[id.0 as usize].newer)
    }

    /// Removes an entry, if it is there. Its value stays for the next one.
    pub fn remove(&mut self, id: EntryId) {
        let Entry { key, is_used, older, newer, .. } = self.entries[id.0 as usize];
        if !is_used {
            return;
        }
        self.entries[id.0 as usize].is_used = false;
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        let mut at = self.home(&key);
        while self.index[at] != id.0 + 1 {
            at = self.next(at);
        }
        self.close_up(at);
        self.free.push(id.0);
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

    /// Where the search for a key begins: the sum of products of neighbouring words, each under its secret (as in NH of UMAC, RFC 4418, 5.2,
    /// but with the halves of each product xored), mixed once more.
    #[inline]
    fn home(&self, key: &[u64; WORDS]) -> usize {
        let mut sum = 0_u64;
        for at in (0..WORDS).step_by(2) {
            let word = key[at] ^ self.secret[at];
            // The last of an odd number has no neighbour.
            let other = if at + 1 < WORDS { key[at + 1] ^ self.secret[at + 1] } else { self.secret[0] | 1 };
            sum = sum.wrapping_add(fold(word, other));
        }
        fold(sum, ODD) as usize & (self.index.len() - 1)
    }
}

/// Both halves of the product, xored: every bit of either factor reaches bits everywhere.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

fn some(id: u32) -> Option<EntryId> {
    (id != NONE).then_some(EntryId(id))
}

#[cfg(test)]
mod tests {
    use super::AgeingTable;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 60 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn it_holds_what_a_map_holds(
            capacity in 1..60_usize,
            steps in proptest::collection::vec((0..3_u64, 0..60_u64, any::<bool>()), 1..2000),
        ) {
            let mut table: AgeingTable<5, u64> = AgeingTable::new(capacity);
            let mut map = BTreeMap::new();
            let mut order = Vec::new();
            for (step, (a, b, is_removed)) in (0..).zip(steps) {
                let key = [0, a, 0, 1, b];
                match (table.find(&key), map.get(&key)) {
                    (Some(found), Some(&(id, since))) => {
                        prop_assert_eq!((found, table.since_ns(found), *table.get(found)), (id, since, since));
                        prop_assert_eq!(table.key(found), &key);
                        if is_removed {
                            table.remove(found);
                            table.remove(found);
                            map.remove(&key);
                            order.retain(|other| *other != key);
                        }
                    }
                    (None, None) => {
                        if table.is_full() {
                            prop_assert_eq!(table.insert(key, step), None);
                            table.remove(table.oldest().unwrap());
                            map.remove(&order.remove(0));
                        }
                        let id = table.insert(key, step).unwrap();
                        *table.get_mut(id) = step;
                        map.insert(key, (id, step));
                        order.push(key);
                    }
                    (found, expected) => prop_assert!(false, "{}: {:?}, not {:?}", step, found, expected),
                }
                prop_assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
                let by_age = std::iter::successors(table.oldest(), |&id| table.newer(id));
                let by_age: Vec<_> = by_age.map(|id| *table.key(id)).collect();
                prop_assert_eq!(by_age, &order[..]);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn keys_that_differ_in_little_are_spread() {
        let families: [fn(u64) -> [u64; 3]; 5] =
            [|n| [n, 0, 0], |n| [0, n << 16, 0], |n| [0, 0, n << 48], |n| [n, n, n], |n| [n & 63, n >> 6, 0]];
        for family in families {
            let table: AgeingTable<3, ()> = AgeingTable::new(1 << 12);
            let mut counts = vec![0_u32; table.index.len()];
            (0..1 << 12).for_each(|n| counts[table.home(&family(n))] += 1);
            // By chance, 3218 of 8192 places have one or more.
            let used = counts.iter().filter(|&&count| count > 0).count();
            assert!(used > 2900 && counts.iter().all(|&count| count < 12), "{used}");
        }
    }
}
