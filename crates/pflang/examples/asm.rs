//! Prints the machine code of a filter with every stage before it.
use pflang::emit::{self, Options};
use pflang::ir::verify::Verified;
use pflang::{Compiler, Stage};
use wire::LinkType;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = std::env::args().nth(1).unwrap_or_default();
    let compiler = Compiler::new(LinkType::EN10MB);
    println!("{}", compiler.print(&source, Stage::Optimised)?);
    let stages = compiler.stages(&source)?;
    let graph = Verified::new(&stages.optimised)
        .or_else(|_| Verified::new(&stages.graph))
        .map_err(|e| format!("{e:?}"))?;
    let options = Options::default();
    println!("{}", emit::print_selected(graph, &options)?);
    println!("{}", emit::print_allocated(graph, &options)?);
    println!("{}", emit::compile(graph, &options)?.print_asm(graph.graph(), &source));
    Ok(())
}
