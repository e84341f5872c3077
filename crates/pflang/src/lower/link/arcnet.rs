//! ARCNET (RFC 1201, RFC 1051): one byte, the system code, says what is carried. The two RFCs give IP and ARP
//! different codes.

use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::ethertype;

impl Lowerer<'_> {
    pub(super) fn arcnet_linktype(&mut self, proto: u32) -> TreeId {
        let codes: &[u32] = match proto {
            ethertype::IP => &[212, 240],
            ethertype::ARP => &[213, 241],
            ethertype::RARP => &[214],
            ethertype::IPV6 => &[196],
            ethertype::ATALK => &[221],
            _ => &[],
        };
        let tests: Vec<TreeId> =
            codes.iter().map(|&code| self.eq(Rel::LinkType, 0, Size::B1, code)).collect();
        self.any(&tests)
    }
}
