//! The layers of any bytes: within the packet, the same one by one and in bursts, and in agreement with the flow hash.

use proptest::prelude::*;
use wire::flow::Layer as Hashed;
use wire::layers::{BurstEnds, End, LayerKind, Layers};
use wire::{FlowHasher, LinkType};

/// Bytes that begin like a packet more often than chance would have it: some of these pieces, then anything.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let ethernet = |high: u8, low: u8| [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &[high, low]].concat();
    let ip4 = |protocol: u8| [&[0x45, 0, 0, 0, 0, 7, 0, 0, 64, protocol, 0, 0][..], &[10; 8]].concat();
    let ip6 = |next: u8| [&[0x60, 0, 0, 0, 0, 0, next, 64][..], &[0x20; 32]].concat();
    let udp = |port: u16| [&[0x9c, 0x40][..], &port.to_be_bytes(), &[0, 0, 0, 0]].concat();
    let pieces = vec![
        ethernet(8, 0),
        ethernet(0x86, 0xdd),
        ethernet(0x81, 0),
        vec![0, 7, 8, 0],
        vec![0, 7, 0x88, 0x47],
        vec![0, 0, 0x11, 64],
        vec![0x11, 0, 0, 9, 0, 0, 0, 0x21],
        ip4(4),
        ip4(6),
        ip4(17),
        ip4(41),
        ip4(47),
        ip4(51),
        ip6(0),
        ip6(17),
        ip6(41),
        ip6(44),
        vec![17, 0, 1, 4, 0, 0, 0, 0],
        vec![0, 0, 8, 0],
        udp(4789),
        udp(6081),
        udp(2152),
        vec![8, 0, 0, 0, 0, 0, 7, 0],
        vec![0, 0, 0x65, 0x58, 0, 0, 7, 0],
        vec![0x30, 255, 0, 0, 0, 0, 0, 7],
    ];
    let piece = proptest::sample::select(pieces);
    let anything = proptest::collection::vec(any::<u8>(), 0..80);
    let flips = proptest::collection::vec((any::<u16>(), any::<u8>()), 0..3);
    (proptest::collection::vec(piece, 0..14), anything, flips).prop_map(|(pieces, rest, flips)| {
        let mut packet = [pieces.concat(), rest].concat();
        for (at, value) in flips {
            let len = packet.len().max(1);
            if let Some(byte) = packet.get_mut(usize::from(at) % len) {
                *byte = value;
            }
        }
        packet
    })
}

fn linktype() -> impl Strategy<Value = LinkType> {
    let all: Vec<LinkType> = LinkType::all().iter().map(|info| info.linktype).collect();
    prop_oneof![Just(LinkType::EN10MB), Just(LinkType::RAW), proptest::sample::select(all)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn layers_are_within_the_packet(linktype in linktype(), packet in packet(), len in 0..400_usize) {
        let layers = Layers::of(linktype, &packet);
        let payload = layers.payload();
        prop_assert!(payload.start <= payload.end && payload.end <= packet.len(), "{layers:?}");
        prop_assert!(layers.as_slice().is_sorted_by_key(|layer| layer.off), "{layers:?}");
        prop_assert!(layers.iter().all(|layer| usize::from(layer.off) <= payload.start), "{layers:?}");
        let is_ip = |kind| matches!(kind, LayerKind::Ipv4 | LayerKind::Ipv6);
        prop_assert_eq!(layers.iter().any(|layer| is_ip(layer.kind)), layers.outer().is_some());
        prop_assert!(layers.network().is_none_or(|layer| is_ip(layer.kind)));
        // What was captured of a packet has no layer that the packet has not.
        let cut = Layers::of(linktype, &packet[..len.min(packet.len())]);
        prop_assert!(cut.iter().zip(&layers).all(|(a, b)| a.off == b.off), "{cut:?} of {layers:?}");
    }

    #[test]
    fn bursts_are_the_same(linktype in linktype(), packets in proptest::collection::vec(packet(), 0..9)) {
        let slices: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let mut burst = [Layers::of(LinkType::RAW, b"E"); 8];
        let ends = Layers::read_burst(linktype, &slices, &mut burst);
        let single: Vec<Layers> = slices.iter().take(8).map(|packet| Layers::of(linktype, packet)).collect();
        prop_assert_eq!(&single[..], &burst[..single.len()]);
        let count = |end| single.iter().filter(|layers| layers.end() == end).count();
        prop_assert_eq!(ends, BurstEnds {
            fragments: count(End::Fragment),
            unknown_links: count(End::UnknownLink),
            cut: count(End::Cut),
            limit: count(End::Limit),
        });
    }

    /// Where the flow hash finds addresses or ports, they are those of the outermost IP packet.
    #[test]
    fn the_flow_hash_finds_the_same(packet in packet()) {
        let layers = Layers::of(LinkType::EN10MB, &packet);
        let hash = FlowHasher::new(7).frame(&packet);
        match hash.layer {
            Hashed::Transport => {
                let tuple = layers.outer().unwrap();
                prop_assert!(tuple.ports.is_some());
            }
            Hashed::Network => prop_assert!(layers.outer().is_some()),
            Hashed::Link => prop_assert_ne!(layers.end(), End::UnknownLink),
            Hashed::None => prop_assert_eq!(layers.end(), End::UnknownLink),
        }
    }
}
