//! Sets of addresses of any size: rank tables against tries of other crates, a hash set, and the binary tree of 2007.
//!
//! Lists are drawn from a seed: *prefixes* with the mixture of lengths that Internet routes have, and *hosts*, a quarter of them in few
//! networks. What is asked is half random addresses, half addresses in the set, in random order. Every engine must count the same members.

mod lists;
mod tree;

use crate::race::{Engine, Lap, engine, race, thread_cpu_ns};
use crate::report::{Figure, Report, Target, Target::AtLeast, Target::AtMost};
use classify::set::{Isa, Limit, Pieces, RankMap, RankSet, Ranks32, Ranks128};
use lists::{Asked, hosts, prefixes, prefixes6};
use prefix_trie::PrefixSet;
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use tree::Tree;

const SUITE: &str = "sets";
/// Addresses asked for in one turn, and turns.
const CHUNK: usize = 4096;
const ROUNDS: usize = 101;

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    for (count, against_crates, against_tree) in
        [(1_000, 2.5, 15.0), (10_000, 2.5, 15.0), (100_000, 4.0, 80.0), (1_000_000, 6.0, 80.0)]
    {
        four(report, "prefixes", &prefixes(count), [against_crates, against_tree]);
        let hosts: Vec<(u32, u8)> = hosts(count).into_iter().map(|host| (host, 32)).collect();
        four(report, "hosts", &hosts, [against_crates, against_tree]);
    }
    for count in [1_000, 10_000, 200_000] {
        six(report, &prefixes6(count));
    }
    a_filter_of_many(report);
}

/// IPv4: a set of prefixes.
fn four(report: &mut Report, kind: &str, list: &[(u32, u8)], [crates, binary]: [f64; 2]) {
    let what = format!("{} {kind}", list.len());
    let asked = Asked::four(list);
    let spans: Vec<(u32, u32)> = list.iter().map(|&(key, len)| classify::set::prefix(key, len)).collect();
    let start = thread_cpu_ns();
    let set: RankSet<Ranks32> = RankSet::new(spans.clone(), Limit::default()).expect("within the limit");
    built(report, &what, start, set.bytes());
    let pieces = Pieces::longest_prefix(list.iter().map(|&(key, len)| (key, len, 1)).collect());
    let map: RankMap<Ranks32> = RankMap::new(&pieces, Limit::default()).expect("within the limit");
    let others: Vec<(Isa, RankSet<Ranks32>)> = Isa::ALL
        .into_iter()
        .filter(|isa| isa.is_here() && *isa != Isa::best())
        .map(|isa| (isa, RankSet::with_isa(spans.clone(), Limit::default(), isa).expect("as above")))
        .collect();
    let trie: PrefixSet<(u32, u8)> = list.iter().copied().collect();
    let mut network: ip_network_table::IpNetworkTable<()> = ip_network_table::IpNetworkTable::new();
    for &(key, len) in list {
        let prefix =
            ip_network::Ipv4Network::new_truncate(Ipv4Addr::from(key), len).expect("a length up to 32");
        network.insert(prefix, ());
    }
    let binary_tree = Tree::of(list);
    let is_hosts = list.iter().all(|&(_, len)| len == 32);
    let hashed: HashSet<u32> =
        if is_hosts { list.iter().map(|&(key, _)| key).collect() } else { HashSet::new() };

    let mut engines: Vec<Engine<'_, u32>> = vec![
        counted("sluss", |key| set.contains(key)),
        batch("sluss, batch", &set),
        counted("sluss, a map", |key| map.find(key).is_some()),
        counted("prefix-trie", |key| trie.get_lpm(&(key, 32)).is_some()),
        counted("ip_network_table", |key| network.longest_match_ipv4(Ipv4Addr::from(key)).is_some()),
        counted("binary tree, if", |key| binary_tree.by_if(key)),
        counted("binary tree, index", |key| binary_tree.by_index(key)),
        counted("binary tree, mask", |key| binary_tree.by_mask(key)),
    ];
    for (isa, set) in &others {
        engines.push(batch(
            if *isa == Isa::Portable { "sluss, portable batch" } else { "sluss, avx2 batch" },
            set,
        ));
    }
    if is_hosts {
        engines.push(counted("HashSet<u32>", |key| hashed.contains(&key)));
    }
    let laps = race(&asked, &mut engines, CHUNK, ROUNDS);
    report.laps(SUITE, &what, &laps);
    let lap = |name: &str| laps.iter().find(|lap| lap.name == name);
    let ours = lap("sluss, batch").expect("it was measured");
    let best =
        [lap("prefix-trie"), lap("ip_network_table")].into_iter().flatten().map(|peer| peer.over(ours));
    ratio(report, &what, "best crate / sluss", best.fold(f64::INFINITY, f64::min), Some(AtLeast(crates)));
    let trees = laps.iter().filter(|lap| lap.name.starts_with("binary tree")).map(|tree| tree.over(ours));
    ratio(
        report,
        &what,
        "best binary tree / sluss",
        trees.fold(f64::INFINITY, f64::min),
        Some(AtLeast(binary)),
    );
    if let Some(hashed) = lap("HashSet<u32>") {
        ratio(report, &what, "HashSet<u32> / sluss", hashed.over(ours), Some(AtLeast(2.5)));
    }
    if let Some(portable) = lap("sluss, portable batch") {
        ratio(report, &what, "portable / best instructions", portable.over(ours), None);
    }
    if list.len() == 1_000_000 {
        ratio(report, &what, "ns for an address", ours.median_ns, Some(AtMost(10.0)));
    }
    // The notes of 2007 measured 40 million classifications: 9.73, 9.67 and 9.27 s.
    for lap in [ours].into_iter().chain(laps.iter().filter(|lap| lap.name.starts_with("binary tree"))) {
        seconds(report, &what, lap);
    }
}

/// IPv6.
fn six(report: &mut Report, list: &[(u128, u8)]) {
    let what = format!("{} IPv6 prefixes", list.len());
    let asked = Asked::six(list);
    let spans = list.iter().map(|&(key, len)| classify::set::prefix(key, len)).collect();
    let start = thread_cpu_ns();
    let set: RankSet<Ranks128> = RankSet::new(spans, Limit::default()).expect("within the limit");
    built(report, &what, start, set.bytes());
    let trie: PrefixSet<(u128, u8)> = list.iter().copied().collect();
    let mut network: ip_network_table::IpNetworkTable<()> = ip_network_table::IpNetworkTable::new();
    for &(key, len) in list {
        let prefix =
            ip_network::Ipv6Network::new_truncate(Ipv6Addr::from(key), len).expect("a length up to 128");
        network.insert(prefix, ());
    }
    let mut engines: Vec<Engine<'_, u128>> = vec![
        engine("sluss, batch", |keys: &[u128]| {
            let mut members = [false; CHUNK];
            set.contains_each(keys, &mut members);
            members[..keys.len()].iter().map(|&is_in| u64::from(is_in)).sum()
        }),
        counted("prefix-trie", |key| trie.get_lpm(&(key, 128)).is_some()),
        counted("ip_network_table", |key| network.longest_match_ipv6(Ipv6Addr::from(key)).is_some()),
    ];
    let laps = race(&asked, &mut engines, CHUNK, ROUNDS);
    report.laps(SUITE, &what, &laps);
    let best = laps[1..].iter().map(|peer| peer.over(&laps[0])).fold(f64::INFINITY, f64::min);
    ratio(report, &what, "best crate / sluss", best, Some(AtLeast(3.0)));
}

/// A filter with a million hosts in a file: text to code.
fn a_filter_of_many(report: &mut Report) {
    let four: String =
        hosts(1_000_000).into_iter().map(|host| format!("{}\n", Ipv4Addr::from(host))).collect();
    let six: String =
        prefixes6(200_000).into_iter().map(|(host, _)| format!("{}\n", Ipv6Addr::from(host))).collect();
    for (what, text) in [("1M IPv4 hosts", four), ("200k IPv6 hosts", six)] {
        let names = pflang::FileNames::new().with_sets(move |_| Ok(text.clone()));
        let compiler = pflang::Compiler::new(wire::LinkType::EN10MB).names(std::sync::Arc::new(names));
        let mut seconds: Vec<f64> = (0..5)
            .map(|_| {
                let start = thread_cpu_ns();
                std::hint::black_box(compiler.compile("host in {@list}").expect("it compiles"));
                (thread_cpu_ns() - start) as f64 / 1e9
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        ratio(report, what, "text to code, s", seconds[2], Some(AtMost(1.0)));
    }
}

fn counted<'e, T: Copy>(name: &'static str, holds: impl Fn(T) -> bool + 'e) -> Engine<'e, T> {
    engine(name, move |keys: &[T]| keys.iter().map(|&key| u64::from(holds(key))).sum())
}

fn batch<'e>(name: &'static str, set: &'e RankSet<Ranks32>) -> Engine<'e, u32> {
    engine(name, move |keys: &[u32]| {
        let mut members = [false; CHUNK];
        set.contains_each(keys, &mut members);
        members[..keys.len()].iter().map(|&is_in| u64::from(is_in)).sum()
    })
}

fn ratio(report: &mut Report, what: &str, sides: &str, value: f64, target: Option<Target>) {
    report.ratio(SUITE, format!("{what}: {sides}"), value, target);
}

fn built(report: &mut Report, what: &str, start: u64, bytes: usize) {
    let seconds = (thread_cpu_ns() - start) as f64 / 1e9;
    let mut figure = |engine, value, unit| {
        report.figure(Figure {
            suite: SUITE,
            what: what.to_owned(),
            engine,
            min: value,
            median: value,
            unit,
        });
    };
    figure("sluss, to build", seconds, "s");
    figure("sluss, memory", bytes as f64 / 1e6, "MB");
}

fn seconds(report: &mut Report, what: &str, lap: &Lap) {
    let of = |ns: f64| ns * 40e6 / 1e9;
    report.figure(Figure {
        suite: SUITE,
        what: format!("{what}, 40 million"),
        engine: lap.name,
        min: of(lap.min_ns),
        median: of(lap.median_ns),
        unit: "s",
    });
}
