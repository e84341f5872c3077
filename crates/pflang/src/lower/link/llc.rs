//! Link layers whose packets always have an 802.2 LLC header: FDDI, token ring, 802.11, ATM, IP over Fibre Channel.
//!
//! ```text
//! 0     1     2        3                   6      8
//! DSAP  SSAP  control  [ organisation code, type  ]     the brackets: SNAP, where DSAP and SSAP are AA
//! ```

use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::lower::layers::Rel;
use crate::lower::lowerer::Lowerer;
use crate::lower::numbers::{MAX_LENGTH, ethertype, sap};

/// The control field of an unnumbered information frame.
const UNNUMBERED_INFORMATION: u32 = 0x03;

impl Lowerer<'_> {
    /// The LLC header says `proto`.
    pub(super) fn llc_linktype(&mut self, proto: u32) -> TreeId {
        match proto {
            sap::IP | sap::ISO | sap::NETBEUI => self.both_saps(proto),
            ethertype::ATALK => self.snap(0x08_0007, proto),
            ..=MAX_LENGTH => self.eq(Rel::Llc, 0, Size::B1, proto),
            // Only the place of SNAP's type is looked at, not whether there is SNAP.
            _ => self.eq(Rel::Llc, 6, Size::B2, proto),
        }
    }

    /// Source and destination are this service access point.
    pub(super) fn both_saps(&mut self, sap: u32) -> TreeId {
        self.eq(Rel::Llc, 0, Size::B2, sap << 8 | sap)
    }

    /// A SNAP header with this organisation code and protocol.
    pub(super) fn snap(&mut self, organisation: u32, proto: u32) -> TreeId {
        let snap = sap::SNAP << 24 | sap::SNAP << 16 | UNNUMBERED_INFORMATION << 8 | organisation >> 16;
        let rest = organisation << 16 | proto;
        let mut header = [0; 8];
        header[..4].copy_from_slice(&snap.to_be_bytes());
        header[4..].copy_from_slice(&rest.to_be_bytes());
        self.bytes(Rel::Llc, 0, &header)
    }
}
