//! Plain code: for any processor, and what the others are tested against.

use super::{HEAD, LINE, NARROW, Vectors, WIDE};

#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    fn at_most16(self, numbers: &[u16; NARROW], count: u32, x: u16) -> u32 {
        // PERF: loops of fixed length become vector instructions; most chunks have at most 16 boundaries.
        let of = |from: usize, to: usize| -> u16 {
            (from..to).map(|i| u16::from((i as u32) < count) & u16::from(numbers[i] <= x)).sum()
        };
        let rest = if count > 16 { of(16, NARROW) } else { 0 };
        u32::from(of(0, 16) + rest)
    }

    #[inline(always)]
    fn at_most_in_line(self, line: &[u16; LINE], count: u32, x: u16) -> u32 {
        let at_most = |i: usize| u16::from(((i - HEAD) as u32) < count) & u16::from(line[i] <= x);
        u32::from((HEAD..LINE).map(at_most).sum::<u16>())
    }

    #[inline(always)]
    fn at_most64(self, numbers: &[u64; WIDE], x: u64) -> u32 {
        numbers.iter().map(|&number| u32::from(number <= x)).sum()
    }

    #[inline(always)]
    fn ask<T>(self, _: &[T], _: usize) {}
}
