//! Programs of BPF in the place of filters: where they come from, and what is told of their errors.

pub(crate) mod words;

use crate::args::{At, Front, LanguageArgs, ProgramArgs};
use crate::exit::Failure;
use crate::language::FilterText;
use bpf::{Error, ErrorKind, Filter, Options, Program, libpcap};
use pflang::Backend;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use wire::LinkType;

/// So much of a file is read: as many instructions as are taken have less, in any format.
const BYTES_MAX: u64 = 64 << 20;

/// Reads a program from a file, or from standard input.
pub(crate) fn read(path: &Path) -> Result<FilterText, Failure> {
    let mut bytes = Vec::new();
    let name = path.display();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes)),
    };
    read.map_err(|error| {
        Failure::world(format!("cannot read the program {name}: {error}")).if_missing(path, &error)
    })?;
    let program = bpf::read(&bytes).map_err(|error| {
        let failure = Failure::user(format_args!("the program {name}: {error}"));
        error.help().map_or_else(
            || Failure::user(format_args!("the program {name}: {error}")),
            |help| failure.help(help),
        )
    })?;
    Ok(FilterText::of_program(program, path.to_owned()))
}

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
    let mut options = Options::default();
    if at == At::Interp {
        options.backend = Backend::Interpreter;
    }
    Filter::new(program, &options).map_err(|error| wrong(&error))
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
