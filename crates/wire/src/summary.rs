//! A packet in one line.
//!
//! ```text
//! 192.0.2.1:40000 > 192.0.2.2:80 tcp SYN seq 1000 win 64240 len 0
//! vlan 7 [2001:db8::1]:5353 > [ff02::fb]:5353 udp len 45
//! 192.0.2.1 > 192.0.2.2 icmp echo request id 7 seq 1 len 64
//! 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff arp who has 192.0.2.2 tell 192.0.2.1
//! ```
//!
//! First the tags the packet wears, then who speaks to whom, the protocol, what matters about it, and the
//! length of what it carries (of the whole packet where that is unknown). `cut` at the end says that the
//! capture holds less of the headers than the line would show.
//!
//! Any bytes give a summary; there is no error and no panic.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::arp::Arp;
use crate::ether::{Mac, ethertype, ethertype_name};
use crate::ip::{Fragment, Ipv4, Ipv6, protocol, protocol_name};
use crate::link::{Link, Network, Tag, strip};
use crate::linktype::LinkType;
use crate::transport::{Icmp, Tcp, TcpFlags, Udp, icmp_name, icmpv6_name};

/// Who speaks or is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A hardware address.
    Mac(Mac),
    /// An address without a port.
    Ip(IpAddr),
    /// An address and a port.
    Socket(SocketAddr),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Mac(mac) => mac.fmt(f),
            Endpoint::Ip(ip) => ip.fmt(f),
            Endpoint::Socket(socket) => socket.fmt(f),
        }
    }
}

/// What a protocol says that belongs into one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing beyond its name.
    None,
    /// Of a TCP header.
    Tcp {
        /// Flags.
        flags: TcpFlags,
        /// Sequence number.
        seq: u32,
        /// Acknowledgement number, where the flag is set.
        ack: Option<u32>,
        /// Window, not scaled.
        window: u16,
    },
    /// Of an ICMP or ICMPv6 header.
    Icmp {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// What the type is called.
        name: Option<&'static str>,
        /// Identifier and sequence number of an echo.
        echo: Option<(u16, u16)>,
    },
    /// Of an ARP or RARP message.
    Arp {
        /// Operation.
        operation: u16,
        /// Sender's addresses.
        sender: (Mac, Ipv4Addr),
        /// Target's addresses.
        target: (Mac, Ipv4Addr),
    },
    /// An EtherType without a name.
    Ethertype(u16),
    /// An IP protocol without a name.
    IpProtocol(u8),
    /// 802.2 service access points: destination, source.
    Llc(u8, u8),
    /// A PPP protocol number.
    Ppp(u16),
    /// An 802.11 type and subtype.
    Wifi(u8, u8),
}

/// A packet, summarised. `Display` gives the line; the fields are there for other forms.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    link: Link<'a>,
    /// Who speaks.
    pub src: Option<Endpoint>,
    /// To whom.
    pub dst: Option<Endpoint>,
    /// The innermost protocol that was recognised, by its name in filters where it has one.
    pub protocol: &'static str,
    /// What it says.
    pub detail: Detail,
    /// The place of a fragment.
    pub fragment: Option<Fragment>,
    /// Bytes that the innermost protocol carries, or of the whole packet where it does not say.
    pub len: u32,
    /// Whether a header was not captured whole.
    pub is_cut: bool,
}

impl Summary<'_> {
    /// The tags between link and network header, outermost first.
    pub fn tags(&self) -> impl Iterator<Item = Tag> {
        self.link.tags()
    }
}

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
    let link = strip(linktype, bytes);
    let mut summary = Summary {
        src: link.src.map(Endpoint::Mac),
        dst: link.dst.map(Endpoint::Mac),
        protocol: linktype.name().unwrap_or("unknown link type"),
        detail: Detail::None,
        fragment: None,
        len: wire_len,
        is_cut: false,
        link,
    };
    let payload = summary.link.payload;
    match summary.link.network {
        Network::Ethertype(ethertype::IPV4) => summary.ipv4(payload),
        Network::Ethertype(ethertype::IPV6) => summary.ipv6(payload),
        Network::Ethertype(kind @ (ethertype::ARP | ethertype::RARP)) => summary.arp(kind, payload),
        Network::Ethertype(kind) => match ethertype_name(kind) {
            Some(name) => summary.protocol = name,
            None => (summary.protocol, summary.detail) = ("ethertype", Detail::Ethertype(kind)),
        },
        Network::Llc(dsap, ssap) => {
            (summary.protocol, summary.detail) = (llc_name(dsap), Detail::Llc(dsap, ssap));
        }
        Network::Ppp(number) => (summary.protocol, summary.detail) = ("ppp", Detail::Ppp(number)),
        Network::Wifi(kind, subtype) => {
            (summary.protocol, summary.detail) = ("802.11", Detail::Wifi(kind, subtype));
        }
        Network::Unknown => summary.is_cut = bytes.len() < wire_len as usize,
    }
    summary
}

impl<'a> Summary<'a> {
    fn ipv4(&mut self, bytes: &'a [u8]) {
        self.protocol = "ip";
        let Some(ip) = Ipv4::new(bytes) else {
            self.is_cut = true;
            return;
        };
        let has_more = ip.has_more_fragments();
        if has_more || ip.fragment_off() != 0 {
            self.fragment = Some(Fragment { off: ip.fragment_off(), has_more, id: 0 });
        }
        // Offloaded segments state no length; then the captured bytes are the best there is.
        let stated = if ip.total_len() == 0 { Some(ip.payload().len()) } else { ip.payload_len() };
        self.set_len(stated.unwrap_or(0));
        self.transport(ip.src().into(), ip.dst().into(), ip.protocol(), ip.payload());
    }

    fn ipv6(&mut self, bytes: &'a [u8]) {
        self.protocol = "ip6";
        let Some(ip) = Ipv6::new(bytes) else {
            self.is_cut = true;
            return;
        };
        let transport = ip.transport();
        self.fragment = transport.fragment;
        let stated = match usize::from(ip.payload_len()) {
            0 => ip.payload().len(),
            stated => stated,
        };
        self.set_len(stated.saturating_sub(transport.headers_len));
        self.transport(ip.src().into(), ip.dst().into(), transport.protocol, transport.payload);
        self.is_cut |= transport.is_cut;
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
        // Ports are there before a header is whole, and a filter sees them.
        if let (protocol::TCP | protocol::UDP | protocol::SCTP, Some(&[a, b, c, d])) =
            (number, payload.first_chunk())
        {
            self.set_ports((src, u16::from_be_bytes([a, b])), (dst, u16::from_be_bytes([c, d])));
        }
        let is_whole = match number {
            protocol::TCP => Tcp::new(payload).map(|tcp| self.tcp(tcp)),
            protocol::UDP => Udp::new(payload).map(|udp| self.udp(udp)),
            protocol::ICMP => Icmp::new(payload).map(|icmp| self.icmp(icmp, icmp_name(icmp.kind()), [8, 0])),
            protocol::ICMPV6 => {
                Icmp::new(payload).map(|icmp| self.icmp(icmp, icmpv6_name(icmp.kind()), [128, 129]))
            }
            _ => Some(()),
        };
        self.is_cut |= is_whole.is_none();
    }

    fn tcp(&mut self, tcp: Tcp<'_>) {
        let flags = tcp.flags();
        self.detail = Detail::Tcp {
            flags,
            seq: tcp.seq(),
            ack: flags.has_ack().then(|| tcp.ack()),
            window: tcp.window(),
        };
        self.len = self.len.saturating_sub(tcp.header_len() as u32);
    }

    fn udp(&mut self, udp: Udp<'_>) {
        self.len = u32::from(udp.len()).saturating_sub(Udp::LEN as u32);
    }

    fn icmp(&mut self, icmp: Icmp<'_>, name: Option<&'static str>, echoes: [u8; 2]) {
        let echo = echoes.contains(&icmp.kind()).then(|| (icmp.id(), icmp.seq()));
        self.detail = Detail::Icmp { kind: icmp.kind(), code: icmp.code(), name, echo };
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
            None => self.is_cut = bytes.len() < Arp::LEN,
        }
    }

    fn set_ports(&mut self, src: (IpAddr, u16), dst: (IpAddr, u16)) {
        (self.src, self.dst) = (Some(Endpoint::Socket(src.into())), Some(Endpoint::Socket(dst.into())));
    }

    fn set_len(&mut self, len: usize) {
        self.len = u32::try_from(len).unwrap_or(u32::MAX);
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tag in self.tags() {
            match tag {
                Tag::Vlan(id) => write!(f, "vlan {id} ")?,
                Tag::Mpls(label) => write!(f, "mpls {label} ")?,
                Tag::Pppoe(session) => write!(f, "pppoe {session} ")?,
            }
        }
        match (self.src, self.dst) {
            (Some(src), Some(dst)) => write!(f, "{src} > {dst} ")?,
            (Some(src), None) => write!(f, "{src} ")?,
            (None, Some(dst)) => write!(f, "> {dst} ")?,
            (None, None) => {}
        }
        f.write_str(self.protocol)?;
        self.detail.fmt(f)?;
        if let Some(fragment) = self.fragment {
            write!(f, " fragment {}{}", fragment.off, if fragment.has_more { "+" } else { "" })?;
        }
        if !matches!(self.detail, Detail::Arp { .. }) {
            write!(f, " len {}", self.len)?;
        }
        if self.is_cut { f.write_str(" cut") } else { Ok(()) }
    }
}

/// With a space in front, or nothing.
impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Detail::None => Ok(()),
            Detail::Tcp { flags, seq, ack, window } => {
                write!(f, " {flags} seq {seq}")?;
                if let Some(ack) = ack {
                    write!(f, " ack {ack}")?;
                }
                write!(f, " win {window}")
            }
            Detail::Icmp { kind, code, name, echo } => {
                match name {
                    Some(name) => write!(f, " {name}")?,
                    None => write!(f, " type {kind}")?,
                }
                match echo {
                    Some((id, seq)) => write!(f, " id {id} seq {seq}"),
                    None if code != 0 => write!(f, " code {code}"),
                    None => Ok(()),
                }
            }
            Detail::Arp { operation, sender, target } => match operation {
                1 => write!(f, " who has {} tell {}", target.1, sender.1),
                2 => write!(f, " {} is at {}", sender.1, sender.0),
                3 => write!(f, " who is {} tell {}", target.0, sender.0),
                4 => write!(f, " {} is {}", target.0, target.1),
                other => write!(f, " operation {other}"),
            },
            Detail::Ethertype(number) => write!(f, " {number:#06x}"),
            Detail::IpProtocol(number) => write!(f, " protocol {number}"),
            Detail::Llc(dsap, ssap) => write!(f, " dsap {dsap:#04x} ssap {ssap:#04x}"),
            Detail::Ppp(number) => write!(f, " {number:#06x}"),
            Detail::Wifi(kind, subtype) => match wifi_name(kind, subtype) {
                Some(name) => write!(f, " {name}"),
                None => write!(f, " type {kind} subtype {subtype}"),
            },
        }
    }
}

fn llc_name(dsap: u8) -> &'static str {
    match dsap {
        0x42 => "stp",
        0xfe => "iso",
        0xe0 => "ipx",
        0xf0 => "netbeui",
        0xaa => "snap",
        _ => "llc",
    }
}

fn wifi_name(kind: u8, subtype: u8) -> Option<&'static str> {
    const MANAGEMENT: [&str; 14] = [
        "assoc-req",
        "assoc-resp",
        "reassoc-req",
        "reassoc-resp",
        "probe-req",
        "probe-resp",
        "",
        "",
        "beacon",
        "atim",
        "disassoc",
        "auth",
        "deauth",
        "action",
    ];
    const CONTROL: [&str; 8] =
        ["block-ack-req", "block-ack", "ps-poll", "rts", "cts", "ack", "cf-end", "cf-end-ack"];
    match kind {
        0 => MANAGEMENT.get(usize::from(subtype)).copied(),
        1 => CONTROL.get(usize::from(subtype).checked_sub(8)?).copied(),
        2 if subtype & 4 != 0 => Some("null"),
        2 => Some("encrypted data"),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
