//! One packet a call, hot in cache.

use crate::engines::{calls, compiled, interpreter, libpcap, native, peer};
use crate::hand::{self, Entry};
use crate::race::{Lap, race};
use crate::report::{Report, Target};
use crate::traffic::{Mix, Traffic};
use Target::{AtLeast, AtMost};

const SUITE: &str = "packet";
/// Over the figures.
const TITLE: &str = "packet: one packet a call, hot in cache";
const ROUNDS: usize = 61;

pub(crate) const HTTP_DATA: &str =
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)";
pub(crate) const HTTP_POST: &str = "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x504f5354";

/// A filter, its hand-written forms, and what is asked of the ratio to libpcap: uniform, mixed.
struct Case {
    name: &'static str,
    source: &'static str,
    rust: Entry,
    c: Entry,
    libpcap: [Option<Target>; 2],
    hand: [Option<Target>; 2],
}

const CASES: &[Case] = &[
    Case {
        name: "ip",
        source: "ip",
        rust: hand::rust_ip,
        c: hand::hand_c_ip,
        libpcap: [None, Some(AtLeast(2.2))],
        hand: [Some(AtMost(1.2)), Some(AtMost(1.1))],
    },
    Case {
        name: "tcp port 80",
        source: "tcp port 80",
        rust: hand::rust_tcp_port_80,
        c: hand::hand_c_tcp_port_80,
        libpcap: [Some(AtLeast(7.0)), Some(AtLeast(2.5))],
        hand: [Some(AtMost(1.2)), Some(AtMost(1.1))],
    },
    Case {
        name: "HTTP data",
        source: HTTP_DATA,
        rust: hand::rust_http_data,
        c: hand::hand_c_http_data,
        libpcap: [Some(AtLeast(12.0)), Some(AtLeast(2.5))],
        hand: [Some(AtMost(1.2)), Some(AtMost(1.1))],
    },
    Case {
        name: "HTTP POST",
        source: HTTP_POST,
        rust: hand::rust_http_post,
        c: hand::hand_c_http_post,
        libpcap: [None, None],
        hand: [Some(AtMost(1.2)), Some(AtMost(1.1))],
    },
];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    for (i, mix) in [Mix::Uniform, Mix::Mixed].into_iter().enumerate() {
        let traffic = Traffic::hot(mix);
        for case in CASES {
            one_case(report, &traffic, case, i);
        }
    }
    accept_all(report);
    accepting_costs_no_more(report);
}

fn one_case(report: &mut Report, traffic: &Traffic, case: &Case, mix: usize) {
    let filter = compiled(case.source);
    let native = native(&filter).one();
    let mut engines =
        vec![calls("sluss", native), calls("hand-written Rust", case.rust), calls("hand-written C", case.c)];
    engines.extend(peer().map(|pcap| libpcap(pcap, case.source)));
    let laps = race(&traffic.descriptors, &mut engines, usize::MAX, ROUNDS);
    let what = format!("{}, {}", case.name, traffic.name);
    report.laps(TITLE, &what, &laps);
    if let Some(peer) = laps.get(3) {
        report.ratio(SUITE, format!("{what}: libpcap / sluss"), peer.over(&laps[0]), case.libpcap[mix]);
    }
    let hand = if laps[1].median_ns < laps[2].median_ns { &laps[1] } else { &laps[2] };
    report.ratio(SUITE, format!("{what}: sluss / best hand-written"), laps[0].over(hand), case.hand[mix]);
}

fn accept_all(report: &mut Report) {
    let filter = compiled("");
    let mut engines = [
        calls("sluss", native(&filter).one()),
        calls("empty near function", hand::empty),
        calls("hand-written C", hand::hand_c_accept_all),
    ];
    let traffic = Traffic::hot(Mix::Uniform);
    let laps = race(&traffic.descriptors, &mut engines, usize::MAX, ROUNDS);
    report.laps(TITLE, "accept all", &laps);
    let ratio = laps[0].over(&laps[1]);
    report.ratio(SUITE, "accept all: sluss / empty near function", ratio, Some(AtMost(1.1)));
}

/// The complaint of old: a filter that accepts nearly everything must not cost more than one that accepts nothing.
fn accepting_costs_no_more(report: &mut Report) {
    let traffic = Traffic::hot(Mix::Uniform);
    let lap = |source| {
        let filter = compiled(source);
        let mut engines = [calls("sluss", native(&filter).one()), interpreter(source)];
        race(&traffic.descriptors, &mut engines, usize::MAX, ROUNDS).remove(0)
    };
    // Interleaved by hand: the two count differently, so they cannot share a race.
    let mut laps: Vec<(Lap, Lap)> = (0..5).map(|_| (lap("portrange 0-6000"), lap("portrange 0-5"))).collect();
    laps.sort_by(|a, b| (a.0.median_ns / a.1.median_ns).total_cmp(&(b.0.median_ns / b.1.median_ns)));
    let (wide, narrow) = &laps[laps.len() / 2];
    report.laps(TITLE, "portrange 0-6000, uniform", std::slice::from_ref(wide));
    report.laps(TITLE, "portrange 0-5, uniform", std::slice::from_ref(narrow));
    let ratio = wide.median_ns / narrow.median_ns;
    report.ratio(SUITE, "portrange 0-6000 / portrange 0-5", ratio, Some(AtMost(1.3)));
}
