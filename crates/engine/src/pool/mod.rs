//! Packet memory: where packets live, who owns them, how they come back.
//!
//! ```text
//! Region (one memfd)   chunk 0      chunk 1      chunk 2  …          one region a pool
//!                      │
//!                      ├─ 0 … 511   headroom: where the packet begins is `address & 511`, Snabb's rule
//!                      ├─ 128+64c   struct packet { u16 length; u8 data[10240]; }   <- a `Packet` points here
//!                      └─ 10752+64c struct metadata, 64 bytes, touched by apps that ask for it
//! ```
//!
//! The colour `c` differs from chunk to chunk, so that the first lines of packets spread over the sets of the L1
//! cache; with one headroom for all, they would share four sets of sixty-four.
//!
//! # Invariants
//! - A [`Packet`] is the only pointer to its chunk. It cannot be copied; who drops it gives the chunk back, and the
//!   engine counts it.
//! - Each chunk is in exactly one place: the free list of its pool, a stack of returns on the way there, a link, or
//!   a `Packet` in somebody's hands. `total = free + queued + held` is checked at every report.
//! - Memory is not unmapped while a packet is out: a pool dropped early leaks its region instead.

mod burst;
mod meta;
mod orphans;
mod packet;
mod region;
mod returns;
#[cfg(all(test, not(loom)))]
mod tests;
mod wide;

pub use burst::Burst;
pub use meta::Metadata;
pub(crate) use orphans::{Orphans, Whose, abandon, abandon_counted};
pub use packet::{MAX_PAYLOAD, Packet, TooLong};
pub(crate) use returns::Foreign;
pub(crate) use wide::move_kept;

use crate::shm::Counter;
use region::Region;
use std::io;
use std::ptr::NonNull;

/// A pool of packets: a free list over one region of memory. Each worker has its own.
#[derive(Debug)]
pub struct Pool {
    /// The packets at home, each at its chunk's first position. The last freed is the next used: its lines are warm.
    free: Vec<Packet>,
    region: Region,
    /// Packets of other pools, on their way back.
    foreign: Foreign,
    has_travelled: bool,
    engine: u64,
    allocated: u64,
    freed: u64,
    /// How often an allocation found no packet.
    exhausted: u64,
    /// Whether new packets get fresh metadata; off unless an app of the graph reads it.
    stamping: Option<Metadata>,
}

/// The link type of a new packet.
const ETHERNET: u16 = 1;

impl Pool {
    /// A pool of `packets` packets, of 11.5 KiB each; memory that is never touched is never used. No engine sweeps up packets
    /// of it that go out of scope: they do not come back.
    ///
    /// # Errors
    /// When the system refuses the memory, or `packets` is 0 or more than [`Pool::MAX_PACKETS`].
    pub fn new(packets: usize) -> io::Result<Self> {
        Self::of_engine(packets, 0)
    }

    /// A pool of an engine, which sweeps up what belongs to its pools.
    pub(crate) fn of_engine(packets: usize, engine: u64) -> io::Result<Self> {
        let region = Region::new(packets, engine)?;
        // Low chunks are on top: they lie in huge pages, where there are any.
        let free = (0..packets).rev().map(|index| region.packet(index)).collect();
        Ok(Pool {
            free,
            region,
            foreign: Foreign::default(),
            has_travelled: false,
            engine,
            allocated: 0,
            freed: 0,
            exhausted: 0,
            stamping: None,
        })
    }

    /// The most packets a pool can hold.
    pub const MAX_PACKETS: usize = region::MAX_CHUNKS;

    /// A packet of length 0, or `None` when the pool is exhausted, which is counted.
    #[inline]
    pub fn allocate(&mut self) -> Option<Packet> {
        let mut packet = match self.free.pop() {
            Some(packet) => packet,
            None => self.recall()?,
        };
        self.allocated += 1;
        packet.clear();
        if let Some(metadata) = self.stamping {
            *packet.metadata_mut() = metadata;
        }
        Some(packet)
    }

    /// A packet that holds `data`.
    ///
    /// `None` when the pool is exhausted, which is counted, or `data` is longer than [`MAX_PAYLOAD`], which is not.
    pub fn packet(&mut self, data: &[u8]) -> Option<Packet> {
        if data.len() > MAX_PAYLOAD {
            return None;
        }
        let mut packet = self.allocate()?;
        packet.append(data).ok()?;
        Some(packet)
    }

    /// A copy of a packet, with its metadata where the graph uses metadata.
    #[inline]
    pub fn copy(&mut self, packet: &Packet) -> Option<Packet> {
        let mut copy = match self.free.pop() {
            Some(copy) => copy,
            None => self.recall()?,
        };
        self.allocated += 1;
        copy.copy_lines_from(packet);
        if self.uses_metadata() {
            *copy.metadata_mut() = *packet.metadata();
        }
        Some(copy)
    }

    /// Gives a packet back; `counter` says why.
    #[inline]
    pub fn free(&mut self, packet: Packet, counter: &Counter) {
        counter.add(1);
        self.put_back(packet);
    }

    /// Takes a packet back that was allocated in vain: as if it had not been.
    pub fn take_back(&mut self, packet: Packet) {
        // Wraps where it was allocated from another pool; only the sum over all pools means something.
        self.allocated = self.allocated.wrapping_sub(1);
        self.sort_back(packet);
    }

    /// Gives what is left of a burst back; `counter` says why.
    pub fn free_burst(&mut self, burst: Burst<'_>, counter: &Counter) {
        counter.add(self.put_back_all(burst) as u64);
    }

    /// Gives back packets whose fate is counted by the caller; returns how many.
    pub(crate) fn put_back_all(&mut self, burst: Burst<'_>) -> usize {
        let count = burst.len();
        self.freed += count as u64;
        if let Err(strange) = self.take_home(burst)
            && let Err(mixed) = self.foreign.add_all(strange)
        {
            mixed.for_each(|packet| self.sort_back(packet));
        }
        count
    }

    /// Puts packets onto the free list if all belong to this pool.
    fn take_home<'a>(&mut self, burst: Burst<'a>) -> Result<(), Burst<'a>> {
        self.free.reserve(burst.len());
        let homes = &mut self.free.spare_capacity_mut()[..burst.len()];
        if !wide::find_homes(self.region.start(), &burst, homes) {
            return Err(burst);
        }
        let (_, count) = burst.into_slots();
        // SAFETY: so many were written behind the end of the list, and those of the burst were given up.
        unsafe { self.free.set_len(self.free.len() + count) };
        Ok(())
    }

    /// Makes each of `copies`, from [`Pool::take`], a copy of the packet at its place in `originals`. Returns how many bytes
    /// they have.
    pub(crate) fn copy_each(originals: &[Packet], copies: &mut [Packet]) -> u64 {
        wide::copy_each(originals, copies)
    }

    /// Takes up to `count` packets off the free list. They stay where they are until the list is used again; their bytes
    /// are those of their last use.
    ///
    /// # Safety
    /// The caller moves each packet out of its place before the list is used again.
    pub(crate) unsafe fn take(&mut self, count: usize) -> (NonNull<Packet>, usize) {
        if self.free.len() < count {
            self.fetch_returns();
        }
        let taken = count.min(self.free.len());
        self.exhausted += (count - taken) as u64;
        self.allocated += taken as u64;
        let left = self.free.len() - taken;
        // SAFETY: the list becomes shorter; what lies behind its end stays in place.
        unsafe {
            self.free.set_len(left);
            (NonNull::new_unchecked(self.free.as_mut_ptr().add(left)), taken)
        }
    }

    /// Gives back a packet whose fate is counted by the caller.
    #[inline]
    pub(crate) fn put_back(&mut self, packet: Packet) {
        self.freed += 1;
        self.sort_back(packet);
    }

    #[inline]
    fn sort_back(&mut self, packet: Packet) {
        if self.region.owns(std::slice::from_ref(&packet)) {
            self.free.push(packet.at_home());
        } else {
            self.foreign.add(packet);
        }
    }

    /// Sends the packets of other pools back to them.
    #[cold]
    pub(crate) fn return_foreign(&mut self) {
        self.foreign.send();
    }

    /// Fetches what other workers have returned, then a packet.
    #[cold]
    #[inline(never)]
    fn recall(&mut self) -> Option<Packet> {
        self.fetch_returns();
        let packet = self.free.pop();
        self.exhausted += u64::from(packet.is_none());
        packet
    }

    /// Takes in what other workers have returned. Asked for in every breath: the fewer packets go around, the fewer lines and
    /// translations of addresses are missed.
    #[inline]
    pub(crate) fn fetch_returns(&mut self) {
        self.has_travelled |= self.region.take_returns(&mut self.free);
    }

    /// From now on, new packets get fresh metadata and copies keep theirs; those that are out get it now. There is no way
    /// back: metadata that was written once would show again in later packets. For the engine, while no app runs.
    pub(crate) fn stamp(&mut self, now_ns: u64) {
        if self.stamping.is_none() {
            let metadata = Metadata { timestamp_ns: now_ns, link_type: ETHERNET, ..Metadata::default() };
            self.stamping = Some(metadata);
            // SAFETY: apps hold the packets that are out, and none runs.
            unsafe { self.region.describe_all_but(&self.free, metadata) };
        }
    }

    /// What time new packets are stamped with.
    #[inline]
    pub(crate) fn stamp_time(&mut self, now_ns: u64) {
        if let Some(metadata) = &mut self.stamping {
            metadata.timestamp_ns = now_ns;
        }
    }

    /// Whether other workers have had packets of this pool: then the lines of free ones are far away.
    #[inline]
    pub(crate) fn has_travelled(&self) -> bool {
        self.has_travelled
    }

    /// Whether anybody reads metadata.
    #[inline]
    pub fn uses_metadata(&self) -> bool {
        self.stamping.is_some()
    }

    /// Says what is known of a packet that came from outside, if anybody reads metadata.
    #[inline]
    pub fn describe(&self, packet: &mut Packet, metadata: Metadata) {
        if self.uses_metadata() {
            *packet.metadata_mut() = metadata;
        }
    }

    /// The engine whose packets these are.
    pub(crate) fn engine(&self) -> u64 {
        self.engine
    }

    /// Packets that the pool owns, wherever they are.
    pub fn total(&self) -> usize {
        self.region.chunks()
    }

    /// Packets ready to be allocated.
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// Packets of other pools that wait here for the way back.
    pub(crate) fn foreign(&self) -> usize {
        self.foreign.len()
    }

    /// Packets allocated so far.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Packets freed here so far, those of other pools included.
    pub fn freed(&self) -> u64 {
        self.freed
    }

    /// Allocations that found no packet so far.
    pub fn exhausted(&self) -> u64 {
        self.exhausted
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.return_foreign();
        self.fetch_returns();
        if self.free.len() < self.region.chunks() {
            // Somebody still holds packets of this memory: it stays.
            self.region.leak();
        }
        for packet in self.free.drain(..) {
            packet.forget();
        }
    }
}
