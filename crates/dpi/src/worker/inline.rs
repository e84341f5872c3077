//! nDPI in this process, as the worker has it: for measurements and for fuzzing, which want to see its faults.

use super::flows::Flows;
use super::job::{Job, Order};
use super::memory::ZEROS_BYTES;
use super::{Answer, FlowId, Options, Packet, WorkerError, answer_of};
use crate::ndpi::Module;

/// nDPI, without a process around it. Packets that crash it crash this process.
pub struct Inline {
    flows: Flows,
    buffer: Vec<u8>,
}

impl Inline {
    /// Loads the library.
    ///
    /// # Errors
    /// As [`Worker::start`](super::Worker::start).
    pub fn load(options: &Options) -> Result<Inline, WorkerError> {
        let module = Module::load(options.library.as_deref()).map_err(WorkerError::Ndpi)?;
        Ok(Inline { flows: Flows::new(module, &options.settings()?), buffer: Vec::new() })
    }

    /// Shows nDPI a packet.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&Answer)) {
        let order = if packet.first { Order::First } else { Order::Next };
        let bytes = packet.datagram.len() as u32;
        let job = Job { flow: packet.flow, ms: packet.ms, bytes, order, transport: packet.transport };
        self.take(job, packet.datagram, each);
    }

    /// Has nDPI give up on a flow.
    pub fn give_up(&mut self, flow: FlowId, each: &mut dyn FnMut(&Answer)) {
        self.take(Job { flow, order: Order::Guess, ..Job::default() }, &[], each);
    }

    fn take(&mut self, job: Job, packet: &[u8], each: &mut dyn FnMut(&Answer)) {
        self.buffer.clear();
        self.buffer.extend_from_slice(packet);
        self.buffer.resize(packet.len() + ZEROS_BYTES, 0);
        self.flows.take(job, &self.buffer[..packet.len()], &mut |told, strings| {
            each(&answer_of(told, strings.map(Option::unwrap_or_default)));
        });
    }
}

/// Bytes as packets of four flows, whose addresses, ports and protocols stay the same: over TCP and UDP, IPv4 and IPv6.
///
/// The first bytes are the ports of the servers. Then comes, for each packet, a byte that chooses flow and direction, a byte with flags of TCP,
/// two with the length of the payload, and the payload.
pub fn fuzz(inline: &mut Inline, data: &[u8], each: &mut dyn FnMut(&Answer)) {
    let Some((ports, mut rest)) = data.split_first_chunk::<8>() else { return };
    let ports: Vec<u16> = ports.as_chunks::<2>().0.iter().map(|port| u16::from_be_bytes(*port)).collect();
    let mut seen = [0_u32; 4];
    while let Some((&[choice, flags, high, low], left)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([high, low]) % 1800).min(left.len());
        let (payload, left) = left.split_at(length);
        rest = left;
        let slot = usize::from(choice % 4);
        let (tcp, ipv6, back) = (slot < 2, slot % 2 == 1, choice & 4 != 0);
        let mut ends = [(1, 40_000 + slot as u16), (2, ports[slot])];
        if back {
            ends.reverse();
        }
        let segment = transport(tcp, [ends[0].1, ends[1].1], seen[slot], flags, payload);
        let protocol = if tcp { 6 } else { 17 };
        let datagram = network(ipv6, [ends[0].0, ends[1].0], protocol, &segment);
        let flow = FlowId { slot: slot as u32, generation: 0 };
        let first = seen[slot] == 0;
        let ms = 1_000_000 + u64::from(seen.iter().sum::<u32>());
        seen[slot] += 1;
        inline.packet(&Packet { flow, first, transport: protocol, ms, datagram: &datagram }, each);
    }
    for slot in 0..4 {
        inline.give_up(FlowId { slot, generation: 0 }, each);
    }
}

fn transport(tcp: bool, [from, to]: [u16; 2], number: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = [from.to_be_bytes(), to.to_be_bytes()].concat();
    if tcp {
        segment.extend((number * 2000).to_be_bytes());
        segment.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        segment.extend((8 + payload.len() as u16).to_be_bytes());
        segment.extend([0, 0]);
    }
    segment.extend_from_slice(payload);
    segment
}

fn network(ipv6: bool, [from, to]: [u8; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut datagram = Vec::with_capacity(40 + payload.len());
    if ipv6 {
        datagram.extend([0x60, 0, 0, 0]);
        datagram.extend(length.to_be_bytes());
        datagram.extend([protocol, 64]);
        for host in [from, to] {
            datagram.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
    } else {
        datagram.extend([0x45, 0]);
        datagram.extend((20 + length).to_be_bytes());
        datagram.extend([0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    }
    datagram.extend_from_slice(payload);
    datagram
}
