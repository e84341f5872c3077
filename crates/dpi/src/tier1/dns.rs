//! DNS (RFC 1035 section 4.1), over UDP and TCP; mDNS (RFC 6762) and LLMNR (RFC 4795), which have its format.
//!
//! Asked of the bytes: a header of an operation that is in use with plausible counts, and questions and records that fill the message to its end, of classes that exist.
//! NetBIOS names have the format too, types of their own, and a port that is left to them.
//!
//! The three are told apart by port where the format is found (5353, 5355, 53). Elsewhere what asks for recursion is DNS's, and so are the record of EDNS and an answer with authority;
//! names below `.local` are mDNS's, and what is neither is left alone.

use super::answer::Answer;
use super::reader::Reader;
use crate::{Message, Protocol};

/// Bytes of a header.
const HEADER: usize = 12;
/// Bytes of a name (RFC 1035 section 3.1).
const NAME_MAX: usize = 255;
/// Types of NetBIOS's name service (RFC 1002 section 4.2.1.3).
const NETBIOS: std::ops::RangeInclusive<u16> = 0x20..=0x21;
const TYPE_SRV: u16 = 33;
const TYPE_OPT: u16 = 41;

/// What a message is, as far as its format tells.
struct Shape {
    id: u16,
    recursion: bool,
    /// Whether a name ends with `local`.
    local: bool,
    /// Whether a class has the bit that only mDNS has (RFC 6762 sections 5.4 and 10.2).
    top_bit: bool,
    /// Whether it has the record of EDNS (RFC 6891 section 6.1), or answers with authority.
    is_of_dns: bool,
    /// Labels of the first name.
    labels: usize,
}

pub(super) fn detect_udp(message: &Message) -> Answer {
    let Some(shape) = parse(message.payload, message.cut) else { return Answer::No };
    let on = |port| message.source_port == port || message.destination_port == port;
    if on(137) {
        return Answer::No;
    }
    let is_elsewhere = !on(53) && !on(5355);
    if on(5353) || is_elsewhere && (shape.local || shape.top_bit) && !shape.recursion {
        Answer::yes(Protocol::MDNS, "DNS format of mDNS")
    } else if on(5355) {
        Answer::yes(Protocol::LLMNR, "DNS format on LLMNR's port")
    } else if on(53) || shape.recursion || shape.id != 0 && shape.is_of_dns {
        Answer::yes(Protocol::DNS, "DNS message")
    } else {
        Answer::No
    }
}

/// A message behind its length (RFC 1035 section 4.2.2).
pub(super) fn detect_tcp(stream: &[u8]) -> Answer {
    let mut reader = Reader::new(stream);
    let Some(len) = reader.u16().map(usize::from) else { return Answer::Maybe };
    if len < HEADER + 5 || !header_fits(reader.rest(), len) {
        return Answer::No;
    }
    match reader.take(len) {
        None if has_question(reader.rest()) => Answer::likely(Protocol::DNS, "DNS header and question"),
        None => Answer::Maybe,
        Some(message) => match parse(message, false) {
            Some(shape) if shape.recursion || shape.labels > 1 => Answer::yes(Protocol::DNS, "DNS message"),
            _ => Answer::No,
        },
    }
}

/// Whether a message that is not whole has its first question.
fn has_question(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let (_, count, _) = (reader.u32(), reader.u16(), reader.take(6));
    let mut shape =
        Shape { id: 0, recursion: false, local: false, top_bit: false, is_of_dns: false, labels: 0 };
    count.is_some_and(|count| count > 0) && question(&mut reader, &mut shape, true).is_some()
}

/// Whether flags and counts are possible, as far as they came.
fn header_fits(bytes: &[u8], len: usize) -> bool {
    let at = |at: usize| {
        bytes.get(at..at + 2).map_or(0, |pair| usize::from(u16::from_be_bytes([pair[0], pair[1]])))
    };
    let flags = at(2);
    let (opcode, response) = (flags >> 11 & 0xf, flags & 0x8000 != 0);
    let (questions, answers, authorities, additional) = (at(4), at(6), at(8), at(10));
    // Z must be zero (RFC 1035), AD and CD are DNSSEC's.
    let sound = matches!(opcode, 0 | 2 | 4 | 5) && flags & 0x40 == 0 && (response || flags & 0xf == 0);
    let records = answers + authorities + additional;
    // Questions take 5 bytes at least, records 11.
    sound && HEADER + 5 * questions + 11 * records <= len && (bytes.len() < 6 || questions + records > 0)
}

/// Walks over a whole message; one that was cut is walked as far as it was captured, over one question at least.
fn parse(bytes: &[u8], cut: bool) -> Option<Shape> {
    if bytes.len() < HEADER || !header_fits(bytes, if cut { usize::MAX } else { bytes.len() }) {
        return None;
    }
    let mut reader = Reader::new(bytes);
    let (id, flags) = (reader.u16()?, reader.u16()?);
    let questions = reader.u16()?;
    let records = [reader.u16()?, reader.u16()?, reader.u16()?].map(u32::from).iter().sum::<u32>();
    let mut shape = Shape {
        id,
        recursion: flags & 0x100 != 0,
        local: false,
        top_bit: false,
        is_of_dns: flags & 0x8400 == 0x8400,
        labels: 0,
    };
    if flags & 0x8000 == 0 && questions == 0 && flags >> 11 & 0xf == 0 && records == 0 {
        return None;
    }
    for number in 0..questions {
        let walked = question(&mut reader, &mut shape, number == 0);
        if walked.is_none() {
            return (cut && number > 0).then_some(shape);
        }
    }
    for number in 0..records {
        let walked = record(&mut reader, &mut shape, questions == 0 && number == 0);
        if walked.is_none() {
            return (cut && (questions > 0 || number > 0)).then_some(shape);
        }
    }
    reader.is_empty().then_some(shape)
}

fn question(reader: &mut Reader, shape: &mut Shape, first: bool) -> Option<()> {
    name(reader, shape, first)?;
    let (kind, class) = (reader.u16()?, reader.u16()?);
    shape.top_bit |= class & 0x8000 != 0;
    (kind != 0 && !is_netbios(kind, shape, first) && matches!(class & 0x7fff, 1 | 3 | 4 | 254 | 255))
        .then_some(())
}

fn record(reader: &mut Reader, shape: &mut Shape, first: bool) -> Option<()> {
    name(reader, shape, first)?;
    let (kind, class, _ttl) = (reader.u16()?, reader.u16()?, reader.u32()?);
    reader.vector16()?;
    if kind == TYPE_OPT {
        shape.is_of_dns = true;
        return Some(());
    }
    shape.top_bit |= class & 0x8000 != 0;
    (kind != 0 && !is_netbios(kind, shape, first) && matches!(class & 0x7fff, 1 | 3 | 4 | 254 | 255))
        .then_some(())
}

/// NetBIOS asks for names of one label of 32 letters; the number of NBSTAT is that of SRV.
fn is_netbios(kind: u16, shape: &Shape, first: bool) -> bool {
    NETBIOS.contains(&kind) && (kind != TYPE_SRV || first && shape.labels == 1)
}

/// Walks over a name; a pointer ends it, and is not followed.
fn name(reader: &mut Reader, shape: &mut Shape, first: bool) -> Option<()> {
    let (mut len, mut labels, mut last): (usize, usize, &[u8]) = (0, 0, &[]);
    loop {
        let head = reader.u8()?;
        match head {
            0 => break,
            1..=63 => {
                last = reader.take(head.into())?;
                len += last.len() + 1;
                labels += 1;
                if len > NAME_MAX {
                    return None;
                }
            }
            0xc0.. => {
                let low = reader.u8()?;
                let target = usize::from(head & 0x3f) << 8 | usize::from(low);
                (target >= HEADER).then_some(())?;
                labels += 1;
                break;
            }
            _ => return None,
        }
    }
    shape.local |= last.eq_ignore_ascii_case(b"local");
    if first {
        shape.labels = labels;
    }
    Some(())
}
