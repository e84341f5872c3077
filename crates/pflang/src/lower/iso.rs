//! The OSI protocols: CLNP, ES-IS, and IS-IS with its kinds of packet.

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::sap;
use crate::ir::Size;
use crate::syntax::ast::{Proto, RelOp};
use wire::LinkType;

/// Network-layer protocol identifiers (ISO/IEC TR 9577).
const CLNP: u32 = 0x81;
const ESIS: u32 = 0x82;
const ISIS: u32 = 0x83;

/// IS-IS packet types (ISO/IEC 10589).
const L1_HELLO: u32 = 15;
const L2_HELLO: u32 = 16;
const PTP_HELLO: u32 = 17;
const L1_LSP: u32 = 18;
const L2_LSP: u32 = 20;
const L1_CSNP: u32 = 24;
const L2_CSNP: u32 = 25;
const L1_PSNP: u32 = 26;
const L2_PSNP: u32 = 27;

/// Names for `iso proto NAME`.
pub(crate) fn protocol(name: &str) -> Option<u32> {
    match name {
        "clnp" => Some(CLNP),
        "esis" => Some(ESIS),
        "isis" => Some(ISIS),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// `iso`, `clnp`, `esis`, `isis` and IS-IS's kinds. A point-to-point hello belongs to both levels: its
    /// circuit type would tell, and libpcap does not look.
    pub(crate) fn iso_abbreviation(&mut self, proto: Proto) -> Result {
        match proto {
            Proto::Clnp => self.iso_proto(CLNP),
            Proto::Esis => self.iso_proto(ESIS),
            Proto::Isis => self.iso_proto(ISIS),
            Proto::IsisL1 => self.isis_kinds(&[L1_HELLO, PTP_HELLO, L1_LSP, L1_CSNP, L1_PSNP]),
            Proto::IsisL2 => self.isis_kinds(&[L2_HELLO, PTP_HELLO, L2_LSP, L2_CSNP, L2_PSNP]),
            Proto::IsisIih => self.isis_kinds(&[L1_HELLO, L2_HELLO, PTP_HELLO]),
            Proto::IsisLsp => self.isis_kinds(&[L1_LSP, L2_LSP]),
            Proto::IsisSnp => self.isis_kinds(&[L1_CSNP, L2_CSNP, L1_PSNP, L2_PSNP]),
            Proto::IsisCsnp => self.isis_kinds(&[L1_CSNP, L2_CSNP]),
            Proto::IsisPsnp => self.isis_kinds(&[L1_PSNP, L2_PSNP]),
            _ => self.linktype(sap::ISO),
        }
    }

    fn isis_kinds(&mut self, kinds: &[u32]) -> Result {
        let tests = kinds.iter().map(|&kind| self.isis_proto(kind)).collect::<Result<Vec<_>>>()?;
        Ok(self.any(&tests))
    }

    /// `iso proto N`: a network-layer protocol identifier.
    pub(crate) fn iso_proto(&mut self, number: u32) -> Result {
        match self.layers.linktype {
            // Frame relay's own identifier says it all, behind an unnumbered-information octet.
            LinkType::FRELAY => Ok(self.eq(Rel::LinkHdr, 2, Size::B2, 0x03 << 8 | number)),
            // Cisco doubles the access point into an Ethernet type, and adds a byte in front of the header.
            LinkType::C_HDLC | LinkType::HDLC => {
                let link = self.linktype(sap::ISO << 8 | sap::ISO)?;
                let same = self.eq(Rel::NetNoSnap, 1, Size::B1, number);
                Ok(self.and(link, same))
            }
            _ => {
                let link = self.linktype(sap::ISO)?;
                let same = self.eq(Rel::NetNoSnap, 0, Size::B1, number);
                Ok(self.and(link, same))
            }
        }
    }

    /// `isis proto N`: a packet type.
    pub(crate) fn isis_proto(&mut self, number: u32) -> Result {
        let isis = self.iso_proto(ISIS)?;
        let same = self.compare(Rel::NetNoSnap, 4, Size::B1, RelOp::Eq, number);
        Ok(self.and(isis, same))
    }
}
