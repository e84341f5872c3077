use super::*;
use crate::bytes::from_hex;
use crate::ip::Ipv6Mut;
use crate::transport::IcmpMut;

/// A solicitation and its answer, from this project's captures.
const SOLICITATION: &str = "60000000 00203aff 20010db8000100000000000000000010
    ff0200000000000000000001ff000001 8700bdee 00000000 20010db8000100000000000000000001
    0101 02005e10001a";
const ADVERTISEMENT: &str = "60000000 00203aff 20010db8000100000000000000000001
    20010db8000100000000000000000010 8800ac37 e0000000 20010db8000100000000000000000001
    0201 02005e10001b";

fn parse(packet: &[u8]) -> Result<Neighbour, NdpError> {
    Neighbour::parse(&Ipv6::new(packet).unwrap())
}

/// Parses a packet after a change to it, with its checksum and length made right again.
fn parse_changed(dump: &str, change: impl FnOnce(&mut Vec<u8>)) -> Result<Neighbour, NdpError> {
    let mut packet = from_hex(dump);
    change(&mut packet);
    let len = packet.len() - Ipv6::LEN;
    let mut ip = Ipv6Mut::new(&mut packet).unwrap();
    ip.set_payload_len(len as u16);
    let addresses = ip.view().addresses();
    if let Some(mut icmp) = IcmpMut::new(ip.payload_mut()) {
        icmp.fill_checksum(addresses);
    }
    parse(&packet)
}

#[test]
fn reads_and_writes_what_linux_sends() {
    let target: Ipv6Addr = "2001:db8:1::1".parse().unwrap();
    let source_mac = Some(Mac([2, 0, 0x5e, 0x10, 0, 0x1a]));
    let solicitation = Solicitation { target, source_mac };
    let packet = from_hex(SOLICITATION);
    assert_eq!(parse(&packet), Ok(Neighbour::Solicitation(solicitation)));
    let src = Ipv6::new(&packet).unwrap().src();
    let mut out = [0xee; 80];
    let len = solicitation.write_packet(src, solicited_node(target), &mut out);
    assert_eq!((len, &out[..72], &out[72..]), (Some(72), &packet[..], &[0xee; 8][..]));

    let advertisement = Advertisement::answer(target, Mac([2, 0, 0x5e, 0x10, 0, 0x1b]), Sender::Router);
    let packet = from_hex(ADVERTISEMENT);
    assert_eq!(parse(&packet), Ok(Neighbour::Advertisement(advertisement)));
    assert_eq!(advertisement.write_packet(target, src, &mut out), Some(72));
    assert_eq!(out[..72], packet);
}

#[test]
fn messages_without_a_hardware_address() {
    let (none, target) = (Ipv6Addr::UNSPECIFIED, "fe80::1".parse().unwrap());
    let probe = Solicitation { target, source_mac: None };
    let mut out = [0; PACKET_LEN_MAX];
    let len = probe.write_packet(none, solicited_node(target), &mut out).unwrap();
    assert_eq!((len, parse(&out[..len])), (64, Ok(Neighbour::Solicitation(probe))));

    let all_nodes = "ff02::1".parse().unwrap();
    let advertisement = Advertisement {
        target,
        target_mac: None,
        sender: Sender::Host,
        is_solicited: false,
        is_override: true,
    };
    let len = advertisement.write_packet(target, all_nodes, &mut out).unwrap();
    assert_eq!((len, parse(&out[..len])), (64, Ok(Neighbour::Advertisement(advertisement))));
}

#[test]
fn needs_room() {
    let solicitation = Solicitation { target: Ipv6Addr::LOCALHOST, source_mac: Some(Mac::BROADCAST) };
    let (src, dst) = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    for len in 0..PACKET_LEN_MAX {
        let mut out = [0xee; PACKET_LEN_MAX];
        assert_eq!(solicitation.write_packet(src, dst, &mut out[..len]), None);
        assert_eq!(out, [0xee; PACKET_LEN_MAX]);
    }
}

/// Each rule of RFC 4861, 7.1.1 and 7.1.2, broken alone.
#[test]
fn each_rule() {
    type Change = fn(&mut Vec<u8>);
    let cases: &[(&str, NdpError, Change)] = &[
        (SOLICITATION, NdpError::HopLimit(254), |packet| packet[7] = 254),
        (SOLICITATION, NdpError::Code(1), |packet| packet[41] = 1),
        (SOLICITATION, NdpError::Length, |packet| packet.truncate(63)),
        (SOLICITATION, NdpError::Length, |packet| packet.truncate(41)),
        (SOLICITATION, NdpError::Other, |packet| packet.truncate(40)),
        (SOLICITATION, NdpError::Other, |packet| packet[40] = icmp_kind::ECHO_REQUEST_V6),
        (SOLICITATION, NdpError::Other, |packet| packet[6] = protocol::ICMP),
        (SOLICITATION, NdpError::MulticastTarget, |packet| packet[48] = 0xff),
        (ADVERTISEMENT, NdpError::MulticastTarget, |packet| packet[48] = 0xff),
        (SOLICITATION, NdpError::Option, |packet| packet[65] = 0),
        (SOLICITATION, NdpError::Option, |packet| packet[65] = 2),
        (SOLICITATION, NdpError::Option, |packet| packet.push(14)),
        (SOLICITATION, NdpError::Option, |packet| packet.extend([14, 0, 0, 0, 0, 0, 0, 0])),
        (SOLICITATION, NdpError::LinkAddress, |packet| {
            packet[65] = 2;
            packet.extend([0; 8]);
        }),
        (SOLICITATION, NdpError::ProbeLinkAddress, |packet| packet[8..24].fill(0)),
        (SOLICITATION, NdpError::ProbeDestination, |packet| {
            packet[8..24].fill(0);
            packet[35] = 2;
            packet.truncate(64);
        }),
        (ADVERTISEMENT, NdpError::SolicitedMulticast, |packet| packet[24] = 0xff),
    ];
    for (number, &(dump, error, change)) in cases.iter().enumerate() {
        assert_eq!(parse_changed(dump, change), Err(error), "case {number}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn damage_is_noticed() {
    let packet = from_hex(ADVERTISEMENT);
    for at in 42..packet.len() {
        let mut packet = packet.clone();
        packet[at] ^= 0x10;
        assert_eq!(parse(&packet), Err(NdpError::Checksum), "byte {at}");
    }
    for len in Ipv6::LEN + 1..packet.len() {
        assert_eq!(parse(&packet[..len]), Err(NdpError::Length), "{len}");
    }
}

#[test]
fn other_options_are_passed_over() {
    let whole = parse_changed(SOLICITATION, |packet| packet.extend([14, 1, 1, 2, 3, 4, 5, 6]));
    assert_eq!(whole, parse(&from_hex(SOLICITATION)));
    let twice = parse_changed(SOLICITATION, |packet| packet.extend([1, 1, 9, 9, 9, 9, 9, 9]));
    assert_eq!(twice, whole, "the first of two counts");
    let of_the_other_kind = parse_changed(ADVERTISEMENT, |packet| packet[64] = 1);
    assert!(matches!(of_the_other_kind, Ok(Neighbour::Advertisement(a)) if a.target_mac.is_none()));
}

#[test]
fn fragments_are_refused() {
    let in_fragment = |place: u8| {
        let mut packet = from_hex(SOLICITATION);
        packet[5] += 8;
        packet[6] = protocol::FRAGMENT;
        packet.splice(40..40, [protocol::ICMPV6, 0, 0, place, 0, 0, 0, 1]);
        parse(&packet)
    };
    assert_eq!(in_fragment(0), Err(NdpError::Fragmented));
    assert_eq!(in_fragment(1), Err(NdpError::Fragmented));
    // What looks like a type in a later fragment is none.
    assert_eq!(in_fragment(8), Err(NdpError::Other));
    assert_eq!(in_fragment(9), Err(NdpError::Other));
}
