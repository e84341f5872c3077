//! The fields of a packet.

use super::BURST;
use super::depends::{CommonHeader, depends};
use super::term::{DPORT, DST, SPORT, SRC};
use crate::clock::{Clock, worded};
use crate::compiler::Compiler;
use crate::diag::Diagnostic;
use crate::exec::Packet;
use crate::ir::{BinOp, Graph, Order, Pool, Size, Value, ValueId};
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

/// Where a value of a leaf lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At this offset.
    Fixed(usize, Size),
    /// Behind an IPv4 header: the offset of the header, whose length counts, and that of the value besides.
    BehindIp4(usize, usize, Size),
}

impl Place {
    /// The places of values that lie where most do. PERF: to read them here is half of the cost of a call.
    fn of(pool: &Pool, value: ValueId) -> Option<Place> {
        let Value::Load { base, offset, size, order: Order::Network } = pool.get(value) else { return None };
        let offset = offset as usize;
        match pool.get(base) {
            Value::Const(base) => Some(Place::Fixed(offset + base as usize, size)),
            Value::Op(BinOp::Shl, words, two) if pool.as_const(two) == Some(2) => match pool.get(words) {
                Value::Op(BinOp::And, first, low) if pool.as_const(low) == Some(0xf) => {
                    match Place::of(pool, first)? {
                        Place::Fixed(header, Size::B1) => Some(Place::BehindIp4(header, offset, size)),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is the same place, and has the same value, in all packets with this header.
    fn is_common(self, header: &CommonHeader) -> bool {
        let (at, size) = match self {
            Place::Fixed(at, size) => (at, size),
            Place::BehindIp4(first, offset, size) => match header.byte(first) {
                Some(first) => (offset + 4 * usize::from(first & 0xf), size),
                None => return false,
            },
        };
        header.is_same(at..at + size.bytes() as usize)
    }

    #[inline]
    fn read(self, captured: &[u8]) -> Option<u32> {
        let (at, size) = match self {
            Place::Fixed(at, size) => (at, size),
            Place::BehindIp4(header, offset, size) => {
                (offset + 4 * usize::from(captured.get(header)? & 0xf), size)
            }
        };
        let rest = captured.get(at..)?;
        Some(match size {
            Size::B1 => u32::from(*rest.first()?),
            Size::B2 => u32::from(u16::from_be_bytes(*rest.first_chunk()?)),
            Size::B4 => u32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

/// The program that finds the fields of packets.
#[derive(Debug)]
pub(super) struct Fields {
    decision: Decision,
    leaves: LeafValues,
    /// By leaf, from 1: what it says, and where its values lie; `None` where they are to be computed.
    places: Vec<(Class, Option<Vec<Place>>)>,
}

impl Fields {
    /// `None` where a link type is not of the kind that this is for.
    pub(super) fn new(
        compiler: &Compiler,
        wanted: Wanted,
        clock: Clock,
    ) -> Result<Option<Fields>, Box<Diagnostic>> {
        let Some(program) = lower::lower_key(wanted, &compiler.lower_options(), clock)? else {
            return Ok(None);
        };
        let KeyProgram { tree, mut clauses, leaves } = program;
        let pool = tree.pool.clone();
        let graph = compiler.checked(tree, &mut clauses, compiler.passes(), &clock, "")?;
        let options = compiler.decide_options();
        let places = leaves.iter().map(|(answer, values)| {
            let places = values.iter().map(|value| Place::of(&pool, *value)).collect();
            (Class::of_answer(answer), places)
        });
        let places = places.collect();
        let leaves = leaves.compile(&pool, &options);
        let wrong = |error| worded(error, crate::Span::default());
        let leaves = leaves.map_err(wrong)?;
        let decision = Decision::of_checked(graph, &options).map_err(|error| wrong(error.into()))?;
        Ok(Some(Fields { decision, leaves, places }))
    }

    pub(super) fn graph(&self) -> &Graph {
        self.decision.graph()
    }

    /// Whether the fields of all packets with this header are the same.
    pub(super) fn is_common(&self, header: &CommonHeader) -> bool {
        let Some(leaves) = depends(self.graph(), header, &mut Vec::new()) else { return false };
        leaves.into_iter().filter_map(|leaf| self.places.get((leaf as usize).checked_sub(1)?)).all(
            |(_, places)| {
                places.as_ref().is_some_and(|places| places.iter().all(|place| place.is_common(header)))
            },
        )
    }

    /// The fields of a packet.
    #[inline]
    pub(super) fn of(&self, captured: &[u8], wire_len: u32) -> Key {
        let leaf = self.decision.leaf(captured, wire_len);
        let mut key = Key::default();
        self.fill(leaf, captured, wire_len, &mut key);
        key
    }

    /// The fields of packets. `keys` are empty ones.
    pub(super) fn of_each(&self, packets: &[Packet<'_>], keys: &mut [Key]) {
        let mut leaves = [0; BURST];
        let leaves = &mut leaves[..packets.len()];
        self.decision.run_burst(packets, leaves);
        for ((packet, key), leaf) in packets.iter().zip(keys).zip(leaves) {
            self.fill(*leaf, packet.data(), packet.wire_len(), key);
        }
    }

    /// The fields of a packet that reaches this leaf, into an empty key. PERF: in its place, since what has been written in small parts is not there yet when it
    /// is copied as a whole.
    #[inline]
    fn fill(&self, leaf: u32, captured: &[u8], wire_len: u32, key: &mut Key) {
        let leaf_at = (leaf as usize).checked_sub(1).and_then(|at| self.places.get(at));
        let Some((class, places)) = leaf_at else { return };
        let class = *class;
        let mut values = [0; VALUES_MAX];
        // The leaf has asked whether they are in the packet.
        let values = match places {
            Some(places) => {
                let values = &mut values[..places.len().min(VALUES_MAX)];
                for (value, place) in values.iter_mut().zip(places) {
                    *value = place.read(captured).unwrap_or(0);
                }
                values
            }
            None => {
                let values = &mut values[..self.leaves.count(leaf).min(VALUES_MAX)];
                self.leaves.values(leaf, captured, wire_len, &[], values);
                values
            }
        };
        key.class = class;
        let words = class.words();
        for end in 0..usize::from(class.addresses) {
            match values[end * words..(end + 1) * words] {
                [address] => key.v4[end] = address,
                ref address => {
                    key.v6[end] = address.iter().fold(0, |bits, word| bits << 32 | u128::from(*word));
                }
            }
        }
        key.there = [0, SRC, SRC | DST][usize::from(class.addresses)];
        match (class.ports, values.last()) {
            (2, Some(&both)) => {
                key.ports = [(both >> 16) as u16, both as u16];
                key.there |= SPORT | DPORT;
            }
            (1, Some(&port)) => {
                key.ports = [port as u16, 0];
                key.there |= SPORT;
            }
            _ => {}
        }
    }
}
