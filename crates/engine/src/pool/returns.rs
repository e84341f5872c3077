//! The way home for packets freed by another worker: a stack that anybody pushes to and the owner takes whole.
//!
//! ```text
//! push(bundle):  bundle.next = top;  top = bundle     (compare and swap)
//! take():        all = swap(top, none)                (one atomic operation, whatever was pushed)
//! ```
//!
//! Bundles need no memory of their own: the bytes of the first packet of a bundle hold the addresses of the others. The
//! owner takes all there is, so the stack has no ABA problem.

use super::packet::{MAX_PAYLOAD, Packet, RawPacket};
use super::region;
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// A stack of bundles.
#[derive(Debug, Default)]
pub(super) struct Returns {
    top: AtomicPtr<Bundle>,
}

/// What is written over the bytes of a bundle's first packet.
#[repr(C)]
struct Bundle {
    next: *mut Bundle,
    /// The packet whose bytes these are.
    carrier: NonNull<RawPacket>,
    count: usize,
    others: [NonNull<RawPacket>; OTHERS],
}

/// Packets of a bundle beside the carrier.
const OTHERS: usize = 255;

const _: () = assert!(size_of::<Bundle>() + align_of::<Bundle>() <= MAX_PAYLOAD);

impl Returns {
    /// Pushes packets, all of this region.
    fn push(&self, packets: impl ExactSizeIterator<Item = Packet>) {
        debug_assert!(packets.len() <= OTHERS + 1);
        let mut packets = packets.map(|packet| packet.at_home().into_raw());
        let Some(carrier) = packets.next() else { return };
        let bundle = bundle_in(carrier);
        let mut count = 0;
        for packet in packets.take(OTHERS) {
            // SAFETY: `bundle` points into the carrier's bytes, which are ours until it is pushed; `count` is below OTHERS.
            unsafe { (&raw mut (*bundle).others[count]).write(packet) };
            count += 1;
        }
        // SAFETY: as above.
        unsafe {
            (&raw mut (*bundle).carrier).write(carrier);
            (&raw mut (*bundle).count).write(count);
        }
        self.push_bundle(bundle);
    }

    fn push_bundle(&self, bundle: *mut Bundle) {
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

    /// Takes everything, onto `free`.
    pub(super) fn take(&self, free: &mut Vec<Packet>) {
        let mut bundle = self.top.swap(ptr::null_mut(), Ordering::Acquire);
        while !bundle.is_null() {
            // SAFETY: the swap made the chain ours; `push` wrote the fields, and each address is that of a packet which it
            // owned and gave up.
            unsafe {
                let Bundle { next, carrier, count, .. } = bundle.read();
                for index in 0..count.min(OTHERS) {
                    free.push(Packet::from_raw((*bundle).others[index]));
                }
                free.push(Packet::from_raw(carrier));
                bundle = next;
            }
        }
    }
}

/// Where a bundle lies in its carrier.
fn bundle_in(carrier: NonNull<RawPacket>) -> *mut Bundle {
    // SAFETY: the line after the packet's first one lies within the chunk, and is aligned for addresses as packets at home
    // begin at multiples of 64.
    unsafe { carrier.as_ptr().cast::<u8>().add(64).cast() }
}

/// Sends packets to the regions they belong to.
pub(crate) fn give_back(packets: &mut Vec<Packet>) {
    while let Some(last) = packets.last() {
        let owner = last.as_ptr().addr().get() / region::SPAN;
        // Those of one region go together, as most do.
        let first = packets
            .iter()
            .rposition(|packet| packet.as_ptr().addr().get() / region::SPAN != owner)
            .map_or(0, |other| other + 1)
            .max(packets.len().saturating_sub(OTHERS + 1));
        // SAFETY: the region lives while its packets are out, and these are.
        let returns = unsafe { region::returns_of(last.as_ptr()) };
        returns.push(packets.drain(first..));
    }
}
