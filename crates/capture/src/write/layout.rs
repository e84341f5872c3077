//! How records of pcap (draft-ietf-opsawg-pcap) and blocks of pcapng (draft-ietf-opsawg-pcapng) are laid out, for whoever writes packets
//! that come from no [`Batch`](crate::Batch).
//!
//! PERF: inlined, so that a byte order that is known costs nothing: the app `pcap_writer` is as fast as with code of its own.

use crate::block_type::{BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE, SECTION_HEADER};
use crate::order::ByteOrder;
use crate::pcap::RECORD_HEADER_LEN;
use crate::pcapng::{OPT_IF_FCSLEN, OPT_IF_NAME, OPT_IF_TSRESOL};

pub use super::spans::{Head, RecordSpan, RecordSpans};

/// Bytes of an enhanced packet block before those of the packet.
const ENHANCED_HEADER_LEN: usize = 28;

/// A fact about an interface, which its description in a pcapng file states (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceOption<'a> {
    /// What it is called (`if_name`). An option has room for 65,535 bytes; the characters beyond are left out.
    Name(&'a str),
    /// Decimal digits of a second that its timestamps have (`if_tsresol`); 6 unless stated.
    Digits(u8),
    /// Bytes of the frame check sequence at the end of its packets (`if_fcslen`).
    FcsLen(u8),
}

/// Appends a record of pcap. `time` is in seconds, and the units of the file's header.
#[inline]
pub fn put_record(order: ByteOrder, time: (u32, u32), wire_len: u32, data: &[u8], out: &mut Vec<u8>) {
    let mut header = [0; RECORD_HEADER_LEN];
    header[..4].copy_from_slice(&order.put_u32(time.0));
    header[4..8].copy_from_slice(&order.put_u32(time.1));
    header[8..12].copy_from_slice(&order.put_u32(data.len() as u32));
    header[12..].copy_from_slice(&order.put_u32(wire_len));
    out.reserve(RECORD_HEADER_LEN + data.len());
    out.extend_from_slice(&header);
    extend_short(out, data);
}

/// PERF: a call of `memmove` takes as long as this copy of the shortest packets, of which a second half may overlap the first.
#[inline]
fn extend_short(out: &mut Vec<u8>, data: &[u8]) {
    const HALF: usize = 32;
    match (data.first_chunk::<HALF>(), data.last_chunk::<HALF>()) {
        (Some(first), Some(last)) if data.len() <= 2 * HALF => {
            let second = out.len() + data.len() - HALF;
            out.extend_from_slice(first);
            out.truncate(second);
            out.extend_from_slice(last);
        }
        _ => out.extend_from_slice(data),
    }
}

/// Appends an enhanced packet block. `ticks` are those of the interface, which is counted from 0 in its section.
#[inline]
pub fn put_enhanced(
    order: ByteOrder,
    interface: u32,
    ticks: u64,
    wire_len: u32,
    data: &[u8],
    out: &mut Vec<u8>,
) {
    let padded = data.len().next_multiple_of(4);
    let block_len = (ENHANCED_HEADER_LEN + padded + 4) as u32;
    let fields = [
        ENHANCED_PACKET,
        block_len,
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        data.len() as u32,
        wire_len,
    ];
    out.reserve(block_len as usize);
    fields.iter().for_each(|&field| out.extend_from_slice(&order.put_u32(field)));
    out.extend_from_slice(data);
    out.extend_from_slice(&[0; 3][..padded - data.len()]);
    out.extend_from_slice(&order.put_u32(block_len));
}

/// Appends a section header block of unknown length.
pub fn put_section(order: ByteOrder, out: &mut Vec<u8>) {
    put_block(order, SECTION_HEADER, out, |out| {
        out.extend(order.put_u32(BYTE_ORDER_MAGIC));
        out.extend(order.put_u16(1));
        out.extend(order.put_u16(0));
        out.extend([0xff; 8]);
    });
}

/// Appends an interface description block, which has 16 bits for the number of a [`LinkType`](wire::LinkType).
pub fn put_interface(
    order: ByteOrder,
    linktype: u16,
    snaplen: u32,
    options: &[InterfaceOption<'_>],
    out: &mut Vec<u8>,
) {
    put_block(order, INTERFACE, out, |out| {
        out.extend(order.put_u16(linktype));
        out.extend([0; 2]);
        out.extend(order.put_u32(snaplen));
        for option in options {
            match option {
                InterfaceOption::Name(name) => {
                    let len = name.floor_char_boundary(u16::MAX.into());
                    put_option(order, OPT_IF_NAME, &name.as_bytes()[..len], out);
                }
                InterfaceOption::Digits(digits) => put_option(order, OPT_IF_TSRESOL, &[*digits], out),
                InterfaceOption::FcsLen(len) => put_option(order, OPT_IF_FCSLEN, &[*len], out),
            }
        }
        out.extend([0; 4]);
    });
}

pub(super) fn put_option(order: ByteOrder, code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(order.put_u16(code));
    out.extend(order.put_u16(value.len() as u16));
    out.extend(value);
    out.extend(&[0; 3][..value.len().next_multiple_of(4) - value.len()]);
}

/// Appends a block around a body, padded to four bytes.
pub(crate) fn put_block(order: ByteOrder, kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(order.put_u32(kind));
    out.extend([0; 4]);
    body(out);
    let unpadded = out.len() - start;
    out.resize(start + unpadded.next_multiple_of(4), 0);
    let length = order.put_u32((out.len() - start + 4) as u32);
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces_are_cut_where_an_option_ends() {
        for (name, len) in
            [("é".repeat(32_767), 65_534), ("é".repeat(32_768), 65_534), ("x".repeat(1 << 17), 65_535)]
        {
            let mut out = vec![];
            put_interface(ByteOrder::Big, 1, 0, &[InterfaceOption::Name(&name)], &mut out);
            assert_eq!(out[16..20], [0, 2, 0xff, if len % 2 == 0 { 0xfe } else { 0xff }]);
            assert_eq!(out[20..20 + len], name.as_bytes()[..len]);
            // Padding, the end of the options, and the length of the block once more.
            assert_eq!(out[20 + len..], [&[0; 6][..6 - len % 2], &(out.len() as u32).to_be_bytes()].concat());
        }
    }

    #[test]
    fn records_of_any_length_hold_their_bytes() {
        let bytes: Vec<u8> = (0..200).collect();
        for len in 0..bytes.len() {
            let mut out = vec![7];
            put_record(ByteOrder::Little, (1, 2), 300, &bytes[..len], &mut out);
            assert_eq!(out.len(), 1 + RECORD_HEADER_LEN + len);
            assert_eq!(out[1 + RECORD_HEADER_LEN..], bytes[..len]);
        }
    }
}
