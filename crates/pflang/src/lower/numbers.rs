//! Numbers of the protocols that filters name: Ethernet types, LLC service access points, IP protocols.
//!
//! A "link protocol" is, as in `ether proto N`, either an Ethernet type (above [`MAX_LENGTH`]) or an LLC
//! service access point.

/// The largest value of an Ethernet type field that is a length.
pub(crate) const MAX_LENGTH: u32 = 1500;

/// Ethernet types.
#[rustfmt::skip]
pub(crate) mod ethertype {
    pub(crate) const IP: u32 = 0x0800;
    pub(crate) const ARP: u32 = 0x0806;
    pub(crate) const NS: u32 = 0x0600;
    pub(crate) const MOPDL: u32 = 0x6001;
    pub(crate) const MOPRC: u32 = 0x6002;
    pub(crate) const DECNET: u32 = 0x6003;
    pub(crate) const LAT: u32 = 0x6004;
    pub(crate) const SCA: u32 = 0x6007;
    pub(crate) const TEB: u32 = 0x6558;
    pub(crate) const RARP: u32 = 0x8035;
    pub(crate) const ATALK: u32 = 0x809b;
    pub(crate) const AARP: u32 = 0x80f3;
    pub(crate) const VLAN: u32 = 0x8100;
    pub(crate) const IPX: u32 = 0x8137;
    pub(crate) const IPV6: u32 = 0x86dd;
    pub(crate) const MPLS: u32 = 0x8847;
    pub(crate) const MPLS_MULTICAST: u32 = 0x8848;
    pub(crate) const PPPOED: u32 = 0x8863;
    pub(crate) const PPPOES: u32 = 0x8864;
    pub(crate) const VLAN_AD: u32 = 0x88a8;
    pub(crate) const LOOPBACK: u32 = 0x9000;
    pub(crate) const VLAN_QINQ: u32 = 0x9100;
}

/// LLC service access points.
#[rustfmt::skip]
pub(crate) mod sap {
    pub(crate) const IP: u32 = 0x06;
    pub(crate) const STP: u32 = 0x42;
    pub(crate) const SNAP: u32 = 0xaa;
    pub(crate) const IPX: u32 = 0xe0;
    pub(crate) const NETBEUI: u32 = 0xf0;
    pub(crate) const ISO: u32 = 0xfe;
}

/// PPP protocol numbers.
#[rustfmt::skip]
pub(crate) mod ppp {
    pub(crate) const IP: u32 = 0x0021;
    pub(crate) const OSI: u32 = 0x0023;
    pub(crate) const NS: u32 = 0x0025;
    pub(crate) const DECNET: u32 = 0x0027;
    pub(crate) const APPLE: u32 = 0x0029;
    pub(crate) const IPX: u32 = 0x002b;
    pub(crate) const VJC: u32 = 0x002d;
    pub(crate) const VJNC: u32 = 0x002f;
    pub(crate) const BRPDU: u32 = 0x0031;
    pub(crate) const IPV6: u32 = 0x0057;
    pub(crate) const MPLS: u32 = 0x0281;
    pub(crate) const MPLS_MULTICAST: u32 = 0x0283;
}

/// IP protocol numbers.
#[rustfmt::skip]
pub(crate) mod ipproto {
    pub(crate) const HOPOPTS: u32 = 0;
    pub(crate) const ICMP: u32 = 1;
    pub(crate) const IGMP: u32 = 2;
    pub(crate) const TCP: u32 = 6;
    pub(crate) const IGRP: u32 = 9;
    pub(crate) const UDP: u32 = 17;
    pub(crate) const ROUTING: u32 = 43;
    pub(crate) const FRAGMENT: u32 = 44;
    pub(crate) const ESP: u32 = 50;
    pub(crate) const AH: u32 = 51;
    pub(crate) const ICMPV6: u32 = 58;
    pub(crate) const DSTOPTS: u32 = 60;
    pub(crate) const PIM: u32 = 103;
    pub(crate) const CARP: u32 = 112;
    pub(crate) const VRRP: u32 = 112;
    pub(crate) const SCTP: u32 = 132;
}
