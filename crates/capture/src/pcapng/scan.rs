//! Finds packets and other blocks in a window.
//!
//! A block is taken only when it is whole and both of its lengths agree; what is cut or damaged stops the scan, with all before it found. Lengths
//! are checked before they are used, interfaces are bounded in number, and nothing is allocated by what a file says. Options are not looked into,
//! but for those of interfaces.

use wire::LinkType;

use super::{BLOCK_MAX, BLOCK_OVERHEAD, OPT_IF_FCSLEN, OPT_IF_TSOFFSET, OPT_IF_TSRESOL, Options};
use crate::block_type::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE, OLD_PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use crate::error::{BlockProblem, ErrorKind};
use crate::found::{Block, Found, Interface, Record, Stop};
use crate::order::ByteOrder;
use crate::section::{Format, Section};
use crate::time::Resolution;

/// Interfaces per section. Real captures have a handful; a hostile one must not fill memory with them.
const INTERFACES_MAX: u32 = 1 << 16;

/// A block whose length is sound and whose bytes are all there.
struct Whole<'a> {
    kind: u32,
    order: ByteOrder,
    pos: usize,
    bytes: &'a [u8],
}

/// Finds blocks from `pos` on until `found` is full, the bytes run out, or the next block belongs to another
/// batch: one of a new section, or a packet of another link type. Returns where it stopped.
pub(crate) fn scan(section: &mut Section, bytes: &[u8], mut pos: usize, found: &mut Found) -> (usize, Stop) {
    while !found.is_full() {
        match step(section, bytes, pos, found) {
            Ok(next) => pos = next,
            Err(stop) => return (pos, stop),
        }
    }
    (pos, Stop::Full)
}

fn step(section: &mut Section, bytes: &[u8], pos: usize, found: &mut Found) -> Result<usize, Stop> {
    let block = whole_block(section, bytes, pos)?;
    let next = pos + block.bytes.len();
    match block.kind {
        ENHANCED_PACKET => {
            let interface = block.order.u32(least(&block, 32)?, 8);
            push_packet(section, &block, interface, 28, found)?;
        }
        OLD_PACKET => {
            let interface = block.order.u16(least(&block, 32)?, 8).into();
            push_packet(section, &block, interface, 28, found)?;
        }
        SIMPLE_PACKET => push_simple(section, &block, found)?,
        _ => {
            match block.kind {
                SECTION_HEADER if !found.is_empty() => return Err(Stop::Full),
                SECTION_HEADER => start_section(section, &block, found)?,
                INTERFACE => add_interface(section, &block)?,
                _ => {}
            }
            found.blocks.push(Block {
                kind: block.kind,
                raw_offset: pos as u32,
                raw_len: block.bytes.len() as u32,
            });
        }
    }
    Ok(next)
}

/// Checks the frame that all blocks share: length, alignment, and, but for section headers, length again.
fn whole_block<'a>(section: &Section, bytes: &'a [u8], pos: usize) -> Result<Whole<'a>, Stop> {
    let rest = &bytes[pos..];
    let Some(head) = rest.first_chunk::<{ BLOCK_OVERHEAD as usize }>() else {
        return Err(Stop::Need { bytes: BLOCK_OVERHEAD as usize, what: "block header" });
    };
    let Format::Pcapng(mut order) = section.format else { unreachable!("only pcapng sections come here") };
    let kind = order.u32(head, 0);
    if kind == SECTION_HEADER {
        order = byte_order(head).map_err(|problem| bad(kind, problem))?;
    }
    let length = order.u32(head, 4);
    if length < BLOCK_OVERHEAD {
        return Err(bad(kind, BlockProblem::TooShort { length, least: BLOCK_OVERHEAD }));
    }
    if length % 4 != 0 {
        return Err(bad(kind, BlockProblem::Unaligned { length }));
    }
    if length > BLOCK_MAX {
        let what = "pcapng block";
        return Err(Stop::Bad(ErrorKind::TooLong { what, claimed: length.into(), limit: BLOCK_MAX.into() }));
    }
    let Some(bytes) = rest.get(..length as usize) else {
        return Err(Stop::Need {
            bytes: length as usize,
            what: crate::block_type::name(kind).unwrap_or("block"),
        });
    };
    let again = order.u32(bytes, bytes.len() - 4);
    // libpcap passes over that of a file's first section header; there is no more reason to stop at another.
    if again != length && kind != SECTION_HEADER {
        return Err(bad(kind, BlockProblem::LengthsDiffer { start: length, end: again }));
    }
    Ok(Whole { kind, order, pos, bytes })
}

fn byte_order(head: &[u8; 12]) -> Result<ByteOrder, BlockProblem> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(head, 8) == BYTE_ORDER_MAGIC)
        .ok_or(BlockProblem::ByteOrder { magic: ByteOrder::Big.u32(head, 8) })
}

fn start_section(section: &mut Section, block: &Whole<'_>, found: &mut Found) -> Result<(), Stop> {
    let bytes = least(block, 28)?;
    let (major, minor) = (block.order.u16(bytes, 12), block.order.u16(bytes, 14));
    // 1.2 was written by some programs and means the same (section 4.1 of the draft).
    if !matches!((major, minor), (1, 0 | 2)) {
        return Err(Stop::Bad(ErrorKind::Version { format: "pcapng", major, minor }));
    }
    section.format = Format::Pcapng(block.order);
    section.interfaces.clear();
    found.starts_section = true;
    Ok(())
}

fn add_interface(section: &mut Section, block: &Whole<'_>) -> Result<(), Stop> {
    let bytes = least(block, 20)?;
    if section.interfaces.len() == INTERFACES_MAX as usize {
        return Err(bad(block.kind, BlockProblem::TooManyInterfaces { limit: INTERFACES_MAX }));
    }
    let interface = interface(block.order, bytes).map_err(|problem| bad(block.kind, problem))?;
    section.interfaces.push(interface);
    Ok(())
}

fn interface(order: ByteOrder, bytes: &[u8]) -> Result<Interface, BlockProblem> {
    let mut interface = Interface {
        linktype: LinkType::new(order.u16(bytes, 8).into()).canonical(),
        snaplen: order.u32(bytes, 12),
        resolution: Resolution::MICRO,
        fcs_len: None,
    };
    let (mut resolution, mut offset_s) = (None, None);
    for option in Options::new(order, &bytes[16..bytes.len() - 4]) {
        let (code, value) = option?;
        let wrong_length = BlockProblem::Option { code, length: value.len() as u16 };
        match code {
            // Nobody knows which of two counts. The draft forbids them, and libpcap refuses them too.
            OPT_IF_TSRESOL if resolution.is_some() => return Err(BlockProblem::OptionTwice { code }),
            OPT_IF_TSOFFSET if offset_s.is_some() => return Err(BlockProblem::OptionTwice { code }),
            OPT_IF_TSRESOL => {
                let &[tsresol] = value else { return Err(wrong_length) };
                let stated = Resolution::from_tsresol(tsresol).ok_or(BlockProblem::Resolution { tsresol })?;
                resolution = Some(stated);
            }
            OPT_IF_TSOFFSET if value.len() == 8 => offset_s = Some(order.u64(value, 0) as i64),
            OPT_IF_TSOFFSET => return Err(wrong_length),
            // Packets can be read without it.
            OPT_IF_FCSLEN => interface.fcs_len = value.first().copied().filter(|_| value.len() == 1),
            _ => {}
        }
    }
    interface.resolution = resolution.unwrap_or(Resolution::MICRO).with_offset(offset_s.unwrap_or(0));
    Ok(interface)
}

/// Takes an enhanced or an old packet block: both hold their lengths at 20 and 24.
fn push_packet(
    section: &Section,
    block: &Whole<'_>,
    interface: u32,
    data_at: u32,
    found: &mut Found,
) -> Result<(), Stop> {
    let (captured_len, wire_len) = (block.order.u32(block.bytes, 20), block.order.u32(block.bytes, 24));
    push(section, block, Described { interface, data_at, captured_len, wire_len }, found)
}

/// A simple packet block says only its wire length: it is of interface 0 and as long as that one's snap length
/// lets it be.
fn push_simple(section: &Section, block: &Whole<'_>, found: &mut Found) -> Result<(), Stop> {
    let wire_len = block.order.u32(least(block, 16)?, 8);
    let snaplen = section.interfaces.first().map_or(0, |interface| interface.snaplen);
    let captured_len = if snaplen == 0 { wire_len } else { wire_len.min(snaplen) };
    push(section, block, Described { interface: 0, data_at: 12, captured_len, wire_len }, found)
}

/// The fields of a packet block.
struct Described {
    interface: u32,
    data_at: u32,
    captured_len: u32,
    wire_len: u32,
}

fn push(section: &Section, block: &Whole<'_>, packet: Described, found: &mut Found) -> Result<(), Stop> {
    let known = section.interfaces.len() as u32;
    let Some(interface) = section.interfaces.get(packet.interface as usize) else {
        return Err(bad(block.kind, BlockProblem::UnknownInterface { id: packet.interface, known }));
    };
    let room = block.bytes.len() as u32 - 4 - packet.data_at;
    if packet.captured_len > room {
        return Err(bad(block.kind, BlockProblem::DataPastEnd { captured: packet.captured_len, room }));
    }
    if let Some(first) = found.packets.first()
        && first.interface != packet.interface
        && section.interfaces[first.interface as usize].linktype != interface.linktype
    {
        return Err(Stop::Full);
    }
    found.packets.push(Record {
        offset: block.pos as u32 + packet.data_at,
        captured_len: packet.captured_len,
        wire_len: packet.wire_len,
        interface: packet.interface,
        raw_offset: block.pos as u32,
        raw_len: block.bytes.len() as u32,
    });
    Ok(())
}

/// The block's bytes, if there are enough of them for its type.
fn least<'a>(block: &Whole<'a>, least: u32) -> Result<&'a [u8], Stop> {
    let length = block.bytes.len() as u32;
    if length < least {
        return Err(bad(block.kind, BlockProblem::TooShort { length, least }));
    }
    Ok(block.bytes)
}

fn bad(block: u32, problem: BlockProblem) -> Stop {
    Stop::Bad(ErrorKind::Block { block, problem })
}
