//! The packets that begin a connection of QUIC (RFC 8999, RFC 9000, RFC 9369): those with the long header.

use std::fmt;

use crate::bytes::{u8_at, u32_at};

/// The port of HTTP/3; elsewhere only the versions that RFCs describe are recognised.
const PORT: u16 = 443;
/// Versions of drafts, and those that only test whether others are refused (RFC 9000, 15).
const DRAFTS: std::ops::RangeInclusive<u32> = 0xff00_0001..=0xff00_00ff;
const RESERVED: u32 = 0x0a0a_0a0a;

const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
pub(super) const LONG_HEADER: u8 = 0x80;
/// Bytes that show that a datagram begins with a long header.
pub(super) const LEAST: usize = 6;
const FIXED: u8 = 0x40;
const CONNECTION_ID_LEN_MAX: u8 = 20;

/// What the first byte and the version say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quic {
    kind: &'static str,
    version: u32,
}

impl Quic {
    /// Reads a packet with a long header, of a datagram between these ports.
    pub(super) fn read(packet: &[u8], ports: [u16; 2]) -> Option<Quic> {
        const KINDS: [&str; 4] = ["initial", "0-rtt", "handshake", "retry"];
        let first = u8_at(packet, 0).filter(|first| first & LONG_HEADER != 0)?;
        let version = u32_at(packet, 1)?;
        let is_expected = ports.contains(&PORT);
        let is_sound = first & FIXED != 0 && u8_at(packet, 5)? <= CONNECTION_ID_LEN_MAX;
        let number = first >> 4 & 3;
        let kind = match version {
            0 if is_expected => "version negotiation",
            VERSION_1 if is_sound => KINDS[usize::from(number)],
            // The same kinds, each one number higher (RFC 9369, 3.2).
            VERSION_2 if is_sound => KINDS[usize::from(number.wrapping_sub(1) & 3)],
            other
                if is_expected
                    && is_sound
                    && (DRAFTS.contains(&other) || other & 0x0f0f_0f0f == RESERVED) =>
            {
                "long header"
            }
            _ => return None,
        };
        Some(Quic { kind, version })
    }
}

impl fmt::Display for Quic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            0 => write!(f, "quic {}", self.kind),
            VERSION_1 => write!(f, "quic v1 {}", self.kind),
            VERSION_2 => write!(f, "quic v2 {}", self.kind),
            other => write!(f, "quic version {other:#010x} {}", self.kind),
        }
    }
}
