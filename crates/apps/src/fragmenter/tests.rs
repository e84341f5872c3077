//! Packets of all sizes, cut.

use super::Fragmenter;
use crate::testing::frame;
use engine::{Class, MAX_PAYLOAD, Metadata};
use testkit::rig::Rig;
use wire::ether::Ethernet;
use wire::ip::{Ipv4, Ipv6};

fn cut(mtu: usize, packet: &[u8]) -> Vec<Vec<u8>> {
    Rig::new(Fragmenter { mtu }, &["input"], &["output"]).pass(&[packet])
}

/// The payload of a line's packet: bytes that differ.
fn hex(len: usize) -> String {
    format!("hex({})", (0..len).map(|i| format!("{:02x}", (i * 7) & 0xff)).collect::<String>())
}

#[test]
fn an_ipv4_packet_becomes_packets_that_fit() {
    let packet = frame(&format!("eth / ip4(id=77, ttl=9, tos=0x28, proto=17) / {}", hex(100)));
    // 60 bytes leave room for 40 of payload.
    let out = cut(68, &packet);
    let fragment = |frag, mf, from: usize, to: usize| {
        let payload: String = (from..to).map(|i| format!("{:02x}", (i * 7) & 0xff)).collect();
        frame(&format!("eth / ip4(id=77, ttl=9, tos=0x28, proto=17, frag={frag}, mf={mf}) / hex({payload})"))
    };
    assert_eq!(out, [fragment(0, 1, 0, 48), fragment(6, 1, 48, 96), fragment(12, 0, 96, 100)]);
    assert!(out.iter().all(|packet| Ipv4::new(&packet[14..]).unwrap().is_checksum_right()));
}

#[test]
fn an_ipv6_packet_gets_fragment_headers() {
    let packet = frame(&format!("eth / ip6(hops=9, flow=5, next=17) / {}", hex(100)));
    let out = cut(40 + 8 + 48, &packet);
    assert_eq!(out.len(), 3);
    let id = out[0][58..62].to_vec();
    for (packet, (off, has_more, len)) in out.iter().zip([(0_u16, 1, 48), (48, 1, 48), (96, 0, 4)]) {
        let [high, low] = (off | has_more).to_be_bytes();
        let header = [&[17, 0, high, low][..], &id].concat();
        assert_eq!(packet[54..62], header);
        assert_eq!(packet[62..], frame(&hex(100))[usize::from(off)..][..len]);
        let ip = Ipv6::new(&packet[14..]).unwrap();
        assert_eq!((ip.next_header(), usize::from(ip.payload_len()), ip.hop_limit()), (44, 8 + len, 9));
    }
    let next = cut(96, &packet)[0][58..62].to_vec();
    assert!(next != id, "another start each time");
}

/// RFC 7112, 5.
#[test]
fn the_first_fragment_of_ipv6_has_all_headers() {
    for (line, mtu, is_cut) in [
        ("eth / ip6 / hopopt / dest / udp / pad(99)", 68, false),
        ("eth / ip6 / hopopt / dest / udp / pad(99)", 40 + 8 + 8 + 8 + 8, true),
        ("eth / ip6 / tcp / pad(99)", 68, false),
        ("eth / ip6 / tcp / pad(99)", 40 + 8 + 24, true),
        ("eth / ip6(next=58) / pad(99)", 68, true),
        ("eth / ip4 / tcp / pad(99)", 68, true),
    ] {
        let mut rig = Rig::new(Fragmenter { mtu }, &["input"], &["output"]);
        rig.send("input", frame(line));
        rig.breathe();
        assert_eq!(rig.take("output").len() > 1, is_cut, "{line}");
        assert_eq!(rig.counter("headers"), u64::from(!is_cut), "{line}");
    }
}

#[test]
fn fragments_lack_nothing_that_stood_behind_their_packet() {
    for line in ["eth / ip4 / pad(100)", "eth / ip6 / pad(100)"] {
        let mut rig = Rig::new(Fragmenter { mtu: 96 }, &["input"], &["output"]);
        // The frame check sequence, say, was not captured, and nor was padding.
        let metadata = Metadata { cut_len: 7, timestamp_ns: 5, ..Metadata::default() };
        rig.send_with("input", frame(line), metadata);
        rig.breathe();
        let out = rig.received("output");
        let described = Metadata { cut_len: 0, ..metadata };
        assert!(out.len() > 1 && out.iter().all(|packet| packet.metadata == described), "{line}");
    }
}

#[test]
fn what_fits_and_what_is_no_ip_passes() {
    for line in [
        "eth / ip4 / pad(80)",
        "eth / ip6 / pad(60)",
        "eth / vlan(3) / vlan(4) / ip4 / pad(80)",
        "eth / ip4 / pad(60) / pad(0)",
        "eth / ip4(sum=1) / pad(80)",
        "eth(type=0x88b5) / pad(900)",
        "eth / arp / pad(900)",
        "eth / vlan(1) / vlan(2) / vlan(3) / ip4 / pad(900)",
        "hex()",
        "eth / cut(13)",
    ] {
        assert_eq!(cut(100, &frame(line)), [frame(line)], "{line}");
    }
    // Bytes behind the packet do not make it longer.
    let mut padded = frame("eth / ip4 / pad(80)");
    padded.extend([0; 50]);
    assert_eq!(cut(100, &padded), [padded.clone()]);
}

#[test]
fn tags_are_kept_and_trailers_are_not() {
    let mut packet = frame(&format!("eth(type=0x88a8) / vlan(3) / vlan(4) / ip4(proto=17) / {}", hex(90)));
    packet.extend([0xee; 7]);
    let out = cut(100, &packet);
    assert_eq!(out.iter().map(Vec::len).collect::<Vec<_>>(), [22 + 20 + 80, 22 + 20 + 10]);
    assert!(out.iter().all(|fragment| fragment[..22] == packet[..22]));
    assert_eq!(out[1][42..], packet[42 + 80..][..10]);
}

#[test]
fn options_go_where_they_belong() {
    // A loose source route, which is copied, and a record of the route, which is not.
    let line = format!(
        "eth / ip4(proto=17, options=83 07 04 0a 00 00 01 07 07 04 00 00 00 00 00 00) / {}",
        hex(200)
    );
    let out = cut(100, &frame(&line));
    let header_lens: Vec<usize> =
        out.iter().map(|packet| Ipv4::new(&packet[14..]).unwrap().header_len()).collect();
    assert_eq!(header_lens, [36, 28, 28, 28]);
    assert_eq!(out[1][34..42], [0x83, 7, 4, 10, 0, 0, 1, 0]);
    assert!(out.iter().all(|packet| Ipv4::new(&packet[14..]).unwrap().is_checksum_right()));
    let payload: Vec<u8> =
        out.iter().flat_map(|packet| Ipv4::new(&packet[14..]).unwrap().payload().to_vec()).collect();
    assert_eq!(payload, frame(&hex(200)));
}

#[test]
fn fragments_are_cut_again() {
    let fragment = frame(&format!("eth / ip4(proto=17, frag=100, mf=1) / {}", hex(160)));
    let places: Vec<_> = cut(100, &fragment)
        .iter()
        .map(|packet| {
            let ip = Ipv4::new(&packet[14..]).unwrap();
            (ip.fragment_off(), ip.has_more_fragments(), ip.payload().len())
        })
        .collect();
    assert_eq!(places, [(800, true, 80), (880, true, 80)]);

    let fragment = frame(&format!("eth / ip6 / frag(offset=100, more=1, id=9, next=17) / {}", hex(160)));
    let places: Vec<_> = cut(128, &fragment)
        .iter()
        .map(|packet| Ipv6::new(&packet[14..]).unwrap().transport())
        .map(|transport| (transport.fragment.unwrap(), transport.payload.len()))
        .map(|(fragment, len)| (fragment.off, fragment.has_more, fragment.id, len))
        .collect();
    assert_eq!(places, [(800, true, 9, 80), (880, true, 9, 80)]);
}

#[test]
fn headers_for_routers_are_in_every_fragment() {
    let packet = frame(&format!("eth / ip6 / hopopt / dest / udp / {}", hex(200)));
    let headers_len = Ipv6::new(&packet[14..]).unwrap().fragment_place().unwrap().off;
    let out = cut(headers_len + 8 + 80, &packet);
    assert!(out.len() > 2);
    for fragment in &out {
        let place = Ipv6::new(&fragment[14..]).unwrap().fragment_place().unwrap();
        assert_eq!((place.off, place.fragment.unwrap().0), (headers_len, 60));
    }
}

#[test]
fn obstacles_are_counted() {
    for (line, reason) in [
        ("eth / ip4(df=1) / pad(81)", "dont_fragment"),
        ("eth / ip4(sum=1) / pad(200)", "malformed"),
        ("eth / ip4(len=0) / pad(200)", "malformed"),
        ("eth / ip4(len=19) / pad(200)", "malformed"),
        ("eth / ip4(len=250) / pad(200)", "malformed"),
        ("eth / ip4(frag=8191) / pad(200)", "malformed"),
        ("eth / ip4(mf=1) / pad(201)", "malformed"),
        ("eth / ip4(ihl=4) / pad(200)", "malformed"),
        ("eth(type=0x800) / ip6 / pad(200)", "malformed"),
        ("eth / ip6(len=0) / pad(200)", "malformed"),
        ("eth / ip6(len=300) / pad(200)", "malformed"),
        ("eth / ip6(next=0) / hex(11 ff 00 00 00 00 00 00) / pad(200)", "malformed"),
        ("eth / ip6(next=0) / hex(11 07 00 00 00 00 00 00) / pad(200)", "headers"),
    ] {
        let mut rig = Rig::new(Fragmenter { mtu: 100 }, &["input"], &["output"]);
        assert!(rig.pass(&[&frame(line)]).is_empty(), "{line}");
        assert_eq!(rig.counter(reason), 1, "{line}");
    }
}

#[test]
fn all_sizes_fit() {
    for mtu in [68, 69, 75, 76, 100, 576, 1280, 1500, 9000, MAX_PAYLOAD - Ethernet::LEN] {
        let mut rig = Rig::new(Fragmenter { mtu }, &["input"], &["output"]);
        for len in [0, 1, 47, 48, 49, 1472, 5000, MAX_PAYLOAD - 70] {
            for header in ["ip4(proto=17)", "ip6(next=17)"] {
                let packet = frame(&format!("eth / {header} / {}", hex(len)));
                let out = rig.pass(&[&packet]);
                assert!(out.iter().all(|fragment| fragment.len() - 14 <= mtu), "{mtu} {len} {header}");
                assert!(out.len() == 1 || packet.len() - 14 > mtu);
            }
        }
    }
}

#[test]
fn long_packets_are_cut() {
    let bytes: Vec<u8> = (0..65_000).map(|at| (at / 7) as u8).collect();
    for mtu in [576, 1500, 9000, 10_226, 10_240, 20_000, 40_000, 65_010] {
        let mut rig = Rig::new(Fragmenter { mtu }, &["input"], &["output"]);
        for header in [
            "ip4(proto=17, len=65020)",
            "vlan(1) / vlan(2) / ip4(proto=17, len=65020)",
            "ip6(next=17, len=65000)",
        ] {
            let mut packet = frame(&format!("eth / {header}"));
            packet.extend(&bytes);
            let link_len = if header.starts_with("vlan") { 22 } else { 14 };
            let out = rig.pass(&[&packet]);
            let longest = out.iter().map(|fragment| fragment.len() - link_len).max().unwrap();
            assert!(out.len() > 1 && (mtu - 7..=mtu).contains(&longest), "{mtu} {header}: {longest}");
            let mut whole: Vec<u8> = Vec::new();
            for fragment in &out {
                let network = &fragment[link_len..];
                let headers_len = if header.starts_with("ip6") { 48 } else { 20 };
                whole.extend(&network[headers_len..]);
            }
            assert!(whole == bytes, "{mtu} {header}");
        }
    }
}

#[test]
fn large_packets_that_run_out_are_counted() {
    let mut rig = Rig::with_large(Fragmenter { mtu: 20_000 }, &["input"], &["output"], 64, 2);
    let mut packet = frame("eth / ip4(proto=17, len=60020)");
    packet.extend([7; 60_000]);
    assert!(rig.pass(&[&packet]).is_empty());
    assert_eq!(rig.counter("no_packet"), 2, "the packet, and its second fragment");
}

#[test]
fn an_exhausted_pool_is_counted() {
    let mut rig = Rig::with(Fragmenter { mtu: 68 }, &["input"], &["output"], 4);
    assert!(rig.pass(&[&frame("eth / ip4(proto=17) / pad(480)")]).is_empty());
    assert_eq!(rig.counter("no_packet"), 4);
    assert_eq!(rig.pass(&[&frame("eth / ip4(proto=17) / pad(96)")]).len(), 2);
}

#[test]
fn a_breath_has_more_fragments_than_a_link() {
    let mut rig = Rig::new(Fragmenter { mtu: 68 }, &["input"], &["output"]);
    (0..30).for_each(|_| rig.send("input", frame("eth / ip4(proto=17) / pad(2400)")));
    rig.breathe();
    assert_eq!((rig.take("output").len(), rig.report().drops.len()), (30 * 50, 0));
}

/// In parts, the first and the last fragment are made otherwise than where there is room for all.
#[test]
fn a_packet_cut_in_parts_is_cut_alike() {
    for (headers, id) in [("ip4(proto=17, id=5, len=60020)", 0..0), ("ip6(next=17, len=60000)", 58..62)] {
        let mut packet = frame(&format!("eth / {headers}"));
        packet.extend((0..60_000_u32).map(|byte| (byte % 251) as u8));
        let fragments = |before: usize| {
            let mut rig = Rig::new(Fragmenter { mtu: 1000 }, &["input"], &["output"]);
            // What comes before leaves less room than the packet needs.
            (0..before).for_each(|_| rig.send("input", frame("eth / arp")));
            rig.send("input", &packet);
            rig.breathe();
            assert_eq!(rig.report().drops.len(), 0);
            let mut fragments = rig.take("output").split_off(before);
            // Identifications of IPv6 begin anywhere.
            fragments.iter_mut().for_each(|fragment| fragment[id.clone()].fill(0));
            fragments
        };
        let together = fragments(0);
        assert!(together.len() > 60, "{headers}: {}", together.len());
        assert_eq!(together, fragments(1000), "{headers}");
    }
}

#[test]
fn options_are_checked() {
    let error = Fragmenter { mtu: 67 }.check().unwrap_err();
    assert_eq!(error.to_string(), "`mtu`: 67 is not between 68 and 65521");
}
