//! The flags of `sluss set`.

use crate::values::duration;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand, Debug)]
pub(crate) enum SetArgs {
    /// Join lists into one, with the fewest prefixes and ranges.
    Build(SetBuildArgs),
    /// Say whether a list is right, and what is in it.
    Check(SetFileArgs),
    /// Say which addresses are members.
    Test(SetTestArgs),
    /// Add addresses to a set of what runs.
    Add(SetAddArgs),
    /// Take addresses out of a set of what runs.
    Del(SetChangeArgs),
    /// Say what a list takes as a table: memory, and time to build and to ask.
    Stats(SetFileArgs),
}

impl SetArgs {
    /// Whether `--json` was given.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            SetArgs::Build(_) => false,
            SetArgs::Check(args) | SetArgs::Stats(args) => args.json,
            SetArgs::Test(args) => args.json,
            SetArgs::Add(args) => args.change.json,
            SetArgs::Del(args) => args.json,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct SetAddArgs {
    #[command(flatten)]
    pub(crate) change: SetChangeArgs,
    /// For this time only: 1h, 1m 30s, or seconds.
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct SetChangeArgs {
    /// The name or process number of what runs, or the control socket of a wall.
    #[arg(value_name = "INSTANCE", value_hint = ValueHint::Other)]
    pub(crate) instance: String,
    /// The set, as filters name it behind `@`, or a policy in `[sets]`.
    #[arg(value_name = "SET", value_hint = ValueHint::Other)]
    pub(crate) set: String,
    /// Addresses, prefixes, ranges, ports; `-` reads lines from standard input.
    #[arg(required = true, value_name = "ADDRESS", value_hint = ValueHint::Other)]
    pub(crate) entries: Vec<String>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SetBuildArgs {
    /// The lists; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write there [default: standard output].
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The set that is meant, in a file that holds several.
    #[arg(long, value_name = "SET")]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct SetFileArgs {
    /// The list; `-` is standard input.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The set that is meant, in a file that holds several.
    #[arg(long, value_name = "SET")]
    pub(crate) name: Option<String>,
    /// Print one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SetTestArgs {
    /// The list.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What to ask for; `-` reads lines from standard input.
    #[arg(required = true, value_name = "ADDRESS", value_hint = ValueHint::Other)]
    pub(crate) addresses: Vec<String>,
    /// The set that is meant, in a file that holds several.
    #[arg(long, value_name = "SET")]
    pub(crate) name: Option<String>,
    /// Print a line of JSON for each.
    #[arg(long)]
    pub(crate) json: bool,
}
