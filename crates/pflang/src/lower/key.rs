//! The fields of a packet that lists of many tests look it up by: addresses, ports, what the link layer carries.
//!
//! ```text
//! ip   { tcp with both ports, and both addresses => leaf, whose values are these
//!        … with less of it, as far as the packet goes
//!        nothing of it => leaf }
//! ip6  { … }   arp { … }   rarp { … }
//! ```
//! The tests and places are those of `host`, `net`, `port` and the protocols' names, so that a field is here where these find it, and is not where they
//! cannot read it: ports in first fragments only, IPv6 behind extension headers where the dialect has it so.

use super::layers::Rel;
use super::link;
use super::lowerer::{Lowerer, Padding};
use super::numbers::{ethertype, ipproto};
use super::{NODES_LIKELY, Options, Result};
use crate::clock::Clock;
use crate::ir::tree::{Clause, Tree, TreeId};
use crate::ir::{Size, ValueId};
use decide::LeafTable;

/// What a packet is and which of its fields are there: the answer of a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class {
    /// What the link layer carries, one bit: see the constants.
    pub(crate) kind: u8,
    /// Addresses that are there: none, the source, or both.
    pub(crate) addresses: u8,
    /// Ports that are there: none, the source, or both.
    pub(crate) ports: u8,
    /// The protocol that the ports are of; 0 without.
    pub(crate) transport: u8,
}

impl Class {
    pub(crate) const IP: u8 = 1;
    pub(crate) const IP6: u8 = 2;
    pub(crate) const ARP: u8 = 4;
    pub(crate) const RARP: u8 = 8;

    /// Protocols that have ports.
    pub(crate) const TRANSPORTS: [u8; 3] = [ipproto::TCP as u8, ipproto::UDP as u8, ipproto::SCTP as u8];

    fn answer(self) -> u32 {
        u32::from_le_bytes([self.kind, self.addresses, self.ports, self.transport])
    }

    pub(crate) fn of_answer(answer: u32) -> Class {
        let [kind, addresses, ports, transport] = answer.to_le_bytes();
        Class { kind, addresses, ports, transport }
    }

    /// Words of an address.
    pub(crate) fn words(self) -> usize {
        if self.kind == Class::IP6 { 4 } else { 1 }
    }
}

/// The fields that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) addresses4: bool,
    pub(crate) addresses6: bool,
    pub(crate) ports: bool,
}

/// A lowered program that finds the fields. The values of a leaf are the words of the source and of the destination, then both ports in one
/// word, or the source port alone.
pub(crate) struct KeyProgram {
    pub(crate) tree: Tree,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) leaves: LeafTable,
}

/// The program for packets of a link type; `None` where fields are not always where they are in others, or what is carried is not told apart.
pub(crate) fn lower_key(wanted: Wanted, options: &Options<'_>, clock: Clock) -> Result<Option<KeyProgram>> {
    let mut lowerer = Lowerer::new(options, Tree::with_capacity(NODES_LIKELY), clock, Padding::Counted)?;
    if lowerer.layers.is_tagged || !link::is_plain(lowerer.outermost) {
        return Ok(None);
    }
    let mut key = Key { lowerer: &mut lowerer, clauses: Vec::new(), leaves: LeafTable::default(), wanted };
    key.ip4()?;
    key.ip6()?;
    key.arp(ethertype::ARP, Class::ARP)?;
    key.arp(ethertype::RARP, Class::RARP)?;
    let Key { clauses, leaves, .. } = key;
    Ok(Some(KeyProgram { tree: lowerer.tree, clauses, leaves }))
}

struct Key<'k, 'o> {
    lowerer: &'k mut Lowerer<'o>,
    clauses: Vec<Clause>,
    leaves: LeafTable,
    wanted: Wanted,
}

/// A way to ports: a test, the values that it finds, and how many of both ends.
struct Way {
    test: TreeId,
    value: Option<ValueId>,
    ports: u8,
    transport: u8,
}

impl Key<'_, '_> {
    fn ip4(&mut self) -> Result<()> {
        let link = self.lowerer.linktype(ethertype::IP)?;
        let mut ways = Vec::new();
        if self.wanted.ports {
            for transport in Class::TRANSPORTS {
                let same = self.lowerer.eq(Rel::Net, 9, Size::B1, transport.into());
                let first = self.lowerer.first_fragment();
                let place = self.lowerer.place(Rel::Ip4Payload);
                let carried = self.lowerer.and(same, first);
                for (ports, size) in [(2, Size::B4), (1, Size::B2)] {
                    let value = self.lowerer.load_at(place, 0, size);
                    ways.push(self.way(carried, value, (ports, transport)));
                }
            }
        }
        let addresses: &[u32] = if self.wanted.addresses4 { &[12, 16] } else { &[] };
        self.block(link, Class::IP, ways, addresses)
    }

    fn ip6(&mut self) -> Result<()> {
        let link = self.lowerer.linktype(ethertype::IPV6)?;
        let mut ways = Vec::new();
        if self.wanted.ports {
            for transport in Class::TRANSPORTS {
                let same = self.lowerer.eq(Rel::Net, 6, Size::B1, transport.into());
                let place = self.lowerer.place(Rel::Ip6Payload);
                for (ports, size) in [(2, Size::B4), (1, Size::B2)] {
                    let value = self.lowerer.load_at(place, 0, size);
                    ways.push(self.way(same, value, (ports, transport)));
                }
            }
            if self.lowerer.options.dialect.ipv6 {
                self.walked(&mut ways)?;
            }
        }
        let addresses: &[u32] = if self.wanted.addresses6 { &[8, 24] } else { &[] };
        self.block(link, Class::IP6, ways, addresses)
    }

    /// Ports behind extension headers. A chain ends at its first transport header.
    fn walked(&mut self, ways: &mut Vec<Way>) -> Result<()> {
        for transport in Class::TRANSPORTS {
            for (ports, size) in [(2, Size::B4), (1, Size::B2)] {
                let test = self.lowerer.walk_ip6(|this, header| {
                    let same =
                        this.relation_k(crate::syntax::ast::RelOp::Eq, header.number, transport.into());
                    let net = this.place(Rel::Net);
                    let at = this.beside(net, header.at);
                    let value = this.load_at(at, 0, size);
                    let inside = this.eval(value);
                    Ok(this.and(same, inside))
                })?;
                let one = self.lowerer.constant(1);
                let found = self.lowerer.ip6_header_found(transport.into(), one);
                let net = self.lowerer.place(Rel::Net);
                let at = self.lowerer.beside(net, found);
                let value = self.lowerer.load_at(at, 0, size);
                ways.push(self.way(test, value, (ports, transport)));
            }
        }
        Ok(())
    }

    fn arp(&mut self, protocol: u32, kind: u8) -> Result<()> {
        let link = self.lowerer.linktype(protocol)?;
        let addresses: &[u32] = if self.wanted.addresses4 { &[14, 24] } else { &[] };
        self.block(link, kind, Vec::new(), addresses)
    }

    fn way(&mut self, test: TreeId, value: ValueId, (ports, transport): (u8, u8)) -> Way {
        let inside = self.lowerer.eval(value);
        Way { test: self.lowerer.and(test, inside), value: Some(value), ports, transport }
    }

    /// What is carried, with all that may be there of its fields: the most first. `addresses` are offsets in the network header.
    fn block(&mut self, link: TreeId, kind: u8, mut ways: Vec<Way>, addresses: &[u32]) -> Result<()> {
        let always = self.lowerer.truth(true);
        ways.push(Way { test: always, value: None, ports: 0, transport: 0 });
        self.clauses.push(Clause::Block(link));
        for count in (0..=addresses.len()).rev() {
            let mut values = Vec::new();
            let mut there = self.lowerer.truth(true);
            for &offset in &addresses[..count] {
                for word in 0..if kind == Class::IP6 { 4 } else { 1 } {
                    let value = self.lowerer.load(Rel::Net, offset + 4 * word, Size::B4);
                    values.push(value);
                    let inside = self.lowerer.eval(value);
                    there = self.lowerer.and(there, inside);
                }
            }
            for way in &ways {
                let class =
                    Class { kind, addresses: count as u8, ports: way.ports, transport: way.transport };
                let values: Vec<ValueId> = values.iter().copied().chain(way.value).collect();
                let leaf = self.leaves.add(class.answer(), &values);
                let root = self.lowerer.and(way.test, there);
                self.clauses.push(Clause::Leaf(root, leaf));
            }
            self.lowerer.check_limits()?;
        }
        self.clauses.push(Clause::End);
        Ok(())
    }
}
