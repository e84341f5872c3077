//! PPP and Cisco HDLC: two-byte protocol numbers, each with its own list.

use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::{ethertype, ppp, sap};

impl Lowerer<'_> {
    pub(super) fn ppp_linktype(&mut self, proto: u32) -> TreeId {
        self.eq(Rel::LinkType, 0, Size::B2, ppp_number(proto))
    }

    /// BSD/OS compresses TCP/IP headers after Van Jacobson (RFC 1144): two more numbers for IP.
    pub(super) fn ppp_bsdos_linktype(&mut self, proto: u32) -> TreeId {
        let numbers: &[u32] = match proto {
            ethertype::IP => &[ppp::IP, ppp::VJC, ppp::VJNC],
            _ => &[ppp_number(proto)],
        };
        let tests: Vec<TreeId> =
            numbers.iter().map(|&number| self.eq(Rel::LinkType, 0, Size::B2, number)).collect();
        self.any(&tests)
    }

    /// Cisco's framing has Ethernet types, and FEFE for OSI.
    pub(super) fn hdlc_linktype(&mut self, proto: u32) -> TreeId {
        let number = if proto == sap::ISO { sap::ISO << 8 | sap::ISO } else { proto };
        self.eq(Rel::LinkType, 0, Size::B2, number)
    }
}

/// The PPP protocol number (IANA's list) for an Ethernet type or service access point. One without an equivalent
/// means itself: `mpls` on PPP asks for a PPP number, and so may `ether proto`.
fn ppp_number(proto: u32) -> u32 {
    ppp_equivalent(proto).unwrap_or(proto)
}

/// The same, where there is an equivalent.
pub(in crate::lower) fn ppp_equivalent(proto: u32) -> Option<u32> {
    Some(match proto {
        ethertype::IP => ppp::IP,
        ethertype::IPV6 => ppp::IPV6,
        ethertype::DECNET => ppp::DECNET,
        ethertype::ATALK => ppp::APPLE,
        ethertype::NS => ppp::NS,
        sap::ISO => ppp::OSI,
        sap::STP => ppp::BRPDU,
        sap::IPX => ppp::IPX,
        _ => return None,
    })
}
