//! Packets for measurements: made here, or taken from a capture.

use crate::exit::Failure;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use wire::ether::{EthernetHeader, Mac, ethertype};
use wire::ip::{Ipv4Header, Ipv6Header, protocol};
use wire::transport::{TcpFlags, TcpHeader, UdpHeader};

/// Packets of a trace at most; a pool must hold them beside those on their way.
const MAX_PACKETS: usize = 8192;

/// The packets of a capture.
pub(super) fn capture(path: &Path) -> Result<Arc<[Vec<u8>]>, Failure> {
    let mut reader = capture::Reader::open(path).map_err(|error| Failure::capture(&error))?;
    let mut packets = Vec::new();
    while let Some(batch) = reader.next_batch().map_err(|error| Failure::capture(&error))? {
        packets.extend(batch.packets().iter().map(|packet| batch.data(packet).to_vec()));
    }
    packets.retain(|packet| packet.len() <= engine::MAX_PAYLOAD);
    packets.truncate(MAX_PACKETS);
    if packets.is_empty() {
        return Err(Failure::user(format!("{} holds no packets", path.display())));
    }
    Ok(packets.into())
}

/// A mixture: TCP to and from port 80 (a quarter), other TCP, UDP, IPv6; of many flows and sizes, or of one size, but for IPv6 with no room in it.
pub(super) fn mixture(size: Option<usize>) -> Arc<[Vec<u8>]> {
    (0..4096_u32)
        .map(|number| {
            // Some order that no predictor learns by heart (Knuth's multiplicative hash).
            let dice = number.wrapping_mul(2_654_435_761);
            let size = size.unwrap_or([60, 60, 90, 200, 600, 1500][(dice >> 13) as usize % 6]);
            match (dice >> 20) % 8 {
                0 => tcp(number, 80, size),
                1 => swapped(tcp(number, 80, size)),
                2..=4 => tcp(number, 443, size),
                5 => udp6(number, size),
                _ => udp(number, 53, size),
            }
        })
        .collect()
}

fn ethernet(src: Mac, dst: Mac, ethertype: u16) -> Vec<u8> {
    EthernetHeader { dst, src, ethertype }.to_bytes().to_vec()
}

fn mac(number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    Mac([2, 0, a, b, c, d])
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | (number & 0xff_ffff))
}

/// An Ethernet frame with IPv4 and a payload.
fn ip4(number: u32, protocol: u8, mut transport: Vec<u8>, size: usize) -> Vec<u8> {
    let mut frame = ethernet(mac(1), mac(2), ethertype::IPV4);
    transport.resize(size.saturating_sub(34).max(transport.len()), 0x55);
    let header = Ipv4Header::carrying(protocol, transport.len(), address(number), address(1 << 16));
    frame.extend(header.iter().flat_map(|header| header.to_bytes()));
    frame.extend(transport);
    frame
}

fn tcp(number: u32, dst_port: u16, size: usize) -> Vec<u8> {
    let src_port = 1024 + (number % 50_000) as u16;
    let header =
        TcpHeader { src_port, dst_port, seq: number, ack: 0, flags: TcpFlags(TcpFlags::ACK), window: 1000 };
    ip4(number, protocol::TCP, header.to_bytes().to_vec(), size)
}

fn udp(number: u32, dst_port: u16, size: usize) -> Vec<u8> {
    let header = UdpHeader { src_port: 1024 + (number % 50_000) as u16, dst_port, len: (size - 34) as u16 };
    ip4(number, protocol::UDP, header.to_bytes().to_vec(), size)
}

fn udp6(number: u32, size: usize) -> Vec<u8> {
    let mut frame = ethernet(mac(1), mac(2), ethertype::IPV6);
    let payload = size.saturating_sub(54).max(8);
    let (src, dst) = (Ipv6Addr::from_bits(number.into()), Ipv6Addr::from_bits(1));
    let header = Ipv6Header::carrying(protocol::UDP, payload, src, dst);
    frame.extend(header.iter().flat_map(|header| header.to_bytes()));
    let udp = UdpHeader { src_port: 5000, dst_port: 53, len: payload as u16 };
    frame.extend(udp.to_bytes());
    frame.resize(54 + payload, 0);
    frame
}

/// The same packet in the other direction: ports of TCP.
fn swapped(mut packet: Vec<u8>) -> Vec<u8> {
    packet[34..38].rotate_left(2);
    packet
}

/// An IPv4 packet of a size in bytes, frame included, that may be fragmented; each with an identification of its own.
pub(super) fn large(size: usize) -> Arc<[Vec<u8>]> {
    let may_be_cut = |number: u32| {
        let mut packet = udp(number, 9, size);
        let header = Ipv4Header {
            dont_fragment: false,
            ident: number as u16,
            ..Ipv4Header::carrying(protocol::UDP, size - 34, address(number), address(1 << 16))
                .unwrap_or_else(|| unreachable!("it fits"))
        };
        packet[14..34].copy_from_slice(&header.to_bytes());
        packet
    };
    (0..1024).map(may_be_cut).collect()
}

/// Frames from the hosts of one port of a bridge to those of the others.
pub(super) fn bridged(port: u32, ports: u32, size: usize) -> Arc<[Vec<u8>]> {
    const HOSTS: u32 = 16;
    let frame = |number: u32| {
        let other = (port + 1 + number % (ports - 1)) % ports;
        let host = |port: u32| mac(port * 256 + number % HOSTS);
        let mut frame = ethernet(host(port), host(other), 0x88b5);
        frame.resize(size, 0);
        frame
    };
    (0..HOSTS * (ports - 1)).map(frame).collect()
}

/// A capture of packets of one size, in a file that is removed with what is given back.
pub(super) fn file_of(size: usize, packets: usize) -> Result<Scratch, Failure> {
    let folder =
        if Path::new("/dev/shm").is_dir() { Path::new("/dev/shm").to_owned() } else { std::env::temp_dir() };
    let scratch = Scratch { stem: folder.join(format!("sluss-bench-{}", std::process::id())) };
    let (order, precision) = (capture::ByteOrder::NATIVE, capture::Precision::Micro);
    let linktype = wire::LinkType::EN10MB;
    let mut file =
        capture::Target::Pcap { order, precision, snaplen: 65_535, linktype, link_bits: 0 }.file_header();
    let packet = udp(1, 9, size.max(42));
    for number in 0..packets as u32 {
        let fields = [
            1_700_000_000 + number / 1_000_000,
            number % 1_000_000,
            packet.len() as u32,
            packet.len() as u32,
        ];
        file.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        file.extend(&packet);
    }
    std::fs::write(scratch.input(), file)
        .map_err(|error| Failure::world(format!("cannot write {}: {error}", scratch.input().display())))?;
    Ok(scratch)
}

/// Files of a measurement, removed in the end.
pub(super) struct Scratch {
    stem: std::path::PathBuf,
}

impl Scratch {
    pub(super) fn input(&self) -> std::path::PathBuf {
        self.stem.with_extension("in.pcap")
    }

    /// Where run `number` writes: two files in turn, so that what is written does not pile up.
    pub(super) fn output(&self, number: usize) -> std::path::PathBuf {
        self.stem.with_extension(format!("out{}.pcap", number % 2))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in [self.input(), self.output(0), self.output(1)] {
            let _ = std::fs::remove_file(path);
        }
    }
}
