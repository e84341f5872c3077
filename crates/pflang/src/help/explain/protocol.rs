//! Names of protocols, as people call them.

use crate::syntax::ast::Proto;

/// The usual name of a protocol.
pub(super) fn name(proto: Proto) -> &'static str {
    match proto {
        Proto::Link => "link-layer",
        Proto::Ip => "IPv4",
        Proto::Ip6 => "IPv6",
        Proto::Arp => "ARP",
        Proto::Rarp => "RARP",
        Proto::Tcp => "TCP",
        Proto::Udp => "UDP",
        Proto::Sctp => "SCTP",
        Proto::Icmp => "ICMP",
        Proto::Icmp6 => "ICMPv6",
        Proto::Igmp => "IGMP",
        Proto::Igrp => "IGRP",
        Proto::Pim => "PIM",
        Proto::Vrrp => "VRRP",
        Proto::Carp => "CARP",
        Proto::Ah => "AH",
        Proto::Esp => "ESP",
        Proto::Atalk => "AppleTalk",
        Proto::Aarp => "AppleTalk ARP",
        Proto::Decnet => "DECnet",
        Proto::Lat => "DEC LAT",
        Proto::Sca => "DEC SCA",
        Proto::Moprc => "DEC MOP remote console",
        Proto::Mopdl => "DEC MOP dump/load",
        Proto::Iso => "ISO (OSI)",
        Proto::Esis => "ES-IS",
        Proto::Clnp => "CLNP",
        Proto::Stp => "spanning tree (802.1D)",
        Proto::Ipx => "IPX",
        Proto::Netbeui => "NetBEUI",
        Proto::Radio => "radio header",
        Proto::Isis
        | Proto::IsisL1
        | Proto::IsisL2
        | Proto::IsisIih
        | Proto::IsisLsp
        | Proto::IsisSnp
        | Proto::IsisPsnp
        | Proto::IsisCsnp => "IS-IS",
    }
}
