//! The flags of `sluss run`.

use super::SandboxArgs;
use crate::values::{at_least, core, duration, pause, whole};
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The graph; `-` is standard input.
    #[arg(value_name = "GRAPH", hide_short_help = true)]
    pub(crate) graph: PathBuf,
    /// Arguments of a program in Lua.
    #[arg(value_name = "ARGUMENT", hide_short_help = true, last = true)]
    pub(crate) arguments: Vec<OsString>,
    /// Stop after this time: 10s, 1m 30s, or seconds.
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Say what is wrong with the graph, start nothing.
    #[arg(long, conflicts_with_all = ["dot", "svg"])]
    pub(crate) check: bool,
    /// Print the graph for Graphviz.
    #[arg(long, hide_short_help = true, conflicts_with = "svg")]
    pub(crate) dot: bool,
    /// Print a drawing of the graph.
    #[arg(long)]
    pub(crate) svg: bool,
    /// End with one line of JSON.
    #[arg(long, long_help = "End with one line of JSON; changes and errors are JSON, too")]
    pub(crate) json: bool,
    /// Say what keeps LuaJIT from making a program in Lua faster.
    #[arg(
        long,
        hide_short_help = true,
        conflicts_with_all = ["check", "dot", "svg"],
        long_help = "Watch LuaJIT while a program in Lua runs, and say at its end what it could not compile or compiles to slow code, \
                     how much of the time that costs, and what to write instead; with --json as objects"
    )]
    pub(crate) coach: bool,
    /// Write the coach's findings beside the program's source, as HTML.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, requires = "coach")]
    pub(crate) html: Option<PathBuf>,
    /// No report at the end.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Follow packets that match from app to app.
    #[arg(
        long,
        value_name = "FILTER",
        conflicts_with_all = ["check", "dot", "svg", "coach"],
        long_help = "Follow packets that match a filter where they enter the graph, and print every app that they pass: what became of them there, \
                     when, and which bytes have changed; `@FILE` holds the filter. One worker; ends when it is known what became of -c packets"
    )]
    pub(crate) trace: Option<OsString>,
    /// Packets that --trace follows [default: all].
    #[arg(short = 'c', long = "trace-count", value_name = "N", value_parser = at_least(1_u64), allow_negative_numbers = true, requires = "trace", hide_short_help = true)]
    pub(crate) trace_count: Option<u64>,
    /// What `sluss top` calls it [default: the file's name].
    #[arg(long, value_name = "NAME", value_parser = instance_name)]
    pub(crate) name: Option<String>,
    /// Worker threads.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=256_u16), allow_negative_numbers = true, help_heading = "Engine")]
    pub(crate) workers: u16,
    /// Cores to bind workers to, in turn: 0,1.
    #[arg(long, hide_short_help = true, value_name = "CORES", value_delimiter = ',', value_parser = core, allow_negative_numbers = true, help_heading = "Engine")]
    pub(crate) cpu: Vec<usize>,
    /// Never sleep.
    #[arg(long, hide_short_help = true, help_heading = "Engine")]
    pub(crate) busywait: bool,
    /// Packets that an app brings in per breath, 1 to 1024.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 64, value_parser = whole(1..=1024_u16), allow_negative_numbers = true, help_heading = "Engine")]
    pub(crate) burst: u16,
    /// Packets of each worker's pool, 1 to 87210 [default: 16384, or more where links can hold so many].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = whole(1..=engine::Pool::MAX_PACKETS as u32), allow_negative_numbers = true, help_heading = "Engine")]
    pub(crate) packets: Option<u32>,
    /// Packets of more than 10240 bytes, up to 65535, that each pool has besides; 0 drops them where they come in.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 256, value_parser = whole(0..=engine::Pool::MAX_LARGE_PACKETS as u32), allow_negative_numbers = true, help_heading = "Engine")]
    pub(crate) large_packets: u32,
    /// Whose time apps see: `wall`, or `capture`, which jumps to the next packet.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "CLOCK",
        default_value = "wall",
        hide_possible_values = true,
        help_heading = "Engine"
    )]
    pub(crate) clock: ClockName,
    /// How long an app that failed is down the first time.
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = "100ms", value_parser = pause, allow_hyphen_values = true, help_heading = "Engine")]
    pub(crate) restart_first: Duration,
    /// How long at most, twice as long after each failure [default: 10s, or as long as the first time].
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, allow_hyphen_values = true, help_heading = "Engine")]
    pub(crate) restart_max: Option<Duration>,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

impl RunArgs {
    /// The longest pause before an app that failed is started again; it is as long as the first one at least.
    pub(crate) fn longest_pause(&self) -> Duration {
        self.restart_max.unwrap_or(Duration::from_secs(10).max(self.restart_first))
    }
}

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockName {
    Wall,
    Capture,
}

pub(super) fn instance_name(text: &str) -> Result<String, String> {
    if engine::shm::runtime::is_instance_name(text) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 64 letters, digits, `-`, `_` and `.`, the last two not in front".to_owned())
}
