//! From tests to terms.
//!
//! A test is read as it stands in the syntax tree. What a primitive asks of an address, a port, the link layer or a number that is given becomes a box; all else,
//! and what would come to too many boxes, becomes an *atom*: a part of the test that is compiled by itself and asked when a packet has the rest. Encapsulations
//! move the headers for what stands behind them, so tests that name one are not read.
//!
//! In a program a primitive that cannot be read is false, so `and`, `or` and `not` are those of logic. In a list of filters it rejects the packet, so that only
//! `and` is, and `or` where both sides read the same bytes.

use super::term::{DPORT, DST, Dim, SPORT, SRC, Term};
use crate::lower::{Class, Part, ipproto, is_constant, left_aligned};
use crate::syntax::ast::{
    Arith, ArithId, ArithOp, Ast, Dir, Expr, ExprId, Id, Kind, Proto, Quals, RelOp, SetItem,
};
use crate::syntax::program::Clause;
use crate::syntax::{fmt, range};
use std::collections::{HashMap, HashSet};

/// Terms of a test at most; beyond that a part of it is an atom.
pub(super) const TERMS_MAX: usize = 64;

/// Operators within operators that are looked into.
const DEPTH_MAX: usize = 32;

/// A test that is asked by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom<'a> {
    /// Bits of a number that is given, compared.
    Bits { slot: u32, mask: u32, op: RelOp, k: u32 },
    /// A part of a test, or whether the arguments of a handler can be computed: to be compiled.
    Part(Part<'a>),
}

/// Reads tests, and numbers the atoms that they have.
pub(super) struct Reader<'a> {
    /// Whether what cannot be read rejects the packet, whatever else the test says.
    is_rejecting: bool,
    is_strict: bool,
    /// Places in the row of what is not known.
    unknown: &'a HashSet<u32>,
    numbers: HashMap<String, u32>,
    pub(super) atoms: Vec<Atom<'a>>,
}

/// What a test asks for: any of these terms. `None` where that is not known.
type Terms = Option<Vec<Term>>;

/// The bytes that a primitive reads, as far as they decide whether it can be read.
type Reads = (bool, Option<Dir>, Option<Proto>, u8);

impl<'a> Reader<'a> {
    pub(super) fn new(is_rejecting: bool, is_strict: bool, unknown: &'a HashSet<u32>) -> Self {
        Reader { is_rejecting, is_strict, unknown, numbers: HashMap::new(), atoms: Vec::new() }
    }

    /// The terms of a test.
    pub(super) fn test(&mut self, ast: &'a Ast, root: ExprId) -> Terms {
        if moves_headers(ast, root) {
            return None;
        }
        let terms = self.expression(ast, root, false, 0)?;
        Some(terms.into_iter().filter_map(Term::finished).collect())
    }

    /// The terms of a clause: those of its test, and that what its handler is called with can be computed.
    pub(super) fn clause(&mut self, ast: &'a Ast, clause: &'a Clause) -> Terms {
        let terms = match clause.test {
            None => vec![Term::default()],
            Some(test) => self.test(ast, test)?,
        };
        let arguments = clause.call.iter().flat_map(|call| &call.arguments);
        let computed: Vec<ArithId> =
            arguments.copied().filter(|argument| !is_constant(ast.arith(*argument))).collect();
        if computed.is_empty() {
            return Some(terms);
        }
        if computed.iter().any(|argument| reads_input(ast, *argument, self.unknown)) {
            return None;
        }
        let texts: Vec<String> = computed.iter().map(|argument| fmt::arith(ast, *argument)).collect();
        let key = format!("\0({})", texts.join(", "));
        let number = self.numbered(key, Atom::Part(Part::Arguments(ast, clause)))?;
        let are_there = Term { atoms: vec![(number, true)], ..Term::default() };
        Some(terms.iter().filter_map(|term| term.and(&are_there)).collect())
    }

    fn expression(&mut self, ast: &'a Ast, id: ExprId, negated: bool, depth: usize) -> Terms {
        if depth > DEPTH_MAX {
            return self.atom(ast, id, negated);
        }
        let known = match ast.expr(id) {
            Expr::Group(a) => return self.expression(ast, *a, negated, depth + 1),
            Expr::Not(_) if self.is_rejecting => None,
            Expr::Not(a) => return self.expression(ast, *a, !negated, depth + 1),
            Expr::And(..) if negated => self.any(ast, &operands(ast, id, true), negated, depth),
            Expr::Or(..) if !negated => self.any(ast, &operands(ast, id, false), negated, depth),
            Expr::And(..) => self.all(ast, &operands(ast, id, true), negated, depth),
            Expr::Or(..) => self.all(ast, &operands(ast, id, false), negated, depth),
            primitive => self.primitive(ast, primitive, negated),
        };
        match known {
            Some(terms) if terms.len() <= TERMS_MAX => Some(terms),
            _ => self.atom(ast, id, negated),
        }
    }

    fn all(&mut self, ast: &'a Ast, operands: &[ExprId], negated: bool, depth: usize) -> Terms {
        if operands.len() > TERMS_MAX {
            return None;
        }
        let mut all = vec![Term::default()];
        for &operand in operands {
            let terms = self.expression(ast, operand, negated, depth + 1)?;
            let joined = |all: &[Term], terms: &[Term]| -> Vec<Term> {
                all.iter().flat_map(|a| terms.iter().filter_map(|b| a.and(b))).collect()
            };
            all = match joined(&all, &terms) {
                product if product.len() <= TERMS_MAX => product,
                // One of its factors as a whole keeps the rest in boxes.
                _ => joined(&all, &self.atom(ast, operand, negated)?),
            };
        }
        Some(all)
    }

    fn any(&mut self, ast: &'a Ast, operands: &[ExprId], negated: bool, depth: usize) -> Terms {
        if operands.len() > TERMS_MAX {
            return None;
        }
        if self.is_rejecting {
            let first = reads(ast, operands[0])?;
            let alike = operands.iter().all(|operand| reads(ast, *operand) == Some(first));
            // Of two ends the second may lie behind the end of the packet.
            if !alike || !matches!(first.1, Some(Dir::Src | Dir::Dst)) {
                return None;
            }
        }
        let mut any = Vec::new();
        for &operand in operands {
            any.extend(self.expression(ast, operand, negated, depth + 1)?);
            if any.len() > TERMS_MAX {
                return None;
            }
        }
        Some(any)
    }

    /// The terms of a primitive; `None` if it has no boxes.
    fn primitive(&mut self, ast: &'a Ast, primitive: &Expr, negated: bool) -> Terms {
        match *primitive {
            Expr::Proto(proto @ (Proto::Ip | Proto::Ip6 | Proto::Arp | Proto::Rarp)) => {
                Some(vec![Term::of_kind(kind_of(proto)?, !negated)])
            }
            Expr::Relation(op, a, b) => self.relation(ast, op, a, b, negated),
            _ if negated => None,
            Expr::Proto(proto @ (Proto::Tcp | Proto::Udp | Proto::Sctp)) => {
                let key = proto.name().to_owned();
                let number = self.number_of_proto(ast, primitive, key)?;
                Some(vec![Term { carries: Some((transport_of(proto)?, number)), ..Term::default() }])
            }
            Expr::Id(quals, ref id) => boxes(quals, id),
            Expr::In(quals, ref items) => self.set(quals, items),
            _ => None,
        }
    }

    /// The atom of a protocol's name, whose place in the tree its text does not tell.
    fn number_of_proto(&mut self, ast: &'a Ast, primitive: &Expr, key: String) -> Option<u32> {
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let at = ast.exprs.iter().position(|expr| expr == primitive)?;
        self.numbered(key, Atom::Part(Part::Test(ast, ExprId(at as u32))))
    }

    fn numbered(&mut self, key: String, atom: Atom<'a>) -> Option<u32> {
        let next = self.atoms.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.atoms.push(atom);
        }
        Some(number)
    }

    fn relation(&mut self, ast: &Ast, op: RelOp, a: ArithId, b: ArithId, negated: bool) -> Terms {
        let (op, side, k) = match (ast.arith(a), ast.arith(b)) {
            (side, Arith::Number(k)) => (op, side, k),
            (Arith::Number(k), side) => (turned(op), side, k),
            _ => return None,
        };
        let op = if negated { opposite(op) } else { op };
        match side {
            Arith::Input(slot) if self.unknown.contains(&slot) => {
                Some(vec![Term { depends: true, ..Term::default() }])
            }
            Arith::Input(slot) => {
                let range = |range| Term { inputs: vec![(slot, range)], ..Term::default() };
                Some(ranges(op, k).into_iter().map(range).collect())
            }
            Arith::Op(ArithOp::And, x, y) => {
                let (slot, mask) = match (ast.arith(x), ast.arith(y)) {
                    (Arith::Input(slot), Arith::Number(mask)) | (Arith::Number(mask), Arith::Input(slot)) => {
                        (slot, mask)
                    }
                    _ => return None,
                };
                if self.unknown.contains(&slot) {
                    return Some(vec![Term { depends: true, ..Term::default() }]);
                }
                let key = format!("\0{slot} {mask} {op:?} {k}");
                let number = self.numbered(key, Atom::Bits { slot, mask, op, k })?;
                Some(vec![Term { atoms: vec![(number, true)], ..Term::default() }])
            }
            _ => None,
        }
    }

    /// A set that is written out.
    fn set(&self, quals: Quals, items: &[SetItem]) -> Terms {
        if self.is_strict || items.len() > TERMS_MAX {
            return None;
        }
        let is_one_ended = matches!(quals.dir, Some(Dir::Src | Dir::Dst));
        let is_both = matches!(quals.dir, Some(Dir::SrcAndDst));
        if is_both || self.is_rejecting && !is_one_ended {
            return None;
        }
        let mut terms = Vec::new();
        for item in items {
            match item {
                SetItem::Id(id, _) => {
                    let is_prefix = matches!(id, Id::V4Prefix { .. } | Id::V4Mask { .. } | Id::V6Prefix(..));
                    let is_net = is_prefix && matches!(quals.kind, None | Some(Kind::Host));
                    let quals = if is_net { Quals { kind: Some(Kind::Net), ..quals } } else { quals };
                    terms.extend(boxes(quals, id)?);
                }
                SetItem::Range(low, high, _) => terms.extend(port_boxes(quals, (*low, *high))?),
                SetItem::Addresses(low, high, _) => {
                    let range = (u32::from(*low), u32::from(*high));
                    let is_host = matches!(quals.kind, None | Some(Kind::Host | Kind::Net));
                    if !is_host || range.0 > range.1 || range == (0, u32::MAX) {
                        return None;
                    }
                    terms.extend(boxes4(quals, range)?);
                }
                SetItem::File(..) => return None,
            }
        }
        Some(terms)
    }

    /// A part of a test as a test by itself.
    fn atom(&mut self, ast: &'a Ast, id: ExprId, negated: bool) -> Terms {
        if !self.unknown.is_empty() && names_unknown(ast, id, self.unknown) {
            return None;
        }
        let number = self.numbered(fmt::expr(ast, id), Atom::Part(Part::Test(ast, id)))?;
        Some(vec![Term { atoms: vec![(number, !negated)], ..Term::default() }])
    }
}

/// The operands of a chain of one operator, from left to right.
fn operands(ast: &Ast, root: ExprId, is_and: bool) -> Vec<ExprId> {
    let (mut found, mut pending) = (Vec::new(), vec![root]);
    while let Some(id) = pending.pop() {
        match *ast.expr(id) {
            Expr::And(a, b) if is_and => pending.extend([b, a]),
            Expr::Or(a, b) if !is_and => pending.extend([b, a]),
            _ => found.push(id),
        }
    }
    found
}

/// Visits a test and all of its parts.
fn parts(ast: &Ast, root: ExprId, mut visit: impl FnMut(&Expr) -> bool) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if visit(ast.expr(id)) {
            return true;
        }
        pending.extend(ast.operands(id).rev());
    }
    false
}

/// Whether a test has a word that moves the headers for what stands behind it.
fn moves_headers(ast: &Ast, root: ExprId) -> bool {
    parts(ast, root, |primitive| match primitive {
        Expr::Vlan(_)
        | Expr::VlanIn(_)
        | Expr::Mpls(_)
        | Expr::Pppoed
        | Expr::Pppoes(_)
        | Expr::Geneve(_)
        | Expr::Vxlan(_)
        | Expr::Atm(_) => true,
        Expr::Id(quals, _) | Expr::In(quals, _) => quals.kind == Some(Kind::Protochain),
        _ => false,
    })
}

fn names_unknown(ast: &Ast, root: ExprId, unknown: &HashSet<u32>) -> bool {
    parts(ast, root, |primitive| match primitive {
        Expr::Relation(_, a, b) => [*a, *b].into_iter().any(|side| reads_input(ast, side, unknown)),
        _ => false,
    })
}

/// Whether an expression names one of these numbers.
pub(super) fn reads_input(ast: &Ast, root: ArithId, slots: &HashSet<u32>) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        if matches!(ast.arith(id), Arith::Input(slot) if slots.contains(&slot)) {
            return true;
        }
        pending.extend(ast.arith_operands(id));
    }
    false
}

/// What a primitive reads, of one that has boxes; parentheses around it are none.
fn reads(ast: &Ast, mut id: ExprId) -> Option<Reads> {
    while let Expr::Group(a) = ast.expr(id) {
        id = *a;
    }
    let Expr::Id(quals, name) = ast.expr(id) else { return None };
    let terms = boxes(*quals, name)?;
    let dim = terms.first()?.dims().next()?;
    Some(match dim {
        Dim::Port(_) => (true, quals.dir, None, 0),
        Dim::V4(_) => (false, quals.dir, quals.proto, 4),
        Dim::V6(_) | Dim::Input(_) => (false, quals.dir, quals.proto, 6),
    })
}

fn kind_of(proto: Proto) -> Option<u8> {
    Some(match proto {
        Proto::Ip => Class::IP,
        Proto::Ip6 => Class::IP6,
        Proto::Arp => Class::ARP,
        Proto::Rarp => Class::RARP,
        _ => return None,
    })
}

fn transport_of(proto: Proto) -> Option<u8> {
    Some(match proto {
        Proto::Tcp => ipproto::TCP as u8,
        Proto::Udp => ipproto::UDP as u8,
        Proto::Sctp => ipproto::SCTP as u8,
        _ => return None,
    })
}

/// The boxes of an identifier: those that are surely right, and as most are written.
fn boxes(quals: Quals, id: &Id) -> Terms {
    let is_host = matches!(quals.kind, None | Some(Kind::Host));
    let is_net = quals.kind == Some(Kind::Net);
    match *id {
        Id::V4 { value, bits } if is_host || is_net => {
            let open = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            let low = left_aligned(value, bits);
            boxes4(quals, (low, low | open))
        }
        Id::V4Prefix { value, bits, len } if is_net => {
            let open = u32::MAX.checked_shr(len).unwrap_or(0);
            let low = left_aligned(value, bits);
            if !(1..=32).contains(&len) || low & open != 0 {
                return None;
            }
            boxes4(quals, (low, low | open))
        }
        Id::V6(address) if is_host || is_net => {
            let address = u128::from(address);
            boxes6(quals, (address, address))
        }
        Id::V6Prefix(address, len) if is_net => {
            let (low, open) = (u128::from(address), u128::MAX.checked_shr(len).unwrap_or(0));
            if !(1..=128).contains(&len) || low & open != 0 {
                return None;
            }
            boxes6(quals, (low, low | open))
        }
        Id::Number(port) if matches!(quals.kind, Some(Kind::Port | Kind::Portrange)) => {
            port_boxes(quals, (port, port))
        }
        Id::Name(ref name) if quals.kind == Some(Kind::Portrange) => {
            let (low, high) = range::numbers(name)?;
            port_boxes(quals, (low.min(high), low.max(high)))
        }
        _ => None,
    }
}

fn boxes4(quals: Quals, range: (u32, u32)) -> Terms {
    let kinds = match quals.proto {
        None => (0, 0),
        Some(proto @ (Proto::Ip | Proto::Arp | Proto::Rarp)) => (kind_of(proto)?, kind_of(proto)?),
        Some(_) => return None,
    };
    at_ends(quals.dir, |end| {
        let mut term = Term { kinds, needs: [SRC, DST][end], ..Term::default() };
        term.v4[end] = Some(range);
        term
    })
}

fn boxes6(quals: Quals, range: (u128, u128)) -> Terms {
    if !matches!(quals.proto, None | Some(Proto::Ip6)) {
        return None;
    }
    at_ends(quals.dir, |end| {
        let mut term = Term { needs: [SRC, DST][end], ..Term::default() };
        term.v6[end] = Some(range);
        term
    })
}

fn port_boxes(quals: Quals, (low, high): (u32, u32)) -> Terms {
    let transport = match quals.proto {
        None => None,
        Some(proto) => Some(transport_of(proto)?),
    };
    if !matches!(quals.kind, Some(Kind::Port | Kind::Portrange)) || low > high {
        return None;
    }
    let range = (u16::try_from(low).ok()?, u16::try_from(high).ok()?);
    at_ends(quals.dir, |end| {
        let mut term = Term { transport, needs: [SPORT, DPORT][end], ..Term::default() };
        term.ports[end] = Some(range);
        term
    })
}

/// What is asked at the ends that a direction names.
fn at_ends(dir: Option<Dir>, term: impl Fn(usize) -> Term) -> Terms {
    match dir {
        Some(Dir::Src) => Some(vec![term(0)]),
        Some(Dir::Dst) => Some(vec![term(1)]),
        None | Some(Dir::SrcOrDst) => Some(vec![term(0), term(1)]),
        Some(Dir::SrcAndDst) => Some(term(0).and(&term(1)).into_iter().collect()),
        Some(_) => None,
    }
}

fn turned(op: RelOp) -> RelOp {
    match op {
        RelOp::Lt => RelOp::Gt,
        RelOp::Le => RelOp::Ge,
        RelOp::Gt => RelOp::Lt,
        RelOp::Ge => RelOp::Le,
        RelOp::Eq | RelOp::Ne => op,
    }
}

fn opposite(op: RelOp) -> RelOp {
    match op {
        RelOp::Eq => RelOp::Ne,
        RelOp::Ne => RelOp::Eq,
        RelOp::Lt => RelOp::Ge,
        RelOp::Ge => RelOp::Lt,
        RelOp::Gt => RelOp::Le,
        RelOp::Le => RelOp::Gt,
    }
}

/// The numbers of which a comparison with `k` holds.
fn ranges(op: RelOp, k: u32) -> Vec<(u32, u32)> {
    let below = k.checked_sub(1).map(|high| (0, high));
    let above = k.checked_add(1).map(|low| (low, u32::MAX));
    match op {
        RelOp::Eq => vec![(k, k)],
        RelOp::Ne => below.into_iter().chain(above).collect(),
        RelOp::Lt => below.into_iter().collect(),
        RelOp::Le => vec![(0, k)],
        RelOp::Gt => above.into_iter().collect(),
        RelOp::Ge => vec![(k, u32::MAX)],
    }
}
