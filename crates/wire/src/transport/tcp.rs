//! TCP headers (RFC 9293, 3.1).

use std::fmt;

use crate::bytes::{put, u16_at, u32_at};
use crate::checksum::{self, Addresses};
use crate::ip::protocol;

/// A TCP header.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    bytes: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Length of a header without options.
    pub const LEN: usize = 20;

    /// A view of a segment, if the fixed part of its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Tcp<'a>> {
        (bytes.len() >= Tcp::LEN).then_some(Tcp { bytes })
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

    /// Number of the first byte.
    #[inline]
    #[must_use]
    pub fn seq(&self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or_default()
    }

    /// Number of the next byte expected; means something when the flag ACK is set.
    #[inline]
    #[must_use]
    pub fn ack(&self) -> u32 {
        u32_at(self.bytes, 8).unwrap_or_default()
    }

    /// Length of the header with its options, as it states it.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// The flags.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.bytes[13])
    }

    /// Receive window, not scaled.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, 14).unwrap_or_default()
    }

    /// The checksum, as it is stated.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 16).unwrap_or_default()
    }

    /// Whether the checksum is right for a segment between these addresses, all of which the view must hold.
    #[must_use]
    pub fn is_checksum_right(&self, addresses: Addresses) -> bool {
        addresses.checksum(protocol::TCP, self.bytes) == 0
    }

    /// The options, padding included; empty if they were not captured whole.
    #[inline]
    #[must_use]
    pub fn options(&self) -> &'a [u8] {
        self.bytes.get(Tcp::LEN..self.header_len()).unwrap_or_default()
    }

    /// What follows the header; empty if the options were not captured whole.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header_len().max(Tcp::LEN)..).unwrap_or_default()
    }
}

/// A TCP header that can be changed in place.
///
/// ```
/// use wire::checksum::Addresses;
/// use wire::transport::{TcpFlags, TcpHeader, TcpMut};
/// let addresses = Addresses::V4 { src: [192, 0, 2, 1].into(), dst: [192, 0, 2, 2].into() };
/// let flags = TcpFlags(TcpFlags::SYN);
/// let mut segment =
///     TcpHeader { src_port: 40_000, dst_port: 80, seq: 7, ack: 0, flags, window: 1000 }.to_bytes();
/// let mut tcp = TcpMut::new(&mut segment).unwrap();
/// tcp.fill_checksum(addresses);
/// tcp.change_dst_port(8080); // and the checksum with it
/// assert!(tcp.view().is_checksum_right(addresses));
/// ```
#[derive(Debug)]
pub struct TcpMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> TcpMut<'a> {
    /// A view of a segment, if the fixed part of its header is whole.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a mut [u8]) -> Option<TcpMut<'a>> {
        (bytes.len() >= Tcp::LEN).then_some(TcpMut { bytes })
    }

    /// What the header says now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Tcp<'_> {
        Tcp { bytes: self.bytes }
    }

    /// Sets the source port, and keeps the checksum as right as it was (RFC 1624).
    #[inline]
    pub fn change_src_port(&mut self, port: u16) {
        self.change(0, port);
    }

    /// The same of the destination port.
    #[inline]
    pub fn change_dst_port(&mut self, port: u16) {
        self.change(2, port);
    }

    /// The same of the number of the first byte.
    #[inline]
    pub fn change_seq(&mut self, seq: u32) {
        self.change_wide(4, seq);
    }

    /// The same of the number of the next byte expected.
    #[inline]
    pub fn change_ack(&mut self, ack: u32) {
        self.change_wide(8, ack);
    }

    /// The same of the flags.
    #[inline]
    pub fn change_flags(&mut self, flags: TcpFlags) {
        self.change(12, u16::from_be_bytes([self.bytes[12], flags.0]));
    }

    /// The same of the receive window.
    #[inline]
    pub fn change_window(&mut self, window: u16) {
        self.change(14, window);
    }

    /// Keeps the checksum as right as it was where the addresses around the segment change.
    pub fn change_addresses(&mut self, old: Addresses, new: Addresses) {
        self.set_checksum(old.update(self.view().checksum(), new));
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.bytes, 16, checksum.to_be_bytes());
    }

    /// Computes the checksum for a segment between these addresses, all of which the view must hold, and sets it.
    pub fn fill_checksum(&mut self, addresses: Addresses) {
        self.set_checksum(0);
        self.set_checksum(addresses.checksum(protocol::TCP, self.bytes));
    }

    /// What [`Tcp::payload`] is.
    #[inline]
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let header_len = self.view().header_len().max(Tcp::LEN);
        self.bytes.get_mut(header_len..).unwrap_or_default()
    }

    fn change_wide(&mut self, at: usize, new: u32) {
        self.change(at, (new >> 16) as u16);
        self.change(at + 2, new as u16);
    }

    fn change(&mut self, at: usize, new: u16) {
        let old = u16_at(self.bytes, at).unwrap_or_default();
        put(self.bytes, at, new.to_be_bytes());
        self.set_checksum(checksum::update(self.view().checksum(), old, new));
    }
}

/// The flags byte of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The sender has no more to send.
    pub const FIN: u8 = 0x01;
    /// Sequence numbers start here.
    pub const SYN: u8 = 0x02;
    /// The connection is over.
    pub const RST: u8 = 0x04;
    /// The receiver should not wait for more.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;

    const NAMES: [&'static str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

    /// Whether the acknowledgement number counts.
    #[must_use]
    pub fn has_ack(self) -> bool {
        self.0 & TcpFlags::ACK != 0
    }
}

/// The names of the flags that are set, such as `SYN,ACK`; `none` for none.
impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (bit, name) in TcpFlags::NAMES.iter().enumerate() {
            if self.0 >> bit & 1 != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        if self.0 == 0 { f.write_str("none") } else { Ok(()) }
    }
}

/// A TCP header without options as values, to write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Number of the first byte.
    pub seq: u32,
    /// Number of the next byte expected.
    pub ack: u32,
    /// The flags.
    pub flags: TcpFlags,
    /// Receive window.
    pub window: u16,
}

impl TcpHeader {
    /// The header as it goes over the wire; its checksum is 0.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Tcp::LEN] {
        let mut bytes = [0; Tcp::LEN];
        put(&mut bytes, 0, self.src_port.to_be_bytes());
        put(&mut bytes, 2, self.dst_port.to_be_bytes());
        put(&mut bytes, 4, self.seq.to_be_bytes());
        put(&mut bytes, 8, self.ack.to_be_bytes());
        (bytes[12], bytes[13]) = ((Tcp::LEN as u8 / 4) << 4, self.flags.0);
        put(&mut bytes, 14, self.window.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::from_hex;
    use crate::ip::Ipv4;

    /// A SYN from 203.0.113.201:39112 to 203.0.113.202:80, from the web of this project's captures.
    const SYN: &str = "4500003c ff774000 4006c1af cb0071c9 cb0071ca
        98c80050 697874a7 00000000 a002faf0 c0cf0000 020405b40402080ad1cdc9a1000000000103030a";

    #[test]
    fn verifies_the_checksum() {
        let packet = from_hex(SYN);
        let ip = Ipv4::new(&packet).unwrap();
        let tcp = Tcp::new(ip.payload()).unwrap();
        assert!(tcp.is_checksum_right(ip.addresses()));
        assert_eq!((tcp.options().len(), tcp.payload().len()), (20, 0));

        let mut segment = ip.payload().to_vec();
        segment[3] ^= 1;
        assert!(!Tcp::new(&segment).unwrap().is_checksum_right(ip.addresses()));
        segment[3] ^= 1;
        assert!(!Tcp::new(&segment[..36]).unwrap().is_checksum_right(ip.addresses()), "cut");
    }

    #[test]
    fn what_changes_keeps_the_checksum_as_right_as_it_was() {
        let packet = from_hex(SYN);
        let ip = Ipv4::new(&packet).unwrap();
        let addresses = ip.addresses();
        for number in 0..=u16::MAX {
            let mut segment = ip.payload().to_vec();
            let mut tcp = TcpMut::new(&mut segment).unwrap();
            tcp.change_src_port(number);
            tcp.change_dst_port(!number);
            tcp.change_seq(u32::from(number) * 0x1_0001);
            tcp.change_ack(0xffff_0000 | u32::from(number));
            tcp.change_flags(TcpFlags(number as u8));
            tcp.change_window(number.swap_bytes());
            assert!(tcp.view().is_checksum_right(addresses), "{number}");
            let new = Addresses::V4 { src: u32::from(number).into(), dst: [10, 0, 0, 1].into() };
            tcp.change_addresses(addresses, new);
            assert!(tcp.view().is_checksum_right(new), "{number}");
            let view = tcp.view();
            assert_eq!(
                (view.src_port(), view.dst_port(), view.window()),
                (number, !number, number.swap_bytes())
            );
            assert_eq!((view.seq(), view.flags()), (u32::from(number) * 0x1_0001, TcpFlags(number as u8)));
            assert_eq!((view.ack(), view.header_len()), (0xffff_0000 | u32::from(number), 40));
        }
        let mut segment = ip.payload().to_vec();
        segment[30] ^= 1;
        let mut tcp = TcpMut::new(&mut segment).unwrap();
        tcp.change_dst_port(9);
        assert!(!tcp.view().is_checksum_right(addresses), "one that is wrong stays so");
        tcp.fill_checksum(addresses);
        assert!(tcp.view().is_checksum_right(addresses));
        assert!(TcpMut::new(&mut [0; 19]).is_none());
        let mut cut = [0xf0; 20];
        assert!(TcpMut::new(&mut cut).unwrap().payload_mut().is_empty());
    }

    #[test]
    fn writes_what_it_reads() {
        let header = TcpHeader {
            src_port: 80,
            dst_port: 39112,
            seq: 0xfeed_beef,
            ack: 0x6978_74a8,
            flags: TcpFlags(TcpFlags::RST | TcpFlags::ACK),
            window: 0x1234,
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes, *b"\x00\x50\x98\xc8\xfe\xed\xbe\xef\x69\x78\x74\xa8\x50\x14\x12\x34\0\0\0\0");
        let read = Tcp::new(&bytes).unwrap();
        assert_eq!((read.src_port(), read.dst_port()), (header.src_port, header.dst_port));
        assert_eq!((read.seq(), read.ack(), read.window()), (header.seq, header.ack, header.window));
        assert_eq!((read.flags(), read.header_len(), read.checksum()), (header.flags, 20, 0));
    }

    #[test]
    fn hostile_lengths_leave_no_options_and_no_panic() {
        for (offset, options, payload) in [(0, 0, 1), (4, 0, 1), (5, 0, 1), (6, 0, 0), (15, 0, 0)] {
            let mut bytes = [0; 21];
            bytes[12] = offset << 4;
            let tcp = Tcp::new(&bytes).unwrap();
            assert_eq!((tcp.options().len(), tcp.payload().len()), (options, payload), "{offset}");
        }
        assert!(Tcp::new(&[0; 19]).is_none());
    }
}
