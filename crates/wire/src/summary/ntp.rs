//! NTP (RFC 5905).

use std::fmt;

use super::text::Word;
use crate::bytes::{array_at, u8_at};

pub(super) const PORT: u16 = 123;

/// Bytes of a packet that tells the time; a control message has 12 or more (RFC 9327).
const LEN: usize = 48;
const CONTROL_LEN: usize = 12;
/// Bytes that show that it is one.
pub(super) const LEAST: usize = 2;

const CLIENT: u8 = 3;
const CONTROL: u8 = 6;
const PRIVATE: u8 = 7;

/// The first bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ntp {
    version: u8,
    mode: u8,
    stratum: u8,
    /// Names the source of the time; where the stratum is 0, why there is none (section 7.4).
    reference: Option<[u8; 4]>,
}

impl Ntp {
    /// Reads a packet of a version that there is, if all of it was sent that must be.
    pub(super) fn read(packet: &[u8], sent: usize) -> Option<Ntp> {
        let first = u8_at(packet, 0)?;
        let (version, mode) = (first >> 3 & 7, first & 7);
        let least = if mode < CONTROL { LEN } else { CONTROL_LEN };
        if !(1..=4).contains(&version) || mode == 0 || sent < least {
            return None;
        }
        let stratum = u8_at(packet, 1)?;
        Some(Ntp { version, mode, stratum, reference: array_at(packet, 12) })
    }

    /// Whether all was there that a line shows.
    pub(super) fn is_whole(&self) -> bool {
        self.reference.is_some() || self.stratum != 0 || matches!(self.mode, CLIENT | CONTROL | PRIVATE)
    }
}

impl fmt::Display for Ntp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MODES: [&str; 8] = [
            "reserved",
            "symmetric active",
            "symmetric passive",
            "client",
            "server",
            "broadcast",
            "control",
            "private",
        ];
        write!(f, "ntp v{} {}", self.version, MODES[usize::from(self.mode & 7)])?;
        match (self.mode, self.stratum, self.reference) {
            (CLIENT | CONTROL | PRIVATE, ..) | (_, 0, None) => Ok(()),
            (_, 0, Some(code)) if code[0] != 0 => write!(f, " kiss {}", Word(&code)),
            (_, stratum, _) => write!(f, " stratum {stratum}"),
        }
    }
}
