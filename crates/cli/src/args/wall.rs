//! The flags of `sluss wall`.

use crate::values::{at_least, core, duration, patience, whole};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use dpi::protocol::Naming;
use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;
use wire::Mac;

#[derive(Subcommand, Debug)]
pub(crate) enum WallArgs {
    /// Tell which protocol each flow speaks.
    Spy(SpyArgs),
    /// Accept, drop or reject packets by what their flows speak.
    Filter(WallFilterArgs),
    /// Turn rules of iptables, nft, ipset or ClassBench into a program.
    Import(ImportArgs),
    /// Judge packets by a policy: those of captures, or between devices.
    Run(WallRunArgs),
    /// Say what a policy's rules become, and what is odd about them.
    Check(PolicyArgs),
    /// Run the tests that a policy has.
    Test(PolicyArgs),
    /// Say why a packet is accepted, dropped or rejected.
    Why(WallWhyArgs),
    /// Have a running wall read its policy again.
    Reload(ControlArgs),
    /// Print what a running wall has counted, rule by rule.
    Stats(ControlArgs),
    /// List the protocols that rules and reports can name.
    Protocols(ProtocolsArgs),
}

impl WallArgs {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            WallArgs::Spy(args) => args.json,
            WallArgs::Filter(args) => args.json,
            WallArgs::Import(_) => false,
            WallArgs::Run(args) => args.json,
            WallArgs::Check(args) | WallArgs::Test(args) => args.json,
            WallArgs::Why(args) => args.json,
            WallArgs::Reload(args) | WallArgs::Stats(args) => args.json,
            WallArgs::Protocols(args) => args.json,
        }
    }

    /// Whether packets move through the process from a device.
    pub(super) fn is_live(&self) -> bool {
        match self {
            WallArgs::Spy(SpyArgs { from, .. }) | WallArgs::Filter(WallFilterArgs { from, .. }) => {
                from.kind != Kind::Pcap
            }
            WallArgs::Run(args) => args.inline.is_some() || args.nfqueue.is_some(),
            _ => false,
        }
    }
}

/// Where packets come from.
#[derive(Args, Debug)]
pub(crate) struct FromArgs {
    /// `pcap`: a capture; `raw`: a device; `tap`: a TAP device.
    #[arg(value_name = "KIND", hide_possible_values = true)]
    pub(crate) kind: Kind,
    /// The capture, or `-`, or the name of the device.
    #[arg(value_name = "NAME", value_hint = ValueHint::FilePath)]
    pub(crate) name: OsString,
}

/// Kinds of sources, as SnabbWall calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A capture.
    Pcap,
    /// A device, by a packet socket.
    Raw,
    /// A TAP device.
    Tap,
}

/// How flows are looked at.
#[derive(Args, Debug)]
pub(crate) struct LookArgs {
    /// Who identifies: `auto`, `own` or `exact`.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        long_help = "How flows are identified: `auto` by our own code, and by nDPI where that leaves one open and nDPI is installed; `own` by our \
                     own code alone; `exact`, of `spy` on captures, by nDPI alone, counted as its ndpiReader does"
    )]
    pub(crate) dpi: Dpi,
    /// Flows that are followed at a time; memory is fixed [default: 262144].
    #[arg(long, value_name = "N", value_parser = at_least(1_usize), allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) flows_max: Option<usize>,
}

/// Ways to identify flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dpi {
    /// Our own code, then nDPI.
    Auto,
    /// Our own code.
    Own,
    /// nDPI, as ndpiReader uses it.
    Exact,
}

/// Whose names of protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// SnabbWall's.
    Snabbwall,
    /// nDPI's.
    Ndpi,
}

impl From<Names> for Naming {
    fn from(names: Names) -> Naming {
        match names {
            Names::Snabbwall => Naming::Snabbwall,
            Names::Ndpi => Naming::Ndpi,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// Tell of each flow when it is identified.
    #[arg(short, long, conflicts_with_all = ["table", "tsv"])]
    pub(crate) live: bool,
    /// Print rates; with --live, every 2 seconds.
    #[arg(short, long, conflicts_with_all = ["json", "tsv"])]
    pub(crate) stats: bool,
    /// Stop after this time: 10s, 1m 30s, or seconds.
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// A table, with bytes and names of servers.
    #[arg(long, conflicts_with_all = ["json", "tsv"])]
    pub(crate) table: bool,
    /// Watch protocols and talkers on a terminal.
    #[arg(long, conflicts_with_all = ["table", "json", "tsv", "live", "stats"])]
    pub(crate) top: bool,
    /// JSON: an object a protocol; with --flows, a flow.
    #[arg(long, conflicts_with = "tsv")]
    pub(crate) json: bool,
    /// With --json, an object for each flow.
    #[arg(long, requires = "json", hide_short_help = true)]
    pub(crate) flows: bool,
    /// A line a protocol: name, packets, bytes, flows.
    #[arg(long)]
    pub(crate) tsv: bool,
    /// Write a record of each flow, as Suricata's EVE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) eve: Option<PathBuf>,
    /// Whose names of protocols: `snabbwall` or `ndpi`.
    #[arg(
        long,
        value_name = "WHOSE",
        hide_possible_values = true,
        hide_short_help = true,
        long_help = "Whose names of protocols: `snabbwall`, for the report by default, or `ndpi`, for all others"
    )]
    pub(crate) names: Option<Names>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Args, Debug)]
pub(crate) struct WallFilterArgs {
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// The rules, such as { HTTP = "reject" }.
    #[arg(short = 'e', long = "rules-exp", value_name = "RULES", conflicts_with = "rules_file")]
    pub(crate) rules: Option<String>,
    /// Read the rules from a file.
    #[arg(short = 'f', long = "rules-file", visible_alias = "rule-file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rules_file: Option<PathBuf>,
    /// Write accepted packets to a capture.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write what ends of rejected flows are told.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) reject: Option<PathBuf>,
    /// Print what became of how many packets.
    #[arg(short, long)]
    pub(crate) print_report: bool,
    /// Print one line of JSON, behind the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Judge by what each flow turns out to be.
    #[arg(
        long,
        long_help = "Judge packets by what their flow turns out to be, and by its final flow_count: the capture is read twice. Without it a \
                     packet is judged by what is known when it comes"
    )]
    pub(crate) offline: bool,
    /// Log what is dropped or rejected to the system log: on, off.
    #[arg(
        short,
        long,
        value_name = "LEVEL",
        default_value = "off",
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true
    )]
    pub(crate) log: LogLevel,
    /// Hardware address that ICMP errors come from.
    #[arg(short, long, value_name = "MAC", hide_short_help = true)]
    pub(crate) mac: Option<Mac>,
    /// IPv4 address that ICMP errors come from.
    #[arg(short = '4', long, value_name = "IP", hide_short_help = true)]
    pub(crate) ipv4: Option<Ipv4Addr>,
    /// IPv6 address that ICMP errors come from.
    #[arg(short = '6', long, value_name = "IP", hide_short_help = true)]
    pub(crate) ipv6: Option<Ipv6Addr>,
    /// Stop after this time: 10s, 1m 30s, or seconds.
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Run on this core.
    #[arg(long, value_name = "CORE", value_parser = core, hide_short_help = true)]
    pub(crate) cpu: Option<usize>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Whether packets are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Those that do not go on.
    On,
    /// None.
    Off,
}

#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// The file of the policy.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("place").args(["inline", "nfqueue"]))]
pub(crate) struct WallRunArgs {
    /// The file of the policy.
    #[arg(value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// Captures: files, folders, patterns, or `-`.
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,
    /// Judge what goes between two devices.
    #[arg(long, num_args = 2, value_names = ["IN", "OUT"], conflicts_with = "captures")]
    pub(crate) inline: Option<Vec<String>>,
    /// With --inline: this one is a TAP device, which is made.
    #[arg(
        long,
        value_name = "NAME",
        requires = "inline",
        conflicts_with_all = ["captures", "nfqueue"],
        hide_short_help = true,
        long_help = "With --inline: this one of the two is a TAP device, for a virtual machine or a test. It is made, and goes with the wall, unless \
                     it was there before; may be given twice"
    )]
    pub(crate) tap: Vec<String>,
    /// Judge what rules of iptables give to a queue.
    #[arg(long, value_name = "N", conflicts_with_all = ["captures", "inline"])]
    pub(crate) nfqueue: Option<u16>,
    /// With --inline: worker threads; all between two hosts is judged by one.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = whole(1..=64_u16),
        allow_negative_numbers = true,
        conflicts_with_all = ["captures", "nfqueue"],
        hide_short_help = true,
        long_help = "With --inline: worker threads. All packets between two hosts are judged by one of them, so flows, their fragments and tunnels stay \
                     together; each worker has its share of the policy's flows, and its own nDPI"
    )]
    pub(crate) workers: u16,
    /// With --nfqueue: packets pass that are not judged in time.
    #[arg(
        long,
        requires = "nfqueue",
        conflicts_with_all = ["captures", "inline"],
        hide_short_help = true,
        long_help = "With --nfqueue: packets pass that are not judged within a second, or that the queue has no room for; without it they \
                     are dropped"
    )]
    pub(crate) fail_open: bool,
    /// Write accepted packets to a capture.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["inline", "nfqueue"])]
    pub(crate) output: Option<PathBuf>,
    /// Write what ends of rejected flows are told.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["inline", "nfqueue"])]
    pub(crate) reject: Option<PathBuf>,
    /// A line for each packet: number and verdict.
    #[arg(short, long, conflicts_with_all = ["inline", "nfqueue"])]
    pub(crate) verdicts: bool,
    /// Print JSON, an object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// The interface that packets of captures, or of a queue, came by.
    #[arg(long = "in", value_name = "IFACE", conflicts_with = "inline", hide_short_help = true)]
    pub(crate) input: Option<String>,
    /// The interface that they would leave by.
    #[arg(long = "out", value_name = "IFACE", conflicts_with = "inline", hide_short_help = true)]
    pub(crate) out: Option<String>,
    /// Live: records go there: FILE, unix:PATH, unix_dgram:PATH.
    #[arg(
        long,
        value_name = "WHERE",
        requires = "place",
        hide_short_help = true,
        long_help = "Live: records of EVE JSON go there, whatever `records.eve` of the policy says: a file, or a Unix socket on which somebody listens: \
                     unix:PATH (a stream, a line each) or unix_dgram:PATH (a datagram each)"
    )]
    pub(crate) eve: Option<PathBuf>,
    /// Live: what `sluss top` calls it [default: the file's name].
    #[arg(long, value_name = "NAME", value_parser = super::run::instance_name, requires = "place", hide_short_help = true)]
    pub(crate) name: Option<String>,
    /// Live: answer commands on this socket.
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath, requires = "place")]
    pub(crate) control: Option<PathBuf>,
    /// Stop after this time: 10s, 1m 30s, or seconds.
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true, requires = "place")]
    pub(crate) duration: Option<Duration>,
    /// Live: keep all capabilities of the process.
    #[arg(long, requires = "place", hide_short_help = true)]
    pub(crate) keep_capabilities: bool,
    /// Live: use no Landlock.
    #[arg(long, requires = "place", hide_short_help = true)]
    pub(crate) no_landlock: bool,
    /// Live: use no seccomp.
    #[arg(long, requires = "place", hide_short_help = true)]
    pub(crate) no_seccomp: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WallWhyArgs {
    /// The file of the policy; without -n, a wall that runs, by its name or its socket.
    #[arg(value_name = "POLICY|WALL", value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// The capture; without -n, a filter: the next packet that matches is explained.
    #[arg(value_name = "CAPTURE|FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) capture: PathBuf,
    /// The number of the packet in the capture, from 1.
    #[arg(short, long, value_name = "N", value_parser = at_least(1_u64), allow_negative_numbers = true)]
    pub(crate) number: Option<u64>,
    /// Without -n: how long a packet is waited for, 30s at most.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = patience, allow_hyphen_values = true)]
    pub(crate) wait: Duration,
    /// The interface that packets came by.
    #[arg(long = "in", value_name = "IFACE")]
    pub(crate) input: Option<String>,
    /// The interface that they would leave by.
    #[arg(long = "out", value_name = "IFACE")]
    pub(crate) out: Option<String>,
    /// Print JSON: an object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ControlArgs {
    /// The socket of the wall, as its `--control` has it, or its name.
    #[arg(value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub(crate) control: PathBuf,
    /// Print JSON: the answer.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ProtocolsArgs {
    /// Only those whose name, alias or category has this in it.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// List what `risk` of policies may name.
    #[arg(long)]
    pub(crate) risks: bool,
    /// Print JSON: an object for each protocol.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// What iptables-save, `nft list ruleset`, `ipset save` or ClassBench wrote; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// The base chain [default: the only one with rules].
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// Its table [default: `filter`, or the only one].
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Leave out what cannot be expressed.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Write the program to a file.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}
