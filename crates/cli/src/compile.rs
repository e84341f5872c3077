//! `sluss compile`: any stage of a compilation, as text.

use crate::args::{At, CompileArgs};
use crate::exit::{Failure, Outcome};
use crate::language;
use crate::terminal::{Terminal, print};
use serde_json::json;

/// Runs the command.
pub(crate) fn run(args: &CompileArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let source = language::given(&args.text)?;
    let linktype = args.text.linktype;
    let compiler = language::compiler(linktype, &args.text.language, At::Auto);
    let printed = compiler
        .print(&source, args.stage)
        .map_err(|error| language::wrong_filter(error, &source, &args.text.language, terminal))?;
    let output = if args.text.json {
        let object = json!({
            "v": 1,
            "type": "compile",
            "filter": &*source,
            "linktype": linktype.to_string(),
            "stage": args.stage.to_string(),
            "text": printed,
        });
        format!("{object}\n")
    } else {
        printed
    };
    print(&output)?;
    Ok(Outcome::Done)
}
