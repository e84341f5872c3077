//! RTP (RFC 3550 section 5.1).
//!
//! Asked of the bytes: three datagrams of one direction that have headers of version 2 which fit them, one source, sequence numbers that rise by little, and
//! timestamps that do not run away. One datagram alone is never RTP: two bits of version are no evidence.

use super::answer::Answer;
use crate::Protocol;

/// Datagrams that must agree.
const AGREEING: u8 = 3;
/// How far the sequence number of the next may be ahead.
const AHEAD_MAX: u16 = 32;
/// How far its timestamp may be: ten seconds of 90 kHz.
const TIME_MAX: u32 = 900_000;

/// What one direction has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    last: Header,
    /// Datagrams that agree with each other, `last` the last of them.
    agreeing: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    sequence: u16,
    time: u32,
    source: u32,
}

impl Track {
    /// Whether nothing came that may be RTP.
    pub(super) fn is_blank(&self) -> bool {
        self.agreeing == 0
    }

    /// Takes in the next datagram.
    pub(super) fn add(&mut self, payload: &[u8]) -> Answer {
        let Some(header) = Header::parse(payload) else { return Answer::No };
        let ahead = header.sequence.wrapping_sub(self.last.sequence);
        if self.agreeing == 0 || header.source != self.last.source {
            *self = Track { last: header, agreeing: 1 };
        } else if ahead == 0 || ahead > u16::MAX - AHEAD_MAX {
            // Again, or late.
        } else if ahead <= AHEAD_MAX && is_near(header.time.wrapping_sub(self.last.time)) {
            *self = Track { last: header, agreeing: self.agreeing + 1 };
        } else {
            *self = Track { last: header, agreeing: 1 };
        }
        if self.agreeing >= AGREEING {
            Answer::yes(Protocol::RTP, "RTP source and sequence")
        } else {
            Answer::Maybe
        }
    }
}

/// Forwards, or back a little, as the frames of a video are.
fn is_near(step: u32) -> bool {
    step <= TIME_MAX || step.wrapping_neg() <= TIME_MAX
}

impl Header {
    fn parse(payload: &[u8]) -> Option<Self> {
        let (header, rest) = payload.split_first_chunk::<12>()?;
        let (first, kind) = (header[0], header[1] & 0x7f);
        let (padded, extended, sources) = (first & 0x20 != 0, first & 0x10 != 0, usize::from(first & 0x0f));
        // Payload types that RTCP's would be taken for are left out (RFC 5761 section 4).
        if first >> 6 != 2 || !matches!(kind, 0..=63 | 96..=127) {
            return None;
        }
        let mut rest = rest.get(4 * sources..)?;
        if extended {
            let len = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
            rest = rest.get(4 + 4 * len..)?;
        }
        if padded && !(1..=rest.len()).contains(&usize::from(*rest.last()?)) {
            return None;
        }
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let header =
            Header { sequence: u16::from_be_bytes([header[2], header[3]]), time: word(4), source: word(8) };
        (header.source != 0).then_some(header)
    }
}
