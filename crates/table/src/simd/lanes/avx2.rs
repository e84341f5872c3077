//! AVX2: a group is two vectors of eight lanes.

use super::portable::extract;
use super::{Lanes, Probe, Task, below, group, has_fast_pext};
use std::arch::x86_64::*;
use std::sync::LazyLock;

/// Proof that the processor has AVX2, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    #[inline]
    pub(super) fn new() -> Option<Avx2> {
        static HAS: LazyLock<bool> = LazyLock::new(|| {
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && has_fast_pext()
        });
        HAS.then_some(Avx2(()))
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn run_here<T: Task>(lanes: Avx2, task: T) -> T::Output {
    task.run(lanes)
}

#[inline]
pub(super) fn run<T: Task>(lanes: Avx2, task: T) -> T::Output {
    // SAFETY: `lanes` is the proof that the processor has these instructions; those with AVX2 have popcnt and lzcnt.
    unsafe { run_here(lanes, task) }
}

impl Avx2 {
    /// The lanes from `first` on, 0 or 8, of a group with its padding.
    #[inline(always)]
    fn half<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        first: usize,
        probe: &Probe<__m256i, RANGES, TERNARY>,
    ) -> u32 {
        debug_assert!(
            words.len() >= (super::rows(RANGES, TERNARY) - 1) * count + super::PADDING && first <= 8
        );
        macro_rules! row {
            ($index:expr) => {
                _mm256_loadu_si256(words.as_ptr().add($index * count + first).cast())
            };
        }
        // SAFETY: `words` comes from `group`, so that sixteen words can be read from the start of each row; `first` is 0 or 8; and `self` is
        // the proof that the processor has AVX2.
        unsafe {
            let mut hits = _mm256_set1_epi32(-1);
            for i in 0..RANGES {
                let offset = _mm256_sub_epi32(probe.ranges[i], row!(2 * i));
                let least = _mm256_min_epu32(offset, row!(2 * i + 1));
                hits = _mm256_and_si256(hits, _mm256_cmpeq_epi32(least, offset));
            }
            let offset = _mm256_sub_epi16(probe.ports, row!(2 * RANGES));
            let least = _mm256_min_epu16(offset, row!(2 * RANGES + 1));
            hits = _mm256_and_si256(hits, _mm256_cmpeq_epi32(least, offset));
            let mut differs = _mm256_setzero_si256();
            for i in RANGES + 1..RANGES + 1 + TERNARY {
                let bits = _mm256_xor_si256(probe.ternary[i - RANGES - 1], row!(2 * i));
                differs = _mm256_or_si256(differs, _mm256_and_si256(bits, row!(2 * i + 1)));
            }
            hits = _mm256_and_si256(hits, _mm256_cmpeq_epi32(differs, _mm256_setzero_si256()));
            _mm256_movemask_ps(_mm256_castsi256_ps(hits)).cast_unsigned()
        }
    }
}

impl Lanes for Avx2 {
    type Vector = __m256i;

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        if cfg!(miri) {
            return extract(word, mask);
        }
        // SAFETY: `self` is the proof that the processor has BMI2.
        unsafe { _pext_u64(word, mask) }
    }

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        // SAFETY: `self` is the proof that the processor has AVX2.
        unsafe { _mm256_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    fn matches<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        probe: &Probe<__m256i, RANGES, TERNARY>,
    ) -> u32 {
        let words = group::<RANGES, TERNARY>(words, count);
        (self.half(words, count, 0, probe) | self.half(words, count, 8, probe) << 8) & below(count)
    }

    #[inline(always)]
    fn prefetch<T>(self, slice: &[T], index: usize) {
        if let Some(element) = slice.get(index) {
            // SAFETY: a hint, to an address within the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
        }
    }
}
