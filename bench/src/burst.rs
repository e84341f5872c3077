//! A burst at a time: what a filter chooses for it, and the loop inside its machine code.

use crate::engines::{calls, compiled, native};
use crate::race::{Engine, engine, race};
use crate::report::{Report, Target::AtLeast};
use crate::traffic::{Descriptor, Mix, Traffic};
use pflang::{Compiler, Filter, Packet};
use wire::LinkType;

const SUITE: &str = "burst";
/// Over the figures.
const TITLE: &str = "burst: many packets a call";
const BURST: usize = 1024;

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    for traffic in [Traffic::hot(Mix::Uniform), Traffic::hot(Mix::Mixed)] {
        for (source, target) in [("ip", 3.0), ("tcp port 80", 1.5), (crate::packet::HTTP_DATA, 1.5)] {
            let filter = compiled(source);
            let entry = native(&filter).one();
            let mut engines =
                [calls("one packet a call", entry), burst("burst, machine code", &filter), matched(&filter)];
            let laps = race(&traffic.descriptors, &mut engines, usize::MAX, 61);
            let what = if source.len() > 20 { "HTTP data" } else { source };
            let what = format!("{what}, {}", traffic.name);
            report.laps(TITLE, &what, &laps);
            let ratio = laps[0].over(&laps[2]);
            let what = format!("{what}: one packet a call / burst ({})", filter.burst_engine());
            report.ratio(SUITE, what, ratio, Some(AtLeast(target)));
        }
    }
    for (random, target) in [(true, 1.5), (false, 1.25)] {
        prefetch(report, &Traffic::cold(Mix::Uniform, 6 << 20, random), target);
    }
}

/// What prefetching is worth where packets are not in any cache.
fn prefetch(report: &mut Report, traffic: &Traffic, target: f64) {
    let with = compiled("tcp port 80");
    let without =
        Compiler::new(LinkType::EN10MB).prefetch_distance(0).compile("tcp port 80").expect("compiles");
    let mut engines =
        [burst("machine code without prefetch", &without), burst("machine code", &with), matched(&with)];
    let laps = race(&traffic.descriptors, &mut engines, 1 << 18, 47);
    let what = format!("tcp port 80, {}", traffic.name);
    report.laps(TITLE, &what, &laps);
    let ratio = laps[0].over(&laps[1]);
    report.ratio(SUITE, format!("{what}: without / with prefetch"), ratio, Some(AtLeast(target)));
}

/// Calls [`Filter::match_burst`], with whichever engine it chooses, on runs of packets.
fn matched(filter: &Filter) -> Engine<'_, Descriptor> {
    matching("burst", |packets, bits| filter.match_burst(packets, bits))
}

/// Calls something that matches bursts on runs of packets.
pub(crate) fn matching<'e>(
    name: &'static str,
    matches: impl Fn(&[Packet<'_>], &mut [u64]) -> usize + 'e,
) -> Engine<'e, Descriptor> {
    engine(name, move |packets: &[Descriptor]| {
        let mut bitmap = [0_u64; BURST / 64];
        let mut count = 0;
        for run in packets.chunks(BURST) {
            // SAFETY: a descriptor has the layout of a packet and points into live memory.
            let run = unsafe { std::slice::from_raw_parts(run.as_ptr().cast(), run.len()) };
            count += matches(run, &mut bitmap) as u64;
        }
        count
    })
}

/// Calls the burst entry of the machine code on runs of packets.
pub(crate) fn burst<'e>(name: &'static str, filter: &'e Filter) -> Engine<'e, Descriptor> {
    let entry = native(filter).burst();
    engine(name, move |packets: &[Descriptor]| {
        let mut bitmap = [0_u64; BURST / 64];
        let mut count = 0;
        for run in packets.chunks(BURST) {
            // SAFETY: the descriptors have the layout of the entry's and point into live memory; the bitmap has a
            // bit for each packet of the run.
            unsafe { entry(run.as_ptr().cast(), run.len(), bitmap.as_mut_ptr()) };
            count +=
                bitmap[..run.len().div_ceil(64)].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        count
    })
}
