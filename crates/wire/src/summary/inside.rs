//! The packet inside a tunnel, which has a line of its own behind that of the tunnel.

use super::Summary;
use crate::ether::ethertype_name;
use crate::link::{strip, strip_tags};
use crate::linktype::LinkType;
use crate::tunnel::TRANSPARENT_ETHERNET;

/// Tunnels in tunnels that are looked into: a hostile packet may have as many as fit.
const DEPTH_MAX: u8 = 2;

/// A packet inside a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    /// Its EtherType, which may be that of a whole Ethernet frame.
    ethertype: u16,
    bytes: &'a [u8],
    wire_len: u32,
    /// How many tunnels it is in.
    depth: u8,
}

impl<'a> Inside<'a> {
    /// A packet in a tunnel that is itself in `depth` others, if it is to be looked into and something of it was captured.
    pub(super) fn new(ethertype: u16, bytes: &'a [u8], wire_len: u32, depth: u8) -> Option<Inside<'a>> {
        let is_known = ethertype == TRANSPARENT_ETHERNET || ethertype_name(ethertype).is_some();
        let is_shown = is_known && !bytes.is_empty() && depth < DEPTH_MAX;
        let wire_len = wire_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        is_shown.then_some(Inside { ethertype, bytes, wire_len, depth: depth + 1 })
    }

    pub(super) fn summary(self) -> Summary<'a> {
        let (link, name) = match self.ethertype {
            TRANSPARENT_ETHERNET => (strip(LinkType::EN10MB, self.bytes), LinkType::EN10MB.name()),
            ethertype => (strip_tags(ethertype, self.bytes), ethertype_name(ethertype)),
        };
        let missing = (self.wire_len as usize).saturating_sub(self.bytes.len());
        Summary::new(link, name.unwrap_or("packet"), self.wire_len, missing, self.depth)
    }
}
