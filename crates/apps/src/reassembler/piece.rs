//! Headers of fragments: the packet that one belongs to, and the part that it is.

use engine::Packet;
use wire::ether::{Ethernet, ethertype};
use wire::ip::{Follows, Fragment, Ipv4, Ipv4Mut, Ipv6, Ipv6Mut, header_chain_len};
use wire::vlan::Vlan;

/// Which packet a fragment is of: addresses, identification, VLANs, and over IPv4 the protocol (RFC 791, 3.2; RFC 8200, 4.5).
pub(super) type Key = [u64; 5];

/// A fragment, where it lies in its frame, and where it belongs.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) key: Key,
    /// Bytes of the frame before the payload.
    pub(super) headers_len: usize,
    /// Bytes of the payload.
    pub(super) len: usize,
    /// Where the payload belongs.
    pub(super) off: usize,
    pub(super) has_more: bool,
    /// Its ECN bits.
    pub(super) congestion: Congestion,
    network_off: usize,
    /// Over IPv6: where the fragment header is, where it is announced, and what it announces.
    fragment_header: Option<(usize, usize, u8)>,
}

/// The kind of a frame.
#[derive(Debug)]
pub(super) enum Parsed {
    /// No fragment.
    Whole,
    /// A fragment header before all of a packet (RFC 6946).
    Atomic(Piece),
    Fragment(Piece),
    /// A fragment that cannot be.
    Malformed,
    /// The first fragment of an IPv6 packet, which lacks some of its headers (RFC 7112).
    Headers,
}

/// Whether a frame needs a closer look.
#[inline]
pub(super) fn is_fragment(frame: &[u8]) -> bool {
    let network = Ethernet::new(frame).and_then(|ether| ether.network());
    match network {
        Some((ethertype::IPV4, off)) => Ipv4::new(&frame[off..]).is_some_and(|ip| ip.is_fragment()),
        Some((ethertype::IPV6, off)) => Ipv6::new(&frame[off..]).is_some_and(|ip| may_have_fragment(&ip)),
        _ => false,
    }
}

#[inline]
fn may_have_fragment(ip: &Ipv6<'_>) -> bool {
    let has_fragment = || ip.fragment_place().is_some_and(|place| place.fragment.is_some());
    ip.has_extensions() && (has_fragment() || ip.has_too_many_extensions())
}

impl Piece {
    /// Reads a frame.
    #[inline]
    pub(super) fn parse(frame: &[u8]) -> Parsed {
        let parsed = Self::read(frame);
        match parsed {
            Parsed::Fragment(piece) if !piece.is_possible() => Parsed::Malformed,
            Parsed::Fragment(piece) if !piece.has_headers(frame) => Parsed::Headers,
            parsed => parsed,
        }
    }

    /// Reads the first fragment of a packet whose other parts have been put behind it, so that lengths say nothing.
    pub(super) fn parse_first(frame: &[u8]) -> Parsed {
        Self::read(frame)
    }

    #[inline]
    fn read(frame: &[u8]) -> Parsed {
        match Ethernet::new(frame).and_then(|ether| ether.network()) {
            Some((ethertype::IPV4, off)) => Self::v4(frame, off),
            Some((ethertype::IPV6, off)) => Self::v6(frame, off),
            _ => Parsed::Whole,
        }
    }

    #[inline]
    fn v4(frame: &[u8], network_off: usize) -> Parsed {
        let Some(ip) = Ipv4::new(&frame[network_off..]).filter(|ip| ip.is_fragment()) else {
            return Parsed::Whole;
        };
        let Some(len) = ip.payload_len().filter(|_| ip.is_checksum_right()) else { return Parsed::Malformed };
        let headers_len = network_off + ip.header_len();
        if headers_len + len > frame.len() {
            return Parsed::Malformed;
        }
        // As IPv6 addresses that map IPv4, which are never on a wire.
        let mapped = |bits: u32| 0xffff_0000_0000 | u64::from(bits);
        let tail = u64::from(ip.ident()) << 48 | u64::from(ip.protocol()) << 32 | vlans(frame, network_off);
        Parsed::Fragment(Piece {
            key: [0, mapped(ip.src().to_bits()), 0, mapped(ip.dst().to_bits()), tail],
            headers_len,
            len,
            off: ip.fragment_off() as usize,
            has_more: ip.has_more_fragments(),
            congestion: Congestion::of(ip.tos()),
            network_off,
            fragment_header: None,
        })
    }

    #[inline]
    fn v6(frame: &[u8], network_off: usize) -> Parsed {
        let Some(ip) = Ipv6::new(&frame[network_off..]) else { return Parsed::Whole };
        let Some(place) = ip.fragment_place() else { return Parsed::Whole };
        let Some((next_header, fragment)) = place.fragment else {
            return if ip.has_too_many_extensions() { Parsed::Malformed } else { Parsed::Whole };
        };
        let before = place.off + Fragment::HEADER_LEN;
        let total_len = Ipv6::LEN + usize::from(ip.payload_len());
        if total_len < before || network_off + total_len > frame.len() {
            return Parsed::Malformed;
        }
        let (src, dst) = (ip.src().to_bits(), ip.dst().to_bits());
        let tail = u64::from(fragment.id) << 32 | vlans(frame, network_off);
        let piece = Piece {
            key: [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, tail],
            headers_len: network_off + before,
            len: total_len - before,
            off: fragment.off as usize,
            has_more: fragment.has_more,
            congestion: Congestion::of(ip.traffic_class()),
            network_off,
            fragment_header: Some((place.off, place.announced_at, next_header)),
        };
        if fragment.is_whole() { Parsed::Atomic(piece) } else { Parsed::Fragment(piece) }
    }

    /// Whether such a part can be.
    fn is_possible(&self) -> bool {
        let end = self.off + self.len;
        self.len > 0 && end <= usize::from(u16::MAX) && (!self.has_more || self.len.is_multiple_of(8))
    }

    /// Whether it holds all headers, unless it is one that has none.
    #[inline]
    fn has_headers(&self, frame: &[u8]) -> bool {
        let Some((_, _, next_header)) = self.fragment_header.filter(|_| self.off == 0) else { return true };
        header_chain_len(next_header, &frame[self.headers_len..][..self.len]).is_some()
    }

    /// Makes a packet that begins with these headers a whole one: its length is what there is.
    pub(super) fn finish(&self, packet: &mut Packet, is_congested: bool) {
        match self.fragment_header {
            None => self.finish_v4(packet, is_congested),
            Some((off, announced_at, next_header)) => {
                let data = packet.data_mut();
                data[self.network_off + announced_at] = next_header;
                data.copy_within(..self.network_off + off, Fragment::HEADER_LEN);
                packet.trim_front(Fragment::HEADER_LEN);
                self.finish_v6(packet, is_congested);
            }
        }
    }

    fn finish_v4(&self, packet: &mut Packet, is_congested: bool) {
        let total_len = self.len_from_network(packet.len());
        let Some(mut ip) = Ipv4Mut::new(&mut packet.data_mut()[self.network_off..]) else { return };
        if is_congested {
            ip.set_tos(ip.view().tos() | Congestion::EXPERIENCED);
        }
        ip.set_total_len(total_len);
        ip.set_fragment(0, Follows::Nothing);
        ip.fill_checksum();
    }

    fn finish_v6(&self, packet: &mut Packet, is_congested: bool) {
        let total_len = self.len_from_network(packet.len());
        let Some(mut ip) = Ipv6Mut::new(&mut packet.data_mut()[self.network_off..]) else { return };
        if is_congested {
            ip.set_traffic_class(ip.view().traffic_class() | Congestion::EXPERIENCED);
        }
        ip.set_payload_len(total_len.saturating_sub(Ipv6::LEN as u16));
    }

    fn len_from_network(&self, frame_len: usize) -> u16 {
        (frame_len - self.network_off) as u16
    }
}

/// The VLANs that a frame is in, by number and kind of tag, of two at most, in 28 bits: the same number in a tag of another kind is
/// another VLAN. A tag for its priority alone is of none.
#[inline]
fn vlans(frame: &[u8], network_off: usize) -> u64 {
    match (network_off - Ethernet::LEN) / Vlan::LEN {
        0 => 0,
        1 => vlan(frame, Ethernet::LEN) << 14,
        _ => vlan(frame, Ethernet::LEN) << 14 | vlan(frame, Ethernet::LEN + Vlan::LEN),
    }
}

/// The VLAN of the tag at a place, in 14 bits.
#[inline]
fn vlan(frame: &[u8], at: usize) -> u64 {
    let id = Vlan::new(&frame[at..]).map_or(0, |vlan| vlan.id());
    let kind = match frame[at - 2..at] {
        _ if id == 0 => 0,
        [0x81, _] => 1,
        [0x88, _] => 2,
        _ => 3,
    };
    kind << 12 | u64::from(id)
}

/// The ECN bits of the fragments of a packet, the two low bits of their traffic classes: a set of the four values
/// (RFC 3168, 5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Congestion(u8);

impl Congestion {
    /// The value of packets that have met congestion; all bits that tell.
    const EXPERIENCED: u8 = 3;
    /// The value of packets whose sender does not understand.
    const NOT_CAPABLE: u8 = 0;

    #[inline]
    fn of(class: u8) -> Self {
        Congestion(1 << (class & Self::EXPERIENCED))
    }

    /// The bits of both.
    #[inline]
    pub(super) fn and(self, other: Self) -> Self {
        Congestion(self.0 | other.0)
    }

    fn has(self, value: u8) -> bool {
        self.0 & 1 << value != 0
    }

    /// Whether a fragment has met congestion.
    pub(super) fn is_experienced(self) -> bool {
        self.has(Self::EXPERIENCED)
    }

    /// Whether one says that it has met congestion, and another that its sender would not understand: the mark
    /// must not be lost, and cannot be passed on (RFC 3168, 5.3).
    pub(super) fn is_contradictory(self) -> bool {
        self.is_experienced() && self.has(Self::NOT_CAPABLE)
    }
}
