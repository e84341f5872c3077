//! From a frame to its flow: key, direction, and where datagram, header and payload are.
//!
//! ```text
//!  Ethernet, VLANs, IPv4 or IPv6, TCP or UDP ──► fast path ─┐
//!  anything else ──► wire::layers ── innermost datagram ────┴─► Decoded, or NoFlow with a reason
//! ```
//!
//! The innermost IP datagram counts, with what [`wire::layers`] takes off: tags, labels, PPPoE, and up to four tunnels. A tunnel in which no
//! readable IP packet is counts as the datagram that carries it. The fast path takes whole, unfragmented packets only, and the slow one gives the
//! same for these; both end in the same reading of the transport header.
//!
//! Ports are those of TCP, UDP, SCTP, DCCP and UDP-Lite. A query of ICMP has its identifier as the port of who asks, and its type, times 256, as
//! that of who answers; request and answer are one flow. Other messages of ICMP have type and code as the port of both ends. All other protocols
//! have port 0.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;

use wire::LinkType;
use wire::bytes::{array_at, u8_at, u16_at, u32_at};
use wire::ether::ethertype;
use wire::ip::{IpPacket, Ipv4, Ipv6, ports, protocol};
use wire::layers::{End as WalkEnd, Layer, LayerKind, Layers};
use wire::link::{self, Network};
use wire::transport::{Icmp, Tcp, TcpFlags, Udp, icmp_may_be_error, icmpv6_may_be_error};
use wire::tunnel::Tunnel;
use wire::vlan::Vlan;

use crate::key::{Direction, End, Key, Scope, Secret};

/// Why a packet belongs to no flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoFlow {
    /// It is ARP.
    Arp,
    /// It carries neither IP nor ARP.
    NotIp,
    /// Its link type is not known, or its link header is not whole.
    Link,
    /// A header of IP or before it is cut short or wrong.
    Network,
    /// The header of TCP, UDP or ICMP is cut short or wrong.
    Transport,
    /// It has more headers or tunnels than are looked into.
    TooDeep,
    /// It is a later fragment of a packet whose first has not been seen.
    Fragment,
    /// It is TCP in the midst of a connection, and such are ignored.
    Midstream,
}

impl NoFlow {
    /// All reasons.
    pub const ALL: [NoFlow; 8] = [
        NoFlow::Arp,
        NoFlow::NotIp,
        NoFlow::Link,
        NoFlow::Network,
        NoFlow::Transport,
        NoFlow::TooDeep,
        NoFlow::Fragment,
        NoFlow::Midstream,
    ];

    /// The name of its counter.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NoFlow::Arp => "arp",
            NoFlow::NotIp => "not_ip",
            NoFlow::Link => "malformed_link",
            NoFlow::Network => "malformed_network",
            NoFlow::Transport => "malformed_transport",
            NoFlow::TooDeep => "too_deep",
            NoFlow::Fragment => "fragment_without_first",
            NoFlow::Midstream => "midstream",
        }
    }
}

/// Bytes that are captured of a packet at least that is plain, see [`Decoded::is_plain`]: the headers of Ethernet, IPv4 and TCP, also of UDP.
pub const PLAIN_LEN: usize = 14 + Ipv4::LEN + Tcp::LEN;

/// What the header of a TCP segment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte.
    pub seq: u32,
    /// Number of the next byte expected; means something when the flag ACK is set.
    pub ack: u32,
    /// Receive window, not scaled.
    pub window: u16,
    /// Flags, as in [`TcpFlags`].
    pub flags: u8,
    /// Of a segment with SYN: by how many bits windows are scaled, if it offers that (RFC 7323, 2).
    pub scale: Option<u8>,
}

/// Which part of a datagram a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// The first of several fragments.
    First,
    /// A later fragment. Its key has port 0 until [`Fragments`](crate::fragments::Fragments) has found the first.
    Later,
}

/// Where a packet belongs, and where its parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The flow.
    pub key: Key,
    /// From which of its ends the packet came.
    pub direction: Direction,
    /// Which part of its datagram it is.
    pub part: Part,
    /// Whether the capture ends before the datagram does, as that states its length.
    pub is_cut: bool,
    /// Number of the datagram, if it is fragmented.
    pub fragment_id: u32,
    /// The protocol that the IP header of a fragment names; 0 over IPv6, where fragments of a datagram may name different ones.
    pub(crate) fragment_protocol: u8,
    /// What the header says, if it is TCP and no later fragment.
    pub tcp: Segment,
    /// Of a packet in tunnels, a number for their kinds and the addresses around it, the same both ways, which nobody outside of this process can foresee; 0 of
    /// one in none. The key has nothing of that.
    pub outer: u32,
    ip: (u32, u32),
    transport: u32,
    payload: (u32, u32),
}

impl Decoded {
    /// Of a packet that belongs to no flow.
    pub(crate) const NONE: Decoded = Decoded {
        key: Key::NONE,
        direction: Direction::Up,
        part: Part::Whole,
        is_cut: false,
        fragment_id: 0,
        fragment_protocol: 0,
        tcp: Segment { seq: 0, ack: 0, window: 0, flags: 0, scale: None },
        outer: 0,
        ip: (0, 0),
        transport: 0,
        payload: (0, 0),
    };

    /// Protocol over IP.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.key.protocol()
    }

    /// Whether it is a segment of TCP with a header.
    #[inline]
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.key.protocol() == protocol::TCP && self.part != Part::Later
    }

    /// The innermost IP datagram in the frame, without what pads that.
    #[inline]
    #[must_use]
    pub fn ip(&self) -> Range<usize> {
        self.ip.0 as usize..self.ip.1 as usize
    }

    /// Where the header of what the datagram carries begins.
    #[inline]
    #[must_use]
    pub fn transport(&self) -> usize {
        self.transport as usize
    }

    /// What is behind that header; of later fragments, all that they carry.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> Range<usize> {
        self.payload.0 as usize..self.payload.1 as usize
    }

    /// Whether its key was read from a whole TCP or UDP packet over IPv4 without options and Ethernet without tags: the type at 12 is 0x0800, the byte at 14 is 0x45,
    /// the packet is no fragment by the bytes at 20, and the protocol at 23, the addresses from 26 and the ports from 34 are those of the key. At least
    /// [`PLAIN_LEN`] bytes were captured. The frame is the one that was decoded.
    #[inline]
    #[must_use]
    pub fn is_plain(&self, linktype: LinkType, frame: &[u8]) -> bool {
        let Some(header) = frame.first_chunk::<PLAIN_LEN>() else { return false };
        let is_outermost = linktype == LinkType::EN10MB && (self.ip.0, self.transport) == (14, 34);
        let is_ip4 = (header[12], header[13], header[14]) == (8, 0, 0x45);
        let is_whole = header[20] & 0x3f == 0 && header[21] == 0;
        let number = self.protocol();
        let is_own = header[23] == number && matches!(number, protocol::TCP | protocol::UDP);
        is_outermost && is_ip4 && is_whole && is_own
    }

    /// The flow that an error of ICMP is about, and the direction of the packet that it quotes. The frame is the one that was decoded.
    #[must_use]
    pub fn quoted(&self, frame: &[u8]) -> Option<(Key, Direction)> {
        let is_error = match self.protocol() {
            protocol::ICMP => icmp_may_be_error,
            protocol::ICMPV6 => icmpv6_may_be_error,
            _ => return None,
        };
        if self.part == Part::Later || !is_error(u8_at(frame, self.transport())?) {
            return None;
        }
        let quoted = frame.get(self.payload())?;
        let ip = IpPacket::new(quoted).filter(|ip| !ip.is_cut && !ip.is_later_fragment())?;
        let is_v6 = ip.src.is_ipv6();
        let (src_port, dst_port) = match ip.protocol {
            protocol::ICMP | protocol::ICMPV6 => icmp_ports(ip.protocol, ip.payload)?,
            number => match ports(number, ip.payload) {
                None if has_ports(number) => return None,
                ports => ports.unwrap_or_default(),
            },
        };
        let scope = Scope { is_v6, protocol: ip.protocol, vlans: self.key.vlans(), vni: self.key.vni() };
        Some(Key::of(End::of(ip.src, src_port), End::of(ip.dst, dst_port), scope))
    }
}

/// The flow of a frame.
///
/// ```
/// use flow::{NoFlow, decode};
/// use wire::LinkType;
/// let packet = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\xc0\0\x02\x01\xc0\0\x02\x02\x14\xe9\0\x35\0\x0c\0\0abcd__";
/// let decoded = decode(LinkType::RAW, &packet).unwrap();
/// assert_eq!(decoded.key.src(decoded.direction).port(), 5353);
/// assert_eq!(packet[decoded.payload()], *b"abcd");
/// assert_eq!(decode(LinkType::RAW, &packet[..19]), Err(NoFlow::Network));
/// ```
///
/// # Errors
///
/// Where it belongs to no flow, the reason. Any bytes have one or the other.
pub fn decode(linktype: LinkType, frame: &[u8]) -> Result<Decoded, NoFlow> {
    let mut decoded = Decoded::NONE;
    decode_into(linktype, frame, &mut decoded).map(|()| decoded)
}

/// The same, into a value that is there.
///
/// PERF: a value that is returned is copied, by vector loads right behind the scalar stores that have written it: 20 ns.
#[inline(always)]
pub(crate) fn decode_into(linktype: LinkType, frame: &[u8], decoded: &mut Decoded) -> Result<(), NoFlow> {
    if plain(linktype, frame, decoded).is_some() { Ok(()) } else { decode_other(linktype, frame, decoded) }
}

/// What [`plain`] does not decode.
#[inline(never)]
pub(crate) fn decode_other(linktype: LinkType, frame: &[u8], decoded: &mut Decoded) -> Result<(), NoFlow> {
    if linktype == LinkType::EN10MB && fast(frame, decoded).is_some() {
        return Ok(());
    }
    slow(linktype, frame, decoded)
}

/// Whole TCP and UDP packets over IPv4 without options and Ethernet without tags, which most packets are: all is where it is always; `None` for all else.
///
/// PERF: one check of the length for all headers, and one comparison for both ends.
#[inline(always)]
pub(crate) fn plain(linktype: LinkType, frame: &[u8], decoded: &mut Decoded) -> Option<()> {
    const IP: usize = 14;
    const TRANSPORT: usize = IP + Ipv4::LEN;
    let header = frame.first_chunk::<{ TRANSPORT + Tcp::LEN }>()?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let end = IP + usize::from(half(IP + 2));
    // Version and length of the header; more fragments, or an offset.
    let is_plain = half(12) == ethertype::IPV4 && header[IP] == 0x45 && half(IP + 6) & 0x3fff == 0;
    if linktype != LinkType::EN10MB || !is_plain || end > frame.len() {
        return None;
    }
    let number = header[IP + 9];
    let (payload, payload_end) = match number {
        protocol::TCP => {
            let payload = TRANSPORT + usize::from(header[TRANSPORT + 12] >> 4) * 4;
            if payload < TRANSPORT + Tcp::LEN || payload > end {
                return None;
            }
            let flags = header[TRANSPORT + 13];
            let scale = if flags & TcpFlags::SYN == 0 { None } else { window_scale(&frame[TRANSPORT..end]) };
            let (seq, ack) = (word(TRANSPORT + 4), word(TRANSPORT + 8));
            decoded.tcp = Segment { seq, ack, window: half(TRANSPORT + 14), flags, scale };
            (payload, end)
        }
        protocol::UDP => {
            let len = usize::from(half(TRANSPORT + 4));
            let payload = TRANSPORT + Udp::LEN;
            if Tunnel::has_port(half(TRANSPORT + 2)) || len < Udp::LEN || payload > end {
                return None;
            }
            decoded.tcp = Segment::default();
            (payload, end.min(TRANSPORT + len))
        }
        _ => return None,
    };
    let (src, dst) = ((word(IP + 12), half(TRANSPORT)), (word(IP + 16), half(TRANSPORT + 2)));
    decoded.direction = decoded.key.set_v4(src, dst, number);
    (decoded.part, decoded.is_cut, decoded.outer) = (Part::Whole, false, 0);
    (decoded.fragment_id, decoded.fragment_protocol) = (0, 0);
    decoded.ip = (IP as u32, end as u32);
    decoded.transport = TRANSPORT as u32;
    decoded.payload = (payload as u32, payload_end as u32);
    Some(())
}

/// An IP datagram whose header was read.
#[derive(Clone, Copy)]
struct Datagram {
    src: End,
    dst: End,
    scope: Scope,
    part: Part,
    fragment_id: u32,
    fragment_protocol: u8,
    /// Where it begins, and where its captured part ends.
    ip: (usize, usize),
    transport: usize,
    is_cut: bool,
    outer: u32,
}

/// Whole TCP and UDP packets over IP and Ethernet, with up to two VLANs and no tunnel; `None` for all else.
#[inline(always)]
fn fast(frame: &[u8], decoded: &mut Decoded) -> Option<()> {
    let (mut kind, mut off, mut vlans) = (u16_at(frame, 12)?, 14, [0; 2]);
    if Vlan::follows(kind) {
        let id = u16_at(frame, 14)? & 0xfff;
        (kind, off, vlans[0]) = (u16_at(frame, 16)?, 18, id);
        if Vlan::follows(kind) {
            let id = u16_at(frame, 18)? & 0xfff;
            // A tag for its priority alone is of no VLAN, and leaves the place to the next.
            vlans[usize::from(vlans[0] != 0)] = id;
            (kind, off) = (u16_at(frame, 20)?, 22);
        }
    }
    let ip = frame.get(off..)?;
    let (src, dst, number, header_len, total_len) = match kind {
        ethertype::IPV4 => {
            let header = ip.first_chunk::<{ Ipv4::LEN }>()?;
            let header_len = usize::from(header[0] & 15) * 4;
            // More fragments, or an offset.
            if header[0] >> 4 != 4 || header_len < Ipv4::LEN || u16_at(header, 6)? & 0x3fff != 0 {
                return None;
            }
            let (src, dst) = (u32_at(header, 12)?, u32_at(header, 16)?);
            (End::v4(src, 0), End::v4(dst, 0), header[9], header_len, usize::from(u16_at(header, 2)?))
        }
        ethertype::IPV6 => {
            let header = ip.first_chunk::<{ Ipv6::LEN }>()?;
            let payload_len = usize::from(u16_at(header, 4)?);
            if header[0] >> 4 != 6 || payload_len == 0 {
                return None;
            }
            let word = |at| array_at(header, at).map(u64::from_be_bytes);
            let (src, dst) = (End::v6(word(8)?, word(16)?, 0), End::v6(word(24)?, word(32)?, 0));
            (src, dst, header[6], Ipv6::LEN, Ipv6::LEN + payload_len)
        }
        _ => return None,
    };
    if !matches!(number, protocol::TCP | protocol::UDP) || total_len > ip.len() || total_len < header_len {
        return None;
    }
    let transport = &ip[header_len..total_len];
    if number == protocol::UDP && Tunnel::has_port(u16_at(transport, 2)?) {
        return None;
    }
    let datagram = Datagram {
        src,
        dst,
        scope: Scope { is_v6: kind == ethertype::IPV6, protocol: number, vlans, vni: 0 },
        part: Part::Whole,
        fragment_id: 0,
        fragment_protocol: 0,
        ip: (off, off + total_len),
        transport: off + header_len,
        is_cut: false,
        outer: 0,
    };
    with_transport(frame, datagram, decoded).ok()
}

/// Everything, by way of all layers.
#[inline(never)]
fn slow(linktype: LinkType, frame: &[u8], decoded: &mut Decoded) -> Result<(), NoFlow> {
    let layers = Layers::of(linktype, frame);
    let Some((tuple, network)) = layers.inner().zip(layers.network()) else {
        return Err(without_ip(linktype, frame, &layers));
    };
    // The datagram of the innermost IP header, as far as those around it reach.
    let off = usize::from(network.off);
    let (headers_len, stated) = ip_lengths(&frame[off..]).ok_or(NoFlow::Network)?;
    let outer = layers.iter().take_while(|layer| layer.off < network.off);
    let captured = outer.filter_map(|layer| ip_end(frame, layer)).fold(frame.len(), usize::min);
    let stated = stated.map_or(captured, |len| off + len);
    let end = stated.min(captured);
    // Behind it stands what it carries: a header, or one of authentication before that.
    let behind =
        layers.iter().skip_while(|layer| layer.off <= network.off).find(|layer| layer.kind != LayerKind::Ah);
    let is_tunnel = matches!(tuple.protocol, protocol::IPIP | protocol::IPV6);
    let transport = match behind {
        _ if layers.end() == WalkEnd::Limit => return Err(NoFlow::TooDeep),
        Some(layer) => usize::from(layer.off),
        None if layers.end() == WalkEnd::Cut && !is_tunnel => {
            return Err(cut_reason(frame, off, headers_len));
        }
        None if is_tunnel => off + headers_len,
        None => layers.payload().start,
    };
    let fragment = layers.fragment().filter(|fragment| !fragment.is_whole());
    let part = match fragment {
        None => Part::Whole,
        Some(fragment) if fragment.off == 0 => Part::First,
        Some(_) => Part::Later,
    };
    let is_v6 = tuple.src.is_ipv6();
    let (src, dst) = match (tuple.src, tuple.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => (End::v4(src.to_bits(), 0), End::v4(dst.to_bits(), 0)),
        (src, dst) => (End::of(src, 0), End::of(dst, 0)),
    };
    let datagram = Datagram {
        src,
        dst,
        scope: Scope { is_v6, protocol: tuple.protocol, vlans: tuple.vlans, vni: vni(&layers, network) },
        part,
        fragment_id: fragment.map_or(0, |fragment| fragment.id),
        fragment_protocol: if is_v6 || fragment.is_none() { 0 } else { network.id as u8 },
        ip: (off, end),
        transport: transport.min(end),
        is_cut: stated > captured,
        outer: outer_number(frame, &layers, network),
    };
    with_transport(frame, datagram, decoded)
}

/// Why a frame in which the walk found no IP header has no flow.
#[cold]
fn without_ip(linktype: LinkType, frame: &[u8], layers: &Layers) -> NoFlow {
    match layers.end() {
        WalkEnd::UnknownLink => NoFlow::Link,
        WalkEnd::Limit => NoFlow::TooDeep,
        WalkEnd::Cut | WalkEnd::Fragment => NoFlow::Network,
        WalkEnd::Payload => match link::strip(linktype, frame).network {
            Network::Ethertype(ethertype::ARP) => NoFlow::Arp,
            _ => NoFlow::NotIp,
        },
    }
}

/// Whether a walk that was cut behind an IP header ended in that, or in what it carries.
#[cold]
fn cut_reason(frame: &[u8], off: usize, headers_len: usize) -> NoFlow {
    let is_cut = IpPacket::new(&frame[off..]).is_none_or(|ip| ip.is_cut);
    if is_cut || frame.len() < off + headers_len { NoFlow::Network } else { NoFlow::Transport }
}

/// The length of an IP header, without the extensions of IPv6, and that of the whole datagram; `None` where the header does not say.
fn ip_lengths(ip: &[u8]) -> Option<(usize, Option<usize>)> {
    if let Some(ip) = Ipv4::new(ip) {
        // A total length of 0 is what segmentation offload leaves behind.
        let stated = Some(usize::from(ip.total_len())).filter(|&len| len != 0);
        let is_wrong = stated.is_some_and(|len| len < ip.header_len());
        return (!is_wrong).then_some((ip.header_len(), stated));
    }
    let ip = Ipv6::new(ip)?;
    let stated = Some(usize::from(ip.payload_len())).filter(|&len| len != 0);
    Some((Ipv6::LEN, stated.map(|len| Ipv6::LEN + len)))
}

/// Where the datagram of an IP header ends.
fn ip_end(frame: &[u8], layer: &Layer) -> Option<usize> {
    let is_ip = matches!(layer.kind, LayerKind::Ipv4 | LayerKind::Ipv6);
    let off = usize::from(layer.off);
    ip_lengths(frame.get(off..).filter(|_| is_ip)?)?.1.map(|len| off + len)
}

/// The network of VXLAN or Geneve that is the innermost around an IP header.
fn vni(layers: &Layers, network: &Layer) -> u32 {
    let is_network =
        |layer: &&Layer| matches!(layer.kind, LayerKind::Vxlan | LayerKind::VxlanGpe | LayerKind::Geneve);
    let around = layers.iter().take_while(|layer| layer.off < network.off);
    around.filter(is_network).last().map_or(0, |layer| layer.id)
}

/// See [`Decoded::outer`].
fn outer_number(frame: &[u8], layers: &Layers, network: &Layer) -> u32 {
    // Who could choose addresses that come to the number of another tunnel would be taken for it.
    static SECRET: LazyLock<Secret> = LazyLock::new(Secret::random);
    if layers.tunnels() == 0 {
        return 0;
    }
    let mut number = 0_u64;
    for layer in layers.iter().take_while(|layer| layer.off < network.off) {
        let word = match layer.kind {
            LayerKind::Ipv4 | LayerKind::Ipv6 => {
                let Some(ip) = frame.get(usize::from(layer.off)..).and_then(IpPacket::new) else { continue };
                let scope = Scope { is_v6: ip.src.is_ipv6(), protocol: ip.protocol, ..Scope::default() };
                Key::of(End::of(ip.src, 0), End::of(ip.dst, 0), scope).0.hash(&SECRET)
            }
            LayerKind::Gre | LayerKind::Vxlan | LayerKind::VxlanGpe | LayerKind::Geneve | LayerKind::Gtpu => {
                layer.kind as u64
            }
            _ => continue,
        };
        // 2^64 by the golden ratio: each word reaches all bits, and their order counts.
        number = (number ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
    // A tunnel in which nothing is read is the datagram around it, and in none.
    if number == 0 { 0 } else { (number as u32).max(1) }
}

fn has_ports(number: u8) -> bool {
    use protocol::{DCCP, SCTP, TCP, UDP, UDPLITE};
    matches!(number, TCP | UDP | SCTP | DCCP | UDPLITE)
}

/// Reads the header of what a datagram carries.
#[inline(always)]
fn with_transport(frame: &[u8], datagram: Datagram, decoded: &mut Decoded) -> Result<(), NoFlow> {
    let Datagram { mut src, mut dst, scope, part, ip, transport, .. } = datagram;
    let bytes = frame.get(transport..ip.1).ok_or(NoFlow::Network)?;
    let mut payload_end = ip.1;
    decoded.tcp = Segment::default();
    // PERF: ports are values, never borrowed, so that they stay in registers.
    let (src_port, dst_port, header_len) = match scope.protocol {
        _ if part == Part::Later => (0, 0, 0),
        protocol::TCP => {
            let header = bytes.first_chunk::<{ Tcp::LEN }>().ok_or(NoFlow::Transport)?;
            let header = Tcp::new(header).ok_or(NoFlow::Transport)?;
            let flags = header.flags().0;
            decoded.tcp.seq = header.seq();
            decoded.tcp.ack = header.ack();
            decoded.tcp.window = header.window();
            decoded.tcp.flags = flags;
            let header_len = header.header_len();
            if header_len < Tcp::LEN {
                return Err(NoFlow::Transport);
            }
            if flags & TcpFlags::SYN != 0 {
                decoded.tcp.scale = window_scale(bytes);
            }
            (header.src_port(), header.dst_port(), header_len)
        }
        protocol::UDP => {
            let header = Udp::new(bytes).ok_or(NoFlow::Transport)?;
            match usize::from(header.len()) {
                // That of a jumbogram, or what segmentation offload leaves behind.
                0 => {}
                len if len < Udp::LEN => return Err(NoFlow::Transport),
                len => payload_end = payload_end.min(transport + len),
            }
            (header.src_port(), header.dst_port(), Udp::LEN)
        }
        number => other_ports(number, bytes).ok_or(NoFlow::Transport)?,
    };
    if header_len > bytes.len() {
        return Err(NoFlow::Transport);
    }
    (src.port, dst.port) = (src_port, dst_port);
    decoded.direction = decoded.key.set(src, dst, scope);
    (decoded.part, decoded.is_cut, decoded.outer) = (part, datagram.is_cut, datagram.outer);
    (decoded.fragment_id, decoded.fragment_protocol) = (datagram.fragment_id, datagram.fragment_protocol);
    decoded.ip = (ip.0 as u32, ip.1 as u32);
    decoded.transport = transport as u32;
    decoded.payload = ((transport + header_len) as u32, payload_end as u32);
    Ok(())
}

/// Ports of protocols other than TCP and UDP, and the length of their header. `None` if that is not whole.
#[inline(never)]
fn other_ports(number: u8, bytes: &[u8]) -> Option<(u16, u16, usize)> {
    let (both, header_len) = match number {
        protocol::ICMP | protocol::ICMPV6 => (icmp_ports(number, bytes)?, Icmp::LEN),
        protocol::SCTP => (ports(number, bytes)?, 12),
        protocol::UDPLITE => (ports(number, bytes)?, Udp::LEN),
        // Its fifth byte counts it in words (RFC 4340, 5.1).
        protocol::DCCP => (ports(number, bytes)?, (usize::from(u8_at(bytes, 4)?) * 4).max(12)),
        _ => ((0, 0), 0),
    };
    Some((both.0, both.1, header_len))
}

/// What stands for the ports of a message of ICMP: for queries, the identifier at the end of who asks. `None` if it is not whole.
fn icmp_ports(number: u8, bytes: &[u8]) -> Option<(u16, u16)> {
    let message = Icmp::new(bytes)?;
    // Type of the question, and whether this is the answer: echo, timestamps, information and address masks.
    let query = match (number, message.kind()) {
        (protocol::ICMP, kind @ (8 | 13 | 15 | 17)) | (protocol::ICMPV6, kind @ 128) => Some((kind, false)),
        (protocol::ICMP, 0) => Some((8, true)),
        (protocol::ICMP, kind @ (14 | 16 | 18)) => Some((kind - 1, true)),
        (protocol::ICMPV6, 129) => Some((128, true)),
        _ => None,
    };
    Some(match query {
        Some((kind, false)) => (message.id(), u16::from(kind) << 8),
        Some((kind, true)) => (u16::from(kind) << 8, message.id()),
        None => {
            let both = u16::from(message.kind()) << 8 | u16::from(message.code());
            (both, both)
        }
    })
}

/// The window scale among the options of a segment.
#[inline(never)]
fn window_scale(segment: &[u8]) -> Option<u8> {
    let mut options = Tcp::new(segment)?.options();
    loop {
        options = match *options {
            [3, 3, scale, ..] => return Some(scale.min(14)),
            [1, ref rest @ ..] => rest,
            [kind, len, ..] if kind > 1 && len > 1 => options.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

/// Whether a segment begins a connection, and answers none.
#[inline]
pub(crate) fn is_syn(flags: u8) -> bool {
    flags & (TcpFlags::SYN | TcpFlags::ACK | TcpFlags::RST | TcpFlags::FIN) == TcpFlags::SYN
}

#[cfg(test)]
mod tests;
