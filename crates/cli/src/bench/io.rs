//! `sluss bench io`: what a packet costs that comes by one device and goes by another, in CPU time, all on one thread.
//!
//! | chain | apps |
//! |---|---|
//! | `dpdk` | `net_null0` -> `net_null1` |
//! | `af_packet` | source -> `a0` ~ `a1` -> `b0` ~ `b1` -> sink; `~` is a pair of veth |
//! | `nfqueue` | trace -> raw socket ~ queue -> the kernel, which drops; and TCP over another queue |

mod goodput;
mod testpmd;

use super::loads::{Swap, Trace};
use super::{Measurable, Measured, measure, quantile, round};
use crate::args::{Chain, ChainApp, IoBenchArgs};
use crate::ended::unbalanced;
use crate::exit::{Failure, Outcome};
use crate::terminal::{Terminal, print};
use apps::{Sink, Source};
use engine::{Config, Engine, Graph, Report, Settings};
use goodput::Goodput;
use io::{AfPacket, Dpdk, Nfqueue};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use testpmd::Peer;

/// Bytes of a packet.
const SIZE: usize = 64;

/// Runs the suite.
pub(super) fn run(args: &IoBenchArgs, _: &Terminal) -> Result<Outcome, Failure> {
    let _namespace = Namespace::enter(args.chain)?;
    let settings = Settings::new().map_err(Failure::no_engine)?;
    let mut engine =
        Engine::new(Settings { workers: 1, busywait: true, ..settings }).map_err(Failure::no_engine)?;
    let mut bed = Bed::new(args)?;
    engine.configure(&bed.graph).map_err(|error| Failure::configuring(&error))?;
    let measured = measure(&mut engine, &mut bed, args.runs)?;
    let report = engine.report();
    let memory = report.apps.get("in").and_then(|app| app.device.as_ref()?.memory);
    // One after the other: the two would take each other's processor.
    engine.stop();
    let peer = match args.chain {
        Chain::Dpdk => testpmd::run(args.app, memory == Some("huge pages")),
        Chain::AfPacket | Chain::Nfqueue => None,
    };
    let goodput = (args.chain == Chain::Nfqueue).then(|| goodput::run(args.runs)).transpose()?;
    let result = result(args, &measured, &report, peer.as_ref(), goodput.as_ref());
    print(&if args.json { format!("{result}\n") } else { in_words(&result) })?;
    if report.balanced() { Ok(Outcome::Done) } else { Err(unbalanced(report.imbalances.iter())) }
}

/// A chain, and where its packets are counted.
struct Bed {
    graph: Graph,
    /// The app at its end.
    last: &'static str,
}

impl Bed {
    fn new(args: &IoBenchArgs) -> Result<Self, Failure> {
        let (apps, links, last): (Vec<(&str, Config)>, &[&str], _) = match args.chain {
            Chain::Dpdk => {
                let device = |number| format!("net_null{number},size={SIZE},copy=0");
                let device = |number| Config::new(Dpdk { device: device(number), ..Dpdk::default() });
                (vec![("in", device(0)), ("out", device(1))], &["in.output -> out.input"], "out")
            }
            Chain::AfPacket => {
                let device = |name: &str| AfPacket { device: name.to_owned(), ..AfPacket::default() };
                let source = Source { size: SIZE, count: None };
                let apps = vec![
                    ("source", Config::new(source)),
                    ("first", Config::new(device("a0"))),
                    ("in", Config::new(device("a1"))),
                    ("out", Config::new(device("b0"))),
                    ("last", Config::new(device("b1"))),
                    ("sink", Config::new(Sink {})),
                ];
                let links =
                    &["source.output -> first.input", "in.output -> out.input", "last.output -> sink.input"];
                (apps, links, "sink")
            }
            Chain::Nfqueue => {
                let trace = Trace { packets: vec![datagram()].into() };
                let queue =
                    Nfqueue { queue: Some(QUEUE), changes: false, mark: Some(1), ..Nfqueue::default() };
                let links = &["trace.output -> in.send", "in.output -> in.input"];
                (vec![("trace", Config::new(trace)), ("in", Config::new(queue))], links, "in")
            }
        };
        let mut graph = Graph::new();
        let refused = |error| Failure::internal(format!("{error}"));
        for (name, config) in apps {
            graph.add(name, config).map_err(refused)?;
        }
        if args.app == Some(ChainApp::Swap) && args.chain != Chain::Nfqueue {
            graph.add("swap", Config::new(Swap {})).map_err(refused)?;
        }
        for link in links {
            match (args.app, *link) {
                (Some(ChainApp::Swap), "in.output -> out.input") => {
                    graph.link("in.output -> swap.input").map_err(refused)?;
                    graph.link("swap.output -> out.input").map_err(refused)?;
                }
                (Some(ChainApp::Swap), _) if args.chain == Chain::Nfqueue => {
                    return Err(Failure::user(
                        "`--app swap` is for frames, and packets of a queue have no frame",
                    ));
                }
                (_, link) => graph.link(link).map_err(refused)?,
            }
        }
        Ok(Bed { graph, last })
    }
}

impl Measurable for Bed {
    fn prepare(&mut self, _: &mut Engine, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn packets(&self, report: &Report) -> u64 {
        let counts = report.apps.get(self.last).into_iter().flat_map(|app| app.counts());
        counts.filter(|(name, _)| *name == "delivered").map(|(_, count)| count).sum()
    }

    fn lost(&self, report: &Report) -> u64 {
        report.drops.values().sum::<u64>() + report.missed
    }
}

/// The queues that rules name, and the port whose connections go over the second.
const QUEUE: u16 = 5;
const QUEUE_OF_TCP: u16 = 6;
const TCP_PORT: u16 = 5001;

/// A UDP datagram in IPv4, to port 9 of this machine; the kernel adds the checksum of its header.
fn datagram() -> Vec<u8> {
    let mut packet = vec![0; SIZE];
    packet[..12].copy_from_slice(&[0x45, 0, 0, SIZE as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
    packet[12..20].copy_from_slice(&[127, 0, 0, 1, 127, 0, 0, 1]);
    packet[20..28].copy_from_slice(&[0, 9, 0, 9, 0, SIZE as u8 - 20, 0, 0]);
    packet
}

/// A network namespace that this thread has entered. It lives with a process that sleeps in it.
struct Namespace(Child);

impl Namespace {
    /// One with what a chain needs; `None` for a chain that needs none.
    fn enter(chain: Chain) -> Result<Option<Self>, Failure> {
        let setup = match chain {
            Chain::Dpdk => return Ok(None),
            Chain::AfPacket => {
                "sysctl -qw net.ipv6.conf.default.disable_ipv6=1
                for pair in a b; do ip link add ${pair}0 type veth peer name ${pair}1; done
                for device in a0 a1 b0 b1; do ip link set dev $device up; done"
            }
            Chain::Nfqueue => {
                "ip link set dev lo mtu 1500 up
                iptables -w -A OUTPUT -p tcp --dport 5001 -j NFQUEUE --queue-num 6
                iptables -w -A OUTPUT -p udp --dport 9 -j NFQUEUE --queue-num 5
                iptables -w -A INPUT -p udp --dport 9 -j DROP"
            }
        };
        let refused = |what: &str| {
            Failure::world(format_args!("cannot make a network namespace: {what}")).help(
                "run as root, where `ip`, `sysctl`, `unshare` and, for `nfqueue`, `iptables` are installed; `sluss doctor`",
            )
        };
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-ec", &format!("{setup}\necho ready; exec sleep 600")]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut namespace = Namespace(child.map_err(|error| refused(&error.to_string()))?);
        let mut line = String::new();
        let told = namespace.0.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
        if !matches!(told, Some(Ok(_))) || line.trim() != "ready" {
            return Err(refused("its commands failed"));
        }
        let entered = File::open(format!("/proc/{}/ns/net", namespace.0.id()))
            .and_then(|file| Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?));
        entered.map_err(|error| refused(&error.to_string()))?;
        Ok(Some(namespace))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn result(
    args: &IoBenchArgs,
    measured: &Measured,
    report: &Report,
    peer: Option<&Peer>,
    goodput: Option<&Goodput>,
) -> Value {
    let rates = measured.rates();
    let median = quantile(&rates, 0.5);
    let device = report.apps.get("in").and_then(|app| app.device.clone()).unwrap_or_default();
    let devices = report.apps.values().filter(|app| app.device.is_some());
    let copies = devices.flat_map(|app| app.counts()).filter(|(name, _)| *name == "copies");
    let of_goodput = goodput.and_then(|goodput| goodput.peer);
    let ratio = peer.map(|peer| median / peer.mpps_per_cpu_s).or(of_goodput.map(|(_, ratio)| ratio));
    json!({
        "v": 1,
        "type": "bench",
        "suite": "io",
        "chain": match args.chain {
            Chain::Dpdk => "dpdk",
            Chain::AfPacket => "af_packet",
            Chain::Nfqueue => "nfqueue",
        },
        "app": args.app.map(|ChainApp::Swap| "swap"),
        "size": SIZE,
        "runs": args.runs,
        "packets": measured.packets,
        "cpu_s": round(measured.cpu_s),
        "mpps_per_cpu_s": round(median),
        "min": round(quantile(&rates, 0.0)),
        "max": round(quantile(&rates, 1.0)),
        "drops": measured.drops,
        "balanced": report.balanced(),
        "mode": device.mode,
        "memory": device.memory,
        "copies": copies.map(|(_, count)| count).sum::<u64>(),
        "ns_per_packet": (median > 0.0).then(|| round(1e3 / median)),
        "tcp_gbit_s": goodput.map(|goodput| round(goodput.gbit_s)),
        "peer": peer.map(|peer| peer.name).or(of_goodput.map(|_| goodput::PEER)),
        "peer_mpps_per_cpu_s": peer.map(|peer| round(peer.mpps_per_cpu_s)),
        "peer_tcp_gbit_s": of_goodput.map(|(gbit_s, _)| round(gbit_s)),
        "ratio": ratio.map(round),
    })
}

fn in_words(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    let mut text = format!(
        "{}: {:.2} million packets per second of CPU time ({:.2} to {:.2} in {} runs), {:.1} ns a packet; {}; {} packets lost\n",
        result["chain"].as_str().unwrap_or_default(),
        number("mpps_per_cpu_s"),
        number("min"),
        number("max"),
        result["runs"],
        number("ns_per_packet"),
        result["mode"].as_str().unwrap_or_default(),
        result["drops"],
    );
    if result["tcp_gbit_s"].is_f64() {
        text += &format!("TCP over a queue: {:.2} Gbit/s arrive\n", number("tcp_gbit_s"));
    }
    if let Some(peer) = result["peer"].as_str() {
        text += &if result["peer_tcp_gbit_s"].is_f64() {
            format!("{peer}: {:.2} Gbit/s; with sluss, ", number("peer_tcp_gbit_s"))
        } else {
            let mpps = number("peer_mpps_per_cpu_s");
            format!("{peer}: {mpps:.2} million packets per second of CPU time; with sluss, ")
        };
        text += &format!("{:.2} times as many\n", number("ratio"));
    }
    text
}
