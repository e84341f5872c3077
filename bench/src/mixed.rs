//! pfmatch programs whose clauses ask for different fields in turns, as firewalls' rules do: from text to code, and per packet.

use crate::race::{Engine, engine, race, thread_cpu_ns};
use crate::report::{Figure, Report, Target::AtMost};
use crate::traffic::{Descriptor, Mix, Traffic};
use pflang::{Calls, Compiler, Dialect, Limits, Matcher};
use std::net::Ipv4Addr;
use testkit::rng::Rng;
use wire::LinkType;

const SUITE: &str = "rules";
const BURST: usize = 256;
/// Clauses, and what a packet may cost against ten of them, and milliseconds from text to code.
const SIZES: [(usize, f64, f64); 3] = [(1000, 1.5, 100.0), (10_000, 2.0, 1000.0), (100_000, 3.0, 10_000.0)];
/// Packets of which the answer is compared with that of the tests asked one after the other.
const CHECKED: usize = 2000;

/// Measures programs of four shapes in turns.
pub(crate) fn run(report: &mut Report) {
    let traffic = Traffic::hot(Mix::Mixed);
    let rows: Vec<u32> = {
        let mut rng = Rng::new(5);
        (0..traffic.descriptors.len()).map(|_| rng.below(1 << 18) as u32).collect()
    };
    let (ten, _) = measured(report, &traffic, &rows, 10);
    for (clauses, times, most_ms) in SIZES {
        let (ns, ms) = measured(report, &traffic, &rows, clauses);
        for (way, (ns, ten)) in ["one a call", "burst"].iter().zip(ns.into_iter().zip(ten)) {
            let name = format!("mixed clauses, {way}: {clauses} / 10");
            report.ratio(SUITE, name, ns / ten, Some(AtMost(times)));
        }
        report.ratio(SUITE, format!("mixed clauses: {clauses}, text to code, ms"), ms, Some(AtMost(most_ms)));
    }
}

/// Hosts, networks, ranges of a number that is given, and ports, in turns; the traffic has some of them.
fn text(clauses: usize) -> String {
    let mut rng = Rng::new(98);
    let mut address = || Ipv4Addr::from(0x0a00_0000 | rng.below(1 << 22) as u32);
    let mut text = "match {\n".to_owned();
    for number in 0..clauses {
        let address = address();
        let low = u32::from(address) % (1 << 18);
        let test = match number % 4 {
            0 => format!("src host {address}"),
            1 => format!("dst net {}/24", Ipv4Addr::from(u32::from(address) & !0xff)),
            2 => format!("name >= {low} and name <= {}", low + 1),
            _ => format!("udp dst port {}", low % 65_536),
        };
        text += &format!("{test} => r{number}\n");
    }
    text + "}"
}

/// Nanoseconds a packet, one a call and in bursts, and milliseconds from text to code.
fn measured(report: &mut Report, traffic: &Traffic, rows: &[u32], clauses: usize) -> ([f64; 2], f64) {
    let text = text(clauses);
    let mut limits = Limits::default();
    limits.terms = 8 << 20;
    let compiler = Compiler::new(LinkType::EN10MB).dialect(Dialect::MODERN).limits(limits).inputs(["name"]);
    let compile = || {
        let begin = thread_cpu_ns();
        let matcher = compiler.compile_match(&text).expect("compiles");
        ((thread_cpu_ns() - begin) as f64 / 1e6, matcher)
    };
    let mut times: Vec<f64> = (0..3).map(|_| compile().0).collect();
    times.sort_by(f64::total_cmp);
    let matcher = compile().1;
    let (suite, what) = ("rules: text to code", format!("{clauses} mixed clauses"));
    report.figure(Figure { suite, what, engine: "sluss", min: times[0], median: times[1], unit: "ms" });
    if clauses <= 1000 {
        check(&compiler.clone().look_up_from(usize::MAX), &matcher, &text, (&traffic.descriptors, rows));
    }
    let mut engines = [one_a_call(&matcher, rows), in_bursts(&matcher, rows)];
    let laps = race(&traffic.descriptors, &mut engines, usize::MAX, 61);
    report.laps(
        "rules: pfmatch programs, packets of mixed traffic",
        &format!("{clauses} mixed clauses"),
        &laps,
    );
    ([laps[0].median_ns, laps[1].median_ns], times[1])
}

/// The tests asked one after the other must call the same.
fn check(plain: &Compiler, matcher: &Matcher, text: &str, (packets, rows): (&[Descriptor], &[u32])) {
    let plain = plain.compile_match(text).expect("compiles");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (packet, row) in packets.iter().zip(rows).take(CHECKED) {
        let (data, row) = (bytes(packet), std::slice::from_ref(row));
        let ours = matcher.call_captured(data, packet.wire, row, &mut a);
        assert_eq!(ours, plain.call_captured(data, packet.wire, row, &mut b));
    }
}

fn bytes(packet: &Descriptor) -> &[u8] {
    // SAFETY: descriptors point into the traffic's memory, which outlives the race.
    unsafe { std::slice::from_raw_parts(packet.data, packet.captured as usize) }
}

fn one_a_call<'m>(matcher: &'m Matcher, rows: &'m [u32]) -> Engine<'m, Descriptor> {
    engine("one packet a call", move |packets: &[Descriptor]| {
        let mut values = Vec::new();
        let number = |(packet, row): (&Descriptor, &u32)| {
            let call =
                matcher.call_captured(bytes(packet), packet.wire, std::slice::from_ref(row), &mut values);
            call.map_or(0, |call| u64::from(call.number) + 1)
        };
        packets.iter().zip(rows.iter().cycle()).map(number).sum()
    })
}

fn in_bursts<'m>(matcher: &'m Matcher, rows: &'m [u32]) -> Engine<'m, Descriptor> {
    engine("burst", move |packets: &[Descriptor]| {
        let mut calls = Calls::default();
        let mut sum = 0;
        for (run, rows) in packets.chunks(BURST).zip(rows.chunks(BURST).cycle()) {
            // SAFETY: a descriptor has the layout of a packet and points into live memory.
            let run = unsafe { std::slice::from_raw_parts(run.as_ptr().cast(), run.len()) };
            matcher.call_burst(run, rows, &mut calls);
            sum += matcher.calls(&calls).flatten().map(|call| u64::from(call.number) + 1).sum::<u64>();
        }
        sum
    })
}
