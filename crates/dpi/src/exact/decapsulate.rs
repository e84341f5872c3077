//! From a frame to the datagram that ndpiReader shows nDPI, with its key.
//!
//! The steps and their conditions are those of ndpiReader 4.2. Where it reads behind the end of a frame, zeros are read here.

use std::cmp::Ordering;
use std::net::IpAddr;
use wire::LinkType;

/// Link types that ndpiReader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Null,
    PppSerial,
    Ppp,
    Ipv4,
    Ipv6,
    Ethernet,
    LinuxSll,
    Radiotap,
    Raw,
}

/// The link type, if ndpiReader reads it.
pub(super) fn supported(link: LinkType) -> Option<Link> {
    match link.to_dlt() {
        0 => Some(Link::Null),
        50 => Some(Link::PppSerial),
        9 | 104 => Some(Link::Ppp),
        228 => Some(Link::Ipv4),
        229 => Some(Link::Ipv6),
        1 => Some(Link::Ethernet),
        113 => Some(Link::LinuxSll),
        127 => Some(Link::Radiotap),
        12 | 101 => Some(Link::Raw),
        _ => None,
    }
}

/// Who speaks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) a: (IpAddr, u16),
    pub(super) b: (IpAddr, u16),
    pub(super) protocol: u8,
    pub(super) vlan: u16,
}

/// An end of a flow, as ndpiReader compares it: numbers in network order, read as if they were this machine's.
type End = (u32, u16);

impl Key {
    pub(super) fn exchanged(&self) -> Key {
        Key { a: self.b, b: self.a, ..*self }
    }

    /// Both ends. An IPv6 address is the sum of its last two words.
    fn ends(&self) -> (End, End) {
        let end = |(address, port): (IpAddr, u16)| {
            let address = match address {
                IpAddr::V4(address) => u32::from_le_bytes(address.octets()),
                IpAddr::V6(address) => {
                    let [.., a, b, c, d, e, f, g, h] = address.octets();
                    u32::from_le_bytes([a, b, c, d]).wrapping_add(u32::from_le_bytes([e, f, g, h]))
                }
            };
            (address, port.swap_bytes())
        };
        (end(self.a), end(self.b))
    }

    /// Whether it has the same ends in the same order.
    pub(super) fn has_ends_of(&self, other: &Key) -> bool {
        self.ends() == other.ends()
    }

    /// The sum by which keys are ordered first: of protocol, addresses and ports.
    pub(super) fn sum(&self) -> u32 {
        let (a, b) = self.ends();
        let ports = u32::from(a.1) + u32::from(b.1);
        u32::from(self.protocol).wrapping_add(a.0).wrapping_add(b.0).wrapping_add(ports)
    }

    /// The order of the trees. Keys are equal whose ends are the same in either order.
    pub(super) fn order(&self, other: &Key) -> Ordering {
        let (ours, theirs) = (self.ends(), other.ends());
        let first = (self.sum(), self.vlan, self.protocol).cmp(&(other.sum(), other.vlan, other.protocol));
        if first == Ordering::Equal && ours == (theirs.1, theirs.0) {
            return Ordering::Equal;
        }
        first.then(ours.cmp(&theirs))
    }
}

/// A datagram that belongs to a flow.
pub(super) struct Datagram<'a> {
    pub(super) key: Key,
    /// From its IP header to the end of the frame, so with whatever is behind the datagram.
    pub(super) bytes: &'a [u8],
    /// What the frame counts.
    pub(super) frame_bytes: u16,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// IPv4 and IPv6 within IP.
const IP_IN_IP: [u8; 2] = [4, 41];

const GTP_U: u16 = 2152;
const TZSP: u16 = 37_008;
const CAPWAP: u16 = 5247;

/// Where a walk over headers is.
struct Walk<'a> {
    frame: &'a [u8],
    link: Link,
    /// Where the link header begins: elsewhere than at 0 within TZSP.
    link_at: usize,
    /// Where the IP header begins, or what is in front of it.
    at: usize,
    ethertype: u16,
    vlan: u16,
    /// Length of an 802.3 frame; 0 in Ethernet II.
    llc: u16,
    /// Flags and offset of the last IPv4 header whose ethertype was seen.
    fragment: u16,
    /// Protocol over IP by which tunnels are looked for: that of the last IPv4 header whose ethertype was seen, or of the last IPv6 header.
    protocol: u8,
}

/// What is behind an IP header.
enum Next {
    /// A header at this place takes the place of this one.
    Ip(usize),
    /// A whole frame at this place does.
    Frame(usize),
    /// The datagram is the one to show: an IPv6 one, or an IPv4 one, at this place.
    Show { at: usize, ipv6: bool },
}

/// The datagram of a frame that ndpiReader counts, with `-t` if tunnels are looked into. `None`: it counts none.
pub(super) fn datagram<'a>(link: Link, frame: &'a [u8], tunnels: bool) -> Option<Datagram<'a>> {
    let mut walk =
        Walk { frame, link, link_at: 0, at: 0, ethertype: 0, vlan: 0, llc: 0, fragment: 0, protocol: 0 };
    walk.link_header()?;
    walk.tags()?;
    // Each step goes on in the frame, but for a tunnel within a frame whose headers begin at 0 in any case, which ndpiReader reads for ever.
    for _ in 0..frame.len() {
        match walk.ip_header(tunnels)? {
            Next::Ip(at) => walk.at = at,
            Next::Frame(at) => {
                walk.link_at = at;
                walk.link_header()?;
                walk.tags()?;
            }
            Next::Show { at, ipv6 } => {
                let bytes = frame.get(at..)?;
                // As in ndpiReader, lengths are of 16 bits.
                let bytes = &bytes[..usize::from(bytes.len() as u16)];
                let key = if ipv6 { key6(bytes, walk.vlan) } else { key4(bytes, walk.vlan) }?;
                return Some(Datagram { key, bytes, frame_bytes: frame.len() as u16 });
            }
        }
    }
    None
}

impl Walk<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.frame.get(at).copied().unwrap_or_default()
    }

    fn half(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.byte(at), self.byte(at + 1)])
    }

    /// Whether the frame has this many bytes.
    fn has(&self, bytes: usize) -> Option<()> {
        (self.frame.len() >= bytes).then_some(())
    }

    /// Finds the ethertype, and where what it names begins.
    fn link_header(&mut self) -> Option<()> {
        let at = self.link_at;
        self.has(at + 28)?;
        match self.link {
            Link::Null => {
                let family = [self.byte(at), self.byte(at + 1), self.byte(at + 2), self.byte(at + 3)];
                self.ethertype = if u32::from_be_bytes(family) == 2 { IPV4 } else { IPV6 };
                self.at = at + 4;
            }
            Link::PppSerial => (self.ethertype, self.at) = (self.half(at + 2), at + 4),
            Link::Ppp if matches!(self.byte(0), 0x0f | 0x8f) => {
                (self.ethertype, self.at) = (self.half(at + 2), at + 4);
            }
            Link::Ppp => (self.ethertype, self.at) = (self.half(at), at + 2),
            Link::Ipv4 => (self.ethertype, self.at) = (IPV4, 0),
            Link::Ipv6 => (self.ethertype, self.at) = (IPV6, 0),
            Link::Ethernet => {
                self.at = at + 14;
                match self.half(at + 12) {
                    length @ ..=1500 => self.llc = length,
                    1501..1536 => {}
                    ethertype => self.ethertype = ethertype,
                }
                let [destination, source] = [self.byte(self.at), self.byte(self.at + 1)];
                if self.llc != 0 && (destination == 0xaa || source == 0xaa) {
                    // The type behind SNAP is read in the wrong order.
                    self.ethertype = self.half(self.at + 6).swap_bytes();
                    self.at += 8;
                } else if self.llc != 0 && (destination == 0x42 || source == 0x42) {
                    return None;
                }
            }
            Link::LinuxSll => (self.ethertype, self.at) = (self.half(at + 14), at + 16),
            Link::Radiotap => self.radiotap()?,
            Link::Raw => self.at = 0,
        }
        Some(())
    }

    /// Radiotap, 802.11, LLC. Frames that carry no data keep the ethertype and the place that were there.
    fn radiotap(&mut self) -> Option<()> {
        let at = self.link_at;
        let radio = usize::from(self.half(at + 2).swap_bytes());
        if self.byte(at + 16) & 0x50 == 0x50 {
            return None;
        }
        self.has(at + radio + 24)?;
        let control = self.half(at + radio).swap_bytes();
        if control >> 2 & 3 != 2 {
            return Some(());
        }
        let one_way = (control >> 8 & 1) != (control >> 9 & 1);
        let wifi = if one_way { 26 } else { 0 };
        let llc = at + radio + wifi;
        self.has(llc + 8)?;
        if self.byte(llc) == 0xaa {
            self.ethertype = self.half(llc + 6);
        }
        self.at = llc + 8;
        Some(())
    }

    /// Passes VLAN tags, MPLS labels and PPPoE.
    fn tags(&mut self) -> Option<()> {
        let end = self.frame.len();
        loop {
            match self.ethertype {
                VLAN => {
                    if self.at + 4 >= end {
                        return None;
                    }
                    self.pass_vlan();
                    while self.ethertype == VLAN && self.at + 4 < end {
                        self.pass_vlan();
                    }
                }
                kind if MPLS.contains(&kind) => {
                    self.ethertype = IPV4;
                    let mut last = self.byte(self.at + 2) & 1 != 0;
                    self.at += 4;
                    while !last && self.at + 4 < end {
                        last = self.byte(self.at + 2) & 1 != 0;
                        self.at += 4;
                    }
                }
                PPPOE => (self.ethertype, self.at) = (IPV4, self.at + 8),
                _ => return Some(()),
            }
        }
    }

    fn pass_vlan(&mut self) {
        (self.vlan, self.ethertype) = (self.half(self.at) & 0xfff, self.half(self.at + 2));
        self.at += 4;
    }

    /// Reads an IP header: whether it is the one to show, or leads into a tunnel.
    fn ip_header(&mut self, tunnels: bool) -> Option<Next> {
        let at = self.at;
        self.has(at + 20)?;
        if self.ethertype == IPV4 {
            (self.fragment, self.protocol) = (self.half(at + 6), self.byte(at + 9));
        }
        // Length of the header, or in IPv6 of what is behind it, by which ports are found all the same.
        let (length, ipv6) = match self.byte(at) >> 4 {
            4 => {
                let length = usize::from(self.byte(at) & 15) * 4;
                let protocol = self.byte(at + 9);
                if IP_IN_IP.contains(&protocol) && length > 0 {
                    return Some(Next::Ip(at + length));
                }
                if self.fragment & 0x1fff != 0 {
                    return None;
                }
                (length, false)
            }
            6 => {
                self.has(at + 40)?;
                self.has(at + 40 + usize::from(self.half(at + 4)))?;
                let upper = upper_layer(&self.frame[at..])?;
                if IP_IN_IP.contains(&upper.protocol) {
                    return Some(Next::Ip(at + upper.at));
                }
                self.protocol = upper.protocol;
                (usize::from(upper.bytes), true)
            }
            _ => return None,
        };
        let here = Next::Show { at, ipv6 };
        if !tunnels || self.protocol != UDP {
            return Some(here);
        }
        let udp = at + length;
        self.has(udp + 8)?;
        self.udp_tunnel(udp, here)
    }

    /// Looks into tunnels over UDP.
    fn udp_tunnel(&mut self, udp: usize, here: Next) -> Option<Next> {
        let end = self.frame.len();
        let ports = [self.half(udp), self.half(udp + 2)];
        let payload = udp + 8;
        if ports.contains(&GTP_U) && payload + 8 < end {
            match self.gtp_u(payload) {
                None => Some(here),
                Some(inner) => match self.byte(inner) >> 4 {
                    6 => self.has(inner + 40).map(|()| Next::Show { at: inner, ipv6: true }),
                    4 => self.has(inner + 20).map(|()| Next::Show { at: inner, ipv6: false }),
                    _ => None,
                },
            }
        } else if ports.contains(&TZSP) {
            self.has(payload + 4)?;
            // Version 1, a received packet, of Ethernet. Of the tags behind it, ndpiReader passes the first.
            if [self.half(payload), self.half(payload + 2)] != [0x0100, 1] || payload + 4 >= end {
                return Some(here);
            }
            let tag = payload + 4;
            let length = if self.byte(tag) < 2 { 1 } else { usize::from(self.byte(tag + 1)) };
            (tag + length < end).then_some(Next::Frame(tag + length))
        } else if ports.contains(&CAPWAP) && payload + 1 < end && self.byte(payload) & 15 == 0 {
            let header = usize::from((self.byte(payload + 1) & 0xf8) >> 1);
            let wifi = payload + header;
            if wifi + 32 >= end {
                return Some(here);
            }
            self.ethertype = self.half(wifi + 30);
            Some(Next::Ip(wifi + 32))
        } else {
            Some(here)
        }
    }

    /// Where the datagram begins that GTP-U carries.
    fn gtp_u(&self, at: usize) -> Option<usize> {
        let end = self.frame.len();
        let flags = self.byte(at);
        if flags >> 5 != 1 || self.byte(at + 1) != 0xff {
            return None;
        }
        let mut inner = at + 8 + if flags & 7 != 0 { 4 } else { 0 };
        while flags & 4 != 0 && inner < end {
            let length = usize::from(self.byte(inner)) * 4;
            inner += length;
            if inner >= end || length == 0 {
                return None;
            }
            if self.byte(inner - 1) == 0 {
                break;
            }
        }
        (inner < end).then_some(inner)
    }
}

/// What is behind the extension headers of an IPv6 header.
struct UpperLayer {
    protocol: u8,
    /// Where it begins, from the IPv6 header on.
    at: usize,
    /// Its length, by the IPv6 header.
    bytes: u16,
}

/// `None`: there is nothing, it is a later fragment, or a header is damaged.
fn upper_layer(ip: &[u8]) -> Option<UpperLayer> {
    let byte = |at: usize| ip.get(at).copied().unwrap_or_default();
    let mut upper = UpperLayer { protocol: byte(6), at: 40, bytes: u16::from_be_bytes([byte(4), byte(5)]) };
    let mut left = ip.len().saturating_sub(40) as u16;
    while left > 1 {
        match upper.protocol {
            59 => return None,
            44 => {
                let offset = u16::from_be_bytes([byte(upper.at + 2), byte(upper.at + 3)]) >> 3;
                if upper.bytes < 8 || left < 5 || offset != 0 {
                    return None;
                }
                left -= 5;
                upper = UpperLayer { protocol: byte(upper.at), at: upper.at + 8, bytes: upper.bytes - 8 };
            }
            0 | 43 | 60 | 135 => {
                let length = u16::from(byte(upper.at + 1)) * 8 + 8;
                if upper.bytes < 2 || left < length || upper.bytes < length {
                    return None;
                }
                left -= length;
                let at = upper.at + usize::from(length);
                upper = UpperLayer { protocol: byte(upper.at), at, bytes: upper.bytes - length };
            }
            _ => break,
        }
    }
    Some(upper)
}

/// The key of an IPv4 datagram, if it is whole.
fn key4(ip: &[u8], vlan: u16) -> Option<Key> {
    let header: &[u8; 20] = ip.first_chunk()?;
    let at = usize::from(header[0] & 15) * 4;
    let total = u16::from_be_bytes([header[2], header[3]]);
    let bytes = total.wrapping_sub(at as u16);
    let size = ip.len();
    if size < 20 || at > size || size < usize::from(total) || size < at + usize::from(bytes) {
        return None;
    }
    let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (a, b) = ports(ip, header[9], at, bytes);
    Some(Key { a: (address(12), a), b: (address(16), b), protocol: header[9], vlan })
}

/// The key of an IPv6 datagram, if it is whole.
fn key6(ip: &[u8], vlan: u16) -> Option<Key> {
    let header: &[u8; 40] = ip.first_chunk()?;
    let upper = upper_layer(ip)?;
    let size = ip.len();
    if upper.at > size || size < upper.at + usize::from(upper.bytes) {
        return None;
    }
    let address = |at: usize| {
        let octets: [u8; 16] = header[at..at + 16].try_into().unwrap_or_default();
        IpAddr::from(octets)
    };
    let (a, b) = ports(ip, upper.protocol, upper.at, upper.bytes);
    Some(Key { a: (address(8), a), b: (address(24), b), protocol: upper.protocol, vlan })
}

/// Ports, where a whole header of TCP or UDP has them.
fn ports(ip: &[u8], protocol: u8, at: usize, bytes: u16) -> (u16, u16) {
    let whole = (protocol == TCP && bytes >= 20) || (protocol == UDP && bytes >= 8);
    match ip.get(at..at + 4) {
        Some(&[a, b, c, d]) if whole => (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests;
