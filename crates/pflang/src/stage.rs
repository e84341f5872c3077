//! The stages between text and filter, as text: what `sluss compile --stage` prints, and the golden files and the
//! gallery hold.
//!
//! A stage is computed only as far as it is needed, so that the tokens of a text which does not parse can be seen,
//! and the tree of one whose names are unknown.

use crate::compiler::{Compiler, whole};
use crate::diag::{Code, Diagnostic, Error};
use crate::ir::verify::{Checked, Verified};
use crate::syntax::lex::Within;
use crate::{NoCode, ir, lower, syntax, x64};
use std::fmt;
use std::str::FromStr;

/// A form that a filter takes on its way from text to code.
///
/// ```
/// use pflang::Stage;
///
/// assert_eq!("asm".parse(), Ok(Stage::Asm));
/// assert_eq!(Stage::Asm.name(), "asm");
/// assert_eq!(Stage::ALL.first(), Some(&Stage::Tokens));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// The words and signs of the text.
    Tokens,
    /// The syntax tree.
    Ast,
    /// The tree of tests over loads.
    Lowered,
    /// The decision graph as built.
    Graph,
    /// The decision graph after optimisation.
    Optimised,
    /// The optimised graph with its values named.
    Anf,
    /// The optimised graph as basic blocks with dominators.
    Ssa,
    /// Instructions over virtual registers.
    Selected,
    /// These instructions over machine registers.
    Allocated,
    /// Machine code as address, bytes, mnemonic and source.
    Asm,
    /// Machine code and tables in hexadecimal.
    Bytes,
}

impl Stage {
    /// Every stage, the earliest first.
    ///
    /// ```
    /// use pflang::Stage;
    ///
    /// assert_eq!(Stage::ALL.last(), Some(&Stage::Bytes));
    /// ```
    pub const ALL: &[Stage] = {
        use Stage::*;
        &[Tokens, Ast, Lowered, Graph, Optimised, Anf, Ssa, Selected, Allocated, Asm, Bytes]
    };

    /// Its name on the command line.
    ///
    /// ```
    /// assert_eq!(pflang::Stage::Optimised.name(), "optimised");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Lowered => "lowered",
            Stage::Graph => "graph",
            Stage::Optimised => "optimised",
            Stage::Anf => "anf",
            Stage::Ssa => "ssa",
            Stage::Selected => "selected",
            Stage::Allocated => "allocated",
            Stage::Asm => "asm",
            Stage::Bytes => "bytes",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no stage.
///
/// ```
/// let error = "assembly".parse::<pflang::Stage>().unwrap_err();
/// assert!(error.to_string().starts_with("`assembly` is no stage; the stages are tokens, ast"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStage(String);

impl fmt::Display for UnknownStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        write!(f, "`{}` is no stage; the stages are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownStage {}

impl FromStr for Stage {
    type Err = UnknownStage;

    fn from_str(name: &str) -> Result<Self, UnknownStage> {
        let found = Stage::ALL.iter().find(|stage| stage.name() == name);
        found.copied().ok_or_else(|| UnknownStage(name.to_owned()))
    }
}

impl Compiler {
    /// Prints `source` at a stage: lines for people to read, not a format for programs.
    ///
    /// # Errors
    /// As [`Compiler::compile`], from the steps up to the stage.
    ///
    /// ```
    /// use pflang::{Compiler, Stage};
    /// use wire::LinkType;
    ///
    /// let text = Compiler::new(LinkType::EN10MB).print("arp", Stage::Optimised)?;
    /// // The two bytes are compared as they are in memory, without swapping them.
    /// assert!(text.contains("le16[12] == 0x608"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn print(&self, source: &str, stage: Stage) -> Result<String, Error> {
        let printed = match stage {
            Stage::Tokens => tokens(source),
            Stage::Ast => self.parse(source).map(|ast| syntax::print::tree(&ast)),
            Stage::Lowered => self.lowered(source).map(|lowered| lower::print::tree(&lowered, source)),
            Stage::Graph => return self.as_written(source).map(|graph| ir::print::listing(&graph, source)),
            _ => self.graph(source, self.passes()).and_then(|graph| {
                let printed = print_graph(&graph, &self.decide_options(), source, stage);
                printed.map_err(|error| no_code(source, error))
            }),
        };
        printed.map_err(|diagnostic| Error::new(diagnostic, source.into()))
    }

    /// Prints a pfmatch program at a stage.
    ///
    /// # Errors
    /// As [`Compiler::compile_match`], from the steps up to the stage.
    ///
    /// ```
    /// use pflang::{Compiler, LinkType, Stage};
    ///
    /// let program = "match { arp => a(len), ip => b }";
    /// let text = Compiler::new(LinkType::EN10MB).print_match(program, Stage::Optimised)?;
    /// assert!(text.contains("leaf 1: a(len)") && text.contains("leaf 2: b"), "{text}");
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn print_match(&self, source: &str, stage: Stage) -> Result<String, Error> {
        let wrong = |found| Error::new(found, source.into());
        if stage == Stage::Tokens {
            return tokens_within(source, Within::Program).map_err(wrong);
        }
        let read = self.read_match(source)?;
        let text = match stage {
            Stage::Ast => return Ok(syntax::print::program(&read.program)),
            Stage::Lowered => return Ok(lower::print::program(&read.lowered, read.text())),
            Stage::Graph => ir::print::listing(&read.graph_as_written()?, read.text()),
            _ => print_graph(&read.graph(self)?, &self.decide_options(), read.text(), stage)
                .map_err(|error| wrong(no_code(read.text(), error)))?,
        };
        // Bytes are for programs.
        Ok(if stage == Stage::Bytes { text } else { text + &lower::print::leaves(&read.lowered) })
    }
}

/// The stages that the graph goes through which back ends take.
///
/// # Errors
/// Where there is no machine code for it.
pub fn print_graph(
    checked: &Checked,
    options: &decide::Options,
    source: &str,
    stage: Stage,
) -> Result<String, NoCode> {
    let code = |print: &dyn Fn(Verified<'_>, &x64::Options) -> Result<String, NoCode>| {
        print(checked.verified(), &options.for_x64())
    };
    let graph = checked.graph();
    match stage {
        Stage::Anf => Ok(ir::anf::view(graph, source)),
        Stage::Ssa => Ok(ir::ssa::view(graph, source)),
        Stage::Selected => code(&x64::print_selected),
        Stage::Allocated => code(&x64::print_allocated),
        Stage::Asm => code(&|graph, options| {
            let mut options = *options;
            options.listing = x64::Listing::Kept;
            Ok(x64::compile(graph, &options)?.print_asm(graph.graph(), source))
        }),
        Stage::Bytes => code(&|graph, options| Ok(x64::compile(graph, options)?.print_bytes())),
        _ => Ok(ir::print::listing(graph, source)),
    }
}

fn tokens(source: &str) -> Result<String, Box<Diagnostic>> {
    tokens_within(source, Within::Filter)
}

fn tokens_within(source: &str, within: Within) -> Result<String, Box<Diagnostic>> {
    let tokens = syntax::lex::lex_within(source, within);
    let text = syntax::print::tokens(&tokens);
    tokens.error.map_or(Ok(text), |diagnostic| Err(Box::new(diagnostic)))
}

fn no_code(source: &str, error: NoCode) -> Box<Diagnostic> {
    let help = "the interpreter runs this filter; stages up to `ssa` can be printed";
    Box::new(Diagnostic::new(Code::Limit, whole(source), error.to_string()).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Limits;
    use wire::LinkType;

    #[test]
    fn names_are_read_back() {
        for &stage in Stage::ALL {
            assert_eq!(stage.to_string().parse(), Ok(stage));
        }
        assert!("machine".parse::<Stage>().unwrap_err().to_string().contains("optimised"));
    }

    /// The interpreter has no use for loads in the order of memory.
    #[test]
    fn the_graph_is_what_the_back_end_wants() {
        let compiler = Compiler::new(LinkType::EN10MB);
        assert!(compiler.print("arp", Stage::Optimised).unwrap().contains("le16[12] == 0x608"));
        let interpreted = compiler.backend(crate::Backend::Interpreter);
        assert!(interpreted.print("arp", Stage::Optimised).unwrap().contains("be16[12] == 0x806"));
    }

    #[test]
    fn early_stages_do_not_need_the_later() {
        let compiler = Compiler::new(LinkType::EN10MB);
        assert!(compiler.print("host nowhere.example", Stage::Ast).is_ok());
        assert!(compiler.print("host nowhere.example", Stage::Graph).is_err());
        assert!(compiler.print("and and", Stage::Tokens).is_ok());
        assert!(compiler.print("and and", Stage::Ast).is_err());
        assert!(compiler.print("ip[0] @ 1", Stage::Tokens).is_err());
        let compiler = compiler.limits(Limits { code_bytes: 10, ..Limits::default() });
        assert!(compiler.print("tcp", Stage::Optimised).is_ok());
        assert!(compiler.print("tcp", Stage::Asm).is_err());
    }

    #[test]
    fn every_stage_of_a_long_filter_is_short_enough_to_print() {
        let source = (0..2000).map(|i| format!("host 10.0.{}.{}", i / 256, i % 256)).collect::<Vec<_>>();
        let source = source.join(" or ");
        let compiler = Compiler::new(LinkType::EN10MB);
        for &stage in Stage::ALL {
            let text = compiler.print(&source, stage).unwrap();
            assert!(!text.is_empty() && text.len() < 200 * source.len(), "{stage}: {} bytes", text.len());
        }
    }
}
