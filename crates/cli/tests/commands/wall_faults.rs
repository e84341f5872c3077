//! What becomes of the wall when nDPI's worker fails: packets go on, and verdicts come again.

use crate::common::{say, scratch};
use dpi::worker::{Faults, Options};
use dpi::{Protocol, ndpi};
use flow::Packet;
use std::time::{Duration, Instant};
use wall::spy::{Progress, Settings, Spy, Tag};
use wire::LinkType;

/// Verdicts come again within this time after a fault.
const RESUMES: Duration = Duration::from_millis(250);
/// What a test may take at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// A spy that never waits, on the worker of the command; `None`, said aloud, without nDPI.
fn spy(options: Options) -> Option<Spy> {
    if let Some(why) = ndpi::absent() {
        say(&format!("SKIPPED: this build has no nDPI ({why})"));
        return None;
    }
    let program = Some(env!("CARGO_BIN_EXE_sluss").into());
    let ndpi = Some(Options { program, guess: false, ..options });
    let flows = flow::Settings { capacity: 10_000, ..flow::Settings::default() };
    Some(Spy::new(Settings { flows, ndpi, ..Settings::default() }).unwrap())
}

fn magic() -> Options {
    Options { faults: Faults { magic_packets: true }, ..Options::default() }
}

/// A datagram of UDP from a port of its own; what it holds, tier 1 does not know.
fn datagram(port: u16, server: u16, payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend(server.to_be_bytes());
    packet.extend((length - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// A read request of TFTP, which nDPI knows by its first packet and tier 1 does not.
fn tftp(port: u16) -> Vec<u8> {
    datagram(port, 69, b"\0\x01rfc1350.txt\0octet\0")
}

/// Looks at one packet.
fn look(spy: &mut Spy, frame: &[u8]) -> Tag {
    let mut tags = [Tag::default()];
    let packet = Packet { frame, linktype: LinkType::RAW, time_ns: 1, wire_len: frame.len() as u32 };
    spy.burst(&[packet], &mut tags);
    tags[0]
}

/// Sends packets of a new flow after another until one is identified by nDPI; says how long that took.
fn until_identified(spy: &mut Spy, ports: &mut impl Iterator<Item = u16>) -> Duration {
    let tftp_number = Protocol::named("TFTP").unwrap().number();
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let port = ports.next().unwrap();
        for _ in 0..20 {
            // Packets go on, whatever nDPI does.
            let tag = look(spy, &tftp(port));
            assert!(tag.packets > 0);
            if tag.protocol == tftp_number {
                return begin.elapsed();
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    panic!("nothing was identified: {:?}", spy.tier2());
}

#[test]
fn verdicts_come_again_after_a_crash_and_a_hang() {
    let Some(mut spy) = spy(magic()) else { return };
    let mut ports = 1024..;
    until_identified(&mut spy, &mut ports);
    for (fault, name) in
        [(&b"sluss: crash"[..], "crash"), (b"sluss: hang", "hang"), (b"sluss: forge answers", "forged")]
    {
        let port = ports.next().unwrap();
        look(&mut spy, &datagram(port, 9999, fault));
        let took = until_identified(&mut spy, &mut ports);
        assert!(took < RESUMES, "{name}: {took:?}");
    }
    let (counters, _) = spy.tier2().unwrap();
    assert_eq!((counters.crashes, counters.hangs, counters.forged), (1, 1, 1), "{counters:?}");
    assert!(counters.respawns >= 3);
    spy.finish();
    let flows = spy.counters();
    assert_eq!(flows.packets, flows.in_flows + flows.no_flow.iter().sum::<u64>());
}

#[test]
fn a_worker_that_is_stopped_is_replaced() {
    let Some(mut spy) = spy(Options::default()) else { return };
    let mut ports = 1024..;
    until_identified(&mut spy, &mut ports);
    let process = spy.worker_process().unwrap();
    let stop = std::process::Command::new("sh").args(["-c", &format!("kill -STOP {process}")]).status();
    assert!(stop.unwrap().success());
    let took = until_identified(&mut spy, &mut ports);
    assert!(took < RESUMES, "{took:?}");
    assert_ne!(spy.worker_process(), Some(process));
}

#[test]
fn that_it_cannot_be_started_again_is_told_and_what_is_asked_is_lost() {
    if let Some(why) = ndpi::absent() {
        return say(&format!("SKIPPED: this build has no nDPI ({why})"));
    }
    let program = scratch("ndpi-gone").join("sluss");
    let link = || std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sluss"), &program).unwrap();
    link();
    let ndpi = Some(Options { program: Some(program.clone()), guess: false, ..Options::default() });
    let flows = flow::Settings { capacity: 10_000, ..flow::Settings::default() };
    let mut spy = Spy::new(Settings { flows, ndpi, ..Settings::default() }).unwrap();
    let mut ports = 1024..;
    until_identified(&mut spy, &mut ports);
    // As in a process that is confined, no other can be started.
    std::fs::remove_file(&program).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", spy.worker_process().unwrap())).unwrap();
    let warm = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().to_owned();
    assert!(std::process::Command::new("kill").args(["-KILL", &warm]).status().unwrap().success());
    let begin = Instant::now();
    let mut is_lost = false;
    while !is_lost || spy.tier2_gone().is_none() {
        assert!(begin.elapsed() < PATIENCE, "{:?}", spy.tier2());
        let port = ports.next().unwrap();
        is_lost = (0..20).any(|_| look(&mut spy, &tftp(port)).progress == Progress::Lost);
        std::thread::sleep(Duration::from_millis(1));
    }
    let (counters, _) = spy.tier2().unwrap();
    assert!(counters.crashes == 1 && counters.unstarted > 0, "{counters:?}");
    let is_there = || std::path::Path::new("/proc").join(&warm).exists();
    while is_there() {
        assert!(begin.elapsed() < PATIENCE, "it was not reaped");
        look(&mut spy, &tftp(ports.next().unwrap()));
        std::thread::sleep(Duration::from_millis(1));
    }
    link();
    until_identified(&mut spy, &mut ports);
    assert_eq!(spy.tier2_gone(), None);
}

#[test]
fn the_packet_that_hangs_ndpi_is_refused_and_costs_a_worker_at_most() {
    // 65,500 bytes of labels: nDPI 4.2 counts their bytes in 16 bits, for ever.
    let labels: Vec<u8> = [&b"\x3f"[..], &[b'a'; 63]].concat().repeat(1024);
    let query = [&b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0"[..], &labels[..65_488]].concat();
    let Some(mut refusing) = spy(Options::default()) else { return };
    let tag = look(&mut refusing, &datagram(7, 53, &query[..65_500]));
    assert_eq!(tag.packets, 1);
    let (counters, _) = refusing.tier2().unwrap();
    // Tier 1 may know it for DNS; what it does not know is refused, and counted.
    assert!(counters.too_long == 1 || tag.protocol != 0, "{counters:?}");
    assert_eq!((counters.hangs, counters.crashes), (0, 0));

    let lifted = Options { faults: Faults::default(), job_bytes: 128 << 10, jobs: 64, ..Options::default() };
    let Some(mut spy) = spy(lifted) else { return };
    let mut ports = 1024..;
    until_identified(&mut spy, &mut ports);
    look(&mut spy, &datagram(7, 53, &query[..65_500]));
    let took = until_identified(&mut spy, &mut ports);
    assert!(took < RESUMES, "{took:?}: {:?}", spy.tier2());
}

#[test]
fn a_full_ring_is_counted_and_packets_go_on() {
    let Some(mut spy) = spy(Options { jobs: 2, ..magic() }) else { return };
    let frames: Vec<Vec<u8>> = (1000..5000).map(tftp).collect();
    for frame in &frames {
        assert_eq!(look(&mut spy, frame).packets, 1);
    }
    let (counters, _) = spy.tier2().unwrap();
    assert!(counters.ring_full > 0 && counters.submitted + counters.ring_full >= 4000, "{counters:?}");
    spy.finish();
    let identified = spy.identified();
    assert_eq!(identified.tier1 + identified.ndpi + identified.nobody, 4000, "{identified:?}");
}

#[test]
fn a_full_table_makes_room_and_tells_of_every_flow() {
    let Some(mut spy) = spy(Options::default()) else { return };
    for round in 0..10_u8 {
        for port in 1024..5024 {
            let mut frame = tftp(port);
            frame[15] = round;
            assert_eq!(look(&mut spy, &frame).packets, 1);
        }
    }
    assert!(spy.flows() <= 10_000);
    spy.finish();
    let (identified, flows) = (spy.identified(), spy.counters().created);
    assert_eq!(flows, 40_000);
    assert_eq!(identified.tier1 + identified.ndpi + identified.nobody, flows, "{identified:?}");
}

/// A segment from a client of TCP, behind the SYN of number 0.
fn segment(sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = datagram(4000, 4433, &[&[0; 12][..], payload].concat());
    packet[9] = 6;
    packet[24..28].copy_from_slice(&sequence.to_be_bytes());
    packet[32] = 5 << 4;
    packet[33] = 0x18;
    packet
}

#[test]
fn a_packet_is_not_told_of_by_the_verdict_of_another_flow_of_its_burst() {
    if let Some(why) = ndpi::absent() {
        return say(&format!("SKIPPED: this build has no nDPI ({why})"));
    }
    // Tier 1 waits for the second half of a greeting, so that nDPI is asked; then it decides, and the place of the question has another flow.
    let hello = b"\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03abcdefghijklmnopqrstuvwxyzabcdef\x00\x00\x02\x13\x01\x01\x00";
    let (begin, end) = hello.split_at(20);
    let frames = [segment(1, begin), segment(21, end), tftp(5000)];
    let program = Some(env!("CARGO_BIN_EXE_sluss").into());
    let ndpi = Some(Options { program, guess: false, ..Options::default() });
    let flows = flow::Settings { capacity: 100, ..flow::Settings::default() };
    let mut spy = Spy::new(Settings { flows, ndpi, waits: true, ..Settings::default() }).unwrap();
    let mut tags = [Tag::default(); 3];
    let packets = [0, 1, 2].map(|at| Packet {
        frame: &frames[at],
        linktype: LinkType::RAW,
        time_ns: at as u64,
        wire_len: frames[at].len() as u32,
    });
    spy.burst(&packets, &mut tags);
    let named = |name| Protocol::named(name).unwrap().number();
    assert_eq!(tags.map(|tag| tag.protocol), [0, named("TLS"), named("TFTP")]);
}
