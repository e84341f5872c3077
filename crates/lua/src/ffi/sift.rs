//! The turn of a `PcapFilter`: the packets of a link are matched as bursts, and go to the next link or to the free ones.
//!
//! PERF: in a loop of Lua, each packet waits for the machine code of its filter, and for two counters of each link in memory. Here,
//! a burst is matched as one, and counted as one.

use super::core::Core;
use super::filter::Owner;
use super::layout::{Link, RawPacket};
use std::ptr::{self, NonNull};
use std::slice;

/// Packets that are matched as one burst.
const LANES: usize = 64;

/// Moves the packets of a link that a filter matches to another, and frees the others. Returns how many these are, without those that found
/// the other link full.
///
/// # Safety
/// The filter is what `sluss_lua_compile` has written as `owner`; the links, which may be the same, are links of the engine, and nobody else uses them now.
pub(super) unsafe extern "C" fn sluss_lua_sift(
    core: &Core,
    filter: &Owner,
    from: *mut Link,
    to: *mut Link,
) -> u32 {
    // SAFETY: what the caller promises.
    let mut waiting = unsafe { (*from).waiting() };
    let mut rejected = 0;
    while waiting > 0 {
        let mut packets = [ptr::null_mut(); LANES];
        let packets = &mut packets[..waiting.min(LANES)];
        waiting -= packets.len();
        // SAFETY: what the caller promises: `from` is no longer borrowed when `to` is, and its packets are the caller's.
        unsafe {
            let matching = take(&mut *from, packets, filter);
            send(core, &mut *to, chosen(packets, matching));
            chosen(packets, !matching).for_each(|packet| core.shared.free_packet(packet));
            rejected += packets.len() as u32 - matching.count_ones();
        }
    }
    rejected
}

/// Takes packets from a link, and matches them: one bit each, the lowest for the first.
///
/// # Safety
/// So many packets wait in the link, which owns them.
unsafe fn take(link: &mut Link, packets: &mut [*mut RawPacket], filter: &Owner) -> u64 {
    let count = packets.len();
    let mut lanes = [pflang::Packet::EMPTY; LANES];
    let mut bytes = 0;
    for (packet, lane) in packets.iter_mut().zip(&mut lanes) {
        *packet = link.take();
        // SAFETY: what the caller promises; the bytes of a packet lie behind its length.
        let data = unsafe {
            slice::from_raw_parts((&raw const (**packet).data).cast::<u8>(), usize::from((**packet).length))
        };
        bytes += data.len() as u64;
        *lane = data.into();
    }
    link.count_received(count, bytes);
    filter.select(&lanes[..count])
}

/// The packets whose bits are set.
fn chosen(packets: &[*mut RawPacket], mut bits: u64) -> impl Iterator<Item = NonNull<RawPacket>> {
    std::iter::from_fn(move || {
        let packet = packets.get(bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        NonNull::new(*packet)
    })
}

/// Sends packets. Those for which the link has no room are freed, and counted there.
///
/// # Safety
/// The packets are the caller's, and were allocated by the engine.
unsafe fn send(core: &Core, link: &mut Link, packets: impl Iterator<Item = NonNull<RawPacket>>) {
    let (mut room, mut sent, mut bytes) = (link.room(), 0, 0);
    for packet in packets {
        if room == 0 {
            link.counters.txdrop.count += 1.0;
            // SAFETY: what the caller promises.
            unsafe { core.shared.free_packet(packet) };
            continue;
        }
        room -= 1;
        sent += 1;
        // SAFETY: as above.
        bytes += u64::from(unsafe { packet.as_ref().length });
        link.put(packet.as_ptr());
    }
    link.count_sent(sent, bytes);
}
