//! What a scan finds in the window: packets and blocks, as places, and why it stopped.

use wire::LinkType;

use crate::error::ErrorKind;
use crate::time::Resolution;

/// The most packets and blocks in one batch: enough to amortise the call, few enough that their descriptors, and the
/// bytes of small packets, stay in the first-level cache.
pub const BATCH_MAX: usize = 256;

/// Where packets were captured. A pcap file has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What its packets start with.
    pub linktype: LinkType,
    /// The most bytes of a packet that were kept; 0 means no limit.
    pub snaplen: u32,
    /// How its timestamps count. For pcap, what the file's precision amounts to.
    pub resolution: Resolution,
    /// Bytes of frame check sequence at the end of each packet, where the file says so.
    pub fcs_len: Option<u8>,
}

/// Where one packet lies in its batch. All offsets count from the start of [`Batch::window`](crate::Batch::window).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the packet's first byte lies.
    pub offset: u32,
    /// Bytes that were captured: all that the record holds, also beyond the snap length.
    pub captured_len: u32,
    /// Bytes that were on the wire.
    pub wire_len: u32,
    /// Index into [`Batch::interfaces`](crate::Batch::interfaces).
    pub interface: u32,
    /// Where its record or block starts, header included.
    pub raw_offset: u32,
    /// Length of its record or block.
    pub raw_len: u32,
}

impl Record {
    /// Fills a slot until a packet is found for it.
    pub(crate) const NONE: Record =
        Record { offset: 0, captured_len: 0, wire_len: 0, interface: 0, raw_offset: 0, raw_len: 0 };

    /// Where its record or block ends.
    #[inline]
    #[must_use]
    pub fn raw_end(&self) -> u32 {
        self.raw_offset + self.raw_len
    }
}

/// A pcapng block that carries no packet: section header, interface, names, secrets, statistics, anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The block's type.
    pub kind: u32,
    /// Where it starts in [`Batch::window`](crate::Batch::window).
    pub raw_offset: u32,
    /// Its whole length.
    pub raw_len: u32,
}

/// What a scan has found in the window; reused from batch to batch.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) packets: Slots,
    pub(crate) blocks: Vec<Block>,
    pub(crate) starts_section: bool,
}

impl Found {
    pub(crate) fn new() -> Found {
        Found { packets: Slots::new(), blocks: Vec::with_capacity(BATCH_MAX), starts_section: false }
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.blocks.clear();
        self.starts_section = false;
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.packets.len() == BATCH_MAX || self.blocks.len() == BATCH_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.blocks.is_empty() && !self.starts_section
    }
}

/// The packets of a batch: the first of [`BATCH_MAX`] slots.
///
/// PERF: the slots are there all the time, to be written over. A vector that is emptied would have to be filled with something
/// before each scan, or grow by one packet at a time.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Record]>,
    taken: usize,
}

impl Slots {
    fn new() -> Self {
        Slots { slots: vec![Record::NONE; BATCH_MAX].into_boxed_slice(), taken: 0 }
    }

    fn clear(&mut self) {
        self.taken = 0;
    }

    /// The slots that are left, to be written in order; then [`Slots::take`] says how many were.
    #[inline]
    pub(crate) fn free(&mut self) -> &mut [Record] {
        &mut self.slots[self.taken..]
    }

    /// The next `count` slots hold packets.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        self.taken = (self.taken + count).min(self.slots.len());
    }

    /// Puts a packet into the next slot, which there must be.
    pub(crate) fn push(&mut self, packet: Record) {
        self.free()[0] = packet;
        self.take(1);
    }
}

impl std::ops::Deref for Slots {
    type Target = [Record];

    #[inline]
    fn deref(&self) -> &[Record] {
        &self.slots[..self.taken]
    }
}

/// Why a scan stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The batch is complete, there may be more in the window.
    Full,
    /// The next item needs this many bytes from where the scan stopped.
    Need { bytes: usize, what: &'static str },
    /// Another file begins where the scan stopped.
    File,
    /// The item where the scan stopped is damaged.
    Bad(ErrorKind),
}
