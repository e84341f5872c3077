use super::{Proto, Synth, skipped_sizes};
use crate::{Filter, Fragmenter, Reassembler, Sink};
use engine::{Class, Engine, Graph, Settings};
use std::collections::{BTreeMap, BTreeSet};
use testkit::rig::Rig;
use wire::ether::{Ethernet, ethertype};
use wire::ip::{Ipv4, Ipv6};
use wire::transport::{Tcp, Udp};
use wire::vlan::Vlan;

/// The packets of as many breaths.
fn packets(options: Synth, breaths: usize) -> Vec<Vec<u8>> {
    let mut rig = Rig::new(options, &[], &["output"]);
    (0..breaths).for_each(|_| rig.breathe());
    rig.take("output")
}

/// What a packet says of its flow, after a look at its checksums: addresses, ports, payload.
fn read(frame: &[u8], proto: Proto) -> (String, Vec<u8>) {
    let ether = Ethernet::new(frame).unwrap();
    let (kind, payload) = match Vlan::new(ether.payload()).filter(|_| ether.ethertype() == ethertype::VLAN) {
        Some(vlan) => (vlan.ethertype(), vlan.payload()),
        None => (ether.ethertype(), ether.payload()),
    };
    let (src, dst, addresses, segment) = if kind == ethertype::IPV4 {
        let ip = Ipv4::new(payload).unwrap();
        assert!(ip.is_checksum_right() && usize::from(ip.total_len()) == payload.len());
        (ip.src().to_string(), ip.dst().to_string(), ip.addresses(), ip.payload())
    } else {
        let ip = Ipv6::new(payload).unwrap();
        assert_eq!((kind, usize::from(ip.payload_len())), (ethertype::IPV6, payload.len() - Ipv6::LEN));
        (ip.src().to_string(), ip.dst().to_string(), ip.addresses(), ip.payload())
    };
    let (sport, dport, data) = match proto {
        Proto::Udp => {
            let udp = Udp::new(segment).unwrap();
            assert!(udp.is_checksum_right(addresses) && udp.checksum() != 0);
            (udp.src_port(), udp.dst_port(), udp.payload())
        }
        Proto::Tcp => {
            let tcp = Tcp::new(segment).unwrap();
            assert!(tcp.is_checksum_right(addresses));
            (tcp.src_port(), tcp.dst_port(), tcp.payload())
        }
    };
    (format!("{src} {sport} {dst} {dport}"), data.to_vec())
}

#[test]
fn unless_sizes_are_set_headers_fit() {
    let v6 = ["2001:db8::1", "2001:db8::2"];
    let v4 = ["198.18.0.1", "198.19.0.1"];
    for ([src, dst], proto, vlan, len) in [
        (v4, Proto::Udp, None, 60),
        (v4, Proto::Tcp, Some(1), 60),
        (v6, Proto::Udp, None, 62),
        (v6, Proto::Tcp, None, 74),
        (v6, Proto::Tcp, Some(1), 78),
    ] {
        let (src, dst) = (src.to_owned(), dst.to_owned());
        let options = Synth { src, dst, proto, vlan, count: Some(1), ..Synth::default() };
        options.check().unwrap();
        let packets = packets(options, 1);
        assert_eq!(packets.iter().map(Vec::len).collect::<Vec<_>>(), [len]);
    }
}

#[test]
fn every_packet_of_every_kind_is_sound() {
    let cases = [
        ("198.18.0.0/30", "198.19.0.1", "1-3", Proto::Udp, None, vec![42, 60, 1514]),
        ("198.18.0.0/30", "198.19.0.1", "1-3", Proto::Tcp, Some(10), vec![58, 1518, 10_240, 10_241]),
        ("2001:db8::/126", "2001:db8::1", "5", Proto::Udp, None, vec![62, 75, 1514, 65_535]),
        ("2001:db8::/126", "2001:db8::1", "5", Proto::Tcp, Some(4094), vec![78, 90]),
        ("198.18.0.0/30", "198.19.0.1", "1-3", Proto::Udp, None, vec![65_534, 65_535]),
    ];
    for (src, dst, sport, proto, vlan, sizes) in cases {
        for random in [false, true] {
            let (src, dst, sport) = (src.to_owned(), dst.to_owned(), sport.to_owned());
            let count = Some(200);
            let options = Synth {
                sizes: Some(sizes.clone()),
                src,
                dst,
                sport,
                proto,
                vlan,
                random,
                count,
                ..Synth::default()
            };
            let packets = packets(options, 10);
            assert_eq!(packets.len(), 200);
            for packet in &packets {
                read(packet, proto);
                assert!(sizes.contains(&packet.len()));
            }
        }
    }
}

#[test]
fn packets_that_may_be_cut_have_identifications() {
    for dont_fragment in [true, false] {
        let sizes = Some(vec![60, 3000]);
        let options = Synth { sizes, dont_fragment, count: Some(200), ..Synth::default() };
        let packets = packets(options, 10);
        assert_eq!(packets.len(), 200);
        let mut idents = BTreeSet::new();
        for packet in &packets {
            read(packet, Proto::Udp);
            let ip = Ipv4::new(&packet[Ethernet::LEN..]).unwrap();
            assert_eq!(ip.has_dont_fragment(), dont_fragment);
            idents.insert(ip.ident());
        }
        assert_eq!(idents.len(), if dont_fragment { 1 } else { 200 });
    }
}

#[test]
fn packets_that_are_cut_come_together_again() {
    let mut graph = Graph::new();
    let synth = Synth {
        sizes: Some(vec![3000]),
        dont_fragment: false,
        random: true,
        count: Some(500),
        ..Synth::default()
    };
    graph.app("synth", synth).unwrap();
    graph.app("fragmenter", Fragmenter { mtu: 1500 }).unwrap();
    graph.app("reassembler", Reassembler::default()).unwrap();
    graph.app("filter", Filter::new("len = 3000")).unwrap();
    graph.app("sink", Sink {}).unwrap();
    for link in [
        "synth.output -> fragmenter.input",
        "fragmenter.output -> reassembler.input",
        "reassembler.output -> filter.input",
        "filter.output -> sink.input",
    ] {
        graph.link(link).unwrap();
    }
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    (0..100).for_each(|_| _ = engine.breathe());
    let report = engine.report();
    let arrived = report.links.iter().find(|link| link.link.to.app == "sink").map(|link| link.rxpackets);
    assert_eq!((arrived, report.balanced()), (Some(500), true), "{:?}", report.drops);
}

#[test]
fn packets_are_numbered_in_their_flows() {
    for random in [false, true] {
        let src = "198.18.0.0/31".to_owned();
        let options = Synth { src, sport: "10-14".to_owned(), random, count: Some(1000), ..Synth::default() };
        let mut seen: BTreeMap<String, (u32, u64)> = BTreeMap::new();
        for packet in packets(options, 20) {
            let (flow, data) = read(&packet, Proto::Udp);
            let number = u32::from_be_bytes(data[..4].try_into().unwrap());
            let next = u64::from_be_bytes(data[4..12].try_into().unwrap());
            let before = seen.insert(flow, (number, next));
            assert_eq!(before.map_or(0, |(_, last)| last + 1), next);
            assert!(before.is_none_or(|(flow, _)| flow == number));
        }
        assert_eq!(seen.len(), 10);
        let least = seen.values().map(|&(_, last)| last).min().unwrap();
        assert!(least >= if random { 50 } else { 99 }, "{seen:?}");
    }
}

#[test]
fn every_flow_gets_every_size() {
    for flows in 1..=7 {
        for sizes in 1..=6 {
            let sizes: Vec<usize> = (60..60 + sizes).collect();
            let sport = format!("1-{flows}");
            let count = Some((flows * sizes.len()) as u64);
            let options = Synth { sizes: Some(sizes.clone()), sport, count, ..Synth::default() };
            let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for packet in packets(options, 5) {
                seen.entry(read(&packet, Proto::Udp).0).or_default().push(packet.len());
            }
            seen.values_mut().for_each(|lens| lens.sort_unstable());
            assert_eq!(seen.len(), flows);
            assert!(seen.values().all(|lens| *lens == sizes), "{flows} flows: {seen:?}");
        }
    }
    assert_eq!(skipped_sizes(1, 2), 0);
}

#[test]
fn a_rate_is_kept() {
    let mut rig = Rig::new(Synth { rate_pps: Some(1e6), ..Synth::default() }, &[], &["output"]);
    rig.breathe();
    rig.take("output");
    rig.advance(1_000_000);
    // On capture time, each breath goes on to the next packet.
    (0..2000).for_each(|_| rig.breathe());
    assert_eq!(rig.take("output").len(), 1000);
}

#[test]
fn packets_have_the_time_at_which_they_are_sent() {
    let mut rig = Rig::new(Synth::default(), &[], &["output"]);
    for _ in 0..3 {
        rig.advance(1_000_000);
        let now_ns = rig.now_ns();
        let received = rig.received("output");
        assert!(!received.is_empty());
        assert!(received.iter().all(|packet| packet.metadata.timestamp_ns == now_ns));
    }
}

#[test]
fn an_exhausted_pool_is_waited_for() {
    let mut rig = Rig::with(Synth { count: Some(100), ..Synth::default() }, &[], &["output"], 4);
    (0..200).for_each(|_| rig.breathe());
    assert_eq!(rig.take("output").len(), 100);
}

#[test]
fn a_pool_without_room_for_a_packet_of_each_size_is_a_failure() {
    let options = Synth { sizes: Some((60..70).collect()), count: Some(100), ..Synth::default() };
    for packets in [9, 10, 11] {
        let mut rig = Rig::with(options.clone(), &[], &["output"], packets);
        (0..200).for_each(|_| rig.breathe());
        let report = rig.report();
        let text = "a packet of each of 10 sizes is kept: give the pool more than those (`--packets`)";
        let told = (packets <= 10).then_some(text);
        assert_eq!(report.apps[testkit::rig::APP].text.as_deref(), told, "{packets}");
        assert_eq!(rig.take("output").len(), if packets <= 10 { 0 } else { 100 }, "{packets}");
    }
}

#[test]
fn long_packets_come_as_large_ones_are_free() {
    let options = Synth { sizes: Some(vec![60_000, 60, 10_241]), count: Some(90), ..Synth::default() };
    let mut rig = Rig::with_large(options.clone(), &[], &["output"], 64, 1);
    (0..200).for_each(|_| rig.breathe());
    let lens: Vec<usize> = rig.take("output").iter().map(Vec::len).collect();
    assert_eq!(lens, [60_000, 60, 10_241].repeat(30));

    let mut rig = Rig::with_large(options, &[], &["output"], 64, 0);
    (0..5).for_each(|_| rig.breathe());
    let report = rig.report();
    let app = &report.apps[testkit::rig::APP];
    let text = "packets of 60000 bytes take large packets: give the pool some (`--large-packets`)";
    assert_eq!((app.has_failed, app.text.as_deref()), (true, Some(text)));
    assert!(rig.take("output").is_empty());
}

#[test]
fn options_are_checked() {
    let error = |options: Synth| options.check().unwrap_err().to_string();
    let default = Synth::default;
    assert_eq!(
        error(Synth { sizes: Some(vec![60, 41]), ..default() }),
        "`sizes[1]`: 41 is not between 42 and 65535"
    );
    assert_eq!(
        error(Synth { sizes: Some(vec![65_536]), ..default() }),
        "`sizes[0]`: 65536 is not between 42 and 65535"
    );
    assert_eq!(
        error(Synth { sizes: Some(vec![60; 1025]), ..default() }),
        "`sizes`: 1025 sizes; 1024 at most"
    );
    assert_eq!(error(Synth { sizes: Some(vec![]), ..default() }), "`sizes`: is empty: which sizes?");
    assert_eq!(error(Synth { flows: Some(0), ..default() }), "`flows`: 0 is not between 1 and 1048576");
    let many = |src: &str| Synth { flows: Some(1000), src: src.to_owned(), ..default() };
    assert!(
        error(many("198.18.0.0/24"))
            .starts_with("`flows`: 1000 flows, but addresses and ports make 256: write")
    );
    assert!(many("198.18.0.0/22").check().is_ok());
    assert_eq!(error(Synth { vlan: Some(4095), ..default() }), "`vlan`: 4095 is not between 0 and 4094");
    for ports in ["", "9-1", "65536", "1-2-3", "http"] {
        let message = error(Synth { sport: ports.to_owned(), ..default() });
        assert!(message.starts_with("`sport`: ") && message.contains("write 1024 or 1024-2047"), "{message}");
    }
    let mixed = error(Synth { dst: "2001:db8::1".to_owned(), ..default() });
    assert_eq!(mixed, "`dst`: 2001:db8::1 and the source 198.18.0.1 are not of one IP version");
    assert!(error(Synth { src: "10.0.0.1/8".to_owned(), ..default() }).starts_with("`src`: "));
    assert!(error(Synth { src_mac: "02:".to_owned(), ..default() }).starts_with("`src_mac`: "));
    let group = error(Synth { src_mac: "ff:ff:ff:ff:ff:ff".to_owned(), ..default() });
    assert_eq!(group, "`src_mac`: ff:ff:ff:ff:ff:ff is the address of a group, not of one host");
}
