//! Where the headers are that primitives speak of.

use crate::ir::ValueId;
use wire::LinkType;

/// "There is no such field on this link type". Offsets are added modulo 2^32, as libpcap does, so a sum with
/// it is an offset that no packet has, or one just before the other addend.
pub(crate) const NOT_SET: u32 = u32::MAX;

/// Where something starts: a constant plus, where headers before it vary in length, a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) constant: u32,
    pub(crate) variable: Option<ValueId>,
}

impl Offset {
    /// A place that is the same in every packet.
    pub(crate) const fn fixed(constant: u32) -> Self {
        Offset { constant, variable: None }
    }

    /// A place that varies from packet to packet.
    pub(crate) const fn varying(constant: u32, variable: ValueId) -> Self {
        Offset { constant, variable: Some(variable) }
    }

    /// `bytes` further on.
    pub(crate) const fn plus(self, bytes: u32) -> Self {
        Offset { constant: self.constant.wrapping_add(bytes), variable: self.variable }
    }
}

/// Where the headers are that primitives speak of. Copied and restored by the `scoped` dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Type of the innermost link-layer header.
    pub(crate) linktype: LinkType,
    /// Start of the innermost link-layer header.
    pub(crate) linkhdr: Offset,
    /// Type of the link-layer header around it; the same as `linktype` where there is none.
    pub(crate) prev_linktype: LinkType,
    /// Start of that one.
    pub(crate) prev_linkhdr: Offset,
    /// The field that says what the link layer carries; the LLC header where the link layer always has one.
    /// Its constant is [`NOT_SET`] where packets do not say.
    pub(crate) type_field: Offset,
    /// Start of what the link layer carries (an LLC header counts as carried).
    pub(crate) payload: Offset,
    /// From `payload` to the network header, past LLC and SNAP where the link layer always has them.
    pub(crate) net: u32,
    /// From `payload` to the network header behind LLC without SNAP.
    pub(crate) net_nosnap: u32,
    /// How many `vlan` came before.
    pub(crate) vlan_depth: u32,
    /// How many `mpls` came before.
    pub(crate) mpls_depth: u32,
    /// How many tunnels came before.
    pub(crate) tunnel_depth: u32,
    /// Whether `geneve` was the last to open a new link layer.
    pub(crate) is_geneve: bool,
    /// Whether tags and labels of this link layer are looked behind: the `tagged` dialect.
    pub(crate) is_tagged: bool,
}

impl Layers {
    /// A link layer that begins with the packet and about which nothing is known.
    pub(crate) fn bare(linktype: LinkType) -> Self {
        Layers {
            linktype,
            linkhdr: Offset::fixed(0),
            prev_linktype: linktype,
            prev_linkhdr: Offset::fixed(0),
            type_field: Offset::fixed(NOT_SET),
            payload: Offset::fixed(NOT_SET),
            net: NOT_SET,
            net_nosnap: NOT_SET,
            vlan_depth: 0,
            mpls_depth: 0,
            tunnel_depth: 0,
            is_geneve: false,
            is_tagged: false,
        }
    }

    /// Opens a link layer inside the present one. The caller then sets `type_field`, `payload`, `net` and
    /// `net_nosnap`.
    pub(crate) fn push_link(&mut self, linktype: LinkType, linkhdr: Offset) {
        self.prev_linktype = self.linktype;
        self.prev_linkhdr = self.linkhdr;
        self.linktype = linktype;
        self.linkhdr = linkhdr;
        self.is_geneve = false;
        self.is_tagged = false;
    }
}

/// What a field's offset is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rel {
    /// The first captured byte.
    Packet,
    /// The innermost link-layer header.
    LinkHdr,
    /// The link-layer header around it.
    PrevLinkHdr,
    /// The payload of the link layer: its LLC header, where there is one.
    Llc,
    /// The MPLS label before the present network header.
    PrevMpls,
    /// The network header.
    Net,
    /// The network header, behind LLC without SNAP.
    NetNoSnap,
    /// The link layer's type field.
    LinkType,
    /// What an IPv4 header carries, past its options.
    Ip4Payload,
    /// What an IPv6 header carries, taking it to have no extension headers.
    Ip6Payload,
}
