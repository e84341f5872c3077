//! The `sluss` command: parses the command line, runs one subcommand, ends with a documented exit code.
//!
//! It is a library, so that a program with apps of its own has all that the command has: `run` with reloads, signals and reports, `apps`, `top`,
//! the wall's worker, help and completions.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     // With `.with::<MyApp>()` behind it.
//!     sluss::main(sluss::registry())
//! }
//! ```

#![forbid(unsafe_code)]

mod args;
mod bench;
mod blame;
mod blast;
mod bytecode;
mod catalogue;
mod clock;
mod compile;
mod completions;
mod confine;
mod control;
mod decider;
mod doctor;
mod ended;
mod escape;
mod exit;
mod explain;
mod filter;
mod help;
mod info;
mod inputs;
mod instances;
mod json;
mod language;
mod lasting;
mod lua;
mod man;
mod matches;
mod message;
mod missing;
mod misuse;
mod moments;
mod new;
mod notices;
mod ps;
mod quickcheck;
mod reader;
mod registry;
mod run;
mod set;
mod shell;
mod signals;
mod table;
mod terminal;
mod top;
mod trace;
mod units;
mod unwritable;
mod values;
mod wall;
mod words;

#[doc(hidden)]
pub use wall::fuzz_control;

use args::{Cli, Command};
use blame::Blame;
use clap::FromArgMatches;
use engine::Registry;
use exit::{Failure, Outcome};
use std::process::ExitCode;
use terminal::Terminal;
use wire::plural;

/// The types of apps that a graph can name: those that sluss brings.
#[must_use]
pub fn registry() -> Registry {
    registry::standard()
}

/// Runs the command line of this process, in which graphs can name these types of apps. To be called first in `main`: this process may have been
/// started to be the worker in which nDPI runs, and does not return from here then.
#[must_use]
pub fn main(registry: Registry) -> ExitCode {
    registry::have(registry);
    // Before anything else: this process may be the one in which nDPI runs.
    dpi::worker::enter();
    std::panic::set_hook(Box::new(exit::note_place));
    signals::fail_at_file_size();
    let mut command = help::command();
    let short = command.clone();
    let parsed = command.try_get_matches_from_mut(help::words(std::env::args_os(), &short));
    let cli = match parsed
        .and_then(|matches| Cli::from_arg_matches(&matches).map_err(|told| told.format(&mut command)))
    {
        Ok(cli) => cli,
        Err(told) => return misuse::tell(told),
    };
    let terminal = Terminal::new(cli.color, cli.command.wants_json());
    let terminal = if cli.command.moves_packets() { terminal.beside_packets() } else { terminal };
    let result = std::panic::catch_unwind(|| run(&cli, &terminal).and_then(reader::close_stdout));
    let result = result.unwrap_or_else(|panic| Err(Failure::panicked(&*panic)));
    match result {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            if failure.blame != Blame::ClosedPipe {
                terminal.tell(&failure.message);
            }
            failure.code()
        }
    }
}

fn run(cli: &Cli, terminal: &Terminal) -> Result<Outcome, Failure> {
    match &cli.command {
        Command::Filter(args) => filter::run(args, terminal),
        Command::Info(args) => info::run(args, terminal),
        Command::Match(args) => matches::run(args, terminal),
        Command::Compile(args) => compile::run(args, terminal),
        Command::Explain(args) => explain::run(args, terminal),
        Command::Trace(args) => trace::run(args, terminal),
        Command::Blast(args) => blast::run(args, terminal),
        Command::Run(args) => match lua_program(cli, args) {
            Some(tree) => lua::run(args, tree.as_deref(), terminal),
            None if args.coach => {
                Err(Failure::user("`--coach` is for programs in Lua").help("sluss run --coach PROGRAM.lua"))
            }
            None if args.sandbox.sandbox => Err(Failure::user("`--sandbox` is for programs in Lua").help(
                "sluss run --sandbox PROGRAM.lua; in a graph, an app of the type `lua` has `sandbox = true`",
            )),
            None => run::run(args, terminal),
        },
        Command::New(args) => new::run(args),
        Command::Snsh(args) => lua::shell(args, lua::tree(cli.snabb.as_deref()).as_deref(), terminal),
        Command::Wall(args) => wall::run(args, terminal),
        Command::Set(args) => set::run(args, terminal),
        Command::Apps(args) => catalogue::run(args),
        Command::Bench(args) => bench::run(args, terminal),
        Command::Quickcheck(args) => quickcheck::run(args),
        Command::Ps(args) => ps::run(args, terminal),
        Command::Top(args) => top::run(args, terminal),
        Command::Doctor(args) => doctor::run(args, terminal),
        Command::Completions { shell } => completions::run(*shell),
        Command::Man { folder } => man::write(folder),
    }
}

/// If what is to run is a program in Lua: the folder of Snabb's sources, if there is one.
fn lua_program(cli: &Cli, args: &args::RunArgs) -> Option<Option<std::path::PathBuf>> {
    let tree = lua::tree(cli.snabb.as_deref());
    let is_name = tree.is_some() && args.graph.extension().is_none() && !args.graph.exists();
    (lua::is_program(&args.graph) || is_name).then_some(tree)
}
