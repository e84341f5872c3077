//! Bytes of packets as columns, by plain loads, for AVX2: AVX2's gathers are known to be slower than these on many
//! processors.

use super::{load, store};
use crate::exec::mask::loads::{each_group, eight_of_two, four_of_four};
use crate::exec::mask::machine::{LANES, NOTHING, Numbers, Place, Starts, set_bits};
use std::arch::x86_64::*;
use std::ptr;

/// So few packets are read one by one.
const FEW: u32 = 24;

/// Four bytes each at some places of few packets. Says whether they are few.
///
/// PERF: where not all packets are there, reading 64 takes some 100 cycles; one packet takes two or three.
///
/// # Safety
/// What is read of the packets in the lanes is readable.
#[inline(always)]
unsafe fn few<const N: usize>(place: Place<'_>, from: [u8; N], mut dst: [&mut Numbers; N]) -> bool {
    let Place { lanes, starts, base, offset } = place;
    let is_few = lanes.count_ones() <= FEW;
    for lane in set_bits(if is_few { lanes } else { 0 }) {
        let base = base.map_or(0, |base| base.0[lane] as usize);
        let at = starts.0[lane].wrapping_add(base + offset as usize);
        for (from, dst) in from.iter().zip(&mut dst) {
            // SAFETY: the caller's promise.
            let bytes = unsafe { at.add(usize::from(*from)).cast::<[u8; 4]>().read() };
            dst.0[lane] = u32::from_le_bytes(bytes);
        }
    }
    is_few
}

/// The same place with a base that all packets share, if all are there, as part of the offset.
///
/// PERF: IPv4 headers have 20 bytes as a rule. Without bases, an address is one addition, or none.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn with_shared_base(place: Place<'_>) -> Place<'_> {
    let Some(base) = place.base.filter(|_| place.lanes == u64::MAX) else { return place };
    // SAFETY: the caller's promise.
    let is_shared = unsafe {
        let first = _mm256_set1_epi32(base.0[0] as i32);
        let mut differ = _mm256_setzero_si256();
        for g in 0..8 {
            differ = _mm256_or_si256(differ, _mm256_xor_si256(load(base, g), first));
        }
        _mm256_testz_si256(differ, differ) == 1
    };
    match is_shared {
        // The sum is inside of each packet, so it does not wrap around.
        true => Place { base: None, offset: base.0[0] + place.offset, ..place },
        false => place,
    }
}

/// Where each packet in its lanes has what is to be read; [`NOTHING`] for others.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn addresses(Place { lanes, starts, base, offset }: Place<'_>) -> Starts {
    let mut addresses = Starts([ptr::null(); LANES]);
    // SAFETY: the caller's promise; four addresses, and four numbers, aligned as columns are.
    unsafe {
        let nothing = _mm256_set1_epi64x(NOTHING.as_ptr().expose_provenance() as i64);
        let offset = _mm256_set1_epi64x(i64::from(offset));
        let lanes = _mm256_set1_epi64x(lanes as i64);
        // By these the bit of each packet comes to the top, where it decides.
        let mut to_top = _mm256_setr_epi64x(63, 62, 61, 60);
        for g in 0..16 {
            let four = 4 * g..4 * g + 4;
            let mut from =
                _mm256_add_epi64(_mm256_load_si256(starts.0[four.clone()].as_ptr().cast()), offset);
            if let Some(base) = base {
                let base = _mm_load_si128(base.0[four.clone()].as_ptr().cast());
                from = _mm256_add_epi64(from, _mm256_cvtepu32_epi64(base));
            }
            let here = _mm256_sllv_epi64(lanes, to_top);
            to_top = _mm256_sub_epi64(to_top, _mm256_set1_epi64x(4));
            let there = _mm256_blendv_pd(
                _mm256_castsi256_pd(nothing),
                _mm256_castsi256_pd(from),
                _mm256_castsi256_pd(here),
            );
            let there = _mm256_castpd_si256(there);
            _mm256_store_si256(addresses.0[four].as_mut_ptr().cast(), there);
        }
    }
    addresses
}

/// Four bytes of each packet.
///
/// # Safety
/// The processor has AVX2, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn fours(place: Place<'_>, dst: &mut Numbers) {
    // SAFETY: the caller's promise.
    unsafe {
        if few(place, [0], [&mut *dst]) {
            return;
        }
        each_group!(8 of with_shared_base(place), else addresses; (g, at) => {
            store(dst, g, two(four_of_four(8 * g, at), four_of_four(8 * g + 4, at)));
        });
    }
}

/// Eight bytes of each packet: the first four, and the last four.
///
/// # Safety
/// The processor has AVX2, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn eights(place: Place<'_>, [low, high]: [&mut Numbers; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        if few(place, [0, 4], [&mut *low, &mut *high]) {
            return;
        }
        each_group!(8 of with_shared_base(place), else addresses; (g, at) => {
            let [a, b] = eight_of_eight(8 * g, at);
            let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
            store(low, g, _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b)));
            store(high, g, _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b)));
        });
    }
}

/// Sixteen bytes of each packet, four by four.
///
/// # Safety
/// The processor has AVX2, and what `place` asks of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn sixteens(place: Place<'_>, [a, b, c, d]: [&mut Numbers; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        if few(place, [0, 4, 8, 12], [&mut *a, &mut *b, &mut *c, &mut *d]) {
            return;
        }
        each_group!(8 of with_shared_base(place), else addresses; (g, at) => {
            let p = sixteen_of_two(8 * g, at);
            let q = sixteen_of_two(8 * g + 1, at);
            let r = sixteen_of_two(8 * g + 2, at);
            let s = sixteen_of_two(8 * g + 3, at);
            let (pq, rs) = (_mm256_unpacklo_epi32(p, q), _mm256_unpacklo_epi32(r, s));
            store(a, g, _mm256_unpacklo_epi64(pq, rs));
            store(b, g, _mm256_unpackhi_epi64(pq, rs));
            let (pq, rs) = (_mm256_unpackhi_epi32(p, q), _mm256_unpackhi_epi32(r, s));
            store(c, g, _mm256_unpacklo_epi64(pq, rs));
            store(d, g, _mm256_unpackhi_epi64(pq, rs));
        });
    }
}

/// Four bytes each at two places of sixteen of each packet.
///
/// # Safety
/// The processor has AVX2, and what `place` asks, sixteen bytes, of the packets in its lanes is readable.
#[inline(always)]
pub(super) unsafe fn pairs(place: Place<'_>, from: [u8; 2], [a, b]: [&mut Numbers; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        if few(place, from, [&mut *a, &mut *b]) {
            return;
        }
        match from {
            [0, 8] => words::<0b10_00_10_00>(place, [a, b]),
            [4, 12] => words::<0b11_01_11_01>(place, [a, b]),
            _ => shuffled(place, from, [a, b]),
        }
    }
}

/// Two numbers, two or three apart, of four in sixteen bytes of each packet. `PICK` takes them twice.
///
/// # Safety
/// As for [`pairs`].
#[inline(always)]
unsafe fn words<const PICK: i32>(place: Place<'_>, [a, b]: [&mut Numbers; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        each_group!(8 of with_shared_base(place), else addresses; (g, at) => {
            let p = _mm256_castsi256_ps(sixteen_of_two(8 * g, at));
            let q = _mm256_castsi256_ps(sixteen_of_two(8 * g + 1, at));
            let r = _mm256_castsi256_ps(sixteen_of_two(8 * g + 2, at));
            let s = _mm256_castsi256_ps(sixteen_of_two(8 * g + 3, at));
            let (pq, rs) = (_mm256_shuffle_ps::<PICK>(p, q), _mm256_shuffle_ps::<PICK>(r, s));
            store(a, g, _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(pq, rs)));
            store(b, g, _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(pq, rs)));
        });
    }
}

/// Four bytes each at any two places of sixteen.
///
/// # Safety
/// As for [`pairs`].
#[inline(always)]
unsafe fn shuffled(place: Place<'_>, from: [u8; 2], [a, b]: [&mut Numbers; 2]) {
    let [low, high] = from.map(|from| 0x0302_0100 + 0x0101_0101 * i32::from(from));
    // SAFETY: the caller's promise.
    unsafe {
        let front = _mm256_setr_epi32(low, high, 0, 0, low, high, 0, 0);
        each_group!(8 of with_shared_base(place), else addresses; (g, at) => {
            let p = _mm256_shuffle_epi8(sixteen_of_two(8 * g, at), front);
            let q = _mm256_shuffle_epi8(sixteen_of_two(8 * g + 1, at), front);
            let r = _mm256_shuffle_epi8(sixteen_of_two(8 * g + 2, at), front);
            let s = _mm256_shuffle_epi8(sixteen_of_two(8 * g + 3, at), front);
            let (pq, rs) = (_mm256_unpacklo_epi32(p, q), _mm256_unpacklo_epi32(r, s));
            store(a, g, _mm256_unpacklo_epi64(pq, rs));
            store(b, g, _mm256_unpackhi_epi64(pq, rs));
        });
    }
}

/// One behind the other.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn two(low: __m128i, high: __m128i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high) }
}

/// Eight bytes each of eight packets: the first two of each four, and the last two.
///
/// # Safety
/// The processor has AVX2, and these bytes are readable.
#[inline(always)]
pub(super) unsafe fn eight_of_eight(lane: usize, at: impl Fn(usize) -> *const u8 + Copy) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            two(eight_of_two(lane, at), eight_of_two(lane + 4, at)),
            two(eight_of_two(lane + 2, at), eight_of_two(lane + 6, at)),
        ]
    }
}

/// Sixteen bytes of each fourth packet.
///
/// # Safety
/// The processor has AVX2, and these bytes are readable.
#[inline(always)]
unsafe fn sixteen_of_two(lane: usize, at: impl Fn(usize) -> *const u8) -> __m256i {
    let bytes = |i: usize| at(lane + 4 * i).cast::<__m128i>();
    // SAFETY: the caller's promise.
    unsafe { two(_mm_loadu_si128(bytes(0)), _mm_loadu_si128(bytes(1))) }
}
