//! Routing headers of IPv6 (RFC 8200, 4.4): by which nodes a packet goes, and where it goes in the end.

use std::net::Ipv6Addr;

use crate::bytes::{array_at, u8_at};

/// Where the addresses begin, in every type that is understood here.
const ADDRESSES_AT: usize = 8;
const ADDRESS_LEN: usize = 16;

/// The facts of a routing header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The type, which says how the rest is laid out (IANA, "IPv6 Routing Types").
    pub kind: u8,
    /// Nodes that are still to be visited; with 0, the packet's destination is the last.
    pub segments_left: u8,
    /// The last node, of the types 0 (RFC 2460), 2 (RFC 6275) and 4 (RFC 8754).
    pub last: Option<Ipv6Addr>,
}

impl Route {
    /// Reads a routing header, all of which is given.
    ///
    /// ```
    /// use wire::ip::Route;
    /// let mut header = [17, 4, 0, 1, 0, 0, 0, 0].to_vec();
    /// header.extend([0x20; 16]);
    /// header.extend([0x30; 16]);
    /// let route = Route::parse(&header).unwrap();
    /// assert_eq!((route.kind, route.segments_left), (0, 1));
    /// assert_eq!(route.last.unwrap().octets(), [0x30; 16]);
    /// ```
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<Route> {
        let (kind, segments_left) = (u8_at(header, 2)?, u8_at(header, 3)?);
        let addresses = header.get(ADDRESSES_AT..).unwrap_or_default();
        let last_at = match kind {
            // In the order in which they are visited.
            0 | 2 => (addresses.len() / ADDRESS_LEN).checked_sub(1).map(|index| index * ADDRESS_LEN),
            // In the opposite one; options may follow.
            4 => Some(0),
            _ => None,
        };
        let last = last_at.and_then(|at| array_at::<ADDRESS_LEN>(addresses, at)).map(Ipv6Addr::from);
        Some(Route { kind, segments_left, last })
    }
}
