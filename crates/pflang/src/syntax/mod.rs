//! From text to syntax tree.
//!
//! ```text
//! lex -> parser -> ast, program -> fmt, print
//! ```

pub mod ast;
pub mod codes;
pub mod fmt;
pub mod lex;
mod literal;
pub mod parse;
pub(crate) mod parser;
pub mod print;
pub mod program;
pub(crate) mod range;
pub mod words;
