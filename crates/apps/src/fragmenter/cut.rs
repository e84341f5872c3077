//! How a packet is cut: where its headers end, and which bytes go into which fragment.
//!
//! ```text
//! whole      link │ header        │ payload
//! IPv4       link │ header options│ 0 … part │     link │ header copied │ part … 2 part │  …
//! IPv6       link │ headers │ frag│ 0 … part │     link │ headers │ frag │ part … 2 part │  …
//! ```

use super::Obstacle;
use engine::Packet;
use wire::ether::{Ethernet, ethertype};
use wire::ip::{Follows, Fragment, FragmentPlace, Ipv4, Ipv4Mut, Ipv6, Ipv6Mut, header_chain_len, protocol};

/// A packet that has to be cut, and how.
#[derive(Debug)]
pub(super) struct Plan {
    /// Where the network header starts.
    network_off: usize,
    /// Where the payload starts in the whole packet, and how long it is.
    payload_off: usize,
    payload_len: usize,
    /// Payload bytes of each fragment but the last: a multiple of eight.
    part: usize,
    family: Family,
}

#[derive(Debug)]
enum Family {
    V4 {
        /// Offset of the whole packet, if it is a fragment itself, and whether it is not the last.
        base: u32,
        has_more: bool,
        /// Options of later fragments, and how many bytes they are.
        options: ([u8; Ipv4::OPTIONS_LEN_MAX], usize),
    },
    V6 {
        /// Where the fragment header is, or is put.
        place: FragmentPlace,
        next_header: u8,
        /// Facts about the packet as a whole.
        whole: Fragment,
    },
}

impl Plan {
    /// How to cut a frame so that no IP packet is longer than `mtu`; `None` if none is. `id` is for an IPv6 packet that has no
    /// fragment header yet.
    pub(super) fn new(frame: &[u8], mtu: usize, id: u32) -> Result<Option<Plan>, Obstacle> {
        let network = Ethernet::new(frame).and_then(|ether| ether.network());
        let (ethertype, off) = network.ok_or(Obstacle::NotIp)?;
        match ethertype {
            ethertype::IPV4 => Self::v4(frame, off, mtu),
            ethertype::IPV6 => Self::v6(frame, off, mtu, id),
            _ => Err(Obstacle::NotIp),
        }
    }

    fn v4(frame: &[u8], network_off: usize, mtu: usize) -> Result<Option<Plan>, Obstacle> {
        let packet = &frame[network_off..];
        let ip = Ipv4::new(packet).ok_or(Obstacle::Malformed)?;
        let total_len = usize::from(ip.total_len());
        if !(ip.header_len()..=packet.len()).contains(&total_len) {
            return Err(Obstacle::Malformed);
        }
        if total_len <= mtu {
            return Ok(None);
        }
        // Its fragments would get right checksums, and hide that a bit has changed on the way.
        if !ip.is_checksum_right() {
            return Err(Obstacle::Malformed);
        }
        if ip.has_dont_fragment() {
            return Err(Obstacle::DontFragment);
        }
        let payload_len = total_len - ip.header_len();
        is_place_possible(ip.fragment_off(), payload_len, ip.has_more_fragments())?;
        Ok(Some(Plan {
            network_off,
            payload_off: network_off + ip.header_len(),
            payload_len,
            part: part(mtu, ip.header_len())?,
            family: Family::V4 {
                base: ip.fragment_off(),
                has_more: ip.has_more_fragments(),
                options: ip.copied_options(),
            },
        }))
    }

    fn v6(frame: &[u8], network_off: usize, mtu: usize, id: u32) -> Result<Option<Plan>, Obstacle> {
        let packet = &frame[network_off..];
        let ip = Ipv6::new(packet).ok_or(Obstacle::Malformed)?;
        let total_len = Ipv6::LEN + usize::from(ip.payload_len());
        if ip.payload_len() == 0 || total_len > packet.len() {
            return Err(Obstacle::Malformed);
        }
        if total_len <= mtu {
            return Ok(None);
        }
        let place = ip.fragment_place().ok_or(Obstacle::Malformed)?;
        let old_header_len = if place.fragment.is_some() { Fragment::HEADER_LEN } else { 0 };
        let announced = packet[place.announced_at];
        let new = (announced, Fragment { off: 0, has_more: false, id });
        let (next_header, whole) = place.fragment.unwrap_or(new);
        let payload_off = place.off + old_header_len;
        let payload_len = total_len.checked_sub(payload_off).ok_or(Obstacle::Malformed)?;
        is_place_possible(whole.off, payload_len, whole.has_more)?;
        let part = part(mtu, place.off + Fragment::HEADER_LEN)?;
        // The first fragment has to hold all headers (RFC 7112, 5).
        let first = &packet[payload_off..][..payload_len.min(part)];
        if whole.off == 0 && header_chain_len(next_header, first).is_none() {
            return Err(Obstacle::Headers);
        }
        Ok(Some(Plan {
            network_off,
            payload_off: network_off + payload_off,
            payload_len,
            part,
            family: Family::V6 { place, next_header, whole },
        }))
    }

    /// How many fragments there will be.
    pub(super) fn count(&self) -> usize {
        self.payload_len.div_ceil(self.part)
    }

    /// Bytes of the fragment of an index, that of its link included; of the first, at most.
    pub(super) fn len(&self, index: usize) -> usize {
        if index == 0 {
            return self.payload_off + Fragment::HEADER_LEN + self.part.min(self.payload_len);
        }
        let headers_len = match &self.family {
            Family::V4 { options: (_, options_len), .. } => Ipv4::LEN + options_len,
            Family::V6 { place, .. } => place.off + Fragment::HEADER_LEN,
        };
        self.network_off + headers_len + self.stretch(index).1
    }

    /// Where in the payload that of a fragment begins, and how long it is.
    fn stretch(&self, index: usize) -> (usize, usize) {
        let off = index * self.part;
        (off, self.part.min(self.payload_len - off))
    }

    /// Makes an empty packet with room for it the fragment of an index from 1 on, out of the whole frame.
    pub(super) fn write(&self, index: usize, frame: &[u8], fragment: &mut Packet) {
        let (off, len) = self.stretch(index);
        // The caller has seen to it that there is room for `self.len(index)`.
        let mut append = |bytes: &[u8]| {
            let _ = fragment.append(bytes);
        };
        match &self.family {
            Family::V4 { options: (options, options_len), .. } => {
                append(&frame[..self.network_off + Ipv4::LEN]);
                append(&options[..*options_len]);
            }
            Family::V6 { place, .. } => {
                append(&frame[..self.network_off + place.off]);
                append(&[0; Fragment::HEADER_LEN]);
            }
        }
        append(&frame[self.payload_off + off..][..len]);
        if let Family::V4 { options: (_, options_len), .. } = &self.family {
            let version_and_len = 0x40 | ((Ipv4::LEN + options_len) / 4) as u8;
            fragment.data_mut()[self.network_off] = version_and_len;
        }
        self.set_place(&mut fragment.data_mut()[self.network_off..], off, len);
    }

    /// Makes an empty packet with room for it the first fragment of the whole frame.
    pub(super) fn copy_first(&self, frame: &[u8], fragment: &mut Packet) {
        let len = self.part.min(self.payload_len);
        // The caller has seen to it that there is room.
        let _ = fragment.append(&frame[..self.payload_off + len]);
        self.keep_first(fragment);
    }

    /// Makes the whole packet its first fragment.
    pub(super) fn keep_first(&self, packet: &mut Packet) {
        let len = self.part.min(self.payload_len);
        packet.truncate(self.payload_off + len);
        if let Family::V6 { place, .. } = &self.family {
            let headers_len = self.network_off + place.off;
            let is_new = headers_len == self.payload_off;
            // What is left with the new header is shorter than the packet was, so there is room.
            if is_new && packet.open_front(Fragment::HEADER_LEN).is_ok() {
                packet.data_mut().copy_within(Fragment::HEADER_LEN..Fragment::HEADER_LEN + headers_len, 0);
            }
        }
        self.set_place(&mut packet.data_mut()[self.network_off..], 0, len);
    }

    /// Writes into a fragment which part of the payload it has.
    fn set_place(&self, fragment: &mut [u8], off: usize, len: usize) {
        let is_last = off + len == self.payload_len;
        match &self.family {
            Family::V4 { base, has_more, .. } => {
                let Some(mut ip) = Ipv4Mut::new(fragment) else { return };
                let header_len = ip.view().header_len();
                ip.set_total_len((header_len + len) as u16);
                let follows = if is_last && !has_more { Follows::Nothing } else { Follows::More };
                ip.set_fragment((*base as usize + off) as u16, follows);
                ip.fill_checksum();
            }
            Family::V6 { place, next_header, whole } => {
                let piece = Fragment {
                    off: whole.off + off as u32,
                    has_more: !is_last || whole.has_more,
                    id: whole.id,
                };
                fragment[place.announced_at] = protocol::FRAGMENT;
                if let Some(header) = piece.to_bytes(*next_header) {
                    fragment[place.off..][..Fragment::HEADER_LEN].copy_from_slice(&header);
                }
                let headers_len = place.off + Fragment::HEADER_LEN - Ipv6::LEN;
                if let Some(mut ip) = Ipv6Mut::new(fragment) {
                    ip.set_payload_len((headers_len + len) as u16);
                }
            }
        }
    }
}

/// A packet ends within 64 KiB, and a fragment that is not the last is a multiple of eight bytes long.
fn is_place_possible(off: u32, len: usize, has_more: bool) -> Result<(), Obstacle> {
    let is_possible = off as usize + len <= usize::from(u16::MAX) && (!has_more || len.is_multiple_of(8));
    is_possible.then_some(()).ok_or(Obstacle::Malformed)
}

/// Payload bytes of a fragment with headers of this length.
fn part(mtu: usize, headers_len: usize) -> Result<usize, Obstacle> {
    match mtu.saturating_sub(headers_len) / 8 * 8 {
        0 => Err(Obstacle::Headers),
        part => Ok(part),
    }
}
