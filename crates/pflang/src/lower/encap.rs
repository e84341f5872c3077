//! Encapsulation words: `vlan`, `mpls`, `pppoed`, `pppoes`, `geneve`, and the extension `vxlan`. Each tests for
//! its header and moves [`Layers`](super::lowerer::Layers) past it, for every primitive that follows.

use super::Result;
use super::lowerer::{Lowerer, Rel};
use super::numbers::ethertype;
use super::tree::TreeId;
use crate::ir::Size;
use crate::syntax::ast::RelOp;

impl Lowerer<'_> {
    /// What a label stack carries. MPLS has no type field: the version nibble behind the label at the bottom of
    /// the stack decides, and nothing but IP can be told.
    pub(crate) fn mpls_linktype(&mut self, proto: u32) -> Result {
        let version = match proto {
            ethertype::IP => 0x40,
            ethertype::IPV6 => 0x60,
            _ => {
                return Err(self
                    .error(crate::diag::Code::Encapsulation, "only IPv4 and IPv6 can be told inside MPLS"));
            }
        };
        let bottom = self.compare_masked(Rel::PrevMpls, 2, Size::B1, 0x01, RelOp::Eq, 0x01);
        let nibble = self.compare_masked(Rel::Net, 0, Size::B1, 0xf0, RelOp::Eq, version);
        Ok(self.and(bottom, nibble))
    }

    /// The Geneve packet carries an Ethernet frame, not a bare network header: then its payload starts later than
    /// its link-layer header.
    pub(crate) fn geneve_link_check(&mut self) -> TreeId {
        let zero = self.constant(0);
        let header = self.variable(self.layers.linkhdr).unwrap_or(zero);
        let payload = self.variable(self.layers.payload).unwrap_or(zero);
        self.relation(RelOp::Ne, header, payload)
    }
}
