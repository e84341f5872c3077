//! QUIC (RFC 9000 sections 12, 17.2 and 19; RFC 9001 section 5; RFC 9369 for version 2), by its Initial packets.
//!
//! ```text
//!  datagram ─► Initial ─► keys from the connection's number ─► header, then payload decrypted and authenticated ─► CRYPTO frames ─► ClientHello
//!              Initial (coalesced) ─► …                            in whatever order, over several datagrams ──────────┘
//! ```
//!
//! Asked of the bytes: an Initial of version 1, 2 or a draft from 23 on that decrypts and authenticates with the client's keys, which anybody can derive from the packet, and a whole, well-formed ClientHello within.

use super::answer::Answer;
use super::hello::ClientHello;
use super::ja4::{self, Transport};
use super::pieces::Pieces;
use super::reader::Reader;
use crate::{Message, Protocol};
use keys::{Keys, Version};

mod keys;

/// Bytes of a connection's number (RFC 9000 section 17.2), and the least that a client may choose (section 7.2).
const CONNECTION_MAX: usize = 20;
const CONNECTION_MIN: usize = 8;
/// Packets in one datagram that are looked at.
const COALESCED_MAX: usize = 8;
/// Frames in one packet that are looked at.
const FRAMES_MAX: usize = 2048;
/// Bytes of a hello, with its header.
const HELLO_MAX: u32 = 16_384 + 4;
const CLIENT_HELLO: u8 = 1;

/// Room for a packet that is decrypted.
#[derive(Default)]
pub(super) struct Scratch(Vec<u8>);

/// A connection whose hello is not complete.
#[derive(Debug)]
pub(super) struct Quic {
    /// Which direction is the client's.
    forward: bool,
    version: Version,
    /// Number of the connection in the client's first packet, from which the keys are.
    connection: Connection,
    crypto: Pieces,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    bytes: [u8; CONNECTION_MAX],
    len: usize,
}

impl Connection {
    fn new(of: &[u8]) -> Option<Self> {
        let mut bytes = [0; CONNECTION_MAX];
        bytes.get_mut(..of.len())?.copy_from_slice(of);
        Some(Connection { bytes, len: of.len() })
    }

    fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Quic {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.crypto.capacity()
    }
}

pub(super) fn detect(message: &Message, state: &mut Option<Box<Quic>>, scratch: &mut Scratch) -> Answer {
    let mut reader = Reader::new(message.payload);
    let mut answer = Answer::No;
    for _ in 0..COALESCED_MAX {
        let datagram = reader.rest();
        let Some(packet) = Packet::parse(&mut reader) else { break };
        if state.as_ref().is_some_and(|quic| quic.forward != message.forward) {
            // The server's keys are known as well, but it says nothing of interest.
            return Answer::Maybe;
        }
        let whole = &datagram[..datagram.len() - reader.rest().len()];
        answer = match packet.kind {
            Kind::Early | Kind::Other if state.is_some() => Answer::Maybe,
            Kind::Early => early(message, &packet, state),
            Kind::Other => answer,
            Kind::Initial { .. } => initial(message, whole, &packet, state, scratch),
        };
        if matches!(answer, Answer::Yes(..)) {
            return answer;
        }
    }
    if let (Answer::No, true, Some(packet)) =
        (&answer, message.cut, Packet::header(&mut Reader::new(message.payload)))
        && packet.connection.len() >= CONNECTION_MIN
        && matches!(packet.kind, Kind::Initial { .. })
    {
        return Answer::likely(Protocol::QUIC, "QUIC Initial header");
    }
    answer
}

/// 0-RTT has the number of the Initial that it overtook.
fn early(message: &Message, packet: &Packet, state: &mut Option<Box<Quic>>) -> Answer {
    let own = Connection::new(packet.connection).filter(|own| own.len >= CONNECTION_MIN);
    let (Some(connection), Some(&version)) = (own, packet.versions.first()) else { return Answer::No };
    *state =
        Some(Box::new(Quic { forward: message.forward, version, connection, crypto: Pieces::default() }));
    Answer::likely(Protocol::QUIC, "QUIC 0-RTT header")
}

/// Decrypts an Initial, and takes in what of the hello is in it.
fn initial(
    message: &Message,
    whole: &[u8],
    packet: &Packet,
    state: &mut Option<Box<Quic>>,
    scratch: &mut Scratch,
) -> Answer {
    let Kind::Initial { number_off } = packet.kind else { return Answer::No };
    // The number of the first packet, or, behind a Retry, that of this one.
    let kept = state.as_ref().map(|quic| (quic.version, quic.connection));
    let own = Connection::new(packet.connection).filter(|own| own.len >= CONNECTION_MIN);
    let own = own.into_iter().flat_map(|own| packet.versions.iter().map(move |&version| (version, own)));
    let own =
        own.filter(|(version, own)| kept.is_none_or(|kept| kept.0 != *version || kept.1.get() != own.get()));
    let opened = kept.into_iter().chain(own).find(|(version, connection)| {
        let keys = Keys::client(*version, connection.get());
        keys.open(whole, number_off, &mut scratch.0).is_some()
    });
    let Some((version, connection)) = opened else {
        return if state.is_some() { Answer::Maybe } else { Answer::No };
    };
    let quic = state.get_or_insert_with(|| {
        Box::new(Quic { forward: message.forward, version, connection, crypto: Pieces::default() })
    });
    (quic.version, quic.connection) = (version, connection);
    if frames(&scratch.0, &mut quic.crypto).is_none() {
        return Answer::likely(Protocol::QUIC, "QUIC Initial, decrypted");
    }
    hello(quic.crypto.prefix())
}

/// What the hello says, once it is whole.
fn hello(crypto: &[u8]) -> Answer {
    let likely = || Answer::likely(Protocol::QUIC, "QUIC Initial, decrypted");
    let mut reader = Reader::new(crypto);
    let (Some(kind), Some(len)) = (reader.u8(), reader.u24()) else { return likely() };
    match reader.take(len as usize) {
        _ if kind != CLIENT_HELLO || len > HELLO_MAX => {
            Answer::yes(Protocol::QUIC, "QUIC Initial, decrypted")
        }
        None => likely(),
        Some(body) => match ClientHello::parse(body) {
            Some(hello) => Answer::yes(Protocol::QUIC, "QUIC Initial and ClientHello")
                .with(ja4::details(&hello, Transport::Quic)),
            None => Answer::yes(Protocol::QUIC, "QUIC Initial, decrypted"),
        },
    }
}

/// A packet with a long header.
#[derive(Debug)]
struct Packet<'a> {
    versions: &'static [Version],
    connection: &'a [u8],
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Where its packet number is.
    Initial { number_off: usize },
    /// 0-RTT.
    Early,
    /// Handshake.
    Other,
}

impl<'a> Packet<'a> {
    /// The next packet of a datagram, whose header has a length.
    fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        let mut whole = *reader;
        let packet = Self::header(&mut whole)?;
        let len = varint(&mut whole)?;
        let number_off = reader.rest().len() - whole.rest().len();
        whole.take(usize::try_from(len).ok()?)?;
        *reader = whole;
        let kind =
            if let Kind::Initial { .. } = packet.kind { Kind::Initial { number_off } } else { packet.kind };
        Some(Packet { kind, ..packet })
    }

    /// A header up to its length.
    fn header(reader: &mut Reader<'a>) -> Option<Self> {
        let (first, versions) = (reader.u8()?, Version::of(reader.u32()?)?);
        let (connection, source) = (reader.vector8()?, reader.vector8()?);
        let fits = first & 0xc0 == 0xc0 && connection.len().max(source.len()) <= CONNECTION_MAX;
        let kind = versions.first()?.kind(first >> 4 & 3);
        if !fits || kind == keys::RETRY {
            return None;
        }
        if kind == keys::INITIAL {
            let token = varint(reader)?;
            reader.take(usize::try_from(token).ok()?)?;
        }
        let kind = match kind {
            keys::INITIAL => Kind::Initial { number_off: 0 },
            keys::EARLY => Kind::Early,
            _ => Kind::Other,
        };
        Some(Packet { versions, connection, kind })
    }
}

/// RFC 9000 section 16.
fn varint(reader: &mut Reader) -> Option<u64> {
    let first = reader.u8()?;
    let rest = reader.take((1 << (first >> 6)) - 1)?;
    Some(rest.iter().fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte)))
}

/// Collects the CRYPTO frames of a packet; `None` where a frame is none of an Initial's, or there is too much (RFC 9000 section 12.4).
fn frames(payload: &[u8], crypto: &mut Pieces) -> Option<()> {
    let mut reader = Reader::new(payload);
    for _ in 0..FRAMES_MAX {
        // Padding, most of it at the end.
        let padding = reader.rest().iter().take_while(|&&byte| byte == 0).count();
        reader.take(padding)?;
        if reader.is_empty() {
            return Some(());
        }
        match varint(&mut reader)? {
            // PING.
            1 => {}
            // ACK, with counts of congestion.
            kind @ 2..=3 => {
                let (_largest, _delay, ranges, _first) =
                    (varint(&mut reader)?, varint(&mut reader)?, varint(&mut reader)?, varint(&mut reader)?);
                for _ in 0..(2 * ranges.min(1024) + if kind == 3 { 3 } else { 0 }) {
                    varint(&mut reader)?;
                }
            }
            6 => {
                let (offset, len) = (varint(&mut reader)?, varint(&mut reader)?);
                let data = reader.take(usize::try_from(len).ok()?)?;
                crypto.insert(usize::try_from(offset).ok()?, data).ok()?;
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests;
