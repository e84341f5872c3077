//! Traffic made up from a seed: TCP to port 80 alone, or a mixture.

use pflang::Packet;
use testkit::rng::Rng;

pub(crate) struct Traffic {
    pub(crate) name: &'static str,
    pub(crate) packets: Vec<Packet<'static>>,
    /// How many packets a turn takes.
    pub(crate) chunk: usize,
}

const HOT_PACKETS: usize = 512;
const HOT_TURN: usize = 1 << 16;
const COLD_BYTES: usize = 768 << 20;
const COLD_TURN: usize = 1 << 16;
const SLOT: usize = 256;

impl Traffic {
    /// Few packets in random order: all in the nearest caches, and no pattern to learn.
    pub(crate) fn hot(name: &'static str, mixed: bool) -> Traffic {
        let mut rng = Rng::new(1);
        let distinct: Vec<Packet<'static>> =
            (0..HOT_PACKETS).map(|_| leak(&packet(&mut rng, mixed))).collect();
        let packets = (0..HOT_TURN).map(|_| *rng.pick(&distinct)).collect();
        Traffic { name, packets, chunk: HOT_TURN }
    }

    /// Packets back to back, as in a file that has been read.
    pub(crate) fn in_sequence(name: &'static str, mixed: bool) -> Traffic {
        let mut rng = Rng::new(2);
        let sample: Vec<Vec<u8>> = (0..4096).map(|_| packet(&mut rng, mixed)).collect();
        let mut memory = Vec::with_capacity(COLD_BYTES);
        let mut lens = Vec::new();
        while memory.len() + SLOT < COLD_BYTES {
            let packet = rng.pick(&sample);
            memory.extend_from_slice(&[0; 16]);
            memory.extend_from_slice(packet);
            lens.push(packet.len());
        }
        let mut rest: &'static [u8] = memory.leak();
        let next = |len| {
            let (record, after) = rest.split_at(16 + len);
            rest = after;
            Packet::new(&record[16..], len as u32)
        };
        Traffic { name, packets: lens.into_iter().map(next).collect(), chunk: COLD_TURN }
    }

    /// A packet in each slot of a large pool, in random order.
    pub(crate) fn in_disorder(name: &'static str, mixed: bool) -> Traffic {
        let mut rng = Rng::new(3);
        let sample: Vec<Vec<u8>> = (0..4096).map(|_| packet(&mut rng, mixed)).collect();
        let mut memory = vec![0; COLD_BYTES];
        let mut lens = Vec::new();
        for slot in memory.chunks_exact_mut(SLOT) {
            let packet = rng.pick(&sample);
            slot[..packet.len()].copy_from_slice(packet);
            lens.push(packet.len());
        }
        let slots = memory.leak().chunks_exact(SLOT).zip(lens);
        let mut packets: Vec<Packet<'static>> =
            slots.map(|(slot, len)| Packet::new(&slot[..len], len as u32)).collect();
        for i in (1..packets.len()).rev() {
            packets.swap(i, rng.below(i + 1));
        }
        Traffic { name, packets, chunk: COLD_TURN }
    }
}

fn leak(packet: &[u8]) -> Packet<'static> {
    // In slots of 128 bytes, as in a pool.
    let mut slot = vec![0; 128];
    slot[..packet.len()].copy_from_slice(packet);
    let slot: &'static [u8] = slot.leak();
    Packet::new(&slot[..packet.len()], packet.len() as u32)
}

/// Of a mixture, 80 % is IPv4, 17 % IPv6, 3 % ARP; TCP and UDP; a quarter from or to port 80. Short packets.
fn packet(rng: &mut Rng, mixed: bool) -> Vec<u8> {
    let client = 1024 + rng.below(60_000) as u16;
    if !mixed {
        return ip4(rng, 6, client, 80, 6);
    }
    let server = match rng.below(8) {
        0 | 1 => 80,
        2..=4 => 443,
        5 => 53,
        _ => 1024 + rng.below(60_000) as u16,
    };
    let (source, destination) = if rng.chance(1, 2) { (client, server) } else { (server, client) };
    let payload = 6 * rng.below(2);
    match rng.below(100) {
        0..=54 => ip4(rng, 6, source, destination, payload),
        55..=79 => ip4(rng, 17, source, destination, payload),
        80..=89 => ip6(6, source, destination),
        90..=96 => ip6(17, source, destination),
        _ => [&[0; 12][..], &[8, 6], &[0; 46]].concat(),
    }
}

fn ip4(rng: &mut Rng, protocol: u8, source: u16, destination: u16, payload: usize) -> Vec<u8> {
    let transport_len = if protocol == 6 { 20 } else { 8 };
    let total_len = (20 + transport_len + payload) as u16;
    let mut packet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &[0x45, 0]].concat();
    packet.extend(total_len.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, rng.next_u32() as u8, rng.next_u32() as u8]);
    packet.extend([192, 168, rng.below(16) as u8, rng.next_u32() as u8]);
    packet.extend(transport(protocol, source, destination));
    packet.resize((packet.len() + payload).max(60), 7);
    packet
}

fn ip6(protocol: u8, source: u16, destination: u16) -> Vec<u8> {
    let mut packet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd][..], &[0x60, 0, 0, 0]].concat();
    packet.extend([0, 20, protocol, 64]);
    packet.extend([0; 32]);
    packet.extend(transport(protocol, source, destination));
    packet.resize(packet.len().max(60), 7);
    packet
}

fn transport(protocol: u8, source: u16, destination: u16) -> Vec<u8> {
    let mut header = vec![0; if protocol == 6 { 20 } else { 8 }];
    header[..2].copy_from_slice(&source.to_be_bytes());
    header[2..4].copy_from_slice(&destination.to_be_bytes());
    if protocol == 6 {
        header[12] = 0x50;
        header[13] = 0x18;
    }
    header
}
