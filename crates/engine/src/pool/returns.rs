//! The way home for packets freed by another worker: a stack that anybody pushes to and the owner takes whole.
//!
//! ```text
//! add(packet):   waits with others of its region until there are enough for a bundle
//! push(bundle):  bundle.next = top;  top = bundle     (compare and swap)
//! take():        all = swap(top, none)                (one atomic operation, whatever was pushed)
//! ```
//!
//! Bundles need no memory of their own: the bytes of one packet of a bundle say where in the region all of them are. The
//! owner takes all there is, so the stack has no ABA problem.

use super::Burst;
use super::packet::{MAX_PAYLOAD, Packet};
use super::region::{self, Start};
use crate::sync::{AtomicPtr, Ordering};
use std::ptr;

/// A stack of bundles.
#[derive(Debug, Default)]
pub(super) struct Returns {
    top: AtomicPtr<Bundle>,
}

/// The contents of a bundle, written over the bytes of its last packet: 16 cache lines.
///
/// PERF: what crosses from one core to the other is a quarter of a line for four packets, not half of one.
#[repr(C)]
struct Bundle {
    next: *mut Bundle,
    count: u32,
    offsets: [u32; BUNDLE],
}

/// Packets of a bundle.
pub(super) const BUNDLE: usize = 253;

const _: () = assert!(size_of::<Bundle>() == 1024 && 64 + size_of::<Bundle>() <= MAX_PAYLOAD);

impl Returns {
    /// Pushes packets of this region, at most [`BUNDLE`].
    ///
    /// # Safety
    /// The region begins at `start`. Whoever owned these packets, each at its chunk's first position, has given them up.
    unsafe fn push(&self, start: Start, offsets: &[u32]) {
        let Some(&carrier) = offsets.last() else { return };
        let bundle = bundle_in(start, carrier);
        // SAFETY: the bundle lies in the bytes of a packet that is ours until it is pushed.
        unsafe {
            (&raw mut (*bundle).count).write(offsets.len() as u32);
            let to = (&raw mut (*bundle).offsets).cast::<u32>();
            to.copy_from_nonoverlapping(offsets.as_ptr(), offsets.len().min(BUNDLE));
        }
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: the bundle is ours until the exchange succeeds.
            unsafe { (&raw mut (*bundle).next).write(top) };
            match self.top.compare_exchange_weak(top, bundle, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes everything, onto `free`. The region begins at `start`. Returns whether there was something.
    #[inline]
    pub(super) fn take(&self, start: Start, free: &mut Vec<Packet>) -> bool {
        let is_empty = self.top.load(Ordering::Relaxed).is_null();
        if !is_empty {
            self.take_all(start, free);
        }
        !is_empty
    }

    #[inline(never)]
    fn take_all(&self, start: Start, free: &mut Vec<Packet>) {
        let mut bundle = self.top.swap(ptr::null_mut(), Ordering::Acquire);
        while !bundle.is_null() {
            // SAFETY: the swap made the chain ours; `push` wrote the fields, as many offsets as it says, each that of a packet
            // which was given up.
            unsafe {
                let count = ((*bundle).count as usize).min(BUNDLE);
                let offsets = std::slice::from_raw_parts((&raw const (*bundle).offsets).cast::<u32>(), count);
                free.extend(offsets.iter().map(|&offset| Packet::from_raw(start.packet(offset))));
                bundle = (*bundle).next;
            }
        }
    }
}

/// Where a bundle lies in its carrier: the line after the packet's first one, aligned as packets at their first positions
/// begin at multiples of 64.
fn bundle_in(start: Start, carrier: u32) -> *mut Bundle {
    start.packet(carrier).as_ptr().cast::<u8>().wrapping_add(64).cast()
}

/// Sends one packet to the region it belongs to, at once.
pub(super) fn send(packet: Packet) {
    let start = Start::of(&packet);
    let home = start.home_of(&packet);
    packet.forget();
    // SAFETY: the region lives while its packets are out, as this one was, which its owner has given up.
    unsafe { region::returns_at(start).push(start, &[home]) };
}

/// Packets of other regions, on their way back.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    regions: Vec<Waiting>,
    count: usize,
}

/// Packets of one region, given up by whoever added them.
#[derive(Debug)]
struct Waiting {
    start: Start,
    /// Where they are at home.
    offsets: Vec<u32>,
}

impl Foreign {
    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds a packet.
    pub(crate) fn add(&mut self, packet: Packet) {
        let start = Start::of(&packet);
        let home = start.home_of(&packet);
        packet.forget();
        self.count += 1;
        let waiting = self.of_region(start);
        waiting.offsets.push(home);
        if waiting.offsets.len() >= BUNDLE {
            self.send();
        }
    }

    /// Adds packets of one region; those of several are left to be sorted.
    ///
    /// PERF: those of one region, as a link's mostly are, are looked at together: without that, and with an address of 8 bytes for
    /// each, the receiver of a link between threads spent a third of its time here.
    pub(crate) fn add_all<'a>(&mut self, burst: Burst<'a>) -> Result<(), Burst<'a>> {
        let Some(first) = burst.first() else { return Ok(()) };
        let start = Start::of(first);
        if !start.owns(&burst) {
            return Err(burst);
        }
        let (from, count) = burst.into_slots();
        // SAFETY: the burst gave these packets up; what is left of them are numbers.
        let packets = unsafe { std::slice::from_raw_parts(from.as_ptr(), count) };
        let waiting = self.of_region(start);
        waiting.offsets.extend(packets.iter().map(|packet| start.home_of(packet)));
        let is_enough = waiting.offsets.len() >= BUNDLE;
        self.count += count;
        if is_enough {
            self.send();
        }
        Ok(())
    }

    fn of_region(&mut self, start: Start) -> &mut Waiting {
        let known = self.regions.iter().position(|waiting| waiting.start == start);
        let index = known.unwrap_or_else(|| {
            self.regions.push(Waiting { start, offsets: Vec::with_capacity(2 * BUNDLE) });
            self.regions.len() - 1
        });
        &mut self.regions[index]
    }

    /// Sends all to the regions they belong to.
    pub(crate) fn send(&mut self) {
        for Waiting { start, offsets } in &mut self.regions {
            for bundle in offsets.chunks(BUNDLE) {
                // SAFETY: the region lives while its packets are out, and these are: `add` and `add_all` took them from their owners,
                // and know where they are at home.
                unsafe { region::returns_at(*start).push(*start, bundle) };
            }
            offsets.clear();
        }
        self.count = 0;
    }
}
