//! What a sender has left to devices, as the header says that goes with each frame of a packet socket (`struct virtio_net_hdr` of
//! linux/virtio_net.h): a checksum to complete, a long TCP segment or joined UDP datagrams to cut.

use super::framing::Framing;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::checksum::{Sum, checksum};

/// Bytes of the header.
pub(super) const HEADER_LEN: usize = 10;
/// The header, in the machine's byte order: flags, kind of segments, length of headers, of segments, start of the checksum, its offset.
pub(super) type Header = [u8; HEADER_LEN];

/// The header of a frame that goes as it is.
pub(super) const PLAIN: Header = [0; HEADER_LEN];

const NEEDS_CHECKSUM: u8 = 1;
const TCP_OVER_IPV4: u8 = 1;
const TCP_OVER_IPV6: u8 = 4;
/// `VIRTIO_NET_HDR_GSO_UDP_L4`, which kernels know from 6.2 on.
const DATAGRAMS: u8 = 5;
/// May be set beside the kind of segments: congestion is experienced.
const WITH_ECN: u8 = 0x80;

const TAG_LEN: usize = 4;
const IPV6_LEN: usize = 40;
const PROTOCOL_TCP: u8 = 6;
pub(super) const PROTOCOL_UDP: u8 = 17;
/// Where the checksum is in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Where it is in a UDP header.
const UDP_CHECKSUM: usize = 6;
const TCP_LEN: usize = 20;
/// SYN, RST and URG: segments with these are not cut.
const WHOLE: u8 = 0x02 | 0x04 | 0x20;

/// Where the bytes begin whose checksum is missing, and where it belongs among them.
pub(super) fn missing_checksum(header: &Header) -> Option<(usize, usize)> {
    let at = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    (header[0] & NEEDS_CHECKSUM != 0).then(|| (at(6), at(8)))
}

/// Bytes of each UDP datagram, without its header, where a frame consists of several.
pub(super) fn datagram_len(header: &Header) -> Option<usize> {
    let len = u16::from_ne_bytes([header[4], header[5]]);
    (header[1] & !WITH_ECN == DATAGRAMS).then_some(len.into())
}

/// Where the checksum of TCP or UDP belongs that a frame carries, if the sum of the pseudo-header is in its place, as senders leave it to devices.
/// Where another sum is there, another checksum is missing: that of a packet in a tunnel.
pub(crate) fn prepared_checksum(frame: &[u8], framing: Framing) -> Option<(usize, usize)> {
    let offset = [(PROTOCOL_TCP, TCP_CHECKSUM), (PROTOCOL_UDP, UDP_CHECKSUM)];
    let known =
        offset.into_iter().find_map(|(protocol, offset)| Some((network(frame, framing, protocol)?, offset)));
    let (ip, offset) = known?;
    let start = ip.at + ip.header_len;
    let place = frame.get(start + offset..)?.first_chunk::<2>()?;
    // Zero is written in two ways.
    let is_prepared = u16::from_be_bytes(*place) % 0xffff == ip.pseudo.partial() % 0xffff;
    is_prepared.then_some((start, offset))
}

/// Completes a checksum, in whose place there is the sum of the pseudo-header; `false` if that is not in the frame.
#[cold]
pub(crate) fn complete_checksum(frame: &mut [u8], (start, offset): (usize, usize)) -> bool {
    let Some(covered) = frame.get_mut(start..).filter(|covered| covered.len() >= offset + 2) else {
        return false;
    };
    // A zero would say that there is none.
    let sum = match checksum(covered) {
        0 => 0xffff,
        sum => sum,
    };
    covered[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// How the kernel is to cut a long frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Says so.
    pub(super) header: Header,
    /// Bytes of the frame, without a trailer.
    pub(super) len: usize,
    /// Where the checksum is, and the sum of the pseudo-header that takes its place.
    pub(super) sum_at: usize,
    pub(super) sum: [u8; 2],
}

/// How a frame of more than the device takes is cut. `None` where it fits, or cannot be cut.
#[cold]
pub(super) fn cut(frame: &[u8], framing: Framing, mtu: usize) -> Option<Cut> {
    let Network { at: ip_at, len, header_len: ip_len, version, pseudo } =
        network(frame, framing, PROTOCOL_TCP)?;
    let ip = &frame[ip_at..];
    let kind = match version {
        Version::V4 => TCP_OVER_IPV4,
        Version::V6 => TCP_OVER_IPV6,
    };
    let tcp = ip.get(..len)?.get(ip_len..).filter(|tcp| tcp.len() >= TCP_LEN)?;
    let tcp_len = usize::from(tcp[12] >> 4) * 4;
    let segment = mtu.checked_sub(ip_len + tcp_len).filter(|&segment| segment > 0)?;
    if len <= mtu || tcp_len < TCP_LEN || tcp_len > tcp.len() || tcp[13] & WHOLE != 0 {
        return None;
    }
    let tcp_at = ip_at + ip_len;
    let mut header = PLAIN;
    (header[0], header[1]) = (NEEDS_CHECKSUM, kind);
    let fields = [tcp_at + tcp_len, segment, tcp_at, TCP_CHECKSUM];
    for (field, value) in header[2..].chunks_exact_mut(2).zip(fields) {
        field.copy_from_slice(&u16::try_from(value).ok()?.to_ne_bytes());
    }
    let sum = pseudo.partial().to_be_bytes();
    Some(Cut { header, len: ip_at + len, sum_at: tcp_at + TCP_CHECKSUM, sum })
}

/// The IP packet in a frame, which carries a protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) version: Version,
    /// Its bytes, and those of its header.
    pub(super) len: usize,
    pub(super) header_len: usize,
    /// The pseudo-header of what it carries.
    pub(super) pseudo: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V4,
    V6,
}

impl Version {
    /// Of an IP packet.
    pub(super) fn of(ip: &[u8]) -> Option<Self> {
        match ip.first()? >> 4 {
            4 => Some(Version::V4),
            6 => Some(Version::V6),
            _ => None,
        }
    }
}

/// The IP packet in a frame, if it carries this protocol, unfragmented, and behind no extension headers. Its bytes need not all be there.
pub(super) fn network(frame: &[u8], framing: Framing, protocol: u8) -> Option<Network> {
    let mut at = framing.header_len();
    let version = match framing {
        Framing::Bare => Version::of(frame)?,
        Framing::Ethernet => {
            let type_before = |at: usize| frame.get(at - 2..at).map(|b| u16::from_be_bytes([b[0], b[1]]));
            while matches!(type_before(at)?, 0x8100 | 0x88a8) {
                at += TAG_LEN;
            }
            match type_before(at)? {
                0x0800 => Version::V4,
                0x86dd => Version::V6,
                _ => return None,
            }
        }
    };
    let ip = &frame[at..];
    let (len, header_len, pseudo) = match version {
        Version::V4 => ipv4(ip, protocol)?,
        Version::V6 => ipv6(ip, protocol)?,
    };
    Some(Network { at, version, len, header_len, pseudo })
}

/// Length of the packet and of its header, and the pseudo-header of what it carries.
type Measures = (usize, usize, Sum);

fn ipv4(ip: &[u8], protocol: u8) -> Option<Measures> {
    let header = ip.first_chunk::<20>()?;
    let ip_len = usize::from(header[0] & 15) * 4;
    let len = u16::from_be_bytes([header[2], header[3]]);
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    if header[0] >> 4 != 4 || ip_len < 20 || fragment != 0 || header[9] != protocol {
        return None;
    }
    let carried_len = len.checked_sub(ip_len as u16)?;
    let [src, dst] = [12, 16].map(|at| Ipv4Addr::from([0, 1, 2, 3].map(|byte: usize| header[at + byte])));
    let pseudo = Sum::new().add_pseudo_v4(src, dst, protocol, carried_len);
    Some((len.into(), ip_len, pseudo))
}

fn ipv6(ip: &[u8], protocol: u8) -> Option<Measures> {
    let header = ip.first_chunk::<IPV6_LEN>()?;
    if header[0] >> 4 != 6 || header[6] != protocol {
        return None;
    }
    let carried_len = u16::from_be_bytes([header[4], header[5]]);
    let [src, dst] = [8, 24].map(|at| {
        let octets: [u8; 16] = std::array::from_fn(|byte| header[at + byte]);
        Ipv6Addr::from(octets)
    });
    let pseudo = Sum::new().add_pseudo_v6(src, dst, protocol, carried_len.into());
    Some((IPV6_LEN + usize::from(carried_len), IPV6_LEN, pseudo))
}

#[cfg(test)]
mod tests {
    use super::super::framing::Framing;
    use super::{complete_checksum, missing_checksum, prepared_checksum};

    fn cut(frame: &[u8], mtu: usize) -> Option<super::Cut> {
        let cut = super::cut(frame, Framing::Ethernet, mtu);
        // Without its Ethernet header it is cut at places that are as much nearer.
        let bare = frame.get(14..).and_then(|packet| super::cut(packet, Framing::Bare, mtu));
        if let (Some(cut), Some(bare)) = (cut, bare) {
            assert_eq!((bare.len + 14, bare.sum_at + 14, bare.sum), (cut.len, cut.sum_at, cut.sum));
        }
        assert!(cut.is_none() || bare.is_some());
        cut
    }

    #[test]
    fn checksums_are_completed_within_the_frame_only() {
        let header =
            [1_u16.to_ne_bytes(), [0; 2], [0; 2], 34_u16.to_ne_bytes(), 16_u16.to_ne_bytes()].concat();
        let header = <[u8; 10]>::try_from(header).unwrap();
        if cfg!(target_endian = "little") {
            assert_eq!(missing_checksum(&header), Some((34, 16)));
        }
        assert_eq!(missing_checksum(&[0; 10]), None);
        let mut frame = [1; 54];
        assert!(complete_checksum(&mut frame, (34, 16)));
        // That of all but the pseudo-header, whose sum stood in its place.
        assert_eq!(wire::checksum::checksum(&frame[34..]), 0x0101);
        for (len, place) in [(51, (34, 16)), (20, (34, 16)), (0, (0, 0)), (54, (65535, 65535))] {
            let mut frame = vec![1; len];
            assert!(!complete_checksum(&mut frame, place));
            assert_eq!(frame, vec![1; len]);
        }
        let mut zeroes = [0; 54];
        assert!(complete_checksum(&mut zeroes, (34, 6)));
        assert_eq!(zeroes[40..42], [0xff; 2], "zero would say that there is none");
    }

    #[test]
    fn checksums_are_missing_where_the_sum_of_the_pseudo_header_is() {
        let addresses = [1, 2].map(|last| std::net::Ipv4Addr::new(192, 0, 2, last));
        let addresses6 = [1, 2].map(|last| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
        for (protocol, offset) in [(6, 16), (17, 6)] {
            let mut packet = vec![0_u8; 20 + 32];
            (packet[0], packet[3], packet[9]) = (0x45, 52, protocol);
            packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
            assert_eq!(prepared_checksum(&packet, Framing::Bare), None, "there is none");
            let sum = wire::checksum::Sum::new().add_pseudo_v4(addresses[0], addresses[1], protocol, 32);
            packet[20 + offset..22 + offset].copy_from_slice(&sum.partial().to_be_bytes());
            assert_eq!(prepared_checksum(&packet, Framing::Bare), Some((20, offset)));
            assert_eq!(prepared_checksum(&packet[..21 + offset], Framing::Bare), None);
            // SCTP, and IPv4 within IPv4.
            for other in [132, 4] {
                packet[9] = other;
                assert_eq!(prepared_checksum(&packet, Framing::Bare), None);
            }
            let mut packet = vec![0_u8; 40 + 32];
            (packet[0], packet[5], packet[6]) = (0x60, 32, protocol);
            packet[8..24].copy_from_slice(&addresses6[0].octets());
            packet[24..40].copy_from_slice(&addresses6[1].octets());
            let sum = wire::checksum::Sum::new().add_pseudo_v6(addresses6[0], addresses6[1], protocol, 32);
            packet[40 + offset..42 + offset].copy_from_slice(&sum.partial().to_be_bytes());
            assert_eq!(prepared_checksum(&packet, Framing::Bare), Some((40, offset)));
            packet[6] = 60;
            assert_eq!(prepared_checksum(&packet, Framing::Bare), None, "behind an extension header");
        }
    }

    #[test]
    fn nothing_but_long_tcp_segments_is_cut() {
        let mut frame = vec![0_u8; 54 + 4000];
        frame[12] = 8;
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&4040_u16.to_be_bytes());
        frame[23] = 6;
        frame[46] = 0x50;
        let good = cut(&frame, 1500).expect("it can be cut");
        assert_eq!((good.len, good.sum_at), (4054, 50));
        assert_eq!(good.header[4..6], 1460_u16.to_ne_bytes());
        assert_eq!(cut(&frame, 4040), None, "it fits");
        for len in 0..frame.len() {
            assert_eq!(cut(&frame[..len], 1500), None, "{len} bytes are there");
        }
        for (at, value) in
            [(12, 9), (14, 0x55), (14, 0x44), (20, 0x20), (23, 17), (46, 0x40), (47, 2), (47, 4)]
        {
            let mut other = frame.clone();
            other[at] = value;
            assert_eq!(cut(&other, 1500), None, "byte {at}");
        }
    }
}
