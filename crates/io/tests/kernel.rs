//! TAP devices and packet sockets against the kernel's own stack, each test in network namespaces of its own.

#[path = "kernel/absence.rs"]
mod absence;
#[path = "kernel/ancillary.rs"]
mod ancillary;
#[path = "kernel/interfaces.rs"]
mod interfaces;
#[path = "kernel/nfqueue.rs"]
mod nfqueue;
#[path = "kernel/offload.rs"]
mod offload;
#[path = "kernel/outgoing.rs"]
mod outgoing;
#[path = "kernel/queues.rs"]
mod queues;
#[path = "kernel/sharing.rs"]
mod sharing;
#[path = "kernel/wakes.rs"]
mod wakes;

use engine::{Class, Engine, Graph, Report, Settings};
use io::{AfPacket, PcapReader, PcapWriter, Tap};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use testkit::files::Scratch;
use testkit::netns::{Namespace, PATIENCE};
use testkit::rig::Rig;

fn engine(graph: &Graph) -> Engine {
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(graph).unwrap_or_else(|error| panic!("{error}"));
    engine
}

fn end(mut engine: Engine) -> Report {
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    engine.stop();
    let last = engine.report();
    assert!(last.balanced(), "after the end: {:?}", last.imbalances);
    assert_eq!(last.pool.free, last.pool.total);
    report
}

/// Two apps whose frames go to one another.
fn crossed(left: impl Class, right: impl Class) -> Graph {
    let mut graph = Graph::new();
    graph.app("left", left).unwrap();
    graph.app("right", right).unwrap();
    graph.link("left.output -> right.input").unwrap();
    graph.link("right.output -> left.input").unwrap();
    graph
}

/// Lets an engine run while a ping goes through it.
fn ping(engine: &mut Engine, from: &Namespace, words: &str) {
    let mut command = from.command(&format!("ping -c 5 -i 0.2 -W 5 {words}"));
    let mut ping = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("ping");
    let goes_on = |ping: &mut Child| ping.try_wait().is_ok_and(|status| status.is_none());
    engine.run(|status| status.elapsed < PATIENCE && goes_on(&mut ping)).unwrap();
    let _ = ping.kill();
    let output = ping.wait_with_output().expect("ping");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains(" 0% packet loss"), "{text}");
}

#[test]
fn two_kernels_reach_one_another_through_tap_devices() {
    let Some((_turn, [left, right])) = Namespace::some_with_ping("tap") else { return };
    left.enter(|| {
        let tap = |name: &str| Tap { name: name.to_owned(), mtu: Some(1400) };
        let mut engine = engine(&crossed(tap("t0"), tap("t1")));
        left.run(&format!("ip link set dev t1 netns {}", right.pid()));
        left.run("ip address add 192.0.2.1/24 dev t0");
        right.run("ip address add 192.0.2.2/24 dev t1");
        right.run("ip link set dev t1 up");
        ping(&mut engine, &left, "192.0.2.2");
        ping(&mut engine, &right, "-s 1372 -M do 192.0.2.1");
        let report = end(engine);
        assert!(report.delivered >= 20, "{report:#?}");
    });
}

#[test]
fn a_tap_device_stays_when_its_app_has_another_name() {
    let Some((_turn, [here])) = Namespace::some("a renamed app") else { return };
    here.enter(|| {
        let graph = |name: &str, mtu| {
            let mut graph = Graph::new();
            graph.app(name, Tap { name: "t0".to_owned(), mtu }).unwrap();
            graph
        };
        let device = || {
            let output = here.command("ip -o address show dev t0").output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let mut engine = engine(&graph("one", Some(1400)));
        here.run("ip address add 192.0.2.1/24 dev t0");
        let before = device();
        assert!(before.contains("192.0.2.1/24"), "{before}");
        let changes = engine.configure(&graph("two", Some(1400))).unwrap();
        assert!(changes.failed.is_empty() && changes.started == ["two"], "{changes:?}");
        assert_eq!(device(), before, "with its number and its addresses");
        // Other options make another device, and one that was removed comes again.
        let changes = engine.configure(&graph("two", Some(1300))).unwrap();
        assert_eq!((changes.failed.len(), changes.restarted.len()), (0, 1), "{changes:?}");
        here.run("ip link delete dev t0");
        engine.configure(&graph("three", Some(1300))).unwrap();
        here.run("ip link show dev t0");
        end(engine);
        assert!(
            !here.command("ip link show dev t0").output().unwrap().status.success(),
            "it goes at the end"
        );
    });
}

/// Links a device of one namespace to a device of another.
fn cable((left, left_name): (&Namespace, &str), (right, right_name): (&Namespace, &str), mtu: u16) {
    let (l, r) = (left_name, right_name);
    left.run(&format!(
        "ip link add name {l} mtu {mtu} type veth peer name {r} mtu {mtu} netns {}",
        right.pid()
    ));
    left.run(&format!("ip link set dev {l} up"));
    right.run(&format!("ip link set dev {r} up"));
}

fn device(name: &str) -> AfPacket {
    AfPacket { device: name.to_owned(), ..AfPacket::default() }
}

#[test]
fn two_kernels_reach_one_another_through_packet_sockets() {
    let Some((_turn, [left, middle, right])) = Namespace::some_with_ping("af_packet") else { return };
    cable((&middle, "m0"), (&left, "l0"), 1500);
    cable((&middle, "m1"), (&right, "r0"), 1500);
    left.run("ip address add 192.0.2.1/24 dev l0");
    right.run("ip address add 192.0.2.2/24 dev r0");
    middle.enter(|| {
        let open = AfPacket { promiscuous: true, fanout: Some(7), ..device("m0") };
        let mut engine = engine(&crossed(open, device("m1")));
        ping(&mut engine, &left, "192.0.2.2");
        ping(&mut engine, &right, "-s 1472 -M do 192.0.2.1");
        let report = end(engine);
        assert!(report.delivered >= 20, "{report:#?}");
        assert_eq!(report.drops.values().sum::<u64>(), 0, "{:?}", report.drops);
    });
}

/// The bytes and lengths of all packets of a capture.
fn packets(path: &Path) -> Vec<(Vec<u8>, u32)> {
    let mut reader = capture::Reader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        packets.push((packet.data.to_vec(), packet.wire_len));
    }
    packets
}

/// What a ping that gets no answer has to say.
fn ping_in_vain(engine: &mut Engine, from: &Namespace, words: &str) -> String {
    let mut command = from.command(&format!("ping -n -c 1 -W 5 {words}"));
    let mut ping = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ping");
    let goes_on = |ping: &mut Child| ping.try_wait().is_ok_and(|status| status.is_none());
    engine.run(|status| status.elapsed < PATIENCE && goes_on(&mut ping)).unwrap();
    let _ = ping.kill();
    let output = ping.wait_with_output().expect("ping");
    assert!(!output.status.success());
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

/// Kernels look at the checksums of errors, and at what these quote, before they believe them.
#[test]
fn a_kernel_believes_the_errors_of_a_router() {
    let Some((_turn, [here, there])) = Namespace::some_with_ping("ICMP errors") else { return };
    there.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0");
    here.enter(|| {
        let options = "
            mac = '02:00:00:00:00:01'
            port.t = { ip = ['198.18.0.1', '2001:db8::1'] }
            port.far = { mtu = 1300 }
            route = [
                { prefix = '10.0.0.0/8', port = 'far', next_hop = '02:00:00:00:00:0a' },
                { prefix = '2001:db8:1::/48', port = 'far', next_hop = '02:00:00:00:00:0a' },
            ]";
        let mut graph = Graph::new();
        graph.app("t", Tap { name: "t0".to_owned(), mtu: None }).unwrap();
        graph.app("router", toml::from_str::<apps::Router>(options).unwrap()).unwrap();
        graph.app("far", apps::Sink::default()).unwrap();
        graph.link("t.output -> router.t").unwrap();
        graph.link("router.t -> t.input").unwrap();
        graph.link("router.far -> far.input").unwrap();
        let mut engine = engine(&graph);
        here.run(&format!("ip link set dev t0 netns {}", there.pid()));
        there.run("ip link set dev t0 up");
        for (version, own, router) in
            [("-4", "198.18.0.2/24", "198.18.0.1"), ("-6", "2001:db8::2/64", "2001:db8::1")]
        {
            there.run(&format!("ip {version} address add {own} dev t0 nodad"));
            there.run(&format!("ip neighbour add {router} lladdr 02:00:00:00:00:01 dev t0"));
            there.run(&format!("ip {version} route add default via {router}"));
        }
        for (words, error) in [
            ("-t 1 10.0.0.1", "From 198.18.0.1 icmp_seq=1 Time to live exceeded"),
            ("11.0.0.1", "From 198.18.0.1 icmp_seq=1 Destination Net Unreachable"),
            ("-s 1400 -M do 10.0.0.1", "(mtu = 1300)"),
            ("-6 -t 1 2001:db8:1::1", "From 2001:db8::1 icmp_seq=1 Time exceeded: Hop limit"),
            ("-6 2001:db8:2::1", "From 2001:db8::1 icmp_seq=1 Destination unreachable: No route"),
            ("-6 -s 1400 -M do 2001:db8:1::1", "Packet too big: mtu=1300"),
        ] {
            let text = ping_in_vain(&mut engine, &there, words);
            assert!(text.contains(error) && !text.contains("BAD"), "{words}: {text}");
        }
        for (version, to) in [("-4", "10.0.0.1"), ("-6", "2001:db8:1::1")] {
            let route = there.command(&format!("ip {version} route get {to}")).output().unwrap();
            let route = String::from_utf8_lossy(&route.stdout).into_owned();
            assert!(route.contains("mtu 1300"), "{route}");
        }
        let report = end(engine);
        let sent = report.apps["router"].counters.iter().find(|counter| counter.0 == "icmp_sent");
        assert_eq!(sent.unwrap().2, 6, "{report:#?}");
    });
}

/// The times of the packets that a capture has so far, which may be nothing at all.
fn timestamps(path: &Path) -> Vec<i64> {
    let mut timestamps = Vec::new();
    let Ok(mut reader) = capture::Reader::open(path) else { return timestamps };
    while let Ok(Some(packet)) = reader.next_packet() {
        timestamps.push(packet.timestamp_ns);
    }
    timestamps
}

/// Time that frames have waited in the queue is not added to their time.
#[test]
fn frames_have_the_time_at_which_the_kernel_received_them() {
    let Some((_turn, [here])) = Namespace::some("times of frames") else { return };
    let scratch = Scratch::new();
    let out = scratch.path("times.pcapng");
    let mut graph = Graph::new();
    graph.app("b", device("b")).unwrap();
    graph.app("writer", PcapWriter { path: out.clone(), ..PcapWriter::default() }).unwrap();
    graph.link("b.output -> writer.input").unwrap();
    let make = || cable((&here, "a"), (&here, "b"), 1500);
    make();
    here.enter(|| {
        let mut engine = engine(&graph);
        let mut count = 0;
        // The kernel is asked for times in the first breath, and begins a while after that.
        let mut await_times = |engine: &mut Engine| {
            let begin = Instant::now();
            loop {
                engine.breathe();
                let mut from = Rig::new(device("a"), &["input"], &[]);
                let now_ns = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
                let before_ns = now_ns();
                from.send("input", [0xff; 60]);
                from.breathe();
                let sent = before_ns..=now_ns();
                std::thread::sleep(Duration::from_millis(20));
                let timestamp_ns = loop {
                    engine.run_for(Duration::from_millis(5)).unwrap();
                    match timestamps(&out).get(count) {
                        Some(&timestamp_ns) => break timestamp_ns,
                        None => assert!(begin.elapsed() < PATIENCE, "frame {count} does not come"),
                    }
                };
                count += 1;
                if sent.contains(&timestamp_ns) {
                    return;
                }
                assert!(begin.elapsed() < PATIENCE, "{timestamp_ns} is not in {sent:?}");
            }
        };
        await_times(&mut engine);
        // Also those of a device that was gone.
        here.run("ip link delete dev b");
        let breathe_while = |engine: &mut Engine, is_gone: bool| {
            let begin = Instant::now();
            while engine.report().apps["b"].text.is_some() == is_gone {
                engine.run_for(Duration::from_millis(5)).unwrap();
                assert!(begin.elapsed() < PATIENCE);
            }
        };
        breathe_while(&mut engine, false);
        make();
        breathe_while(&mut engine, true);
        await_times(&mut engine);
        end(engine);
    });
}

#[test]
fn captures_cross_a_cable_unharmed() {
    let Some((_turn, [here])) = Namespace::some("a replay over a cable") else { return };
    cable((&here, "a"), (&here, "b"), 9000);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let scratch = Scratch::new();
    let out = scratch.path("cable.pcap");
    for name in ["vlan.pcap", "qinq.pcap", "web.pcap", "fragments.pcap"] {
        let path = folder.join(name);
        let before = packets(&path);
        let mut graph = Graph::new();
        let reader = PcapReader { path, rate_pps: Some(50_000.0), ..PcapReader::default() };
        graph.app("reader", reader).unwrap();
        graph.app("a", device("a")).unwrap();
        graph.app("b", device("b")).unwrap();
        graph.app("writer", PcapWriter { path: out.clone(), ..PcapWriter::default() }).unwrap();
        graph.link("reader.output -> a.input").unwrap();
        graph.link("b.output -> writer.input").unwrap();
        here.enter(|| {
            let mut engine = engine(&graph);
            let begin = Instant::now();
            let count = before.len() as u64;
            while engine.report().apps["writer"].counters.iter().all(|c| c.0 != "delivered" || c.2 < count)
                && begin.elapsed() < PATIENCE
            {
                engine.run_for(Duration::from_millis(20)).unwrap();
            }
            end(engine);
        });
        let after = packets(&out);
        assert_eq!(after.len(), before.len(), "{name}");
        for (number, (after, before)) in after.iter().zip(&before).enumerate() {
            assert_eq!(after, before, "{name}, packet {}", number + 1);
        }
    }
}

#[test]
fn frames_that_no_device_takes_are_counted() {
    let Some((_turn, [here])) = Namespace::some("refused frames") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        let mut rig = Rig::new(device("a"), &["input"], &["output"]);
        [0, 1, 13, 10_240, 60].iter().for_each(|&len| rig.send("input", vec![2; len]));
        rig.breathe();
        let counts = ["too_short", "too_long", "delivered"].map(|name| rig.counter(name));
        assert_eq!(counts, [3, 1, 1]);
        here.run("ip link set dev a down");
        rig.send("input", [2; 60]);
        rig.breathe();
        assert_eq!(rig.counter("down"), 1);
        drop(rig);

        let mut rig = Rig::new(Tap { name: "t0".to_owned(), mtu: None }, &["input"], &["output"]);
        [0, 13, 60].iter().for_each(|&len| rig.send("input", vec![2; len]));
        rig.breathe();
        assert_eq!(["too_short", "delivered"].map(|name| rig.counter(name)), [2, 1]);
        here.run("ip link set dev t0 down");
        rig.send("input", [2; 60]);
        rig.breathe();
        assert_eq!(rig.counter("down"), 1);
    });
}

/// As devices join them that do GRO, and loopback devices never cut them.
#[test]
fn long_frames_cross_packet_sockets() {
    let Some((_turn, [here])) = Namespace::some("long frames") else { return };
    cable((&here, "a"), (&here, "b"), 65_521);
    let lens = [60, 10_239, 10_240, 10_241, 40_000, 65_535, 60];
    let received = |large_packets: usize, tag: bool| {
        here.enter(|| {
            let mut from = Rig::new(device("a"), &["input"], &[]);
            let mut to = Rig::with_large(device("b"), &[], &["output"], 200, large_packets);
            to.breathe();
            for len in lens {
                let mut bytes: Vec<u8> = (0..len).map(|at| (at / 3) as u8).collect();
                bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
                if tag {
                    bytes[12..14].copy_from_slice(&[0x81, 0]);
                }
                from.send("input", bytes);
            }
            from.breathe();
            assert_eq!(from.counter("delivered"), lens.len() as u64);
            let mut frames = Vec::new();
            let begin = Instant::now();
            let dropped = |to: &mut Rig| ["too_long", "no_packet"].map(|name| to.counter(name) as usize);
            while frames.len() + dropped(&mut to).iter().sum::<usize>() < lens.len()
                && begin.elapsed() < PATIENCE
            {
                to.breathe();
                frames.extend(to.take("output"));
            }
            for frame in &frames {
                assert!((16..frame.len()).all(|at| frame[at] == (at / 3) as u8), "{} bytes", frame.len());
            }
            let dropped = dropped(&mut to);
            (frames.iter().map(Vec::len).collect::<Vec<_>>(), dropped)
        })
    };
    assert_eq!(received(8, false), (lens.to_vec(), [0, 0]));
    assert_eq!(received(8, true), (lens.to_vec(), [0, 0]), "with a tag that the kernel takes out");
    // One long frame at a time: those are dropped that come before the one ahead is through.
    let (frames, [too_long, no_packet]) = received(1, false);
    assert!(too_long == 0 && no_packet <= 2 && frames.len() + no_packet == lens.len(), "{frames:?}");
    assert_eq!(frames.iter().filter(|&&len| len <= 10_240).count(), 4);
    assert_eq!(received(0, false), (vec![60, 10_239, 10_240, 60], [3, 0]));
}

#[test]
fn a_kernel_sends_long_frames_to_a_tap_device() {
    let Some((_turn, [here])) = Namespace::some("long frames of a TAP device") else { return };
    here.enter(|| {
        for (large_packets, too_long) in [(4, 0), (0, 2)] {
            let tap = Tap { name: "t0".to_owned(), mtu: Some(65_507) };
            let mut rig = Rig::with_large(tap, &["input"], &["output"], 64, large_packets);
            here.run("ip address add 192.0.2.1/24 dev t0");
            here.run("ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:01 dev t0");
            rig.breathe();
            let socket = std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
            // With the headers of UDP, IPv4 and Ethernet: 10,240 bytes and 10,241, and the longest.
            let lens = [10_198, 10_199, 65_479, 18];
            lens.iter().for_each(|&len| _ = socket.send_to(&vec![7; len], "192.0.2.2:9").unwrap());
            let mut came = Vec::new();
            let begin = Instant::now();
            while came.len() + (rig.counter("too_long") as usize) < lens.len() && begin.elapsed() < PATIENCE {
                rig.breathe();
                came.extend(rig.take("output").into_iter().filter(|frame| frame[..6] == [2, 0, 0, 0, 0, 1]));
            }
            let lens: Vec<usize> = came.iter().map(|frame| frame.len() - 42).collect();
            let expected: &[usize] = if too_long > 0 { &[10_198, 18] } else { &[10_198, 10_199, 65_479, 18] };
            assert_eq!((&lens[..], rig.counter("too_long")), (expected, too_long));
            assert!(came.iter().all(|frame| frame[42..].iter().all(|&byte| byte == 7)));
        }
    });
}

#[test]
fn frames_that_nobody_fetched_from_a_tap_device_are_counted() {
    let Some((_turn, [here])) = Namespace::some("drops of a TAP device") else { return };
    here.enter(|| {
        let mut rig = Rig::new(Tap { name: "t0".to_owned(), mtu: None }, &["input"], &["output"]);
        here.run("ip link set dev t0 txqueuelen 100");
        here.run("ip address add 192.0.2.1/24 dev t0");
        here.run("ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:01 dev t0");
        rig.breathe();
        let socket = std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
        let mut came = 0;
        for round in 1..=2 {
            (0..1000).for_each(|_| _ = socket.send_to(&[7; 100], "192.0.2.2:9").unwrap());
            let begin = Instant::now();
            while came + rig.counter("kernel_drops") < round * 1000 && begin.elapsed() < PATIENCE {
                rig.advance(1_100_000_000);
                let frames = rig.take("output");
                came += frames.iter().filter(|frame| frame[..6] == [2, 0, 0, 0, 0, 1]).count() as u64;
            }
            let dropped = rig.counter("kernel_drops");
            assert!(
                dropped >= round * 500 && came + dropped == round * 1000,
                "{came} came, {dropped} dropped"
            );
        }
    });
}

/// Frames of 60 bytes with a number each, for all stations.
fn numbered(count: u8) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|number| [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[number; 46]].concat())
}

#[test]
fn frames_in_the_queue_outlast_a_change_of_options_or_are_counted() {
    let Some((_turn, [here])) = Namespace::some("a change of options") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        let mut from = Rig::new(device("a"), &["input"], &[]);
        let mut to = Rig::new(device("b"), &[], &["output"]);
        let mut send = |count| {
            numbered(count).for_each(|frame| from.send("input", frame));
            from.breathe();
        };
        let promiscuity = || {
            let output = here.command("ip -d link show dev b").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let (_, number) = text.split_once("promiscuity ").expect("the number");
            number.split(' ').next().unwrap().to_owned()
        };
        to.breathe();
        for promiscuous in [true, false] {
            send(100);
            to.reconfigure(AfPacket { promiscuous, ..device("b") });
            assert_eq!(promiscuity(), if promiscuous { "1" } else { "0" });
            let mut frames = Vec::new();
            (0..4).for_each(|_| {
                to.breathe();
                frames.extend(to.take("output"));
            });
            assert_eq!(frames, numbered(100).collect::<Vec<_>>());
        }
        to.reconfigure(AfPacket { fanout: Some(3), ..device("b") });
        to.breathe();
        assert_eq!(to.counter("kernel_drops"), 0);
        // A socket leaves its group when it is closed, and not before.
        send(100);
        to.reconfigure(device("b"));
        assert_eq!(to.counter("kernel_drops"), 100);
        send(1);
        to.breathe();
        assert_eq!(to.take("output"), numbered(1).collect::<Vec<_>>());
    });
}

#[test]
fn devices_share_a_small_pool() {
    let Some((_turn, [here])) = Namespace::some("a small pool") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    cable((&here, "c"), (&here, "d"), 1500);
    here.enter(|| {
        let mut graph = Graph::new();
        for name in ["b", "d"] {
            graph.app(name, device(name)).unwrap();
            graph.app(&format!("{name}_sink"), apps::Sink::default()).unwrap();
            graph.link(&format!("{name}.output -> {name}_sink.input")).unwrap();
        }
        let settings = Settings { packets: 64, ..Settings::new().unwrap() };
        let mut engine = Engine::new(settings).unwrap();
        engine.configure(&graph).unwrap();
        (0..10).for_each(|_| _ = engine.breathe());
        for name in ["a", "c"] {
            let mut from = Rig::new(device(name), &["input"], &[]);
            numbered(100).for_each(|frame| from.send("input", frame));
            from.breathe();
        }
        (0..20).for_each(|_| _ = engine.breathe());
        let report = engine.report();
        for sink in ["b_sink", "d_sink"] {
            let delivered = report.apps[sink].counters.iter().find(|counter| counter.0 == "delivered");
            assert_eq!(delivered.expect("a counter").2, 100, "{sink}");
        }
        end(engine);
    });
}

#[test]
fn what_the_system_refuses_is_explained() {
    let Some((_turn, [here])) = Namespace::some("refused devices") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    let error = |class: Graph| {
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&class).unwrap_err().to_string()
    };
    let with = |class: engine::Config| {
        let mut graph = Graph::new();
        graph.add("app", class).unwrap();
        graph
    };
    here.enter(|| {
        let missing = error(with(engine::Config::new(device("none"))));
        assert!(missing.contains("there is no device none; `ip link` shows"), "{missing}");
        let no_tap = error(with(engine::Config::new(Tap { name: "a".to_owned(), mtu: None })));
        assert!(no_tap.contains("cannot open the TAP device a"), "{no_tap}");
        let no_name = error(with(engine::Config::new(Tap { name: "a/b".to_owned(), mtu: None })));
        assert!(no_name.contains("`a/b` is no name for a device"), "{no_name}");
    });
}
