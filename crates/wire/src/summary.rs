//! A packet in one line.
//!
//! ```text
//! 192.0.2.1:40000 > 192.0.2.2:80 tcp SYN seq 1000 win 64240 mss 1460 wscale 7 sackok len 0
//! vlan 7 [2001:db8::1]:5353 > [ff02::fb]:5353 udp dns query id 0 A printer.local len 31
//! 192.0.2.1 > 192.0.2.2 gre len 46: 10.0.0.1 > 10.0.0.2 icmp echo reply id 7 seq 1 len 14
//! 192.0.2.1 > 192.0.2.2 icmp echo request id 7 seq 1 len 64
//! 192.0.2.9 > 192.0.2.1 icmp unreachable (fragmentation needed) mtu 1400 to 192.0.2.2:443 tcp len 556
//! 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff arp who has 192.0.2.2 tell 192.0.2.1
//! ```
//!
//! First the direction, where the link says it, and the tags the packet wears, then who speaks to whom, the protocol, what
//! matters about it, and the length of what it carries (of the whole packet where that is unknown). Then, what is missing or
//! wrong: `cut` says that the capture holds less of the headers, or of a message behind them, than the line would show, or too little to
//! tell what it is, and nothing else does (what a segment of TCP carries of which no byte was captured is not asked, unless it is DNS, as a
//! capture of headers would say so in every line); `bad header length` and the like say what is wrong with the packet itself. A packet in a tunnel follows behind a colon.
//!
//! Each protocol has a module, which reads what is there and says how it looks; nothing is allocated, and every loop is bounded. Any bytes
//! give a summary; there is no error and no panic. Texts out of packets are escaped, so that a line is printable ASCII throughout.

mod app;
mod detail;
mod dhcp;
mod dns;
mod icmp;
mod igmp;
mod inside;
mod ipsec;
mod l2tp;
mod lacp;
mod lldp;
mod nsh;
mod ntp;
mod pseudowire;
mod quic;
mod radius;
mod routing;
mod sctp;
mod snmp;
mod stp;
mod syslog;
mod tcp;
mod text;
mod tftp;
pub(crate) mod tls;
mod words;

use app::App;
use detail::{Detail, Extent, GreDetail, Slarp};
use icmp::IcmpDetail;
use inside::{Inside, Kind};
use l2tp::L2tp;
use nsh::Nsh;
use pseudowire::{Guess, Pseudowire};
use tcp::TcpDetail;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::arp::Arp;
use crate::chars::Chars;
use crate::ether::ethertype;
use crate::ip::{Fragment, IpPacket, Ipv4, Ipv6, Route, ports, protocol, protocol_name};
use crate::link::{Direction, Link, Network, Tag, strip};
use crate::linktype::LinkType;
use crate::mac::Mac;
use crate::transport::{Icmp, Tcp, Udp};
use crate::tunnel::{TRANSPARENT_ETHERNET, Tunnel};

/// Length of the shortest header of DCCP (RFC 4340, 5.1).
const DCCP_LEN: usize = 12;

/// Who speaks or is spoken to.
#[derive(Clone, Copy, Debug)]
enum Endpoint {
    Mac(Mac),
    Ip(IpAddr),
    Socket(SocketAddr),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Mac(mac) => mac.fmt(f),
            Endpoint::Ip(IpAddr::V4(ip)) => f.write_str(Chars::<15>::ipv4(*ip).as_str()),
            Endpoint::Ip(ip) => ip.fmt(f),
            Endpoint::Socket(SocketAddr::V4(socket)) => f.write_str(Chars::<21>::socket(*socket).as_str()),
            Endpoint::Socket(socket) => socket.fmt(f),
        }
    }
}

/// A packet, summarised; `Display` gives the line.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    link: Link<'a>,
    src: Option<Endpoint>,
    dst: Option<Endpoint>,
    /// The innermost protocol that was recognised, by its name in filters where it has one.
    protocol: &'static str,
    detail: Detail<'a>,
    /// What UDP or TCP carries.
    app: Option<App<'a>>,
    /// The place of a fragment.
    fragment: Option<Fragment>,
    /// Of a routing header of IPv6.
    route: Option<Route>,
    /// Of an AH header that what IP carries stands behind: security parameters index and sequence number.
    authenticated: Option<(u32, u32)>,
    /// Bytes that the innermost protocol carries, or of the whole packet where it does not say.
    len: u32,
    flaw: Option<Flaw>,
    /// Bytes that were not captured.
    missing: usize,
    /// How many tunnels the packet is in.
    depth: u8,
    /// The packet that it is a tunnel for.
    inside: Option<Inside<'a>>,
}

/// Why a line says less than the headers of a packet would, or what is wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// A header was not captured whole.
    Cut,
    /// The packet itself is wrong, in two words or three.
    Malformed(&'static str),
}

/// The packet, or what its own lengths make of it, ends within a header.
const SHORT_HEADER: Flaw = Flaw::Malformed("short header");
/// A header says of another protocol.
const BAD_VERSION: Flaw = Flaw::Malformed("bad version");
/// A header is shorter than any, or longer than what holds it.
const BAD_HEADER_LENGTH: Flaw = Flaw::Malformed("bad header length");
/// A packet is shorter than its header, or longer than what holds it.
const BAD_LENGTH: Flaw = Flaw::Malformed("bad length");
/// A name of DNS does not end, or has a part of a kind that there is not.
const BAD_NAME: Flaw = Flaw::Malformed("bad name");

/// Summarises a packet of this link type, of which `bytes` were captured and `wire_len` were on the wire.
///
/// ```
/// use wire::{LinkType, summarize};
/// let packet = [
///     0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
///     0x14, 0xe9, 0, 53, 0, 8, 0, 0, // UDP
/// ];
/// let line = summarize(LinkType::RAW, &packet, 28).to_string();
/// assert_eq!(line, "192.0.2.1:5353 > 192.0.2.2:53 udp len 0");
/// ```
#[must_use]
pub fn summarize(linktype: LinkType, bytes: &[u8], wire_len: u32) -> Summary<'_> {
    let missing = (wire_len as usize).saturating_sub(bytes.len());
    let name = linktype.name().unwrap_or("unknown link type");
    let mut summary = Summary::new(strip(linktype, bytes), name, wire_len, missing, 0);
    let is_ip = matches!(linktype, LinkType::RAW | LinkType::IPV4 | LinkType::IPV6);
    if is_ip && summary.link.network == Network::Unknown && !bytes.is_empty() {
        (summary.protocol, summary.flaw) = ("ip", Some(BAD_VERSION));
    }
    summary
}

impl<'a> Summary<'a> {
    /// The same, of a packet of which the capture says which way it went. What the link layer says comes first.
    #[must_use]
    pub fn going(mut self, direction: Option<Direction>) -> Summary<'a> {
        self.link.direction = self.link.direction.or(direction);
        self
    }

    /// Of a packet whose link header was taken off, and whose link has this name.
    fn new(link: Link<'a>, name: &'static str, wire_len: u32, missing: usize, depth: u8) -> Summary<'a> {
        let mut summary = Summary {
            src: link.src.map(Endpoint::Mac),
            dst: link.dst.map(Endpoint::Mac),
            protocol: name,
            detail: Detail::None,
            app: None,
            fragment: None,
            route: None,
            authenticated: None,
            len: wire_len,
            flaw: None,
            missing,
            depth,
            inside: None,
            link,
        };
        summary.network();
        summary
    }

    /// Fills in what the link carries.
    fn network(&mut self) {
        let payload = self.link.payload;
        match self.link.network {
            Network::Ethertype(ethertype::IPV4) => self.ipv4(payload),
            Network::Ethertype(ethertype::IPV6) => self.ipv6(payload),
            Network::Ethertype(kind @ (ethertype::ARP | ethertype::RARP)) => self.arp(kind, payload),
            Network::Ethertype(ethertype::NSH) => self.nsh(payload),
            Network::Ethertype(kind) => self.control(detail::of_ethertype(kind, payload)),
            Network::Slarp => self.slarp(payload),
            Network::Llc(dsap, ssap) => self.control(detail::llc(dsap, ssap, payload)),
            Network::Snap(organisation, number) => {
                self.control(detail::snap(organisation, number, payload));
            }
            Network::Ppp(number) => self.control(detail::ppp(number, payload)),
            Network::Wifi(kind, subtype) => {
                (self.protocol, self.detail) = ("802.11", Detail::Wifi(kind, subtype));
                // Clear to send and acknowledgement name the receiver only.
                let has_src = !matches!((kind, subtype), (1, 12 | 13));
                if self.missing > 0 && (self.dst.is_none() || has_src && self.src.is_none()) {
                    self.flaw = Some(Flaw::Cut);
                }
            }
            Network::Unknown if matches!(self.link.tags().last(), Some(Tag::Mpls(_))) => {
                self.pseudowire(payload);
            }
            Network::Unknown if self.missing > 0 => self.flaw = Some(Flaw::Cut),
            Network::Unknown => {}
        }
    }

    /// Fills in what stands behind labels and is no packet of IP.
    fn pseudowire(&mut self, bytes: &'a [u8]) {
        let sent = bytes.len() + self.missing;
        match Pseudowire::guess(bytes, sent) {
            Guess::Known(pseudowire) => {
                (self.protocol, self.detail) = ("pseudowire", Detail::Pseudowire(pseudowire));
                self.set_len(sent);
                if let Some(header_len) = pseudowire.header_len() {
                    self.carries(Kind::Ethertype(TRANSPARENT_ETHERNET), header_len, &bytes[header_len..]);
                }
            }
            Guess::Cut => self.flaw = Some(Flaw::Cut),
            Guess::Unknown => {}
        }
    }

    /// Fills in a network service header, and what is behind it.
    fn nsh(&mut self, bytes: &'a [u8]) {
        self.protocol = "nsh";
        let sent = bytes.len() + self.missing;
        self.set_len(sent);
        if Nsh::is_of_other_version(bytes) {
            self.flaw = Some(BAD_VERSION);
            return;
        }
        let Some(nsh) = Nsh::read(bytes) else {
            self.ends_within_header(bytes.len(), sent);
            return;
        };
        self.detail = Detail::Nsh(nsh);
        match (nsh.header_len().filter(|&len| len <= sent), nsh.ethertype()) {
            (None, _) => self.flaw = Some(BAD_HEADER_LENGTH),
            (Some(len), Some(ethertype)) => {
                self.carries(Kind::Ethertype(ethertype), len, bytes.get(len..).unwrap_or_default());
            }
            (Some(len), None) if bytes.len() < len => self.flaw = Some(Flaw::Cut),
            (Some(_), None) => {}
        }
    }

    /// Fills in what the link carries that is no packet of IP, but says something of itself.
    fn control(&mut self, (name, detail): (&'static str, Detail<'a>)) {
        (self.protocol, self.detail) = (name, detail);
        let captured = self.link.payload.len();
        self.tell_of_cut_detail(captured, captured + self.missing);
    }

    fn ipv4(&mut self, bytes: &'a [u8]) {
        self.protocol = "ip";
        let Some(ip) = Ipv4::new(bytes) else {
            self.flaw = Some(match bytes.first() {
                Some(first) if first >> 4 != 4 => BAD_VERSION,
                Some(first) if first & 15 < 5 => BAD_HEADER_LENGTH,
                _ => self.short_header(),
            });
            return;
        };
        let packet = IpPacket::from(ip);
        self.fragment = packet.fragment;
        // Offloaded segments state no length; then they go as far as the frame.
        let stated = match ip.total_len() {
            0 => Some((bytes.len() + self.missing).saturating_sub(ip.header_len())),
            _ => ip.payload_len(),
        };
        if stated.is_none() || usize::from(ip.total_len()) > bytes.len() + self.missing {
            self.flaw = Some(BAD_LENGTH);
        }
        self.set_len(stated.unwrap_or(0));
        self.transport(packet.src, packet.dst, packet.protocol, packet.payload);
    }

    fn ipv6(&mut self, bytes: &'a [u8]) {
        self.protocol = "ip6";
        let Some(ip) = Ipv6::new(bytes) else {
            self.flaw = Some(match bytes.first() {
                Some(first) if first >> 4 != 6 => BAD_VERSION,
                _ => self.short_header(),
            });
            return;
        };
        let packet = IpPacket::from(ip);
        (self.fragment, self.route) = (packet.fragment, ip.route());
        let stated = match usize::from(ip.payload_len()) {
            // Behind this header nothing can be.
            0 if ip.next_header() == protocol::NO_NEXT => 0,
            0 => ip.jumbo_len().map_or(ip.payload().len() + self.missing, |len| len as usize),
            stated => stated,
        };
        if Ipv6::LEN + stated > bytes.len() + self.missing {
            self.flaw = Some(BAD_LENGTH);
        }
        let (number, headers_len) = match self.authenticated_v6(&ip) {
            Ok(()) => (packet.protocol, packet.headers_len - Ipv6::LEN),
            Err(headers_len) => (protocol::AH, headers_len),
        };
        self.set_len(stated.saturating_sub(headers_len));
        let payload = &ip.payload()[headers_len..];
        // Of an authentication header, what was captured of it says something.
        let payload = if packet.is_cut && number != protocol::AH { &[] } else { payload };
        self.transport(packet.src, packet.dst, number, payload);
        if packet.is_cut {
            self.ends_within_header(ip.payload().len(), stated);
        }
    }

    /// Notes the first authentication header among the extension headers. Of one that is shorter than any, where it begins: then nobody can
    /// tell where it ends.
    fn authenticated_v6(&mut self, ip: &Ipv6<'_>) -> Result<(), usize> {
        if let Some(extension) = ip.extensions().find(|extension| extension.kind == protocol::AH) {
            let ah = detail::Ah::read(extension.bytes).ok_or(extension.off - Ipv6::LEN)?;
            self.authenticated = Some((ah.spi, ah.seq));
        }
        Ok(())
    }

    /// Fills in what IP carries. Only a first fragment starts with a transport header.
    fn transport(&mut self, src: IpAddr, dst: IpAddr, number: u8, payload: &'a [u8]) {
        (self.src, self.dst) = (Some(Endpoint::Ip(src)), Some(Endpoint::Ip(dst)));
        match protocol_name(number) {
            Some(name) => self.protocol = name,
            None => self.detail = Detail::IpProtocol(number),
        }
        if self.fragment.is_some_and(|fragment| fragment.off != 0) {
            return;
        }
        let stated = self.len as usize;
        if number == protocol::AH
            && let Some((ah, rest)) = self.authentication(payload, stated)
        {
            self.authenticated = Some((ah.spi, ah.seq));
            self.protocol = "ip";
            self.set_len(stated - ah.len);
            return self.transport(src, dst, ah.next, rest);
        }
        // Ports are there before a header is whole, and a filter sees them.
        if let Some((src_port, dst_port)) = ports(number, payload) {
            self.src = Some(Endpoint::Socket((src, src_port).into()));
            self.dst = Some(Endpoint::Socket((dst, dst_port).into()));
        }
        if !self.header(number, payload, stated) {
            self.ends_within_header(payload.len(), stated);
        }
        self.tell_of_cut_detail(payload.len(), stated);
    }

    /// The authentication header that comes first, and what is behind it. Of a second one, which nobody sends, there is just a detail.
    fn authentication(&mut self, payload: &'a [u8], stated: usize) -> Option<(detail::Ah, &'a [u8])> {
        let ah = detail::Ah::read(payload).filter(|_| self.authenticated.is_none())?;
        if ah.len > stated || ah.len < detail::Ah::LEAST {
            self.flaw = Some(BAD_HEADER_LENGTH);
            return None;
        }
        let Some(rest) = payload.get(ah.len..) else {
            self.ends_within_header(payload.len(), stated);
            return None;
        };
        Some((ah, rest))
    }

    /// Fills in what a protocol over IP says of itself, and says whether its header is there.
    fn header(&mut self, number: u8, payload: &'a [u8], stated: usize) -> bool {
        match number {
            protocol::TCP => Tcp::new(payload).map(|tcp| self.tcp(&tcp, payload)).is_some(),
            protocol::UDP => Udp::new(payload).map(|udp| self.udp(&udp)).is_some(),
            protocol::ICMP | protocol::ICMPV6 => {
                if let Some(icmp) = IcmpDetail::read(number, payload) {
                    self.detail = Detail::Icmp(icmp);
                }
                payload.len() >= Icmp::LEN
            }
            protocol::IPIP | protocol::IPV6 => {
                self.tunnel(number, payload);
                true
            }
            protocol::GRE => {
                self.gre(payload);
                true
            }
            protocol::L2TP => {
                self.l2tp(payload, stated);
                true
            }
            protocol::DCCP => payload.len() >= DCCP_LEN,
            protocol::UDPLITE => payload.len() >= Udp::LEN,
            _ => {
                if let Some(detail) = detail::of_protocol(number, payload, stated) {
                    self.detail = detail;
                }
                true
            }
        }
    }

    fn tcp(&mut self, tcp: &Tcp<'a>, segment: &[u8]) {
        let header_len = tcp.header_len();
        let options = segment.get(Tcp::LEN..header_len.min(segment.len())).unwrap_or_default();
        let detail = TcpDetail::read(tcp, options, header_len.saturating_sub(Tcp::LEN));
        self.detail = Detail::Tcp(detail);
        let is_cut = segment.len() < self.len as usize && self.missing > 0;
        if !(Tcp::LEN..=self.len as usize).contains(&header_len) {
            self.flaw = self.flaw.or(Some(BAD_HEADER_LENGTH));
        } else if segment.len() < header_len && !(is_cut && detail.has_all_options) {
            self.ends_within_header(segment.len(), self.len as usize);
        }
        self.len = self.len.saturating_sub(tcp.header_len() as u32);
        let payload = up_to(tcp.payload(), self.len);
        let (ports, sent) = ([tcp.src_port(), tcp.dst_port()], self.len as usize);
        self.app = App::of_tcp(ports, payload, sent);
        self.tell_of_cut_app(payload.len(), App::least_of_tcp(ports, payload, sent));
    }

    fn udp(&mut self, udp: &Udp<'a>) {
        // A jumbogram has no room to say how long it is (RFC 2675, 4).
        let len = match udp.len() {
            0 if self.len > u16::MAX.into() => self.len,
            len => len.into(),
        };
        // The first of several fragments holds less than the datagram.
        let is_more = self.fragment.is_none() && len > self.len;
        if len < Udp::LEN as u32 || is_more {
            self.flaw = self.flaw.or(Some(BAD_LENGTH));
        }
        self.len = len.saturating_sub(Udp::LEN as u32);
        let payload = up_to(udp.payload(), self.len);
        let ports = [udp.src_port(), udp.dst_port()];
        self.app = App::of_udp(ports, payload, self.len as usize);
        if let (Some(App::L2tp(l2tp)), Some(_)) = (self.app, self.fragment) {
            self.app = Some(App::L2tp(l2tp.without_frame()));
        }
        self.tell_of_cut_app(payload.len(), App::least_of_udp(ports, payload));
        let sent = self.len as usize;
        if matches!(self.app, Some(App::L2tp(l2tp)) if l2tp.has_bad_length(sent)) {
            self.flaw = self.flaw.or(Some(BAD_LENGTH));
        }
        if let Some((kind, part)) = self.app.and_then(|app| app.carried(sent)) {
            let bytes = &payload[..part.end.min(payload.len())];
            self.carries_part(kind, part.len(), bytes.get(part.start..).unwrap_or_default());
        }
    }

    fn gre(&mut self, bytes: &'a [u8]) {
        let Some(mut detail) = GreDetail::read(bytes) else {
            self.detail = Detail::Short;
            return;
        };
        // Of other versions, and with a route, what is inside begins elsewhere.
        self.tunnel(protocol::GRE, bytes);
        // A packet that is shown says itself what it is.
        detail.is_shown_inside = self.inside.is_some();
        self.detail = Detail::Gre(detail);
    }

    /// Notes the packet that a tunnel directly over IP carries.
    fn tunnel(&mut self, number: u8, bytes: &'a [u8]) {
        let tunnel = Tunnel::of_protocol(number, bytes);
        if let Some((tunnel, kind)) = tunnel.and_then(|tunnel| Some((tunnel, tunnel.ethertype()?))) {
            self.carries(Kind::Ethertype(kind), tunnel.header_len(), &bytes[tunnel.header_len()..]);
        }
    }

    fn l2tp(&mut self, bytes: &'a [u8], sent: usize) {
        let Some(mut l2tp) = L2tp::read(bytes, sent) else {
            self.detail = Detail::Short;
            return;
        };
        // The first of several fragments is no whole frame.
        if let L2tp::Session { frame, is_whole, .. } = &mut l2tp
            && self.fragment.is_none()
        {
            match L2tp::frame(bytes, sent) {
                Guess::Known(at) => {
                    *frame = Some(at);
                    self.carries(Kind::Ethertype(TRANSPARENT_ETHERNET), at, &bytes[at..]);
                }
                Guess::Cut => *is_whole = false,
                Guess::Unknown => {}
            }
        }
        self.detail = Detail::L2tp(l2tp);
    }

    /// Notes the packet behind the header of a tunnel. What the first fragment of one holds is not all of it.
    fn carries(&mut self, kind: Kind, header_len: usize, bytes: &'a [u8]) {
        self.carries_part(kind, (self.len as usize).saturating_sub(header_len), bytes);
    }

    /// The same of a packet that has so many bytes.
    fn carries_part(&mut self, kind: Kind, len: usize, bytes: &'a [u8]) {
        if self.fragment.is_none() {
            let is_shown = Inside::is_shown(kind, self.depth);
            if is_shown && bytes.is_empty() {
                self.ends_within_message(0, len);
            } else if is_shown {
                self.inside = Some(Inside::new(kind, bytes, len as u32, self.depth));
            }
        }
    }

    /// Of what UDP or TCP carries, so many bytes were captured, and at least so many show what it is.
    fn tell_of_cut_app(&mut self, captured: usize, least: usize) {
        let sent = self.len as usize;
        if self.app.is_some_and(|app| app.has_bad_name()) {
            self.flaw = self.flaw.or(Some(BAD_NAME));
        }
        let is_whole = match self.app {
            Some(app) => app.is_whole(),
            None => captured >= least || sent < least,
        };
        if !is_whole {
            self.ends_within_message(captured, sent);
        }
    }

    /// The same as in [`ends_within_header`](Self::ends_within_header), of what there is a detail about.
    fn tell_of_cut_detail(&mut self, captured: usize, stated: usize) {
        match self.detail.extent() {
            Extent::Whole => {}
            Extent::Part => self.ends_within_message(captured, stated),
            Extent::Short => self.ends_within_header(captured, stated),
        }
    }

    fn arp(&mut self, kind: u16, bytes: &'a [u8]) {
        self.protocol = if kind == ethertype::ARP { "arp" } else { "rarp" };
        match Arp::new(bytes) {
            Some(arp) => {
                self.detail = Detail::Arp {
                    operation: arp.operation(),
                    sender: (arp.sender_mac(), arp.sender_ip()),
                    target: (arp.target_mac(), arp.target_ip()),
                };
            }
            None if bytes.len() < Arp::LEN => self.flaw = Some(self.short_header()),
            None => {}
        }
    }

    fn slarp(&mut self, bytes: &'a [u8]) {
        self.protocol = "slarp";
        match Slarp::read(bytes) {
            Some(slarp) => self.detail = Detail::Slarp(slarp),
            None => self.flaw = Some(self.short_header()),
        }
    }

    /// What it means that the capture ends within a header.
    fn short_header(&self) -> Flaw {
        if self.missing > 0 { Flaw::Cut } else { SHORT_HEADER }
    }

    /// Of the bytes that IP carries, so many were captured, and so many it states to carry: if these are all, the packet ends
    /// there, whatever was captured of what follows it.
    fn ends_within_header(&mut self, captured: usize, stated: usize) {
        let flaw = if captured < stated { self.short_header() } else { SHORT_HEADER };
        self.flaw = self.flaw.or(Some(flaw));
    }

    /// Of a message, so many bytes were captured, and so many were sent: if these are all, the sender left out the rest.
    fn ends_within_message(&mut self, captured: usize, sent: usize) {
        if captured < sent && self.missing > 0 {
            self.flaw = self.flaw.or(Some(Flaw::Cut));
        }
    }

    fn set_len(&mut self, len: usize) {
        self.len = u32::try_from(len).unwrap_or(u32::MAX);
    }
}

/// The first bytes, at most so many.
fn up_to(bytes: &[u8], len: u32) -> &[u8] {
    &bytes[..bytes.len().min(len as usize)]
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.link.interface {
            write!(f, "if {index} ")?;
        }
        if let Some(direction) = self.link.direction {
            write!(f, "{direction} ")?;
        }
        for tag in self.link.tags() {
            match tag {
                Tag::Vlan(id) => write!(f, "vlan {id} ")?,
                Tag::Mpls(label) => write!(f, "mpls {label} ")?,
                Tag::Pppoe(session) => write!(f, "pppoe {session} ")?,
                Tag::Macsec => f.write_str("macsec ")?,
                Tag::Amsdu => f.write_str("a-msdu ")?,
            }
        }
        match (self.src, self.dst) {
            (Some(src), Some(dst)) => write!(f, "{src} > {dst} ")?,
            (Some(src), None) => write!(f, "{src} ")?,
            (None, Some(dst)) => write!(f, "to {dst} ")?,
            (None, None) => {}
        }
        if let Some(Route { kind, segments_left, last }) = self.route {
            write!(f, "route type {kind} left {segments_left} ")?;
            if let Some(last) = last.filter(|_| segments_left > 0) {
                write!(f, "to {last} ")?;
            }
        }
        if let Some((spi, seq)) = self.authenticated {
            write!(f, "ah{} ", Detail::Ipsec(spi, seq))?;
        }
        f.write_str(self.protocol)?;
        self.detail.fmt(f)?;
        if let Some(app) = &self.app {
            write!(f, " {app}")?;
        }
        if let Some(fragment) = self.fragment {
            write!(f, " fragment {}{}", fragment.off, if fragment.has_more { "+" } else { "" })?;
        }
        if !matches!(self.detail, Detail::Arp { .. }) {
            write!(f, " len {}", self.len)?;
        }
        match self.flaw {
            None => {}
            Some(Flaw::Cut) => f.write_str(" cut")?,
            Some(Flaw::Malformed(what)) => write!(f, ", {what}")?,
        }
        self.inside.map_or(Ok(()), |inside| write!(f, ": {}", inside.summary()))
    }
}

#[cfg(test)]
mod tests;
