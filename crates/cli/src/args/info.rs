//! Flags of `sluss info`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Captures, folders, globs, `-`.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print an object for each capture.
    #[arg(long)]
    pub(crate) json: bool,
}
