//! How often a program has called each handler with each row of arguments.

use crate::exit::Failure;
use pflang::Call;
use std::collections::HashMap;

/// So many rows of arguments are told apart: of addresses that a capture makes up there is no end.
const CALLS_MAX: usize = 1 << 22;

/// Packets by handler and arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    /// By the text that is printed.
    packets: HashMap<Counted, u64>,
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Counted {
    pub(crate) handler: Box<str>,
    pub(crate) arguments: Box<[u32]>,
}

impl Tallies {
    /// Counts the calls for packets, in their order.
    pub(super) fn count<'c>(&mut self, calls: impl Iterator<Item = Option<Call<'c>>>) -> Result<(), Failure> {
        let mut calls = calls.flatten().peekable();
        while let Some(call) = calls.next() {
            // Packets of one kind often come behind each other.
            let mut packets = 1;
            while calls.next_if_eq(&call).is_some() {
                packets += 1;
            }
            self.add_to(Counted { handler: call.handler.into(), arguments: call.arguments.into() }, packets)?;
        }
        Ok(())
    }

    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, other: &Tallies) -> Result<(), Failure> {
        other.packets.iter().try_for_each(|(counted, packets)| self.add_to(counted.clone(), *packets))
    }

    fn add_to(&mut self, counted: Counted, packets: u64) -> Result<(), Failure> {
        *self.packets.entry(counted).or_insert(0) += packets;
        if self.packets.len() <= CALLS_MAX {
            return Ok(());
        }
        let told = format_args!("handlers are called with more than {CALLS_MAX} different rows of arguments");
        Err(Failure::user(told).help(
            "call them with fewer arguments, or with parts of them: `ip[12:2]` is a network of 16 bits",
        ))
    }

    /// Packets for which something was called.
    pub(crate) fn total(&self) -> u64 {
        self.packets.values().sum()
    }

    /// All calls, by handler and arguments.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Counted, u64)> {
        self.packets.iter().map(|(counted, packets)| (counted, *packets))
    }

    pub(super) fn clear(&mut self) {
        self.packets.clear();
    }
}

/// `handler(1,2)`; without arguments the name alone.
impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.handler)?;
        let Some((first, rest)) = self.arguments.split_first() else { return Ok(()) };
        write!(f, "({first}")?;
        rest.iter().try_for_each(|argument| write!(f, ",{argument}"))?;
        f.write_str(")")
    }
}
