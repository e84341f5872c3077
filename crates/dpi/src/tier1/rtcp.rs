//! RTCP (RFC 3550 section 6, RFC 4585 for feedback, RFC 3611 for extended reports).
//!
//! Asked of the bytes: packets of version 2 one behind the other that fill the datagram to its end; the first a sender's or receiver's report, or feedback, with as many blocks as it says
//! it has.

use super::answer::Answer;
use super::reader::Reader;
use crate::{Message, Protocol};

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCES: u8 = 202;
const BYE: u8 = 203;

pub(super) fn detect(message: &Message) -> Answer {
    match is_rtcp(message.payload) {
        Some(()) => Answer::yes(Protocol::RTCP, "RTCP reports"),
        None => Answer::No,
    }
}

fn is_rtcp(bytes: &[u8]) -> Option<()> {
    let mut reader = Reader::new(bytes);
    let mut first = true;
    while !reader.is_empty() {
        let (head, kind, words) = (reader.u8()?, reader.u8()?, usize::from(reader.u16()?));
        let body = reader.take(4 * words)?;
        let count = usize::from(head & 0x1f);
        let fits = match kind {
            SENDER_REPORT => words >= 6 + 6 * count,
            RECEIVER_REPORT => words > 6 * count,
            SOURCES => words >= 2 * count,
            BYE => words >= count,
            204..=207 => words >= 2,
            _ => false,
        };
        // Padding is on the last only.
        let padded = head & 0x20 != 0;
        let sound = head >> 6 == 2 && fits && (!padded || reader.is_empty());
        let begins = matches!(kind, SENDER_REPORT | RECEIVER_REPORT | 205..=206);
        if !sound || first && !(begins && body.iter().take(4).any(|&byte| byte != 0)) {
            return None;
        }
        // A report without extensions ends where its blocks do, but profiles may add to it.
        let exact = match kind {
            SENDER_REPORT => words == 6 + 6 * count,
            RECEIVER_REPORT => words == 1 + 6 * count,
            _ => true,
        };
        if first && !exact && reader.is_empty() && !padded {
            return None;
        }
        first = false;
    }
    (!first).then_some(())
}
