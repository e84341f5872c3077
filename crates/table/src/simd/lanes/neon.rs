//! NEON: a group is four vectors of four lanes. Every 64-bit processor of ARM has it.

use super::portable::extract;
use super::{Lanes, Probe, below, group};
use std::arch::aarch64::*;

/// The lanes of NEON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon;

impl Neon {
    /// The four lanes from `first` on, of a group with its padding.
    #[inline(always)]
    fn quarter<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        first: usize,
        probe: &Probe<uint32x4_t, RANGES, TERNARY>,
    ) -> u32 {
        debug_assert!(
            words.len() >= (super::rows(RANGES, TERNARY) - 1) * count + super::PADDING && first <= 12
        );
        macro_rules! row {
            ($index:expr) => {
                vld1q_u32(words.as_ptr().add($index * count + first))
            };
        }
        // SAFETY: `words` comes from `group`, so that sixteen words can be read from the start of each row, and `first` is at most 12.
        unsafe {
            let mut hits = vdupq_n_u32(u32::MAX);
            for i in 0..RANGES {
                let offset = vsubq_u32(probe.ranges[i], row!(2 * i));
                hits = vandq_u32(hits, vcleq_u32(offset, row!(2 * i + 1)));
            }
            let low = vreinterpretq_u16_u32(row!(2 * RANGES));
            let offset = vsubq_u16(vreinterpretq_u16_u32(probe.ports), low);
            let least = vminq_u16(offset, vreinterpretq_u16_u32(row!(2 * RANGES + 1)));
            let (least, offset) = (vreinterpretq_u32_u16(least), vreinterpretq_u32_u16(offset));
            hits = vandq_u32(hits, vceqq_u32(least, offset));
            for i in RANGES + 1..RANGES + 1 + TERNARY {
                // All bits where a selected bit differs, none where none does.
                let differs =
                    vtstq_u32(veorq_u32(probe.ternary[i - RANGES - 1], row!(2 * i)), row!(2 * i + 1));
                hits = vbicq_u32(hits, differs);
            }
            vaddvq_u32(vandq_u32(hits, vld1q_u32([1, 2, 4, 8].as_ptr())))
        }
    }
}

impl Lanes for Neon {
    type Vector = uint32x4_t;

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        extract(word, mask)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> uint32x4_t {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { vdupq_n_u32(word) }
    }

    #[inline(always)]
    fn matches<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        probe: &Probe<uint32x4_t, RANGES, TERNARY>,
    ) -> u32 {
        let words = group::<RANGES, TERNARY>(words, count);
        let mut hits = 0;
        for quarter in 0..4 {
            hits |= self.quarter(words, count, 4 * quarter, probe) << (4 * quarter);
        }
        hits & below(count)
    }

    #[inline(always)]
    fn prefetch<T>(self, _: &[T], _: usize) {}
}
