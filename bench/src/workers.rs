//! The same network on one worker and on two: flows spread by `rss` over branches that each do the work of a tunnel.
//! Packets delivered in a second of wall time, since that is what a second core is for; it takes two free cores.

use crate::report::{Figure, Report, Target::AtLeast};
use engine::{Engine, Graph, GraphFile, Settings};
use std::time::{Duration, Instant};

const SUITE: &str = "workers";
/// More than workers, so that their load can be made even.
const BRANCHES: u32 = 8;
/// How long apps are measured before they are placed by what they cost.
const MEASURED: Duration = Duration::from_millis(500);
const LAP: Duration = Duration::from_millis(300);
const LAPS: usize = 11;

/// Runs the suite.
pub(crate) fn run(report: &mut Report) {
    let mut engines = [engine(1), engine(2)];
    let mut laps: [Vec<f64>; 2] = Default::default();
    for _ in 0..LAPS {
        for (engine, laps) in engines.iter_mut().zip(&mut laps) {
            laps.push(ns_per_packet(engine));
        }
    }
    let names = ["one worker", "two workers"];
    let medians = [0, 1].map(|i| {
        laps[i].sort_by(f64::total_cmp);
        let (min, median) = (laps[i][0], laps[i][LAPS / 2]);
        let what = "rss over eight tunnels".to_owned();
        report.figure(Figure { suite: SUITE, what, engine: names[i], min, median, unit: "ns/packet" });
        median
    });
    let what = "rss over eight tunnels: two workers / one, in wall time".to_owned();
    report.ratio(SUITE, what, medians[0] / medians[1], Some(AtLeast(1.7)));
}

/// An engine whose apps have been placed by what they cost.
fn engine(workers: usize) -> Engine {
    let settings = Settings {
        workers,
        cores: (0..workers).collect(),
        busywait: true,
        ..Settings::new().expect("memory")
    };
    let mut engine = Engine::new(settings).expect("memory");
    engine.configure(&graph()).expect("apps that start");
    engine.gather();
    engine.run_for(MEASURED).expect("threads");
    engine.rebalance();
    engine.run_for(LAP).expect("threads");
    engine
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
