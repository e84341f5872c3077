//! Bytecode of libpcap, as its compiler makes it before it optimises, run here: against our own code for the same text, and against `bpf_filter`.

use crate::burst::matching;
use crate::engines::{bpf_filter, calls, compiled, native, peer};
use crate::packet::{HTTP_DATA, HTTP_POST};
use crate::race::race;
use crate::report::{
    Report,
    Target::{AtLeast, AtMost},
};
use crate::traffic::{Mix, Traffic};
use testkit::oracle::Options;
use wire::LinkType;

const SUITE: &str = "bytecode";
/// Over the figures.
const TITLE: &str = "bytecode: libpcap's programs, not optimised by it";
const ROUNDS: usize = 41;

/// The filters that pflua is measured with.
pub(crate) const FILTERS: [(&str, &str); 10] = [
    ("accept all", ""),
    ("ip", "ip"),
    ("icmp", "icmp"),
    ("tcp port 80", "tcp port 80"),
    ("tcp port 5555", "tcp port 5555"),
    ("portrange 0-6000", "portrange 0-6000"),
    ("portrange 0-5", "portrange 0-5"),
    ("host", "host 10.0.18.52"),
    ("HTTP data", HTTP_DATA),
    ("HTTP POST", HTTP_POST),
];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let Some(pcap) = peer() else { return };
    for mix in [Mix::Uniform, Mix::Mixed] {
        let traffic = Traffic::hot(mix);
        for (name, source) in FILTERS {
            let text = compiled(source);
            let bytecode = pcap.compile(LinkType::EN10MB, source, Options::default());
            let bytecode = bytecode.expect("libpcap compiles it");
            let program = bpf::Program::from(bytecode.insns().to_vec());
            let filter = bpf::Filter::new(&program, &bpf::Options::default()).expect("it runs here");
            let ours = || matching("bytecode, burst", |packets, bits| filter.match_burst(packets, bits));
            let what = format!("{name}, {}", traffic.name);
            let mut ratio =
                |of: &str, over: f64, target| report.ratio(SUITE, format!("{what}: {of}"), over, target);
            // Apart from the others, since vector code takes longer for a while behind code that has no vectors.
            let text_bursts = matching("text, burst", |packets, bits| text.match_burst(packets, bits));
            let bursts = race(&traffic.descriptors, &mut [ours(), text_bursts], usize::MAX, ROUNDS);
            ratio("bytecode / text, bursts", bursts[0].over(&bursts[1]), Some(AtMost(1.3)));
            let mut engines = [
                calls("bytecode", filter.native().expect("machine code").one()),
                calls("text", native(&text).one()),
                bpf_filter("libpcap bpf_filter", bytecode),
                ours(),
            ];
            let laps = race(&traffic.descriptors, &mut engines, usize::MAX, ROUNDS);
            // What takes no longer than the call itself takes as long as that happens to.
            let target = (!["accept all", "ip", "icmp"].contains(&name)).then_some(AtMost(1.3));
            ratio("bytecode / text, one packet a call", laps[0].over(&laps[1]), target);
            ratio("bpf_filter / bytecode, bursts", laps[2].over(&laps[3]), Some(AtLeast(5.0)));
            ratio("bpf_filter / bytecode, one packet a call", laps[2].over(&laps[0]), None);
            report.laps(TITLE, &what, &bursts);
            report.laps(TITLE, &what, &laps[..3]);
        }
    }
}
