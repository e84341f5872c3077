//! `sluss wall`: what flows speak, and what becomes of them.

mod check;
mod control;
mod eve;
mod exact;
mod filter;
mod hold;
mod import;
mod inline;
pub(crate) mod policy;
mod protocols;
mod ran;
mod records;
mod replay;
mod run;
mod spy;
mod test;
mod view;
mod why;

pub use control::fuzz as fuzz_control;

use crate::args::WallArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;

/// Runs the command.
pub(crate) fn run(args: &WallArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match args {
        WallArgs::Spy(args) => spy::run(args, terminal),
        WallArgs::Filter(args) => filter::run(args, terminal),
        WallArgs::Import(args) => import::run(args, terminal),
        WallArgs::Run(args) => run::run(args, terminal),
        WallArgs::Check(args) => check::run(args, terminal),
        WallArgs::Test(args) => test::run(args, terminal),
        WallArgs::Why(args) => why::run(args, terminal),
        WallArgs::Reload(args) => control::reload(args),
        WallArgs::Stats(args) => control::stats(args),
        WallArgs::Protocols(args) => protocols::run(args),
    }
}
