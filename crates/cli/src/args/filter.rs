//! Flags of `sluss filter`.

use super::{At, FilesArgs, LanguageArgs, LiveArgs, ProgramArgs};
use crate::terminal::When;
use crate::values::{at_least, span, whole};
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What is printed in the place of lines.
const NO_LINES: [&str; 7] = ["count", "output", "fields", "csv", "json", "per_file", "per_interval"];

#[derive(Args, Debug)]
#[command(override_usage = "sluss filter [OPTIONS] FILTER FILE…\n       \
    sluss filter [OPTIONS] -i DEVICE [FILTER]\n       \
    sluss filter [OPTIONS] FILE… -- FILTER WORDS…\n       \
    sluss filter [OPTIONS] -f FILTER -o OUT [-f FILTER -o OUT]… FILE…")]
pub(crate) struct FilterArgs {
    /// The filter, unless -f, -F or `--` gives it; then captures, folders, globs, `-`.
    #[arg(value_name = "FILTER FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) words: Vec<OsString>,
    /// A filter; one for each -o splits in one pass.
    #[arg(
        short = 'f',
        long = "filter",
        value_name = "FILTER",
        conflicts_with = "bytecode",
        long_help = "A filter; repeat it, each with its -o, to split in one pass"
    )]
    pub(crate) filter: Vec<OsString>,
    /// Read the filter from a file.
    #[arg(
        long_help = "Read the filter from a file, where `#` begins a comment",
        short = 'F',
        long = "filter-file",
        value_name = "FILE",
        hide_short_help = true,
        conflicts_with_all = ["filter", "bytecode"]
    )]
    pub(crate) filter_file: Option<PathBuf>,
    /// Read this capture (as tcpdump has it; the same as FILE).
    #[arg(short = 'r', long = "read", value_name = "FILE", hide_short_help = true)]
    pub(crate) read: Vec<PathBuf>,
    /// Stop after N matching packets.
    #[arg(short = 'c', long = "max-count", value_name = "N", value_parser = at_least(1_u64), allow_negative_numbers = true)]
    pub(crate) max_count: Option<u64>,
    /// Keep at most so many bytes of each packet; 0: all of it.
    #[arg(short = 's', long, value_name = "N", value_parser = whole(0..=io::live::SNAPLEN_MAX), hide_short_help = true)]
    pub(crate) snaplen: Option<u32>,
    /// Worker threads for several files [default: one for each core].
    #[arg(short = 'j', long, value_name = "N", value_parser = at_least(1_usize), allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) jobs: Option<usize>,
    /// Where the filter runs: `auto`, `native` or `interp`.
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true
    )]
    pub(crate) at: At,
    /// Write packets to a capture, or to `-`.
    #[arg(
        short = 'o',
        long = "output",
        visible_short_alias = 'w',
        value_name = "OUT",
        help_heading = "Output",
        long_help = "Write what matches here, in the first input's format, or in pcapng if the name ends so; `-` is standard \
                     output. One for each -f"
    )]
    pub(crate) output: Vec<PathBuf>,
    /// Print how many packets match, and nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) count: bool,
    /// Print how many packets of each capture match.
    #[arg(
        long,
        conflicts_with_all = ["count", "output", "lines", "number", "fields", "csv", "per_interval"],
        help_heading = "Output",
        hide_short_help = true,
        long_help = "Print how many packets of each capture match: the number, a tab, and the capture's name"
    )]
    pub(crate) per_file: bool,
    /// Print the names of captures in which a packet matches.
    #[arg(
        long,
        conflicts_with_all = ["count", "output", "lines", "number", "fields", "csv", "json", "per_file", "per_interval", "max_count"],
        help_heading = "Output",
        hide_short_help = true,
        long_help = "Print the names of captures in which a packet matches; each is read up to the first"
    )]
    pub(crate) files_with_matches: bool,
    /// Print packets and bytes by time: 1s, 5m.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = span,
        conflicts_with_all = ["count", "output", "lines", "number", "fields"],
        help_heading = "Output",
        hide_short_help = true,
        long_help = "Print packets and bytes on the wire of each interval of this length that has some: when it begins, and both numbers. \
                     Intervals are counted from 1970, so that those of 1m begin with minutes"
    )]
    pub(crate) per_interval: Option<Duration>,
    /// Print a line for each packet, as without any of these flags.
    #[arg(long, conflicts_with_all = ["count", "output"], help_heading = "Output", hide_short_help = true)]
    pub(crate) lines: bool,
    /// Lines with each packet's number in its capture.
    #[arg(
        short = '#',
        long,
        conflicts_with_all = ["count", "output"],
        help_heading = "Output",
        long_help = "Print lines that begin with the packet's number in its capture, which `sluss trace -n` takes; among several \
                     captures, with the capture's name"
    )]
    pub(crate) number: bool,
    /// Print bytes in hexadecimal below each line.
    #[arg(
        short = 'x',
        action = clap::ArgAction::Count,
        conflicts_with_all = NO_LINES,
        help_heading = "Output",
        hide_short_help = true,
        long_help = "Print the bytes behind the link header in hexadecimal below each line; -xx with the link header. As tcpdump has it"
    )]
    pub(crate) hex: u8,
    /// Print bytes in hexadecimal and as text.
    #[arg(
        short = 'X',
        action = clap::ArgAction::Count,
        conflicts_with_all = NO_LINES,
        help_heading = "Output",
        hide_short_help = true,
        long_help = "The same in hexadecimal and as text; -XX with the link header"
    )]
    pub(crate) hex_and_text: u8,
    /// Print bytes as text.
    #[arg(
        short = 'A',
        action = clap::ArgAction::Count,
        conflicts_with_all = NO_LINES,
        help_heading = "Output",
        hide_short_help = true,
        long_help = "The same as text alone; -AA with the link header"
    )]
    pub(crate) text: u8,
    /// Nothing: addresses and ports are numbers anyway. As tcpdump has it.
    #[arg(short = 'n', action = clap::ArgAction::Count, hide = true)]
    pub(crate) numeric: u8,
    /// Print JSON: an object a packet, or a summary.
    #[arg(
        long,
        help_heading = "Output",
        long_help = "Print JSON: an object for each packet, or, with -o or --count, a summary. Where packets go to standard output, \
                     the summary goes to standard error"
    )]
    pub(crate) json: bool,
    /// Print fields: ip.src,tcp.dstport; `help` lists them.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with_all = ["count", "output", "lines", "number"],
        help_heading = "Output",
        long_help = "Print fields of each packet, by tshark's names and separated by commas: ip.src,tcp.dstport. A line a packet, \
                     separated by tabs, empty where a packet has none; with --csv or --json in these forms. `help` lists the names"
    )]
    pub(crate) fields: Vec<String>,
    /// Print CSV with a header, of --fields or of some that serve most.
    #[arg(long, conflicts_with_all = ["count", "output", "lines", "number", "json"], help_heading = "Output", hide_short_help = true)]
    pub(crate) csv: bool,
    /// No warnings and no summary on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Exit 0 even where nothing matches.
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
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
    /// The filter as words, after `--`.
    #[arg(last = true, value_name = "WORDS", hide = true, conflicts_with = "bytecode")]
    pub(crate) rest: Vec<OsString>,
}
