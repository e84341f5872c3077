//! `sluss wall import`: rules of other firewalls as a program of pfmatch.

use crate::args::ImportArgs;
use crate::exit::{Failure, Outcome};
use crate::filter::places;
use crate::message::Message;
use crate::plural::counted;
use crate::terminal::{Terminal, print};
use capture::Input;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wall::import::{Choice, ImportError, Imported, import};

/// Lines that were not taken and are told one by one.
const TOLD_MAX: usize = 100;

/// Runs the command.
pub(super) fn run(args: &ImportArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let input = |path: &PathBuf| match path.as_os_str() == "-" {
        true => Input::Stdin,
        false => Input::File(path.clone()),
    };
    let inputs: Vec<Input> = args.files.iter().map(input).collect();
    if let Some(output) = output {
        places::refuse_to_empty(output, &inputs)?;
    }
    let texts: Vec<String> = args.files.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
    let sources: Vec<&str> = texts.iter().map(String::as_str).collect();
    let choice = Choice { table: args.table.clone(), chain: args.chain.clone() };
    let imported = import(&sources, &choice).map_err(|error| refused(&error, &args.files))?;
    tell_problems(&imported, args, terminal);
    let problems = imported.problems.len() as u64;
    if problems > 0 && !args.partial {
        let lines = counted(problems, "line");
        return Err(Failure::user(format_args!("{lines} cannot be expressed; nothing was written"))
            .help("--partial leaves these lines out: the program then decides otherwise than the rules do"));
    }
    match output {
        Some(path) => fs::write(path, &imported.program)
            .map_err(|error| Failure::writing(&path.display().to_string(), &error))?,
        None => print(&imported.program)?,
    }
    Ok(Outcome::Done)
}

/// A file, or standard input.
fn text(path: &Path) -> Result<String, Failure> {
    let read = match path.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            io::stdin().lock().read_to_string(&mut text).map(|_| text)
        }
        false => fs::read_to_string(path),
    };
    read.map_err(|error| {
        let name = path.display();
        Failure::world(format!("cannot read {name}: {error}")).if_missing(path, &error)
    })
}

fn refused(error: &ImportError, files: &[PathBuf]) -> Failure {
    match error {
        ImportError::Unknown(source) => Failure::user(format_args!("{}: {error}", files[*source].display())),
        ImportError::Chain(chains) if !chains.is_empty() => {
            Failure::user(error).help("name one with --chain, and its table with --table")
        }
        error => Failure::user(error),
    }
}

/// A message for each line that was not taken.
fn tell_problems(imported: &Imported, args: &ImportArgs, terminal: &Terminal) {
    for problem in imported.problems.iter().take(TOLD_MAX) {
        let (name, line) = (args.files[problem.source].display(), problem.line);
        terminal.tell(&Message::warning(format!("{name}:{line}: {}: {}", problem.reason, problem.text)));
    }
    let more = imported.problems.len().saturating_sub(TOLD_MAX) as u64;
    if more > 0 {
        terminal.tell(&Message::warning(format!("{} more cannot be expressed", counted(more, "line"))));
    }
}
