//! Random graphs of all apps that a file can name follow one another, with random options, pools that are too small, and packets
//! that somebody has made to break things. No app fails, every packet is accounted for, and all come home in the end.
//!
//! Some seconds here; `SLUSS_GRAPHS_SECONDS=600` for ten minutes.

mod common;

use common::packet;
use engine::shm::Counter;
use engine::{
    App, Class, ClockKind, Config, Engine, Graph, Io, Metadata, OptionError, OptionValue, Ports, Roles,
    Settings, Setup,
};
use std::time::{Duration, Instant};
use testkit::rng::Rng;

/// Apps of a graph at most. Those of one number have one name in all graphs, so that many are changed rather than started.
const APPS: usize = 10;
/// Graphs that follow one another in an engine.
const CHANGES: usize = 8;
/// How many packets a hostile source has; it sends them over and over.
const PACKETS: usize = 200;

/// What may be linked where any name of a port is allowed.
const ANY: &[&str] = &["a", "b", "vlan7", "native", "trunk"];

/// Apps with options, as a file has them.
const CHOICES: &[(&str, &[&str])] = &[
    ("arp_responder", &["ip = '192.0.2.1'\nmac = '02:00:00:00:00:01'"]),
    ("bridge", &["", "max_hosts = 16\ntimeout_s = 1"]),
    ("counter", &["count = [{ name = 'web', filter = 'tcp port 80' }]", ""]),
    ("delay", &["", "delay_ms = 1", "delay_ms = 2\njitter_ms = 2\nloss = 0.1\nreorder = true\nlimit = 3"]),
    ("filter", &["filter = 'ip'", "filter = 'ip6 protochain 6 or vlan and tcp[tcpflags] != 0'"]),
    ("fragmenter", &["mtu = 68", "mtu = 1280", "mtu = 1500"]),
    ("gre", &[ENDS, ENDS_V6]),
    ("icmp_echo", &["ip = ['192.0.2.1', '2001:db8::1']", "ip = '192.0.2.1'\nmac = '02:00:00:00:00:01'"]),
    ("join", &[""]),
    ("keyed_ipv6_tunnel", &[KEYED]),
    ("match", &["case = [{ port = 'a', filter = 'ip' }, { port = 'b', filter = 'udp' }]"]),
    ("merge", &["", "wait_ms = 1"]),
    ("nd_responder", &["ip = '2001:db8::1'\nmac = '02:00:00:00:00:01'"]),
    ("pcap_reader", &[FRAGMENTS, MIXED]),
    (
        "queue",
        &[
            "",
            "limit = 3",
            "limit = 100\nlimit_bytes = 5000\npolicy = 'head'",
            "policy = 'random_early'\nlimit = 9",
        ],
    ),
    (
        "rate_limiter",
        &["packets_per_s = 1000", "packets_per_s = 10\nhold = true", "bytes_per_s = 100000\nhold = true"],
    ),
    ("reassembler", &["", "max_reassemblies = 2\nmax_fragments = 3", "timeout_s = 1"]),
    ("repeater", &["count = 5000", "limit = 3", "limit = 1\ncount = 7"]),
    ("router", &[ROUTER]),
    ("rss", &[""]),
    ("sampler", &["every = 3", "every = 2\nrandom = true"]),
    ("sink", &[""]),
    ("source", &["", "size = 1500\ncount = 100", "size = 20000\ncount = 10"]),
    ("split", &["", "numbered = true"]),
    (
        "synth",
        &[
            "count = 500",
            "sizes = [60, 1514, 9000]\nrate_pps = 10000",
            "sizes = [60, 20000]\nrandom = true\nflows = 1",
        ],
    ),
    ("tee", &[""]),
    ("truncate", &["length = 60", "length = 2000\npad = true", "length = 20000\npad = true"]),
    ("vlan_mux", &[""]),
    ("vlan_tag", &["tag = 7"]),
    ("vlan_untag", &["tag = 7"]),
    ("vxlan", &[VXLAN, VXLAN_V6]),
];

const FRAGMENTS: &str =
    concat!("path = '", env!("CARGO_MANIFEST_DIR"), "/../../captures/fragments.pcap'\nloop = 20");
const MIXED: &str = concat!(
    "path = '",
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/mixed.pcap'\nloop = 'forever'\nreplay = 'exact'"
);
const ENDS: &str = "local_address = '192.0.2.1'\nremote_address = '192.0.2.2'";
const ENDS_V6: &str = "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'";
const KEYED: &str = "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'\nlocal_cookie = '0102030405060708'\nremote_cookie = '0102030405060708'";
const VXLAN: &str = "local_address = '192.0.2.1'\nremote_address = '192.0.2.2'\nvni = 7\nchecksum = true";
const VXLAN_V6: &str =
    "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'\nvni = 7\ninner_vlan = true";
const ROUTER: &str = "port.a = { ip = ['198.18.0.1', '2001:db8:f::1'], mtu = 100 }
port.b = { ip = '198.19.0.1' }
route = [{ prefix = '192.0.2.0/25', port = 'a', next_hop = '02:00:00:00:00:0a' }, { prefix = '2001:db8::/32', port = 'b', next_hop = '02:00:00:00:00:0b' }]";

/// Sends hostile packets to all its outputs.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Hostile {
    seed: u64,
    count: u64,
}

struct Running {
    packets: Vec<Vec<u8>>,
    sent: u64,
    count: u64,
    unused: Counter,
}

impl Class for Hostile {
    const TYPE: &'static str = "hostile";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::Any;
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let mut rng = Rng::new(self.seed);
        let packets = (0..PACKETS).map(|_| packet(&mut rng)).collect();
        Ok(Running { packets, sent: 0, count: self.count, unused: setup.drops("unused") })
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PULL
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        for output in io.outputs.iter_mut() {
            for _ in 0..io.burst {
                if self.is_finished() {
                    return;
                }
                let bytes = &self.packets[self.sent as usize % PACKETS];
                let Some(mut packet) = io.pool.packet(bytes) else { return };
                self.sent += 1;
                let metadata = Metadata { linktype: (self.sent % 3) as u16, ..Metadata::default() };
                io.pool.describe(&mut packet, metadata);
                match self.sent % 7 {
                    0 => io.pool.free(packet, &self.unused),
                    // What goes out of scope is counted as well.
                    1 => drop(packet),
                    _ => output.put(packet),
                }
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.sent >= self.count
    }
}

fn engine(rng: &mut Rng) -> Engine {
    let workers = 1 + rng.below(2);
    let clock = if workers == 1 && rng.chance(1, 2) { ClockKind::Capture } else { ClockKind::Wall };
    let settings = Settings {
        workers,
        clock,
        packets: *rng.pick(&[1, 2, 5, 30, 200, 2000, 10_000]),
        large_packets: *rng.pick(&[0, 1, 3, 256]),
        burst: *rng.pick(&[1, 7, 64, 1024]),
        ..Settings::new().expect("memory")
    };
    Engine::new(settings).expect("memory")
}

fn app(rng: &mut Rng) -> Config {
    if rng.chance(1, 8) {
        return Config::new(Hostile { seed: rng.below(100) as u64, count: 1 + rng.below(5000) as u64 });
    }
    let &(class, options) = rng.pick(CHOICES);
    let text = rng.pick::<&str>(options);
    let options: OptionValue = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let read = apps::registry().and(io::registry()).read(class, &options).expect("a class");
    read.unwrap_or_else(|error| panic!("{class} {text}: {error}"))
}

/// A graph of some apps, with links from random outputs to random inputs, loops included.
fn graph(rng: &mut Rng, before: &Graph, workers: usize) -> Graph {
    let mut graph = Graph::new();
    for number in 0..APPS {
        let name = format!("app{number}");
        let config = match before.get(&name) {
            Some(app) if rng.chance(1, 2) => app.config.clone(),
            _ if rng.chance(1, 8) => continue,
            _ => app(rng),
        };
        let spec = graph.add(&name, config).expect("a name");
        spec.worker = rng.chance(1, 2).then(|| rng.below(workers));
    }
    let ports = |ports: &Ports| -> Vec<String> {
        let names = if ports.are_any() { ANY.to_vec() } else { ports.names() };
        names.into_iter().map(str::to_owned).collect()
    };
    let all: Vec<(String, Ports, Ports)> = graph
        .apps()
        .map(|(name, app)| (name.to_owned(), app.config.class().inputs, app.config.class().outputs))
        .collect();
    for (from, _, outputs) in &all {
        for output in ports(outputs) {
            let (to, inputs, _) = rng.pick(&all);
            let inputs = ports(inputs);
            if !inputs.is_empty()
                && let input = rng.pick(&inputs)
                && rng.chance(4, 5)
            {
                // A port that is taken is refused: then there is one link less.
                let _ = graph.link(&format!("{from}.{output} -> {to}.{input}"));
            }
        }
    }
    graph
}

/// One engine, and graphs that follow one another in it. Returns how many were taken on.
fn run(seed: u64) -> usize {
    let mut rng = Rng::new(seed);
    let mut engine = engine(&mut rng);
    let workers = engine.settings().workers;
    let mut taken = 0;
    for change in 0..CHANGES {
        let graph = graph(&mut rng, engine.graph(), workers);
        // Ports may not go with options: then what runs goes on.
        taken += usize::from(engine.configure(&graph).is_ok());
        if rng.chance(1, 2) {
            (0..rng.below(300)).for_each(|_| _ = engine.breathe());
        } else {
            engine.run_for(Duration::from_millis(1 + rng.below(4) as u64)).expect("threads");
        }
        check(&mut engine, &format!("seed {seed}, change {change}"));
    }
    engine.stop();
    let report = engine.report();
    assert!(report.balanced(), "seed {seed}: {:#?}", report.imbalances);
    assert_eq!((report.pool.free, report.pool.held), (report.pool.total, 0), "seed {seed}");
    taken
}

fn check(engine: &mut Engine, place: &str) {
    let report = engine.report();
    assert!(report.balanced(), "{place}: {:#?}", report.imbalances);
    for (name, app) in &report.apps {
        assert_eq!(app.last_error, None, "{place}: {name} ({})", app.class);
    }
}

#[test]
fn graphs_of_all_apps_stand_what_comes() {
    let text = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = text("SLUSS_GRAPHS_SECONDS").unwrap_or(2);
    let first = text("SLUSS_GRAPHS_SEED").unwrap_or_else(|| 1000 * u64::from(std::process::id()));
    testkit::say(format_args!("graphs: {seconds} s, from seed {first} on (SLUSS_GRAPHS_SEED)"));
    let begin = Instant::now();
    let (mut seed, mut taken) = (first, 0);
    while begin.elapsed() < Duration::from_secs(seconds) {
        taken += run(seed);
        seed += 1;
    }
    testkit::say(format_args!("graphs: {} engines, {taken} graphs", seed - first));
    assert!(taken > 0);
}
