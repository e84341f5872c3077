//! What was last known of this key? A cache of fixed memory that forgets by itself: what was not seen for a time, and, where it is full, what
//! was not seen for longest.
//!
//! ```text
//! bucket = (halves of key * secret, xored) * odd     one cache line: four entries
//! ┌──────────────────┬──────────────────┬──────────────────┬──────────────────┐
//! │ key:48 value:16  │ seen:64          │ …
//! └──────────────────┴──────────────────┴──────────────────┴──────────────────┘
//! ```
//!
//! The cache is set-associative: a key can only be in its bucket, which has four slots. Where a bucket is full, the key that was seen longest
//! ago makes room, and is counted. With two slots for each key that the cache is to hold, few do. The secret is drawn at random, so that nobody can
//! choose keys that share a bucket. Nothing is swept: a key that was not seen for the timeout counts as absent wherever it is met.
//!
//! ```
//! use table::recent::{Learned, RecentCache};
//! const SECOND: u64 = 1_000_000_000;
//! let mut ports = RecentCache::new(1024, 300 * SECOND);
//! ports.set_time(SECOND);
//! assert_eq!(ports.learn(0x0200_0000_0001, 7), Learned::New);
//! assert_eq!(ports.find(0x0200_0000_0001), Some(7));
//! ports.set_time(302 * SECOND);
//! assert_eq!(ports.find(0x0200_0000_0001), None);
//! ```

use std::hash::{BuildHasher, RandomState};

/// Values of 16 bits by keys of 48, such as ports by hardware addresses. Of a key, the low 48 bits count.
#[derive(Clone, Debug)]
pub struct RecentCache {
    buckets: Vec<Bucket>,
    secret: u64,
    timeout_ns: u64,
    now_ns: u64,
    /// Keys not seen since then are forgotten.
    horizon_ns: u64,
    evictions: u64,
}

/// News about a key that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It was not known.
    New,
    /// It was not known, and another has made room.
    Evicting,
    /// It was known; what its value was, which may be the same.
    Known(u16),
}

const WAYS: usize = 4;
/// Two to the power of 64 over the golden ratio: it spreads what differs in few bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket([Entry; WAYS]);

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Key and, in the low 16 bits, value.
    key: u64,
    /// When it was last seen, in nanoseconds; 0 for never.
    seen_ns: u64,
}

impl RecentCache {
    /// A cache for so many keys. Its memory is twice theirs, rounded up to a power of two, and stays the same.
    #[must_use]
    pub fn new(capacity: usize, timeout_ns: u64) -> Self {
        Self::with_secret(capacity, timeout_ns, RandomState::new().hash_one(0))
    }

    fn with_secret(capacity: usize, timeout_ns: u64, secret: u64) -> Self {
        let count = (2 * capacity.max(1)).div_ceil(WAYS).next_power_of_two();
        RecentCache {
            buckets: vec![Bucket::default(); count],
            secret: secret | 1,
            timeout_ns,
            now_ns: 1,
            horizon_ns: 1,
            evictions: 0,
        }
    }

    /// How long a key is remembered that is not seen.
    pub fn set_timeout(&mut self, timeout_ns: u64) {
        self.timeout_ns = timeout_ns;
        self.set_time(self.now_ns);
    }

    /// Sets the time for all that follows, in nanoseconds since any moment.
    #[inline]
    pub fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns.max(1);
        self.horizon_ns = now_ns.saturating_sub(self.timeout_ns).max(1);
    }

    /// The value of a key.
    #[inline]
    #[must_use]
    pub fn find(&self, key: u64) -> Option<u16> {
        let place = place(key);
        let entry = self.buckets[self.bucket(place)].0.iter().find(|entry| entry.key >> 16 == place >> 16)?;
        (entry.seen_ns >= self.horizon_ns).then_some(entry.key as u16)
    }

    /// Notes that a key was seen, if it is known with this value. Returns whether it is.
    #[inline]
    pub fn refresh(&mut self, key: u64, value: u16) -> bool {
        let place = place(key) | u64::from(value);
        let bucket = self.bucket(place);
        for entry in &mut self.buckets[bucket].0 {
            if entry.key == place && entry.seen_ns >= self.horizon_ns {
                entry.seen_ns = self.now_ns;
                return true;
            }
        }
        false
    }

    /// Notes that a key was seen with this value.
    pub fn learn(&mut self, key: u64, value: u16) -> Learned {
        let place = place(key);
        let bucket = self.bucket(place);
        let (now_ns, horizon_ns) = (self.now_ns, self.horizon_ns);
        let slots = &mut self.buckets[bucket].0;
        let known = slots.iter().position(|entry| entry.key >> 16 == place >> 16 && entry.seen_ns != 0);
        let slot = known.unwrap_or_else(|| (0..WAYS).min_by_key(|&slot| slots[slot].seen_ns).unwrap_or(0));
        let before = slots[slot];
        slots[slot] = Entry { key: place | u64::from(value), seen_ns: now_ns };
        match (known, before.seen_ns >= horizon_ns) {
            (_, false) => Learned::New,
            (Some(_), true) => Learned::Known(before.key as u16),
            (None, true) => {
                self.evictions += 1;
                Learned::Evicting
            }
        }
    }

    /// How many keys are remembered. Looks at all slots.
    #[must_use]
    pub fn count(&self) -> usize {
        self.buckets
            .iter()
            .flat_map(|bucket| &bucket.0)
            .filter(|entry| entry.seen_ns >= self.horizon_ns)
            .count()
    }

    /// How many keys have made room for others before their time.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The bucket of a key, whatever the value.
    #[inline]
    fn bucket(&self, place: u64) -> usize {
        // Keys in a row, multiplied once and only xored, crowd with 4 secrets in 100, up to half of them in too few buckets.
        let product = u128::from(place >> 16 | 1 << 48) * u128::from(self.secret);
        let folded = (product >> 64) as u64 ^ product as u64;
        (folded.wrapping_mul(ODD) >> 32) as usize & (self.buckets.len() - 1)
    }
}

/// A key where it stands in an [`Entry`].
#[inline]
fn place(key: u64) -> u64 {
    key << 16
}

#[cfg(test)]
mod tests {
    use super::{Learned, RecentCache};
    use proptest::prelude::*;
    use std::collections::HashMap;

    const SECOND: u64 = 1_000_000_000;

    fn cache(capacity: usize, timeout_s: u64) -> RecentCache {
        RecentCache::new(capacity, timeout_s * SECOND)
    }

    #[test]
    fn keys_are_found_until_they_are_silent_for_long() {
        let mut cache = cache(16, 10);
        cache.set_time(100 * SECOND);
        assert_eq!((cache.find(1), cache.refresh(1, 3)), (None, false));
        assert_eq!(cache.learn(1, 3), Learned::New);
        cache.set_time(110 * SECOND);
        assert_eq!((cache.find(1), cache.count()), (Some(3), 1));
        assert!(cache.refresh(1, 3) && !cache.refresh(1, 4));
        cache.set_time(120 * SECOND);
        assert_eq!(cache.find(1), Some(3), "seen at 110");
        cache.set_time(120 * SECOND + 1);
        assert_eq!((cache.find(1), cache.refresh(1, 3), cache.count()), (None, false, 0));
        assert_eq!(cache.learn(1, 5), Learned::New, "forgotten, so it did not change");
    }

    #[test]
    fn a_key_has_whatever_value_it_was_seen_with() {
        let mut cache = cache(1024, 10);
        cache.set_time(SECOND);
        for value in 0..300 {
            assert!(!matches!(cache.learn(value.into(), value), Learned::Known(_)));
            assert!(cache.refresh(value.into(), value), "{value}");
            assert_eq!(cache.find(value.into()), Some(value));
        }
        assert_eq!(cache.learn(299, 300), Learned::Known(299));
        assert_eq!((cache.find(299), cache.count() as u64), (Some(300), 300 - cache.evictions()));
    }

    #[test]
    fn zero_is_a_key_like_others() {
        let mut cache = cache(16, 10);
        cache.set_time(0);
        assert_eq!(cache.find(0), None);
        assert!(!cache.refresh(0, 0));
        assert_eq!(cache.learn(0, 0), Learned::New);
        assert_eq!(cache.find(0), Some(0));
        assert_eq!(cache.find(1 << 48), Some(0), "the low 48 bits count");
    }

    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn most_keys_fit_whatever_they_and_the_secret_are() {
        let mut secret = 7_u64;
        // In a row, by blocks, by maker, and by threes.
        let keys: [fn(u64) -> u64; 4] = [
            |number| 0x0200_0000_0000 | number,
            |number| 0x0200_0000_0000 | number << 8,
            |number| 0x0200_0000_0001 | number << 24,
            |number| 0x5254_0000_0000 + number * 3,
        ];
        for round in 0..1000 {
            secret = secret.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let mut cache = RecentCache::with_secret(1024, 300 * SECOND, secret ^ secret >> 32);
            cache.set_time(SECOND);
            for number in 0..1024 {
                cache.learn(keys[round % keys.len()](number), 1);
            }
            assert_eq!(cache.count() as u64, 1024 - cache.evictions());
            // By chance alone, 38.
            assert!(cache.evictions() < 1024 / 8, "{}, secret {secret:x}", cache.evictions());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_silent_make_room() {
        let mut cache = cache(1024, 300);
        for number in 0..100_000 {
            cache.set_time(SECOND + number);
            cache.learn(number, 1);
            assert_eq!(cache.find(number), Some(1));
        }
        assert!(cache.count() <= 2048);
        assert!(cache.evictions() >= 100_000 - 2048);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 200 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// As long as none was evicted, a cache knows what a map knows of what was seen lately.
        #[test]
        fn it_knows_what_a_map_knows(steps in proptest::collection::vec((0..40_u64, 0..3_u16, 0..4_u64, 0..3_u8), 1..300)) {
            let mut cache = RecentCache::new(1 << 12, 10);
            let mut map: HashMap<u64, (u16, u64)> = HashMap::new();
            let mut now = 1;
            for (key, value, later, what) in steps {
                now += later;
                cache.set_time(now);
                map.retain(|_, (_, seen)| *seen + 10 >= now);
                let known = map.get(&key).map(|&(value, _)| value);
                match what {
                    0 => prop_assert_eq!(cache.find(key), known),
                    1 => {
                        let is_same = known == Some(value);
                        prop_assert_eq!(cache.refresh(key, value), is_same);
                        if is_same {
                            map.insert(key, (value, now));
                        }
                    }
                    _ => {
                        prop_assert_eq!(cache.learn(key, value), known.map_or(Learned::New, Learned::Known));
                        map.insert(key, (value, now));
                    }
                }
                prop_assert_eq!(cache.count(), map.len());
            }
        }
    }
}
