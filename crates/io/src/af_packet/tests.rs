//! Devices without an Ethernet header: TUN devices, which can be told of which type they are. Frames that are several datagrams.

use super::datagrams::Datagrams;
use super::socket::Socket;
use super::{AfPacket, Framing, Peers};
use crate::tap::tun::open_tun;
use engine::{Engine, Graph, Metadata, Pool, Settings};
use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use testkit::netns::{Namespace, PATIENCE};
use testkit::packet::Packet;
use testkit::rig::{Received, Rig};

const ETHERNET: u16 = 1;
const RAW: u16 = 101;

fn device(name: &str) -> AfPacket {
    AfPacket { device: name.to_owned(), ..AfPacket::default() }
}

/// An IP packet.
fn bare(line: &str) -> Vec<u8> {
    Packet::parse(&format!("eth / {line}")).unwrap().bytes[14..].to_vec()
}

/// Turns both ends of a cable on. The one that sends comes last: it sends at once, as there is another end by then. The first one is told
/// later that there is, and loses what it sends before.
fn up(here: &Namespace, [receives, sends]: [&str; 2]) {
    [receives, sends].iter().for_each(|name| here.run(&format!("ip link set dev {name} up")));
}

/// The next packet that the kernel sends through a TUN device.
fn read(mut tun: &File) -> Vec<u8> {
    let mut packet = vec![0; 70_000];
    let begin = Instant::now();
    loop {
        match tun.read(&mut packet) {
            Ok(len) => {
                packet.truncate(len);
                return packet;
            }
            Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn receive(rig: &mut Rig) -> Received {
    let begin = Instant::now();
    loop {
        rig.breathe();
        if let Some(received) = rig.received("output").pop() {
            return received;
        }
        assert!(begin.elapsed() < PATIENCE);
    }
}

#[test]
fn packets_of_devices_without_a_header_are_ip_packets() {
    let Some((_turn, [here])) = Namespace::some("TUN devices") else { return };
    let [v4, v6] = ["ip4 / udp(dport=53) / 'abc'", "ip6 / tcp(dport=80)"].map(bare);
    // TUN itself, PPP, SIT.
    for (number, hardware) in [0xfffe, 512, 776].into_iter().enumerate() {
        here.enter(|| {
            let name = format!("n{number}");
            let tun = open_tun(&name, hardware).unwrap();
            let mut rig = Rig::new(device(&name), &["input"], &["output"]);
            rig.breathe();
            for packet in [&v4, &v6] {
                (&tun).write_all(packet).unwrap();
                let received = receive(&mut rig);
                assert_eq!((&received.data, received.metadata.linktype), (packet, RAW));
                rig.send_with("input", packet, Metadata { linktype: RAW, ..Metadata::default() });
                rig.breathe();
                assert_eq!(read(&tun), *packet);
            }
            // What is not for such a device, between others.
            for linktype in [RAW, ETHERNET, 113, 228] {
                rig.send_with("input", &v4, Metadata { linktype, ..Metadata::default() });
            }
            rig.breathe();
            assert_eq!(["delivered", "wrong_linktype"].map(|name| rig.counter(name)), [4, 2]);
        });
    }
}

#[test]
fn long_tcp_segments_are_cut_for_a_device_without_a_header() {
    let Some((_turn, [here])) = Namespace::some("TSO of a TUN device") else { return };
    here.enter(|| {
        let tun = open_tun("n0", 0xfffe).unwrap();
        let mut rig = Rig::new(device("n0"), &["input"], &["output"]);
        let long = bare(&format!("ip4 / tcp(dport=80) / '{}'", "x".repeat(2920)));
        rig.send_with("input", &long, Metadata { linktype: RAW, ..Metadata::default() });
        rig.breathe();
        assert_eq!(rig.counter("delivered"), 1);
        let segments = [read(&tun), read(&tun)];
        assert_eq!(segments.map(|segment| segment.len()), [1500, 1500]);
    });
}

/// Another device may have the name by then.
#[test]
fn a_device_is_asked_by_its_number() {
    let Some((_turn, [here])) = Namespace::some("a device with another name") else { return };
    here.run("ip link add name a mtu 1400 type veth peer name b");
    here.enter(|| {
        let mut socket = Socket::open(&device("a")).unwrap();
        let is_long = |socket: &Socket| [1414, 1415, 1515].map(|len| socket.is_long(&vec![0; len]));
        assert_eq!(is_long(&socket), [false, true, true]);
        here.run("ip link set dev a name c");
        here.run("ip link add name a mtu 9000 type veth peer name d");
        socket.ask_mtu();
        assert_eq!(is_long(&socket), [false, true, true]);
        here.run("ip link set dev c mtu 1500");
        socket.ask_mtu();
        assert_eq!(is_long(&socket), [false, false, true]);
    });
}

#[test]
fn frames_are_counted_that_came_before_a_device_went_down() {
    let Some((_turn, [here])) = Namespace::some("frames of a device that is down") else { return };
    here.run("ip link add name a type veth peer name b");
    up(&here, ["b", "a"]);
    here.enter(|| {
        // The kernel hands each frame to the socket that was opened last first.
        let [from, witness, to] = ["a", "b", "b"].map(|name| Socket::open(&device(name)).unwrap());
        let frame = [&[0; 10][..], &[0xff; 12], &[0x88, 0xb5], &[0; 46]].concat();
        (0..5).for_each(|_| from.file().write_all(&frame).unwrap());
        (0..5).for_each(|_| _ = read(&witness.file()));
        here.run("ip link set dev b down");
        assert_eq!((to.empty(), to.empty()), (5, 0));
    });
}

#[test]
fn devices_of_other_types_are_refused() {
    let Some((_turn, [here])) = Namespace::some("devices of other types") else { return };
    here.enter(|| {
        for (name, hardware, told) in [
            ("n0", 803, "n0 is of type 803 (IEEE 802.11 with a radio header), which is not supported"),
            ("n1", 9999, "n1 is of type 9999 (unknown), which is not supported"),
        ] {
            let _tun = open_tun(name, hardware).unwrap();
            let mut graph = Graph::new();
            graph.app("device", device(name)).unwrap();
            let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
            let error = engine.configure(&graph).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    });
}

#[test]
fn a_gre_device_without_another_end_has_outer_headers() {
    for hardware in [778, 823] {
        assert_eq!(Framing::of(hardware, Peers::One), Some(Framing::Bare));
        assert_eq!(Framing::of(hardware, Peers::Several), None);
    }
}

/// A frame that is sent as several datagrams of `len` bytes each (`struct virtio_net_hdr`).
fn joined(frame: &[u8], len: u16, udp_at: u16) -> Vec<u8> {
    let numbers = [udp_at + 8, len, udp_at, 6].map(u16::to_ne_bytes).concat();
    [&[1, 5][..], &numbers, frame].concat()
}

/// A frame for all stations, with a payload of these bytes.
fn udp(ip: &str, payload: &[u8]) -> Vec<u8> {
    let payload: String = payload.iter().map(|&byte| char::from(byte)).collect();
    let line = format!("eth(dst=ff:ff:ff:ff:ff:ff) / {ip} / udp(sport=1000,dport=9) / '{payload}'");
    Packet::parse(&line).unwrap().bytes
}

/// Whether the kernel takes joined datagrams for a device from a program; if not, says so aloud.
fn takes_joined(device: &str) -> bool {
    let socket = Socket::open(&self::device(device)).unwrap();
    let sent = socket.file().write_all(&joined(&udp("ip4", &[b'x'; 100]), 40, 34));
    if sent.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
        testkit::say("SKIPPED: joined UDP datagrams need Linux 6.2");
        return false;
    }
    sent.expect("a device that is up");
    true
}

/// Between the socket of one end of a cable and an app at the other, where the kernel hands out joined datagrams.
fn with_joined(test: &str, body: impl FnOnce(&Socket, &mut Rig) + Send) {
    let Some((_turn, [here])) = Namespace::some(test) else { return };
    here.run("ip link add name a type veth peer name b");
    up(&here, ["b", "a"]);
    here.enter(|| {
        if !takes_joined("b") {
            return;
        }
        let from = Socket::open(&device("a")).unwrap();
        let mut rig = Rig::new(device("b"), &[], &["output"]);
        rig.breathe();
        body(&from, &mut rig);
    });
}

#[test]
fn joined_datagrams_are_cut_when_they_come() {
    with_joined("UDP GSO", |from, rig| {
        let payload: Vec<u8> = (0..2500_u32).map(|at| b'a' + (at % 23) as u8).collect();
        let mut receive = |count| {
            let begin = Instant::now();
            let mut frames = Vec::new();
            while frames.len() < count && begin.elapsed() < PATIENCE {
                rig.breathe();
                frames.extend(rig.take("output"));
            }
            frames
        };
        for (ip, tag, udp_at) in [
            (["ip4(id=65535)", "ip4(id=0)", "ip4(id=1)"], None, 34),
            (["ip6"; 3], None, 54),
            (["ip6"; 3], Some([0x81, 0, 0, 5]), 58),
        ] {
            let tagged = |mut frame: Vec<u8>| {
                tag.map(|tag| frame.splice(12..12, tag));
                frame
            };
            from.file().write_all(&joined(&tagged(udp(ip[0], &payload)), 1000, udp_at)).unwrap();
            let frames = receive(3);
            let expected = payload.chunks(1000).zip(ip).map(|(payload, ip)| tagged(udp(ip, payload)));
            assert!(frames == expected.collect::<Vec<_>>(), "{ip:?}, {tag:?}: {} came", frames.len());
        }
        // As many as there can be at once.
        (0..20).for_each(|_| from.file().write_all(&joined(&udp("ip4", &payload), 40, 34)).unwrap());
        let frames = receive(20 * 63);
        assert_eq!(frames.len(), 20 * 63);
        assert!(frames.iter().all(|frame| frame.len() == 42 + if frame.len() == 82 { 40 } else { 20 }));
    });
}

/// Nothing says beforehand that the next frames become more packets than those before.
#[test]
fn joined_datagrams_wait_for_room() {
    with_joined("UDP GSO between other frames", |from, rig| {
        let long = joined(&udp("ip4", &[b'x'; 60 * 40]), 40, 34);
        let plain = [&[0; 10][..], &[0xff; 12], &[0x88, 0xb5], &[0; 46]].concat();
        for frame in [&plain, &long, &plain] {
            let count = if frame == &plain { 200 } else { 64 };
            (0..count).for_each(|_| from.file().write_all(frame).unwrap());
        }
        let expected = [vec![60; 200], vec![82; 64 * 60], vec![60; 200]].concat();
        let mut lens = Vec::new();
        let begin = Instant::now();
        while lens.len() < expected.len() && begin.elapsed() < PATIENCE {
            rig.breathe();
            lens.extend(rig.take("output").iter().map(Vec::len));
        }
        let drops = rig.report().drops;
        assert!(lens == expected, "{} came, {drops:?}", lens.len());
        assert_eq!((drops.values().sum::<u64>(), rig.counter("kernel_drops")), (0, 0), "{drops:?}");
        // They are accounted for where nobody fetches them any more.
        (0..64).for_each(|_| from.file().write_all(&long).unwrap());
        (0..2).for_each(|_| from.file().write_all(&plain).unwrap());
        rig.breathe();
    });
}

#[test]
fn joined_datagrams_are_dropped_where_they_cannot_be_cut() {
    let len = 1000;
    let frame = udp("ip4", &[b'x'; 2500]);
    let of = |frame: &[u8], udp_at| Datagrams::of(frame, Framing::Ethernet, len, udp_at);
    let good = of(&frame, Some(34)).expect("it can be cut");
    assert_eq!(of(&frame[14..], None), None);
    assert!(Datagrams::of(&frame[14..], Framing::Bare, len, Some(20)).is_some());
    assert_eq!(of(&frame, Some(84)), None, "the checksum of an inner header is missing");
    assert_eq!(Datagrams::of(&frame, Framing::Ethernet, 0, Some(34)), None);
    (0..frame.len()).for_each(|len| assert_eq!(of(&frame[..len], Some(34)), None, "{len} bytes are there"));
    let tcp = Packet::parse("eth / ip4 / tcp(dport=80) / 'abc'").unwrap().bytes;
    assert_eq!(of(&tcp, Some(34)), None);
    // All or nothing.
    for (packets, count) in [(2, None), (3, Some(3))] {
        let mut pool = Pool::new(packets).unwrap();
        let datagrams = good.cut(&frame, &mut pool);
        assert_eq!(datagrams.as_ref().map(Vec::len), count);
        datagrams.into_iter().flatten().for_each(|packet| pool.take_back(packet));
        assert_eq!(pool.allocated(), 0);
    }
}

#[test]
fn the_last_datagram_may_be_short() {
    for (ip, udp_at) in [("ip4(id=0)", 34), ("ip6", 54)] {
        for last in [1, 11, 12] {
            let frame = udp(ip, &vec![b'x'; 20 + last]);
            let datagrams =
                Datagrams::of(&frame, Framing::Ethernet, 20, Some(udp_at)).expect("it can be cut");
            let mut pool = Pool::new(2).unwrap();
            let packets = datagrams.cut(&frame, &mut pool).expect("packets");
            let expected = udp(&ip.replace("id=0", "id=1"), &vec![b'x'; last]);
            assert!(packets[1].data() == expected, "{ip}, {last} bytes: {:x?}", packets[1].data());
            packets.into_iter().for_each(|packet| pool.take_back(packet));
        }
    }
}

#[test]
fn checksums_that_were_left_out_stay_so() {
    let mut frame = udp("ip4", &[b'x'; 1500]);
    frame[40..42].fill(0);
    let mut pool = Pool::new(2).unwrap();
    for (udp_at, is_absent) in [(None, true), (Some(34), false)] {
        let datagrams = Datagrams::of(&frame, Framing::Ethernet, 1000, udp_at).expect("it can be cut");
        for packet in datagrams.cut(&frame, &mut pool).expect("packets") {
            assert_eq!(packet.data()[40..42] == [0; 2], is_absent);
            pool.take_back(packet);
        }
    }
}
