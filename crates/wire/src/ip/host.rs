//! Addresses that one host can have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is that of one host on a wire, as far as the address shows.
#[must_use]
pub fn is_host(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_host_v4(ip),
        IpAddr::V6(ip) => is_host_v6(ip),
    }
}

/// Whether an IPv4 address is that of one host: not "this network", loopback, multicast, reserved or broadcast (RFC 1122, 3.2.1.3;
/// RFC 6890, 2.2.2).
#[inline]
#[must_use]
pub fn is_host_v4(ip: Ipv4Addr) -> bool {
    !matches!(ip.octets()[0], 0 | 127 | 224..)
}

/// Whether an IPv6 address is that of one host: not unspecified, loopback, multicast or IPv4-mapped (RFC 4291, 2.5 and 2.7; RFC 6890,
/// 2.2.3).
#[inline]
#[must_use]
pub fn is_host_v6(ip: Ipv6Addr) -> bool {
    let is_mapped = ip.to_bits() >> 32 == 0xffff;
    !(ip.to_bits() <= 1 || is_mapped || ip.is_multicast())
}
