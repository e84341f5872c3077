//! A small assembly of flows, so that captures can be shown to tier 1.

use dpi::tier1::{StateId, Step, Tier1};
use dpi::{Details, Message, Verdict};
use std::collections::HashMap;
use std::net::SocketAddr;
use testkit::corpus::Capture;
use wire::layers::{End, Layers};
use wire::transport::Tcp;

/// What became of a flow.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Sender and receiver of its first packet.
    pub(crate) ends: Option<(SocketAddr, SocketAddr)>,
    /// What it was found to speak, and after how many packets with payload.
    pub(crate) verdict: Option<(Verdict, usize)>,
    pub(crate) details: Details,
    /// Whether it was left to tier 2.
    pub(crate) is_left: bool,
    /// Packets with payload that were looked at.
    pub(crate) packets: usize,
    /// Whether less was captured of some packet than was sent.
    pub(crate) is_cut: bool,
    state: Option<StateId>,
    starts: [Option<u32>; 2],
}

/// What is done to a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Recorded,
    /// No port is what it was.
    OtherPorts,
    /// Each segment is two: of one byte, or of halves, and the second may come first.
    Split {
        in_half: bool,
        swapped: bool,
    },
}

impl Variant {
    fn port(self, port: u16) -> u16 {
        if self == Variant::OtherPorts { 20_000 + port.wrapping_mul(40_503) % 40_000 } else { port }
    }

    /// A payload in parts, each with its offset.
    fn parts(self, payload: &[u8], transport: u8) -> Vec<(usize, &[u8])> {
        let Variant::Split { in_half, swapped } = self else { return vec![(0, payload)] };
        if transport != 6 || payload.len() < 2 {
            return vec![(0, payload)];
        }
        let at = if in_half { payload.len() / 2 } else { 1 };
        let mut parts = vec![(0, &payload[..at]), (at, &payload[at..])];
        if swapped {
            parts.reverse();
        }
        parts
    }
}

/// The flows of a capture, in the order of their first packets.
pub(crate) fn flows(capture: &Capture, variant: Variant, tier1: &mut Tier1) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut numbers = HashMap::new();
    for packet in &capture.packets {
        let layers = Layers::of(capture.linktype, &packet.bytes);
        let Some(tuple) = layers.inner() else { continue };
        let (Some((src_port, dst_port)), End::Payload) = (tuple.ports, layers.end()) else { continue };
        let (from, to) = (SocketAddr::new(tuple.src, src_port), SocketAddr::new(tuple.dst, dst_port));
        let number = *numbers.entry((tuple.protocol, from.min(to), from.max(to))).or_insert_with(|| {
            flows.push(Flow { ends: Some((from, to)), ..Flow::default() });
            flows.len() - 1
        });
        let flow = &mut flows[number];
        let forward = flow.ends == Some((from, to));
        let transport = layers.transport().map(|layer| &packet.bytes[usize::from(layer.off)..]);
        let tcp = transport.filter(|_| tuple.protocol == 6).and_then(Tcp::new);
        let sequence = tcp.map_or(0, |tcp| tcp.seq());
        let is_syn = tcp.is_some_and(|tcp| tcp.flags().0 & 2 != 0);
        if is_syn {
            flow.starts[usize::from(!forward)] = Some(sequence.wrapping_add(1));
        }
        let whole = &packet.bytes[layers.payload()];
        flow.is_cut |= packet.wire_len as usize > packet.bytes.len();
        for (offset, payload) in variant.parts(whole, tuple.protocol) {
            if payload.is_empty() || flow.verdict.is_some() || flow.is_left {
                break;
            }
            flow.packets += 1;
            let message = Message {
                transport: tuple.protocol,
                ipv6: from.is_ipv6(),
                forward,
                source_port: variant.port(src_port),
                destination_port: variant.port(dst_port),
                sequence: sequence.wrapping_add(u32::from(is_syn) + offset as u32),
                start: flow.starts[usize::from(!forward)],
                payload,
                cut: packet.wire_len as usize > packet.bytes.len() && offset + payload.len() == whole.len(),
            };
            match tier1.inspect(&mut flow.state, &message) {
                Step::Decided(verdict, details) => {
                    (flow.verdict, flow.details) = (Some((verdict, flow.packets)), details);
                }
                Step::Undecided => {}
                Step::NotOurs => flow.is_left = true,
            }
        }
    }
    for flow in &mut flows {
        if let Some(verdict) = tier1.conclude(&mut flow.state) {
            flow.verdict = Some((verdict, flow.packets));
        }
    }
    flows
}
