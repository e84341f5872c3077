//! Flows of a wall that runs, for who asks about packets that do not come.
//!
//! A filter is asked about headers that packets of the flow would have: its VLANs, addresses, protocol and ports, in either direction, and nothing behind
//! them. The table is looked at in parts, a few with each tick, so that packets go on meanwhile.

use super::{Judge, Verdict};
use crate::policy::Policy;
use crate::record::Record;
use flow::{Direction, Key, Slot};
use pflang::Filter;
use std::net::IpAddr;
use std::sync::Arc;
use wire::ether::{EthernetHeader, ethertype};
use wire::ip::{Ipv4Header, Ipv6Header, protocol};
use wire::transport::{TcpFlags, TcpHeader, UdpHeader};
use wire::{LinkType, Mac};

/// Flows that are told of, at most.
const FLOWS_MAX: usize = 64;

/// A flow that the wall knows.
#[derive(Clone, Debug)]
pub struct KnownFlow {
    /// The flow as it stands.
    pub record: Record,
    /// What became of its last packet, by which policy: `None` for one whose text is not in force any more.
    pub last: Option<(Verdict, Option<Arc<Policy>>)>,
}

/// Flows that match filters.
#[derive(Clone, Debug, Default)]
pub struct FoundFlows {
    /// Some of them.
    pub flows: Vec<KnownFlow>,
    /// How many match.
    pub matching: usize,
    /// How many were looked at.
    pub looked_at: usize,
    /// Whether these were all.
    pub is_whole: bool,
    /// The part of the table that is looked at next.
    next: usize,
}

impl FoundFlows {
    /// Looks at so many further flows, or some more, in as many parts of the table as have them, up to eight times that number.
    pub(crate) fn go_on(&mut self, judge: &Judge, filters: &[Filter], flows: usize) {
        let parts = judge.spy.flow_parts();
        let (end, enough) = ((self.next + 8 * flows).min(parts), self.looked_at + flows);
        while self.next < end && self.looked_at < enough {
            for (slot, key) in judge.spy.flows_in(self.next..self.next + 1) {
                self.looked_at += 1;
                if filters.iter().any(|filter| matches(filter, &key)) {
                    self.matching += 1;
                    let known = (self.flows.len() < FLOWS_MAX).then(|| judge.known(slot)).flatten();
                    self.flows.extend(known);
                }
            }
            self.next += 1;
        }
        self.is_whole = self.next >= parts;
    }

    /// With what another worker has found.
    pub(crate) fn and(mut self, other: FoundFlows) -> FoundFlows {
        self.flows.extend(other.flows);
        self.flows.truncate(FLOWS_MAX);
        self.matching += other.matching;
        self.looked_at += other.looked_at;
        self.is_whole &= other.is_whole;
        self
    }
}

impl Judge {
    /// A flow as it stands.
    fn known(&self, slot: Slot) -> Option<KnownFlow> {
        let last = self.states.get(slot).and_then(|state| state.last((self.text_since, self.generation)));
        // Where verdicts are kept with flows, their state is not written.
        let kept = self.kept.get(self.spy.kept(slot)).map(|kept| (kept.verdict, true));
        let last = kept
            .or(last)
            .map(|(verdict, is_current)| (verdict, is_current.then(|| Arc::clone(&self.policy))));
        Some(KnownFlow { record: self.spy.record(slot)?, last })
    }
}

/// Whether a filter matches packets of a flow. Those with VLAN tags are Ethernet frames; without these, their headers would match what the frames do not.
fn matches(filter: &Filter, key: &Key) -> bool {
    if filter.linktype() != LinkType::EN10MB && key.vlans() != [0, 0] {
        return false;
    }
    let is_one = |direction| filter.matches(&headers(filter.linktype(), key, direction));
    is_one(Direction::Up) || is_one(Direction::Down)
}

/// The headers that a packet of a flow has, from Ethernet or from IP on.
fn headers(linktype: LinkType, key: &Key, direction: Direction) -> Vec<u8> {
    let (src, dst) = (key.src(direction), key.dst(direction));
    let mut transport = [0; 20];
    let len = match key.protocol() {
        protocol::TCP => {
            let flags = TcpFlags(TcpFlags::ACK);
            let (src_port, dst_port) = (src.port(), dst.port());
            transport = TcpHeader { src_port, dst_port, seq: 0, ack: 0, flags, window: 0 }.to_bytes();
            20
        }
        protocol::UDP => {
            let header = UdpHeader { src_port: src.port(), dst_port: dst.port(), len: 8 };
            transport[..8].copy_from_slice(&header.to_bytes());
            8
        }
        // Those that have ports have them here; the identifier of an ICMP message stands elsewhere.
        protocol::ICMP | protocol::ICMPV6 => 8,
        _ => {
            transport[..2].copy_from_slice(&src.port().to_be_bytes());
            transport[2..4].copy_from_slice(&dst.port().to_be_bytes());
            transport.len()
        }
    };
    let mut bytes = Vec::with_capacity(96);
    if linktype == LinkType::EN10MB {
        let ip = if key.is_v6() { ethertype::IPV6 } else { ethertype::IPV4 };
        let header = EthernetHeader { dst: Mac::ZERO, src: Mac::ZERO, ethertype: ip };
        let [addresses @ .., _, _] = header.to_bytes();
        bytes.extend_from_slice(&addresses);
        for vlan in key.vlans().into_iter().filter(|vlan| *vlan != 0) {
            bytes.extend_from_slice(&ethertype::VLAN.to_be_bytes());
            bytes.extend_from_slice(&vlan.to_be_bytes());
        }
        bytes.extend_from_slice(&ip.to_be_bytes());
    }
    let number = key.protocol();
    match (src.ip(), dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let header = Ipv4Header::carrying(number, len, src, dst);
            header.iter().for_each(|header| bytes.extend_from_slice(&header.to_bytes()));
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let header = Ipv6Header::carrying(number, len, src, dst);
            header.iter().for_each(|header| bytes.extend_from_slice(&header.to_bytes()));
        }
        // The ends of a key are of one version.
        _ => {}
    }
    bytes.extend_from_slice(&transport[..len]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_in_vlans_are_found_by_filters_of_vlans() {
        let [src, dst] = ["10.0.0.1:4000", "10.0.0.2:53"].map(|end| end.parse().unwrap());
        for (text, expected) in [("udp", [true, false]), ("vlan 7 and udp", [false, true])] {
            let compiled = |linktype| pflang::Compiler::new(linktype).compile(text).ok();
            let filters = [LinkType::RAW, LinkType::EN10MB].map(compiled);
            let found = [[0, 0], [7, 0]].map(|vlans| {
                let (key, _) = Key::new(src, dst, protocol::UDP, vlans);
                filters.iter().flatten().any(|filter| matches(filter, &key))
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn headers_are_those_of_the_flow() {
        let ends = [["10.0.0.1:4000", "10.0.0.2:53"], ["[2001:db8::1]:4000", "[2001:db8::2]:53"]];
        for [src, dst] in ends.map(|ends| ends.map(|end| end.parse().unwrap())) {
            for number in [protocol::TCP, protocol::UDP, protocol::SCTP, protocol::UDPLITE] {
                for vlans in [[0, 0], [7, 0], [7, 9]] {
                    let (key, _) = Key::new(src, dst, number, vlans);
                    for direction in [Direction::Up, Direction::Down] {
                        let frame = headers(LinkType::EN10MB, &key, direction);
                        let decoded = flow::decode(LinkType::EN10MB, &frame).unwrap();
                        assert_eq!((decoded.key, decoded.direction), (key, direction), "{key:?}");
                    }
                }
                let (key, direction) = Key::new(src, dst, number, [0, 0]);
                let decoded = flow::decode(LinkType::RAW, &headers(LinkType::RAW, &key, direction)).unwrap();
                assert_eq!((decoded.key, decoded.direction), (key, direction), "{key:?}");
            }
        }
    }
}
