//! The packet inside a tunnel, which has a line of its own behind that of the tunnel.

use super::Summary;
use crate::ether::ethertype_name;
use crate::link::{strip, strip_tags};
use crate::linktype::LinkType;
use crate::tunnel::TRANSPARENT_ETHERNET;

/// Tunnels in tunnels that are looked into: a hostile packet may have as many as fit.
const DEPTH_MAX: u8 = 2;

/// What a tunnel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What has this EtherType, which may be that of a whole Ethernet frame.
    Ethertype(u16),
    /// A frame of PPP.
    Ppp,
}

/// A packet inside a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    kind: Kind,
    bytes: &'a [u8],
    wire_len: u32,
    /// How many tunnels it is in.
    depth: u8,
}

impl<'a> Inside<'a> {
    /// Whether a packet of this kind is looked into, in a tunnel that is itself in `depth` others.
    pub(super) fn is_shown(kind: Kind, depth: u8) -> bool {
        let is_known = match kind {
            Kind::Ethertype(TRANSPARENT_ETHERNET) | Kind::Ppp => true,
            Kind::Ethertype(ethertype) => ethertype_name(ethertype).is_some(),
        };
        is_known && depth < DEPTH_MAX
    }

    /// A packet in a tunnel that is itself in `depth` others.
    pub(super) fn new(kind: Kind, bytes: &'a [u8], wire_len: u32, depth: u8) -> Inside<'a> {
        let wire_len = wire_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Inside { kind, bytes, wire_len, depth: depth + 1 }
    }

    pub(super) fn summary(self) -> Summary<'a> {
        let framed = |linktype: LinkType| (strip(linktype, self.bytes), linktype.name());
        let (link, name) = match self.kind {
            Kind::Ethertype(TRANSPARENT_ETHERNET) => framed(LinkType::EN10MB),
            Kind::Ethertype(ethertype) => (strip_tags(ethertype, self.bytes), ethertype_name(ethertype)),
            Kind::Ppp => framed(LinkType::PPP),
        };
        let missing = (self.wire_len as usize).saturating_sub(self.bytes.len());
        Summary::new(link, name.unwrap_or("packet"), self.wire_len, missing, self.depth)
    }
}
