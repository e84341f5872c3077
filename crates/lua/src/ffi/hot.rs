//! Small functions that Lua modules call for each packet: checksums, the processor's clock, the search in hash tables.
//!
//! LuaJIT calls them by FFI from compiled code, which costs less than two nanoseconds. In Lua, loops of unknown length inside
//! the loop over packets would end its traces.

use wire::checksum::Sum;

/// The checksum of `length` bytes, beginning with a sum of 16 bits; both in the host's byte order.
///
/// # Safety
///
/// `length` bytes at `data` can be read.
pub(super) unsafe extern "C" fn sluss_lua_checksum(data: *const u8, length: usize, initial: u32) -> u16 {
    // SAFETY: what the caller promises.
    let bytes = unsafe { slice(data, length) };
    Sum::new().add_u16(initial as u16).add_bytes(bytes).finish()
}

/// The processor's time stamp counter.
pub(super) extern "C" fn sluss_lua_tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// In a table of `lib.ctable`, from the entry at `index` on, the first whose hash is not below `hash`. Entries are `size` bytes apart,
/// and begin with their hash; tables end with an entry whose hash is the highest number.
///
/// # Safety
///
/// `entries` points to such a table, and `index` is in it.
pub(super) unsafe extern "C" fn sluss_lua_ctable_find(
    entries: *const u8,
    size: u32,
    index: u32,
    hash: u32,
) -> u32 {
    let mut found = index;
    loop {
        // SAFETY: the caller promises that an entry with the highest hash comes before the end of the table; entries are packed.
        let stored = unsafe { entries.add(found as usize * size as usize).cast::<u32>().read_unaligned() };
        if stored >= hash {
            return found;
        }
        found += 1;
    }
}

/// As [`sluss_lua_ctable_find`], of many hashes: their entries are asked for ahead, so that waiting for memory overlaps. `scale`
/// times a hash is the index that the search begins at.
///
/// # Safety
///
/// `entries` is such a table, every hash times the scale is an index in it, and both arrays have `count` elements.
pub(super) unsafe extern "C" fn sluss_lua_ctable_find_many(
    entries: *const u8,
    size: u32,
    scale: f64,
    hashes: *const u32,
    count: u32,
    indexes: *mut u32,
) {
    // SAFETY: what the caller promises of the arrays.
    let (hashes, indexes) = unsafe {
        (
            std::slice::from_raw_parts(hashes, count as usize),
            std::slice::from_raw_parts_mut(indexes, count as usize),
        )
    };
    for (hash, index) in hashes.iter().zip(indexes.iter_mut()) {
        *index = (f64::from(*hash) * scale) as u32;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that a program could see, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(entries.wrapping_add(*index as usize * size as usize).cast());
        }
    }
    for (hash, index) in hashes.iter().zip(indexes.iter_mut()) {
        // SAFETY: what the caller promises of the table.
        *index = unsafe { sluss_lua_ctable_find(entries, size, *index, *hash) };
    }
}

/// As `std::slice::from_raw_parts`, where an empty slice may be at any address.
///
/// # Safety
///
/// `length` bytes at `data` can be read.
unsafe fn slice<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: what the caller promises.
    unsafe { std::slice::from_raw_parts(data, length) }
}
