//! From text to syntax tree.

pub mod ast;
pub mod codes;
mod cursor;
mod display_filter;
mod expect;
pub mod fmt;
pub(crate) mod habits;
pub(crate) mod ident;
pub mod lex;
mod literal;
pub mod parse;
mod primitive;
pub mod print;
mod slips;
pub(crate) mod suggest;
pub mod words;
