//! Large sets that a graph asks: tables outside of it, which it knows by their answers only.
//!
//! A switch holds its ranges itself, which every pass may look into. That is right for hundreds, and too slow for a million. Such a set is built
//! by whoever knows its form, and asked with numbers of the packet: one for an IPv4 address, four for one of IPv6.

use std::fmt::Debug;

/// A set of rows of 32-bit numbers.
///
/// The same row has the same answer for as long as the set lives. A set that changes is another set: compile again, or
/// give membership as an input.
pub trait Members: Debug + Send + Sync {
    /// How many numbers a row has, at most [`WORDS_MAX`].
    fn words(&self) -> usize;
    /// Whether a row of so many numbers is in the set. It does not panic.
    fn contains(&self, row: &[u32]) -> bool;
    /// What it is, in few words: `1000000 intervals of IPv4 addresses`.
    fn describe(&self) -> String;
}

/// Numbers of a row at most: an IPv6 address and a port.
pub const WORDS_MAX: usize = 5;
