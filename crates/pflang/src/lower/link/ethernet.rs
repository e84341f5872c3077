//! Ethernet, and Linux's cooked capture, which says the same with other numbers.
//!
//! ```text
//! Ethernet II        type (above 1500), payload
//! 802.3 + 802.2      length (up to 1500), LLC header, payload
//! 802.3 + SNAP       length, LLC header AA-AA-03, organisation code, type, payload
//! 802.3 "raw"        length, IPX packet that starts with FF-FF
//! ```
//! Cooked captures have types 4 for 802.2 and 1 for raw 802.3 where Ethernet has a length (packet(7)).

use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::{MAX_LENGTH, ethertype, sap};
use crate::syntax::ast::RelOp;

/// `ETH_P_802_3` of Linux: IPX without an LLC header.
const COOKED_802_3: u32 = 1;
/// `ETH_P_802_2` of Linux: an LLC header follows.
const COOKED_802_2: u32 = 4;

impl Lowerer<'_> {
    pub(in crate::lower) fn ethernet_linktype(&mut self, proto: u32) -> TreeId {
        // Geneve says what it carries even where it carries no Ethernet header.
        let guard = if self.layers.is_geneve { None } else { self.prev_link_check() };
        let carried = self.ether_type_or_llc(proto);
        self.behind(guard, carried)
    }

    fn ether_type_or_llc(&mut self, proto: u32) -> TreeId {
        match proto {
            sap::ISO | sap::IP | sap::NETBEUI => {
                let length = self.is_802_3();
                let saps = self.both_saps(proto);
                self.and(length, saps)
            }
            sap::IPX => {
                let ether_ii = self.ether_type(ethertype::IPX);
                let length = self.is_802_3();
                let snap = self.snap(0x00_0000, ethertype::IPX);
                let dsap = self.eq(Rel::Llc, 0, Size::B1, sap::IPX);
                let raw = self.eq(Rel::Llc, 0, Size::B2, 0xffff);
                let ipx = self.any(&[snap, dsap, raw]);
                let llc = self.and(length, ipx);
                self.or(ether_ii, llc)
            }
            ethertype::ATALK | ethertype::AARP => {
                let ether_ii = self.ether_type(proto);
                let length = self.is_802_3();
                let snap = self.apple_snap(proto);
                let llc = self.and(length, snap);
                self.or(ether_ii, llc)
            }
            ..=MAX_LENGTH => {
                let length = self.is_802_3();
                let dsap = self.eq(Rel::LinkType, 2, Size::B1, proto);
                self.and(length, dsap)
            }
            _ => self.ether_type(proto),
        }
    }

    pub(super) fn cooked_linktype(&mut self, proto: u32) -> TreeId {
        match proto {
            sap::ISO | sap::IP | sap::NETBEUI => {
                let is_llc = self.ether_type(COOKED_802_2);
                let saps = self.both_saps(proto);
                self.and(is_llc, saps)
            }
            sap::IPX => {
                let ether_ii = self.ether_type(ethertype::IPX);
                let raw = self.ether_type(COOKED_802_3);
                let is_llc = self.ether_type(COOKED_802_2);
                let dsap = self.eq(Rel::Llc, 0, Size::B1, sap::IPX);
                let snap = self.snap(0x00_0000, ethertype::IPX);
                let ipx = self.or(dsap, snap);
                let llc = self.and(is_llc, ipx);
                self.any(&[ether_ii, raw, llc])
            }
            ethertype::ATALK | ethertype::AARP => {
                let ether_ii = self.ether_type(proto);
                let is_llc = self.ether_type(COOKED_802_2);
                let snap = self.apple_snap(proto);
                let llc = self.and(is_llc, snap);
                self.or(ether_ii, llc)
            }
            ..=MAX_LENGTH => {
                let is_llc = self.ether_type(COOKED_802_2);
                let dsap = self.eq(Rel::LinkHdr, self.layers.payload.constant, Size::B1, proto);
                self.and(is_llc, dsap)
            }
            _ => self.ether_type(proto),
        }
    }

    fn ether_type(&mut self, proto: u32) -> TreeId {
        self.eq(Rel::LinkType, 0, Size::B2, proto)
    }

    /// The type field is a length: an LLC header follows, or raw IPX.
    pub(crate) fn is_802_3(&mut self) -> TreeId {
        self.compare(Rel::LinkType, 0, Size::B2, RelOp::Le, MAX_LENGTH)
    }

    /// AppleTalk and its address resolution in SNAP: the one with Apple's organisation code, the other without.
    fn apple_snap(&mut self, proto: u32) -> TreeId {
        let organisation = if proto == ethertype::ATALK { 0x08_0007 } else { 0x00_0000 };
        self.snap(organisation, proto)
    }
}
