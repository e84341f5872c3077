//! LLDP (IEEE 802.1AB).

use std::fmt;
use std::net::IpAddr;

use super::text::Quoted;
use crate::bytes::{array_at, u16_at};
use crate::mac::Mac;

const END: u16 = 0;
const CHASSIS: u16 = 1;
const PORT: u16 = 2;
const TIME_TO_LIVE: u16 = 3;
const SYSTEM_NAME: u16 = 5;

/// Families of network addresses (IANA, "Address Family Numbers").
const FAMILY_IPV4: u8 = 1;
const FAMILY_IPV6: u8 = 2;

/// Elements that are looked at; those that matter come first.
const ELEMENTS_MAX: usize = 32;

/// What is at the other end of the cable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lldp<'a> {
    chassis: Option<Id<'a>>,
    port: Option<Id<'a>>,
    ttl_s: Option<u16>,
    name: Option<&'a [u8]>,
    /// Whether all was there that a line shows.
    pub(super) is_whole: bool,
}

/// How a chassis or a port is called.
#[derive(Clone, Copy, Debug)]
enum Id<'a> {
    Mac(Mac),
    Ip(IpAddr),
    Text(&'a [u8]),
}

impl<'a> Lldp<'a> {
    /// Reads the elements that are whole.
    pub(super) fn read(mut elements: &'a [u8]) -> Lldp<'a> {
        let mut lldp = Lldp { chassis: None, port: None, ttl_s: None, name: None, is_whole: false };
        for _ in 0..ELEMENTS_MAX {
            // Seven bits of type, nine of length.
            let Some(head) = u16_at(elements, 0) else { return lldp };
            let Some((value, rest)) = elements[2..].split_at_checked(usize::from(head & 0x1ff)) else {
                return lldp;
            };
            match head >> 9 {
                END => break,
                CHASSIS => lldp.chassis = Id::read(value, 4, 5),
                PORT => lldp.port = Id::read(value, 3, 4),
                TIME_TO_LIVE => lldp.ttl_s = u16_at(value, 0),
                SYSTEM_NAME => lldp.name = Some(value),
                _ => {}
            }
            elements = rest;
            if lldp.chassis.is_some() && lldp.port.is_some() && lldp.ttl_s.is_some() && lldp.name.is_some() {
                break;
            }
        }
        lldp.is_whole = true;
        lldp
    }
}

impl<'a> Id<'a> {
    /// A subtype, then a name, which with these subtypes is a hardware address, or a network address behind its family.
    fn read(value: &'a [u8], mac_subtype: u8, network_subtype: u8) -> Option<Id<'a>> {
        let (&subtype, name) = value.split_first()?;
        Some(match (name.len(), name.first()) {
            (6, _) if subtype == mac_subtype => Id::Mac(Mac(array_at(name, 0)?)),
            (5, Some(&FAMILY_IPV4)) if subtype == network_subtype => Id::Ip(array_at::<4>(name, 1)?.into()),
            (17, Some(&FAMILY_IPV6)) if subtype == network_subtype => Id::Ip(array_at::<16>(name, 1)?.into()),
            _ => Id::Text(name),
        })
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Id::Mac(mac) => mac.fmt(f),
            Id::Ip(ip) => ip.fmt(f),
            Id::Text(name) => Quoted(name).fmt(f),
        }
    }
}

/// Each with a space in front.
impl fmt::Display for Lldp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chassis) = self.chassis {
            write!(f, " chassis {chassis}")?;
        }
        if let Some(port) = self.port {
            write!(f, " port {port}")?;
        }
        if let Some(ttl_s) = self.ttl_s {
            write!(f, " ttl {ttl_s}")?;
        }
        self.name.map_or(Ok(()), |name| write!(f, " name {}", Quoted(name)))
    }
}
