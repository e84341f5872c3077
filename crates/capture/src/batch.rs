//! Batches: many packets at once, where they lie in the reader's window.
//!
//! Nothing is copied: a batch borrows the reader, and its packets are offsets and lengths. All are of one section and one link type, so that whoever
//! compiles filters looks at the link type once a batch.

use std::borrow::Cow;
use std::sync::Arc;

use wire::LinkType;
use wire::link::Direction;

use crate::block_type::INTERFACE;
use crate::found::{Block, Found, Interface, Record};
use crate::section::{Format, Section};
use crate::time::Precision;

/// Up to [`BATCH_MAX`](crate::BATCH_MAX) packets of one section and one link type, borrowed from their reader.
///
/// A batch may hold no packet: the first one of every file says what the file is, whether or not it holds any,
/// and a batch of pcapng may hold blocks only.
///
/// ```
/// # let bytes = capture::doc_example();
/// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
/// let batch = reader.next_batch()?.expect("the first says what the file is");
/// for packet in batch.packets() {
///     assert_eq!((batch.data(packet).len(), packet.wire_len), (64, 64));
///     assert_eq!(batch.timestamp_ns(packet), 1_700_000_000_000_000_000);
/// }
/// # Ok::<(), capture::Error>(())
/// ```
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

    /// Which way a packet went, where its block says so (`epb_flags`): in or out.
    #[must_use]
    pub fn direction(&self, packet: &Record) -> Option<Direction> {
        match self.section.format {
            Format::Pcap(_) => None,
            Format::Pcapng(order) => crate::pcapng::direction(order, self.raw(packet)),
        }
    }

    /// The packets one by one, with everything about each at hand; for loops where clarity beats speed.
    ///
    /// ```
    /// # let bytes = capture::doc_example();
    /// let mut reader = capture::Reader::new(std::io::Cursor::new(bytes), "web.pcap")?;
    /// while let Some(batch) = reader.next_batch()? {
    ///     for packet in batch.iter() {
    ///         println!("{} ns, {} bytes", packet.timestamp_ns, packet.wire_len);
    ///     }
    /// }
    /// # Ok::<(), capture::Error>(())
    /// ```
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
            direction: self.direction(packet),
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

    /// The names (`if_name`) of the interfaces that blocks of this batch describe, in file order. Bytes that are no text are replaced.
    pub fn interface_names(&self) -> impl Iterator<Item = Option<Cow<'a, str>>> + use<'a> {
        let batch = *self;
        let described = batch.blocks().iter().filter(|block| block.kind == INTERFACE);
        described.map(move |block| match batch.section.format {
            Format::Pcap(_) => None,
            Format::Pcapng(order) => crate::pcapng::interface_name(order, batch.block(block)),
        })
    }

    /// The comments on sections, interfaces and other blocks that carry no packet, in file order. Bytes that are no text are replaced.
    pub fn comments(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let batch = *self;
        batch.blocks().iter().flat_map(move |block| {
            let comments = match batch.section.format {
                Format::Pcap(_) => None,
                Format::Pcapng(order) => Some(crate::pcapng::comments(order, batch.block(block))),
            };
            comments.into_iter().flatten()
        })
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
    /// Which way it went, where a block of pcapng says so: in or out.
    pub direction: Option<Direction>,
    /// Where its record starts in the (decompressed) input.
    pub offset: u64,
}
