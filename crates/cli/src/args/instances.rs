//! The flags of `sluss ps` and `sluss top`.

use crate::values::interval;
use clap::Args;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct PsArgs {
    /// Print JSON: an object for each instance.
    #[arg(long)]
    pub(crate) json: bool,
    /// Remove the files of crashed instances, and say which.
    #[arg(long)]
    pub(crate) clean: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Only instances of this name, or this process.
    #[arg(value_name = "NAME|PID")]
    pub(crate) which: Option<String>,
    /// Time between two looks: 100ms to 1h.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, allow_hyphen_values = true)]
    pub(crate) interval: Duration,
    /// Print one interval as tables and end; needs no terminal.
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: print JSON, an object for each instance.
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
}
