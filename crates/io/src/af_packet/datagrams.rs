//! UDP datagrams that come as one frame: a program has left it to the device to cut them (UDP GSO), or a device has joined them (GRO).
//!
//! Unlike the segments of TCP, datagrams mean something one by one, and once the header is gone that comes with the frame, nobody
//! knows any more how long they were. So they are cut when they come, as the kernel would do it (`__udp_gso_segment`).

use super::framing::Framing;
use super::offload::{PROTOCOL_UDP, Version, network};
use engine::{Packet, Pool};
use wire::checksum::checksum;

const UDP_LEN: usize = 8;
/// Where length and checksum are in a UDP header.
const UDP_LENGTH: usize = 4;
const UDP_CHECKSUM: usize = 6;

/// How a frame is cut into datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagrams {
    framing: Framing,
    ip_at: usize,
    udp_at: usize,
    /// Where the IP packet ends.
    end: usize,
    /// Bytes of each datagram but the last, without its header.
    len: usize,
    checksums: Checksums,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checksums {
    Wanted,
    /// They were left out, as IPv4 allows.
    Absent,
}

impl Datagrams {
    /// The most that a program can send as one frame (`UDP_MAX_SEGMENTS`).
    pub(super) const MAX: usize = 128;

    /// How a frame is cut whose datagrams have `len` bytes each. `checksum` says where the bytes begin whose checksum is missing, if it is.
    /// `None` where that is not in the outermost UDP header: the datagrams are in a tunnel.
    pub(super) fn of(frame: &[u8], framing: Framing, len: usize, checksum: Option<usize>) -> Option<Self> {
        let ip = network(frame, framing, PROTOCOL_UDP)?;
        let udp_at = ip.at + ip.header_len;
        let end = ip.at + ip.len;
        let udp = frame.get(udp_at..end)?;
        if len == 0 || udp.len() <= UDP_LEN || checksum.is_some_and(|start| start != udp_at) {
            return None;
        }
        let is_absent = checksum.is_none() && udp[UDP_CHECKSUM..UDP_LEN] == [0; 2];
        let checksums = if is_absent { Checksums::Absent } else { Checksums::Wanted };
        Some(Datagrams { framing, ip_at: ip.at, udp_at, end, len, checksums })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        (self.end - self.udp_at - UDP_LEN).div_ceil(self.len)
    }

    /// The datagrams, each in a packet of its own. `None`, and no packet is taken, if the pool has too few.
    pub(super) fn cut(&self, frame: &[u8], pool: &mut Pool) -> Option<Vec<Packet>> {
        let (headers, payload) = frame[..self.end].split_at(self.udp_at + UDP_LEN);
        let mut packets = Vec::with_capacity(self.count());
        for payload in payload.chunks(self.len) {
            let Some(mut packet) = pool.allocate_for(headers.len() + payload.len()) else {
                packets.into_iter().for_each(|packet| pool.take_back(packet));
                return None;
            };
            let number = packets.len() as u16;
            let is_whole = packet.append(headers).and_then(|()| packet.append(payload)).is_ok();
            debug_assert!(is_whole, "it has room for that");
            self.complete(packet.data_mut(), number);
            packets.push(packet);
        }
        Some(packets)
    }

    /// Puts into the headers of a datagram what differs from one to the next.
    fn complete(&self, frame: &mut [u8], number: u16) {
        let len = |from: usize| ((frame.len() - from) as u16).to_be_bytes();
        let (ip_len, udp_len) = (len(self.ip_at), len(self.udp_at));
        let (headers, udp) = frame.split_at_mut(self.udp_at);
        let ip = &mut headers[self.ip_at..];
        match Version::of(ip) {
            Some(Version::V4) => {
                let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number);
                ip[2..4].copy_from_slice(&ip_len);
                ip[4..6].copy_from_slice(&id.to_be_bytes());
                ip[10..12].fill(0);
                let sum = checksum(ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            // Without extension headers, the payload is the UDP datagram.
            Some(Version::V6) => ip[4..6].copy_from_slice(&udp_len),
            None => {}
        }
        udp[UDP_LENGTH..][..2].copy_from_slice(&udp_len);
        udp[UDP_CHECKSUM..][..2].fill(0);
        if self.checksums == Checksums::Wanted
            && let Some(ip) = network(frame, self.framing, PROTOCOL_UDP)
        {
            // A zero would say that there is none.
            let sum = match ip.pseudo.add_bytes(&frame[self.udp_at..]).finish() {
                0 => 0xffff,
                sum => sum,
            };
            frame[self.udp_at + UDP_CHECKSUM..][..2].copy_from_slice(&u16::to_be_bytes(sum));
        }
    }
}
