//! The sending end of a link.
//!
//! What an app sends is visible to the receiver when its turn is over: one store for a turn, and the counters with it. A full link drops and counts
//! (`link_full`). The engine gives an app no more packets than its links take one each; one that sends more than it gets asks for `Output::room` first.
//! An output without a link is a ring that is always full.

use super::Ring;
use super::ring::CAPACITY;
use crate::pool::{Burst, Packet, Pool, abandon_counted, move_kept};
use crate::shm::{Counter, LinkCounters};
use std::sync::Arc;

/// The sending end of a link, seen from the app it comes from.
#[derive(Debug)]
pub struct Output {
    ring: Arc<Ring>,
    /// The next slot to write.
    next: u32,
    /// Where the slots end that are known to be free and follow without wrapping around.
    ///
    /// PERF: between threads it outlives the turn, since to ask where the receiver is takes as long as a packet.
    limit: u32,
    /// The value of `next` that the ring knows.
    published: u32,
    sent: u64,
    bytes: u64,
    dropped: u64,
    counters: LinkCounters,
    /// Whether the receiver leaves packets in it, so that nobody waits for it who could go on otherwise.
    is_stuck: bool,
}

impl Output {
    pub(super) fn new(ring: Arc<Ring>, counters: LinkCounters) -> Self {
        Output {
            ring,
            next: 0,
            limit: 0,
            published: 0,
            sent: 0,
            bytes: 0,
            dropped: 0,
            counters,
            is_stuck: false,
        }
    }

    /// The end of no link: what is sent here is dropped, and counted by `counter`.
    pub(crate) fn unlinked(counter: Counter) -> Self {
        Self::new(Arc::new(Ring::full()), LinkCounters::unlinked(counter))
    }

    /// As if so many packets, modulo 2^32, had gone over a new link.
    #[cfg(all(test, not(loom)))]
    pub(super) fn begin_at(&mut self, position: u32) {
        self.ring.set_tail(position, 0);
        (self.next, self.limit, self.published) = (position, position, position);
    }

    /// The ring, which is what makes it an end of this link and no other.
    pub(crate) fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Whether there is a link.
    pub fn is_linked(&self) -> bool {
        self.ring.is_real()
    }

    /// Whether the receiver is an app of another thread.
    pub(crate) fn leads_away(&self) -> bool {
        self.is_linked() && !self.ring.is_local()
    }

    /// Sends one packet; the receiver sees it when the app's turn is over. A full link drops it, and counts that.
    #[inline]
    pub fn put(&mut self, packet: Packet) {
        if self.next == self.limit && !self.find_room() {
            return self.refuse(packet);
        }
        self.bytes += packet.len() as u64;
        // SAFETY: the slot lies before `limit`: it is free, ours, and holds no packet.
        unsafe { self.ring.slots(self.next, 1).write(packet) };
        self.next = self.next.wrapping_add(1);
    }

    /// Sends what is left of a burst. What does not fit into the link is dropped, and counted.
    #[inline]
    pub fn send(&mut self, mut burst: Burst<'_>) {
        while !burst.is_empty() {
            if self.next == self.limit && !self.find_room() {
                return burst.for_each(|packet| self.refuse(packet));
            }
            let room = self.limit.wrapping_sub(self.next) as usize;
            let part = burst.split_front(room);
            self.bytes += part.bytes();
            let (first, count) = part.into_slots();
            // SAFETY: the slots up to `limit` are free, ours, and follow one another; the packets were given up by the
            // burst. The two ranges belong to different ends, or different links, so they do not overlap.
            unsafe { self.ring.slots(self.next, count as u32).copy_from_nonoverlapping(first, count) };
            self.next = self.next.wrapping_add(count as u32);
        }
    }

    /// Sends those packets of a burst on that `keep` has changed and wants to keep, and returns the others, all in their order. What is kept and does
    /// not fit into the link is dropped, and counted.
    ///
    /// PERF: as long as all are kept, each is changed and sent in one go, in a loop that is compiled for the widest vector registers
    /// that the processor has. What becomes part of it: closures, and functions they call, that are marked
    /// `#[inline(always)]`. Worth it for those that are short, or write and compare many bytes.
    ///
    /// ```
    /// # use engine::{App, Burst, Io, shm::Counter};
    /// struct Shorten(Counter);
    ///
    /// impl App for Shorten {
    ///     fn push(&mut self, io: &mut Io<'_>) {
    ///         while let Some(burst) = io.inputs[0].burst_of_at_most(Burst::SIFTED) {
    ///             let others = io.outputs[0].sift(burst, #[inline(always)] |packet| {
    ///                 packet.truncate(64);
    ///                 !packet.is_empty()
    ///             });
    ///             io.pool.free_burst(others, &self.0);
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    /// If there are more than [`Burst::SIFTED`] packets.
    #[inline]
    pub fn sift<'a>(&mut self, mut burst: Burst<'a>, mut keep: impl FnMut(&mut Packet) -> bool) -> Burst<'a> {
        assert!(burst.len() <= Burst::SIFTED, "{} packets are more than {}", burst.len(), Burst::SIFTED);
        while self.next != self.limit || self.find_room() {
            let room = self.limit.wrapping_sub(self.next) as usize;
            let without_room = burst.len().saturating_sub(room);
            let count = burst.len() - without_room;
            // SAFETY: the slots up to `limit` are free, ours, and follow one another.
            let slots = unsafe {
                let first = self.ring.slots(self.next, count as u32);
                std::slice::from_raw_parts_mut(first.cast().as_ptr(), count)
            };
            move_kept(&mut burst, slots, &mut self.next, &mut self.bytes, &mut keep);
            if burst.is_empty() {
                return burst;
            }
            if burst.len() > without_room {
                return self.sift_mixed(burst, 1, keep);
            }
        }
        self.sift_mixed(burst, 0, keep)
    }

    /// Sifts a burst of which the first `refused` packets have been refused already.
    ///
    /// PERF: which packets are kept is noted in bits, and decides no branch.
    #[inline(never)]
    fn sift_mixed<'a>(
        &mut self,
        mut burst: Burst<'a>,
        refused: usize,
        mut keep: impl FnMut(&mut Packet) -> bool,
    ) -> Burst<'a> {
        let mut kept = 0;
        for (i, packet) in burst.iter_mut().enumerate().skip(refused) {
            kept |= u64::from(keep(packet)) << i;
        }
        let (kept, others) = burst.partition(kept);
        self.send(kept);
        others
    }

    /// Sends what is left of a burst if there is a link; else it ends here, and `counter` says why.
    #[inline]
    pub fn send_or_free(&mut self, burst: Burst<'_>, pool: &mut Pool, counter: &Counter) {
        if self.is_linked() {
            self.send(burst);
        } else {
            pool.free_burst(burst, counter);
        }
    }

    /// Sends `count` copies of a packet; fewer when the pool runs out. A full link drops them, and counts that. Returns how
    /// many were made.
    pub fn send_copies(&mut self, pool: &mut Pool, packet: &Packet, count: usize) -> usize {
        let is_far = pool.has_travelled();
        let copy_to_all = |_, copies: &mut [Packet]| {
            packet.copy_to_all(copies, is_far);
            (copies.len(), (packet.len() * copies.len()) as u64)
        };
        self.send_made(pool, count, copy_to_all, |_| packet)
    }

    /// Sends a copy of each packet; stops when the pool runs out, of large packets too if it is the turn of a long one. A full
    /// link drops them, and counts that. Returns how many were made.
    pub fn send_copies_of(&mut self, pool: &mut Pool, packets: &[Packet]) -> usize {
        let copy_each = |first: usize, copies: &mut [Packet]| Pool::copy_each(&packets[first..], copies);
        self.send_made(pool, packets.len(), copy_each, |index| &packets[index])
    }

    /// Moves packets from the pool to free slots, and has them filled there: `fill` is told the number of the first, and
    /// returns how many it has filled, and how many bytes they have; `original` is what a packet is a copy of. `fill` stops at what takes
    /// a large packet, which is copied here.
    #[inline]
    fn send_made<'a>(
        &mut self,
        pool: &mut Pool,
        count: usize,
        fill: impl Fn(usize, &mut [Packet]) -> (usize, u64),
        original: impl Fn(usize) -> &'a Packet,
    ) -> usize {
        let mut made = 0;
        while made < count && (self.next != self.limit || self.find_room()) {
            if original(made).is_long() {
                let Some(copy) = pool.copy(original(made)) else { return made };
                self.put(copy);
                made += 1;
                continue;
            }
            let wanted = (self.limit.wrapping_sub(self.next) as usize).min(count - made);
            // SAFETY: the packets are moved into slots before the pool is used again. These lie between `next` and `limit`:
            // they are free, ours, and hold no packet.
            let copies = unsafe {
                let (packets, taken) = pool.take(wanted);
                let slots = self.ring.slots(self.next, taken as u32);
                slots.copy_from_nonoverlapping(packets, taken);
                std::slice::from_raw_parts_mut(slots.as_ptr(), taken)
            };
            let taken = copies.len();
            let (filled, bytes) = fill(made, copies);
            self.bytes += bytes;
            if filled < taken {
                // SAFETY: these slots lie behind `next` from now on, and hold no packets any more.
                unsafe { take_back(pool, &copies[filled..]) };
            }
            let copies = &mut copies[..filled];
            if pool.uses_metadata() {
                let metadata = |(index, copy): (usize, &mut Packet)| {
                    copy.set_metadata(*original(made + index).metadata());
                };
                copies.iter_mut().enumerate().for_each(metadata);
            }
            self.next = self.next.wrapping_add(copies.len() as u32);
            made += copies.len();
            if filled == taken && taken < wanted && !original(made).is_long() {
                // The pool has counted what it lacks.
                return made;
            }
        }
        while made < count {
            let Some(copy) = pool.copy(original(made)) else { break };
            self.put(copy);
            made += 1;
        }
        made
    }

    /// How many packets the link takes now.
    #[inline]
    pub fn room(&self) -> usize {
        (CAPACITY - self.pending().wrapping_add(self.ring.tail()).wrapping_sub(self.ring.head())) as usize
    }

    /// How many packets may be sent now, for apps that would rather wait than lose any: as many as the link takes, or any
    /// number where there is no link to wait for.
    ///
    /// ```
    /// # use engine::{App, Io};
    /// struct Hold(Vec<engine::Packet>);
    ///
    /// impl App for Hold {
    ///     fn pull(&mut self, io: &mut Io<'_>) {
    ///         let output = &mut io.outputs[0];
    ///         let count = self.0.len().min(output.allowance());
    ///         self.0.drain(..count).for_each(|packet| output.put(packet));
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn allowance(&self) -> usize {
        if self.is_linked() { self.room() } else { usize::MAX }
    }

    /// How many packets the sender may be given at the beginning of its turn, if it sends one for each: as many as the link takes, where the
    /// receiver empties it in the same breath; any number otherwise.
    #[inline]
    pub(crate) fn bound(&self) -> u32 {
        if self.ring.is_forward() { self.ring.room() } else { u32::MAX }
    }

    /// Whoever could go on has done so: if it is full, its receiver leaves packets in it.
    pub(crate) fn find_stuck(&mut self) {
        self.is_stuck |= self.bound() == 0;
    }

    /// Whether the receiver has left packets in it ever since that was found.
    pub(crate) fn is_stuck(&mut self) -> bool {
        self.is_stuck &= self.ring.queued() > 0;
        self.is_stuck
    }

    /// Packets sent in this turn.
    #[inline]
    fn pending(&self) -> u32 {
        self.next.wrapping_sub(self.published)
    }

    /// Looks for free slots from `next` on. Returns whether there are any.
    #[cold]
    #[inline(never)]
    fn find_room(&mut self) -> bool {
        if self.pending() == 0 {
            // The ring may have begun again at its first slot since the last turn.
            self.next = self.ring.tail();
            self.published = self.next;
        }
        let free = CAPACITY - self.next.wrapping_sub(self.ring.head());
        self.limit = self.next.wrapping_add(free.min(Ring::until_wrap(self.next)));
        free > 0
    }

    #[cold]
    fn refuse(&mut self, packet: Packet) {
        self.dropped += 1;
        self.counters.dropped();
        abandon_counted(packet);
    }

    /// Ends the turn: what was sent becomes visible. Returns how much that is.
    #[inline]
    pub(crate) fn end(&mut self) -> u32 {
        let pending = self.pending();
        if pending != 0 {
            self.ring.set_tail(self.next, self.bytes);
            self.published = self.next;
            self.sent += u64::from(pending);
            self.counters.sent(self.sent, self.bytes);
        }
        if self.ring.is_local() {
            // The receiver may move the ring's beginning before the next turn.
            self.limit = self.next;
        }
        pending
    }

    /// Forgets which slots are free: whether the receiver is on the same thread may have changed. Between turns only.
    pub(crate) fn settle(&mut self) {
        self.limit = self.next;
    }

    /// Packets sent so far, those of this turn not included.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes sent so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets dropped so far because the link was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Takes packets back that were allocated in vain.
///
/// # Safety
/// Nobody uses them any more.
#[cold]
unsafe fn take_back(pool: &mut Pool, unused: &[Packet]) {
    for packet in unused {
        // SAFETY: by the caller's promise, this is the only owner.
        pool.take_back(unsafe { std::ptr::read(packet) });
    }
}

/// Packets that were sent in a turn that did not end belong to the ring as well.
impl Drop for Output {
    fn drop(&mut self) {
        self.end();
    }
}
