//! Packet memory: where packets live, who owns them, how they come back.
//!
//! ```text
//! Region (one memfd)   chunk 0      chunk 1      chunk 2  …          one region a pool, and one for large packets
//!                      │
//!                      ├─ 0 … 511    metadata: 64 bytes at 64c, touched by apps that ask for it
//!                      ├─ 512 … 1023 headroom: where the packet begins is `address & 511`, Snabb's rule
//!                      └─ 640+64c    struct packet { u16 length; u8 data[10240]; }   <- a `Packet` points here
//! ```
//!
//! The colour `c` differs from chunk to chunk, so that the first lines of packets spread over the sets of the L1
//! cache; with one headroom for all, they would share six sets of sixty-four. In large chunks, `data` has 65535 bytes; there are few
//! of them, and none before one is asked for.
//!
//! # Invariants
//! - A [`Packet`] is the only pointer to its chunk. It cannot be copied; who drops it gives the chunk back, and the
//!   engine counts it.
//! - Each chunk is in exactly one place: the free list of its pool, a stack of returns on the way there, a link, or
//!   a `Packet` in somebody's hands. `total = free + queued + held` is checked at every report.
//! - Memory is not unmapped while a packet is out: a pool dropped early leaks its region instead.

mod burst;
mod held;
mod kept;
mod large;
mod meta;
mod orphans;
mod packet;
mod region;
mod returns;
#[cfg(all(test, not(loom)))]
mod tests;
mod wide;

pub use burst::Burst;
pub use held::Held;
pub use kept::Kept;
pub use meta::Metadata;
pub(crate) use orphans::{Orphans, Whose, abandon, abandon_counted};
pub use packet::{MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Packet, TooLong};
pub(crate) use returns::Foreign;
pub(crate) use wide::move_kept;

use crate::shm::Counter;
use large::Large;
use packet::PREFETCHED;
use region::{Region, Size, Start};
use std::collections::HashSet;
use std::io;
use std::ptr::NonNull;

/// A pool of packets: a free list over one region of memory. Each worker has its own.
#[derive(Debug)]
pub struct Pool {
    /// The packets at home, each at its chunk's first position. The last freed is the next used: its lines are warm.
    free: Vec<Packet>,
    region: Region,
    /// Those for long packets.
    large: Large,
    /// Packets of other pools, on their way back.
    foreign: Foreign,
    has_travelled: bool,
    engine: u64,
    allocated: u64,
    freed: u64,
    /// How often an allocation found no packet.
    exhausted: u64,
    /// Packets whose memory devices have, less those that came by other workers.
    lent: u64,
    /// Whether new packets get fresh metadata; off unless an app of the graph reads it.
    stamping: Option<Metadata>,
}

/// The link type of a new packet.
const ETHERNET: u16 = 1;

impl Pool {
    /// A pool of `packets` packets, of 12 KiB each, and of [`Pool::LARGE_PACKETS`] large ones, of 65.5 KiB each; memory that is never
    /// touched is never used. No engine sweeps up packets of it that go out of scope: they do not come back.
    ///
    /// # Errors
    /// When the system refuses the memory, or `packets` is 0 or more than [`Pool::MAX_PACKETS`].
    pub fn new(packets: usize) -> io::Result<Self> {
        Self::of_engine(packets, 0)
    }

    /// A pool of an engine, which sweeps up what belongs to its pools.
    pub(crate) fn of_engine(packets: usize, engine: u64) -> io::Result<Self> {
        let region = Region::new(Size::Usual, packets, engine)?;
        Ok(Pool {
            // Low chunks are on top: they lie in huge pages, where there are any.
            free: region.packets(),
            region,
            large: Large::new(Self::LARGE_PACKETS, engine)?,
            foreign: Foreign::default(),
            has_travelled: false,
            engine,
            allocated: 0,
            freed: 0,
            exhausted: 0,
            lent: 0,
            stamping: None,
        })
    }

    /// Sets the number of large packets; 0 for none. To be called before any is allocated.
    ///
    /// # Errors
    /// When that is more than [`Pool::MAX_LARGE_PACKETS`].
    pub fn with_large(mut self, packets: usize) -> io::Result<Self> {
        self.large = Large::new(packets, self.engine)?;
        Ok(self)
    }

    /// The most packets a pool can hold.
    pub const MAX_PACKETS: usize = Size::Usual.max_chunks();
    /// The most large packets a pool can hold.
    pub const MAX_LARGE_PACKETS: usize = Size::Large.max_chunks();
    /// The number of large packets of a pool, unless set otherwise.
    pub const LARGE_PACKETS: usize = 256;

    /// Puts the memory of the packets that are allocated next into huge pages where the kernel can, for those who keep them: the first packets of a pool
    /// lie in huge pages anyway.
    pub fn warm(&self, packets: usize) {
        self.region.warm(&self.free[self.free.len().saturating_sub(packets)..]);
    }

    /// A packet of length 0, or `None` when the pool is exhausted, which is counted.
    #[inline]
    pub fn allocate(&mut self) -> Option<Packet> {
        let mut packet = self.pop()?;
        packet.clear();
        if let Some(metadata) = self.stamping {
            packet.set_metadata(metadata);
        }
        Some(packet)
    }

    /// A packet of length 0 that can become `len` bytes long: a large one if need be.
    ///
    /// `None` when there is none left, or never was, which is counted, or `len` exceeds [`MAX_LARGE_PAYLOAD`], which is not.
    #[inline]
    pub fn allocate_for(&mut self, len: usize) -> Option<Packet> {
        if len <= MAX_PAYLOAD {
            return self.allocate();
        }
        if len <= MAX_LARGE_PAYLOAD { self.allocate_large() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn allocate_large(&mut self) -> Option<Packet> {
        let Some(mut packet) = self.large.allocate() else {
            self.exhausted += 1;
            return None;
        };
        self.allocated = self.allocated.wrapping_add(1);
        packet.clear();
        if let Some(metadata) = self.stamping {
            packet.set_metadata(metadata);
        }
        Some(packet)
    }

    /// The longest packet that this pool has memory for, used or not: [`MAX_LARGE_PAYLOAD`], or [`MAX_PAYLOAD`] where there are no large
    /// ones.
    pub fn max_len(&self) -> usize {
        if self.large.max() > 0 { MAX_LARGE_PAYLOAD } else { MAX_PAYLOAD }
    }

    /// Sees to it that a packet can become `len` bytes long: moves it to a large chunk if need be. Returns whether it can; if not, it is
    /// as before.
    ///
    /// ```
    /// # use engine::{MAX_PAYLOAD, Pool, shm::Counter};
    /// let mut pool = Pool::new(64)?;
    /// let mut packet = pool.packet(&[1; MAX_PAYLOAD]).expect("a free packet");
    /// assert!(packet.append(b"more").is_err());
    /// assert!(pool.make_room(&mut packet, MAX_PAYLOAD + 4));
    /// packet.append(b"more")?;
    /// # pool.take_back(packet);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make_room(&mut self, packet: &mut Packet, len: usize) -> bool {
        if len <= packet.max_len() {
            return true;
        }
        if len > self.max_len() {
            return false;
        }
        let Some(large) = self.copy_large(packet) else { return false };
        self.take_back(std::mem::replace(packet, large));
        true
    }

    /// A packet that holds `data`.
    ///
    /// `None` when the pool is exhausted, which is counted, or `data` is longer than [`MAX_LARGE_PAYLOAD`], which is not.
    pub fn packet(&mut self, data: &[u8]) -> Option<Packet> {
        let mut packet = self.allocate_for(data.len())?;
        packet.append(data).ok()?;
        Some(packet)
    }

    /// A copy of a packet in a large chunk.
    #[cold]
    #[inline(never)]
    fn copy_large(&mut self, packet: &Packet) -> Option<Packet> {
        let mut copy = self.allocate_large()?;
        // The longest fits.
        let _ = copy.append(packet.data());
        if self.uses_metadata() {
            copy.set_metadata(*packet.metadata());
        }
        Some(copy)
    }

    /// A copy of a packet, with its metadata where the graph uses metadata.
    #[inline]
    pub fn copy(&mut self, packet: &Packet) -> Option<Packet> {
        if packet.is_long() {
            return self.copy_large(packet);
        }
        let mut copy = self.pop()?;
        copy.copy_lines_from(packet);
        if self.uses_metadata() {
            copy.set_metadata(*packet.metadata());
        }
        Some(copy)
    }

    /// Takes a packet off the free list.
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = match self.free.pop() {
            Some(packet) => packet,
            None => self.recall()?,
        };
        self.allocated = self.allocated.wrapping_add(1);
        if self.has_travelled
            && let Some(later) = self.free.len().checked_sub(PREFETCHED)
        {
            packet::prefetch(&self.free[later]);
        }
        Some(packet)
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

    /// As [`Pool::take_back`], for all of a list.
    pub fn take_back_all(&mut self, packets: &mut Vec<Packet>) {
        self.allocated = self.allocated.wrapping_sub(packets.len() as u64);
        if let Err(strange) = self.take_home(Burst::from(packets)) {
            self.sort_all_back(strange);
        }
    }

    /// Gives what is left of a burst back; `counter` says why.
    pub fn free_burst(&mut self, burst: Burst<'_>, counter: &Counter) {
        counter.add(self.put_back_all(burst) as u64);
    }

    /// Gives back packets whose fate is counted by the caller; returns how many.
    pub(crate) fn put_back_all(&mut self, burst: Burst<'_>) -> usize {
        let count = burst.len();
        self.freed += count as u64;
        if let Err(strange) = self.take_home(burst) {
            self.sort_all_back(strange);
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

    /// Puts packets back some of which do not lie in the usual chunks of this pool.
    fn sort_all_back(&mut self, burst: Burst<'_>) {
        let is_usual = burst.first().is_some_and(|packet| Start::of(packet).size() == Size::Usual);
        let mixed = if is_usual { self.foreign.add_all(burst) } else { Err(burst) };
        if let Err(mixed) = mixed {
            mixed.for_each(|packet| self.sort_back(packet));
        }
    }

    /// Makes each of `copies`, from [`Pool::take`], a copy of the packet at its place in `originals`, up to one that takes a large
    /// chunk. Returns how many are copies now, and how many bytes they have.
    pub(crate) fn copy_each(originals: &[Packet], copies: &mut [Packet]) -> (usize, u64) {
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
        self.allocated = self.allocated.wrapping_add(taken as u64);
        let left = self.free.len() - taken;
        // SAFETY: the list becomes shorter; what lies behind its end stays in place.
        unsafe {
            self.free.set_len(left);
            (NonNull::new_unchecked(self.free.as_mut_ptr().add(left)), taken)
        }
    }

    /// Counts packets that a device has taken with their memory: they have arrived, as `counter` says, and their memory is the device's until it comes
    /// back, by [`Pool::regain`], by [`Packet::come_back`], or as the memory of a packet that the device brings ([`Pool::count_taken`]).
    #[inline]
    pub fn lend_sent(&mut self, count: usize, counter: &Counter) {
        counter.add(count as u64);
        self.freed += count as u64;
        self.allocated = self.allocated.wrapping_add(count as u64);
        self.lent = self.lent.wrapping_add(count as u64);
    }

    /// Puts packets back whose memory a device no longer needs.
    #[inline]
    pub fn regain(&mut self, packets: &mut Vec<Packet>) {
        self.lent = self.lent.wrapping_sub(packets.len() as u64);
        self.take_back_all(packets);
    }

    /// Counts packets that came with the memory that a device had, less those of which a device has got the memory: that wraps.
    #[inline]
    pub fn count_taken(&mut self, taken: usize) {
        self.lent = self.lent.wrapping_sub(taken as u64);
    }

    /// Adds empty packets to `packets` until there are `count`, or none is left; what is known of new packets is not said of them.
    #[inline]
    pub fn fill(&mut self, packets: &mut Vec<Packet>, count: usize) {
        let missing = count.saturating_sub(packets.len());
        if missing > 0 {
            packets.reserve(missing);
            // SAFETY: the packets are moved to the end of the list, which has room for them, before the pool is used again.
            unsafe {
                let (first, taken) = self.take(missing);
                let len = packets.len();
                packets.as_mut_ptr().add(len).copy_from_nonoverlapping(first.as_ptr(), taken);
                packets.set_len(len + taken);
                packets[len..].iter_mut().for_each(Packet::clear);
            }
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
            self.sort_strange_back(packet);
        }
    }

    #[inline(never)]
    fn sort_strange_back(&mut self, packet: Packet) {
        match Start::of(&packet).size() {
            Size::Usual => self.foreign.add(packet),
            Size::Large => self.large.put_back(packet),
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

    /// Takes in the packets that other workers have returned, except large ones. Asked for in every breath: the fewer packets go around, the
    /// fewer lines and translations of addresses are missed.
    #[inline]
    pub(crate) fn fetch_returns(&mut self) {
        self.has_travelled |= self.region.take_returns(&mut self.free);
    }

    /// Takes in all that other workers have returned.
    pub(crate) fn fetch_all_returns(&mut self) {
        self.fetch_returns();
        self.large.fetch_returns();
    }

    /// From now on, new packets get fresh metadata and copies keep theirs; those that are out have it as of now. There is no way
    /// back: metadata that was written once would show again in later packets.
    pub(crate) fn stamp(&mut self, now_ns: u64) {
        if self.stamping.is_none() {
            let metadata = Metadata { timestamp_ns: now_ns, linktype: ETHERNET, ..Metadata::default() };
            self.stamping = Some(metadata);
            self.region.set_metadata_without_stamp(metadata);
            self.large.set_metadata_without_stamp(metadata);
        }
    }

    /// Gives a packet without metadata of its own that of a new one, where anybody reads it.
    #[inline]
    pub fn complete(&self, packet: &mut Packet) {
        if let Some(metadata) = self.stamping
            && !packet.is_stamped()
        {
            packet.set_metadata(metadata);
        }
    }

    /// The time that new packets are stamped with.
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

    /// The time that new packets are stamped with, in nanoseconds since 1970: the time of day at this breath, or capture time. 0 if nobody
    /// reads metadata.
    #[inline]
    pub fn timestamp_ns(&self) -> u64 {
        self.stamping.map_or(0, |metadata| metadata.timestamp_ns)
    }

    /// Says what is known of a packet that came from outside, if anybody reads metadata.
    #[inline]
    pub fn describe(&self, packet: &mut Packet, metadata: Metadata) {
        if self.uses_metadata() {
            packet.set_metadata(metadata);
        }
    }

    /// Says of a packet what is said of every new one, if anybody reads metadata: copies have the time of their original, which may be kept
    /// for long.
    #[inline]
    pub fn describe_as_new(&self, packet: &mut Packet) {
        if let Some(metadata) = self.stamping {
            packet.set_metadata(metadata);
        }
    }

    /// Says that headers of up to 64 bytes are going to be put before these packets: where another worker may have had them last, the
    /// lines for headers are asked for, all at once.
    ///
    /// PERF: two workers that shared eight tunnels passed on 1.34 and 1.42 times what one did without this, 1.63 and 1.65 times with it.
    #[inline]
    pub fn expect_headers(&self, packets: &[Packet]) {
        let Some(first) = packets.first() else { return };
        if self.has_travelled || !self.region.owns(std::slice::from_ref(first)) {
            packets.iter().for_each(packet::prefetch_front);
        }
    }

    /// Those of these [chunks](Packet::chunk) that are ready to be allocated.
    pub(crate) fn free_among(&self, chunks: &HashSet<usize>) -> HashSet<usize> {
        let free = self.free.iter().chain(self.large.free());
        free.map(Packet::chunk).filter(|chunk| chunks.contains(chunk)).collect()
    }

    /// The engine whose packets these are.
    pub(crate) fn engine(&self) -> u64 {
        self.engine
    }

    /// Packets that the pool owns, wherever they are; large ones count from when the first is asked for.
    pub fn total(&self) -> usize {
        self.region.chunks() + self.large.total()
    }

    /// Usual packets that the pool owns.
    pub fn usual_total(&self) -> usize {
        self.region.chunks()
    }

    /// Large packets that the pool can have, whether any was asked for or not.
    pub fn large_total(&self) -> usize {
        self.large.max()
    }

    /// Whether an app that holds `own` large packets may hold one more, of this pool: see [`Held::has_room`].
    pub fn has_room_to_hold_large(&self, own: usize) -> bool {
        self.large.has_room_to_hold(own)
    }

    /// Packets ready to be allocated.
    pub fn available(&self) -> usize {
        self.free.len() + self.large.available()
    }

    /// Packets of other pools that wait here for the way back.
    pub(crate) fn foreign(&self) -> usize {
        self.foreign.len()
    }

    /// Packets allocated so far, without those that were given back unused.
    pub fn allocated(&self) -> u64 {
        self.allocated.wrapping_sub(self.come_back())
    }

    /// Packets whose memory devices have: of all pools of an engine together, as they go by one worker and come by another. Wraps.
    pub(crate) fn lent(&self) -> u64 {
        self.lent.wrapping_sub(self.come_back())
    }

    /// Packets that devices gave back without a pool at hand.
    fn come_back(&self) -> u64 {
        self.region.come_back() + self.large.come_back()
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
