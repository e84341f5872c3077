//! The mask VM with AVX2: a column is eight registers, an answer eight sign masks of 8 bits. Fetches are plain loads
//! ([`loads`]).

mod loads;

use super::glance::Glance;
use super::machine::{LANES, Lanes, Machine, Numbers, PARTS, Place, Starts, questions};
use super::program::MaskProgram;
use crate::exec::Packet;
use std::arch::x86_64::*;
use std::sync::LazyLock;

/// Proof that the processor has AVX2, BMI1 and 2, and POPCNT.
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
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Avx2(()))
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run(isa: Avx2, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
    machine.run(isa, program, packets);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn spread(number: u32, lanes: [u64; PARTS], to: &mut [Numbers; PARTS]) {
    for (lanes, to) in lanes.into_iter().zip(to) {
        for g in 0..8 {
            // SAFETY: this function has AVX2.
            unsafe { put(_mm256_set1_epi32(number as i32), lanes, g, to) };
        }
    }
}

/// Eight answers as one.
///
/// PERF: joined in registers, not as eight masks.
macro_rules! mask {
    ($g:ident => $holds:expr) => {{
        let mut halves = [0; 2];
        for (half, mask) in halves.iter_mut().enumerate() {
            let mut holds = [_mm256_setzero_si256(); 4];
            for (i, holds) in holds.iter_mut().enumerate() {
                let $g = 4 * half + i;
                *holds = $holds;
            }
            let [a, b, c, d] = holds;
            let (ab, cd) = (_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            // Each pack leaves the first four of all before the last four.
            let in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(ab, cd), in_order);
            *mask = u64::from(_mm256_movemask_epi8(all) as u32);
        }
        halves[0] | halves[1] << 32
    }};
}

/// Of the eight numbers that two packets are made of, those that are captured lengths.
const CAPTURED: i32 = 0b0100_0100;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn glance(glance: Glance, packets: &[[Packet<'_>; LANES]], words: &mut [u64]) -> usize {
    for (i, (packets, word)) in packets.iter().zip(&mut *words).enumerate() {
        match look(glance, packets) {
            Some(answers) => *word = answers,
            None => return i,
        }
    }
    packets.len().min(words.len())
}

/// The answers for 64 packets, unless one is too short.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[inline]
fn look(glance: Glance, packets: &[Packet<'_>; LANES]) -> Option<u64> {
    // SAFETY: this function has AVX2.
    let shortest = unsafe { shortest(packets) };
    // SAFETY: this function has AVX2.
    let enough = unsafe { at_least(shortest, _mm256_set1_epi32(glance.captured as i32)) };
    if _mm256_movemask_ps(_mm256_castsi256_ps(enough)) & CAPTURED != CAPTURED {
        return None;
    }
    let (bits, k) = (_mm256_set1_epi64x(glance.bits as i64), _mm256_set1_epi64x(glance.k as i64));
    let offset = glance.offset as usize;
    let mut equal: u64 = 0;
    for g in 0..8 {
        // SAFETY: `captured` bytes of each packet are there, and these eight are among them.
        let [a, b] =
            unsafe { loads::eight_of_eight(8 * g, |lane| packets[lane].data().as_ptr().add(offset)) };
        let a = _mm256_castsi256_ps(_mm256_cmpeq_epi64(_mm256_and_si256(a, bits), k));
        let b = _mm256_castsi256_ps(_mm256_cmpeq_epi64(_mm256_and_si256(b, bits), k));
        let these = _mm256_movemask_ps(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        equal = (equal | these as u64).rotate_right(8);
    }
    Some(if glance.accepts { equal } else { !equal })
}

impl Lanes for Avx2 {
    const WAITS: bool = true;

    fn run(self, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { run(self, machine, program, packets) }
    }

    fn glance(self, at: Glance, packets: &[[Packet<'_>; LANES]], words: &mut [u64]) -> usize {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { glance(at, packets, words) }
    }

    #[inline(always)]
    fn copy(self, lanes: u64, from: &Numbers, to: &mut Numbers) {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            for g in 0..8 {
                put(load(from, g), lanes, g, to);
            }
        }
    }

    #[inline(always)]
    fn spread(self, number: u32, lanes: [u64; PARTS], to: &mut [Numbers; PARTS]) {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { spread(number, lanes, to) }
    }

    #[inline(always)]
    fn admit(
        self,
        packets: &[Packet<'_>; LANES],
        starts: &mut Starts,
        captured: &mut Numbers,
        mut wire_len: Option<&mut Numbers>,
    ) -> u32 {
        // SAFETY: `self` is proof of the instructions. A packet is 16 bytes, an address and two lengths.
        unsafe {
            let mut shortest = _mm256_set1_epi32(-1);
            for g in 0..8 {
                let from: *const __m128i = packets[8 * g..8 * g + 8].as_ptr().cast();
                let two = |i: usize| _mm256_loadu2_m128i(from.add(i + 2), from.add(i));
                let (a, b, c, d) = (two(0), two(1), two(4), two(5));
                let to: *mut __m256i = starts.0[8 * g..8 * g + 8].as_mut_ptr().cast();
                _mm256_store_si256(to, _mm256_unpacklo_epi64(a, b));
                _mm256_store_si256(to.add(1), _mm256_unpacklo_epi64(c, d));
                let first = _mm256_castsi256_ps(_mm256_unpackhi_epi64(a, b));
                let second = _mm256_castsi256_ps(_mm256_unpackhi_epi64(c, d));
                // Two and two of either half: the middle ones change places.
                let lengths = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(first, second));
                let lengths = _mm256_permute4x64_epi64::<0b11_01_10_00>(lengths);
                shortest = _mm256_min_epu32(shortest, lengths);
                store(captured, g, lengths);
                if let Some(wire_len) = &mut wire_len {
                    let lengths = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(first, second));
                    store(wire_len, g, _mm256_permute4x64_epi64::<0b11_01_10_00>(lengths));
                }
            }
            least(shortest)
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch4(self, place: Place<'_>, dst: &mut Numbers) {
        // SAFETY: `self` is proof of the instructions; the caller's promise.
        unsafe { loads::fours(place, dst) }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch8(self, place: Place<'_>, dst: [&mut Numbers; 2]) {
        // SAFETY: as in `fetch4`.
        unsafe { loads::eights(place, dst) }
    }

    /// # Safety
    /// These sixteen bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch_pair(self, place: Place<'_>, from: [u8; 2], dst: [&mut Numbers; 2]) {
        // SAFETY: as in `fetch4`.
        unsafe { loads::pairs(place, from, dst) }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch16(self, place: Place<'_>, dst: [&mut Numbers; 4]) {
        // SAFETY: as in `fetch4`.
        unsafe { loads::sixteens(place, dst) }
    }

    #[inline(always)]
    fn all_equal_masked(self, a: &[Numbers], bits: u32, k: u32) -> bool {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (bits, k) = (_mm256_set1_epi32(bits as i32), _mm256_set1_epi32(k as i32));
            // Four at a time: none waits for the one before it.
            let mut differ = [_mm256_setzero_si256(); 4];
            for a in a {
                for g in 0..8 {
                    differ[g % 4] = _mm256_or_si256(differ[g % 4], _mm256_xor_si256(load(a, g), k));
                }
            }
            let [a, b, c, d] = differ;
            let differ = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
            _mm256_testz_si256(differ, bits) == 1
        }
    }

    #[inline(always)]
    fn all_in_bounds(self, base: &[Numbers], end: u32, shortest: u32) -> bool {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let Some(most) = shortest.checked_sub(end) else { return false };
            let mut highest = [_mm256_setzero_si256(); 4];
            for base in base {
                for g in 0..8 {
                    highest[g % 4] = _mm256_max_epu32(highest[g % 4], load(base, g));
                }
            }
            let [a, b, c, d] = highest;
            let highest = _mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d));
            let within = at_least(_mm256_set1_epi32(most as i32), highest);
            _mm256_movemask_epi8(within) == -1
        }
    }

    questions! { _mm256_set1_epi32:
        equal(a; k) => mask!(g => _mm256_cmpeq_epi32(load(a, g), k));
        equal_masked(a; bits, k) => mask!(g => _mm256_cmpeq_epi32(_mm256_and_si256(load(a, g), bits), k));
        below(a; k) => !mask!(g => at_least(load(a, g), k));
        above(a; k) => !mask!(g => at_least(k, load(a, g)));
        in_range(a; low, span) => mask!(g => at_least(span, _mm256_sub_epi32(load(a, g), low)));
        equal_columns(a, b) => mask!(g => _mm256_cmpeq_epi32(load(a, g), load(b, g)));
        below_columns(a, b) => !mask!(g => at_least(load(a, g), load(b, g)));
        any_columns(a, b) => {
            let zero = _mm256_setzero_si256();
            !mask!(g => _mm256_cmpeq_epi32(_mm256_and_si256(load(a, g), load(b, g)), zero))
        };
        bounds(captured, base; end) => mask!(g => {
            let base = load(base, g);
            let sum = _mm256_add_epi32(base, end);
            _mm256_and_si256(at_least(sum, base), at_least(load(captured, g), sum))
        });
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

/// The least of what packets hold, number by number; the captured lengths are [`CAPTURED`] of them.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn shortest(packets: &[Packet<'_>; LANES]) -> __m256i {
    let from: *const __m256i = packets.as_ptr().cast();
    // SAFETY: the caller's promise. A packet is 16 bytes, an address and two lengths, so 64 of them are 32 registers.
    unsafe {
        let mut shortest = [_mm256_set1_epi32(-1); 2];
        for i in 0..16 {
            for (half, shortest) in shortest.iter_mut().enumerate() {
                *shortest = _mm256_min_epu32(*shortest, _mm256_loadu_si256(from.add(2 * i + half)));
            }
        }
        _mm256_min_epu32(shortest[0], shortest[1])
    }
}

/// The least of eight numbers.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn least(x: __m256i) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        let four = _mm_min_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
        let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        _mm_cvtsi128_si32(_mm_min_epu32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two))) as u32
    }
}

/// Puts the numbers of eight packets in their places, of those that are in the lanes.
///
/// PERF: a masked store is one instruction, but AMD's processors take it apart: a list of 16 filters took 41 ns a packet on
/// Zen 3, and takes 23 without them.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn put(numbers: __m256i, lanes: u64, g: usize, to: &mut Numbers) {
    // SAFETY: the caller's promise.
    unsafe {
        let to_top = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
        let here = _mm256_sllv_epi32(_mm256_set1_epi32((lanes >> (8 * g)) as u8 as i32), to_top);
        let (old, new) = (_mm256_castsi256_ps(load(to, g)), _mm256_castsi256_ps(numbers));
        store(to, g, _mm256_castps_si256(_mm256_blendv_ps(old, new, _mm256_castsi256_ps(here))));
    }
}

/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn load(numbers: &Numbers, g: usize) -> __m256i {
    // SAFETY: eight numbers, at a multiple of 32 bytes from where numbers are aligned to 64.
    unsafe { _mm256_load_si256(numbers.0[8 * g..8 * g + 8].as_ptr().cast()) }
}

/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn store(numbers: &mut Numbers, g: usize, x: __m256i) {
    // SAFETY: as above.
    unsafe { _mm256_store_si256(numbers.0[8 * g..8 * g + 8].as_mut_ptr().cast(), x) }
}
