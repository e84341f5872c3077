use super::*;

fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next_header, 64];
    packet.extend([0; 32]);
    packet.extend(payload);
    packet
}

#[test]
fn walks_extension_headers() {
    let mut payload = vec![protocol::ROUTING, 0, 0, 0, 0, 0, 0, 0];
    payload.extend([protocol::AH, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    payload.extend([protocol::UDP, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    payload.extend([1, 2, 3]);
    let packet = ipv6(protocol::HOP_BY_HOP, &payload);
    let found = Ipv6::new(&packet).unwrap().transport();
    assert_eq!((found.protocol, found.payload, found.headers_len), (protocol::UDP, &[1, 2, 3][..], 40));
    assert!(!found.is_cut);
}

#[test]
fn fragment_headers_stand_behind_what_routers_read() {
    let place = |next, payload: &[u8]| Ipv6::new(&ipv6(next, payload)).unwrap().fragment_place();
    let at = |off, announced_at| Some(FragmentPlace { off, announced_at, fragment: None });
    let then = |next| [next, 0, 0, 0, 0, 0, 0, 0];
    let pairs = |a, b| [then(a), then(b)].concat();
    assert_eq!(place(protocol::UDP, &[0; 8]), at(40, 6));
    assert_eq!(place(protocol::HOP_BY_HOP, &then(protocol::UDP)), at(48, 40));
    assert_eq!(place(protocol::DESTINATION, &then(protocol::UDP)), at(40, 6), "read at the end only");
    assert_eq!(place(protocol::DESTINATION, &pairs(protocol::ROUTING, protocol::UDP)), at(56, 48));
    assert_eq!(place(protocol::HOP_BY_HOP, &pairs(protocol::DESTINATION, protocol::UDP)), at(48, 40));
    assert_eq!(place(protocol::HOP_BY_HOP, &[protocol::UDP, 9, 0, 0]), None, "cut");

    let fragment = [then(protocol::FRAGMENT), [protocol::TCP, 0, 0, 9, 0, 0, 0, 7]].concat();
    let found = place(protocol::HOP_BY_HOP, &fragment).unwrap();
    assert_eq!((found.off, found.announced_at), (48, 40));
    assert_eq!(found.fragment, Some((protocol::TCP, Fragment { off: 8, has_more: true, id: 7 })));
}

#[test]
fn stops_behind_a_later_fragment() {
    let packet = ipv6(protocol::FRAGMENT, &[protocol::DESTINATION, 0, 0, 9, 0, 0, 0, 7, 0xff]);
    let found = Ipv6::new(&packet).unwrap().transport();
    assert_eq!(found.protocol, protocol::DESTINATION);
    assert_eq!(found.fragment, Some(Fragment { off: 8, has_more: true, id: 7 }));
    assert!(found.is_later_fragment());
    assert_eq!(found.payload, [0xff]);
}

#[test]
fn says_where_the_capture_ends() {
    let packet = ipv6(protocol::HOP_BY_HOP, &[protocol::TCP, 9, 0, 0]);
    let found = Ipv6::new(&packet).unwrap().transport();
    assert!(found.is_cut);
    assert_eq!(found.protocol, protocol::HOP_BY_HOP);
}

#[test]
fn names_each_extension_header() {
    let mut payload = vec![protocol::FRAGMENT, 0, 5, 2, 0, 0, 0, 0];
    payload.extend([protocol::UDP, 0, 0, 1, 0, 0, 0, 9, 0xab]);
    let packet = ipv6(protocol::HOP_BY_HOP, &payload);
    let mut walk = Ipv6::new(&packet).unwrap().extensions();
    let found: Vec<_> = walk.by_ref().map(|found| (found.kind, found.off, found.bytes.len())).collect();
    assert_eq!(found, [(protocol::HOP_BY_HOP, 40, 8), (protocol::FRAGMENT, 48, 8)]);
    assert!(!walk.is_cut());
}

#[test]
fn walks_over_a_bounded_number() {
    for (count, protocol, is_walked) in
        [(16, protocol::TCP, true), (17, protocol::DESTINATION, false), (8000, protocol::DESTINATION, false)]
    {
        let mut payload = [protocol::DESTINATION, 0, 1, 4, 0, 0, 0, 0].repeat(count);
        payload[(count - 1) * 8] = protocol::TCP;
        let mut packet = ipv6(protocol::DESTINATION, &payload);
        packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        let found = Ipv6::new(&packet).unwrap().transport();
        assert_eq!((found.protocol, found.headers_len), (protocol, EXTENSIONS_MAX * 8), "{count}");
        assert_eq!((found.payload.is_empty(), found.is_cut), (is_walked, false), "{count}");
        assert_eq!(Ipv6::new(&packet).unwrap().has_too_many_extensions(), !is_walked, "{count}");
    }
}

#[test]
fn every_truncation_ends_the_walk() {
    let mut payload = vec![protocol::AH, 0, 0, 0, 0, 0, 0, 0];
    payload.extend([protocol::FRAGMENT, 0, 0, 0, 0, 0, 0, 0]);
    payload.extend([protocol::TCP, 0, 0, 0, 0, 0, 0, 0]);
    let packet = ipv6(protocol::ROUTING, &payload);
    for len in 0..=packet.len() {
        let Some(ip) = Ipv6::new(&packet[..len]) else {
            assert!(len < Ipv6::LEN);
            continue;
        };
        let (whole, found) = ((len - Ipv6::LEN) / 8, ip.transport());
        assert_eq!((found.headers_len, found.is_cut), (whole * 8, whole < 3), "{len}");
    }
}

#[test]
fn fragments_that_cannot_be_written() {
    for (off, can_be) in [(0, true), (8, true), (65528, true), (4, false), (65536, false), (u32::MAX, false)]
    {
        let fragment = Fragment { off, has_more: false, id: u32::MAX };
        let bytes = fragment.to_bytes(protocol::TCP);
        assert_eq!(bytes.is_some(), can_be, "{off}");
        assert!(bytes.is_none_or(|bytes| Fragment::parse(&bytes) == Some((protocol::TCP, fragment))));
        assert_eq!(fragment.is_whole(), off == 0);
    }
    assert_eq!(Fragment::parse(&[0; 7]), None);
}

/// A header of a neighbour advertisement, with a traffic class and a flow label.
const HEADER: [u8; 40] = *b"\x6e\x0b\xcd\xef\x00\x20\x3a\xff\
    \xfe\x80\0\0\0\0\0\0\x02\x42\xac\xff\xfe\x11\x00\x02\
    \xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01";

#[test]
fn writes_the_header_it_read() {
    let ip = Ipv6::new(&HEADER).unwrap();
    assert_eq!((ip.traffic_class(), ip.flow_label()), (0xe0, 0xb_cdef));
    assert_eq!(Ipv6Header::from(ip).to_bytes(), HEADER);
    let made = Ipv6Header::carrying(protocol::ICMPV6, 32, ip.src(), ip.dst()).unwrap();
    let made = Ipv6Header { traffic_class: 0xe0, flow_label: 0xfffb_cdef, hop_limit: 255, ..made };
    assert_eq!(made.to_bytes(), HEADER, "bits beyond the label are left out");
    assert_eq!(Ipv6Header::carrying(0, 65536, ip.src(), ip.dst()), None);
}

#[test]
fn setters_write_what_getters_read() {
    let mut packet = [0; 42];
    packet[..8].copy_from_slice(&HEADER[..8]);
    let mut ip = Ipv6Mut::new(&mut packet).unwrap();
    let from = Ipv6Header::from(Ipv6::new(&HEADER).unwrap());
    ip.set_traffic_class(0);
    assert_eq!(ip.view().flow_label(), from.flow_label);
    ip.set_traffic_class(from.traffic_class);
    ip.set_payload_len(from.payload_len);
    ip.set_hop_limit(from.hop_limit);
    ip.set_src(from.src);
    ip.set_dst(from.dst);
    assert_eq!(ip.payload_mut(), [0, 0]);
    for (payload_len, len) in [(0, 2), (1, 1), (2, 2), (3, 2)] {
        ip.set_payload_len(payload_len);
        assert_eq!((ip.view().payload().len(), ip.payload_mut().len()), (len, len), "{payload_len}");
    }
    ip.set_payload_len(from.payload_len);
    assert_eq!(packet[..40], HEADER);
}

#[test]
fn the_last_hop_is_not_taken() {
    for (hop_limit, left) in [(0, None), (1, None), (2, Some(1)), (255, Some(254))] {
        let mut packet = HEADER;
        packet[7] = hop_limit;
        assert_eq!(Ipv6Mut::new(&mut packet).unwrap().decrement_hop_limit(), left);
        assert_eq!(packet[7], left.unwrap_or(hop_limit));
    }
}

#[test]
fn other_bytes_have_no_view() {
    assert!(Ipv6::new(&HEADER[..39]).is_none());
    let mut v4 = [0x45; 40];
    assert!(Ipv6::new(&v4).is_none() && Ipv6Mut::new(&mut v4).is_none());
}

/// A routing header of this type in front of UDP, with two addresses.
fn route(kind: u8, segments_left: u8) -> Vec<u8> {
    let header = [protocol::UDP, 4, kind, segments_left, 1, 0, 0, 0];
    ipv6(protocol::ROUTING, &[&header[..], &[0x21; 16], &[0x22; 16], &[0; 8]].concat())
}

#[test]
fn routing_headers_lead_elsewhere() {
    let at = |byte: u8| Ipv6Addr::from([byte; 16]);
    for (kind, segments_left, last, last_dst) in [
        (0, 2, Some(at(0x22)), Some(at(0x22))),
        (2, 1, Some(at(0x22)), Some(at(0x22))),
        (4, 1, Some(at(0x21)), Some(at(0x21))),
        (4, 0, Some(at(0x21)), None),
        (3, 1, None, None),
    ] {
        let packet = route(kind, segments_left);
        let ip = Ipv6::new(&packet).unwrap();
        assert_eq!(ip.route(), Some(Route { kind, segments_left, last }));
        let dst = last_dst.unwrap_or(ip.dst());
        assert_eq!(ip.last_dst(), dst);
        assert_eq!(ip.addresses(), Addresses::V6 { src: ip.src(), dst });
        // Of a header that was cut, nothing is known.
        let cut = Ipv6::new(&packet[..60]).unwrap();
        assert_eq!((cut.route(), cut.last_dst()), (None, ip.dst()));
    }
    assert_eq!(Route::parse(&[17, 0, 0, 1, 0, 0, 0, 0]).unwrap().last, None);
}

#[test]
fn jumbograms_state_their_length_in_an_option() {
    let jumbo = |options: [u8; 14]| {
        let mut packet = ipv6(protocol::HOP_BY_HOP, &[&[protocol::UDP, 1], &options[..]].concat());
        packet[4..6].fill(0);
        packet
    };
    for (options, expected) in [
        ([0xc2, 4, 0, 1, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0], Some(65_536)),
        // Behind padding of one byte, and of four.
        ([0, 0, 1, 2, 0, 0, 0xc2, 4, 0, 1, 0, 9, 0, 0], Some(65_545)),
        // Too short for one, and not of its length; and none, to the end.
        ([0xc2, 4, 0, 0, 0xff, 0xff, 1, 6, 0, 0, 0, 0, 0, 0], None),
        ([0xc2, 3, 0, 1, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0], None),
        ([1, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], None),
        ([0; 14], None),
    ] {
        let packet = jumbo(options);
        assert_eq!(Ipv6::new(&packet).unwrap().jumbo_len(), expected, "{options:?}");
    }
    let mut packet = jumbo([0xc2, 4, 0, 1, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0]);
    packet[5] = 16;
    assert_eq!(Ipv6::new(&packet).unwrap().jumbo_len(), None, "no jumbogram");
    assert_eq!(Ipv6::new(&ipv6(protocol::UDP, &[])).unwrap().jumbo_len(), None);
}
