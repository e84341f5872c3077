//! IPv4 headers (RFC 791).

use std::net::Ipv4Addr;

use crate::bytes::{array_at, put, u16_at};
use crate::checksum::{self, Addresses, checksum, is_right_of_20};

/// An IPv4 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// Length of a header without options.
    pub const LEN: usize = 20;
    /// Length of all options at most.
    pub const OPTIONS_LEN_MAX: usize = 40;

    /// A view of a packet, if the fixed part of its header is whole and says version 4 and a possible length.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Ipv4<'a>> {
        let is_v4 = bytes.len() >= Ipv4::LEN && bytes[0] >> 4 == 4 && bytes[0] & 15 >= 5;
        is_v4.then_some(Ipv4 { bytes })
    }

    /// Length of the header with its options.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[0] & 15) * 4
    }

    /// Whether the options were not captured whole.
    #[inline]
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.header_len()
    }

    /// Length of header and payload.
    #[inline]
    #[must_use]
    pub fn total_len(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Length of the payload, as the header states it; `None` if it states less than its own length. A total length of 0 is what
    /// segmentation offload leaves behind.
    #[inline]
    #[must_use]
    pub fn payload_len(&self) -> Option<usize> {
        usize::from(self.total_len()).checked_sub(self.header_len())
    }

    /// Differentiated services and congestion notification (RFC 2474, RFC 3168).
    #[inline]
    #[must_use]
    pub fn tos(&self) -> u8 {
        self.bytes[1]
    }

    /// Which packet a fragment is of.
    #[inline]
    #[must_use]
    pub fn ident(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Whether routers must not fragment it.
    #[inline]
    #[must_use]
    pub fn has_dont_fragment(&self) -> bool {
        self.bytes[6] & 0x40 != 0
    }

    /// Offset of a fragment, in bytes.
    #[inline]
    #[must_use]
    pub fn fragment_off(&self) -> u32 {
        u32::from(u16_at(self.bytes, 6).unwrap_or_default() & 0x1fff) * 8
    }

    /// Whether more fragments follow.
    #[inline]
    #[must_use]
    pub fn has_more_fragments(&self) -> bool {
        u16_at(self.bytes, 6).unwrap_or_default() & 0x2000 != 0
    }

    /// Whether it is a part of a packet, the first included.
    #[inline]
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        u16_at(self.bytes, 6).unwrap_or_default() & 0x3fff != 0
    }

    /// Time to live.
    #[inline]
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// What the payload is.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }

    /// The checksum of the header, as it is stated.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 10).unwrap_or_default()
    }

    /// Whether the checksum is that of the header; not if the options were not captured whole.
    #[inline]
    #[must_use]
    pub fn is_checksum_right(&self) -> bool {
        match (self.header_len(), self.bytes.first_chunk()) {
            (Ipv4::LEN, Some(header)) => is_right_of_20(header),
            (header_len, _) => self.bytes.get(..header_len).is_some_and(|header| checksum(header) == 0),
        }
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn src(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 12).unwrap_or_default().into()
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn dst(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 16).unwrap_or_default().into()
    }

    /// Both addresses, for the checksum of what the packet carries.
    #[inline]
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V4 { src: self.src(), dst: self.dst() }
    }

    /// The options, padding included; empty if they were not captured whole.
    #[inline]
    #[must_use]
    pub fn options(&self) -> &'a [u8] {
        self.bytes.get(Ipv4::LEN..self.header_len()).unwrap_or_default()
    }

    /// The options that every fragment carries, padded to whole words; the others are in the first only (RFC 791, 3.1).
    /// Returns the bytes and how many of them there are. What breaks the form of options ends them.
    #[must_use]
    pub fn copied_options(&self) -> ([u8; Ipv4::OPTIONS_LEN_MAX], usize) {
        let (mut copied, mut len) = ([0; Ipv4::OPTIONS_LEN_MAX], 0);
        let mut rest = self.options();
        while let Some((option, behind)) = split_option(rest) {
            if option[0] & IS_COPIED != 0 {
                copied[len..len + option.len()].copy_from_slice(option);
                len += option.len();
            }
            rest = behind;
        }
        (copied, len.next_multiple_of(4))
    }

    /// The captured payload, without what pads the frame; empty if the options were not captured whole, or if the total
    /// length is shorter than the header. One of 0 says nothing.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let rest = self.bytes.get(self.header_len()..).unwrap_or_default();
        let stated = match self.total_len() {
            0 => rest.len(),
            total_len => usize::from(total_len).saturating_sub(self.header_len()),
        };
        &rest[..stated.min(rest.len())]
    }
}

/// What follows a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Other fragments of the packet.
    More,
    /// Nothing: it is the last.
    Nothing,
}

/// An IPv4 header that can be changed in place.
#[derive(Debug)]
pub struct Ipv4Mut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> Ipv4Mut<'a> {
    /// A view of a packet, if its header is whole, options included, and says version 4.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<Ipv4Mut<'a>> {
        let header_len = Ipv4::new(bytes)?.header_len();
        (bytes.len() >= header_len).then_some(Ipv4Mut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Ipv4<'_> {
        Ipv4 { bytes: self.bytes }
    }

    /// Sets differentiated services and congestion notification.
    #[inline]
    pub fn set_tos(&mut self, tos: u8) {
        self.bytes[1] = tos;
    }

    /// Sets the length of header and payload.
    #[inline]
    pub fn set_total_len(&mut self, total_len: u16) {
        put(self.bytes, 2, total_len.to_be_bytes());
    }

    /// Sets which packet a fragment is of.
    #[inline]
    pub fn set_ident(&mut self, ident: u16) {
        put(self.bytes, 4, ident.to_be_bytes());
    }

    /// Sets the place of a fragment: its offset in bytes, rounded down to a multiple of eight, and what follows it. The last one at 0
    /// is a whole packet.
    #[inline]
    pub fn set_fragment(&mut self, off: u16, follows: Follows) {
        let dont_fragment = self.view().has_dont_fragment();
        put(self.bytes, 6, fragment_field(dont_fragment, follows == Follows::More, off));
    }

    /// Sets the time to live.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        self.bytes[8] = ttl;
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, src: Ipv4Addr) {
        put(self.bytes, 12, src.octets());
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, dst: Ipv4Addr) {
        put(self.bytes, 16, dst.octets());
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.bytes, 10, checksum.to_be_bytes());
    }

    /// Computes the checksum of the header and sets it.
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        let header_len = self.view().header_len();
        self.set_checksum(checksum(&self.bytes[..header_len]));
    }

    /// Takes one off the time to live and keeps the checksum as right as it was (RFC 1624). Returns what is left.
    ///
    /// `None`, and no change, if nothing would be left: a router discards such a packet (RFC 1812, 5.3.1).
    #[inline]
    #[must_use = "a packet with no hop left is to be discarded"]
    pub fn decrement_ttl(&mut self) -> Option<u8> {
        let ttl = self.view().ttl().checked_sub(1).filter(|&left| left > 0)?;
        let word = |ttl| u16::from_be_bytes([ttl, 0]);
        self.set_checksum(checksum::update(self.view().checksum(), word(ttl + 1), word(ttl)));
        self.set_ttl(ttl);
        Some(ttl)
    }

    /// What [`Ipv4::payload`] is: as far as the total length goes now, so set that first.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (header_len, len) = (self.view().header_len(), self.view().payload().len());
        &mut self.bytes[header_len..][..len]
    }
}

/// An IPv4 header without options as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Differentiated services and congestion notification.
    pub tos: u8,
    /// Length of header and payload.
    pub total_len: u16,
    /// Which packet a fragment is of.
    pub ident: u16,
    /// Whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Whether more fragments follow.
    pub more_fragments: bool,
    /// Offset of a fragment in bytes; rounded down to a multiple of eight.
    pub fragment_off: u16,
    /// Time to live.
    pub ttl: u8,
    /// What the payload is.
    pub protocol: u8,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
}

impl Ipv4Header {
    /// A header that lives for 64 hops and is not to be fragmented, so that it needs no identification
    /// (RFC 6864, 4.1). `None` if the payload is longer than 65515 bytes.
    #[must_use]
    pub fn carrying(protocol: u8, payload_len: usize, src: Ipv4Addr, dst: Ipv4Addr) -> Option<Ipv4Header> {
        let total_len = u16::try_from(payload_len.checked_add(Ipv4::LEN)?).ok()?;
        Some(Ipv4Header {
            tos: 0,
            total_len,
            ident: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_off: 0,
            ttl: 64,
            protocol,
            src,
            dst,
        })
    }

    /// The header as it goes over the wire, with its checksum.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Ipv4::LEN] {
        let mut bytes = [0; Ipv4::LEN];
        (bytes[0], bytes[1], bytes[8], bytes[9]) = (0x45, self.tos, self.ttl, self.protocol);
        put(&mut bytes, 2, self.total_len.to_be_bytes());
        put(&mut bytes, 4, self.ident.to_be_bytes());
        put(&mut bytes, 6, fragment_field(self.dont_fragment, self.more_fragments, self.fragment_off));
        put(&mut bytes, 12, self.src.octets());
        put(&mut bytes, 16, self.dst.octets());
        let checksum = checksum(&bytes);
        put(&mut bytes, 10, checksum.to_be_bytes());
        bytes
    }
}

/// Options are left out, and so is the checksum.
impl From<Ipv4<'_>> for Ipv4Header {
    fn from(ip: Ipv4<'_>) -> Ipv4Header {
        Ipv4Header {
            tos: ip.tos(),
            total_len: ip.total_len(),
            ident: ip.ident(),
            dont_fragment: ip.has_dont_fragment(),
            more_fragments: ip.has_more_fragments(),
            fragment_off: ip.fragment_off() as u16,
            ttl: ip.ttl(),
            protocol: ip.protocol(),
            src: ip.src(),
            dst: ip.dst(),
        }
    }
}

/// Of an option's type: whether it is in every fragment.
const IS_COPIED: u8 = 0x80;

/// The first option, and what is behind it. `None` at the end of the list, and where none fits.
fn split_option(options: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = match *options.first()? {
        0 => return None,
        1 => 1,
        _ => usize::from(*options.get(1)?),
    };
    // A length counts type and length as well; less would never end.
    options.split_at_checked(len).filter(|(option, _)| option.len() >= 2 || option == &[1])
}

fn fragment_field(dont_fragment: bool, has_more: bool, off: u16) -> [u8; 2] {
    (u16::from(dont_fragment) << 14 | u16::from(has_more) << 13 | (off / 8)).to_be_bytes()
}

#[cfg(test)]
mod tests;
