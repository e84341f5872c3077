//! Entries by slot: key, generation, value. A slot of odd generation is in use, and has a value.

use super::Slot;
use super::region::Region;
use crate::key::Key;
use std::mem::MaybeUninit;

/// PERF: the key without the bytes that would align it, so that the generation has the last four of 48.
#[repr(C, align(64))]
struct Entry<V> {
    addresses: [u64; 4],
    tail: u64,
    scope: u32,
    generation: u32,
    value: MaybeUninit<V>,
}

/// All entries, and which are free. Nothing of a slot that was never used has been touched.
pub(super) struct Entries<V> {
    entries: Region<Entry<V>>,
    /// Slots that were used and left, in the first `free_len` places.
    free: Region<u32>,
    free_len: usize,
    /// Slots from here on were never used.
    fresh: usize,
}

impl<V> Entries<V> {
    pub(super) fn new(capacity: usize) -> Option<Entries<V>> {
        // SAFETY: integers, and a value that need not be there.
        let (entries, free) = unsafe { (Region::new(capacity)?, Region::new(capacity)?) };
        Some(Entries { entries, free, free_len: 0, fresh: 0 })
    }

    pub(super) fn populate(&mut self) {
        self.entries.populate();
        self.free.populate();
    }

    pub(super) fn bytes_of(capacity: usize) -> usize {
        let bytes = [Region::<Entry<V>>::bytes_of(capacity), Region::<u32>::bytes_of(capacity)];
        bytes.into_iter().flatten().sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes() + self.free.bytes()
    }

    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn len(&self) -> usize {
        self.fresh - self.free_len
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, index: u32) {
        self.entries.prefetch(index as usize);
    }

    /// Asks for the memory of the slot that is given out next; says whether there is one.
    #[inline(always)]
    pub(super) fn prefetch_next(&self) -> bool {
        let next = match self.free_len.checked_sub(1) {
            Some(last) => self.free[last] as usize,
            None => self.fresh,
        };
        self.entries.prefetch(next);
        next < self.entries.len()
    }

    pub(super) fn has_free(&self) -> bool {
        self.free_len > 0 || self.fresh < self.entries.len()
    }

    /// A slot that is not in use.
    pub(super) fn allocate(&mut self) -> Option<u32> {
        if let Some(last) = self.free_len.checked_sub(1) {
            self.free_len = last;
            return Some(self.free[last]);
        }
        let index = (self.fresh < self.entries.len()).then_some(self.fresh as u32)?;
        self.fresh += 1;
        Some(index)
    }

    /// Puts a flow into a slot that [`Entries::allocate`] or [`Entries::vacate`] has given.
    pub(super) fn fill(&mut self, index: u32, key: Key, value: V) -> Slot {
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.generation & 1 == 0);
        entry.addresses = [key.lower_high, key.lower_low, key.higher_high, key.higher_low];
        (entry.tail, entry.scope) = (key.tail, key.scope);
        entry.value.write(value);
        entry.generation |= 1;
        Slot { index, generation: entry.generation }
    }

    /// Takes the flow out of a slot, which is to be filled again at once.
    pub(super) fn vacate(&mut self, index: u32) -> Option<(Key, V)> {
        let key = self.key(index);
        let entry = &mut self.entries[index as usize];
        if entry.generation & 1 == 0 {
            return None;
        }
        entry.generation = entry.generation.wrapping_add(1);
        // SAFETY: the generation was odd, so there is a value; it is even now, so that this one is not read again.
        Some((key, unsafe { entry.value.assume_init_read() }))
    }

    /// Takes the flow out of a slot, which is free then.
    pub(super) fn free(&mut self, index: u32) -> Option<(Key, V)> {
        let taken = self.vacate(index)?;
        self.free[self.free_len] = index;
        self.free_len += 1;
        Some(taken)
    }

    #[inline(always)]
    pub(super) fn slot(&self, index: u32) -> Slot {
        let generation = self.entries.get(index as usize).map_or(0, |entry| entry.generation);
        Slot { index, generation }
    }

    #[inline(always)]
    pub(super) fn has_key(&self, index: u32, key: &Key) -> bool {
        self.key(index) == *key
    }

    #[inline(always)]
    pub(super) fn key(&self, index: u32) -> Key {
        let Entry { addresses: [lower_high, lower_low, higher_high, higher_low], tail, scope, .. } =
            self.entries[index as usize];
        Key { lower_high, lower_low, higher_high, higher_low, tail, scope }
    }

    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&V> {
        let entry = self.entries.get(index as usize).filter(|entry| entry.generation & 1 != 0)?;
        // SAFETY: a slot of odd generation has a value: `fill` writes it before it makes the generation odd, and `vacate` makes that even.
        Some(unsafe { entry.value.assume_init_ref() })
    }

    #[inline(always)]
    pub(super) fn slot_and_value(&mut self, index: u32) -> Option<(Slot, &mut V)> {
        let entry = self.entries.get_mut(index as usize).filter(|entry| entry.generation & 1 != 0)?;
        let slot = Slot { index, generation: entry.generation };
        // SAFETY: as in `get`.
        Some((slot, unsafe { entry.value.assume_init_mut() }))
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut V> {
        let entry = self.entries.get_mut(index as usize).filter(|entry| entry.generation & 1 != 0)?;
        // SAFETY: as in `get`.
        Some(unsafe { entry.value.assume_init_mut() })
    }
}

impl<V> Drop for Entries<V> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<V>() {
            (0..self.fresh as u32).for_each(|index| drop(self.vacate(index)));
        }
    }
}
