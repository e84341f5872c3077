//! Lookups in tables that Snabb's `lib.lpm` has built.

use std::ffi::c_void;

pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        b"lpm4_248_search" => search_248 as *mut c_void,
        b"lpm4_248_search32" => search_248_wide as *mut c_void,
        b"lpm4_dxr_search" => search_dxr as *mut c_void,
        _ => return None,
    })
}

/// A table for the upper 24 bits of an address; values above the mark lead to another for the rest.
unsafe extern "C" fn search_248(address: u32, upper: *const u16, rest: *const u16) -> u16 {
    const MARK: u16 = 0x8000;
    // SAFETY: Lua gives tables for all addresses.
    unsafe {
        let value = *upper.add(address as usize >> 8);
        if value <= MARK {
            return value;
        }
        *rest.add((usize::from(value - MARK) << 8) + (address as usize & 0xff))
    }
}

/// The same, with wider values.
unsafe extern "C" fn search_248_wide(address: u32, upper: *const u32, rest: *const u32) -> u32 {
    const MARK: u32 = 0x8000_0000;
    // SAFETY: as above.
    unsafe {
        let value = *upper.add(address as usize >> 8);
        if value <= MARK {
            return value;
        }
        *rest.add(((value - MARK) as usize) * 256 + (address as usize & 0xff))
    }
}

/// For the upper 16 bits, where in an array of ranges' ends those are; the first end that is not less than the rest has the key.
unsafe extern "C" fn search_dxr(
    address: u32,
    ends: *const u16,
    keys: *const u16,
    bottoms: *const u32,
    tops: *const u32,
) -> u16 {
    // SAFETY: as above.
    unsafe {
        let upper = address as usize >> 16;
        let (bottom, top) = (*bottoms.add(upper) as usize, *tops.add(upper) as usize);
        let index = if top <= bottom {
            top
        } else {
            let ends = std::slice::from_raw_parts(ends.add(bottom), top - bottom);
            bottom + ends.partition_point(|&end| end < address as u16)
        };
        *keys.add(index)
    }
}
