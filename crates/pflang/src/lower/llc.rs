//! `llc` and its frame types (IEEE 802.2, 5.4): the low bits of the control field tell the format.

use super::Result;
use super::layers::Rel;
use super::link::is_wlan;
use super::lowerer::Lowerer;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::{Llc, RelOp};
use wire::LinkType;

/// The format bits of the control field: 01 for supervisory frames, 11 for unnumbered ones, and for information
/// frames the last one is 0.
const FORMAT: u32 = 0x03;
/// The bits of the control field that tell the type of a supervisory frame, and of an unnumbered one (all but
/// the poll/final bit).
const SUPERVISORY_TYPE: u32 = 0x0f;
const UNNUMBERED_TYPE: u32 = 0xef;

impl Lowerer<'_> {
    /// `llc` and its types.
    pub(crate) fn llc(&mut self, llc: Llc) -> Result {
        let is_llc = self.llc_frame()?;
        let format = match llc {
            Llc::Any => return Ok(is_llc),
            Llc::Information => {
                let other = self.bits(Rel::Llc, 2, Size::B1, 0x01);
                self.not(other)
            }
            Llc::Supervisory => self.llc_control(FORMAT, 0x01),
            Llc::Unnumbered => self.llc_control(FORMAT, 0x03),
            Llc::SupervisorySub(bits) => self.llc_control(SUPERVISORY_TYPE, bits.into()),
            Llc::UnnumberedSub(bits) => self.llc_control(UNNUMBERED_TYPE, bits.into()),
        };
        Ok(self.and(is_llc, format))
    }

    fn llc_control(&mut self, mask: u32, value: u32) -> TreeId {
        self.compare_masked(Rel::Llc, 2, Size::B1, mask, RelOp::Eq, value)
    }

    /// The frame has an LLC header.
    fn llc_frame(&mut self) -> Result {
        Ok(match self.layers.linktype {
            LinkType::EN10MB => {
                let length = self.is_802_3();
                // Raw IPX starts with this where an LLC header would have two service access points.
                let not_ipx = self.compare(Rel::Llc, 0, Size::B2, RelOp::Ne, 0xffff);
                self.and(length, not_ipx)
            }
            LinkType::SUNATM => self.atm_llc(),
            LinkType::IEEE802 | LinkType::FDDI | LinkType::ATM_RFC1483 => self.truth(true),
            linktype if is_wlan(linktype) => self.wlan_data_frame(),
            _ => {
                let places = "EN10MB, FDDI, IEEE802, ATM_RFC1483, SUNATM or one of 802.11";
                return Err(self.elsewhere("`llc`", places));
            }
        })
    }
}
