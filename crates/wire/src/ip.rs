//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, and the walk over IPv6's extension headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes::{array_at, u8_at, u16_at, u32_at};

/// Protocol numbers of IPv4, which are next-header numbers of IPv6.
pub mod protocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// IGMP.
    pub const IGMP: u8 = 2;
    /// IPv4 in IP.
    pub const IPIP: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP.
    pub const IPV6: u8 = 41;
    /// IPv6 routing header.
    pub const ROUTING: u8 = 43;
    /// IPv6 fragment header.
    pub const FRAGMENT: u8 = 44;
    /// Generic routing encapsulation.
    pub const GRE: u8 = 47;
    /// IPsec encryption.
    pub const ESP: u8 = 50;
    /// IPsec authentication.
    pub const AH: u8 = 51;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// Nothing follows.
    pub const NO_NEXT: u8 = 59;
    /// IPv6 destination options.
    pub const DESTINATION: u8 = 60;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// IPv6 mobility.
    pub const MOBILITY: u8 = 135;
}

/// What a protocol number is called, where it is common.
#[must_use]
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        protocol::ICMP => "icmp",
        protocol::IGMP => "igmp",
        protocol::IPIP => "ipip",
        protocol::TCP => "tcp",
        8 => "egp",
        9 => "igrp",
        protocol::UDP => "udp",
        33 => "dccp",
        protocol::IPV6 => "ip6-in-ip",
        46 => "rsvp",
        protocol::GRE => "gre",
        protocol::ESP => "esp",
        protocol::AH => "ah",
        protocol::ICMPV6 => "icmp6",
        protocol::NO_NEXT => "no-next",
        88 => "eigrp",
        89 => "ospf",
        103 => "pim",
        108 => "ipcomp",
        112 => "vrrp",
        115 => "l2tp",
        protocol::SCTP => "sctp",
        136 => "udplite",
        _ => return None,
    })
}

/// An IPv4 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// Length of a header without options.
    pub const LEN: usize = 20;

    /// A view of a packet, if the fixed part of its header is whole and says version 4 and a possible length.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ipv4<'a>> {
        let is_v4 = bytes.len() >= Ipv4::LEN && bytes[0] >> 4 == 4 && bytes[0] & 15 >= 5;
        is_v4.then_some(Ipv4 { bytes })
    }

    /// Length of the header with its options.
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[0] & 15) * 4
    }

    /// Length of header and payload.
    #[must_use]
    pub fn total_len(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Length of the payload, as the header states it. A total length of 0 is what segmentation offload leaves
    /// behind, and says nothing.
    #[must_use]
    pub fn payload_len(&self) -> Option<usize> {
        usize::from(self.total_len()).checked_sub(self.header_len())
    }

    /// Offset of a fragment, in bytes.
    #[must_use]
    pub fn fragment_off(&self) -> u32 {
        u32::from(u16_at(self.bytes, 6).unwrap_or_default() & 0x1fff) * 8
    }

    /// Whether more fragments follow.
    #[must_use]
    pub fn has_more_fragments(&self) -> bool {
        self.bytes[6] & 0x20 != 0
    }

    /// Time to live.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// What the payload is.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }

    /// Source address.
    #[must_use]
    pub fn src(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 12).unwrap_or_default().into()
    }

    /// Destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 16).unwrap_or_default().into()
    }

    /// The captured payload, without what pads the frame; empty if the options were not captured whole.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let rest = self.bytes.get(self.header_len()..).unwrap_or_default();
        let stated = self.payload_len().unwrap_or(rest.len());
        &rest[..stated.min(rest.len())]
    }
}

/// An IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Length of the fixed header.
    pub const LEN: usize = 40;

    /// A view of a packet, if its header is whole and says version 6.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ipv6<'a>> {
        (bytes.len() >= Ipv6::LEN && bytes[0] >> 4 == 6).then_some(Ipv6 { bytes })
    }

    /// Length of all that follows the fixed header.
    #[must_use]
    pub fn payload_len(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// What follows the fixed header.
    #[must_use]
    pub fn next_header(&self) -> u8 {
        self.bytes[6]
    }

    /// Hop limit.
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Source address.
    #[must_use]
    pub fn src(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 8).unwrap_or_default().into()
    }

    /// Destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 24).unwrap_or_default().into()
    }

    /// The captured payload, extension headers included, without what pads the frame. A payload length of 0
    /// is that of a jumbogram or of segmentation offload, and says nothing.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let rest = &self.bytes[Ipv6::LEN..];
        match usize::from(self.payload_len()) {
            0 => rest,
            stated => &rest[..stated.min(rest.len())],
        }
    }

    /// Walks over the extension headers (RFC 8200, 4) to what the packet carries.
    #[must_use]
    pub fn transport(&self) -> Transport<'a> {
        let mut found = Transport {
            protocol: self.next_header(),
            payload: self.payload(),
            headers_len: 0,
            fragment: None,
            is_cut: false,
        };
        // Every step shortens the payload by eight bytes or more, so this ends.
        while let Some(len) = extension_len(found.protocol, found.payload) {
            let header = found.payload;
            if header.len() < len {
                return Transport { payload: &[], is_cut: true, ..found };
            }
            if found.protocol == protocol::FRAGMENT {
                let field = u16_at(header, 2).unwrap_or_default();
                found.fragment = Some(Fragment {
                    off: u32::from(field & !7),
                    has_more: field & 1 != 0,
                    id: u32_at(header, 4).unwrap_or_default(),
                });
            }
            found.protocol = header[0];
            found.payload = &header[len..];
            found.headers_len += len;
            if found.fragment.is_some_and(|fragment| fragment.off != 0) {
                break;
            }
        }
        found
    }
}

/// What an IPv6 packet carries behind its extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport<'a> {
    /// The last next-header number.
    pub protocol: u8,
    /// What was captured of it.
    pub payload: &'a [u8],
    /// Bytes of extension headers before it.
    pub headers_len: usize,
    /// The fragment header, if there was one. Behind a later fragment's no header is looked for.
    pub fragment: Option<Fragment>,
    /// The capture ends within an extension header; `protocol` names that header.
    pub is_cut: bool,
}

/// A fragment's place in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Offset in bytes.
    pub off: u32,
    /// Whether more follow.
    pub has_more: bool,
    /// Which packet it is of.
    pub id: u32,
}

/// The length of an extension header, or `None` if this is none. At least 8.
fn extension_len(next_header: u8, bytes: &[u8]) -> Option<usize> {
    let units = usize::from(u8_at(bytes, 1).unwrap_or_default());
    match next_header {
        protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION | protocol::MOBILITY => {
            Some((units + 1) * 8)
        }
        protocol::FRAGMENT => Some(8),
        // RFC 4302 counts in units of four bytes, minus two.
        protocol::AH => Some(((units + 2) * 4).max(8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next_header, 64];
        packet.extend([0; 32]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn walks_extension_headers() {
        let mut payload = vec![protocol::ROUTING, 0, 0, 0, 0, 0, 0, 0];
        payload.extend([protocol::AH, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend([protocol::UDP, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend([1, 2, 3]);
        let packet = ipv6(protocol::HOP_BY_HOP, &payload);
        let found = Ipv6::new(&packet).unwrap().transport();
        assert_eq!((found.protocol, found.payload, found.headers_len), (protocol::UDP, &[1, 2, 3][..], 40));
        assert!(!found.is_cut);
    }

    #[test]
    fn stops_behind_a_later_fragment() {
        let packet = ipv6(protocol::FRAGMENT, &[protocol::DESTINATION, 0, 0, 9, 0, 0, 0, 7, 0xff]);
        let found = Ipv6::new(&packet).unwrap().transport();
        assert_eq!(found.protocol, protocol::DESTINATION);
        assert_eq!(found.fragment, Some(Fragment { off: 8, has_more: true, id: 7 }));
        assert_eq!(found.payload, [0xff]);
    }

    #[test]
    fn says_where_the_capture_ends() {
        let packet = ipv6(protocol::HOP_BY_HOP, &[protocol::TCP, 9, 0, 0]);
        let found = Ipv6::new(&packet).unwrap().transport();
        assert!(found.is_cut);
        assert_eq!(found.protocol, protocol::HOP_BY_HOP);
    }

    #[test]
    fn ipv4_fields() {
        let mut packet =
            vec![0x46, 0, 0, 26, 0, 1, 0x20, 3, 9, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0xaa, 0xbb];
        packet.extend([0; 4]);
        let ip = Ipv4::new(&packet).unwrap();
        assert_eq!((ip.header_len(), ip.payload_len()), (24, Some(2)));
        assert_eq!(ip.payload(), [0xaa, 0xbb], "padding is not payload");
        assert_eq!((ip.fragment_off(), ip.has_more_fragments()), (24, true));
        assert_eq!((ip.src(), ip.dst()), (Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(5, 6, 7, 8)));
        assert!(Ipv4::new(&packet[..19]).is_none());
    }
}
