//! Links between processes: rings of packets in shared memory, with one sender and one receiver.
//!
//! Packets of one process cannot be read by another, so a ring holds their bytes: records of a length (four bytes) and the packet's bytes,
//! each beginning at a multiple of [`ALIGN`]. Positions count bytes since the ring was made, and never wrap; a record's place is its
//! position modulo the capacity, and its bytes may go on at the start of the memory.
//!
//! ```text
//!    taken up to         inserted up to                  The receiver publishes `read` (pull), and the sender `write` (push): what
//!      read ≤ nread ≤ write ≤ nwrite ≤ read + capacity   lies between these and nread or nwrite, the other side does not see yet.
//! ```

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

const ALIGN: u64 = 8;
const HEAD: u64 = 4;
/// The most bytes that a packet has.
const PAYLOAD_MAX: u64 = 10240;
const RECORD_MAX: u64 = (HEAD + PAYLOAD_MAX).next_multiple_of(ALIGN);

/// What Lua maps: this, and `capacity` bytes behind it. Each side writes to a cache line of its own.
#[repr(C, align(64))]
pub(super) struct Ring {
    state: AtomicI32,
    /// Of packets, as the program asked for; both sides must agree.
    size: u32,
    /// In bytes, a power of two.
    capacity: u64,
    receiver: Side,
    sender: Side,
}

#[repr(C, align(64))]
struct Side {
    published: AtomicU64,
    private: u64,
}

/// As `struct packet`: the length, and the bytes behind it.
type Packet = u8;

impl Ring {
    fn memory(&mut self) -> *mut u8 {
        std::ptr::from_mut(self).wrapping_add(1).cast()
    }
}

/// Exchanges `*cell` for `new` if it is `old`; whether it was.
///
/// # Safety
///
/// `cell` points to an aligned integer that is only accessed atomically.
pub(super) unsafe extern "C" fn sluss_lua_cas(cell: *const AtomicI32, old: i32, new: i32) -> bool {
    // SAFETY: what the caller promises.
    unsafe { &*cell }.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Whether there is no room for the largest packet. For the sender.
///
/// # Safety
///
/// `ring` is a ring as Lua maps it, its capacity is set, and nobody else is its sender.
pub(super) unsafe extern "C" fn sluss_lua_interlink_full(ring: *mut Ring) -> bool {
    // SAFETY: what the caller promises; what the other side writes is atomic.
    let ring = unsafe { &mut *ring };
    let used = ring.sender.private - ring.receiver.published.load(Ordering::Acquire);
    ring.capacity - used < RECORD_MAX
}

/// Copies a packet into the ring. The sender calls it only if the ring is not full.
///
/// # Safety
///
/// As for [`sluss_lua_interlink_full`], which has returned false; `packet` has as many bytes as its length says.
pub(super) unsafe extern "C" fn sluss_lua_interlink_insert(ring: *mut Ring, packet: *const Packet) {
    // SAFETY: what the caller promises. There is room for the largest record, so no byte is written that the receiver may read: it
    // reads below `published`, and has given back what is below its own.
    unsafe {
        let ring = &mut *ring;
        let length = u64::from(packet.cast::<u16>().read_unaligned());
        let at = ring.sender.private;
        let (memory, mask) = (ring.memory(), ring.capacity - 1);
        memory.add((at & mask) as usize).cast::<u32>().write(length as u32);
        let start = (at + HEAD) & mask;
        let first = length.min(ring.capacity - start);
        memory.add(start as usize).copy_from_nonoverlapping(packet.add(2), first as usize);
        memory.copy_from_nonoverlapping(packet.add(2 + first as usize), (length - first) as usize);
        ring.sender.private = at + (HEAD + length).next_multiple_of(ALIGN);
    }
}

/// Lets the receiver see what was inserted.
///
/// # Safety
///
/// As for [`sluss_lua_interlink_full`].
pub(super) unsafe extern "C" fn sluss_lua_interlink_push(ring: *mut Ring) {
    // SAFETY: what the caller promises.
    let sender = unsafe { &(*ring).sender };
    sender.published.store(sender.private, Ordering::Release);
}

/// Whether there is nothing to extract. For the receiver.
///
/// # Safety
///
/// `ring` is a ring as Lua maps it, its capacity is set, and nobody else is its receiver.
pub(super) unsafe extern "C" fn sluss_lua_interlink_empty(ring: *mut Ring) -> bool {
    // SAFETY: what the caller promises.
    let ring = unsafe { &*ring };
    ring.receiver.private == ring.sender.published.load(Ordering::Acquire)
}

/// Copies the next packet of the ring into `packet`. The receiver calls it only if the ring is not empty.
///
/// # Safety
///
/// As for [`sluss_lua_interlink_empty`], which has returned false; `packet` has room for the largest packet.
pub(super) unsafe extern "C" fn sluss_lua_interlink_extract(ring: *mut Ring, packet: *mut Packet) {
    // SAFETY: what the caller promises. What the sender wrote before it published is visible, and it does not write there until this side
    // has published; a length that another process has damaged is cut to what a packet holds.
    unsafe {
        let ring = &mut *ring;
        let at = ring.receiver.private;
        let (memory, mask) = (ring.memory(), ring.capacity - 1);
        let length = u64::from(memory.add((at & mask) as usize).cast::<u32>().read()).min(PAYLOAD_MAX);
        packet.cast::<u16>().write_unaligned(length as u16);
        let start = (at + HEAD) & mask;
        let first = length.min(ring.capacity - start);
        packet.add(2).copy_from_nonoverlapping(memory.add(start as usize), first as usize);
        packet.add(2 + first as usize).copy_from_nonoverlapping(memory, (length - first) as usize);
        ring.receiver.private = at + (HEAD + length).next_multiple_of(ALIGN);
    }
}

/// Lets the sender use the room of what was extracted.
///
/// # Safety
///
/// As for [`sluss_lua_interlink_empty`].
pub(super) unsafe extern "C" fn sluss_lua_interlink_pull(ring: *mut Ring) {
    // SAFETY: what the caller promises.
    let receiver = unsafe { &(*ring).receiver };
    receiver.published.store(receiver.private, Ordering::Release);
}
