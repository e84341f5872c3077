//! Batches: many packets at once, where they lie in the reader's window.

use std::sync::Arc;

use wire::LinkType;

use crate::order::ByteOrder;
use crate::pcap::PcapHeader;
use crate::time::{Precision, Resolution};

/// The most packets and blocks in one batch: enough to amortise the call, few enough that their descriptors, and the
/// bytes of small packets, stay in the first-level cache.
pub const BATCH_MAX: usize = 256;

/// The format of an input, or of the section of it that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic format: one header, one interface.
    Pcap(PcapHeader),
    /// Blocks, in this byte order until the next section header.
    Pcapng(ByteOrder),
}

impl Format {
    /// The link type of packets as this machine sees them. The address family before a packet of BSD loopback is in the byte
    /// order of the machine that captured it: on one of the other order it reads as that of an OpenBSD loopback, which is
    /// in network order.
    #[must_use]
    pub fn as_read_here(self, linktype: LinkType) -> LinkType {
        let order = match self {
            Format::Pcap(header) => header.order,
            Format::Pcapng(order) => order,
        };
        if linktype == LinkType::NULL && order != ByteOrder::NATIVE { LinkType::LOOP } else { linktype }
    }
}

/// Where packets were captured. A pcap file has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The link type of its packets.
    pub linktype: LinkType,
    /// The most bytes of a packet that were kept; 0 means no limit.
    pub snaplen: u32,
    /// How its timestamps count. For pcap, what the file's precision amounts to.
    pub resolution: Resolution,
    /// Bytes of frame check sequence at the end of each packet, where the file says so.
    pub fcs_len: Option<u8>,
}

/// Where one packet lies in its batch. All offsets count from the start of [`Batch::window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the packet's first byte lies.
    pub offset: u32,
    /// Bytes that were captured, cut to the snap length as libpcap cuts them.
    pub captured_len: u32,
    /// Bytes that were on the wire.
    pub wire_len: u32,
    /// Index into [`Batch::interfaces`].
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
    /// Where it starts in [`Batch::window`].
    pub raw_offset: u32,
    /// Its whole length.
    pub raw_len: u32,
}

/// The state of a reader between batches: the current section.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) format: Format,
    pub(crate) interfaces: Vec<Interface>,
}

/// The records that a scan has found in the window; reused from batch to batch.
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

    /// The last packet was none.
    pub(crate) fn take_back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
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
    /// Another pcap file begins where the scan stopped.
    File,
    /// The item where the scan stopped is damaged.
    Bad(crate::ErrorKind),
}

/// Up to [`BATCH_MAX`] packets of one section and one link type, borrowed from their reader.
///
/// A batch may hold no packet: the first one of every file says what the file is, whether or not it holds any,
/// and a batch of pcapng may hold blocks only.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    pub(crate) window: &'a [u8],
    pub(crate) base: u64,
    pub(crate) section: &'a Section,
    pub(crate) found: &'a Found,
    pub(crate) input: &'a Arc<str>,
}

impl<'a> Batch<'a> {
    /// The packets, in file order.
    #[inline]
    #[must_use]
    pub fn packets(&self) -> &'a [Record] {
        &self.found.packets
    }

    /// The blocks between the packets (pcapng), in file order.
    #[must_use]
    pub fn blocks(&self) -> &'a [Block] {
        &self.found.blocks
    }

    /// The bytes that all offsets refer to.
    #[inline]
    #[must_use]
    pub fn window(&self) -> &'a [u8] {
        self.window
    }

    /// How many packets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.packets.len()
    }

    /// Whether there is no packet; there may be blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.packets.is_empty()
    }

    /// The captured bytes of a packet of this batch.
    ///
    /// # Panics
    /// If the packet is of another batch and lies outside this one.
    #[inline]
    #[must_use]
    pub fn data(&self, packet: &Record) -> &'a [u8] {
        &self.window[packet.offset as usize..][..packet.captured_len as usize]
    }

    /// A packet's whole record or block, header included, as it is in the input.
    ///
    /// # Panics
    /// If the packet is of another batch and lies outside this one.
    #[inline]
    #[must_use]
    pub fn raw(&self, packet: &Record) -> &'a [u8] {
        &self.window[packet.raw_offset as usize..][..packet.raw_len as usize]
    }

    /// A block's bytes, header and trailer included.
    ///
    /// # Panics
    /// If the block is of another batch and lies outside this one.
    #[must_use]
    pub fn block(&self, block: &Block) -> &'a [u8] {
        &self.window[block.raw_offset as usize..][..block.raw_len as usize]
    }

    /// When a packet was captured, in nanoseconds since 1970; 0 for simple packet blocks, which do not say.
    #[inline]
    #[must_use]
    pub fn timestamp_ns(&self, packet: &Record) -> i64 {
        match self.section.format {
            Format::Pcap(header) => header.timestamp_ns(self.raw(packet)),
            Format::Pcapng(order) => {
                crate::pcapng::timestamp_ns(order, self.raw(packet), self.interface(packet).resolution)
            }
        }
    }

    /// The packets one by one, with everything about each at hand; for loops where clarity beats speed.
    pub fn iter(&self) -> impl Iterator<Item = PacketRef<'a>> + use<'a> {
        let batch = *self;
        batch.packets().iter().map(move |packet| batch.get(packet))
    }

    pub(crate) fn get(&self, packet: &Record) -> PacketRef<'a> {
        PacketRef {
            data: self.data(packet),
            wire_len: packet.wire_len,
            timestamp_ns: self.timestamp_ns(packet),
            precision: self.interface(packet).resolution.precision(),
            linktype: self.interface(packet).linktype,
            interface: packet.interface,
            offset: self.base + u64::from(packet.raw_offset),
        }
    }

    /// The link type all packets of this batch share; `None` without a packet.
    #[must_use]
    pub fn linktype(&self) -> Option<LinkType> {
        self.packets().first().map(|packet| self.interface(packet).linktype)
    }

    /// The interface a packet came from.
    #[inline]
    #[must_use]
    pub fn interface(&self, packet: &Record) -> &'a Interface {
        &self.section.interfaces[packet.interface as usize]
    }

    /// The interfaces this section has described so far.
    #[must_use]
    pub fn interfaces(&self) -> &'a [Interface] {
        &self.section.interfaces
    }

    /// The format of the section this batch is of.
    #[must_use]
    pub fn format(&self) -> Format {
        self.section.format
    }

    /// Whether this batch is the first of its file or its pcapng section.
    #[must_use]
    pub fn starts_section(&self) -> bool {
        self.found.starts_section
    }

    /// Offset in the (decompressed) input of the window's first byte.
    #[must_use]
    pub fn window_offset(&self) -> u64 {
        self.base
    }

    /// The name of the input: a path, or `standard input`.
    #[must_use]
    pub fn input(&self) -> &'a str {
        self.input
    }
}

/// One packet with all there is to know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRef<'a> {
    /// The captured bytes.
    pub data: &'a [u8],
    /// Bytes that were on the wire.
    pub wire_len: u32,
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// How exact that is: to the microsecond, or finer.
    pub precision: Precision,
    /// What `data` starts with.
    pub linktype: LinkType,
    /// Number of its interface in its section.
    pub interface: u32,
    /// Where its record starts in the (decompressed) input.
    pub offset: u64,
}
