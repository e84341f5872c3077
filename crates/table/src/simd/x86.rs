//! AVX2 and AVX-512.

use super::{AHEAD, HEAD, LINE, NARROW, Ranked, Vectors, WIDE};
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

/// Two bits for each of sixteen numbers: whether it is at most `x`. Packing to a bit each would cross lanes.
///
/// # Safety
/// The processor has AVX2, and 32 bytes can be read.
#[inline(always)]
unsafe fn at_most_sixteen(numbers: *const u16, x: __m256i) -> u32 {
    // SAFETY: as the caller promises; unaligned loads need no alignment.
    unsafe {
        let numbers = _mm256_loadu_si256(numbers.cast());
        // number <= x, unsigned: the lesser of both is the number.
        _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_min_epu16(numbers, x), numbers)) as u32
    }
}

/// The same of 32 numbers.
///
/// # Safety
/// The processor has AVX2, and 64 bytes can be read.
#[inline(always)]
unsafe fn at_most_thirty_two(numbers: *const u16, x: __m256i) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { u64::from(at_most_sixteen(numbers, x)) | u64::from(at_most_sixteen(numbers.add(16), x)) << 32 }
}

/// Asks for the cache line of an element, if there is one.
#[inline(always)]
fn ask<T>(slice: &[T], index: usize) {
    if let Some(element) = slice.get(index) {
        // SAFETY: a hint, to an address within the slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
}

impl Vectors for Avx2 {
    #[inline(always)]
    fn at_most16(self, numbers: &[u16; NARROW], count: u32, x: u16) -> u32 {
        // SAFETY: the type's invariant says that the instructions are there. Loads are of 32 or 64 bytes at the beginning, and of 64 bytes
        // behind these, of the 128 that the array has.
        unsafe {
            let (numbers, x) = (numbers.as_ptr(), _mm256_set1_epi16(x as i16));
            // PERF: what is not needed is not read, since it may lie in a line that is far away.
            if count <= 16 {
                return _bzhi_u32(at_most_sixteen(numbers, x), 2 * count).count_ones() / 2;
            }
            let first = _bzhi_u64(at_most_thirty_two(numbers, x), 2 * count.min(32));
            let rest = match count > 32 {
                true => _bzhi_u64(at_most_thirty_two(numbers.add(32), x), 2 * (count - 32)),
                false => 0,
            };
            (first.count_ones() + rest.count_ones()) / 2
        }
    }

    #[inline(always)]
    fn at_most_in_line(self, line: &[u16; LINE], count: u32, x: u16) -> u32 {
        // SAFETY: the type's invariant says that the instructions are there; the array has 64 bytes.
        unsafe {
            let mask = at_most_thirty_two(line.as_ptr(), _mm256_set1_epi16(x as i16));
            _bzhi_u64(mask >> (2 * HEAD), 2 * count).count_ones() / 2
        }
    }

    #[inline(always)]
    fn ask<T>(self, slice: &[T], index: usize) {
        ask(slice, index);
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
    fn at_most_in_line(self, line: &[u16; LINE], count: u32, x: u16) -> u32 {
        // SAFETY: as above; one load of all 64 bytes.
        unsafe {
            let line = _mm512_loadu_si512(line.as_ptr().cast());
            let mask = _mm512_cmple_epu16_mask(line, _mm512_set1_epi16(x as i16));
            _bzhi_u32(mask >> HEAD, count).count_ones()
        }
    }

    #[inline(always)]
    fn ask<T>(self, slice: &[T], index: usize) {
        ask(slice, index);
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
            if !table.is_large() {
                keys.iter().zip(ranks).for_each(|(&key, rank)| *rank = table.rank_by($vectors(()), key));
                return;
            }
            for (keys, ranks) in keys.chunks(AHEAD).zip(ranks.chunks_mut(AHEAD)) {
                keys.iter().for_each(|&key| table.ask_first($vectors(()), key));
                keys.iter().for_each(|&key| table.ask_second($vectors(()), key));
                keys.iter().zip(ranks).for_each(|(&key, rank)| *rank = table.rank_by($vectors(()), key));
            }
        }
    };
}

look_ups!(Avx2, "avx2,bmi2,popcnt", rank_avx2, ranks_avx2);
look_ups!(Avx512, "avx512f,avx512bw,avx2,bmi2,popcnt", rank_avx512, ranks_avx512);
