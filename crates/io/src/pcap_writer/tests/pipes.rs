//! Pipes, which take what they get when somebody reads them.

use super::*;
use engine::ClockKind;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

#[test]
fn a_fifo_that_nobody_reads_is_refused() {
    let scratch = Scratch::new();
    let (fifo, file) = (scratch.path("fifo"), scratch.path("out.pcap"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let said = refusal(&writers(&[("w", writer(&fifo))]));
    assert!(said.contains("fifo: cannot write: nobody reads this FIFO"), "{said}");
    // Nor is it waited for by what runs already.
    let mut engine = ended(&writers(&[("w", writer(&file))]));
    let changes = engine.configure(&writers(&[("w", writer(&fifo))])).unwrap();
    assert!(failed(&changes)[0].contains("nobody reads"), "{changes:?}");
    assert_whole(engine, &[&file]);
    assert!(fifo.exists());
}

#[test]
fn a_fifo_whose_name_says_that_it_is_compressed_is_warned_of() {
    let scratch = Scratch::new();
    let (path, open) = fifo(&scratch, "a.pcap.gz");
    let warnings = writer(&path).review().unwrap().warnings;
    let told = format!("{} is written without compression, whatever its name says", path.display());
    assert!(matches!(&warnings[..], [warning] if *warning.message == *told), "{warnings:?}");
    copy(&capture("web.pcap"), writer(&path));
    let mut bytes = Vec::new();
    read_ready(&open, &mut bytes);
    assert_eq!(records(&scratch.file("out.pcap", &bytes)), records(&capture("web.pcap")));
}

/// A FIFO, and who may read it.
fn fifo(scratch: &Scratch, name: &str) -> (PathBuf, File) {
    let path = scratch.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let open = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
    (path, open)
}

/// Reads what a pipe holds, and says whether there may be more.
fn read_ready(mut pipe: &File, bytes: &mut Vec<u8>) -> bool {
    match pipe.read_to_end(bytes) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::WouldBlock => true,
        Err(error) => panic!("{error}"),
    }
}

/// Reads a pipe to its end, which comes when it is closed.
fn read_slowly(pipe: File) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut pipe, mut bytes, mut part) = (pipe, Vec::new(), [0; 4096]);
        loop {
            match pipe.read(&mut part) {
                // Nobody has opened the other end yet, or has closed it.
                Ok(0) if !bytes.is_empty() => return bytes,
                Ok(len) => bytes.extend(&part[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    })
}

#[test]
fn who_reads_a_fifo_gets_all_of_it_however_slowly() {
    let scratch = Scratch::new();
    let (fifo, open) = fifo(&scratch, "fifo");
    let slow = read_slowly(open);
    // More than a pipe holds.
    let from = capture("mixed.pcap");
    assert!(from.metadata().unwrap().len() > 64 << 10);
    copy(&from, writer(&fifo));
    let bytes = slow.join().unwrap();
    let out = scratch.file("out.pcap", &bytes);
    assert_eq!(records(&out), records(&from));
}

#[test]
fn who_does_not_read_a_fifo_stops_no_breath() {
    let scratch = Scratch::new();
    for name in ["fifo.pcap", "fifo.pcapng"] {
        let (fifo, open) = fifo(&scratch, name);
        let mut rig = Rig::new(writer(&fifo), &["input"], &[]);
        let packet = |number: u16| [&number.to_be_bytes()[..], &[7; 999]].concat();
        (0..800).for_each(|number| rig.send("input", packet(number)));
        // As long as it is hoped for, and longer.
        (0..15).for_each(|_| rig.breathe());
        let taken = rig.counter("delivered");
        assert!(
            (64..400).contains(&taken),
            "{taken}: what a pipe and a buffer hold; the others wait in the link"
        );
        let mut bytes = Vec::new();
        for _ in 0..1000 {
            read_ready(&open, &mut bytes);
            rig.breathe();
        }
        assert_eq!(rig.counter("delivered"), 800);
        drop(rig);
        assert!(!read_ready(&open, &mut bytes), "it is closed");
        let read = records(&scratch.file("out", &bytes));
        assert!(
            read.iter().map(|record| &record.data).eq(&(0..800).map(packet).collect::<Vec<_>>()),
            "{name}"
        );
    }
}

/// Where nobody reads, an app of the same worker that has nothing to do with it gets as many turns, and as long ones, as without the writer.
#[test]
fn who_does_not_read_holds_up_nobody_else() {
    let scratch = Scratch::new();
    for slow_reader in [SlowReader::Wait, SlowReader::Drop] {
        let (path, open) = fifo(&scratch, &format!("{slow_reader:?}"));
        let mut graph = Graph::new();
        for name in ["source", "other"] {
            graph.app(name, apps::Source { size: 1000, count: None }).unwrap();
        }
        graph.app("w", PcapWriter { slow_reader, ..writer(&path) }).unwrap();
        graph.app("sink", apps::Sink {}).unwrap();
        graph.link("source.output -> w.input").unwrap();
        graph.link("other.output -> sink.input").unwrap();
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        let begin = Instant::now();
        for breath in 1..=20_000 {
            engine.breathe();
            assert!(begin.elapsed() < Duration::from_secs(10), "{slow_reader:?}: {breath} breaths");
        }
        let report = engine.report();
        let rest = |name: &str| report.links.iter().find(|link| link.link.to.app == name).unwrap();
        assert_eq!(rest("sink").rxpackets, 20_000 * 64, "{slow_reader:?}");
        let dropped = report.drops.get("slow_reader").copied().unwrap_or(0);
        match slow_reader {
            // The source waits.
            SlowReader::Wait => assert!(rest("w").txpackets < 2000 && dropped == 0, "{report:?}"),
            // 4 MiB, and what a pipe holds.
            SlowReader::Drop => {
                let kept = rest("w").rxpackets - dropped;
                assert!(
                    rest("w").txpackets == 20_000 * 64 && (4000..4500).contains(&kept),
                    "{kept}: {report:?}"
                );
            }
        }
        // Who reads in the end finds what counts as delivered, whole.
        let slow = read_slowly(open);
        engine.stop();
        let report = engine.report();
        drop(engine);
        let bytes = slow.join().unwrap();
        let delivered = records(&scratch.file("out.pcap", &bytes[..whole(&bytes)])).len() as u64;
        let sunk = 20_000 * 64;
        assert!(report.balanced(), "{:?}", report.imbalances);
        assert_eq!(delivered, report.delivered - sunk, "{slow_reader:?}");
    }
}

/// Bytes of whole records of 1000 bytes.
fn whole(bytes: &[u8]) -> usize {
    24 + (bytes.len() - 24) / 1016 * 1016
}

/// Packets that a slow reader has no room for are lost whole, and memory does not grow with what it has read.
#[test]
fn a_reader_that_is_always_behind_gets_whole_records() {
    let scratch = Scratch::new();
    for name in ["fifo.pcap", "fifo.pcapng"] {
        let (path, open) = fifo(&scratch, name);
        let drop_them = PcapWriter { slow_reader: SlowReader::Drop, ..writer(&path) };
        let mut rig = Rig::new(drop_them, &["input"], &[]);
        let mut bytes = Vec::new();
        let mut part = vec![0; 40_000];
        for round in 0..600_u32 {
            (0..64).for_each(|_| rig.send("input", round.to_be_bytes().repeat(250)));
            rig.advance(1_000_000);
            let len = (&open).read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..len]);
        }
        let (delivered, dropped) = (rig.counter("delivered"), rig.counter("slow_reader"));
        assert_eq!(delivered + dropped, 600 * 64, "{name}");
        assert!(dropped > 1000 && bytes.len() > 8 << 20, "{name}: {dropped} dropped, {} read", bytes.len());
        for _ in 0..1000 {
            read_ready(&open, &mut bytes);
            rig.advance(1_000_000);
        }
        let read = records(&scratch.file("out", &bytes));
        assert_eq!(read.len() as u64, delivered, "{name}");
    }
}

#[test]
fn a_run_does_not_end_before_a_fifo_has_taken_all() {
    let scratch = Scratch::new();
    for (name, clock) in [("wall", ClockKind::Wall), ("capture", ClockKind::Capture)] {
        let (fifo, open) = fifo(&scratch, name);
        let from = capture("mixed.pcap");
        let mut engine = Engine::new(Settings { clock, ..Settings::new().unwrap() }).unwrap();
        engine.configure(&between("r", &from, "w", &fifo)).unwrap();
        let (mut bytes, mut calls) = (Vec::new(), 0);
        engine
            .run(|_| {
                calls += 1;
                // Nobody reads it for some time.
                if calls > 20 {
                    read_ready(&open, &mut bytes);
                }
                calls < 10_000
            })
            .unwrap();
        assert!((21..10_000).contains(&calls), "{name}: it ended after {calls} looks");
        read_ready(&open, &mut bytes);
        assert_eq!(records(&scratch.file("out.pcap", &bytes)), records(&from), "{name}");
    }
}

/// No tick comes while time stands still.
#[test]
fn a_run_on_capture_time_ends_though_a_fifo_is_written() {
    let scratch = Scratch::new();
    let (fifo, open) = fifo(&scratch, "fifo");
    let from = scratch.file("in.pcap", &pcap(&vec![(5, 60, vec![7; 60]); 10]));
    let mut engine = Engine::new(Settings { clock: ClockKind::Capture, ..Settings::new().unwrap() }).unwrap();
    engine.configure(&between("r", &from, "w", &fifo)).unwrap();
    let mut calls = 0;
    engine
        .run(|_| {
            calls += 1;
            calls < 10_000
        })
        .unwrap();
    assert!(calls < 10_000, "it does not end");
    let mut bytes = Vec::new();
    read_ready(&open, &mut bytes);
    assert_eq!(records(&scratch.file("out.pcap", &bytes)), records(&from));
}

#[test]
fn what_was_not_read_in_the_end_is_told_and_counted() {
    let scratch = Scratch::new();
    let (fifo, open) = fifo(&scratch, "fifo");
    let packets: Vec<_> = (0..100).map(|n| (n, 1000, vec![n as u8; 1000])).collect();
    let from = scratch.file("in.pcap", &pcap(&packets));
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&between("r", &from, "w", &fifo)).unwrap();
    for _ in 0..1000 {
        engine.breathe();
    }
    engine.configure(&between("r", &from, "w", &scratch.path("other.pcap"))).unwrap();
    let report = engine.report();
    let mut bytes = Vec::new();
    read_ready(&open, &mut bytes);
    let whole = (bytes.len() - 24) / 1016;
    assert_eq!(
        report.apps["w"].counters.iter().find(|(name, ..)| name == "write_error").unwrap().2,
        100 - whole as u64
    );
    let text = report.apps["w"].text.as_ref().unwrap();
    assert!(text.contains("fifo: cannot write: nobody reads it any more"), "{text}");
    engine.stop();
}

#[test]
fn a_writer_that_goes_on_ends_the_record_that_was_begun() {
    let scratch = Scratch::new();
    let packets: Vec<_> =
        (0..5000_u32).map(|n| (n, 1001, [&n.to_be_bytes()[..], &[7; 997]].concat())).collect();
    let from = scratch.file("in.pcap", &pcap(&packets));
    let all = records(&from);
    for name in ["fifo.pcap", "fifo.pcapng"] {
        let (fifo, open) = fifo(&scratch, name);
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&between("r", &from, "w", &fifo)).unwrap();
        for _ in 0..10 {
            engine.breathe();
        }
        let changes = engine.configure(&between("r", &from, "another", &fifo)).unwrap();
        assert_eq!((failed(&changes), changes.stopped), (vec![], vec!["w".to_owned()]));
        let slow = read_slowly(open);
        engine.run_for(Duration::from_secs(20)).unwrap();
        engine.stop();
        drop(engine);
        let read = records(&scratch.file("out", &slow.join().unwrap()));
        let before = read.iter().zip(&all).take_while(|(read, sent)| read == sent).count();
        assert!((1..read.len()).contains(&before) && read.len() < all.len(), "{before} of {}", read.len());
        assert!(read[before..] == all[all.len() - (read.len() - before)..], "{name}");
    }
}

#[test]
fn a_stop_does_not_wait_for_those_who_have_long_stopped_reading() {
    let scratch = Scratch::new();
    let fifos: Vec<_> = (0..4).map(|n| fifo(&scratch, &format!("fifo{n}"))).collect();
    let packets: Vec<_> = (0..100).map(|n| (n, 1000, vec![7; 1000])).collect();
    let from = scratch.file("in.pcap", &pcap(&packets));
    let mut graph = Graph::new();
    for (n, (path, _)) in fifos.iter().enumerate() {
        graph.app(&format!("r{n}"), PcapReader { path: from.clone(), ..PcapReader::default() }).unwrap();
        graph.app(&format!("w{n}"), writer(path)).unwrap();
        graph.link(&format!("r{n}.output -> w{n}.input")).unwrap();
    }
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    engine.run_for(super::super::LAST_PATIENCE + Duration::from_millis(300)).unwrap();
    // One of them goes on now.
    let mut bytes = Vec::new();
    read_ready(&fifos[3].1, &mut bytes);
    let begin = Instant::now();
    engine.configure(&Graph::new()).unwrap();
    // Three of them, one after the other, would take three times as long.
    assert!(begin.elapsed() < 2 * super::super::LAST_PATIENCE, "{:?}", begin.elapsed());
    read_ready(&fifos[3].1, &mut bytes);
    assert_eq!(records(&scratch.file("out.pcap", &bytes)).len(), 100);
    assert!(engine.report().balanced());
}

#[test]
fn a_record_that_is_passed_on_is_counted_once() {
    let scratch = Scratch::new();
    for (name, count) in [("few.pcap", 100), ("few.pcapng", 100), ("many.pcap", 1000), ("many.pcapng", 1000)]
    {
        let packets: Vec<_> = (0..count).map(|n| (n, 1001, vec![7; 1001])).collect();
        let from = scratch.file("in.pcap", &pcap(&packets));
        let (fifo, open) = fifo(&scratch, name);
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        // The third has the record from one that has it from another.
        for (writer, to) in [("w", &fifo), ("x", &fifo), ("y", &fifo), ("z", &scratch.path("other.pcap"))] {
            let changes = engine.configure(&between("r", &from, writer, to)).unwrap();
            assert_eq!(failed(&changes), [""; 0], "{name}");
            // Until the first has written what came, or as much as there is room for.
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(50) {
                engine.breathe();
            }
            let report = engine.report();
            assert!(report.balanced(), "{name}, {writer}: {:?}", report.imbalances);
        }
        // What is not among the bytes that a pipe holds is lost.
        let mut bytes = Vec::new();
        read_ready(&open, &mut bytes);
        assert!(!bytes.is_empty(), "{name}");
        engine.stop();
    }
}

/// A writer that fails at its first packet, and does not start again.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Dying(PcapWriter);

impl Class for Dying {
    const TYPE: &'static str = "dying";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Breaking;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Breaking, OptionError> {
        if is_first(&self.0.path) {
            Ok(Breaking(self.0.start(setup)?, 2))
        } else {
            Err(OptionError::refused("path", "as told"))
        }
    }
}

#[test]
fn a_writer_of_a_fifo_that_does_not_start_again_keeps_no_run_from_its_end() {
    let scratch = Scratch::new();
    let (path, _open) = fifo(&scratch, "fifo");
    let mut graph = Graph::new();
    graph.app("r", PcapReader { path: capture("web.pcap"), ..PcapReader::default() }).unwrap();
    graph.app("w", Dying(writer(&path))).unwrap();
    graph.link("r.output -> w.input").unwrap();
    let (restart_first, restart_max) = (Duration::from_millis(1), Duration::from_millis(4));
    let mut engine =
        Engine::new(Settings { restart_first, restart_max, ..Settings::new().unwrap() }).unwrap();
    engine.configure(&graph).unwrap();
    let begin = Instant::now();
    engine.run_for(Duration::from_secs(20)).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(15), "it does not end by itself");
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    assert_eq!(report.apps["w"].state, engine::AppState::Down);
}
