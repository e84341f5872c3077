//! The mask VM with AVX2: a column is eight registers, an answer eight sign masks of 8 bits. Fetches are plain loads:
//! AVX2's gathers are known to be slower than these on many processors.

use super::machine::{LANES, Lanes, Machine, Numbers};
use super::program::MaskProgram;
use crate::exec::Packet;
use std::arch::x86_64::*;
use std::sync::LazyLock;

/// Proof that the processor has AVX2, and BMI1 and 2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// Asked once.
    pub(super) fn new() -> Option<Avx2> {
        static PROOF: LazyLock<Option<Avx2>> = LazyLock::new(Avx2::detect);
        *PROOF
    }

    fn detect() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx2(()))
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn run(isa: Avx2, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
    machine.run(isa, program, packets);
}

/// Eight answers as one.
macro_rules! mask {
    ($g:ident => $holds:expr) => {{
        let mut mask = 0;
        for $g in 0..8 {
            let holds: __m256i = $holds;
            mask |= u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(holds)) as u8) << (8 * $g);
        }
        mask
    }};
}

impl Lanes for Avx2 {
    fn run(self, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { run(self, machine, program, packets) }
    }

    #[inline(always)]
    fn equal(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm256_set1_epi32(k as i32);
            mask!(g => _mm256_cmpeq_epi32(load(a, g), k))
        }
    }

    #[inline(always)]
    fn equal_masked(self, a: &Numbers, bits: u32, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (bits, k) = (_mm256_set1_epi32(bits as i32), _mm256_set1_epi32(k as i32));
            mask!(g => _mm256_cmpeq_epi32(_mm256_and_si256(load(a, g), bits), k))
        }
    }

    #[inline(always)]
    fn below(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm256_set1_epi32(k as i32);
            !mask!(g => at_least(load(a, g), k))
        }
    }

    #[inline(always)]
    fn above(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm256_set1_epi32(k as i32);
            !mask!(g => at_least(k, load(a, g)))
        }
    }

    #[inline(always)]
    fn in_range(self, a: &Numbers, low: u32, span: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (low, span) = (_mm256_set1_epi32(low as i32), _mm256_set1_epi32(span as i32));
            mask!(g => at_least(span, _mm256_sub_epi32(load(a, g), low)))
        }
    }

    #[inline(always)]
    fn equal_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe { mask!(g => _mm256_cmpeq_epi32(load(a, g), load(b, g))) }
    }

    #[inline(always)]
    fn below_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe { !mask!(g => at_least(load(a, g), load(b, g))) }
    }

    #[inline(always)]
    fn any_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let zero = _mm256_setzero_si256();
            !mask!(g => _mm256_cmpeq_epi32(_mm256_and_si256(load(a, g), load(b, g)), zero))
        }
    }

    #[inline(always)]
    fn bounds(self, captured: &Numbers, base: &Numbers, end: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let end = _mm256_set1_epi32(end as i32);
            mask!(g => {
                let base = load(base, g);
                let sum = _mm256_add_epi32(base, end);
                _mm256_and_si256(at_least(sum, base), at_least(load(captured, g), sum))
            })
        }
    }
}

/// `a >= b`, unsigned.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn at_least(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a) }
}

/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn load(numbers: &Numbers, g: usize) -> __m256i {
    // SAFETY: eight numbers, at a multiple of 32 bytes from where numbers are aligned to 64.
    unsafe { _mm256_load_si256(numbers.0[8 * g..8 * g + 8].as_ptr().cast()) }
}
