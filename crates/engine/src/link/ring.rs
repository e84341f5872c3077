//! The ring of a link.

use super::Between;
use crate::pool::Packet;
use crate::sync::{AtomicBool, AtomicU32, Ordering, OwnLine};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
// Not loom's: no order depends on it.
use std::sync::atomic::AtomicU64;

/// Slots of a ring.
pub(super) const CAPACITY: u32 = if cfg!(loom) { 4 } else { 1024 };

/// A ring of packets between one sender and one receiver. Positions count up and wrap around at 2^32; their remainder
/// modulo [`CAPACITY`] is the slot.
///
/// # Invariants
/// - `tail - head <= CAPACITY`. Slots from `head` to `tail` hold packets and belong to the receiver, the others to the sender.
/// - Only the sender stores `tail`, only the receiver `head`; [`Ring::rewind`] is for when both are one thread.
/// - Whether they are changes only while neither is in a turn.
#[derive(Debug)]
pub(crate) struct Ring {
    head: OwnLine<AtomicU32>,
    tail: OwnLine<Tail>,
    slots: Slots,
    is_local: AtomicBool,
    is_forward: AtomicBool,
    watch: Watch,
}

/// What the sender stores at the end of a turn.
#[derive(Debug)]
struct Tail {
    position: AtomicU32,
    /// Of all packets up to there, since the link is there. On one thread only: between two, both are not read at once.
    bytes: AtomicU64,
}

impl Tail {
    fn at(position: u32) -> Self {
        Tail { position: AtomicU32::new(position), bytes: AtomicU64::new(0) }
    }
}

/// The memory of slots.
///
/// PERF: a load waits for stores before it to the same place in another page (4K aliasing: Intel's Optimization Reference Manual, on
/// memory disambiguation). The first 64 slots, all that an emptied ring uses of most bursts, are where in a page no packet's first line or
/// metadata lies: a loop over a burst loads slots between stores to these. Where they met, `sluss bench engine --net source-sink` was
/// half as fast in one process of three.
#[repr(align(4096))]
struct Pages(
    #[expect(dead_code, reason = "slots are reached by their addresses")]
    [MaybeUninit<Packet>; CAPACITY as usize],
);

#[derive(Debug)]
struct Slots(NonNull<[MaybeUninit<Packet>]>);

impl Slots {
    fn new() -> Self {
        let pages = NonNull::from(Box::leak(Box::<Pages>::new_uninit()));
        Slots(NonNull::slice_from_raw_parts(pages.cast(), CAPACITY as usize))
    }

    fn none() -> Self {
        Slots(NonNull::slice_from_raw_parts(NonNull::dangling(), 0))
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            // SAFETY: `new` leaked them, and nobody else knows of them any more; `MaybeUninit` drops nothing twice.
            drop(unsafe { Box::from_raw(self.0.cast::<MaybeUninit<Pages>>().as_ptr()) });
        }
    }
}

// SAFETY: the slots are handed from the sender to the receiver by a release store of `tail` and an acquire load, and back by
// the same on `head`; packets may go from thread to thread.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Ring {
    pub(super) fn new(between: Between) -> Self {
        Ring {
            head: OwnLine(AtomicU32::new(0)),
            tail: OwnLine(Tail::at(0)),
            slots: Slots::new(),
            is_local: AtomicBool::new(between != Between::TwoThreads),
            is_forward: AtomicBool::new(between == Between::OneBreath),
            watch: Watch::new(CAPACITY),
        }
    }

    /// A ring without slots, which is always full.
    pub(super) fn full() -> Self {
        Ring {
            head: OwnLine(AtomicU32::new(0)),
            tail: OwnLine(Tail::at(CAPACITY)),
            slots: Slots::none(),
            is_local: AtomicBool::new(true),
            is_forward: AtomicBool::new(false),
            watch: Watch::new(0),
        }
    }

    /// Whether there are slots.
    pub(super) fn is_real(&self) -> bool {
        !self.slots.0.is_empty()
    }

    /// The address of the slot at a position.
    #[inline]
    fn slot(&self, position: u32) -> NonNull<Packet> {
        // SAFETY: the remainder is below CAPACITY.
        unsafe { self.slots.0.cast::<Packet>().add((position % CAPACITY) as usize) }
    }

    /// The address of the first of `count` slots that the caller is going to fill or empty.
    #[inline]
    pub(super) fn slots(&self, position: u32, count: u32) -> NonNull<Packet> {
        self.watch.access(position, count);
        self.slot(position)
    }

    /// How many slots follow from a position on without wrapping around.
    #[inline]
    pub(super) fn until_wrap(position: u32) -> u32 {
        CAPACITY - position % CAPACITY
    }

    /// Where the receiver is. What it has emptied may be written after this.
    #[inline]
    pub(super) fn head(&self) -> u32 {
        self.head.0.load(Ordering::Acquire)
    }

    /// Where the sender is. What it has sent may be read after this.
    #[inline]
    pub(super) fn tail(&self) -> u32 {
        self.tail.0.position.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn set_head(&self, head: u32) {
        self.head.0.store(head, Ordering::Release);
    }

    /// How many bytes have been sent, up to the tail. Only where both ends belong to the calling thread.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.tail.0.bytes.load(Ordering::Relaxed)
    }

    /// What was sent up to `tail` may be received. All that ever was has so many bytes.
    #[inline]
    pub(super) fn set_tail(&self, tail: u32, bytes: u64) {
        self.tail.0.bytes.store(bytes, Ordering::Relaxed);
        self.tail.0.position.store(tail, Ordering::Release);
    }

    /// Whether both ends belong to apps of one thread.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        self.is_local.load(Ordering::Relaxed)
    }

    /// Whether they do, and the receiver pushes after the sender in each breath.
    #[inline]
    pub(crate) fn is_forward(&self) -> bool {
        self.is_forward.load(Ordering::Relaxed)
    }

    /// Says whose the ends are. Between turns only, and when neither runs; the sender's end is to [settle](super::Output::settle) then.
    pub(crate) fn place(&self, between: Between) {
        self.is_local.store(between != Between::TwoThreads, Ordering::Relaxed);
        self.is_forward.store(between == Between::OneBreath, Ordering::Relaxed);
    }

    /// How many packets it takes until it is full.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        CAPACITY - self.tail().wrapping_sub(self.head())
    }

    /// Begins an empty ring at its first slot again. Both ends must belong to the calling thread, and neither be in the
    /// middle of a turn.
    #[inline]
    pub(super) fn rewind(&self) {
        self.head.0.store(0, Ordering::Relaxed);
        self.tail.0.position.store(0, Ordering::Relaxed);
    }

    /// Whether it leads to another thread and is half full.
    pub(crate) fn is_pressed(&self) -> bool {
        !self.is_local() && self.queued() >= (CAPACITY / 2) as usize
    }

    /// Packets that have been sent over it, modulo 2^32, while it leads to another thread.
    pub(crate) fn sent(&self) -> u32 {
        self.tail()
    }

    /// Packets in the ring.
    pub(crate) fn queued(&self) -> usize {
        self.tail().wrapping_sub(self.head()) as usize
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let (mut head, tail) = (self.head(), self.tail());
        while head != tail && self.is_real() {
            // SAFETY: slots from head to tail hold packets, and nobody else sees the ring any more.
            drop(unsafe { self.slot(head).read() });
            head = head.wrapping_add(1);
        }
    }
}

/// Under loom, notices when both ends have the same slot at the same time; else nothing.
#[derive(Debug)]
struct Watch {
    #[cfg(loom)]
    slots: Vec<loom::cell::UnsafeCell<()>>,
}

#[cfg(not(loom))]
impl Watch {
    fn new(_: u32) -> Self {
        Watch {}
    }

    #[inline]
    fn access(&self, _: u32, _: u32) {}
}

#[cfg(loom)]
impl Watch {
    fn new(slots: u32) -> Self {
        Watch { slots: (0..slots).map(|_| loom::cell::UnsafeCell::new(())).collect() }
    }

    fn access(&self, position: u32, count: u32) {
        for slot in 0..count {
            // To take a packet out is to write as well: the slot is then empty.
            self.slots[(position.wrapping_add(slot) % CAPACITY) as usize].with_mut(|_| ());
        }
    }
}

// SAFETY: loom's cells are for finding races, not for preventing them.
#[cfg(loom)]
unsafe impl Send for Watch {}
// SAFETY: as above.
#[cfg(loom)]
unsafe impl Sync for Watch {}
