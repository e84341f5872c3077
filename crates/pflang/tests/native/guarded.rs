//! Packets that end where memory ends: whoever reads past one dies.

use std::ptr;

/// A buffer whose last byte is the last of a page, with nothing mapped behind it.
pub(crate) struct Guarded {
    start: *mut u8,
    len: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    /// Room for packets of up to `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Guarded {
        let len = capacity.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), len + PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the last page of that mapping.
        assert_eq!(unsafe { libc::mprotect(start.byte_add(len), PAGE, libc::PROT_NONE) }, 0);
        Guarded { start: start.cast(), len }
    }

    /// A copy of the packet, at the end.
    pub(crate) fn put(&mut self, packet: &[u8]) -> &[u8] {
        assert!(packet.len() <= self.len);
        // SAFETY: within the part that is mapped readable and writable; `self` is borrowed mutably.
        unsafe {
            let at = self.start.add(self.len - packet.len());
            ptr::copy_nonoverlapping(packet.as_ptr(), at, packet.len());
            std::slice::from_raw_parts(at, packet.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.start.cast(), self.len + PAGE) };
    }
}
