//! A bucket of the table: eight ways in one cache line, and the choice of the one that makes room.

use super::region::equal_bits;

/// Ways of a bucket.
pub(super) const WAYS: usize = 8;
/// Of the word of a way: the slot.
pub(super) const SLOT: u32 = (1 << 27) - 1;
/// The key is in its second bucket.
pub(super) const AWAY: u32 = 1 << 31;
/// In the word of the first way: how many keys of this bucket are in their second.
pub(super) const SENT_SHIFT: u32 = 27;
pub(super) const SENT_MAX: u32 = 15;
pub(super) const SENT: u32 = SENT_MAX << SENT_SHIFT;

/// Of an age: the clock. The other bit is that of protection.
pub(super) const CLOCK: u16 = 0x7fff;
pub(super) const PROTECTED: u16 = 0x8000;
/// A tick of the clock of ages is 2 to this power, in nanoseconds: 67 ms.
pub(super) const TICK_SHIFT: u32 = 26;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// Part of the hash, never 0 where there is a key.
    pub(super) tags: [u16; WAYS],
    pub(super) words: [u32; WAYS],
    pub(super) ages: [u16; WAYS],
}

/// In the rank of a way, more than every age.
pub(super) const UNPROTECTED: u32 = 1 << 15;

impl Bucket {
    /// A bit for each way that has this tag. 0 is that of free ways.
    #[inline(always)]
    pub(super) fn ways_with(&self, tag: u16) -> u32 {
        equal_bits(&self.tags, tag)
    }

    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        (0..WAYS).filter(|&way| self.tags[way] != 0)
    }

    #[inline]
    pub(super) fn free_way(&self) -> Option<usize> {
        let free = self.ways_with(0);
        (free != 0).then(|| free.trailing_zeros() as usize)
    }

    #[inline(always)]
    pub(super) fn slot(&self, way: usize) -> u32 {
        self.words[way] & SLOT
    }

    /// Puts a key into a way.
    #[inline(always)]
    pub(super) fn set(&mut self, way: usize, tag: u16, word: u32, age: u16) {
        self.tags[way] = tag;
        // The marks of the first way are about the whole bucket.
        let marks = if way == 0 { self.words[0] & SENT } else { 0 };
        self.words[way] = marks | word;
        self.ages[way] = age;
    }

    /// Keys of this bucket that are in their second; from [`SENT_MAX`] on, perhaps none any more.
    #[inline(always)]
    pub(super) fn sent(&self) -> u32 {
        (self.words[0] & SENT) >> SENT_SHIFT
    }

    pub(super) fn count_sent(&mut self, by: i32) {
        let sent = self.sent();
        // Beyond the most that it can count, nobody knows when it would be 0 again.
        if sent != SENT_MAX {
            let sent = sent.saturating_add_signed(by).min(SENT_MAX);
            self.words[0] = self.words[0] & !SENT | sent << SENT_SHIFT;
        }
    }

    /// The way in use that is to make room, and its rank. Of ways seen in the same tick, `turn` chooses.
    #[inline(always)]
    pub(super) fn oldest(&self, turn: u16, now: u16) -> Option<(usize, u32)> {
        // PERF: without branches, all ways at once.
        let mut best = 0;
        for way in 0..WAYS {
            let protection = if self.ages[way] & PROTECTED == 0 { UNPROTECTED } else { 0 };
            let rank = (u32::from(age(self.ages[way], now)) | protection) + 1;
            let rank = if self.tags[way] == 0 { 0 } else { rank };
            best = best.max(rank << 3 | (way as u32).wrapping_add(turn.into()) & 7);
        }
        let way = (best & 7).wrapping_sub(turn.into()) & 7;
        (best >> 3 != 0).then(|| (way as usize, (best >> 3) - 1))
    }
}

/// The tag of a hash, by bits that do not choose the bucket.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u16 {
    ((hash >> 48) as u16).max(1)
}

#[inline(always)]
pub(super) fn clock(now_ns: u64) -> u16 {
    (now_ns >> TICK_SHIFT) as u16 & CLOCK
}

/// Ticks since an age, as far as the clock tells. What seems to lie ahead, by less than a quarter of the clock, is new.
#[inline(always)]
pub(super) fn age(age: u16, now: u16) -> u16 {
    let ticks = now.wrapping_sub(age) & CLOCK;
    if ticks > CLOCK / 4 * 3 { 0 } else { ticks }
}
