//! Queues of netfilter: packets of a namespace's own stack.

use super::end;
use engine::{Engine, Graph, Metadata, Settings};
use io::Nfqueue;
use io::nfqueue::Fail;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use testkit::netns::{Namespace, PATIENCE, Turn};
use testkit::rig::{Received, Rig};

/// A namespace whose loopback device is up, and whose packets of a protocol that come in go to queue 5.
fn namespace(test: &str, rules: &[&str]) -> Option<(Turn, Namespace)> {
    if std::process::Command::new("iptables").arg("--version").output().is_err() {
        testkit::say(format_args!("SKIPPED: {test} needs `iptables`: install iptables (Debian)"));
        return None;
    }
    let (turn, [here]) = Namespace::some(test)?;
    here.run("ip link set dev lo up");
    rules.iter().for_each(|rule| here.run(&format!("iptables -w {rule}")));
    Some((turn, here))
}

const UDP: &str = "-t mangle -A INPUT -p udp -m mark ! --mark 0x736c -j NFQUEUE --queue-num 5";

fn queue() -> Nfqueue {
    Nfqueue { queue: Some(5), ..Nfqueue::default() }
}

fn rig(options: Nfqueue) -> Rig {
    Rig::new(options, &["input", "drop", "send"], &["output"])
}

/// Two sockets of the namespace; what the first sends comes to the second.
fn sockets() -> [UdpSocket; 2] {
    let [from, to] = [0, 0].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    from.connect(to.local_addr().unwrap()).unwrap();
    to.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    [from, to]
}

/// The packet that waits.
fn queued(rig: &mut Rig) -> Received {
    let begin = Instant::now();
    loop {
        rig.breathe();
        if let Some(received) = rig.received("output").pop() {
            return received;
        }
        assert!(begin.elapsed() < PATIENCE);
    }
}

fn received(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 2000];
    let len = socket.recv(&mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}

#[test]
fn what_comes_back_goes_on_with_its_bytes_and_its_mark() {
    let rules = [UDP, "-A INPUT -m mark --mark 7 -j DROP"];
    let Some((_turn, here)) = namespace("nfqueue: input", &rules) else { return };
    here.enter(|| {
        let mut rig = rig(queue());
        let [from, to] = sockets();
        from.send(b"as it is").unwrap();
        let packet = queued(&mut rig);
        let Metadata { queue, queue_id, linktype, .. } = packet.metadata;
        assert_eq!((queue, queue_id, linktype), (5, 1, 101));
        assert_eq!(&packet.data[28..], b"as it is");
        rig.send_with("input", &packet.data, packet.metadata);
        rig.breathe();
        assert_eq!(received(&to).as_deref(), Some(&b"as it is"[..]), "its checksum was completed");
        // Shorter, and without a checksum, which is none of ours here.
        from.send(b"changed").unwrap();
        let packet = queued(&mut rig);
        let mut data = packet.data.clone();
        data.truncate(28);
        data.extend_from_slice(b"new");
        (data[3], data[25]) = (31, 11);
        data[26..28].fill(0);
        data[10..12].fill(0);
        let sum = wire::checksum::checksum(&data[..20]).to_be_bytes();
        data[10..12].copy_from_slice(&sum);
        rig.send_with("input", &data, packet.metadata);
        rig.breathe();
        assert_eq!(received(&to).as_deref(), Some(&b"new"[..]));
        from.send(b"marked").unwrap();
        let packet = queued(&mut rig);
        rig.send_with("input", &packet.data, Metadata { mark: 7, ..packet.metadata });
        rig.breathe();
        assert_eq!(received(&to), None, "a rule drops what has the mark");
        assert_eq!((rig.counter("delivered"), rig.counter("refused")), (3, 0));
    });
}

#[test]
fn what_is_dropped_or_answered_twice() {
    let Some((_turn, here)) = namespace("nfqueue: drop", &[UDP]) else { return };
    here.enter(|| {
        let mut rig = rig(queue());
        let [from, to] = sockets();
        from.send(b"dropped").unwrap();
        let packet = queued(&mut rig);
        rig.send_with("drop", &packet.data, packet.metadata);
        rig.breathe();
        // A copy, too late; and one that was never in the queue.
        rig.send_with("input", &packet.data, packet.metadata);
        rig.send_with("input", &packet.data, Metadata { queue_id: 0, ..packet.metadata });
        rig.breathe();
        assert_eq!(received(&to), None);
        let counts = ["dropped", "late", "foreign", "delivered"].map(|name| rig.counter(name));
        assert_eq!(counts, [1, 1, 1, 0]);
    });
}

#[test]
fn what_nobody_answers_in_time() {
    let Some((_turn, here)) = namespace("nfqueue: unanswered", &[UDP]) else { return };
    here.enter(|| {
        for (fail, passes) in [(Fail::Open, true), (Fail::Closed, false)] {
            let mut rig = rig(Nfqueue { fail, answer_ms: 50, ..queue() });
            let [from, to] = sockets();
            from.send(b"lost").unwrap();
            let packet = queued(&mut rig);
            rig.advance(20_000_000);
            rig.breathe();
            assert_eq!(rig.counter("unanswered"), 0);
            rig.advance(60_000_000);
            rig.breathe();
            assert_eq!((rig.counter("unanswered"), received(&to).is_some()), (1, passes), "{fail:?}");
            rig.send_with("input", &packet.data, packet.metadata);
            rig.breathe();
            assert_eq!(rig.counter("late"), 1);
            // What waits when the app goes is treated alike.
            from.send(b"left").unwrap();
            queued(&mut rig);
            from.send(b"not read").unwrap();
            drop(rig);
            assert_eq!([0, 0].map(|_| received(&to).is_some()), [passes; 2], "{fail:?}");
        }
    });
}

#[test]
fn what_the_graph_has_made_leaves_with_a_mark() {
    let Some((_turn, here)) = namespace("nfqueue: send", &[UDP]) else { return };
    here.enter(|| {
        let mut rig = rig(Nfqueue { mark: Some(0x736c), ..queue() });
        let [from, to] = sockets();
        from.send(b"example").unwrap();
        let packet = queued(&mut rig);
        rig.send_with("send", &packet.data, packet.metadata);
        rig.breathe();
        assert_eq!(received(&to).as_deref(), Some(&b"example"[..]), "the mark keeps it from the queue");
        assert_eq!((rig.counter("sent"), rig.counter("delivered")), (1, 0));
        rig.send_with("drop", &packet.data, packet.metadata);
        rig.breathe();
        assert_eq!(rig.counter("dropped"), 1);
    });
}

/// Segments of TCP as long as the kernel makes them.
#[test]
fn long_segments_come_whole() {
    let rules = ["-A OUTPUT -p tcp -j NFQUEUE --queue-num 5"];
    let Some((_turn, here)) = namespace("nfqueue: long segments", &rules) else { return };
    here.enter(|| {
        for changes in [true, false] {
            let mut graph = Graph::new();
            graph.app("queue", Nfqueue { changes, ..queue() }).unwrap();
            graph.link("queue.output -> queue.input").unwrap();
            let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
            engine.configure(&graph).unwrap_or_else(|error| panic!("{error}"));
            let bytes: Vec<u8> =
                (0..20_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 9) as u8).collect();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| TcpStream::connect(address).unwrap().write_all(&bytes).unwrap());
                let reader = scope.spawn(|| {
                    let mut got = Vec::new();
                    listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
                    got
                });
                engine.run(|status| status.elapsed < PATIENCE && !reader.is_finished()).unwrap();
                assert!(reader.is_finished(), "changes: {changes}");
                assert!(reader.join().unwrap() == bytes, "changes: {changes}");
            });
            let report = end(engine);
            assert!(
                report.delivered > 100 && report.delivered < 10_000,
                "long segments: {}",
                report.delivered
            );
        }
    });
}

#[test]
fn a_queue_has_one_reader() {
    let Some((_turn, here)) = namespace("nfqueue: two readers", &[UDP]) else { return };
    here.enter(|| {
        let _rig = rig(queue());
        let mut graph = Graph::new();
        graph.app("queue", queue()).unwrap();
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        let error = engine.configure(&graph).unwrap_err().to_string();
        assert!(error.contains("another program reads queue 5: "), "{error}");
    });
}
