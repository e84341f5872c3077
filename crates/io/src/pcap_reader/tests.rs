mod streams;

use super::pace::Pace;
use super::{Passes, PcapReader, Replay};
use crate::PcapWriter;
use crate::scratch::{Record, Scratch, capture, pcap, records};
use engine::shm::Counter;
use engine::{
    App, Class, ClockKind, ConfigureError, Engine, Fault, Graph, Io, MAX_PAYLOAD, NextEvent, OptionError,
    Ports, Settings, Setup, Timed,
};
use std::path::PathBuf;
use testkit::rig::{APP, Rig, START_NS};
use wire::LinkType;

/// Later than any packet: a rig tells capture time.
const LATER_NS: u64 = 5_000_000_000_000_000_000;

fn reader(path: impl Into<PathBuf>) -> PcapReader {
    PcapReader { path: path.into(), ..PcapReader::default() }
}

fn rig(class: PcapReader) -> Rig {
    let mut rig = Rig::new(class, &[], &["output"]);
    rig.advance(LATER_NS);
    rig
}

/// Breathes until nothing more comes. Each breath goes on to the time of the next packet.
fn all(rig: &mut Rig) -> Vec<testkit::rig::Received> {
    let mut received = rig.received("output");
    let mut silent = 0;
    while silent < 20 {
        rig.breathe();
        let more = rig.received("output");
        silent = if more.is_empty() { silent + 1 } else { 0 };
        received.extend(more);
    }
    received
}

#[test]
fn every_packet_comes_with_what_is_known_of_it() {
    for name in
        ["mixed.pcap", "ntp-nano.pcap", "router.pcapng", "tunnel.pcapng", "dns.pcap.zst", "smtp.pcap.gz"]
    {
        let received = all(&mut rig(reader(capture(name))));
        let expected = records(&capture(name));
        assert_eq!(received.len(), expected.len(), "{name}");
        for (packet, expected) in received.iter().zip(&expected) {
            assert_eq!(packet.data, expected.data, "{name}");
            let metadata = packet.metadata;
            assert_eq!(metadata.timestamp_ns, expected.timestamp_ns as u64, "{name}");
            assert_eq!(packet.data.len() as u32 + metadata.cut_len, expected.wire_len, "{name}");
            assert_eq!(u32::from(metadata.linktype), expected.linktype.value(), "{name}");
            let precision = if name.contains("nano") || name.ends_with("pcapng") { 9 } else { 6 };
            assert_eq!(metadata.precision, precision, "{name}");
        }
    }
}

#[test]
fn on_capture_time_packets_leave_when_their_time_has_come() {
    let us = |us: u64| us * 1000;
    let scratch = Scratch::new();
    let packets =
        [(10, 60, vec![1; 60]), (10, 60, vec![2; 60]), (25, 60, vec![3; 60]), (20, 60, vec![4; 60])];
    let late = packets.map(|(us, wire_len, data)| ((START_NS / 1_000_000_000) as u32, us, wire_len, data));
    let mut file = pcap(&[]);
    for (s, us, wire_len, data) in &late {
        for field in [*s, *us, data.len() as u32, *wire_len] {
            file.extend(field.to_le_bytes());
        }
        file.extend_from_slice(data);
    }
    let path = scratch.file("a.pcap", &file);
    let mut rig = Rig::new(PcapReader { passes: Passes::Times(2), ..reader(path) }, &[], &["output"]);
    let mut count_at = |step| {
        rig.advance(us(step));
        rig.breathe();
        rig.take("output").len()
    };
    assert_eq!([count_at(9), count_at(1), count_at(14), count_at(1)], [0, 2, 0, 4], "at 9, 10, 24 and 25 us");
    assert_eq!([count_at(14), count_at(1)], [0, 2], "at 39 and 40 us: the second pass began at 25 us");
}

#[test]
fn exact_replay_keeps_distances() {
    let mut pace = Pace::exact();
    let mut due_at = |now_ns, timestamp_ns| pace.is_due(now_ns, || timestamp_ns);
    assert!(due_at(1000, 77), "the first leaves at once");
    assert!(!due_at(1009, 87) && due_at(1010, 87));
    assert!(due_at(1010, 5), "one that is older than the first");
    pace.begin_pass();
    assert_eq!(pace.next_event(), NextEvent::At(1000));
    let mut due_at = |now_ns, timestamp_ns| pace.is_due(now_ns, || timestamp_ns);
    assert!(due_at(1010, 77), "the second pass begins with the end of the first");
    assert!(!due_at(1019, 87) && due_at(1020, 87));
    assert!(due_at(u64::MAX, u64::MAX));
}

#[test]
fn a_rate_is_kept() {
    let options =
        PcapReader { rate_pps: Some(1e6), passes: Passes::Forever, ..reader(capture("mixed.pcap")) };
    let mut rig = rig(options);
    rig.take("output");
    rig.advance(10_000_000);
    assert_eq!(all(&mut rig).len(), 10_000);
}

#[test]
fn passes_are_alike_from_memory_and_from_file() {
    let path = capture("mixed.pcap");
    let once = all(&mut rig(reader(&path)));
    let mut rig = rig(PcapReader { passes: Passes::Times(3), ..reader(&path) });
    let thrice = all(&mut rig);
    assert_eq!(thrice.len(), 3 * once.len());
    assert!(thrice.chunks(once.len()).all(|pass| pass == once));
    assert_eq!(rig.counter("passes"), 3);
}

#[test]
fn a_count_ends_an_endless_replay() {
    let mut rig =
        rig(PcapReader { passes: Passes::Forever, count: Some(1234), ..reader(capture("icmp.pcap")) });
    assert_eq!(all(&mut rig).len(), 1234);
}

#[test]
fn an_empty_capture_read_for_ever_is_finished() {
    let scratch = Scratch::new();
    let path = scratch.file("a.pcap", &pcap(&[]));
    let mut rig = rig(PcapReader { passes: Passes::Forever, ..reader(path) });
    assert_eq!((all(&mut rig).len(), rig.counter("passes")), (0, 1));
}

#[test]
fn what_stands_before_the_damage_is_delivered() {
    let scratch = Scratch::new();
    let whole = std::fs::read(capture("web.pcap")).unwrap();
    let count = records(&capture("web.pcap")).len();
    let path = scratch.file("cut.pcap", &whole[..whole.len() - 1]);
    let mut rig = rig(PcapReader { passes: Passes::Times(5), ..reader(&path) });
    assert_eq!(all(&mut rig).len(), count - 1);
    assert_eq!(rig.counter("damaged"), 1);
    let text = rig.report().apps[testkit::rig::APP].text.clone().unwrap();
    assert!(text.contains("cut.pcap") && text.contains("the file ends inside a packet record"), "{text}");
}

#[test]
fn linktypes_that_are_not_ethernet_are_told() {
    for (name, linktype) in [
        ("web.pcap", None),
        ("router.pcapng", None),
        ("raw.pcap", Some("RAW")),
        ("cooked-sll2.pcap", Some("LINUX_SLL2")),
    ] {
        for passes in [1, 2] {
            let mut rig = rig(PcapReader { passes: Passes::Times(passes), ..reader(capture(name)) });
            all(&mut rig);
            let app = rig.report().apps.remove(APP).unwrap();
            let text = linktype.map(|linktype| {
                let path = capture(name).display().to_string();
                format!("{path}: packets of link type {linktype}, which apps that expect Ethernet (EN10MB) misread")
            });
            assert_eq!((app.text, app.has_failed), (text, false), "{name}");
        }
    }
}

/// The address family before a packet is in the byte order of who captured it.
#[test]
fn a_loopback_of_the_other_byte_order_is_told_from_one_of_this() {
    let scratch = Scratch::new();
    for (name, order) in
        [("little.pcap", u32::to_le_bytes as fn(u32) -> [u8; 4]), ("big.pcap", u32::to_be_bytes)]
    {
        let header = [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 0];
        let mut file = header.map(order).concat();
        // Two numbers of 16 bits.
        file[4..8].copy_from_slice(if name == "big.pcap" { &[0, 2, 0, 4] } else { &[2, 0, 4, 0] });
        file.extend([1, 0, 24, 24].map(order).concat());
        file.extend(order(2));
        file.extend([&[0x45, 0, 0, 20][..], &[0; 16]].concat());
        let received = all(&mut rig(reader(scratch.file(name, &file))));
        let is_native = (name == "big.pcap") == cfg!(target_endian = "big");
        let expected = if is_native { LinkType::NULL } else { LinkType::LOOP };
        assert_eq!(received.len(), 1, "{name}");
        assert_eq!(u32::from(received[0].metadata.linktype), expected.value(), "{name}");
    }
}

#[test]
fn metadata_is_kept_unless_only_ethernet_frames_can_come() {
    for (name, keeps) in [
        ("web.pcap", false),
        ("smtp.pcap.gz", false),
        ("router.pcapng", true),
        ("raw.pcap", true),
        ("cooked-sll2.pcap", true),
    ] {
        let mut graph = Graph::new();
        graph.app("reader", reader(capture(name))).unwrap();
        graph.app("sink", Sink::default()).unwrap();
        graph.link("reader.output -> sink.input").unwrap();
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap();
        engine.breathe();
        assert_eq!(engine.report().drops.get("known").is_some_and(|&count| count > 0), keeps, "{name}");
    }
}

/// What packets run into that were captured in part, 96 bytes of 1400 each.
fn after_a_short_capture(class: impl Class, port: &str) -> engine::Report {
    let scratch = Scratch::new();
    let packets: Vec<_> = (0..10).map(|i| (i, 1400, vec![0; 96])).collect();
    let mut graph = Graph::new();
    graph.app("reader", reader(scratch.file("short.pcap", &pcap(&packets)))).unwrap();
    graph.app(APP, class).unwrap();
    graph.app("sink", Sink::default()).unwrap();
    graph.link(&format!("reader.output -> {APP}.input")).unwrap();
    graph.link(&format!("{APP}.{port} -> sink.input")).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    (0..2).for_each(|_| _ = engine.breathe());
    let report = engine.report();
    assert!(report.balanced());
    report
}

#[test]
fn len_is_the_length_on_the_wire_whoever_else_asks_for_metadata() {
    let filter = |filter: &str| after_a_short_capture(apps::Filter::new(filter), "output").drops;
    assert_eq!(filter("greater 1000").get("known"), Some(&10));
    assert_eq!(filter("less 1000").get("rejected"), Some(&10));
    assert_eq!(filter("not tcp").get("unknown"), Some(&10), "metadata is kept for nobody");
    let list = |filter| after_a_short_capture(apps::Match::new([("long", filter)]), "long").drops;
    assert_eq!(list("len > 1000").get("known"), Some(&10));
    assert_eq!(list("not tcp").get("unknown"), Some(&10));
    let count = |filter: &str| {
        let count = vec![apps::Count { name: "some".to_owned(), filter: filter.to_owned() }];
        let report =
            after_a_short_capture(apps::PacketCounter { count, ..apps::PacketCounter::default() }, "output");
        let counters = report.apps[APP].counters.clone();
        let count = counters.iter().find(|(name, ..)| name == "some_packets").unwrap().2;
        (count, report.drops.contains_key("known"))
    };
    assert_eq!(count("len = 1400"), (10, true));
    assert_eq!(count("not tcp"), (10, false));
}

/// Packets end here: those whose metadata is known, and the others.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
struct Sink {}

struct Sunk {
    known: Counter,
    unknown: Counter,
}

impl Class for Sink {
    const TYPE: &'static str = "sink";
    const OUTPUTS: Ports = Ports::NONE;
    type App = Sunk;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Sunk, OptionError> {
        Ok(Sunk { known: setup.drops("known"), unknown: setup.drops("unknown") })
    }
}

impl App for Sunk {
    fn push(&mut self, io: &mut Io<'_>) {
        let counter = if io.pool.uses_metadata() { &self.known } else { &self.unknown };
        while let Some(burst) = io.inputs[0].burst() {
            io.pool.free_burst(burst, counter);
        }
    }
}

#[test]
fn a_capture_of_another_linktype_in_the_place_of_the_first_is_dropped() {
    let scratch = Scratch::new();
    let packets: Vec<_> = (0..200).map(|i| (i, 9000, vec![i as u8; 9000])).collect();
    let path = scratch.file("too-large-for-memory.pcap", &pcap(&packets));
    let mut graph = Graph::new();
    graph.app("reader", PcapReader { passes: Passes::Times(2), ..reader(&path) }).unwrap();
    graph.app("sink", Sink::default()).unwrap();
    graph.link("reader.output -> sink.input").unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph).unwrap();
    engine.breathe();
    let mut raw = pcap(&packets);
    raw[20] = 101;
    std::fs::rename(scratch.file("raw.pcap", &raw), &path).unwrap();
    for _ in 0..20 {
        engine.breathe();
    }
    let report = engine.report();
    let count = |reason: &str| report.drops.get(reason).copied().unwrap_or(0);
    assert_eq!([count("unknown"), count("known"), count("wrong_linktype")], [200, 0, 200]);
    assert!(report.apps["reader"].text.as_deref().unwrap().contains("link type RAW"));
}

/// Link types of a pcap file have 26 bits, those of packets 16: 65536 above Ethernet is not Ethernet.
#[test]
fn a_linktype_that_packets_cannot_have_is_refused() {
    let scratch = Scratch::new();
    let sound = pcap(&[(1, 60, vec![1; 60])]);
    let mut high = sound.clone();
    high[22] = 1;
    let (alone, joined) = (scratch.file("high.pcap", &high), [sound, high].concat());
    let mut graph = Graph::new();
    graph.app("reader", reader(&alone)).unwrap();
    let error = Engine::new(Settings::new().unwrap()).unwrap().configure(&graph).unwrap_err().to_string();
    let what = ": packets of link type 65537, but networks of apps know such up to 65535 only";
    assert!(error.contains(&format!("{}{what}", alone.display())), "{error}");

    let path = scratch.file("joined.pcap", &joined);
    let mut rig = rig(reader(&path));
    assert_eq!(all(&mut rig).len(), 1);
    let app = rig.report().apps.remove(APP).unwrap();
    assert_eq!((app.text, app.has_failed), (Some(format!("{}{what}", path.display())), true));
}

#[test]
fn packets_of_any_length_pass_up_to_the_longest() {
    let scratch = Scratch::new();
    let lens = [0, 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 65_535, 65_536, 65_549, 60];
    let packets: Vec<_> = lens.iter().map(|&len| (1, 70_000, vec![7; len])).collect();
    let path = scratch.file("a.pcap", &pcap(&packets));
    let mut rig = rig(reader(path));
    let received = all(&mut rig);
    let came: Vec<_> = received.iter().map(|packet| packet.data.len()).collect();
    assert_eq!(came, [0, 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 65_535, 60]);
    assert!(received.iter().all(|packet| packet.data.len() as u32 + packet.metadata.cut_len == 70_000));
    assert_eq!(rig.counter("too_long"), 2);
    let text = rig.report().apps[testkit::rig::APP].text.clone().unwrap();
    assert!(text.ends_with("2 packets longer than 65535 bytes were dropped"), "{text}");
}

#[test]
fn large_packets_that_run_out_are_waited_for() {
    let scratch = Scratch::new();
    let packets: Vec<_> = (0..200).map(|i| (i, 70_000, vec![i as u8; 10_000 + i as usize * 100])).collect();
    let path = scratch.file("a.pcap", &pcap(&packets));
    let mut rig = Rig::with_large(reader(path), &[], &["output"], 100, 3);
    let received = all(&mut rig);
    assert_eq!(received.len(), 200);
    for (i, packet) in received.iter().enumerate() {
        assert!(packet.data == vec![i as u8; 10_000 + i * 100], "{i}");
    }
    assert_eq!(rig.counter("too_long"), 0);
}

#[test]
fn without_large_packets_long_ones_are_dropped_and_counted() {
    let scratch = Scratch::new();
    let packets: Vec<_> =
        [60, MAX_PAYLOAD, MAX_PAYLOAD + 1, 60_000, 60].map(|len| (1, 70_000, vec![7; len])).into();
    let path = scratch.file("a.pcap", &pcap(&packets));
    let mut rig = Rig::with_large(reader(path), &[], &["output"], 100, 0);
    assert_eq!((all(&mut rig).len(), rig.counter("too_long")), (3, 2));
    let text = rig.report().apps[testkit::rig::APP].text.clone().unwrap();
    assert!(text.ends_with("2 packets longer than 10240 bytes were dropped"), "{text}");
}

#[test]
fn a_small_pool_loses_nothing() {
    let path = capture("web.pcap");
    let mut rig = Rig::with(reader(&path), &[], &["output"], 3);
    rig.advance(LATER_NS);
    let received = all(&mut rig);
    assert_eq!(received.len(), records(&path).len());
}

#[test]
fn options_are_checked() {
    let error = |options: &str| {
        let value = toml_value(options);
        match value {
            Err(error) => error,
            Ok(options) => options.check().unwrap_err().to_string(),
        }
    };
    assert_eq!(error(""), "`path`: is not set: which capture is to be read?");
    assert_eq!(error("path = 'a'\nloop = 0"), "`loop`: a capture is read at least once: use 1 or more");
    assert!(error("path = 'a'\nloop = 'often'").contains("a number of passes, or \"forever\""));
    assert!(error("path = 'a'\nloop = -1").contains("a number of passes, or \"forever\""));
    assert!(error("path = 'a'\nreplay = 'exactly'").contains("expected `fast` or `exact`"));
    assert!(error("path = 'a'\nrate_pps = -5").contains("`rate_pps`: -5 is not between"));
    assert_eq!(
        error("path = 'a'\nreplay = 'exact'\nrate_mbps = 1"),
        "`replay`: \"exact\" and a rate exclude each other"
    );
    let good = toml_value("path = 'a'\nloop = 'forever'\nreplay = 'exact'\ncount = 3").unwrap();
    let expected =
        PcapReader { passes: Passes::Forever, replay: Replay::Exact, count: Some(3), ..reader("a") };
    assert_eq!(good, expected);
}

fn toml_value(options: &str) -> Result<PcapReader, String> {
    toml::from_str(options).map_err(|error| error.to_string())
}

#[test]
fn what_cannot_be_opened_is_named() {
    let scratch = Scratch::new();
    let no_capture = scratch.file("a.pcap", b"Hello, world");
    let (empty, cut) = (scratch.file("empty.pcap", b""), scratch.file("cut.pcap", b"\xa1\xb2\xc3\xd4\0\x02"));
    let cases = [
        (scratch.path("none.pcap"), "cannot open", Fault::System),
        (std::env::temp_dir(), "directory", Fault::System),
        (no_capture, "not a pcap or pcapng capture", Fault::Content),
        (empty, "empty", Fault::Content),
        (cut, "ends inside a file header", Fault::Content),
    ];
    for (path, message, fault) in cases {
        let mut graph = engine::Graph::new();
        graph.app("reader", reader(&path)).unwrap();
        let mut engine = engine::Engine::new(engine::Settings::new().unwrap()).unwrap();
        let ConfigureError::App { error, .. } = engine.configure(&graph).unwrap_err() else { panic!() };
        assert_eq!(error.fault, fault, "{error}");
        let error = error.to_string();
        assert!(error.contains(message) && error.contains(&path.display().to_string()), "{error}");
    }
}

/// Leaves packets in the link until a time of the clock.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Gate {
    wait_ns: u64,
}

#[derive(Debug)]
struct Waiting {
    wait_ns: u64,
    until_ns: Option<u64>,
}

impl Class for Gate {
    const TYPE: &'static str = "gate";
    type App = Waiting;

    fn start(&self, _: &mut Setup<'_>) -> Result<Waiting, OptionError> {
        Ok(Waiting { wait_ns: self.wait_ns, until_ns: None })
    }
}

impl App for Waiting {
    fn push(&mut self, io: &mut Io<'_>) {
        let until_ns = *self.until_ns.get_or_insert(io.now_ns + self.wait_ns);
        if io.now_ns >= until_ns {
            let (input, output) = io.through();
            input.burst().into_iter().for_each(|burst| output.send(burst));
        }
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Waiting {
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.until_ns)
    }
}

#[test]
fn capture_time_goes_on_while_the_link_is_full_or_memory_is_out() {
    let scratch = Scratch::new();
    let packets: Vec<_> = (0..3000).map(|us| (us, 60, vec![1; 60])).collect();
    let path = scratch.file("a.pcap", &pcap(&packets));
    for (size, rate_pps) in [(4096, None), (4096, Some(1e6)), (500, None)] {
        let mut graph = Graph::new();
        graph.app("reader", PcapReader { rate_pps, ..reader(&path) }).unwrap();
        graph.app("gate", Gate { wait_ns: 1_000_000_000 }).unwrap();
        graph.link("reader.output -> gate.input").unwrap();
        let settings = Settings { clock: ClockKind::Capture, packets: size, ..Settings::new().unwrap() };
        let mut engine = Engine::new(settings).unwrap();
        engine.configure(&graph).unwrap();
        engine.run_for(std::time::Duration::from_secs(20)).unwrap();
        let report = engine.report();
        assert!(report.balanced());
        assert_eq!(report.drops.get("unlinked"), Some(&3000), "{report:#?}");
        engine.stop();
    }
}

/// What sources with a rate count from 1970 is past when the first capture comes.
#[test]
fn a_first_capture_that_a_reload_adds_sets_the_time() {
    let scratch = Scratch::new();
    // A thousand seconds later: not a time that the synth comes to by itself.
    let packets: Vec<_> = (0..20).map(|us| (1_000_000_000 + us, 60, vec![1; 60])).collect();
    let (from, to) = (scratch.file("from.pcap", &pcap(&packets)), scratch.path("to.pcap"));
    let mut graph = Graph::new();
    graph.app("synth", apps::Synth { rate_pps: Some(1000.0), ..apps::Synth::default() }).unwrap();
    graph.app("join", apps::Join {}).unwrap();
    graph.app("writer", PcapWriter { path: to.clone(), ..PcapWriter::default() }).unwrap();
    graph.link("synth.output -> join.synth").unwrap();
    graph.link("join.output -> writer.input").unwrap();
    let settings = Settings { clock: ClockKind::Capture, ..Settings::new().unwrap() };
    let mut engine = Engine::new(settings).unwrap();
    engine.configure(&graph).unwrap();
    (0..100).for_each(|_| _ = engine.breathe());
    graph.app("reader", reader(&from)).unwrap();
    graph.link("reader.output -> join.reader").unwrap();
    engine.configure(&graph).unwrap();
    (0..100).for_each(|_| _ = engine.breathe());
    engine.stop();
    assert!(engine.report().balanced());
    let written = records(&to);
    let is_replayed = |record: &&Record| record.data == [1; 60];
    assert_eq!(written.iter().filter(is_replayed).count(), packets.len());
    let made_ns: Vec<i64> =
        written.iter().filter(|record| !is_replayed(record)).map(|record| record.timestamp_ns).collect();
    assert!(made_ns.is_sorted(), "{made_ns:?}");
    // In 100 breaths a packet a millisecond, and then from the first of the capture on.
    let (second_ns, begin_ns) = (1_000_000_000, 1_000_000_000_000);
    assert!(made_ns.iter().all(|&ns| ns < second_ns || ns >= begin_ns), "{made_ns:?}");
    assert!(made_ns.iter().any(|&ns| ns >= begin_ns));
}

/// Packets count their times from 1970.
#[test]
fn times_before_1970_are_counted_and_told() {
    let scratch = Scratch::new();
    let file = scratch.path("early.pcapng");
    let block = |kind: u32, body: &[u8]| {
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &len, body, &len].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // One second before 1970, by `if_tsoffset`.
    let interface = block(1, &words(&[1, 0, 8 << 16 | 14, u32::MAX, u32::MAX, 0]));
    let packet = |us: u32| block(6, &words(&[0, 0, us, 4, 4, 0]));
    std::fs::write(&file, [section, interface, packet(5), packet(999_999), packet(1_000_000)].concat())
        .unwrap();
    for passes in [1, 2] {
        let mut rig = rig(PcapReader { passes: Passes::Times(passes), ..reader(&file) });
        let received = all(&mut rig);
        assert!(received.iter().all(|packet| packet.metadata.timestamp_ns == 0));
        assert_eq!((received.len() as u64, rig.counter("changed_times")), (3 * passes, 2 * passes));
        let app = &rig.report().apps[APP];
        assert!(app.has_failed);
        let text = app.text.as_deref().unwrap();
        assert!(text.contains(&format!("{} packets have times before 1970", 2 * passes)), "{text}");
    }
}
