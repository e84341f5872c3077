//! A packet: its bytes, and the only right to them.

use super::meta::MetadataLine;
use super::region;
use super::{Metadata, abandon, returns, wide};
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// The longest usual packet, in bytes. Longer ones take large chunks, of which a pool has few.
pub const MAX_PAYLOAD: usize = 10 * 1024;

/// The longest packet at all, in bytes: a length has 16 bits. Longer ones are refused and counted where they come in.
pub const MAX_LARGE_PAYLOAD: usize = u16::MAX as usize;

/// The layout of a packet in memory: Snabb's `struct packet`, so that Rust, Lua and C see the same bytes. Length and
/// first bytes share a cache line, which is what makes a small packet cheap to hand to another core.
#[repr(C)]
pub(super) struct RawPacket {
    length: u16,
    data: [u8; 0],
}

/// Offset of the bytes from the beginning of the packet.
const DATA: usize = std::mem::offset_of!(RawPacket, data);
/// Bytes of a cache line, the unit in which packets are copied.
const LINE: usize = 64;
/// The first line of a packet: its length, and its first bytes.
///
/// PERF: one that is read from memory again and again, since no register was kept for it, lies in one line there.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line {
    _bytes: [u8; LINE],
}
/// A packet, owned: whoever has it may read and change it, and nobody else can.
///
/// It is handed on through an [`Output`](crate::Output), or given back with [`Pool::free`](crate::Pool::free), which asks for the
/// counter of the reason. A packet that merely goes out of scope in an app is given back too, by the engine, and counted as
/// `discarded`. One of a pool without an engine ([`Pool::new`](crate::Pool::new)) is then lost to its pool.
///
/// ```
/// let mut pool = engine::Pool::new(64)?;
/// let mut packet = pool.packet(b"payload").expect("a free packet");
/// packet.prepend(b"header ")?;
/// packet.truncate(10);
/// assert_eq!(packet.data(), b"header pay");
/// packet.trim_front(7);
/// assert_eq!(packet.data(), b"pay");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct Packet(NonNull<RawPacket>);

// SAFETY: a packet owns its chunk; the pool it came from accepts it back from any thread.
unsafe impl Send for Packet {}
// SAFETY: a shared packet can only be read.
unsafe impl Sync for Packet {}

/// A packet would become longer than its chunk allows: [`MAX_PAYLOAD`], or [`MAX_LARGE_PAYLOAD`] in a large one.
/// [`Pool::make_room`](crate::Pool::make_room) moves it to a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {wanted} bytes is longer than its memory allows")]
pub struct TooLong {
    /// The length it would have had, in bytes.
    pub wanted: usize,
}

impl Packet {
    /// Makes an owner of a chunk's packet.
    ///
    /// # Safety
    /// `raw` is at an even position in the headroom of a chunk, and nobody else owns that chunk.
    pub(super) unsafe fn from_raw(raw: NonNull<RawPacket>) -> Self {
        Packet(raw)
    }

    /// Gives the ownership up without freeing.
    pub(super) fn into_raw(self) -> NonNull<RawPacket> {
        std::mem::ManuallyDrop::new(self).0
    }

    /// Gives the ownership up for an address, at which there is a `struct packet { u16 length; u8 data[]; }`: for links of another kind, such
    /// as those that Lua reads. [`Packet::from_address`] takes it back.
    #[inline]
    pub fn into_address(self) -> NonNull<u8> {
        self.into_raw().cast()
    }

    /// Takes the ownership of a packet that was given up for an address.
    ///
    /// # Safety
    /// The address is that of a packet which [`Packet::into_address`] gave up, or another even one among the first 512 bytes of the same chunk, where
    /// a valid length and as many bytes were written; and nobody has taken the packet back since.
    #[inline]
    pub unsafe fn from_address(address: NonNull<u8>) -> Self {
        // SAFETY: the caller says that it lies in the headroom of a chunk, which nobody owns.
        unsafe { Self::from_raw(address.cast()) }
    }

    /// Two cache lines in the packet's chunk, zero at first, that belong to the device that has its memory: see
    /// [`Pool::lend_sent`](crate::Pool::lend_sent). Where they are does not depend on where in its chunk the packet begins.
    pub fn device_lines(&self) -> NonNull<u8> {
        region::device_lines_of(self.0)
    }

    /// Sends a packet that a device has given back to the pool that it belongs to, from any thread: as [`Pool::regain`](crate::Pool::regain), where no
    /// pool is at hand.
    pub fn come_back(self) {
        region::come_back(&self);
        returns::send(self);
    }

    /// What tells its memory from that of any other packet that there is now: the same while the packet changes where it is.
    pub(crate) fn chunk(&self) -> usize {
        region::chunk_of(self.0).addr().get()
    }

    pub(super) fn as_ptr(&self) -> NonNull<RawPacket> {
        self.0
    }

    /// Length in bytes: what is here, not what was on the wire.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the packet is ours, and its memory initialised.
        usize::from(unsafe { (*self.0.as_ptr()).length })
    }

    /// Whether it holds no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: `length` bytes follow the header within the chunk; they are ours, and initialised since the memory was
        // zero when mapped.
        unsafe { std::slice::from_raw_parts(self.bytes(), self.len()) }
    }

    /// Its bytes, to change.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`, and we hold the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.bytes(), self.len()) }
    }

    #[inline]
    fn bytes(&self) -> *mut u8 {
        // SAFETY: the header lies within the chunk. The pointer is derived from the chunk's, not from a reference to the header.
        unsafe { self.0.as_ptr().cast::<u8>().add(DATA) }
    }

    /// Bytes that can be put before the packet without moving it.
    #[inline]
    pub fn headroom(&self) -> usize {
        region::headroom_of(self.0)
    }

    /// The longest that it can become where it is: [`MAX_PAYLOAD`], or [`MAX_LARGE_PAYLOAD`] in a large chunk.
    pub fn max_len(&self) -> usize {
        region::max_payload_of(self.0)
    }

    #[inline]
    fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.max_len());
        // SAFETY: the header is ours.
        unsafe { (*self.0.as_ptr()).length = len as u16 };
    }

    /// Makes it empty.
    #[inline]
    pub fn clear(&mut self) {
        self.set_len(0);
    }

    /// Cuts it to at most `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.set_len(len);
        }
    }

    /// Makes it `len` bytes long; what is new is zero.
    ///
    /// # Errors
    /// If `len` exceeds [`Packet::max_len`]; the packet is as before.
    pub fn resize(&mut self, len: usize) -> Result<(), TooLong> {
        let old = self.len();
        self.grow(len)?;
        if let Some(new) = self.data_mut().get_mut(old..) {
            new.fill(0);
        }
        Ok(())
    }

    /// Puts bytes at the end.
    ///
    /// # Errors
    /// If it would exceed [`Packet::max_len`]; the packet is as before.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        let old = self.len();
        self.grow(old + bytes.len())?;
        copy(bytes, &mut self.data_mut()[old..]);
        Ok(())
    }

    /// Opens `count` bytes at the end, which hold anything: room for a device to write into.
    ///
    /// # Errors
    /// If it would exceed [`Packet::max_len`]; the packet is as before.
    #[inline]
    pub fn open_back(&mut self, count: usize) -> Result<(), TooLong> {
        self.grow(self.len().saturating_add(count))
    }

    fn grow(&mut self, len: usize) -> Result<(), TooLong> {
        if len > MAX_PAYLOAD && !has_room(self.0, len) {
            return Err(TooLong { wanted: len });
        }
        self.set_len(len);
        Ok(())
    }

    /// Puts bytes at the front.
    ///
    /// # Errors
    /// If it would exceed [`Packet::max_len`]; the packet is as before.
    #[inline]
    pub fn prepend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.open_front(bytes.len())?;
        self.data_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Opens `count` bytes at the front, which hold anything: Snabb's `shiftright`. Nothing moves while the headroom lasts.
    ///
    /// # Errors
    /// If it would exceed [`Packet::max_len`]; the packet is as before.
    #[inline(always)]
    pub fn open_front(&mut self, count: usize) -> Result<(), TooLong> {
        let len = self.len().saturating_add(count);
        if len > MAX_PAYLOAD {
            if !has_room(self.0, len) {
                return Err(TooLong { wanted: len });
            }
            // PERF: so that whoever looks at the bytes just opened need not ask whether they are there.
            // SAFETY: no chunk has room for more.
            unsafe { std::hint::assert_unchecked(len <= MAX_LARGE_PAYLOAD) };
        }
        if count <= self.headroom() && count.is_multiple_of(2) {
            // SAFETY: the new position is even and lies in the headroom of the same chunk.
            self.0 = unsafe { self.0.byte_sub(count) };
        } else {
            // SAFETY: the packet is ours, and `len` is not too long.
            self.0 = unsafe { moved_home(self.0, 0, count) };
        }
        self.set_len(len);
        Ok(())
    }

    /// Opens `N` bytes at the front, which hold anything, for a header.
    ///
    /// ```
    /// # let mut pool = engine::Pool::new(64)?;
    /// # let mut packet = pool.packet(b"payload").expect("a free packet");
    /// *packet.open_header()? = *b"header ";
    /// assert_eq!(packet.data(), b"header payload");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it would exceed [`Packet::max_len`]; the packet is as before.
    #[inline(always)]
    pub fn open_header<const N: usize>(&mut self) -> Result<&mut [u8; N], TooLong> {
        self.open_front(N)?;
        // SAFETY: the packet begins with the bytes just opened; it is ours, and we hold the only reference.
        Ok(unsafe { &mut *self.bytes().cast::<[u8; N]>() })
    }

    /// Takes up to `count` bytes off the front: Snabb's `shiftleft`.
    #[inline]
    pub fn trim_front(&mut self, count: usize) {
        self.narrow(count..usize::MAX);
    }

    /// Leaves the bytes of a range, as far as there are any: what is inside a header and what follows it.
    ///
    /// ```
    /// # let mut pool = engine::Pool::new(64)?;
    /// let mut packet = pool.packet(b"header payload padding").expect("a free packet");
    /// packet.narrow(7..14);
    /// assert_eq!(packet.data(), b"payload");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn narrow(&mut self, range: Range<usize>) {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        if start.is_multiple_of(2) && self.headroom() + start < region::HEADROOM {
            // SAFETY: the new position is even and lies in the headroom of the same chunk.
            self.0 = unsafe { self.0.byte_add(start) };
        } else {
            // SAFETY: the packet is ours, and at least `start` bytes long.
            self.0 = unsafe { moved_home(self.0, start, 0) };
        }
        self.set_len(end - start);
    }

    /// The packet, at its chunk's first position.
    #[inline]
    pub(super) fn at_home(self) -> Self {
        let raw = self.into_raw();
        Packet(region::home(region::chunk_of(raw)))
    }

    /// Makes this packet, which is at its first position, a copy of another; `false` if that is too long for a usual chunk, and
    /// this one then empty. Whole cache lines are copied, from the length on: a small packet is one line, and no length decides
    /// how it is copied.
    #[inline(always)]
    pub(super) fn copy_lines_from(&mut self, other: &Packet) -> bool {
        self.set_first_line(other.first_line());
        other.is_one_line() || self.copy_other_lines_from(other)
    }

    /// Makes each of `copies`, which are at their first positions, a copy of this packet, which is of usual length. `is_far`:
    /// another core may have read them last.
    #[inline]
    pub(crate) fn copy_to_all(&self, copies: &mut [Packet], is_far: bool) {
        if self.is_one_line() {
            wide::copy_line_to_all(self, copies, is_far);
        } else {
            copies.iter_mut().for_each(|copy| {
                let is_copied = copy.copy_lines_from(self);
                debug_assert!(is_copied);
            });
        }
    }

    /// The first 64 bytes of its memory: all of a small packet, length and bytes.
    #[inline(always)]
    pub(super) fn first_line(&self) -> Line {
        // SAFETY: a packet has at least a line of memory, which is ours.
        unsafe { self.0.as_ptr().cast::<Line>().read_unaligned() }
    }

    /// Makes it as long as the line says. Bytes after the line stay.
    #[inline(always)]
    pub(super) fn set_first_line(&mut self, line: Line) {
        // SAFETY: a packet has at least a line of memory, which is ours; a line begins with the length of a packet.
        unsafe { self.0.as_ptr().cast::<Line>().write_unaligned(line) };
    }

    /// Whether it is longer than fits into a usual chunk.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.len() > MAX_PAYLOAD
    }

    /// Whether length and bytes end within the first 64 bytes.
    #[inline(always)]
    fn is_one_line(&self) -> bool {
        DATA + self.len() <= LINE
    }

    fn copy_other_lines_from(&mut self, other: &Packet) -> bool {
        if other.is_long() {
            self.clear();
            return false;
        }
        let end = DATA + other.len();
        let (from, to) = (other.0.as_ptr().cast::<u8>(), self.0.as_ptr().cast::<u8>());
        let mut offset = LINE;
        while offset < end {
            // SAFETY: a line may reach past the packet, but not out of its chunk: after the longest packet at the last
            // position, a line is left. The two chunks are different, each with one owner, and in both a packet can be as long
            // as the longest usual one.
            unsafe { ptr::copy_nonoverlapping(from.add(offset), to.add(offset), LINE) };
            offset += LINE;
        }
        true
    }

    /// Its metadata. Only meaningful in graphs where an app reads it
    /// ([`Roles::METADATA`](crate::Roles::METADATA)).
    #[inline]
    pub fn metadata(&self) -> &Metadata {
        // SAFETY: the line lies in our chunk, was zero when mapped, and is written by owners of the packet only.
        let line = unsafe { region::metadata_line_of(self.0).as_ref() };
        if line.is_stamped() {
            return &line.metadata;
        }
        region::metadata_without_stamp(self).unwrap_or(&line.metadata)
    }

    /// Its metadata, to change.
    #[inline]
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        // SAFETY: as in `metadata`, and we hold the only reference.
        let line = unsafe { region::metadata_line_of(self.0).as_mut() };
        if !line.is_stamped()
            && let Some(&metadata) = region::metadata_without_stamp(self)
        {
            *line = MetadataLine::stamped(metadata);
        }
        &mut line.metadata
    }

    /// Forgets its metadata, for who allocates packets past a pool: [`Pool::complete`](crate::Pool::complete) gives it that of a new one.
    #[inline]
    pub fn clear_metadata(&mut self) {
        // SAFETY: as in `set_metadata`.
        unsafe { region::metadata_line_of(self.0).as_mut().clear() };
    }

    /// Takes over the metadata of another packet, or that it has none of its own.
    #[inline]
    pub fn copy_metadata(&mut self, from: &Packet) {
        // SAFETY: as in `set_metadata`, and in `metadata` for the other packet, which is in another chunk.
        unsafe {
            region::metadata_line_of(self.0).copy_from_nonoverlapping(region::metadata_line_of(from.0), 1)
        };
    }

    /// Writes its metadata, whatever it was.
    #[inline]
    pub(crate) fn set_metadata(&mut self, metadata: Metadata) {
        // SAFETY: the line lies in our chunk, and we hold the only reference.
        unsafe { region::metadata_line_of(self.0).write(MetadataLine::stamped(metadata)) };
    }

    /// Whether it has metadata of its own.
    #[inline]
    pub(super) fn is_stamped(&self) -> bool {
        // SAFETY: as in `metadata`.
        unsafe { region::metadata_line_of(self.0).as_ref() }.is_stamped()
    }

    /// Bytes the packet had on the wire: its own and those that were cut.
    pub fn wire_len(&self) -> u32 {
        (self.len() as u32).saturating_add(self.metadata().cut_len)
    }

    /// Lets go of a packet whose memory goes away as a whole.
    pub(super) fn forget(self) {
        std::mem::forget(self);
    }
}

/// How many packets ahead a line is asked for that another core has read last.
///
/// PERF: otherwise stores wait for their lines one after the other, in their order; asked for ahead, the
/// lines come at the same time. Two threads over a link moved 50 to 63 million packets a second without, 71 to 91 with it.
pub(super) const PREFETCHED: usize = 12;

/// Asks for the first line of a packet, which will be written.
#[inline(always)]
pub(super) fn prefetch(packet: &Packet) {
    prefetch_line(packet.0.as_ptr().cast());
}

/// Asks for the line before a packet, which will be written.
#[inline(always)]
pub(super) fn prefetch_front(packet: &Packet) {
    prefetch_line(packet.0.as_ptr().wrapping_byte_sub(1).cast());
}

#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a hint, which changes nothing; processors that do not know it pass over it.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Moves the bytes of a packet from `from` on so that they begin `to` bytes after the start of a packet at its chunk's first
/// position, which is returned.
///
/// PERF: passed by value, a packet stays in a register where nothing has to be moved.
///
/// # Safety
/// The packet is the caller's and at least `from` bytes long; what is left of it, and `to`, do not exceed what its chunk allows.
#[cold]
#[inline(never)]
unsafe extern "C" fn moved_home(packet: NonNull<RawPacket>, from: usize, to: usize) -> NonNull<RawPacket> {
    let home = region::home(region::chunk_of(packet));
    // SAFETY: by the caller's promise both stretches lie in this chunk; they may overlap.
    unsafe {
        let count = usize::from((*packet.as_ptr()).length) - from;
        let target = home.as_ptr().cast::<u8>().add(DATA + to);
        ptr::copy(packet.as_ptr().cast::<u8>().add(DATA + from), target, count);
    }
    home
}

/// Whether a packet can be so long where it is.
///
/// PERF: passed by value, and it cannot unwind, as above.
#[cold]
#[inline(never)]
extern "C" fn has_room(packet: NonNull<RawPacket>, len: usize) -> bool {
    len <= region::max_payload_of(packet)
}

impl Drop for Packet {
    fn drop(&mut self) {
        abandon(Packet(self.0));
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({} bytes)", self.len())
    }
}

impl AsRef<[u8]> for Packet {
    fn as_ref(&self) -> &[u8] {
        self.data()
    }
}

/// Copies bytes to as many others.
///
/// PERF: a call of `memmove` takes as long as this copy of the shortest packets, of which a second half may overlap the first.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    const HALF: usize = 32;
    match (from.first_chunk::<HALF>(), from.last_chunk::<HALF>()) {
        (Some(first), Some(last)) if from.len() <= 2 * HALF => {
            let second = to.len() - HALF;
            to[..HALF].copy_from_slice(first);
            to[second..].copy_from_slice(last);
        }
        _ => to.copy_from_slice(from),
    }
}
