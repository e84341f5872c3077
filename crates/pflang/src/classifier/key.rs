//! The fields of a packet.

use super::term::{DPORT, DST, SPORT, SRC};
use crate::compiler::Compiler;
use crate::diag::Diagnostic;
use crate::clock::{Clock, worded};
use crate::lower::{self, Class, KeyProgram, Wanted};
use decide::{Decision, LeafValues};

/// What a packet is looked up by. Fields that are not there are 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Key {
    pub(super) class: Class,
    /// The fields that are there.
    pub(super) there: u8,
    pub(super) v4: [u32; 2],
    pub(super) v6: [u128; 2],
    pub(super) ports: [u16; 2],
}

/// Values of a leaf at most: two IPv6 addresses and the ports.
const VALUES_MAX: usize = 9;

/// The program that finds the fields of packets.
#[derive(Debug)]
pub(super) struct Fields {
    decision: Decision,
    leaves: LeafValues,
    nodes: usize,
}

impl Fields {
    /// `None` where a link type is not of the kind that this is for.
    pub(super) fn new(
        compiler: &Compiler,
        wanted: Wanted,
        clock: Clock,
    ) -> Result<Option<Fields>, Box<Diagnostic>> {
        let Some(program) = lower::lower_key(wanted, &compiler.lower_options(), clock)? else { return Ok(None) };
        let KeyProgram { tree, mut clauses, leaves } = program;
        let pool = tree.pool.clone();
        let graph = compiler.checked(tree, &mut clauses, compiler.passes(), &clock, "")?;
        let nodes = graph.graph().node_count();
        let options = compiler.decide_options();
        let leaves = leaves.compile(&pool, &options);
        let wrong = |error| worded(error, crate::Span::default());
        let leaves = leaves.map_err(wrong)?;
        let decision = Decision::of_checked(graph, &options).map_err(|error| wrong(error.into()))?;
        Ok(Some(Fields { decision, leaves, nodes }))
    }

    /// Nodes of its graph.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// The fields of a packet.
    #[inline]
    pub(super) fn of(&self, captured: &[u8], wire_len: u32) -> Key {
        let leaf = self.decision.leaf(captured, wire_len);
        self.key(leaf, captured, wire_len)
    }

    /// The fields of a packet that reaches this leaf.
    #[inline]
    fn key(&self, leaf: u32, captured: &[u8], wire_len: u32) -> Key {
        let Some(answer) = self.leaves.answer(leaf) else { return Key::default() };
        let class = Class::of_answer(answer);
        let mut key = Key { class, ..Key::default() };
        let mut values = [0; VALUES_MAX];
        let count = self.leaves.count(leaf).min(VALUES_MAX);
        // The leaf has asked whether they can be computed.
        if !self.leaves.values(leaf, captured, wire_len, &[], &mut values[..count]) {
            return key;
        }
        let words = class.words();
        for end in 0..usize::from(class.addresses) {
            let address = &values[end * words..(end + 1) * words];
            match *address {
                [address] => key.v4[end] = address,
                _ => key.v6[end] = address.iter().fold(0, |bits, word| bits << 32 | u128::from(*word)),
            }
        }
        key.there = [0, SRC, SRC | DST][usize::from(class.addresses)];
        match (class.ports, count.checked_sub(1).map(|last| values[last])) {
            (2, Some(both)) => {
                key.ports = [(both >> 16) as u16, both as u16];
                key.there |= SPORT | DPORT;
            }
            (1, Some(port)) => {
                key.ports = [port as u16, 0];
                key.there |= SPORT;
            }
            _ => {}
        }
        key
    }
}
