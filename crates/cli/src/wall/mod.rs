//! `sluss wall`: what flows speak, and what becomes of them.

mod exact;
mod filter;
mod import;
mod protocols;
mod ran;
mod spy;
mod view;

use crate::args::WallArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;

/// Runs the command.
pub(crate) fn run(args: &WallArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match args {
        WallArgs::Spy(args) => spy::run(args, terminal),
        WallArgs::Filter(args) => filter::run(args, terminal),
        WallArgs::Import(args) => import::run(args, terminal),
        WallArgs::Protocols(args) => protocols::run(args),
    }
}
