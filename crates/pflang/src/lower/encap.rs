//! Encapsulation words: `vlan`, `mpls`, `pppoed`, `pppoes`. Each tests for its header and moves
//! [`Layers`](super::lowerer::Layers) past it, for every primitive that follows.

use super::Result;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ppp};
use crate::diag::Code;
use crate::ir::Size;
use crate::syntax::ast::RelOp;
use wire::LinkType;

pub(super) const VLAN_MAX: u32 = 0xfff;
pub(super) const LABEL_MAX: u32 = 0xf_ffff;
pub(super) const SESSION_MAX: u32 = 0xffff;

/// Bytes of a VLAN tag, of an MPLS label, of the PPPoE header, of PPP's protocol field.
const TAG: u32 = 4;
const LABEL: u32 = 4;
const PPPOE: u32 = 6;
const PPP_PROTOCOL: u32 = 2;

impl Lowerer<'_> {
    /// `vlan [id]`: any of the three tags in use.
    pub(crate) fn vlan(&mut self, ids: &[(u32, u32)]) -> Result {
        if let Some(tags) = self.tags() {
            return self.tagged_vlan(ids, &tags);
        }
        if self.layers.mpls_depth > 0 {
            return Err(self.error(Code::Encapsulation, "`vlan` cannot be told inside MPLS"));
        }
        match self.layers.linktype {
            LinkType::EN10MB
            | LinkType::NETANALYZER
            | LinkType::NETANALYZER_TRANSPARENT
            | LinkType::IEEE802_11
            | LinkType::PRISM_HEADER
            | LinkType::IEEE802_11_RADIO_AVS
            | LinkType::IEEE802_11_RADIO => {}
            _ => return Err(self.no_vlan()),
        }
        for &(_, high) in ids {
            self.check_number("VLAN id", Some(high), VLAN_MAX)?;
        }
        let tags = [ethertype::VLAN, ethertype::VLAN_AD, ethertype::VLAN_QINQ];
        let tags = tags.into_iter().map(|tag| self.linktype(tag)).collect::<Result<Vec<_>>>()?;
        let mut test = self.any(&tags);
        if !ids.is_empty() {
            let among = ids.iter().map(|&(low, high)| self.vlan_within(low, high)).collect::<Vec<_>>();
            let among = self.any(&among);
            test = self.and(test, among);
        }
        self.layers.payload = self.layers.payload.plus(TAG);
        self.layers.type_field = self.layers.type_field.plus(TAG);
        self.layers.vlan_depth += 1;
        Ok(test)
    }

    fn vlan_within(&mut self, low: u32, high: u32) -> crate::ir::tree::TreeId {
        let mut compare = |op, id| self.compare_masked(Rel::Net, 0, Size::B2, VLAN_MAX, op, id);
        if low == high {
            return compare(RelOp::Eq, low);
        }
        let (from, to) = (compare(RelOp::Ge, low), compare(RelOp::Le, high));
        self.and(from, to)
    }

    /// `mpls [label]`: the first one by the link layer's type, further ones by the bottom-of-stack bit of the one
    /// before.
    pub(crate) fn mpls(&mut self, label: Option<u32>) -> Result {
        if let Some(tags) = self.tags() {
            return self.tagged_mpls(label, &tags);
        }
        self.check_number("MPLS label", label, LABEL_MAX)?;
        let mut test = match self.layers.linktype {
            _ if self.layers.mpls_depth > 0 => {
                self.compare_masked(Rel::PrevMpls, 2, Size::B1, 0x01, RelOp::Eq, 0)
            }
            LinkType::C_HDLC
            | LinkType::HDLC
            | LinkType::EN10MB
            | LinkType::NETANALYZER
            | LinkType::NETANALYZER_TRANSPARENT => self.linktype(ethertype::MPLS)?,
            LinkType::PPP => self.linktype(ppp::MPLS)?,
            _ => return Err(self.no_mpls()),
        };
        if let Some(label) = label {
            let same = self.compare_masked(Rel::Net, 0, Size::B4, 0xffff_f000, RelOp::Eq, label << 12);
            test = self.and(test, same);
        }
        self.layers.net = self.layers.net.wrapping_add(LABEL);
        self.layers.net_nosnap = self.layers.net_nosnap.wrapping_add(LABEL);
        self.layers.mpls_depth += 1;
        Ok(test)
    }

    /// The payload of a label stack. MPLS has no type field: the version nibble behind the label at the bottom of
    /// the stack decides, and only IP can be recognised.
    pub(crate) fn mpls_linktype(&mut self, proto: u32) -> Result {
        let version = match proto {
            ethertype::IP => 0x40,
            ethertype::IPV6 => 0x60,
            _ => return Err(self.error(Code::Encapsulation, "only IPv4 and IPv6 can be told inside MPLS")),
        };
        let bottom = self.compare_masked(Rel::PrevMpls, 2, Size::B1, 0x01, RelOp::Eq, 0x01);
        let nibble = self.compare_masked(Rel::Net, 0, Size::B1, 0xf0, RelOp::Eq, version);
        Ok(self.and(bottom, nibble))
    }

    /// `pppoed`: discovery carries nothing.
    pub(crate) fn pppoed(&mut self) -> Result {
        self.linktype(ethertype::PPPOED)
    }

    /// `pppoes [session]`: PPP, without HDLC framing, behind the PPPoE header.
    pub(crate) fn pppoes(&mut self, session: Option<u32>) -> Result {
        if let Some(tags) = self.tags() {
            return self.tagged_pppoes(session, &tags);
        }
        self.check_number("PPPoE session", session, SESSION_MAX)?;
        let mut test = self.linktype(ethertype::PPPOES)?;
        if let Some(session) = session {
            let same = self.compare_masked(Rel::Net, 0, Size::B4, SESSION_MAX, RelOp::Eq, session);
            test = self.and(test, same);
        }
        let ppp = self.layers.payload.plus(self.layers.net).plus(PPPOE);
        self.layers.push_link(LinkType::PPP, ppp);
        self.layers.type_field = ppp;
        self.layers.payload.constant = ppp.constant.wrapping_add(PPP_PROTOCOL);
        self.layers.net = 0;
        self.layers.net_nosnap = 0;
        Ok(test)
    }

    pub(crate) fn check_number(&self, what: &str, number: Option<u32>, max: u32) -> Result<()> {
        match number {
            Some(number) if number > max => Err(self.out_of_range(what, number, max)),
            _ => Ok(()),
        }
    }
}
