//! The mask VM in plain Rust: for any processor, and what the others are tested against.

use super::machine::{LANES, Lanes, Machine, Numbers, PARTS, Starts};
use super::program::Program;
use crate::exec::Packet;

/// The instructions of any processor.
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// What is read for a packet that is not there.
static NOTHING: [u8; 8] = [0; 8];

impl Lanes for Portable {
    fn run(
        self,
        machine: &mut Machine,
        program: &Program,
        packets: &[[Packet<'_>; LANES]],
        lanes: [u64; PARTS],
    ) {
        machine.run(self, program, packets, lanes);
    }

    #[inline(always)]
    fn admit(
        self,
        packets: &[Packet<'_>; LANES],
        starts: &mut Starts,
        captured: &mut Numbers,
        wire_len: Option<&mut Numbers>,
    ) {
        for (lane, packet) in packets.iter().enumerate() {
            starts.0[lane] = packet.data().as_ptr();
            captured.0[lane] = packet.data().len() as u32;
        }
        for (wire_len, packet) in wire_len.into_iter().flat_map(|wire_len| &mut wire_len.0).zip(packets) {
            *wire_len = packet.wire_len();
        }
    }

    /// PERF: addresses first, then the loads, none of which waits for a branch.
    #[inline(always)]
    unsafe fn fetch4(
        self,
        lanes: u64,
        starts: &Starts,
        base: Option<&Numbers>,
        offset: u32,
        dst: &mut Numbers,
    ) {
        let from = addresses(lanes, starts, base, offset);
        for (dst, from) in dst.0.iter_mut().zip(from) {
            // SAFETY: the caller's promise for packets in `lanes`; `NOTHING` for others.
            *dst = u32::from_le_bytes(unsafe { from.cast::<[u8; 4]>().read() });
        }
    }

    #[inline(always)]
    unsafe fn fetch8(
        self,
        lanes: u64,
        starts: &Starts,
        base: Option<&Numbers>,
        offset: u32,
        [low, high]: [&mut Numbers; 2],
    ) {
        let from = addresses(lanes, starts, base, offset);
        for ((low, high), from) in low.0.iter_mut().zip(&mut high.0).zip(from) {
            // SAFETY: as above.
            let both = u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() });
            (*low, *high) = (both as u32, (both >> 32) as u32);
        }
    }

    #[inline(always)]
    fn equal(self, a: &Numbers, k: u32) -> u64 {
        mask(|i| a.0[i] == k)
    }

    #[inline(always)]
    fn equal_masked(self, a: &Numbers, bits: u32, k: u32) -> u64 {
        mask(|i| a.0[i] & bits == k)
    }

    #[inline(always)]
    fn any(self, a: &Numbers, bits: u32) -> u64 {
        mask(|i| a.0[i] & bits != 0)
    }

    #[inline(always)]
    fn below(self, a: &Numbers, k: u32) -> u64 {
        mask(|i| a.0[i] < k)
    }

    #[inline(always)]
    fn above(self, a: &Numbers, k: u32) -> u64 {
        mask(|i| a.0[i] > k)
    }

    #[inline(always)]
    fn in_range(self, a: &Numbers, low: u32, span: u32) -> u64 {
        mask(|i| a.0[i].wrapping_sub(low) <= span)
    }

    #[inline(always)]
    fn equal_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        mask(|i| a.0[i] == b.0[i])
    }

    #[inline(always)]
    fn below_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        mask(|i| a.0[i] < b.0[i])
    }

    #[inline(always)]
    fn any_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        mask(|i| a.0[i] & b.0[i] != 0)
    }

    #[inline(always)]
    fn bounds(self, captured: &Numbers, base: &Numbers, end: u32) -> u64 {
        mask(|i| u64::from(base.0[i]) + u64::from(end) <= u64::from(captured.0[i]))
    }
}

#[inline(always)]
fn addresses(lanes: u64, starts: &Starts, base: Option<&Numbers>, offset: u32) -> [*const u8; LANES] {
    let mut from = starts.0;
    if let Some(base) = base {
        for (from, base) in from.iter_mut().zip(&base.0) {
            *from = from.wrapping_add(*base as usize);
        }
    }
    for (i, from) in from.iter_mut().enumerate() {
        let there = from.wrapping_add(offset as usize);
        *from = if lanes >> i & 1 == 1 { there } else { NOTHING.as_ptr() };
    }
    from
}

#[inline(always)]
fn mask(holds: impl Fn(usize) -> bool) -> u64 {
    (0..LANES).fold(0, |mask, i| mask | u64::from(holds(i)) << i)
}
