//! Errors of ICMP: about which packets one may be sent, and how it is written.
//!
//! ```text
//! IP: somebody -> the sender │ type, code, checksum, rest │ the packet from its IP header on, as it came
//!                                                            as much as makes 576 bytes, or 1280 of IPv6
//! ```

use crate::checksum::Sum;
use crate::ip::{Ipv4, Ipv4Header, Ipv6, Ipv6Header, is_host, protocol};
use crate::transport::{Icmp, IcmpHeader, icmp_may_be_error, icmpv6_may_be_error};
use std::net::IpAddr;

/// Length of an error at most (RFC 1812, 4.3.2.3), its IPv4 header included.
const LEN_MAX_V4: usize = 576;
/// Of what the packet carries, an error quotes at least this (RFC 792).
const QUOTE_LEN_MIN: usize = 8;
/// Internetwork control (RFC 1812, 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;

/// A packet whose sender may get an error.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    src: IpAddr,
    header_len: usize,
    /// From the IP header on, without what pads the frame.
    packet: &'a [u8],
}

/// An error: an IP packet, in two parts, of which the second one is quoted.
#[derive(Clone, Copy, Debug)]
pub struct IcmpError<'a> {
    header: [u8; Ipv6::LEN + Icmp::LEN],
    header_len: usize,
    quote: &'a [u8],
}

impl<'a> Subject<'a> {
    /// `None` if no error may be sent about a packet: it came from no single host, is not whole, is a part of a packet other than the first, or
    /// may be an error itself (RFC 1122, 3.2.2; RFC 1812, 4.3.2.7; RFC 4443, 2.4, e). Whether it came for, or from, a group of the link, the
    /// caller knows.
    #[must_use]
    pub fn new(packet: &'a [u8]) -> Option<Self> {
        let (src, header_len, len, is_fine): (IpAddr, usize, usize, bool) = match packet.first()? >> 4 {
            4 => {
                let ip = Ipv4::new(packet)?;
                (ip.src().into(), ip.header_len(), ip.total_len().into(), may_be_told_v4(&ip))
            }
            6 => {
                let ip = Ipv6::new(packet)?;
                let len = Ipv6::LEN + usize::from(ip.payload_len());
                (ip.src().into(), Ipv6::LEN, len, may_be_told_v6(&ip))
            }
            _ => return None,
        };
        let packet = packet.get(..len)?;
        (is_fine && is_host(src)).then_some(Subject { src, header_len, packet })
    }

    /// The sender of the packet, who gets the error.
    #[must_use]
    pub fn src(&self) -> IpAddr {
        self.src
    }

    /// The error, with as much of the packet as fits `mtu`. `None` if `from` is of the other version.
    ///
    /// ```
    /// use wire::ip::Ipv4;
    /// use wire::transport::{IcmpHeader, Subject, icmp_kind};
    /// let packet = *b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\0\x02\0\x35\0\x35\0\x08\0\0";
    /// let prohibited = IcmpHeader { kind: icmp_kind::UNREACHABLE, code: 13, rest: [0; 4] };
    /// let error = Subject::new(&packet).unwrap().error(prohibited, [10, 0, 0, 2].into(), 1500).unwrap();
    /// let written = error.parts().concat();
    /// assert!(Ipv4::new(&written).unwrap().is_checksum_right());
    /// assert_eq!(written[28..], packet);
    /// ```
    #[must_use]
    pub fn error(&self, message: IcmpHeader, from: IpAddr, mtu: usize) -> Option<IcmpError<'a>> {
        let mut header = [0; Ipv6::LEN + Icmp::LEN];
        let (ip_len, quote, sum) = match (from, self.src) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let room = LEN_MAX_V4.min(mtu).saturating_sub(Ipv4::LEN + Icmp::LEN);
                let quote = self.quote(room.max(self.header_len + QUOTE_LEN_MIN));
                let ip = Ipv4Header::carrying(protocol::ICMP, Icmp::LEN + quote.len(), src, dst)?;
                header[..Ipv4::LEN].copy_from_slice(&Ipv4Header { tos: PRECEDENCE, ..ip }.to_bytes());
                (Ipv4::LEN, quote, Sum::new())
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let quote = self.quote(Ipv6::MTU_MIN - Ipv6::LEN - Icmp::LEN);
                let len = Icmp::LEN + quote.len();
                let ip = Ipv6Header::carrying(protocol::ICMPV6, len, src, dst)?;
                header[..Ipv6::LEN].copy_from_slice(&ip.to_bytes());
                (Ipv6::LEN, quote, Sum::new().add_pseudo_v6(src, dst, protocol::ICMPV6, len as u32))
            }
            _ => return None,
        };
        let header_len = ip_len + Icmp::LEN;
        let checksum = sum.add_bytes(&message.to_bytes()).add_bytes(quote).finish();
        header[ip_len..header_len].copy_from_slice(&message.to_bytes());
        header[ip_len + 2..ip_len + 4].copy_from_slice(&checksum.to_be_bytes());
        Some(IcmpError { header, header_len, quote })
    }

    fn quote(&self, len_max: usize) -> &'a [u8] {
        &self.packet[..self.packet.len().min(len_max)]
    }
}

impl IcmpError<'_> {
    /// Headers, and what is quoted.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.header[..self.header_len], self.quote]
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
