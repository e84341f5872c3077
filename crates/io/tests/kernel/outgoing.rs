//! Frames that leave by a device.

use crate::{cable, device};
use io::AfPacket;
use std::thread::sleep;
use std::time::Duration;
use testkit::netns::Namespace;
use testkit::rig::Rig;

fn frame(number: u8) -> Vec<u8> {
    [&[0xff; 12][..], &[0x88, 0xb5], &[number; 46]].concat()
}

fn open(options: AfPacket) -> Rig {
    let mut rig = Rig::new(options, &["input"], &["output"]);
    rig.breathe();
    rig
}

fn send(rig: &mut Rig, numbers: impl IntoIterator<Item = u8>) {
    numbers.into_iter().for_each(|number| rig.send("input", frame(number)));
    rig.breathe();
}

/// The numbers of the frames that have come to any of these, in order, after time for more than should.
fn come<'r>(rigs: impl IntoIterator<Item = &'r mut Rig>) -> Vec<u8> {
    sleep(Duration::from_millis(50));
    let mut numbers = Vec::new();
    for rig in rigs {
        (0..10).for_each(|_| rig.breathe());
        numbers.extend(rig.take("output").iter().map(|frame| frame[14]));
    }
    numbers.sort_unstable();
    numbers
}

#[test]
fn outgoing_frames_come_only_where_they_are_asked_for() {
    let Some((_turn, [here])) = Namespace::some("outgoing frames") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        // Whether or not it shares them.
        for fanout in [None, Some(3)] {
            let options = |outgoing| AfPacket { outgoing, fanout, ..device("a") };
            let [mut other, mut peer] = ["a", "b"].map(|name| open(device(name)));
            let mut rig = open(options(false));
            send(&mut other, [1]);
            send(&mut peer, [2]);
            send(&mut rig, [3]);
            assert_eq!(come([&mut rig]), [2], "{fanout:?}");
            // An app that goes on, or one that is started again.
            rig.reconfigure(options(true));
            send(&mut other, [4]);
            send(&mut peer, [5]);
            send(&mut rig, [6]);
            assert_eq!(come([&mut rig]), [4, 5], "{fanout:?}");
            rig.reconfigure(options(false));
            send(&mut other, [7]);
            send(&mut peer, [8]);
            assert_eq!(come([&mut rig]), [8], "{fanout:?}");
        }
    });
}

#[test]
fn what_one_of_a_group_sends_comes_to_none_of_it() {
    let Some((_turn, [here])) = Namespace::some("outgoing frames of a group") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        let options = AfPacket { outgoing: true, fanout: Some(3), ..device("a") };
        let mut group = [0; 2].map(|_| open(options.clone()));
        let mut other = open(device("a"));
        for rig in &mut group {
            send(rig, 1..50);
        }
        send(&mut other, 50..100);
        assert_eq!(come(&mut group), (50..100).collect::<Vec<u8>>());
    });
}

#[test]
fn a_group_sees_outgoing_frames_or_does_not() {
    let Some((_turn, [here])) = Namespace::some("a group at odds") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        let options = |outgoing| AfPacket { outgoing, fanout: Some(3), ..device("a") };
        for first in [false, true] {
            let _first = open(options(first));
            let mut graph = engine::Graph::new();
            graph.app("second", options(!first)).unwrap();
            let mut engine = engine::Engine::new(engine::Settings::new().unwrap()).unwrap();
            let error = engine.configure(&graph).unwrap_err().to_string();
            assert!(error.contains("with the same `outgoing`"), "{error}");
            // As other programs do it, which do not set the flag.
            assert_eq!(error.contains("write `outgoing = true`"), first, "{error}");
        }
    });
}

/// The kernel takes no mixture of both, also while they change.
#[test]
fn a_group_changes_what_it_sees_in_one_reload() {
    let Some((_turn, [here])) = Namespace::some("a group that changes") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.enter(|| {
        let graph = |outgoing| {
            let mut graph = engine::Graph::new();
            for name in ["x", "y"] {
                graph.app(name, AfPacket { outgoing, fanout: Some(3), ..device("a") }).unwrap();
            }
            graph
        };
        let mut engine = crate::engine(&graph(false));
        for outgoing in [true, false] {
            let changes = engine.configure(&graph(outgoing)).unwrap();
            assert_eq!(changes.restarted, ["x", "y"], "{:?}", changes.failed);
        }
    });
}

#[test]
fn frames_of_a_loopback_device_come_once() {
    let Some((_turn, [here])) = Namespace::some("outgoing frames of a loopback device") else { return };
    here.run("ip link set dev lo up");
    here.enter(|| {
        for fanout in [None, Some(3)] {
            let mut rig = open(AfPacket { outgoing: true, fanout, ..device("lo") });
            let mut other = open(device("lo"));
            send(&mut other, [1]);
            assert_eq!(come([&mut rig]), [1], "{fanout:?}");
        }
    });
}

/// With the checksum that the kernel leaves to the device.
#[test]
fn outgoing_frames_are_complete() {
    let Some((_turn, [here])) = Namespace::some("outgoing frames of the kernel") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    here.run("ip address add 198.51.100.1/24 dev a");
    here.run("ip neighbour add 198.51.100.2 lladdr 02:00:00:00:00:02 dev a");
    here.enter(|| {
        let mut rig = open(AfPacket { outgoing: true, ..device("a") });
        let socket = std::net::UdpSocket::bind("198.51.100.1:0").unwrap();
        socket.send_to(b"abc", "198.51.100.2:9").unwrap();
        sleep(Duration::from_millis(50));
        rig.breathe();
        let frames = rig.take("output");
        let [frame] = &frames[..] else { panic!("{frames:x?}") };
        let ip = &frame[14..];
        assert_eq!((ip[9], &ip[28..31]), (17, &b"abc"[..]));
        let [src, dst] = [12, 16].map(|at| <[u8; 4]>::try_from(&ip[at..at + 4]).unwrap().into());
        let sum = wire::checksum::Sum::new().add_pseudo_v4(src, dst, 17, 11);
        assert_eq!(sum.add_bytes(&ip[20..31]).finish(), 0, "{ip:x?}");
    });
}
