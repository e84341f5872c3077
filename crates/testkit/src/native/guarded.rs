//! Packets that begin or end where memory does: whoever reads before or past one dies.

use decide::Packet;
use std::cell::RefCell;
use std::ptr;

/// Whole pages, with nothing mapped before and behind them.
pub struct Guarded {
    start: *mut u8,
    len: usize,
}

/// How a packet is put into its pages.
pub type Put = for<'m> fn(&'m mut Guarded, &[u8]) -> &'m [u8];

thread_local! {
    /// Mappings are slow to make: each thread keeps its own.
    static SPARE: RefCell<Vec<Guarded>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with descriptors of packets of at most a page, each in pages of its own.
pub fn with_guarded(packets: &[(Vec<u8>, u32)], put: Put, f: impl FnOnce(&[Packet<'_>])) {
    SPARE.with_borrow_mut(|spare| {
        while spare.len() < packets.len() {
            spare.push(Guarded::new(PAGE));
        }
        let descriptors: Vec<Packet<'_>> = spare
            .iter_mut()
            .zip(packets)
            .map(|(guarded, (data, wire_len))| Packet::new(put(guarded, data), *wire_len))
            .collect();
        f(&descriptors);
    });
}

const PAGE: usize = 4096;

impl Guarded {
    /// Room for packets of up to `capacity` bytes.
    pub fn new(capacity: usize) -> Guarded {
        let len = capacity.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), len + 2 * PAGE, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: all of that mapping but its first and its last page.
        let start = unsafe { start.byte_add(PAGE) };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::mprotect(start, len, libc::PROT_READ | libc::PROT_WRITE) }, 0);
        Guarded { start: start.cast(), len }
    }

    /// A copy of the packet, at the end.
    pub fn put(&mut self, packet: &[u8]) -> &[u8] {
        self.put_at(self.len - packet.len(), packet)
    }

    /// A copy of the packet, at the start.
    pub fn put_first(&mut self, packet: &[u8]) -> &[u8] {
        self.put_at(0, packet)
    }

    fn put_at(&mut self, at: usize, packet: &[u8]) -> &[u8] {
        assert!(at + packet.len() <= self.len);
        // SAFETY: within the part that is mapped readable and writable; `self` is borrowed mutably.
        unsafe {
            let at = self.start.add(at);
            ptr::copy_nonoverlapping(packet.as_ptr(), at, packet.len());
            std::slice::from_raw_parts(at, packet.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.start.byte_sub(PAGE).cast(), self.len + 2 * PAGE) };
    }
}
