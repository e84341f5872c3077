//! The wall against the least C that finds a verdict, and against ndpiReader: what a packet of a known flow costs, one of a new flow, a SYN of a flood.

use crate::command::{built_command, command, measured};
use crate::race::{Engine as Racer, engine as racer, median, median_ratio, race, thread_cpu_ns};
use crate::report::{Figure, Report, Target, Target::AtLeast, Target::AtMost};
use dpi::worker::Options;
use flow::{Packet, Timeouts};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use wall::ledger::{Ledger, Wanted};
use wall::record::Record;
use wall::spy::{Settings, Spy, Tag};
use wire::LinkType;

const SUITE: &str = "wall";
/// Packets that are looked at together.
const BURST: usize = 64;
/// Packets of a lap at least.
const LAP: usize = 1 << 18;
const ROUNDS: usize = 21;
/// Runs of a whole command.
const RUNS: usize = 3;
const FLOWS: u32 = 4_000_000;

/// A frame, as the floor has it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Frame {
    data: *const u8,
    captured: u32,
    wire: u32,
}

// SAFETY: `c/wall.c` defines these.
unsafe extern "C" {
    fn floor_new(capacity: u32) -> *mut c_void;
    fn floor_fill(table: *mut c_void, frames: *const Frame, count: usize);
    fn floor_look(table: *mut c_void, frames: *const Frame, count: usize) -> u64;
}

/// Captures by name, and the Gbit/s of new flows that a core should take.
const CAPTURES: [(&str, f64); 4] =
    [("BITTORRENT.pcap", 10.0), ("rtmp_sample.cap", 10.0), ("http.cap", 10.0), ("SkypeIRC.cap", 8.0)];
/// Where they are not at hand, those of the repository.
const OWN: [(&str, f64); 4] =
    [("bittorrent.pcap", 10.0), ("rtmp.pcap", 10.0), ("web.pcap", 10.0), ("mixed.pcap", 8.0)];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let captures = captures();
    for (path, _) in &captures {
        cached(report, path);
    }
    four_million(report);
    let Some(sluss) = built_command() else { return };
    let flood = bench(&sluss, &["--mode", "synflood"], &captures[2].0);
    let per_syn = median(flood.iter().map(|run| number(run, "ns_per_packet")).collect());
    report.ratio(SUITE, "SYN flood, ns a packet (goal 80)", per_syn, Some(AtMost(120.0)));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("out/work");
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for (path, gbits) in &captures {
        churn(report, &sluss, path, *gbits, &folder);
    }
}

fn captures() -> Vec<(PathBuf, f64)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shared = std::env::var_os("SLUSS_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let below =
        |folder: PathBuf, names: [(&str, f64); 4]| names.map(|(name, gbits)| (folder.join(name), gbits));
    let theirs = below(shared.join("captures/snabbwall"), CAPTURES);
    if theirs.iter().all(|(path, _)| path.exists()) {
        return theirs.to_vec();
    }
    eprintln!("SKIPPED: SnabbWall's captures are not at hand; the repository's take their place");
    below(root.join("captures"), OWN).to_vec()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The frames of a capture.
fn read(path: &Path) -> Vec<(LinkType, Vec<u8>, u32, u64)> {
    let mut reader =
        capture::Reader::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut frames = Vec::new();
    while let Some(batch) = reader.next_batch().expect("a whole capture") {
        frames.extend(batch.iter().map(|packet| {
            (packet.linktype, packet.data.to_vec(), packet.wire_len, packet.timestamp_ns.unsigned_abs())
        }));
    }
    frames
}

/// A spy on which no flow of a capture ends that is replayed as it is.
fn endless(capacity: usize) -> Spy {
    let never = Timeouts::NEVER;
    let timeouts =
        Timeouts { idle_tcp: never, idle_udp: never, half_open: never, closed: never, active: never };
    let flows = flow::Settings { capacity, timeouts, ..flow::Settings::default() };
    Spy::new(Settings { flows, ..Settings::default() }).expect("memory")
}

/// A known flow, against the floor: the frames lie where they are, and are looked at in bursts.
fn cached(report: &mut Report, path: &Path) {
    let frames = read(path);
    let packets: Vec<Packet<'_>> = frames
        .iter()
        .map(|(linktype, frame, wire_len, _)| Packet {
            frame,
            linktype: *linktype,
            time_ns: 0,
            wire_len: *wire_len,
        })
        .collect();
    let floor = Floor::new(1 << 18);
    let plain: Vec<Frame> = packets.iter().map(frame).collect();
    floor.fill(&plain);
    let mut spy = endless(1 << 18);
    let mut tags = [Tag::default(); BURST];
    let mut look = |spy: &mut Spy| {
        packets.chunks(BURST).for_each(|burst| spy.burst(burst, &mut tags[..burst.len()]));
    };
    // What is not identified by then never will be.
    (0..64).for_each(|_| look(&mut spy));
    let passes = LAP.div_ceil(packets.len());
    let traffic = vec![(); passes * packets.len()];
    let mut racers: [Racer<'_, ()>; 2] = [
        racer("floor in C", |lap: &[()]| {
            for _ in 0..lap.len() / plain.len() {
                plain.chunks(BURST).for_each(|burst| _ = floor.look(burst));
            }
            lap.len() as u64
        }),
        racer("sluss", |lap: &[()]| {
            (0..lap.len() / packets.len()).for_each(|_| look(&mut spy));
            lap.len() as u64
        }),
    ];
    let laps = race(&traffic, &mut racers, usize::MAX, ROUNDS);
    let what = format!("known flows of {}", name(path));
    report.laps(SUITE, &what, &laps);
    report.ratio(SUITE, format!("{what}: floor, ns"), laps[0].median_ns, Some(AtMost(20.0)));
    report.ratio(SUITE, format!("{what}: sluss / floor"), laps[1].over(&laps[0]), Some(AtMost(1.6)));
}

/// Four million known flows in random order, in frames of 64 bytes.
fn four_million(report: &mut Report) {
    let floor = Floor::new(FLOWS);
    let mut spy = endless(FLOWS as usize);
    spy.populate();
    let mut frames = [[0_u8; 64]; BURST];
    for frame in &mut frames {
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&50_u16.to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 6]);
        frame[30..38].copy_from_slice(&[10, 0, 0, 1, 0x9c, 0x40, 0, 22]);
        frame[46..48].copy_from_slice(&[0x50, 0x10]);
        frame[54..64].copy_from_slice(b"SSH-2.0-a\n");
    }
    let stamp =
        |frame: &mut [u8; 64], flow: u32| frame[26..30].copy_from_slice(&(flow + (10 << 24)).to_be_bytes());
    let mut tags = [Tag::default(); BURST];
    let mut look = |spy: &mut Spy, frames: &[[u8; 64]; BURST]| {
        let packets = frames.each_ref().map(|frame| packet_of(frame));
        spy.burst(&packets, &mut tags);
    };
    for first in (0..FLOWS).step_by(BURST) {
        (first..).zip(&mut frames).for_each(|(flow, frame)| stamp(frame, flow));
        floor.fill(&frames.each_ref().map(|frame| self::frame(&packet_of(frame))));
        look(&mut spy, &frames);
    }
    let mut rng = testkit::rng::Rng::new(1);
    let (mut of_floor, mut of_spy) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (times, is_floor) in [(&mut of_floor, true), (&mut of_spy, false)] {
            let start = thread_cpu_ns();
            for _ in 0..LAP / BURST {
                frames.iter_mut().for_each(|frame| stamp(frame, rng.below(FLOWS as usize) as u32));
                if is_floor {
                    floor.look(&frames.each_ref().map(|frame| self::frame(&packet_of(frame))));
                } else {
                    look(&mut spy, &frames);
                }
            }
            times.push((thread_cpu_ns() - start) as f64 / LAP as f64);
        }
    }
    let what = "4 million known flows";
    for (engine, times) in [("floor in C", &of_floor), ("sluss", &of_spy)] {
        let min = times.iter().copied().fold(f64::INFINITY, f64::min);
        let (what, median) = (what.to_owned(), median(times.clone()));
        report.figure(Figure { suite: SUITE, what, engine, min, median, unit: "ns/packet" });
    }
    report.ratio(SUITE, format!("{what}, ns a packet"), median(of_spy.clone()), Some(AtMost(45.0)));
    report.ratio(SUITE, format!("{what}: sluss / floor"), median_ratio(&of_spy, &of_floor), None);
}

fn packet_of(frame: &[u8; 64]) -> Packet<'_> {
    Packet { frame, linktype: LinkType::EN10MB, time_ns: 0, wire_len: 64 }
}

fn frame(packet: &Packet<'_>) -> Frame {
    Frame { data: packet.frame.as_ptr(), captured: packet.frame.len() as u32, wire: packet.wire_len }
}

/// The floor's table. It lives as long as the program.
struct Floor(*mut c_void);

impl Floor {
    fn new(capacity: u32) -> Floor {
        // SAFETY: it takes any number.
        Floor(unsafe { floor_new(capacity) })
    }

    fn fill(&self, frames: &[Frame]) {
        // SAFETY: a table, and frames that point to as many bytes as they say.
        unsafe { floor_fill(self.0, frames.as_ptr(), frames.len()) }
    }

    fn look(&self, frames: &[Frame]) -> u64 {
        // SAFETY: as above.
        unsafe { floor_look(self.0, frames.as_ptr(), frames.len()) }
    }
}

/// What `sluss bench wall` says, several times.
fn bench(sluss: &str, flags: &[&str], path: &Path) -> Vec<Value> {
    let path = path.display().to_string();
    let args = [&["bench", "wall", "--json"], flags, &[path.as_str()]].concat();
    (0..RUNS)
        .map(|_| {
            let output = std::process::Command::new(sluss).args(&args).output().expect("sluss starts");
            serde_json::from_slice(&output.stdout).expect("a line of JSON")
        })
        .collect()
}

fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or(f64::NAN)
}

/// Every flow new: the data plane and nDPI's worker, both against ndpiReader on the same packets.
fn churn(report: &mut Report, sluss: &str, path: &Path, gbits: f64, folder: &Path) {
    let what = format!("new flows of {}", name(path));
    let runs = bench(sluss, &["--mode", "churn"], path);
    let of = |key: &str| median(runs.iter().map(|run| number(run, key)).collect());
    report.ratio(SUITE, format!("{what}: Gbit/s a core"), of("gbit_per_dp_cpu_s"), Some(AtLeast(gbits)));
    report.ratio(SUITE, format!("{what}: Gbit/s sustained"), of("bytes") * 8e-9 / of("wall_s"), None);
    report.ratio(SUITE, format!("{what}: lost to a full ring"), of("ring_full"), Some(AtMost(0.0)));
    let share = |run: &Value| number(run, "worker_cpu_s") / number(run, "dp_cpu_s");
    let worker = median(runs.iter().map(share).collect());
    report.ratio(SUITE, format!("{what}: CPU of nDPI / data plane"), worker, None);
    let written = folder.join("churn.pcap").display().to_string();
    let path = path.display().to_string();
    measured("sluss", command(sluss, &["bench", "wall", "--mode", "churn", "--write", &written, &path]));
    let packets = read(Path::new(&written));
    report.ratio(
        SUITE,
        format!("{what}: verdicts as with waiting, %"),
        agreement(&packets),
        Some(AtLeast(99.0)),
    );
    if command("ndpiReader", &["-h"]).output().is_err() {
        eprintln!("SKIPPED: the benchmark does not compare with ndpiReader: install libndpi-bin (Debian)");
        return;
    }
    let reader = || measured("ndpiReader", command("ndpiReader", &["-q", "-i", &written])).cpu_s;
    let theirs = median((0..RUNS).map(|_| reader()).collect()) / packets.len() as f64;
    let ours = |run: &Value| (number(run, "dp_cpu_s") + number(run, "worker_cpu_s")) / number(run, "packets");
    let ours = median(runs.iter().map(ours).collect());
    let target: Option<Target> = Some(AtLeast(2.5));
    report.ratio(SUITE, format!("{what}: CPU: ndpiReader / sluss"), theirs / ours, target);
    let spy = || measured("sluss", command(sluss, &["wall", "spy", "pcap", &written])).cpu_s;
    let spy = median((0..RUNS).map(|_| spy()).collect()) / packets.len() as f64;
    report.ratio(SUITE, format!("{what}: CPU: ndpiReader / sluss wall spy"), theirs / spy, None);
}

/// Of the flows that are identified where packets wait for nDPI: how many get the same verdict where they do not, in per cent.
fn agreement(packets: &[(LinkType, Vec<u8>, u32, u64)]) -> f64 {
    let verdicts = |waits: bool| {
        let ledger = Ledger::new(Wanted { identified: false, ended: true });
        let ndpi = Options { guess: false, ..Options::default() };
        let settings =
            Settings { waits, ledger: Some(ledger.clone()), ndpi: Some(ndpi), ..Settings::default() };
        let Ok(mut spy) = Spy::new(settings) else { return HashMap::new() };
        let mut tags = [Tag::default(); BURST];
        for burst in packets.chunks(BURST) {
            let views: Vec<Packet<'_>> = burst
                .iter()
                .map(|&(linktype, ref frame, wire_len, time_ns)| Packet {
                    frame,
                    linktype,
                    time_ns,
                    wire_len,
                })
                .collect();
            spy.burst(&views, &mut tags[..views.len()]);
            spy.make_room();
        }
        spy.finish();
        let records = ledger.take_ended();
        let key = |record: &Record| (record.sorted_ends(), record.transport, record.first_ns);
        records
            .iter()
            .map(|record| (key(record), (record.verdict.protocol, record.verdict.master)))
            .filter(|(_, (protocol, _))| *protocol != dpi::Protocol::UNKNOWN)
            .collect::<HashMap<_, _>>()
    };
    let (inline, live) = (verdicts(true), verdicts(false));
    let same = inline.iter().filter(|(flow, verdict)| live.get(flow) == Some(verdict)).count();
    100.0 * same as f64 / inline.len().max(1) as f64
}
