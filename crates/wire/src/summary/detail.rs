//! What a protocol says that belongs into one line, and how it reads.

use std::fmt;
use std::net::Ipv4Addr;

use super::icmp::IcmpDetail;
use super::igmp::Igmp;
use super::l2tp::L2tp;
use super::lacp::Lacp;
use super::lldp::Lldp;
use super::nsh::Nsh;
use super::pseudowire::Pseudowire;
use super::routing::Routing;
use super::sctp::Chunks;
use super::stp::Stp;
use super::tcp::TcpDetail;
use crate::bytes::{u8_at, u16_at, u32_at};
use crate::ether::{ethertype, ethertype_name};
use crate::ip::protocol;
use crate::link::macsec;
use crate::mac::Mac;
use crate::tunnel::Gre;

/// What a protocol says that belongs into one line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail<'a> {
    /// Nothing beyond its name.
    None,
    /// Nothing, as the header ends before what would be shown.
    Short,
    Tcp(TcpDetail),
    Icmp(IcmpDetail),
    Igmp(Igmp),
    Sctp(Chunks),
    Routing(Routing),
    Gre(GreDetail),
    Nsh(Nsh),
    L2tp(L2tp),
    Pseudowire(Pseudowire),
    /// Of an ESP or AH header: security parameters index and sequence number.
    Ipsec(u32, u32),
    /// Of an ARP or RARP message.
    Arp {
        operation: u16,
        sender: (Mac, Ipv4Addr),
        target: (Mac, Ipv4Addr),
    },
    Slarp(Slarp),
    Stp(Stp),
    Lldp(Lldp<'a>),
    Lacp(Lacp),
    /// The code of a PPPoE discovery packet.
    PppoeDiscovery(u8),
    /// An EtherType without a name.
    Ethertype(u16),
    /// An IP protocol without a name.
    IpProtocol(u8),
    /// 802.2 service access points: destination, source.
    Llc(u8, u8),
    /// 802.2 SNAP: organisation and its number for the protocol.
    Snap([u8; 3], u16),
    /// A PPP protocol number.
    Ppp(u16),
    /// An 802.11 type and subtype.
    Wifi(u8, u8),
}

/// How much was there of what a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All.
    Whole,
    /// The header, but not all of the message behind it.
    Part,
    /// Not all of the header.
    Short,
}

impl Detail<'_> {
    pub(super) fn extent(&self) -> Extent {
        let is_whole = match self {
            Detail::Short | Detail::Gre(GreDetail { is_whole: false, .. }) => return Extent::Short,
            Detail::Icmp(icmp) => icmp.is_whole,
            Detail::Igmp(igmp) => igmp.is_whole,
            Detail::Sctp(chunks) => chunks.is_whole,
            Detail::Lldp(lldp) => lldp.is_whole,
            Detail::Lacp(lacp) => lacp.is_whole,
            Detail::L2tp(l2tp) => l2tp.is_whole(),
            _ => true,
        };
        if is_whole { Extent::Whole } else { Extent::Part }
    }
}

/// A GRE header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GreDetail {
    /// The EtherType of what is inside.
    protocol: u16,
    key: Option<u32>,
    seq: Option<u32>,
    /// Whether what is inside has a line of its own.
    pub(super) is_shown_inside: bool,
    /// Whether all was there that its flags announce.
    is_whole: bool,
}

impl GreDetail {
    /// Reads a header of any version whose EtherType is there.
    pub(super) fn read(bytes: &[u8]) -> Option<GreDetail> {
        let gre = Gre::new(bytes);
        // With enough behind them, these flags make a header that can be read.
        let mut flags = [0; Gre::LEN_MAX];
        flags[..2].copy_from_slice(bytes.get(..2)?);
        Some(GreDetail {
            protocol: u16_at(bytes, 2)?,
            key: gre.and_then(|gre| gre.key()),
            seq: gre.and_then(|gre| gre.seq()),
            is_shown_inside: false,
            is_whole: gre.is_some() || Gre::new(&flags).is_none(),
        })
    }
}

/// Each with a space in front.
impl fmt::Display for GreDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ethertype_name(self.protocol) {
            _ if self.is_shown_inside => {}
            Some(name) => write!(f, " {name}")?,
            None => write!(f, " {:#06x}", self.protocol)?,
        }
        if let Some(key) = self.key {
            write!(f, " key {key:#x}")?;
        }
        self.seq.map_or(Ok(()), |seq| write!(f, " seq {seq}"))
    }
}

/// A message of Cisco's SLARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slarp {
    /// Asks for an address.
    Request,
    /// The sender's address and netmask.
    Reply { address: Ipv4Addr, mask: Ipv4Addr },
    /// Says that the line works: the sender's sequence number, and the last that it has seen of the other side.
    Keepalive { sent: u32, seen: u32 },
    /// A code without a meaning that is known.
    Other(u32),
}

/// With a space in front, or nothing.
impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Detail::None | Detail::Short => Ok(()),
            Detail::Tcp(tcp) => write!(f, " {tcp}"),
            Detail::Icmp(icmp) => write!(f, " {icmp}"),
            Detail::Igmp(igmp) => write!(f, " {igmp}"),
            Detail::Sctp(chunks) => chunks.fmt(f),
            Detail::Routing(routing) => routing.fmt(f),
            Detail::Stp(stp) => write!(f, " {stp}"),
            Detail::Lldp(lldp) => lldp.fmt(f),
            Detail::Lacp(lacp) => write!(f, " {lacp}"),
            Detail::PppoeDiscovery(code) => match pppoe_name(code) {
                Some(name) => write!(f, " {name}"),
                None => write!(f, " code {code:#04x}"),
            },
            Detail::Gre(gre) => gre.fmt(f),
            Detail::Nsh(nsh) => nsh.fmt(f),
            Detail::L2tp(l2tp) => l2tp.fmt(f),
            Detail::Pseudowire(pseudowire) => pseudowire.fmt(f),
            Detail::Ipsec(spi, seq) => write!(f, " spi {spi:#010x} seq {seq}"),
            Detail::Arp { operation, sender, target } => match operation {
                1 => write!(f, " who has {} tell {}", target.1, sender.1),
                2 => write!(f, " {} is at {}", sender.1, sender.0),
                3 => write!(f, " who is {} tell {}", target.0, sender.0),
                4 => write!(f, " {} is {}", target.0, target.1),
                other => write!(f, " operation {other}"),
            },
            Detail::Slarp(Slarp::Request) => f.write_str(" request"),
            Detail::Slarp(Slarp::Reply { address, mask }) => write!(f, " reply {address} mask {mask}"),
            Detail::Slarp(Slarp::Keepalive { sent, seen }) => write!(f, " keepalive seq {sent} seen {seen}"),
            Detail::Slarp(Slarp::Other(code)) => write!(f, " code {code}"),
            Detail::Ethertype(number) => write!(f, " {number:#06x}"),
            Detail::IpProtocol(number) => write!(f, " protocol {number}"),
            Detail::Llc(dsap, ssap) => write!(f, " dsap {dsap:#04x} ssap {ssap:#04x}"),
            Detail::Snap([a, b, c], number) => write!(f, " oui {a:02x}:{b:02x}:{c:02x} pid {number:#06x}"),
            Detail::Ppp(number) => match ppp_name(number) {
                Some(name) => write!(f, " {name}"),
                None => write!(f, " {number:#06x}"),
            },
            Detail::Wifi(kind, subtype) => match wifi_name(kind, subtype) {
                Some(name) => write!(f, " {name}"),
                None => write!(f, " type {kind} subtype {subtype}"),
            },
        }
    }
}

/// The protocol behind 802.2 service access points, and what else there is to say.
pub(super) fn llc(dsap: u8, ssap: u8, payload: &[u8]) -> (&'static str, Detail<'static>) {
    // ISO's protocols begin with their number (ISO/IEC TR 9577).
    let iso = match (dsap, payload.first()) {
        (0xfe, None) => return ("iso", Detail::Short),
        (0xfe, Some(0x81)) => Some("clnp"),
        (0xfe, Some(0x82)) => Some("esis"),
        (0xfe, Some(0x83)) => Some("isis"),
        _ => None,
    };
    // Novell's frames of 802.3 have no access points: what stands there are two bytes of IPX.
    if (dsap, ssap) == (0xff, 0xff) {
        return ("ipx", Detail::None);
    }
    let name = match dsap {
        0x42 => "stp",
        0xfe => "iso",
        0xe0 => "ipx",
        0xf0 => "netbeui",
        0xaa => "snap",
        _ => "llc",
    };
    match iso {
        Some(iso) => (iso, Detail::None),
        // An organisation of three bytes and a number of two would have been taken off.
        None if (dsap, ssap) == (0xaa, 0xaa) && payload.len() < 5 => (name, Detail::Short),
        None if dsap == 0x42 => (name, stp(payload)),
        None => (name, Detail::Llc(dsap, ssap)),
    }
}

fn stp(payload: &[u8]) -> Detail<'static> {
    Stp::read(payload).map_or(Detail::Short, Detail::Stp)
}

/// The protocol of an organisation, and what else there is to say.
pub(super) fn snap(organisation: [u8; 3], number: u16, payload: &[u8]) -> (&'static str, Detail<'static>) {
    let cisco = match (organisation, number) {
        ([0, 0, 0x0c], 0x2000) => "cdp",
        ([0, 0, 0x0c], 0x2003) => "vtp",
        ([0, 0, 0x0c], 0x2004) => "dtp",
        ([0, 0, 0x0c], 0x010b) => return ("pvst", stp(payload)),
        ([0, 0, 0x0c], 0x0111) => "udld",
        _ => return ("snap", Detail::Snap(organisation, number)),
    };
    (cisco, Detail::None)
}

/// A frame of PPP that is no packet. Of 0xff and nothing more, nobody can tell whether it is the address, which may stand in front.
pub(super) fn ppp(number: u16, payload: &[u8]) -> (&'static str, Detail<'static>) {
    let is_short = number == 0xff && payload.is_empty();
    ("ppp", if is_short { Detail::Short } else { Detail::Ppp(number) })
}

/// What matters of a protocol without a name, or one that has no more to say than this, by its EtherType.
pub(super) fn of_ethertype(ethertype: u16, payload: &[u8]) -> (&'static str, Detail<'_>) {
    let name = ethertype_name(ethertype);
    let detail = match ethertype {
        // A whole tag would have been taken off.
        ethertype::VLAN | ethertype::QINQ | ethertype::QINQ_OLD if payload.len() < 4 => Detail::Short,
        ethertype::MPLS | ethertype::MPLS_MULTICAST if payload.len() < 4 => Detail::Short,
        ethertype::PPPOE_SESSION if payload.len() < 8 => Detail::Short,
        ethertype::MACSEC if macsec::is_short(payload) => Detail::Short,
        _ if name.is_none() => Detail::Ethertype(ethertype),
        ethertype::LLDP => Detail::Lldp(Lldp::read(payload)),
        ethertype::SLOW if Lacp::is_short(payload) => Detail::Short,
        ethertype::SLOW => Lacp::read(payload).map_or(Detail::None, Detail::Lacp),
        ethertype::PPPOE_DISCOVERY => u8_at(payload, 1).map_or(Detail::Short, Detail::PppoeDiscovery),
        _ => Detail::None,
    };
    (name.unwrap_or("ethertype"), detail)
}

/// What matters of the header of a protocol over IP other than TCP, UDP and ICMP, if anything does. IP states to carry so many bytes.
pub(super) fn of_protocol(number: u8, payload: &[u8], stated: usize) -> Option<Detail<'static>> {
    let ipsec = |at| Some(Detail::Ipsec(u32_at(payload, at)?, u32_at(payload, at + 4)?));
    let detail = match number {
        protocol::ESP => ipsec(0),
        protocol::AH => ipsec(4),
        protocol::IGMP => Igmp::read(payload).map(Detail::Igmp),
        protocol::OSPF | protocol::PIM | protocol::VRRP => {
            Routing::read(number, payload).map(Detail::Routing)
        }
        protocol::SCTP => Chunks::read(payload, stated).map(Detail::Sctp),
        _ => return None,
    };
    Some(detail.unwrap_or(Detail::Short))
}

/// An AH header (RFC 4302, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ah {
    /// The protocol behind it.
    pub(super) next: u8,
    /// What it says its length is.
    pub(super) len: usize,
    pub(super) spi: u32,
    pub(super) seq: u32,
}

impl Ah {
    /// Its length without a value that authenticates anything.
    pub(super) const LEAST: usize = 12;

    pub(super) fn read(bytes: &[u8]) -> Option<Ah> {
        let (next, units) = (u8_at(bytes, 0)?, u8_at(bytes, 1)?);
        let len = (usize::from(units) + 2) * 4;
        Some(Ah { next, len, spi: u32_at(bytes, 4)?, seq: u32_at(bytes, 8)? })
    }
}

impl Slarp {
    /// Reads a message, if it is whole: a code, then address and mask, or the numbers of a keepalive.
    pub(super) fn read(bytes: &[u8]) -> Option<Slarp> {
        let (code, first, second) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?, u32_at(bytes, 8)?);
        Some(match code {
            0 => Slarp::Request,
            1 => Slarp::Reply { address: first.into(), mask: second.into() },
            2 => Slarp::Keepalive { sent: first, seen: second },
            other => Slarp::Other(other),
        })
    }
}

/// RFC 2516, 5.
fn pppoe_name(code: u8) -> Option<&'static str> {
    Some(match code {
        0x07 => "PADO",
        0x09 => "PADI",
        0x19 => "PADR",
        0x65 => "PADS",
        0xa7 => "PADT",
        _ => return None,
    })
}

/// PPP protocols that carry no packets of a network (IANA, PPP numbers).
fn ppp_name(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0023 => "osi",
        0x003d => "multilink",
        0x00fd => "compressed",
        0x8021 => "ipcp",
        0x8023 => "osicp",
        0x8057 => "ipv6cp",
        0x80fd => "ccp",
        0x8281 => "mplscp",
        0xc021 => "lcp",
        0xc023 => "pap",
        0xc025 => "lqr",
        0xc223 => "chap",
        _ => return None,
    })
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
