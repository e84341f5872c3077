//! A set of 32-bit keys in which each key has two possible slots and lies in one of them.
//!
//! ```text
//! lookup(x) = slots[x * m0 >> shift] == x  or  slots[x * m1 >> shift] == x
//! ```
//! Two multiplications, two loads, no branch that depends on the key. Insertion moves keys aside, each to its
//! other slot, until one finds a free place (Pagh and Rodler, "Cuckoo hashing", 2001).
//!
//! INVARIANT: every slot holds a key of the set, free slots a copy of some key. Hence a lookup that finds `x` tells
//! the truth whatever the multipliers are, and [`Cuckoo::certify`] has only the keys to try.
//!
//! Hostile keys may be chosen to collide under known multipliers. Building tries a bounded number of
//! multipliers and sizes, then gives up with [`Crowded`].

use std::fmt;

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuckoo {
    multipliers: [u32; 2],
    shift: u32,
    slots: Vec<u32>,
}

/// No table was found within the bounds on time and space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// How many distinct keys there were.
    pub keys: usize,
}

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no two-choice table for these {} keys: use another kind of table", self.keys)
    }
}

impl std::error::Error for Crowded {}

/// More slots than keys by at least this factor (in halves): above a load of one half, insertion loops.
const HALVES_PER_KEY: usize = 5;
/// Pairs of multipliers tried at each size.
const TRIES_PER_SIZE: usize = 8;
/// How often the size is doubled.
const DOUBLINGS: u32 = 3;
/// Largest table: 2^26 slots, 256 MiB.
const BITS_MAX: u32 = 26;

impl Cuckoo {
    /// A table of these keys, in any order, repeated or not. The seed picks the multipliers.
    ///
    /// # Errors
    /// [`Crowded`] when the keys collide too often under every pair of multipliers tried, or when there is none.
    ///
    /// ```
    /// let table = table::cuckoo::Cuckoo::build(&[80, 443, 8080], 1).unwrap();
    /// assert!(table.contains(443));
    /// assert!(!table.contains(444));
    /// ```
    pub fn build(keys: &[u32], seed: u64) -> Result<Cuckoo, Crowded> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let crowded = Crowded { keys: keys.len() };
        let least = (keys.len() * HALVES_PER_KEY).div_ceil(2).next_power_of_two().trailing_zeros().max(2);
        if keys.is_empty() || least > BITS_MAX {
            return Err(crowded);
        }
        let mut random = SplitMix(seed);
        (least..=(least + DOUBLINGS).min(BITS_MAX))
            .flat_map(|bits| std::iter::repeat_n(bits, TRIES_PER_SIZE))
            .find_map(|bits| Cuckoo::try_build(&keys, bits, random.multipliers()))
            .filter(|table| table.certify(&keys))
            .ok_or(crowded)
    }

    fn try_build(keys: &[u32], bits: u32, multipliers: [u32; 2]) -> Option<Cuckoo> {
        let mut table = Cuckoo { multipliers, shift: 32 - bits, slots: vec![keys[0]; 1 << bits] };
        let mut taken = vec![false; 1 << bits];
        for &key in keys {
            table.insert(key, &mut taken, 16 + 8 * bits)?;
        }
        Some(table)
    }

    /// Puts a key in its place, and whatever was there in its other place, at most `moves` times.
    fn insert(&mut self, key: u32, taken: &mut [bool], moves: u32) -> Option<()> {
        let mut moving = key;
        let mut at = self.places(key)[0];
        for _ in 0..moves {
            if !std::mem::replace(&mut taken[at], true) {
                self.slots[at] = moving;
                return Some(());
            }
            std::mem::swap(&mut self.slots[at], &mut moving);
            let [first, second] = self.places(moving);
            at = if at == first { second } else { first };
        }
        None
    }

    /// The two slots where a key may lie.
    pub fn places(&self, key: u32) -> [usize; 2] {
        self.multipliers.map(|multiplier| (key.wrapping_mul(multiplier) >> self.shift) as usize)
    }

    /// The slot where a key lies; the second, should it lie in both.
    pub fn slot(&self, key: u32) -> Option<usize> {
        let [first, second] = self.places(key);
        [second, first].into_iter().find(|&at| self.slots[at] == key)
    }

    /// Whether the key is in the set.
    pub fn contains(&self, key: u32) -> bool {
        self.slot(key).is_some()
    }

    /// Checks that the table holds these keys, sorted, and no others. `build` has done it.
    pub fn certify(&self, sorted: &[u32]) -> bool {
        let mut is_known = vec![false; self.slots.len()];
        let mut find = |&key: &u32| self.slot(key).map(|at| is_known[at] = true).is_some();
        let holds_all = sorted.iter().all(&mut find);
        // PERF: most other slots are free, and hold the first key. Searching for the keys of all slots took a twentieth of
        // the time that a filter of 10,000 hosts takes to compile.
        let is_key = |key: &u32| sorted.first() == Some(key) || sorted.binary_search(key).is_ok();
        holds_all && self.slots.iter().zip(is_known).all(|(key, is_known)| is_known || is_key(key))
    }

    /// The multipliers of the two hash functions.
    pub fn multipliers(&self) -> [u32; 2] {
        self.multipliers
    }

    /// How far a product is shifted right to give a slot.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// What each slot holds.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }
}

/// Steele, Lea and Flood's generator (2014): small, and the same numbers for the same seed for ever.
struct SplitMix(u64);

impl SplitMix {
    /// Two odd numbers with high bits to spare.
    fn multipliers(&mut self) -> [u32; 2] {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        [z as u32 | 1, (z >> 32) as u32 | 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keys: &[u32]) {
        let table = Cuckoo::build(keys, 7).unwrap();
        for &key in keys {
            assert_eq!(table.slots()[table.slot(key).unwrap()], key);
        }
        let around =
            keys.iter().flat_map(|&key| [key.wrapping_sub(1), key.wrapping_add(1), key.swap_bytes()]);
        for key in around.chain([0, 1, u32::MAX]) {
            assert_eq!(table.contains(key), keys.contains(&key), "{key:#x}");
        }
    }

    #[test]
    fn small_sets() {
        check(&[0]);
        check(&[u32::MAX, 0]);
        check(&[5, 5, 5]);
        check(&[80, 443, 8080, 8443, 8000]);
    }

    #[test]
    fn structured_sets_of_every_size() {
        let shapes: [fn(u32) -> u32; 6] = [
            |i| i,
            |i| 0x0a00_0000 + i * 256,
            |i| i << 16,
            |i| i.swap_bytes(),
            |i| i.reverse_bits(),
            |i| i.wrapping_mul(0x9e37_79b1),
        ];
        for shape in shapes {
            for size in [2, 3, 7, 24, 100, 333].into_iter().filter(|&size| !cfg!(miri) || size < 24) {
                check(&(0..size).map(shape).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn ten_thousand_addresses() {
        let keys: Vec<u32> = (0..10_000).map(|i: u32| i.wrapping_mul(2_654_435_761) ^ i << 7).collect();
        let table = Cuckoo::build(&keys, 0).unwrap();
        assert!(table.slots().len() <= 65_536);
        assert!(keys.iter().all(|&key| table.contains(key)));
    }

    #[test]
    fn no_keys_is_an_error() {
        assert_eq!(Cuckoo::build(&[], 0), Err(Crowded { keys: 0 }));
    }

    /// Three keys that share both slots under one pair of multipliers cannot be placed with it; the builder must
    /// move on, and end.
    #[test]
    #[cfg_attr(miri, ignore = "tries sixty million keys")]
    fn keys_chosen_against_the_first_multipliers() {
        let multipliers = SplitMix(3).multipliers();
        let bits = 10;
        let hash = |x: u32, i: usize| x.wrapping_mul(multipliers[i]) >> (32 - bits);
        let hostile: Vec<u32> =
            (0..60_000_000).filter(|&x| hash(x, 0) == 0 && hash(x, 1) == 0).take(40).collect();
        assert!(hostile.len() >= 3);
        assert_eq!(Cuckoo::try_build(&hostile, bits, multipliers), None);
        let table = Cuckoo::build(&hostile, 3).unwrap();
        assert!(hostile.iter().all(|&key| table.contains(key)));
    }

    #[test]
    fn a_table_with_a_foreign_key_is_not_certified() {
        let mut table = Cuckoo::build(&[1, 2, 3], 0).unwrap();
        assert!(table.certify(&[1, 2, 3]));
        assert!(!table.certify(&[1, 2]));
        assert!(!table.certify(&[1, 2, 3, 4]));
        table.slots[0] = 99;
        assert!(!table.certify(&[1, 2, 3]));
    }
}
