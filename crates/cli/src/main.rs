//! The `sluss` command: parses the command line, runs one subcommand, ends with a documented exit code.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod blast;
mod compile;
mod exit;
mod explain;
mod filter;
mod ps;
mod run;
mod shell;
mod signals;
mod terminal;
mod text;
mod top;
mod trace;

use args::{Cli, Command};
use clap::Parser;
use exit::{Blame, Failure, Outcome};
use std::process::ExitCode;
use terminal::Terminal;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    let result =
        std::panic::catch_unwind(|| run(&cli, &terminal)).unwrap_or_else(|panic| Err(broken(&*panic)));
    match result {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            if failure.blame != Blame::ClosedPipe {
                terminal.error(&failure.message);
            }
            failure.code()
        }
    }
}

fn run(cli: &Cli, terminal: &Terminal) -> Result<Outcome, Failure> {
    match &cli.command {
        Command::Filter(args) => filter::run(args, terminal),
        Command::Compile(args) => compile::run(args, terminal),
        Command::Explain(args) => explain::run(args, terminal),
        Command::Trace(args) => trace::run(args, terminal),
        Command::Blast(args) => blast::run(args, terminal),
        Command::Run(args) => run::run(args, terminal),
        Command::Bench(args) => bench::run(args, terminal),
        Command::Ps(args) => ps::run(args, terminal),
        Command::Top(args) => top::run(args, terminal),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man { folder } => shell::man_pages(folder),
    }
}

/// An invariant of ours broke: keep what is needed to reproduce it, and say where.
fn broken(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    let arguments: Vec<String> = std::env::args().collect();
    let report = format!("sluss {}\n{what}\narguments: {arguments:?}\n", env!("CARGO_PKG_VERSION"));
    let path = std::env::temp_dir().join(format!("sluss-internal-error-{}.txt", std::process::id()));
    let kept = match std::fs::write(&path, report) {
        Ok(()) => format!("what is needed to reproduce it is in {}", path.display()),
        Err(error) => format!("no report could be kept: {error}"),
    };
    Failure::internal(format!("internal error: {what}\n{kept}"))
}
