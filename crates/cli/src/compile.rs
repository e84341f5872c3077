//! `sluss compile`: any stage of a compilation, as text.

use crate::args::{At, CompileArgs};
use crate::exit::{Failure, Outcome};
use crate::json::value_of;
use crate::language;
use crate::terminal::{Terminal, print};
use serde_json::{Value, json};

/// Runs the command.
pub(crate) fn run(args: &CompileArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let source = language::given(&args.text)?;
    let linktype = args.text.linktype;
    let compiler = language::compiler(linktype, &args.text.language, At::Auto);
    let printed = compiler
        .print(&source, args.stage)
        .map_err(|error| language::wrong_filter(&compiler, &error, &source, &args.text.language, terminal))?;
    // The stage may be one in front of those that refuse the filter.
    let lints = compiler.lints(&source).unwrap_or_default();
    let output = if args.text.json {
        let lints: Vec<Value> = lints.iter().map(|lint| value_of(&lint.to_json())).collect();
        let object = json!({
            "v": 1,
            "type": "compile",
            "filter": &*source,
            "linktype": linktype.to_string(),
            "stage": args.stage.to_string(),
            "text": printed,
            "lints": lints,
        });
        format!("{object}\n")
    } else {
        language::tell_lints(&lints, &source, terminal);
        printed
    };
    print(&output)?;
    Ok(Outcome::Done)
}
