//! H.323: call signalling (H.225.0 over Q.931, behind the header of RFC 1006), the control channel (H.245), and registration (RAS).
//!
//! Asked of the bytes: TPKT's header, a message of Q.931 with its call, and information elements that fill the packet, among them the user-user element that H.225.0 must have; or the
//! object identifier of H.245's or H.225.0's version in the first message. Others speak TPKT as well: Remote Desktop, ISO 8073.

use super::answer::Answer;
use super::reader::Reader;
use crate::{Message, Protocol};

/// Protocol discriminator of Q.931.
const CALL_CONTROL: u8 = 0x08;
/// User-user, whose length has two bytes (H.225.0 section 7.2.2.31).
const USER_USER: u8 = 0x7e;
/// Object identifier itu-t (0) recommendation (0) h (8) 245 version (0), without the version.
const H245: &[u8] = &[0x06, 0x00, 0x08, 0x81, 0x75, 0x00];
/// The same of h 2250.
const H225: &[u8] = &[0x06, 0x00, 0x08, 0x91, 0x4a, 0x00];
/// Where an identifier may begin in the first message.
const IDENTIFIER_WITHIN: usize = 24;
const TPKT: usize = 4;

pub(super) fn detect(stream: &[u8]) -> Answer {
    let mut reader = Reader::new(stream);
    let (Some(version), Some(reserved), Some(len)) = (reader.u8(), reader.u8(), reader.u16()) else {
        return if stream.get(1).is_none_or(|&reserved| reserved == 0) { Answer::Maybe } else { Answer::No };
    };
    if version != 3 || reserved != 0 || usize::from(len) < TPKT + 5 {
        return Answer::No;
    }
    let body = reader.rest();
    let Some(&first) = body.first() else { return Answer::Maybe };
    let Some(packet) = body.get(..usize::from(len) - TPKT) else {
        let may_be =
            first == CALL_CONTROL && body.get(1).is_none_or(|&len| len == 2) || is_begin_of_h245(body);
        return if may_be { Answer::Maybe } else { Answer::No };
    };
    if is_call(packet).is_some() {
        Answer::yes(Protocol::H323, "Q.931 call with H.225.0")
    } else if is_begin_of_h245(packet) && has(packet, H245) {
        Answer::yes(Protocol::H323, "H.245 version")
    } else {
        Answer::No
    }
}

/// Registration, admission and status: gatekeeper and registration requests name their version.
pub(super) fn detect_udp(message: &Message) -> Answer {
    let is_request = matches!(message.payload.first(), Some(0..=0x1f));
    if is_request && has(message.payload, H225) {
        Answer::yes(Protocol::H323, "H.225.0 registration")
    } else {
        Answer::No
    }
}

/// A request, and that of a terminal's capabilities.
fn is_begin_of_h245(body: &[u8]) -> bool {
    body.starts_with(&[0x02, 0x70]) || body == [0x02]
}

fn has(packet: &[u8], identifier: &[u8]) -> bool {
    let window = &packet[..packet.len().min(IDENTIFIER_WITHIN + identifier.len())];
    window.windows(identifier.len()).any(|bytes| bytes == identifier)
}

fn is_call(packet: &[u8]) -> Option<()> {
    let mut reader = Reader::new(packet);
    let (discriminator, reference) = (reader.u8()?, reader.vector8()?);
    let kind = reader.u8()?;
    let known = matches!(
        kind,
        0x01 | 0x02 | 0x03 | 0x05 | 0x07 | 0x0d | 0x0f | 0x5a | 0x62 | 0x6e | 0x75 | 0x7b | 0x7d
    );
    (discriminator == CALL_CONTROL && reference.len() == 2 && known).then_some(())?;
    let mut signalled = false;
    while !reader.is_empty() {
        match reader.u8()? {
            // Elements of one byte.
            0x80.. => {}
            USER_USER => signalled |= reader.vector16()?.first() == Some(&5),
            _ => {
                reader.vector8()?;
            }
        }
    }
    signalled.then_some(())
}
