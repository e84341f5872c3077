//! The flags of `sluss bench`.

use crate::values::{at_least, whole};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum BenchArgs {
    /// Networks of apps, in packets per second of CPU time.
    Engine(EngineBenchArgs),
    /// Devices and queues, in packets per second of CPU time.
    Io(IoBenchArgs),
    /// First-match rule lists, in nanoseconds per packet.
    Rules(RulesBenchArgs),
    /// The wall, in CPU time per packet.
    Wall(WallBenchArgs),
}

#[derive(Args, Debug)]
pub(crate) struct EngineBenchArgs {
    /// The network; `sluss help bench engine` lists them.
    #[arg(
        long,
        value_name = "NET",
        hide_possible_values = true,
        long_help = "The network, one of those below"
    )]
    pub(crate) net: Net,
    /// Bytes of a packet [default: 60; traces of mixed sizes; 1514 for `frag`].
    #[arg(long, value_name = "BYTES", value_parser = at_least(0_usize), allow_negative_numbers = true)]
    pub(crate) size: Option<usize>,
    /// The trace, for `filter`, `match` and `rss` [default: a mixture].
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Packets that a source brings in per breath, 1 to 1024.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(1..=1024_u16), allow_negative_numbers = true)]
    pub(crate) burst: u16,
    /// Runs of half a second of CPU time each; the median is reported.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=1000_u16), allow_negative_numbers = true)]
    pub(crate) runs: u16,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct IoBenchArgs {
    /// What packets come and go by: `dpdk`, `af_packet` or `nfqueue`.
    #[arg(long, value_name = "CHAIN", hide_possible_values = true)]
    pub(crate) chain: Chain,
    /// Between the devices: `swap` exchanges both addresses of frames.
    #[arg(long, value_name = "APP", hide_possible_values = true)]
    pub(crate) app: Option<ChainApp>,
    /// Runs of half a second of CPU time each; the median is reported.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=1000_u16), allow_negative_numbers = true)]
    pub(crate) runs: u16,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Devices one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chain {
    /// net_null -> net_null
    Dpdk,
    /// source -> veth -> veth -> sink
    #[value(name = "af_packet")]
    AfPacket,
    /// raw socket -> queue -> the kernel
    Nfqueue,
}

/// An app between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChainApp {
    /// Exchanges both addresses.
    Swap,
}

/// A network that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Net {
    /// source -> sink
    SourceSink,
    /// source -> tee -> two sinks
    Tee,
    /// source -> 8 x join -> sink
    Chain10,
    /// 50 apps that pull nothing
    Idle50,
    /// trace -> filter `tcp port 80` -> sink
    Filter,
    /// trace -> match of four filters -> sink
    Match,
    /// source -> vlan_tag -> vlan_untag -> sink
    Vlan,
    /// 3 traces -> learning bridge with three ports -> sink
    Bridge,
    /// source -> keyed_ipv6_tunnel -> its other end -> sink
    Tunnel,
    /// trace of 1514 bytes -> fragmenter at 500 -> reassembler -> sink
    Frag,
    /// trace -> rss with four outputs -> sink
    Rss,
    /// pcap_reader -> pcap_writer, both on /dev/shm
    Pcap,
    /// source -> app on another thread, which reads each packet
    Pair,
}

impl std::fmt::Display for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", clap::builder::PossibleValue::get_name))
    }
}

#[derive(Args, Debug)]
pub(crate) struct WallBenchArgs {
    /// What comes: `cached`, `churn` or `synflood`.
    #[arg(
        long,
        value_name = "MODE",
        hide_possible_values = true,
        long_help = "What comes, one of those below"
    )]
    pub(crate) mode: WallMode,
    /// Flows that are followed at a time [default: 262144].
    #[arg(
        long,
        value_name = "N",
        value_parser = at_least(1_usize),
        allow_negative_numbers = true,
        long_help = "Flows that are followed at a time [default: 262144]; with `cached`, so many come, in random order, in place of a capture"
    )]
    pub(crate) flows: Option<usize>,
    /// Write the packets of `churn` into a capture.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        long_help = "Write a quarter of a million packets of `churn` into a capture, for other programs, and measure nothing"
    )]
    pub(crate) write: Option<PathBuf>,
    /// Judge the packets by a policy as well.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, long_help = "Judge the packets by a policy as well; of `cached` and `churn`")]
    pub(crate) policy: Option<PathBuf>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The capture that is replayed [default: a conversation in HTTP].
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

/// What comes in a measurement of the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WallMode {
    /// packets of flows that are identified
    Cached,
    /// the capture again and again, each time as new flows
    Churn,
    /// a SYN of a new flow in each packet; between them, the capture
    Synflood,
}

impl WallMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            WallMode::Cached => "cached",
            WallMode::Churn => "churn",
            WallMode::Synflood => "synflood",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct RulesBenchArgs {
    /// The rules, as ClassBench writes them, plain or gzip.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["shape", "n"])]
    pub(crate) classbench: Option<PathBuf>,
    /// A list that is made: `notes` or `sites`.
    #[arg(
        long,
        value_name = "SHAPE",
        hide_possible_values = true,
        long_help = "A list that is made, one of those below"
    )]
    pub(crate) shape: Option<RulesShape>,
    /// How many rules it has.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = whole(0..=8_000_000_usize), allow_negative_numbers = true)]
    pub(crate) n: usize,
    /// The headers [default: half points of rules, half random].
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        long_help = "The headers, a line each: src, dst, sport, dport and proto as decimals [default: half random points of random rules, half random headers]"
    )]
    pub(crate) headers: Option<PathBuf>,
    /// Write the number of each header's rule, `-` for none.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) answers: Option<PathBuf>,
    /// The instructions: `avx512`, `avx2`, `neon` or `portable` [default: the fastest].
    #[arg(long, value_name = "ISA", hide_possible_values = true)]
    pub(crate) isa: Option<IsaArg>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A rule list that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesShape {
    /// known connections, N addresses that no packet has, port 80
    Notes,
    /// N rules between networks, hosts and services, from a seed
    Sites,
}

/// Instructions that look-ups run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsaArg {
    Avx512,
    Avx2,
    Neon,
    Portable,
}

impl From<IsaArg> for classify::rules::Isa {
    fn from(isa: IsaArg) -> Self {
        match isa {
            IsaArg::Avx512 => Self::Avx512,
            IsaArg::Avx2 => Self::Avx2,
            IsaArg::Neon => Self::Neon,
            IsaArg::Portable => Self::Portable,
        }
    }
}
