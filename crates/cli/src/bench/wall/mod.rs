//! `sluss bench wall`: what a packet costs in the wall, in CPU time, on this machine.
//!
//! Packets are replayed from memory, straight into the spy that `l7_spy` runs. As on a device it does not wait for nDPI; but a replay, which has no rate of
//! its own, waits for room where nDPI's ring is nearly full, and that counts as its own time.

mod frames;

use crate::args::{WallBenchArgs, WallMode};
use crate::clock::cpu_time;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural::counted;
use crate::terminal::{Terminal, print};
use crate::wall::policy;
use dpi::worker::{Options, WorkerError};
use flow::{Packet, Timeouts};
use frames::{Reel, Stamped};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use wall::judge::{Judge, Verdict, Way};
use wall::policy::Policy;
use wall::spy::{Settings, Spy, SpyError, Tag};
use wire::LinkType;

/// Packets that are looked at together, as in `l7_spy`.
const BURST: usize = 64;
/// Bursts between two looks at the clock.
const BURSTS: usize = 64;
/// CPU seconds that are measured at least.
const WINDOW_S: f64 = 2.0;
/// The measured part is this many times as long as what goes before, so that the rest of the process hardly counts.
const WINDOW_OF_START: f64 = 12.0;
/// Times that a capture is replayed before its flows count as cached, at most.
const PASSES_MAX: usize = 1000;
/// How many packets a capture of new flows has.
const WRITTEN: usize = 250_000;
/// SYNs between two looks at the flows of the capture.
const SYNS: usize = 4096;
/// Picoseconds that a byte takes on a line of 10 Gbit/s, by which the packets' clock goes.
const BYTE_PS: u64 = 800;

/// What was measured.
#[derive(Default)]
struct Measured {
    packets: u64,
    bytes: u64,
    new_flows: u64,
    decided: u64,
    undecided: u64,
    ring_full: u64,
    dp_cpu_s: f64,
    worker_cpu_s: f64,
    wall_s: f64,
}

/// A spy, its packets' clock, and what it was given.
struct Bed {
    who: Who,
    now_ps: u64,
    packets: u64,
    bytes: u64,
    tags: [Tag; BURST],
}

/// When a measurement began.
struct Begin {
    cpu_s: f64,
    wall: Instant,
    packets: u64,
    bytes: u64,
    flows: u64,
}

/// Runs the suite.
pub(super) fn run(args: &WallBenchArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let reel = |copied| match &args.file {
        Some(path) => Reel::of_capture(path, copied),
        None => Ok(Reel::made(copied)),
    };
    if args.policy.is_some() && args.mode == WallMode::Synflood {
        return Err(Failure::user("`--policy` goes with `cached` and `churn`").help("leave one of them out"));
    }
    if let Some(path) = &args.write {
        if args.mode != WallMode::Churn {
            return Err(Failure::user("`--write` writes the new flows of `--mode churn`"));
        }
        return write(reel(true)?, path);
    }
    if let (WallMode::Cached, Some(_), Some(path)) = (args.mode, args.flows, &args.file) {
        let path = path.display();
        terminal
            .tell(&Message::warning(format!("{path}: not read: `--flows` makes the packets of `cached`")));
    }
    let mut bed = Bed::new(args, terminal)?;
    let measured = match (args.mode, args.flows) {
        (WallMode::Cached, Some(flows)) => bed.cached_flows(flows as u64),
        (WallMode::Cached, None) => bed.cached(&reel(false)?),
        (WallMode::Churn, _) => bed.churn(reel(true)?),
        (WallMode::Synflood, _) => bed.synflood(&reel(false)?),
    };
    let text =
        if args.json { format!("{}\n", measured.object(args.mode)) } else { bed.in_words(args, &measured) };
    print(&text)?;
    Ok(Outcome::Done)
}

/// Who looks at packets: a spy, or a judge with one.
enum Who {
    Spy(Box<Spy>),
    Judge(Box<Judge>),
}

impl Who {
    fn new(policy: Option<&Arc<Policy>>, settings: Settings) -> Result<Who, SpyError> {
        Ok(match policy {
            None => Who::Spy(Box::new(Spy::new(settings)?)),
            Some(policy) => Who::Judge(Box::new(Judge::with_flows(Arc::clone(policy), settings)?)),
        })
    }

    fn spy(&self) -> &Spy {
        match self {
            Who::Spy(spy) => spy,
            Who::Judge(judge) => judge.spy(),
        }
    }

    fn spy_mut(&mut self) -> &mut Spy {
        match self {
            Who::Spy(spy) => spy,
            Who::Judge(judge) => judge.spy_mut(),
        }
    }

    #[inline]
    fn burst(&mut self, packets: &[Packet<'_>], tags: &mut [Tag]) {
        match self {
            Who::Spy(spy) => spy.burst(packets, tags),
            Who::Judge(judge) => {
                let mut verdicts = [Verdict::NONE; BURST];
                judge.burst(packets, Way::default(), &mut verdicts);
                std::hint::black_box(&verdicts);
            }
        }
    }
}

impl Bed {
    fn new(args: &WallBenchArgs, terminal: &Terminal) -> Result<Bed, Failure> {
        let never = Timeouts::NEVER;
        let timeouts = match args.mode {
            // No connection of a capture that is replayed as it is begins anew.
            WallMode::Cached => {
                Timeouts { idle_tcp: never, idle_udp: never, half_open: never, closed: never, active: never }
            }
            WallMode::Churn => Timeouts::default(),
            WallMode::Synflood => Timeouts { closed: never, ..Timeouts::default() },
        };
        let capacity = args.flows.unwrap_or(flow::Settings::default().capacity);
        let settings = |ndpi| Settings {
            flows: flow::Settings { capacity, timeouts, ..flow::Settings::default() },
            ndpi,
            ..Settings::default()
        };
        let options = Options { guess: false, ..Options::default() };
        let policy =
            args.policy.as_deref().map(|path| policy::read(path, terminal.colour_stderr)).transpose()?;
        let new = |ndpi| Who::new(policy.as_ref(), settings(ndpi));
        let mut who = match new(Some(options)) {
            Err(SpyError::Worker(why)) => {
                terminal.tell(&without_ndpi(&why));
                new(None)
            }
            who => who,
        }
        .map_err(|error| Failure::user(format!("--flows: {error}")))?;
        who.spy_mut().populate();
        Ok(Bed { who, now_ps: 0, packets: 0, bytes: 0, tags: [Tag::default(); BURST] })
    }

    /// Looks at packets that come one behind the other on a line.
    #[inline]
    fn play<'a>(&mut self, count: usize, packet: impl Fn(usize, u64) -> Packet<'a>) {
        let mut packets = [Packet { frame: &[], linktype: LinkType::EN10MB, time_ns: 0, wire_len: 0 }; BURST];
        for (at, place) in packets[..count].iter_mut().enumerate() {
            *place = packet(at, self.now_ps / 1000);
            self.now_ps += u64::from(place.wire_len) * BYTE_PS;
            self.bytes += u64::from(place.wire_len);
        }
        self.packets += count as u64;
        self.who.burst(&packets[..count], &mut self.tags[..count]);
    }

    fn play_reel(&mut self, reel: &Reel, frames: Range<usize>) {
        let begin = frames.start;
        self.play(frames.len(), |at, time_ns| reel.packet(begin + at, time_ns));
    }

    fn begin(&self) -> Begin {
        Begin {
            cpu_s: cpu_s(),
            wall: Instant::now(),
            packets: self.packets,
            bytes: self.bytes,
            flows: self.who.spy().counters().created,
        }
    }

    /// What was measured since.
    fn measured(&self, begin: &Begin) -> Measured {
        Measured {
            packets: self.packets - begin.packets,
            bytes: self.bytes - begin.bytes,
            new_flows: self.who.spy().counters().created - begin.flows,
            dp_cpu_s: cpu_s() - begin.cpu_s,
            wall_s: begin.wall.elapsed().as_secs_f64(),
            worker_cpu_s: self.who.spy().worker_cpu_seconds(),
            ring_full: self.who.spy().tier2().map_or(0, |(counters, _)| counters.ring_full),
            ..Measured::default()
        }
    }

    /// The packets of a capture again and again, whose flows are known.
    fn cached(&mut self, reel: &Reel) -> Measured {
        self.settle(reel);
        let bursts = bursts(reel);
        let mut at = 0;
        let mut measured = self.repeat(|bed| {
            bed.play_reel(reel, bursts[at].clone());
            at = if at + 1 == bursts.len() { 0 } else { at + 1 };
        });
        self.count_open(&mut measured);
        measured
    }

    /// Replays a capture until nothing new is said of its flows.
    fn settle(&mut self, reel: &Reel) {
        let mut before = None;
        for _ in 0..PASSES_MAX {
            for burst in bursts(reel) {
                self.play_reel(reel, burst);
                self.who.spy_mut().make_room();
            }
            self.who.spy_mut().wait();
            let now =
                (self.who.spy().identified(), self.who.spy().tier2().map(|(counters, _)| counters.submitted));
            if before == Some(now) {
                return;
            }
            before = Some(now);
        }
    }

    /// Packets of so many flows in random order, which are known.
    fn cached_flows(&mut self, flows: u64) -> Measured {
        let mut frames = Stamped::new(BURST, false);
        for first in (0..flows).step_by(BURST) {
            let count = (flows - first).min(BURST as u64) as usize;
            (0..count).for_each(|at| frames.stamp(at, first + at as u64));
            self.play(count, |at, time_ns| frames.packet(at, time_ns));
        }
        let mut random = Random(1);
        let mut measured = self.repeat(|bed| {
            (0..BURST).for_each(|at| frames.stamp(at, random.below(flows)));
            bed.play(BURST, |at, time_ns| frames.packet(at, time_ns));
        });
        self.count_open(&mut measured);
        measured
    }

    /// All flows are there still: those that are identified, and the others.
    fn count_open(&self, measured: &mut Measured) {
        let identified = self.who.spy().identified();
        measured.decided = identified.tier1 + identified.ndpi;
        measured.undecided = (self.who.spy().flows() as u64).saturating_sub(measured.decided);
    }

    /// The packets of a capture again and again, each time as other flows.
    fn churn(&mut self, mut reel: Reel) -> Measured {
        let bursts = bursts(&reel);
        let (mut at, mut pass) = (0, 0_u32);
        let begin = self.begin();
        let ring_full = self
            .repeat(|bed| {
                let burst = bursts[at].clone();
                reel.renumber(burst.clone(), pass);
                bed.play_reel(&reel, burst);
                // The worker may be slower than the replay, which has no rate of its own.
                bed.who.spy_mut().make_room();
                at += 1;
                if at == bursts.len() {
                    (at, pass) = (0, pass.wrapping_add(1));
                }
            })
            .ring_full;
        // The last words of all flows, for which there is time now: a ring that is full loses nothing.
        self.who.spy_mut().finish();
        let mut measured = Measured { ring_full, ..self.measured(&begin) };
        measured.undecided = self.who.spy().identified().nobody;
        measured.decided = measured.new_flows.saturating_sub(measured.undecided);
        measured
    }

    /// A SYN of a new flow in each packet, while the flows of a capture go on.
    fn synflood(&mut self, reel: &Reel) -> Measured {
        let open: Vec<usize> = (0..reel.len()).filter(|&at| !reel.ends_connection(at)).collect();
        let pass = |bed: &mut Bed, protocols: &mut dyn FnMut(usize, u16)| {
            for burst in open.chunks(BURST) {
                bed.play(burst.len(), |at, time_ns| reel.packet(burst[at], time_ns));
                bed.who.spy_mut().make_room();
                burst.iter().zip(&bed.tags).for_each(|(&at, tag)| protocols(at, tag.protocol));
            }
        };
        for _ in 0..100 {
            pass(self, &mut |_, _| {});
            self.who.spy_mut().wait();
        }
        let mut known = HashMap::new();
        pass(self, &mut |at, protocol| {
            if let Some(flow) = reel.flow(at)
                && protocol != 0
            {
                known.insert(*flow, (protocol, true));
            }
        });
        let mut frames = Stamped::new(BURST, true);
        let mut random = Random(1);
        let mut left = SYNS;
        let mut measured = self.repeat(|bed| {
            (0..BURST).for_each(|at| frames.stamp(at, random.below(1 << 40)));
            bed.play(BURST, |at, time_ns| frames.packet(at, time_ns));
            left -= BURST;
            if left == 0 {
                left = SYNS;
                pass(bed, &mut |at, protocol| {
                    if let Some((before, is_same)) = reel.flow(at).and_then(|flow| known.get_mut(flow)) {
                        *is_same &= *before == protocol;
                    }
                });
            }
        });
        measured.decided = known.values().filter(|(_, is_same)| *is_same).count() as u64;
        measured.undecided = known.len() as u64 - measured.decided;
        measured
    }

    /// Does something again and again, for long enough.
    fn repeat(&mut self, mut burst: impl FnMut(&mut Bed)) -> Measured {
        let window_s = f64::max(WINDOW_S, cpu_s() * WINDOW_OF_START);
        let begin = self.begin();
        while cpu_s() - begin.cpu_s < window_s {
            (0..BURSTS).for_each(|_| burst(self));
        }
        self.measured(&begin)
    }

    fn in_words(&self, args: &WallBenchArgs, measured: &Measured) -> String {
        let Measured { packets, dp_cpu_s, worker_cpu_s, wall_s, bytes, .. } = *measured;
        let mut text = format!(
            "{}: {:.1} ns of CPU time a packet, {:.1} Gbit/s per second of CPU time of the data plane\n",
            args.mode.name(),
            measured.ns_per_packet(),
            measured.gbit_per_dp_cpu_s()
        );
        let mut line = |name: &str, value: String| text += &format!("  {name:<22} {value}\n");
        line(
            "packets",
            format!("{packets}, {:.0} bytes each on average", bytes as f64 / packets.max(1) as f64),
        );
        line("new flows", measured.new_flows.to_string());
        let (decided, undecided) = match args.mode {
            WallMode::Synflood => ("verdicts kept", "verdicts lost"),
            _ => ("flows identified", "flows not identified"),
        };
        line(decided, measured.decided.to_string());
        line(undecided, measured.undecided.to_string());
        line("CPU time, data plane", format!("{dp_cpu_s:.2} s"));
        match self.who.spy().tier2() {
            Some((counters, lost)) => {
                line("CPU time, nDPI", format!("{worker_cpu_s:.2} s, its start included"));
                line("packets for nDPI", counters.submitted.to_string());
                line("lost to a full ring", counters.ring_full.to_string());
                line("flows not asked about", lost.to_string());
            }
            None => line("nDPI", "absent".to_owned()),
        }
        line(
            "sustained",
            format!("{:.1} Gbit/s, {:.2} s from start to end", bytes as f64 * 8e-9 / wall_s, wall_s),
        );
        line("memory for flows", format!("{} MiB", self.who.spy().memory() >> 20));
        text
    }
}

impl Measured {
    fn ns_per_packet(&self) -> f64 {
        self.dp_cpu_s * 1e9 / self.packets.max(1) as f64
    }

    fn gbit_per_dp_cpu_s(&self) -> f64 {
        self.bytes as f64 * 8e-9 / self.dp_cpu_s.max(1e-9)
    }

    fn object(&self, mode: WallMode) -> Value {
        json!({
            "v": 1,
            "type": "bench",
            "suite": "wall",
            "mode": mode.name(),
            "packets": self.packets,
            "bytes": self.bytes,
            "new_flows": self.new_flows,
            "decided": self.decided,
            "undecided": self.undecided,
            "ring_full": self.ring_full,
            "dp_cpu_s": super::round(self.dp_cpu_s),
            "worker_cpu_s": super::round(self.worker_cpu_s),
            "wall_s": super::round(self.wall_s),
            "ns_per_packet": super::round(self.ns_per_packet()),
            "gbit_per_dp_cpu_s": super::round(self.gbit_per_dp_cpu_s()),
        })
    }
}

fn cpu_s() -> f64 {
    cpu_time().as_secs_f64()
}

fn bursts(reel: &Reel) -> Vec<Range<usize>> {
    (0..reel.len()).step_by(BURST).map(|first| first..(first + BURST).min(reel.len())).collect()
}

fn without_ndpi(why: &WorkerError) -> Message {
    Message::warning(format!(
        "nDPI is not asked: {why}; what our own identification leaves open stays unknown"
    ))
}

/// Writes the first new flows of a churn into a capture.
fn write(mut reel: Reel, path: &Path) -> Result<Outcome, Failure> {
    let Some(linktype) = reel.linktype() else {
        return Err(Failure::user("the packets have several link types, and a pcap has one"));
    };
    let (order, precision) = (capture::ByteOrder::NATIVE, capture::Precision::Nano);
    let target = capture::Target::Pcap { order, precision, snaplen: 262_144, linktype, link_bits: 0 };
    let failed = |error| Failure::writing(&path.display().to_string(), &error);
    let file = std::fs::File::create(path).map_err(failed)?;
    let mut file = std::io::BufWriter::new(file);
    file.write_all(&target.file_header()).map_err(failed)?;
    let mut now_ps = 0_u64;
    for pass in 0..WRITTEN.div_ceil(reel.len()) as u32 {
        reel.renumber(0..reel.len(), pass);
        for at in 0..reel.len() {
            let packet = reel.packet(at, now_ps / 1000);
            let (seconds, ns) = (packet.time_ns / 1_000_000_000, packet.time_ns % 1_000_000_000);
            for word in [seconds as u32, ns as u32, packet.frame.len() as u32, packet.wire_len] {
                file.write_all(&word.to_ne_bytes()).map_err(failed)?;
            }
            file.write_all(packet.frame).map_err(failed)?;
            now_ps += u64::from(packet.wire_len) * BYTE_PS;
        }
    }
    file.flush().map_err(failed)?;
    print(&format!(
        "{}: {} in it\n",
        path.display(),
        counted((WRITTEN.div_ceil(reel.len()) * reel.len()) as u64, "packet")
    ))?;
    Ok(Outcome::Done)
}

/// Random numbers, the same in every run (Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    /// A number below a bound.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}
