//! L2TP: the frames of sessions, and the messages that set them up. Version 3 over IP (RFC 3931, 4.1.1) and over UDP (4.1.2), and version 2,
//! which is over UDP (RFC 2661).
//!
//! A session of version 2 carries frames of PPP. Of version 3, how long the cookie of a session is, whether a sublayer follows it, and what the
//! session carries is known to its two ends only. Where an Ethernet frame seems to stand is a guess.

use std::fmt;
use std::ops::Range;

use super::inside::Kind;
use super::pseudowire::{FRAME_LEAST, Guess, is_frame};
use crate::bytes::{u16_at, u32_at};
use crate::tunnel::TRANSPARENT_ETHERNET;

/// Where a frame may begin behind the session: with a cookie of eight bytes, as in keyed tunnels (RFC 8159), of none, and of four, which may
/// as well be the sublayer; with a cookie of eight and the sublayer.
const FRAMES_AT: [usize; 4] = [12, 4, 8, 16];
const FRAME_AT_MAX: usize = 16;
/// Where the first attribute of a message begins, from its flags on.
const ATTRIBUTES: usize = 12;

/// UDP port of who is called first; the one who answers may choose another (RFC 2661, 8.1).
pub(super) const PORT: u16 = 1701;
/// Flags in front of version 2.
const IS_CONTROL: u16 = 0x8000;
const HAS_LENGTH: u16 = 0x4000;
const HAS_NUMBERS: u16 = 0x0800;
const HAS_OFFSET: u16 = 0x0200;
/// Bytes of an attribute before its value, and of the value that is the type of a message.
const KIND_LEN: usize = 8;

/// A packet of version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum L2tp {
    Session {
        id: u32,
        /// Where an Ethernet frame seems to stand.
        frame: Option<usize>,
        /// Whether enough was there to tell.
        is_whole: bool,
    },
    Control {
        connection: u32,
        sent: u16,
        expected: u16,
        /// The type of the message; one without is an acknowledgement.
        kind: Option<u16>,
        is_whole: bool,
    },
}

impl L2tp {
    /// Reads a packet over IP of which `sent` bytes were sent, if its header is there.
    pub(super) fn read(bytes: &[u8], sent: usize) -> Option<L2tp> {
        match u32_at(bytes, 0)? {
            0 => L2tp::control(&bytes[4..], sent.saturating_sub(4)),
            id => Some(L2tp::Session { id, frame: None, is_whole: true }),
        }
    }

    /// Reads a message from its flags on.
    fn control(bytes: &[u8], sent: usize) -> Option<L2tp> {
        let stated = usize::from(u16_at(bytes, 2)?);
        let (kind, is_whole) = message_kind(bytes, ATTRIBUTES, stated.min(sent));
        Some(L2tp::Control {
            connection: u32_at(bytes, 4)?,
            sent: u16_at(bytes, 8)?,
            expected: u16_at(bytes, 10)?,
            kind,
            is_whole,
        })
    }

    /// Where an Ethernet frame seems to stand in a packet of a session.
    pub(super) fn frame(bytes: &[u8], sent: usize) -> Guess<usize> {
        if bytes.len() < sent.min(FRAME_AT_MAX + FRAME_LEAST) {
            return Guess::Cut;
        }
        let frame = FRAMES_AT.into_iter().find(|&at| bytes.get(at..).is_some_and(is_frame));
        frame.map_or(Guess::Unknown, Guess::Known)
    }

    pub(super) fn is_whole(&self) -> bool {
        match *self {
            L2tp::Session { is_whole, .. } | L2tp::Control { is_whole, .. } => is_whole,
        }
    }
}

/// With a space in front.
impl fmt::Display for L2tp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            L2tp::Session { id, frame: None, .. } => write!(f, " session {id}"),
            L2tp::Session { id, frame: Some(_), .. } => write!(f, " session {id} ethernet (guessed)"),
            L2tp::Control { connection, sent, expected, kind, .. } => {
                write!(f, " control {connection} ns {sent} nr {expected}")?;
                write_kind(kind, f)
            }
        }
    }
}

/// A packet of version 2 or 3 in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datagram {
    Session {
        tunnel: u16,
        session: u16,
        /// Where its frame of PPP begins, behind what an offset leads over.
        frame_at: usize,
        /// Where the packet ends, as it says itself: what follows is padding.
        end: Option<usize>,
    },
    Control {
        tunnel: u16,
        session: u16,
        sent: u16,
        expected: u16,
        kind: Option<u16>,
        is_whole: bool,
    },
    V3(L2tp),
}

impl Datagram {
    /// Reads a datagram of which `sent` bytes were sent, if it is one of these and its header is there.
    pub(super) fn read(bytes: &[u8], sent: usize) -> Option<Datagram> {
        let flags = u16_at(bytes, 0)?;
        match (flags & 0xf, flags & IS_CONTROL != 0) {
            (2, _) => Datagram::version_2(flags, bytes, sent),
            (3, true) => L2tp::control(bytes, sent).map(Datagram::V3),
            (3, false) => Datagram::session_of_version_3(bytes, sent).map(Datagram::V3),
            // Version 1 is L2F (RFC 2341).
            _ => None,
        }
    }

    fn version_2(flags: u16, bytes: &[u8], sent: usize) -> Option<Datagram> {
        let [length_at, ids_at, numbers_at, offset_at, end] = fields(flags);
        let (tunnel, session) = (u16_at(bytes, ids_at)?, u16_at(bytes, ids_at + 2)?);
        if flags & IS_CONTROL == 0 {
            let skipped = if flags & HAS_OFFSET == 0 { 0 } else { u16_at(bytes, offset_at)? };
            let frame_at = bytes.get(..end)?.len() + usize::from(skipped);
            let stated = if flags & HAS_LENGTH == 0 { None } else { Some(u16_at(bytes, length_at)?.into()) };
            return Some(Datagram::Session { tunnel, session, frame_at, end: stated });
        }
        // Messages have both.
        if flags & HAS_LENGTH == 0 || flags & HAS_NUMBERS == 0 {
            return None;
        }
        let stated = usize::from(u16_at(bytes, length_at)?);
        let (kind, is_whole) = message_kind(bytes, end, stated.min(sent));
        let (sent, expected) = (u16_at(bytes, numbers_at)?, u16_at(bytes, numbers_at + 2)?);
        Some(Datagram::Control { tunnel, session, sent, expected, kind, is_whole })
    }

    /// Behind flags and two bytes of nothing it is that of IP.
    fn session_of_version_3(bytes: &[u8], sent: usize) -> Option<L2tp> {
        let (id, bytes) = (u32_at(bytes, 4)?, &bytes[4..]);
        let guess = L2tp::frame(bytes, sent.saturating_sub(4));
        let frame = if let Guess::Known(at) = guess { Some(at + 4) } else { None };
        Some(L2tp::Session { id, frame, is_whole: guess != Guess::Cut })
    }

    /// What it carries, and where that begins and ends, in a datagram of which `sent` bytes were sent.
    pub(super) fn carried(&self, sent: usize) -> Option<(Kind, Range<usize>)> {
        match *self {
            Datagram::Session { frame_at, end, .. } => Some((Kind::Ppp, frame_at..end.unwrap_or(sent))),
            Datagram::V3(L2tp::Session { frame, .. }) => {
                frame.map(|at| (Kind::Ethertype(TRANSPARENT_ETHERNET), at..sent))
            }
            _ => None,
        }
        // An offset may lead anywhere.
        .filter(|(_, frame)| frame.start < frame.end && frame.end <= sent)
    }

    /// Whether a session's packet says to be longer than what holds it, of which `sent` bytes were sent, or shorter than its header.
    pub(super) fn has_bad_length(&self, sent: usize) -> bool {
        match *self {
            Datagram::Session { frame_at, end: Some(end), .. } => end > sent || frame_at > end,
            Datagram::Session { frame_at, .. } => frame_at > sent,
            _ => false,
        }
    }

    /// The same, where a frame that it carries would not be whole.
    pub(super) fn without_frame(self) -> Datagram {
        match self {
            Datagram::V3(L2tp::Session { id, .. }) => {
                Datagram::V3(L2tp::Session { id, frame: None, is_whole: true })
            }
            other => other,
        }
    }

    /// Bytes that show what it is, or that it is something else, where it begins with `payload`.
    pub(super) fn least(payload: &[u8]) -> usize {
        let flags = u16_at(payload, 0).unwrap_or(0);
        match (flags & 0xf, flags & IS_CONTROL != 0) {
            (2, _) => fields(flags)[4],
            (3, true) => ATTRIBUTES,
            (3, false) => 8,
            _ => 2,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        match *self {
            Datagram::Session { .. } => true,
            Datagram::Control { is_whole, .. } => is_whole,
            Datagram::V3(l2tp) => l2tp.is_whole(),
        }
    }
}

/// Where in a header of version 2 its length is, its numbers of tunnel and session, those of messages, and its offset, each if there is one, and where
/// it ends.
fn fields(flags: u16) -> [usize; 5] {
    let len_if = |flag: u16, len: usize| if flags & flag == 0 { 0 } else { len };
    let ids_at = 2 + len_if(HAS_LENGTH, 2);
    let numbers_at = ids_at + 4;
    let offset_at = numbers_at + len_if(HAS_NUMBERS, 4);
    [2, ids_at, numbers_at, offset_at, offset_at + len_if(HAS_OFFSET, 2)]
}

/// The type of a message, which is its first attribute, if it has any and that was captured; and whether all was there that says so.
fn message_kind(bytes: &[u8], attributes: usize, sent: usize) -> (Option<u16>, bool) {
    let end = attributes + KIND_LEN;
    let has_kind = sent >= end;
    let is_kind = || u32_at(bytes, attributes + 2) == Some(0);
    (u16_at(bytes, end - 2).filter(|_| has_kind && is_kind()), !has_kind || bytes.len() >= end)
}

impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("l2tp")?;
        match *self {
            Datagram::Session { tunnel, session, .. } => write!(f, " tunnel {tunnel} session {session}"),
            Datagram::Control { tunnel, session, sent, expected, kind, .. } => {
                write!(f, " tunnel {tunnel} session {session} control ns {sent} nr {expected}")?;
                write_kind(kind, f)
            }
            Datagram::V3(l2tp) => l2tp.fmt(f),
        }
    }
}

/// With a space in front, or nothing.
fn write_kind(kind: Option<u16>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (kind, kind.and_then(kind_name)) {
        (_, Some(name)) => write!(f, " {name}"),
        (Some(kind), None) => write!(f, " message {kind}"),
        (None, None) => Ok(()),
    }
}

/// RFC 3931, 6, and RFC 2661, 3.2.
fn kind_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        1 => "SCCRQ",
        2 => "SCCRP",
        3 => "SCCCN",
        4 => "StopCCN",
        6 => "HELLO",
        7 => "OCRQ",
        8 => "OCRP",
        9 => "OCCN",
        10 => "ICRQ",
        11 => "ICRP",
        12 => "ICCN",
        14 => "CDN",
        15 => "WEN",
        16 => "SLI",
        20 => "ACK",
        _ => return None,
    })
}
