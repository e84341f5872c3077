//! AVX-512: a group is one vector.

use super::{Lanes, Probe, Task, below, group, has_fast_pext};
use std::arch::x86_64::*;
use std::sync::LazyLock;

/// Proof that the processor has AVX-512F and BW, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    #[inline]
    pub(super) fn new() -> Option<Avx512> {
        static HAS: LazyLock<bool> = LazyLock::new(|| {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("bmi1")
                && has_fast_pext()
        });
        HAS.then_some(Avx512(()))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,popcnt,lzcnt")]
fn run_here<T: Task>(lanes: Avx512, task: T) -> T::Output {
    task.run(lanes)
}

#[inline]
pub(super) fn run<T: Task>(lanes: Avx512, task: T) -> T::Output {
    // SAFETY: `lanes` is the proof that the processor has these instructions; those with AVX-512 have AVX2, popcnt and lzcnt.
    unsafe { run_here(lanes, task) }
}

impl Lanes for Avx512 {
    type Vector = __m512i;

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        // SAFETY: `self` is the proof that the processor has BMI2.
        unsafe { _pext_u64(word, mask) }
    }

    #[inline(always)]
    fn splat(self, word: u32) -> __m512i {
        // SAFETY: `self` is the proof that the processor has AVX-512F.
        unsafe { _mm512_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    fn matches<const RANGES: usize, const TERNARY: usize>(
        self,
        words: &[u32],
        count: usize,
        probe: &Probe<__m512i, RANGES, TERNARY>,
    ) -> u32 {
        let words = group::<RANGES, TERNARY>(words, count);
        macro_rules! row {
            ($index:expr) => {
                _mm512_loadu_si512(words.as_ptr().add($index * count).cast())
            };
        }
        // SAFETY: `group` checked that sixteen words can be read from the start of each row, and `self` is the proof that the processor
        // has AVX-512F and BW.
        unsafe {
            let mut hits: __mmask16 = u16::MAX;
            for i in 0..RANGES {
                let offset = _mm512_sub_epi32(probe.ranges[i], row!(2 * i));
                hits = _mm512_mask_cmple_epu32_mask(hits, offset, row!(2 * i + 1));
            }
            let offset = _mm512_sub_epi16(probe.ports, row!(2 * RANGES));
            hits = _mm512_mask_cmpeq_epi32_mask(hits, _mm512_min_epu16(offset, row!(2 * RANGES + 1)), offset);
            for i in RANGES + 1..RANGES + 1 + TERNARY {
                let bits = _mm512_xor_si512(probe.ternary[i - RANGES - 1], row!(2 * i));
                hits = _mm512_mask_testn_epi32_mask(hits, bits, row!(2 * i + 1));
            }
            u32::from(hits) & below(count)
        }
    }

    #[inline(always)]
    fn prefetch<T>(self, slice: &[T], index: usize) {
        if let Some(element) = slice.get(index) {
            // SAFETY: a hint, to an address within the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
        }
    }
}
