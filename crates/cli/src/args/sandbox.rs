//! The flags of `sluss run --sandbox`.

use crate::values::{pause, size};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Confine a program in Lua that is not trusted.
    #[arg(
        long,
        hide_short_help = true,
        conflicts_with = "coach",
        long_help = "Confine a program in Lua that is not trusted: it has packets with checked accessors, no `ffi`, no files and no system, \
                     and limits of memory and time"
    )]
    pub(crate) sandbox: bool,
    /// Memory for its values: 64MB, 1GiB.
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size, hide_short_help = true, requires = "sandbox")]
    pub(crate) sandbox_memory: usize,
    /// CPU time of a turn: of the program before it breathes, or of an app.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = pause, allow_hyphen_values = true, hide_short_help = true, requires = "sandbox")]
    pub(crate) sandbox_turn: Duration,
    /// A capture that it may read; may be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, requires = "sandbox")]
    pub(crate) sandbox_read: Vec<PathBuf>,
    /// A capture that it may write; may be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, requires = "sandbox")]
    pub(crate) sandbox_write: Vec<PathBuf>,
}

impl SandboxArgs {
    /// What the program may take and touch, if it is confined.
    pub(crate) fn sandbox(&self, packets: Option<u32>) -> Option<lua::Sandbox> {
        let usual = lua::Sandbox::default();
        self.sandbox.then(|| lua::Sandbox {
            memory_bytes: self.sandbox_memory,
            turn: self.sandbox_turn,
            packets: packets.map_or(usual.packets, |packets| packets as usize),
            read: self.sandbox_read.clone(),
            write: self.sandbox_write.clone(),
        })
    }
}
