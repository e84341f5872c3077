//! Devices without an Ethernet header: TUN devices, which can be told of which type they are.

use super::{AfPacket, Framing};
use crate::tap::tun::open_tun;
use engine::{Engine, Graph, Metadata, Settings};
use std::fs::File;
use std::io::{Read, Write};
use std::time::Instant;
use testkit::netns::{Namespace, PATIENCE};
use testkit::packet::Packet;
use testkit::rig::{Received, Rig};

const ETHERNET: u16 = 1;
const RAW: u16 = 101;

fn device(name: &str) -> AfPacket {
    AfPacket { device: name.to_owned(), ..AfPacket::default() }
}

/// An IP packet.
fn bare(line: &str) -> Vec<u8> {
    Packet::parse(&format!("eth / {line}")).unwrap().bytes[14..].to_vec()
}

/// The next packet that the kernel sends through a TUN device.
fn read(mut tun: &File) -> Vec<u8> {
    let mut packet = vec![0; 70_000];
    let begin = Instant::now();
    loop {
        match tun.read(&mut packet) {
            Ok(len) => {
                packet.truncate(len);
                return packet;
            }
            Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
        }
    }
}

fn receive(rig: &mut Rig) -> Received {
    let begin = Instant::now();
    loop {
        rig.breathe();
        if let Some(received) = rig.received("output").pop() {
            return received;
        }
        assert!(begin.elapsed() < PATIENCE);
    }
}

#[test]
fn packets_of_devices_without_a_header_are_ip_packets() {
    let Some((_turn, [here])) = Namespace::some("TUN devices") else { return };
    let [v4, v6] = ["ip4 / udp(dport=53) / 'abc'", "ip6 / tcp(dport=80)"].map(bare);
    // TUN itself, PPP, SIT.
    for (number, hardware) in [0xfffe, 512, 776].into_iter().enumerate() {
        here.enter(|| {
            let name = format!("n{number}");
            let tun = open_tun(&name, hardware).unwrap();
            let mut rig = Rig::new(device(&name), &["input"], &["output"]);
            rig.breathe();
            for packet in [&v4, &v6] {
                (&tun).write_all(packet).unwrap();
                let received = receive(&mut rig);
                assert_eq!((&received.data, received.metadata.linktype), (packet, RAW));
                rig.send_with("input", packet, Metadata { linktype: RAW, ..Metadata::default() });
                rig.breathe();
                assert_eq!(read(&tun), *packet);
            }
            // What is not for such a device, between others.
            for linktype in [RAW, ETHERNET, 113, 228] {
                rig.send_with("input", &v4, Metadata { linktype, ..Metadata::default() });
            }
            rig.breathe();
            assert_eq!(["delivered", "wrong_linktype"].map(|name| rig.counter(name)), [4, 2]);
        });
    }
}

#[test]
fn long_tcp_segments_are_cut_for_a_device_without_a_header() {
    let Some((_turn, [here])) = Namespace::some("TSO of a TUN device") else { return };
    here.enter(|| {
        let tun = open_tun("n0", 0xfffe).unwrap();
        let mut rig = Rig::new(device("n0"), &["input"], &["output"]);
        let long = bare(&format!("ip4 / tcp(dport=80) / '{}'", "x".repeat(2920)));
        rig.send_with("input", &long, Metadata { linktype: RAW, ..Metadata::default() });
        rig.breathe();
        assert_eq!(rig.counter("delivered"), 1);
        let segments = [read(&tun), read(&tun)];
        assert_eq!(segments.map(|segment| segment.len()), [1500, 1500]);
    });
}

#[test]
fn devices_of_other_types_are_refused() {
    let Some((_turn, [here])) = Namespace::some("devices of other types") else { return };
    here.enter(|| {
        for (name, hardware, told) in [
            ("n0", 803, "n0 is of type 803 (IEEE 802.11 with a radio header), which is not supported"),
            ("n1", 9999, "n1 is of type 9999 (unknown), which is not supported"),
        ] {
            let _tun = open_tun(name, hardware).unwrap();
            let mut graph = Graph::new();
            graph.app("device", device(name)).unwrap();
            let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
            let error = engine.configure(&graph).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    });
}

#[test]
fn a_gre_device_without_another_end_has_outer_headers() {
    for hardware in [778, 823] {
        assert_eq!(Framing::of(hardware, true), Some(Framing::Bare));
        assert_eq!(Framing::of(hardware, false), None);
    }
}
