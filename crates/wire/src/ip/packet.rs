//! An IP packet of either version as values: what most readers want of its headers, from one walk over them.

use std::net::IpAddr;

use super::{Fragment, Ipv4, Ipv6, protocol};
use crate::bytes::u32_at;

/// An IP packet, its headers walked over.
///
/// ```
/// use wire::ip::{IpPacket, protocol};
/// let packet = [
///     0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
///     0x14, 0xe9, 0, 53, 0, 8, 0, 0, // UDP
///     0xff, 0xff, // what pads the frame
/// ];
/// let ip = IpPacket::new(&packet).unwrap();
/// assert_eq!((ip.protocol, ip.headers_len, ip.payload.len()), (protocol::UDP, 20, 8));
/// assert_eq!(ip.ports(), Some((5353, 53)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address; on its way by the nodes of a routing header, that of the next.
    pub dst: IpAddr,
    /// What it carries: behind the extension headers of IPv6, [`EXTENSIONS_MAX`](super::EXTENSIONS_MAX) of them at most.
    pub protocol: u8,
    /// Bytes of the header, options and extension headers included.
    pub headers_len: usize,
    /// What was captured of what it carries, without what pads the frame.
    pub payload: &'a [u8],
    /// Which part of a packet this is, if it is a fragment. Over IPv6 also an atomic one, which is all of its packet (RFC 6946).
    pub fragment: Option<Fragment>,
    /// The capture ends within the header.
    pub is_cut: bool,
}

impl<'a> IpPacket<'a> {
    /// Reads a packet of the version that its first bits say. `None` if the fixed part of its header is not whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<IpPacket<'a>> {
        Ipv4::new(bytes).map(IpPacket::from).or_else(|| Ipv6::new(bytes).map(IpPacket::from))
    }

    /// Whether this is a part of a packet, so that another holds the rest.
    #[inline]
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| !fragment.is_whole())
    }

    /// Whether the payload begins in the middle of what the packet carries, so that no header is there.
    #[inline]
    #[must_use]
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.off != 0)
    }

    /// Source and destination port, of TCP, UDP, SCTP, DCCP and UDP-Lite, where they were captured. All fragments but the first lack them.
    #[inline]
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        if self.is_later_fragment() { None } else { ports(self.protocol, self.payload) }
    }
}

/// Source and destination port at the start of what IP carries as this protocol: of TCP, UDP, SCTP, DCCP and UDP-Lite, where they were
/// captured.
///
/// ```
/// use wire::ip::{ports, protocol};
/// assert_eq!(ports(protocol::TCP, &[0x9c, 0x40, 0, 80]), Some((40000, 80)));
/// assert_eq!(ports(protocol::ICMP, &[8, 0, 0, 0]), None);
/// ```
#[inline]
#[must_use]
pub fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    use protocol::{DCCP, SCTP, TCP, UDP, UDPLITE};
    let both = u32_at(payload, 0).filter(|_| matches!(protocol, TCP | UDP | SCTP | DCCP | UDPLITE))?;
    Some(((both >> 16) as u16, both as u16))
}

impl<'a> From<Ipv4<'a>> for IpPacket<'a> {
    #[inline]
    fn from(ip: Ipv4<'a>) -> IpPacket<'a> {
        let fragment = ip.is_fragment().then(|| Fragment {
            off: ip.fragment_off(),
            has_more: ip.has_more_fragments(),
            id: ip.ident().into(),
        });
        IpPacket {
            src: ip.src().into(),
            dst: ip.dst().into(),
            protocol: ip.protocol(),
            headers_len: ip.header_len(),
            payload: ip.payload(),
            fragment,
            is_cut: ip.is_cut(),
        }
    }
}

impl<'a> From<Ipv6<'a>> for IpPacket<'a> {
    #[inline]
    fn from(ip: Ipv6<'a>) -> IpPacket<'a> {
        let (src, dst) = (ip.src().into(), ip.dst().into());
        if ip.has_extensions() {
            return behind_extensions(src, dst, &ip);
        }
        IpPacket {
            src,
            dst,
            protocol: ip.next_header(),
            headers_len: Ipv6::LEN,
            payload: ip.payload(),
            fragment: None,
            is_cut: false,
        }
    }
}

/// PERF: apart, so that what has none pays nothing for the walk.
#[cold]
fn behind_extensions<'a>(src: IpAddr, dst: IpAddr, ip: &Ipv6<'a>) -> IpPacket<'a> {
    let transport = ip.transport();
    IpPacket {
        src,
        dst,
        protocol: transport.protocol,
        headers_len: Ipv6::LEN + transport.headers_len,
        payload: transport.payload,
        fragment: transport.fragment,
        is_cut: transport.is_cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::{Ipv4Header, Ipv6Header};
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn v4(fragment_off: u32, more_fragments: bool) -> Vec<u8> {
        let whole = Ipv4Header::carrying(protocol::TCP, 8, Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST).unwrap();
        let header = Ipv4Header {
            fragment_off: fragment_off as u16,
            more_fragments,
            dont_fragment: false,
            ident: 7,
            ..whole
        };
        [&header.to_bytes()[..], &[0, 1, 0, 2, 0, 0, 0, 0]].concat()
    }

    fn v6(fragment: Fragment) -> Vec<u8> {
        let header =
            Ipv6Header::carrying(protocol::FRAGMENT, 16, Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED).unwrap();
        let fragment = fragment.to_bytes(protocol::TCP).unwrap();
        [&header.to_bytes()[..], &fragment, &[0, 1, 0, 2, 0, 0, 0, 0]].concat()
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        for (off, has_more, ports) in
            [(0, true, Some((1, 2))), (8, true, None), (8, false, None), (0, false, Some((1, 2)))]
        {
            let fragment = Fragment { off, has_more, id: 7 };
            let (v4, v6) = (v4(off, has_more), v6(fragment));
            let (v4, v6) = (IpPacket::new(&v4).unwrap(), IpPacket::new(&v6).unwrap());
            assert_eq!((v4.ports(), v6.ports()), (ports, ports));
            assert_eq!(v6.fragment, Some(fragment));
            assert_eq!(v4.fragment, Some(fragment).filter(|fragment| !fragment.is_whole()));
            assert_eq!((v4.is_fragment(), v6.is_fragment()), (!fragment.is_whole(), !fragment.is_whole()));
            assert_eq!((v4.headers_len, v6.headers_len), (20, 48));
        }
    }

    #[test]
    fn a_header_that_ends_too_early_is_cut() {
        let mut packet = v4(0, false);
        packet[0] = 0x48;
        assert!(IpPacket::new(&packet).unwrap().is_cut && IpPacket::new(&packet[..20]).unwrap().is_cut);
        assert_eq!(IpPacket::new(&packet[..19]), None);
        packet.extend([0; 4]);
        assert!(!IpPacket::new(&packet).unwrap().is_cut);
        let packet = v6(Fragment { off: 0, has_more: true, id: 0 });
        let cut = IpPacket::new(&packet[..47]).unwrap();
        assert_eq!((cut.is_cut, cut.protocol, cut.payload.len()), (true, protocol::FRAGMENT, 0));
    }
}
