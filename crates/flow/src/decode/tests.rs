use super::*;
use proptest::prelude::*;
use std::net::SocketAddr;
use testkit::linktype;
use testkit::packet::Packet;
use testkit::rng::Rng;
use testkit::{mutate, traffic};

fn packet(line: &str) -> Vec<u8> {
    Packet::parse(line).unwrap_or_else(|error| panic!("`{line}`: {error}")).bytes
}

fn decoded(line: &str) -> Decoded {
    let bytes = packet(line);
    decode(LinkType::EN10MB, &bytes).unwrap_or_else(|why| panic!("`{line}`: {why:?} {bytes:x?}"))
}

fn ends(decoded: &Decoded) -> (SocketAddr, SocketAddr) {
    (decoded.key.src(decoded.direction), decoded.key.dst(decoded.direction))
}

/// Both paths agree wherever the fast one answers, and ranges are within the frame. Says whether it did.
fn check(linktype: LinkType, frame: &[u8]) -> bool {
    let mut read = [Decoded::NONE; 2];
    let slow = slow(linktype, frame, &mut read[0]).map(|()| read[0]);
    if let Ok(decoded) = slow {
        let (ip, payload) = (decoded.ip(), decoded.payload());
        assert!(ip.start <= decoded.transport() && decoded.transport() <= payload.start);
        assert!(
            payload.start <= payload.end && payload.end <= ip.end && ip.end <= frame.len(),
            "{decoded:?}"
        );
        let _ = decoded.quoted(frame);
    }
    if let Ok(decoded) = decode(linktype, frame)
        && decoded.is_plain(linktype, frame)
    {
        let (src, dst) = ends(&decoded);
        let IpAddr::V4(first) = src.ip() else { panic!("{decoded:?}") };
        let IpAddr::V4(second) = dst.ip() else { panic!("{decoded:?}") };
        let header =
            [&first.octets()[..], &second.octets()[..], &src.port().to_be_bytes(), &dst.port().to_be_bytes()]
                .concat();
        assert_eq!(
            (&frame[12..15], frame[23], &frame[26..38]),
            (&[8, 0, 0x45][..], decoded.protocol(), &header[..])
        );
        assert_eq!((decoded.part, decoded.key.vlans(), decoded.key.vni()), (Part::Whole, [0, 0], 0));
    }
    if linktype != LinkType::EN10MB {
        return false;
    }
    match fast(frame, &mut read[1]) {
        Some(()) => {
            assert_eq!(Ok(read[1]), slow, "{frame:x?}");
            true
        }
        None => false,
    }
}

#[test]
fn both_paths_agree_on_packets_and_damaged_ones() {
    let mut rng = Rng::new(7);
    let mut answers = 0;
    for linktype in linktype::all() {
        let rounds = if linktype == LinkType::EN10MB { 20_000 } else { 100 };
        for _ in 0..rounds {
            let packet = traffic::packet(linktype, &mut rng);
            let damaged = mutate::headers(&packet, &mut rng);
            answers += usize::from(check(linktype, &packet.bytes));
            answers += usize::from(check(linktype, &damaged.bytes));
            check(linktype, &packet.bytes[..rng.below(packet.bytes.len() + 1)]);
        }
    }
    assert!(answers > 5000, "{answers}");
}

#[test]
fn both_paths_agree_on_real_packets() {
    for capture in testkit::corpus::captures() {
        for packet in &capture.packets {
            check(capture.linktype, &packet.bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), linktype in 0..300u32) {
        check(LinkType::new(linktype), &bytes);
        check(LinkType::EN10MB, &bytes);
        // As a whole packet behind a header that the fast path likes.
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, bytes.len() as u8, 0, 0, 0, 0, 64, if linktype & 1 == 0 { 6 } else { 17 }]);
        frame.extend(&bytes);
        check(LinkType::EN10MB, &frame);
    }
}

#[test]
fn transports_have_ports_header_and_payload() {
    let frame = packet(
        "eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=7,ack=9,flags=S,options=03030701) / 'hello' / pad(9)",
    );
    // The frame is padded, the datagram is not.
    let mut padded =
        packet("eth / ip4(10.0.0.2,10.0.0.1) / tcp(4000,80,seq=7,ack=9,flags=S,options=03030701) / 'hello'");
    padded.extend([0; 9]);
    let tcp = decode(LinkType::EN10MB, &padded).unwrap();
    assert_eq!(ends(&tcp), ("10.0.0.2:4000".parse().unwrap(), "10.0.0.1:80".parse().unwrap()));
    assert_eq!((tcp.protocol(), tcp.direction, tcp.transport()), (6, Direction::Down, 34));
    assert_eq!((padded[tcp.payload()].to_vec(), tcp.ip(), tcp.is_cut), (b"hello".to_vec(), 14..63, false));
    assert_eq!(tcp.tcp, Segment { seq: 7, ack: 9, window: 0xffff, flags: 2, scale: Some(7) });
    assert!(tcp.is_tcp() && is_syn(tcp.tcp.flags));
    // Of a packet that was not captured whole, what is there counts.
    let cut = decode(LinkType::EN10MB, &frame[..60]).unwrap();
    assert_eq!((cut.key, cut.is_cut, cut.payload()), (tcp.key, true, 58..60));

    let lines = [
        ("eth / ip6(2001:db8::1,2001:db8::2) / udp(53,5353) / 'abc'", 17, 53, 5353, 62),
        ("eth / ip4 / sctp(1,2) / 'abc'", 132, 1, 2, 46),
        ("eth / ip4(proto=136) / udp(3,4) / 'abc'", 136, 3, 4, 42),
        ("eth / ip4(proto=89) / 'abc'", 89, 0, 0, 34),
        ("eth / ip6 / hopopt / dest / udp(9,8) / 'abc'", 17, 9, 8, 78),
        ("eth / ip6 / ah / udp(9,8) / 'abc'", 17, 9, 8, 86),
        ("eth / ip4 / ah / udp(9,8) / 'abc'", 17, 9, 8, 66),
        ("eth / ip4(options=01 01 01 00) / udp(9,8) / 'abc'", 17, 9, 8, 46),
    ];
    for (line, number, src, dst, payload) in lines {
        let decoded = decoded(line);
        let (from, to) = ends(&decoded);
        assert_eq!((decoded.protocol(), from.port(), to.port()), (number, src, dst), "{line}");
        assert_eq!(decoded.payload(), payload..payload + 3, "{line}");
    }
}

#[test]
fn tags_and_tunnels_are_taken_off() {
    let inner = "ip6(2001:db8::7,2001:db8::8) / udp(9,8) / 'abc'";
    let inner4 = "ip4(10.1.0.7,10.1.0.8) / udp(9,8) / 'abc'";
    // Over GTP-U: version 1, a packet of user data, its length, the endpoint.
    let cases: [(String, [u16; 2], u32); 16] = [
        (format!("eth / vlan(5) / {inner}"), [5, 0], 0),
        (format!("eth / qinq(5) / vlan(6) / {inner4}"), [5, 6], 0),
        (format!("eth / vlan(0) / vlan(6) / {inner}"), [6, 0], 0),
        (format!("eth / vlan(5) / vlan(6) / vlan(7) / {inner}"), [5, 6], 0),
        (format!("eth / mpls(5) / mpls(6) / {inner}"), [0, 0], 0),
        (format!("eth / pppoes(5) / ppp / {inner4}"), [0, 0], 0),
        (format!("eth / vlan(3) / ip4 / gre / {inner4}"), [3, 0], 0),
        (format!("eth / ip4 / gre / eth / vlan(9) / {inner}"), [9, 0], 0),
        (format!("eth / ip4 / {inner4}"), [0, 0], 0),
        (format!("eth / ip4 / {inner}"), [0, 0], 0),
        (format!("eth / ip6 / {inner4}"), [0, 0], 0),
        (format!("eth / ip4 / udp(1,4789) / vxlan(77) / eth / {inner}"), [0, 0], 77),
        (format!("eth / ip4 / udp(1,4789) / vxlan(77) / eth / vlan(4) / {inner}"), [4, 0], 77),
        (format!("eth / ip4 / udp(1,6081) / geneve(78) / eth / {inner4}"), [0, 0], 78),
        (format!("eth / ip4 / udp(1,2152) / hex(30ff001f00000003) / {inner4}"), [0, 0], 0),
        (format!("eth / ip4 / gre / ip4 / ip4 / {inner4}"), [0, 0], 0),
    ];
    for (line, vlans, vni) in cases {
        let frame = packet(&line);
        let decoded = decoded(&line);
        check(LinkType::EN10MB, &frame);
        let (src, dst) = ends(&decoded);
        assert_eq!(
            (src.port(), dst.port(), decoded.key.vlans(), decoded.key.vni()),
            (9, 8, vlans, vni),
            "{line}"
        );
        assert!(dst.ip().to_string().ends_with('8'), "{line}");
        assert_eq!(&frame[decoded.payload()], b"abc", "{line}");
    }
    // The two directions of a flow in GTP-U have endpoints of their own.
    let gtpu = |endpoint: u8, inner: &str| {
        decoded(&format!("eth / ip4 / udp(1,2152) / hex(30ff001f000000{endpoint:02x}) / {inner}")).key
    };
    assert_eq!(gtpu(3, inner4), gtpu(4, "ip4(10.1.0.8,10.1.0.7) / udp(8,9) / 'abc'"));
}

#[test]
fn tunnels_have_a_number_that_is_the_same_both_ways() {
    let inner = "ip4(10.1.0.7,10.1.0.8) / udp(9,8) / 'abc'";
    let tunnels = [
        "ip4(A) / ",
        "ip4(A) / gre / ",
        "ip4(A) / gre / eth / vlan(9) / ip4(192.0.2.8,192.0.2.9) / ",
        "ip4(A) / udp(1,4789) / vxlan(0) / eth / ",
        "ip4(A) / udp(1,6081) / geneve(0) / eth / ",
        "ip4(A) / udp(1,2152) / hex(30ff001f00000003) / ",
    ];
    let outer =
        |tunnel: &str, ends: &str| decoded(&format!("eth / {}{inner}", tunnel.replace('A', ends))).outer;
    let mut seen = Vec::new();
    for tunnel in tunnels {
        let there = outer(tunnel, "192.0.2.1,192.0.2.2");
        assert_eq!(there, outer(tunnel, "192.0.2.2,192.0.2.1"), "{tunnel}");
        seen.extend([there, outer(tunnel, "192.0.2.1,192.0.2.3")]);
    }
    seen.push(0);
    for (at, number) in seen.iter().enumerate() {
        assert!(!seen[..at].contains(number), "{seen:?}");
    }
    for line in [inner, "vlan(5) / ip4 / udp(9,8) / 'abc'", "mpls(5) / ip4 / udp(9,8) / 'abc'"] {
        assert_eq!(decoded(&format!("eth / {line}")).outer, 0, "{line}");
    }
    for line in ["ip4 / udp(1,4789) / vxlan(77) / eth / arp", "ip4 / gre / hex(4500)"] {
        assert_eq!(decoded(&format!("eth / {line}")).outer, 0, "{line}: nothing is read in it");
    }
}

#[test]
fn a_tunnel_that_cannot_be_read_is_the_datagram_around_it() {
    for (line, protocol, dst) in [
        ("eth / ip4 / udp(1,4789) / vxlan(77) / eth / arp", 17, 4789),
        ("eth / ip4 / udp(1,4789) / 'short'", 17, 4789),
        ("eth / ip4 / udp(1,4789) / vxlan(77) / eth / hex(45)", 17, 4789),
        ("eth / ip4 / gre / hex(4500)", 47, 0),
        ("eth / ip4(proto=4) / hex(4500)", 4, 0),
    ] {
        let decoded = decoded(line);
        assert_eq!((decoded.protocol(), ends(&decoded).1.port()), (protocol, dst), "{line}");
    }
}

#[test]
fn messages_of_icmp_are_flows_and_quote_flows() {
    let ping = decoded("eth / ip4(10.0.0.1,10.0.0.2) / icmp(8,rest=0x12340001)");
    let pong = decoded("eth / ip4(10.0.0.2,10.0.0.1) / icmp(0,rest=0x12340001)");
    let other = decoded("eth / ip4(10.0.0.1,10.0.0.2) / icmp(8,rest=0x12350001)");
    assert_eq!((ping.key, ping.direction), (pong.key, pong.direction.reverse()));
    assert_ne!(ping.key, other.key);
    assert_eq!(ends(&ping).0.port(), 0x1234);
    let ping = decoded("eth / ip6 / icmp6(128,rest=0x12340001)");
    let pong = decoded("eth / ip6(2001:db8::2,2001:db8::1) / icmp6(129,rest=0x12340001)");
    assert_eq!(ping.key, pong.key);

    let line = "ip4(10.0.0.1,10.0.0.2) / udp(9,53) / 'query'";
    let query = decoded(&format!("eth / vlan(7) / {line}"));
    let frame = packet(&format!("eth / vlan(7) / ip4(10.0.0.3,10.0.0.1) / icmp(3,1,rest=0) / {line}"));
    // As routers may do, only eight bytes of what it carries are quoted.
    for len in [frame.len(), 18 + 20 + 8 + 20 + 8] {
        let error = decode(LinkType::EN10MB, &frame[..len]).unwrap();
        assert_eq!(error.quoted(&frame[..len]), Some((query.key, query.direction)));
    }
    let short = &frame[..18 + 20 + 8 + 20 + 3];
    assert_eq!(decode(LinkType::EN10MB, short).unwrap().quoted(short), None);
    let frame = packet("eth / ip6 / icmp6(1,rest=0) / ip6 / icmp6(128,rest=0x12340001)");
    assert_eq!(decode(LinkType::EN10MB, &frame).unwrap().quoted(&frame).unwrap().0, ping.key);
    let frame = packet(&format!("eth / ip4 / icmp(8,rest=0) / {line}"));
    assert_eq!(decode(LinkType::EN10MB, &frame).unwrap().quoted(&frame), None, "an echo quotes nothing");
}

#[test]
fn what_belongs_to_no_flow_says_why() {
    let deep = format!("eth / {} ip4 / udp", "ip4 / ".repeat(5));
    let cases = [
        ("eth / arp", NoFlow::Arp),
        ("eth / vlan(3) / arp", NoFlow::Arp),
        ("eth(type=0x88cc) / 'lldp'", NoFlow::NotIp),
        ("hex(0102)", NoFlow::Link),
        ("eth(type=0x800) / hex(4500)", NoFlow::Network),
        ("eth(type=0x800) / hex(4f00001c00000000403b0000) / pad(12)", NoFlow::Network),
        ("eth / ip4(len=10) / udp", NoFlow::Network),
        ("eth / ip6 / hopopt / cut(58)", NoFlow::Network),
        ("eth / ip4 / tcp / cut(53)", NoFlow::Transport),
        ("eth / ip4 / tcp(off=4) / 'abc'", NoFlow::Transport),
        ("eth / ip4 / tcp(off=9) / 'abc'", NoFlow::Transport),
        ("eth / ip4 / udp(len=7) / 'abc'", NoFlow::Transport),
        ("eth / ip4 / udp / cut(41)", NoFlow::Transport),
        ("eth / ip4 / icmp / cut(41)", NoFlow::Transport),
        ("eth / ip4(mf=1) / tcp / cut(50)", NoFlow::Transport),
        (&deep, NoFlow::TooDeep),
    ];
    for (line, why) in cases {
        assert_eq!(decode(LinkType::EN10MB, &packet(line)), Err(why), "{line}");
    }
    assert_eq!(decode(LinkType::new(9999), &[0; 60]), Err(NoFlow::Link));
    let mut names: Vec<_> = NoFlow::ALL.iter().map(|why| why.name()).collect();
    names.dedup();
    assert!(names.len() == 8 && NoFlow::ALL.iter().enumerate().all(|(at, &why)| why as usize == at));
}

#[test]
fn packets_of_a_flow_with_other_headers_are_not_plain() {
    let plain = "eth / ip4(src=10.0.0.1, dst=10.0.0.2) / udp(sport=1, dport=2) / pad(20)";
    for (line, expected) in [
        (plain, true),
        ("eth / ip4(src=10.0.0.1, dst=10.0.0.2, ttl=3, tos=8, df=1) / udp(sport=1, dport=2) / pad(20)", true),
        ("eth / ip4(src=10.0.0.1, dst=10.0.0.2, mf=1) / udp(sport=1, dport=2) / pad(20)", false),
        (
            "eth / ip4(src=10.0.0.1, dst=10.0.0.2, options=01 01 01 00) / udp(sport=1, dport=2) / pad(20)",
            false,
        ),
        ("eth / vlan(7) / ip4(src=10.0.0.1, dst=10.0.0.2) / udp(sport=1, dport=2) / pad(20)", false),
        ("eth / ip4 / gre / ip4(src=10.0.0.1, dst=10.0.0.2) / udp(sport=1, dport=2) / pad(20)", false),
        ("eth / ip6 / udp(sport=1, dport=2) / pad(20)", false),
        ("eth / ip4 / icmp(type=8) / pad(20)", false),
    ] {
        assert_eq!(decoded(line).is_plain(LinkType::EN10MB, &packet(line)), expected, "{line}");
    }
    // Behind another link header the same bytes are something else.
    assert!(!decoded(plain).is_plain(LinkType::RAW, &packet(plain)));
}
