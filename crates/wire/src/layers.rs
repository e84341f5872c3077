//! Where a packet's headers, tunnels and payload are, and what its flow is: one walk over all of them.
//!
//! ```text
//!  link  vlan  ipv4  udp  vxlan  link  ipv6  tcp  │ payload
//!   0     14    18    38   46     54    68   108  │ 128..1450
//!              └─ outer ─┘            └─ inner ─┘
//! ```
//!
//! ```
//! use wire::layers::{LayerKind, Layers};
//! use wire::LinkType;
//! let packet = *b"\x45\0\0\x38\0\0\0\0\x40\x2f\0\0\x0a\0\0\x01\x0a\0\0\x02\0\0\x08\0\
//!     \x45\0\0\x20\0\0\0\0\x40\x11\0\0\xc0\0\x02\x01\xc0\0\x02\x02\x14\xe9\0\x35\0\x0c\0\0abcd";
//! let layers = Layers::of(LinkType::RAW, &packet);
//! let kinds: Vec<LayerKind> = layers.iter().map(|layer| layer.kind).collect();
//! assert_eq!(kinds[1..], [LayerKind::Ipv4, LayerKind::Gre, LayerKind::Ipv4, LayerKind::Transport]);
//! assert_eq!(layers.inner().unwrap().ports, Some((5353, 53)));
//! assert_eq!(packet[layers.payload()], *b"abcd");
//! ```
//!
//! The steps of the walk are those of the rest of this crate, and each stands in one place: [`link`] for link headers and
//! tags, [`IpPacket`] for IP and its extension headers, [`Tunnel`] for tunnels. The flow hash and the summary take the same steps.
//!
//! The walk ends at the payload, or before ([`End`] says where): at the end of what was captured; at a fragment, since what is inside
//! the first part of a packet is not all of it, and in later ones no header is; behind [`TUNNELS_MAX`] tunnels or [`LAYERS_MAX`] layers, as a
//! hostile packet may have as many as fit. Sessions of L2TP and pseudowires are not looked into: nothing in the packet says what they
//! carry.
//!
//! PERF: 18 ns for TCP over IPv4 or IPv6, 20 with a VLAN tag, 23 with extension headers, one by one and in bursts alike, over frames with random
//! addresses. No branch depends on what is random; nothing is allocated.

use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

use crate::bytes::{u8_at, u32_at};
use crate::ether::ethertype;
use crate::ip::{Fragment, IpPacket, Ipv4, Ipv6, extension_len, ports, protocol};
use crate::link::{self, Network, Tag};
use crate::linktype::LinkType;
use crate::transport::{Icmp, Tcp, Udp};
use crate::tunnel::{TRANSPARENT_ETHERNET, Tunnel};
use crate::vlan::Vlan;

/// Layers that are noted.
pub const LAYERS_MAX: usize = 20;
/// Tunnels that are looked into.
pub const TUNNELS_MAX: usize = 4;

/// The kind of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// A link header; its number is the link type. Within a tunnel it is Ethernet's. It may be empty, as that of raw IP.
    Link,
    /// A VLAN tag; its number is that of the VLAN.
    Vlan,
    /// An MPLS label; its number is the label.
    Mpls,
    /// A PPPoE session header and the PPP header behind it; its number is the session.
    Pppoe,
    /// A MACsec tag of a frame that is not encrypted.
    Macsec,
    /// IPv4; its number is the protocol that it carries.
    Ipv4,
    /// IPv6 with its extension headers; its number is what it carries behind them.
    Ipv6,
    /// An authentication header behind IPv4; its number is the security parameters index.
    Ah,
    /// GRE; its number is the key, 0 without.
    Gre,
    /// VXLAN; its number is the network.
    Vxlan,
    /// VXLAN that says what it carries; its number is the network.
    VxlanGpe,
    /// Geneve; its number is the network.
    Geneve,
    /// GTP-U; its number is the endpoint.
    Gtpu,
    /// What IP carries, when that is no tunnel, or the UDP header before one; its number is the protocol. It may have no header that is known.
    Transport,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Its kind.
    pub kind: LayerKind,
    /// Where it begins, in bytes from the first of the packet.
    pub off: u16,
    /// A number that its kind explains.
    pub id: u32,
}

/// Who speaks to whom over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Protocol over IP.
    pub protocol: u8,
    /// Source and destination port, where the protocol has such and they were captured. Later fragments lack them.
    pub ports: Option<(u16, u16)>,
    /// The two outermost VLANs that it is in, 0 where there is none: those of its own frame, or of the frame around a tunnel that carries none.
    pub vlans: [u16; 2],
    /// The tunnel that it is in, by network identifier, endpoint or key, where that has one.
    pub tunnel_id: Option<u32>,
}

/// Where the walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// At the payload, or at a protocol that is not looked into.
    #[default]
    Payload,
    /// At a fragment: [`Layers::fragment`] says which.
    Fragment,
    /// At the link header: its type is not known, or it was not captured whole.
    UnknownLink,
    /// Within another header: it was not captured whole, or is wrong.
    Cut,
    /// Before a tunnel or a layer that is one too many.
    Limit,
}

/// Where the headers and the payload of a packet are.
#[derive(Clone, Copy)]
pub struct Layers {
    layers: [Layer; LAYERS_MAX],
    count: u8,
    tunnels: u8,
    end: End,
    /// The layer of the innermost IP header, one more than its number.
    network: u8,
    outer: Option<FiveTuple>,
    inner: Option<FiveTuple>,
    fragment: Option<Fragment>,
    payload: (u32, u32),
}

/// How many walks of a burst ended before the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstEnds {
    /// At a fragment.
    pub fragments: usize,
    /// At the link header.
    pub unknown_links: usize,
    /// Within a header.
    pub cut: usize,
    /// Before a tunnel or a layer that was one too many.
    pub limit: usize,
}

impl Default for Layers {
    fn default() -> Layers {
        Layers::NONE
    }
}

impl Layers {
    /// No layers: for an array that [`Layers::read_burst`] fills.
    pub const NONE: Layers = Layers {
        layers: [Layer { kind: LayerKind::Link, off: 0, id: 0 }; LAYERS_MAX],
        count: 0,
        tunnels: 0,
        end: End::Payload,
        network: 0,
        outer: None,
        inner: None,
        fragment: None,
        payload: (0, 0),
    };

    /// The layers of a packet. Any bytes have some; there is no error.
    ///
    /// PERF: a value that exists already is faster to [`read`](Layers::read) into: 296 bytes need not be written.
    #[inline]
    #[must_use]
    pub fn of(linktype: LinkType, packet: &[u8]) -> Layers {
        let mut layers = Layers::NONE;
        layers.read(linktype, packet);
        layers
    }

    /// The layers of several packets, each into the value of the same number, as many as there are of both. Says how many walks ended before the
    /// payload.
    ///
    /// ```
    /// use wire::layers::Layers;
    /// use wire::LinkType;
    /// let packets: [&[u8]; 2] = [b"\x45\0\0\x14\0\0\0\0\x40\x3b\0\0\x0a\0\0\x01\x0a\0\0\x02", b"\x45\0"];
    /// let mut layers = [Layers::NONE; 2];
    /// let ends = Layers::read_burst(LinkType::RAW, &packets, &mut layers);
    /// assert_eq!((ends.cut, layers[0].inner().is_some()), (1, true));
    /// ```
    pub fn read_burst(linktype: LinkType, packets: &[&[u8]], layers: &mut [Layers]) -> BurstEnds {
        let mut ends = BurstEnds::default();
        for (packet, layers) in packets.iter().zip(layers) {
            layers.read(linktype, packet);
            ends.fragments += usize::from(layers.end == End::Fragment);
            ends.unknown_links += usize::from(layers.end == End::UnknownLink);
            ends.cut += usize::from(layers.end == End::Cut);
            ends.limit += usize::from(layers.end == End::Limit);
        }
        ends
    }

    /// Makes this the layers of a packet, which costs less than a new value.
    pub fn read(&mut self, linktype: LinkType, packet: &[u8]) {
        (self.count, self.tunnels, self.network) = (0, 0, 0);
        (self.outer, self.inner, self.fragment) = (None, None, None);
        self.end = match self.walk(linktype, packet) {
            Ok(()) => End::Payload,
            Err(end) => end,
        };
    }

    /// The layers, outermost first.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Layer] {
        &self.layers[..usize::from(self.count)]
    }

    /// The same, one by one.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, Layer> {
        self.as_slice().iter()
    }

    /// The 5-tuple of the outermost IP packet; `None` without one.
    #[inline]
    #[must_use]
    pub fn outer(&self) -> Option<&FiveTuple> {
        self.outer.as_ref()
    }

    /// The 5-tuple of the innermost IP packet that was reached: without tunnels, that of the outermost.
    #[inline]
    #[must_use]
    pub fn inner(&self) -> Option<&FiveTuple> {
        self.inner.as_ref().or(self.outer.as_ref())
    }

    /// The layer of the innermost IP header.
    #[inline]
    #[must_use]
    pub fn network(&self) -> Option<&Layer> {
        self.as_slice().get(usize::from(self.network).checked_sub(1)?)
    }

    /// The layer of what the innermost IP packet carries, if its header begins there.
    #[inline]
    #[must_use]
    pub fn transport(&self) -> Option<&Layer> {
        self.as_slice().last().filter(|layer| layer.kind == LayerKind::Transport)
    }

    /// Which part of a packet the innermost IP packet is, if it is a fragment. Over IPv6 also one that is all of its packet (RFC 6946).
    #[inline]
    #[must_use]
    pub fn fragment(&self) -> Option<Fragment> {
        self.fragment
    }

    /// How many tunnels were looked into.
    #[inline]
    #[must_use]
    pub fn tunnels(&self) -> usize {
        self.tunnels.into()
    }

    /// What was captured behind the headers, without what pads the frame.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> Range<usize> {
        self.payload.0 as usize..self.payload.1 as usize
    }

    /// Where the walk ended.
    #[inline]
    #[must_use]
    pub fn end(&self) -> End {
        self.end
    }
}

impl<'a> IntoIterator for &'a Layers {
    type Item = &'a Layer;
    type IntoIter = std::slice::Iter<'a, Layer>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Without the slots that are not in use.
impl PartialEq for Layers {
    fn eq(&self, other: &Layers) -> bool {
        let facts =
            |layers: &Layers| (layers.tunnels, layers.end, layers.network, layers.fragment, layers.payload);
        self.as_slice() == other.as_slice()
            && facts(self) == facts(other)
            && (self.outer, self.inner) == (other.outer, other.inner)
    }
}

impl Eq for Layers {}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layers")
            .field("layers", &self.as_slice())
            .field("outer", &self.outer())
            .field("inner", &self.inner())
            .field("fragment", &self.fragment)
            .field("payload", &self.payload())
            .field("end", &self.end)
            .finish()
    }
}

/// What is still to be walked over.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// Where it begins in the packet.
    off: usize,
    bytes: &'a [u8],
}

impl<'a> Rest<'a> {
    /// What is behind a header, of which no more than `bytes` counts.
    #[inline]
    fn behind(self, header_len: usize, bytes: &'a [u8]) -> Rest<'a> {
        Rest { off: self.off + header_len, bytes }
    }

    /// What is behind a header of this length, all of which is there.
    #[inline]
    fn skip(self, header_len: usize) -> Result<Rest<'a>, End> {
        let bytes = self.bytes.get(header_len..).ok_or(End::Cut)?;
        Ok(self.behind(header_len, bytes))
    }
}

/// What the walk knows of the way to an IP packet.
#[derive(Clone, Copy, Default)]
struct Way {
    vlans: [u16; 2],
    tunnel_id: Option<u32>,
}

/// What IP carries, and whether all of it is there.
#[derive(Clone, Copy)]
struct Datagram {
    protocol: u8,
    ports: Option<(u16, u16)>,
    is_fragment: bool,
    is_later_fragment: bool,
}

impl Way {
    fn enter_vlan(&mut self, id: u16) {
        if let Some(free) = self.vlans.iter_mut().find(|vlan| **vlan == 0) {
            *free = id;
        }
    }
}

impl Layers {
    fn walk(&mut self, linktype: LinkType, packet: &[u8]) -> Result<(), End> {
        let mut rest = Rest { off: 0, bytes: packet };
        let mut way = Way::default();
        let mut network = match linktype {
            LinkType::EN10MB => self.ethernet(&mut rest)?,
            linktype => self.link(linktype, &mut rest)?,
        };
        // Each round is a link's payload with its tags, an IP packet, and the tunnel that it carries.
        loop {
            while let Some((id, inner, payload)) = link::next_vlan(network, rest.bytes) {
                way.enter_vlan(id);
                self.note(LayerKind::Vlan, &rest, id.into())?;
                rest = rest.behind(Vlan::LEN, payload);
                network = inner;
            }
            self.set_payload(&rest);
            if link::has_tag(network) {
                network = self.tags(network, &mut rest, &mut way)?;
            }
            let datagram = match network {
                Network::Ethertype(ethertype::IPV4) => {
                    let ip = Ipv4::new(rest.bytes).ok_or(End::Cut)?;
                    self.ip(LayerKind::Ipv4, ip.into(), &mut rest, &way)?
                }
                Network::Ethertype(ethertype::IPV6) => {
                    let ip = Ipv6::new(rest.bytes).ok_or(End::Cut)?;
                    self.ip(LayerKind::Ipv6, ip.into(), &mut rest, &way)?
                }
                _ => return Ok(()),
            };
            let Some(tunnel) = self.transport_of(datagram, &mut rest)? else { return Ok(()) };
            network = self.enter(&tunnel, &mut rest, &mut way)?;
        }
    }

    /// Takes the header of a tunnel off, and says what is inside.
    #[inline(never)]
    fn enter(&mut self, tunnel: &Tunnel<'_>, rest: &mut Rest<'_>, way: &mut Way) -> Result<Network, End> {
        // A layer of its own, unless nothing stands before the packet inside.
        let kind = match tunnel {
            Tunnel::Ipv4InIp | Tunnel::Ipv6InIp | Tunnel::MplsInUdp => None,
            Tunnel::Gre(_) => Some(LayerKind::Gre),
            Tunnel::Vxlan(_) => Some(LayerKind::Vxlan),
            Tunnel::VxlanGpe(_) => Some(LayerKind::VxlanGpe),
            Tunnel::Geneve(_) => Some(LayerKind::Geneve),
            Tunnel::Gtpu(_) => Some(LayerKind::Gtpu),
        };
        if let Some(kind) = kind {
            self.note(kind, rest, tunnel.id().unwrap_or(0))?;
        }
        *rest = rest.skip(tunnel.header_len())?;
        self.set_payload(rest);
        if usize::from(self.tunnels) == TUNNELS_MAX {
            return Err(End::Limit);
        }
        self.tunnels += 1;
        way.tunnel_id = tunnel.id().or(way.tunnel_id);
        match tunnel.ethertype() {
            Some(TRANSPARENT_ETHERNET) => {
                way.vlans = [0; 2];
                self.ethernet(rest)
            }
            Some(ethertype) => Ok(Network::Ethertype(ethertype)),
            None => Ok(Network::Unknown),
        }
    }

    /// Notes a layer at the start of the rest.
    #[inline]
    fn note(&mut self, kind: LayerKind, rest: &Rest<'_>, id: u32) -> Result<(), End> {
        let slot = self.layers.get_mut(usize::from(self.count));
        let (Some(slot), Ok(off)) = (slot, u16::try_from(rest.off)) else { return self.too_many(rest) };
        *slot = Layer { kind, off, id };
        self.count += 1;
        Ok(())
    }

    /// Where there is no room for a layer, it is where the payload begins.
    #[cold]
    fn too_many(&mut self, rest: &Rest<'_>) -> Result<(), End> {
        self.set_payload(rest);
        Err(End::Limit)
    }

    /// Whatever comes next, this is the payload if nothing does.
    #[inline]
    fn set_payload(&mut self, rest: &Rest<'_>) {
        // A packet has less than 4 GiB by far; of a longer one, the payload is empty.
        let end = u32::try_from(rest.off + rest.bytes.len()).unwrap_or(0);
        self.payload = ((rest.off as u32).min(end), end);
    }

    #[inline]
    fn ethernet(&mut self, rest: &mut Rest<'_>) -> Result<Network, End> {
        self.set_payload(rest);
        self.note(LayerKind::Link, rest, LinkType::EN10MB.value())?;
        let (network, payload) = link::ethernet_network(rest.bytes).ok_or(End::UnknownLink)?;
        *rest = rest.behind(rest.bytes.len() - payload.len(), payload);
        self.set_payload(rest);
        Ok(network)
    }

    #[inline(never)]
    fn link(&mut self, linktype: LinkType, rest: &mut Rest<'_>) -> Result<Network, End> {
        self.set_payload(rest);
        self.note(LayerKind::Link, rest, linktype.value())?;
        let link = link::header(linktype, rest.bytes).ok_or(End::UnknownLink)?;
        // The payload may end before the rest does, as that of the first frame of several.
        let header_len = link.payload.as_ptr().addr() - rest.bytes.as_ptr().addr();
        *rest = rest.behind(header_len, link.payload);
        self.set_payload(rest);
        Ok(link.network)
    }

    /// Walks over tags.
    fn tags(&mut self, mut network: Network, rest: &mut Rest<'_>, way: &mut Way) -> Result<Network, End> {
        while let Some((tag, inner, payload)) = link::next_tag(network, rest.bytes) {
            let (kind, id) = match tag {
                Tag::Vlan(id) => {
                    way.enter_vlan(id);
                    (LayerKind::Vlan, id.into())
                }
                Tag::Mpls(label) => (LayerKind::Mpls, label),
                Tag::Pppoe(session) => (LayerKind::Pppoe, session.into()),
                // An A-MSDU is no tag behind a header.
                Tag::Macsec | Tag::Amsdu => (LayerKind::Macsec, 0),
            };
            self.note(kind, rest, id)?;
            *rest = rest.behind(rest.bytes.len() - payload.len(), payload);
            network = inner;
        }
        self.set_payload(rest);
        if link::has_tag(network) { Err(End::Cut) } else { Ok(network) }
    }

    /// Notes an IP header and, behind it, an authentication header that IPv4 does not count as its own.
    ///
    /// PERF: inlined, so that the packet stays in registers: 2 ns.
    #[inline(always)]
    fn ip<'a>(
        &mut self,
        kind: LayerKind,
        ip: IpPacket<'a>,
        rest: &mut Rest<'a>,
        way: &Way,
    ) -> Result<Datagram, End> {
        self.note(kind, rest, ip.protocol.into())?;
        self.network = self.count;
        self.fragment = ip.fragment;
        let mut datagram = Datagram {
            protocol: ip.protocol,
            ports: ip.ports(),
            is_fragment: ip.is_fragment(),
            is_later_fragment: ip.is_later_fragment(),
        };
        let off = rest.off + ip.headers_len.min(rest.bytes.len());
        // What IPv6 carries begins behind extension headers.
        *rest = Rest { off, bytes: ip.payload };
        self.set_payload(rest);
        let is_authenticated = ip.protocol == protocol::AH && !ip.is_cut && !ip.is_later_fragment();
        let authenticated = if is_authenticated { self.authentication(&mut datagram, rest) } else { Ok(()) };
        let tuple = if self.outer.is_none() { &mut self.outer } else { &mut self.inner };
        *tuple = Some(FiveTuple {
            src: ip.src,
            dst: ip.dst,
            protocol: datagram.protocol,
            ports: datagram.ports,
            vlans: way.vlans,
            tunnel_id: way.tunnel_id,
        });
        authenticated?;
        if ip.is_cut { Err(End::Cut) } else { Ok(datagram) }
    }

    #[cold]
    fn authentication(&mut self, datagram: &mut Datagram, rest: &mut Rest<'_>) -> Result<(), End> {
        let len = extension_len(protocol::AH, rest.bytes).ok_or(End::Cut)?;
        let (next, spi) = (u8_at(rest.bytes, 0).ok_or(End::Cut)?, u32_at(rest.bytes, 4).ok_or(End::Cut)?);
        let behind = rest.skip(len)?;
        self.note(LayerKind::Ah, rest, spi)?;
        *rest = behind;
        self.set_payload(rest);
        (datagram.protocol, datagram.ports) = (next, ports(next, rest.bytes));
        Ok(())
    }

    /// Notes what IP carries, and says which tunnel that is, if it is one.
    #[inline]
    fn transport_of<'a>(
        &mut self,
        datagram: Datagram,
        rest: &mut Rest<'a>,
    ) -> Result<Option<Tunnel<'a>>, End> {
        let Datagram { protocol: number, ports, is_fragment, is_later_fragment } = datagram;
        if is_later_fragment {
            return Err(End::Fragment);
        }
        let header_len = match number {
            protocol::TCP => Tcp::new(rest.bytes).ok_or(End::Cut)?.header_len().max(Tcp::LEN),
            protocol::UDP => Udp::LEN,
            protocol::NO_NEXT => return Ok(None),
            _ => {
                let tunnel = if is_fragment { None } else { Tunnel::of_protocol(number, rest.bytes) };
                if tunnel.is_some() {
                    return Ok(tunnel);
                }
                header_len(number, rest.bytes)
            }
        };
        self.note(LayerKind::Transport, rest, number.into())?;
        let transport = *rest;
        *rest = rest.skip(header_len)?;
        if number == protocol::UDP {
            rest.bytes = Udp::new(transport.bytes).ok_or(End::Cut)?.stated_payload();
        }
        self.set_payload(rest);
        match ports {
            _ if is_fragment => Err(End::Fragment),
            Some((_, dst_port)) if number == protocol::UDP => Ok(Tunnel::of_udp(dst_port, rest.bytes)),
            _ => Ok(None),
        }
    }
}

/// The length of the header of a protocol other than TCP and UDP; 0 where it is not known.
#[inline]
fn header_len(protocol: u8, bytes: &[u8]) -> usize {
    match protocol {
        protocol::ICMP | protocol::ICMPV6 => Icmp::LEN,
        protocol::UDPLITE => Udp::LEN,
        protocol::SCTP => 12,
        // Its fifth byte counts it in words (RFC 4340, 5.1).
        protocol::DCCP => u8_at(bytes, 4).map_or(12, |words| usize::from(words) * 4).max(12),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
