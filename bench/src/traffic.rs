//! Synthetic traffic: what the packets are, and how they lie in memory.
//!
//! *uniform*: every packet is TCP to port 80, so branches predict and the cost is that of the work.
//! *mixed*: 80 % IPv4, 17 % IPv6, 3 % ARP, TCP and UDP, a quarter on port 80, so branch misses dominate.

use testkit::rng::Rng;

/// A packet where it lies.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub(crate) data: *const u8,
    pub(crate) captured: u32,
    pub(crate) wire: u32,
}

/// Packets in memory, and the order in which they are visited.
pub(crate) struct Traffic {
    pub(crate) name: &'static str,
    pub(crate) descriptors: Vec<Descriptor>,
    /// What the descriptors point into.
    _memory: Vec<u8>,
}

/// What the packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    Uniform,
    Mixed,
}

const SLOT: usize = 128;
/// Bytes of a cache line.
const LINE: usize = 64;

impl Traffic {
    /// 512 distinct packets in cache, 65,536 visits in random order: the branch pattern cannot be learnt by heart.
    pub(crate) fn hot(mix: Mix) -> Traffic {
        let name = if mix == Mix::Uniform { "uniform" } else { "mixed" };
        let mut rng = Rng::new(0x1234_5678);
        let visits: Vec<usize> = (0..65_536).map(|_| rng.below(512)).collect();
        Traffic::laid_out(name, mix, 512, SLOT, &visits)
    }

    /// More packets than any cache holds: one in each 256 bytes, in random order, or in each 80, in memory order.
    pub(crate) fn cold(mix: Mix, packets: usize, random: bool) -> Traffic {
        let mut visits: Vec<usize> = (0..packets).collect();
        if random {
            let mut rng = Rng::new(0x00ab_cdef);
            for i in (1..packets).rev() {
                visits.swap(i, rng.below(i + 1));
            }
        }
        let (name, stride) = if random { ("random DRAM", 256) } else { ("sequential DRAM", 80) };
        Traffic::laid_out(name, mix, packets, stride, &visits)
    }

    fn laid_out(name: &'static str, mix: Mix, packets: usize, stride: usize, visits: &[usize]) -> Traffic {
        let mut rng = Rng::new(0x5eed);
        let distinct: Vec<Vec<u8>> = (0..packets.min(4096)).map(|_| packet(mix, &mut rng)).collect();
        let mut memory = huge(packets * stride + LINE);
        let mut slots = Vec::with_capacity(packets);
        // Where allocation happened to put them, headers would lie in one cache line or in two.
        let skip = memory.as_ptr().align_offset(LINE);
        for slot in memory[skip..].chunks_exact_mut(stride).take(packets) {
            let packet = &distinct[rng.below(distinct.len())];
            slot[..packet.len()].copy_from_slice(packet);
            let length = packet.len() as u32;
            slots.push(Descriptor { data: slot.as_ptr(), captured: length, wire: length });
        }
        Traffic { name, descriptors: visits.iter().map(|&i| slots[i]).collect(), _memory: memory }
    }
}

/// Zeroed memory in huge pages where the system has them, as packet pools are.
fn huge(bytes: usize) -> Vec<u8> {
    const HUGE: usize = 2 << 20;
    let mut memory: Vec<u8> = Vec::with_capacity(bytes);
    let start = memory.as_mut_ptr();
    let skip = start.align_offset(HUGE);
    if bytes > skip + HUGE {
        // SAFETY: the range lies within the allocation; the advice changes how it is backed, not what it holds.
        unsafe { libc::madvise(start.add(skip).cast(), (bytes - skip) / HUGE * HUGE, libc::MADV_HUGEPAGE) };
    }
    memory.resize(bytes, 0);
    memory
}

/// One packet of the mix, at most 80 bytes.
pub(crate) fn packet(mix: Mix, rng: &mut Rng) -> Vec<u8> {
    let source = 0x0a00_0000 | rng.below(1 << 16) as u32;
    let client = 1024 + rng.below(60_000) as u16;
    if mix == Mix::Uniform {
        return ip4(source, rng, 6, client, 80);
    }
    let server = match rng.below(8) {
        0 | 1 => 80,
        2..=4 => 443,
        5 => 53,
        _ => 1024 + rng.below(60_000) as u16,
    };
    let (from, to) = if rng.chance(1, 2) { (client, server) } else { (server, client) };
    match rng.below(100) {
        0..55 => ip4(source, rng, 6, from, to),
        55..80 => ip4(source, rng, 17, from, to),
        80..90 => ip6(6, from, to),
        90..97 => ip6(17, from, to),
        _ => padded([&[0xff; 6][..], &[2; 6], &[0x08, 0x06]].concat()),
    }
}

fn ip4(source: u32, rng: &mut Rng, protocol: u8, from: u16, to: u16) -> Vec<u8> {
    let destination = 0xc0a8_0000 | rng.below(1 << 12) as u32;
    let transport = transport(protocol, from, to);
    let mut packet = [&[2; 12][..], &[0x08, 0x00, 0x45, 0]].concat();
    packet.extend((20 + transport.len() as u16).to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(source.to_be_bytes());
    packet.extend(destination.to_be_bytes());
    packet.extend(transport);
    padded(packet)
}

fn ip6(protocol: u8, from: u16, to: u16) -> Vec<u8> {
    let transport = transport(protocol, from, to);
    let mut packet = [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0]].concat();
    packet.extend((transport.len() as u16).to_be_bytes());
    packet.extend([protocol, 64]);
    packet.extend([0x20, 1, 0x0d, 0xb8].iter().cycle().take(32));
    packet.extend(transport);
    padded(packet)
}

fn transport(protocol: u8, from: u16, to: u16) -> Vec<u8> {
    let mut header = [from.to_be_bytes(), to.to_be_bytes()].concat();
    if protocol == 6 {
        header.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        header.extend(b"GET /");
    } else {
        header.extend([0, 8, 0, 0]);
    }
    header
}

fn padded(mut packet: Vec<u8>) -> Vec<u8> {
    packet.resize(packet.len().max(60), 0);
    packet
}
