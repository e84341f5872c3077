//! The structs that Lua sees as well, declared there in `modules/core/{counter,packet,link}_h.lua` and `native.lua`.

use std::ffi::c_void;

/// Slots of a link; one stays free.
pub(super) const RING: usize = 1024;
/// Packets that a list of free ones has room for.
pub(super) const MAX_PACKETS: usize = 1_000_000;

#[repr(C)]
pub(super) struct RawPacket {
    pub(super) length: u16,
    pub(super) data: [u8; 0],
}

#[repr(C)]
pub(super) struct Counter {
    pub(super) count: u64,
}

#[repr(C)]
pub(super) struct LinkCounters {
    pub(super) dtime: *mut Counter,
    pub(super) txbytes: *mut Counter,
    pub(super) rxbytes: *mut Counter,
    pub(super) txpackets: *mut Counter,
    pub(super) rxpackets: *mut Counter,
    pub(super) txdrop: *mut Counter,
}

#[repr(C)]
pub(super) struct Link {
    pub(super) packets: [*mut RawPacket; RING],
    pub(super) counters: LinkCounters,
    pub(super) read: i32,
    pub(super) write: i32,
}

#[repr(C)]
pub(super) struct Freelist {
    pub(super) free: i32,
    pub(super) max: i32,
    pub(super) list: [*mut RawPacket; MAX_PACKETS],
}

/// The head of `Core`.
#[repr(C)]
pub(super) struct Shared {
    pub(super) free: *mut Freelist,
    pub(super) breaths: *mut Counter,
    pub(super) frees: *mut Counter,
    pub(super) freebytes: *mut Counter,
    pub(super) freebits: *mut Counter,
    /// The time of this breath, in seconds.
    pub(super) now: f64,
    /// How long the engine sleeps between breaths now.
    pub(super) sleep_us: f64,
    /// A histogram of the durations of breaths, or null.
    pub(super) latency: *mut c_void,
    /// Whether a breath goes on.
    pub(super) running: i32,
    /// Whether a timer was ever activated.
    pub(super) timers: i32,
}
