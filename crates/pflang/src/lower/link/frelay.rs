//! Frame relay (RFC 2427): a two-byte address, then "unnumbered information" and a network layer protocol id.

use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::{ethertype, sap};

/// Network layer protocol ids (ISO/IEC TR 9577).
mod nlpid {
    pub(super) const CLNP: u32 = 0x81;
    pub(super) const ESIS: u32 = 0x82;
    pub(super) const ISIS: u32 = 0x83;
    pub(super) const IPV6: u32 = 0x8e;
    pub(super) const IP: u32 = 0xcc;
}

impl Lowerer<'_> {
    pub(super) fn frelay_linktype(&mut self, proto: u32) -> TreeId {
        let ids: &[u32] = match proto {
            ethertype::IP => &[nlpid::IP],
            ethertype::IPV6 => &[nlpid::IPV6],
            // OSI's protocols have no number in common.
            sap::ISO => &[nlpid::CLNP, nlpid::ESIS, nlpid::ISIS],
            _ => &[],
        };
        let tests: Vec<TreeId> =
            ids.iter().map(|&id| self.eq(Rel::LinkHdr, 2, Size::B2, 0x0300 | id)).collect();
        self.any(&tests)
    }
}
