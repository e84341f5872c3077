//! RADIUS (RFC 2865, RFC 2866, RFC 5176): what is asked and answered.

use std::fmt;

use crate::bytes::{u8_at, u16_at};

/// Of authentication and of accounting, those in use before them, and that of changes.
pub(super) const PORTS: [u16; 5] = [1812, 1813, 1645, 1646, 3799];
/// Where Juniper's JUNOSe takes changes by default ("Configuring RADIUS-Initiated Change of Authorization"), and others may. Gateways of
/// LoRaWAN speak there, too.
pub(super) const PORT_OF_CHANGES: u16 = 1700;
/// Codes of changes and of their answers (RFC 5176, 2.3).
const CHANGES: std::ops::RangeInclusive<u8> = 40..=45;
/// Bytes of a header that show that it is one: a code, a number, a length.
pub(super) const LEAST: usize = 4;
/// Code, number, length, and what authenticates it.
const HEADER_LEN: u16 = 20;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Radius {
    name: &'static str,
    /// By which a reply is told to be that of a request.
    id: u8,
}

impl Radius {
    /// Reads a packet in a datagram of which `sent` bytes were sent, if it is one.
    pub(super) fn read(payload: &[u8], sent: usize) -> Option<Radius> {
        let len = u16_at(payload, 2)?;
        let is_one = len >= HEADER_LEN && usize::from(len) <= sent;
        let name = code_name(u8_at(payload, 0)?).filter(|_| is_one)?;
        Some(Radius { name, id: u8_at(payload, 1)? })
    }
}

impl Radius {
    /// The same, if it is a change or the answer to one.
    pub(super) fn read_change(payload: &[u8], sent: usize) -> Option<Radius> {
        let is_change = CHANGES.contains(&u8_at(payload, 0)?);
        Radius::read(payload, sent).filter(|_| is_change)
    }
}

impl fmt::Display for Radius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "radius {} id {}", self.name, self.id)
    }
}

/// IANA, "RADIUS Packet Type Codes".
fn code_name(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "access-request",
        2 => "access-accept",
        3 => "access-reject",
        4 => "accounting-request",
        5 => "accounting-response",
        11 => "access-challenge",
        12 => "status-server",
        13 => "status-client",
        40 => "disconnect-request",
        41 => "disconnect-ack",
        42 => "disconnect-nak",
        43 => "coa-request",
        44 => "coa-ack",
        45 => "coa-nak",
        _ => return None,
    })
}
