//! `sluss explain`: what a filter matches, in plain words.

mod program;

use crate::args::{At, ExplainArgs};
use crate::bytecode;
use crate::exit::{Failure, Outcome};
use crate::json::value_of;
use crate::language;
use crate::matches;
use crate::table::folded;
use crate::terminal::{Terminal, columns, print};
use serde_json::{Value, json};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let source = language::given(&args.text)?;
    let linktype = args.text.linktype;
    if let Some(program) = bytecode::of(&source, &args.text.program, linktype, &args.text.language)? {
        return program::run(args, &source, &program);
    }
    let filters = language::compiler(linktype, &args.text.language, At::Auto);
    let compiler = matches::options(&args.text.pfmatch).compiler(filters);
    let wrong = |error: pflang::Error| {
        language::wrong_filter(&compiler, &error, &source, &args.text.language, terminal)
    };
    let (lints, explanation) = if args.text.is_program {
        compiler.compile_match(&source).map_err(wrong)?;
        (compiler.lints_of_match(&source).map_err(wrong)?, compiler.explain_match(&source).map_err(wrong)?)
    } else {
        compiler.compile(&source).map_err(wrong)?;
        (compiler.lints(&source).map_err(wrong)?, compiler.explain(&source).map_err(wrong)?)
    };
    let output = if args.text.json {
        let lints: Vec<Value> = lints.iter().map(|lint| value_of(&lint.to_json())).collect();
        let object = json!({
            "v": 1,
            "type": "explain",
            "filter": &*source,
            "linktype": linktype.to_string(),
            "canonical": explanation.canonical,
            "words": explanation.to_string(),
            "lints": lints,
        });
        format!("{object}\n")
    } else {
        let lints: String = lints
            .iter()
            .map(|lint| format!("\n{}\n", lint.render(&source, terminal.colour_stdout.into()).trim_end()))
            .collect();
        let words = explanation.to_string();
        columns(std::io::stdout()).map_or_else(|| words.clone(), |width| folded(&words, width)) + &lints
    };
    print(&output)?;
    Ok(Outcome::Done)
}
