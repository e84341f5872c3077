//! What the definitions of the flags give for free: completion scripts and man pages.

use crate::args::Cli;
use crate::exit::{Failure, Outcome};
use clap::CommandFactory;
use std::path::Path;

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sluss", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)
        .map_err(|error| Failure::writing("standard output", &error))?;
    Ok(Outcome::Done)
}

/// Writes `sluss.1`, `sluss-filter.1`, …
pub(crate) fn man_pages(folder: &Path) -> Result<Outcome, Failure> {
    // Without a page for `sluss help run`, which shows what the page of `sluss run` does.
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder).map_err(|error| {
        Failure::world(format!("cannot write man pages to {}: {error}", folder.display()))
    })?;
    Ok(Outcome::Done)
}
