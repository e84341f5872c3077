//! The networks that are measured.

use super::Measurable;
use super::loads::{Arrived, Idle, Touch, Trace};
use super::traffic::{self, Scratch};
use crate::args::{EngineBenchArgs, Net};
use crate::exit::Failure;
use apps::{
    Bridge, Filter, Fragmenter, Join, KeyedIpv6Tunnel, Match, Reassembler, Rss, Sink, Source, Tee, VlanTag,
    VlanUntag,
};
use engine::{Class, Config, Engine, Graph, GraphError, Report};
use io::{Passes, PcapReader, PcapWriter};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::ether::Mac;

/// A network, and what of it is counted.
pub(super) struct Bed {
    pub(super) graph: Graph,
    pub(super) workers: usize,
    net: Net,
    /// Bytes of a packet, the mean where they differ; 0 where there are none.
    pub(super) size: usize,
    /// The flags that say nothing about this network, and why.
    pub(super) idle_flags: Vec<String>,
    arrived: Arc<Arrived>,
    scratch: Option<Scratch>,
}

/// What the names of apps begin with from which packets are counted.
const SOURCE: &str = "source";
/// Bytes of a packet unless asked for others.
const SIZE: usize = 60;
/// Bytes of the packets that are cut and joined: as long as an Ethernet takes them.
const FRAGMENTED_SIZE: usize = 1514;
/// Ports of the bridge that is measured.
const BRIDGE_PORTS: u32 = 3;
/// Packets of the capture that is read again and again.
const CAPTURE_PACKETS: usize = 100_000;

impl Bed {
    pub(super) fn new(args: &EngineBenchArgs) -> Result<Self, Failure> {
        let arrived = Arc::new(Arrived::default());
        let frame = args.size.unwrap_or(SIZE);
        let scratch =
            (args.net == Net::Pcap).then(|| traffic::file_of(frame, CAPTURE_PACKETS)).transpose()?;
        let packets = trace(args)?;
        let size = match &packets {
            Some(packets) => packets.iter().map(Vec::len).sum::<usize>() / packets.len(),
            None if args.net == Net::Idle50 => 0,
            None => frame,
        };
        let trace = Trace { packets: packets.unwrap_or_default() };
        let mut graph = Graph::new();
        Builder { net: args.net, size: frame, graph: &mut graph, trace }
            .build(&arrived, scratch.as_ref())
            .map_err(Failure::user)?;
        let workers = if args.net == Net::Pair { 2 } else { 1 };
        Ok(Bed { graph, workers, net: args.net, size, idle_flags: idle_flags(args), arrived, scratch })
    }

    /// Packets that have arrived on another thread.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived.packets.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.net == Net::Idle50
    }

    /// A core for each worker.
    pub(super) fn cores(&self) -> Vec<usize> {
        if self.workers > 1 { (0..self.workers).collect() } else { Vec::new() }
    }
}

impl Measurable for Bed {
    /// Prepares a run: what the one before has written makes room.
    fn prepare(&mut self, engine: &mut Engine, run: usize) -> Result<(), Failure> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        if let Some(writer) = self.graph.get_mut("writer") {
            writer.config = Config::new(PcapWriter { path: scratch.output(run), ..PcapWriter::default() });
        }
        let changes = engine.configure(&self.graph).map_err(|error| Failure::configuring(&error))?;
        let _ = std::fs::remove_file(scratch.output(run + 1));
        match changes.failed.first() {
            Some((app, error)) => Err(Failure::of(error.fault.into(), format_args!("{app}: {error}"))),
            None => Ok(()),
        }
    }

    /// Packets that have left the sources.
    fn packets(&self, report: &Report) -> u64 {
        let from_source = report.links.iter().filter(|link| link.link.from.app.starts_with(SOURCE));
        from_source.map(|link| link.txpackets).sum()
    }

    /// Packets that were lost: those a filter rejects are not.
    fn lost(&self, report: &Report) -> u64 {
        report.drops.iter().filter(|(reason, _)| *reason != "rejected").map(|(_, count)| count).sum()
    }
}

/// The packets of a network that sends a trace.
fn trace(args: &EngineBenchArgs) -> Result<Option<Arc<[Vec<u8>]>>, Failure> {
    Ok(match (&args.pcap, args.net) {
        (Some(path), net) if takes_trace(net) => Some(traffic::capture(path)?),
        (_, Net::Frag) => Some(traffic::large(traced_size(args)?.unwrap_or(FRAGMENTED_SIZE))),
        (_, net) if takes_trace(net) => Some(traffic::mixture(traced_size(args)?)),
        // Its ports send frames that are kept in memory, each its own.
        (_, Net::Bridge) => traced_size(args).map(|_| None)?,
        _ => None,
    })
}

/// The size that was asked for, of packets with headers that are kept in memory.
fn traced_size(args: &EngineBenchArgs) -> Result<Option<usize>, Failure> {
    let range = SIZE..=engine::MAX_PAYLOAD;
    match args.size.filter(|size| !range.contains(size)) {
        None => Ok(args.size),
        Some(size) => {
            let (least, most) = (range.start(), range.end());
            let message =
                format!("--size: {size} is not between {least} and {most}, as in the network `{}`", args.net);
            Err(Failure::user(message))
        }
    }
}

/// What is told of flags that say nothing about a network: scripts give all networks the same ones.
fn idle_flags(args: &EngineBenchArgs) -> Vec<String> {
    let net = args.net;
    let pcap = args.pcap.as_ref().map(|path| path.display());
    let size = match (args.size, &pcap) {
        (Some(size), _) if net == Net::Idle50 => {
            Some(format!("--size {size}: the network `{net}` has no packets"))
        }
        (Some(size), Some(pcap)) if takes_trace(net) => {
            Some(format!("--size {size}: the packets are those of {pcap}"))
        }
        _ => None,
    };
    let pcap = pcap.filter(|_| !takes_trace(net));
    let pcap = pcap.map(|pcap| format!("--pcap {pcap}: not read: the network `{net}` makes its own packets"));
    size.into_iter().chain(pcap).collect()
}

/// Whether its packets can come from a capture.
fn takes_trace(net: Net) -> bool {
    matches!(net, Net::Filter | Net::Match | Net::Rss)
}

/// Builds a network.
struct Builder<'a> {
    net: Net,
    /// Bytes of a packet from a source.
    size: usize,
    graph: &'a mut Graph,
    trace: Trace,
}

impl Builder<'_> {
    fn build(mut self, arrived: &Arc<Arrived>, scratch: Option<&Scratch>) -> Result<(), GraphError> {
        match self.net {
            Net::SourceSink => self.row([]),
            Net::Tee => {
                self.source()?;
                self.app("tee", Tee {})?;
                self.app("sink1", Sink {})?;
                self.app("sink2", Sink {})?;
                self.links(&[
                    "source.output -> tee.input",
                    "tee.output1 -> sink1.input",
                    "tee.output2 -> sink2.input",
                ])
            }
            Net::Chain10 => self.row([(); 8].map(|()| Config::new(Join {}))),
            Net::Idle50 => (0..50).try_for_each(|number| self.app(&format!("idle{number}"), Idle {})),
            Net::Filter => self.traced_row(Config::new(Filter::new("tcp port 80"))),
            Net::Match => self.matched(),
            Net::Vlan => self.row([
                Config::new(VlanTag { tag: 100, pcp: 0, tpid: Default::default() }),
                Config::new(VlanUntag { tag: 100, tpid: Default::default() }),
            ]),
            Net::Bridge => self.bridged(),
            Net::Tunnel => self.tunnel(),
            Net::Frag => {
                self.traced()?;
                self.rest(SOURCE, [Config::new(Fragmenter { mtu: 500 }), Config::new(Reassembler::default())])
            }
            Net::Rss => {
                self.traced()?;
                self.app("rss", Rss::default())?;
                self.app("sink", Sink {})?;
                self.links(&["source.output -> rss.input"])?;
                (1..=4).try_for_each(|number| {
                    self.graph.link(&format!("rss.output{number} -> sink.input{number}"))
                })
            }
            Net::Pcap => {
                let scratch = scratch.expect("a capture was written for this network");
                self.app(
                    SOURCE,
                    PcapReader { path: scratch.input(), passes: Passes::Forever, ..PcapReader::default() },
                )?;
                self.app("writer", PcapWriter { path: scratch.output(0), ..PcapWriter::default() })?;
                self.links(&["source.output -> writer.input"])
            }
            Net::Pair => {
                self.source()?;
                self.app("touch", Touch { arrived: Arc::clone(arrived) })?;
                for (worker, name) in [SOURCE, "touch"].iter().enumerate() {
                    self.graph.get_mut(name).into_iter().for_each(|app| app.worker = Some(worker));
                }
                self.links(&["source.output -> touch.input"])
            }
        }
    }

    fn app(&mut self, name: &str, class: impl Class) -> Result<(), GraphError> {
        self.graph.app(name, class).map(drop)
    }

    fn links(&mut self, links: &[&str]) -> Result<(), GraphError> {
        links.iter().try_for_each(|link| self.graph.link(link))
    }

    fn source(&mut self) -> Result<(), GraphError> {
        self.app(SOURCE, Source { size: self.size, count: None })
    }

    /// A source of the trace's packets.
    fn traced(&mut self) -> Result<(), GraphError> {
        self.app(SOURCE, self.trace.clone())
    }

    /// A source, these apps, a sink.
    fn row(&mut self, apps: impl IntoIterator<Item = Config>) -> Result<(), GraphError> {
        self.source()?;
        self.rest(SOURCE, apps)
    }

    /// The trace, an app, a sink.
    fn traced_row(&mut self, app: Config) -> Result<(), GraphError> {
        self.traced()?;
        self.rest(SOURCE, [app])
    }

    /// Apps with one input and one output behind `first`, then a sink.
    fn rest(&mut self, first: &str, apps: impl IntoIterator<Item = Config>) -> Result<(), GraphError> {
        let mut last = first.to_owned();
        for (number, config) in apps.into_iter().enumerate() {
            let name = format!("app{}", number + 1);
            self.graph.add(&name, config)?;
            self.graph.link(&format!("{last}.output -> {name}.input"))?;
            last = name;
        }
        self.app("sink", Sink {})?;
        self.graph.link(&format!("{last}.output -> sink.input"))
    }

    fn matched(&mut self) -> Result<(), GraphError> {
        let cases = [("web", "tcp port 80"), ("tls", "tcp port 443"), ("dns", "udp port 53"), ("rest", "")];
        self.traced()?;
        self.app("match", Match::new(cases))?;
        self.app("sink", Sink {})?;
        self.links(&["source.output -> match.input"])?;
        cases.iter().try_for_each(|(port, _)| self.graph.link(&format!("match.{port} -> sink.{port}")))
    }

    fn bridged(&mut self) -> Result<(), GraphError> {
        self.app("bridge", Bridge::default())?;
        self.app("sink", Sink {})?;
        for port in 0..BRIDGE_PORTS {
            let packets = traffic::bridged(port, BRIDGE_PORTS, self.size);
            self.app(&format!("{SOURCE}{port}"), Trace { packets })?;
            self.graph.link(&format!("{SOURCE}{port}.output -> bridge.port{port}"))?;
            self.graph.link(&format!("bridge.port{port} -> sink.input{port}"))?;
        }
        Ok(())
    }

    /// Two ends of a tunnel: one puts packets in, the other takes them out.
    fn tunnel(&mut self) -> Result<(), GraphError> {
        let ends = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().expect("an address"));
        let cookie = apps::Cookie([1, 2, 3, 4, 5, 6, 7, 8]);
        self.source()?;
        for (name, local, remote) in [("near", ends[0], ends[1]), ("far", ends[1], ends[0])] {
            let end = KeyedIpv6Tunnel {
                local_address: local,
                remote_address: remote,
                local_cookie: cookie,
                remote_cookie: cookie,
                local_session: u32::MAX,
                default_gateway_mac: Mac([2, 0, 0, 0, 0, 1]),
                local_mac: Mac([2, 0, 0, 0, 0, 2]),
                hop_limit: 64,
            };
            self.app(name, end)?;
        }
        self.app("sink", Sink {})?;
        self.links(&[
            "source.output -> near.decapsulated",
            "near.encapsulated -> far.encapsulated",
            "far.decapsulated -> sink.input",
        ])
    }
}
