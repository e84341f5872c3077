//! One stretch of packet memory, backed by a memory file so that other processes can map it.

use super::Metadata;
use super::meta::MetadataLine;
use super::packet::{MAX_LARGE_PAYLOAD, MAX_PAYLOAD, Packet, RawPacket};
use super::returns::Returns;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::io;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// How long the packets of a region can become. The address of each says which it is, in the bit above those within a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// Up to [`MAX_PAYLOAD`].
    Usual,
    /// Up to [`MAX_LARGE_PAYLOAD`].
    Large,
}

impl Size {
    /// Bytes of a chunk.
    const fn chunk(self) -> usize {
        match self {
            Size::Usual => 23 * 512,
            Size::Large => 131 * 512,
        }
    }

    /// How many chunks follow each other without a gap, and how many bytes from where that begins to where it begins again.
    ///
    /// PERF: with a stride of 2048 every header falls in 2 of 64 sets of the L1 cache, with Snabb's 22 x 512 in 4. Six chunks of
    /// 23 x 512 in 18 pages begin at 6 of the 8 places of a page, and the colours make 24 sets of them. Neither headers nor metadata of packets of
    /// usual size are ever in the first 512 bytes of a page, where the first slots of a link are.
    const fn group(self) -> (usize, usize) {
        match self {
            Size::Usual => (6, 18 * 4096),
            Size::Large => (1, self.chunk()),
        }
    }

    /// Where in the memory for chunks one begins. What a group is longer than its chunks stands before them.
    const fn offset(self, index: usize) -> usize {
        let (chunks, bytes) = self.group();
        (index / chunks + 1) * bytes - (chunks - index % chunks) * self.chunk()
    }

    /// Bytes of a region of `chunks` chunks.
    const fn region(self, chunks: usize) -> usize {
        HEAD + chunks.div_ceil(self.group().0) * self.group().1
    }

    /// Bytes of the longest packet.
    const fn max_payload(self) -> usize {
        match self {
            Size::Usual => MAX_PAYLOAD,
            Size::Large => MAX_LARGE_PAYLOAD,
        }
    }

    /// Chunks of the largest region.
    pub(super) const fn max_chunks(self) -> usize {
        let (chunks, bytes) = self.group();
        (SPAN - HEAD) / bytes * chunks
    }
}

/// Bytes before a packet; the headroom is its address modulo this.
pub(super) const HEADROOM: usize = 512;
/// Bytes before the headroom, where the lines for metadata are: at the same distance from a packet, however long it may become.
const METADATA: usize = 512;

/// Regions are aligned to this, so that the owner of a packet is found by masking its address.
pub(super) const SPAN: usize = if cfg!(miri) { 1 << 26 } else { 1 << 30 };
/// The head of a region, before its chunks: one huge page, so that the chunks begin on one.
const HEAD: usize = if cfg!(miri) { 4096 } else { 2 << 20 };
#[cfg(not(miri))]
/// Bytes that are put into huge pages from the start: the packets of a graph that keeps up fit in here.
const WARM: usize = 8 << 20;
#[cfg(not(miri))]
/// Bytes that are put into huge pages when they are asked for: those of packets that are kept in great numbers have pages of the usual size.
const WARM_MAX: usize = 128 << 20;

/// The longest packet at the last even position ends a cache line, at least, before its chunk: who copies lines may copy all of the last.
const fn has_room(size: Size) -> bool {
    METADATA + (HEADROOM - 2) + 2 + size.max_payload() + 64 <= size.chunk()
}

const _: () = assert!(has_room(Size::Usual) && has_room(Size::Large) && 8 * 64 <= METADATA);

/// One stretch of packet memory.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    size: Size,
    chunks: usize,
    leaked: bool,
}

/// The head of a region.
struct Head {
    returns: Returns,
    /// Which engine the packets belong to.
    engine: u64,
    /// How many packets apps may keep, and how many they do. These stand for themselves: no other memory is read by what they say.
    kept_max: u32,
    kept: AtomicU32,
    /// How many packets there are, and how many apps hold until others have come.
    chunks: u32,
    held: AtomicU32,
    /// How many packets devices have given back that no worker has counted: see [`come_back`].
    come_back: AtomicU64,
    /// The metadata of the packets that were out when the pool began to stamp packets. They may be in any thread by then, so that nobody
    /// but their owners may write theirs.
    without_stamp: OnceLock<Metadata>,
}

// SAFETY: the region is plain memory; its chunks are reached through `Packet`s, each of which has one owner, and its
// head is made of what threads can share.
unsafe impl Send for Region {}

impl Region {
    /// Maps memory for `chunks` packets.
    pub(super) fn new(size: Size, chunks: usize, engine: u64) -> io::Result<Self> {
        if chunks == 0 || chunks > size.max_chunks() {
            let why = format!("a pool holds 1 to {} packets, not {chunks}", size.max_chunks());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let base = map::reserve(size, size.region(chunks))?;
        // SAFETY: the head is mapped, aligned and ours; nobody knows of it yet.
        unsafe {
            base.cast::<Head>().write(Head {
                returns: Returns::default(),
                engine,
                // Those that are kept are copied, and the copies take as many again. A region has fewer chunks than 2^32.
                kept_max: (chunks / 2) as u32,
                kept: AtomicU32::new(0),
                chunks: chunks as u32,
                held: AtomicU32::new(0),
                come_back: AtomicU64::new(0),
                without_stamp: OnceLock::new(),
            })
        };
        Ok(Region { base, size, chunks, leaked: false })
    }

    /// All packets, the last first. To be called once: each call makes owners.
    pub(super) fn packets(&self) -> Vec<Packet> {
        // SAFETY: each chunk is memory of a region, and is made known once.
        (0..self.chunks).rev().map(|index| unsafe { Packet::from_raw(home(self.chunk(index))) }).collect()
    }

    /// Where the headroom of a chunk begins.
    fn chunk(&self, index: usize) -> NonNull<u8> {
        debug_assert!(index < self.chunks);
        // SAFETY: the chunk lies within the mapping.
        unsafe { self.base.add(HEAD + self.size.offset(index) + METADATA) }
    }

    /// Sets the metadata of the packets that are out, unless that was done before. The metadata of those that are at home is written when they are
    /// taken.
    pub(super) fn set_metadata_without_stamp(&self, metadata: Metadata) {
        // Who comes second changes nothing.
        // SAFETY: the region lives.
        let _ = unsafe { head_at(self.start()) }.without_stamp.set(metadata);
    }

    pub(super) fn start(&self) -> Start {
        Start(self.base)
    }

    /// Puts the memory of packets of it into huge pages where the kernel can, within the first [`WARM_MAX`] bytes.
    pub(super) fn warm(&self, packets: &[Packet]) {
        let offsets = packets.iter().map(|packet| packet.as_ptr().addr().get() & (SPAN - 1));
        let bounds = offsets.fold(None, |bounds: Option<(usize, usize)>, offset| {
            let (low, high) = bounds.unwrap_or((offset, offset));
            Some((low.min(offset), high.max(offset)))
        });
        if let Some((low, high)) = bounds {
            map::warm_more(self.base, low, (high + self.size.chunk()).min(self.size.region(self.chunks)));
        }
    }

    /// Whether the memory of all these packets belongs here.
    #[inline]
    pub(super) fn owns(&self, packets: &[Packet]) -> bool {
        self.start().owns(packets)
    }

    /// Takes what other workers have returned to this region. Returns whether there was something.
    #[inline]
    pub(super) fn take_returns(&self, free: &mut Vec<Packet>) -> bool {
        // SAFETY: the region lives.
        unsafe { returns_at(self.start()) }.take(self.start(), free)
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Whether an app that holds `own` packets of it may hold one more.
    pub(super) fn has_room_to_hold(&self, own: usize) -> bool {
        // SAFETY: the region lives.
        may_hold(unsafe { head_at(self.start()) }, own)
    }

    /// Packets of it that devices have given back by [`come_back`].
    pub(super) fn come_back(&self) -> u64 {
        // SAFETY: the region lives.
        unsafe { head_at(self.start()) }.come_back.load(Ordering::Relaxed)
    }

    /// Keeps the memory for ever.
    pub(super) fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: the pool leaks its region unless every packet is at home, so nobody points here any more.
            unsafe { map::release(self.size, self.base, self.size.region(self.chunks)) };
        }
    }
}

/// Where a region begins. Regions are aligned to SPAN, and no longer than it, so whoever has a packet of it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start(NonNull<u8>);

// SAFETY: an address; what is done with it has its own reasons.
unsafe impl Send for Start {}

impl Start {
    /// That of the region which a packet belongs to.
    #[inline]
    pub(super) fn of(packet: &Packet) -> Self {
        Self::at(packet.as_ptr())
    }

    #[inline]
    fn at(packet: NonNull<RawPacket>) -> Self {
        // SAFETY: regions do not begin at address 0.
        let start = |address: NonZero<usize>| unsafe { NonZero::new_unchecked(address.get() & !(SPAN - 1)) };
        Start(packet.cast::<u8>().map_addr(start))
    }

    /// Whether the memory of all these packets belongs to the region.
    #[inline]
    pub(super) fn owns(self, packets: &[Packet]) -> bool {
        Self::is_within(packets.iter().fold(0, |bits, packet| bits | self.difference(packet)))
    }

    /// The bits in which a packet's address is another than the region's.
    #[inline]
    pub(super) fn difference(self, packet: &Packet) -> usize {
        packet.as_ptr().addr().get() ^ self.0.addr().get()
    }

    /// Whether the differences of packets, all in one disjunction, show that they belong to the region: without a branch for each.
    #[inline]
    pub(super) fn is_within(differences: usize) -> bool {
        differences < SPAN
    }

    /// Where in the region a packet of it is at home.
    #[inline]
    pub(super) fn home_of(self, packet: &Packet) -> u32 {
        (home(chunk_of(packet.as_ptr())).addr().get() & (SPAN - 1)) as u32
    }

    /// How long the packets of the region can become.
    #[inline]
    pub(super) fn size(self) -> Size {
        if self.0.addr().get() & SPAN == 0 { Size::Usual } else { Size::Large }
    }

    /// The address of the packet that is at home there.
    #[inline]
    pub(super) fn packet(self, home: u32) -> NonNull<RawPacket> {
        self.0.map_addr(|address| address | home as usize).cast()
    }
}

/// The head of a region.
///
/// # Safety
/// The region must outlive the reference: it does while packets of it are out.
unsafe fn head_at<'a>(start: Start) -> &'a Head {
    // SAFETY: by the caller's promise; the head was written by `Region::new`, and is only shared since.
    unsafe { start.0.cast::<Head>().as_ref() }
}

/// The stack of returns of a region.
///
/// # Safety
/// As for [`head_at`].
pub(super) unsafe fn returns_at<'a>(start: Start) -> &'a Returns {
    // SAFETY: by the caller's promise.
    unsafe { &head_at(start).returns }
}

/// The engine that a packet belongs to.
pub(super) fn engine_of(packet: &Packet) -> u64 {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.engine
}

/// Counts a packet among those of its region that are kept, unless there are too many of them. Returns whether it did.
pub(super) fn begin_to_keep(packet: &Packet) -> bool {
    // SAFETY: the region lives while the packet is out.
    let head = unsafe { head_at(Start::of(packet)) };
    let one_more = |kept| (kept < head.kept_max).then_some(kept + 1);
    head.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
}

/// Counts a packet no longer among those that are kept.
pub(super) fn end_to_keep(packet: &Packet) {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.kept.fetch_sub(1, Ordering::Relaxed);
}

/// Whether an app that holds `own` packets of a region may hold one more: see [`Held::has_room`](super::Held::has_room).
fn may_hold(head: &Head, own: usize) -> bool {
    let held = head.held.load(Ordering::Relaxed);
    // A sixteenth where half is held, and less the more it is: however many apps there are, a quarter is left to what comes in.
    let own_max = (head.chunks - head.chunks.div_ceil(4)).saturating_sub(held).div_ceil(4);
    held < (head.chunks / 2).max(1) || own < own_max as usize
}

/// The same for the region of a packet.
pub(super) fn has_room_to_hold(packet: &Packet, own: usize) -> bool {
    // SAFETY: the region lives while the packet is out.
    may_hold(unsafe { head_at(Start::of(packet)) }, own)
}

/// Counts a packet among those of its region that are held.
pub(super) fn begin_to_hold(packet: &Packet) {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.held.fetch_add(1, Ordering::Relaxed);
}

/// Counts a packet no longer among those that are held.
pub(super) fn end_to_hold(packet: &Packet) {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.held.fetch_sub(1, Ordering::Relaxed);
}

/// Counts a packet that a device has given back, where no pool is at hand.
pub(super) fn come_back(packet: &Packet) {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.come_back.fetch_add(1, Ordering::Relaxed);
}

/// Whether two packets belong to one region.
pub(super) fn are_of_one(a: &Packet, b: &Packet) -> bool {
    Start::of(a) == Start::of(b)
}

/// The metadata of a packet that has none of its own, once its pool stamps packets.
#[cold]
pub(super) fn metadata_without_stamp(packet: &Packet) -> Option<&Metadata> {
    // SAFETY: the region lives while the packet is out.
    unsafe { head_at(Start::of(packet)) }.without_stamp.get()
}

/// Bytes between the beginning of a chunk and that of its packet.
#[inline]
pub(super) fn headroom_of(packet: NonNull<RawPacket>) -> usize {
    packet.addr().get() & (HEADROOM - 1)
}

/// The longest that a packet can become where it is.
#[inline]
pub(super) fn max_payload_of(packet: NonNull<RawPacket>) -> usize {
    Start::at(packet).size().max_payload()
}

/// Where a packet begins in its chunk when it is new: an address whose colour depends on the chunk.
#[inline]
pub(super) fn home(chunk: NonNull<u8>) -> NonNull<RawPacket> {
    let headroom = 128 + 64 * ((chunk.addr().get() >> 13) & 3);
    // SAFETY: the headroom lies within the chunk.
    unsafe { chunk.add(headroom).cast() }
}

/// The chunk that a packet lies in.
#[inline]
pub(super) fn chunk_of(packet: NonNull<RawPacket>) -> NonNull<u8> {
    // A packet begins in the first 512 bytes of its chunk and chunks are aligned to 512.
    // SAFETY: regions do not begin at address 0, so no chunk does.
    packet.cast::<u8>().map_addr(|address| unsafe { NonZero::new_unchecked(address.get() & !(HEADROOM - 1)) })
}

/// Where the metadata of a packet lies.
#[inline]
pub(super) fn metadata_line_of(packet: NonNull<RawPacket>) -> NonNull<MetadataLine> {
    let chunk = chunk_of(packet);
    // SAFETY: the lines lie before the headroom, in the same chunk.
    unsafe { chunk.sub(METADATA).add(64 * colour_of(chunk)).cast() }
}

/// Where the two lines of a packet lie that belong to devices: of the four pairs of lines, that beside the pair of its metadata.
pub(super) fn device_lines_of(packet: NonNull<RawPacket>) -> NonNull<u8> {
    let chunk = chunk_of(packet);
    // SAFETY: the lines lie before the headroom, in the same chunk.
    unsafe { chunk.sub(METADATA).add(128 * ((colour_of(chunk) / 2) ^ 1)) }
}

/// Which of eight lines a chunk uses, so that those of many chunks are spread over the sets of the cache.
#[inline]
fn colour_of(chunk: NonNull<u8>) -> usize {
    (chunk.addr().get() >> 13) & 7
}

#[cfg(not(miri))]
mod map {
    use super::{HEAD, SPAN, Size, WARM, WARM_MAX};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr::{self, NonNull};

    /// Maps `len` bytes of a new memory file at an address that is right for such packets. The head is private to the process.
    pub(super) fn reserve(size: Size, len: usize) -> io::Result<NonNull<u8>> {
        let file = memory_file(len - HEAD)?;
        let base = aligned_addresses(size)?;
        fill(base, len, &file).inspect_err(|_| {
            // SAFETY: the addresses were reserved by us, and nobody knows of them yet.
            unsafe { release(size, base, len) };
        })?;
        // What is rare is not made ready in advance.
        if size == Size::Usual {
            warm(base, len);
        }
        Ok(base)
    }

    /// Maps memory at addresses.
    fn fill(base: NonNull<u8>, len: usize, file: &OwnedFd) -> io::Result<()> {
        // SAFETY: the addresses were reserved by us, and the head lies within them.
        check(unsafe {
            libc::mmap(
                base.as_ptr().cast(),
                HEAD,
                RW,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        })?;
        // SAFETY: as above; the memory file is `len - HEAD` bytes long.
        check(unsafe {
            let chunks = base.add(HEAD).as_ptr().cast();
            libc::mmap(chunks, len - HEAD, RW, libc::MAP_SHARED | libc::MAP_FIXED, file.as_raw_fd(), 0)
        })?;
        Ok(())
    }

    const RW: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

    fn memory_file(len: usize) -> io::Result<OwnedFd> {
        // SAFETY: a plain system call with a constant string.
        let fd = unsafe { libc::memfd_create(c"sluss-packets".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let len = libc::off_t::try_from(len).map_err(io::Error::other)?;
        // SAFETY: a plain system call on a descriptor that we own.
        if unsafe { libc::ftruncate(file.as_raw_fd(), len) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }

    /// `SPAN` bytes of addresses, aligned to `SPAN`, an odd multiple of it for large packets and an even one for others. There is no memory
    /// behind them.
    fn aligned_addresses(size: Size) -> io::Result<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let all = check(unsafe { libc::mmap(ptr::null_mut(), 3 * SPAN, libc::PROT_NONE, flags, -1, 0) })?;
        let odd = if size == Size::Large { SPAN } else { 0 };
        // To the first address at or behind `all` that is `odd` modulo two spans.
        let before = odd.wrapping_sub(all.addr().get()) & (2 * SPAN - 1);
        // SAFETY: `before` is less than two spans, and what is unmapped lies before and after the aligned span of the mapping just made.
        unsafe {
            let base = all.add(before);
            libc::munmap(all.as_ptr().cast(), before);
            libc::munmap(base.add(SPAN).as_ptr().cast(), 2 * SPAN - before);
            Ok(base)
        }
    }

    /// linux/mman.h, since 6.1; libc does not name it on every target.
    const MADV_COLLAPSE: libc::c_int = 25;
    /// Bytes of a huge page.
    const HUGE: usize = 2 << 20;

    /// Puts the first packets into huge pages where the kernel can: a translation miss costs as much as a packet.
    fn warm(base: NonNull<u8>, len: usize) {
        let len = (len - HEAD).min(WARM);
        // SAFETY: the range is mapped, and new: writing zeroes changes nothing. madvise is free to refuse.
        unsafe {
            let chunks = base.add(HEAD).as_ptr();
            for page in (0..len).step_by(4096) {
                chunks.add(page).write_volatile(0);
            }
            libc::madvise(chunks.cast(), len, MADV_COLLAPSE);
        }
    }

    /// Puts the memory of a region from `low` to `high` into huge pages where the kernel can, as far as it is not warm yet and may be.
    pub(super) fn warm_more(base: NonNull<u8>, low: usize, high: usize) {
        let low = low.max(HEAD + WARM) & !(HUGE - 1);
        let high = (high & !(HUGE - 1)).min(HEAD + WARM_MAX);
        if low >= high {
            return;
        }
        // SAFETY: the range is mapped. One byte of each huge page is read, whatever it is, since the kernel makes none where there is no
        // page; what is in it stays. madvise is free to refuse.
        unsafe {
            let start = base.add(low).as_ptr();
            for page in (0..high - low).step_by(HUGE) {
                start.add(page).read_volatile();
            }
            libc::madvise(start.cast(), high - low, MADV_COLLAPSE);
        }
    }

    fn check(address: *mut libc::c_void) -> io::Result<NonNull<u8>> {
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mmap gave address 0"))
    }

    /// Unmaps the whole span.
    ///
    /// # Safety
    /// Nothing may point there any more.
    pub(super) unsafe fn release(_: Size, base: NonNull<u8>, _len: usize) {
        // SAFETY: `reserve` mapped the span; the rest is the caller's promise.
        unsafe { libc::munmap(base.as_ptr().cast(), SPAN) };
    }
}

#[cfg(miri)]
mod map {
    use super::{SPAN, Size};
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    /// Bytes before a region, which make its address an odd multiple of `SPAN` for large packets and an even one for others.
    fn before(size: Size) -> usize {
        if size == Size::Large { SPAN } else { 0 }
    }

    fn layout(size: Size, len: usize) -> Layout {
        Layout::from_size_align(before(size) + len, 2 * SPAN).expect("a size that fits")
    }

    pub(super) fn reserve(size: Size, len: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: the size is not zero.
        let all =
            NonNull::new(unsafe { alloc_zeroed(layout(size, len)) }).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: so much was allocated before the region.
        Ok(unsafe { all.add(before(size)) })
    }

    pub(super) fn warm_more(_: NonNull<u8>, _low: usize, _high: usize) {}

    /// # Safety
    /// Nothing may point there any more.
    pub(super) unsafe fn release(size: Size, base: NonNull<u8>, len: usize) {
        // SAFETY: it was allocated with the same layout, of which the region is the last part.
        unsafe { dealloc(base.sub(before(size)).as_ptr(), layout(size, len)) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{HEAD, METADATA, Region, Size, chunk_of, device_lines_of, metadata_line_of};
    use std::collections::HashSet;

    #[test]
    fn chunks_follow_each_other_and_are_found_again() {
        for size in [Size::Usual, Size::Large] {
            let mut end = 0;
            for index in 0..1000 {
                let begin = size.offset(index);
                assert!(
                    begin >= end && begin - end < 4096 && begin.is_multiple_of(512),
                    "{size:?} {index}: {begin}"
                );
                end = begin + size.chunk();
                assert!(HEAD + end <= size.region(index + 1));
            }
        }
    }

    /// The sets of the L1 cache are the lines of a page.
    #[test]
    fn first_lines_and_metadata_are_spread_over_what_slots_leave_of_a_page() {
        let region = Region::new(Size::Usual, 64, 0).unwrap();
        let lines = |of: &dyn Fn(&crate::Packet) -> usize, packets: &[crate::Packet]| {
            let lines: Vec<usize> = packets.iter().map(|packet| of(packet) % 4096 / 64).collect();
            assert!(lines.iter().all(|&line| line >= 8), "{lines:?}");
            (1..64).map(|line| lines.iter().filter(|&&other| other == line).count()).max().unwrap()
        };
        let packets = region.packets();
        assert!(lines(&|packet| packet.as_ptr().addr().get(), &packets) <= 4);
        assert!(lines(&|packet| metadata_line_of(packet.as_ptr()).addr().get(), &packets) <= 3);
        assert!(lines(&|packet| device_lines_of(packet.as_ptr()).addr().get(), &packets) <= 4);
        for packet in &packets {
            let [metadata, device] =
                [metadata_line_of(packet.as_ptr()).cast(), device_lines_of(packet.as_ptr())];
            let headroom = chunk_of(packet.as_ptr()).addr().get();
            assert!(metadata != device && metadata.addr().get() != device.addr().get() + 64);
            assert!((headroom - 512..=headroom - 128).contains(&device.addr().get()), "{device:?}");
        }
        let chunks: HashSet<_> = packets.iter().map(|packet| chunk_of(packet.as_ptr())).collect();
        assert_eq!(chunks.len(), 64);
        assert!(chunks.iter().all(|chunk| chunk.addr().get() - region.base.addr().get() >= HEAD + METADATA));
        packets.into_iter().for_each(crate::Packet::forget);
    }
}
