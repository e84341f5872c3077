//! What sets IPsec up, and IPsec itself where UDP takes it through address translators: IKE (RFC 7296, 3.1; version 1: RFC 2408, 3.1) and
//! ESP (RFC 3948, 2).

use std::fmt;

use crate::bytes::{array_at, u8_at, u32_at};

/// IKE alone.
pub(super) const IKE_PORT: u16 = 500;
/// IKE behind a marker, ESP, and what keeps a translation alive.
pub(super) const NAT_PORT: u16 = 4500;

/// What stands in front of IKE where a security parameters index would: no ESP has this one.
const MARKER: [u8; 4] = [0; 4];
/// Index and sequence number of ESP.
const ESP_LEN: usize = 8;
const KEEPALIVE: [u8; 1] = [0xff];
const HEADER_LEN: usize = 28;
/// A flag of version 2.
const IS_RESPONSE: u8 = 0x20;

/// What a datagram carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ipsec {
    Ike(Ike),
    /// Security parameters index and sequence number.
    Esp(u32, u32),
    Keepalive,
}

/// The header of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ike {
    initiator: u64,
    responder: u64,
    version: u8,
    exchange: u8,
    flags: u8,
    id: u32,
}

impl Ipsec {
    /// Reads what the port of IKE has, in a datagram of which `sent` bytes were sent.
    pub(super) fn read_ike(payload: &[u8], sent: usize) -> Option<Ipsec> {
        Ike::read(payload, sent).map(Ipsec::Ike)
    }

    /// Reads what the other port has.
    pub(super) fn read(payload: &[u8], sent: usize) -> Option<Ipsec> {
        if let Some(message) = payload.strip_prefix(&MARKER) {
            return Ipsec::read_ike(message, sent.saturating_sub(MARKER.len()));
        }
        if payload == KEEPALIVE && sent == KEEPALIVE.len() {
            return Some(Ipsec::Keepalive);
        }
        Some(Ipsec::Esp(u32_at(payload, 0)?, u32_at(payload, 4)?))
    }

    /// Bytes that show what a datagram to this port carries, where it begins with `payload`.
    pub(super) fn least(port: u16, payload: &[u8]) -> usize {
        match port {
            IKE_PORT => HEADER_LEN,
            _ if payload.is_empty() => KEEPALIVE.len(),
            _ if payload.starts_with(&MARKER) => MARKER.len() + HEADER_LEN,
            _ => ESP_LEN,
        }
    }
}

impl Ike {
    fn read(payload: &[u8], sent: usize) -> Option<Ike> {
        let version = u8_at(payload, 17)? >> 4;
        let len = u32_at(payload, 24)? as usize;
        let is_one = matches!(version, 1 | 2) && (HEADER_LEN..=sent).contains(&len);
        is_one.then_some(Ike {
            initiator: u64::from_be_bytes(array_at(payload, 0)?),
            responder: u64::from_be_bytes(array_at(payload, 8)?),
            version,
            exchange: u8_at(payload, 18)?,
            flags: u8_at(payload, 19)?,
            id: u32_at(payload, 20)?,
        })
    }
}

impl fmt::Display for Ipsec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ipsec::Ike(ike) => ike.fmt(f),
            Ipsec::Esp(spi, seq) => write!(f, "esp spi {spi:#010x} seq {seq}"),
            Ipsec::Keepalive => f.write_str("nat-keepalive"),
        }
    }
}

impl fmt::Display for Ike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ike v{} ", self.version)?;
        match exchange_name(self.version, self.exchange) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "exchange {}", self.exchange)?,
        }
        // Version 1 does not say who asks, and counts nothing: its number is one of many by chance.
        if self.version == 2 {
            f.write_str(if self.flags & IS_RESPONSE == 0 { " request" } else { " response" })?;
        }
        write!(f, " id {} spi {:#018x} {:#018x}", self.id, self.initiator, self.responder)
    }
}

/// IANA, "IKEv2 Exchange Types"; RFC 2408, 3.1, and RFC 2409, 5, for version 1.
fn exchange_name(version: u8, exchange: u8) -> Option<&'static str> {
    Some(match (version, exchange) {
        (1, 1) => "base",
        (1, 2) => "main",
        (1, 3) => "authentication-only",
        (1, 4) => "aggressive",
        (1, 5) => "informational",
        (1, 32) => "quick",
        (1, 33) => "new-group",
        (2, 34) => "ike-sa-init",
        (2, 35) => "ike-auth",
        (2, 36) => "create-child-sa",
        (2, 37) => "informational",
        (2, 38) => "ike-session-resume",
        (2, 43) => "ike-intermediate",
        _ => return None,
    })
}
