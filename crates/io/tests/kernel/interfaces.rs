//! Devices with numbers of more than 16 bits, as they have where devices come and go for long.

use crate::{device, end, engine};
use engine::Graph;
use io::{PcapReader, PcapWriter};
use std::path::Path;
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

#[test]
fn devices_with_large_numbers_are_interfaces_of_their_own() {
    let Some((_turn, [here])) = Namespace::some("numbers of devices") else { return };
    let [out, copy] = ["out", "copy"]
        .map(|name| std::env::temp_dir().join(format!("sluss-io-{name}-{}.pcapng", std::process::id())));
    // The same in the lower 16 bits.
    for (name, peer, number) in [("a", "b", 4464), ("c", "d", 4464 + (1 << 16))] {
        here.run(&format!("ip link add name {peer} index {number} type veth peer name {name}"));
        here.run(&format!("ip link set dev {name} up"));
        here.run(&format!("ip link set dev {peer} up"));
    }
    let mut graph = Graph::new();
    graph.app("join", apps::Join {}).unwrap();
    graph.app("writer", PcapWriter { path: out.clone(), ..PcapWriter::default() }).unwrap();
    graph.link("join.output -> writer.input").unwrap();
    for name in ["b", "d"] {
        graph.app(name, device(name)).unwrap();
        graph.link(&format!("{name}.output -> join.{name}")).unwrap();
    }
    here.enter(|| {
        let mut engine = engine(&graph);
        engine.breathe();
        for (name, first) in [("a", 0xff), ("c", 0xfd)] {
            let mut from = Rig::new(device(name), &["input"], &[]);
            from.send("input", [first; 60]);
            from.breathe();
        }
        (0..10).for_each(|_| _ = engine.breathe());
        end(engine);
    });
    let written = packets(&out);
    assert!(matches!(written[..], [(0xfd, d), (0xff, b)] if d != b), "{written:?}");

    // And through a capture.
    let mut graph = Graph::new();
    graph.app("reader", PcapReader { path: out.clone(), ..PcapReader::default() }).unwrap();
    graph.app("writer", PcapWriter { path: copy.clone(), ..PcapWriter::default() }).unwrap();
    graph.link("reader.output -> writer.input").unwrap();
    let mut engine = engine(&graph);
    (0..10).for_each(|_| _ = engine.breathe());
    end(engine);
    assert_eq!(packets(&copy), written);
    [out, copy].iter().for_each(|path| _ = std::fs::remove_file(path));
}
