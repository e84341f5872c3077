//! pfmatch programs of many clauses on addresses: from text to code, and per packet.

use crate::race::{Engine, engine, race, thread_cpu_ns};
use crate::report::{Figure, Report, Target::AtMost};
use crate::traffic::{Descriptor, Mix, Traffic};
use pflang::{Backend, Calls, Compiler, Matcher};
use std::net::Ipv4Addr;
use testkit::rng::Rng;
use wire::LinkType;

const SUITE: &str = "program";
const BURST: usize = 256;
/// Packets that the interpreter is asked about.
const CHECKED: usize = 2000;

/// A kind of clause: what it is called, and its text for an address and a number.
type Kind = (&'static str, fn(Ipv4Addr, usize) -> String);

const KINDS: [Kind; 5] = [
    ("ip src host A => h(N)", |address, number| format!("ip src host {address} => h({number})")),
    ("host A => h(N)", |address, number| format!("host {address} => h({number})")),
    ("host A => h(N, ip[8])", |address, number| format!("host {address} => h({number}, ip[8])")),
    ("ip src host A => hN", |address, number| format!("ip src host {address} => h{number}")),
    ("ip src host A => h(N, ip[16:4])", |address, number| {
        format!("ip src host {address} => h({number}, ip[16:4])")
    }),
];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    for (what, clause) in KINDS {
        let ten = ns_per_packet(report, what, &text(10, clause));
        let text = text(10_000, clause);
        let ten_thousand = ns_per_packet(report, what, &text);
        for (way, (ten, ten_thousand)) in
            ["one a call", "burst"].iter().zip(ten.into_iter().zip(ten_thousand))
        {
            let name = format!("{what}, mixed, {way}: 10,000 clauses / 10");
            report.ratio(SUITE, &name, ten_thousand / ten, Some(AtMost(2.0)));
        }
        let ms = compile_ms(report, what, &text);
        report.ratio(SUITE, format!("{what}: 10,000 clauses, text to code, ms"), ms, Some(AtMost(1000.0)));
    }
}

/// Addresses are drawn from the range that the traffic's sources come from, so that some match.
fn text(clauses: usize, clause: fn(Ipv4Addr, usize) -> String) -> String {
    let mut rng = Rng::new(99);
    let mut address = || Ipv4Addr::from(0x0a00_0000 | rng.below(1 << 16) as u32);
    let clauses: Vec<String> = (0..clauses).map(|number| clause(address(), number)).collect();
    format!("match {{\n{}\notherwise => rest(0)\n}}", clauses.join("\n"))
}

fn compile_ms(report: &mut Report, what: &str, text: &str) -> f64 {
    let compiler = Compiler::new(LinkType::EN10MB);
    let mut times: Vec<f64> = (0..6)
        .map(|_| {
            let start = thread_cpu_ns();
            std::hint::black_box(compiler.compile_match(text).expect("compiles"));
            (thread_cpu_ns() - start) as f64 / 1e6
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    let (suite, what) = ("program: 10,000 clauses", format!("{what}: text to code"));
    report.figure(Figure { suite, what, engine: "sluss", min: times[0], median: times[2], unit: "ms" });
    times[2]
}

/// Median nanoseconds a packet of mixed traffic, one packet a call and in bursts, arguments included.
fn ns_per_packet(report: &mut Report, what: &str, text: &str) -> [f64; 2] {
    let compiler = Compiler::new(LinkType::EN10MB);
    let matcher = compiler.compile_match(text).expect("compiles");
    let traffic = Traffic::hot(Mix::Mixed);
    check(&compiler, &matcher, text, &traffic.descriptors);
    let mut engines = [one_a_call(&matcher), in_bursts(&matcher)];
    let laps = race(&traffic.descriptors, &mut engines, usize::MAX, 61);
    let clauses = text.lines().count() - 3;
    report.laps("program: packets of mixed traffic", &format!("{clauses} times `{what}`"), &laps);
    [laps[0].median_ns, laps[1].median_ns]
}

/// The interpreter must call the same.
fn check(compiler: &Compiler, matcher: &Matcher, text: &str, packets: &[Descriptor]) {
    let interpreted = compiler.clone().backend(Backend::Interpreter).compile_match(text).expect("compiles");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for packet in &packets[..CHECKED.min(packets.len())] {
        let data = bytes(packet);
        let ours = matcher.call_captured(data, packet.wire, &[], &mut a);
        assert_eq!(ours, interpreted.call_captured(data, packet.wire, &[], &mut b));
    }
}

fn bytes(packet: &Descriptor) -> &[u8] {
    // SAFETY: descriptors point into the traffic's memory, which outlives the race.
    unsafe { std::slice::from_raw_parts(packet.data, packet.captured as usize) }
}

fn one_a_call(matcher: &Matcher) -> Engine<'_, Descriptor> {
    engine("one packet a call", move |packets: &[Descriptor]| {
        let mut values = Vec::new();
        let sum = |packet: &Descriptor| {
            let call = matcher.call_captured(bytes(packet), packet.wire, &[], &mut values);
            call.map_or(0, |call| {
                u64::from(call.number) + call.arguments.iter().map(|&x| u64::from(x)).sum::<u64>()
            })
        };
        packets.iter().map(sum).sum()
    })
}

fn in_bursts(matcher: &Matcher) -> Engine<'_, Descriptor> {
    engine("burst", move |packets: &[Descriptor]| {
        let mut calls = Calls::default();
        let mut sum = 0;
        for run in packets.chunks(BURST) {
            // SAFETY: a descriptor has the layout of a packet and points into live memory.
            let run = unsafe { std::slice::from_raw_parts(run.as_ptr().cast(), run.len()) };
            matcher.call_burst(run, &[], &mut calls);
            for call in matcher.calls(&calls).flatten() {
                sum += u64::from(call.number) + call.arguments.iter().map(|&x| u64::from(x)).sum::<u64>();
            }
        }
        sum
    })
}
