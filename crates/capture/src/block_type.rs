//! Types of blocks of pcapng, and what they are called.

use crate::order::ByteOrder;

/// Section header; reads the same in both byte orders.
pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// The first number in the body of a section header, in the byte order of the section.
pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const OLD_PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const NAMES: u32 = 4;
pub(crate) const STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;
pub(crate) const SECRETS: u32 = 10;
/// A custom block that a program must not copy when it changes the file (section 4.6 of the draft).
pub(crate) const CUSTOM_NO_COPY: u32 = 0x4000_0bad;

/// Whether these bytes begin a pcapng file.
pub(crate) fn begins_file(bytes: &[u8]) -> bool {
    let is_magic = |order: ByteOrder| order.u32(bytes, 8) == BYTE_ORDER_MAGIC;
    let is_header = bytes.len() >= 12 && ByteOrder::Big.u32(bytes, 0) == SECTION_HEADER;
    is_header && (is_magic(ByteOrder::Little) || is_magic(ByteOrder::Big))
}

/// What a block of this type is called.
pub(crate) fn name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        SECTION_HEADER => "section header block",
        INTERFACE => "interface description block",
        OLD_PACKET => "packet block",
        SIMPLE_PACKET => "simple packet block",
        NAMES => "name resolution block",
        STATISTICS => "interface statistics block",
        ENHANCED_PACKET => "enhanced packet block",
        9 => "systemd journal block",
        SECRETS => "decryption secrets block",
        0x0000_0bad | CUSTOM_NO_COPY => "custom block",
        _ => return None,
    })
}
