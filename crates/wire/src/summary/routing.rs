//! Messages between routers: OSPF (RFC 2328, RFC 5340), PIM (RFC 7761) and VRRP (RFC 9568).

use std::fmt;
use std::net::Ipv4Addr;

use crate::bytes::{u8_at, u32_at};
use crate::ip::protocol;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Routing {
    version: u8,
    kind: u8,
    /// What the kind is called.
    name: Option<&'static str>,
    from: From,
}

/// Who has sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Of OSPF: numbers of router and area, which are written as addresses.
    Router(Ipv4Addr, Ipv4Addr),
    /// Of VRRP: number of the virtual router, and priority.
    Virtual(u8, u8),
    Unnamed,
    /// Nothing is known of a message of such a version.
    OtherVersion,
}

impl Routing {
    /// Reads a message of one of these protocols, if its first bytes are there.
    pub(super) fn read(number: u8, bytes: &[u8]) -> Option<Routing> {
        let first = u8_at(bytes, 0)?;
        let (version, kind) = match number {
            protocol::OSPF => (first, u8_at(bytes, 1)?),
            _ => (first >> 4, first & 15),
        };
        let is_known = match number {
            protocol::PIM => version == 2,
            _ => matches!(version, 2 | 3),
        };
        if !is_known {
            return Some(Routing { version, kind, name: None, from: From::OtherVersion });
        }
        Some(match number {
            protocol::OSPF => {
                let from = From::Router(u32_at(bytes, 4)?.into(), u32_at(bytes, 8)?.into());
                Routing { version, kind, name: ospf_name(kind), from }
            }
            protocol::VRRP => {
                let from = From::Virtual(u8_at(bytes, 1)?, u8_at(bytes, 2)?);
                Routing { version, kind, name: (kind == 1).then_some("advertisement"), from }
            }
            _ => Routing { version, kind, name: pim_name(kind), from: From::Unnamed },
        })
    }
}

/// With a space in front.
impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            None if self.from == From::OtherVersion => write!(f, " v{}", self.version)?,
            Some(name) => write!(f, " v{} {name}", self.version)?,
            None => write!(f, " v{} type {}", self.version, self.kind)?,
        }
        match self.from {
            From::Router(router, area) => write!(f, " router {router} area {area}"),
            From::Virtual(number, priority) => write!(f, " vrid {number} prio {priority}"),
            From::Unnamed | From::OtherVersion => Ok(()),
        }
    }
}

/// RFC 2328, A.3.1.
fn ospf_name(kind: u8) -> Option<&'static str> {
    const NAMES: [&str; 5] = ["hello", "database-description", "ls-request", "ls-update", "ls-ack"];
    NAMES.get(usize::from(kind).checked_sub(1)?).copied()
}

/// RFC 7761, 4.9; RFC 3973, 4.7.1; RFC 5015, 3.7.1.
fn pim_name(kind: u8) -> Option<&'static str> {
    const NAMES: [&str; 11] = [
        "hello",
        "register",
        "register-stop",
        "join-prune",
        "bootstrap",
        "assert",
        "graft",
        "graft-ack",
        "candidate-rp",
        "state-refresh",
        "df-election",
    ];
    NAMES.get(usize::from(kind)).copied()
}
