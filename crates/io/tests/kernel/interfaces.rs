//! Packets of several devices in one capture.

use crate::{device, end, engine};
use engine::Graph;
use io::{PcapWriter, Tap};
use std::path::Path;
use testkit::files::Scratch;
use testkit::netns::Namespace;
use testkit::rig::Rig;

/// The first byte of each packet, with the number of its interface.
fn packets(path: &Path) -> Vec<(u8, u32)> {
    let mut reader = capture::Reader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        packets.push((packet.data[0], packet.interface));
    }
    packets.sort_unstable();
    packets
}

/// Name (option 2) and resolution of timestamps (option 9) of each interface of a pcapng file in this machine's byte order.
fn interfaces(path: &Path) -> Vec<(String, u8)> {
    let file = std::fs::read(path).unwrap();
    let u32_at = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let u16_at = |at: usize| usize::from(u16::from_ne_bytes([file[at], file[at + 1]]));
    let mut interfaces = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let (kind, len) = (u32_at(at), u32_at(at + 4));
        assert_eq!(u32_at(at + len - 4), len, "both lengths of a block");
        let mut option = at + 16;
        let mut interface = (String::new(), 0);
        while kind == 1 && u16_at(option) != 0 {
            let value = &file[option + 4..][..u16_at(option + 2)];
            match u16_at(option) {
                2 => interface.0 = String::from_utf8(value.to_vec()).unwrap(),
                9 => interface.1 = value[0],
                other => panic!("option {other}"),
            }
            option += 4 + value.len().next_multiple_of(4);
        }
        interfaces.extend((kind == 1).then_some(interface));
        at += len;
    }
    interfaces
}

#[test]
fn each_device_is_an_interface_with_its_name() {
    let Some((_turn, [here])) = Namespace::some("names of devices") else { return };
    let scratch = Scratch::new();
    let out = scratch.path("names.pcapng");
    here.run("ip link add name a type veth peer name long-name");
    ["a", "long-name"].iter().for_each(|name| here.run(&format!("ip link set dev {name} up")));
    let mut graph = Graph::new();
    graph.app("join", apps::Join {}).unwrap();
    graph.app("writer", PcapWriter { path: out.clone(), ..PcapWriter::default() }).unwrap();
    graph.link("join.output -> writer.input").unwrap();
    graph.app("veth", device("long-name")).unwrap();
    for name in ["t0", "t1"] {
        graph.app(name, Tap { name: name.to_owned(), mtu: None }).unwrap();
    }
    for app in ["veth", "t0", "t1"] {
        graph.link(&format!("{app}.output -> join.{app}")).unwrap();
    }
    here.enter(|| {
        let mut engine = engine(&graph);
        engine.breathe();
        for (name, first) in [("a", 0xf9), ("t0", 0xfb), ("t1", 0xfd), ("t0", 0xff)] {
            let mut from = Rig::new(device(name), &["input"], &[]);
            from.send("input", [first; 60]);
            from.breathe();
            std::thread::sleep(std::time::Duration::from_millis(20));
            (0..10).for_each(|_| _ = engine.breathe());
        }
        end(engine);
    });
    assert_eq!(packets(&out), [(0xf9, 0), (0xfb, 1), (0xfd, 2), (0xff, 1)]);
    let names = ["long-name", "t0", "t1"].map(|name| (name.to_owned(), 9));
    assert_eq!(interfaces(&out), names);
}
