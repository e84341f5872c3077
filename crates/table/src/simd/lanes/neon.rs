//! NEON: a group is four vectors of four lanes. Every 64-bit processor of ARM has it.

use super::portable::extract;
use super::{Lanes, Probe, below, group};
use std::arch::aarch64::*;

/// The lanes of NEON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon;

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
        let quarter = |first: usize| -> u32 {
            // SAFETY: `group` checked that sixteen words can be read from the start of each row, and `first` is at most 12.
            unsafe {
                let row = |index: usize| vld1q_u32(words.as_ptr().add(index * count + first));
                let mut at = 0;
                let mut hits = vdupq_n_u32(u32::MAX);
                for key in probe.ranges {
                    hits = vandq_u32(hits, vcleq_u32(vsubq_u32(key, row(at)), row(at + 1)));
                    at += 2;
                }
                let ports = vreinterpretq_u16_u32(probe.ports);
                let offset = vsubq_u16(ports, vreinterpretq_u16_u32(row(at)));
                let least = vminq_u16(offset, vreinterpretq_u16_u32(row(at + 1)));
                let (least, offset) = (vreinterpretq_u32_u16(least), vreinterpretq_u32_u16(offset));
                hits = vandq_u32(hits, vceqq_u32(least, offset));
                at += 2;
                for key in probe.ternary {
                    // All bits where a selected bit differs, none where none does.
                    let differs = vtstq_u32(veorq_u32(key, row(at)), row(at + 1));
                    hits = vbicq_u32(hits, differs);
                    at += 2;
                }
                vaddvq_u32(vandq_u32(hits, vld1q_u32([1, 2, 4, 8].as_ptr())))
            }
        };
        (quarter(0) | quarter(4) << 4 | quarter(8) << 8 | quarter(12) << 12) & below(count)
    }

    #[inline(always)]
    fn prefetch<T>(self, _: &[T], _: usize) {}
}
