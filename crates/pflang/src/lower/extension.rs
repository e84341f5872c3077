//! The `ipv6` dialect: transport headers behind IPv6's extension headers.
//!
//! A test is tried at each header of the chain in turn, as `protochain` does, but at most [`HEADERS_MAX`] times and
//! by the rules of RFC 8200: a later fragment has no further headers, an authentication header counts in words of
//! four bytes.

use super::Result;
use super::arith::Transport;
use super::direction::End;
use super::layers::{Offset, Rel};
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto};
use super::port::Ports;
use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size, ValueId};
use crate::syntax::ast::{ArithId, Ast, Dir, RelOp};

/// As many as the order that RFC 8200 recommends has room for: each header more costs every test behind it.
const HEADERS_MAX: usize = 6;

/// Headers that can be stepped over wherever they stand.
pub(super) const PLAIN: [u32; 4] = [ipproto::HOPOPTS, ipproto::ROUTING, ipproto::DSTOPTS, ipproto::AH];

/// One header of a chain: its number, and its offset from the network header.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) number: ValueId,
    pub(crate) at: ValueId,
}

impl Lowerer<'_> {
    /// `proto N` over IPv6; also what a fragment header says it carries.
    pub(crate) fn ip6_proto_walked(&mut self, number: u32) -> Result {
        if let Some(ends) = self.options.chain_ends {
            return self.ip6_proto_at_end(ends, number);
        }
        self.walk_ip6(|this, header| {
            let direct = this.relation_k(RelOp::Eq, header.number, number);
            let fragment = this.relation_k(RelOp::Eq, header.number, ipproto::FRAGMENT);
            let carried = this.extension_field(header.at, 0, Size::B1);
            let inside = this.relation_k(RelOp::Eq, carried, number);
            let fragmented = this.and(fragment, inside);
            Ok(this.or(direct, fragmented))
        })
    }

    /// A port behind any extension headers.
    pub(crate) fn ports6_walked(&mut self, ports: Ports, transport: Option<u32>, dir: Option<Dir>) -> Result {
        self.walk_ip6(|this, header| {
            // All three transport headers start with the ports.
            let same = this.each_transport(transport, |this, proto| {
                Ok(this.relation_k(RelOp::Eq, header.number, proto))
            })?;
            let net = this.place(Rel::Net);
            let at = this.beside(net, header.at);
            let ends = this.ends(dir, "a port", |this, end| {
                let offset = if end == End::Src { 0 } else { 2 };
                let port = this.load_at(at, offset, Size::B2);
                Ok(this.port_is(port, ports))
            })?;
            Ok(this.and(same, ends))
        })
    }

    /// A relation over transport fields, tried over IPv4 and over IPv6.
    pub(crate) fn relation_walked(&mut self, ast: &Ast, op: RelOp, a: ArithId, b: ArithId) -> Result {
        let four = self.relation_at(ast, op, a, b, Transport::Ip4)?;
        let six = self.walk_ip6(|this, Header { number, at }| {
            this.relation_at(ast, op, a, b, Transport::Ip6 { number, at })
        })?;
        Ok(self.or(four, six))
    }

    /// `test` of each header, from the first on, until one holds or no further header can be found. It asks for the number of a protocol that no header follows.
    pub(crate) fn walk_ip6(&mut self, mut test: impl FnMut(&mut Self, Header) -> Result) -> Result {
        if let Some(ends) = self.options.chain_ends {
            return self.test_at_end(ends, test);
        }
        let link = self.linktype(ethertype::IPV6)?;
        let mut headers = vec![Header { number: self.load(Rel::Net, 6, Size::B1), at: self.constant(40) }];
        for _ in 0..HEADERS_MAX {
            let last = headers[headers.len() - 1];
            let next = self.next_header(last);
            headers.push(next);
        }
        let mut rest = self.truth(false);
        for &header in headers.iter().rev() {
            let here = test(self, header)?;
            let leads_on = self.leads_on(header);
            let later = self.and(leads_on, rest);
            rest = self.or(here, later);
        }
        Ok(self.and(link, rest))
    }

    /// Where the header `wanted` is, from the network header on, in a packet in which a walk has found it. Where `reached` is
    /// 0, and behind that header, it reads the first byte of the packet only.
    pub(crate) fn ip6_header_found(&mut self, wanted: u32, mut reached: ValueId) -> ValueId {
        if let Some(ends) = self.options.chain_ends {
            return self.found_at_end(ends, wanted);
        }
        let (mut number, mut at) = (self.field_where_reached(None, 6, reached), self.constant(40));
        for _ in 0..HEADERS_MAX {
            let found = self.is_equal(number, wanted);
            let goes_on = self.op_k(BinOp::Xor, found, 1);
            reached = self.op(BinOp::And, reached, goes_on);
            let next = self.field_where_reached(Some(at), 0, reached);
            let units = self.field_where_reached(Some(at), 1, reached);
            let length = self.header_length(number, units);
            let passed = self.op(BinOp::Mul, length, reached);
            (number, at) = (next, self.op(BinOp::Add, at, passed));
        }
        at
    }

    /// A byte of the network header, or of one that is `at` bytes further on; the packet's first byte where `reached` is 0.
    fn field_where_reached(&mut self, at: Option<ValueId>, offset: u32, reached: ValueId) -> ValueId {
        let mut place = self.place(Rel::Net);
        if let Some(at) = at {
            place = self.beside(place, at);
        }
        let offset = place.constant.wrapping_add(offset);
        let address = match self.variable(place) {
            Some(varying) => self.op_k(BinOp::Add, varying, offset),
            None => self.constant(offset),
        };
        let address = self.op(BinOp::Mul, address, reached);
        self.tree.pool.load(address, 0, Size::B1)
    }

    /// The header behind this one, if this one leads on.
    fn next_header(&mut self, header: Header) -> Header {
        let number = self.extension_field(header.at, 0, Size::B1);
        let units = self.extension_field(header.at, 1, Size::B1);
        let length = self.header_length(header.number, units);
        Header { number, at: self.op(BinOp::Add, header.at, length) }
    }

    /// How long an extension header is, by its number and its length field.
    fn header_length(&mut self, number: ValueId, units: ValueId) -> ValueId {
        let more = self.op_k(BinOp::Add, units, 1);
        let plain = self.op_k(BinOp::Mul, more, 8);
        let more = self.op_k(BinOp::Add, units, 2);
        let words = self.op_k(BinOp::Mul, more, 4);
        let fixed = self.constant(8);
        let is_ah = self.is_equal(number, ipproto::AH);
        let is_fragment = self.is_equal(number, ipproto::FRAGMENT);
        let length = self.select(is_ah, words, plain);
        self.select(is_fragment, fixed, length)
    }

    fn leads_on(&mut self, header: Header) -> TreeId {
        let plain = self.is_among(header.number, &PLAIN);
        let fragment = self.relation_k(RelOp::Eq, header.number, ipproto::FRAGMENT);
        let place = self.extension_field(header.at, 2, Size::B2);
        let offset = self.op_k(BinOp::And, place, 0xfff8);
        let first = self.relation_k(RelOp::Eq, offset, 0);
        let first = self.and(fragment, first);
        self.or(plain, first)
    }

    fn extension_field(&mut self, at: ValueId, offset: u32, size: Size) -> ValueId {
        let net = self.place(Rel::Net);
        let place = self.beside(net, at);
        self.load_at(place, offset, size)
    }

    /// `place`, and `further` bytes on.
    pub(crate) fn beside(&mut self, place: Offset, further: ValueId) -> Offset {
        match self.variable(place) {
            Some(varying) => Offset::varying(place.constant, self.op(BinOp::Add, varying, further)),
            None => Offset::varying(place.constant, further),
        }
    }
}
