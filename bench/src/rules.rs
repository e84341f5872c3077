//! First-match rule lists of ClassBench, against librte_acl: one packet a call, and in batches, on packets that match and on random headers.
//!
//! The lists are read from the folder that `SLUSS_CLASSBENCH` names, or from `../shared/data/classbench`; where there is none, lists are made. Every
//! answer of every header is compared before a time counts.

#[cfg(has_acl)]
use crate::acl::{ALGORITHMS, Acl};
use crate::race::{Lap, median, thread_cpu_ns};
use crate::report::{Figure, Report, Target::AtLeast};
#[cfg(has_acl)]
use classify::rules::NO_RULE;
use classify::rules::{Key, Options, Rule, Rules, classbench, generate, points};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

const SUITE: &str = "rules";
/// Over the figures.
const TITLE: &str = "rules: first match, nanoseconds a packet";
/// Headers of each kind.
pub(crate) const HEADERS: usize = 200 * CHUNK;
/// Headers that are timed together.
pub(crate) const CHUNK: usize = 512;
/// Packets of a batch.
const BURST: usize = 256;

/// Sizes of lists, and what geometric means over the families have to reach against librte_acl: one packet a call, and in batches.
const SIZES: [(&str, f64, f64); 3] = [("1k", 3.0, 1.2), ("10k", 8.0, 2.5), ("100k", 15.0, 4.0)];
/// ClassBench's.
pub(crate) const FAMILIES: [&str; 12] =
    ["acl1", "acl2", "acl3", "acl4", "acl5", "fw1", "fw2", "fw3", "fw4", "fw5", "ipc1", "ipc2"];

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    crate::mixed::run(report);
    let folder = std::env::var_os("SLUSS_CLASSBENCH").map(PathBuf::from);
    let folder =
        folder.or_else(|| Some("../shared/data/classbench".into()).filter(|path: &PathBuf| path.is_dir()));
    let Some(folder) = folder else {
        println!(
            "rules: no folder of ClassBench's lists (SLUSS_CLASSBENCH names one): lists that are made are measured"
        );
        for count in [1000, 10_000, 100_000] {
            family(report, &format!("sites, {count}"), &generate::rules(count, 1));
        }
        return million(report);
    };
    if cfg!(not(has_acl)) {
        println!(
            "rules: without librte_acl (libdpdk-dev was not there when this was built: `make packages-dpdk`): no peer is measured"
        );
    }
    for (size, single, batch) in SIZES {
        let lists = FAMILIES.iter().filter_map(|family| {
            let name = format!("{family}_{size}");
            Some((read(&folder.join(format!("{name}.rules.gz")))?, name))
        });
        let measured: Vec<Compared> =
            lists.filter_map(|(rules, name)| family(report, &name, &rules)).collect();
        if measured.is_empty() {
            continue;
        }
        let mean = |of: fn(&Compared) -> f64| {
            (measured.iter().map(|one| of(one).ln()).sum::<f64>() / measured.len() as f64).exp()
        };
        let mut ratio = |what: &str, of: fn(&Compared) -> f64, least: f64| {
            let what = format!("{} lists of {size}, {what}: librte_acl / sluss", measured.len());
            report.ratio(SUITE, what, mean(of), Some(AtLeast(least)));
        };
        ratio("one packet a call, packets that match", |one| one.single[0], single);
        ratio("batches, packets that match", |one| one.batch[0], batch);
        ratio("one packet a call, random headers", |one| one.single[1], 2.0);
        ratio("batches, random headers", |one| one.batch[1], 1.0);
        ratio("time to build", |one| one.build, 10.0);
        ratio("memory", |one| one.memory, 10.0);
    }
    million(report);
}

/// A list that is compressed by gzip.
pub(crate) fn read(path: &Path) -> Option<Vec<Rule<u32>>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
    Some(classbench::rules(&text).expect("a list of ClassBench"))
}

/// Times of librte_acl over ours: of packets that match, and of random headers.
struct Compared {
    single: [f64; 2],
    batch: [f64; 2],
    build: f64,
    memory: f64,
}

/// Measures a list, and compares with librte_acl where that is there.
fn family(report: &mut Report, name: &str, rules: &[Rule<u32>]) -> Option<Compared> {
    let begin = Instant::now();
    let ours = Rules::build(rules, &Options::default()).expect("the list is built");
    let build_s = begin.elapsed().as_secs_f64();
    let matching: Vec<Key<u32>> = points(rules, 77).take(HEADERS).collect();
    let random: Vec<Key<u32>> = generate::random_headers(9).take(HEADERS).collect();
    #[cfg(has_acl)]
    if let Some(mut acl) = Acl::build(rules) {
        let kinds = [("match", &matching), ("random", &random)];
        let each =
            kinds.map(|(kind, keys)| compare(report, &format!("{name}, {kind}"), &ours, &mut acl, keys));
        return Some(Compared {
            single: each.map(|(single, _)| single),
            batch: each.map(|(_, batch)| batch),
            build: acl.build_s() / build_s,
            memory: acl.bytes() as f64 / ours.bytes() as f64,
        });
    }
    let _ = build_s;
    for (kind, keys) in [("match", matching), ("random", random)] {
        let laps = alone(&ours, &keys);
        report.laps(TITLE, &format!("{name}, {kind}"), &laps);
    }
    None
}

/// A look-up of every header, one by one and in batches.
pub(crate) fn alone(ours: &Rules<u32>, keys: &[Key<u32>]) -> Vec<Lap> {
    let [single, batch] = time_ours(ours, keys);
    vec![Lap::of("sluss, one", single), Lap::of("sluss, batch", batch)]
}

fn time_ours(ours: &Rules<u32>, keys: &[Key<u32>]) -> [Vec<f64>; 2] {
    let mut found = [0; BURST];
    let single = chunks(keys.len(), |first| {
        keys[first..first + CHUNK].iter().for_each(|key| {
            black_box(ours.find(key));
        });
    });
    let batch = chunks(keys.len(), |first| {
        for burst in keys[first..first + CHUNK].chunks(BURST) {
            ours.find_batch(burst, &mut found);
            black_box(&found);
        }
    });
    [single, batch]
}

/// Nanoseconds a header of each chunk; all are gone through once before.
pub(crate) fn chunks(headers: usize, mut look_up: impl FnMut(usize)) -> Vec<f64> {
    let mut times = Vec::new();
    for round in 0..3 {
        for first in (0..headers).step_by(CHUNK) {
            let begin = thread_cpu_ns();
            look_up(first);
            if round > 0 {
                times.push((thread_cpu_ns() - begin) as f64 / CHUNK as f64);
            }
        }
    }
    times
}

/// Both sides on the same headers: librte_acl's best algorithm at bursts of 1, and of 32 and 256.
#[cfg(has_acl)]
fn compare(
    report: &mut Report,
    what: &str,
    ours: &Rules<u32>,
    acl: &mut Acl,
    keys: &[Key<u32>],
) -> (f64, f64) {
    acl.load(keys);
    let mut answers = vec![NO_RULE; keys.len()];
    ours.find_batch(keys, &mut answers);
    let mut best: [Option<Lap>; 2] = [None, None];
    for (algorithm, name) in ALGORITHMS.iter().enumerate() {
        if !acl.choose(algorithm) {
            continue;
        }
        let mut theirs = vec![0; keys.len()];
        acl.find(0, BURST, &mut theirs);
        let differs = |(ours, theirs): (&u32, &u32)| *ours != theirs.wrapping_sub(1);
        let differing = answers.iter().zip(&theirs).filter(|&pair| differs(pair)).count();
        assert!(differing == 0, "{what}: {differing} answers of librte_acl ({name}) differ");
        // One packet in a call is its scalar way, whatever is chosen.
        let bursts: &[(usize, usize)] =
            if algorithm == 0 { &[(0, 1), (1, 32)] } else { &[(1, 32), (1, 256)] };
        for &(kind, burst) in bursts {
            let times = chunks(keys.len(), |first| acl.find(first, burst, &mut theirs[first..first + CHUNK]));
            let lap = Lap::of(["librte_acl, one", "librte_acl, batch"][kind], times);
            if best[kind].as_ref().is_none_or(|known| lap.median_ns < known.median_ns) {
                best[kind] = Some(lap);
            }
        }
    }
    let [single, batch] = time_ours(ours, keys);
    let laps = [Lap::of("sluss, one", single), Lap::of("sluss, batch", batch)];
    let best = best.map(|lap| lap.expect("plain C is always there"));
    report.laps(TITLE, what, &laps);
    report.laps(TITLE, what, &best);
    (best[0].median_ns / laps[0].median_ns, best[1].median_ns / laps[1].median_ns)
}

/// A million rules that are made.
fn million(report: &mut Report) {
    let rules = generate::rules(1_000_000, 1);
    let begin = thread_cpu_ns();
    let ours = Rules::build(&rules, &Options::default()).expect("the list is built");
    let build_s = (thread_cpu_ns() - begin) as f64 / 1e9;
    let keys: Vec<Key<u32>> = points(&rules, 77).take(HEADERS).collect();
    let what = "sites, 1000000";
    report.laps(TITLE, what, &alone(&ours, &keys));
    let figure = |value: f64, unit| Figure {
        suite: TITLE,
        what: what.into(),
        engine: "sluss",
        min: value,
        median: value,
        unit,
    };
    report.figure(figure(build_s, "s to build"));
    report.figure(figure(ours.bytes() as f64 / 1e6, "MB"));
    let batch = median(time_ours(&ours, &keys)[1].clone());
    report.ratio(SUITE, "a million rules, batches: 150 ns / sluss", 150.0 / batch, Some(AtLeast(1.0)));
    report.ratio(SUITE, "a million rules, time to build: 2 s / sluss", 2.0 / build_s, Some(AtLeast(1.0)));
    report.ratio(
        SUITE,
        "a million rules, memory: 64 MB / sluss",
        64e6 / ours.bytes() as f64,
        Some(AtLeast(1.0)),
    );
}
