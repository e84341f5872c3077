//! Captures that come through a FIFO.

use super::{LATER_NS, all, reader};
use crate::pcap_reader::{Passes, PcapReader};
use crate::scratch::{Scratch, capture, pcap, records};
use engine::{Engine, Graph, Metadata, Settings};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::rig::{APP, Received, Rig};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn fifo(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

/// The end that writes. It does not wait either.
fn writer(path: &Path) -> File {
    File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path).expect("a reader")
}

fn rig(class: PcapReader) -> Rig {
    let mut rig = Rig::new(class, &[], &["output"]);
    rig.advance(LATER_NS);
    rig
}

/// Breathes until so many packets have come.
fn receive(rig: &mut Rig, count: usize) -> Vec<Received> {
    let (begin, mut received) = (Instant::now(), Vec::new());
    while received.len() < count {
        assert!(begin.elapsed() < PATIENCE, "{} of {count} packets", received.len());
        std::thread::sleep(Duration::from_millis(1));
        rig.breathe();
        received.extend(rig.received("output"));
    }
    received
}

fn until_counted(rig: &mut Rig, name: &str) {
    let begin = Instant::now();
    while rig.counter(name) == 0 {
        assert!(begin.elapsed() < PATIENCE, "no {name}");
        std::thread::sleep(Duration::from_millis(1));
        rig.breathe();
    }
}

#[test]
fn packets_come_as_they_are_written() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    // Nobody writes yet.
    let mut rig = rig(reader(&path));
    rig.breathe();
    let mut pipe = writer(&path);
    let file = pcap(&[(1, 60, vec![1; 60]), (2, 70, vec![2; 50]), (3, 60, vec![3; 60])]);
    // Header and first packet, in pieces that say nothing by themselves.
    let (first, rest) = file.split_at(24 + 16 + 60);
    for piece in first.chunks(7) {
        pipe.write_all(piece).unwrap();
        rig.breathe();
        std::thread::sleep(Duration::from_millis(1));
    }
    let received = receive(&mut rig, 1);
    assert_eq!((received[0].data.as_slice(), received[0].metadata.timestamp_ns), (&[1; 60][..], 1_000));
    rig.breathe();
    assert!(rig.take("output").is_empty());
    pipe.write_all(rest).unwrap();
    let received = receive(&mut rig, 2);
    assert_eq!((received[0].data.len(), received[0].metadata.cut_len), (50, 20));
    assert_eq!(rig.counter("passes"), 0, "more may come");
    drop(pipe);
    until_counted(&mut rig, "passes");
    assert_eq!(rig.counter("damaged"), 0);
}

#[test]
fn every_format_passes_through_a_pipe() {
    for name in ["mixed.pcap", "router.pcapng", "dns.pcap.zst", "smtp.pcap.gz"] {
        let scratch = Scratch::new();
        let path = fifo(&scratch);
        let mut rig = rig(reader(&path));
        let mut cat = Command::new("sh");
        let script = "exec cat \"$0\" > \"$1\"";
        let mut cat = cat.args(["-c", script]).arg(capture(name)).arg(&path).spawn().unwrap();
        let expected = records(&capture(name));
        let received = receive(&mut rig, expected.len());
        cat.wait().unwrap();
        let data =
            |packets: &[Received]| packets.iter().map(|packet| packet.data.clone()).collect::<Vec<_>>();
        let whole = all(&mut super::rig(reader(capture(name))));
        assert!(data(&received) == data(&whole), "{name}");
        // What came by another path came from other interfaces.
        let known = |packet: &Received| Metadata { interface: 0, ..packet.metadata };
        assert!(received.iter().zip(&whole).all(|(one, other)| known(one) == known(other)), "{name}");
        until_counted(&mut rig, "passes");
    }
}

#[test]
fn what_is_wrong_with_a_stream_is_told_when_it_comes() {
    let file = pcap(&[(1, 60, vec![1; 60]), (2, 60, vec![2; 60])]);
    for (bytes, packets, message) in [
        (&b"Hello, world, this is no capture"[..], 0, "not a pcap or pcapng capture"),
        (&file[..file.len() - 1], 1, "the file ends inside a packet record"),
        (&file[..10], 0, "ends inside"),
        (b"", 0, ""),
    ] {
        let scratch = Scratch::new();
        let path = fifo(&scratch);
        let mut rig = rig(reader(&path));
        writer(&path).write_all(bytes).unwrap();
        receive(&mut rig, packets);
        until_counted(&mut rig, "damaged");
        let text = rig.report().apps[APP].text.clone().unwrap();
        assert!(text.contains(message) && text.contains("fifo"), "{text}");
    }
}

/// Writes packets of 1000 bytes until the pipe takes no more for a while. Returns how many bytes it has taken.
fn stuff(rig: &mut Rig, pipe: &mut File) -> usize {
    let (mut total, mut refused) = (0, 0);
    let record: Vec<u8> = pcap(&[(1, 1000, vec![7; 1000])]).split_off(24);
    while refused < 50 {
        match pipe.write(&record[total % record.len()..]) {
            Ok(count) => (total, refused) = (total + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                rig.breathe();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(total < 64 << 20, "there is no end to it");
    }
    total
}

#[test]
fn a_stream_that_nobody_takes_from_is_held_up() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    // It asks for a packet a second, and time stands still.
    let class = PcapReader { rate_pps: Some(1.0), ..reader(&path) };
    let mut rig = rig(class);
    let mut pipe = writer(&path);
    pipe.write_all(&pcap(&[])).unwrap();
    let taken = stuff(&mut rig, &mut pipe);
    assert!(taken < 2 << 20, "{taken} bytes were taken in");
    assert!(rig.take("output").len() <= 64);
    // Once its turn comes, all of it passes.
    rig.reconfigure(reader(&path));
    let whole = taken / 1016;
    let before = rig.counter("passes");
    assert!(receive(&mut rig, whole - 64).len() <= whole);
    assert_eq!(before, 0);
}

#[test]
fn a_silent_stream_holds_nobody_up() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let begin = Instant::now();
    let mut graph = Graph::new();
    graph.app("reader", reader(&path)).unwrap();
    graph.app("other", reader(capture("mixed.pcap"))).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    let read = records(&capture("mixed.pcap")).len() as u64;
    let report = loop {
        engine.run_for(Duration::from_millis(10)).unwrap();
        let report = engine.report();
        if report.drops.get("unlinked") == Some(&read) || begin.elapsed() > PATIENCE / 4 {
            break report;
        }
    };
    assert!(report.balanced());
    assert_eq!(report.drops.get("unlinked"), Some(&read), "{report:#?}");
    // It goes at once, and so does the engine.
    let mut without = Graph::new();
    without.app("other", reader(capture("mixed.pcap"))).unwrap();
    engine.configure(&without).unwrap();
    engine.run(|_| true).unwrap();
    engine.stop();
    assert!(begin.elapsed() < PATIENCE / 2);
}

#[test]
fn a_stream_goes_on_when_options_change() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut rig = rig(reader(&path));
    let mut pipe = writer(&path);
    let packets: Vec<_> = (0..10).map(|us| (us, 60, vec![us as u8; 60])).collect();
    let file = pcap(&packets);
    let (first, rest) = file.split_at(24 + 5 * 76);
    pipe.write_all(first).unwrap();
    receive(&mut rig, 5);
    rig.reconfigure(PcapReader { count: Some(8), ..reader(&path) });
    pipe.write_all(rest).unwrap();
    let received = receive(&mut rig, 3);
    assert_eq!(received.iter().map(|packet| packet.data[0]).collect::<Vec<_>>(), [5, 6, 7]);
    rig.breathe();
    assert!(rig.take("output").is_empty(), "eight in all");
    rig.reconfigure(reader(&path));
    assert_eq!(receive(&mut rig, 2).len(), 2);
    drop(pipe);
    until_counted(&mut rig, "passes");
    rig.reconfigure(PcapReader { count: Some(100), ..reader(&path) });
    rig.breathe();
    assert!(rig.take("output").is_empty() && rig.counter("passes") == 1, "what has ended has ended");
}

#[test]
fn a_stream_goes_on_when_another_cannot_be_had() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut graph = Graph::new();
    graph.app("reader", reader(&path)).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    let mut pipe = writer(&path);
    let packets: Vec<_> = (0..10).map(|us| (us, 60, vec![us as u8; 60])).collect();
    let file = pcap(&packets);
    let (first, rest) = file.split_at(24 + 5 * 76);
    let read = |engine: &mut Engine, count: u64| {
        let begin = Instant::now();
        while engine.report().drops.get("unlinked") != Some(&count) {
            assert!(begin.elapsed() < PATIENCE, "{:#?}", engine.report());
            engine.run_for(Duration::from_millis(10)).unwrap();
        }
    };
    pipe.write_all(first).unwrap();
    read(&mut engine, 5);
    let mut wrong = Graph::new();
    wrong.app("reader", reader(scratch.path("missing.pcap"))).unwrap();
    assert_eq!(engine.configure(&wrong).unwrap().failed.len(), 1);
    pipe.write_all(rest).unwrap();
    read(&mut engine, 10);
}

/// A graph of one reader, and nothing that takes what it brings.
fn alone(name: &str, reader: PcapReader) -> Graph {
    let mut graph = Graph::new();
    graph.app(name, reader).unwrap();
    graph
}

#[test]
fn a_stream_goes_on_under_another_name() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&alone("a", reader(&path))).unwrap();
    let mut pipe = writer(&path);
    let packets: Vec<_> = (0..30).map(|us| (us, 60, vec![us as u8; 60])).collect();
    let file = pcap(&packets);
    let until_read = |engine: &mut Engine, count: u64| {
        let begin = Instant::now();
        while engine.report().drops.get("unlinked") != Some(&count) {
            assert!(begin.elapsed() < PATIENCE, "{:#?}", engine.report());
            engine.run_for(Duration::from_millis(10)).unwrap();
        }
    };
    // In the middle of a record, each time.
    let mut sent = 0;
    for (read, name) in [(7, "b"), (19, "c"), (20, "b")] {
        let end = 24 + read as usize * 76 + 30;
        pipe.write_all(&file[sent..end]).unwrap();
        sent = end;
        until_read(&mut engine, read);
        let changes = engine.configure(&alone(name, reader(&path))).unwrap();
        assert!(changes.failed.is_empty() && changes.started == [name], "{changes:?}");
    }
    // With a count, of which much is used up; and another that would not go on is refused.
    let twice = PcapReader { passes: Passes::Times(2), ..reader(&path) };
    assert!(engine.configure(&alone("d", twice)).is_err());
    engine.configure(&alone("d", PcapReader { count: Some(25), ..reader(&path) })).unwrap();
    pipe.write_all(&file[sent..]).unwrap();
    until_read(&mut engine, 25);
    engine.configure(&alone("e", reader(&path))).unwrap();
    drop(pipe);
    until_read(&mut engine, 30);
    engine.run(|_| true).unwrap();
    // It is at its end, whatever it is called.
    engine.configure(&alone("f", reader(&path))).unwrap();
    engine.run(|_| true).unwrap();
    let report = engine.report();
    assert_eq!((report.drops["unlinked"], report.apps["f"].has_failed), (30, false), "{report:#?}");
}

#[test]
fn a_stream_that_nobody_goes_on_with_is_let_go() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    for other in [
        alone("reader", reader(capture("web.pcap"))),
        alone("other", reader(capture("web.pcap"))),
        Graph::new(),
    ] {
        engine.configure(&alone("reader", reader(&path))).unwrap();
        let mut pipe = writer(&path);
        pipe.write_all(&pcap(&[])).unwrap();
        let changes = engine.configure(&other).unwrap();
        assert!(changes.failed.is_empty(), "{changes:?}");
        let begin = Instant::now();
        while pipe.write_all(&[0]).is_ok() {
            assert!(begin.elapsed() < PATIENCE, "somebody still reads");
            std::thread::sleep(Duration::from_millis(10));
        }
        engine.configure(&Graph::new()).unwrap();
    }
}

#[test]
fn a_stream_has_one_reader() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    for (path, name) in
        [(path.clone(), path.display().to_string()), ("-".into(), "standard input".to_owned())]
    {
        let mut graph = alone("a", reader(&path));
        graph.app("b", reader(&path)).unwrap();
        let error = engine.configure(&graph).unwrap_err().to_string();
        let expected = format!(
            "app `b` (pcap_reader): `path`: {name}: app `a` reads it as well: what comes from there can be read only once"
        );
        assert_eq!(error, expected);
    }
    // A file can have several.
    let mut graph = alone("a", reader(capture("web.pcap")));
    graph.app("b", reader(capture("web.pcap"))).unwrap();
    engine.configure(&graph).unwrap();
}

#[test]
fn a_stream_is_read_once() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut graph = Graph::new();
    graph.app("reader", PcapReader { passes: Passes::Times(2), ..reader(&path) }).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    let error = engine.configure(&graph).unwrap_err().to_string();
    assert!(error.contains("is no file: what comes from it can be read only once"), "{error}");
}

#[test]
fn a_folder_is_no_stream() {
    let mut graph = Graph::new();
    graph.app("reader", reader(std::env::temp_dir())).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    assert!(engine.configure(&graph).is_err());
}

#[test]
fn a_linktype_that_is_not_ethernet_is_told() {
    let scratch = Scratch::new();
    let path = fifo(&scratch);
    let mut rig = rig(reader(&path));
    let mut writer = writer(&path);
    writer.write_all(&std::fs::read(capture("raw.pcap")).unwrap()).unwrap();
    drop(writer);
    until_counted(&mut rig, "passes");
    let text = rig.report().apps[APP].text.clone().unwrap();
    assert!(text.contains("fifo: packets of link type RAW, which"), "{text}");
}
