//! Random graphs of standard apps follow one another on two workers while packets flow; every packet is accounted for, and memory
//! does not grow. A few seconds here; `SLUSS_SOAK_SECONDS=600` (`make soak`) for ten minutes.

use apps::{Delay, Filter, Join, Queue, RateLimiter, Rss, Sampler, Sink, Source, Split, Tee, Truncate};
use engine::{Config, Engine, Graph, Settings};
use std::time::{Duration, Instant};
use testkit::rng::Rng;

/// How long one graph runs.
const EACH: Duration = Duration::from_secs(1);
/// Apps between the sources and the sinks.
const MIDDLE: usize = 8;

#[test]
fn graphs_follow_one_another_for_a_long_time() {
    let seconds: u64 =
        std::env::var("SLUSS_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let seed = std::env::var("SLUSS_SOAK_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| u64::from(std::process::id()));
    testkit::say(format_args!("soak: {seconds} s, seed {seed} (SLUSS_SOAK_SEED)"));
    let mut rng = Rng::new(seed);
    let settings = Settings { workers: 2, packets: 8192, ..Settings::new().expect("memory") };
    let mut engine = Engine::new(settings).expect("memory");
    let begin = Instant::now();
    let mut memory_at_first = None;
    let (mut rounds, mut delivered) = (0, 0);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let changes =
            engine.configure(&random_graph(&mut rng)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(changes.failed.is_empty(), "seed {seed}: {changes:?}");
        engine.run_for(EACH.min(Duration::from_secs(seconds) / 3)).expect("threads");
        let report = engine.report();
        assert!(report.balanced(), "seed {seed}, round {rounds}: {:#?}", report.imbalances);
        assert_eq!(report.pool.total, 2 * 8192);
        delivered = report.delivered;
        rounds += 1;
        if rounds == 20 {
            memory_at_first = resident_bytes();
        }
    }
    engine.stop();
    let report = engine.report();
    assert!(report.balanced(), "seed {seed}: {:#?}", report.imbalances);
    assert_eq!(report.pool.free, report.pool.total, "seed {seed}");
    assert!(delivered > 0);
    // All packets of both pools may have been touched meanwhile; beyond that nothing may grow.
    if let (Some(first), Some(last)) = (memory_at_first, resident_bytes()) {
        let pools = 2 * 8192 * 11_776;
        assert!(last < first + pools + (64 << 20), "seed {seed}: memory grew from {first} to {last} bytes");
    }
    testkit::say(format_args!(
        "soak: {rounds} graphs, {delivered} packets delivered, drops {:?}",
        report.drops
    ));
}

/// Two sources, some apps in a row or beside each other, two sinks.
fn random_graph(rng: &mut Rng) -> Graph {
    let mut graph = Graph::new();
    let size = 60 + rng.below(1400);
    graph.app("source1", Source { size, count: None }).expect("a name");
    graph.app("source2", Source { size: 60, count: Some(100_000) }).expect("a name").worker = Some(1);
    graph.app("sink1", Sink {}).expect("a name");
    graph.app("sink2", Sink {}).expect("a name").worker = Some(0);
    // By chance alone, no way may lead from a source to a sink, and every test is to deliver something.
    graph.link("source1.straight -> sink1.straight").expect("free ports");
    for number in 0..MIDDLE {
        if rng.below(4) > 0 {
            let app = graph.add(&format!("app{number}"), random_app(rng)).expect("a name");
            app.worker = (rng.below(2) == 0).then(|| rng.below(2));
        }
    }
    for _ in 0..3 * MIDDLE {
        let (from, to) = (rng.below(MIDDLE + 2), rng.below(MIDDLE + 2));
        let from = if from >= MIDDLE { format!("source{}", from - MIDDLE + 1) } else { format!("app{from}") };
        let to = if to >= MIDDLE { format!("sink{}", to - MIDDLE + 1) } else { format!("app{to}") };
        // Ports that an app has not, or that are taken, are refused: then there is one link less.
        for (output, input) in [("output", "input"), ("other", "another")] {
            if graph.link(&format!("{from}.{output} -> {to}.{input}")).is_ok() {
                break;
            }
        }
    }
    graph
}

fn random_app(rng: &mut Rng) -> Config {
    match rng.below(10) {
        0 => Config::new(Tee {}),
        1 => Config::new(Join {}),
        2 => Config::new(Truncate { length: 60 + rng.below(100), pad: false }),
        3 => Config::new(Queue { limit: 1 + rng.below(3000), ..Queue::default() }),
        4 => Config::new(Delay {
            delay_ms: 5.0 + rng.below(20) as f64,
            jitter_ms: rng.below(5) as f64,
            loss: 0.1,
            ..Delay::default()
        }),
        5 => Config::new(RateLimiter {
            packets_per_s: Some(1 + rng.below(1_000_000) as u64),
            ..RateLimiter::default()
        }),
        6 => Config::new(Sampler { every: 1 + rng.below(10) as u32, random: true, seed: 1 }),
        7 => Config::new(Split::default()),
        8 => Config::new(Rss::default()),
        _ => Config::new(Filter::new(["ip or not ip", "tcp port 80", "greater 100"][rng.below(3)])),
    }
}

/// Memory of this process, where the system says.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    status.split_whitespace().nth(1)?.parse::<usize>().ok().map(|pages| pages * 4096)
}
