//! Plain Rust: what all others must agree with.

use super::{GROUP, Lanes, Probe, below, group};

/// The lanes of plain Rust.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// The selected bits, run by run: masks that a builder chooses have few runs.
#[inline(always)]
pub(super) fn extract(word: u64, mut mask: u64) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while mask != 0 {
        let first = mask.trailing_zeros();
        let run = (!(mask >> first)).trailing_zeros();
        let ones = u64::MAX >> (64 - run);
        bits |= (word >> first & ones) << at;
        at += run;
        mask &= !(ones << first);
    }
    bits
}

impl Lanes for Portable {
    type Vector = u32;

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        extract(word, mask)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> u32 {
        word
    }

    #[inline(always)]
    fn matches<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        probe: &Probe<u32, RANGES, TERNARY>,
    ) -> u32 {
        let words = group::<RANGES, TERNARY>(words, count);
        let row = |index: usize| -> &[u32; GROUP] {
            words[index * count..].first_chunk().expect("`group` checks the length")
        };
        // A lane that matches stays all zeros; in this form the compiler takes the vectors that every processor has.
        let mut misses = [0_u32; GROUP];
        let mut at = 0;
        for key in probe.ranges {
            let (low, span) = (row(at), row(at + 1));
            for lane in 0..GROUP {
                misses[lane] |= u32::from(key.wrapping_sub(low[lane]) > span[lane]);
            }
            at += 2;
        }
        let (low, span) = (row(at), row(at + 1));
        let (key_low, key_high) = (probe.ports as u16, (probe.ports >> 16) as u16);
        for lane in 0..GROUP {
            let is_out = key_low.wrapping_sub(low[lane] as u16) > span[lane] as u16;
            let is_out_above = key_high.wrapping_sub((low[lane] >> 16) as u16) > (span[lane] >> 16) as u16;
            misses[lane] |= u32::from(is_out | is_out_above);
        }
        at += 2;
        for key in probe.ternary {
            let (value, mask) = (row(at), row(at + 1));
            for lane in 0..GROUP {
                misses[lane] |= (key ^ value[lane]) & mask[lane];
            }
            at += 2;
        }
        let hits =
            misses.iter().enumerate().fold(0, |hits, (lane, &miss)| hits | u32::from(miss == 0) << lane);
        hits & below(count)
    }

    #[inline(always)]
    fn prefetch<T>(self, _: &[T], _: usize) {}
}
