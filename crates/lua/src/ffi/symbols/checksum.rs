//! Internet checksums (RFC 1071), as Snabb's `lib.checksum` calls them. Values are in host order.

use std::ffi::c_void;

pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        // Snabb of 2017 chooses by the processor.
        b"cksum_generic" | b"cksum_sse2" | b"cksum_avx2" => cksum_generic as *mut c_void,
        b"pseudo_header_initial" => pseudo_header_initial as *mut c_void,
        b"checksum_update_incremental_16" => update_16 as *mut c_void,
        b"checksum_update_incremental_32" => update_32 as *mut c_void,
        _ => return None,
    })
}

/// The sum of big-endian words, with a zero byte behind an odd one, not yet folded.
fn sum(bytes: &[u8]) -> u64 {
    // Four sums of eight bytes at once, each of whose halves are added: addition of ones' complements does not care how words are grouped.
    let (groups, rest) = bytes.as_chunks::<8>();
    let whole = |group: &[u8; 8]| {
        let word = u64::from_be_bytes(*group);
        (word >> 32) + (word & 0xffff_ffff)
    };
    let mut total: u64 = groups.iter().map(whole).sum();
    let (pairs, last) = rest.as_chunks::<2>();
    total += pairs.iter().map(|&pair| u64::from(u16::from_be_bytes(pair))).sum::<u64>();
    total + last.first().map_or(0, |&byte| u64::from(byte) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// The checksum of bytes, with an initial sum.
unsafe extern "C" fn cksum_generic(bytes: *const u8, len: usize, initial: u16) -> u16 {
    // SAFETY: Lua gives a packet's bytes, or those of a header.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len) };
    !fold(sum(bytes) + u64::from(initial))
}

/// A packet that is not TCP or UDP over IP.
const UNKNOWN: u32 = 0xffff_0001;
/// A header whose own checksum is wrong.
const BAD_HEADER: u32 = 0xffff_0002;

/// The sum over the pseudo-header of a packet that begins with its IP header, or one of two marks.
unsafe extern "C" fn pseudo_header_initial(bytes: *const u8, len: usize) -> u32 {
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len) };
    let (protocol, header, addresses) = match bytes.first().map_or(0, |first| first >> 4) {
        4 if len >= 20 => (bytes[9], usize::from(bytes[0] & 0xf) * 4, 12..20),
        6 if len >= 40 => (bytes[6], 40, 8..40),
        _ => return UNKNOWN,
    };
    if (protocol != 6 && protocol != 17) || header > len {
        return UNKNOWN;
    }
    if header != 40 && fold(sum(&bytes[..header])) != 0xffff {
        return BAD_HEADER;
    }
    // IPv6 says how long its payload is.
    let payload =
        if bytes[0] >> 4 == 6 { usize::from(u16::from_be_bytes([bytes[4], bytes[5]])) } else { len - header };
    let rest = u64::from(protocol) + (payload & 0xffff) as u64;
    u32::from(fold(sum(&bytes[addresses]) + rest))
}

/// Sets a 16-bit field, and the checksum over it to what it then is (RFC 1624).
unsafe extern "C" fn update_16(checksum: *mut u16, field: *mut u16, new: u16) {
    // SAFETY: Lua gives places in a packet, which need not be aligned.
    unsafe {
        let old = u16::from_be(field.read_unaligned());
        let sum = u64::from(!u16::from_be(checksum.read_unaligned())) + u64::from(!old) + u64::from(new);
        checksum.write_unaligned((!fold(sum)).to_be());
        field.write_unaligned(new.to_be());
    }
}

/// As [`update_16`], with a 32-bit field.
unsafe extern "C" fn update_32(checksum: *mut u16, field: *mut u32, new: u32) {
    // SAFETY: as above.
    unsafe {
        let old = !u32::from_be(field.read_unaligned());
        let words = |value: u32| u64::from(value >> 16) + u64::from(value & 0xffff);
        let sum = u64::from(!u16::from_be(checksum.read_unaligned())) + words(old) + words(new);
        checksum.write_unaligned((!fold(sum)).to_be());
        field.write_unaligned(new.to_be());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; 20] =
        [0x45, 0, 0, 0x28, 0, 0, 0x40, 0, 0x40, 6, 0, 0, 192, 168, 0, 1, 192, 168, 0, 199];

    fn checksum(bytes: &[u8], initial: u16) -> u16 {
        // SAFETY: the bytes are there.
        unsafe { cksum_generic(bytes.as_ptr(), bytes.len(), initial) }
    }

    /// Word by word, as RFC 1071 says.
    fn reference(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn sums_are_those_of_words() {
        let bytes: Vec<u8> = (0..1500_u32).map(|i| ((i * 31) >> 2) as u8).collect();
        for len in [0, 1, 2, 3, 7, 8, 9, 20, 63, 1499, 1500] {
            assert_eq!(checksum(&bytes[..len], 0), reference(&bytes[..len]), "{len} bytes");
        }
    }

    #[test]
    fn a_header_with_its_checksum_sums_to_zero() {
        let mut header = HEADER;
        let sum = checksum(&header, 0);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&header, 0), 0);
        // The addresses, the protocol, and a length of 0.
        let expected = fold(sum_of(&header[12..20]) + 6);
        // SAFETY: the bytes are there.
        assert_eq!(unsafe { pseudo_header_initial(header.as_ptr(), 20) }, u32::from(expected));
        header[1] ^= 1;
        // SAFETY: as above.
        assert_eq!(unsafe { pseudo_header_initial(header.as_ptr(), 20) }, BAD_HEADER);
    }

    fn sum_of(bytes: &[u8]) -> u64 {
        sum(bytes)
    }

    #[test]
    fn an_updated_checksum_is_that_of_the_new_field() {
        let mut header = HEADER;
        let sum = checksum(&header, 0);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let at = header.as_mut_ptr();
        // SAFETY: the fields are there.
        unsafe {
            update_16(at.add(10).cast(), at.add(4).cast(), 0xbeef);
            update_32(at.add(10).cast(), at.add(12).cast(), 0x0a00_0001);
        }
        assert_eq!(header[12..16], [10, 0, 0, 1]);
        assert_eq!(checksum(&header, 0), 0);
    }
}
