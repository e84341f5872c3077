//! The mask VM in plain Rust: for any processor, and what the others are tested against.

use super::machine::{LANES, Lanes, Machine, Numbers};
use super::program::MaskProgram;
use crate::exec::Packet;

/// The instructions of any processor.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Lanes for Portable {
    fn run(self, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        machine.run(self, program, packets);
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
fn mask(holds: impl Fn(usize) -> bool) -> u64 {
    (0..LANES).fold(0, |mask, i| mask | u64::from(holds(i)) << i)
}
