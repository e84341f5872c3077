//! The structs that Lua sees as well, declared there in `modules/core/{counter,packet,link}_h.lua` and `native.lua`.

use std::ffi::c_void;
use std::mem::offset_of;

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

/// A counter of what was received. It is computed when it is read: what was sent, less what waits, less this. So `core.counter` changes this by as
/// much as a program changes the counter of what was sent.
#[repr(C)]
pub(super) struct ReceivedCounter {
    less: u64,
}

/// What was sent and does not wait.
fn taken(sent: &SentCounter, waiting: u64) -> u64 {
    (sent.count as i64 as u64).wrapping_sub(waiting)
}

impl ReceivedCounter {
    /// Its value, never below zero: a program may write to what was sent itself, without `core.counter`.
    fn of(&self, sent: &SentCounter, waiting: u64) -> u64 {
        let received = taken(sent, waiting).wrapping_sub(self.less);
        (received as i64).max(0) as u64
    }

    /// Makes this its value.
    fn set(&mut self, sent: &SentCounter, waiting: u64, value: u64) {
        self.less = taken(sent, waiting).wrapping_sub(value);
    }
}

#[repr(C)]
pub(super) struct LinkCounters {
    pub(super) dtime: Counter,
    pub(super) rxpackets: ReceivedCounter,
    pub(super) rxbytes: ReceivedCounter,
    pub(super) txpackets: SentCounter,
    pub(super) txbytes: SentCounter,
    pub(super) txdrop: SentCounter,
}

#[repr(C)]
pub(super) struct Link {
    pub(super) packets: [*mut RawPacket; RING],
    pub(super) counters: LinkCounters,
    pub(super) read: i32,
    /// PERF: each end writes one cursor and reads the other. In one cache line, a loop of one link to another took 2.9 ns a packet, and 2.2 so (Zen 3).
    _unused: [i32; 31],
    pub(super) write: i16,
}

impl Link {
    /// Where its counters of what was received lie in it.
    pub(super) const RXPACKETS: usize = offset_of!(Link, counters.rxpackets);
    pub(super) const RXBYTES: usize = offset_of!(Link, counters.rxbytes);

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

    /// Takes the next packet. The link must not be empty.
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

    /// Counts packets that were put.
    #[inline]
    pub(super) fn count_sent(&mut self, packets: usize, bytes: u64) {
        self.counters.txpackets.count += packets as f64;
        self.counters.txbytes.count += bytes as f64;
    }

    /// Packets that were taken.
    pub(super) fn received_packets(&self) -> u64 {
        let LinkCounters { txpackets, rxpackets, .. } = &self.counters;
        rxpackets.of(txpackets, self.waiting() as u64)
    }

    pub(super) fn set_received_packets(&mut self, value: u64) {
        let waiting = self.waiting() as u64;
        let LinkCounters { txpackets, rxpackets, .. } = &mut self.counters;
        rxpackets.set(txpackets, waiting, value);
    }

    /// The bytes of packets that wait.
    ///
    /// # Safety
    /// What waits are packets; slots that were never used are null.
    unsafe fn waiting_bytes(&self) -> u64 {
        let slots = (0..self.waiting()).map(|index| (self.read as usize + index) & (RING - 1));
        // SAFETY: as the caller says.
        let lengths =
            slots.filter_map(|slot| unsafe { self.packets[slot].as_ref() }).map(|packet| packet.length);
        lengths.map(u64::from).sum()
    }

    /// The bytes of packets that were taken.
    ///
    /// # Safety
    /// As for [`Link::waiting_bytes`].
    pub(super) unsafe fn received_bytes(&self) -> u64 {
        let LinkCounters { txbytes, rxbytes, .. } = &self.counters;
        // SAFETY: as the caller says.
        rxbytes.of(txbytes, unsafe { self.waiting_bytes() })
    }

    /// # Safety
    /// As for [`Link::waiting_bytes`].
    pub(super) unsafe fn set_received_bytes(&mut self, value: u64) {
        // SAFETY: as the caller says.
        let waiting = unsafe { self.waiting_bytes() };
        let LinkCounters { txbytes, rxbytes, .. } = &mut self.counters;
        rxbytes.set(txbytes, waiting, value);
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
    /// Whether native apps read the metadata of packets: then new packets must not have that of others.
    pub(super) stamps: i32,
}
