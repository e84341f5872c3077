//! Link types: where their headers are, and how they say what they carry.

use super::Result;
use super::lowerer::{Layers, Lowerer, Offset, Rel};
use super::numbers::MAX_LENGTH;
use super::tree::TreeId;
use crate::ir::Size;
use crate::syntax::ast::{AtmField, AtmType, Dir, Llc, Mtp2Type, Mtp3Field, Pf, RelOp, Wlan};
use wire::LinkType;

impl Lowerer<'_> {
    /// Sets `layers` (and `early`) for a packet that starts with a header of type `self.outermost`.
    pub(crate) fn outermost_link(&mut self) -> Result<()> {
        if self.outermost != LinkType::EN10MB {
            return Err(self.linktype_error("filtering"));
        }
        self.layers = Layers {
            type_field: Offset::fixed(12),
            payload: Offset::fixed(14),
            net: 0,
            net_nosnap: 3,
            ..Layers::bare(self.outermost)
        };
        Ok(())
    }

    /// The link layer carries `proto`: an Ethernet type, or, up to [`MAX_LENGTH`], an LLC service access point.
    /// (libpcap: `gen_linktype`; starts with `mpls_linktype` where labels came before.)
    pub(crate) fn linktype(&mut self, proto: u32) -> Result {
        if proto <= MAX_LENGTH {
            return Err(self.linktype_error("an LLC protocol"));
        }
        Ok(self.eq(Rel::LinkType, 0, Size::B2, proto))
    }

    /// What must hold besides for an address of the innermost link layer to be looked at, if anything.
    /// (libpcap: `gen_prevlinkhdr_check`; calls `geneve_link_check` where `is_geneve`.)
    pub(crate) fn prev_link_check(&mut self) -> Option<TreeId> {
        None
    }

    /// The whole program: `root` behind the values of `early` that it uses, and PPI's check.
    /// (libpcap: `insert_compute_vloffsets`, `gen_ppi_dlt_check`.)
    pub(crate) fn prelude(&mut self, root: TreeId) -> TreeId {
        root
    }

    /// `inbound`, `outbound`.
    pub(crate) fn direction(&mut self, outbound: bool) -> Result {
        Err(self.linktype_error(if outbound { "`outbound`" } else { "`inbound`" }))
    }

    /// `ifindex`.
    pub(crate) fn ifindex(&mut self, _index: u32) -> Result {
        Err(self.linktype_error("`ifindex`"))
    }

    /// An 802.11 address. (libpcap: `gen_wlanhostop`.) Called on 802.11 link types only.
    pub(crate) fn wlan_host(&mut self, _address: [u8; 6], _dir: Option<Dir>) -> Result {
        Err(self.linktype_error("an 802.11 address"))
    }

    /// A multicast destination in an 802.11 frame. (libpcap: the 802.11 part of `gen_multicast`.)
    pub(crate) fn wlan_multicast(&mut self) -> Result {
        Err(self.linktype_error("`multicast`"))
    }

    /// `type`, `subtype`, `dir` of 802.11.
    pub(crate) fn wlan(&mut self, _wlan: Wlan) -> Result {
        Err(self.linktype_error("an 802.11 primitive"))
    }

    /// `llc` and its types.
    pub(crate) fn llc(&mut self, _llc: Llc) -> Result {
        Err(self.linktype_error("`llc`"))
    }

    /// pf(4) primitives.
    pub(crate) fn pf(&mut self, _pf: &Pf) -> Result {
        Err(self.linktype_error("a pf(4) primitive"))
    }

    /// ATM words.
    pub(crate) fn atm_type(&mut self, _word: AtmType) -> Result {
        Err(self.linktype_error("an ATM primitive"))
    }

    /// ATM numbers.
    pub(crate) fn atm_field(&mut self, _field: AtmField, _op: RelOp, _k: u32) -> Result {
        Err(self.linktype_error("an ATM primitive"))
    }

    /// SS7 signal units.
    pub(crate) fn mtp2(&mut self, _word: Mtp2Type) -> Result {
        Err(self.linktype_error("an SS7 primitive"))
    }

    /// SS7 routing labels.
    pub(crate) fn mtp3_field(&mut self, _field: Mtp3Field, _op: RelOp, _k: u32) -> Result {
        Err(self.linktype_error("an SS7 primitive"))
    }
}
