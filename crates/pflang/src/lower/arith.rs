//! Relations between arithmetic expressions.
//!
//! Each operand brings the values it loads and the *guards* that must hold first: `tcp[13]` asks for IPv4, TCP and
//! a first fragment. A relation looks at the guards of its left side, then of its right side, then compares.
//!
//! COMPAT: an operator keeps the guards of its left operand only, as libpcap does: `len - ip[0] > 5` reads byte 14
//! of any packet (`arithmetic-drops-right-guard`). `Dialect::ipv6` keeps both: there the same text is also tried over
//! IPv6, and must not match by what it reads elsewhere. The arguments of a handler, which libpcap does not have, keep both as well.

use super::Result;
use super::layers::{Layers, NOT_SET, Offset, Rel};
use super::lowerer::Lowerer;
use super::numbers::ipproto;
use crate::diag::Code;
use crate::ir::tree::TreeId;
use crate::ir::{BinOp, Size, Value, ValueId};
use crate::syntax::ast::{Arith, ArithId, ArithOp, Ast, Proto, RelOp};
use wire::LinkType;

/// A computed operand.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) value: ValueId,
    pub(crate) guard: Option<TreeId>,
    /// The first number that libpcap's code for it loads, if it starts with one: it takes that for the operand
    /// when it looks for constant zero divisors.
    leading: Option<u32>,
}

/// Where transport headers are looked for while a relation is lowered.
#[derive(Clone, Copy)]
pub(crate) enum Transport {
    /// Behind an IPv4 header: the only place libpcap looks.
    Ip4,
    /// Behind IPv6 extension headers, at this offset from the network header, once `number` is the wanted one.
    Ip6 { number: ValueId, at: ValueId },
    /// Behind either, whichever the packet has: for values, which cannot be tried one way and then the other.
    Either,
}

enum Task {
    Visit(ArithId),
    Finish(ArithId),
}

impl Lowerer<'_> {
    /// `a op b`.
    pub(crate) fn arithmetic_relation(&mut self, ast: &Ast, op: RelOp, a: ArithId, b: ArithId) -> Result {
        if self.options.dialect.ipv6 && self.loads_transport(ast, &[a, b]) {
            return self.relation_walked(ast, op, a, b);
        }
        self.relation_at(ast, op, a, b, Transport::Ip4)
    }

    pub(crate) fn relation_at(
        &mut self,
        ast: &Ast,
        op: RelOp,
        a: ArithId,
        b: ArithId,
        transport: Transport,
    ) -> Result {
        let sides = [a, b];
        let a = self.operand(ast, a, transport)?;
        let b = self.operand(ast, b, transport)?;
        let test = self.relation(op, a.value, b.value);
        self.note_relation(ast, sides, test, [a.guard, b.guard])?;
        let test = self.behind(b.guard, test);
        Ok(self.behind(a.guard, test))
    }

    pub(super) fn loads_transport(&self, ast: &Ast, roots: &[ArithId]) -> bool {
        let mut pending = roots.to_vec();
        while let Some(id) = pending.pop() {
            if let Arith::Load { proto, .. } | Arith::AddressOf { proto, .. } = ast.arith(id)
                && transport_number(proto).is_some()
            {
                return true;
            }
            pending.extend(ast.arith_operands(id));
        }
        false
    }

    /// Operands before operators, on a stack of our own.
    pub(super) fn operand(&mut self, ast: &Ast, root: ArithId, transport: Transport) -> Result<Operand> {
        let mut tasks = vec![Task::Visit(root)];
        let mut done: Vec<Operand> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(id) => {
                    tasks.push(Task::Finish(id));
                    tasks.extend(ast.arith_operands(id).rev().map(Task::Visit));
                }
                Task::Finish(id) => {
                    let operand = self.finish(ast, id, &mut done, transport)?;
                    done.push(operand);
                }
            }
        }
        Ok(pop(&mut done))
    }

    fn finish(
        &mut self,
        ast: &Ast,
        id: ArithId,
        done: &mut Vec<Operand>,
        transport: Transport,
    ) -> Result<Operand> {
        Ok(match ast.arith(id) {
            Arith::Number(k) => Operand { value: self.constant(k), guard: None, leading: Some(k) },
            Arith::Len => Operand { value: self.tree.pool.value(Value::Len), guard: None, leading: None },
            Arith::Input(slot) => Operand { value: self.tree.pool.input(slot), guard: None, leading: None },
            Arith::Neg(_) => {
                let a = pop(done);
                let zero = self.constant(0);
                Operand { value: self.op(BinOp::Sub, zero, a.value), ..a }
            }
            Arith::Op(op, _, b) => {
                let right = pop(done);
                let left = pop(done);
                self.check_constant(ast, op, b, right.leading)?;
                let guard = match self.keeps_guards {
                    true => self.both_guards(left.guard, right.guard),
                    false => left.guard,
                };
                Operand { value: self.op(op, left.value, right.value), guard, ..left }
            }
            Arith::Load { proto, size, .. } => {
                let index = pop(done);
                let size = Size::from_bytes(size).ok_or_else(|| self.bad_size(ast, id, size))?;
                let (place, guard) = self.header(proto, index, transport)?;
                self.note_guard(id, guard);
                let value = self.load_at(place, 0, size);
                Operand { value, guard, ..index }
            }
            Arith::AddressOf { proto, size, .. } => {
                let index = pop(done);
                self.check_extension("`&` in front of a field")?;
                let size = Size::from_bytes(size).ok_or_else(|| self.bad_size(ast, id, size))?;
                let (place, mut guard) = self.header(proto, index, transport)?;
                // A program reads at the address: the field must be in the packet.
                if self.tries {
                    let field = self.load_at(place, 0, size);
                    let inside = self.eval(field);
                    guard = Some(self.behind(guard, inside));
                }
                self.note_guard(id, guard);
                let base = place.variable.unwrap_or(index.value);
                Operand { value: self.op_k(BinOp::Add, base, place.constant), guard, ..index }
            }
        })
    }

    fn bad_size(&self, ast: &Ast, id: ArithId, size: u32) -> Box<crate::diag::Diagnostic> {
        let mut error = self.error(Code::OutOfRange, format!("a field of {size} bytes cannot be read"));
        error.span = ast.arith_spans[id.0 as usize];
        error.help = Some("the size is 1, 2 or 4".into());
        error
    }

    /// A divisor that is the constant zero, and a shift by a constant of more than 31, are errors.
    ///
    /// COMPAT: libpcap looks at the first instruction of the operand only, and so refuses `len / ip[0]`, whose code
    /// starts with the index 0 (`divisor-with-leading-zero`).
    fn check_constant(&self, ast: &Ast, op: ArithOp, operand: ArithId, leading: Option<u32>) -> Result<()> {
        let message = match (op, leading) {
            (ArithOp::Div, Some(0)) => "division by zero",
            (ArithOp::Mod, Some(0)) => "remainder of a division by zero",
            (ArithOp::Shl | ArithOp::Shr, Some(32..)) => "shift by more than 31 bits",
            _ => return Ok(()),
        };
        let mut error = self.error(Code::Arithmetic, message);
        error.span = ast.arith_spans[operand.0 as usize];
        if !matches!(ast.arith(operand), Arith::Number(_)) {
            error.help = Some(
                "libpcap refuses any operand here that starts with such a number, even as an index; \
                 `(1 * …)` starts with another"
                    .into(),
            );
        }
        Err(error)
    }

    /// The place that `index` means in a header of `proto`, and the guard under which there is such a header.
    fn header(
        &mut self,
        proto: Proto,
        index: Operand,
        transport: Transport,
    ) -> Result<(Offset, Option<TreeId>)> {
        match proto {
            Proto::Radio => {
                self.check_radio()?;
                Ok((Offset::varying(0, index.value), index.guard))
            }
            Proto::Link => Ok((self.indexed(self.layers.linkhdr, index.value), index.guard)),
            Proto::Ip
            | Proto::Ip6
            | Proto::Arp
            | Proto::Rarp
            | Proto::Atalk
            | Proto::Decnet
            | Proto::Sca
            | Proto::Lat
            | Proto::Moprc
            | Proto::Mopdl => {
                let net = self.place(Rel::Net);
                let place = self.indexed(net, index.value);
                let guard = self.abbreviation(proto)?;
                Ok((place, Some(self.behind(index.guard, guard))))
            }
            _ => match transport_number(proto) {
                Some(number) => self.transport_header(proto, number, index, transport),
                None => {
                    let word = proto.name();
                    let mut error = self.error(Code::BadQualifier, format!("`{word}[…]` is not supported"));
                    error.help =
                        Some("index the header that carries it, such as `ip[…]` or `ether[…]`".into());
                    Err(error)
                }
            },
        }
    }

    fn transport_header(
        &mut self,
        proto: Proto,
        number: u32,
        index: Operand,
        transport: Transport,
    ) -> Result<(Offset, Option<TreeId>)> {
        let net = self.place(Rel::Net);
        if let Transport::Ip6 { number: found, at } = transport {
            let header = self.beside(net, at);
            let place = self.indexed(header, index.value);
            let guard = if is_ip4_only(proto) {
                self.truth(false)
            } else {
                self.relation_k(RelOp::Eq, found, number)
            };
            return Ok((place, Some(self.behind(index.guard, guard))));
        }
        if matches!(transport, Transport::Either) && !is_ip4_only(proto) {
            return self.transport_header_walked(proto, number, index);
        }
        if proto == Proto::Icmp6 {
            let place = self.indexed(net.plus(40), index.value);
            let ip6 = self.abbreviation(Proto::Ip6)?;
            let before = self.behind(index.guard, ip6);
            let direct = self.eq(Rel::Net, 6, Size::B1, ipproto::ICMPV6);
            return Ok((place, Some(self.and(before, direct))));
        }
        let payload = self.place(Rel::Ip4Payload);
        let place = self.indexed(payload, index.value);
        let ip = self.abbreviation(Proto::Ip)?;
        let same = self.abbreviation(proto)?;
        let first = self.first_fragment();
        let header = self.and(same, first);
        let inside = self.behind(index.guard, header);
        Ok((place, Some(self.and(ip, inside))))
    }

    /// The header over IPv4, or over IPv6 behind any extension headers.
    fn transport_header_walked(
        &mut self,
        proto: Proto,
        number: u32,
        index: Operand,
    ) -> Result<(Offset, Option<TreeId>)> {
        let net = self.place(Rel::Net);
        let six = self.walk_ip6(|this, header| Ok(this.relation_k(RelOp::Eq, header.number, number)))?;
        let (guard, length) = if proto == Proto::Icmp6 || self.layers.payload.constant == NOT_SET {
            (six, self.ip6_length(number, None))
        } else {
            let here = Operand { guard: None, ..index };
            let (_, four) = self.transport_header(proto, number, here, Transport::Ip4)?;
            let four = four.unwrap_or_else(|| self.truth(true));
            let is_ip4 = self.is_outer_ip4(four)?;
            let (ip4_length, ip6_length) = (self.ip4_varying(), self.ip6_length(number, Some(is_ip4)));
            (self.or(four, six), self.select(is_ip4, ip4_length, ip6_length))
        };
        let place = self.indexed(Offset::varying(net.constant, length), index.value);
        Ok((place, Some(self.behind(index.guard, guard))))
    }

    /// `place + index`, where the variable parts are added modulo 2^32 and the constant is not.
    fn indexed(&mut self, place: Offset, index: ValueId) -> Offset {
        let base = match self.variable(place) {
            Some(varying) => self.op(BinOp::Add, index, varying),
            None => index,
        };
        Offset::varying(place.constant, base)
    }

    fn both_guards(&mut self, a: Option<TreeId>, b: Option<TreeId>) -> Option<TreeId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.and(a, b)),
            (a, b) => a.or(b),
        }
    }

    fn check_radio(&self) -> Result<()> {
        let Layers { linktype, .. } = self.layers;
        if matches!(
            linktype,
            LinkType::IEEE802_11_RADIO_AVS | LinkType::IEEE802_11_RADIO | LinkType::PRISM_HEADER
        ) {
            return Ok(());
        }
        Err(self.elsewhere(
            "`radio[…]`, a radio header,",
            "IEEE802_11_RADIO, IEEE802_11_RADIO_AVS or PRISM_HEADER",
        ))
    }
}

/// A finished operand: [`Task::Visit`] pushes each operand before its operator.
fn pop(done: &mut Vec<Operand>) -> Operand {
    done.pop().expect("operands are finished before their operator")
}

/// The number of an indexable protocol that IP carries.
fn transport_number(proto: Proto) -> Option<u32> {
    Some(match proto {
        Proto::Tcp => ipproto::TCP,
        Proto::Udp => ipproto::UDP,
        Proto::Sctp => ipproto::SCTP,
        Proto::Icmp => ipproto::ICMP,
        Proto::Igmp => ipproto::IGMP,
        Proto::Igrp => ipproto::IGRP,
        Proto::Pim => ipproto::PIM,
        Proto::Vrrp => ipproto::VRRP,
        Proto::Carp => ipproto::CARP,
        Proto::Icmp6 => ipproto::ICMPV6,
        _ => return None,
    })
}

/// Whether the abbreviation is of IPv4 only.
fn is_ip4_only(proto: Proto) -> bool {
    matches!(proto, Proto::Icmp | Proto::Igmp | Proto::Igrp | Proto::Vrrp | Proto::Carp)
}
