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

fn vxlan_gpe(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4(17, 0, &udp(50000, 4790, &packet(&[&[0x0c, 0, 0, protocol, 0, 0, 7, 0], payload])))
}

/// A header of so many words, with zeros in those that not all have (RFC 8300, 2.2 to 2.4).
fn nsh(next: u8, words: u8, payload: &[u8]) -> Vec<u8> {
    let more = vec![0; (usize::from(words) * 4).saturating_sub(8)];
    packet(&[&[0x0f, 0xc0 | words, 1, next, 0, 0, 5, 254], &more, payload])
}

#[test]
fn paths_through_services_are_shown_with_what_takes_them() {
    const FROM_TO: &str = "02:00:00:00:00:01 > 02:00:00:00:00:02 nsh";
    let (ip, expected) = inner();
    let over = |nsh: &[u8]| packet(&[MACS, &[0x89, 0x4f], nsh]);
    for (nsh, told) in [
        (nsh(1, 6, &ip), format!(" path 5 index 254 len 54: {expected}")),
        (nsh(3, 2, &frame(&ip)), format!(" path 5 index 254 len 52: {expected}")),
        (nsh(5, 2, &packet(&[&[0, 1, 1, 64], &ip])), format!(" path 5 index 254 len 42: mpls 16 {expected}")),
        (
            nsh(4, 2, &nsh(1, 2, &ip)),
            format!(" path 5 index 254 len 46: nsh path 5 index 254 len 38: {expected}"),
        ),
        (nsh(254, 2, &[9; 5]), " path 5 index 254 protocol 254 len 13".to_owned()),
        (nsh(1, 1, &ip), " path 5 index 254 len 38, bad header length".to_owned()),
        (nsh(1, 2, &ip)[..7].to_vec(), " len 7, short header".to_owned()),
        (vec![0x4f, 0xc2, 1, 1, 0, 0, 5, 254], " len 8, bad version".to_owned()),
        (vec![0x0f, 0xc6, 1, 1, 0, 0, 5, 254], " path 5 index 254 len 8, bad header length".to_owned()),
    ] {
        assert_eq!(line(LinkType::EN10MB, &over(&nsh)), format!("{FROM_TO}{told}"));
    }
    let whole = over(&nsh(1, 6, &ip));
    let cut = |len: usize| summarize(LinkType::EN10MB, &whole[..len], whole.len() as u32).to_string();
    assert_eq!(cut(14), format!("{FROM_TO} len 54 cut"));
    assert_eq!(cut(21), format!("{FROM_TO} len 54 cut"));
    for len in [22, 30, 38] {
        assert_eq!(cut(len), format!("{FROM_TO} path 5 index 254 len 54 cut"));
    }
    assert_eq!(cut(50), format!("{FROM_TO} path 5 index 254 len 54: ip len 30 cut"));
}

/// Behind two labels.
fn mpls_in_udp(payload: &[u8]) -> Vec<u8> {
    ipv4(17, 0, &udp(50000, 6635, &packet(&[&[0, 1, 0x10, 64, 0, 1, 1, 64], payload])))
}

/// With eight bytes of options.
fn geneve(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = ethertype.to_be_bytes();
    let header = [2, 0, high, low, 0, 0, 9, 0, 1, 2, 3, 1, 0, 0, 0, 0];
    ipv4(17, 0, &udp(50000, 6081, &packet(&[&header, payload])))
}

/// With an extension header, as a 5G base station sends it.
fn gtpu(payload: &[u8]) -> Vec<u8> {
    let header = [0x34, 255, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0];
    ipv4(17, 0, &udp(50000, 2152, &packet(&[&header, payload])))
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
        (
            ipv4(17, 0, &udp(50000, 8472, &packet(&[&[8, 0, 0, 0, 0, 0, 7, 0], &frame(&ip)]))),
            format!("192.0.2.1:50000 > 192.0.2.2:8472 udp vxlan 7 len 52: {expected}"),
        ),
        (
            vxlan_gpe(3, &frame(&ip)),
            format!("192.0.2.1:50000 > 192.0.2.2:4790 udp vxlan-gpe 7 len 52: {expected}"),
        ),
        (vxlan_gpe(1, &ip), format!("192.0.2.1:50000 > 192.0.2.2:4790 udp vxlan-gpe 7 len 38: {expected}")),
        (
            vxlan_gpe(5, &packet(&[&[0, 1, 1, 64], &ip])),
            format!("192.0.2.1:50000 > 192.0.2.2:4790 udp vxlan-gpe 7 len 42: mpls 16 {expected}"),
        ),
        (
            vxlan_gpe(6, &[9, 9]),
            "192.0.2.1:50000 > 192.0.2.2:4790 udp vxlan-gpe 7 protocol 6 len 10".to_owned(),
        ),
        (
            vxlan_gpe(4, &nsh(3, 2, &frame(&ip))),
            format!(
                "192.0.2.1:50000 > 192.0.2.2:4790 udp vxlan-gpe 7 len 60: nsh path 5 index 254 len 52: {expected}"
            ),
        ),
        (
            mpls_in_udp(&ip),
            format!("192.0.2.1:50000 > 192.0.2.2:6635 udp mpls len 38: mpls 17 mpls 16 {expected}"),
        ),
        (gtpu(&ip), format!("192.0.2.1:50000 > 192.0.2.2:2152 udp gtp-u 7 len 46: {expected}")),
        (gtpu(&[9, 9]), "192.0.2.1:50000 > 192.0.2.2:2152 udp gtp-u 7 len 18".to_owned()),
        // An answer to a client that happens to have a tunnel's port.
        (
            ipv4(17, 0, &udp(53, 2152, &[0, 1, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0])),
            line(LinkType::RAW, &ipv4(17, 0, &udp(53, 40000, &[0, 1, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0])))
                .replace("40000", "2152"),
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

/// An AH header with twelve bytes that authenticate, before this protocol.
fn ah(next: u8, payload: &[u8]) -> Vec<u8> {
    packet(&[&[next, 4, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], &[7; 12], payload])
}

#[test]
fn what_stands_behind_authentication() {
    let (ip, expected) = inner();
    let ah_shown = "ah spi 0x00000102 seq 3";
    for (bytes, expected) in [
        (
            ah(6, &tcp(2, &[])),
            format!("192.0.2.1:40000 > 192.0.2.2:80 {ah_shown} tcp SYN seq 1000 win 64240 len 0"),
        ),
        (ah(4, &ip), format!("{FROM_TO} {ah_shown} ipip len 30: {expected}")),
        (ah(17, &[1]), format!("{FROM_TO} {ah_shown} udp len 1, short header")),
        // One in another is shown by its name.
        (ah(51, &ah(6, &tcp(2, &[]))), format!("{FROM_TO} {ah_shown} ah spi 0x00000102 seq 3 len 44")),
    ] {
        assert_eq!(line(LinkType::RAW, &ipv4(51, 0, &bytes)), expected);
    }
    let whole = ipv4(51, 0, &ah(6, &tcp(2, &[])));
    let cut = summarize(LinkType::RAW, &whole[..40], whole.len() as u32).to_string();
    assert_eq!(cut, format!("{FROM_TO} {ah_shown} len 44 cut"));
}

/// What labels stand before in a frame.
fn labelled(bytes: &[u8]) -> Vec<u8> {
    packet(&[MACS, &[0x88, 0x47, 0, 1, 0, 1, 0, 1, 1, 1], bytes])
}

#[test]
fn pseudowires_are_guessed() {
    let (ip, expected) = inner();
    let from_to = "mpls 16 mpls 16 02:00:00:00:00:01 > 02:00:00:00:00:02";
    let tagged = packet(&[MACS, &[0x81, 0, 0, 7, 8, 0], &ip]);
    for (bytes, expected) in [
        (frame(&ip), format!("pseudowire ethernet (guessed) len 44: {expected}")),
        (
            packet(&[&[0, 0, 0, 9], &tagged]),
            format!("pseudowire ethernet (guessed) seq 9 len 52: vlan 7 {expected}"),
        ),
        (
            packet(&[&[0x10, 0, 0, 0x21], &[7; 20]]),
            "pseudowire control channel 0x0021 (guessed) len 24".to_owned(),
        ),
        // From a group, of an unknown type, not of the version that the type says, too short.
        (packet(&[&[2; 6], &[1; 6], &[8, 0], &ip]), "EN10MB len 66".to_owned()),
        (packet(&[MACS, &[0x12, 0x34], &ip]), "EN10MB len 66".to_owned()),
        (packet(&[MACS, &[0x86, 0xdd], &ip]), "EN10MB len 66".to_owned()),
        (packet(&[MACS, &[8, 0], &[0x45; 3]]), "EN10MB len 39".to_owned()),
        (vec![], "EN10MB len 22".to_owned()),
    ] {
        assert_eq!(line(LinkType::EN10MB, &labelled(&bytes)), format!("{from_to} {expected}"));
    }
}

/// A message of a control connection, of this type.
fn control(kind: u8) -> Vec<u8> {
    packet(&[&[0, 0, 0, 0, 0xc8, 3, 0, 20, 0, 0, 0, 9, 0, 1, 0, 2], &[0x80, 8, 0, 0, 0, 0, 0, kind]])
}

#[test]
fn sessions_and_messages_of_l2tp() {
    let (ip, expected) = inner();
    let expected = format!("l2tp session 7 ethernet (guessed) len LEN: {expected}");
    for at in [12, 4, 8, 16] {
        let bytes = packet(&[&[0, 0, 0, 7], &[0x99; 12][..at - 4], &frame(&ip)]);
        let expected = expected.replace("LEN", &bytes.len().to_string());
        assert_eq!(line(LinkType::RAW, &ipv4(115, 0, &bytes)), format!("{FROM_TO} {expected}"));
    }
    for (bytes, expected) in [
        (vec![0, 0, 0, 7, 9, 9], "l2tp session 7 len 6"),
        (vec![7; 60], "l2tp session 117901063 len 60"),
        (vec![0, 0], "l2tp len 2, short header"),
        (control(1), "l2tp control 9 ns 1 nr 2 SCCRQ len 24"),
        (control(99), "l2tp control 9 ns 1 nr 2 message 99 len 24"),
        (control(1)[..16].to_vec(), "l2tp control 9 ns 1 nr 2 len 16"),
        (control(1)[..15].to_vec(), "l2tp len 15, short header"),
    ] {
        assert_eq!(line(LinkType::RAW, &ipv4(115, 0, &bytes)), format!("{FROM_TO} {expected}"));
    }
}

fn l2tp_datagram(parts: &[&[u8]]) -> Vec<u8> {
    ipv4(17, 0, &udp(1701, 40000, &packet(parts)))
}

/// In front of what it carries, with every field there may be, and three bytes to pass over.
fn l2tp_fields(len: u8) -> [u8; 17] {
    [0x4a, 2, 0, len, 0, 10, 0, 7, 0, 1, 0, 2, 0, 3, 9, 9, 9]
}

const L2TP_SESSION: &[u8] = &[0, 2, 0, 10, 0, 7];
const L2TP_SESSION_3: &[u8] = &[0, 3, 0, 0, 0, 0, 0, 7];
const L2TP_MESSAGE: &[u8] = &[0xc8, 2, 0, 20, 0, 10, 0, 0, 0, 1, 0, 2, 0x80, 8, 0, 0, 0, 0, 0, 10];

#[test]
fn sessions_and_messages_of_l2tp_over_udp() {
    let (ip, inside) = inner();
    let (frame, control) = (frame(&ip), control(1));
    let lcp = [0xff, 3, 0xc0, 0x21, 1, 1, 0, 4];
    for (parts, expected) in [
        (&[L2TP_SESSION, &[0xff, 3, 0, 0x21], &ip][..], format!("tunnel 10 session 7 len 40: {inside}")),
        (&[&l2tp_fields(48), &[0x21], &ip], format!("tunnel 10 session 7 len 48: {inside}")),
        (&[L2TP_SESSION, &lcp], "tunnel 10 session 7 len 14: ppp lcp len 8".to_owned()),
        // Behind its end there is padding.
        (
            &[&[0x40, 2, 0, 16, 0, 10, 0, 7], &lcp, &[0; 5]],
            "tunnel 10 session 7 len 21: ppp lcp len 8".to_owned(),
        ),
        // An offset that leads to the end, and beyond.
        (&[&[2, 2, 0, 10, 0, 7, 0, 8], &lcp], "tunnel 10 session 7 len 16".to_owned()),
        (&[&[2, 2, 0, 10, 0, 7, 0, 9], &lcp], "tunnel 10 session 7 len 16, bad length".to_owned()),
        (&[&[0x42, 2, 0, 12, 0, 10, 0, 7, 0, 3], &lcp], "tunnel 10 session 7 len 18, bad length".to_owned()),
        (&[&[0x40, 2, 0, 17, 0, 10, 0, 7], &lcp], "tunnel 10 session 7 len 16, bad length".to_owned()),
        (&[&[0x40, 2, 0, 7, 0, 10, 0, 7], &lcp], "tunnel 10 session 7 len 16, bad length".to_owned()),
        (&[L2TP_MESSAGE], "tunnel 10 session 0 control ns 1 nr 2 ICRQ len 20".to_owned()),
        (&[&L2TP_MESSAGE[..12]], "tunnel 10 session 0 control ns 1 nr 2 len 12".to_owned()),
        (&[L2TP_SESSION_3, &[0x99; 8], &frame], format!("session 7 ethernet (guessed) len 60: {inside}")),
        (&[L2TP_SESSION_3, &[0x99; 8]], "session 7 len 16".to_owned()),
        (&[&control[4..]], "control 9 ns 1 nr 2 SCCRQ len 20".to_owned()),
    ] {
        let expected = format!("192.0.2.1:1701 > 192.0.2.2:40000 udp l2tp {expected}");
        assert_eq!(line(LinkType::RAW, &l2tp_datagram(parts)), expected);
    }
    // The first of several fragments is no whole frame.
    let mut first = l2tp_datagram(&[L2TP_SESSION_3, &[0x99; 8], &frame]);
    first[6] = 0x20;
    let expected = "192.0.2.1:1701 > 192.0.2.2:40000 udp l2tp session 7 fragment 0+ len 60";
    assert_eq!(line(LinkType::RAW, &first), expected);
    // L2F, a message without a length, and too little.
    for bytes in [&[0, 1, 0, 10, 0, 7][..], &[0x88, 2, 0, 10, 0, 7, 0, 1, 0, 2], &[0, 2, 0, 10, 0]] {
        let expected = format!("192.0.2.1:1701 > 192.0.2.2:40000 udp len {}", bytes.len());
        assert_eq!(line(LinkType::RAW, &l2tp_datagram(&[bytes])), expected);
    }
}

/// Frames with labels.
pub(super) fn labelled_samples() -> Vec<Vec<u8>> {
    let ip = ipv4(6, 0, &tcp_with(16, SACK_OPTIONS));
    vec![
        labelled(&frame(&ip)),
        labelled(&packet(&[&[0, 0, 0, 9], MACS, &[0x81, 0, 0, 7, 8, 0], &ip])),
        labelled(&packet(&[&[0x10, 0, 0, 0x21], &[7; 20]])),
    ]
}

/// Packets in every kind of tunnel.
pub(super) fn samples() -> Vec<Vec<u8>> {
    let ip = ipv4(6, 0, &tcp_with(16, SACK_OPTIONS));
    vec![
        vxlan(&frame(&ipv4(47, 0, &packet(&[&[0, 0, 8, 0], &ip])))),
        geneve(0x6558, &frame(&ip)),
        vxlan_gpe(1, &ip),
        vxlan_gpe(4, &nsh(3, 6, &frame(&ip))),
        mpls_in_udp(&ip),
        gtpu(&ip),
        ipv4(51, 0, &ah(6, &tcp_with(16, SACK_OPTIONS))),
        ipv4(51, 0, &ah(4, &ip)),
        ipv4(115, 0, &packet(&[&[0, 0, 0, 7], &[0x99; 8], &frame(&ip)])),
        ipv4(115, 0, &packet(&[&[0, 0, 0, 7], &frame(&ip)])),
        ipv4(115, 0, &control(1)),
        l2tp_datagram(&[&l2tp_fields(78), &[0x21], &ip]),
        l2tp_datagram(&[&[0x40, 2, 0, 16, 0, 10, 0, 7], &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4], &[0; 5]]),
        l2tp_datagram(&[L2TP_MESSAGE]),
        l2tp_datagram(&[L2TP_SESSION_3, &[0x99; 8], &frame(&ip)]),
        l2tp_datagram(&[&control(1)[4..]]),
        ipv4(47, 0, &packet(&[&[0x30, 0, 0x65, 0x58, 0, 0, 0, 5, 0, 0, 0, 6], &frame(&ip)])),
        ipv4(41, 0, &ipv6(17, &udp(9, 4789, &packet(&[&[8, 0, 0, 0, 0, 0, 7, 0], &frame(&ip)])))),
    ]
}
