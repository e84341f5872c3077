//! Warnings in the `ipv6` dialect: what a chain of extension headers ends in, as numbers of which nothing is known.
//!
//! A test of a protocol over IPv6 asks each header of a chain in turn, and the optimiser does not find out that two such tests exclude each
//! other, or that one follows from the other. But all that these tests learn of a chain is a few numbers, which differ from packet to packet and are the
//! same for all tests of one packet. Warnings are looked for in tests that ask for these numbers in place of the chain:
//!
//! ```text
//! protocol      the number behind the last header that leads on; of a fragment, the one that it carries
//! has_header    1 where the header of that protocol is there: not in later fragments
//! at            where it begins, from the network header on
//! listed(N)     1 where N, a number of extension headers themselves, is the number of one of the chain
//! found(N)      where a header of the number N is looked for, from the network header on
//! ```
//! Whatever the headers of a packet are, some numbers give each test the answer that the headers give it. So a test that holds for no numbers holds for no packet.
//! Where a chain is cut off, the protocol is 0, which no test asks for that asks for `protocol`. The reverse is not true: `tcp and ip6[6] = 17` holds for some numbers, and for no
//! packet.

use super::Result;
use super::extension::{Header, PLAIN};
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto};
use crate::ir::{Size, ValueId};
use crate::syntax::ast::RelOp;
use std::cell::RefCell;
use std::collections::HashMap;

/// The numbers in use, which all tests of a program share.
#[derive(Debug, Default)]
pub struct ChainEnds(RefCell<HashMap<(ValueId, Number), ValueId>>);

/// A number that is known of a chain, which belongs to a network header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Number {
    Protocol,
    HasHeader,
    At,
    Listed(u32),
    Found(u32),
}

impl ChainEnds {
    /// Whether no test has asked for a chain: the warnings are those that were found without.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl Lowerer<'_> {
    /// `proto N` over IPv6, by the numbers.
    pub(super) fn ip6_proto_at_end(&mut self, ends: &ChainEnds, number: u32) -> Result {
        let link = self.linktype(ethertype::IPV6)?;
        let is_extension = number == ipproto::FRAGMENT || PLAIN.contains(&number);
        let (known, wanted) =
            if is_extension { (Number::Listed(number), 1) } else { (Number::Protocol, number) };
        let known = self.known_of_chain(ends, known);
        let same = self.relation_k(RelOp::Eq, known, wanted);
        Ok(self.and(link, same))
    }

    /// `test` of the header at the end, where it is there. It must ask for the number of a protocol that ends chains.
    pub(super) fn test_at_end(
        &mut self,
        ends: &ChainEnds,
        test: impl FnOnce(&mut Self, Header) -> Result,
    ) -> Result {
        let link = self.linktype(ethertype::IPV6)?;
        let [has_header, number, at] =
            [Number::HasHeader, Number::Protocol, Number::At].map(|known| self.known_of_chain(ends, known));
        let is_there = self.relation_k(RelOp::Eq, has_header, 1);
        let test = test(self, Header { number, at })?;
        Ok(self.all(&[link, is_there, test]))
    }

    /// Where a header is looked for.
    pub(super) fn found_at_end(&mut self, ends: &ChainEnds, wanted: u32) -> ValueId {
        self.known_of_chain(ends, Number::Found(wanted))
    }

    /// One of the numbers: it stands in the row of inputs, behind those of the program.
    fn known_of_chain(&mut self, ends: &ChainEnds, number: Number) -> ValueId {
        // The chain's first byte tells which network header it belongs to.
        let first = self.load(Rel::Net, 6, Size::B1);
        let mut known = ends.0.borrow_mut();
        *known.entry((first, number)).or_insert_with(|| {
            let slot = self.tree.pool.inputs();
            self.tree.pool.input(slot)
        })
    }
}
