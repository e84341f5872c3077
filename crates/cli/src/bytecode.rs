//! Programs of BPF in the place of filters: what is to run, and what is told of their errors.

pub(crate) mod words;

use crate::args::{At, Front, LanguageArgs, ProgramArgs};
use crate::decider::Decider;
use crate::exit::Failure;
use crate::language::FilterText;
use bpf::{Error, ErrorKind, Filter, Options, Program, libpcap};
use pflang::Backend;
use std::sync::Arc;
use wire::LinkType;

/// The program that is to run in the place of a filter's text, checked: one that was given, or what libpcap makes of the text.
pub(crate) fn of(
    source: &FilterText,
    args: &ProgramArgs,
    linktype: LinkType,
    language: &LanguageArgs,
) -> Result<Option<Arc<Program>>, Failure> {
    let program = match (source.program(), args.front) {
        (Some(program), _) => Arc::clone(program),
        (None, Some(Front::Libpcap)) => {
            let program = libpcap::compile(linktype.value(), source, language.netmask);
            Arc::new(program.map_err(|error| wrong(&error))?)
        }
        (None, None) => return Ok(None),
    };
    if let Some(validate) = args.validate {
        program.check(validate).map_err(|error| wrong(&error))?;
    }
    Ok(Some(program))
}

/// Makes a program ready to run.
pub(crate) fn compile(program: &Program, at: At) -> Result<Filter, Failure> {
    compiled(program, at).map_err(|error| wrong(&error))
}

/// Makes a program ready that is asked about packets of a device: here, unless it asks for what only the kernel knows of them.
pub(crate) fn of_device(program: Arc<Program>, at: At) -> Result<Decider, Failure> {
    match compiled(&program, at) {
        Ok(filter) => Ok(Decider::Bytecode(filter)),
        Err(error) if matches!(error.kind(), ErrorKind::Ancillary(_)) => Ok(Decider::InKernel(program)),
        Err(error) => Err(wrong(&error)),
    }
}

fn compiled(program: &Program, at: At) -> Result<Filter, Error> {
    let mut options = Options::default();
    if at == At::Interp {
        options.backend = Backend::Interpreter;
    }
    Filter::new(program, &options)
}

/// What is wrong with a program.
pub(crate) fn wrong(error: &Error) -> Failure {
    let failure = match error.kind() {
        ErrorKind::NoLibpcap => Failure::world(format_args!("`--front libpcap`: {error}")),
        ErrorKind::Filter => Failure::user(error),
        _ => Failure::user(format_args!("the program is refused: {error}")),
    };
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}
