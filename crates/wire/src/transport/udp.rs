//! UDP headers (RFC 768).

use crate::bytes::{put, u16_at};
use crate::checksum::{self, Addresses};
use crate::ip::protocol;

/// A UDP header.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    bytes: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// A view of a datagram, if its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Udp<'a>> {
        (bytes.len() >= Udp::LEN).then_some(Udp { bytes })
    }

    /// Source port.
    #[inline]
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or_default()
    }

    /// Destination port.
    #[inline]
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.bytes, 2).unwrap_or_default()
    }

    /// Length of header and payload, as stated.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u16 {
        u16_at(self.bytes, 4).unwrap_or_default()
    }

    /// Whether the stated length leaves no payload.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        usize::from(self.len()) <= Udp::LEN
    }

    /// The checksum, as it is stated; 0 if the sender made none.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 6).unwrap_or_default()
    }

    /// Whether the checksum is right for a datagram between these addresses; not if the stated length is not
    /// there. No checksum is right over IPv4 only (RFC 768; RFC 8200, 8.1).
    ///
    /// NOTE: RFC 6935 lets tunnels over IPv6 go without; who ends one asks [`Udp::checksum`] first.
    #[must_use]
    pub fn is_checksum_right(&self, addresses: Addresses) -> bool {
        match (self.checksum(), addresses) {
            (0, Addresses::V4 { .. }) => true,
            (0, Addresses::V6 { .. }) => false,
            _ => self.datagram().is_some_and(|bytes| addresses.checksum(protocol::UDP, bytes) == 0),
        }
    }

    /// Header and payload as far as the stated length goes.
    fn datagram(&self) -> Option<&'a [u8]> {
        self.bytes.get(..self.len().into()).filter(|bytes| bytes.len() >= Udp::LEN)
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Udp::LEN..]
    }

    /// The same as far as the stated length goes. One below that of the header, as a jumbogram and segmentation offload have it, says nothing.
    #[inline]
    #[must_use]
    pub fn stated_payload(&self) -> &'a [u8] {
        let payload = self.payload();
        match usize::from(self.len()).checked_sub(Udp::LEN) {
            Some(stated) => &payload[..stated.min(payload.len())],
            None => payload,
        }
    }
}

/// A UDP header that can be changed in place.
#[derive(Debug)]
pub struct UdpMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> UdpMut<'a> {
    /// A view of a datagram, if its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<UdpMut<'a>> {
        (bytes.len() >= Udp::LEN).then_some(UdpMut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Udp<'_> {
        Udp { bytes: self.bytes }
    }

    /// Sets the source port, and keeps the checksum as right as it was (RFC 1624). No checksum stays none.
    #[inline]
    pub fn change_src_port(&mut self, port: u16) {
        self.change(0, port);
    }

    /// The same of the destination port.
    #[inline]
    pub fn change_dst_port(&mut self, port: u16) {
        self.change(2, port);
    }

    /// Keeps the checksum as right as it was where the addresses around the datagram change.
    pub fn change_addresses(&mut self, old: Addresses, new: Addresses) {
        if self.view().checksum() != 0 {
            let checksum = old.update(self.view().checksum(), new);
            self.set_checksum(sent(checksum));
        }
    }

    fn change(&mut self, at: usize, new: u16) {
        let old = u16_at(self.bytes, at).unwrap_or_default();
        put(self.bytes, at, new.to_be_bytes());
        if self.view().checksum() != 0 {
            let checksum = checksum::update(self.view().checksum(), old, new);
            self.set_checksum(sent(checksum));
        }
    }

    /// Sets the length of header and payload.
    #[inline]
    pub fn set_len(&mut self, len: u16) {
        put(self.bytes, 4, len.to_be_bytes());
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.bytes, 6, checksum.to_be_bytes());
    }

    /// Computes the checksum over the stated length and sets it; a sum of 0 is sent as ffff, since 0 means none
    /// (RFC 768).
    ///
    /// `None`, and no change, if the stated length is not there.
    #[must_use = "nothing was filled in if the length is wrong"]
    pub fn fill_checksum(&mut self, addresses: Addresses) -> Option<()> {
        self.view().datagram()?;
        self.set_checksum(0);
        let checksum = addresses.checksum(protocol::UDP, self.view().datagram()?);
        self.set_checksum(sent(checksum));
        Some(())
    }

    /// What follows the header.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[Udp::LEN..]
    }
}

/// A checksum as it is sent: 0 means none.
fn sent(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// A UDP header as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Length of header and payload.
    pub len: u16,
}

impl UdpHeader {
    /// A header for a payload of this length; `None` if it is longer than 65527 bytes.
    #[must_use]
    pub fn carrying(payload_len: usize, src_port: u16, dst_port: u16) -> Option<UdpHeader> {
        let len = u16::try_from(payload_len.checked_add(Udp::LEN)?).ok()?;
        Some(UdpHeader { src_port, dst_port, len })
    }

    /// The header as it goes over the wire; its checksum is 0, which over IPv4 means none.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Udp::LEN] {
        let mut bytes = [0; Udp::LEN];
        put(&mut bytes, 0, self.src_port.to_be_bytes());
        put(&mut bytes, 2, self.dst_port.to_be_bytes());
        put(&mut bytes, 4, self.len.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::bytes::from_hex;
    use crate::ip::Ipv4;

    /// A question of 192.0.2.10:45368 to 198.51.100.53:53, from this project's captures.
    const QUESTION: &str = "4500003f 48f54000 40110546 c000020a c6336435
        b1380035 002b9428 23dc01000001000000000000057368656c6c076578616d706c6503636f6d0000010001";
    const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };

    #[test]
    fn verifies_and_fills_the_checksum() {
        let packet = from_hex(QUESTION);
        let ip = Ipv4::new(&packet).unwrap();
        assert!(Udp::new(ip.payload()).unwrap().is_checksum_right(ip.addresses()));

        // What pads the frame is not of the datagram.
        let mut padded = [ip.payload(), &[1, 2, 3]].concat();
        assert!(Udp::new(&padded).unwrap().is_checksum_right(ip.addresses()));
        let mut udp = UdpMut::new(&mut padded).unwrap();
        udp.set_checksum(1);
        assert!(!udp.view().is_checksum_right(ip.addresses()));
        udp.fill_checksum(ip.addresses()).unwrap();
        assert!(padded.starts_with(ip.payload()));
    }

    #[test]
    fn no_checksum_is_right_over_ipv4_only() {
        let datagram = UdpHeader::carrying(0, 1, 2).unwrap().to_bytes();
        let v4 = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
        assert!(Udp::new(&datagram).unwrap().is_checksum_right(v4));
        assert!(!Udp::new(&datagram).unwrap().is_checksum_right(V6));
    }

    #[test]
    fn a_sum_of_zero_is_sent_as_ones() {
        let mut datagram = UdpHeader::carrying(2, 1, 2).unwrap().to_bytes().to_vec();
        datagram.extend([0; 2]);
        let sum = V6.checksum(protocol::UDP, &datagram);
        datagram[8..].copy_from_slice(&sum.to_be_bytes());
        let mut udp = UdpMut::new(&mut datagram).unwrap();
        udp.fill_checksum(V6).unwrap();
        assert_eq!(udp.view().checksum(), 0xffff);
        assert!(udp.view().is_checksum_right(V6));
    }

    #[test]
    fn stated_lengths_that_are_not_there() {
        for len in [0, 7, 11, 65535] {
            let mut datagram = [1; 10];
            let mut udp = UdpMut::new(&mut datagram).unwrap();
            udp.set_len(len);
            assert!(!udp.view().is_checksum_right(V6), "{len}");
            assert_eq!(udp.fill_checksum(V6), None);
            assert_eq!(udp.view().checksum(), 0x0101, "unchanged");
        }
        assert!(Udp::new(&[0; 7]).is_none() && UdpMut::new(&mut [0; 7]).is_none());
        assert!(UdpHeader::carrying(65527, 1, 2).is_some_and(|header| header.len == 65535));
        assert_eq!(UdpHeader::carrying(65528, 1, 2), None);
    }

    #[test]
    fn what_changes_keeps_the_checksum_as_right_as_it_was() {
        let packet = from_hex(QUESTION);
        let ip = Ipv4::new(&packet).unwrap();
        let old = ip.addresses();
        let Addresses::V4 { dst, .. } = old else { unreachable!() };
        for number in 0..=u16::MAX {
            let mut datagram = ip.payload().to_vec();
            let mut udp = UdpMut::new(&mut datagram).unwrap();
            udp.change_src_port(number);
            udp.change_dst_port(number ^ 0x5a5a);
            let src = Ipv4Addr::from(u32::from(number).wrapping_mul(0x1_0003));
            let new = Addresses::V4 { src, dst };
            udp.change_addresses(old, new);
            assert!(udp.view().is_checksum_right(new) && udp.view().checksum() != 0, "{number}");
            assert_eq!((udp.view().src_port(), udp.view().dst_port()), (number, number ^ 0x5a5a));
        }
        // One that is wrong stays so, and none stays none.
        let mut datagram = ip.payload().to_vec();
        datagram[20] ^= 1;
        let mut udp = UdpMut::new(&mut datagram).unwrap();
        udp.change_dst_port(5353);
        assert!(!udp.view().is_checksum_right(old));
        udp.set_checksum(0);
        udp.change_dst_port(53);
        udp.change_addresses(old, Addresses::V4 { src: dst, dst });
        assert_eq!(udp.view().checksum(), 0);
    }

    #[test]
    fn setters_write_what_the_header_writes() {
        let mut bytes = UdpHeader::carrying(0, 0x1234, 4789).unwrap().to_bytes();
        let mut udp = UdpMut::new(&mut bytes).unwrap();
        udp.set_len(50);
        assert!(udp.payload_mut().is_empty());
        assert_eq!(bytes, UdpHeader::carrying(42, 0x1234, 4789).unwrap().to_bytes());
    }
}
