//! The table of flows: fixed memory, a few cache lines for each packet, no waiting for memory within a burst.
//!
//! ```text
//! bucket, 64 bytes    │ 8 tags of 16 bits │ 8 slots of 27 bits, and marks │ 8 ages of 15 bits, and protection │
//! entry, by slot      │ key │ generation │ value …
//! ```
//!
//! A set-associative hash table with two choices: a key lies in one of the eight ways of its first bucket, or, if that is full, of its second.
//! Where both are full, a key of theirs moves to its other one. A bucket counts the keys that it has sent away, so that the second is
//! looked at only where there are such. A tag is part of the hash;
//! the key is compared in full. There are two to four ways for each slot, so few keys meet a full bucket.
//!
//! Where there is no free slot, or no free way, the flow of a bucket that was seen longest ago makes room. Flows that are protected do so only where there is no other nearby, or hardly
//! any in the whole table.
//! The age in the bucket is a clock of 67 ms that wraps after 37 minutes; so eviction and sweep look at entries only when they have to.
//!
//! A slot has a generation, odd while it is in use. A [`Slot`] is a slot of one generation: who kept that of a flow that is gone finds nothing.
//!
//! PERF: for a burst, call [`Table::prefetch`] for all hashes, then [`Table::prefetch_entry`], then look up: memory is waited for once, not once
//! for each packet. Memory is mapped with huge pages where the system has such; without them, of four million flows, each look-up waits for
//! page tables as well.

mod bucket;
mod entries;
mod region;

use crate::key::{Key, Secret};
use bucket::{AWAY, Bucket, CLOCK, PROTECTED, SENT, SLOT, TICK_SHIFT, UNPROTECTED, WAYS, age, clock, tag};
use entries::Entries;
use region::{Region, prefetch};
use std::fmt;
use std::ops::Range;

/// Flows that a table may have: as many as slots can be told apart in a bucket.
pub const CAPACITY_MAX: usize = SLOT as usize + 1;

/// A slot, as long as the flow is there that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Its number, below the capacity of the table.
    pub index: u32,
    /// How often it was taken and left.
    pub generation: u32,
}

/// Why there is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The number of flows is 0, or larger than [`CAPACITY_MAX`].
    Capacity(usize),
    /// The system has not so many bytes of memory.
    Memory(usize),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Capacity(flows) => {
                write!(f, "a table of {flows} flows: 1 to {CAPACITY_MAX} are possible")
            }
            TableError::Memory(bytes) => {
                write!(
                    f,
                    "a table of flows of {} MiB: the system does not give that much memory",
                    bytes >> 20
                )
            }
        }
    }
}

impl std::error::Error for TableError {}

/// What [`Table::find_or_insert`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<V> {
    /// Where the flow is.
    pub slot: Slot,
    /// Whether it is new.
    pub is_new: bool,
    /// The flow that made room.
    pub evicted: Option<(Key, V)>,
}

/// A way of a bucket.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    bucket: usize,
    way: usize,
}

/// The age of a flow.
pub(crate) struct Age<'a>(&'a mut u16);

impl Age<'_> {
    /// It begins anew.
    #[inline(always)]
    pub(crate) fn renew(self, now_ns: u64) {
        let now = clock(now_ns);
        // Written once a tick, not once a packet.
        if *self.0 & CLOCK != now {
            *self.0 = *self.0 & PROTECTED | now;
        }
    }
}

/// Values by flows, in fixed memory.
///
/// ```
/// use flow::{Key, Secret, table::Table};
/// let mut table: Table<u64> = Table::new(1000, Secret::random())?;
/// let (key, _) = Key::new("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap(), 6, [0, 0]);
/// let hash = table.hash(&key);
/// let found = table.find_or_insert(&key, hash, 0, || 7);
/// assert!(found.is_new && found.evicted.is_none());
/// assert_eq!(table.get(found.slot), Some(&7));
/// assert_eq!(table.remove(found.slot), Some((key, 7)));
/// assert_eq!(table.get(found.slot), None);
/// # Ok::<(), flow::table::TableError>(())
/// ```
pub struct Table<V> {
    buckets: Region<Bucket>,
    entries: Entries<V>,
    secret: Secret,
    /// Where the sweep goes on.
    sweep_at: usize,
    evictions: u64,
    /// Flows that are protected.
    protected: usize,
    /// The clock of the packet seen last.
    now: u16,
}

impl<V> fmt::Debug for Table<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("flows", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<V> Table<V> {
    /// A table for so many flows. All its memory is reserved here.
    ///
    /// # Errors
    ///
    /// When there is none, or more than there is memory for.
    pub fn new(capacity: usize, secret: Secret) -> Result<Table<V>, TableError> {
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(TableError::Capacity(capacity));
        }
        // Half of the ways at most are in use. The second bucket is another than the first, so there are two.
        let buckets = (capacity * 2).div_ceil(WAYS).next_power_of_two().max(2);
        let bytes = buckets * size_of::<Bucket>() + Entries::<V>::bytes_of(capacity);
        let memory = || TableError::Memory(bytes);
        Ok(Table {
            // SAFETY: arrays of integers.
            buckets: unsafe { Region::new(buckets) }.ok_or_else(memory)?,
            entries: Entries::new(capacity).ok_or_else(memory)?,
            secret,
            sweep_at: 0,
            evictions: 0,
            protected: 0,
            now: 0,
        })
    }

    /// Makes the system give all memory now, so that no packet waits for it: for devices, where that takes longer than packets have. A
    /// capture may have few flows.
    pub fn populate(&mut self) {
        self.buckets.populate();
        self.entries.populate();
    }

    /// Bytes of memory, which stay the same.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buckets.bytes() + self.entries.bytes()
    }

    /// Flows that fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Flows that are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Flows that made room for others.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The hash of a key under the secret of this table.
    #[inline(always)]
    #[must_use]
    pub fn hash(&self, key: &Key) -> u64 {
        key.hash(&self.secret)
    }

    /// The same of a key over IPv4.
    #[inline(always)]
    pub(crate) fn hash_v4(&self, key: &Key) -> u64 {
        key.hash_v4(&self.secret)
    }

    /// Asks for the memory of the bucket of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.buckets[self.first(hash)]);
    }

    /// Asks for the memory of the entry that a hash probably has, or would get. The bucket is read.
    #[inline(always)]
    pub fn prefetch_entry(&self, hash: u64) {
        let at = self.first(hash);
        let bucket = &self.buckets[at];
        let ways = bucket.ways_with(tag(hash));
        if ways != 0 {
            self.entries.prefetch(bucket.slot(ways.trailing_zeros() as usize));
        } else if bucket.sent() != 0 {
            prefetch(&self.buckets[self.second(at, tag(hash))]);
        } else if !self.entries.prefetch_next()
            && let Some((way, _)) = bucket.oldest(hash as u16, self.now)
        {
            self.entries.prefetch(bucket.slot(way));
        }
    }

    /// The slot of a flow.
    #[inline]
    #[must_use]
    pub fn find(&self, key: &Key, hash: u64) -> Option<Slot> {
        self.place(key, hash).map(|place| self.entries.slot(self.slot_at(place)))
    }

    /// The slots of several flows, as many as there are of both, without touching their ages.
    pub fn lookup_burst(&self, keys: &[(Key, u64)], slots: &mut [Option<Slot>]) {
        const BURST: usize = 32;
        for (keys, slots) in keys.chunks(BURST).zip(slots.chunks_mut(BURST)) {
            keys.iter().for_each(|(_, hash)| self.prefetch(*hash));
            keys.iter().for_each(|(_, hash)| self.prefetch_entry(*hash));
            for ((key, hash), slot) in keys.iter().zip(slots) {
                *slot = self.find(key, *hash);
            }
        }
    }

    /// The slot of a flow, whose age begins anew. If it is not there, it is inserted with this value; the flow that made room for it is returned.
    #[inline]
    pub fn find_or_insert(
        &mut self,
        key: &Key,
        hash: u64,
        now_ns: u64,
        value: impl FnOnce() -> V,
    ) -> Found<V> {
        match self.touch(key, hash, now_ns) {
            Some((slot, _)) => Found { slot, is_new: false, evicted: None },
            None => {
                let (slot, evicted) = self.insert(key, hash, clock(now_ns), value());
                Found { slot, is_new: true, evicted }
            }
        }
    }

    /// The slot and the value of a flow, whose age begins anew, if it is there.
    #[inline(always)]
    pub fn touch(&mut self, key: &Key, hash: u64, now_ns: u64) -> Option<(Slot, &mut V)> {
        let place = self.place(key, hash)?;
        let (slot, age, value) = self.entry_at(place)?;
        age.renew(now_ns);
        Some((slot, value))
    }

    /// The value of a flow, if it is still there.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&V> {
        self.entries.get(slot.index).filter(|_| self.entries.slot(slot.index) == slot)
    }

    /// The same, to be changed.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut V> {
        if self.entries.slot(slot.index) == slot { self.entries.get_mut(slot.index) } else { None }
    }

    /// The key of a flow, if it is still there.
    #[must_use]
    pub fn key(&self, slot: Slot) -> Option<Key> {
        self.get(slot).map(|_| self.entries.key(slot.index))
    }

    /// Keeps a flow from making room for others, as long as there are some that are not protected.
    pub fn protect(&mut self, slot: Slot, is_protected: bool) {
        if let Some(place) = self.place_of(slot) {
            let age = &mut self.buckets[place.bucket].ages[place.way];
            let was_protected = *age & PROTECTED != 0;
            *age = *age & CLOCK | if is_protected { PROTECTED } else { 0 };
            self.protected = self.protected + usize::from(is_protected) - usize::from(was_protected);
        }
    }

    /// Removes a flow, if it is still there.
    pub fn remove(&mut self, slot: Slot) -> Option<(Key, V)> {
        let place = self.place_of(slot)?;
        self.vacate(place);
        self.entries.free(slot.index)
    }

    /// All flows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, Key, &V)> {
        self.iter_in(0..self.buckets())
    }

    /// The flows of these buckets, by their numbers below [`Table::buckets`], in no order.
    pub fn iter_in(&self, buckets: Range<usize>) -> impl Iterator<Item = (Slot, Key, &V)> {
        let end = buckets.end.min(self.buckets());
        let buckets = &self.buckets[buckets.start.min(end)..end];
        let indices = buckets.iter().flat_map(|bucket| bucket.used().map(|way| bucket.slot(way)));
        indices.filter_map(|index| {
            Some((self.entries.slot(index), self.entries.key(index), self.entries.get(index)?))
        })
    }

    /// Looks at the next `buckets` buckets, around and around, and removes the flows that are over. Asked are those not seen for `idle_ns` by their ages,
    /// which are good to 67 ms, or for 18 minutes. As ages wrap, and tell of 27 minutes at most, those not seen for longer may be asked up to half an hour later.
    pub fn sweep<W>(
        &mut self,
        now_ns: u64,
        idle_ns: u64,
        buckets: usize,
        mut is_over: impl FnMut(&V) -> Option<W>,
        mut ended: impl FnMut(Key, V, W),
    ) {
        let now = clock(now_ns);
        // No age is higher than three quarters of the clock; a sweep must come by while it is between.
        let least = u16::try_from(idle_ns >> TICK_SHIFT).unwrap_or(CLOCK).min(CLOCK / 2);
        for _ in 0..buckets.min(self.buckets.len()) {
            let bucket = self.sweep_at;
            self.sweep_at = (bucket + 1) & (self.buckets.len() - 1);
            for way in 0..WAYS {
                let Bucket { tags, words, ages } = &self.buckets[bucket];
                let index = words[way] & SLOT;
                if tags[way] == 0 || age(ages[way], now) < least {
                    continue;
                }
                if let Some(why) = self.entries.get(index).and_then(&mut is_over) {
                    self.vacate(Place { bucket, way });
                    if let Some((key, value)) = self.entries.free(index) {
                        ended(key, value, why);
                    }
                }
            }
        }
    }

    /// How many buckets a sweep of all takes.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    #[inline(always)]
    fn first(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// The other bucket of a key that has one in `bucket`. From there it is this.
    #[inline(always)]
    fn second(&self, bucket: usize, tag: u16) -> usize {
        let step = (u32::from(tag).wrapping_mul(0x9e37_79b1) >> 4 | 1) as usize;
        (bucket ^ step) & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn slot_at(&self, place: Place) -> u32 {
        self.buckets[place.bucket].slot(place.way)
    }

    /// The slot, the age and the value of a flow whose place was just found.
    #[inline(always)]
    pub(crate) fn entry_at(&mut self, place: Place) -> Option<(Slot, Age<'_>, &mut V)> {
        let bucket = &mut self.buckets[place.bucket];
        let (slot, value) = self.entries.slot_and_value(bucket.slot(place.way))?;
        Some((slot, Age(&mut bucket.ages[place.way]), value))
    }

    /// Where a flow is.
    #[inline(always)]
    pub(crate) fn place(&self, key: &Key, hash: u64) -> Option<Place> {
        let first = self.first(hash);
        let place = self.place_in(first, key, hash);
        if place.is_some() || self.buckets[first].sent() == 0 {
            return place;
        }
        self.place_in(self.second(first, tag(hash)), key, hash)
    }

    #[inline(always)]
    fn place_in(&self, bucket: usize, key: &Key, hash: u64) -> Option<Place> {
        let mut ways = self.buckets[bucket].ways_with(tag(hash));
        while ways != 0 {
            let way = ways.trailing_zeros() as usize;
            if self.entries.has_key(self.buckets[bucket].slot(way), key) {
                return Some(Place { bucket, way });
            }
            ways &= ways - 1;
        }
        None
    }

    fn place_of(&self, slot: Slot) -> Option<Place> {
        self.get(slot)?;
        let key = self.entries.key(slot.index);
        self.place(&key, self.hash(&key))
    }

    /// Inserts a flow that is not there. Says its slot, and which flow made room.
    #[inline]
    pub(crate) fn insert_new(
        &mut self,
        key: &Key,
        hash: u64,
        now_ns: u64,
        value: V,
    ) -> (Slot, Option<(Key, V)>) {
        self.insert(key, hash, clock(now_ns), value)
    }

    /// The same, with the time as an age.
    fn insert(&mut self, key: &Key, hash: u64, now: u16, value: V) -> (Slot, Option<(Key, V)>) {
        self.now = now;
        let first = self.first(hash);
        let tag = tag(hash);
        let (mut bucket, mut way) = (first, self.buckets[first].free_way());
        if way.is_none() {
            bucket = self.second(first, tag);
            way = self.buckets[bucket].free_way();
        }
        if way.is_none() && self.entries.has_free() {
            (bucket, way) =
                self.make_way(first, bucket).map_or((bucket, None), |place| (place.bucket, Some(place.way)));
        }
        // A free slot and a free way; or what the victim leaves, which may be both.
        let (index, evicted) = match way.and_then(|_| self.entries.allocate()) {
            Some(index) => (index, None),
            None => {
                let victim = self.victim(first, tag, hash as u16, now);
                let index = self.slot_at(victim);
                if way.is_none() || victim.bucket == first {
                    (bucket, way) = (victim.bucket, Some(victim.way));
                }
                self.vacate(victim);
                self.evictions += 1;
                (index, self.entries.vacate(index))
            }
        };
        let way = way.unwrap_or(0);
        let slot = self.entries.fill(index, *key, value);
        let away = if bucket == first { 0 } else { AWAY };
        self.buckets[bucket].set(way, tag, index | away, now);
        if away != 0 {
            self.buckets[first].count_sent(1);
        }
        (slot, evicted)
    }

    /// Moves a key of one of two full buckets to the other of its own, if one of these has a free way.
    #[cold]
    #[inline(never)]
    fn make_way(&mut self, first: usize, second: usize) -> Option<Place> {
        let places =
            [first, second].into_iter().flat_map(|bucket| (0..WAYS).map(move |way| Place { bucket, way }));
        for place in places {
            let Bucket { tags, words, ages } = self.buckets[place.bucket];
            let (tag, word, age) = (tags[place.way], words[place.way], ages[place.way]);
            let other = self.second(place.bucket, tag);
            let Some(way) = self.buckets[other].free_way() else { continue };
            self.vacate(place);
            if word & AWAY == 0 {
                self.buckets[place.bucket].count_sent(1);
            }
            self.buckets[other].set(way, tag, word & SLOT | !word & AWAY, age);
            self.protected += usize::from(age & PROTECTED != 0);
            return Some(place);
        }
        None
    }

    /// The flow to make room for a key: of its buckets, that seen longest ago and not protected; where all are, or there is none, one of
    /// the next buckets.
    #[inline(never)]
    fn victim(&self, first: usize, tag: u16, turn: u16, now: u16) -> Place {
        let second = self.second(first, tag);
        let mask = self.buckets.len() - 1;
        let oldest = |bucket: usize| {
            self.buckets[bucket].oldest(turn, now).map(|(way, rank)| (rank, Place { bucket, way }))
        };
        let mine = oldest(first);
        if let Some((rank, place)) = mine
            && rank & UNPROTECTED != 0
        {
            return place;
        }
        let both_full = self.buckets[first].free_way().is_none() && self.buckets[second].free_way().is_none();
        // A way is needed in one of these two, or any slot is.
        // PERF: where one in fifty flows at most is not protected, the search would mostly be long, or in vain: 26 ns of each packet where every flow is new. So many
        // places the protected ones leave to others then.
        let is_scarce = self.len().saturating_sub(self.protected) < self.len() / 50;
        let next = if both_full || is_scarce { 0 } else { 64 };
        let others = [second].into_iter().chain((1..=next).map(|step| (first + step) & mask));
        let mut best = mine;
        for bucket in others {
            let found = oldest(bucket);
            if found.is_some_and(|(rank, _)| rank & UNPROTECTED != 0) {
                best = found;
                break;
            }
            best = best.or(found);
        }
        let rest = || (next + 1..=mask).find_map(|step| oldest((first + step) & mask));
        // Some bucket has a flow: where no slot is free, all are in use.
        best.or_else(rest).map_or(Place { bucket: first, way: 0 }, |(_, place)| place)
    }

    /// Takes a key out of its bucket.
    fn vacate(&mut self, place: Place) {
        let bucket = &mut self.buckets[place.bucket];
        let (tag, word) = (bucket.tags[place.way], bucket.words[place.way]);
        self.protected -= usize::from(bucket.ages[place.way] & PROTECTED != 0);
        bucket.ages[place.way] &= CLOCK;
        bucket.tags[place.way] = 0;
        bucket.words[place.way] = word & SENT;
        if word & AWAY != 0 {
            // The bucket that is second from here is the first of the key.
            let first = self.second(place.bucket, tag);
            self.buckets[first].count_sent(-1);
        }
    }
}

#[cfg(test)]
mod tests;
