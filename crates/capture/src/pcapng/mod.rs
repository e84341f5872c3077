//! The pcapng format (draft-ietf-opsawg-pcapng): blocks in sections.
//!
//! ```text
//! every block                    the packet blocks, from byte 8
//!  0 type                         enhanced (6)    simple (3)      old (2)
//!  4 total length n               interface  4    wire length 4   interface 2, drops 2
//!  8 body                         time high  4    data            time high, low
//!  n-4 total length again         time low   4                    captured, wire length
//!                                 captured   4                    data, options
//! section := header (0a0d0d0a)    wire       4
//!            interface (1)*       data, padding to 4
//!            other blocks         options
//! ```
//!
//! A section has its own byte order and numbers its interfaces from 0. Blocks that carry no packet are handed
//! out as they are, so that a writer can copy them; of their contents only section headers and interfaces are
//! understood here.
//!
//! COMPAT: libpcap refuses files whose interfaces differ in link type or snap length, sections that differ in byte order, packets longer than
//! the snap length, no interface at all, and an end of options that has a length; all are read here.

mod options;
mod scan;

pub(crate) use options::{Options, copy_copyable, has_uncopyable, is_uncopyable};
pub(crate) use scan::scan;

use crate::block_type::{
    ENHANCED_PACKET, INTERFACE, NAMES, OLD_PACKET, SECRETS, SECTION_HEADER, SIMPLE_PACKET, STATISTICS,
};
use crate::order::ByteOrder;
use crate::time::Resolution;
use std::borrow::Cow;
use wire::link::Direction;

/// Type, two lengths.
pub(crate) const BLOCK_OVERHEAD: u32 = 12;
/// The longest block we accept: libpcap's limit.
pub(crate) const BLOCK_MAX: u32 = 16 << 20;

const OPT_COMMENT: u16 = 1;
pub(crate) const OPT_IF_NAME: u16 = 2;
pub(crate) const OPT_IF_TSRESOL: u16 = 9;
pub(crate) const OPT_IF_FCSLEN: u16 = 13;
/// Of a packet, in the enhanced and in the old block.
const OPT_PACKET_FLAGS: u16 = 2;
pub(crate) const OPT_IF_TSOFFSET: u16 = 14;

/// What the interface that this whole block describes is called (`if_name`), if that is said.
pub(crate) fn interface_name(order: ByteOrder, block: &[u8]) -> Option<Cow<'_, str>> {
    let options = block.get(options_in(order, block)?)?;
    let named = Options::new(order, options).flatten().find(|&(code, _)| code == OPT_IF_NAME);
    let name = named?.1.split(|&byte| byte == 0).next()?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(name))
}

/// The comments on this whole block.
pub(crate) fn comments(order: ByteOrder, block: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let options = options_in(order, block).and_then(|options| block.get(options)).unwrap_or_default();
    let comments = Options::new(order, options).flatten().filter(|&(code, _)| code == OPT_COMMENT);
    comments.map(|(_, text)| String::from_utf8_lossy(text))
}

/// Where in this whole block its options are, where it is of a type that has any and has room for one.
pub(crate) fn options_in(order: ByteOrder, block: &[u8]) -> Option<std::ops::Range<usize>> {
    let padded = |length: u32| (length as usize).next_multiple_of(4);
    let start = match order.u32(block, 0) {
        SECTION_HEADER => 24,
        INTERFACE => 16,
        STATISTICS => 20,
        ENHANCED_PACKET | OLD_PACKET => 28 + padded(order.u32(block, 20)),
        SECRETS if block.len() >= 20 => 16 + padded(order.u32(block, 12)),
        NAMES => names_end(order, block)?,
        _ => return None,
    };
    let end = block.len() - 4;
    (start + 4 <= end).then_some(start..end)
}

/// Where the records of a name resolution block end: behind the one of type 0.
fn names_end(order: ByteOrder, block: &[u8]) -> Option<usize> {
    let mut pos = 8;
    loop {
        let head = block.get(pos..pos + 4)?;
        pos += 4 + usize::from(order.u16(head, 2)).next_multiple_of(4);
        if order.u16(head, 0) == 0 {
            return Some(pos);
        }
    }
}

/// Which way the packet of this whole block went, where its flags say so (section 4.3.1 of the draft; 4.7 for the old block).
pub(crate) fn direction(order: ByteOrder, block: &[u8]) -> Option<Direction> {
    let kind = order.u32(block, 0);
    let options = options_in(order, block).filter(|_| matches!(kind, ENHANCED_PACKET | OLD_PACKET))?;
    let flags = Options::new(order, &block[options]).flatten().find(|&(code, _)| code == OPT_PACKET_FLAGS)?.1;
    match (flags.len() == 4).then(|| order.u32(flags, 0) & 3) {
        Some(1) => Some(Direction::In),
        Some(2) => Some(Direction::Out),
        _ => None,
    }
}

/// When the packet of this whole block was captured.
pub(crate) fn timestamp_ns(order: ByteOrder, block: &[u8], resolution: Resolution) -> i64 {
    if order.u32(block, 0) == SIMPLE_PACKET {
        return 0;
    }
    let ticks = u64::from(order.u32(block, 12)) << 32 | u64::from(order.u32(block, 16));
    resolution.to_ns(ticks)
}
