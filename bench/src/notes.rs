//! The rule list of the notes of 2007, as its addresses grow from 16 to 16384: what a packet costs that none of them meets.
//!
//! Accept what is established; drop each of N addresses; accept new connections to port 80. Here, in librte_acl, in a model of nf-HiPAC, in a linear scan, and in the kernel's own
//! firewalls. Those have no state in front of their lists, and librte_acl none either: without connection tracking they would have less to do, not more.

#[cfg(has_acl)]
use crate::acl::Acl;
use crate::hipac::Hipac;
use crate::kernel::{FIREWALLS, Kernel};
use crate::lines::{Line, chart};
use crate::race::Lap;
use crate::report::{
    Report,
    Target::{AtLeast, AtMost},
};
use crate::rules::{CHUNK, HEADERS, alone, chunks};
use classify::rules::{Key, Options, Rules, generate, linear};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::net::Ipv4Addr;

const SUITE: &str = "notes";
/// Over the figures.
const TITLE: &str = "notes of 2007: nanoseconds a packet";
/// Where the chart is written.
const CHART: &str = "bench/out/notes.svg";

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let kernel = Kernel::new();
    let keys: Vec<Key<u32>> = generate::notes_headers(5).take(HEADERS / 4).collect();
    let mut measured: Vec<(usize, Vec<Lap>)> = Vec::new();
    for n in (4..=14).map(|bits| 1 << bits) {
        let mut laps = in_memory(n, &keys);
        if let Some(kernel) = &kernel {
            let addresses = addresses(n);
            laps.extend(FIREWALLS.iter().filter_map(|firewall| kernel.measure(firewall, &addresses)));
        }
        report.laps(TITLE, &format!("{n} addresses"), &laps);
        measured.push((n, laps));
    }
    ratios(report, &measured);
    draw(&measured);
}

/// The list in structures of this process, each of which must find the last rule.
fn in_memory(n: usize, keys: &[Key<u32>]) -> Vec<Lap> {
    let rules = generate::notes(n);
    let last = n as u32 + 1;
    let ours = Rules::build(&rules, &Options::default()).expect("the list is built");
    let hipac = Hipac::build(&rules);
    for key in keys {
        assert_eq!((ours.find(key), hipac.find(key)), (Some(last), last), "{n} addresses: the last rule");
    }
    let each = |name, look_up: &mut dyn FnMut(&Key<u32>)| {
        Lap::of(name, chunks(keys.len(), |first| keys[first..first + CHUNK].iter().for_each(&mut *look_up)))
    };
    let mut laps = alone(&ours, keys);
    laps.push(each("nf-HiPAC, a model", &mut |key| {
        black_box(hipac.find(key));
    }));
    if n <= 1024 {
        laps.push(each("linear scan", &mut |key| {
            black_box(linear(&rules, key, |_| false));
        }));
    }
    #[cfg(has_acl)]
    if let Some(mut acl) = Acl::build(&rules[1..]) {
        acl.load(keys);
        let mut answers = vec![0; keys.len()];
        let times = chunks(keys.len(), |first| acl.find(first, 1, &mut answers[first..first + CHUNK]));
        assert!(answers.iter().all(|&answer| answer == last), "{n} addresses: librte_acl");
        laps.push(Lap::of("librte_acl, one", times));
    }
    laps
}

/// The addresses of the list. None is of those that the bench sends from.
fn addresses(n: usize) -> Vec<Ipv4Addr> {
    let rules = generate::notes(n);
    let unique: BTreeSet<u32> = rules[1..=n].iter().map(|rule| *rule.src.start()).collect();
    unique.into_iter().map(Ipv4Addr::from_bits).collect()
}

fn find<'l>(measured: &'l [(usize, Vec<Lap>)], n: usize, name: &str) -> Option<&'l Lap> {
    let (_, laps) = measured.iter().find(|(count, _)| *count == n)?;
    laps.iter().find(|lap| lap.name == name)
}

fn ratios(report: &mut Report, measured: &[(usize, Vec<Lap>)]) {
    const OURS: &str = "sluss, one";
    if let (Some(large), Some(small)) = (find(measured, 16384, OURS), find(measured, 64, OURS)) {
        report.ratio(SUITE, "16384 addresses / 64", large.over(small), Some(AtMost(1.5)));
    }
    for name in ["nftables, rules", "iptables, rules"] {
        if let (Some(theirs), Some(ours)) = (find(measured, 1024, name), find(measured, 1024, OURS)) {
            let ratio = theirs.median_ns / ours.median_ns;
            report.ratio(SUITE, format!("1024 addresses: {name} / sluss"), ratio, Some(AtLeast(100.0)));
        }
    }
    for name in ["nftables, a set", "iptables with ipset", "librte_acl, one", "nf-HiPAC, a model"] {
        if let (Some(theirs), Some(ours)) = (find(measured, 16384, name), find(measured, 16384, OURS)) {
            report.ratio(
                SUITE,
                format!("16384 addresses: {name} / sluss"),
                theirs.median_ns / ours.median_ns,
                None,
            );
        }
    }
}

fn draw(measured: &[(usize, Vec<Lap>)]) {
    let mut lines: Vec<Line> = Vec::new();
    for (n, laps) in measured {
        for lap in laps.iter().filter(|lap| lap.name != "sluss, batch") {
            let point = (*n as f64, lap.median_ns);
            match lines.iter_mut().find(|line| line.name == lap.name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name: lap.name, points: vec![point] }),
            }
        }
    }
    let text = chart(
        "What a packet costs as the list grows",
        "addresses in the list",
        "nanoseconds a packet",
        &lines,
    );
    let written = std::fs::create_dir_all("bench/out").and_then(|()| std::fs::write(CHART, text));
    match written {
        Ok(()) => println!("written: {CHART}"),
        Err(error) => eprintln!("bench: cannot write {CHART}: {error}"),
    }
}
