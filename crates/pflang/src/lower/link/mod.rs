//! Link types: where their headers are, and how they say what they carry.
//!
//! [`table`] says which family a link type belongs to and where its fields are; each family that needs more than
//! a line here has a file. Every link type that is not in the table allows what needs no knowledge of headers:
//! raw loads, lengths and constants.

mod arcnet;
mod direction;
mod ethernet;
mod family;
mod frelay;
mod llc;
mod ppp;
pub(super) mod table;
mod wireless;

use super::Result;
use super::layers::{Layers, Offset, Rel};
use super::lowerer::Lowerer;
use super::numbers::ethertype;
use crate::diag::Diagnostic;
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::syntax::ast::RelOp;
pub(crate) use direction::Direction;
pub(super) use ppp::ppp_equivalent;
use table::{Carries, Radio};
use wire::LinkType;

impl Lowerer<'_> {
    /// Sets `layers` (and `early`) for a packet that starts with a header of type `self.outermost`.
    pub(crate) fn outermost_link(&mut self) -> Result<()> {
        let linktype = self.outermost;
        // COMPAT: libpcap compiles nothing for these, not even `len` or the empty filter.
        if self.options.dialect.strict && !table::is_known(linktype) {
            return Err(self.linktype_error("filtering"));
        }
        let link = table::link(linktype);
        self.layers = Layers {
            linkhdr: Offset::fixed(link.header),
            prev_linkhdr: Offset::fixed(link.header),
            type_field: Offset::fixed(link.type_field),
            payload: Offset::fixed(link.payload),
            net: link.net,
            net_nosnap: link.net_nosnap,
            ..Layers::bare(linktype)
        };
        match link.carries {
            Carries::Wlan(radio) => self.wlan_layers(radio),
            Carries::Pflog => self.pflog_layers(),
            Carries::Ethernet if self.options.dialect.tagged => self.look_behind_tags(),
            _ => {}
        }
        Ok(())
    }

    /// The link layer carries `proto`: an Ethernet type, or, up to
    /// [`MAX_LENGTH`](super::numbers::MAX_LENGTH), an LLC service access point.
    pub(crate) fn linktype(&mut self, proto: u32) -> Result {
        if self.layers.mpls_depth > 0 {
            return self.mpls_linktype(proto);
        }
        if let Some(tags) = self.tags() {
            return self.tagged_linktype(proto, &tags);
        }
        Ok(match table::link(self.layers.linktype).carries {
            Carries::Ethernet => self.ethernet_linktype(proto),
            Carries::Cooked => self.cooked_linktype(proto),
            Carries::EtherType => self.eq(Rel::LinkType, 0, Size::B2, proto),
            Carries::Llc => self.llc_linktype(proto),
            Carries::Wlan(_) => {
                let data = self.wlan_data_frame();
                let carried = self.llc_linktype(proto);
                self.and(data, carried)
            }
            Carries::SunAtm => {
                let llc = self.atm_llc();
                let carried = self.llc_linktype(proto);
                self.and(llc, carried)
            }
            Carries::Ppp => self.ppp_linktype(proto),
            Carries::PppBsdos => self.ppp_bsdos_linktype(proto),
            Carries::Hdlc => self.hdlc_linktype(proto),
            Carries::VersionNibble => match proto {
                ethertype::IP => self.compare_masked(Rel::LinkHdr, 0, Size::B1, 0xf0, RelOp::Eq, 0x40),
                ethertype::IPV6 => self.compare_masked(Rel::LinkHdr, 0, Size::B1, 0xf0, RelOp::Eq, 0x60),
                _ => self.truth(false),
            },
            Carries::Only(always) => self.truth(proto == always),
            Carries::FamilyHostOrder => self.bsd_family(proto, u32::to_be),
            Carries::FamilyNetworkOrder => self.bsd_family(proto, |family| family),
            Carries::Ipnet => self.solaris_family(proto),
            Carries::Pflog => self.pflog_family(proto),
            Carries::Arcnet => self.arcnet_linktype(proto),
            Carries::FrameRelay => self.frelay_linktype(proto),
            Carries::Magic { value, mask } => {
                self.compare_masked(Rel::LinkHdr, 0, Size::B4, mask, RelOp::Eq, value)
            }
            Carries::Nothing => return Err(self.linktype_error("a protocol, host or port")),
        })
    }

    /// What must hold besides for an address of the innermost link layer to be looked at, if anything.
    ///
    /// Ethernet in ATM LAN emulation: the frame must carry data, not LANE control messages. In Geneve: there must
    /// be an Ethernet header at all.
    pub(crate) fn prev_link_check(&mut self) -> Option<TreeId> {
        if self.layers.is_geneve {
            return Some(self.geneve_link_check());
        }
        if self.layers.prev_linktype != LinkType::SUNATM {
            return None;
        }
        Some(self.compare(Rel::PrevLinkHdr, 4, Size::B2, RelOp::Ne, 0xff00))
    }

    /// The whole program: `root` behind the values of `early` that it uses, and what is asked of every packet.
    pub(crate) fn prelude(&mut self, root: TreeId) -> TreeId {
        let mut program = root;
        for (value, is_used) in self.early.clone().into_iter().rev() {
            if is_used {
                let computed = self.eval(value);
                program = self.and(computed, program);
            }
        }
        match self.carried_check() {
            Some(check) => self.and(check, program),
            None => program,
        }
    }

    /// PPI's check that what follows is 802.11.
    pub(crate) fn carried_check(&mut self) -> Option<TreeId> {
        if self.layers.linktype != LinkType::PPI {
            return None;
        }
        // The field is little-endian.
        let wlan = LinkType::IEEE802_11.to_dlt().swap_bytes();
        Some(self.eq(Rel::Packet, 4, Size::B4, wlan))
    }

    /// `what` is not possible here, but is on the link types `places`.
    pub(super) fn elsewhere(&self, what: &str, places: &str) -> Box<Diagnostic> {
        let error = self.linktype_error(what);
        Box::new(error.help(format!("it is for link type {places}")))
    }
}

/// Whether packets of this link type are 802.11 frames, whatever stands before them.
pub(crate) fn is_wlan(linktype: LinkType) -> bool {
    matches!(table::link(linktype).carries, Carries::Wlan(_))
}

/// Whether headers behind the link layer are at places that are the same in all packets of a link type, and what is carried is told by one field.
pub(crate) fn is_plain(linktype: LinkType) -> bool {
    use Carries::{Cooked, EtherType, Ethernet, FamilyHostOrder, FamilyNetworkOrder, Only, VersionNibble};
    matches!(
        table::link(linktype.canonical()).carries,
        Ethernet | Cooked | EtherType | VersionNibble | FamilyHostOrder | FamilyNetworkOrder | Only(_)
    )
}

/// Whether packets of a link type say what they carry. Where they do not (Juniper's, BACnet's), `ip` and `ip6` are the same test,
/// and look at different bytes of the same packets.
pub(crate) fn tells_protocols(linktype: LinkType) -> bool {
    !matches!(table::link(linktype.canonical()).carries, Carries::Magic { .. })
}
