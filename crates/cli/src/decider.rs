//! What a text, or bytecode in its place, has become: ready to be asked about packets.

use bpf::Program;
use pflang::{Filter, Matcher, NoExec, Packet};
use std::sync::Arc;

/// What is asked about packets.
#[derive(Clone)]
pub(crate) enum Decider {
    /// Whether they match.
    Filter(Filter),
    /// The same, by bytecode.
    Bytecode(bpf::Filter),
    /// The same, by bytecode that asks for what only the kernel knows of a packet. It was asked there: what comes here matches.
    InKernel(Arc<Program>),
    /// Which handler they are for.
    Program(Matcher),
}

impl Decider {
    /// Which packets match, and how many. (Of a program that is asked otherwise, none.)
    pub(crate) fn match_burst(&self, packets: &[Packet<'_>], bits: &mut [u64]) -> usize {
        match self {
            Decider::Filter(filter) => filter.match_burst(packets, bits),
            Decider::Bytecode(filter) => filter.match_burst(packets, bits),
            Decider::InKernel(_) => {
                for (word, packets) in bits.iter_mut().zip(packets.chunks(64)) {
                    *word = u64::MAX >> (64 - packets.len());
                }
                packets.len()
            }
            Decider::Program(_) => 0,
        }
    }

    /// Why there is no machine code, where it was wanted.
    pub(crate) fn fallback_reason(&self) -> Option<&NoExec> {
        match self {
            Decider::Filter(filter) => filter.fallback_reason(),
            Decider::Bytecode(filter) => filter.fallback_reason(),
            Decider::InKernel(_) => None,
            Decider::Program(program) => program.fallback_reason(),
        }
    }
}
