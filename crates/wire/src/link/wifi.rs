//! Frames of IEEE 802.11, with or without a radiotap header.

use super::{Link, Network, Tag, llc};
use crate::bytes::{array_at, u8_at};
use crate::mac::Mac;

/// Bits of the words that say which fields a radiotap header has.
const HAS_TIMER: u32 = 1;
const HAS_FLAGS: u32 = 1 << 1;
const HAS_MORE_WORDS: u32 = 1 << 31;
/// Bytes of the timer, which begins at a multiple of that.
const TIMER_LEN: usize = 8;
/// Of the flags of a frame: its body begins at a multiple of four bytes.
const IS_PADDED: u8 = 0x20;
const PADDED_TO: usize = 4;
/// Bits of the second byte of frame control.
const TO_AND_FROM_DS: u8 = 3;
const IS_PROTECTED: u8 = 0x40;
/// Of a frame with quality of service: HT control follows (IEEE 802.11-2016, 9.2.4.1.10).
const HAS_HT_CONTROL: u8 = 0x80;
/// Bits of the subtype of data.
const IS_QOS: u8 = 8;
const IS_EMPTY: u8 = 4;
/// A bit of the first byte of quality of service control: the body is an A-MSDU (9.2.4.5.9).
const IS_AMSDU: u8 = 0x80;
/// Destination, source and length in front of a frame within an A-MSDU (9.3.2.2).
const SUBFRAME_HEADER_LEN: usize = 14;

/// A frame behind a radiotap header (<https://www.radiotap.org>), which is little-endian and states its length.
pub(super) fn radiotap(bytes: &[u8]) -> Option<Link<'_>> {
    let len = u16::from_le_bytes(array_at(bytes, 2)?);
    let (header, bytes) = bytes.split_at_checked(len.into())?;
    let is_padded = radiotap_flags(header).is_some_and(|flags| flags & IS_PADDED != 0);
    frame(bytes, if is_padded { PADDED_TO } else { 1 })
}

/// The flags of a frame, if its radiotap header has any: behind the words that say which fields there are, and the timer, where it is one of these.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    let mut words = (4..).step_by(4).map_while(|at| array_at(header, at).map(u32::from_le_bytes));
    let present = words.next()?;
    let more = if present & HAS_MORE_WORDS == 0 {
        0
    } else {
        1 + words.take_while(|word| word & HAS_MORE_WORDS != 0).count()
    };
    let fields_at = 8 + 4 * more;
    let flags_at =
        if present & HAS_TIMER == 0 { fields_at } else { fields_at.next_multiple_of(TIMER_LEN) + TIMER_LEN };
    u8_at(header, flags_at).filter(|_| present & HAS_FLAGS != 0)
}

/// A frame without anything before it.
pub(super) fn wifi(bytes: &[u8]) -> Option<Link<'_>> {
    frame(bytes, 1)
}

/// A frame: addresses by the two direction bits, LLC inside data frames that are neither empty nor encrypted. The body begins at a multiple of `align`.
fn frame(bytes: &[u8], align: usize) -> Option<Link<'_>> {
    let (control, flags) = (u8_at(bytes, 0)?, u8_at(bytes, 1)?);
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    let address = |number: usize| array_at(bytes, [4, 10, 16, 24][number]).map(Mac);
    let (dst, src) = match flags & TO_AND_FROM_DS {
        0 => (address(0), address(1)),
        1 => (address(2), address(1)),
        2 => (address(0), address(2)),
        _ => (address(2), address(3)),
    };
    // Clear to send and acknowledgement name the receiver only.
    let src = if (kind, subtype) == (1, 12) || (kind, subtype) == (1, 13) { None } else { src };
    let has_data = kind == 2 && subtype & IS_EMPTY == 0 && flags & IS_PROTECTED == 0;
    if !has_data {
        return Some(Link { src, dst, ..Link::carrying(Network::Wifi(kind, subtype), bytes) });
    }
    let four_addresses: usize = if flags & TO_AND_FROM_DS == TO_AND_FROM_DS { 6 } else { 0 };
    let qos_at = 24 + four_addresses;
    let (qos, ht_control) = match (subtype & IS_QOS, flags & HAS_HT_CONTROL) {
        (0, _) => (0, 0),
        (_, 0) => (2, 0),
        _ => (2, 4),
    };
    let body = bytes.get((qos_at + qos + ht_control).next_multiple_of(align)..)?;
    if qos > 0 && bytes[qos_at] & IS_AMSDU != 0 {
        return first_of_amsdu(body);
    }
    let (network, payload) = llc(body);
    Some(Link { src, dst, ..Link::carrying(network, payload) })
}

/// The first frame within an A-MSDU, which has addresses of its own.
fn first_of_amsdu(body: &[u8]) -> Option<Link<'_>> {
    let (dst, src) = (array_at(body, 0).map(Mac)?, array_at(body, 6).map(Mac)?);
    let len = u16::from_be_bytes(array_at(body, 12)?);
    let frame = &body[SUBFRAME_HEADER_LEN..];
    let (network, payload) = llc(&frame[..frame.len().min(len.into())]);
    let mut link = Link { src: Some(src), dst: Some(dst), ..Link::carrying(network, payload) };
    link.note(Tag::Amsdu);
    Some(link)
}
