//! The chunks of an SCTP packet (RFC 9260).

use std::fmt;

use crate::bytes::{u8_at, u16_at};

const HEADER_LEN: usize = 12;
const CHUNK_HEADER_LEN: usize = 4;
/// Chunks that a line names.
const NAMED_MAX: usize = 4;

/// The types of the first chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    kinds: [u8; NAMED_MAX],
    count: usize,
    has_more: bool,
    /// Whether all was there that a line names.
    pub(super) is_whole: bool,
}

impl Chunks {
    /// Reads the chunks that were captured of a packet of which `sent` bytes were sent, if its header is whole.
    pub(super) fn read(packet: &[u8], sent: usize) -> Option<Chunks> {
        let mut chunks = Chunks { kinds: [0; NAMED_MAX], count: 0, has_more: false, is_whole: true };
        let mut at = HEADER_LEN;
        packet.get(at..)?;
        while at + CHUNK_HEADER_LEN <= sent {
            if chunks.count == NAMED_MAX {
                chunks.has_more = true;
                break;
            }
            let (Some(kind), Some(len)) = (u8_at(packet, at), u16_at(packet, at + 2)) else {
                chunks.is_whole = false;
                break;
            };
            chunks.kinds[chunks.count] = kind;
            chunks.count += 1;
            // A length below that of the header is damage, behind which nothing can be found.
            let len = usize::from(len).next_multiple_of(4);
            if len < CHUNK_HEADER_LEN {
                break;
            }
            at += len;
        }
        Some(chunks)
    }
}

/// With commas between, as the flags of TCP, and a space in front.
impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &kind) in self.kinds[..self.count].iter().enumerate() {
            f.write_str(if i > 0 { "," } else { " " })?;
            match name(kind) {
                Some(name) => f.write_str(name)?,
                None => write!(f, "{kind}")?,
            }
        }
        if self.has_more { f.write_str(",...") } else { Ok(()) }
    }
}

/// IANA, "SCTP Parameters": chunk types.
fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "DATA",
        1 => "INIT",
        2 => "INIT-ACK",
        3 => "SACK",
        4 => "HEARTBEAT",
        5 => "HEARTBEAT-ACK",
        6 => "ABORT",
        7 => "SHUTDOWN",
        8 => "SHUTDOWN-ACK",
        9 => "ERROR",
        10 => "COOKIE-ECHO",
        11 => "COOKIE-ACK",
        14 => "SHUTDOWN-COMPLETE",
        15 => "AUTH",
        64 => "I-DATA",
        128 => "ASCONF-ACK",
        130 => "RE-CONFIG",
        132 => "PAD",
        192 => "FORWARD-TSN",
        193 => "ASCONF",
        194 => "I-FORWARD-TSN",
        _ => return None,
    })
}
