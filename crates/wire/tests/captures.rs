//! Every header of the repository's captures: checksums are right, and what is read can be written again.
//!
//! The files are read here in a few lines, so that this crate needs no other to be tested.

use std::path::Path;

use wire::arp::{Arp, ArpMessage};
use wire::ether::{Ethernet, EthernetHeader, ethertype};
use wire::flow::Layer;
use wire::ip::{Ipv4, Ipv4Header, Ipv4Mut, Ipv6, Ipv6Header, protocol};
use wire::ndp::{Neighbour, PACKET_LEN_MAX};
use wire::transport::{Icmp, IcmpMut, Tcp, Udp, UdpMut, icmp_kind};
use wire::vlan::Vlan;
use wire::{FlowHasher, checksum::Addresses, vlan};

/// The frames of the classic captures of Ethernet whose checksums the sender computed.
fn frames() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut frames = Vec::new();
    for name in ["mixed", "icmp", "fragments", "lan", "dhcp", "vlan", "qinq", "gre", "vxlan", "mpls"] {
        let file = std::fs::read(folder.join(name).with_extension("pcap"))
            .expect("captures are part of the repository");
        assert_eq!(file[20..24], 1_u32.to_le_bytes(), "{name} is Ethernet, little-endian");
        let mut rest = &file[24..];
        while let Some((record, behind)) = rest.split_first_chunk::<16>() {
            let len = u32::from_le_bytes([record[8], record[9], record[10], record[11]]) as usize;
            let (frame, behind) = behind.split_at(len);
            frames.push(frame.to_vec());
            rest = behind;
        }
    }
    assert!(frames.len() > 1000, "{}", frames.len());
    frames
}

/// EtherType and payload behind VLAN tags.
fn network(frame: &[u8]) -> (u16, &[u8]) {
    let ether = Ethernet::new(frame).unwrap();
    let (mut kind, mut payload) = (ether.ethertype(), ether.payload());
    while let Some(tag) = Vlan::new(payload).filter(|_| Vlan::follows(kind)) {
        (kind, payload) = (tag.ethertype(), tag.payload());
    }
    (kind, payload)
}

#[test]
fn what_is_read_can_be_written_again() {
    let mut counts = [0; 3];
    for frame in frames() {
        let ether = Ethernet::new(&frame).unwrap();
        let header = EthernetHeader { dst: ether.dst(), src: ether.src(), ethertype: ether.ethertype() };
        assert_eq!(header.to_bytes(), frame[..Ethernet::LEN]);
        match network(&frame) {
            (ethertype::IPV4, packet) => {
                counts[0] += 1;
                check_ipv4(packet);
            }
            (ethertype::IPV6, packet) => {
                counts[1] += 1;
                check_ipv6(packet);
            }
            (ethertype::ARP, packet) => {
                counts[2] += 1;
                let arp = Arp::new(packet).unwrap();
                assert_eq!(ArpMessage::from(arp).to_bytes(), packet[..Arp::LEN]);
            }
            _ => {}
        }
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

fn check_ipv4(packet: &[u8]) {
    let ip = Ipv4::new(packet).unwrap();
    assert!(ip.is_checksum_right());
    let written = Ipv4Header::from(ip).to_bytes();
    assert!(!ip.options().is_empty() || written == packet[..Ipv4::LEN]);

    let mut filled = packet.to_vec();
    let mut changed = Ipv4Mut::new(&mut filled).unwrap();
    let ttl = ip.ttl();
    if changed.decrement_ttl().is_some() {
        assert!(changed.view().is_checksum_right());
        changed.set_ttl(ttl);
    }
    changed.fill_checksum();
    assert_eq!(filled, packet);
    if !ip.is_fragment() {
        check_transport(ip.protocol(), ip.payload(), ip.addresses());
    }
}

fn check_ipv6(packet: &[u8]) {
    let ip = Ipv6::new(packet).unwrap();
    assert_eq!(Ipv6Header::from(ip).to_bytes(), packet[..Ipv6::LEN]);
    let transport = ip.transport();
    assert!(!transport.is_cut);
    if transport.fragment.is_some() {
        return;
    }
    check_transport(transport.protocol, transport.payload, ip.addresses());
    let is_neighbour = [icmp_kind::NEIGHBOUR_SOLICITATION, icmp_kind::NEIGHBOUR_ADVERTISEMENT]
        .contains(&transport.payload[0]);
    if transport.protocol == protocol::ICMPV6 && is_neighbour {
        check_neighbour(&ip, &packet[..Ipv6::LEN + transport.payload.len()]);
    }
}

fn check_neighbour(ip: &Ipv6<'_>, packet: &[u8]) {
    let mut out = [0; PACKET_LEN_MAX];
    let len = match Neighbour::parse(ip).unwrap() {
        Neighbour::Solicitation(message) => message.write_packet(ip.src(), ip.dst(), &mut out),
        Neighbour::Advertisement(message) => message.write_packet(ip.src(), ip.dst(), &mut out),
    };
    assert_eq!(out[..len.unwrap()], *packet);
}

fn check_transport(number: u8, segment: &[u8], addresses: Addresses) {
    let mut filled = segment.to_vec();
    match number {
        protocol::TCP => {
            assert!(Tcp::new(segment).unwrap().is_checksum_right(addresses));
        }
        protocol::UDP => {
            let udp = Udp::new(segment).unwrap();
            assert!(udp.is_checksum_right(addresses));
            if udp.checksum() != 0 {
                UdpMut::new(&mut filled).unwrap().fill_checksum(addresses).unwrap();
            }
        }
        protocol::ICMP | protocol::ICMPV6 => {
            assert!(Icmp::new(segment).unwrap().is_checksum_right(addresses));
            IcmpMut::new(&mut filled).unwrap().fill_checksum(addresses);
        }
        _ => {}
    }
    assert_eq!(filled, segment);
}

#[test]
fn vlan_tags_come_off_as_they_went_on() {
    for frame in frames() {
        let mut bytes = [&[0; 4][..], &frame].concat();
        let tci = vlan::Tci { priority: 3, is_drop_eligible: true, id: 42 };
        vlan::push(&mut bytes, ethertype::QINQ, tci).unwrap();
        assert_eq!(network(&bytes), network(&frame));
        assert_eq!(vlan::pop(&mut bytes), Some((ethertype::QINQ, tci)));
        assert_eq!(bytes[4..], frame);
    }
}

#[test]
fn any_truncation_and_damage_is_read_without_a_panic() {
    let hasher = FlowHasher::new(1);
    for frame in frames().iter().step_by(7) {
        for len in 0..=frame.len().min(120) {
            let mut damaged = frame[..len].to_vec();
            let at = len.saturating_sub(20);
            damaged[at..].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(167).wrapping_add(len as u8));
            for bytes in [&frame[..len], &damaged[..]] {
                assert_eq!(hasher.frame(bytes).layer == Layer::None, len < Ethernet::LEN);
                read_all(bytes);
            }
        }
    }
}

/// Reads bytes as whatever follows an Ethernet header, and every layer behind it.
fn read_all(bytes: &[u8]) {
    let Some(ether) = Ethernet::new(bytes) else { return };
    let payload = ether.payload();
    let _ = (
        wire::tunnel::Gre::new(payload).map(|gre| (gre.key(), gre.seq(), gre.payload().len())),
        Arp::new(payload),
    );
    if let Some(ip) = Ipv4::new(payload) {
        let _ = (ip.is_checksum_right(), ip.options());
        read_transport(ip.payload(), ip.addresses());
        let _ = Ipv4Mut::new(&mut payload.to_vec()).map(|mut ip| ip.fill_checksum());
    }
    if let Some(ip) = Ipv6::new(payload) {
        let _ = (Neighbour::parse(&ip), ip.extensions().count());
        read_transport(ip.transport().payload, ip.addresses());
    }
}

fn read_transport(segment: &[u8], addresses: Addresses) {
    let _ = Tcp::new(segment).map(|tcp| (tcp.options(), tcp.payload(), tcp.is_checksum_right(addresses)));
    let _ = Udp::new(segment).map(|udp| (udp.payload(), udp.is_checksum_right(addresses)));
    let _ = Icmp::new(segment).map(|icmp| (icmp.payload(), icmp.is_checksum_right(addresses)));
    let _ = UdpMut::new(&mut segment.to_vec()).map(|mut udp| udp.fill_checksum(addresses));
}
