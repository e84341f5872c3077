//! x86-64: registers and calling convention, instructions, their bytes, and the two entry points.
//!
//! Encodings are our own. No instruction beyond the x86-64 baseline is used without having been asked for in
//! [`super::Features`].

pub mod assembler;
mod body;
pub mod burst;
pub mod convention;
pub mod encode;
pub mod entry;
pub mod inst;
pub mod label;
pub mod reg;
#[cfg(test)]
mod tests;
