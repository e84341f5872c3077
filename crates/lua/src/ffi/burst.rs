//! What apps do that move packets without looking at them, or with a filter alone: the packets of a link by one call.
//!
//! PERF: a loop in Lua loads and stores the counters of a link and of the engine for each packet, and checks each that comes off the ring. Here they
//! are counted together.

use super::core::{Core, home};
use super::layout::{Link, RING, RawPacket, Shared};
use super::symbols::borrowed;
use std::ptr::{self, NonNull};

/// Machine code of a filter: of the bytes of a packet, how many there are, and how many there were, to whether it matches.
type Code = unsafe extern "C" fn(*const u8, usize, u32) -> u32;

/// Packets, and the bytes that they have.
#[derive(Clone, Copy, Default)]
struct Count {
    packets: usize,
    bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, length: u16) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }
}

/// Packets that become free, and what they take of an Ethernet line, in bytes.
#[derive(Default)]
struct Freed {
    count: Count,
    on_line: u64,
}

impl Freed {
    #[inline]
    fn add(&mut self, length: u16, times: u64) {
        self.count.packets += times as usize;
        self.count.bytes += times * u64::from(length);
        self.on_line += times * (u64::from(length.max(60)) + 24);
    }

    /// Puts a packet among the free ones, as `free` of `core.packet`.
    ///
    /// # Safety
    /// The packet is the caller's, and one of the engine, which lives.
    #[inline]
    unsafe fn put(&mut self, shared: &Shared, packet: *mut RawPacket) {
        // SAFETY: what the caller promises. The list is mapped while the engine lives, and has room for all packets that there are.
        unsafe {
            self.add((*packet).length, 1);
            let home = home(NonNull::new_unchecked(packet).cast()).cast::<RawPacket>().as_ptr();
            (*home).length = 0;
            let free = (*shared.free).free;
            (&raw mut (*shared.free).list).cast::<*mut RawPacket>().add(free as usize).write(home);
            (*shared.free).free = free + 1;
        }
    }

    /// Counts them.
    ///
    /// # Safety
    /// The engine lives.
    unsafe fn settle(self, shared: &Shared) {
        // SAFETY: the counters are memory of the engine.
        unsafe {
            (*shared.frees).count += self.count.packets as u64;
            (*shared.freebytes).count += self.count.bytes;
            (*shared.freebits).count += 8 * self.on_line;
        }
    }
}

/// The slot behind one of a ring.
#[inline]
fn next(slot: usize) -> usize {
    (slot + 1) & (RING - 1)
}

/// Sends copies of a packet to a link, as `transmit(link, clone(packet))` as many times. Returns how many are missing since there is no memory for
/// more packets.
///
/// # Safety
/// The packet and the link are the engine's, which lives; nobody else uses it now.
pub(super) unsafe extern "C" fn sluss_lua_send_copies(
    core: *mut Core,
    packet: *const RawPacket,
    to: *mut Link,
    count: i32,
) -> u32 {
    // SAFETY: what the caller promises. Each packet has room for a line more than the longest, so that whole lines are copied.
    unsafe {
        let length = (*packet).length;
        let lines = (2 + usize::from(length)).div_ceil(64);
        let count = count.max(0) as usize;
        let fitting = count.min((*to).room());
        let mut write = (*to).write as usize & (RING - 1);
        let mut sent = 0;
        let free = (*core).shared.free;
        while sent < fitting {
            if (*free).free == 0 && (*core).more_packets() == 0 {
                break;
            }
            let part = (fitting - sent).min((*free).free as usize);
            let end = (*free).free as usize;
            let list = (&raw const (*free).list).cast::<*mut RawPacket>();
            for index in 1..=part {
                let copy = list.add(end - index).read();
                for line in 0..lines {
                    ptr::copy_nonoverlapping(
                        packet.cast::<[u8; 64]>().byte_add(64 * line),
                        copy.cast::<[u8; 64]>().byte_add(64 * line),
                        1,
                    );
                }
                if (*core).shared.stamps != 0 {
                    borrowed(NonNull::new_unchecked(copy)).clear_metadata();
                }
                (*to).packets[write] = copy;
                write = next(write);
            }
            (*free).free -= part as i32;
            sent += part;
        }
        (*to).write = write as i16;
        (*to).count_sent(sent, sent as u64 * u64::from(length));
        if sent < fitting {
            return (count - sent) as u32;
        }
        // Those for which the link has no room come and go.
        let dropped = (count - sent) as u64;
        (*to).counters.txdrop.count += dropped as f64;
        let mut freed = Freed::default();
        freed.add(length, dropped);
        freed.settle(&(*core).shared);
        0
    }
}

/// Frees the packets of a link, as `free(receive(link))` for each.
///
/// # Safety
/// The link is the engine's, which lives; nobody else uses it now.
pub(super) unsafe extern "C" fn sluss_lua_free_all(core: *mut Core, from: *mut Link) {
    // SAFETY: what the caller promises; packets in a link belong to it.
    unsafe {
        let mut freed = Freed::default();
        let mut read = (*from).read as usize & (RING - 1);
        for _ in 0..(*from).waiting() {
            freed.put(&(*core).shared, (*from).packets[read]);
            read = next(read);
        }
        (*from).read = read as i32;
        freed.settle(&(*core).shared);
    }
}

/// Moves the packets of a link that a filter matches to another, and frees the others. Returns how many these are, without those that found the other
/// link full.
///
/// # Safety
/// The code is that of a filter, and is kept; the links, which may be the same, are the engine's, which lives; nobody else uses them now.
pub(super) unsafe extern "C" fn sluss_lua_sift(
    core: *mut Core,
    code: Code,
    from: *mut Link,
    to: *mut Link,
) -> u32 {
    // SAFETY: what the caller promises; packets in a link belong to it, and their bytes lie behind their length.
    unsafe {
        let waiting = (*from).waiting();
        // Each packet that is received makes room, if the link is the same.
        let mut room = (*to).room() + if ptr::eq(from, to) { waiting } else { 0 };
        let (mut read, mut write) = ((*from).read as usize & (RING - 1), (*to).write as usize & (RING - 1));
        let (mut sent, mut freed) = (Count::default(), Freed::default());
        let (mut rejected, mut dropped) = (0, 0);
        for _ in 0..waiting {
            let packet = (*from).packets[read];
            read = next(read);
            let length = (*packet).length;
            let data = (&raw const (*packet).data).cast::<u8>();
            let is_match = code(data, usize::from(length), u32::from(length)) != 0;
            if is_match && room > 0 {
                room -= 1;
                (*to).packets[write] = packet;
                write = next(write);
                sent.add(length);
            } else {
                rejected += u32::from(!is_match);
                dropped += u32::from(is_match);
                freed.put(&(*core).shared, packet);
            }
        }
        (*from).read = read as i32;
        (*to).write = write as i16;
        (*to).count_sent(sent.packets, sent.bytes);
        (*to).counters.txdrop.count += f64::from(dropped);
        freed.settle(&(*core).shared);
        rejected
    }
}
