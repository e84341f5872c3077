//! Which of a million addresses, prefixes or rules is this packet? Structures that answer in a few cache lines, whatever their size.
//!
//! Absent: packets and their headers, files, the language of filters. Callers bring fields as numbers.

#![forbid(unsafe_code)]

pub mod lists;
#[cfg(all(test, loom))]
mod models;
pub mod rules;
pub mod set;
pub mod swap;
mod sync;
