//! Rejects against the kernel's own stack: both ends of a connection, in namespaces of their own, with the firewall in between.

use apps::Join;
use engine::{Engine, Graph, Settings};
use io::Tap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::netns::{Namespace, PATIENCE};
use wall::{Dpi, L7Fw, L7Spy};

/// A device on each side; a spy in the middle, and a firewall for each direction.
fn graph(rules: &str) -> Graph {
    let mut graph = Graph::new();
    for device in ["left", "right"] {
        graph.app(device, Tap { name: device.to_owned(), mtu: None }).unwrap();
        graph.app(&format!("to_{device}"), Join {}).unwrap();
        graph.link(&format!("to_{device}.output -> {device}.input")).unwrap();
    }
    graph.app("spy", L7Spy { dpi: Dpi::Own, ..L7Spy::default() }).unwrap();
    for (side, other, came_by, goes_by) in
        [("left", "right", "south", "north"), ("right", "left", "north", "south")]
    {
        let firewall = format!("from_{side}");
        graph.app(&firewall, L7Fw::new(rules)).unwrap();
        graph.link(&format!("{side}.output -> spy.{came_by}")).unwrap();
        graph.link(&format!("spy.{goes_by} -> {firewall}.input")).unwrap();
        graph.link(&format!("{firewall}.output -> to_{other}.{firewall}")).unwrap();
        graph.link(&format!("{firewall}.reject -> to_{side}.{firewall}_reject")).unwrap();
        graph.link(&format!("{firewall}.onward -> to_{other}.{firewall}_onward")).unwrap();
    }
    graph
}

/// Runs a firewall between two namespaces while `test` runs, with the namespaces, in the one of the left.
fn between(name: &str, rules: &str, test: impl FnOnce(&Namespace, &Namespace) + Send) {
    let Some((_turn, [left, right])) = Namespace::some(name) else { return };
    left.enter(|| {
        let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
        engine.configure(&graph(rules)).unwrap_or_else(|error| panic!("{error}"));
        left.run(&format!("ip link set dev right netns {}", right.pid()));
        for (namespace, device, number) in [(&left, "left", 1), (&right, "right", 2)] {
            namespace.run(&format!("sysctl -qw net.ipv6.conf.{device}.disable_ipv6=0"));
            namespace.run(&format!("ip address add 192.0.2.{number}/24 dev {device}"));
            namespace.run(&format!("ip link set dev {device} up"));
            namespace.run(&format!("ip address add 2001:db8::{number}/64 dev {device} nodad"));
        }
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let tested = scope.spawn(|| {
                test(&left, &right);
                is_over.store(true, Ordering::Relaxed);
            });
            engine
                .run(|status| {
                    status.elapsed < PATIENCE && !is_over.load(Ordering::Relaxed) && !tested.is_finished()
                })
                .unwrap();
            tested.join().unwrap();
        });
        let report = engine.report();
        assert!(report.balanced(), "{:?}", report.imbalances);
        engine.stop();
    });
}

const RIGHT: [&str; 2] = ["192.0.2.2:8080", "[2001:db8::2]:8080"];

/// How a read ends, and after how long.
fn end_of(stream: &mut TcpStream) -> (Option<ErrorKind>, Duration) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let begin = Instant::now();
    let mut buffer = [0; 1000];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (None, begin.elapsed()),
            Ok(_) => {}
            Err(error) => return (Some(error.kind()), begin.elapsed()),
        }
    }
}

#[test]
fn both_ends_of_a_connection_are_reset_at_once() {
    between("resets", "{ HTTP = 'reject', default = 'accept' }", |left, right| {
        for server in RIGHT.map(|text| text.parse::<SocketAddr>().unwrap()) {
            let listener = right.enter(|| TcpListener::bind(server).unwrap());
            std::thread::scope(|scope| {
                let served = scope.spawn(|| end_of(&mut listener.accept().unwrap().0));
                let mut client = left.enter(|| TcpStream::connect(server).unwrap());
                client.write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n").unwrap();
                let (clients, servers) = (end_of(&mut client), served.join().unwrap());
                for (end, after) in [clients, servers] {
                    assert_eq!(end, Some(ErrorKind::ConnectionReset), "{server}");
                    assert!(after < Duration::from_secs(2), "{server}: after {after:?}");
                }
            });
        }
    });
}

#[test]
fn what_is_not_rejected_passes() {
    between("a connection that passes", "{ HTTP = 'reject', default = 'accept' }", |left, right| {
        for server in RIGHT.map(|text| text.parse::<SocketAddr>().unwrap()) {
            let listener = right.enter(|| TcpListener::bind(server).unwrap());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut stream = listener.accept().unwrap().0;
                    stream.write_all(b"SSH-2.0-test\r\n").unwrap();
                    let mut line = [0; 14];
                    stream.read_exact(&mut line).unwrap();
                    stream.write_all(&line).unwrap();
                });
                let mut client = left.enter(|| TcpStream::connect(server).unwrap());
                client.write_all(b"SSH-2.0-mine\r\n").unwrap();
                let mut lines = [0; 28];
                client.set_read_timeout(Some(PATIENCE)).unwrap();
                client.read_exact(&mut lines).unwrap();
                assert_eq!(&lines, b"SSH-2.0-test\r\nSSH-2.0-mine\r\n");
            });
        }
    });
}

#[test]
fn a_connection_is_refused_before_it_begins() {
    between("refused connections", "{ default = 'reject' }", |left, _| {
        // Neighbour discovery is ICMPv6, which is rejected as well.
        let server: SocketAddr = RIGHT[0].parse().unwrap();
        let begin = Instant::now();
        let refused = left.enter(|| TcpStream::connect(server)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(begin.elapsed() < Duration::from_secs(2), "after {:?}", begin.elapsed());
    });
}

#[test]
fn who_sends_a_datagram_is_told() {
    between("ICMP errors", "{ DNS = 'reject', default = 'accept' }", |left, _| {
        for (own, server) in [("192.0.2.1:0", "192.0.2.2:53"), ("[2001:db8::1]:0", "[2001:db8::2]:53")] {
            let socket = left.enter(|| UdpSocket::bind(own).unwrap());
            socket.connect(server).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.send(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01").unwrap();
            let begin = Instant::now();
            let told = socket.recv(&mut [0; 100]).unwrap_err();
            // ICMP_PKT_FILTERED and ICMPV6_ADM_PROHIBITED of Linux.
            assert!(
                matches!(told.kind(), ErrorKind::HostUnreachable | ErrorKind::PermissionDenied),
                "{server}: {told}"
            );
            assert!(begin.elapsed() < Duration::from_secs(2), "after {:?}", begin.elapsed());
        }
    });
}
