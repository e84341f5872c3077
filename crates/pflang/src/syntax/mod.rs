//! From text to syntax tree.
//!
//! ```text
//! lex -> parser -> ast -> fmt, print
//! ```

pub mod ast;
pub mod codes;
pub mod fmt;
pub mod lex;
mod literal;
pub mod parse;
pub(crate) mod parser;
pub mod print;
pub(crate) mod range;
pub mod words;
