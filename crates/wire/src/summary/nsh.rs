//! The network service header (RFC 8300): the path that a packet takes through services, and how far it has come.

use std::fmt;

use crate::bytes::{u8_at, u16_at, u32_at};
use crate::ether::ethertype;
use crate::tunnel::TRANSPARENT_ETHERNET;

/// The base header and the service path header, in words of four bytes.
const LEAST_WORDS: usize = 2;

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nsh {
    path: u32,
    index: u8,
    /// The number of what is inside.
    next: u8,
    /// With what it says of the packet beside the path.
    words: usize,
}

impl Nsh {
    /// Whether this begins a header of another version than the only one.
    pub(super) fn is_of_other_version(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|first| first >> 6 != 0)
    }

    /// Reads the part that all have, if it is there.
    pub(super) fn read(bytes: &[u8]) -> Option<Nsh> {
        let path_and_index = u32_at(bytes, 4)?;
        Some(Nsh {
            path: path_and_index >> 8,
            index: path_and_index as u8,
            next: u8_at(bytes, 3)?,
            words: usize::from(u16_at(bytes, 0)? & 0x3f),
        })
    }

    /// Its length, unless it says to be shorter than any.
    pub(super) fn header_len(&self) -> Option<usize> {
        (self.words >= LEAST_WORDS).then_some(4 * self.words)
    }

    /// The EtherType of what is inside, where it has one; [`TRANSPARENT_ETHERNET`] for a frame (2.2).
    pub(super) fn ethertype(&self) -> Option<u16> {
        Some(match self.next {
            1 => ethertype::IPV4,
            2 => ethertype::IPV6,
            3 => TRANSPARENT_ETHERNET,
            4 => ethertype::NSH,
            5 => ethertype::MPLS,
            _ => return None,
        })
    }
}

/// With a space in front.
impl fmt::Display for Nsh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " path {} index {}", self.path, self.index)?;
        match self.ethertype() {
            Some(_) => Ok(()),
            None => write!(f, " protocol {}", self.next),
        }
    }
}
