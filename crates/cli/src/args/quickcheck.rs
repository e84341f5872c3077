//! The flags of `sluss quickcheck`.

use super::LinkTypes;
use crate::values::{at_least, duration};
use clap::Args;
use std::time::Duration;
use wire::linktype::LinkType;

#[derive(Args, Debug)]
pub(crate) struct QuickcheckArgs {
    /// Begin with this seed [default: another each time].
    #[arg(
        long,
        value_name = "N",
        value_parser = at_least(0_u64),
        allow_negative_numbers = true,
        long_help = "The seed of the first filter; the next has the next seed. One seed gives the same filters and packets, whichever \
                     engines there are [default: another each time]"
    )]
    pub(crate) seed: Option<u64>,
    /// End after this time [default: 10 s].
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) seconds: Option<Duration>,
    /// End when this many pairs are answered.
    #[arg(
        long,
        value_name = "N",
        value_parser = at_least(1_u64),
        allow_negative_numbers = true,
        long_help = "End when this many pairs of filter and packet have been answered, over all engines"
    )]
    pub(crate) pairs: Option<u64>,
    /// Packets of this link type only, by name or number.
    #[arg(short = 'y', long, alias = "link-type", value_name = "LINKTYPE", hide_short_help = true, hide_possible_values = true, value_parser = LinkTypes)]
    pub(crate) linktype: Option<LinkType>,
    /// Compare another engine: a command that answers lines.
    #[arg(
        long,
        value_name = "NAME=COMMAND",
        value_parser = engine_command,
        long_help = "Compare another engine as well: `sh -c COMMAND` reads lines and answers each, as below"
    )]
    pub(crate) engine: Vec<(String, String)>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `NAME=COMMAND`.
fn engine_command(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.is_empty() => {
            Ok((name.to_owned(), command.to_owned()))
        }
        _ => Err("a name, `=`, and a command: mine='./mine --lines'".to_owned()),
    }
}
