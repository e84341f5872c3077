//! What the ends of a flow are told when its packet is rejected.
//!
//! ```text
//!  A ──── segment, rejected ────► firewall      B
//!  A ◄─── RST, as if from B ───────┘ └───────► B   RST, as if from A
//! ```
//!
//! Of a connection, both ends are told to reset it, in the name of each other, with the sequence numbers that they wait for (RFC 9293, 3.10.7; RFC
//! 5961, 3.2: only an exact one resets at once). Who sent anything else gets an ICMP error, "administratively prohibited" (RFC 1812, 5.2.7.1, code
//! 13; RFC 4443, 3.1, code 1). Nobody is told of resets, ICMP errors, packets to or from groups, and later fragments.
//!
//! A packet in a tunnel is not answered, since nobody knows who would take the answer out of it again; neither is one in a frame of a link
//! type whose header has no place for a way back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Addresses;
use wire::ip::{IpPacket, Ipv4, Ipv4Header, Ipv6, Ipv6Header, is_host, protocol};
use wire::layers::{LayerKind, Layers};
use wire::transport::{IcmpHeader, Subject, Tcp, TcpFlags, TcpHeader, icmp_kind};
use wire::{LinkType, Mac};

/// From whom ICMP errors come; in the name of the original destination, where nothing is set. Resets always come in the names of the two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Hardware address.
    pub mac: Option<Mac>,
    /// Address of errors about IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// Address of errors about IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

/// What the two ends are told: a frame each, with the link header of the packet.
#[derive(Debug, Default)]
pub struct Replies {
    to_sender: Vec<u8>,
    to_receiver: Vec<u8>,
}

impl Replies {
    /// The frame for who sent the packet; `None` where he is not told.
    #[must_use]
    pub fn to_sender(&self) -> Option<&[u8]> {
        (!self.to_sender.is_empty()).then_some(&self.to_sender)
    }

    /// The frame for whom the packet was meant; `None` where he is not told.
    #[must_use]
    pub fn to_receiver(&self) -> Option<&[u8]> {
        (!self.to_receiver.is_empty()).then_some(&self.to_receiver)
    }

    /// Makes these the replies to a packet. Whether there is one.
    ///
    /// ```
    /// use wall::reject::{Replies, Source};
    /// use wire::LinkType;
    /// # use wire::transport::{Tcp, TcpFlags};
    /// // 10.0.0.1:40000 > 10.0.0.2:80, SYN, sequence number 7
    /// let syn = *b"\x45\0\0\x28\0\0\x40\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02\x9c\x40\0\x50\0\0\0\x07\0\0\0\0\x50\x02\0\0\0\0\0\0";
    /// let mut replies = Replies::default();
    /// assert!(replies.answer(LinkType::RAW, &syn, &Source::default()));
    /// let reset = Tcp::new(&replies.to_sender().unwrap()[20..]).unwrap();
    /// assert_eq!((reset.src_port(), reset.ack(), reset.flags().0), (80, 8, TcpFlags::RST | TcpFlags::ACK));
    /// assert!(replies.to_receiver().is_none(), "who has not heard of the connection has nothing to reset");
    /// ```
    pub fn answer(&mut self, linktype: LinkType, frame: &[u8], source: &Source) -> bool {
        self.to_sender.clear();
        self.to_receiver.clear();
        self.write(linktype, frame, source);
        !(self.to_sender.is_empty() && self.to_receiver.is_empty())
    }

    fn write(&mut self, linktype: LinkType, frame: &[u8], source: &Source) -> Option<()> {
        let link = LinkHeader::of(linktype, frame)?;
        let packet = &frame[link.bytes.len()..];
        let ip = IpPacket::new(packet).filter(|ip| !ip.is_later_fragment() && is_single(ip.dst))?;
        if ip.protocol == protocol::TCP {
            return self.reset(&link, packet, &ip);
        }
        let subject = Subject::new(packet)?;
        let (from, message) = match ip.dst {
            IpAddr::V4(dst) => (source.ipv4.unwrap_or(dst).into(), (icmp_kind::UNREACHABLE, 13)),
            IpAddr::V6(dst) => (source.ipv6.unwrap_or(dst).into(), (icmp_kind::UNREACHABLE_V6, 1)),
        };
        let message = IcmpHeader { kind: message.0, code: message.1, rest: [0; 4] };
        let error = subject.error(message, from, usize::MAX)?;
        link.write_back(source.mac, &mut self.to_sender);
        self.to_sender.extend_from_slice(&error.parts().concat());
        Some(())
    }

    /// Resets for both ends of a connection (RFC 9293, 3.10.7).
    fn reset(&mut self, link: &LinkHeader<'_>, packet: &[u8], ip: &IpPacket<'_>) -> Option<()> {
        let tcp = Tcp::new(ip.payload).filter(|tcp| tcp.flags().0 & TcpFlags::RST == 0)?;
        if !is_single(ip.src) {
            return None;
        }
        let flags = tcp.flags();
        let has = |flag: u8| u32::from(flags.0 & flag != 0);
        // What was on the wire counts, not what was captured.
        let len = stated_len(packet)?.checked_sub(ip.headers_len + tcp.header_len())? as u32;
        let back = Ends { src: (ip.dst, tcp.dst_port()), dst: (ip.src, tcp.src_port()) };
        let onward = Ends { src: back.dst, dst: back.src };
        // The sender waits for what it has acknowledged; one that has acknowledged nothing takes a reset that acknowledges its segment.
        let (seq, ack, kind) = if flags.has_ack() {
            (tcp.ack(), 0, TcpFlags::RST)
        } else {
            let end = tcp.seq().wrapping_add(len + has(TcpFlags::SYN) + has(TcpFlags::FIN));
            (0, end, TcpFlags::RST | TcpFlags::ACK)
        };
        link.write_back(None, &mut self.to_sender);
        back.write_segment(seq, ack, kind, &mut self.to_sender)?;
        // The receiver waits for this segment. One that begins a connection will not come to it.
        if flags.has_ack() || has(TcpFlags::SYN) == 0 {
            let kind = TcpFlags::RST | flags.0 & TcpFlags::ACK;
            self.to_receiver.extend_from_slice(link.bytes);
            onward.write_segment(tcp.seq(), tcp.ack(), kind, &mut self.to_receiver)?;
        }
        Some(())
    }
}

/// What stands before an IP packet that is in no tunnel.
struct LinkHeader<'a> {
    bytes: &'a [u8],
    is_ethernet: bool,
}

impl<'a> LinkHeader<'a> {
    fn of(linktype: LinkType, frame: &'a [u8]) -> Option<Self> {
        let is_ethernet = linktype == LinkType::EN10MB;
        let has_no_addresses =
            [LinkType::RAW, LinkType::IPV4, LinkType::IPV6, LinkType::NULL, LinkType::LOOP]
                .contains(&linktype);
        if !is_ethernet && !has_no_addresses {
            return None;
        }
        let layers = Layers::of(linktype, frame);
        let ip = layers.iter().position(|layer| matches!(layer.kind, LayerKind::Ipv4 | LayerKind::Ipv6))?;
        let is_plain = |kind| matches!(kind, LayerKind::Link | LayerKind::Vlan);
        let is_alone = layers.as_slice()[ip + 1..].iter().all(|layer| layer.kind == LayerKind::Transport);
        if layers.tunnels() > 0
            || !is_alone
            || !layers.as_slice()[..ip].iter().all(|layer| is_plain(layer.kind))
        {
            return None;
        }
        let bytes = frame.get(..layers.as_slice()[ip].off.into())?;
        // Group bits: the first bit of an address that goes over the wire.
        let is_for_group = is_ethernet && (bytes.first()? | bytes.get(6)?) & 1 != 0;
        (!is_for_group).then_some(LinkHeader { bytes, is_ethernet })
    }

    /// The header for the way back, from who is named or else from whom the packet was for.
    fn write_back(&self, from: Option<Mac>, out: &mut Vec<u8>) {
        if !self.is_ethernet {
            return out.extend_from_slice(self.bytes);
        }
        let (dst, rest) = self.bytes.split_at(6);
        let (src, rest) = rest.split_at(6);
        out.extend_from_slice(src);
        match from {
            Some(mac) => out.extend_from_slice(&mac.0),
            None => out.extend_from_slice(dst),
        }
        out.extend_from_slice(rest);
    }
}

/// Addresses and ports of a segment.
struct Ends {
    src: (IpAddr, u16),
    dst: (IpAddr, u16),
}

impl Ends {
    fn write_segment(&self, seq: u32, ack: u32, flags: u8, out: &mut Vec<u8>) -> Option<()> {
        let flags = TcpFlags(flags);
        let header = TcpHeader { src_port: self.src.1, dst_port: self.dst.1, seq, ack, flags, window: 0 };
        let mut segment = header.to_bytes();
        let addresses = match (self.src.0, self.dst.0) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                out.extend_from_slice(&Ipv4Header::carrying(protocol::TCP, Tcp::LEN, src, dst)?.to_bytes());
                Addresses::V4 { src, dst }
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                out.extend_from_slice(&Ipv6Header::carrying(protocol::TCP, Tcp::LEN, src, dst)?.to_bytes());
                Addresses::V6 { src, dst }
            }
            _ => return None,
        };
        let checksum = addresses.checksum(protocol::TCP, &segment);
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&segment);
        Some(())
    }
}

/// The length of an IP packet, as its header has it.
fn stated_len(packet: &[u8]) -> Option<usize> {
    let v4 = Ipv4::new(packet).map(|ip| usize::from(ip.total_len()));
    v4.or_else(|| Some(Ipv6::LEN + usize::from(Ipv6::new(packet)?.payload_len())))
}

/// Whether an address is one of a single host; that of this host among them.
fn is_single(address: IpAddr) -> bool {
    is_host(address) || address.is_loopback()
}

#[cfg(test)]
mod tests;
