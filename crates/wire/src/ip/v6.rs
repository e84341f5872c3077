//! IPv6 headers and extension headers (RFC 8200).

use std::net::Ipv6Addr;

use super::{Route, protocol};
use crate::bytes::{array_at, put, u8_at, u16_at, u32_at};
use crate::checksum::Addresses;

/// An IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Length of the fixed header.
    pub const LEN: usize = 40;
    /// Bytes of the longest packet that every link carries (RFC 8200, 5), and of the longest error (RFC 4443, 2.4, c).
    pub const MTU_MIN: usize = 1280;
    /// Where the header says how long the payload is, in two bytes: for who puts one prepared header before many packets.
    pub const PAYLOAD_LEN_AT: usize = 4;

    /// A view of a packet, if its header is whole and says version 6.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ipv6<'a>> {
        (bytes.len() >= Ipv6::LEN && bytes[0] >> 4 == 6).then_some(Ipv6 { bytes })
    }

    /// Traffic class: differentiated services and congestion notification (RFC 8200, 7).
    #[inline]
    #[must_use]
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.bytes, 0).unwrap_or_default() >> 4) as u8
    }

    /// Flow label, 20 bits (RFC 6437).
    #[inline]
    #[must_use]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes, 0).unwrap_or_default() & 0xf_ffff
    }

    /// Length of all that follows the fixed header.
    #[inline]
    #[must_use]
    pub fn payload_len(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Length of all that follows the fixed header of a jumbogram, as the first of the hop-by-hop options of that kind states it (RFC 2675, 2).
    /// `None` where there is none, or it was not captured.
    #[must_use]
    pub fn jumbo_len(&self) -> Option<u32> {
        const JUMBO_PAYLOAD: u8 = 0xc2;
        if self.payload_len() != 0 || self.next_header() != protocol::HOP_BY_HOP {
            return None;
        }
        let mut options = self.extensions().next()?.bytes.get(2..)?;
        loop {
            // One byte of padding has no length.
            let len = match *options.first()? {
                0 => 1,
                _ => 2 + usize::from(u8_at(options, 1)?),
            };
            let (option, rest) = options.split_at_checked(len)?;
            if let [JUMBO_PAYLOAD, 4, len @ ..] = option {
                return u32_at(len, 0).filter(|&len| len > u16::MAX.into());
            }
            options = rest;
        }
    }

    /// What follows the fixed header.
    #[inline]
    #[must_use]
    pub fn next_header(&self) -> u8 {
        self.bytes[6]
    }

    /// Hop limit.
    #[inline]
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn src(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 8).unwrap_or_default().into()
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn dst(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 24).unwrap_or_default().into()
    }

    /// What the first routing header says, if there is one and it was captured whole.
    #[must_use]
    pub fn route(&self) -> Option<Route> {
        let header = self.extensions().find(|extension| extension.kind == protocol::ROUTING)?;
        Route::parse(header.bytes)
    }

    /// Where the packet goes in the end: on its way by the nodes of a routing header, its destination is the next of them.
    #[inline]
    #[must_use]
    pub fn last_dst(&self) -> Ipv6Addr {
        let route = if self.has_extensions() { self.route() } else { None };
        let last = route.filter(|route| route.segments_left > 0).and_then(|route| route.last);
        last.unwrap_or(self.dst())
    }

    /// Both addresses, for the checksum of what the packet carries: its destination is the last (RFC 8200, 8.1).
    #[inline]
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V6 { src: self.src(), dst: self.last_dst() }
    }

    /// The captured payload, extension headers included, without what pads the frame. A payload length of 0
    /// is that of a jumbogram or of segmentation offload, and says nothing.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let rest = &self.bytes[Ipv6::LEN..];
        match usize::from(self.payload_len()) {
            0 => rest,
            stated => &rest[..stated.min(rest.len())],
        }
    }

    /// The extension headers (RFC 8200, 4), [`EXTENSIONS_MAX`] of them at most.
    #[inline]
    #[must_use]
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions {
            next_header: self.next_header(),
            payload: self.payload(),
            off: Ipv6::LEN,
            count: 0,
            is_later_fragment: false,
        }
    }

    /// Where a fragment header is, or where it would have to be put: behind the headers that routers look at, before all that
    /// can be cut into fragments (RFC 8200, 4.5). `None` if the headers before that place were not captured whole.
    #[inline]
    #[must_use]
    pub fn fragment_place(&self) -> Option<FragmentPlace> {
        let mut place = FragmentPlace { off: Ipv6::LEN, announced_at: NEXT_HEADER_AT, fragment: None };
        let mut announced_at = NEXT_HEADER_AT;
        let mut walk = self.extensions();
        for extension in walk.by_ref() {
            match extension.kind {
                protocol::FRAGMENT => {
                    let fragment = Fragment::parse(extension.bytes);
                    return Some(FragmentPlace { off: extension.off, announced_at, fragment });
                }
                protocol::HOP_BY_HOP | protocol::ROUTING => {
                    place.off = extension.off + extension.bytes.len();
                    place.announced_at = extension.off;
                }
                _ => {}
            }
            announced_at = extension.off;
        }
        (!walk.is_cut()).then_some(place)
    }

    /// Whether there are more extension headers than are walked over, so that nobody knows what the packet carries.
    #[must_use]
    pub fn has_too_many_extensions(&self) -> bool {
        let mut walk = self.extensions();
        walk.by_ref().for_each(drop);
        walk.count == EXTENSIONS_MAX
            && !walk.is_later_fragment
            && extension_len(walk.next_header, walk.payload).is_some()
    }

    /// Whether an extension header follows the fixed header.
    #[inline]
    #[must_use]
    pub fn has_extensions(&self) -> bool {
        extension_len(self.next_header(), &[]).is_some()
    }

    /// Walks over the extension headers to what the packet carries.
    #[must_use]
    pub fn transport(&self) -> Transport<'a> {
        let mut walk = self.extensions();
        let mut fragment = None;
        for extension in walk.by_ref().filter(|extension| extension.kind == protocol::FRAGMENT) {
            fragment = Fragment::parse(extension.bytes).map(|(_, fragment)| fragment);
        }
        let is_cut = walk.is_cut();
        Transport {
            protocol: walk.next_header,
            payload: if is_cut { &[] } else { walk.payload },
            headers_len: walk.off - Ipv6::LEN,
            fragment,
            is_cut,
        }
    }
}

/// Extension headers that are walked over; a packet with more carries, as we see it, the one behind them.
///
/// RFC 8200, 4.1 has use for eight, and without a bound 64 KiB of them cost as much time as a thousand packets.
pub const EXTENSIONS_MAX: usize = 16;

/// A walk over the extension headers of a packet. It ends at the first header that is none or was not captured
/// whole, behind the fragment header of a later fragment, where no header is, and at [`EXTENSIONS_MAX`].
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next_header: u8,
    payload: &'a [u8],
    off: usize,
    count: usize,
    is_later_fragment: bool,
}

/// One extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// The number by which the header before it announced it.
    pub kind: u8,
    /// Where it starts, in bytes from the start of the packet.
    pub off: usize,
    /// All of it; the first byte is the number of what follows.
    pub bytes: &'a [u8],
}

impl Extensions<'_> {
    /// Whether what comes next is an extension header of which the capture, or the packet, lacks a part.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.next_len().is_some_and(|len| self.payload.len() < len)
    }

    fn next_len(&self) -> Option<usize> {
        if self.is_later_fragment || self.count == EXTENSIONS_MAX {
            return None;
        }
        extension_len(self.next_header, self.payload)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Extension<'a>> {
        let (bytes, payload) = self.payload.split_at_checked(self.next_len()?)?;
        let extension = Extension { kind: self.next_header, off: self.off, bytes };
        self.is_later_fragment = extension.kind == protocol::FRAGMENT
            && Fragment::parse(bytes).is_some_and(|(_, fragment)| fragment.off != 0);
        self.next_header = u8_at(bytes, 0)?;
        self.payload = payload;
        self.off += bytes.len();
        self.count += 1;
        Some(extension)
    }
}

/// What an IPv6 packet carries behind its extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport<'a> {
    /// The last next-header number; that of an extension header behind [`EXTENSIONS_MAX`] others.
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

impl Transport<'_> {
    /// Whether the payload begins in the middle of what the packet carries.
    #[inline]
    #[must_use]
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.off != 0)
    }
}

/// Where the fragment header of a packet is, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentPlace {
    /// Bytes from the start of the packet.
    pub off: usize,
    /// Where the byte is that says what stands there.
    pub announced_at: usize,
    /// What the fragment header says, if there is one: what is behind it, and which part.
    pub fragment: Option<(u8, Fragment)>,
}

/// Where the fixed header says what follows it.
const NEXT_HEADER_AT: usize = 6;

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

impl Fragment {
    /// Length of a fragment header (RFC 8200, 4.5).
    pub const HEADER_LEN: usize = 8;

    /// Reads a fragment header: what the packet carries, and the fragment's place in it.
    #[inline]
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<(u8, Fragment)> {
        let [next_header, _, high, low, id @ ..] = header.first_chunk::<{ Fragment::HEADER_LEN }>()?;
        let field = u16::from_be_bytes([*high, *low]);
        let fragment =
            Fragment { off: u32::from(field & !7), has_more: field & 1 != 0, id: u32::from_be_bytes(*id) };
        Some((*next_header, fragment))
    }

    /// The fragment header as it goes over the wire, before a part of what `next_header` says. `None` if the
    /// offset is no multiple of eight or exceeds 0xfff8.
    ///
    /// ```
    /// use wire::ip::{Fragment, protocol};
    /// let fragment = Fragment { off: 1232, has_more: true, id: 7 };
    /// let bytes = fragment.to_bytes(protocol::UDP).unwrap();
    /// assert_eq!(bytes, [17, 0, 0x04, 0xd1, 0, 0, 0, 7]);
    /// assert_eq!(Fragment::parse(&bytes), Some((protocol::UDP, fragment)));
    /// ```
    #[inline]
    #[must_use]
    pub fn to_bytes(&self, next_header: u8) -> Option<[u8; Fragment::HEADER_LEN]> {
        let off = u16::try_from(self.off).ok().filter(|off| off % 8 == 0)?;
        let [high, low] = (off | u16::from(self.has_more)).to_be_bytes();
        let [a, b, c, d] = self.id.to_be_bytes();
        Some([next_header, 0, high, low, a, b, c, d])
    }

    /// Whether this is all of its packet (an atomic fragment, RFC 6946).
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.off == 0 && !self.has_more
    }
}

/// An IPv6 header that can be changed in place.
#[derive(Debug)]
pub struct Ipv6Mut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Ipv6Mut<'a> {
    /// A view of a packet, if its header is whole and says version 6.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<Ipv6Mut<'a>> {
        Ipv6::new(bytes).is_some().then_some(Ipv6Mut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Ipv6<'_> {
        Ipv6 { bytes: self.bytes }
    }

    /// Sets the traffic class.
    #[inline]
    pub fn set_traffic_class(&mut self, traffic_class: u8) {
        put(self.bytes, 0, first_word(traffic_class, self.view().flow_label()));
    }

    /// Sets the length of all that follows the fixed header.
    #[inline]
    pub fn set_payload_len(&mut self, payload_len: u16) {
        put(self.bytes, 4, payload_len.to_be_bytes());
    }

    /// Sets the hop limit.
    #[inline]
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        self.bytes[7] = hop_limit;
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, src: Ipv6Addr) {
        put(self.bytes, 8, src.octets());
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, dst: Ipv6Addr) {
        put(self.bytes, 24, dst.octets());
    }

    /// Takes one off the hop limit, and returns what is left.
    ///
    /// `None`, and no change, if nothing would be left: a router discards such a packet (RFC 8200, 3).
    #[inline]
    #[must_use = "a packet with no hop left is to be discarded"]
    pub fn decrement_hop_limit(&mut self) -> Option<u8> {
        let left = self.view().hop_limit().checked_sub(1).filter(|&left| left > 0)?;
        self.set_hop_limit(left);
        Some(left)
    }

    /// What [`Ipv6::payload`] is: as far as the payload length goes now, so set that first.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let len = self.view().payload().len();
        &mut self.bytes[Ipv6::LEN..][..len]
    }
}

/// An IPv6 header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits; more are left out.
    pub flow_label: u32,
    /// Length of all that follows.
    pub payload_len: u16,
    /// What follows.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Ipv6Header {
    /// A header with a hop limit of 64. `None` if the payload is longer than 65535 bytes.
    #[must_use]
    pub fn carrying(next_header: u8, payload_len: usize, src: Ipv6Addr, dst: Ipv6Addr) -> Option<Ipv6Header> {
        let payload_len = u16::try_from(payload_len).ok()?;
        Some(Ipv6Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len,
            next_header,
            hop_limit: 64,
            src,
            dst,
        })
    }

    /// The header as it goes over the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Ipv6::LEN] {
        let mut bytes = [0; Ipv6::LEN];
        put(&mut bytes, 0, first_word(self.traffic_class, self.flow_label));
        put(&mut bytes, 4, self.payload_len.to_be_bytes());
        (bytes[6], bytes[7]) = (self.next_header, self.hop_limit);
        put(&mut bytes, 8, self.src.octets());
        put(&mut bytes, 24, self.dst.octets());
        bytes
    }
}

impl From<Ipv6<'_>> for Ipv6Header {
    fn from(ip: Ipv6<'_>) -> Ipv6Header {
        Ipv6Header {
            traffic_class: ip.traffic_class(),
            flow_label: ip.flow_label(),
            payload_len: ip.payload_len(),
            next_header: ip.next_header(),
            hop_limit: ip.hop_limit(),
            src: ip.src(),
            dst: ip.dst(),
        }
    }
}

fn first_word(traffic_class: u8, flow_label: u32) -> [u8; 4] {
    (6 << 28 | u32::from(traffic_class) << 20 | flow_label & 0xf_ffff).to_be_bytes()
}

/// The length of an extension header, or `None` if this is none. At least 8.
#[inline]
pub(crate) fn extension_len(next_header: u8, bytes: &[u8]) -> Option<usize> {
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
mod tests;
