//! Random graphs of standard apps follow one another on two workers while packets flow; every packet is accounted for, and memory
//! does not grow. A few seconds here; `SLUSS_SOAK_SECONDS=600` (`make soak`) for ten minutes.

use apps::{
    Bridge, Delay, Filter, Fragmenter, Gre, Join, KeyedIpv6Tunnel, Match, Merge, Queue, RateLimiter,
    Reassembler, Repeater, Router, Rss, Sampler, Sink, Source, Split, Synth, Tee, Truncate, VlanTag,
    VlanUntag, Vxlan,
};
use engine::{App, AppSpec, Class, Config, Engine, Graph, Io, OptionError, Packet, Pool, Settings, Setup};
use serde::Deserialize;
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
    let (restart_first, restart_max) = (Duration::from_millis(10), Duration::from_millis(100));
    let settings = Settings { workers: 2, packets: 8192, ..Settings::new().expect("memory") };
    let settings = Settings { restart_first, restart_max, ..settings };
    let mut engine = Engine::new(settings).expect("memory");
    let begin = Instant::now();
    let mut memory_at_first = None;
    let (mut rounds, mut delivered, mut restarts) = (0, 0, 0);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let changes =
            engine.configure(&random_graph(&mut rng)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(changes.failed.is_empty(), "seed {seed}: {changes:?}");
        engine.run_for(EACH.min(Duration::from_secs(seconds) / 3)).expect("threads");
        let report = engine.report();
        assert!(report.balanced(), "seed {seed}, round {rounds}: {:#?}", report.imbalances);
        // Large ones are there as soon as one was asked for.
        let large = report.pool.total - 2 * 8192;
        assert!(large <= 2 * Pool::LARGE_PACKETS && large.is_multiple_of(Pool::LARGE_PACKETS), "{large}");
        delivered = report.delivered;
        restarts += report.apps.values().map(|app| app.restarts).sum::<u64>();
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
        let pools = 2 * (8192 * 11_776 + Pool::LARGE_PACKETS * 67_072);
        assert!(last < first + pools + (64 << 20), "seed {seed}: memory grew from {first} to {last} bytes");
    }
    testkit::say(format_args!(
        "soak: {rounds} graphs, {delivered} packets delivered, {restarts} restarts, drops {:?}",
        report.drops
    ));
}

/// Three sources, some apps in a row or beside each other, two sinks.
fn random_graph(rng: &mut Rng) -> Graph {
    let mut graph = Graph::new();
    let size = 60 + rng.below(1400);
    add(&mut graph, "source1", Source { size, count: None });
    add(&mut graph, "source2", Source { size: 60, count: Some(100_000) }).worker = Some(1);
    add(&mut graph, "source3", flows());
    add(&mut graph, "sink1", Sink {});
    add(&mut graph, "sink2", Sink {}).worker = Some(0);
    // By chance alone, no way may lead from a source to a sink, and every test is to deliver something.
    link(&mut graph, "source1.straight -> sink1.straight");
    // Where packets leave each.
    let mut exits: Vec<String> = (1..=3).map(|number| format!("source{number}")).collect();
    let sources = exits.len();
    let mut entries = vec!["sink1".to_owned(), "sink2".to_owned()];
    for number in 0..MIDDLE {
        let name = format!("app{number}");
        match rng.below(8) {
            0 => continue,
            1..4 => {
                add_several(&mut graph, rng, &name);
                exits.push(format!("{name}_exit"));
            }
            _ => {
                graph.add(&name, random_app(rng)).expect("a name");
                exits.push(name.clone());
            }
        }
        entries.push(name);
    }
    let apps = graph.apps().map(|(name, _)| name).filter(|name| name.starts_with("app"));
    for name in apps.map(str::to_owned).collect::<Vec<_>>() {
        let worker = (rng.below(2) == 0).then(|| rng.below(2));
        graph.get_mut(&name).expect("an app").worker = worker;
    }
    for number in 0..3 * MIDDLE {
        // Flows reach one app at least.
        let from = if number == 0 { sources - 1 } else { rng.below(exits.len()) };
        let (from, to) = (&exits[from], &entries[rng.below(entries.len())]);
        // Ports that an app has not, or that are taken, are refused: then there is one link less.
        for (output, input) in [("output", "input"), ("other", "another")] {
            if graph.link(&format!("{from}.{output} -> {to}.{input}")).is_ok() {
                break;
            }
        }
    }
    graph
}

/// Packets that all apps understand, short and long ones; for the longest the pool has few.
fn flows() -> Synth {
    Synth {
        sizes: Some(vec![60, 1514, 90, 3000, 1514, 60, 15_000]),
        src: "198.18.0.0/24".to_owned(),
        dst: "198.19.0.0/24".to_owned(),
        dport: "80-83".to_owned(),
        random: true,
        dont_fragment: false,
        rate_pps: Some(300_000.0),
        ..Synth::default()
    }
}

/// Apps that belong together, between `name` and the app with `_exit` behind its name.
fn add_several(graph: &mut Graph, rng: &mut Rng, name: &str) {
    add(graph, name, Join {});
    add(graph, &format!("{name}_exit"), Join {});
    let kind = rng.below(9);
    let (near, far) = match kind {
        0 => (Config::new(Fragmenter { mtu: 500 + rng.below(1000) }), Config::new(Reassembler::default())),
        1 => {
            let tag = 1 + rng.below(2);
            (read::<VlanTag>("tag = 1"), read::<VlanUntag>(&format!("tag = {tag}")))
        }
        2 => {
            let delay_ms = 1.0 + rng.below(3) as f64;
            let delay = Delay { delay_ms, jitter_ms: 1.0, loss: 0.01, ..Delay::default() };
            (Config::new(Split { numbered: true }), Config::new(delay))
        }
        3 => tunnel::<Gre>("192.0.2", "key = 7"),
        4 => tunnel::<Vxlan>("192.0.2", "vni = 5000"),
        5 => tunnel::<KeyedIpv6Tunnel>(
            "2001:db8:",
            "local_cookie = '1122334455667788'\nremote_cookie = '1122334455667788'",
        ),
        6 => (
            Config::new(Bridge { max_hosts: 16 + rng.below(100), ..Bridge::default() }),
            Config::new(Join {}),
        ),
        7 => {
            let routes = "route = [{ prefix = '198.19.0.0/25', port = 'a', next_hop = '02:00:00:00:00:0a' },\n\
                { prefix = '0.0.0.0/0', port = 'b', next_hop = '02:00:00:00:00:0b' }]";
            (read::<Router>(routes), Config::new(Join {}))
        }
        _ => {
            let list = Match::new([("a", "udp port 80"), ("b", "greater 1000"), ("a", "ip")]);
            (Config::new(list), Config::new(Join {}))
        }
    };
    graph.add(&format!("{name}_near"), near).expect("a name");
    graph.add(&format!("{name}_far"), far).expect("a name");
    let links: &[&str] = match kind {
        0 | 1 => &[".output -> _near.input", "_near.output -> _far.input", "_far.output -> _exit.input"],
        2 => {
            add(graph, &format!("{name}_merge"), Merge::default());
            &[
                ".output -> _near.input",
                "_near.a -> _far.input",
                "_near.b -> _merge.b",
                "_far.output -> _merge.a",
                "_merge.output -> _exit.input",
            ]
        }
        3..=5 => &[
            ".output -> _near.decapsulated",
            "_near.encapsulated -> _far.encapsulated",
            "_far.decapsulated -> _exit.input",
        ],
        _ => &[
            ".output -> _near.input",
            "_near.a -> _far.input",
            "_near.b -> _exit.b",
            "_far.output -> _exit.a",
        ],
    };
    for text in links {
        let (from, to) = text.split_once(" -> ").expect("a link");
        link(graph, &format!("{name}{from} -> {name}{to}"));
    }
}

/// Both ends of a tunnel between the addresses with 1 and 2 at the end.
fn tunnel<C: Class + serde::de::DeserializeOwned>(net: &str, options: &str) -> (Config, Config) {
    let colon = if net.contains(':') { ":" } else { "." };
    let end = |local: u32, remote: u32| {
        let addresses =
            format!("local_address = '{net}{colon}{local}'\nremote_address = '{net}{colon}{remote}'");
        read::<C>(&format!("{addresses}\n{options}"))
    };
    (end(1, 2), end(2, 1))
}

fn read<C: Class + serde::de::DeserializeOwned>(options: &str) -> Config {
    Config::new(toml::from_str::<C>(options).unwrap_or_else(|error| panic!("{options}: {error}")))
}

fn add<'a>(graph: &'a mut Graph, name: &str, class: impl Class) -> &'a mut AppSpec {
    graph.app(name, class).expect("a name")
}

fn link(graph: &mut Graph, text: &str) {
    graph.link(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn random_app(rng: &mut Rng) -> Config {
    match rng.below(13) {
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
        9 => {
            Config::new(Repeater { limit: 1 + rng.below(1000), count: Some(1 + rng.below(1_000_000) as u64) })
        }
        10 | 11 => Config::new(Faulty { every: 1 + rng.below(1_000_000) as u64 }),
        _ => Config::new(Filter::new(["ip or not ip", "tcp port 80", "greater 100"][rng.below(3)])),
    }
}

/// Passes packets on a burst late, and panics when it has got so many, with what it keeps in its hands.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Faulty {
    every: u64,
}

#[derive(Debug)]
struct Failing {
    left: u64,
    kept: Vec<Packet>,
}

impl Class for Faulty {
    const TYPE: &'static str = "faulty";
    type App = Failing;

    fn start(&self, _: &mut Setup<'_>) -> Result<Failing, OptionError> {
        Ok(Failing { left: self.every, kept: Vec::new() })
    }
}

impl App for Failing {
    fn push(&mut self, io: &mut Io<'_>) {
        self.kept.drain(..).for_each(|packet| io.outputs[0].put(packet));
        for packet in io.inputs[0].burst().into_iter().flatten() {
            self.left -= 1;
            if self.left == 0 {
                // Without a word on standard error.
                std::panic::resume_unwind(Box::new("as told"));
            }
            self.kept.push(packet);
        }
    }

    fn held(&self) -> usize {
        self.kept.len()
    }
}

/// Memory of this process, where the system says.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    status.split_whitespace().nth(1)?.parse::<usize>().ok().map(|pages| pages * 4096)
}
