//! Packets within packets.

use super::*;

const FROM_TO: &str = "192.0.2.1 > 192.0.2.2";

/// A packet to be carried, and its line.
fn inner() -> (Vec<u8>, &'static str) {
    (ipv4(17, 0, &udp(40000, 9, b"hi")), "192.0.2.1:40000 > 192.0.2.2:9 udp len 2")
}

fn frame(ip: &[u8]) -> Vec<u8> {
    packet(&[MACS, &[8, 0], ip])
}

fn vxlan(frame: &[u8]) -> Vec<u8> {
    ipv4(17, 0, &udp(50000, 4789, &packet(&[&[8, 0, 0, 0, 0, 0, 7, 0], frame])))
}

/// With eight bytes of options.
fn geneve(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = ethertype.to_be_bytes();
    let header = [2, 0, high, low, 0, 0, 9, 0, 1, 2, 3, 1, 0, 0, 0, 0];
    ipv4(17, 0, &udp(50000, 6081, &packet(&[&header, payload])))
}

#[test]
fn what_tunnels_carry_is_shown_behind_them() {
    let (ip, expected) = inner();
    let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2];
    let arp = packet(&[MACS, &[8, 6], &arp]);
    let tagged = packet(&[MACS, &[0x81, 0, 0, 7, 8, 0], &ip]);
    for (bytes, expected) in [
        (vxlan(&frame(&ip)), format!("192.0.2.1:50000 > 192.0.2.2:4789 udp vxlan 7 len 52: {expected}")),
        (
            vxlan(&arp),
            "192.0.2.1:50000 > 192.0.2.2:4789 udp vxlan 7 len 50: \
             02:00:00:00:00:01 > 02:00:00:00:00:02 arp who has 192.0.2.2 tell 192.0.2.1"
                .to_owned(),
        ),
        (
            geneve(0x6558, &tagged),
            format!("192.0.2.1:50000 > 192.0.2.2:6081 udp geneve 9 len 64: vlan 7 {expected}"),
        ),
        (geneve(0x0800, &ip), format!("192.0.2.1:50000 > 192.0.2.2:6081 udp geneve 9 len 46: {expected}")),
        (ipv4(4, 0, &ip), format!("{FROM_TO} ipip len 30: {expected}")),
        (ipv6(4, &ip), format!("2001::1 > ff02::fb ipip len 30: {expected}")),
        (
            ipv4(41, 0, &ipv6(17, UDP)),
            format!("{FROM_TO} ip6-in-ip len 50: [2001::1]:5353 > [ff02::fb]:5353 udp len 2"),
        ),
        (ipv4(47, 0, &packet(&[&[0, 0, 8, 0], &ip])), format!("{FROM_TO} gre len 34: {expected}")),
        (
            ipv4(47, 0, &packet(&[&[0x30, 0, 0x65, 0x58, 0, 0, 0, 5, 0, 0, 0, 6], &frame(&ip)])),
            format!("{FROM_TO} gre key 0x5 seq 6 len 56: {expected}"),
        ),
        (
            ipv4(47, 0, &packet(&[&[0, 0, 0x88, 0x47, 0, 1, 1, 64], &ip])),
            format!("{FROM_TO} gre len 38: mpls 16 {expected}"),
        ),
        // Of a protocol that nobody knows, and of PPTP's version, there is nothing to show.
        (ipv4(47, 0, &[0, 0, 0x20, 1, 9, 9]), format!("{FROM_TO} gre 0x2001 len 6")),
        (ipv4(47, 0, &[0x30, 1, 0x88, 0x0b, 0, 0, 0, 0]), format!("{FROM_TO} gre 0x880b len 8")),
        (ipv4(47, 0, &[0, 0, 8, 0]), format!("{FROM_TO} gre ip len 4")),
        (ipv4(4, 0, &[]), format!("{FROM_TO} ipip len 0")),
        (ipv4(4, 0x2000, &ip), format!("{FROM_TO} ipip fragment 0+ len 30")),
        (ipv4(4, 0, &[0x60, 0]), format!("{FROM_TO} ipip len 2: ip len 2, bad version")),
    ] {
        assert_eq!(line(LinkType::RAW, &bytes), expected);
    }
}

#[test]
fn what_was_cut_within_a_tunnel_is_told_of_the_inner_packet() {
    let (ip, expected) = inner();
    let whole = ipv4(4, 0, &ip);
    let cut = |len: usize| summarize(LinkType::RAW, &whole[..len], whole.len() as u32).to_string();
    assert_eq!(cut(whole.len() - 1), format!("{FROM_TO} ipip len 30: {expected}"));
    assert_eq!(cut(40), format!("{FROM_TO} ipip len 30: {FROM_TO} udp len 10 cut"));
    assert_eq!(cut(30), format!("{FROM_TO} ipip len 30: ip len 30 cut"));
    assert_eq!(cut(20), format!("{FROM_TO} ipip len 30 cut"));
    // What stands behind the packet is none of it.
    let padded = packet(&[&ipv4(4, 0, &ip), &[9; 6]]);
    assert_eq!(line(LinkType::RAW, &padded), format!("{FROM_TO} ipip len 30: {expected}"));
}

/// A packet with as many tunnels as fit is shown to a depth that keeps the line one.
#[test]
fn tunnels_in_tunnels_end() {
    let (ip, _) = inner();
    let deep = (0..100).fold(ip, |ip, _| ipv4(4, 0, &ip));
    let line = line(LinkType::RAW, &deep);
    let expected = format!("{FROM_TO} ipip len 2010: {FROM_TO} ipip len 1990: {FROM_TO} ipip len 1970");
    assert_eq!(line, expected);
}

/// Packets in every kind of tunnel.
pub(super) fn samples() -> Vec<Vec<u8>> {
    let ip = ipv4(6, 0, &tcp_with(16, SACK_OPTIONS));
    vec![
        vxlan(&frame(&ipv4(47, 0, &packet(&[&[0, 0, 8, 0], &ip])))),
        geneve(0x6558, &frame(&ip)),
        ipv4(47, 0, &packet(&[&[0x30, 0, 0x65, 0x58, 0, 0, 0, 5, 0, 0, 0, 6], &frame(&ip)])),
        ipv4(41, 0, &ipv6(17, &udp(9, 4789, &packet(&[&[8, 0, 0, 0, 0, 0, 7, 0], &frame(&ip)])))),
    ]
}
