//! Hosts that leave checksums and segmentation to their devices, and reach one another through packet sockets.

use crate::{cable, crossed, device, end, engine};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::netns::{Namespace, PATIENCE};

#[test]
fn tcp_and_udp_pass_packet_sockets() {
    let Some((_turn, [left, middle, right])) = Namespace::some("TCP over af_packet") else { return };
    cable((&middle, "m0"), (&left, "l0"), 1500);
    cable((&middle, "m1"), (&right, "r0"), 1500);
    for (namespace, name, number) in [(&left, "l0", 1), (&right, "r0", 2)] {
        namespace.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=0");
        namespace.run(&format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=0"));
        namespace.run(&format!("ip address add 192.0.2.{number}/24 dev {name}"));
        namespace.run(&format!("ip -6 address add 2001:db8::{number}/64 dev {name} nodad"));
    }
    let mut engine = middle.enter(|| engine(&crossed(device("m0"), device("m1"))));
    for address in ["192.0.2.2", "2001:db8::2"] {
        let (listener, datagrams) = right.enter(|| {
            let datagrams = UdpSocket::bind((address, 9001)).unwrap();
            datagrams.set_read_timeout(Some(PATIENCE)).unwrap();
            (TcpListener::bind((address, 9000)).unwrap(), datagrams)
        });
        let sent: Vec<u8> = (0..1_000_000_u32).map(|at| (at / 7) as u8).collect();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                left.enter(|| {
                    let udp =
                        UdpSocket::bind((if address.contains(':') { "::" } else { "0.0.0.0" }, 0)).unwrap();
                    udp.send_to(&[7; 1000], (address, 9001)).unwrap();
                    let mut stream = TcpStream::connect((address, 9000)).unwrap();
                    stream.write_all(&sent).unwrap();
                })
            });
            let receiver = scope.spawn(|| {
                let mut datagram = [0; 2000];
                let len = datagrams.recv(&mut datagram).expect("a datagram");
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut received = Vec::new();
                let read = stream.read_to_end(&mut received);
                is_over.store(true, Ordering::Relaxed);
                (len, read.map(|_| received))
            });
            let goes_on = || !is_over.load(Ordering::Relaxed) && !receiver.is_finished();
            engine.run(|status| status.elapsed < PATIENCE && goes_on()).unwrap();
            assert!(is_over.load(Ordering::Relaxed), "{:#?}", engine.report());
            let (len, received) = receiver.join().unwrap();
            assert_eq!(len, 1000);
            assert!(received.unwrap() == sent, "{address}: what was received is not what was sent");
            sender.join().unwrap();
        });
    }
    let report = end(engine);
    assert_eq!(report.drops.values().sum::<u64>(), 0, "{:?}", report.drops);
    for app in ["left", "right"] {
        let missing = report.apps[app].counters.iter().find(|counter| counter.0 == "no_checksum");
        assert_eq!(missing.unwrap().2, 0, "{app}");
    }
    // Long segments went through as such: cut ones of 1 MB in either protocol would be more.
    assert!(report.delivered < 1200, "{}", report.delivered);
}
