//! Mapped files of Snabb's `lib.ipc.shmem`, which gives files as C's `FILE *`.

use std::ffi::c_void;
use std::ptr;

pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        b"shmem_unmap" => unmap as *mut c_void,
        b"shmem_grow" => grow as *mut c_void,
        b"shmem_attach" => attach as *mut c_void,
        _ => return None,
    })
}

unsafe extern "C" fn unmap(memory: *mut c_void, size: usize) -> bool {
    // SAFETY: Lua gives what it was given.
    unsafe { libc::munmap(memory, size) == 0 }
}

/// Makes a file `new` bytes long and maps it, in place of an earlier mapping. Null if that fails.
unsafe extern "C" fn grow(
    file: *mut libc::FILE,
    old: *mut c_void,
    old_size: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: Lua gives an open file, and what it was given.
    unsafe {
        let is_refused =
            (!old.is_null() && !unmap(old, old_size)) || libc::ftruncate(libc::fileno(file), new as i64) != 0;
        if is_refused { ptr::null_mut() } else { attach(file, new) }
    }
}

/// Maps a file. Null if that fails.
unsafe extern "C" fn attach(file: *mut libc::FILE, size: usize) -> *mut c_void {
    // SAFETY: as above; a new mapping.
    let memory = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(ptr::null_mut(), size, protection, libc::MAP_SHARED, libc::fileno(file), 0)
    };
    if memory == libc::MAP_FAILED { ptr::null_mut() } else { memory }
}
