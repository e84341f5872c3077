//! STUN (RFC 8489 section 5, RFC 3489 section 11.1 for messages without the cookie), TURN's messages among it.
//!
//! Asked of the bytes: the magic cookie, and a length that is the message's; or, without the cookie, a binding message whose attributes, of types that exist, fill it to its end.

use super::answer::Answer;
use super::reader::Reader;
use crate::{Message, Protocol};

const COOKIE: u32 = 0x2112_a442;
const HEADER: usize = 20;

pub(super) fn detect_udp(message: &Message) -> Answer {
    if is_stun(message.payload, message.cut) {
        Answer::yes(Protocol::STUN, "STUN message")
    } else {
        Answer::No
    }
}

pub(super) fn detect_tcp(stream: &[u8]) -> Answer {
    let mut reader = Reader::new(stream);
    let (Some(_), Some(len), Some(cookie)) = (reader.u16(), reader.u16(), reader.u32()) else {
        return Answer::Maybe;
    };
    if cookie != COOKIE || len % 4 != 0 {
        Answer::No
    } else if let Some(message) = stream.get(..HEADER + usize::from(len)) {
        if is_stun(message, false) { Answer::yes(Protocol::STUN, "STUN message") } else { Answer::No }
    } else {
        Answer::likely(Protocol::STUN, "STUN magic cookie")
    }
}

fn is_stun(bytes: &[u8], cut: bool) -> bool {
    let mut reader = Reader::new(bytes);
    let (Some(kind), Some(len), Some(cookie), Some(_)) =
        (reader.u16(), reader.u16(), reader.u32(), reader.take(12))
    else {
        return false;
    };
    let rest = reader.rest();
    // A TURN client may send what follows in the same datagram only with padding.
    let ends = usize::from(len) == rest.len() || cut && usize::from(len) > rest.len();
    if kind >= 0x4000 || len % 4 != 0 || !ends {
        return false;
    }
    if cookie == COOKIE {
        return true;
    }
    matches!(kind, 0x0001 | 0x0101 | 0x0111) && attributes(reader).is_some_and(|known| known > 0)
}

/// How many attributes of RFC 3489 there are; `None` if they do not end where the message does.
fn attributes(mut reader: Reader) -> Option<usize> {
    let mut known = 0;
    while !reader.is_empty() {
        let (kind, value) = (reader.u16()?, reader.vector16()?);
        known += match (kind, value.len()) {
            // Addresses, CHANGE-REQUEST.
            (0x0001 | 0x0002 | 0x0004 | 0x0005 | 0x000b, 8) | (0x0003, 4) => 1,
            (0x0006..=0x000a, _) => 0,
            (0x8000.., _) => 0,
            _ => return None,
        };
    }
    Some(known)
}
