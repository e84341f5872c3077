//! Many terms: `host a or host b or …`, from text to code, and per packet.

use crate::engines::{calls, compiled, interpreter, native, peer};
use crate::race::{race, thread_cpu_ns};
use crate::report::{Figure, Report, Target::AtMost};
use crate::traffic::{Mix, Traffic};
use pflang::Compiler;
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::oracle::Options;
use testkit::rng::Rng;
use wire::LinkType;

const SUITE: &str = "terms";

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    compile_times(report);
    per_packet(report);
    libpcap_compile_times(report);
}

/// Hosts drawn from the range that the traffic's sources come from, so that some match.
fn hosts(count: usize) -> String {
    let mut rng = Rng::new(99);
    list(count, || format!("host {}", Ipv4Addr::from(0x0a00_0000 | rng.below(1 << 16) as u32)))
}

/// Hosts of IPv6 that begin like those of the traffic, so that a comparison of their first bytes does not suffice.
fn hosts6(count: usize) -> String {
    let mut rng = Rng::new(99);
    let mut word = || u128::from(rng.next_u32());
    list(count, || format!("host {}", Ipv6Addr::from(0x2001_0db8 << 96 | word() << 64 | word() & 0xffff)))
}

/// MAC addresses of which as many begin like those of the traffic.
fn macs(count: usize) -> String {
    let mut rng = Rng::new(99);
    let mut bytes = || (rng.below(2) * 2, rng.below(256), rng.below(256));
    list(count, || {
        let (first, fifth, sixth) = bytes();
        format!("ether host {first:02x}:02:02:02:{fifth:02x}:{sixth:02x}")
    })
}

fn list(count: usize, mut term: impl FnMut() -> String) -> String {
    (0..count).map(|_| term()).collect::<Vec<_>>().join(" or ")
}

fn compile_times(report: &mut Report) {
    let simple = ours(report, "tcp port 80", "tcp port 80", 400);
    report.ratio(SUITE, "tcp port 80: text to code, µs", simple * 1e3, Some(AtMost(25.0)));
    let ms = |report: &mut Report, count: usize, runs| {
        ours(report, &format!("{count} hosts"), &hosts(count), runs)
    };
    ms(report, 10, 200);
    ms(report, 100, 100);
    let thousand = ms(report, 1000, 30);
    let ten_thousand = ms(report, 10_000, 7);
    report.ratio(SUITE, "1000 hosts: text to code, ms", thousand, Some(AtMost(15.0)));
    report.ratio(SUITE, "10,000 hosts: text to code, ms", ten_thousand, Some(AtMost(200.0)));
    report.ratio(SUITE, "10,000 / 1000 hosts: text to code", ten_thousand / thousand, None);
}

/// Median milliseconds from text to code.
fn ours(report: &mut Report, what: &str, source: &str, runs: usize) -> f64 {
    let compiler = Compiler::new(LinkType::EN10MB);
    let mut times: Vec<f64> = (0..runs + 1)
        .map(|_| {
            let start = thread_cpu_ns();
            std::hint::black_box(compiler.compile(source).expect("compiles"));
            (thread_cpu_ns() - start) as f64 / 1e6
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    tell(report, what, "sluss", times[0], times[times.len() / 2], "ms");
    times[times.len() / 2]
}

fn libpcap_compile_times(report: &mut Report) {
    let Some(pcap) = peer() else { return };
    let options = Options { optimise: true, ..Options::default() };
    for count in [10, 100, 300, 1000] {
        let source = hosts(count);
        let start = thread_cpu_ns();
        let compiled = pcap.compile(LinkType::EN10MB, &source, options);
        let ms = (thread_cpu_ns() - start) as f64 / 1e6;
        if compiled.is_ok() {
            tell(report, &format!("{count} hosts"), "libpcap, optimised", ms, ms, "ms");
        }
    }
}

fn per_packet(report: &mut Report) {
    times_per_packet(report, "hosts", hosts);
    times_per_packet(report, "IPv6 hosts", hosts6);
    times_per_packet(report, "MAC addresses", macs);
}

fn times_per_packet(report: &mut Report, what: &str, list: fn(usize) -> String) {
    let [_, ten, _, _, ten_thousand] = [1, 10, 100, 1000, 10_000]
        .map(|count| ns_per_packet(report, &format!("{count} {what}"), &list(count)));
    let name = format!("per packet, mixed: 10,000 {what} / 10 {what}");
    report.ratio(SUITE, &name, ten_thousand / ten, Some(AtMost(2.0)));
}

/// Median nanoseconds a packet of mixed traffic.
fn ns_per_packet(report: &mut Report, what: &str, source: &str) -> f64 {
    let traffic = Traffic::hot(Mix::Mixed);
    let filter = compiled(source);
    let mut engines = [calls("sluss", native(&filter).one()), interpreter(source)];
    let lap = race(&traffic.descriptors, &mut engines, usize::MAX, 61).remove(0);
    tell(report, &format!("{what}, mixed"), "sluss", lap.min_ns, lap.median_ns, "ns/packet");
    lap.median_ns
}

fn tell(report: &mut Report, what: &str, engine: &'static str, min: f64, median: f64, unit: &'static str) {
    let suite = "terms: `host a or host b or …`";
    report.figure(Figure { suite, what: what.to_owned(), engine, min, median, unit });
}
