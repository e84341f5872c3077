//! `sluss explain`: what a filter matches, in plain words.

mod program;

use crate::args::{At, ExplainArgs};
use crate::bytecode;
use crate::exit::{Failure, Outcome};
use crate::json::{looked_up_object, value_of};
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
    let (lints, explanation, looked_up) = if args.text.is_program {
        let looked_up = compiler.compile_match(&source).map_err(wrong)?.looked_up();
        let lints = compiler.lints_of_match(&source).map_err(wrong)?;
        (lints, compiler.explain_match(&source).map_err(wrong)?, looked_up)
    } else {
        compiler.compile(&source).map_err(wrong)?;
        (compiler.lints(&source).map_err(wrong)?, compiler.explain(&source).map_err(wrong)?, None)
    };
    let output = if args.text.json {
        let lints: Vec<Value> = lints.iter().map(|lint| value_of(&lint.to_json())).collect();
        let mut object = json!({
            "v": 1,
            "type": "explain",
            "filter": &*source,
            "linktype": linktype.to_string(),
            "canonical": explanation.canonical,
            "words": explanation.to_string(),
            "lints": lints,
        });
        if let Some(looked_up) = &looked_up {
            object["looked_up"] = looked_up_object(looked_up);
        }
        format!("{object}\n")
    } else {
        let lints: String = lints
            .iter()
            .map(|lint| format!("\n{}\n", lint.render(&source, terminal.colour_stdout.into()).trim_end()))
            .collect();
        let tables = looked_up.iter().flat_map(|looked_up| {
            let tables = looked_up.tables.iter().map(|table| format!("  {table}\n"));
            std::iter::once(format!("{looked_up}\n")).chain(tables)
        });
        let words = explanation.to_string() + &tables.collect::<String>();
        columns(std::io::stdout()).map_or_else(|| words.clone(), |width| folded(&words, width)) + &lints
    };
    print(&output)?;
    Ok(Outcome::Done)
}
