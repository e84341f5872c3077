//! The same network on one worker and on two: flows spread by `rss` over branches that each do the work of a tunnel.
//! Packets delivered in a second of wall time, since that is what a second core is for; it takes two free cores. How free they are is told by
//! two engines side by side, which share nothing, before and after.

use crate::race::{median, median_ratio};
use crate::report::{Figure, Report, Target, Target::AtLeast};
use engine::{Engine, Graph, Rebalancer, Settings};
use graphfile::GraphFile;
use std::ops::Range;
use std::time::{Duration, Instant};

const SUITE: &str = "workers";
/// More than workers, so that their load can be made even.
const BRANCHES: u32 = 8;
/// For which gain apps move between rounds.
const GAIN_MIN: f64 = 0.02;
const LAP: Duration = Duration::from_millis(200);
/// Rounds in which both cores are free, if there are that many among those that are made at most; with fewer than the least, nothing is told.
const FREE_ROUNDS: usize = 11;
const FREE_ROUNDS_MIN: usize = 3;
const ROUNDS_MAX: usize = 100;
/// Cores are free when one worker alone, and each of two engines side by side, take the same time but for this factor.
const FREE: f64 = 1.15;

/// What one round came to, in nanoseconds a packet.
#[derive(Clone, Copy, Debug)]
struct Round {
    one: f64,
    two: f64,
    /// Each of two engines side by side, before and after.
    side_by_side: [[f64; 2]; 2],
}

impl Round {
    /// Both engines together.
    fn sharing_nothing(&self) -> f64 {
        let [one, other] = self.side_by_side[1];
        1.0 / (1.0 / one + 1.0 / other)
    }

    /// Whether both cores were free, or equally slow, all the time.
    fn is_free(&self) -> bool {
        let apart = self.side_by_side.as_flattened();
        let (fastest, slowest) =
            apart.iter().fold((self.one, self.one), |(min, max), &lap| (min.min(lap), max.max(lap)));
        slowest <= fastest * FREE
    }
}

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let rounds = rounds();
    let free: Vec<Round> = rounds.iter().copied().filter(Round::is_free).collect();
    if free.len() >= FREE_ROUNDS_MIN {
        tell(report, &free, "free cores", Some(AtLeast(1.7)));
    } else {
        let (free, all) = (free.len(), rounds.len());
        eprintln!("NOT MEASURED: two workers on free cores: both were free in {free} of {all} rounds only");
    }
    tell(report, &rounds, "all rounds", None);
    let apart = median_ratio(&laps(&rounds, |round| round.one), &laps(&rounds, Round::sharing_nothing));
    report.ratio(SUITE, "all rounds: two engines that share nothing / one", apart, None);
    let share = free.len() as f64 / rounds.len() as f64;
    report.ratio(SUITE, "rounds in which both cores were free / all", share, None);
}

/// Rounds until both cores were free in enough of them. A virtual machine's cores are at times half as fast for seconds: apps are placed by
/// what they cost while both are free.
fn rounds() -> Vec<Round> {
    let (mut one, mut other, mut two) = (engine(0..1), engine(1..2), engine(0..2));
    let mut rounds = Vec::new();
    let mut before = side_by_side(&mut one, &mut other);
    let mut free_rounds = 0;
    while free_rounds < FREE_ROUNDS && rounds.len() < ROUNDS_MAX {
        two.forget_costs();
        let two_workers = ns_per_packet(&mut two);
        let one_worker = ns_per_packet(&mut one);
        let after = side_by_side(&mut one, &mut other);
        let round = Round { one: one_worker, two: two_workers, side_by_side: [before, after] };
        if round.is_free() {
            free_rounds += 1;
            two.rebalance(GAIN_MIN);
        }
        rounds.push(round);
        before = after;
    }
    rounds
}

/// What is measured in a round.
type Lap = fn(&Round) -> f64;

fn tell(report: &mut Report, rounds: &[Round], which: &str, target: Option<Target>) {
    let laps = |of: Lap| laps(rounds, of);
    let engines: [(_, Lap); 3] = [
        ("one worker", |round| round.one),
        ("two workers", |round| round.two),
        ("two engines", Round::sharing_nothing),
    ];
    for (engine, of) in engines {
        let min = laps(of).into_iter().fold(f64::INFINITY, f64::min);
        let what = format!("rss over eight tunnels, {which}");
        report.figure(Figure {
            suite: SUITE,
            what,
            engine,
            min,
            median: median(laps(of)),
            unit: "ns/packet",
        });
    }
    let what = format!("rss over eight tunnels, {which}: two workers / one, in wall time");
    let ratio = median_ratio(&laps(|round| round.one), &laps(|round| round.two));
    report.ratio(SUITE, what, ratio, target);
}

fn laps(rounds: &[Round], of: Lap) -> Vec<f64> {
    rounds.iter().map(of).collect()
}

/// An engine whose apps have been placed by what they cost, with a worker on each of these cores.
fn engine(cores: Range<usize>) -> Engine {
    let settings = Settings {
        workers: cores.len(),
        cores: cores.collect(),
        busywait: true,
        ..Settings::new().expect("memory")
    };
    let mut engine = Engine::new(settings).expect("memory");
    engine.configure(&graph()).expect("apps that start");
    engine.gather();
    if let Some(mut rebalancer) = Rebalancer::of(&engine) {
        while !rebalancer.is_settled() {
            engine.run_for(rebalancer.measure_for()).expect("threads");
            rebalancer.rebalance(&mut engine);
        }
    }
    engine.run_for(LAP).expect("threads");
    engine
}

/// Wall time for each packet that arrives in each of two engines that run at once.
fn side_by_side(one: &mut Engine, other: &mut Engine) -> [f64; 2] {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| ns_per_packet(other));
        [ns_per_packet(one), other.join().expect("no panic")]
    })
}

/// Wall time for each packet that arrives.
fn ns_per_packet(engine: &mut Engine) -> f64 {
    let (before, begin) = (engine.report().delivered, Instant::now());
    engine.run_for(LAP).expect("threads");
    let ns = begin.elapsed().as_nanos() as f64;
    let report = engine.report();
    assert!(report.balanced(), "packets do not add up: {:?}", report.imbalances);
    ns / (report.delivered - before) as f64
}

/// The graph, as a user would write it.
fn graph() -> Graph {
    let mut links = vec!["\"source.output -> rss.input\"".to_owned()];
    let mut apps =
        "[app.source]\ntype = 'synth'\nsrc = '198.18.0.0/20'\n[app.rss]\ntype = 'rss'\nkey = 1\n".to_owned();
    for n in 1..=BRANCHES {
        links.push(format!(
            "\"rss.output{n} -> b{n}_filter.input\", \"b{n}_filter.output -> b{n}_near.decapsulated\""
        ));
        links.push(format!("\"b{n}_near.encapsulated -> b{n}_far.encapsulated\""));
        links.push(format!("\"b{n}_far.decapsulated -> b{n}_sink.input\""));
        apps.push_str(&format!("[app.b{n}_filter]\ntype = 'filter'\nfilter = 'udp or tcp port 80'\n"));
        for (end, local, remote) in [("near", 1, 2), ("far", 2, 1)] {
            apps.push_str(&format!(
                "[app.b{n}_{end}]\ntype = 'vxlan'\nvni = {n}\nlocal_address = '192.0.2.{local}'\n\
                 remote_address = '192.0.2.{remote}'\n"
            ));
        }
        apps.push_str(&format!("[app.b{n}_sink]\ntype = 'sink'\n"));
    }
    let text = format!("links = [{}]\n{apps}", links.join(", "));
    GraphFile::parse(&text, &apps::registry()).expect("a graph").graph
}
