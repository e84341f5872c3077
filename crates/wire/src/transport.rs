//! TCP (RFC 9293), UDP (RFC 768) and ICMP (RFC 792, RFC 4443) headers.
//!
//! Their checksums cover the addresses of the IP packet too, which [`Ipv4::addresses`](crate::ip::Ipv4::addresses)
//! and its like for IPv6 give:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use wire::checksum::Addresses;
//! use wire::transport::{Udp, UdpHeader, UdpMut};
//! let addresses = Addresses::V4 { src: Ipv4Addr::new(192, 0, 2, 1), dst: Ipv4Addr::new(192, 0, 2, 2) };
//! let mut datagram = *b"--header hello";
//! let header = UdpHeader::carrying(6, 40000, 53).unwrap();
//! datagram[..Udp::LEN].copy_from_slice(&header.to_bytes());
//! UdpMut::new(&mut datagram).unwrap().fill_checksum(addresses);
//! assert!(Udp::new(&datagram).unwrap().is_checksum_right(addresses));
//! ```

mod icmp;
mod icmp_error;
mod tcp;
mod udp;

pub use icmp::{
    Icmp, IcmpHeader, IcmpMut, icmp_kind, icmp_may_be_error, icmp_name, icmpv6_may_be_error, icmpv6_name,
};
pub use icmp_error::{IcmpError, Subject};
pub use tcp::{Tcp, TcpFlags, TcpHeader, TcpMut};
pub use udp::{Udp, UdpHeader, UdpMut};
