mod apps;
mod services;
mod tunnels;
mod wifi;

use proptest::prelude::*;

use super::*;

fn line(linktype: LinkType, bytes: &[u8]) -> String {
    summarize(linktype, bytes, bytes.len() as u32).to_string()
}

/// Bytes of pieces one after the other.
fn packet(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.concat()
}

const MACS: &[u8] = &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn ipv4(protocol: u8, flags: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let [flags_high, flags_low] = flags.to_be_bytes();
    let header = [0x45, 0, high, low, 0, 9, flags_high, flags_low, 64, protocol, 0, 0];
    packet(&[&header, &[192, 0, 2, 1, 192, 0, 2, 2], payload])
}

fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut src = [0; 16];
    (src[0], src[1], src[15]) = (0x20, 0x01, 1);
    let mut dst = [0; 16];
    (dst[0], dst[1], dst[15]) = (0xff, 2, 0xfb);
    packet(&[&[0x60, 0, 0, 0, 0, payload.len() as u8, next_header, 1], &src, &dst, payload])
}

fn tcp(flags: u8, payload: &[u8]) -> Vec<u8> {
    packet(&[&[0x9c, 0x40, 0, 80, 0, 0, 3, 0xe8, 0, 0, 0, 7, 0x50, flags, 0xfa, 0xf0, 0, 0, 0, 0], payload])
}

const UDP: &[u8] = &[0x14, 0xe9, 0x14, 0xe9, 0, 10, 0, 0, 1, 2];

#[test]
fn transport_over_ip() {
    for (bytes, expected) in [
        (ipv4(6, 0x4000, &tcp(2, &[])), "192.0.2.1:40000 > 192.0.2.2:80 tcp SYN seq 1000 win 64240 len 0"),
        (
            ipv4(6, 0, &tcp(0x18, b"GET")),
            "192.0.2.1:40000 > 192.0.2.2:80 tcp PSH,ACK seq 1000 ack 7 win 64240 len 3",
        ),
        (ipv4(17, 0, UDP), "192.0.2.1:5353 > 192.0.2.2:5353 udp len 2"),
        (
            ipv4(1, 0, &[8, 0, 0, 0, 0, 7, 0, 1, 9, 9]),
            "192.0.2.1 > 192.0.2.2 icmp echo request id 7 seq 1 len 10",
        ),
        (ipv4(1, 0, &[3, 3, 0, 0, 0, 0, 0, 0]), "192.0.2.1 > 192.0.2.2 icmp unreachable (port) len 8"),
        (ipv4(1, 0, &[17, 0, 0, 0, 0, 0, 0, 0]), "192.0.2.1 > 192.0.2.2 icmp address mask request len 8"),
        (ipv4(1, 0, &[42, 0, 0, 0, 0, 0, 0, 0]), "192.0.2.1 > 192.0.2.2 icmp type 42 len 8"),
        (ipv4(99, 0, &[1]), "192.0.2.1 > 192.0.2.2 ip protocol 99 len 1"),
        (ipv4(132, 0, &[1]), "192.0.2.1 > 192.0.2.2 sctp len 1, short header"),
        (ipv4(17, 0x2000, UDP), "192.0.2.1:5353 > 192.0.2.2:5353 udp fragment 0+ len 2"),
        (ipv4(17, 185, UDP), "192.0.2.1 > 192.0.2.2 udp fragment 1480 len 10"),
        (ipv4(6, 0, &tcp(2, &[])[..10]), "192.0.2.1:40000 > 192.0.2.2:80 tcp len 10, short header"),
        (ipv4(6, 0, &tcp(2, &[])[..3]), "192.0.2.1 > 192.0.2.2 tcp len 3, short header"),
        (
            ipv4(132, 0, &[3, 232, 11, 89, 0, 0, 0, 0]),
            "192.0.2.1:1000 > 192.0.2.2:2905 sctp len 8, short header",
        ),
        (
            ipv4(33, 0, &[&[3, 232, 11, 89], &[0; 8][..]].concat()),
            "192.0.2.1:1000 > 192.0.2.2:2905 dccp len 12",
        ),
        (ipv4(33, 0, &[3, 232, 11, 89]), "192.0.2.1:1000 > 192.0.2.2:2905 dccp len 4, short header"),
        (ipv4(136, 0, UDP), "192.0.2.1:5353 > 192.0.2.2:5353 udplite len 10"),
        (ipv4(136, 0, &UDP[..3]), "192.0.2.1 > 192.0.2.2 udplite len 3, short header"),
        (ipv6(17, UDP), "[2001::1]:5353 > [ff02::fb]:5353 udp len 2"),
        (
            ipv6(0, &packet(&[&[58, 0, 0, 0, 0, 0, 0, 0], &[143, 0, 0, 0, 0, 0, 0, 0]])),
            "2001::1 > ff02::fb icmp6 listener report v2 groups 0 len 8",
        ),
        (ipv6(44, &[6, 0, 0, 8, 0, 0, 0, 1, 5, 5]), "2001::1 > ff02::fb tcp fragment 8 len 2"),
    ] {
        assert_eq!(line(LinkType::RAW, &bytes), expected);
    }
}

#[test]
fn links_and_tags() {
    let ip = ipv4(17, 0, UDP);
    let udp = "192.0.2.1:5353 > 192.0.2.2:5353 udp len 2";
    for (linktype, bytes, expected) in [
        (LinkType::EN10MB, packet(&[MACS, &[8, 0], &ip]), udp.to_owned()),
        (LinkType::EN10MB, packet(&[MACS, &[0x81, 0, 0x20, 7, 8, 0], &ip]), format!("vlan 7 {udp}")),
        (
            LinkType::FDDI,
            packet(&[&[0x50], &MACS[..12], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip]),
            udp.to_owned(),
        ),
        (LinkType::PFLOG, packet(&[&[6, 2, 0, 0, 0, 0, 0, 0], &ip]), udp.to_owned()),
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0xa8, 0, 3, 0x81, 0, 0, 4, 8, 0], &ip]),
            format!("vlan 3 vlan 4 {udp}"),
        ),
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0x47, 0, 1, 0, 1, 0, 1, 1, 1], &ip]),
            format!("mpls 16 mpls 16 {udp}"),
        ),
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0x64, 0x11, 0, 0, 5, 0, 40, 0, 0x21], &ip]),
            format!("pppoe 5 {udp}"),
        ),
        (LinkType::EN10MB, packet(&[MACS, &[0, 38, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &ip]), udp.to_owned()),
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0xe5, 0x20, 0, 0, 0, 0, 1], &[7; 8], &[8, 0], &ip, &[9; 16]]),
            format!("macsec {udp}"),
        ),
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0xe5, 1, 0, 0, 0, 0, 1, 8, 0], &ip]),
            format!("macsec {udp}"),
        ),
        // Encrypted.
        (
            LinkType::EN10MB,
            packet(&[MACS, &[0x88, 0xe5, 0x0c, 0, 0, 0, 0, 1, 8, 0], &ip]),
            "02:00:00:00:00:01 > 02:00:00:00:00:02 macsec len 52".to_owned(),
        ),
        (LinkType::NULL, packet(&[&[2, 0, 0, 0], &ip]), udp.to_owned()),
        (LinkType::LOOP, packet(&[&[0, 0, 0, 2], &ip]), udp.to_owned()),
        (LinkType::ENC, packet(&[&[0; 12], &ip]), udp.to_owned()),
        (
            LinkType::LINUX_SLL,
            packet(&[&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0], &ip]),
            format!("In {udp}"),
        ),
        (
            LinkType::LINUX_SLL2,
            packet(&[&[8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0], &ip]),
            format!("if 7 Out {udp}"),
        ),
        (LinkType::PPP, packet(&[&[0xff, 3, 0, 0x21], &ip]), udp.to_owned()),
        (LinkType::PPP, packet(&[&[0x21], &ip]), udp.to_owned()),
        (LinkType::PPP_PPPD, packet(&[&[1, 0, 0x21], &ip]), format!("Out {udp}")),
        (LinkType::PPP_WITH_DIR, packet(&[&[0, 0, 0x21], &ip]), format!("In {udp}")),
        (LinkType::PPP, vec![0xff, 3, 0xc0, 0x21, 1], "ppp lcp len 5".to_owned()),
        (LinkType::PPP, vec![0xff, 3, 0xc0, 0x2d, 1], "ppp 0xc02d len 5".to_owned()),
        (LinkType::PPP_ETHER, packet(&[&[0x11, 0, 0, 5, 0, 40, 0, 0x21], &ip]), format!("pppoe 5 {udp}")),
        (LinkType::C_HDLC, packet(&[&[0x0f, 0, 8, 0], &ip]), udp.to_owned()),
        (LinkType::C_HDLC, vec![0x0f, 0, 0xfe, 0xfe, 3, 0x83, 20], "isis len 7".to_owned()),
        (LinkType::FRELAY, packet(&[&[0x18, 0x41, 3, 0xcc], &ip]), udp.to_owned()),
        (LinkType::FRELAY, packet(&[&[0x48, 0xe1, 8, 0], &ip]), udp.to_owned()),
        (LinkType::FRELAY, vec![0x18, 0x41, 3, 0x82, 20], "esis len 5".to_owned()),
        (LinkType::FRELAY, vec![0, 1, 8, 0x75, 0x95, 1], "FRELAY len 6".to_owned()),
        (LinkType::MPLS, packet(&[&[0, 1, 1, 64], &ip]), format!("mpls 16 {udp}")),
    ] {
        assert_eq!(line(linktype, &bytes), expected, "{linktype}");
    }
}

#[test]
fn what_is_not_ip() {
    let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2];
    let mut reply = arp;
    reply[7] = 2;
    let from_to = "02:00:00:00:00:01 > 02:00:00:00:00:02";
    for (bytes, expected) in [
        (packet(&[&[8, 6], &arp]), "arp who has 192.0.2.2 tell 192.0.2.1"),
        (packet(&[&[8, 6], &reply]), "arp 192.0.2.1 is at 02:00:00:00:00:01"),
        (packet(&[&[8, 6], &arp[..20]]), "arp len 34, short header"),
        (packet(&[&[0x88, 0xcc], &[1, 2]]), "lldp len 16"),
        (packet(&[&[0x12, 0x34], &[1, 2]]), "ethertype 0x1234 len 16"),
        (packet(&[&[0, 3], &[0x42, 0x42, 3]]), "stp len 17, short header"),
        (packet(&[&[0, 4], &[0xff, 0xff, 0, 4]]), "ipx len 18"),
        (packet(&[&[0, 4], &[0xfe, 0xfe, 3, 0x82]]), "esis len 18"),
        (packet(&[&[0, 8], &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]]), "cdp len 22"),
        (packet(&[&[0, 8], &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7]]), "snap oui 00:80:c2 pid 0x0007 len 22"),
        (packet(&[&[8, 0], &[0x45]]), "ip len 15, short header"),
    ] {
        assert_eq!(line(LinkType::EN10MB, &packet(&[MACS, &bytes])), format!("{from_to} {expected}"));
    }
    assert_eq!(line(LinkType::DBUS, &[1, 2, 3]), "DBUS len 3");
    assert_eq!(line(LinkType::new(9999), &[]), "unknown link type len 0");
    assert_eq!(summarize(LinkType::EN10MB, &[1, 2], 60).to_string(), "EN10MB len 60 cut");
}

/// A header that is not whole was cut only where the capture lacks bytes of it; else the packet is wrong.
#[test]
fn what_was_cut_and_what_is_wrong() {
    let whole = ipv4(6, 0, &tcp(2, b"got"));
    let changed = |at: usize, byte: u8| {
        let mut packet = whole.clone();
        packet[at] = byte;
        packet
    };
    let mut udp = ipv4(17, 0, UDP);
    let udp_flaw = |len: u8| {
        udp[25] = len;
        summarize(LinkType::IPV4, &udp, 30).flaw
    };
    assert_eq!([8, 10, 7, 11].map(udp_flaw), [None, None, Some(BAD_LENGTH), Some(BAD_LENGTH)]);
    for (bytes, wire_len, flaw) in [
        (&whole[..], 43, None),
        (&whole, 99, None),
        (&whole[..40], 43, None),
        (&whole[..39], 43, Some(Flaw::Cut)),
        (&whole[..19], 43, Some(Flaw::Cut)),
        (&whole[..0], 43, Some(Flaw::Cut)),
        (&whole[..19], 19, Some(SHORT_HEADER)),
        (&whole[..40], 40, Some(BAD_LENGTH)),
        (&changed(0, 0x55), 43, Some(BAD_VERSION)),
        (&changed(0, 0x55)[..19], 43, Some(BAD_VERSION)),
        (&changed(0, 0x44), 43, Some(BAD_HEADER_LENGTH)),
        // Total length: below the header's, within TCP's, beyond the packet.
        (&changed(3, 19), 43, Some(BAD_LENGTH)),
        (&changed(3, 39), 43, Some(SHORT_HEADER)),
        (&changed(3, 39)[..39], 43, Some(SHORT_HEADER)),
        (&changed(3, 44), 43, Some(BAD_LENGTH)),
        (&changed(3, 44), 44, None),
        // What segmentation offload leaves behind.
        (&changed(3, 0), 43, None),
        (&changed(32, 0x40), 43, Some(BAD_HEADER_LENGTH)),
        (&changed(32, 0xf0), 43, Some(BAD_HEADER_LENGTH)),
    ] {
        assert_eq!(summarize(LinkType::IPV4, bytes, wire_len).flaw, flaw, "{bytes:?} of {wire_len}");
    }
    let udp6 = ipv6(17, UDP);
    for (bytes, wire_len, flaw) in [
        (&udp6[..], 50, None),
        (&udp6[..47], 50, Some(Flaw::Cut)),
        (&udp6[..47], 47, Some(BAD_LENGTH)),
        (&udp6[..39], 39, Some(SHORT_HEADER)),
        (&ipv6(0, &[58, 9, 0, 0, 0, 0, 0, 0]), 48, Some(SHORT_HEADER)),
        (&ipv6(0, &[58, 9, 0, 0, 0, 0, 0, 0])[..46], 48, Some(Flaw::Cut)),
    ] {
        assert_eq!(summarize(LinkType::IPV6, bytes, wire_len).flaw, flaw, "{bytes:?} of {wire_len}");
    }
    assert_eq!(line(LinkType::RAW, &[0x33, 1, 2]), "ip len 3, bad version");
    assert_eq!(line(LinkType::IPV4, &changed(0, 0x44)), "ip len 43, bad header length");
    assert_eq!(summarize(LinkType::RAW, &whole[..3], 43).to_string(), "ip len 43 cut");
}

/// A segment that a device was to cut, of which a snap length kept the headers.
#[test]
fn offloaded_segments_go_as_far_as_the_frame() {
    let segment = tcp(0x10, &[7; 3000]);
    let mut v4 = ipv4(6, 0, &segment);
    v4[2..4].fill(0);
    let mut v6 = ipv6(6, &segment);
    v6[4..6].fill(0);
    for (bytes, from_to, headers_len) in
        [(v4, "192.0.2.1:40000 > 192.0.2.2:80", 40), (v6, "[2001::1]:40000 > [ff02::fb]:80", 60)]
    {
        for captured in [headers_len, bytes.len()] {
            let summary = summarize(LinkType::RAW, &bytes[..captured], bytes.len() as u32).to_string();
            assert_eq!(summary, format!("{from_to} tcp ACK seq 1000 ack 7 win 64240 len 3000"));
        }
    }
    // A jumbogram says it itself, and a datagram in it says nothing.
    for (len, expected) in
        [(70_000, "udp len 69992"), (69_999, "udp len 69991"), (70_001, "udp len 69993, bad length")]
    {
        let datagram = packet(&[&[0x13, 0x88, 0, 9, 0, 0, 0, 0], &[7; 69_992]]);
        let option = packet(&[&[17, 0, 0xc2, 4], &u32::to_be_bytes(len + 8)]);
        let mut bytes = ipv6(0, &packet(&[&option, &datagram]));
        bytes[4..6].fill(0);
        assert_eq!(line(LinkType::RAW, &bytes), format!("[2001::1]:5000 > [ff02::fb]:9 {expected}"));
    }
    // No segment, but nothing, behind which a frame is padded.
    let nothing = packet(&[&ipv6(59, &[]), &[0; 6]]);
    assert_eq!(line(LinkType::RAW, &nothing), "2001::1 > ff02::fb no-next len 0");
}

#[test]
fn icmp_says_why_and_about_whom() {
    let quoted = ipv4(17, 0, UDP);
    let from_to = "192.0.2.1 > 192.0.2.2 icmp";
    for (header, body, expected) in [
        ([3, 3, 0, 0, 0, 0, 0, 0], &quoted[..], "unreachable (port) to 192.0.2.2:5353 udp len 38"),
        ([3, 3, 0, 0, 0, 0, 0, 0], &quoted[..20], "unreachable (port) to 192.0.2.2 udp len 28"),
        (
            [3, 4, 0, 0, 0, 0, 5, 0xd4],
            &quoted,
            "unreachable (fragmentation needed) mtu 1492 to 192.0.2.2:5353 udp len 38",
        ),
        ([3, 4, 0, 0, 0, 0, 0, 0], &[], "unreachable (fragmentation needed) len 8"),
        ([3, 16, 0, 0, 0, 0, 0, 0], &[], "unreachable code 16 len 8"),
        (
            [5, 1, 0, 0, 192, 0, 2, 9],
            &ipv4(1, 0, &[8, 0]),
            "redirect (host) gateway 192.0.2.9 to 192.0.2.2 icmp len 30",
        ),
        (
            [11, 0, 0, 0, 0, 0, 0, 0],
            &ipv4(17, 185, UDP),
            "time exceeded (in transit) to 192.0.2.2 udp len 38",
        ),
        (
            [3, 2, 0, 0, 0, 0, 0, 0],
            &ipv4(99, 0, &[1]),
            "unreachable (protocol) to 192.0.2.2 protocol 99 len 29",
        ),
        ([12, 0, 0, 0, 7, 0, 0, 0], &[], "parameter problem (bad header) at byte 7 len 8"),
        ([0, 0, 0, 0, 0, 3, 0, 4], &[], "echo reply id 3 seq 4 len 8"),
    ] {
        assert_eq!(
            line(LinkType::RAW, &ipv4(1, 0, &packet(&[&header, body]))),
            format!("{from_to} {expected}")
        );
    }
    let cut = ipv4(1, 0, &[4, 0, 0, 0, 0, 0, 0, 0]);
    let summary = summarize(LinkType::RAW, &cut[..21], 28);
    assert_eq!(summary.to_string(), format!("{from_to} source quench len 8 cut"));
}

#[test]
fn icmp6_says_why_and_about_whom() {
    let (mut target, mut other) = ([0; 16], [0; 16]);
    (target[0], target[1], target[15]) = (0x20, 1, 9);
    (other[0], other[1], other[15]) = (0xfe, 0x80, 1);
    let mac = [2, 1, 2, 0, 0, 0, 0, 7];
    let quoted = ipv6(17, UDP);
    for (header, body, expected) in [
        ([135, 0, 0, 0, 0, 0, 0, 0], target.to_vec(), "neighbour solicitation who has 2001::9 len 24"),
        (
            [136, 0, 0, 0, 0x60, 0, 0, 0],
            packet(&[&target, &mac]),
            "neighbour advertisement 2001::9 is at 02:00:00:00:00:07 len 32",
        ),
        // Behind another option; one of another length is of no such address.
        (
            [136, 0, 0, 0, 0x60, 0, 0, 0],
            packet(&[&target, &[14, 1, 9, 9, 9, 9, 9, 9], &mac]),
            "neighbour advertisement 2001::9 is at 02:00:00:00:00:07 len 40",
        ),
        (
            [136, 0, 0, 0, 0x60, 0, 0, 0],
            packet(&[&target, &[2, 2], &[7; 14]]),
            "neighbour advertisement 2001::9 len 40",
        ),
        ([136, 0, 0, 0, 0x60, 0, 0, 0], target.to_vec(), "neighbour advertisement 2001::9 len 24"),
        (
            [137, 0, 0, 0, 0, 0, 0, 0],
            packet(&[&other, &target]),
            "redirect gateway fe80::1 to 2001::9 len 40",
        ),
        // With the packet, behind another option.
        (
            [137, 0, 0, 0, 0, 0, 0, 0],
            packet(&[&other, &target, &mac, &[4, 8, 0, 0, 0, 0, 0, 0], &quoted]),
            "redirect gateway fe80::1 to [ff02::fb]:5353 udp len 106",
        ),
        (
            [4, 1, 0, 0, 0, 0, 0, 6],
            ipv6(99, &[1]),
            "parameter problem (next header) at byte 6 to ff02::fb protocol 99 len 49",
        ),
        ([131, 0, 0, 0, 0, 0, 0, 0], other.to_vec(), "listener report fe80::1 len 24"),
        ([130, 0, 0, 0, 0, 0, 0, 0], vec![0; 16], "listener query len 24"),
        ([2, 0, 0, 0, 0, 0, 5, 0], quoted.clone(), "packet too big mtu 1280 to [ff02::fb]:5353 udp len 58"),
        ([1, 4, 0, 0, 0, 0, 0, 0], quoted, "unreachable (port) to [ff02::fb]:5353 udp len 58"),
        ([1, 0, 0, 0, 0, 0, 0, 0], vec![], "unreachable (no route) len 8"),
        (
            [143, 0, 0, 0, 0, 0, 0, 2],
            packet(&[&[4, 0, 0, 0], &other, &[3, 0, 0, 0], &target]),
            "listener report v2 groups 2 fe80::1 len 48",
        ),
        // None in the list, whatever follows it.
        ([143, 0, 0, 0, 0, 0, 0, 0], packet(&[&[4, 0, 0, 0], &other]), "listener report v2 groups 0 len 28"),
        (
            [134, 0, 0, 0, 64, 0, 7, 8],
            packet(&[&[0; 8], &[1, 1, 2, 0, 0, 0, 0, 7], &[3, 4, 64, 0xc0], &[0; 12], &target]),
            "router advertisement lifetime 1800 prefix 2001::9/64 len 56",
        ),
        ([134, 0, 0, 0, 64, 0, 0, 0], vec![0; 16], "router advertisement lifetime 0 len 24"),
        ([4, 3, 0, 0, 0, 0, 0, 48], vec![], "parameter problem (incomplete headers) at byte 48 len 8"),
        ([4, 11, 0, 0, 0, 0, 0, 48], vec![], "parameter problem code 11 at byte 48 len 8"),
        ([1, 8, 0, 0, 0, 0, 0, 0], vec![], "unreachable (headers too long) len 8"),
        ([155, 2, 0, 0, 0, 0, 0, 0], vec![], "rpl control code 2 len 8"),
        ([4, 1, 0, 0, 0, 0, 0, 40], vec![], "parameter problem (next header) at byte 40 len 8"),
        ([128, 0, 0, 0, 0, 3, 0, 4], vec![], "echo request id 3 seq 4 len 8"),
    ] {
        let bytes = ipv6(58, &packet(&[&header, &body]));
        assert_eq!(line(LinkType::RAW, &bytes), format!("2001::1 > ff02::fb icmp6 {expected}"));
    }
}

#[test]
fn security_tunnels_and_groups() {
    let from_to = "192.0.2.1 > 192.0.2.2";
    for (protocol, payload, expected) in [
        (50, &[0, 0, 1, 2, 0, 0, 0, 3, 9][..], "esp spi 0x00000102 seq 3 len 9"),
        (51, &[6, 4, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], "ah spi 0x00000102 seq 3 len 12, bad header length"),
        (51, &[6, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], "ah spi 0x00000102 seq 3 len 12, bad header length"),
        (51, &[99, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], "ah spi 0x00000102 seq 3 ip protocol 99 len 0"),
        (50, &[0; 7], "esp len 7, short header"),
        (51, &[0; 11], "ah len 11, short header"),
        (2, &[0x16; 7], "igmp len 7, short header"),
        (47, &[0x20, 0, 0x86, 0xdd, 0, 0, 0, 1], "gre ip6 key 0x1 len 8"),
        (47, &[0, 0, 0x65, 0x58], "gre 0x6558 len 4"),
        (47, &[0, 0, 8], "gre len 3, short header"),
        (47, &[0x30, 0, 8, 0, 0, 0, 0, 1], "gre ip len 8, short header"),
        (2, &[0x16, 0, 0, 0, 224, 0, 0, 251], "igmp report v2 224.0.0.251 len 8"),
        (2, &[0x11, 100, 0, 0, 0, 0, 0, 0], "igmp query len 8"),
        (2, &[0x22, 0, 0, 0, 0, 0, 0, 1], "igmp report v3 groups 1 len 8"),
        (2, &[0x22, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 224, 0, 0, 251], "igmp report v3 groups 0 len 16"),
        (2, REPORT_V3, "igmp report v3 groups 2 233.252.0.1 len 24"),
    ] {
        assert_eq!(line(LinkType::RAW, &ipv4(protocol, 0, payload)), format!("{from_to} {expected}"));
    }
}

#[test]
fn messages_between_routers() {
    let ospf = |kind| packet(&[&[2, kind, 0, 44, 10, 0, 0, 1, 0, 0, 0, 9], &[0; 32]]);
    for (protocol, payload, expected) in [
        (89, ospf(1), "ospf v2 hello router 10.0.0.1 area 0.0.0.9 len 44"),
        (89, ospf(5), "ospf v2 ls-ack router 10.0.0.1 area 0.0.0.9 len 44"),
        (89, ospf(0), "ospf v2 type 0 router 10.0.0.1 area 0.0.0.9 len 44"),
        (89, ospf(1)[..11].to_vec(), "ospf len 11, short header"),
        (103, vec![0x20, 0, 0, 0], "pim v2 hello len 4"),
        (103, vec![0x23, 0, 0, 0], "pim v2 join-prune len 4"),
        (103, vec![0x2f, 0, 0, 0], "pim v2 type 15 len 4"),
        (103, vec![0x10, 0, 0, 0], "pim v1 len 4"),
        (112, vec![0x41, 7, 100], "vrrp v4 len 3"),
        (89, vec![9, 1], "ospf v9 len 2"),
        (103, vec![], "pim len 0, short header"),
        (112, vec![0x31, 7, 100, 1, 0, 0, 0, 0], "vrrp v3 advertisement vrid 7 prio 100 len 8"),
        (112, vec![0x22, 7, 0, 1], "vrrp v2 type 2 vrid 7 prio 0 len 4"),
        (112, vec![0x31, 7], "vrrp len 2, short header"),
    ] {
        let expected = format!("192.0.2.1 > 192.0.2.2 {expected}");
        assert_eq!(line(LinkType::RAW, &ipv4(protocol, 0, &payload)), expected);
    }
    let bytes = ipv6(89, &packet(&[&[3, 4, 0, 36, 10, 0, 0, 1, 0, 0, 0, 0], &[0; 24]]));
    assert_eq!(
        line(LinkType::RAW, &bytes),
        "2001::1 > ff02::fb ospf v3 ls-update router 10.0.0.1 area 0.0.0.0 len 36"
    );
}

/// A header of so many units of four bytes, minus two, in front of `payload` (RFC 4302, 2.2).
fn ah(next: u8, units: u8, payload: &[u8]) -> Vec<u8> {
    let icv = vec![0xee; (usize::from(units) + 2).saturating_mul(4).saturating_sub(12)];
    packet(&[&[next, units, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], &icv, payload])
}

#[test]
fn authentication_in_ipv6() {
    let options = |next| [next, 0, 1, 4, 0, 0, 0, 0];
    let ports = "[2001::1]:5353 > [ff02::fb]:5353";
    let hosts = "2001::1 > ff02::fb";
    let spi = "ah spi 0x00000102 seq 3";
    for (next_header, payload, expected) in [
        (51, ah(17, 4, UDP), format!("{ports} {spi} udp len 2")),
        // As BSD sends it: no multiple of eight bytes.
        (51, ah(17, 5, UDP), format!("{ports} {spi} udp len 2")),
        (60, packet(&[&options(51), &ah(60, 4, &options(17)), UDP]), format!("{ports} {spi} udp len 2")),
        (51, ah(51, 1, &ah(17, 4, UDP)), format!("{ports} {spi} udp len 2")),
        (51, ah(99, 4, &[1]), format!("{hosts} {spi} ip6 protocol 99 len 1")),
        (
            51,
            packet(&[&[44, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3], &[17, 0, 0, 8, 0, 0, 0, 1], &[5, 5]]),
            format!("{hosts} {spi} udp fragment 8 len 2"),
        ),
        // Shorter than any, and longer than what holds it.
        (51, ah(17, 0, UDP), format!("{hosts} {spi} len 22, bad header length")),
        (
            60,
            packet(&[&options(51), &ah(17, 9, UDP)[..20]]),
            format!("{hosts} {spi} len 20, bad header length"),
        ),
        (51, vec![17, 4, 0, 0, 0, 0, 1, 2], format!("{hosts} ah len 8, short header")),
    ] {
        assert_eq!(line(LinkType::RAW, &ipv6(next_header, &payload)), expected);
    }
    let whole = ipv6(51, &ah(17, 4, UDP));
    let cut = summarize(LinkType::RAW, &whole[..60], whole.len() as u32).to_string();
    assert_eq!(cut, format!("{hosts} {spi} len 34 cut"));
}

/// A routing header in front of UDP.
fn routed(kind: u8, segments_left: u8) -> Vec<u8> {
    packet(&[&[17, 2, kind, segments_left, 0, 0, 0, 0], &[0x20], &[0; 14], &[9], UDP])
}

#[test]
fn routes_of_ipv6() {
    let from_to = "[2001::1]:5353 > [ff02::fb]:5353";
    for (kind, segments_left, expected) in [
        (0, 1, "route type 0 left 1 to 2000::9"),
        (4, 1, "route type 4 left 1 to 2000::9"),
        (4, 0, "route type 4 left 0"),
        (3, 1, "route type 3 left 1"),
    ] {
        let bytes = ipv6(43, &routed(kind, segments_left));
        assert_eq!(line(LinkType::RAW, &bytes), format!("{from_to} {expected} udp len 2"));
    }
}

/// Two records: a group to be left, one to be joined.
const REPORT_V3: &[u8] = &[0x22, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 233, 252, 0, 1, 4, 0, 0, 0, 233, 252, 0, 2];

/// A segment with these options, padded.
fn tcp_with(flags: u8, options: &[u8]) -> Vec<u8> {
    let mut segment = packet(&[&tcp(flags, &[]), options]);
    segment.resize(segment.len().next_multiple_of(4), 0);
    segment[12] = (segment.len() as u8 / 4) << 4;
    segment
}

/// What Linux sends first.
const SYN_OPTIONS: &[u8] = &[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 10];
/// Two blocks, behind padding.
const SACK_OPTIONS: &[u8] = &[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];

#[test]
fn options_of_tcp() {
    let from_to = "192.0.2.1:40000 > 192.0.2.2:80 tcp";
    let ack = "ACK seq 1000 ack 7 win 64240";
    for (segment, expected) in [
        (tcp_with(2, SYN_OPTIONS), "SYN seq 1000 win 64240 mss 1460 wscale 10 sackok ts 9 ecr 0".to_owned()),
        (tcp_with(16, SACK_OPTIONS), format!("{ack} sack 1-2,3-4")),
        // What is not of its right length is passed over, and behind the end there is nothing.
        (tcp_with(16, &[3, 4, 1, 2, 0, 3, 3, 7]), ack.to_owned()),
        (tcp_with(16, &[3, 0]), ack.to_owned()),
        (tcp_with(16, &[1, 1, 1, 3]), ack.to_owned()),
        (tcp_with(16, &[8, 10, 1, 1]), ack.to_owned()),
    ] {
        assert_eq!(line(LinkType::RAW, &ipv4(6, 0, &segment)), format!("{from_to} {expected} len 0"));
    }
    let syn = ipv4(6, 0, &tcp_with(2, SYN_OPTIONS));
    let cut = summarize(LinkType::RAW, &syn[..syn.len() - 4], syn.len() as u32).to_string();
    assert_eq!(cut, format!("{from_to} SYN seq 1000 win 64240 mss 1460 sackok ts 9 ecr 0 len 0 cut"));
}

/// A packet of these chunks, each of which is a type with so many bytes of value.
fn sctp(chunks: &[(u8, u8)]) -> Vec<u8> {
    let mut bytes = vec![3, 232, 11, 89, 0, 0, 0, 1, 0, 0, 0, 0];
    for &(kind, len) in chunks {
        bytes.extend([kind, 0, 0, len + 4]);
        bytes.extend(vec![0; usize::from(len).next_multiple_of(4)]);
    }
    bytes
}

#[test]
fn chunks_of_sctp() {
    for (chunks, expected) in [
        (&[(1, 16)][..], "INIT len 32"),
        (&[(10, 5), (0, 17)], "COOKIE-ECHO,DATA len 48"),
        (&[(3, 0), (77, 1), (0, 0), (0, 0), (0, 0)], "SACK,77,DATA,DATA,... len 36"),
    ] {
        let expected = format!("192.0.2.1:1000 > 192.0.2.2:2905 sctp {expected}");
        assert_eq!(line(LinkType::RAW, &ipv4(132, 0, &sctp(chunks))), expected);
    }
    // With a length of 0, nothing can be found behind it.
    let mut endless = sctp(&[(1, 16), (0, 0)]);
    endless[15] = 0;
    assert_eq!(
        line(LinkType::RAW, &ipv4(132, 0, &endless)),
        "192.0.2.1:1000 > 192.0.2.2:2905 sctp INIT len 36"
    );
}

/// Frames by which bridges and their neighbours find each other, behind the hardware addresses.
#[rustfmt::skip]
const CONTROL: &[(&[u8], &str)] = &[
    (
        &[0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 1, 0x80, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 4,
          0x80, 1, 2, 0, 0, 0, 0, 1, 0x80, 2, 0, 0, 20, 0, 2, 0, 15, 0],
        "stp root 8000.02:00:00:00:00:09 cost 4 bridge 8001.02:00:00:00:00:01 port 0x8002 topology change",
    ),
    (
        &[0, 38, 0x42, 0x42, 3, 0, 0, 2, 2, 0, 0x80, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 0,
          0x80, 0, 2, 0, 0, 0, 0, 9, 0x80, 1, 0, 0, 20, 0, 2, 0, 15, 0, 0],
        "stp rapid root 8000.02:00:00:00:00:09 cost 0 port 0x8001",
    ),
    (
        &[0, 38, 0x42, 0x42, 3, 0, 0, 3, 2, 0, 0x80, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 4,
          0x80, 0, 2, 0, 0, 0, 0, 8, 0x80, 1, 0, 0, 20, 0, 2, 0, 15, 0, 0],
        "stp multiple root 8000.02:00:00:00:00:09 cost 4 region 8000.02:00:00:00:00:08 port 0x8001",
    ),
    (&[0, 7, 0x42, 0x42, 3, 0, 0, 0, 0x80], "stp topology change notice"),
    (&[0, 12, 0xaa, 0xaa, 3, 0, 0, 0x0c, 1, 0x0b, 0, 0, 0, 0x80], "pvst topology change notice"),
    (
        &[0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 5, 5, b'e', b't', b'h', b'0', 6, 2, 0, 120, 10, 4, b's', b'w', 27, b'1', 0, 0, 7],
        r#"lldp chassis 02:00:00:00:00:01 port "eth0" ttl 120 name "sw\0271""#,
    ),
    (
        &[0x88, 0xcc, 2, 6, 5, 1, 192, 0, 2, 1, 4, 18, 4, 2, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
        "lldp chassis 192.0.2.1 port fe80::1",
    ),
    (&[0x88, 0xcc, 2, 5, 5, 1, 192, 0, 2, 0, 0], r#"lldp chassis "\001\192\000\002""#),
    (&[0x88, 0xcc, 2, 3, 7, b's', b'w', 4, 9, 5], r#"lldp chassis "sw""#),
    (
        &[0x88, 9, 1, 1, 1, 20, 0x80, 0, 2, 0, 0, 0, 0, 1, 0, 13, 0x80, 0, 0, 22, 0x3d, 0, 0, 0,
          2, 20, 0x80, 0, 2, 0, 0, 0, 0, 2, 0, 14, 0x80, 0, 0, 23, 0xc5, 0, 0, 0],
        "slow lacp actor 02:00:00:00:00:01 key 13 port 22 sync,collecting,distributing \
         partner 02:00:00:00:00:02 key 14 port 23 defaulted,expired",
    ),
    (&[0x88, 9, 3, 1, 1, 20], "slow"),
    (&[0x88, 0x63, 0x11, 9, 0, 0], "pppoed PADI"),
    (&[0x88, 0x63, 0x11, 1, 0, 0], "pppoed code 0x01"),
];

#[test]
fn control_of_links() {
    for &(bytes, expected) in CONTROL {
        let bytes = packet(&[MACS, bytes]);
        let expected = format!("02:00:00:00:00:01 > 02:00:00:00:00:02 {expected} len {}", bytes.len());
        assert_eq!(line(LinkType::EN10MB, &bytes), expected);
    }
}

/// 0x8035 is RARP on Ethernet, and SLARP on Cisco's HDLC.
#[test]
fn slarp() {
    let bytes = |code: u8, rest: &[u8]| packet(&[&[0x8f, 0, 0x80, 0x35, 0, 0, 0, code], rest]);
    let numbers = [0, 0, 0, 5, 0, 0, 0, 2, 0xff, 0xff];
    for (bytes, expected) in [
        (bytes(2, &numbers), "slarp keepalive seq 5 seen 2 len 18"),
        (bytes(0, &[0; 10]), "slarp request len 18"),
        (
            bytes(1, &[10, 0, 0, 1, 255, 255, 255, 0, 0xff, 0xff]),
            "slarp reply 10.0.0.1 mask 255.255.255.0 len 18",
        ),
        (bytes(7, &numbers), "slarp code 7 len 18"),
        (bytes(2, &numbers[..7]), "slarp len 15, short header"),
    ] {
        assert_eq!(line(LinkType::C_HDLC, &bytes), expected);
    }
}

/// Link types whose headers are looked into.
fn linktypes() -> impl Strategy<Value = LinkType> {
    let known: Vec<_> = LinkType::all().iter().map(|info| info.linktype).collect();
    proptest::sample::select(known)
}

proptest! {
    #[test]
    fn any_bytes_give_a_line(
        linktype in linktypes(),
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        wire_len: u32,
    ) {
        prop_assert!(!summarize(linktype, &bytes, wire_len).to_string().is_empty());
    }

    /// Plausible packets, cut and damaged anywhere, reach deeper than random bytes.
    #[test]
    fn damaged_packets_give_a_line(
        (linktype, sound) in proptest::sample::select(samples()),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..5),
        cut in any::<proptest::sample::Index>(),
        wire_len: u32,
    ) {
        let mut bytes = sound;
        for (at, with) in changes {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        check(linktype, &bytes, bytes.len() as u32);
        check(linktype, &bytes, wire_len);
    }
}

#[test]
fn packets_cut_anywhere_give_a_line() {
    for (linktype, bytes) in samples() {
        for len in 0..=bytes.len() {
            check(linktype, &bytes[..len], bytes.len() as u32);
            check(linktype, &bytes[..len], len as u32);
        }
    }
}

/// Where a line shows less than that of the whole packet, it says so.
#[test]
fn packets_cut_anywhere_say_so() {
    let mut silent = vec![];
    for (linktype, bytes) in samples() {
        let whole = line(linktype, &bytes);
        for len in 0..bytes.len() {
            let line = summarize(linktype, &bytes[..len], bytes.len() as u32).to_string();
            let is_cut = line.split([' ', ':']).any(|word| word == "cut");
            if !is_cut && line != whole && !is_all_header(&bytes, len) {
                silent.push(format!("{len} of {}: {line}\n  whole: {whole}", bytes.len()));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// Whether so many bytes are the headers of a segment of TCP over IPv4 in an Ethernet frame, and no more: what it carries is not asked.
fn is_all_header(bytes: &[u8], len: usize) -> bool {
    let is_tcp = bytes[12..14] == [8, 0] && bytes.get(23) == Some(&6);
    is_tcp && len == 34 + usize::from(bytes[46] >> 4) * 4
}

/// What was not captured is told of only where it can matter to the line.
#[test]
fn what_was_cut_and_does_not_matter() {
    let neighbour = packet(&[&[135, 0, 0, 0, 0, 0, 0, 0], &[0xfe; 16], &[1, 1, 2, 0, 0, 0, 0, 7]]);
    let sctp = sctp(&[(1, 0), (2, 0), (3, 0), (0, 0), (0, 0)]);
    let quoted = packet(&[&[3, 3, 0, 0, 0, 0, 0, 0], &ipv4(17, 0, UDP)]);
    let none = packet(&[&[143, 0, 0, 0, 0, 0, 0, 0], &[7; 20]]);
    for (bytes, by) in [
        (ipv4(50, 0, &[7; 20]), 12),
        (ipv4(51, 0, &[7; 20]), 8),
        (ipv4(2, 0, REPORT_V3), 8),
        (ipv4(2, 0, &[0x16, 0, 0, 0, 224, 0, 0, 251, 1, 2]), 2),
        (ipv4(47, 0, &[0x20, 0, 0x12, 0x34, 0, 0, 0, 1, 9, 9]), 2),
        (ipv4(132, 0, &sctp), 4),
        (ipv4(1, 0, &quoted), 6),
        (ipv6(58, &neighbour), 8),
        (ipv6(58, &none), 20),
        // No hello of TLS, and no long header of QUIC, begins like this, or is so short.
        (ipv4(6, 0, &tcp(24, b"GOT / HTTP/1.1")), 12),
        (ipv4(6, 0, &tcp(24, b"GET / HTTP/1.1\r\nHost: www.example")), 17),
        (ipv4(6, 0, &tcp(24, b"no hello")), 8),
        // Behind the end of options, in one that is not shown, and where only one byte is left.
        (ipv4(6, 0, &tcp_with(16, &[2, 4, 5, 0xb4, 0, 0, 0, 0])), 3),
        (ipv4(6, 0, &tcp_with(2, &[2, 4, 5, 0xb4, 34, 4, 7, 7])), 2),
        (ipv4(6, 0, &tcp_with(2, &[2, 4, 5, 0xb4, 4, 2, 1, 1])), 1),
        (ipv4(6, 0, &tcp(24, b"\x16\x03\x01 abcd")), 5),
        (ipv4(17, 0, &udp(4000, 443, &[0x43; 20])), 19),
        (ipv4(17, 0, &udp(4000, 443, &[0xc3; 5])), 4),
    ] {
        let expected = line(LinkType::RAW, &bytes);
        let cut = summarize(LinkType::RAW, &bytes[..bytes.len() - by], bytes.len() as u32).to_string();
        assert_eq!(cut, expected);
    }
    let (lldp, _) = CONTROL[5];
    let frame = packet(&[MACS, lldp]);
    let cut = summarize(LinkType::EN10MB, &frame[..frame.len() - 3], frame.len() as u32);
    assert_eq!(cut.to_string(), line(LinkType::EN10MB, &frame));
}

/// A datagram between these ports.
fn udp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let [[a, b], [c, d], [e, f]] = [src, dst, len].map(u16::to_be_bytes);
    packet(&[&[a, b, c, d, e, f, 0, 0], payload])
}

/// What holds of the line of any packet.
fn check(linktype: LinkType, bytes: &[u8], wire_len: u32) {
    let line = summarize(linktype, bytes, wire_len).to_string();
    assert!(!line.is_empty() && line.len() <= LINE_MAX, "{} characters: {line}", line.len());
    assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
    // Fields have one blank between them; within quotation marks there may be more.
    assert!(line.split('"').step_by(2).all(|fields| !fields.contains("  ")), "{line:?}");
}

/// The longest line that damage has made.
const LINE_MAX: usize = 400;

/// A packet of each kind that is looked into.
fn samples() -> Vec<(LinkType, Vec<u8>)> {
    let ether = |kind: u16, payload: &[u8]| packet(&[MACS, &kind.to_be_bytes(), payload]);
    let mut all = vec![ether(0x8100, &packet(&[&[0, 7, 8, 0], &ipv4(17, 0, UDP)]))];
    all.push(ether(0x88e5, &packet(&[&[0x20, 0, 0, 0, 0, 1], &[7; 8], &[8, 0], &ipv4(17, 0, UDP)])));
    all.extend(CONTROL.iter().map(|(bytes, _)| packet(&[MACS, bytes])));
    for ip in [ipv4(17, 185, UDP), ipv4(1, 0, &packet(&[&[3, 4, 0, 0, 0, 0, 5, 0], &ipv4(17, 0, UDP)]))] {
        all.push(ether(0x8847, &packet(&[&[0, 1, 1, 64], &ip])));
    }
    for (protocol, payload) in [
        (2, REPORT_V3.to_vec()),
        (6, tcp_with(2, SYN_OPTIONS)),
        (6, tcp_with(16, SACK_OPTIONS)),
        (132, sctp(&[(10, 5), (0, 17)])),
        (47, vec![0x20, 0, 0x86, 0xdd, 0, 0, 0, 1, 0x60, 0, 0]),
        (47, vec![0x30, 0, 0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 2]),
        (33, vec![7; 20]),
        (136, UDP.to_vec()),
        (89, vec![2; 20]),
        (103, vec![0x20; 20]),
        (112, vec![0x31; 20]),
        (50, vec![7; 20]),
        (51, vec![7; 20]),
        (2, vec![0x16, 0, 0, 0, 224, 0, 0, 251]),
        (1, packet(&[&[5, 1, 0, 0, 192, 0, 2, 9], &ipv4(1, 0, &[8, 0])])),
    ] {
        all.push(ether(0x0800, &ipv4(protocol, 0, &payload)));
    }
    let prefix = packet(&[&[134, 0, 0, 0, 64, 0, 7, 8], &[0; 8], &[3, 4, 64, 0xc0], &[0; 28]]);
    let report = packet(&[&[143, 0, 0, 0, 0, 0, 0, 1], &[4, 0, 0, 0], &[0xff; 16]]);
    let quoted = packet(&[&[1, 4, 0, 0, 0, 0, 0, 0], &ipv6(17, UDP)]);
    let quoted_fragment = packet(&[&[1, 4, 0, 0, 0, 0, 0, 0], &ipv6(44, &[6, 0, 0, 8, 0, 0, 0, 1, 5, 5])]);
    let message = |kind: u8, rest: &[u8]| packet(&[&[kind, 0, 0, 0, 0x60, 0, 0, 0], rest]);
    for (next_header, payload) in [
        (58, prefix),
        (58, report),
        (58, quoted),
        (58, quoted_fragment),
        (58, message(131, &[0xff; 16])),
        (58, message(135, &[0xfe; 16])),
        (58, message(136, &packet(&[&[0xfe; 16], &[14, 1, 9, 9, 9, 9, 9, 9, 2, 1, 2, 0, 0, 0, 0, 7]]))),
        (58, message(137, &packet(&[&[0xfe; 32], &[4, 8, 0, 0, 0, 0, 0, 0], &ipv6(17, UDP)]))),
        (44, packet(&[&[17, 0, 0, 1, 0, 0, 0, 1], UDP])),
        (43, routed(4, 1)),
        (51, ah(17, 4, UDP)),
        (51, ah(60, 4, &packet(&[&[17, 0, 1, 4, 0, 0, 0, 0], UDP]))),
        (0, vec![0; 60]),
    ] {
        all.push(ether(0x86dd, &ipv6(next_header, &payload)));
    }
    all.extend(apps::samples().into_iter().map(|bytes| ether(0x0800, &bytes)));
    all.extend(services::samples().into_iter().map(|bytes| ether(0x0800, &bytes)));
    all.extend(tunnels::samples().into_iter().map(|bytes| ether(0x0800, &bytes)));
    all.extend(tunnels::labelled_samples());
    let mut all: Vec<_> = all.into_iter().map(|bytes| (LinkType::EN10MB, bytes)).collect();
    let slarp = [0x8f, 0, 0x80, 0x35, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 2, 0xff, 0xff];
    all.push((LinkType::C_HDLC, slarp.to_vec()));
    all.push((LinkType::C_HDLC, vec![0x0f, 0, 0xfe, 0xfe, 3, 0x83, 20]));
    let sll2 = [8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    all.push((LinkType::LINUX_SLL2, packet(&[&sll2, &ipv4(17, 0, UDP)])));
    all.push((LinkType::PPP_ETHER, packet(&[&[0x11, 0, 0, 5, 0, 40, 0, 0x21], &ipv4(17, 0, UDP)])));
    all.push((LinkType::PPP, vec![0xff, 3, 0xc0, 0x21, 1]));
    let addresses = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]].concat();
    all.push((LinkType::IEEE802_11, packet(&[&[0x80, 0, 0, 0], &addresses, &[0, 0]])));
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let data = packet(&[&[8, 2, 0, 0], &addresses, &[0, 0], &snap, &ipv4(17, 0, UDP)]);
    all.push((LinkType::IEEE802_11, data));
    all.push((LinkType::IEEE802_11, wifi::amsdu()));
    all.push((LinkType::IEEE802_11_RADIO, packet(&[&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &wifi::amsdu()])));
    all
}
