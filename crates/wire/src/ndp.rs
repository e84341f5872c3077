//! Neighbour discovery of IPv6 over Ethernet: solicitations and advertisements (RFC 4861, 4.3 and 4.4).
//!
//! ```text
//! ICMPv6 type code checksum │ R S O flags │ target address │ options: type, length in 8 bytes, value
//! ```
//!
//! [`Neighbour::parse`] takes a packet only if it keeps every rule of RFC 4861, 7.1; what breaks one
//! is to be dropped, and [`NdpError`] says which. Router discovery and redirects are not looked into.
//!
//! ```
//! use wire::Mac;
//! use wire::ip::Ipv6;
//! use wire::ndp::{self, Neighbour, Solicitation};
//! let (here, there) = ("fe80::1".parse().unwrap(), "fe80::2".parse().unwrap());
//! let mac = Mac([2, 0, 0, 0, 0, 1]);
//! let question = Solicitation { target: there, source_mac: Some(mac) };
//! let mut packet = [0; ndp::PACKET_LEN_MAX];
//! let len = question.write_packet(here, ndp::solicited_node(there), &mut packet).unwrap();
//!
//! let ip = Ipv6::new(&packet[..len]).unwrap();
//! assert_eq!(Neighbour::parse(&ip), Ok(Neighbour::Solicitation(question)));
//! assert_eq!(Mac::of_ipv6_multicast(ip.dst()).to_string(), "33:33:ff:00:00:02");
//! ```

use std::fmt;
use std::net::Ipv6Addr;

use crate::bytes::{array_at, put, u8_at};
use crate::checksum::Addresses;
use crate::ip::{Ipv6, Ipv6Header, protocol};
use crate::mac::Mac;
use crate::transport::{Icmp, icmp_kind};

/// Length of a message without options.
pub const MESSAGE_LEN: usize = 24;
/// Length of the longest message that is written: with one hardware address.
pub const MESSAGE_LEN_MAX: usize = MESSAGE_LEN + LINK_OPTION_LEN;
/// Length of the longest packet that is written.
pub const PACKET_LEN_MAX: usize = Ipv6::LEN + MESSAGE_LEN_MAX;

/// The hop limit that no packet from beyond the link can have.
const HOP_LIMIT: u8 = 255;
/// A hardware address of six bytes fills an option of eight (RFC 2464, 6).
const LINK_OPTION_LEN: usize = 8;
const SOURCE_LINK_OPTION: u8 = 1;
const TARGET_LINK_OPTION: u8 = 2;

/// The group in which who has this address is asked for (RFC 4291, 2.7.1).
///
/// ```
/// let group = wire::ndp::solicited_node("2001:db8::12:3456".parse().unwrap());
/// assert_eq!(group.to_string(), "ff02::1:ff12:3456");
/// ```
#[must_use]
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// A message between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Who has this address?
    Solicitation(Solicitation),
    /// Who has it says so.
    Advertisement(Advertisement),
}

/// Asks who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// The address.
    pub target: Ipv6Addr,
    /// The hardware address of who asks; none while it probes for a duplicate of its own address.
    pub source_mac: Option<Mac>,
}

/// Says who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The address.
    pub target: Ipv6Addr,
    /// Its hardware address.
    pub target_mac: Option<Mac>,
    /// What the sender is.
    pub sender: Sender,
    /// Whether it answers a solicitation.
    pub is_solicited: bool,
    /// Whether it replaces what the receiver knew.
    pub is_override: bool,
}

/// What a node does with packets that are not for it (RFC 4861, 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Forwards none.
    Host,
    /// Forwards them.
    Router,
}

impl Neighbour {
    /// Reads what a packet carries, if it is such a message and keeps the rules of RFC 4861, 7.1.1 and 7.1.2.
    ///
    /// # Errors
    /// [`NdpError::Other`] if it is something else, or the first rule it breaks.
    pub fn parse(ip: &Ipv6<'_>) -> Result<Neighbour, NdpError> {
        let message = checked_message(ip)?;
        let target = Ipv6Addr::from(array_at::<16>(message, 8).ok_or(NdpError::Length)?);
        if target.is_multicast() {
            return Err(NdpError::MulticastTarget);
        }
        let options = LinkOptions::parse(&message[MESSAGE_LEN..])?;
        if message[0] == icmp_kind::NEIGHBOUR_SOLICITATION {
            check_probe(ip, options.source)?;
            Ok(Neighbour::Solicitation(Solicitation { target, source_mac: options.source }))
        } else {
            let flags = message[4];
            let is_solicited = flags & 0x40 != 0;
            if is_solicited && ip.dst().is_multicast() {
                return Err(NdpError::SolicitedMulticast);
            }
            Ok(Neighbour::Advertisement(Advertisement {
                target,
                target_mac: options.target,
                sender: if flags & 0x80 != 0 { Sender::Router } else { Sender::Host },
                is_solicited,
                is_override: flags & 0x20 != 0,
            }))
        }
    }
}

impl Solicitation {
    /// Writes the ICMPv6 message, with its checksum between these addresses, and returns its length. `None`, and
    /// no change, if there is less room than that: [`MESSAGE_LEN_MAX`] always suffices.
    #[must_use = "nothing was written if there is no room"]
    pub fn write(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut [u8]) -> Option<usize> {
        let start = message_start(icmp_kind::NEIGHBOUR_SOLICITATION, 0, self.target);
        write_message(&start, (SOURCE_LINK_OPTION, self.source_mac), (src, dst), out)
    }

    /// Writes the packet, IPv6 header and message, and returns its length. `None`, and no change, if there is less
    /// room than that: [`PACKET_LEN_MAX`] always suffices.
    #[must_use = "nothing was written if there is no room"]
    pub fn write_packet(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut [u8]) -> Option<usize> {
        let (header, message) = out.split_at_mut_checked(Ipv6::LEN)?;
        write_header(header, self.write(src, dst, message)?, src, dst)
    }
}

impl Advertisement {
    /// The answer of `sender` to a solicitation from someone with an address: `target` is at `mac`.
    #[must_use]
    pub fn answer(target: Ipv6Addr, mac: Mac, sender: Sender) -> Advertisement {
        Advertisement { target, target_mac: Some(mac), sender, is_solicited: true, is_override: true }
    }

    /// Writes the ICMPv6 message, with its checksum between these addresses, and returns its length. `None`, and
    /// no change, if there is less room than that: [`MESSAGE_LEN_MAX`] always suffices.
    #[must_use = "nothing was written if there is no room"]
    pub fn write(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut [u8]) -> Option<usize> {
        let flags = u8::from(self.sender == Sender::Router) << 7
            | u8::from(self.is_solicited) << 6
            | u8::from(self.is_override) << 5;
        let start = message_start(icmp_kind::NEIGHBOUR_ADVERTISEMENT, flags, self.target);
        write_message(&start, (TARGET_LINK_OPTION, self.target_mac), (src, dst), out)
    }

    /// Writes the packet, IPv6 header and message, and returns its length. `None`, and no change, if there is less
    /// room than that: [`PACKET_LEN_MAX`] always suffices.
    #[must_use = "nothing was written if there is no room"]
    pub fn write_packet(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut [u8]) -> Option<usize> {
        let (header, message) = out.split_at_mut_checked(Ipv6::LEN)?;
        write_header(header, self.write(src, dst, message)?, src, dst)
    }
}

/// Why a packet is no message between neighbours that may be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NdpError {
    /// It is something else.
    Other,
    /// It may come from beyond the link.
    HopLimit(u8),
    /// It came in fragments, of which this is the first (RFC 6980, 5). What a later one is part of cannot be told.
    Fragmented,
    /// The code is not 0.
    Code(u8),
    /// It is too short, or was not captured whole.
    Length,
    /// The checksum is wrong.
    Checksum,
    /// It is about a group.
    MulticastTarget,
    /// An option has no length, or one that leads past the end.
    Option,
    /// An option holds no hardware address of six bytes.
    LinkAddress,
    /// A probe for a duplicate, which comes from no address, goes elsewhere than to a solicited-node group.
    ProbeDestination,
    /// A probe for a duplicate states a hardware address.
    ProbeLinkAddress,
    /// It answers a solicitation, but goes to a group.
    SolicitedMulticast,
}

impl fmt::Display for NdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NdpError::Other => "no neighbour solicitation or advertisement",
            NdpError::HopLimit(limit) => {
                return write!(f, "hop limit {limit}, not 255: it may come from beyond the link");
            }
            NdpError::Fragmented => "neighbour message in a fragment",
            NdpError::Code(code) => return write!(f, "neighbour message with code {code}, not 0"),
            NdpError::Length => "neighbour message of less than 24 bytes, or not captured whole",
            NdpError::Checksum => "neighbour message with a wrong checksum",
            NdpError::MulticastTarget => "neighbour message about a multicast address",
            NdpError::Option => "neighbour message with an option of length 0 or past its end",
            NdpError::LinkAddress => "neighbour message with a hardware address that is not of six bytes",
            NdpError::ProbeDestination => {
                "neighbour solicitation from no address, but not to a solicited-node group"
            }
            NdpError::ProbeLinkAddress => {
                "neighbour solicitation from no address, but with a hardware address"
            }
            NdpError::SolicitedMulticast => "solicited neighbour advertisement to a multicast address",
        })
    }
}

impl std::error::Error for NdpError {}

/// The message, if it keeps the rules that both kinds share.
fn checked_message<'a>(ip: &Ipv6<'a>) -> Result<&'a [u8], NdpError> {
    let transport = ip.transport();
    let kind = u8_at(transport.payload, 0).ok_or(NdpError::Other)?;
    let is_ours = matches!(kind, icmp_kind::NEIGHBOUR_SOLICITATION | icmp_kind::NEIGHBOUR_ADVERTISEMENT);
    // In a later fragment, the first byte is anything.
    if transport.protocol != protocol::ICMPV6 || transport.is_later_fragment() || !is_ours {
        return Err(NdpError::Other);
    }
    let icmp = Icmp::new(transport.payload).ok_or(NdpError::Length)?;
    let is_whole = ip.payload().len() == usize::from(ip.payload_len());
    match () {
        () if ip.hop_limit() != HOP_LIMIT => Err(NdpError::HopLimit(ip.hop_limit())),
        () if transport.fragment.is_some() => Err(NdpError::Fragmented),
        () if icmp.code() != 0 => Err(NdpError::Code(icmp.code())),
        () if transport.payload.len() < MESSAGE_LEN || !is_whole => Err(NdpError::Length),
        () if !icmp.is_checksum_right(ip.addresses()) => Err(NdpError::Checksum),
        () => Ok(transport.payload),
    }
}

/// The rules for a solicitation from the unspecified address.
fn check_probe(ip: &Ipv6<'_>, source: Option<Mac>) -> Result<(), NdpError> {
    let is_to_node_group = ip.dst() == solicited_node(ip.dst());
    match (ip.src().is_unspecified(), source) {
        (true, _) if !is_to_node_group => Err(NdpError::ProbeDestination),
        (true, Some(_)) => Err(NdpError::ProbeLinkAddress),
        _ => Ok(()),
    }
}

/// The hardware addresses among the options. Where one is stated twice, the first counts.
#[derive(Default)]
struct LinkOptions {
    source: Option<Mac>,
    target: Option<Mac>,
}

impl LinkOptions {
    fn parse(mut options: &[u8]) -> Result<LinkOptions, NdpError> {
        let mut found = LinkOptions::default();
        // Every option takes eight bytes or more, so this ends.
        while let Some(kind) = u8_at(options, 0) {
            let len = usize::from(u8_at(options, 1).ok_or(NdpError::Option)?) * 8;
            let (option, rest) = options.split_at_checked(len).filter(|_| len > 0).ok_or(NdpError::Option)?;
            match kind {
                SOURCE_LINK_OPTION => found.source = found.source.or(Some(link_address(option)?)),
                TARGET_LINK_OPTION => found.target = found.target.or(Some(link_address(option)?)),
                _ => {}
            }
            options = rest;
        }
        Ok(found)
    }
}

fn link_address(option: &[u8]) -> Result<Mac, NdpError> {
    let is_of_six_bytes = option.len() == LINK_OPTION_LEN;
    array_at(option, 2).filter(|_| is_of_six_bytes).map(Mac).ok_or(NdpError::LinkAddress)
}

fn message_start(kind: u8, flags: u8, target: Ipv6Addr) -> [u8; MESSAGE_LEN] {
    let mut start = [0; MESSAGE_LEN];
    (start[0], start[4]) = (kind, flags);
    put(&mut start, 8, target.octets());
    start
}

fn write_message(
    start: &[u8; MESSAGE_LEN],
    (kind, mac): (u8, Option<Mac>),
    (src, dst): (Ipv6Addr, Ipv6Addr),
    out: &mut [u8],
) -> Option<usize> {
    let len = if mac.is_some() { MESSAGE_LEN_MAX } else { MESSAGE_LEN };
    let out = out.get_mut(..len)?;
    put(out, 0, *start);
    if let Some(mac) = mac {
        put(out, MESSAGE_LEN, [kind, (LINK_OPTION_LEN / 8) as u8]);
        put(out, MESSAGE_LEN + 2, mac.0);
    }
    let checksum = Addresses::V6 { src, dst }.checksum(protocol::ICMPV6, out);
    put(out, 2, checksum.to_be_bytes());
    Some(len)
}

fn write_header(out: &mut [u8], message_len: usize, src: Ipv6Addr, dst: Ipv6Addr) -> Option<usize> {
    let header = Ipv6Header::carrying(protocol::ICMPV6, message_len, src, dst)?;
    put(out, 0, Ipv6Header { hop_limit: HOP_LIMIT, ..header }.to_bytes());
    Some(Ipv6::LEN + message_len)
}

#[cfg(test)]
mod tests;
