//! Programs in Lua: `sluss run PROGRAM.lua`, `sluss --snabb DIR run NAME`, and `sluss snsh`.

mod shell;
mod tree;

use crate::args::RunArgs;
use crate::blame::Blame;
use crate::confine;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::terminal::Terminal;
use lua::{Coach, Error, Options, Restarts, Vm};
use std::ffi::OsString;
use std::path::Path;

pub(crate) use shell::run as shell;
pub(crate) use tree::{ends_options, tree};

/// The variable in which a worker of a Lua program finds its code.
const WORKER_CODE: &str = "SNABB_PROGRAM_LUACODE";

/// Whether a name is that of a program in Lua, not of a graph.
pub(crate) fn is_program(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "lua")
}

/// Refuses the flags of `sluss run` that mean nothing for a program in Lua, which starts and reports by itself.
fn refuse_flags_of_graphs(args: &RunArgs) -> Result<(), Failure> {
    let given = [
        ("--check", args.check),
        ("--dot", args.dot),
        ("--svg", args.svg),
        ("--json", args.json && !args.coach),
        ("--no-report", args.no_report),
        ("--duration", args.duration.is_some()),
        ("--trace", args.trace.is_some()),
        ("--name", args.name.is_some()),
        ("--busywait", args.busywait),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            let why = format!(
                "`{flag}` is for graphs of TOML: a program in Lua says so itself, as in `engine.main {{ duration = 1 }}`"
            );
            Err(Failure::user(why).help("arguments for the program stand behind its name"))
        }
        None => Ok(()),
    }
}

/// Runs a program: a file, or one of Snabb's by its name.
pub(crate) fn run(args: &RunArgs, snabb: Option<&Path>, terminal: &Terminal) -> Result<Outcome, Failure> {
    refuse_flags_of_graphs(args)?;
    let RunArgs { graph: program, coach, json, html, .. } = args;
    let workers = usize::from(args.workers);
    let arguments = texts(&args.arguments)?;
    let is_file = is_program(program);
    let mut all = vec![program.display().to_string()];
    all.extend(arguments.iter().cloned());
    if args.sandbox.sandbox && !is_file {
        return Err(Failure::user("`--sandbox` is for programs in Lua, in a file of their own")
            .help("sluss run --sandbox PROGRAM.lua"));
    }
    if args.sandbox.sandbox && snabb.is_some() {
        return Err(Failure::user("`--sandbox` has no modules of Snabb's: they need `ffi`")
            .help("leave `--snabb` out, and unset SLUSS_SNABB"));
    }
    // Before other threads begin: for a fault of LuaJIT by which a program gets out of the sandbox.
    if args.sandbox.sandbox
        && let Err(why) = confine::restrict_calls(confine::NETWORK)
    {
        terminal.tell(&Message::warning(format_args!("the sandbox is not confined by seccomp: {why}")));
    }
    let how = |options: Options| Options {
        sandbox: args.sandbox.sandbox(args.packets),
        restarts: is_file.then(|| Restarts { first: args.restart_first, max: args.longest_pause() }),
        ..options
    };
    if workers > 1 && is_file && *coach {
        return Err(Failure::user("`--coach` watches one worker").help("leave `--workers` out"));
    }
    if workers > 1 && is_file {
        let outcome = Vm::run_file_on_workers(&how(options(snabb, all)?), workers, program, &arguments);
        return ended(outcome, terminal);
    }
    let vm = Vm::new(&how(options(snabb, all)?)).map_err(|error| failure(&error))?;
    if *coach {
        vm.coach(&Coach { json: *json, page: html.clone() }).map_err(Failure::world)?;
    }
    let outcome = if is_file {
        vm.run_file(program, &arguments)
    } else {
        vm.run_program(&program.to_string_lossy(), &arguments)
    };
    let advised = if *coach { vm.advise() } else { Ok(()) };
    ended(outcome.and(advised), terminal)
}

/// A state for a program, whose arguments are these.
fn start(snabb: Option<&Path>, arguments: Vec<String>) -> Result<Vm, Failure> {
    Vm::new(&options(snabb, arguments)?).map_err(|error| failure(&error))
}

fn options(snabb: Option<&Path>, arguments: Vec<String>) -> Result<Options, Failure> {
    if let Some(folder) = snabb {
        refuse_other_folders(folder)?;
    }
    let registry = crate::registry::registry();
    Ok(Options { snabb: snabb.map(Path::to_owned), arguments, registry, ..Options::default() })
}

/// Refuses what is no folder with Snabb's sources.
fn refuse_other_folders(folder: &Path) -> Result<(), Failure> {
    let name = folder.display();
    let help = "`--snabb` and SLUSS_SNABB name a checkout of Snabb, or the `src` in it";
    match std::fs::metadata(folder) {
        Err(error) => Err(Failure::world(format_args!("{name}: {error}")).help(help)),
        Ok(_) if folder.join("core/app.lua").is_file() => Ok(()),
        Ok(_) => {
            Err(Failure::user(format_args!("{name} has none of Snabb's sources: no core/app.lua")).help(help))
        }
    }
}

/// How the command ends when a program has ended.
fn ended(outcome: Result<(), Error>, terminal: &Terminal) -> Result<Outcome, Failure> {
    match outcome {
        Ok(()) => Ok(Outcome::Done),
        // As with Snabb, whose users ask for this code.
        Err(Error::Raised(raised)) => {
            terminal.tell(&Message::error_in_lines(Blame::User, &raised));
            if !raised.traceback.is_empty() {
                eprintln!("{}", raised.traceback);
            }
            Ok(Outcome::ProgramFailed)
        }
        // Told as they happened.
        Err(Error::Apps(_)) => Ok(Outcome::ProgramFailed),
        Err(Error::Natives(failed)) => {
            for (app, why) in failed {
                terminal.tell(&Message::error_in_lines(Blame::World, format_args!("app `{app}`: {why}")));
            }
            Ok(Outcome::Incomplete)
        }
        Err(error) => Err(failure(&error)),
    }
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::Syntax(_) | Error::Raised(_) => Failure::in_lines(Blame::User, error),
        _ => Failure::world(error),
    }
}

/// Arguments as Lua programs get them.
fn texts(arguments: &[OsString]) -> Result<Vec<String>, Failure> {
    let text = |argument: &OsString| {
        argument.to_str().map(str::to_owned).ok_or_else(|| Failure::user("an argument is not UTF-8"))
    };
    arguments.iter().map(text).collect()
}

/// Runs the code of a worker, if this process is one: the program that has started it gives the code in a variable.
pub(crate) fn worker(snabb: Option<&Path>, terminal: &Terminal) -> Option<Result<Outcome, Failure>> {
    let code = std::env::var_os(WORKER_CODE)?;
    let run = || {
        let vm = start(snabb, std::env::args().collect())?;
        let code = code.to_str().ok_or_else(|| Failure::user("the code of a worker is not UTF-8"))?;
        ended(vm.run_text(code.as_bytes(), "=(worker)", &[]), terminal)
    };
    Some(run())
}
