//! The frames that are replayed: of a capture, or made here.

use crate::exit::Failure;
use flow::{Key, Packet, decode};
use std::ops::Range;
use std::path::Path;
use wire::LinkType;
use wire::ether::{Ethernet, EthernetHeader, Mac, ethertype};
use wire::ip::{Ipv4, Ipv4Header, protocol};
use wire::transport::{TcpFlags, TcpHeader};

/// Frames of a reel at least: a short capture is on it several times, under other addresses.
const REEL_MIN: usize = 256;
/// Frames are laid out as if each had a packet buffer of its own, at the beginning of a cache line.
const ALIGN: usize = 64;
/// The bits of an address that are changed. The others tell private networks and multicast.
const CHANGED: u32 = 0x00ff_ffff;

/// Frames in memory, in order.
pub(super) struct Reel {
    memory: Vec<u8>,
    frames: Vec<Frame>,
    /// How many times the capture is on the reel.
    copies: u32,
}

#[derive(Clone)]
struct Frame {
    at: Range<usize>,
    linktype: LinkType,
    wire_len: u32,
    copy: u32,
    flow: Option<Key>,
    /// Where the last four bytes of its two addresses are, if it has such.
    addresses: Option<[usize; 2]>,
    /// What these differ by from those of the capture.
    mask: u32,
}

impl Reel {
    /// The packets of a capture; `copied` for as many as a replay under new addresses needs.
    pub(super) fn of_capture(path: &Path, copied: bool) -> Result<Reel, Failure> {
        let mut reader = capture::Reader::open(path).map_err(|error| Failure::capture(&error))?;
        let mut reel = Reel { memory: Vec::new(), frames: Vec::new(), copies: 1 };
        while let Some(batch) = reader.next_batch().map_err(|error| Failure::capture(&error))? {
            for packet in batch.iter() {
                reel.add(packet.linktype, packet.data, packet.wire_len, 0);
            }
        }
        if reel.frames.is_empty() {
            return Err(Failure::user(format!("{} holds no packets", path.display())));
        }
        if copied {
            reel.copy();
        }
        Ok(reel)
    }

    /// A conversation in HTTP, made here.
    pub(super) fn made(copied: bool) -> Reel {
        let mut reel = Reel { memory: Vec::new(), frames: Vec::new(), copies: 1 };
        for frame in conversation() {
            reel.add(LinkType::EN10MB, &frame, frame.len() as u32, 0);
        }
        if copied {
            reel.copy();
        }
        reel
    }

    fn add(&mut self, linktype: LinkType, data: &[u8], wire_len: u32, copy: u32) {
        let begin = self.memory.len().next_multiple_of(ALIGN);
        self.memory.resize(begin, 0);
        self.memory.extend_from_slice(data);
        let decoded = decode(linktype, data).ok();
        // The last four bytes of the source are 12 to 15 of an IPv4 header, 20 to 23 of one of IPv6.
        let addresses = decoded.map(|decoded| {
            let ip = begin + decoded.ip().start;
            if decoded.key.is_v6() { [ip + 20, ip + 36] } else { [ip + 12, ip + 16] }
        });
        let at = begin..self.memory.len();
        let addresses = addresses.filter(|addresses| addresses[1] + 4 <= at.end);
        let flow = decoded.map(|decoded| decoded.key);
        self.frames.push(Frame { at, linktype, wire_len, copy, flow, addresses, mask: 0 });
    }

    /// Puts the capture on the reel again until that is long enough.
    fn copy(&mut self) {
        let frames = self.frames.clone();
        while self.frames.len() < REEL_MIN {
            for frame in &frames {
                let data = self.memory[frame.at.clone()].to_vec();
                self.add(frame.linktype, &data, frame.wire_len, self.copies);
            }
            self.copies += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The link type, if all frames have the same.
    pub(super) fn linktype(&self) -> Option<LinkType> {
        let first = self.frames.first()?.linktype;
        self.frames.iter().all(|frame| frame.linktype == first).then_some(first)
    }

    /// A frame, as it comes at some time.
    #[inline]
    pub(super) fn packet(&self, at: usize, time_ns: u64) -> Packet<'_> {
        let Frame { at, linktype, wire_len, .. } = &self.frames[at];
        Packet { frame: &self.memory[at.clone()], linktype: *linktype, time_ns, wire_len: *wire_len }
    }

    /// The flow of a frame, as it is in the capture.
    pub(super) fn flow(&self, at: usize) -> Option<&Key> {
        self.frames[at].flow.as_ref()
    }

    /// Whether a frame ends a TCP connection.
    pub(super) fn ends_connection(&self, at: usize) -> bool {
        let decoded = decode(self.frames[at].linktype, &self.memory[self.frames[at].at.clone()]);
        decoded
            .is_ok_and(|decoded| decoded.is_tcp() && decoded.tcp.flags & (TcpFlags::FIN | TcpFlags::RST) != 0)
    }

    /// Gives frames the addresses of a pass, those of both ends changed alike: no flow is one of another pass. Checksums stay as they are.
    #[inline]
    pub(super) fn renumber(&mut self, frames: Range<usize>, pass: u32) {
        for frame in &mut self.frames[frames] {
            let Some(addresses) = frame.addresses else { continue };
            // An odd factor gives each number another mask.
            let number = pass.wrapping_mul(self.copies).wrapping_add(frame.copy);
            let mask = number.wrapping_mul(0x9e37_79b1) & CHANGED;
            let change = (mask ^ frame.mask).to_be_bytes();
            frame.mask = mask;
            for at in addresses {
                for (byte, change) in self.memory[at..at + 4].iter_mut().zip(change) {
                    *byte ^= change;
                }
            }
        }
    }
}

fn segment(to_server: bool, flags: u8, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let (mut ports, mut addresses) = ([40_000, 80], [[10, 0, 0, 1], [10, 0, 1, 1]]);
    if !to_server {
        ports.reverse();
        addresses.reverse();
    }
    let tcp = TcpHeader {
        src_port: ports[0],
        dst_port: ports[1],
        seq,
        ack,
        flags: TcpFlags(flags),
        window: 60_000,
    };
    let ip = Ipv4Header::carrying(
        protocol::TCP,
        tcp.to_bytes().len() + payload.len(),
        addresses[0].into(),
        addresses[1].into(),
    );
    let ethernet = EthernetHeader { dst: Mac([2; 6]), src: Mac([4; 6]), ethertype: ethertype::IPV4 };
    let mut frame = ethernet.to_bytes().to_vec();
    frame.extend(ip.iter().flat_map(|header| header.to_bytes()));
    frame.extend(tcp.to_bytes());
    frame.extend(payload);
    frame
}

/// One request and its answer, in 16 packets.
fn conversation() -> Vec<Vec<u8>> {
    const ACK: u8 = TcpFlags::ACK;
    let request = b"GET /index.html HTTP/1.1\r\nHost: www.example.org\r\nAccept: */*\r\n\r\n";
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10240\r\n\r\n".to_vec();
    answer.resize(answer.len() + 10_240, b'x');
    let mut frames = vec![
        segment(true, TcpFlags::SYN, 0, 0, b""),
        segment(false, TcpFlags::SYN | ACK, 0, 1, b""),
        segment(true, ACK, 1, 1, b""),
        segment(true, ACK, 1, 1, request),
    ];
    let asked = 1 + request.len() as u32;
    let mut sent = 1;
    for part in answer.chunks(1460) {
        frames.push(segment(false, ACK, sent, asked, part));
        sent += part.len() as u32;
    }
    frames.extend([
        segment(true, ACK, asked, sent, b""),
        segment(false, TcpFlags::FIN | ACK, sent, asked, b""),
        segment(true, TcpFlags::FIN | ACK, asked, sent + 1, b""),
        segment(false, ACK, sent + 1, asked + 1, b""),
    ]);
    frames
}

/// Where the last bytes of the source address of a made frame are, and its source port.
const SOURCE: usize = Ethernet::LEN + 12;
const SOURCE_PORT: usize = Ethernet::LEN + Ipv4::LEN;

/// Frames of 64 bytes whose sources are written as they are needed: one of millions of flows each.
pub(super) struct Stamped {
    frames: Vec<[u8; 64]>,
}

impl Stamped {
    /// SYNs, or packets that begin a connection to an SSH server.
    pub(super) fn new(count: usize, is_syn: bool) -> Stamped {
        let (flags, payload): (_, &[u8]) =
            if is_syn { (TcpFlags::SYN, b"") } else { (TcpFlags::ACK, b"SSH-2.0-a\n") };
        let mut frame = segment(true, flags, 1, 1, payload);
        frame.resize(64, 0);
        Stamped { frames: vec![frame.try_into().unwrap_or([0; 64]); count] }
    }

    /// Gives a frame the addresses of a flow.
    #[inline]
    pub(super) fn stamp(&mut self, at: usize, flow: u64) {
        // 24 bits in the address, the others in the port.
        let flow = flow.to_be_bytes();
        let frame = &mut self.frames[at];
        frame[SOURCE + 1..SOURCE + 4].copy_from_slice(&flow[5..8]);
        frame[SOURCE_PORT..SOURCE_PORT + 2].copy_from_slice(&flow[3..5]);
    }

    #[inline]
    pub(super) fn packet(&self, at: usize, time_ns: u64) -> Packet<'_> {
        let frame = &self.frames[at];
        Packet { frame, linktype: LinkType::EN10MB, time_ns, wire_len: frame.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_pass_has_flows_of_its_own() {
        let mut reel = Reel::made(true);
        assert!(reel.len() >= REEL_MIN && reel.copies == 16, "{}", reel.copies);
        let mut flows = HashSet::new();
        for pass in 0..1000 {
            reel.renumber(0..reel.len(), pass);
            let of_pass: HashSet<Key> = (0..reel.len())
                .map(|at| decode(LinkType::EN10MB, reel.packet(at, 0).frame).unwrap().key)
                .collect();
            assert_eq!(of_pass.len(), 16);
            assert!(of_pass.into_iter().all(|key| flows.insert(key)), "pass {pass}");
        }
    }

    #[test]
    fn stamped_frames_are_of_as_many_flows_as_there_are_stamps() {
        let mut frames = Stamped::new(1, true);
        let key = |frames: &Stamped| decode(LinkType::EN10MB, frames.packet(0, 0).frame).unwrap().key;
        let mut flows = HashSet::new();
        for flow in [0, 1, 255, 256, 1 << 23, 1 << 24, (1 << 40) - 1] {
            frames.stamp(0, flow);
            assert!(flows.insert(key(&frames)), "{flow}");
        }
    }
}
