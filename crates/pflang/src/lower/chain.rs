//! `protochain`: a protocol anywhere in a chain of headers.
//!
//! ```text
//! next := the header's "next header" field; at := the end of the header
//! loop:
//!     if next = wanted: yes
//!     if next is an extension header: next := its "next header"; at := its end
//!     else: no
//! ```
//! libpcap compiles a loop; here it is unrolled, each round one more alternative:
//! `next₀ = wanted or ext(next₀) and (next₁ = wanted or ext(next₁) and (…))`. Past [`HEADERS_MAX`] headers the packet
//! is rejected: libpcap would go on, for some packets for ever.
//!
//! COMPAT: behind an authentication header libpcap 1.10.3 goes on at `(length + 2) * 4` from the start of the
//! *network header*, not from that of the authentication header. So do we, unless `Dialect::protochain` is set
//! (`protochain-through-ah`).

use super::Result;
use super::layers::{NOT_SET, Offset, Rel};
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto};
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size, ValueId};
use crate::syntax::ast::{Proto, Quals, RelOp};

/// How many headers are stepped over.
const HEADERS_MAX: usize = 32;

/// Headers that can be stepped over in IPv6.
const EXTENSIONS: [u32; 5] =
    [ipproto::HOPOPTS, ipproto::DSTOPTS, ipproto::ROUTING, ipproto::FRAGMENT, ipproto::AH];

/// The place of a walk along the headers.
#[derive(Clone, Copy)]
struct Step {
    /// Number of the header at `at`.
    next: ValueId,
    /// Its offset from the network header.
    at: ValueId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Ip4,
    Ip6,
}

impl Lowerer<'_> {
    /// `protochain N`.
    pub(crate) fn protochain(&mut self, wanted: u32, quals: Quals) -> Result {
        let is_known = matches!(quals.proto, None | Some(Proto::Ip | Proto::Ip6));
        if is_known && self.layers.payload.variable.is_some() {
            return Err(self.no_protochain(wanted, quals.proto));
        }
        match quals.proto {
            None => {
                let four = self.chain(wanted, Family::Ip4)?;
                let six = self.chain(wanted, Family::Ip6)?;
                Ok(self.or(four, six))
            }
            Some(Proto::Ip) => self.chain(wanted, Family::Ip4),
            Some(Proto::Ip6) => self.chain(wanted, Family::Ip6),
            Some(proto) => {
                let word = proto.name();
                let mut error = self.error(Code::BadQualifier, format!("`{word}` has no `protochain`"));
                error.help = Some("`protochain` goes with `ip` and `ip6`".into());
                Err(error)
            }
        }
    }

    fn no_protochain(&self, wanted: u32, proto: Option<Proto>) -> Box<Diagnostic> {
        let what = "`protochain` is not supported where the link-layer header varies in length";
        let proto = proto.map_or(String::new(), |proto| format!("{} ", proto.name()));
        let first = format!("the first header alone can be asked for: `{proto}proto {wanted}`");
        Box::new(self.error(Code::LinkType, what).help(first))
    }

    fn chain(&mut self, wanted: u32, family: Family) -> Result {
        let link = match family {
            Family::Ip4 => self.linktype(ethertype::IP)?,
            Family::Ip6 => self.linktype(ethertype::IPV6)?,
        };
        let first = self.first_step(family);
        let started = self.eval(first.at);
        let mut steps = vec![first];
        for _ in 0..HEADERS_MAX {
            let last = steps[steps.len() - 1];
            let next = self.next_step(last, family);
            steps.push(next);
        }
        let walk = self.walk(&steps, wanted, family);
        Ok(self.all(&[link, started, walk]))
    }

    fn first_step(&mut self, family: Family) -> Step {
        match family {
            Family::Ip4 => Step { next: self.load(Rel::Net, 9, Size::B1), at: self.ip4_varying() },
            Family::Ip6 => Step { next: self.load(Rel::Net, 6, Size::B1), at: self.constant(40) },
        }
    }

    /// Past the header at `step`, taking it to be one that can be stepped over.
    fn next_step(&mut self, step: Step, family: Family) -> Step {
        let next = self.header_byte(step.at, 0);
        let authentication = self.past_authentication(step.at);
        let at = match family {
            Family::Ip4 => authentication,
            Family::Ip6 => {
                let units = self.header_byte(step.at, 1);
                let units = self.op_k(BinOp::Add, units, 1);
                let bytes = self.op_k(BinOp::Mul, units, 8);
                let extension = self.op(BinOp::Add, bytes, step.at);
                let is_ah = self.is_equal(step.next, ipproto::AH);
                self.select(is_ah, authentication, extension)
            }
        };
        Step { next, at }
    }

    fn past_authentication(&mut self, at: ValueId) -> ValueId {
        let words = self.header_byte(at, 1);
        let words = self.op_k(BinOp::Add, words, 2);
        let bytes = self.op_k(BinOp::Mul, words, 4);
        if self.options.dialect.protochain { self.op(BinOp::Add, bytes, at) } else { bytes }
    }

    fn header_byte(&mut self, at: ValueId, offset: u32) -> ValueId {
        let net = self.place(Rel::Net);
        self.load_at(Offset::varying(net.constant, at), offset, Size::B1)
    }

    /// Built from the last step back, so that each step holds the rest.
    fn walk(&mut self, steps: &[Step], wanted: u32, family: Family) -> TreeId {
        let mut rest = self.reject();
        for (i, step) in steps.iter().enumerate().rev() {
            if let Some(following) = steps.get(i + 1) {
                // libpcap reads both bytes of a header that it steps over, whether it needs the second or not.
                let read = self.eval(following.at);
                rest = self.and(read, rest);
            }
            let goes_on = self.is_steppable(step.next, family);
            let found = self.relation_k(RelOp::Eq, step.next, wanted);
            let later = self.and(goes_on, rest);
            rest = self.or(found, later);
        }
        rest
    }

    fn is_steppable(&mut self, next: ValueId, family: Family) -> TreeId {
        match family {
            Family::Ip4 => self.relation_k(RelOp::Eq, next, ipproto::AH),
            Family::Ip6 => self.is_among(next, &EXTENSIONS),
        }
    }

    /// Rejects the packet, whatever else the filter says: a load that is inside no packet.
    pub(crate) fn reject(&mut self) -> TreeId {
        let nowhere = self.load(Rel::Packet, NOT_SET, Size::B1);
        self.eval(nowhere)
    }
}
