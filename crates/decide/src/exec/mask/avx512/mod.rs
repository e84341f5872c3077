//! The mask VM with AVX-512: a column is four registers, an answer four masks of 16 bits, a fetch a gather that leaves
//! alone what is masked out, or plain loads ([`loads`]).

mod loads;
mod registers;

use super::glance::Glance;
use super::machine::{LANES, Lanes, Machine, Numbers, PARTS, Place, Starts, questions};
use super::program::MaskProgram;
use crate::exec::Packet;
use registers::{load, store};
use std::arch::x86_64::*;
use std::ptr;
use std::sync::LazyLock;

/// Proof that the processor has AVX-512F, BW, DQ and VL, and BMI1 and 2. Packets are read with gathers, or with plain loads.
#[derive(Clone, Copy)]
pub(super) struct Avx512<const GATHERS: bool>(());

impl<const GATHERS: bool> Avx512<GATHERS> {
    /// Asked once: a short burst takes no longer than all these questions.
    pub(super) fn new() -> Option<Self> {
        static HAS: LazyLock<bool> = LazyLock::new(has_avx512);
        HAS.then_some(Avx512(()))
    }
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn run<const GATHERS: bool>(
    isa: Avx512<GATHERS>,
    machine: &mut Machine,
    program: &MaskProgram,
    packets: &[[Packet<'_>; LANES]],
) {
    machine.run(isa, program, packets);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn spread(number: u32, lanes: [u64; PARTS], to: &mut [Numbers; PARTS]) {
    let number = _mm512_set1_epi32(number as i32);
    for (lanes, to) in lanes.into_iter().zip(to) {
        for (g, to) in to.0.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            // SAFETY: sixteen numbers are a register.
            unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), (lanes >> (16 * g)) as u16, number) };
        }
    }
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn glance<const GATHERS: bool>(glance: Glance, packets: &[[Packet<'_>; LANES]], words: &mut [u64]) -> usize {
    for (i, (packets, word)) in packets.iter().zip(&mut *words).enumerate() {
        match look::<GATHERS>(glance, packets) {
            Some(answers) => *word = answers,
            None => return i,
        }
    }
    packets.len().min(words.len())
}

/// The answers for 64 packets, unless one is too short.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
#[inline]
fn look<const GATHERS: bool>(glance: Glance, packets: &[Packet<'_>; LANES]) -> Option<u64> {
    const CAPTURED: __mmask16 = 0x4444;
    let from: *const __m512i = packets.as_ptr().cast();
    let mut shortest = _mm512_set1_epi32(-1);
    for i in 0..16 {
        // SAFETY: a packet is 16 bytes, an address and two lengths, so 64 of them are sixteen registers.
        shortest = _mm512_min_epu32(shortest, unsafe { _mm512_loadu_si512(from.add(i)) });
    }
    let enough = _mm512_set1_epi32(glance.captured as i32);
    if _mm512_mask_cmplt_epu32_mask(CAPTURED, shortest, enough) != 0 {
        return None;
    }
    let address = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    // Added to each address by the gather.
    let offset = ptr::without_provenance::<u8>(glance.offset as usize);
    let (bits, k) = (_mm512_set1_epi64(glance.bits as i64), _mm512_set1_epi64(glance.k as i64));
    let mut equal: u64 = 0;
    for g in 0..8 {
        let bytes = if GATHERS {
            // SAFETY: as above.
            let [a, b] =
                unsafe { [_mm512_loadu_si512(from.add(2 * g)), _mm512_loadu_si512(from.add(2 * g + 1))] };
            let starts = _mm512_permutex2var_epi64(a, address, b);
            // SAFETY: `captured` bytes of each packet are there, and these eight are among them.
            unsafe { _mm512_i64gather_epi64::<1>(starts, offset.cast()) }
        } else {
            // SAFETY: `captured` bytes of each packet are there, and these eight are among them.
            unsafe {
                loads::eight_of_eight(8 * g, |lane| packets[lane].data().as_ptr().add(glance.offset as usize))
            }
        };
        let these = u64::from(_mm512_cmpeq_epi64_mask(_mm512_and_si512(bytes, bits), k));
        // PERF: shifted each to its place, the compiler gathers the answers in a vector, and takes 1.08 times as long.
        equal = (equal | these).rotate_right(8);
    }
    Some(if glance.accepts { equal } else { !equal })
}

impl<const GATHERS: bool> Lanes for Avx512<GATHERS> {
    const WAITS: bool = true;

    fn run(self, machine: &mut Machine, program: &MaskProgram, packets: &[[Packet<'_>; LANES]]) {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { run(self, machine, program, packets) }
    }

    fn glance(self, at: Glance, packets: &[[Packet<'_>; LANES]], words: &mut [u64]) -> usize {
        // SAFETY: `self` is proof that the processor has what the function needs.
        unsafe { glance::<GATHERS>(at, packets, words) }
    }

    #[inline(always)]
    fn copy(self, lanes: u64, from: &Numbers, to: &mut Numbers) {
        for g in 0..4 {
            // SAFETY: `self` is proof of the instructions.
            unsafe {
                let both = _mm512_mask_mov_epi32(load(to, g), (lanes >> (16 * g)) as u16, load(from, g));
                store(to, g, both);
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
        // SAFETY: `self` is proof of the instructions. A packet is 16 bytes, an address and two lengths, so 16 of
        // them are four registers.
        unsafe {
            let address = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let lengths = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
            let mut shortest = _mm512_set1_epi32(-1);
            for g in 0..4 {
                let from: *const __m512i = packets[16 * g..16 * g + 16].as_ptr().cast();
                let (a, b) = (_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1)));
                let (c, d) = (_mm512_loadu_si512(from.add(2)), _mm512_loadu_si512(from.add(3)));
                let to: *mut __m512i = starts.0[16 * g..16 * g + 16].as_mut_ptr().cast();
                _mm512_store_si512(to, _mm512_permutex2var_epi64(a, address, b));
                _mm512_store_si512(to.add(1), _mm512_permutex2var_epi64(c, address, d));
                let first = _mm512_permutex2var_epi32(a, lengths, b);
                let second = _mm512_permutex2var_epi32(c, lengths, d);
                let lengths = _mm512_shuffle_i64x2::<0b01_00_01_00>(first, second);
                shortest = _mm512_min_epu32(shortest, lengths);
                store(captured, g, lengths);
                if let Some(wire_len) = &mut wire_len {
                    store(wire_len, g, _mm512_shuffle_i64x2::<0b11_10_11_10>(first, second));
                }
            }
            _mm512_reduce_min_epu32(shortest)
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch4(self, place: Place<'_>, dst: &mut Numbers) {
        // SAFETY: `self` is proof of the instructions; what is read is what the caller promises of the packets in
        // `lanes`, and nothing of others.
        unsafe {
            if !GATHERS {
                return loads::fours(place, dst);
            }
            for g in 0..8 {
                let zero = _mm256_setzero_si256();
                let from = place.eight_addresses(g);
                let k = (place.lanes >> (8 * g)) as u8;
                let numbers = _mm512_mask_i64gather_epi32::<1>(zero, k, from, ptr::null());
                _mm256_store_si256(dst.0[8 * g..8 * g + 8].as_mut_ptr().cast(), numbers);
            }
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch8(self, place: Place<'_>, mut dst: [&mut Numbers; 2]) {
        // SAFETY: as in `fetch4`.
        unsafe {
            if !GATHERS {
                return loads::eights(place, dst);
            }
            let zero = _mm512_setzero_si512();
            for g in 0..4 {
                let k = place.lanes >> (16 * g);
                let from = place.eight_addresses(2 * g);
                let a = _mm512_mask_i64gather_epi64::<1>(zero, k as u8, from, ptr::null());
                let from = place.eight_addresses(2 * g + 1);
                let b = _mm512_mask_i64gather_epi64::<1>(zero, (k >> 8) as u8, from, ptr::null());
                loads::halves(dst.each_mut().map(|dst| &mut **dst), g, a, b);
            }
        }
    }

    /// # Safety
    /// These sixteen bytes of these packets are readable.
    #[inline(always)]
    unsafe fn fetch_pair(self, place: Place<'_>, from: [u8; 2], [a, b]: [&mut Numbers; 2]) {
        // SAFETY: as in `fetch4`.
        unsafe {
            if GATHERS && place.lanes != u64::MAX {
                self.fetch4(place.beyond(from[0].into()), a);
                self.fetch4(place.beyond(from[1].into()), b);
                return;
            }
            loads::pairs(place, from, [a, b]);
        }
    }

    /// # Safety
    /// These bytes of these packets are readable.
    ///
    /// PERF: sixteen bytes each by plain loads, four packets to a register, turned into columns; about as fast as a gather
    /// of eight. Where packets are missing, two gathers, unless these are slow.
    #[inline(always)]
    unsafe fn fetch16(self, place: Place<'_>, [a, b, c, d]: [&mut Numbers; 4]) {
        // SAFETY: as in `fetch4`.
        unsafe {
            if GATHERS && place.lanes != u64::MAX {
                self.fetch8(place, [a, b]);
                self.fetch8(place.beyond(8), [c, d]);
                return;
            }
            loads::sixteens(place, [a, b, c, d]);
        }
    }

    #[inline(always)]
    fn all_equal_masked(self, a: &[Numbers], bits: u32, k: u32) -> bool {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let (bits, k) = (_mm512_set1_epi32(bits as i32), _mm512_set1_epi32(k as i32));
            // Four at a time: none waits for the one before it.
            let mut differ = [_mm512_setzero_si512(); 4];
            for a in a {
                for (g, differ) in differ.iter_mut().enumerate() {
                    *differ = _mm512_or_si512(*differ, _mm512_xor_si512(load(a, g), k));
                }
            }
            let [a, b, c, d] = differ;
            let differ = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
            _mm512_test_epi32_mask(differ, bits) == 0
        }
    }

    #[inline(always)]
    fn all_in_bounds(self, base: &[Numbers], end: u32, shortest: u32) -> bool {
        // SAFETY: `self` is proof of the instructions.
        unsafe {
            let Some(most) = shortest.checked_sub(end) else { return false };
            let mut highest = [_mm512_setzero_si512(); 4];
            for base in base {
                for (g, highest) in highest.iter_mut().enumerate() {
                    *highest = _mm512_max_epu32(*highest, load(base, g));
                }
            }
            let [a, b, c, d] = highest;
            let highest = _mm512_max_epu32(_mm512_max_epu32(a, b), _mm512_max_epu32(c, d));
            _mm512_cmpgt_epu32_mask(highest, _mm512_set1_epi32(most as i32)) == 0
        }
    }

    questions! { _mm512_set1_epi32:
        equal(a; k) => mask!(g => _mm512_cmpeq_epi32_mask(load(a, g), k));
        equal_masked(a; bits, k) => mask!(g => _mm512_cmpeq_epi32_mask(_mm512_and_si512(load(a, g), bits), k));
        any(a; bits) => mask!(g => _mm512_test_epi32_mask(load(a, g), bits));
        below(a; k) => mask!(g => _mm512_cmplt_epu32_mask(load(a, g), k));
        above(a; k) => mask!(g => _mm512_cmpgt_epu32_mask(load(a, g), k));
        in_range(a; low, span) => mask!(g => _mm512_cmple_epu32_mask(_mm512_sub_epi32(load(a, g), low), span));
        equal_columns(a, b) => mask!(g => _mm512_cmpeq_epi32_mask(load(a, g), load(b, g)));
        below_columns(a, b) => mask!(g => _mm512_cmplt_epu32_mask(load(a, g), load(b, g)));
        any_columns(a, b) => mask!(g => _mm512_test_epi32_mask(load(a, g), load(b, g)));
        bounds(captured, base; end) => mask!(g => {
            let base = load(base, g);
            let sum = _mm512_add_epi32(base, end);
            let whole = _mm512_cmpge_epu32_mask(sum, base);
            _mm512_mask_cmple_epu32_mask(whole, sum, load(captured, g))
        });
    }
}
