//! Flags of `sluss filter` for work on capture files: parts of them by time and number, and outputs of several files.

use crate::moments::{Moment, NumberRange, moment, number_range};
use crate::values::{at_least, span, whole};
use capture::NamedFormat;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// Which packets of captures are looked at, and how outputs are split.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Capture files")]
pub(crate) struct FilesArgs {
    /// Packets from this time on: 2026-11-21T23:16:20, 23:16:20, +30s.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = moment,
        conflicts_with = "interface",
        hide_short_help = true,
        long_help = "Packets from this time on, in UTC: 2026-11-21T23:16:20.5, a time of day (on the date of the first packet), or +30s (behind the first packet)"
    )]
    pub(crate) since: Option<Moment>,
    /// Packets before this time.
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "interface", hide_short_help = true)]
    pub(crate) until: Option<Moment>,
    /// Packets with these numbers in their capture, as -# prints them: 100-200.
    #[arg(long, value_name = "N-M", value_parser = number_range, conflicts_with = "interface", hide_short_help = true)]
    pub(crate) range: Option<NumberRange>,
    /// Packets of all captures in the order of their times: `time`.
    #[arg(
        long,
        value_name = "BY",
        conflicts_with_all = ["interface", "jobs", "per_file", "files_with_matches"],
        hide_short_help = true,
        hide_possible_values = true,
        long_help = "Packets of all captures in the order of their times, in the place of one capture behind the other: `time`. Of several at one \
                     time that of the capture named first; packets of one capture stay in their order"
    )]
    pub(crate) merge: Option<MergeBy>,
    /// Leave out packets whose bytes one of the N-1 before has [N: 5].
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        conflicts_with = "interface",
        value_parser = whole(0..=DEDUP_MAX),
        hide_short_help = true,
        long_help = "Leave out packets whose bytes one of the N-1 packets before has, 5 without a number: of those that match, over all captures. As \
                     `editcap -D N`, up to 1000000"
    )]
    pub(crate) dedup: Option<usize>,
    /// Write `pcap` or `pcapng`, whatever the input is.
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "output",
        hide_short_help = true,
        hide_possible_values = true,
        long_help = "Write `pcap` or `pcapng`, whatever the input is. Without it, a name that ends in .pcapng says pcapng, and any other the \
                     format of the first input. Of pcapng, pcap loses interfaces, comments and names"
    )]
    pub(crate) format: Option<FileFormat>,
    /// Begin another file before one has more bytes: out-00001.pcap, …
    #[arg(long, value_name = "N", requires = "output", value_parser = at_least(1_u64), conflicts_with_all = ["split_seconds", "split_packets", "file_size", "rotate_seconds"], hide_short_help = true)]
    pub(crate) split_bytes: Option<u64>,
    /// The same after so much time, counted from the first packet.
    #[arg(long, value_name = "TIME", requires = "output", value_parser = span, conflicts_with_all = ["split_packets", "file_size", "rotate_seconds"], hide_short_help = true)]
    pub(crate) split_seconds: Option<Duration>,
    /// The same after so many packets.
    #[arg(long, value_name = "N", requires = "output", value_parser = at_least(1_u64), conflicts_with_all = ["file_size", "rotate_seconds"], hide_short_help = true)]
    pub(crate) split_packets: Option<u64>,
}

/// Packets that are compared with each other at most; editcap has the same number.
const DEDUP_MAX: usize = 1_000_000;

/// What packets of several captures are put in order by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MergeBy {
    Time,
}

/// A format of captures that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    Pcap,
    Pcapng,
}

impl From<FileFormat> for NamedFormat {
    fn from(format: FileFormat) -> NamedFormat {
        match format {
            FileFormat::Pcap => NamedFormat::Pcap,
            FileFormat::Pcapng => NamedFormat::Pcapng,
        }
    }
}
