//! `sluss snsh`: Lua from the command line, and a prompt.

use super::{ended, start, texts, worker};
use crate::args::SnshArgs;
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;
use std::path::Path;

/// Runs the command: its options in their order, then a program, then the prompt.
pub(crate) fn run(args: &SnshArgs, snabb: Option<&Path>, terminal: &Terminal) -> Result<Outcome, Failure> {
    if let Some(outcome) = worker(snabb, terminal) {
        return outcome;
    }
    let mut arguments = texts(&args.arguments)?;
    let vm = start(snabb, [vec!["snsh".to_owned()], arguments.clone()].concat())?;
    for action in &args.actions.0 {
        let outcome = ended(vm.shell(action), terminal)?;
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
    }
    let outcome = if let Some(program) = &args.program {
        vm.run_program(program, &arguments)
    } else if !arguments.is_empty() {
        let file = arguments.remove(0);
        vm.run_file(Path::new(&file), &arguments)
    } else {
        Ok(())
    };
    let outcome = ended(outcome, terminal)?;
    let is_idle = args.actions.0.is_empty() && args.program.is_none() && args.arguments.is_empty();
    if outcome != Outcome::Done || !(args.interactive || is_idle) {
        return Ok(outcome);
    }
    ended(vm.prompt(), terminal)
}
