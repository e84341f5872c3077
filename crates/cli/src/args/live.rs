//! Flags of `sluss filter -i`, which captures from a device, by the habits of tcpdump.

use crate::values::{Loss, at_least, loss, megabytes, whole};
use clap::{Args, ValueEnum};
use io::live::Way;

/// How a device is captured from.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Live")]
pub(crate) struct LiveArgs {
    /// Capture from this device, or from `any`.
    #[arg(
        short = 'i',
        long,
        value_name = "DEVICE",
        conflicts_with_all = ["read", "per_file", "files_with_matches", "number", "jobs"],
        long_help = "Capture from this device, or from all: `any`. What follows is the filter, quoted or not"
    )]
    pub(crate) interface: Option<String>,
    /// List the devices.
    #[arg(short = 'D', long, exclusive = true, hide_short_help = true)]
    pub(crate) list_interfaces: bool,
    /// Leave frames for other stations alone.
    #[arg(short = 'p', long, requires = "interface", hide_short_help = true)]
    pub(crate) no_promiscuous_mode: bool,
    /// Packets that come `in`, that go `out`, or both: `inout`.
    #[arg(
        short = 'Q',
        long,
        value_name = "WAY",
        requires = "interface",
        hide_short_help = true,
        hide_possible_values = true
    )]
    pub(crate) direction: Option<Direction>,
    /// Memory that is shared with the kernel, in KiB [default: 8192].
    #[arg(short = 'B', long, value_name = "KIB", requires = "interface", hide_short_help = true, value_parser = whole(1..=4_u64 << 20))]
    pub(crate) buffer_size: Option<u64>,
    /// Exit with 5 if the kernel has dropped more packets than that: 0, 100, 1%.
    #[arg(long, value_name = "N", requires = "interface", hide_short_help = true, value_parser = loss)]
    pub(crate) max_loss: Option<Loss>,
    /// Print lines beside -w.
    #[arg(long, conflicts_with_all = ["count", "fields", "csv", "json", "per_file", "files_with_matches", "per_interval", "lines", "number"], hide_short_help = true)]
    pub(crate) print: bool,
    /// Begin another file when one has so many million bytes.
    #[arg(
        short = 'C',
        value_name = "MB",
        requires = "output",
        hide_short_help = true,
        value_parser = megabytes,
        long_help = "Begin another file when one has more than so many million bytes; with k, m or g behind, KiB, MiB or GiB. Names get numbers: out.pcap, out.pcap1"
    )]
    pub(crate) file_size: Option<u64>,
    /// Begin another file after so many seconds.
    #[arg(
        short = 'G',
        value_name = "SECONDS",
        requires = "output",
        requires = "interface",
        hide_short_help = true,
        value_parser = at_least(1_u64),
        long_help = "Begin another file after so many seconds, named by strftime(3): -w web-%H%M%S.pcap"
    )]
    pub(crate) rotate_seconds: Option<u64>,
    /// With -C, write so many files in turn; with -G, end after so many.
    #[arg(short = 'W', value_name = "N", requires = "output", hide_short_help = true, value_parser = at_least(1_u32))]
    pub(crate) file_count: Option<u32>,
    /// Nothing: what comes is passed on at once. As tcpdump has them.
    #[arg(short = 'l', action = clap::ArgAction::Count, hide = true)]
    pub(crate) line_buffered: u8,
    #[arg(short = 'U', action = clap::ArgAction::Count, hide = true)]
    pub(crate) packet_buffered: u8,
}

/// Which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    In,
    Out,
    Inout,
}

impl From<Direction> for Way {
    fn from(direction: Direction) -> Way {
        match direction {
            Direction::In => Way::In,
            Direction::Out => Way::Out,
            Direction::Inout => Way::Both,
        }
    }
}
