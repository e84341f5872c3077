//! What a text, or bytecode in its place, has become: ready to be asked about packets.

use pflang::{Filter, Matcher, NoExec, Packet};

/// What is asked about packets.
#[derive(Clone)]
pub(crate) enum Decider {
    /// Whether they match.
    Filter(Filter),
    /// The same, by bytecode.
    Bytecode(bpf::Filter),
    /// Which handler they are for.
    Program(Matcher),
}

impl Decider {
    /// Which packets match, and how many. (Of a program that is asked otherwise, none.)
    pub(crate) fn match_burst(&self, packets: &[Packet<'_>], bits: &mut [u64]) -> usize {
        match self {
            Decider::Filter(filter) => filter.match_burst(packets, bits),
            Decider::Bytecode(filter) => filter.match_burst(packets, bits),
            Decider::Program(_) => 0,
        }
    }

    /// Why there is no machine code, where it was wanted.
    pub(crate) fn fallback_reason(&self) -> Option<&NoExec> {
        match self {
            Decider::Filter(filter) => filter.fallback_reason(),
            Decider::Bytecode(filter) => filter.fallback_reason(),
            Decider::Program(program) => program.fallback_reason(),
        }
    }
}
