//! The command line: every flag is defined here once; help, completions and man pages are derived from it.
//!
//! `-h` leaves out what has `hide_short_help`, and headings; `--help` and `sluss help COMMAND` have all, and `long_help` in place of the first line. See `help`.

mod bench;
mod doctor;
mod files;
mod filter;
mod info;
mod instances;
mod live;
mod new;
mod quickcheck;
mod run;
mod sandbox;
mod set;
mod snsh;
mod wall;

use crate::terminal::When;
use crate::values::{at_least, duration, netmask, passes, whole};
pub(crate) use bench::{
    BenchArgs, Chain, ChainApp, EngineBenchArgs, IoBenchArgs, Net, RulesBenchArgs, RulesShape, WallBenchArgs,
    WallMode,
};
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, ValueHint};
pub(crate) use doctor::DoctorArgs;
use engine::ClassInfo;
pub(crate) use files::FilesArgs;
pub(crate) use filter::FilterArgs;
pub(crate) use info::InfoArgs;
pub(crate) use instances::{PsArgs, TopArgs};
use io::pcap_reader::Passes;
pub(crate) use live::LiveArgs;
pub(crate) use new::{AnnotationsArgs, NewAppArgs, NewArgs};
use pflang::Stage;
pub(crate) use quickcheck::QuickcheckArgs;
pub(crate) use run::{ClockName, RunArgs};
pub(crate) use sandbox::SandboxArgs;
pub(crate) use set::{SetArgs, SetBuildArgs, SetChangeArgs, SetFileArgs, SetTestArgs};
pub(crate) use snsh::SnshArgs;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;
pub(crate) use wall::{
    ControlArgs, Dpi, FromArgs, ImportArgs, Kind, LogLevel, LookArgs, PolicyArgs, ProtocolsArgs, SpyArgs,
    WallArgs, WallFilterArgs, WallRunArgs, WallWhyArgs,
};
use wire::linktype::{LinkType, LinkTypeInfo};

/// The version, and that of nDPI that was known at build.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let ndpi = dpi::ndpi::built_with().map_or_else(|| "none".to_owned(), str::to_owned);
        format!("{}\nnDPI {ndpi}", env!("CARGO_PKG_VERSION"))
    });
    &VERSION
}

/// Filter, inspect and steer packets.
#[derive(Parser, Debug)]
#[command(name = "sluss", version = version(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Colour messages: `auto` follows the terminal, NO_COLOR and CLICOLOR_FORCE.
    // Last, whatever the number of commands, which would otherwise decide.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_short_help = true,
        display_order = 900
    )]
    pub(crate) color: When,
    /// Snabb's sources, whose modules and programs are used beside our own [default: SLUSS_SNABB].
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true, display_order = 901, value_hint = ValueHint::DirPath)]
    pub(crate) snabb: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Select packets of captures: to files, pipes, counts or lines.
    Filter(Box<FilterArgs>),
    /// Say what is in captures: packets, times, link types, damage.
    Info(InfoArgs),
    /// Count or split packets by the clauses of a pfmatch program.
    Match(MatchArgs),
    /// Print any stage of a filter, or write it in C, Lua or bytecode.
    Compile(CompileArgs),
    /// Say in plain words what a filter matches.
    Explain(ExplainArgs),
    /// Show why a packet does or does not match, test by test.
    Trace(TraceArgs),
    /// Send packets to a device: from a capture, or made up.
    Blast(BlastArgs),
    /// Run a network of apps that a file describes.
    Run(RunArgs),
    /// Begin an app of your own, in Lua or Rust.
    #[command(subcommand)]
    New(NewArgs),
    /// Run Lua on the engine: text, files, self-tests, or a prompt.
    Snsh(SnshArgs),
    /// Tell what flows speak, filter by it, and be a firewall.
    #[command(subcommand)]
    Wall(WallArgs),
    /// Check, join and ask lists of addresses of any size.
    #[command(subcommand)]
    Set(SetArgs),
    /// List the types of apps, or tell all about some.
    Apps(AppsArgs),
    /// Measure what a packet costs in a network of apps.
    #[command(subcommand)]
    Bench(BenchArgs),
    /// Compare all engines on random filters and packets.
    Quickcheck(QuickcheckArgs),
    /// List the instances that run, or have crashed.
    Ps(PsArgs),
    /// Watch instances: rates, drops, CPU time and latencies.
    Top(TopArgs),
    /// Check the machine, or a device, and say what mends it.
    Doctor(DoctorArgs),
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a folder.
    Man {
        /// An existing folder.
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

impl Command {
    /// Whether packets move through the process, which do not wait for who reads what is said.
    pub(crate) fn moves_packets(&self) -> bool {
        match self {
            Command::Run(_) | Command::Snsh(_) | Command::Blast(_) => true,
            Command::Wall(args) => args.is_live(),
            _ => false,
        }
    }

    /// Whether `--json` was given.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Filter(args) => args.json,
            Command::Info(args) => args.json,
            Command::Match(args) => args.json,
            Command::Compile(args) => args.text.json,
            Command::Explain(args) => args.text.json,
            Command::Trace(args) => args.json,
            Command::Blast(args) => args.json,
            Command::Run(args) => args.json,
            Command::Wall(args) => args.wants_json(),
            Command::Set(args) => args.wants_json(),
            Command::Apps(args) => args.json,
            Command::Bench(BenchArgs::Engine(args)) => args.json,
            Command::Bench(BenchArgs::Io(args)) => args.json,
            Command::Bench(BenchArgs::Wall(args)) => args.json,
            Command::Bench(BenchArgs::Rules(args)) => args.json,
            Command::Quickcheck(args) => args.json,
            Command::Ps(args) => args.json,
            Command::Top(args) => args.json,
            Command::Doctor(args) => args.json,
            Command::New(_) | Command::Snsh(_) | Command::Completions { .. } | Command::Man { .. } => false,
        }
    }
}

/// What a text means, apart from the text.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Language")]
pub(crate) struct LanguageArgs {
    /// Netmask of the capture's network, for `ip broadcast`: 255.255.255.0.
    #[arg(long, value_name = "MASK", value_parser = netmask, hide_short_help = true)]
    pub(crate) netmask: Option<std::net::Ipv4Addr>,
    /// Refuse extensions, which libpcap 1.10.3 does not have.
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    /// Depart from libpcap's meaning: `ipv6` (ports and tcp[…] see IPv6 and its extension headers), `scoped`
    /// (vlan, mpls, … end at their parenthesis), `protochain` (steps over AH), `modern` (all three), `tagged` (all looks
    /// behind VLAN tags, PPPoE and MPLS labels).
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) dialect: Vec<DialectName>,
    /// Ask the system's resolver for host names that are not in /etc/hosts.
    #[arg(long, hide_short_help = true)]
    pub(crate) resolve: bool,
}

/// A program of BPF in the place of a filter's text.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Bytecode")]
pub(crate) struct ProgramArgs {
    /// Take a program of BPF in the place of FILTER.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "front",
        hide_short_help = true,
        long_help = "Take a program of classic BPF in the place of FILTER: what `tcpdump -ddd`, `-dd` or `-d` or bpf_asm prints, what \
                     xt_bpf takes, or raw struct sock_filter; `-` is standard input"
    )]
    pub(crate) bytecode: Option<PathBuf>,
    /// Refuse the program where `libpcap` or the `kernel` would.
    #[arg(long, value_name = "WHO", hide_short_help = true, value_parser = validate())]
    pub(crate) validate: Option<bpf::Validate>,
    /// Compile FILTER to bytecode by `libpcap`, that of this machine, and run the result here.
    #[arg(long, value_name = "WHO", hide_short_help = true, hide_possible_values = true)]
    pub(crate) front: Option<Front>,
}

/// Who compiles a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Front {
    /// The libpcap of the machine.
    Libpcap,
}

fn validate() -> impl TypedValueParser<Value = bpf::Validate> {
    PossibleValuesParser::new(["libpcap", "kernel"]).try_map(|name| name.parse())
}

/// A departure from libpcap's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    Ipv6,
    Scoped,
    Protochain,
    Tagged,
    Modern,
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum At {
    /// Machine code where the system allows it, else the interpreter, with a message.
    #[default]
    Auto,
    /// Machine code or nothing.
    Native,
    /// The reference interpreter.
    Interp,
}

/// What the text of a program depends on, apart from the language.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct PfmatchArgs {
    /// What `$NAME` stands for in a program.
    #[arg(long, value_name = "NAME=TEXT", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// The number that an input of a program has for every packet.
    #[arg(long, value_name = "NAME=N", value_parser = input, hide_short_help = true)]
    pub(crate) input: Vec<(String, u32)>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_identifier(name) => Ok((name.to_owned(), value.to_owned())),
        _ => {
            Err("a name of letters, digits and `_`, `=`, and what it stands for: web='tcp port 80'"
                .to_owned())
        }
    }
}

fn input(text: &str) -> Result<(String, u32), String> {
    let (name, number) = assignment(text)?;
    let parsed = number.parse().map_err(|_| format!("`{number}` is no number from 0 to {}", u32::MAX))?;
    Ok((name, parsed))
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `handler=FILE`.
fn handler_output(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((handler, file)) if (is_identifier(handler) || handler == "-") && !file.is_empty() => {
            Ok((handler.to_owned(), file.into()))
        }
        _ => Err("a handler of the program, or `-` for packets that no clause takes, `=`, and a file: web=web.pcap".to_owned()),
    }
}

#[derive(Args, Debug)]
#[command(override_usage = "sluss match [OPTIONS] PROGRAM FILE…\n       \
    sluss match [OPTIONS] -F PROGRAM-FILE FILE…")]
pub(crate) struct MatchArgs {
    /// The program or @FILE, unless -F gives it; then captures, folders, globs, `-`.
    #[arg(value_name = "PROGRAM FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) words: Vec<OsString>,
    /// Read the program from a file.
    #[arg(short = 'F', long = "program-file", value_name = "FILE")]
    pub(crate) program_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pfmatch: PfmatchArgs,
    /// Read this capture (as tcpdump has it; the same as FILE).
    #[arg(short = 'r', long = "read", value_name = "FILE", hide_short_help = true)]
    pub(crate) read: Vec<PathBuf>,
    /// Worker threads for several files [default: one for each core].
    #[arg(short = 'j', long, value_name = "N", value_parser = at_least(1_usize), allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) jobs: Option<usize>,
    /// Where the program runs: `auto`, `native` or `interp`.
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true
    )]
    pub(crate) at: At,
    /// Write a handler's packets to a capture; `-=FILE` those that no clause takes.
    #[arg(short = 'o', long = "output", value_name = "HANDLER=FILE", value_parser = handler_output, allow_hyphen_values = true, help_heading = "Output")]
    pub(crate) output: Vec<(String, PathBuf)>,
    /// Print how many packets there are for each call.
    #[arg(long, help_heading = "Output")]
    pub(crate) count: bool,
    /// Lines with each packet's number in its capture.
    #[arg(short = '#', long, conflicts_with_all = ["count", "output", "json"], help_heading = "Output")]
    pub(crate) number: bool,
    /// Print JSON: an object with the calls.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No warnings on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Exit 0 even where no clause takes a packet.
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub(crate) no_fail: bool,
    /// Show progress: `always`, `never`, or `auto`: on a terminal.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub(crate) progress: When,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
}

/// A filter on the command line, and what it is for.
#[derive(Args, Debug)]
pub(crate) struct TextArgs {
    /// The filter: one quoted argument, several words, or @FILE.
    #[arg(value_name = "FILTER", required_unless_present_any = ["filter_file", "bytecode"], conflicts_with = "bytecode")]
    pub(crate) words: Vec<OsString>,
    /// Read the filter from a file.
    #[arg(
        long_help = "Read the filter from a file, where `#` begins a comment",
        short = 'F',
        long = "filter-file",
        value_name = "FILE",
        conflicts_with_all = ["words", "bytecode"]
    )]
    pub(crate) filter_file: Option<PathBuf>,
    /// The text is a pfmatch program.
    #[arg(long = "match")]
    pub(crate) is_program: bool,
    #[command(flatten)]
    pub(crate) pfmatch: PfmatchArgs,
    /// Link type, by name or number.
    #[arg(long_help = "Link type of the packets: libpcap's name or number", short = 'y', long, value_name = "LINKTYPE", default_value = "EN10MB", hide_possible_values = true, value_parser = LinkTypes)]
    pub(crate) linktype: LinkType,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    // Above the flattened ones, whose heading would hold for it too.
    /// What to print.
    #[arg(long, value_name = "STAGE", default_value = "asm", hide_possible_values = true, value_parser = stages())]
    pub(crate) stage: Stage,
    /// What to write instead: `c`, `lua` or `cbpf`.
    #[arg(
        long,
        value_name = "TARGET",
        hide_possible_values = true,
        conflicts_with = "stage",
        long_help = "What to write instead: `c`, a function in C, `lua`, a chunk for LuaJIT, or `cbpf`, bytecode"
    )]
    pub(crate) to: Option<Target>,
    /// The function's name.
    #[arg(long, value_name = "NAME", default_value = "filter", hide_default_value = true, requires = "to", hide_short_help = true, value_parser = c_name)]
    pub(crate) name: String,
    /// How bytecode is written: `ddd`, `dd`, `d`, `raw` or `xt_bpf`.
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "to",
        hide_short_help = true,
        hide_possible_values = true,
        value_parser = formats(),
        long_help = "How bytecode is written: `ddd`, `dd` or `d`, as tcpdump has it (`ddd` unless said otherwise), `raw` struct \
                     sock_filter, or one line for `xt_bpf`"
    )]
    pub(crate) format: Option<bpf::Format>,
    /// Write to a file.
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// What a filter is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// A function in C.
    C,
    /// A chunk for LuaJIT.
    Lua,
    /// Classic BPF.
    Cbpf,
}

impl Target {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::C => "c",
            Target::Lua => "lua",
            Target::Cbpf => "cbpf",
        }
    }
}

fn c_name(name: &str) -> Result<String, String> {
    match pflang::c_name(name) {
        allowed if allowed == name => Ok(allowed),
        other => Err(format!("C does not allow this name; `{other}` would do")),
    }
}

fn formats() -> impl TypedValueParser<Value = bpf::Format> {
    PossibleValuesParser::new(bpf::Format::ALL.iter().map(|format| format.name()))
        .try_map(|name| name.parse())
}

fn stages() -> impl TypedValueParser<Value = Stage> {
    PossibleValuesParser::new(Stage::ALL.iter().map(|stage| stage.name())).try_map(|name| name.parse())
}

/// Link types by name or number. Completions offer the names.
#[derive(Clone)]
struct LinkTypes;

impl TypedValueParser for LinkTypes {
    type Value = LinkType;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<LinkType, clap::Error> {
        let name = StringValueParser::new().parse_ref(command, arg, value)?;
        name.parse().map_err(|error| {
            let message = format!("-y {name}: {error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let named = |info: &'static LinkTypeInfo| PossibleValue::new(info.name).help(info.description);
        Some(Box::new(LinkType::all().iter().map(named)))
    }
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

#[derive(Args, Debug)]
#[command(override_usage = "sluss trace [OPTIONS] FILTER FILE\n       \
    sluss trace [OPTIONS] FILE -- FILTER WORDS…")]
pub(crate) struct TraceArgs {
    /// The filter or @FILE, unless -F or `--` gives it; then the capture, or `-`.
    #[arg(value_name = "FILTER FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) words: Vec<OsString>,
    /// Read the filter from a file.
    #[arg(
        long_help = "Read the filter from a file, where `#` begins a comment",
        short = 'F',
        long = "filter-file",
        value_name = "FILE",
        conflicts_with = "bytecode"
    )]
    pub(crate) filter_file: Option<PathBuf>,
    /// Read this capture (as tcpdump has it; the same as FILE).
    #[arg(short = 'r', long = "read", value_name = "FILE")]
    pub(crate) read: Option<PathBuf>,
    /// The text is a pfmatch program.
    #[arg(long = "match")]
    pub(crate) is_program: bool,
    #[command(flatten)]
    pub(crate) pfmatch: PfmatchArgs,
    /// Which packet of the capture: 1 is the first.
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = 1, value_parser = at_least(1_u64), allow_negative_numbers = true)]
    pub(crate) number: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit 0 even where the packet does not match.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_fail: bool,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
    /// The filter as words, after `--`.
    #[arg(last = true, value_name = "WORDS", hide = true, conflicts_with = "bytecode")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(override_usage = "sluss blast [OPTIONS] CAPTURE --to TARGET\n       \
    sluss blast [OPTIONS] --synth --to TARGET")]
pub(crate) struct BlastArgs {
    /// The capture to send, again and again; `-` is standard input, which is sent once.
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "synth",
        conflicts_with = "synth",
        hide_short_help = true
    )]
    pub(crate) capture: Option<PathBuf>,
    /// Where to.
    #[arg(long, value_name = "TARGET")]
    pub(crate) to: OsString,
    /// Packets or bits a second at most: 1.5Mpps, 10Gbps.
    #[arg(
        long,
        value_name = "RATE",
        allow_hyphen_values = true,
        long_help = "Packets or bits a second at most: 500pps, 1.5Mpps, 100Mbps, 10Gbps"
    )]
    pub(crate) rate: Option<String>,
    /// Send the capture N times, or `forever`.
    #[arg(long = "loop", value_name = "N", conflicts_with = "synth", value_parser = passes, allow_negative_numbers = true)]
    pub(crate) passes: Option<Passes>,
    /// Stop after N packets.
    #[arg(short = 'c', long, value_name = "N", value_parser = at_least(0_u64), allow_negative_numbers = true)]
    pub(crate) count: Option<u64>,
    /// Stop after this time: 10s, 1m 30s, or seconds.
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) synth: SynthArgs,
}

/// What made-up packets are like.
#[derive(Args, Debug)]
#[command(next_help_heading = "Packets that are made up")]
pub(crate) struct SynthArgs {
    /// Make packets up; `sluss help blast` tells of what kinds.
    #[arg(long, long_help = "Make packets up")]
    pub(crate) synth: bool,
    /// Their sizes in turn, in bytes: 60,508,1514.
    #[arg(
        long,
        long_help = "Their sizes in turn, in bytes, without frame check sequence, up to 65535 [default: 60, or what the headers need]",
        value_name = "BYTES", value_delimiter = ',', value_parser = at_least(0_usize), allow_negative_numbers = true, requires = "synth", conflicts_with = "capture")]
    pub(crate) size: Vec<usize>,
    /// Source address or prefix [default: 198.18.0.1].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "ADDRESS",
        requires = "synth",
        conflicts_with = "capture"
    )]
    pub(crate) src: Option<String>,
    /// Destination address or prefix [default: 198.19.0.1].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "ADDRESS",
        requires = "synth",
        conflicts_with = "capture"
    )]
    pub(crate) dst: Option<String>,
    /// What they carry: `udp` or `tcp` [default: udp].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PROTOCOL",
        hide_possible_values = true,
        requires = "synth",
        conflicts_with = "capture"
    )]
    pub(crate) proto: Option<ProtoName>,
    /// Source port or ports: 1024-2047 [default: 1024].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PORTS",
        requires = "synth",
        conflicts_with = "capture"
    )]
    pub(crate) sport: Option<String>,
    /// Destination port or ports [default: 9].
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PORTS",
        requires = "synth",
        conflicts_with = "capture"
    )]
    pub(crate) dport: Option<String>,
    /// How many flows.
    #[arg(long, long_help = "How many flows [default: as addresses and ports allow, up to 65536]", value_name = "N", value_parser = whole(0..=u32::MAX), allow_negative_numbers = true, requires = "synth", conflicts_with = "capture")]
    pub(crate) flows: Option<u32>,
    /// Draw flows at random, fill payload with random bytes.
    #[arg(long, hide_short_help = true, requires = "synth", conflicts_with = "capture")]
    pub(crate) random: bool,
    /// Source of the frames [default: 02:00:00:00:00:01].
    #[arg(long, hide_short_help = true, value_name = "MAC", requires = "synth", conflicts_with = "capture")]
    pub(crate) src_mac: Option<String>,
    /// Destination of the frames [default: 02:00:00:00:00:02].
    #[arg(long, hide_short_help = true, value_name = "MAC", requires = "synth", conflicts_with = "capture")]
    pub(crate) dst_mac: Option<String>,
    /// Tag the frames with this VLAN.
    #[arg(long, hide_short_help = true, value_name = "ID", value_parser = whole(0..=u16::MAX), allow_negative_numbers = true, requires = "synth", conflicts_with = "capture")]
    pub(crate) vlan: Option<u16>,
}

/// What made-up packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtoName {
    Udp,
    Tcp,
}

#[derive(Args, Debug)]
pub(crate) struct AppsArgs {
    /// Types to tell all about.
    #[arg(value_name = "TYPE", hide_possible_values = true, value_parser = app_types())]
    pub(crate) types: Vec<String>,
    /// Print JSON: an object for each type.
    #[arg(long)]
    pub(crate) json: bool,
}

fn app_types() -> impl TypedValueParser<Value = String> {
    // A command's own classes are known when it is compiled.
    let name = |class: &ClassInfo| match class.name {
        Cow::Borrowed(name) => Some(name),
        Cow::Owned(_) => None,
    };
    PossibleValuesParser::new(crate::registry::registry().classes().filter_map(name).collect::<Vec<_>>())
}
