//! A frame of one size, in which flow and number are filled in packet by packet.
//!
//! The checksums are those of the frame with zeroes in the fields that change; for each packet only the fields are
//! added (RFC 1071, 2: sums of parts add up).

use super::flow::Flow;
use super::{Proto, Synth};
use crate::shared::random::Random;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Mac;
use wire::checksum::Sum;
use wire::ether::{Ethernet, EthernetHeader, ethertype};
use wire::ip::{Ipv4, Ipv4Header, Ipv6, Ipv6Header, protocol};
use wire::transport::{Tcp, TcpFlags, TcpHeader, Udp, UdpHeader};
use wire::vlan::{Tci, Vlan};

/// Bytes of the numbers of flow and packet, at the beginning of the payload.
const NUMBERS_LEN: usize = 12;

/// A frame, the same for all flows except the fields that [`Frame::address`] fills in.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    ip_at: usize,
    transport_at: usize,
    is_ipv6: bool,
    /// Whether it is IPv4 that may be cut: then each packet has an identification (RFC 6864, 4.1).
    has_ident: bool,
    proto: Proto,
    /// The place of the numbers, if there is room.
    numbers_at: Option<usize>,
    /// The sum over the IPv4 header, without addresses.
    ip_sum: Sum,
    /// The sum over pseudo header and segment, without addresses, ports and numbers.
    sum: Sum,
}

/// Bytes of all headers.
pub(super) fn headers_len(is_ipv6: bool, proto: Proto, has_vlan: bool) -> usize {
    let vlan = if has_vlan { Vlan::LEN } else { 0 };
    Ethernet::LEN + vlan + if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN } + transport_len(proto)
}

fn transport_len(proto: Proto) -> usize {
    match proto {
        Proto::Udp => Udp::LEN,
        Proto::Tcp => Tcp::LEN,
    }
}

impl Frame {
    /// A frame of `size` bytes, which must be enough for all headers. The payload is zeroes unless it is to be random.
    pub(super) fn new(
        size: usize,
        &Synth { proto, vlan, dont_fragment, .. }: &Synth,
        is_ipv6: bool,
        (src, dst): (Mac, Mac),
        random: Option<&mut Random>,
    ) -> Self {
        let headers = headers_len(is_ipv6, proto, vlan.is_some());
        let (number, segment_len) = (number_of(proto), size - headers + transport_len(proto));
        let mut bytes = link_header(src, dst, vlan, if is_ipv6 { ethertype::IPV6 } else { ethertype::IPV4 });
        let ip_at = bytes.len();
        // The lengths were checked: no frame is longer than 65535 bytes, so what is in it fits the 16 bits of each length.
        if is_ipv6 {
            let (src, dst) = (Ipv6Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
            bytes.extend(
                Ipv6Header::carrying(number, segment_len, src, dst)
                    .map(|header| header.to_bytes())
                    .iter()
                    .flatten(),
            );
        } else {
            let (src, dst) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
            let header = Ipv4Header::carrying(number, segment_len, src, dst);
            let header = header.map(|header| Ipv4Header { dont_fragment, ..header }.to_bytes());
            bytes.extend(header.iter().flatten());
            bytes[ip_at + 10..ip_at + 12].fill(0);
        }
        let transport_at = bytes.len();
        let payload_len = size - headers;
        match proto {
            Proto::Udp => bytes.extend(
                UdpHeader::carrying(payload_len, 0, 0).map(|header| header.to_bytes()).iter().flatten(),
            ),
            Proto::Tcp => {
                let flags = TcpFlags(TcpFlags::ACK | TcpFlags::PSH);
                let header = TcpHeader { src_port: 0, dst_port: 0, seq: 1, ack: 1, flags, window: 0xffff };
                bytes.extend(header.to_bytes());
            }
        }
        bytes.resize(size, 0);
        let numbers_at = (payload_len >= NUMBERS_LEN).then_some(headers);
        let pattern_at = numbers_at.map_or(headers, |at| at + NUMBERS_LEN);
        if let Some(random) = random {
            bytes[pattern_at..].fill_with(|| random.below(256) as u8);
        }
        let pseudo = Sum::new().add_u16(number.into()).add_u16(segment_len as u16);
        let sum = pseudo.add_bytes(&bytes[transport_at..]);
        let ip_sum = Sum::new().add_bytes(&bytes[ip_at..transport_at]);
        let has_ident = !is_ipv6 && !dont_fragment;
        Frame { bytes, ip_at, transport_at, is_ipv6, has_ident, proto, numbers_at, ip_sum, sum }
    }

    /// The frame, with zeroes where flows differ.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes a copy of the frame the next packet of a flow.
    ///
    /// PERF: it is written, and never read: a load of what two stores have just written waits for both to reach the cache, and for
    /// the line to come where another core has had the packet.
    #[inline]
    pub(super) fn address(&self, frame: &mut [u8], ident: u16, number: u32, flow: &mut Flow) {
        if self.is_ipv6 {
            let at = self.ip_at + 8;
            frame[at..at + 16].copy_from_slice(&flow.src);
            frame[at + 16..at + 32].copy_from_slice(&flow.dst);
        } else {
            let at = self.ip_at + 12;
            frame[at..at + 4].copy_from_slice(&flow.src[..4]);
            frame[at + 4..at + 8].copy_from_slice(&flow.dst[..4]);
            let mut ip_sum = self.ip_sum.add_u16(flow.addresses);
            if self.has_ident {
                frame[self.ip_at + 4..self.ip_at + 6].copy_from_slice(&ident.to_be_bytes());
                ip_sum = ip_sum.add_u16(ident);
            }
            let checksum = ip_sum.finish();
            frame[self.ip_at + 10..self.ip_at + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        let transport = self.transport_at;
        frame[transport..transport + 2].copy_from_slice(&flow.sport.to_be_bytes());
        frame[transport + 2..transport + 4].copy_from_slice(&flow.dport.to_be_bytes());
        let mut sum = self.sum.add_u16(flow.addresses).add_u16(flow.sport).add_u16(flow.dport);
        if let Some(at) = self.numbers_at {
            let (number, sent) = (number.to_be_bytes(), flow.sent.to_be_bytes());
            frame[at..at + 4].copy_from_slice(&number);
            frame[at + 4..at + 12].copy_from_slice(&sent);
            sum = sum.add_bytes(&number).add_bytes(&sent);
        }
        flow.sent += 1;
        self.put_checksum(frame, sum.finish());
    }

    #[inline]
    fn put_checksum(&self, frame: &mut [u8], checksum: u16) {
        let (offset, checksum) = match self.proto {
            // Zero would say that there is none (RFC 768).
            Proto::Udp => (6, if checksum == 0 { 0xffff } else { checksum }),
            Proto::Tcp => (16, checksum),
        };
        let at = self.transport_at + offset;
        frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn number_of(proto: Proto) -> u8 {
    match proto {
        Proto::Udp => protocol::UDP,
        Proto::Tcp => protocol::TCP,
    }
}

fn link_header(src: Mac, dst: Mac, vlan: Option<u16>, inner: u16) -> Vec<u8> {
    let outer = if vlan.is_some() { ethertype::VLAN } else { inner };
    let mut bytes = EthernetHeader { dst, src, ethertype: outer }.to_bytes().to_vec();
    if let Some(vlan) = vlan {
        bytes.extend(u16::from(Tci { id: vlan, ..Tci::default() }).to_be_bytes());
        bytes.extend(inner.to_be_bytes());
    }
    bytes
}
