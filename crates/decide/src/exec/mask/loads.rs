//! Reading packets by plain loads: what is the same for wide registers and for narrower ones.

use std::arch::x86_64::*;

/// Reads groups of packets, with a function that gives a packet's address: in order, from a place and from what gives the
/// addresses of one where packets are missing or have bases of their own.
///
/// PERF: where all packets are there, each address is computed when it is needed: those of a group do not fit into the
/// registers. A macro, since no intrinsic is inlined into a closure.
macro_rules! each_group {
    ($groups:literal of $place:expr, else $addresses:path; ($g:ident, $at:ident) => $read:expr) => {
        let place = $place;
        let Place { lanes, starts, base, offset } = place;
        let offset = offset as usize;
        match base {
            None if lanes == u64::MAX => {
                let $at = |lane: usize| starts.0[lane].wrapping_add(offset);
                for $g in 0..$groups {
                    $read
                }
            }
            Some(base) if lanes == u64::MAX => {
                let $at = |lane: usize| starts.0[lane].wrapping_add(base.0[lane] as usize + offset);
                for $g in 0..$groups {
                    $read
                }
            }
            _ => {
                let addresses = $addresses(place);
                let $at = |lane: usize| addresses.0[lane];
                for $g in 0..$groups {
                    $read
                }
            }
        }
    };
}
pub(super) use each_group;

/// Four bytes each of four packets.
///
/// # Safety
/// The processor has SSE4.1, and these bytes are readable.
#[inline(always)]
pub(super) unsafe fn four_of_four(lane: usize, at: impl Fn(usize) -> *const u8) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = |i: usize| at(lane + i).cast::<i32>().read_unaligned();
        let a = _mm_cvtsi32_si128(bytes(0));
        let ab = _mm_insert_epi32::<1>(a, bytes(1));
        let abc = _mm_insert_epi32::<2>(ab, bytes(2));
        _mm_insert_epi32::<3>(abc, bytes(3))
    }
}

/// Eight bytes each of two packets.
///
/// # Safety
/// These bytes are readable.
#[inline(always)]
pub(super) unsafe fn eight_of_two(lane: usize, at: impl Fn(usize) -> *const u8) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let (a, b) = (_mm_loadl_epi64(at(lane).cast()), _mm_loadl_epi64(at(lane + 1).cast()));
        _mm_unpacklo_epi64(a, b)
    }
}
