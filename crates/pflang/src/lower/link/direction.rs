//! `inbound`, `outbound` and `ifindex`: the link types whose headers tell.
//!
//! Elsewhere only a live capture knows, from the kernel's metadata.

use super::table::{Carries, link};
use crate::diag::{Code, Diagnostic};
use crate::ir::Size;
use crate::lower::Result;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::syntax::ast::RelOp;
use wire::LinkType;

/// `PACKET_OUTGOING` of packet(7).
const COOKED_OUTGOING: u32 = 4;

/// Which way a packet went, seen from where it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Inbound,
    Outbound,
}

impl Lowerer<'_> {
    /// `inbound`, `outbound`.
    pub(crate) fn direction(&mut self, direction: Direction) -> Result {
        let outbound = direction == Direction::Outbound;
        let pick = |inbound_value, outbound_value| if outbound { outbound_value } else { inbound_value };
        let unless_inbound = if outbound { RelOp::Eq } else { RelOp::Ne };
        Ok(match self.layers.linktype {
            LinkType::SLIP => {
                let is_zero = self.eq(Rel::LinkHdr, 0, Size::B1, 0);
                if outbound { self.not(is_zero) } else { is_zero }
            }
            LinkType::IPNET => self.eq(Rel::LinkHdr, 2, Size::B2, pick(2, 1)),
            LinkType::LINUX_SLL => self.compare(Rel::LinkHdr, 0, Size::B2, unless_inbound, COOKED_OUTGOING),
            LinkType::LINUX_SLL2 => self.compare(Rel::LinkHdr, 10, Size::B1, unless_inbound, COOKED_OUTGOING),
            LinkType::PFLOG => self.eq(Rel::LinkHdr, 60, Size::B1, pick(1, 2)),
            LinkType::PPP_PPPD => self.eq(Rel::LinkHdr, 0, Size::B1, pick(0, 1)),
            linktype if is_juniper(linktype) => {
                self.compare_masked(Rel::LinkHdr, 3, Size::B1, 1, RelOp::Eq, pick(1, 0))
            }
            _ => return Err(self.live_only(if outbound { "`outbound`" } else { "`inbound`" })),
        })
    }

    /// `ifindex`.
    pub(crate) fn ifindex(&mut self, index: u32) -> Result {
        match self.layers.linktype {
            LinkType::LINUX_SLL2 => Ok(self.eq(Rel::LinkHdr, 4, Size::B4, index)),
            _ => Err(self.live_only("`ifindex`")),
        }
    }

    fn live_only(&self, what: &str) -> Box<Diagnostic> {
        let linktype = self.layers.linktype;
        let message = format!("{what} needs a live capture: packets of link type {linktype} do not tell");
        let help = "capture with link type LINUX_SLL2 (`tcpdump -i any`), whose headers do";
        Box::new(self.error(Code::LiveOnly, message).help(help))
    }
}

/// Juniper's headers all have their flags behind the magic number.
fn is_juniper(linktype: LinkType) -> bool {
    matches!(link(linktype).carries, Carries::Magic { .. }) && linktype != LinkType::BACNET_MS_TP
}
