//! `sluss compile`: any stage of a compilation as text, or a filter written for another compiler or machine.

use crate::args::{At, CompileArgs, Target};
use crate::bytecode;
use crate::exit::{Failure, Outcome};
use crate::json::{hex, value_of};
use crate::language::{self, FilterText};
use crate::matches;
use crate::terminal::{Terminal, print_with};
use bpf::internals::Stages;
use bpf::{Format, Options, Program};
use decide::internals::ir::print::listing;
use pflang::internals::print_graph;
use pflang::{Diagnostic, Stage};
use serde_json::{Value, json};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &CompileArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    if args.format.is_some() && args.to != Some(Target::Cbpf) {
        return Err(Failure::user("`--format` is how bytecode is written: it stands beside `--to cbpf`"));
    }
    let source = language::given(&args.text)?;
    let linktype = args.text.linktype;
    let (printed, lints) = match bytecode::of(&source, &args.text.program, linktype, &args.text.language)? {
        Some(program) => (of_program(args, &program)?, Vec::new()),
        None if args.text.is_program => of_match(args, &source, terminal)?,
        None => of_text(args, &source, terminal)?,
    };
    let output = if args.text.json {
        let lints: Vec<Value> = lints.iter().map(|lint| value_of(&lint.to_json())).collect();
        let mut object = json!({
            "v": 1,
            "type": "compile",
            "filter": if source.program().is_some() { source.shown() } else { source.to_string() },
            "linktype": linktype.to_string(),
        });
        match args.to {
            None => object["stage"] = args.stage.to_string().into(),
            Some(target) => object["to"] = target.name().into(),
        }
        match args.to {
            Some(Target::C) => object["name"] = args.name.as_str().into(),
            Some(Target::Cbpf) => object["format"] = args.format.unwrap_or_default().name().into(),
            None | Some(Target::Lua) => {}
        }
        // Raw instructions are no text.
        match String::from_utf8(printed) {
            Ok(text) if args.format != Some(Format::Raw) => object["text"] = text.into(),
            Ok(text) => object["hex"] = hex(text.as_bytes()).into(),
            Err(raw) => object["hex"] = hex(raw.as_bytes()).into(),
        }
        object["lints"] = lints.into();
        format!("{object}\n").into_bytes()
    } else {
        language::tell_lints(&lints, &source, terminal);
        printed
    };
    match &args.output {
        Some(path) if path != Path::new("-") => {
            std::fs::write(path, output).map_err(|error| Failure::writing(&path.to_string_lossy(), &error))?
        }
        _ => print_with(|out| out.write_all(&output))?,
    }
    Ok(Outcome::Done)
}

/// What is to be printed of a filter, and its lints.
fn of_text(
    args: &CompileArgs,
    source: &FilterText,
    terminal: &Terminal,
) -> Result<(Vec<u8>, Vec<Diagnostic>), Failure> {
    let language = &args.text.language;
    let compiler = language::compiler(args.text.linktype, language, At::Auto);
    let printed = match args.to {
        None => compiler.print(source, args.stage).map(String::into_bytes),
        Some(Target::C) => compiler.to_c(source, &args.name).map(String::into_bytes),
        Some(Target::Lua) => compiler.to_lua(source).map(String::into_bytes),
        Some(Target::Cbpf) => compiler.to_cbpf(source).map(|insns| written(args, &insns.into())),
    };
    let printed =
        printed.map_err(|error| language::wrong_filter(&compiler, &error, source, language, terminal))?;
    // The stage may be one in front of those that refuse the filter.
    Ok((printed, compiler.lints(source).unwrap_or_default()))
}

/// What is to be printed of a pfmatch program, and its lints.
fn of_match(
    args: &CompileArgs,
    source: &FilterText,
    terminal: &Terminal,
) -> Result<(Vec<u8>, Vec<Diagnostic>), Failure> {
    let language = &args.text.language;
    let filters = language::compiler(args.text.linktype, language, At::Auto);
    let compiler = matches::options(&args.text.pfmatch).compiler(filters);
    let printed = match args.to {
        None => compiler.print_match(source, args.stage),
        Some(Target::Lua) => compiler.match_to_lua(source),
        Some(Target::Cbpf) => {
            return Err(Failure::user("a pfmatch program cannot be written as `cbpf`")
                .help("bytecode ends at the first load that fails, where a program goes on; `--to lua` and `--to c` take programs"));
        }
        Some(Target::C) => compiler.match_to_c(source, &args.name),
    };
    let printed =
        printed.map_err(|error| language::wrong_filter(&compiler, &error, source, language, terminal))?;
    Ok((printed.into_bytes(), compiler.lints_of_match(source).unwrap_or_default()))
}

/// What is to be printed of a program of BPF.
fn of_program(args: &CompileArgs, program: &Program) -> Result<Vec<u8>, Failure> {
    let options = Options::default();
    let stages = Stages::new(program, &[], &options).map_err(|error| bytecode::wrong(&error))?;
    let checked = |passes| stages.checked(passes, &options).map_err(|error| bytecode::wrong(&error));
    let text = match args.to {
        None if args.stage < Stage::Graph => {
            let message = format!("bytecode has no stage `{}`: it begins with `graph`", args.stage);
            Err(Failure::user(message))
        }
        None if args.stage == Stage::Graph => Ok(listing(&stages.graph, &stages.listing)),
        None => print_graph(&checked(options.passes())?, &options, &stages.listing, args.stage)
            .map_err(|error| Failure::user(error).help("stages up to `ssa` can be printed")),
        Some(Target::C) => stages.to_c(&args.name, &options).map_err(|error| bytecode::wrong(&error)),
        Some(Target::Lua) => stages.to_lua(&options).map_err(|error| bytecode::wrong(&error)),
        Some(Target::Cbpf) => {
            let again = stages.to_cbpf(&[], &options).map_err(|error| bytecode::wrong(&error))?;
            return Ok(written(args, &again));
        }
    };
    text.map(String::into_bytes)
}

/// A program in the format that was asked for.
fn written(args: &CompileArgs, program: &Program) -> Vec<u8> {
    program.write(args.format.unwrap_or_default())
}
