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

/// What an app has sent, a whole number up to 2^53. PERF: why it is no `u64` is said in `link_h.lua`.
#[repr(C)]
pub(super) struct SentCounter {
    pub(super) count: f64,
}

#[repr(C)]
pub(super) struct LinkCounters {
    pub(super) dtime: Counter,
    pub(super) rxpackets: Counter,
    pub(super) rxbytes: Counter,
    pub(super) txpackets: SentCounter,
    pub(super) txbytes: SentCounter,
    pub(super) txdrop: SentCounter,
}

#[repr(C)]
pub(super) struct Link {
    pub(super) packets: [*mut RawPacket; RING],
    pub(super) counters: LinkCounters,
    pub(super) read: i32,
    pub(super) write: i16,
}

impl Link {
    /// Packets that wait in it.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        (i32::from(self.write) - self.read) as usize & (RING - 1)
    }

    /// Packets that it has room for.
    #[inline]
    pub(super) fn room(&self) -> usize {
        RING - 1 - self.waiting()
    }

    /// Takes the next packet, uncounted. The link must not be empty.
    #[inline]
    pub(super) fn take(&mut self) -> *mut RawPacket {
        let packet = self.packets[self.read as usize & (RING - 1)];
        self.read = (self.read + 1) & (RING as i32 - 1);
        packet
    }

    /// Puts a packet at the end, uncounted. There must be room.
    #[inline]
    pub(super) fn put(&mut self, packet: *mut RawPacket) {
        self.packets[self.write as usize & (RING - 1)] = packet;
        self.write = (self.write + 1) & (RING as i16 - 1);
    }

    /// Counts packets that were taken.
    #[inline]
    pub(super) fn count_received(&mut self, packets: usize, bytes: u64) {
        self.counters.rxpackets.count += packets as u64;
        self.counters.rxbytes.count += bytes;
    }

    /// Counts packets that were put.
    #[inline]
    pub(super) fn count_sent(&mut self, packets: usize, bytes: u64) {
        self.counters.txpackets.count += packets as f64;
        self.counters.txbytes.count += bytes as f64;
    }
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
