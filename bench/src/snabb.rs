//! Against Snabb: networks of native apps, and of Snabb's own apps in Lua, here and there; and filters in a loop of Lua.
//!
//! `SLUSS_SNABB` names a checkout of Snabb that has been built. Processes take turns. Each network has processes of its own, since the traces that LuaJIT makes of one are in the
//! way of others, and several, since they differ from process to process.

use crate::bytecode::FILTERS;
use crate::command::{Usage, built_command, measured};
use crate::race::{Lap, median};
use crate::report::{
    Figure, Report,
    Target::{AtLeast, AtMost},
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SUITE: &str = "snabb";
/// Over the figures.
const TITLE: &str = "snabb: the same work in Snabb";
const PROCESSES: usize = 5;
/// More for filters, whose traces differ most.
const FILTER_PROCESSES: usize = 9;
const WINDOWS: &str = "4";
const PACKETS: &str = "300";
/// Networks by the script's names, and how many times as fast as Snabb they should be.
const NETWORKS: [(&str, Option<f64>); 10] = [
    ("source-sink", None),
    ("tee", Some(1.2)),
    ("chain", Some(1.3)),
    ("vlan", Some(0.95)),
    ("tunnel", Some(0.95)),
    ("tunnel-replay", Some(0.95)),
    ("bridge", Some(0.95)),
    ("rss", Some(0.95)),
    ("ipfix", Some(0.95)),
    (IDLE, None),
];
/// The network of apps that have nothing to do.
const IDLE: &str = "idle";
/// Networks with our own modules, whose filters our compiler compiles.
const OWN_NETWORKS: [&str; 3] = ["filter-source", "filter-most", "filter-few"];
/// Networks of `sluss bench engine`, whether they have the packets of a capture, what they are in the script, and how many times as fast as Snabb they should be.
const NATIVE_NETWORKS: [(&str, bool, &str, f64); 7] = [
    ("source-sink", false, "source-sink", 2.7),
    ("tee", false, "tee", 3.0),
    ("chain10", false, "chain", 3.5),
    ("filter", true, "filter-few", 2.0),
    ("vlan", false, "vlan", 2.5),
    ("tunnel", false, "tunnel", 2.5),
    ("rss", true, "rss", 2.5),
];

/// Whoever runs networks.
#[derive(Clone)]
struct Peer {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    /// Whether it runs the script, and not a network of its own.
    is_scripted: bool,
}

/// What they are asked to run, a network each.
struct Race<'r> {
    capture: &'r Path,
    engines: Vec<(&'r Peer, String)>,
}

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let Some(checkout) = std::env::var_os("SLUSS_SNABB").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED: the benchmark does not compare with Snabb: set SLUSS_SNABB to a checkout of https://github.com/snabbco/snabb that has been built"
        );
        return;
    };
    let program = checkout.join("src/snabb");
    if !program.exists() {
        eprintln!("SKIPPED: {} is not there: run make in the checkout", program.display());
        return;
    }
    let Some(sluss) = built_command() else { return };
    let sluss = |words: &[&str]| Peer {
        name: "sluss",
        program: PathBuf::from(&sluss),
        words: words.iter().map(|&word| word.to_owned()).collect(),
        is_scripted: true,
    };
    let tree = checkout.display().to_string();
    let snabb = Peer { name: "Snabb", program, words: vec!["snsh".to_owned()], is_scripted: true };
    let theirs = sluss(&["--snabb", &tree, "run"]);
    let own = sluss(&["run"]);
    let mixed =
        first_packets(&own, "mixed", &Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/mixed.pcap"));
    let race = |ours: (&Peer, &str), network: &str| {
        let engines = vec![(ours.0, ours.1.to_owned()), (&snabb, network.to_owned())];
        Race { capture: &mixed, engines }.run(PROCESSES)
    };
    for (network, is_replayed, theirs, target) in NATIVE_NETWORKS {
        let capture = mixed.to_str().expect("a path in UTF-8");
        let mut words = vec!["bench", "engine", "--runs", WINDOWS, "--json"];
        words.extend(if is_replayed { vec!["--pcap", capture] } else { Vec::new() });
        words.push("--net");
        let ours = Peer { is_scripted: false, ..sluss(&words) };
        tell(report, &format!("native {network}"), &race((&ours, network), theirs), Some(target));
    }
    for (network, target) in NETWORKS {
        tell(report, network, &race((&theirs, network), network), target);
    }
    tell(report, "native joins against chain", &race((&own, "native-joins"), "chain"), Some(1.5));
    for network in OWN_NETWORKS {
        tell(report, network, &race((&own, network), network), Some(1.5));
    }
    filters(report, &own, &snabb, &mixed);
    workers(report, [sluss(&["run"]), sluss(&["run", "--workers", "2"])], &mixed);
    start(report, &own, &mixed);
}

fn tell(report: &mut Report, network: &str, laps: &[Lap], target: Option<f64>) {
    report.ratio(SUITE, format!("{network}: Snabb / sluss"), laps[1].over(&laps[0]), target.map(AtLeast));
    if network == IDLE {
        let us = laps[0].median_ns / 1e3;
        report.ratio(SUITE, "idle: microseconds a breath of 50 apps", us, Some(AtMost(2.0)));
    }
    report.laps(TITLE, network, laps);
}

/// Filters in a loop of Lua, against the faster of pflua's back ends.
fn filters(report: &mut Report, own: &Peer, snabb: &Peer, mixed: &Path) {
    let torrent = testkit::corpus::path("snabbwall/BITTORRENT.pcap");
    if torrent.is_none() {
        eprintln!(
            "SKIPPED: the benchmark has no BITTORRENT.pcap: set SLUSS_SHARED to a folder with captures/snabbwall"
        );
    }
    let torrent = torrent.map(|path| first_packets(own, "torrent", &path));
    let captures = torrent.iter().map(|path| ("BitTorrent", path.as_path())).chain([("mixed", mixed)]);
    let [lua, native] = ["pflua, Lua", "pflua, x64"].map(|name| Peer { name, ..snabb.clone() });
    for (traffic, capture) in captures {
        // pflua knows no empty filter.
        for (name, source) in FILTERS.iter().filter(|(_, source)| !source.is_empty()) {
            let ways = [(own, "pf"), (&lua, "pf"), (&native, "pf-native")];
            let engines = ways.map(|(peer, way)| (peer, format!("{way} {source}"))).into();
            let laps = Race { capture, engines }.run(FILTER_PROCESSES);
            let ratio = laps[1..].iter().map(|theirs| laps[0].over(theirs)).fold(0.0, f64::max);
            let what = format!("{name} in a loop, {traffic}");
            report.ratio(SUITE, format!("{what}: sluss / pflua"), ratio, Some(AtMost(1.05)));
            report.laps(TITLE, &what, &laps);
        }
    }
}

/// One program on one worker and on two, in packets for the time that goes by.
fn workers(report: &mut Report, [one, two]: [Peer; 2], capture: &Path) {
    let rate = |peer: &Peer| values(peer, "branches", capture).iter().map(|line| line.0).sum::<f64>();
    let ratios = (0..PROCESSES).map(|_| {
        let alone = rate(&one);
        rate(&two) / alone
    });
    report.ratio(SUITE, "two workers / one", median(ratios.collect()), Some(AtLeast(1.7)));
}

/// From nothing to the end of the first breath.
fn start(report: &mut Report, own: &Peer, capture: &Path) {
    let runs: Vec<Usage> = (0..PROCESSES).map(|_| measured("sluss", own.command("start", capture))).collect();
    let ms = runs.iter().map(|run| run.wall_s * 1e3);
    let min = ms.clone().fold(f64::INFINITY, f64::min);
    let median = median(ms.collect());
    report.figure(Figure {
        suite: TITLE,
        what: "start".to_owned(),
        engine: "sluss",
        min,
        median,
        unit: "ms",
    });
    report.ratio(SUITE, "start: milliseconds to the end of a breath", median, Some(AtMost(100.0)));
}

/// A capture's first packets, as many as stay in cache, in a file of their own.
fn first_packets(sluss: &Peer, name: &str, capture: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("out/work");
    let path = folder.join(format!("snabb-{name}.pcap"));
    let mut command = Command::new(&sluss.program);
    command.args(["filter", "", "-c", PACKETS, "-o"]).args([&path, capture]);
    let written = std::fs::create_dir_all(&folder).and_then(|()| command.output());
    let output = written.unwrap_or_else(|error| panic!("cannot write below {}: {error}", folder.display()));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    path
}

impl Peer {
    fn command(&self, network: &str, capture: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.words);
        if self.is_scripted {
            command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/networks.lua"));
            command.arg(network).arg(capture).arg(WINDOWS);
        } else {
            command.arg(network);
        }
        command.env_remove("SLUSS_SNABB").stdin(Stdio::null());
        command
    }
}

impl Race<'_> {
    /// What each engine took, in processes that take turns.
    ///
    /// # Panics
    /// Where two filters count differently: then no figure means anything.
    fn run(&self, processes: usize) -> Vec<Lap> {
        let mut times = vec![Vec::new(); self.engines.len()];
        for _ in 0..processes {
            let mut counts = Vec::new();
            for ((peer, network), times) in self.engines.iter().zip(&mut times) {
                let values = values(peer, network, self.capture);
                times.push(median(values.iter().map(|(ns, _)| *ns).collect()));
                counts.push(values[0].1.clone());
            }
            assert!(
                counts.iter().all(|count| *count == counts[0]),
                "{}: {counts:?} match",
                self.engines[0].1
            );
        }
        self.engines.iter().zip(times).map(|((peer, _), times)| Lap::of(peer.name, times)).collect()
    }
}

/// What a process prints: in each window a number, and of filters how many packets match.
fn values(peer: &Peer, network: &str, capture: &Path) -> Vec<(f64, String)> {
    let mut command = peer.command(network, capture);
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", peer.program.display()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}, {network}: {}\n{said}", peer.name, output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let values: Vec<_> = text.lines().filter_map(value).collect();
    assert!(!values.is_empty(), "{}, {network}: no figure in\n{text}{said}", peer.name);
    values
}

/// The figure of a line, if it has one: apps of Snabb log to standard output as well.
fn value(line: &str) -> Option<(f64, String)> {
    if line.starts_with('{') {
        let told: Value = serde_json::from_str(line).ok()?;
        return Some((1e3 / told["mpps_per_cpu_s"].as_f64()?, String::new()));
    }
    let (number, count) = line.split_once(' ').unwrap_or((line, ""));
    Some((number.parse().ok()?, count.to_owned()))
}
