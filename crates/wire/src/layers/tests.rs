use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;
use crate::ether::{EthernetHeader, Mac};
use crate::ip::{Ipv4Header, Ipv6Header};
use crate::transport::UdpHeader;
use crate::tunnel::{GENEVE_PORT, GTPU_PORT, GreHeader, MPLS_PORT, VXLAN_PORT, VxlanHeader};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn eth(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let header = EthernetHeader { dst: Mac([2, 0, 0, 0, 0, 2]), src: Mac([2, 0, 0, 0, 0, 1]), ethertype };
    [&header.to_bytes()[..], payload].concat()
}

fn vlan(id: u16, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &ethertype.to_be_bytes(), payload].concat()
}

fn ip4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4Header::carrying(protocol, payload.len(), A, B).unwrap();
    [&header.to_bytes()[..], payload].concat()
}

fn ip6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header =
        Ipv6Header::carrying(protocol, payload.len(), Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED).unwrap();
    [&header.to_bytes()[..], payload].concat()
}

fn udp(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    [&UdpHeader::carrying(payload.len(), 40000, dst_port).unwrap().to_bytes()[..], payload].concat()
}

fn tcp(payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0; 24];
    segment[..4].copy_from_slice(&[0x9c, 0x40, 0, 80]);
    segment[12] = 0x60;
    segment.extend(payload);
    segment
}

fn kinds(layers: &Layers) -> Vec<(LayerKind, u16, u32)> {
    layers.iter().map(|layer| (layer.kind, layer.off, layer.id)).collect()
}

/// Every prefix of a packet has the first layers of it, and each layer and the payload are within the prefix. What the last of them is may need bytes
/// behind the prefix: GRE is no tunnel before its header is whole.
fn check(linktype: LinkType, packet: &[u8]) -> Layers {
    let whole = Layers::of(linktype, packet);
    let mut reused = whole;
    for len in 0..=packet.len() {
        let layers = Layers::of(linktype, &packet[..len]);
        reused.read(linktype, &packet[..len]);
        assert_eq!(reused, layers);
        let alike = layers.iter().zip(&whole).take_while(|(a, b)| a == b).count();
        let count = layers.iter().count();
        assert!(alike + 1 >= count && count <= whole.iter().count(), "{len}: {layers:?} in {whole:?}");
        assert!(layers.iter().zip(&whole).all(|(a, b)| a.off == b.off), "{len}: {layers:?} in {whole:?}");
        assert!(layers.iter().all(|layer| usize::from(layer.off) <= len));
        let payload = layers.payload();
        assert!(payload.start <= payload.end && payload.end <= len, "{len}: {layers:?}");
    }
    whole
}

#[test]
fn tags_of_every_kind() {
    use LayerKind::{Ipv4, Link, Mpls, Pppoe, Transport, Vlan};
    let packet = ip4(protocol::TCP, &tcp(b"hello"));
    let double = eth(ethertype::QINQ, &vlan(7, ethertype::VLAN, &vlan(0x6008, ethertype::IPV4, &packet)));
    let layers = check(LinkType::EN10MB, &[&double[..], &[0; 9]].concat());
    assert_eq!(
        kinds(&layers),
        [(Link, 0, 1), (Vlan, 14, 7), (Vlan, 18, 8), (Ipv4, 22, 6), (Transport, 42, 6)]
    );
    assert_eq!(layers.payload(), 66..71, "options of TCP before, padding behind");
    let tuple = FiveTuple {
        src: A.into(),
        dst: B.into(),
        protocol: protocol::TCP,
        ports: Some((40000, 80)),
        vlans: [7, 8],
        tunnel_id: None,
    };
    assert_eq!((layers.outer(), layers.inner()), (Some(&tuple), Some(&tuple)));
    assert_eq!(layers.transport(), layers.as_slice().last());
    assert_eq!((layers.network().unwrap().off, layers.end(), layers.tunnels()), (22, End::Payload, 0));

    let labels = [&[0, 0, 0x10, 64, 0, 0, 0x21, 64][..], &packet].concat();
    let layers = check(LinkType::EN10MB, &eth(ethertype::MPLS, &labels));
    assert_eq!(kinds(&layers)[1..4], [(Mpls, 14, 1), (Mpls, 18, 2), (Ipv4, 22, 6)]);
    let layers = check(LinkType::MPLS, &labels);
    assert_eq!(kinds(&layers)[..3], [(Link, 0, 219), (Mpls, 0, 1), (Mpls, 4, 2)]);

    let session = [&[0x11, 0, 0, 9, 0, 0, 0, 0x21][..], &packet].concat();
    for (linktype, frame, off) in
        [(LinkType::EN10MB, eth(ethertype::PPPOE_SESSION, &session), 14), (LinkType::PPP_ETHER, session, 0)]
    {
        let layers = check(linktype, &frame);
        assert_eq!(kinds(&layers)[1..3], [(Pppoe, off, 9), (Ipv4, off + 8, 6)]);
    }
}

#[test]
fn tunnels_of_every_kind() {
    use LayerKind::{Geneve, Gre, Gtpu, Ipv4, Ipv6, Link, Mpls, Transport, Vlan, Vxlan};
    let inner = ip6(protocol::UDP, &udp(53, b"query"));
    let frame = eth(ethertype::VLAN, &vlan(5, ethertype::IPV6, &inner));
    let key = GreHeader { key: Some(77), ..GreHeader::carrying(ethertype::IPV6) };
    let gre = |header: GreHeader, payload: &[u8]| {
        let mut packet = [&vec![0; header.header_len()], payload].concat();
        header.write(&mut packet).unwrap();
        packet
    };
    let vxlan = [&VxlanHeader { vni: 5000 }.to_bytes()[..], &frame].concat();
    let geneve = [&[0, 0, 0x86, 0xdd, 0, 0, 9, 0][..], &inner].concat();
    let gtpu = [&[0x30, 255, 0, 0, 0, 0, 0, 3][..], &inner].concat();
    let mpls = [&[0, 0, 0x11, 64][..], &inner].concat();
    let udp_at = |dst_port, payload: &[u8]| ip4(protocol::UDP, &udp(dst_port, payload));
    type Case = (Vec<u8>, Vec<(LayerKind, u32)>, Option<u32>, [u16; 2]);
    let cases: [Case; 8] = [
        (ip4(protocol::IPV6, &inner), vec![], None, [3, 0]),
        (ip4(protocol::GRE, &gre(key, &inner)), vec![(Gre, 77)], Some(77), [3, 0]),
        (
            ip4(protocol::GRE, &gre(GreHeader::carrying(TRANSPARENT_ETHERNET), &frame)),
            vec![(Gre, 0), (Link, 1), (Vlan, 5)],
            None,
            [5, 0],
        ),
        (
            udp_at(VXLAN_PORT, &vxlan),
            vec![(Transport, 17), (Vxlan, 5000), (Link, 1), (Vlan, 5)],
            Some(5000),
            [5, 0],
        ),
        (udp_at(GENEVE_PORT, &geneve), vec![(Transport, 17), (Geneve, 9)], Some(9), [3, 0]),
        (udp_at(GTPU_PORT, &gtpu), vec![(Transport, 17), (Gtpu, 3)], Some(3), [3, 0]),
        (udp_at(MPLS_PORT, &mpls), vec![(Transport, 17), (Mpls, 1)], None, [3, 0]),
        (
            ip4(protocol::AH, &[&[41, 2, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0][..], &inner].concat()),
            vec![(LayerKind::Ah, 6)],
            None,
            [3, 0],
        ),
    ];
    for (packet, between, tunnel_id, vlans) in cases {
        let layers = check(LinkType::EN10MB, &eth(ethertype::VLAN, &vlan(3, ethertype::IPV4, &packet)));
        let expected =
            [&[(Link, 1), (Vlan, 3), (Ipv4, packet[9].into())][..], &between, &[(Ipv6, 17), (Transport, 17)]]
                .concat();
        let found: Vec<_> = layers.iter().map(|layer| (layer.kind, layer.id)).collect();
        assert_eq!(found, expected);
        assert_eq!((layers.tunnels(), layers.end()), (1, End::Payload));
        let inner = layers.inner().unwrap();
        assert_eq!((inner.ports, inner.tunnel_id, inner.vlans), (Some((40000, 53)), tunnel_id, vlans));
        assert_eq!(layers.outer().unwrap().src, IpAddr::from(A));
        assert_eq!((layers.outer().unwrap().vlans, layers.outer().unwrap().tunnel_id), ([3, 0], None));
        assert_eq!(layers.payload().len(), 5);
    }
}

#[test]
fn fragments_end_the_walk() {
    let inner = ip4(protocol::UDP, &udp(53, b"x"));
    let header = Ipv4Header::carrying(protocol::IPIP, inner.len(), A, B).unwrap();
    let fragment = |fragment_off, more_fragments, protocol, payload: &[u8]| {
        let header =
            Ipv4Header { fragment_off, more_fragments, dont_fragment: false, ident: 7, protocol, ..header };
        [&header.to_bytes()[..], payload].concat()
    };
    let first = check(LinkType::IPV4, &fragment(0, true, protocol::IPIP, &inner));
    assert_eq!((first.end(), first.tunnels(), first.payload()), (End::Fragment, 0, 20..20 + inner.len()));
    assert_eq!(first.fragment(), Some(Fragment { off: 0, has_more: true, id: 7 }));
    let datagram = udp(VXLAN_PORT, b"12345678");
    let first = check(LinkType::IPV4, &fragment(0, true, protocol::UDP, &datagram));
    assert_eq!((first.end(), first.inner().unwrap().ports), (End::Fragment, Some((40000, VXLAN_PORT))));
    assert_eq!(first.transport().map(|layer| layer.off), Some(20));
    let later = check(LinkType::IPV4, &fragment(8, false, protocol::UDP, &datagram));
    assert_eq!((later.end(), later.inner().unwrap().ports), (End::Fragment, None));
    assert_eq!((later.transport(), later.payload()), (None, 20..20 + datagram.len()));
    // One that is all of its packet ends nothing.
    let atomic =
        [&Fragment { off: 0, has_more: false, id: 1 }.to_bytes(protocol::UDP).unwrap()[..], &datagram];
    let atomic = check(LinkType::IPV6, &ip6(protocol::FRAGMENT, &atomic.concat()));
    assert_eq!((atomic.end(), atomic.transport().map(|layer| layer.off)), (End::Payload, Some(48)));
}

#[test]
fn hostile_packets_end_at_the_limits() {
    let mut nested = ip4(protocol::UDP, &udp(53, b"x"));
    for depth in 0..20 {
        let layers = check(LinkType::RAW, &nested);
        assert_eq!(layers.tunnels(), depth.min(TUNNELS_MAX));
        assert_eq!(layers.end(), if depth > TUNNELS_MAX { End::Limit } else { End::Payload }, "{depth}");
        nested = ip4(protocol::IPIP, &nested);
    }
    let mut tagged = ip4(protocol::UDP, &udp(53, b"x"));
    let mut ethertype = ethertype::IPV4;
    for tags in 0..30 {
        let layers = check(LinkType::EN10MB, &eth(ethertype, &tagged));
        assert_eq!(layers.end(), if tags + 3 > LAYERS_MAX { End::Limit } else { End::Payload }, "{tags}");
        assert_eq!(layers.iter().count(), (tags + 3).min(LAYERS_MAX));
        tagged = vlan(7, ethertype, &tagged);
        ethertype = ethertype::VLAN;
    }
}

#[test]
fn what_is_not_whole_is_cut() {
    for (packet, end) in [
        (eth(ethertype::VLAN, &[0, 7]), End::Cut),
        (eth(ethertype::IPV4, &[0x45; 19]), End::Cut),
        (eth(ethertype::IPV6, &[0x45; 60]), End::Cut),
        (eth(ethertype::IPV4, &ip4(protocol::TCP, &[0; 19])), End::Cut),
        (eth(ethertype::IPV4, &ip4(protocol::UDP, &[0; 7])), End::Cut),
        (eth(ethertype::IPV4, &ip4(protocol::ICMP, &[0; 7])), End::Cut),
        (eth(ethertype::IPV4, &ip4(protocol::AH, &[6, 9, 0, 0, 0, 0, 0, 0])), End::Cut),
        (eth(ethertype::IPV4, &ip4(protocol::IPIP, &[])), End::Cut),
        (eth(ethertype::ARP, &[]), End::Payload),
        (eth(46, &[0x42, 0x42, 3]), End::Payload),
        (eth(ethertype::IPV4, &ip4(protocol::ESP, &[])), End::Payload),
        (eth(ethertype::IPV6, &ip6(protocol::NO_NEXT, &[])), End::Payload),
        (vec![0; 13], End::UnknownLink),
        (vec![], End::UnknownLink),
    ] {
        assert_eq!(check(LinkType::EN10MB, &packet).end(), end, "{packet:x?}");
    }
    assert_eq!(check(LinkType::USB_LINUX, &[0x45; 80]).end(), End::UnknownLink);
}

/// Link headers in front of an IPv4 packet, by type.
const LINK_HEADERS: &[(LinkType, &[u8])] = &[
    (LinkType::NULL, &[2, 0, 0, 0]),
    (LinkType::LOOP, &[0, 0, 0, 2]),
    (LinkType::RAW, &[]),
    (LinkType::IPV4, &[]),
    (LinkType::ENC, &[0; 12]),
    (LinkType::LINUX_SLL, &[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0]),
    (LinkType::LINUX_SLL2, &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]),
    (LinkType::PPP, &[0xff, 3, 0, 0x21]),
    (LinkType::PPP_SERIAL, &[0xff, 3, 0, 0x21]),
    (LinkType::PPP_PPPD, &[1, 0xff, 3, 0, 0x21]),
    (LinkType::PPP_BSDOS, &[0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (LinkType::C_HDLC, &[0x0f, 0, 8, 0]),
    (LinkType::HDLC, &[0x0f, 0, 8, 0]),
    (LinkType::FRELAY, &[0x18, 0x41, 3, 0xcc]),
    (LinkType::SLIP, &[0; 16]),
    (LinkType::SLIP_BSDOS, &[0; 24]),
    (LinkType::IEEE802, &[0x10, 0x40, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (
        LinkType::IEEE802,
        &[0x10, 0x40, 2, 0, 0, 0, 0, 2, 0x82, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
    ),
    (LinkType::FDDI, &[0x50, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (LinkType::ATM_RFC1483, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (LinkType::ATM_CLIP, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (LinkType::SUNATM, &[2, 0, 0, 5, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (LinkType::SUNATM, &[1, 0, 0, 5, 0, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]),
    (LinkType::IP_OVER_FC, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    (LinkType::ARCNET, &[1, 2, 212, 0, 0, 0]),
    (LinkType::ARCNET, &[1, 2, 240]),
    (LinkType::ARCNET_LINUX, &[1, 2, 0, 0, 212, 0, 0, 0]),
    (LinkType::APPLE_IP_OVER_IEEE1394, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]),
    (LinkType::PFLOG, &[6, 2, 0, 0, 0, 0, 0, 0]),
    (LinkType::IPNET, &[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (LinkType::NETANALYZER, &[0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]),
    (LinkType::JUNIPER_ETHER, &[b'M', b'G', b'C', 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]),
    (
        LinkType::JUNIPER_ETHER,
        &[b'M', b'G', b'C', 0x80, 0, 2, 9, 9, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0],
    ),
    (LinkType::JUNIPER_PPP, &[b'M', b'G', b'C', 0, 0, 0x21]),
    (LinkType::JUNIPER_CHDLC, &[b'M', b'G', b'C', 0, 0x0f, 0, 8, 0]),
    (LinkType::JUNIPER_FRELAY, &[b'M', b'G', b'C', 0, 0x18, 0x41, 3, 0xcc]),
    (LinkType::JUNIPER_MLPPP, b"MGC\0"),
    (LinkType::JUNIPER_ATM2, b"MGC\0cook"),
    (LinkType::JUNIPER_GGSN, b"MGC\0cookies!"),
];

/// A data frame of 802.11 and an LLC header.
const WIFI: &[u8] =
    &[8, 0, 0, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

#[test]
fn link_headers_of_every_type() {
    let packet = ip4(protocol::UDP, &udp(53, b"x"));
    let mut headers: Vec<(LinkType, Vec<u8>)> =
        LINK_HEADERS.iter().map(|&(linktype, header)| (linktype, header.to_vec())).collect();
    let symantec = [&[0, 0, 0, 0, 0, 0, 8, 0][..], &[0; 36]].concat();
    let transparent = [&[0; 12][..], &eth(ethertype::IPV4, &[])].concat();
    let avs = [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], WIFI].concat();
    headers.extend([
        (LinkType::SYMANTEC_FIREWALL, symantec),
        (LinkType::NETANALYZER_TRANSPARENT, transparent),
        (LinkType::IEEE802_11, WIFI.to_vec()),
        (LinkType::IEEE802_11_RADIO, [&[0, 0, 8, 0, 0, 0, 0, 0][..], WIFI].concat()),
        (LinkType::IEEE802_11_RADIO_AVS, avs.clone()),
        (LinkType::PRISM_HEADER, avs),
        (LinkType::PRISM_HEADER, [&[0; 144][..], WIFI].concat()),
        (LinkType::PPI, [&[0, 0, 8, 0, 105, 0, 0, 0][..], WIFI].concat()),
    ]);
    for (linktype, header) in headers {
        let layers = check(linktype, &[&header[..], &packet].concat());
        let found: Vec<_> = layers.iter().map(|layer| (layer.kind, usize::from(layer.off))).collect();
        let network = (LayerKind::Ipv4, header.len());
        let expected = [(LayerKind::Link, 0), network, (LayerKind::Transport, header.len() + 20)];
        assert_eq!(found, expected, "{linktype}");
    }
}

/// Labels without end: the payload is behind those that were noted.
#[test]
fn a_packet_of_labels_only_ends_at_the_limit() {
    let packet = [&[2; 12][..], &[0x88, 0x47], &[0; 400]].concat();
    let layers = Layers::of(LinkType::EN10MB, &packet);
    let last = layers.iter().last().expect("labels");
    assert_eq!((layers.end(), last.kind), (End::Limit, LayerKind::Mpls));
    assert_eq!(layers.payload(), usize::from(last.off) + 4..packet.len());
}
