//! An ordered list of filters, of which the first that matches decides: as one program, and one filter after the other.

use crate::hand::Entry;
use crate::race::{Engine, engine, race};
use crate::report::{Report, Target::AtLeast};
use crate::traffic::{Descriptor, Mix, Traffic};
use pflang::{Compiler, Filter, FilterList};
use wire::LinkType;

const SUITE: &str = "list";
/// Over the figures.
const TITLE: &str = "list: the first filter that matches decides";
const BURST: usize = 256;

/// What a dispatcher asks: the seldom things first, the rest at the end.
const LIST: [&str; 16] = [
    "arp",
    "icmp or icmp6",
    "udp port 67 or udp port 68",
    "udp port 53",
    "tcp port 22",
    "tcp dst port 80",
    "tcp src port 80",
    "udp port 443",
    "tcp port 443",
    "udp portrange 5000-5999",
    "tcp portrange 8000-8999",
    "src net 10.0.0.0/18 and tcp",
    "dst host in {192.168.1.1, 192.168.1.2, 192.168.2.9, 192.168.3.77, 192.168.4.4}",
    "ip6 and tcp",
    "tcp[tcpflags] & tcp-syn != 0",
    "ip or ip6",
];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let compiler = Compiler::new(LinkType::EN10MB);
    let list: Vec<(&str, u32)> = LIST.into_iter().zip(1..).collect();
    let compiled = compiler.compile_list(&list).expect("the benchmark's filters compile");
    let filters: Vec<Filter> = LIST
        .iter()
        .map(|source| compiler.compile(source).expect("the benchmark's filters compile"))
        .collect();
    for (mix, target) in [(Mix::Uniform, 1.5), (Mix::Mixed, 2.0)] {
        let traffic = Traffic::hot(mix);
        let mut engines = [in_turn(&filters), calls(&compiled), code_burst(&compiled), decided(&compiled)];
        let laps = race(&traffic.descriptors, &mut engines, usize::MAX, 61);
        let what = format!("16 filters, {}", traffic.name);
        report.laps(TITLE, &what, &laps);
        let ratio = |i: usize| laps[0].over(&laps[i]);
        report.ratio(SUITE, format!("{what}: in turn / one program"), ratio(1), Some(AtLeast(target)));
        let what = format!("{what}: in turn / one program, burst ({})", compiled.burst_engine());
        report.ratio(SUITE, what, ratio(3), Some(AtLeast(target)));
    }
}

/// Each filter is asked until one matches; the answers are added up, as by all engines here.
fn in_turn(filters: &[Filter]) -> Engine<'_, Descriptor> {
    let entries: Vec<Entry> = filters.iter().map(|filter| crate::engines::native(filter).one()).collect();
    engine("16 filters in turn", move |packets: &[Descriptor]| {
        let matches = |entry: &Entry, packet: &Descriptor| {
            // SAFETY: descriptors point into the traffic's memory, which outlives the race; generated code loads only
            // inside the captured length.
            (unsafe { entry(packet.data, packet.captured as usize, packet.wire) }) != 0
        };
        let answer = |packet| entries.iter().position(|entry| matches(entry, packet)).map_or(0, |i| i + 1);
        packets.iter().map(|packet| answer(packet) as u64).sum()
    })
}

fn calls(list: &FilterList) -> Engine<'_, Descriptor> {
    let entry = list.native().expect("machine code").one();
    engine("one program", move |packets: &[Descriptor]| {
        let answer = |packet: &Descriptor| {
            // SAFETY: as in `in_turn`.
            unsafe { entry(packet.data, packet.captured as usize, packet.wire) }
        };
        packets.iter().map(|packet| u64::from(answer(packet))).sum()
    })
}

/// Calls the burst entry of the machine code on runs of packets.
fn code_burst(list: &FilterList) -> Engine<'_, Descriptor> {
    let entry = list.native().expect("machine code").burst();
    engine("one program, burst, machine code", move |packets: &[Descriptor]| {
        in_bursts(packets, |run, answers| {
            // SAFETY: the descriptors have the layout of the entry's and point into live memory; there is room for an
            // answer for each packet of the run.
            unsafe { entry(run.as_ptr().cast(), run.len(), answers.as_mut_ptr()) }
        })
    })
}

/// Calls [`FilterList::decide_burst`], with whichever engine it chooses, on runs of packets.
fn decided(list: &FilterList) -> Engine<'_, Descriptor> {
    engine("one program, burst", move |packets: &[Descriptor]| {
        in_bursts(packets, |run, answers| {
            // SAFETY: a descriptor has the layout of a packet and points into live memory.
            let run = unsafe { std::slice::from_raw_parts(run.as_ptr().cast(), run.len()) };
            list.decide_burst(run, answers);
        })
    })
}

/// The sum of the answers.
fn in_bursts(packets: &[Descriptor], decide: impl Fn(&[Descriptor], &mut [u32])) -> u64 {
    let mut answers = [0_u32; BURST];
    let mut sum = 0;
    for run in packets.chunks(BURST) {
        decide(run, &mut answers);
        sum += answers[..run.len()].iter().map(|&answer| u64::from(answer)).sum::<u64>();
    }
    sum
}
