//! Interfaces of captures that are read are those of the capture that is written.

use super::*;
use crate::Passes;
use capture::layout::{self, InterfaceOption};
use capture::{ByteOrder, Reader};

/// A capture of a packet from each of these interfaces; the first byte of each is given.
fn pcapng(interfaces: &[(&str, u8)]) -> Vec<u8> {
    let order = ByteOrder::Big;
    let mut file = Vec::new();
    layout::put_section(order, &mut file);
    for (index, (name, first)) in interfaces.iter().enumerate() {
        let options = [InterfaceOption::Name(name)];
        layout::put_interface(order, 1, 0, &options[..usize::from(!name.is_empty())], &mut file);
        layout::put_enhanced(order, index as u32, 1_000_000, 60, &[*first; 60], &mut file);
    }
    file
}

/// The number and the name of the interface of each packet, by its first byte.
fn interfaces(path: &Path) -> Vec<(u8, u32, Option<String>)> {
    let mut reader = Reader::open(path).unwrap();
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    while let Some(batch) = reader.next_batch().unwrap() {
        names.extend(batch.interface_names().map(|name| name.map(String::from)));
        packets.extend(batch.iter().map(|packet| (packet.data[0], packet.interface)));
    }
    packets.sort_unstable();
    packets.into_iter().map(|(first, number)| (first, number, names[number as usize].clone())).collect()
}

#[test]
fn interfaces_of_several_captures_keep_their_names_and_stay_apart() {
    let scratch = Scratch::new();
    let two_sections = [pcapng(&[("wlan0", 5)]), pcapng(&[("eth9", 6), ("wlan0", 7)])].concat();
    let captures = [
        ("a", scratch.file("a.pcapng", &pcapng(&[("eth0", 1), ("eth1", 2)]))),
        ("b", scratch.file("b.pcapng", &pcapng(&[("eth0", 3), ("", 4)]))),
        ("c", scratch.file("c.pcapng", &two_sections)),
        ("d", scratch.file("d.pcap", &pcap(&[(1, 60, vec![8; 60])]))),
    ];
    let out = scratch.path("out.pcapng");
    let mut graph = Graph::new();
    graph.app("join", apps::Join {}).unwrap();
    graph.app("writer", writer(&out)).unwrap();
    graph.link("join.output -> writer.input").unwrap();
    for (name, path) in captures {
        // From its file once, from memory then.
        let class = PcapReader { path, passes: Passes::Times(2), ..PcapReader::default() };
        graph.app(name, class).unwrap();
        graph.link(&format!("{name}.output -> join.{name}")).unwrap();
    }
    drop(ended(&graph));
    let (numbers, names): (Vec<u32>, Vec<_>) =
        interfaces(&out).into_iter().step_by(2).map(|(_, number, name)| (number, name)).unzip();
    let expected =
        [Some("eth0"), Some("eth1"), Some("eth0"), None, Some("wlan0"), Some("eth9"), Some("wlan0"), None];
    assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    let distinct: std::collections::BTreeSet<u32> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), numbers.len(), "{numbers:?}");
    let again: Vec<u32> =
        interfaces(&out).into_iter().skip(1).step_by(2).map(|(_, number, _)| number).collect();
    assert_eq!(again, numbers, "the second pass is of the same interfaces");
}

/// What a capture says of the frame check sequences at the end of its packets stays with them.
#[test]
fn lengths_of_check_sequences_are_kept() {
    let scratch = Scratch::new();
    let fcs_len = |path: &Path| {
        let mut reader = Reader::open(path).unwrap();
        let batch = reader.next_batch().unwrap().unwrap();
        (batch.interface(&batch.packets()[0]).fcs_len, batch.len())
    };
    let with = |link: u8| {
        let mut file = pcap(&[(1, 60, vec![8; 60]), (2, 60, vec![9; 60])]);
        file[23] = link;
        file
    };
    for (link, expected) in [(0x24, Some(4)), (0x04, Some(0)), (0, None)] {
        let from = scratch.file("from.pcap", &with(link));
        for out in ["out.pcap", "out.pcapng"].map(|name| scratch.path(name)) {
            copy(&from, writer(&out));
            assert_eq!(fcs_len(&out), (expected, 2), "{}", out.display());
        }
    }
    // One length in each pcap file; that nothing is said of it is as good as none.
    let [a, b, c] = [("a.pcap", 0x24), ("b.pcap", 0x04), ("c.pcap", 0)]
        .map(|(name, link)| scratch.file(name, &with(link)));
    for (first, second, delivered) in [(&a, &b, 2), (&b, &c, 4), (&c, &a, 2)] {
        let out = scratch.path("joined.pcap");
        let mut graph = Graph::new();
        graph.app("join", apps::Join {}).unwrap();
        graph.app("writer", writer(&out)).unwrap();
        graph.link("join.output -> writer.input").unwrap();
        for (name, path) in [("a", first), ("b", second)] {
            graph.app(name, PcapReader { path: path.clone(), ..PcapReader::default() }).unwrap();
            graph.link(&format!("{name}.output -> join.{name}")).unwrap();
        }
        let report = ended(&graph).report();
        assert_eq!(
            ["delivered", "wrong_fcs_len", "wrong_linktype"].map(|name| count(&report, name)),
            [delivered, 4 - delivered, 0]
        );
    }
}
