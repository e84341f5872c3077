//! The mask VM with AVX-512: a column is four registers, an answer four masks of 16 bits, a fetch a gather that leaves
//! alone what is masked out.

use super::machine::{LANES, Lanes, Machine, Numbers, PARTS, Starts};
use super::program::Program;
use crate::exec::Packet;
use std::arch::x86_64::*;
use std::ptr;

/// Proof that the processor has AVX-512F, BW, DQ and VL, and BMI1 and 2.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn new() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx512(()))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn run(
    isa: Avx512,
    machine: &mut Machine,
    program: &Program,
    packets: &[[Packet<'_>; LANES]],
    lanes: [u64; PARTS],
) {
    machine.run(isa, program, packets, lanes);
}

/// Four answers as one.
macro_rules! mask {
    ($g:ident => $holds:expr) => {{
        let mut mask = 0;
        for $g in 0..4 {
            let holds: __mmask16 = $holds;
            mask |= u64::from(holds) << (16 * $g);
        }
        mask
    }};
}

impl Lanes for Avx512 {
    fn run(
        self,
        machine: &mut Machine,
        program: &Program,
        packets: &[[Packet<'_>; LANES]],
        lanes: [u64; PARTS],
    ) {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { run(self, machine, program, packets, lanes) }
    }

    #[inline(always)]
    fn admit(
        self,
        packets: &[Packet<'_>; LANES],
        starts: &mut Starts,
        captured: &mut Numbers,
        mut wire_len: Option<&mut Numbers>,
    ) {
        // SAFETY: `self` is proof of the instructions. A packet is 16 bytes, an address and two lengths, so 16 of
        // them are four registers.
        unsafe {
            let address = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let lengths = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
            for g in 0..4 {
                let from: *const __m512i = packets[16 * g..16 * g + 16].as_ptr().cast();
                let (a, b) = (_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1)));
                let (c, d) = (_mm512_loadu_si512(from.add(2)), _mm512_loadu_si512(from.add(3)));
                let to: *mut __m512i = starts.0[16 * g..16 * g + 16].as_mut_ptr().cast();
                _mm512_store_si512(to, _mm512_permutex2var_epi64(a, address, b));
                _mm512_store_si512(to.add(1), _mm512_permutex2var_epi64(c, address, d));
                let first = _mm512_permutex2var_epi32(a, lengths, b);
                let second = _mm512_permutex2var_epi32(c, lengths, d);
                store(captured, g, _mm512_shuffle_i64x2::<0b01_00_01_00>(first, second));
                if let Some(wire_len) = &mut wire_len {
                    store(wire_len, g, _mm512_shuffle_i64x2::<0b11_10_11_10>(first, second));
                }
            }
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch4(
        self,
        lanes: u64,
        starts: &Starts,
        base: Option<&Numbers>,
        offset: u32,
        dst: &mut Numbers,
    ) {
        // SAFETY: `self` is proof of the instructions; the gather reads what the caller promises of the packets in
        // `lanes`, and nothing of others.
        unsafe {
            for g in 0..8 {
                let zero = _mm256_setzero_si256();
                let from = addresses(starts, base, offset, g);
                let k = (lanes >> (8 * g)) as u8;
                let numbers = _mm512_mask_i64gather_epi32::<1>(zero, k, from, ptr::null());
                _mm256_store_si256(dst.0[8 * g..8 * g + 8].as_mut_ptr().cast(), numbers);
            }
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch8(
        self,
        lanes: u64,
        starts: &Starts,
        base: Option<&Numbers>,
        offset: u32,
        [low, high]: [&mut Numbers; 2],
    ) {
        // SAFETY: as in `fetch4`.
        unsafe {
            let lows = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let highs = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            let zero = _mm512_setzero_si512();
            for g in 0..4 {
                let k = lanes >> (16 * g);
                let from = addresses(starts, base, offset, 2 * g);
                let a = _mm512_mask_i64gather_epi64::<1>(zero, k as u8, from, ptr::null());
                let from = addresses(starts, base, offset, 2 * g + 1);
                let b = _mm512_mask_i64gather_epi64::<1>(zero, (k >> 8) as u8, from, ptr::null());
                store(low, g, _mm512_permutex2var_epi32(a, lows, b));
                store(high, g, _mm512_permutex2var_epi32(a, highs, b));
            }
        }
    }

    #[inline(always)]
    fn equal(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm512_set1_epi32(k as i32);
            mask!(g => _mm512_cmpeq_epi32_mask(load(a, g), k))
        }
    }

    #[inline(always)]
    fn equal_masked(self, a: &Numbers, bits: u32, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (bits, k) = (_mm512_set1_epi32(bits as i32), _mm512_set1_epi32(k as i32));
            mask!(g => _mm512_cmpeq_epi32_mask(_mm512_and_si512(load(a, g), bits), k))
        }
    }

    #[inline(always)]
    fn any(self, a: &Numbers, bits: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let bits = _mm512_set1_epi32(bits as i32);
            mask!(g => _mm512_test_epi32_mask(load(a, g), bits))
        }
    }

    #[inline(always)]
    fn below(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm512_set1_epi32(k as i32);
            mask!(g => _mm512_cmplt_epu32_mask(load(a, g), k))
        }
    }

    #[inline(always)]
    fn above(self, a: &Numbers, k: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let k = _mm512_set1_epi32(k as i32);
            mask!(g => _mm512_cmpgt_epu32_mask(load(a, g), k))
        }
    }

    #[inline(always)]
    fn in_range(self, a: &Numbers, low: u32, span: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (low, span) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32(span as i32));
            mask!(g => _mm512_cmple_epu32_mask(_mm512_sub_epi32(load(a, g), low), span))
        }
    }

    #[inline(always)]
    fn equal_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe { mask!(g => _mm512_cmpeq_epi32_mask(load(a, g), load(b, g))) }
    }

    #[inline(always)]
    fn below_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe { mask!(g => _mm512_cmplt_epu32_mask(load(a, g), load(b, g))) }
    }

    #[inline(always)]
    fn any_columns(self, a: &Numbers, b: &Numbers) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe { mask!(g => _mm512_test_epi32_mask(load(a, g), load(b, g))) }
    }

    #[inline(always)]
    fn bounds(self, captured: &Numbers, base: &Numbers, end: u32) -> u64 {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let end = _mm512_set1_epi32(end as i32);
            mask!(g => {
                let base = load(base, g);
                let sum = _mm512_add_epi32(base, end);
                let whole = _mm512_cmpge_epu32_mask(sum, base);
                _mm512_mask_cmple_epu32_mask(whole, sum, load(captured, g))
            })
        }
    }
}

/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
unsafe fn load(numbers: &Numbers, g: usize) -> __m512i {
    // SAFETY: 16 numbers, at a multiple of 64 bytes from where numbers are aligned to as many.
    unsafe { _mm512_load_si512(numbers.0[16 * g..16 * g + 16].as_ptr().cast()) }
}

/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
unsafe fn store(numbers: &mut Numbers, g: usize, x: __m512i) {
    // SAFETY: as above.
    unsafe { _mm512_store_si512(numbers.0[16 * g..16 * g + 16].as_mut_ptr().cast(), x) }
}

/// Where eight packets have what lies `offset` after their bases.
///
/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
unsafe fn addresses(starts: &Starts, base: Option<&Numbers>, offset: u32, g: usize) -> __m512i {
    // SAFETY: eight addresses, and eight numbers, aligned as above.
    unsafe {
        let starts = _mm512_load_si512(starts.0[8 * g..8 * g + 8].as_ptr().cast());
        let from = _mm512_add_epi64(starts, _mm512_set1_epi64(i64::from(offset)));
        match base {
            None => from,
            Some(base) => {
                let base = _mm256_load_si256(base.0[8 * g..8 * g + 8].as_ptr().cast());
                _mm512_add_epi64(from, _mm512_cvtepu32_epi64(base))
            }
        }
    }
}
