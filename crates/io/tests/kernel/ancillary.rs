//! What the kernel tells programs of classic BPF beside the bytes of a frame: the app `filter` tells them the same.

use crate::{cable, device, end, engine, packets};
use engine::Graph;
use io::live::{self, Instruction, Way};
use io::{AfPacket, PcapWriter};
use std::io::{Cursor, Read};
use std::time::Duration;
use std::time::Instant;
use testkit::files::Scratch;
use testkit::netns::{Namespace, PATIENCE};
use testkit::rig::Rig;

/// Where what is beside the bytes begins: `SKF_AD_OFF`.
const BESIDE: u32 = 0xffff_f000;

type Program = Vec<Instruction>;

/// Lets packets through in which what is loaded has a value, once it was masked.
fn equal(code: u16, at: u32, mask: u32, value: u32) -> Program {
    let insn = |code, jf, k| Instruction { code, jt: 0, jf, k };
    vec![insn(code, 0, at), insn(84, 0, mask), insn(21, 1, value), insn(6, 0, 262_144), insn(6, 0, 0)]
}

/// What is loaded from beside the bytes.
fn beside(what: u32, value: u32) -> Program {
    equal(32, BESIDE + what, u32::MAX, value)
}

fn text(program: &Program) -> String {
    let insns = program.iter().map(|insn| format!(",{} {} {} {}", insn.code, insn.jt, insn.jf, insn.k));
    format!("{}{}", program.len(), insns.collect::<String>())
}

/// Frames to four kinds of stations, of each kind that the kernel treats in its own way, each with its number at its end.
fn frames() -> Vec<Vec<u8>> {
    const TO: [[u8; 6]; 4] = [[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [2, 0, 0, 0, 0, 0x0b], [2, 0, 0, 0, 0, 0x99]];
    let headers: [&[u8]; 8] = [
        &[0x08, 0x00],
        &[0x81, 0x00, 0x00, 10, 0x08, 0x00],
        &[0x81, 0x00, 0xe0, 11, 0x86, 0xdd],
        &[0x81, 0x00, 0x60, 0, 0x00, 46, 0xaa, 0xaa],
        &[0x88, 0xa8, 0x00, 10, 0x81, 0x00, 0x00, 20, 0x08, 0x00],
        &[0x91, 0x00, 0x00, 10, 0x08, 0x00],
        &[0x00, 46, 0xaa, 0xaa],
        &[0x00, 46, 0xff, 0xff],
    ];
    let kinds = TO.iter().flat_map(|to| headers.iter().map(move |header| (to, header)));
    let frame = |(number, (to, header)): (usize, (&[u8; 6], &&[u8]))| {
        let start = [&to[..], &[2, 0, 0, 0, 0, 0x0a], *header, &[0; 60]].concat();
        [&start[..63], &[number as u8]].concat()
    };
    kinds.enumerate().map(frame).collect()
}

/// The numbers of frames, in order.
fn numbers(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut numbers: Vec<u8> = frames.into_iter().filter_map(|frame| frame.last().copied()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn programs_know_beside_the_bytes_what_the_kernel_tells_them() {
    let Some((_turn, [here])) = Namespace::some("what is beside the bytes") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.run("ip link set dev b address 02:00:00:00:00:0b");
    let shown = here.command("ip -o link show dev b").output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let index: u32 = shown.split(':').next().unwrap().parse().unwrap();
    let programs = [
        ("a tag", beside(48, 1), 16),
        ("no tag", beside(48, 0), 18),
        ("tag 10", equal(32, BESIDE + 44, 0xfff, 10), 8),
        ("priority of a tag", equal(40, BESIDE + 44, 0xe000, 0x6000), 4),
        ("802.1ad", beside(60, 0x88a8), 4),
        ("IPv4", beside(0, 0x0800), 9),
        ("a tag within a tag", beside(0, 0x8100), 5),
        ("802.2", beside(0, 4), 8),
        ("802.3", beside(0, 1), 4),
        ("for this host", beside(4, 0), 8),
        ("for all", beside(4, 1), 8),
        ("for a group", beside(4, 2), 8),
        ("for others", beside(4, 3), 8),
        ("outgoing", beside(4, 4), 2),
        ("its device", beside(8, index), 34),
        ("another device", beside(8, index + 1), 0),
        ("a type behind the addresses", equal(40, 12, 0xffff, 0x0800), 9),
        ("a length without the tag", equal(128, 0, u32::MAX, 60), 16),
    ];
    let scratch = Scratch::new();
    here.enter(|| {
        let mut a = Rig::new(device("a"), &["input"], &[]);
        let mut b = Rig::new(device("b"), &["input"], &[]);
        for (what, program, count) in programs {
            let options = live::Options {
                device: "b".to_owned(),
                promiscuous: true,
                way: Way::Both,
                buffer_len: live::BUFFER_LEN,
                snaplen: live::SNAPLEN_MAX,
            };
            let kernel = live::Device::open(options).unwrap();
            kernel.attach(&program).unwrap();
            let mut kernel = kernel.start().unwrap();
            let out = scratch.path("out.pcap");
            let mut graph = Graph::new();
            graph.app("b", AfPacket { promiscuous: true, outgoing: true, ..device("b") }).unwrap();
            let filter = toml::from_str::<apps::Filter>(&format!("bytecode = '{}'", text(&program)));
            graph.app("filter", filter.unwrap()).unwrap();
            graph.app("writer", PcapWriter { path: out.clone(), ..PcapWriter::default() }).unwrap();
            graph.link("b.output -> filter.input").unwrap();
            graph.link("filter.output -> writer.input").unwrap();
            let mut engine = engine(&graph);
            engine.breathe();
            let frames = frames();
            frames.iter().for_each(|frame| a.send("input", frame));
            a.breathe();
            // Sent by this host: a tag among the bytes stays there.
            let sent = [&[0x08, 0x00][..], &[0x81, 0x00, 0x00, 10, 0x08, 0x00]];
            for (number, header) in sent.iter().enumerate() {
                let start = [&[2, 0, 0, 0, 0, 0x0a, 2, 0, 0, 0, 0, 0x0b][..], header, &[0; 60]].concat();
                b.send("input", [&start[..63], &[100 + number as u8]].concat());
            }
            b.breathe();
            let begin = Instant::now();
            let came = |engine: &mut engine::Engine| {
                let report = engine.report();
                report.links.iter().find(|link| link.link.to.app == "filter").unwrap().rxpackets
            };
            while came(&mut engine) < (frames.len() + sent.len()) as u64 {
                engine.run_for(Duration::from_millis(5)).unwrap();
                assert!(begin.elapsed() < PATIENCE, "{what}: {} frames came", came(&mut engine));
            }
            end(engine);
            // A read ends early when nothing has come for a tenth of a second.
            let (mut capture, mut part) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(len @ 1..) = kernel.read(&mut part) {
                capture.extend_from_slice(&part[..len]);
            }
            let mut reader = capture::Reader::new(Cursor::new(capture), "the kernel").unwrap();
            let mut judged = Vec::new();
            while let Some(packet) = reader.next_packet().unwrap() {
                judged.push(packet.data.to_vec());
            }
            let judged = numbers(judged);
            assert_eq!(numbers(packets(&out).into_iter().map(|(data, _)| data)), judged, "{what}");
            assert_eq!(judged.len(), count, "{what}: {judged:?}");
        }
    });
}
