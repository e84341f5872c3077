//! Sixteen of the 64 numbers of a column as a register of AVX-512, and back.

use crate::exec::mask::machine::Numbers;
use std::arch::x86_64::*;

/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
pub(super) unsafe fn load(numbers: &Numbers, g: usize) -> __m512i {
    // SAFETY: 16 numbers, at a multiple of 64 bytes from where numbers are aligned to as many.
    unsafe { _mm512_load_si512(numbers.0[16 * g..16 * g + 16].as_ptr().cast()) }
}

/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
pub(super) unsafe fn store(numbers: &mut Numbers, g: usize, x: __m512i) {
    // SAFETY: as above.
    unsafe { _mm512_store_si512(numbers.0[16 * g..16 * g + 16].as_mut_ptr().cast(), x) }
}
