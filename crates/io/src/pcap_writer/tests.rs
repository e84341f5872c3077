mod interfaces;
mod pipes;
mod slow;

use super::file::{Patience, obstacle};
use super::{Format, PcapWriter, Running, SlowReader};
use crate::pcap_reader::PcapReader;
use crate::scratch::{Scratch, capture, pcap, records};
use engine::{
    App, Changes, Class, Engine, Graph, Io, Metadata, OptionError, PortNames, Ports, Report, Roles, Settings,
    Setup,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use testkit::rig::{Rig, START_NS};

fn writer(path: impl Into<PathBuf>) -> PcapWriter {
    PcapWriter { path: path.into(), ..PcapWriter::default() }
}

/// Reads a capture and writes it again, through an engine.
fn copy(from: &Path, to: PcapWriter) -> Report {
    let mut graph = Graph::new();
    graph.app("reader", PcapReader { path: from.to_owned(), ..PcapReader::default() }).unwrap();
    graph.app("writer", to).unwrap();
    graph.link("reader.output -> writer.input").unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    engine.run_for(Duration::from_secs(20)).unwrap();
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    engine.stop();
    report
}

fn count(report: &Report, counter: &str) -> u64 {
    let counters = &report.apps["writer"].counters;
    counters.iter().find(|(name, ..)| name == counter).map_or(0, |&(.., value)| value)
}

#[test]
fn every_capture_keeps_what_it_says() {
    let scratch = Scratch::new();
    let folder = capture("");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.contains(".pcap") {
            continue;
        }
        let before = records(&path);
        let is_mixed = name == "tunnel.pcapng";
        for out in ["out.pcap", "out.pcapng"].iter().filter(|out| !is_mixed || out.ends_with("ng")) {
            let out = scratch.path(out);
            let report = copy(&path, writer(&out));
            assert_eq!(count(&report, "delivered"), before.len() as u64, "{name}");
            assert_eq!(records(&out), before, "{name} as {}", out.display());
        }
        tried += 1;
    }
    assert!(tried > 20, "{tried} captures");
}

#[test]
fn plain_captures_come_out_byte_for_byte() {
    let scratch = Scratch::new();
    for name in ["web.pcap", "ntp-nano.pcap", "vlan.pcap"] {
        let out = scratch.path("out.pcap");
        copy(&capture(name), writer(&out));
        let (before, after) = (std::fs::read(capture(name)).unwrap(), std::fs::read(&out).unwrap());
        assert_eq!(before.len(), after.len(), "{name}");
        // The snap length in the header is ours.
        assert!(before[..16] == after[..16] && before[20..] == after[20..], "{name}");
    }
}

#[test]
fn a_second_linktype_needs_pcapng() {
    let scratch = Scratch::new();
    let path = capture("tunnel.pcapng");
    let before = records(&path);
    let first = before[0].linktype;
    let fit: Vec<_> = before.iter().filter(|record| record.linktype == first).cloned().collect();
    assert!(fit.len() < before.len());
    let out = scratch.path("out.pcap");
    let report = copy(&path, writer(&out));
    assert_eq!(records(&out), fit);
    assert_eq!(count(&report, "wrong_linktype"), (before.len() - fit.len()) as u64);
    assert_eq!(count(&report, "delivered"), fit.len() as u64);
}

#[test]
fn a_snap_length_cuts_bytes_and_keeps_lengths() {
    let scratch = Scratch::new();
    for format in [Format::Pcap, Format::Pcapng] {
        let out = scratch.path("out");
        copy(&capture("web.pcap"), PcapWriter { format: Some(format), snaplen: Some(61), ..writer(&out) });
        for (before, after) in records(&capture("web.pcap")).iter().zip(records(&out)) {
            assert_eq!(after.wire_len, before.wire_len);
            assert_eq!(after.data, before.data[..before.data.len().min(61)]);
        }
    }
}

#[test]
fn packets_of_no_capture_have_the_time_of_their_breath() {
    let scratch = Scratch::new();
    let out = scratch.path("out.pcap");
    let mut rig = Rig::new(writer(&out), &["input"], &[]);
    rig.advance(123);
    for len in [0, 1, 60, 10_240, 10_241, 65_535] {
        rig.send("input", vec![5; len]);
    }
    rig.breathe();
    drop(rig);
    let records = records(&out);
    assert_eq!(
        records.iter().map(|record| record.data.len()).collect::<Vec<_>>(),
        [0, 1, 60, 10_240, 10_241, 65_535]
    );
    assert!(records.iter().all(|record| record.timestamp_ns as u64 == START_NS + 123));
    assert!(records.iter().all(|record| record.wire_len as usize == record.data.len()));
}

#[test]
fn digits_that_are_lost_are_counted() {
    let scratch = Scratch::new();
    for (name, lost) in [("out.pcap", 1), ("out.pcapng", 0)] {
        let out = scratch.path(name);
        let mut rig = Rig::new(writer(&out), &["input"], &[]);
        for (precision, timestamp_ns) in [(6, 5_000_001_000), (9, 5_000_001_234), (3, 5_001_000_000)] {
            let metadata = Metadata { linktype: 1, precision, timestamp_ns, ..Metadata::default() };
            rig.send_with("input", [0; 60], metadata);
        }
        rig.breathe();
        assert_eq!(rig.counter("less_precise"), lost, "{name}");
        drop(rig);
        let last = if lost == 1 { 5_000_001_000 } else { 5_000_001_234 };
        let expected = [5_000_001_000, last, 5_001_000_000];
        assert_eq!(records(&out).iter().map(|r| r.timestamp_ns).collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn times_that_pcap_cannot_hold_are_counted_and_told() {
    const LAST_NS: u64 = (1 << 32) * 1_000_000_000 - 1;
    let scratch = Scratch::new();
    for (name, changed) in [("out.pcap", 2), ("out.pcapng", 0)] {
        let out = scratch.path(name);
        let mut rig = Rig::new(writer(&out), &["input"], &[]);
        for timestamp_ns in [LAST_NS, LAST_NS + 1, 7_258_118_400_000_000_000] {
            rig.send_with(
                "input",
                [0; 60],
                Metadata { linktype: 1, precision: 9, timestamp_ns, ..Metadata::default() },
            );
        }
        rig.breathe();
        assert_eq!(rig.counter("changed_times"), changed, "{name}");
        let app = &rig.report().apps[testkit::rig::APP];
        assert_eq!(app.has_failed, changed > 0, "{name}");
        let told = app.text.as_ref().is_some_and(|text| text.contains("2 packets have times after 2106"));
        assert_eq!(told, changed > 0, "{app:?}");
        drop(rig);
        let times: Vec<_> = records(&out).iter().map(|record| record.timestamp_ns as u64).collect();
        let held = |ns: u64| if changed > 0 { ns.min(LAST_NS) } else { ns };
        assert_eq!(times, [LAST_NS, LAST_NS + 1, 7_258_118_400_000_000_000].map(held), "{name}");
    }
}

#[test]
fn a_file_without_packets_is_a_capture() {
    let scratch = Scratch::new();
    for name in ["out.pcap", "out.pcapng"] {
        let out = scratch.path(name);
        drop(Rig::new(writer(&out), &["input"], &[]));
        assert_eq!(records(&out), [], "{name}");
    }
}

#[test]
fn what_has_come_is_soon_in_the_file() {
    let scratch = Scratch::new();
    let out = scratch.path("out.pcap");
    let mut rig = Rig::new(writer(&out), &["input"], &[]);
    rig.send("input", [1; 60]);
    rig.breathe();
    // One tick ends the turn in which it came, the next finds it waiting.
    rig.advance(2_000_000);
    rig.advance(2_000_000);
    // The thread that writes has it.
    let begin = Instant::now();
    while out.metadata().unwrap().len() < 24 + 16 + 60 {
        assert!(begin.elapsed() < Duration::from_secs(20), "it is not written");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(records(&out).len(), 1);
}

#[test]
fn a_full_disk_is_told_and_counted() {
    let path = Path::new("/dev/full");
    if !path.exists() {
        return testkit::say("SKIPPED: there is no /dev/full");
    }
    let report = copy(&capture("web.pcap"), writer(path));
    let packets = records(&capture("web.pcap")).len() as u64;
    // Whether the first block is written before the report depends on the last tick.
    let text = report.apps["writer"].text.clone();
    if let Some(text) = text {
        assert!(text.starts_with("/dev/full: cannot write: No space left on device"), "{text}");
        assert_eq!((count(&report, "delivered"), count(&report, "write_error")), (0, packets));
    }
}

#[test]
fn a_full_disk_is_told_at_once_and_once() {
    if !Path::new("/dev/full").exists() {
        return testkit::say("SKIPPED: there is no /dev/full");
    }
    let scratch = Scratch::new();
    let path = scratch.path("no\nroom.pcap");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let mut rig = Rig::new(writer(&path), &["input"], &[]);
    for _ in 0..3 {
        rig.send("input", [1; 60]);
        (0..5).for_each(|_| rig.advance(1_000_000_000));
    }
    let told: Vec<String> = rig.notices().into_iter().map(|notice| notice.text).collect();
    assert!(
        matches!(&told[..], [text] if text.contains("no\\nroom.pcap: cannot write: No space left")),
        "{told:?}"
    );
}

#[test]
fn names_that_say_something_else_are_warned_of() {
    for (name, format, told) in [
        ("a.pcap", None, None),
        ("a.PCAPNG", None, None),
        ("a.pcapng.gz", None, None),
        ("a.pcap", Some(Format::Pcapng), Some("a.pcap is written as pcapng, whatever its name says")),
        ("a.pcapng", Some(Format::Pcap), Some("a.pcapng is written as pcap, whatever its name says")),
    ] {
        let review = PcapWriter { format, ..writer(name) }.review().unwrap();
        let warnings: Vec<&str> = review.warnings.iter().map(|warning| &*warning.message).collect();
        assert_eq!(warnings, told.into_iter().collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(writer("a.pcapng.zst").format(), Format::Pcapng);
}

#[test]
fn a_file_that_could_not_be_written_ends_with_a_whole_packet() {
    let packets: Vec<_> = (0..5).map(|n| (n, 100, vec![n as u8; 50 + n as usize])).collect();
    let file = pcap(&packets);
    let encoder = super::records::Encoder::new(Format::Pcap, usize::MAX);
    let ends: Vec<usize> = (0..=5).map(|n| pcap(&packets[..n]).len()).collect();
    for done in 0..=file.len() {
        let (whole, lost) = encoder.whole(&file, true, done, 0);
        let expected = ends.iter().rposition(|&end| end <= done);
        assert_eq!(whole, expected.map_or(0, |n| ends[n]), "{done} bytes");
        assert_eq!(lost, 5 - expected.unwrap_or(0) as u64, "{done} bytes");
    }
}

#[test]
fn options_can_change_while_it_writes() {
    let scratch = Scratch::new();
    let out = scratch.path("out.pcap");
    let mut rig = Rig::new(writer(&out), &["input"], &[]);
    rig.send("input", [1; 60]);
    rig.breathe();
    rig.reconfigure(PcapWriter { snaplen: Some(10), ..writer(&out) });
    rig.send("input", [2; 60]);
    rig.breathe();
    drop(rig);
    assert_eq!(records(&out).iter().map(|record| record.data.len()).collect::<Vec<_>>(), [60, 10]);
}

/// A graph that reads `web.pcap` into writers.
fn writers(writers: &[(&str, PcapWriter)]) -> Graph {
    let mut graph = Graph::new();
    for (name, writer) in writers {
        let path = capture("web.pcap");
        graph.app(&format!("reader_{name}"), PcapReader { path, ..PcapReader::default() }).unwrap();
        graph.app(name, writer.clone()).unwrap();
        graph.link(&format!("reader_{name}.output -> {name}.input")).unwrap();
    }
    graph
}

/// An engine in which such a graph has ended, but was not stopped.
fn ended(graph: &Graph) -> Engine {
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(graph).unwrap();
    engine.run_for(Duration::from_secs(20)).unwrap();
    engine
}

fn failed(changes: &Changes) -> Vec<String> {
    changes.failed.iter().map(|(app, error)| format!("{app}: {error}")).collect()
}

/// Whether a file holds all of `web.pcap`, once the engine has stopped.
#[track_caller]
fn assert_whole(mut engine: Engine, paths: &[&Path]) {
    assert!(engine.report().balanced());
    engine.stop();
    for path in paths {
        assert_eq!(records(path), records(&capture("web.pcap")), "{}", path.display());
    }
}

#[test]
fn another_path_is_opened_before_the_old_one_is_let_go() {
    let scratch = Scratch::new();
    let (old, new, wrong) =
        (scratch.path("old.pcap"), scratch.path("new.pcap"), scratch.path("wrong/x.pcap"));
    let mut engine = ended(&writers(&[("w", writer(&old))]));
    let changes = engine.configure(&writers(&[("w", writer(&wrong))])).unwrap();
    assert!(failed(&changes)[0].contains("cannot write: there is no folder"), "{changes:?}");
    let other = PcapWriter { format: Some(Format::Pcapng), ..writer(&old) };
    let changes = engine.configure(&writers(&[("w", other)])).unwrap();
    assert!(failed(&changes)[0].contains("give it another `path`"), "{changes:?}");
    let changes = engine.configure(&writers(&[("w", writer(&new))])).unwrap();
    assert_eq!(changes.reconfigured, ["w"], "{changes:?}");
    assert_whole(engine, &[&old]);
    assert_eq!(records(&new), []);
}

#[test]
fn a_file_has_one_writer() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.path("a.pcap"), scratch.path("b.pcap"));
    let mut engine = ended(&writers(&[("w", writer(&a)), ("x", writer(&b))]));
    // Refused as a whole: two that swap; one that gets what another is to let go; one that gets what one that is gone has.
    let c = scratch.path("c.pcap");
    for (graph, wrong, other) in [
        ([("w", writer(&b)), ("x", writer(&a))], "w", "x"),
        ([("w", writer(&b)), ("x", writer(&c))], "w", "x"),
        ([("w", writer(&c)), ("x", writer(&a))], "x", "w"),
        ([("w", writer(&b)), ("y", writer(&c))], "w", "x"),
    ] {
        let error = engine.configure(&writers(&graph)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("app `{wrong}` (pcap_writer): `path`: ")), "{error}");
        assert!(
            error.contains(&format!(": app `{other}` writes it until this change: it would be lost")),
            "{error}"
        );
        assert!(!c.exists());
    }
    assert_eq!(*engine.graph(), writers(&[("w", writer(&a)), ("x", writer(&b))]));
    assert_whole(engine, &[&a, &b]);
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    let error = engine.configure(&writers(&[("w", writer(&a)), ("x", writer(&a))])).unwrap_err().to_string();
    assert!(error.contains("a.pcap: app `w` writes it as well: it would be lost"), "{error}");
    // An engine that knows nothing of this one.
    let mut other = Engine::new(Settings::new().unwrap()).unwrap();
    other.configure(&writers(&[("w", writer(&a))])).unwrap();
    let error = engine.configure(&writers(&[("w", writer(&a))])).unwrap_err().to_string();
    assert!(error.contains("another app or process is writing to it"), "{error}");
    drop(other);
    ended(&writers(&[("w", writer(&a))])).stop();
    assert_eq!(records(&a), records(&capture("web.pcap")), "nothing was started");
}

#[test]
fn a_writer_of_another_name_goes_on_with_the_file() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.path("a.pcap"), scratch.path("b.pcapng"));
    let web = records(&capture("web.pcap"));
    let mut engine = ended(&writers(&[("w", writer(&a)), ("x", writer(&b))]));
    // Another format would need another file.
    let other = PcapWriter { format: Some(Format::Pcapng), ..writer(&a) };
    let error = engine.configure(&writers(&[("renamed", other), ("x", writer(&b))])).unwrap_err().to_string();
    assert!(error.contains("app `w` writes it until this change"), "{error}");
    // Both at once, each with the other's kind of name.
    let short = PcapWriter { snaplen: Some(1000), ..writer(&b) };
    let changes = engine.configure(&writers(&[("ww", short), ("xx", writer(&a))])).unwrap();
    assert_eq!(failed(&changes), [""; 0]);
    assert_eq!(changes.stopped, ["reader_w", "reader_x", "w", "x"]);
    assert!([&a, &b].iter().all(|path| records(path) == web), "what was written is there");
    engine.run_for(Duration::from_secs(20)).unwrap();
    assert!(engine.report().balanced());
    engine.stop();
    assert_eq!(records(&a), [&web[..], &web].concat());
    let both = records(&b);
    let (first, second) = both.split_at(web.len());
    assert!(first == web && second.len() == web.len());
    assert!(second.iter().all(|record| record.data.len() <= 1000));
}

#[test]
fn a_file_without_packets_is_of_no_linktype_yet() {
    let scratch = Scratch::new();
    let path = scratch.path("a.pcap");
    let mut graph = Graph::new();
    graph.app("w", writer(&path)).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    let mut raw = pcap(&[(1, 60, vec![0x45; 60])]);
    raw[20] = 101;
    let mut graph = Graph::new();
    let source = scratch.file("raw.pcap", &raw);
    graph.app("reader", PcapReader { path: source.clone(), ..PcapReader::default() }).unwrap();
    graph.app("v", writer(&path)).unwrap();
    graph.link("reader.output -> v.input").unwrap();
    engine.configure(&graph).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    engine.run_for(Duration::from_secs(20)).unwrap();
    engine.stop();
    assert_eq!(records(&path), records(&source));
}

/// A graph in which an app called `r` reads a file, and one called `w` writes one.
fn between(r: &str, from: &Path, w: &str, to: &Path) -> Graph {
    let mut graph = Graph::new();
    graph.app(r, PcapReader { path: from.to_owned(), ..PcapReader::default() }).unwrap();
    graph.app(w, writer(to)).unwrap();
    graph.link(&format!("{r}.output -> {w}.input")).unwrap();
    graph
}

fn refusal(graph: &Graph) -> String {
    Engine::new(Settings::new().unwrap()).unwrap().configure(graph).unwrap_err().to_string()
}

#[test]
fn a_capture_is_not_emptied_by_the_graph_that_reads_it() {
    let scratch = Scratch::new();
    let whole = std::fs::read(capture("web.pcap")).unwrap();
    let path = scratch.file("a.pcap", &whole);
    let [linked, symlinked] = ["linked.pcap", "symlinked.pcap"].map(|name| scratch.path(name));
    std::fs::hard_link(&path, &linked).unwrap();
    std::os::unix::fs::symlink("a.pcap", &symlinked).unwrap();
    for other in [&path, &linked, &symlinked, &scratch.path("./a.pcap")] {
        // The one of the lesser name starts first.
        for (r, w) in [("r", "w"), ("r", "a")] {
            let error = refusal(&between(r, &path, w, other));
            assert!(error.contains("it would be lost"), "{error}");
            assert!([&path, other].iter().all(|path| error.contains(&*path.to_string_lossy())), "{error}");
            assert!(std::fs::read(&path).unwrap() == whole, "{}", other.display());
        }
    }
    // When nobody reads it any more, it can be written.
    ended(&between("r", &path, "w", &scratch.path("b.pcap"))).stop();
    ended(&between("r", &scratch.path("b.pcap"), "w", &path)).stop();
    assert_eq!(records(&path), records(&capture("web.pcap")));
}

#[test]
fn a_reload_empties_no_capture_that_is_read() {
    let scratch = Scratch::new();
    let whole = std::fs::read(capture("web.pcap")).unwrap();
    let [a, b] = ["a.pcap", "b.pcap"].map(|name| scratch.file(name, &whole));
    let out = scratch.path("out.pcap");
    let mut engine = ended(&between("r", &a, "w", &out));
    // A new writer; a writer that changes; and one that changes before the reader does.
    let mut graph = between("r", &a, "w", &out);
    graph.app("v", writer(&a)).unwrap();
    let error = engine.configure(&graph).unwrap_err().to_string();
    assert!(error.contains("it would be lost"), "{error}");
    // What it reads, and what it has read until then.
    for (from, when) in [(&a, "as well"), (&b, "until this change")] {
        let error = engine.configure(&between("r", from, "w", &a)).unwrap_err().to_string();
        assert!(error.contains(&format!("app `r` reads it {when}: it would be lost")), "{error}");
    }
    assert_whole(engine, &[&out, &a]);
    let mut engine = ended(&between("r", &a, "a", &out));
    let error = engine.configure(&between("r", &b, "a", &b)).unwrap_err().to_string();
    assert!(error.contains("app `r` reads it as well: it would be lost"), "{error}");
    assert_whole(engine, &[&out, &a, &b]);
    assert!([a, b].iter().all(|path| std::fs::read(path).unwrap() == whole));
}

/// What two engines of one process do to each other.
#[test]
fn another_engine_empties_no_capture_that_is_read() {
    let scratch = Scratch::new();
    let whole = std::fs::read(capture("web.pcap")).unwrap();
    let [a, b] = ["a.pcap", "b.pcap"].map(|name| scratch.file(name, &whole));
    let mut reading = ended(&between("r", &a, "w", &scratch.path("out.pcap")));
    let mut writing = ended(&between("r", &b, "w", &scratch.path("another.pcap")));
    let error = refusal(&writers(&[("w", writer(&a))]));
    assert!(error.contains("a pcap_reader reads the same file"), "{error}");
    let changes = writing.configure(&between("r", &b, "w", &a)).unwrap();
    assert!(failed(&changes)[0].contains("a pcap_reader reads the same file"), "{changes:?}");
    // Doomed, and then wanted.
    let target = super::file::Target::open(&scratch.file("c.pcap", &whole)).unwrap();
    let changes = reading.configure(&between("r", target.path(), "w", &scratch.path("out.pcap"))).unwrap();
    assert!(failed(&changes)[0].contains("a pcap_writer writes the same file"), "{changes:?}");
    let error = { target }.begin().unwrap_err().to_string();
    assert!(error.contains("a pcap_reader was to read it"), "{error}");
    assert!(
        ["a.pcap", "b.pcap", "c.pcap"].iter().all(|name| std::fs::read(scratch.path(name)).unwrap() == whole)
    );
}

#[test]
fn a_refused_graph_leaves_no_empty_file() {
    let scratch = Scratch::new();
    let (new, none) = (scratch.path("new.pcap"), scratch.path("none.pcap"));
    let old = scratch.file("old.pcap", b"");
    for to in [&new, &old] {
        let error = refusal(&between("z", &none, "a", to));
        assert!(error.contains("none.pcap"), "{error}");
    }
    assert!(!new.exists() && old.exists());
    let error = refusal(&writers(&[("w", writer(&new)), ("x", writer(&new))]));
    assert!(error.contains("app `w` writes it as well") && !new.exists(), "{error}");
    // What somebody else has put there, or written, is not ours.
    for bytes in [&b""[..], b"x"] {
        let target = super::file::Target::open(&new).unwrap();
        if bytes.is_empty() {
            std::fs::remove_file(&new).unwrap();
        }
        std::fs::write(&new, bytes).unwrap();
        drop(target);
        assert_eq!(std::fs::read(&new).unwrap(), bytes);
        std::fs::remove_file(&new).unwrap();
    }
}

#[test]
fn what_a_file_held_before_goes_once_the_graph_is_taken_on() {
    let scratch = Scratch::new();
    let path = scratch.file("a.pcap", b"something longer than the header of a capture");
    let engine = ended(&writers(&[("w", writer(&path))]));
    assert_whole(engine, &[&path]);
}

/// A writer that fails at its third packet.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Fragile(PcapWriter);

struct Breaking(Running, u32);

impl Class for Fragile {
    const TYPE: &'static str = "fragile";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Breaking;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Breaking, OptionError> {
        Ok(Breaking(self.0.start(setup)?, 0))
    }
}

impl App for Breaking {
    fn roles(&self) -> Roles {
        self.0.roles().and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.1 += 1;
        assert!(self.1 < 3, "told to fail");
        self.0.push(io);
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        self.0.link(ports);
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.0.stop(io);
    }
}

#[test]
fn a_writer_that_failed_goes_on_behind_what_it_wrote() {
    let scratch = Scratch::new();
    for out in ["out.pcap", "out.pcapng"] {
        let out = scratch.path(out);
        let mut rig = Rig::new(Fragile(writer(&out)), &["input"], &[]);
        for number in 1..=3 {
            rig.send("input", [number; 60]);
            rig.breathe();
        }
        await_restart(&mut rig);
        rig.send("input", [4; 60]);
        rig.breathe();
        drop(rig);
        assert_eq!(records(&out).iter().map(|record| record.data[0]).collect::<Vec<_>>(), [1, 2, 4]);
    }
}

/// A writer whose disk is full after `done` bytes of its packet of a number, and that fails then, once for each path.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Torn {
    writer: PcapWriter,
    number: usize,
    done: usize,
}

struct Tearing {
    running: Running,
    torn: Torn,
    count: usize,
}

impl Class for Torn {
    const TYPE: &'static str = "torn";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Tearing;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Tearing, OptionError> {
        Ok(Tearing { running: self.writer.start(setup)?, torn: self.clone(), count: 0 })
    }
}

impl App for Tearing {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA)
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.running.push(io);
        self.count += 1;
        let Running { output, counters, .. } = &mut self.running;
        if self.count != self.torn.number || !is_first(&self.torn.writer.path) {
            return output.flush_in(&mut Patience::endless(), counters);
        }
        let buffer = &mut output.buffer;
        assert!(buffer.seal());
        let done = self.torn.done.min(buffer.next().len() - 1);
        let mut file = File::options().append(true).open(&self.torn.writer.path).unwrap();
        file.write_all(&buffer.next()[..done]).unwrap();
        buffer.take(done);
        output.fail(&ErrorKind::StorageFull.into(), counters);
        panic!("told to fail");
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        self.running.link(ports);
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        self.running.stop(io);
    }
}

/// Whether nobody has asked for this path yet.
fn is_first(path: &Path) -> bool {
    static ASKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    ASKED.lock().unwrap().insert(path.to_owned())
}

#[test]
fn a_writer_goes_on_without_what_a_full_disk_did_not_take() {
    let scratch = Scratch::new();
    // Nothing of the records, some of what comes before the packet, and all but its last byte.
    let cases = [1, 2].into_iter().flat_map(|number| [0, 10, 30, usize::MAX].map(|done| (number, done)));
    for (out, (number, done)) in
        ["out.pcap", "out.pcapng"].into_iter().flat_map(|out| cases.clone().map(move |case| (out, case)))
    {
        let out = scratch.path(&format!("{number}-{done}-{out}"));
        let torn = Torn { writer: writer(&out), number, done };
        let mut rig = Rig::new(torn, &["input"], &[]);
        for interface in 1..=number as u32 {
            let metadata = Metadata { linktype: 1, interface, precision: 6, ..Metadata::default() };
            rig.send_with("input", [interface as u8; 60], metadata);
            rig.breathe();
        }
        await_restart(&mut rig);
        for interface in [number as u32, 1] {
            let metadata = Metadata { linktype: 1, interface, precision: 6, ..Metadata::default() };
            rig.send_with("input", [9; 60], metadata);
        }
        // Each is written by itself by the writer that goes on.
        rig.breathe();
        drop(rig);
        let first: Vec<u8> = records(&out).iter().map(|record| record.data[0]).collect();
        let expected = [&[1][..number - 1], &[9, 9]].concat();
        assert_eq!(first, expected, "{}, packet {number}, {done} bytes", out.display());
    }
}

/// Waits until the app has failed, and has been started again.
fn await_restart(rig: &mut Rig) {
    let begin = Instant::now();
    while rig.report().apps[testkit::rig::APP].restarts == 0 {
        std::thread::sleep(Duration::from_millis(10));
        rig.advance(10_000_000);
        assert!(begin.elapsed() < Duration::from_secs(20), "it is not started again");
    }
}

#[test]
fn a_link_is_made_a_file_where_it_leads() {
    let scratch = Scratch::new();
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(target, scratch.path(name)).unwrap();
        scratch.path(name)
    };
    std::fs::create_dir(scratch.path("folder")).unwrap();
    let good = link("good.pcap", "folder/out.pcap");
    assert_eq!(obstacle(&good), None);
    let absent = scratch.path("absent");
    assert_eq!(
        obstacle(&link("bad.pcap", "absent/out.pcap")),
        Some(format!("there is no folder {}", absent.display()))
    );
}

#[test]
fn options_are_checked() {
    let error = |options: PcapWriter| options.check().unwrap_err().to_string();
    assert_eq!(error(PcapWriter::default()), "`path`: is not set: which file is to be written?");
    assert_eq!(
        error(PcapWriter { snaplen: Some(0), ..writer("a") }),
        "`snaplen`: 0 is not between 1 and 262144"
    );
    let wrong = toml::from_str::<PcapWriter>("path = 'a'\nformat = 'erf'").unwrap_err().to_string();
    assert!(wrong.contains("expected `pcap` or `pcapng`"), "{wrong}");
}
