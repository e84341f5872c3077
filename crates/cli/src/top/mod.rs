//! `sluss top`: what instances do, as a screen that is kept up to date, or once as text or JSON.
//!
//! ```text
//! watch (files ─► Moment, every interval) ─► view (history, what is selected) ─► screen (text) ─► session (terminal)
//!                                        └─► once (tables, JSON)
//! ```
//!
//! Only `session` touches the terminal, so that all the rest can be tested without one.

mod once;
mod rules;
mod screen;
mod session;
mod tables;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use crate::args::TopArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;
use std::io::IsTerminal;
use watch::Watch;

/// Shows what instances do.
pub(crate) fn run(args: &TopArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let watch = Watch::new(args.which.clone());
    if args.once {
        return once::run(watch, args.interval, args.json, terminal);
    }
    if !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        return Err(Failure::user("`sluss top` needs a terminal; `--once` prints one interval anywhere"));
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        let what = "`sluss top` moves the cursor, which this terminal cannot (TERM is `dumb`); `--once` prints one interval";
        return Err(Failure::user(what));
    }
    session::run(watch, args.interval, terminal.colour_stdout)
}
