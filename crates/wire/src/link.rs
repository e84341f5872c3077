//! The link layer of a packet: what it carries, and what stands before it.
//!
//! One function, [`strip`], takes any link type it knows down to an EtherType and a payload, over VLAN tags,
//! PPPoE and MPLS labels, and notes what it passed.

pub(crate) mod macsec;
mod pseudo_header;
mod wifi;

use std::fmt;

use crate::bytes::{array_at, u8_at, u16_at, u32_at};
use crate::ether::{Ethernet, ethertype};
use crate::linktype::LinkType;
use crate::mac::Mac;
use crate::vlan::Vlan;

/// Tags that [`strip`] notes; what lies deeper is passed over without a note.
pub const TAGS_MAX: usize = 4;

/// Something between the link header and the network header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A VLAN, by its number.
    Vlan(u16),
    /// An MPLS label.
    Mpls(u32),
    /// A PPPoE session, by its number.
    Pppoe(u16),
    /// MACsec that authenticates and does not encrypt.
    Macsec,
    /// An A-MSDU of 802.11, of which this is the first frame.
    Amsdu,
}

/// What is inside the link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// A protocol with an EtherType, whatever the link calls it.
    Ethertype(u16),
    /// 802.2 LLC with this destination and source service access point.
    Llc(u8, u8),
    /// 802.2 SNAP with this organisation and its number for the protocol.
    Snap([u8; 3], u16),
    /// A PPP protocol without an EtherType.
    Ppp(u16),
    /// Cisco's SLARP, the address and keepalive protocol of its HDLC.
    Slarp,
    /// An IEEE 802.11 frame that carries no data: its type and subtype.
    Wifi(u8, u8),
    /// A link type we do not look into, or a header that was not captured whole.
    Unknown,
}

/// Which way a packet went, as seen from the machine that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To this machine.
    In,
    /// To all.
    Broadcast,
    /// To a group.
    Multicast,
    /// From one other machine to another.
    Promiscuous,
    /// From this machine.
    Out,
}

impl Direction {
    /// Packet types of Linux: LINKTYPE_LINUX_SLL.
    fn of_packet_type(number: u16) -> Option<Direction> {
        use Direction::{Broadcast, In, Multicast, Out, Promiscuous};
        [In, Broadcast, Multicast, Promiscuous, Out].get(usize::from(number)).copied()
    }
}

/// As tcpdump has it: `In`, `B`, `M`, `P`, `Out`.
impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::In => "In",
            Direction::Broadcast => "B",
            Direction::Multicast => "M",
            Direction::Promiscuous => "P",
            Direction::Out => "Out",
        })
    }
}

/// A packet's link layer.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Source hardware address, where the link has one of six bytes.
    pub src: Option<Mac>,
    /// Destination hardware address.
    pub dst: Option<Mac>,
    /// Which way it went, where the link says so.
    pub direction: Option<Direction>,
    /// The number of the interface that it was captured at, where the link says so.
    pub interface: Option<u32>,
    /// What is inside.
    pub network: Network,
    /// What was captured of that.
    pub payload: &'a [u8],
    tags: [Option<Tag>; TAGS_MAX],
}

impl<'a> Link<'a> {
    fn carrying(network: Network, payload: &'a [u8]) -> Link<'a> {
        Link {
            src: None,
            dst: None,
            direction: None,
            interface: None,
            network,
            payload,
            tags: [None; TAGS_MAX],
        }
    }

    /// The tags between link and network header, outermost first.
    pub fn tags(&self) -> impl Iterator<Item = Tag> {
        self.tags.into_iter().flatten()
    }

    /// Each tag is four bytes or more, so this ends.
    fn without_tags(mut self) -> Link<'a> {
        while let Some((tag, network, payload)) = next_tag(self.network, self.payload) {
            self.note(tag);
            (self.network, self.payload) = (network, payload);
        }
        self
    }

    fn note(&mut self, tag: Tag) {
        if let Some(free) = self.tags.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(tag);
        }
    }
}

/// Takes a packet's link header off, and the tags behind it.
#[must_use]
pub fn strip(linktype: LinkType, bytes: &[u8]) -> Link<'_> {
    header(linktype, bytes).unwrap_or(Link::carrying(Network::Unknown, bytes)).without_tags()
}

/// Bytes before what the link layer carries, VLAN tags among them; 0 where that is not known. Other tags, such as labels of MPLS, are behind it.
#[must_use]
pub fn header_len(linktype: LinkType, bytes: &[u8]) -> usize {
    let Some(mut link) = header(linktype, bytes) else { return 0 };
    while let Some((_, network, payload)) = next_vlan(link.network, link.payload) {
        (link.network, link.payload) = (network, payload);
    }
    link.payload.as_ptr().addr() - bytes.as_ptr().addr()
}

/// Takes the tags off a packet that has an EtherType and no link header, such as one in a tunnel.
#[must_use]
pub fn strip_tags(ethertype: u16, bytes: &[u8]) -> Link<'_> {
    Link::carrying(Network::Ethertype(ethertype), bytes).without_tags()
}

/// Takes a packet's link header off, and leaves tags where they are. `None` if it is not whole, or of a type that is not known.
pub(crate) fn header(linktype: LinkType, bytes: &[u8]) -> Option<Link<'_>> {
    Some(match linktype {
        LinkType::EN10MB => ethernet(bytes)?,
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Link::carrying(by_version(bytes)?, bytes),
        LinkType::NULL | LinkType::LOOP => Link::carrying(by_family(bytes)?, &bytes[4..]),
        LinkType::ENC => Link::carrying(by_version(bytes.get(12..)?)?, &bytes[12..]),
        LinkType::LINUX_SLL => {
            let direction = Direction::of_packet_type(u16_at(bytes, 0)?);
            Link { direction, ..cooked(bytes, 14, 16, 6)? }
        }
        LinkType::LINUX_SLL2 => {
            let direction = Direction::of_packet_type(u8_at(bytes, 10)?.into());
            Link { direction, interface: u32_at(bytes, 4), ..cooked(bytes, 0, 20, 12)? }
        }
        LinkType::PPP | LinkType::PPP_SERIAL => ppp(bytes)?,
        LinkType::PPP_PPPD | LinkType::PPP_WITH_DIR => {
            let direction = if u8_at(bytes, 0)? == 0 { Direction::In } else { Direction::Out };
            Link { direction: Some(direction), ..ppp(&bytes[1..])? }
        }
        LinkType::PPP_ETHER => tagged(ethertype::PPPOE_SESSION, bytes)?,
        LinkType::C_HDLC => cisco_hdlc(bytes)?,
        LinkType::FRELAY => frame_relay(bytes)?,
        LinkType::MPLS => tagged(ethertype::MPLS, bytes)?,
        LinkType::IEEE802_11 => wifi::wifi(bytes)?,
        LinkType::IEEE802_11_RADIO => wifi::radiotap(bytes)?,
        _ => pseudo_header::header(linktype, bytes)?,
    })
}

fn ethernet(bytes: &[u8]) -> Option<Link<'_>> {
    let header = Ethernet::new(bytes)?;
    let (network, payload) = ethernet_network(bytes)?;
    Some(Link { src: Some(header.src()), dst: Some(header.dst()), ..Link::carrying(network, payload) })
}

/// What an Ethernet frame carries.
#[inline]
pub(crate) fn ethernet_network(bytes: &[u8]) -> Option<(Network, &[u8])> {
    let header = Ethernet::new(bytes)?;
    Some(by_type_or_length(header.ethertype(), header.payload()))
}

/// A type field below [`ethertype::LEAST`] is a length, behind which LLC stands.
#[inline]
fn by_type_or_length(field: u16, payload: &[u8]) -> (Network, &[u8]) {
    match field {
        ..ethertype::LEAST => llc(payload),
        ethertype => (Network::Ethertype(ethertype), payload),
    }
}

/// 802.2 LLC; with a SNAP header of organisation zero an EtherType follows (RFC 1042).
fn llc(bytes: &[u8]) -> (Network, &[u8]) {
    match bytes {
        [0xaa, 0xaa, 3, 0, 0, 0, high, low, rest @ ..] => {
            (Network::Ethertype(u16::from_be_bytes([*high, *low])), rest)
        }
        [0xaa, 0xaa, 3, a, b, c, high, low, rest @ ..] => {
            (Network::Snap([*a, *b, *c], u16::from_be_bytes([*high, *low])), rest)
        }
        [dsap, ssap, _control, rest @ ..] => (Network::Llc(*dsap, *ssap), rest),
        _ => (Network::Unknown, bytes),
    }
}

fn by_version(bytes: &[u8]) -> Option<Network> {
    match u8_at(bytes, 0)? >> 4 {
        4 => Some(Network::Ethertype(ethertype::IPV4)),
        6 => Some(Network::Ethertype(ethertype::IPV6)),
        _ => None,
    }
}

/// The address family of a loopback header, in either byte order: AF_INET is 2 everywhere, AF_INET6 differs.
fn by_family(bytes: &[u8]) -> Option<Network> {
    let family = u32_at(bytes, 0)?;
    match family.min(family.swap_bytes()) {
        2 => Some(Network::Ethertype(ethertype::IPV4)),
        10 | 24 | 28 | 30 => Some(Network::Ethertype(ethertype::IPV6)),
        _ => Some(Network::Unknown),
    }
}

/// Linux cooked captures: a protocol field, a hardware address if it has six bytes, a fixed header.
fn cooked(bytes: &[u8], protocol_at: usize, header_len: usize, address_at: usize) -> Option<Link<'_>> {
    let payload = bytes.get(header_len..)?;
    let (network, payload) = match u16_at(bytes, protocol_at)? {
        // Frames of Novell's raw 802.3 and of 802.2 have these two numbers (linux/if_ether.h).
        1 => (Network::Unknown, payload),
        4 => llc(payload),
        ethertype => (Network::Ethertype(ethertype), payload),
    };
    // The length of the address stands before it: two bytes in version 1, one in version 2.
    let address_len = u8_at(bytes, address_at - 1)?;
    let src = if address_len == 6 { array_at(bytes, address_at).map(Mac) } else { None };
    Some(Link { src, ..Link::carrying(network, payload) })
}

/// PPP, with or without its address and control bytes, with a protocol of one or two bytes (RFC 1661, 2).
fn ppp(bytes: &[u8]) -> Option<Link<'_>> {
    let bytes = bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes);
    let (protocol, payload) = match u8_at(bytes, 0)? {
        short if short & 1 != 0 => (short.into(), &bytes[1..]),
        _ => (u16_at(bytes, 0)?, &bytes[2..]),
    };
    Some(Link::carrying(ppp_network(protocol), payload))
}

fn ppp_network(protocol: u16) -> Network {
    match protocol {
        0x0021 => Network::Ethertype(ethertype::IPV4),
        0x0057 => Network::Ethertype(ethertype::IPV6),
        0x0281 => Network::Ethertype(ethertype::MPLS),
        0x0283 => Network::Ethertype(ethertype::MPLS_MULTICAST),
        other => Network::Ppp(other),
    }
}

/// Address, control, and an EtherType; but 0x8035 is SLARP, and ISO's protocols stand behind the 802.2 header that the number looks like.
fn cisco_hdlc(bytes: &[u8]) -> Option<Link<'_>> {
    let (network, payload) = match u16_at(bytes, 2)? {
        0x8035 => (Network::Slarp, &bytes[4..]),
        0xfefe => llc(&bytes[2..]),
        ethertype => (Network::Ethertype(ethertype), &bytes[4..]),
    };
    Some(Link::carrying(network, payload))
}

/// Q.922 addresses end with a set low bit; after them the control byte and a network layer id (RFC 2427), or, as Cisco has it, an
/// EtherType. On the circuit of number 0 there is signalling.
fn frame_relay(bytes: &[u8]) -> Option<Link<'_>> {
    let address_len = bytes.iter().take(4).position(|byte| byte & 1 != 0)? + 1;
    let rest = &bytes[address_len..];
    let (network, payload) = match rest {
        [3, 0xcc, payload @ ..] => (Network::Ethertype(ethertype::IPV4), payload),
        [3, 0x8e, payload @ ..] => (Network::Ethertype(ethertype::IPV6), payload),
        // ISO's protocols begin with that byte, as they do after their access points in 802.2.
        [3, 0x81..=0x83, ..] => (Network::Llc(0xfe, 0xfe), &rest[1..]),
        [3, 0, 0x80, 0, 0, 0, high, low, payload @ ..] => {
            (Network::Ethertype(u16::from_be_bytes([*high, *low])), payload)
        }
        [high, low, payload @ ..] if *high != 3 && bytes[0] & 0xfc | bytes[1] & 0xf0 != 0 => {
            (Network::Ethertype(u16::from_be_bytes([*high, *low])), payload)
        }
        _ => (Network::Unknown, rest),
    };
    Some(Link::carrying(network, payload))
}

/// No link header: a tag comes first, which has to be whole.
fn tagged(ethertype: u16, bytes: &[u8]) -> Option<Link<'_>> {
    next_tag(Network::Ethertype(ethertype), bytes)?;
    Some(Link::carrying(Network::Ethertype(ethertype), bytes))
}

/// A VLAN tag: its number, what it carries and where that starts. `None` if none is announced, or one that is not whole.
#[inline]
pub(crate) fn next_vlan(network: Network, bytes: &[u8]) -> Option<(u16, Network, &[u8])> {
    let Network::Ethertype(ethertype) = network else { return None };
    let vlan = Vlan::new(bytes).filter(|_| Vlan::follows(ethertype))?;
    let (network, payload) = by_type_or_length(vlan.ethertype(), vlan.payload());
    Some((vlan.id(), network, payload))
}

/// The same of a tag of any kind.
#[inline]
pub(crate) fn next_tag(network: Network, bytes: &[u8]) -> Option<(Tag, Network, &[u8])> {
    match (next_vlan(network, bytes), network) {
        (Some((id, network, payload)), _) => Some((Tag::Vlan(id), network, payload)),
        (None, Network::Ethertype(ethertype)) if is_rare_tag(ethertype) => next_rare_tag(ethertype, bytes),
        _ => None,
    }
}

/// Whether a tag that is not a VLAN's follows this EtherType.
#[inline]
fn is_rare_tag(ethertype: u16) -> bool {
    use ethertype::{MACSEC, MPLS, MPLS_MULTICAST, PPPOE_SESSION};
    matches!(ethertype, MPLS | MPLS_MULTICAST | MACSEC | PPPOE_SESSION)
}

/// Whether a tag follows, whole or not.
#[inline]
pub(crate) fn has_tag(network: Network) -> bool {
    matches!(network, Network::Ethertype(ethertype) if Vlan::follows(ethertype) || is_rare_tag(ethertype))
}

/// The same of a tag that is not a VLAN's.
fn next_rare_tag(ethertype: u16, bytes: &[u8]) -> Option<(Tag, Network, &[u8])> {
    match ethertype {
        ethertype::MPLS | ethertype::MPLS_MULTICAST => {
            let entry = u32_at(bytes, 0)?;
            let payload = &bytes[4..];
            let is_bottom = entry & 0x100 != 0;
            let network = if is_bottom {
                by_version(payload).unwrap_or(Network::Unknown)
            } else {
                Network::Ethertype(ethertype)
            };
            Some((Tag::Mpls(entry >> 12), network, payload))
        }
        ethertype::MACSEC => {
            let (network, payload) = macsec::payload(bytes)?;
            Some((Tag::Macsec, network, payload))
        }
        ethertype::PPPOE_SESSION => {
            let session = u16_at(bytes, 2)?;
            let inner = ppp(bytes.get(6..)?)?;
            Some((Tag::Pppoe(session), inner.network, inner.payload))
        }
        _ => None,
    }
}
