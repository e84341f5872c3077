//! The ICMP errors of a router: about which packets, what they say, and how they are written.
//!
//! ```text
//! Ethernet │ IP: us -> the sender │ type, code, checksum, MTU │ the packet from its IP header on, as it came
//!                                                               as much as makes 576 bytes, or 1280 of IPv6
//! ```
//!
//! The quoted bytes have not been changed: a router finds out that a packet goes no further before it takes off a hop.

use crate::shared::host::is_host;
use engine::Packet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Addresses;
use wire::ether::{Ethernet, EthernetHeader, Mac, ethertype};
use wire::ip::{Ipv4, Ipv4Header, Ipv6, Ipv6Header, protocol};
use wire::transport::{Icmp, IcmpHeader, IcmpMut, icmp_kind, icmp_may_be_error, icmpv6_may_be_error};

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// No hop is left.
    TtlExceeded,
    /// No route leads to its destination.
    NoRoute,
    /// It is longer than this, and may not be cut.
    TooBig { mtu: u16 },
}

/// Length of an error at most (RFC 1812, 4.3.2.3), its IPv4 header included.
const LEN_MAX_V4: usize = 576;
/// Bytes of the longest error over IPv6 (RFC 4443, 2.4, c): every link carries them.
pub(super) const LEN_MAX_V6: usize = 1280;
/// Of what the packet carries, an error quotes at least this (RFC 792).
const QUOTE_LEN_MIN: usize = 8;
/// Internetwork control (RFC 1812, 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;

/// A packet whose sender may get an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    ether: Ethernet<'a>,
    src: IpAddr,
    header_len: usize,
    /// From the IP header on, without padding of the frame.
    packet: &'a [u8],
}

/// From whom an error comes, and the way it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) from: IpAddr,
    pub(super) mac: Mac,
    /// Longest packet on this way, if one knows.
    pub(super) mtu: usize,
}

impl<'a> Subject<'a> {
    /// `None` if no error may be sent about a frame: it came from no single host, from a group of the link, is a part of a packet
    /// other than the first, or may be an error itself (RFC 1122, 3.2.2; RFC 1812, 4.3.2.7; RFC 4443, 2.4, e). Frames for groups
    /// do not come so far.
    pub(super) fn new(frame: &'a [u8]) -> Option<Self> {
        let ether = Ethernet::new(frame)?;
        let (src, header_len, len, is_fine) = match ether.ethertype() {
            ethertype::IPV4 => {
                let ip = Ipv4::new(ether.payload())?;
                (ip.src().into(), ip.header_len(), ip.total_len().into(), may_be_told_v4(&ip))
            }
            ethertype::IPV6 => {
                let ip = Ipv6::new(ether.payload())?;
                let len = Ipv6::LEN + usize::from(ip.payload_len());
                (ip.src().into(), Ipv6::LEN, len, may_be_told_v6(&ip))
            }
            _ => return None,
        };
        let is_fine = is_fine && is_host(src) && !ether.src().is_multicast();
        let packet = ether.payload().get(..len)?;
        is_fine.then_some(Subject { ether, src, header_len, packet })
    }

    /// The sender of the packet.
    pub(super) fn src(&self) -> IpAddr {
        self.src
    }

    /// The sender of the frame.
    pub(super) fn src_mac(&self) -> Mac {
        self.ether.src()
    }

    /// Writes the frame that tells of an error into an empty packet. `None` if the way is of the other version.
    pub(super) fn write(&self, cause: Cause, way: Way, frame: &mut Packet) -> Option<()> {
        let header =
            EthernetHeader { dst: way.mac, src: self.ether.dst(), ethertype: self.ether.ethertype() };
        frame.append(&header.to_bytes()).ok()?;
        match (way.from, self.src) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.write_v4(cause.message_v4(), (from, to), way, frame),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.write_v6(cause.message_v6(), (from, to), frame),
            _ => None,
        }
    }

    fn write_v4(
        &self,
        message: IcmpHeader,
        (src, dst): (Ipv4Addr, Ipv4Addr),
        way: Way,
        frame: &mut Packet,
    ) -> Option<()> {
        let room = LEN_MAX_V4.min(way.mtu).saturating_sub(Ipv4::LEN + Icmp::LEN);
        let quote = self.quote(room.max(self.header_len + QUOTE_LEN_MIN));
        let header = Ipv4Header::carrying(protocol::ICMP, Icmp::LEN + quote.len(), src, dst)?;
        frame.append(&Ipv4Header { tos: PRECEDENCE, ..header }.to_bytes()).ok()?;
        write_message(message, quote, Addresses::V4 { src, dst }, frame)
    }

    fn write_v6(
        &self,
        message: IcmpHeader,
        (src, dst): (Ipv6Addr, Ipv6Addr),
        frame: &mut Packet,
    ) -> Option<()> {
        let quote = self.quote(LEN_MAX_V6 - Ipv6::LEN - Icmp::LEN);
        let header = Ipv6Header::carrying(protocol::ICMPV6, Icmp::LEN + quote.len(), src, dst)?;
        frame.append(&header.to_bytes()).ok()?;
        write_message(message, quote, Addresses::V6 { src, dst }, frame)
    }

    fn quote(&self, len_max: usize) -> &'a [u8] {
        &self.packet[..self.packet.len().min(len_max)]
    }
}

fn write_message(message: IcmpHeader, quote: &[u8], addresses: Addresses, frame: &mut Packet) -> Option<()> {
    let at = frame.len();
    frame.append(&message.to_bytes()).ok()?;
    frame.append(quote).ok()?;
    IcmpMut::new(&mut frame.data_mut()[at..])?.fill_checksum(addresses);
    Some(())
}

impl Cause {
    fn message_v4(self) -> IcmpHeader {
        match self {
            Cause::TtlExceeded => IcmpHeader { kind: icmp_kind::TIME_EXCEEDED, code: 0, rest: [0; 4] },
            // Network unreachable.
            Cause::NoRoute => IcmpHeader { kind: icmp_kind::UNREACHABLE, code: 0, rest: [0; 4] },
            // Fragmentation needed, and the length that needs none (RFC 1191, 4).
            Cause::TooBig { mtu } => {
                let [high, low] = mtu.to_be_bytes();
                IcmpHeader { kind: icmp_kind::UNREACHABLE, code: 4, rest: [0, 0, high, low] }
            }
        }
    }

    fn message_v6(self) -> IcmpHeader {
        match self {
            Cause::TtlExceeded => IcmpHeader { kind: icmp_kind::TIME_EXCEEDED_V6, code: 0, rest: [0; 4] },
            Cause::NoRoute => IcmpHeader { kind: icmp_kind::UNREACHABLE_V6, code: 0, rest: [0; 4] },
            Cause::TooBig { mtu } => {
                IcmpHeader { kind: icmp_kind::TOO_BIG_V6, code: 0, rest: u32::from(mtu).to_be_bytes() }
            }
        }
    }
}

fn may_be_told_v4(ip: &Ipv4<'_>) -> bool {
    let may_be_error = || ip.payload().first().is_none_or(|&kind| icmp_may_be_error(kind));
    ip.fragment_off() == 0 && !(ip.protocol() == protocol::ICMP && may_be_error())
}

/// Errors about later fragments are allowed, unless they are of ICMPv6 messages, which may be errors (RFC 4443, 2.4e). Where extension headers
/// are cut, or too many to be walked over, nobody knows what the packet carries.
fn may_be_told_v6(ip: &Ipv6<'_>) -> bool {
    let transport = ip.transport();
    let may_be_error = || transport.payload.first().is_none_or(|&kind| icmpv6_may_be_error(kind));
    let is_known = !transport.is_cut && !ip.has_too_many_extensions();
    let is_icmp = transport.protocol == protocol::ICMPV6;
    is_known && !(is_icmp && (transport.is_later_fragment() || may_be_error()))
}
