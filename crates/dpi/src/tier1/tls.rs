//! TLS (RFC 8446 sections 4.1.2, 4.1.3 and 5.1; RFC 5246 for the versions before).
//!
//! Asked of the bytes: handshake records with a whole ClientHello, or ServerHello, that is well-formed to its end. A ClientHello may lie in several records, and these in any segments.
//! Of a connection that is picked up later: records of other types that end where the packet does, or one behind the other.

use super::answer::Answer;
use super::hello::ClientHello;
use super::ja4::{self, Transport};
use super::reader::Reader;
use super::tcp::Talk;
use crate::{Details, Protocol};
use std::borrow::Cow;

/// Content type of handshake records.
const HANDSHAKE: u8 = 22;
/// Bytes of a record (RFC 8446 section 5.1).
const RECORD_MAX: u16 = 16_384;
/// Bytes of a hello, with its header.
const HELLO_MAX: u32 = 16_384 + 4;
/// Types of handshake messages.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

pub(super) fn detect(talk: Talk) -> Answer {
    let Some(handshake) = handshake(talk.this) else { return Answer::No };
    let mut reader = Reader::new(&handshake);
    let Some(kind) = reader.u8() else { return Answer::Maybe };
    if kind != CLIENT_HELLO && kind != SERVER_HELLO {
        return Answer::No;
    }
    let Some(len) = reader.u24() else { return Answer::Maybe };
    if !(38..=HELLO_MAX).contains(&len) || reader.rest().first().is_some_and(|&major| major != 3) {
        return Answer::No;
    }
    let evidence = if kind == CLIENT_HELLO { "TLS ClientHello" } else { "TLS ServerHello" };
    match reader.take(len as usize) {
        None if !may_be_hello(reader.rest(), kind) => Answer::No,
        None if talk.cut => Answer::partly(Protocol::TLS, evidence).with(details_of_part(talk.this)),
        None => Answer::likely(Protocol::TLS, evidence),
        Some(body) if kind == CLIENT_HELLO => match ClientHello::parse(body) {
            Some(hello) => Answer::yes(Protocol::TLS, evidence).with(ja4::details(&hello, Transport::Tcp)),
            None => Answer::No,
        },
        // A part of the client's hello was lost.
        Some(body) if is_server_hello(body) => {
            Answer::yes(Protocol::TLS, evidence).with(details_of_part(talk.peer))
        }
        Some(_) => Answer::No,
    }
}

/// Whether what has come of a hello can be one: version, length of the session's number, and number of cipher suites fit, as far as they are there.
fn may_be_hello(part: &[u8], kind: u8) -> bool {
    const SESSION: usize = 2 + 32;
    let session = part.get(SESSION).map(|&len| usize::from(len));
    let ciphers_low = session.and_then(|len| part.get(SESSION + 1 + len + 1));
    part.get(..2).is_none_or(|version| version[0] == 3 && version[1] <= 4)
        && session.is_none_or(|len| len <= 32)
        && (kind == SERVER_HELLO || ciphers_low.is_none_or(|low| low % 2 == 0))
}

/// What is known of a client whose hello will not be whole.
fn details_of_part(stream: &[u8]) -> Details {
    let handshake = handshake(stream).unwrap_or_default();
    let hello = handshake.get(4..).filter(|_| handshake[0] == CLIENT_HELLO).and_then(ClientHello::parse);
    hello.map_or_else(Details::default, |hello| ja4::details(&hello, Transport::Tcp))
}

/// Records of a connection whose handshake was not seen: change of ciphers, alerts, data.
pub(super) fn detect_later(stream: &[u8]) -> Answer {
    let evidence = "TLS records";
    let mut reader = Reader::new(stream);
    let mut whole = 0;
    while !reader.is_empty() {
        let (kind, version, len) = (reader.u8(), reader.u16(), reader.u16());
        // A change of ciphers has one byte, an alert two and what protects them.
        let max = match kind {
            Some(20) => 1,
            Some(21) => 64,
            Some(22..=24) | None => RECORD_MAX + 2048,
            Some(_) => return Answer::No,
        };
        let known = version.is_none_or(|version| (0x0300..=0x0303).contains(&version))
            && len.is_none_or(|len| (1..=max).contains(&len));
        match len {
            _ if !known => return Answer::No,
            None if whole == 0 => return Answer::Maybe,
            Some(len) if reader.take(len.into()).is_some() => whole += 1,
            // The second record has begun.
            Some(_) if whole > 0 => break,
            Some(_) => return Answer::likely(Protocol::TLS, evidence),
            None => break,
        }
    }
    Answer::partly(Protocol::TLS, evidence)
}

/// What the first records carry, as far as it came. `None` where they are no handshake's.
fn handshake(stream: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut reader = Reader::new(stream);
    let mut whole: Cow<[u8]> = Cow::Borrowed(&[]);
    while !reader.is_empty() {
        let head = reader.rest();
        let matches = head[0] == HANDSHAKE
            && head.get(1).is_none_or(|&major| major == 3)
            && head.get(2).is_none_or(|&minor| minor <= 4);
        if !matches {
            // What follows the hello may be anything.
            return is_complete(&whole).then_some(whole);
        }
        let (Some(_), Some(len)) = (reader.u24(), reader.u16()) else { break };
        if len == 0 || len > RECORD_MAX {
            return is_complete(&whole).then_some(whole);
        }
        let body = reader.take(reader.rest().len().min(len.into()))?;
        if whole.is_empty() {
            whole = Cow::Borrowed(body);
        } else {
            whole.to_mut().extend_from_slice(body);
        }
        if is_complete(&whole) {
            break;
        }
    }
    Some(whole)
}

/// Whether a handshake message has come to its end.
fn is_complete(handshake: &[u8]) -> bool {
    let mut reader = Reader::new(handshake);
    reader.u8().is_some() && reader.u24().is_some_and(|len| reader.rest().len() >= len as usize)
}

fn is_server_hello(body: &[u8]) -> bool {
    let mut reader = Reader::new(body);
    let mut parse = || {
        let version = reader.u16()?;
        reader.take(32)?;
        let session = reader.vector8()?;
        let (_cipher, compression) = (reader.u16()?, reader.u8()?);
        let extensions = if reader.is_empty() { &[] } else { reader.vector16()? };
        let known = (0x0300..=0x0304).contains(&version) && session.len() <= 32 && compression <= 1;
        (known && reader.is_empty() && super::hello::extensions(extensions)?.count() < 64).then_some(())
    };
    parse().is_some()
}
