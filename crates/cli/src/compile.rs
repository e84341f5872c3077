//! `sluss compile`: any stage of a compilation, or a filter for another compiler, as text.

use crate::args::{At, CompileArgs, Target};
use crate::exit::{Failure, Outcome};
use crate::json::value_of;
use crate::language;
use crate::terminal::{Terminal, print};
use serde_json::{Value, json};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &CompileArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let source = language::given(&args.text)?;
    let linktype = args.text.linktype;
    let compiler = language::compiler(linktype, &args.text.language, At::Auto);
    let printed = match args.to {
        None => compiler.print(&source, args.stage),
        Some(Target::C) => compiler.to_c(&source, &args.name),
    };
    let printed = printed
        .map_err(|error| language::wrong_filter(&compiler, &error, &source, &args.text.language, terminal))?;
    // The stage may be one in front of those that refuse the filter.
    let lints = compiler.lints(&source).unwrap_or_default();
    let output = if args.text.json {
        let lints: Vec<Value> = lints.iter().map(|lint| value_of(&lint.to_json())).collect();
        let mut object = json!({
            "v": 1,
            "type": "compile",
            "filter": &*source,
            "linktype": linktype.to_string(),
        });
        match args.to {
            None => object["stage"] = args.stage.to_string().into(),
            Some(target) => {
                object["to"] = target.name().into();
                object["name"] = args.name.as_str().into();
            }
        }
        object["text"] = printed.into();
        object["lints"] = lints.into();
        format!("{object}\n")
    } else {
        language::tell_lints(&lints, &source, terminal);
        printed
    };
    match &args.output {
        Some(path) if path != Path::new("-") => {
            std::fs::write(path, output).map_err(|error| Failure::writing(&path.to_string_lossy(), &error))?
        }
        _ => print(&output)?,
    }
    Ok(Outcome::Done)
}
