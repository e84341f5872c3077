//! Where the records of a capture that is being written begin and end: its writer has to know when only some of the bytes got through.

use std::ops::Range;

use crate::block_type::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE, OLD_PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use crate::order::ByteOrder;
use crate::pcap::{FILE_HEADER_LEN, RECORD_HEADER_LEN};
use crate::pcapng::BLOCK_OVERHEAD;

/// The place of a record of pcap, of a block of pcapng, or of the header of a pcap file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// Its bytes.
    pub range: Range<usize>,
    /// Whether there is a packet in it.
    pub is_packet: bool,
    /// Whether it is one of the blocks without which no packet of pcapng can be read.
    pub head: Option<Head>,
}

/// A block of pcapng that stands before the packets that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It begins a section.
    Section,
    /// It describes an interface.
    Interface,
}

/// The records among bytes that begin with one, up to the last that is there as a whole.
///
/// ```
/// use capture::{ByteOrder, layout::{RecordSpans, put_record}};
/// let mut bytes = Vec::new();
/// put_record(ByteOrder::Big, (0, 1), 4, b"ping", &mut bytes);
/// put_record(ByteOrder::Big, (0, 2), 4, b"pong", &mut bytes);
/// let whole: Vec<_> = RecordSpans::of_records(ByteOrder::Big, &bytes[..39]).collect();
/// assert_eq!((whole.len(), &whole[0].range), (1, &(0..20)));
/// ```
#[derive(Clone, Debug)]
pub struct RecordSpans<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
    next: Next,
}

/// The kind of thing that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    FileHeader,
    Record,
    Block,
}

impl<'a> RecordSpans<'a> {
    /// The header and the records of a pcap file of this byte order.
    #[must_use]
    pub fn of_pcap_file(order: ByteOrder, bytes: &'a [u8]) -> Self {
        RecordSpans { bytes, at: 0, order, next: Next::FileHeader }
    }

    /// Records of a pcap file without its header.
    #[must_use]
    pub fn of_records(order: ByteOrder, bytes: &'a [u8]) -> Self {
        RecordSpans { bytes, at: 0, order, next: Next::Record }
    }

    /// Blocks of pcapng, the first of them in this byte order. Section headers say what those behind them are in.
    #[must_use]
    pub fn of_blocks(order: ByteOrder, bytes: &'a [u8]) -> Self {
        RecordSpans { bytes, at: 0, order, next: Next::Block }
    }

    /// The byte order of what comes next.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The length of a block, whether there is a packet in it, and what packets need it for, if both its lengths say the same.
    fn block(&mut self, rest: &[u8]) -> Option<(usize, bool, Option<Head>)> {
        let head = rest.get(..BLOCK_OVERHEAD as usize)?;
        if self.order.u32(head, 0) == SECTION_HEADER {
            let orders = [ByteOrder::Little, ByteOrder::Big];
            self.order = orders.into_iter().find(|order| order.u32(head, 8) == BYTE_ORDER_MAGIC)?;
        }
        let (kind, len) = (self.order.u32(head, 0), self.order.u32(head, 4));
        let block = rest.get(..len as usize).filter(|block| block.len() >= head.len())?;
        let is_packet = matches!(kind, ENHANCED_PACKET | SIMPLE_PACKET | OLD_PACKET);
        let head = match kind {
            SECTION_HEADER => Some(Head::Section),
            INTERFACE => Some(Head::Interface),
            _ => None,
        };
        (self.order.u32(block, block.len() - 4) == len).then_some((block.len(), is_packet, head))
    }
}

impl Iterator for RecordSpans<'_> {
    type Item = RecordSpan;

    fn next(&mut self) -> Option<RecordSpan> {
        let rest = &self.bytes[self.at..];
        let (len, is_packet, head) = match self.next {
            Next::FileHeader => (FILE_HEADER_LEN, false, None),
            Next::Record => {
                let head = rest.get(..RECORD_HEADER_LEN)?;
                (RECORD_HEADER_LEN + self.order.u32(head, 8) as usize, true, None)
            }
            Next::Block => self.block(rest)?,
        };
        let range = self.at..self.at + rest.get(..len)?.len();
        self.at = range.end;
        if self.next == Next::FileHeader {
            self.next = Next::Record;
        }
        Some(RecordSpan { range, is_packet, head })
    }
}
