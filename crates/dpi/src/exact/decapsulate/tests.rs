use super::*;

/// A datagram over UDP from 10.0.0.1:1000 to 10.0.0.2 and this port.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let length = [(8 + payload.len()) >> 8, (8 + payload.len()) & 255].map(|byte| byte as u8);
    ipv4(17, &[&[3, 232, high, low, length[0], length[1], 0, 0], payload].concat())
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let mut datagram = vec![0x60, 0, 0, 0, high, low, next, 64];
    for last in [1, 2] {
        datagram.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&datagram, payload].concat()
}

fn ethernet(ethertype: &[u8], rest: &[u8]) -> Vec<u8> {
    [&[2; 12], ethertype, rest].concat()
}

/// The ports of the datagram that is shown, its VLAN, and how many bytes of it there are.
fn shown(link: Link, frame: &[u8], tunnels: bool) -> Option<([u16; 2], u16, usize)> {
    datagram(link, frame, tunnels).map(|found| {
        assert_eq!(usize::from(found.frame_bytes), frame.len());
        ([found.key.a.1, found.key.b.1], found.key.vlan, found.bytes.len())
    })
}

#[test]
fn a_plain_datagram_is_shown_with_what_is_behind_it() {
    let frame = [ethernet(&[8, 0], &udp(53, b"")), vec![0; 18]].concat();
    assert_eq!(shown(Link::Ethernet, &frame, false), Some(([1000, 53], 0, 28 + 18)));
    assert_eq!(shown(Link::Raw, &udp(53, b""), false), Some(([1000, 53], 0, 28)));
}

#[test]
fn the_innermost_vlan_counts() {
    let tags = [0x81, 0, 0x20, 7, 0x81, 0, 0x20, 9, 8, 0];
    assert_eq!(shown(Link::Ethernet, &ethernet(&tags, &udp(53, b"")), false), Some(([1000, 53], 9, 28)));
    // 802.1ad is not known: its tag is no IP header.
    assert_eq!(shown(Link::Ethernet, &ethernet(&[0x88, 0xa8, 0, 7, 8, 0], &udp(53, b"")), false), None);
}

#[test]
fn labels_and_sessions_are_passed() {
    let mpls = [0x88, 0x47, 0, 1, 0, 64, 0, 1, 1, 64];
    assert_eq!(shown(Link::Ethernet, &ethernet(&mpls, &udp(53, b"")), false), Some(([1000, 53], 0, 28)));
    let pppoe = [0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21];
    assert_eq!(shown(Link::Ethernet, &ethernet(&pppoe, &udp(53, b"")), false), Some(([1000, 53], 0, 28)));
}

#[test]
fn tunnels_over_ip_are_looked_into() {
    let frame = ipv4(41, &ipv6(4, &udp(53, b"x")));
    assert_eq!(shown(Link::Raw, &frame, false), Some(([1000, 53], 0, 29)));
}

#[test]
fn tunnels_over_udp_are_looked_into_on_request() {
    let gtp = [0x32, 0xff, 0, 28, 0, 0, 0, 1, 0, 0, 0, 0];
    let frame = udp(2152, &[&gtp[..], &udp(53, b"")].concat());
    assert_eq!(shown(Link::Ipv4, &frame, false), Some(([1000, 2152], 0, frame.len())));
    assert_eq!(shown(Link::Ipv4, &frame, true), Some(([1000, 53], 0, 28)));
    // Without an ethertype, the protocol is not looked at.
    assert_eq!(shown(Link::Raw, &frame, true), Some(([1000, 2152], 0, frame.len())));
    let tzsp = [1, 0, 0, 1, 1];
    let frame = ethernet(&[8, 0], &udp(37_008, &[&tzsp[..], &ethernet(&[8, 0], &udp(53, b""))].concat()));
    assert_eq!(shown(Link::Ethernet, &frame, true), Some(([1000, 53], 0, 28)));
}

#[test]
fn a_tunnel_that_leads_to_itself_ends() {
    // Behind TZSP begins a link header; that of IPv4 alone is the first byte of the frame again.
    let frame = udp(37_008, &[&[1, 0, 0, 1, 1][..], &[0; 40]].concat());
    assert_eq!(shown(Link::Ipv4, &frame, true), None);
}

#[test]
fn later_fragments_are_not_shown_where_the_ethertype_tells() {
    let mut fragment = udp(53, b"0123456789");
    fragment[7] = 1;
    assert_eq!(shown(Link::Ethernet, &ethernet(&[8, 0], &fragment), false), None);
    // Without one, or behind a link header that is read in the wrong order, they pass for whole ones.
    assert!(shown(Link::Raw, &fragment, false).is_some());
    let null = [&[2, 0, 0, 0][..], &fragment].concat();
    assert!(shown(Link::Null, &null, false).is_some());
    let null = [&[0, 0, 0, 2][..], &fragment].concat();
    assert_eq!(shown(Link::Null, &null, false), None);
}

#[test]
fn extension_headers_are_passed() {
    let options = [17, 0, 1, 4, 0, 0, 0, 0, 3, 232, 0, 53, 0, 8, 0, 0];
    assert_eq!(shown(Link::Raw, &ipv6(0, &options), false), Some(([1000, 53], 0, 56)));
    assert_eq!(shown(Link::Raw, &ipv6(59, &options), false), None);
    let later_fragment = [17, 0, 0, 8, 0, 0, 0, 1, 3, 232, 0, 53, 0, 8, 0, 0];
    assert_eq!(shown(Link::Raw, &ipv6(44, &later_fragment), false), None);
}

#[test]
fn lengths_that_lie_are_refused() {
    let mut longer = udp(53, b"");
    longer[3] = 29;
    assert_eq!(shown(Link::Raw, &longer, false), None);
    let mut none = udp(53, b"");
    (none[2], none[3]) = (0, 0);
    assert_eq!(shown(Link::Raw, &none, false), None);
    assert_eq!(shown(Link::Raw, &udp(53, b"")[..27], false), None);
}

#[test]
fn ipv6_addresses_are_folded() {
    let key = |a: &str, b: &str| Key {
        a: (a.parse().unwrap(), 1),
        b: (b.parse().unwrap(), 2),
        protocol: 6,
        vlan: 0,
    };
    let one = key("2001:db8::1:0:0:1", "::2");
    assert!(one.has_ends_of(&key("fe80::1:0:0:1", "::2")));
    assert!(one.has_ends_of(&key("::0:1:1:0", "::2")));
    assert_eq!(one.order(&one.exchanged()), Ordering::Equal);
    assert_ne!(one.order(&key("::1", "::2")), Ordering::Equal);
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = 1_u64;
    let links = [
        Link::Null,
        Link::PppSerial,
        Link::Ppp,
        Link::Ipv4,
        Link::Ipv6,
        Link::Ethernet,
        Link::LinuxSll,
        Link::Radiotap,
        Link::Raw,
    ];
    let seeds = [
        ethernet(&[8, 0], &udp(2152, &[0x32; 60])),
        ipv4(4, &ipv6(0, &[0; 60])),
        udp(37_008, &[1, 0, 0, 1, 0]),
        udp(5247, &[0; 80]),
    ];
    for round in 0..50_000 {
        let mut frame = seeds[round % seeds.len()].clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 40) as usize % frame.len();
            frame[at] = (random >> 32) as u8;
        }
        frame.truncate((random >> 20) as usize % (frame.len() + 1));
        datagram(links[round % links.len()], &frame, round % 2 == 0);
    }
}
