//! L2TPv3 over IP (RFC 3931, 4.1.1): the frames of sessions, and the messages that set them up.
//!
//! How long the cookie of a session is, whether a sublayer follows it, and what the session carries is known to its two ends only. Where an
//! Ethernet frame seems to stand is a guess.

use std::fmt;

use super::pseudowire::{FRAME_LEAST, Guess, is_frame};
use crate::bytes::{u16_at, u32_at};

/// Where a frame may begin behind the session: with a cookie of eight bytes, as in keyed tunnels (RFC 8159), of none, and of four, which may
/// as well be the sublayer; with a cookie of eight and the sublayer.
const FRAMES_AT: [usize; 4] = [12, 4, 8, 16];
const FRAME_AT_MAX: usize = 16;
/// Where the first attribute of a message begins, and where its value ends.
const ATTRIBUTES: usize = 16;
const KIND_END: usize = 24;

/// A packet.
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
    /// Reads a packet of which `sent` bytes were sent, if its header is there.
    pub(super) fn read(bytes: &[u8], sent: usize) -> Option<L2tp> {
        let id = u32_at(bytes, 0)?;
        if id != 0 {
            return Some(L2tp::Session { id, frame: None, is_whole: true });
        }
        // The session does not count.
        let stated = usize::from(u16_at(bytes, 6)?) + 4;
        let has_kind = stated.min(sent) >= KIND_END;
        let is_kind = |at| u32_at(bytes, at + 2) == Some(0);
        Some(L2tp::Control {
            connection: u32_at(bytes, 8)?,
            sent: u16_at(bytes, 12)?,
            expected: u16_at(bytes, 14)?,
            kind: u16_at(bytes, KIND_END - 2).filter(|_| has_kind && is_kind(ATTRIBUTES)),
            is_whole: !has_kind || bytes.len() >= KIND_END,
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
                match (kind, kind.and_then(kind_name)) {
                    (_, Some(name)) => write!(f, " {name}"),
                    (Some(kind), None) => write!(f, " message {kind}"),
                    (None, None) => Ok(()),
                }
            }
        }
    }
}

/// RFC 3931, 6.
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
