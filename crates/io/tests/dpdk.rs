//! Devices of DPDK that are software, each packet counted and compared. Skipped aloud where DPDK is not there.

use apps::{PacketCounter, Sink, Source};
use engine::shm::Counter;
use engine::{App, Class, Engine, Graph, Io, OptionError, Report, Settings, Setup};
use io::{Dpdk, PcapReader, PcapWriter};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use testkit::files::Scratch;
use testkit::netns::{Namespace, PATIENCE};

/// DPDK has one set of ports in a process.
static TURN: Mutex<()> = Mutex::new(());

fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match io::dpdk::version() {
        Ok(_) => Some(turn),
        Err(why) => {
            testkit::say(format_args!(
                "SKIPPED: {test}: {why}: install libdpdk-dev (Debian), `make packages-dpdk`"
            ));
            None
        }
    }
}

/// Set where these tests run again, in huge pages.
const HUGE_PAGES: &str = "SLUSS_TEST_HUGE_PAGES";

/// DPDK is set up once a process, so this is one more.
#[test]
fn all_is_the_same_in_huge_pages() {
    const PAGES: &str = "/proc/sys/vm/nr_hugepages";
    if std::env::var_os(HUGE_PAGES).is_some() {
        return;
    }
    let Some(_turn) = turn("huge pages") else { return };
    let before = fs::read_to_string(PAGES).unwrap_or_default();
    let free = || {
        let text = fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    let wanted = before.trim().parse().unwrap_or(0) + 64_u64.saturating_sub(free());
    if free() < 64 && fs::write(PAGES, wanted.to_string()).is_err() || free() < 40 {
        testkit::say(
            "SKIPPED: DPDK in huge pages: no memory for them, or no right to set them aside: run as root",
        );
        return;
    }
    let me = std::env::current_exe().unwrap();
    let again = Command::new(me).env(HUGE_PAGES, "1").args(["--test-threads=1"]).output();
    let _ = fs::write(PAGES, before);
    let again = again.unwrap();
    assert!(
        again.status.success(),
        "{}{}",
        String::from_utf8_lossy(&again.stdout),
        String::from_utf8_lossy(&again.stderr)
    );
}

fn dpdk(device: &str) -> Dpdk {
    let eal = if std::env::var_os(HUGE_PAGES).is_some() { Vec::new() } else { vec!["--no-huge".to_owned()] };
    Dpdk { device: device.to_owned(), eal, ..Dpdk::default() }
}

fn graph(apps: Vec<(&str, engine::Config)>, links: &[&str]) -> Graph {
    let mut graph = Graph::new();
    for (name, config) in apps {
        graph.add(name, config).unwrap();
    }
    links.iter().for_each(|link| graph.link(link).unwrap());
    graph
}

fn app(class: impl Class) -> engine::Config {
    engine::Config::new(class)
}

/// Runs a graph until `is_over`, or patience ends; every packet is accounted for, then and after the end.
fn run(graph: &Graph, workers: usize, is_over: impl FnMut(Duration) -> bool) -> (Report, Report) {
    run_with(Settings { workers, ..Settings::new().unwrap() }, graph, is_over)
}

fn run_with(
    settings: Settings,
    graph: &Graph,
    mut is_over: impl FnMut(Duration) -> bool,
) -> (Report, Report) {
    let mut engine = Engine::new(settings).unwrap();
    engine.configure(graph).unwrap_or_else(|error| panic!("{error}"));
    engine.run(|status| status.elapsed < PATIENCE && !is_over(status.elapsed)).unwrap();
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    engine.stop();
    let last = engine.report();
    assert!(last.balanced(), "after the end: {:?}", last.imbalances);
    assert!(last.pool.free == last.pool.total && last.pool.lent == 0, "all is at home: {:?}", last.pool);
    let dropped: u64 = last.drops.values().sum();
    assert_eq!(last.pool.allocated, last.delivered + dropped, "what came has gone: {:?}", last.drops);
    (report, last)
}

/// What an app had counted when the run was over, before anything was stopped.
fn count(report: &Report, app: &str, name: &str) -> u64 {
    let counters = &report.apps[app].counters;
    counters.iter().find(|(known, ..)| known == name).map_or(0, |&(.., value)| value)
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

/// The packets of a capture.
fn packets(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = capture::Reader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        packets.push(packet.data.to_vec());
    }
    packets
}

#[test]
fn what_a_null_device_makes_goes_to_another() {
    let Some(_turn) = turn("null devices") else { return };
    let graph = graph(
        vec![
            ("in", app(dpdk("net_null0,size=64,copy=0"))),
            ("count", app(PacketCounter::default())),
            ("out", app(dpdk("net_null1,size=64,copy=1"))),
        ],
        &["in.output -> count.input", "count.output -> out.input"],
    );
    let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(200));
    let sent = count(&report, "out", "delivered");
    assert!(sent > 1000 && ["in", "out"].iter().all(|app| count(&report, app, "copies") == 0), "{report:#?}");
    assert_eq!(count(&report, "count", "bytes"), 64 * count(&report, "count", "packets"));
    let device = report.apps["in"].device.clone().unwrap();
    let has_huge_pages = std::env::var_os(HUGE_PAGES).is_some();
    let memory = if has_huge_pages { "huge pages" } else { "no huge pages" };
    assert_eq!(
        (device.mode.as_str(), device.memory),
        (&*format!("DPDK net_null, zero copy, {memory}"), Some(memory))
    );
    assert!(device.is_zero_copy && device.is_up == Some(true), "{device:?}");
    assert_eq!(report.apps["count"].device, None);
}

#[test]
fn a_capture_comes_and_goes_byte_for_byte() {
    let Some(_turn) = turn("devices that are captures") else { return };
    let folder = Scratch::new();
    let input = capture("dhcp.pcap");
    let (out, unused) = (folder.path("out.pcap"), folder.path("unused.pcap"));
    let device =
        |name: &str, tx: &Path| dpdk(&format!("{name},rx_pcap={},tx_pcap={}", input.display(), tx.display()));
    let expected = packets(&input);
    let graph = graph(
        vec![("in", app(device("net_pcap0", &unused))), ("out", app(device("net_pcap1", &out)))],
        &["in.output -> out.input"],
    );
    let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(300));
    assert_eq!(["in", "out"].map(|app| count(&report, app, "copies")), [0, 0]);
    assert_eq!(count(&report, "out", "delivered"), expected.len() as u64);
    assert!(packets(&out) == expected);
}

#[test]
fn a_ring_gives_back_what_it_is_given() {
    let Some(_turn) = turn("rings") else { return };
    for workers in [1, 2] {
        let folder = Scratch::new();
        let (input, output) = (capture("gre.pcap"), folder.path("out.pcap"));
        let expected = packets(&input);
        let reader = PcapReader { path: input, for_any_linktype: true, ..PcapReader::default() };
        let writer = PcapWriter { path: output.clone(), ..PcapWriter::default() };
        let graph = graph(
            vec![("in", app(reader)), ("ring", app(dpdk("net_ring0"))), ("out", app(writer))],
            &["in.output -> ring.input", "ring.output -> out.input"],
        );
        let (report, _) = run(&graph, workers, |elapsed| elapsed > Duration::from_millis(300));
        assert_eq!(count(&report, "ring", "delivered"), expected.len() as u64);
        assert_eq!((count(&report, "ring", "copies"), report.pool.lent), (0, 0));
        assert!(packets(&output) == expected, "{workers} workers");
    }
}

/// So few that the cache of a thread holds them all.
#[test]
fn few_packets_go_around() {
    let Some(_turn) = turn("few packets") else { return };
    let [input, output] = ["net_null4", "net_null5"].map(|name| app(dpdk(&format!("{name},size=64,copy=0"))));
    let graph = graph(vec![("in", input), ("out", output)], &["in.output -> out.input"]);
    for packets in [1, 48, 100] {
        let settings = Settings { workers: 1, packets, ..Settings::new().unwrap() };
        let (report, _) = run_with(settings, &graph, |elapsed| elapsed > Duration::from_millis(100));
        assert!(count(&report, "out", "delivered") > 1000, "{packets}: {report:?}");
    }
}

/// A ring that nobody empties fills: its source is slowed down, and what never leaves is counted.
#[test]
fn a_ring_that_fills_holds_its_source_up() {
    let Some(_turn) = turn("a ring that fills") else { return };
    let source = Source { size: 60, ..Source::default() };
    let graph =
        graph(vec![("in", app(source)), ("ring", app(dpdk("net_ring1")))], &["in.output -> ring.input"]);
    let (report, last) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(200));
    let (sent, lost) =
        (count(&report, "ring", "delivered"), last.drops.get("no_buffers").copied().unwrap_or(0));
    assert!((500..5000).contains(&sent), "{sent} fill it");
    assert_eq!(report.pool.lent as u64, sent, "the ring has their memory");
    assert!(lost > 0 && lost < 3000, "{lost} waited");
    assert_eq!(report.apps["ring"].state.as_str(), "running");
}

/// Longer than any usual packet, and with more room before them than a new packet has.
#[test]
fn long_frames_and_frames_with_new_headers_go_through_a_ring() {
    let Some(_turn) = turn("long frames") else { return };
    for (size, headers) in
        [(20_000, 0), (60, 2), (60, 126), (60, 400), (10_200, 30), (10_240, 510), (1500, 1001)]
    {
        let graph = graph(
            vec![
                ("in", app(Source { size, count: Some(500) })),
                ("before", app(Headers { before: headers, after: 0 })),
                ("ring", app(dpdk("net_ring2"))),
                ("after", app(Headers { before: 0, after: headers })),
                ("count", app(PacketCounter::default())),
                ("rest", app(Sink::default())),
            ],
            &[
                "in.output -> before.input",
                "before.output -> ring.input",
                "ring.output -> after.input",
                "after.output -> count.input",
                "count.output -> rest.input",
            ],
        );
        let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(100));
        let came = count(&report, "count", "packets");
        assert_eq!(
            (came, count(&report, "count", "bytes")),
            (500, 500 * size as u64),
            "{size} {headers}: {report:#?}"
        );
        assert_eq!(
            (count(&report, "after", "wrong"), count(&report, "ring", "copies")),
            (0, 0),
            "{size} {headers}"
        );
    }
}

/// Puts bytes before each packet, or takes them off and compares them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Headers {
    before: usize,
    after: usize,
}

struct RunningHeaders {
    options: Headers,
    wrong: Counter,
}

impl Class for Headers {
    const TYPE: &'static str = "headers";
    type App = RunningHeaders;

    fn start(&self, setup: &mut Setup<'_>) -> Result<RunningHeaders, OptionError> {
        Ok(RunningHeaders { options: self.clone(), wrong: setup.drops("wrong") })
    }
}

impl App for RunningHeaders {
    fn push(&mut self, io: &mut Io<'_>) {
        let bytes: Vec<u8> = (0..1024).map(|at| (at * 7 + 3) as u8).collect();
        let Headers { before, after } = self.options;
        while let Some(burst) = io.inputs[0].burst() {
            for mut packet in burst {
                let len = packet.len() + before;
                let has_room = io.pool.make_room(&mut packet, len);
                if has_room
                    && packet.prepend(&bytes[..before]).is_ok()
                    && packet.data()[..after] == bytes[..after]
                {
                    packet.trim_front(after);
                    io.outputs[0].put(packet);
                } else {
                    io.pool.free(packet, &self.wrong);
                }
            }
        }
    }
}

#[test]
fn frames_that_are_too_long_for_a_wire_are_counted() {
    let Some(_turn) = turn("long frames for a wire") else { return };
    let Some((_namespaces, [here])) = Namespace::some("dpdk: long frames") else { return };
    here.enter(|| {
        for (size, are_sent) in [(1514, true), (1600, false), (5000, false)] {
            let graph = graph(
                vec![
                    ("in", app(Source { size, count: Some(200) })),
                    ("out", app(dpdk("net_tap2,iface=dt2"))),
                ],
                &["in.output -> out.input"],
            );
            let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(300));
            let counts = ["delivered", "too_long"].map(|name| count(&report, "out", name));
            assert_eq!(counts, if are_sent { [200, 0] } else { [0, 200] }, "{size}");
        }
    });
}

#[test]
fn two_queues_of_a_device_have_two_apps() {
    let Some(_turn) = turn("two queues") else { return };
    let queue = |queue| Dpdk { queues: 2, queue, ..dpdk("net_null3,size=64") };
    let graph = graph(
        vec![
            ("a", app(queue(0))),
            ("b", app(queue(1))),
            ("sink_a", app(Sink::default())),
            ("sink_b", app(Sink::default())),
        ],
        &["a.output -> sink_a.input", "b.output -> sink_b.input"],
    );
    let (report, _) = run(&graph, 2, |elapsed| elapsed > Duration::from_millis(200));
    assert!(report.delivered > 2000 && report.links.iter().all(|link| link.rxpackets > 1000), "{report:#?}");
}

#[test]
fn two_kernels_reach_one_another_through_taps() {
    let Some(_turn) = turn("taps") else { return };
    let Some((_namespaces, [left, right])) = Namespace::some_with_ping("dpdk: taps") else { return };
    left.enter(|| {
        let graph = graph(
            vec![("a", app(dpdk("net_tap0,iface=dt0"))), ("b", app(dpdk("net_tap1,iface=dt1")))],
            &["a.output -> b.input", "b.output -> a.input"],
        );
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
        left.run(&format!("ip link set dev dt1 netns {}", right.pid()));
        left.run("ip address add 192.0.2.1/24 dev dt0");
        right.run("ip address add 192.0.2.2/24 dev dt1");
        left.run("ip link set dev dt0 up");
        right.run("ip link set dev dt1 up");
        let mut ping = left.command("ping -c 5 -i 0.2 -W 5 192.0.2.2");
        let mut ping = ping.stdout(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        engine.run(|_| begin.elapsed() < PATIENCE && ping.try_wait().unwrap().is_none()).unwrap();
        let output = ping.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(" 0% packet loss"), "{text}");
        let report = engine.report();
        assert!(report.balanced() && report.delivered >= 10, "{report:#?}");
        // The first frame of each comes in a buffer of DPDK's.
        assert!(["a", "b"].iter().all(|app| count(&report, app, "copies") <= 1), "{report:#?}");
        assert!(report.apps["a"].device.as_ref().is_some_and(|device| device.is_zero_copy));
        engine.stop();
        let last = engine.report();
        assert!(last.balanced() && last.pool.free == last.pool.total, "{last:#?}");
    });
}

/// A capture goes from `from` to `to` on the one way, and another on the other.
fn cross(from: Dpdk, to: Dpdk, names: [&str; 2], copies: [bool; 2]) {
    let folder = Scratch::new();
    let inputs = ["dhcp.pcap", "gre.pcap"].map(capture);
    let outputs = ["there.pcap", "back.pcap"].map(|name| folder.path(name));
    let expected = inputs.clone().map(|path| packets(&path));
    let reader =
        |path: &Path| PcapReader { path: path.to_owned(), for_any_linktype: true, ..PcapReader::default() };
    let writer = |path: &Path| PcapWriter { path: path.to_owned(), ..PcapWriter::default() };
    let [a, b] = names;
    let graph = graph(
        vec![
            (a, app(from)),
            (b, app(to)),
            ("in_a", app(reader(&inputs[0]))),
            ("in_b", app(reader(&inputs[1]))),
            ("out_a", app(writer(&outputs[1]))),
            ("out_b", app(writer(&outputs[0]))),
        ],
        &[
            &format!("in_a.output -> {a}.input"),
            &format!("{b}.output -> out_b.input"),
            &format!("in_b.output -> {b}.input"),
            &format!("{a}.output -> out_a.input"),
        ],
    );
    let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(1500));
    for (index, name) in [a, b].into_iter().enumerate() {
        let facts = report.apps[name].device.clone().unwrap();
        assert_eq!(count(&report, name, "delivered"), expected[index].len() as u64, "{name}: {report:#?}");
        assert_eq!(
            (count(&report, name, "copies") > 1, !facts.is_zero_copy),
            (copies[index], copies[index]),
            "{name}"
        );
    }
    for (output, expected) in outputs.iter().zip(expected) {
        assert!(packets(output) == expected, "{}", output.display());
    }
}

/// The socket of the host that a process of these tests is to be.
const HOST_SOCKET: &str = "SLUSS_TEST_VHOST";

#[test]
fn a_host_and_its_guest_are_in_one_process() {
    let Some(_turn) = turn("vhost and virtio") else { return };
    let folder = Scratch::new();
    let socket = folder.path("vhost");
    let host = dpdk(&format!("net_vhost0,iface={}", socket.display()));
    let guest = dpdk(&format!("net_virtio_user0,path={}", socket.display()));
    if std::env::var_os(HUGE_PAGES).is_some() {
        let both = graph(vec![("a_host", app(host)), ("b_guest", app(guest))], &[]);
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        let error = engine.configure(&both).expect_err("refused").to_string();
        let told = format!(
            "net_virtio_user0,path={} cannot be in one process with net_vhost0 in huge pages: add `eal = [\"--no-huge\"]` below a line [dpdk], or run one of them in a sluss of its own",
            socket.display()
        );
        return assert!(error.ends_with(&told), "{error}");
    }
    cross(host, guest, ["a_host", "b_guest"], [false, true]);
}

/// The host of [`a_guest_has_its_host_in_another_process`]: sends back what comes, until its standard input ends.
#[test]
fn a_host_of_another_process() {
    let Some(socket) = std::env::var_os(HOST_SOCKET) else { return };
    let Some(_turn) = turn("a host") else { return };
    let host = dpdk(&format!("net_vhost1,iface={}", socket.to_string_lossy()));
    let graph = graph(
        vec![("host", app(host)), ("back", app(PacketCounter::default()))],
        &["host.output -> back.input", "back.output -> host.input"],
    );
    let end = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    run(&graph, 1, |_| end.is_finished());
}

#[test]
fn a_guest_has_its_host_in_another_process() {
    if std::env::var_os(HOST_SOCKET).is_some() {
        return;
    }
    let Some(_turn) = turn("vhost in another process") else { return };
    let folder = Scratch::new();
    let (socket, input, output) = (folder.path("vhost"), capture("gre.pcap"), folder.path("out.pcap"));
    let mut host = Command::new(std::env::current_exe().unwrap())
        .env(HOST_SOCKET, &socket)
        .args(["--exact", "a_host_of_another_process"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !socket.exists() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // It is there a moment before it is listened at.
    std::thread::sleep(Duration::from_millis(200));
    let expected = packets(&input);
    let reader = PcapReader { path: input, for_any_linktype: true, ..PcapReader::default() };
    let writer = PcapWriter { path: output.clone(), ..PcapWriter::default() };
    let guest = dpdk(&format!("net_virtio_user2,path={}", socket.display()));
    let graph = graph(
        vec![("in", app(reader)), ("guest", app(guest)), ("out", app(writer))],
        &["in.output -> guest.input", "guest.output -> out.input"],
    );
    let (report, _) = run(&graph, 1, |elapsed| elapsed > Duration::from_millis(1500));
    assert_eq!(count(&report, "guest", "delivered"), expected.len() as u64, "{report:#?}");
    assert!(packets(&output) == expected, "{}", output.display());
    drop(host.stdin.take());
    let told = host.wait_with_output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
}

#[test]
fn a_guest_before_its_host_is_told_what_to_do() {
    let Some(_turn) = turn("virtio without vhost") else { return };
    let graph = graph(vec![("a", app(dpdk("net_virtio_user1,path=/nonexistent/vhost")))], &[]);
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    let error = engine.configure(&graph).expect_err("refused").to_string();
    assert!(error.contains("`net_vhost` of the same graph must come first"), "{error}");
}

#[test]
fn both_ends_of_a_cable_are_packet_sockets_of_dpdk() {
    let Some(_turn) = turn("packet sockets") else { return };
    let Some((_namespaces, [here])) = Namespace::some("dpdk: packet sockets") else { return };
    here.enter(|| {
        here.run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
        here.run("ip link add va type veth peer name vb");
        here.run("ip link set dev va up");
        here.run("ip link set dev vb up");
        let device = |number: u8, name: &str| {
            dpdk(&format!(
                "net_af_packet{number},iface={name},blocksz=4096,framesz=2048,framecnt=512,qpairs=1"
            ))
        };
        cross(device(0, "va"), device(1, "vb"), ["a", "b"], [true, true]);
    });
}

/// What an app has to say.
fn text(engine: &mut Engine, app: &str) -> Option<String> {
    engine.report().apps[app].text.clone()
}

/// It is told while the ring is full, and no longer when somebody empties it.
#[test]
fn a_ring_that_nobody_empties_is_told_of() {
    let Some(_turn) = turn("a ring that stalls") else { return };
    let apps = || {
        vec![
            ("in", app(Source { size: 60, ..Source::default() })),
            ("ring", app(dpdk("net_ring3"))),
            ("rest", app(Sink::default())),
        ]
    };
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&graph(apps(), &["in.output -> ring.input"])).unwrap();
    let begin = Instant::now();
    engine.run(|status| status.elapsed < Duration::from_millis(1600)).unwrap();
    let report = engine.report();
    let full = count(&report, "ring", "delivered");
    assert!(report.balanced() && count(&report, "ring", "stalls") == 1, "{report:#?}");
    assert!(text(&mut engine, "ring").is_some_and(|text| text.contains("net_ring3 takes no packets")));
    engine.configure(&graph(apps(), &["in.output -> ring.input", "ring.output -> rest.input"])).unwrap();
    engine.run(|_| begin.elapsed() < Duration::from_millis(2000)).unwrap();
    let report = engine.report();
    assert!(report.balanced() && count(&report, "ring", "delivered") > 2 * full, "{report:#?}");
    assert_eq!((text(&mut engine, "ring"), count(&report, "ring", "stalls")), (None, 1));
    engine.stop();
    let last = engine.report();
    assert!(last.balanced() && last.pool.free == last.pool.total, "{last:#?}");
}

#[test]
fn a_tap_that_is_removed_is_made_again() {
    let Some(_turn) = turn("a tap that is removed") else { return };
    let Some((_namespaces, [here])) = Namespace::some("dpdk: a tap that is removed") else { return };
    here.enter(|| {
        let graph = graph(
            vec![
                ("in", app(Source { size: 60, ..Source::default() })),
                ("tap", app(dpdk("net_tap3,iface=dt3"))),
                ("rest", app(Sink::default())),
            ],
            &["in.output -> tap.input", "tap.output -> rest.input"],
        );
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
        for round in 1..=2 {
            engine.run(|status| status.elapsed < Duration::from_millis(200)).unwrap();
            let before = count(&engine.report(), "tap", "delivered");
            here.run("ip link delete dev dt3");
            engine.run(|status| status.elapsed < Duration::from_millis(500)).unwrap();
            let report = engine.report();
            assert!(report.balanced(), "{:?}", report.imbalances);
            assert_eq!((count(&report, "tap", "absences"), text(&mut engine, "tap")), (round, None));
            assert!(count(&report, "tap", "delivered") > before, "{report:#?}");
            here.run("ip link show dev dt3");
        }
        engine.stop();
        let last = engine.report();
        assert!(last.balanced() && last.pool.free == last.pool.total, "{last:#?}");
    });
}

#[test]
fn what_dpdk_does_not_have_is_told() {
    let Some(_turn) = turn("errors") else { return };
    let twice = graph(vec![("a", app(dpdk("net_null5"))), ("b", app(dpdk("net_null5,size=64")))], &[]);
    assert_eq!(twice.conflicts().len(), 1, "a device is its name, whatever its arguments");
    for (options, told) in [
        (dpdk("net_nonsense0"), "no driver for net_nonsense0"),
        (dpdk("0000:ff:1f.7"), "PCI"),
        (dpdk(""), "which device"),
        (Dpdk { queue: 1, ..dpdk("net_null4") }, "queue"),
    ] {
        let graph = graph(vec![("a", app(options.clone()))], &[]);
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        let error = engine.configure(&graph).expect_err("refused").to_string();
        assert!(error.contains(told), "{options:?}: {error}");
    }
}
