//! The stages between text and filter, as text: what `sluss compile --stage` prints, and the golden files and the
//! gallery hold.
//!
//! A stage is computed only as far as it is needed, so that the tokens of a text which does not parse can be seen,
//! and the tree of one whose names are unknown.

use crate::compiler::Compiler;
use crate::diag::{Diagnostic, Error};
use crate::{ir, syntax};
use std::fmt;
use std::str::FromStr;

/// A form that a filter takes on its way from text to code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// The words and signs of the text.
    Tokens,
    /// The syntax tree.
    Ast,
    /// The decision graph as built.
    Graph,
    /// The decision graph after optimisation.
    Optimised,
}

impl Stage {
    /// Every stage, the earliest first.
    pub const ALL: &[Stage] = &[Stage::Tokens, Stage::Ast, Stage::Graph, Stage::Optimised];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Graph => "graph",
            Stage::Optimised => "optimised",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no stage.
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
    /// What `source` looks like at a stage: lines for people to read, not a format for programs.
    ///
    /// # Errors
    /// As [`Compiler::compile`], from the steps up to the stage.
    ///
    /// ```
    /// use pflang::{Compiler, Stage};
    /// use wire::LinkType;
    ///
    /// let text = Compiler::new(LinkType::EN10MB).print("arp", Stage::Optimised)?;
    /// assert!(text.contains("be16[12] == 0x806"));
    /// # Ok::<(), pflang::Error>(())
    /// ```
    pub fn print(&self, source: &str, stage: Stage) -> Result<String, Error> {
        match stage {
            Stage::Tokens => {
                let tokens = syntax::lex::lex(source);
                let text = syntax::print::tokens(&tokens);
                tokens.error.map_or(Ok(text), |diagnostic| Err(about(source, Box::new(diagnostic))))
            }
            Stage::Ast => {
                let ast = self.parse(source).map_err(|diagnostic| about(source, diagnostic))?;
                Ok(syntax::print::tree(&ast))
            }
            Stage::Graph => Ok(ir::print::listing(&self.stages(source)?.graph, source)),
            Stage::Optimised => Ok(ir::print::listing(&self.stages(source)?.optimised, source)),
        }
    }
}

fn about(source: &str, diagnostic: Box<Diagnostic>) -> Error {
    Error { diagnostic, source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::LinkType;

    #[test]
    fn names_are_read_back() {
        for &stage in Stage::ALL {
            assert_eq!(stage.to_string().parse(), Ok(stage));
        }
        assert!("machine".parse::<Stage>().unwrap_err().to_string().contains("optimised"));
    }

    #[test]
    fn early_stages_do_not_need_the_later() {
        let compiler = Compiler::new(LinkType::EN10MB);
        assert!(compiler.print("host nowhere.example", Stage::Ast).is_ok());
        assert!(compiler.print("host nowhere.example", Stage::Graph).is_err());
        assert!(compiler.print("and and", Stage::Tokens).is_ok());
        assert!(compiler.print("and and", Stage::Ast).is_err());
        assert!(compiler.print("ip[0] @ 1", Stage::Tokens).is_err());
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
