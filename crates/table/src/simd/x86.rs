//! AVX2 and AVX-512.

use super::{NARROW, Ranked, Vectors, WIDE};
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("popcnt")
}

pub(super) fn has_avx512() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

/// INVARIANT of both types: they are made only within functions that are compiled for the instructions, so that what is inlined there has them.
#[derive(Clone, Copy)]
struct Avx2(());

#[derive(Clone, Copy)]
struct Avx512(());

impl Vectors for Avx2 {
    #[inline(always)]
    fn at_most16(self, numbers: &[u16; NARROW], count: u32, x: u16) -> u32 {
        // SAFETY: the type's invariant says that the instructions are there. Loads are of 32 bytes at the beginning, and 32, 64 and 96
        // bytes behind it, of the 128 that the array has; unaligned loads need no alignment.
        unsafe {
            let x = _mm256_set1_epi16(x as i16);
            let at = |i: usize| {
                let numbers = _mm256_loadu_si256(numbers.as_ptr().add(16 * i).cast());
                // number <= x, unsigned: the lesser of both is the number.
                _mm256_cmpeq_epi16(_mm256_min_epu16(numbers, x), numbers)
            };
            // Two bits of the mask for each number: packing to bytes would cross lanes.
            let mask = |i: usize| {
                u64::from(_mm256_movemask_epi8(at(i)) as u32)
                    | u64::from(_mm256_movemask_epi8(at(i + 1)) as u32) << 32
            };
            let first = _bzhi_u64(mask(0), 2 * count.min(32));
            let rest = if count > 32 { _bzhi_u64(mask(2), 2 * (count - 32)) } else { 0 };
            (first.count_ones() + rest.count_ones()) / 2
        }
    }

    #[inline(always)]
    fn at_most64(self, numbers: &[u64; WIDE], x: u64) -> u32 {
        // SAFETY: as above; loads are of the first and the second 32 of 64 bytes.
        unsafe {
            // Comparison is of numbers with a sign: turning the uppermost bit keeps the order.
            let sign = _mm256_set1_epi64x(i64::MIN);
            let x = _mm256_xor_si256(_mm256_set1_epi64x(x as i64), sign);
            let above = |i: usize| {
                let numbers = _mm256_loadu_si256(numbers.as_ptr().add(4 * i).cast());
                let above = _mm256_cmpgt_epi64(_mm256_xor_si256(numbers, sign), x);
                _mm256_movemask_pd(_mm256_castsi256_pd(above)) as u32
            };
            WIDE as u32 - (above(0) | above(1) << 4).count_ones()
        }
    }
}

impl Vectors for Avx512 {
    #[inline(always)]
    fn at_most16(self, numbers: &[u16; NARROW], count: u32, x: u16) -> u32 {
        // SAFETY: as above; loads are of the first and the second 64 of 128 bytes.
        unsafe {
            let x = _mm512_set1_epi16(x as i16);
            let mask = |i: usize| {
                _mm512_cmple_epu16_mask(_mm512_loadu_si512(numbers.as_ptr().add(32 * i).cast()), x)
            };
            let first = _bzhi_u32(mask(0), count.min(32));
            let rest = if count > 32 { _bzhi_u32(mask(1), count - 32) } else { 0 };
            first.count_ones() + rest.count_ones()
        }
    }

    #[inline(always)]
    fn at_most64(self, numbers: &[u64; WIDE], x: u64) -> u32 {
        // SAFETY: as above; one load of all 64 bytes.
        unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            u32::from(_mm512_cmple_epu64_mask(numbers, _mm512_set1_epi64(x as i64))).count_ones()
        }
    }
}

macro_rules! look_ups {
    ($vectors:ident, $features:literal, $one:ident, $many:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn $one<T: Ranked>(table: &T, key: T::Key) -> u32 {
            table.rank_by($vectors(()), key)
        }

        #[target_feature(enable = $features)]
        pub(super) fn $many<T: Ranked>(table: &T, keys: &[T::Key], ranks: &mut [u32]) {
            keys.iter().zip(ranks).for_each(|(&key, rank)| *rank = table.rank_by($vectors(()), key));
        }
    };
}

look_ups!(Avx2, "avx2,bmi2,popcnt", rank_avx2, ranks_avx2);
look_ups!(Avx512, "avx512f,avx512bw,avx2,bmi2,popcnt", rank_avx512, ranks_avx512);
