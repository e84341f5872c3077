//! The same network on one worker and on two: flows spread by `rss` over branches that each do the work of a tunnel.
//! Packets delivered in a second of wall time, since that is what a second core is for; it takes two free cores. How free they are is told by
//! two engines side by side, which share nothing.

use crate::report::{Figure, Report, Target::AtLeast};
use engine::{Engine, Graph, GraphFile, Settings};
use std::ops::Range;
use std::time::{Duration, Instant};

const SUITE: &str = "workers";
/// More than workers, so that their load can be made even.
const BRANCHES: u32 = 8;
/// How long apps are measured before they are placed by what they cost.
const MEASURED: Duration = Duration::from_millis(500);
/// How often they are.
const PLACINGS: usize = 6;
const LAP: Duration = Duration::from_millis(300);
const LAPS: usize = 11;

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let (mut one, mut other, mut two) = (engine(0..1), engine(1..2), engine(0..2));
    let mut laps: [Vec<f64>; 3] = Default::default();
    for _ in 0..LAPS {
        laps[0].push(ns_per_packet(&mut one));
        laps[1].push(ns_per_packet(&mut two));
        laps[2].push(side_by_side(&mut one, &mut other));
    }
    let names = ["one worker", "two workers", "two engines"];
    let medians = [0, 1, 2].map(|i| {
        laps[i].sort_by(f64::total_cmp);
        let (min, median) = (laps[i][0], laps[i][LAPS / 2]);
        let what = "rss over eight tunnels".to_owned();
        report.figure(Figure { suite: SUITE, what, engine: names[i], min, median, unit: "ns/packet" });
        median
    });
    let what = "rss over eight tunnels: two workers / one, in wall time".to_owned();
    report.ratio(SUITE, what, medians[0] / medians[1], Some(AtLeast(1.7)));
    let what = "the same: two engines that share nothing / one".to_owned();
    report.ratio(SUITE, what, medians[0] / medians[2], None);
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
    for _ in 0..PLACINGS {
        engine.run_for(MEASURED).expect("threads");
        engine.rebalance();
    }
    engine.run_for(LAP).expect("threads");
    engine
}

/// Wall time for each packet that arrives in either of two engines at once.
fn side_by_side(one: &mut Engine, other: &mut Engine) -> f64 {
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| ns_per_packet(other));
        (ns_per_packet(one), other.join().expect("no panic"))
    });
    1.0 / (1.0 / one + 1.0 / other)
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
