//! The receiving end of a link.
//!
//! What an app sees is what had been sent when its turn began. Slots that it has emptied become free for the sender when its turn is over: one store for
//! a turn, and the counter with it. Packets that it leaves stay where they are.

use super::{Between, Ring};
use crate::pool::{Burst, Packet};
use crate::shm::LinkCounters;
use std::sync::Arc;

/// The receiving end of a link, seen from the app it leads to.
#[derive(Debug)]
pub struct Input {
    ring: Arc<Ring>,
    /// The next slot to read.
    next: u32,
    /// Where the sender was at the beginning of this turn, or as far as the app is shown its packets.
    tail: u32,
    /// Where the sender was, while the app is shown less.
    whole_tail: u32,
    /// The value of `next` that the ring knows.
    published: u32,
    /// Packets received in earlier turns.
    received: u64,
    bytes: Bytes,
    counters: LinkCounters,
}

/// How many bytes packets have together, known from what their sender has counted. Between threads it is not.
#[derive(Debug, Default)]
struct Bytes {
    /// Of all packets sent until this turn began.
    sent: u64,
    /// Of all that were taken, unless some of a turn's were left behind.
    taken: Option<u64>,
}

impl Bytes {
    #[inline]
    fn begin(&mut self, ring: &Ring) {
        self.sent = ring.bytes();
        if !ring.is_local() {
            self.taken = None;
        }
    }

    /// Those of all packets that wait, if they are known. What is taken after them is not, until all were.
    #[inline]
    fn take(&mut self) -> Option<u64> {
        Some(self.sent.wrapping_sub(self.taken.take()?))
    }

    /// Ends a turn in which packets were taken: perhaps all that waited, on one thread.
    #[inline]
    fn end(&mut self, all: bool) {
        self.taken = all.then_some(self.sent);
    }
}

impl Input {
    pub(super) fn new(ring: Arc<Ring>, counters: LinkCounters) -> Self {
        Input {
            ring,
            next: 0,
            tail: 0,
            whole_tail: 0,
            published: 0,
            received: 0,
            bytes: Bytes::default(),
            counters,
        }
    }

    /// The end of no link: nothing ever comes.
    pub(crate) fn unlinked() -> Self {
        Self::new(Arc::new(Ring::new(Between::OneThread)), LinkCounters::hidden())
    }

    /// As if so many packets, modulo 2^32, had gone over a new link.
    #[cfg(all(test, not(loom)))]
    pub(super) fn begin_at(&mut self, position: u32) {
        self.ring.set_head(position);
        (self.next, self.tail, self.published) = (position, position, position);
    }

    /// The packets that wait, as one burst, or `None` when all were taken that were here when the app's turn began.
    ///
    /// ```
    /// # use engine::{App, Io};
    /// struct Shorten;
    ///
    /// impl App for Shorten {
    ///     fn push(&mut self, io: &mut Io<'_>) {
    ///         let (input, output) = io.through();
    ///         while let Some(mut burst) = input.burst() {
    ///             burst.iter_mut().for_each(|packet| packet.truncate(64));
    ///             output.send(burst);
    ///         }
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn burst(&mut self) -> Option<Burst<'_>> {
        self.burst_of_at_most(super::CAPACITY)
    }

    /// Like [`Input::burst`], with at most `limit` packets.
    #[inline]
    pub fn burst_of_at_most(&mut self, limit: usize) -> Option<Burst<'_>> {
        let waiting = self.tail.wrapping_sub(self.next);
        let count = waiting.min(Ring::until_wrap(self.next)).min(u32::try_from(limit).unwrap_or(u32::MAX));
        if count == 0 {
            return None;
        }
        let first = self.ring.slots(self.next, count);
        self.next = self.next.wrapping_add(count);
        let known_bytes = self.bytes.take().filter(|_| count == waiting);
        // SAFETY: these slots hold packets and are ours; `next` has passed them, and the sender learns of that only when
        // the turn ends, which is after the burst has ended.
        Some(unsafe { Burst::from_slots(first, count as usize, known_bytes) })
    }

    /// The packets of the next [`Input::burst`], which stay where they are: for apps that leave them in the link until
    /// their time has come. An app whose input is not empty is called in every breath; a worker that finds nothing but packets that
    /// stay where they are sleeps between them, and [`Timed::next_event`](crate::Timed::next_event) says for how long that does no harm.
    #[inline]
    pub fn peek(&self) -> &[Packet] {
        let count = (self.waiting() as u32).min(Ring::until_wrap(self.next));
        // SAFETY: the slots from `next` to `tail` hold packets and are ours until the turn ends, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.ring.slots(self.next, count).as_ptr(), count as usize) }
    }

    /// Packets that wait in this turn.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.tail.wrapping_sub(self.next) as usize
    }

    /// A turn begins. Returns how many packets are here for it.
    #[inline]
    pub(crate) fn begin(&mut self) -> u32 {
        self.tail = self.ring.tail();
        self.bytes.begin(&self.ring);
        self.tail.wrapping_sub(self.next)
    }

    /// A turn begins that is shown no more than `count` of the packets that are here. Returns how many these are.
    pub(crate) fn begin_with(&mut self, count: u32) -> u32 {
        let shown = self.begin().min(count);
        if shown < self.tail.wrapping_sub(self.next) {
            self.tail = self.next.wrapping_add(shown);
            self.bytes.taken = None;
        }
        shown
    }

    /// The packets that were sent last, `count` at most, the oldest first.
    pub(crate) fn newest(&self, count: u64) -> impl Iterator<Item = &Packet> {
        let tail = self.ring.tail();
        let count = tail.wrapping_sub(self.next).min(u32::try_from(count).unwrap_or(u32::MAX));
        (0..count).map(move |index| {
            let position = tail.wrapping_sub(count - index);
            // SAFETY: the slots from `next` to the ring's tail hold packets and are ours until the turn ends, which needs `&mut self`.
            unsafe { self.ring.slots(position, 1).as_ref() }
        })
    }

    /// Another turn begins in the same breath. What has come since the first is for the next breath, unless the sender pushes before the
    /// receiver: what goes round in a loop would have no end. Returns how many packets are here, and whether more than before.
    pub(crate) fn begin_again(&mut self) -> (u32, bool) {
        let before = self.tail.wrapping_sub(self.next);
        let waiting = if self.ring.is_forward() { self.begin() } else { before };
        (waiting, waiting > before)
    }

    /// Shows the app no more than `count` of the packets that are here, until [`Input::widen`].
    pub(crate) fn narrow(&mut self, count: u32) {
        self.whole_tail = self.tail;
        if count < self.tail.wrapping_sub(self.next) {
            self.tail = self.next.wrapping_add(count);
            self.bytes.taken = None;
        }
    }

    /// Shows all packets again that are here.
    pub(crate) fn widen(&mut self) {
        self.tail = self.whole_tail;
    }

    /// Ends the turn: slots that were emptied are the sender's again. Returns how many these are.
    #[inline]
    pub(crate) fn end(&mut self) -> u32 {
        let taken = self.next.wrapping_sub(self.published);
        if taken == 0 {
            return 0;
        }
        self.received += u64::from(taken);
        self.counters.received(self.received);
        let is_empty = self.ring.is_local() && self.next == self.ring.tail();
        self.bytes.end(is_empty);
        if is_empty {
            self.ring.rewind();
            (self.next, self.tail) = (0, 0);
        } else {
            self.ring.set_head(self.next);
        }
        self.published = self.next;
        taken
    }

    /// Packets received so far, those of this turn not included.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The ring, which is what makes it an end of this link and no other.
    pub(crate) fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Packets in the link.
    pub(crate) fn queued(&self) -> usize {
        self.ring.queued()
    }
}

/// An end that goes in the middle of a turn leaves the packets that it has not taken, and nothing else: the ring drops them.
impl Drop for Input {
    fn drop(&mut self) {
        // Not `end`: the sender may be in the middle of a turn too, when the ring must not begin again.
        self.ring.set_head(self.next);
    }
}
