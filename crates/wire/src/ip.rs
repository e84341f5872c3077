//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, and the walk over IPv6's extension headers.
//!
//! ```
//! use std::net::Ipv4Addr;
//! use wire::ip::{Ipv4, Ipv4Header, Ipv4Mut, protocol};
//! let (src, dst) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
//! let mut packet = [0; 28];
//! let header = Ipv4Header::carrying(protocol::UDP, 8, src, dst).unwrap();
//! packet[..Ipv4::LEN].copy_from_slice(&header.to_bytes());
//!
//! // A router's work: one hop less, and the checksum stays right.
//! assert_eq!(Ipv4Mut::new(&mut packet).unwrap().decrement_ttl(), Some(63));
//! assert!(Ipv4::new(&packet).unwrap().is_checksum_right());
//! ```
//!
//! Setters of the views that change bytes leave checksums as they are; `fill_checksum` comes last.

mod chain;
mod host;
mod packet;
mod route;
mod v4;
mod v6;

pub use chain::header_chain_len;
pub use host::{is_host, is_host_v4, is_host_v6};
pub use packet::{IpPacket, ports};
pub use route::Route;
pub use v4::{Follows, Ipv4, Ipv4Header, Ipv4Mut};
pub(crate) use v6::extension_len;
pub use v6::{
    EXTENSIONS_MAX, Extension, Extensions, Fragment, FragmentPlace, Ipv6, Ipv6Header, Ipv6Mut, Transport,
};

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
    /// DCCP.
    pub const DCCP: u8 = 33;
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
    /// OSPF.
    pub const OSPF: u8 = 89;
    /// PIM.
    pub const PIM: u8 = 103;
    /// VRRP.
    pub const VRRP: u8 = 112;
    /// L2TP version 3.
    pub const L2TP: u8 = 115;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// IPv6 mobility.
    pub const MOBILITY: u8 = 135;
    /// UDP-Lite.
    pub const UDPLITE: u8 = 136;
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
        protocol::DCCP => "dccp",
        protocol::IPV6 => "ip6-in-ip",
        46 => "rsvp",
        protocol::GRE => "gre",
        protocol::ESP => "esp",
        protocol::AH => "ah",
        protocol::ICMPV6 => "icmp6",
        protocol::NO_NEXT => "no-next",
        88 => "eigrp",
        protocol::OSPF => "ospf",
        protocol::PIM => "pim",
        108 => "ipcomp",
        protocol::VRRP => "vrrp",
        protocol::L2TP => "l2tp",
        protocol::SCTP => "sctp",
        protocol::UDPLITE => "udplite",
        _ => return None,
    })
}
