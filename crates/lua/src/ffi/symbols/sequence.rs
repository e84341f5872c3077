//! Windows against replayed packets (RFC 4303, appendix A): which of the last `W` sequence numbers were seen, as a ring of bits.

use std::ffi::c_void;

pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        b"check_seq_no" => check as *mut c_void,
        b"track_seq_no" => track as *mut c_void,
        _ => return None,
    })
}

fn bit_of(sequence: u64, size: u32) -> (usize, u8) {
    let bit = (sequence % u64::from(size)) as usize;
    (bit / 8, 1 << (bit % 8))
}

/// The upper half of a sequence number of which only the lower half was sent, by what was last seen; -1 if that number was seen.
unsafe extern "C" fn check(low: u32, last: u64, window: *mut u8, size: u32) -> i64 {
    let (last_low, last_high) = (last as u32, (last >> 32) as u32);
    let oldest = last_low.wrapping_sub(size).wrapping_add(1);
    let high = match (last_low >= size - 1, low >= oldest) {
        (true, true) | (false, false) => last_high,
        (true, false) => last_high.wrapping_add(1),
        (false, true) => last_high.wrapping_sub(1),
    };
    let sequence = u64::from(high) << 32 | u64::from(low);
    let (byte, mask) = bit_of(sequence, size);
    // SAFETY: Lua gives a window of so many bits.
    let is_seen = unsafe { *window.add(byte) & mask != 0 };
    if sequence <= last && is_seen { -1 } else { i64::from(high) }
}

/// Notes that a number was seen. Returns the highest that was.
unsafe extern "C" fn track(high: u32, low: u32, last: u64, window: *mut u8, size: u32) -> u64 {
    let sequence = u64::from(high) << 32 | u64::from(low);
    // SAFETY: as above.
    unsafe {
        if sequence > last {
            // What was too old is now what is still to come.
            for new in (0..(sequence - last).min(u64::from(size))).map(|back| sequence - back) {
                let (byte, mask) = bit_of(new, size);
                *window.add(byte) &= !mask;
            }
        }
        let (byte, mask) = bit_of(sequence, size);
        *window.add(byte) |= mask;
    }
    last.max(sequence)
}
