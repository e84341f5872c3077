//! Tunnels over UDP: `geneve` (RFC 8926) and the extension `vxlan` (RFC 7348).
//!
//! Both start at a place that depends on the outer IP header: its length over IPv4, 40 bytes over IPv6 or, in the `ipv6`
//! dialect, what its extension headers take besides. Where the inner headers start is therefore a value, chosen by the
//! outer network protocol.
//!
//! COMPAT: libpcap keeps the inner offsets in scratch memory that only a *successful* test writes. What it
//! makes of `geneve or tcp port 80` is undefined where the test fails; here the offsets are computed
//! wherever they are used (`geneve-not-matched`).

use super::Result;
use super::layers::{NOT_SET, Offset, Rel};
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto};
use super::port::Ports;
use crate::diag::Code;
use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size, ValueId};
use crate::syntax::ast::{Dir, RelOp};
use wire::LinkType;

const GENEVE_PORT: u32 = 6081;
const VXLAN_PORT: u32 = 4789;
const NETWORK_ID_MAX: u32 = 0xff_ffff;

/// How many tunnels can be inside each other; libpcap has scratch memory for no more.
const TUNNELS_MAX: u32 = 5;

/// From the start of the UDP header: the tunnel's first byte, and its network identifier.
const FIRST_BYTE: u32 = 8;
const NETWORK_ID: u32 = 12;

/// Bytes of the tunnels' fixed headers, of an Ethernet header, and the place of its type.
const HEADER: u32 = 8;
const ETHERNET: u32 = 14;
const ETHERNET_TYPE: u32 = 12;

/// How a tunnel is recognised.
struct Tunnel {
    port: u32,
    /// Bits of the first byte that say something, and what they have to be.
    mask: u32,
    first: u32,
    network: Option<u32>,
}

impl Lowerer<'_> {
    /// `geneve [vni]`: version 0.
    pub(crate) fn geneve(&mut self, network: Option<u32>) -> Result {
        self.check_number("Geneve network identifier", network, NETWORK_ID_MAX)?;
        let (test, header) = self.tunnel(Tunnel { port: GENEVE_PORT, mask: 0xc0, first: 0, network })?;

        let base = Offset::varying(0, header);
        let first = self.load_at(base, 0, Size::B1);
        let words = self.op_k(BinOp::And, first, 0x3f);
        let options = self.op_k(BinOp::Mul, words, 4);
        let length = self.op_k(BinOp::Add, options, HEADER);
        let inner = self.op(BinOp::Add, length, header);

        // What is inside is an Ethernet frame, or else a bare packet of the type that the tunnel's header gives.
        let protocol = self.load_at(base, 2, Size::B2);
        let is_ethernet = self.is_equal(protocol, ethertype::TEB);
        let outer_type = self.op_k(BinOp::Add, header, 2);
        let inner_type = self.op_k(BinOp::Add, inner, ETHERNET_TYPE);
        let type_field = self.select(is_ethernet, inner_type, outer_type);
        let ethernet = self.op_k(BinOp::Mul, is_ethernet, ETHERNET);
        let payload = self.op(BinOp::Add, inner, ethernet);

        self.layers.push_link(LinkType::EN10MB, Offset::varying(0, inner));
        self.layers.type_field = Offset::varying(0, type_field);
        self.layers.payload = Offset::varying(0, payload);
        self.layers.net = 0;
        self.layers.is_geneve = true;
        let found = self.eval(type_field);
        Ok(self.and(test, found))
    }

    /// `vxlan [vni]`: always an Ethernet frame.
    pub(crate) fn vxlan(&mut self, network: Option<u32>) -> Result {
        if self.options.dialect.strict {
            return Err(self.error(Code::Strict, "`vxlan` is an extension: libpcap 1.10 does not know it"));
        }
        self.check_number("VXLAN network identifier", network, NETWORK_ID_MAX)?;
        let (test, header) = self.tunnel(Tunnel { port: VXLAN_PORT, mask: 0x08, first: 0x08, network })?;
        let frame = Offset::varying(HEADER, header);
        self.layers.push_link(LinkType::EN10MB, frame);
        self.layers.type_field = frame.plus(ETHERNET_TYPE);
        self.layers.payload = frame.plus(ETHERNET);
        self.layers.net = 0;
        self.layers.net_nosnap = 3;
        // A frame begins, with a type field of its own, whatever labels stand in front of the tunnel.
        self.layers.mpls_depth = 0;
        Ok(test)
    }

    /// Each tunnel's place depends on the one around it, and every test inside on all of them.
    fn check_depth(&mut self) -> Result<()> {
        if self.layers.tunnel_depth == TUNNELS_MAX {
            let mut error =
                self.error(Code::Limit, format!("more than {TUNNELS_MAX} tunnels inside each other"));
            error.help = Some("libpcap's limit is the same, or lower".into());
            return Err(error);
        }
        self.layers.tunnel_depth += 1;
        Ok(())
    }

    /// The test for a tunnel, and the offset of its header from the start of the packet.
    fn tunnel(&mut self, tunnel: Tunnel) -> Result<(TreeId, ValueId)> {
        self.check_depth()?;
        let udp = Some(ipproto::UDP);
        let ports = Ports::One(tunnel.port);
        let port = self.ports4(ports, udp, Some(Dir::Dst))?;
        let udp4 = self.place(Rel::Ip4Payload);
        let is_tunnel = self.tunnel_header(udp4, &tunnel);
        let ip4_length = self.ip4_varying();
        let four = self.and(port, is_tunnel);

        let six = if self.options.dialect.ipv6 {
            self.tunnel6_walked(&tunnel)?
        } else {
            let port = self.ports6_direct(ports, udp, Some(Dir::Dst))?;
            let udp6 = self.place(Rel::Ip6Payload);
            let is_tunnel = self.tunnel_header(udp6, &tunnel);
            self.and(port, is_tunnel)
        };

        let net = self.place(Rel::Net);
        let length = if self.layers.payload.constant == NOT_SET {
            // The test over IPv4 reads at a place that is inside no packet.
            self.ip6_length(ipproto::UDP, None)
        } else {
            let is_ip4 = self.is_outer_ip4(four)?;
            let ip6_length = self.ip6_length(ipproto::UDP, Some(is_ip4));
            self.select(is_ip4, ip4_length, ip6_length)
        };
        let header = self.op_k(BinOp::Add, length, net.constant.wrapping_add(FIRST_BYTE));
        Ok((self.or(four, six), header))
    }

    /// The same over IPv6, behind any extension headers.
    fn tunnel6_walked(&mut self, tunnel: &Tunnel) -> Result {
        self.walk_ip6(|this, header| {
            let is_udp = this.relation_k(RelOp::Eq, header.number, ipproto::UDP);
            let net = this.place(Rel::Net);
            let udp = this.beside(net, header.at);
            let port = this.load_at(udp, 2, Size::B2);
            let port = this.relation_k(RelOp::Eq, port, tunnel.port);
            let is_tunnel = this.tunnel_header(udp, tunnel);
            Ok(this.all(&[is_udp, port, is_tunnel]))
        })
    }

    /// From the fixed part of the network header's place to the header `wanted`, over IPv6; anything where `is_ip4` is 1.
    pub(super) fn ip6_length(&mut self, wanted: u32, is_ip4: Option<ValueId>) -> ValueId {
        let length = if self.options.dialect.ipv6 {
            let is_ip6 = match is_ip4 {
                Some(is_ip4) => self.op_k(BinOp::Xor, is_ip4, 1),
                None => self.constant(1),
            };
            self.ip6_header_found(wanted, is_ip6)
        } else {
            self.constant(40)
        };
        match self.variable(self.layers.payload) {
            Some(varying) => self.op(BinOp::Add, varying, length),
            None => length,
        }
    }

    /// Whether the way through `four`, the test over IPv4, was taken: the link layer tells, and its field has been
    /// read whichever way was taken. Where it cannot tell IPv4 from IPv6 (Juniper's), all of `four` must be asked.
    pub(super) fn is_outer_ip4(&mut self, four: TreeId) -> Result<ValueId> {
        let (ip4, ip6) = (self.linktype(ethertype::IP)?, self.linktype(ethertype::IPV6)?);
        let tells = self.tree.node(ip4) != self.tree.node(ip6);
        Ok(match self.tags() {
            Some(tags) => self.tagged_is_ip4(&tags),
            None if tells => self.as_number(ip4),
            None => self.as_number_where_reached(four),
        })
    }

    /// The test of the header behind a UDP header.
    fn tunnel_header(&mut self, udp: Offset, tunnel: &Tunnel) -> TreeId {
        let first = self.load_at(udp, FIRST_BYTE, Size::B1);
        let bits = self.op_k(BinOp::And, first, tunnel.mask);
        let first = self.relation_k(RelOp::Eq, bits, tunnel.first);
        match tunnel.network {
            None => first,
            Some(network) => {
                let word = self.load_at(udp, NETWORK_ID, Size::B4);
                let id = self.op_k(BinOp::And, word, 0xffff_ff00);
                let same = self.relation_k(RelOp::Eq, id, network << 8);
                self.and(first, same)
            }
        }
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
