//! Packets whose memory drivers use: what is received becomes a packet, and what is sent was one.
//!
//! INVARIANT: between calls, the memory of a packet belongs either to whoever has the [`Packet`], or to a device. A call takes the packets that it is given out of
//! their lists, and puts those that it returns into others.

use super::{BURST_MAX, Dpdk, Queue};
use engine::{Burst, MAX_LARGE_PAYLOAD, Packet, Pool};
use std::ptr::NonNull;

/// The most packets that a call gives back.
const BACK_MAX: usize = 1024;
/// The most packets that a call is given to receive into: those that the driver may lack, and as many to copy frames of other memory to.
pub(in crate::dpdk) const INTO_MAX: usize = 2 * BURST_MAX;

/// `struct received` of the shim.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct RawReceived {
    back: u16,
    copied: u16,
    lost: u16,
    too_long: u16,
}

/// What has been received, beside the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::dpdk) struct Received {
    /// Packets that came with memory of a device less those of which a device has the memory now; wraps.
    pub(in crate::dpdk) taken: usize,
    /// Frames that were copied, since they were in memory of DPDK's.
    pub(in crate::dpdk) copied: u64,
    /// Frames that were lost, as they are in memory of DPDK's, and there was no packet for them.
    pub(in crate::dpdk) lost: u64,
    /// Frames that were lost, as they are longer than a packet has room for.
    pub(in crate::dpdk) too_long: u64,
}

impl Queue {
    /// Receives up to `asked` frames, which are put behind `packets`. Those of `spare` are there to receive into; some may be others afterwards.
    pub(in crate::dpdk) fn receive_into(
        &self,
        asked: usize,
        spare: &mut Vec<Packet>,
        packets: &mut Vec<Packet>,
    ) -> Received {
        let given = spare.len();
        assert!(given <= INTO_MAX, "{given} packets to receive into");
        spare.reserve(BACK_MAX - given);
        packets.reserve(BURST_MAX);
        let (raw, asked, len) = (&raw const self.port.raw, asked.min(BURST_MAX) as u16, packets.len());
        let mut received = RawReceived::default();
        // SAFETY: the port was set up, and nobody else uses the queue: it is not `Sync`. Both lists have room for all that the shim writes. The packets of `spare` are
        // given up; the shim returns each at a valid place of its chunk, in one of the lists, unless a device has its memory.
        let count = unsafe {
            spare.set_len(0);
            let (into, behind) = (spare.as_mut_ptr(), packets.as_mut_ptr().add(len));
            let receive = self.port.dpdk.0.receive_own;
            let count = receive(raw, self.number, asked, into, given as u16, behind, &raw mut received);
            spare.set_len(usize::from(received.back));
            packets.set_len(len + usize::from(count));
            usize::from(count)
        };
        Received {
            taken: (usize::from(received.back) + count).wrapping_sub(given),
            copied: u64::from(received.copied),
            lost: u64::from(received.lost),
            too_long: u64::from(received.too_long),
        }
    }

    /// Sends the first packets of a burst, none of them longer than the port's longest frame; returns how many the device has taken, with their memory. What it does not
    /// need any more is put behind `back`.
    pub(in crate::dpdk) fn give(&self, packets: &mut Burst<'_>, back: &mut Vec<Packet>) -> usize {
        // SAFETY: those that were taken are forgotten.
        let sent = unsafe { self.give_first(packets, back) };
        packets.forget_front(sent);
        sent
    }

    /// As [`Queue::give`], for packets of a list.
    pub(in crate::dpdk) fn give_waiting(&self, packets: &mut Vec<Packet>, back: &mut Vec<Packet>) -> usize {
        // SAFETY: as above.
        let sent = unsafe { self.give_first(packets, back) };
        packets.drain(..sent).for_each(std::mem::forget);
        sent
    }

    /// Puts all memory that drivers have left to this thread behind `back`.
    pub(in crate::dpdk) fn take_all_back(&self, back: &mut Vec<Packet>) {
        back.reserve(BACK_MAX);
        let len = back.len();
        // SAFETY: there is room for all that the shim writes: packets whose memory is nobody's, each at a valid place of its chunk.
        unsafe {
            let count = (self.port.dpdk.0.take_all_back)(back.as_mut_ptr().add(len));
            back.set_len(len + usize::from(count));
        }
    }

    /// # Safety
    /// The caller forgets as many of the first packets as this returns: the device has their memory.
    unsafe fn give_first(&self, packets: &[Packet], back: &mut Vec<Packet>) -> usize {
        let count = packets.len().min(BURST_MAX);
        back.reserve(BACK_MAX);
        let (raw, len, mut back_count) = (&raw const self.port.raw, back.len(), 0);
        // SAFETY: as in `receive_into`. Packets that were not taken are as before, but for their lines for devices.
        unsafe {
            let behind = back.as_mut_ptr().add(len);
            let send = self.port.dpdk.0.send_own;
            let sent = send(raw, self.number, packets.as_ptr(), count as u16, behind, &raw mut back_count);
            back.set_len(len + usize::from(back_count));
            usize::from(sent).min(count)
        }
    }
}

/// The memory of a packet, at the place where it is at home, comes back from a device.
///
/// # Safety
/// Nobody else has it.
pub(super) unsafe extern "C" fn come_back(packet: *mut u8) {
    if let Some(packet) = NonNull::new(packet) {
        // SAFETY: the shim gives an even place in the headroom of a chunk; a length was written there before, and any will do.
        unsafe { Packet::from_address(packet) }.come_back();
    }
}

/// Whether the shim and the pool have the same notion of where things are in a chunk, and which chunks are large.
pub(super) fn check_places(dpdk: Dpdk) -> Result<(), String> {
    let mut pool = Pool::new(64).map_err(|error| error.to_string())?;
    let usual = (0..64).map(|_| pool.allocate());
    let mut packets: Vec<Packet> = usual.flatten().collect();
    packets.extend(pool.allocate_for(MAX_LARGE_PAYLOAD));
    let agree = packets.iter().all(|packet| {
        let (mut lines, mut home) = (std::ptr::null(), std::ptr::null());
        let at_home = packet.data().as_ptr().wrapping_sub(2);
        // SAFETY: the shim computes with the address, and writes two.
        let is_large = unsafe { (dpdk.0.places)(at_home, &raw mut lines, &raw mut home) != 0 };
        lines == packet.device_lines().as_ptr().cast_const()
            && home == at_home
            && is_large == (packet.max_len() == MAX_LARGE_PAYLOAD)
    });
    pool.take_back_all(&mut packets);
    if agree { Ok(()) } else { Err("its shim is for packets of another layout".to_owned()) }
}
