//! From text to syntax tree.

pub mod ast;
pub mod codes;
mod cursor;
mod display_filter;
mod expect;
mod fields;
pub mod fmt;
pub(crate) mod habits;
mod hints;
pub(crate) mod ident;
pub mod lex;
mod literal;
pub mod parse;
mod primitive;
pub mod print;
mod slips;
pub(crate) mod suggest;
mod width;
pub mod words;

/// The filter for a protocol that is neither a word nor one of IP's.
pub(crate) fn protocol_by_name(name: &str) -> Option<&'static str> {
    display_filter::protocol(name)
}
