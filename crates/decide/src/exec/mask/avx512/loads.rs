//! Bytes of packets as columns, by plain loads, for AVX-512.
//!
//! PERF: a gather is one instruction, but where the processor makes it of many small operations, loads and shuffles
//! take less time: `docs/design/mask-vm.md` has figures.

use super::registers::{load, store};
use crate::exec::mask::loads::{each_group, eight_of_two, four_of_four};
use crate::exec::mask::machine::{LANES, NOTHING, Numbers, Place, Starts};
use std::arch::x86_64::*;
use std::ptr;

impl Place<'_> {
    /// The same place with a base that all packets share, if all are there, as part of the offset.
    ///
    /// PERF: IPv4 headers have 20 bytes as a rule. Without bases, an address is one addition, or none.
    ///
    /// # Safety
    /// The processor has AVX-512F.
    #[inline(always)]
    pub(super) unsafe fn with_shared_base(self) -> Self {
        let Some(base) = self.base.filter(|_| self.lanes == u64::MAX) else { return self };
        // SAFETY: the caller's promise.
        let differ = unsafe {
            let first = _mm512_set1_epi32(base.0[0] as i32);
            let mut differ = _mm512_setzero_si512();
            for g in 0..4 {
                differ = _mm512_or_si512(differ, _mm512_xor_si512(load(base, g), first));
            }
            _mm512_test_epi32_mask(differ, differ)
        };
        match differ {
            // The sum is inside of each packet, so it does not wrap around.
            0 => Place { base: None, offset: base.0[0] + self.offset, ..self },
            _ => self,
        }
    }

    /// Where each packet in `lanes` has it; [`NOTHING`] for others.
    ///
    /// # Safety
    /// The processor has AVX-512F.
    #[inline(always)]
    unsafe fn addresses(self) -> Starts {
        let mut addresses = Starts([ptr::null(); LANES]);
        for g in 0..8 {
            // SAFETY: the caller's promise; eight addresses each, aligned.
            unsafe {
                let nothing = _mm512_set1_epi64(NOTHING.as_ptr().expose_provenance() as i64);
                let here = (self.lanes >> (8 * g)) as u8;
                let there = _mm512_mask_mov_epi64(nothing, here, self.eight_addresses(g));
                _mm512_store_si512(addresses.0[8 * g..8 * g + 8].as_mut_ptr().cast(), there);
            }
        }
        addresses
    }

    /// Where eight packets have it.
    ///
    /// # Safety
    /// The processor has AVX-512F.
    #[inline(always)]
    pub(super) unsafe fn eight_addresses(self, g: usize) -> __m512i {
        // SAFETY: eight addresses, and eight numbers, aligned as columns are.
        unsafe {
            let starts = _mm512_load_si512(self.starts.0[8 * g..8 * g + 8].as_ptr().cast());
            let from = _mm512_add_epi64(starts, _mm512_set1_epi64(i64::from(self.offset)));
            match self.base {
                None => from,
                Some(base) => {
                    let base = _mm256_load_si256(base.0[8 * g..8 * g + 8].as_ptr().cast());
                    _mm512_add_epi64(from, _mm512_cvtepu32_epi64(base))
                }
            }
        }
    }
}

/// Four bytes of each packet.
///
/// # Safety
/// The processor has AVX-512F, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn fours(place: Place<'_>, dst: &mut Numbers) {
    // SAFETY: the caller's promise.
    unsafe {
        each_group!(4 of place.with_shared_base(), else Place::addresses; (g, at) => {
            let a = _mm512_castsi128_si512(four_of_four(16 * g, at));
            let ab = _mm512_inserti32x4::<1>(a, four_of_four(16 * g + 4, at));
            let abc = _mm512_inserti32x4::<2>(ab, four_of_four(16 * g + 8, at));
            store(dst, g, _mm512_inserti32x4::<3>(abc, four_of_four(16 * g + 12, at)));
        });
    }
}

/// Eight bytes of each packet: the first four, and the last four.
///
/// # Safety
/// The processor has AVX-512F, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn eights(place: Place<'_>, [low, high]: [&mut Numbers; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        each_group!(4 of place.with_shared_base(), else Place::addresses; (g, at) => {
            halves([low, high], g, eight_of_eight(16 * g, at), eight_of_eight(16 * g + 8, at));
        });
    }
}

/// Eight bytes each of sixteen packets as the first four, and the last four.
///
/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
pub(super) unsafe fn halves([low, high]: [&mut Numbers; 2], g: usize, a: __m512i, b: __m512i) {
    // SAFETY: the caller's promise.
    unsafe {
        let lows = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let highs = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        store(low, g, _mm512_permutex2var_epi32(a, lows, b));
        store(high, g, _mm512_permutex2var_epi32(a, highs, b));
    }
}

/// Sixteen bytes of each packet, four by four.
///
/// # Safety
/// The processor has AVX-512F, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn sixteens(place: Place<'_>, [a, b, c, d]: [&mut Numbers; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        each_group!(4 of place.with_shared_base(), else Place::addresses; (g, at) => {
            let p = sixteen_of_four(16 * g, at);
            let q = sixteen_of_four(16 * g + 1, at);
            let r = sixteen_of_four(16 * g + 2, at);
            let s = sixteen_of_four(16 * g + 3, at);
            let (pq, rs) = (_mm512_unpacklo_epi32(p, q), _mm512_unpacklo_epi32(r, s));
            store(a, g, _mm512_unpacklo_epi64(pq, rs));
            store(b, g, _mm512_unpackhi_epi64(pq, rs));
            let (pq, rs) = (_mm512_unpackhi_epi32(p, q), _mm512_unpackhi_epi32(r, s));
            store(c, g, _mm512_unpacklo_epi64(pq, rs));
            store(d, g, _mm512_unpackhi_epi64(pq, rs));
        });
    }
}

/// Four bytes each at two places of sixteen of each packet.
///
/// # Safety
/// The processor has AVX-512F and BW, and what `place` asks, sixteen bytes, of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn pairs(place: Place<'_>, from: [u8; 2], [a, b]: [&mut Numbers; 2]) {
    let [low, high] = from.map(|from| 0x0302_0100 + 0x0101_0101 * i32::from(from));
    // SAFETY: the caller's promise.
    unsafe {
        let front = _mm512_set4_epi32(0, 0, high, low);
        each_group!(4 of place.with_shared_base(), else Place::addresses; (g, at) => {
            let p = _mm512_shuffle_epi8(sixteen_of_four(16 * g, at), front);
            let q = _mm512_shuffle_epi8(sixteen_of_four(16 * g + 1, at), front);
            let r = _mm512_shuffle_epi8(sixteen_of_four(16 * g + 2, at), front);
            let s = _mm512_shuffle_epi8(sixteen_of_four(16 * g + 3, at), front);
            let (pq, rs) = (_mm512_unpacklo_epi32(p, q), _mm512_unpacklo_epi32(r, s));
            store(a, g, _mm512_unpacklo_epi64(pq, rs));
            store(b, g, _mm512_unpackhi_epi64(pq, rs));
        });
    }
}

/// Eight bytes each of eight packets.
///
/// # Safety
/// The processor has AVX-512F, and these bytes are readable.
#[inline(always)]
pub(super) unsafe fn eight_of_eight(lane: usize, at: impl Fn(usize) -> *const u8 + Copy) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let a = _mm512_castsi128_si512(eight_of_two(lane, at));
        let ab = _mm512_inserti32x4::<1>(a, eight_of_two(lane + 2, at));
        let abc = _mm512_inserti32x4::<2>(ab, eight_of_two(lane + 4, at));
        _mm512_inserti32x4::<3>(abc, eight_of_two(lane + 6, at))
    }
}

/// Sixteen bytes of each fourth packet.
///
/// # Safety
/// The processor has AVX-512F, and these bytes are readable.
#[inline(always)]
unsafe fn sixteen_of_four(lane: usize, at: impl Fn(usize) -> *const u8) -> __m512i {
    let bytes = |i: usize| at(lane + 4 * i).cast::<__m128i>();
    // SAFETY: the caller's promise.
    unsafe {
        let a = _mm512_castsi128_si512(_mm_loadu_si128(bytes(0)));
        let ab = _mm512_inserti32x4::<1>(a, _mm_loadu_si128(bytes(1)));
        let abc = _mm512_inserti32x4::<2>(ab, _mm_loadu_si128(bytes(2)));
        _mm512_inserti32x4::<3>(abc, _mm_loadu_si128(bytes(3)))
    }
}
