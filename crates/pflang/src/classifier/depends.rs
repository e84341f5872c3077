//! What the answers of a graph depend on, for packets whose headers have bits in common.
//!
//! `host 10.0.0.1 and udp` asks for the type at 12, the protocol at 23 and the addresses at 26 and 30. Of packets of one flow over Ethernet and IPv4, the first is
//! known, and the others are the same in all. So is the answer. `len > 100` and `tcp[13] & 2 != 0` have other answers from packet to packet.
//!
//! The rule (an abstract interpretation over bits): each bit of a value is known, or the same in all packets, or varies. A test of known bits has one outcome, and
//! only what follows that is looked at; a test of bits that vary makes the answer vary; every other test has the same outcome in all packets.

use crate::ir::{BinOp, CmpOp, Cond, Graph, Node, Order, Pool, Value, ValueId};
use std::ops::Range;

/// Header bits that the packets of a group, such as those of a flow, have in common.
///
/// ```
/// use pflang::{CommonHeader, Compiler, LinkType};
///
/// // UDP over IPv4 between the same ends, over Ethernet: at least 60 bytes were captured.
/// let header = CommonHeader::new(60)
///     .known(12, &[8, 0, 0x45], 0xff)
///     .known(20, &[0, 0], 0x3f)
///     .known(23, &[17], 0xff)
///     .same(26..38);
/// let depends = |program: &str| {
///     let compiler = Compiler::new(LinkType::EN10MB).inputs(["mark"]);
///     Ok::<_, pflang::Error>(compiler.compile_match(program)?.places_for(&header))
/// };
/// assert_eq!(depends("match { udp dst port 53 and mark = 3 => a, host 10.0.0.1 => b }")?, Some(vec![0]));
/// assert_eq!(depends("match { tcp[13] & 2 != 0 => a }")?, Some(vec![]), "of UDP, no packet is TCP");
/// assert_eq!(depends("match { len > 100 => a }")?, None);
/// assert_eq!(depends("match { ip[8] > 63 => a }")?, None);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CommonHeader {
    bytes: Vec<Byte>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Byte {
    /// Bits that are the same in all packets, known or not.
    same: u8,
    known: u8,
    value: u8,
}

impl CommonHeader {
    /// Of packets of which at least so many bytes were captured, and have nothing in common yet.
    #[must_use]
    pub fn new(captured: usize) -> CommonHeader {
        CommonHeader { bytes: vec![Byte::default(); captured] }
    }

    /// These bytes are the same in all packets.
    #[must_use]
    pub fn same(mut self, bytes: Range<usize>) -> CommonHeader {
        self.bytes[bytes].iter_mut().for_each(|byte| byte.same = 0xff);
        self
    }

    /// From here on all packets have these bytes; of the first, the bits of `mask` alone.
    #[must_use]
    pub fn known(mut self, at: usize, values: &[u8], mask: u8) -> CommonHeader {
        let masks = std::iter::once(mask).chain(std::iter::repeat(0xff));
        for ((byte, value), mask) in self.bytes[at..at + values.len()].iter_mut().zip(values).zip(masks) {
            (byte.same, byte.known, byte.value) = (byte.same | mask, byte.known | mask, value & mask);
        }
        self
    }

    /// Whether all bits of these bytes are the same.
    pub(super) fn is_same(&self, bytes: Range<usize>) -> bool {
        self.bytes.get(bytes).is_some_and(|bytes| bytes.iter().all(|byte| byte.same == 0xff))
    }

    /// A byte that is known.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).filter(|byte| byte.known == 0xff).map(|byte| byte.value)
    }

    /// What is said of this byte; of one behind those that were captured, nothing.
    fn bits(&self, at: u64) -> Bits {
        let byte = usize::try_from(at).ok().and_then(|at| self.bytes.get(at)).copied().unwrap_or_default();
        Bits { varies: u32::from(!byte.same), known: !0xff | u32::from(byte.known), value: byte.value.into() }
    }
}

/// What is said of the bits of a value: those that are neither known nor vary are the same in all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bits {
    varies: u32,
    known: u32,
    value: u32,
}

impl Bits {
    const VARY: Bits = Bits { varies: u32::MAX, known: 0, value: 0 };
    const SAME: Bits = Bits { varies: 0, known: 0, value: 0 };

    fn constant(value: u32) -> Bits {
        Bits { varies: 0, known: u32::MAX, value }
    }

    fn as_known(self) -> Option<u32> {
        (self.known == u32::MAX).then_some(self.value)
    }

    /// What is known of a value is the same in all packets.
    fn of(varies: u32, known: u32, value: u32) -> Bits {
        Bits { varies: varies & !known, known, value: value & known }
    }

    fn op(op: BinOp, a: Bits, b: Bits) -> Bits {
        if let (Some(a), Some(b)) = (a.as_known(), b.as_known()) {
            return op.eval(a, b).map_or(Bits::VARY, Bits::constant);
        }
        let varies = a.varies | b.varies;
        let both = a.known & b.known;
        match (op, b.as_known()) {
            (BinOp::And, _) => {
                let zeros = a.known & !a.value | b.known & !b.value;
                Bits::of(varies, both | zeros, a.value & b.value)
            }
            (BinOp::Or, _) => {
                let ones = a.known & a.value | b.known & b.value;
                Bits::of(varies, both | ones, a.value | b.value)
            }
            (BinOp::Xor, _) => Bits::of(varies, both, a.value ^ b.value),
            (BinOp::Shl, Some(by @ 0..32)) => {
                Bits::of(a.varies << by, a.known << by | !(u32::MAX << by), a.value << by)
            }
            (BinOp::Shr, Some(by @ 0..32)) => {
                Bits::of(a.varies >> by, a.known >> by | !(u32::MAX >> by), a.value >> by)
            }
            _ if varies == 0 => Bits::SAME,
            _ => Bits::VARY,
        }
    }
}

/// The outcome of a test.
enum Outcome {
    Known(bool),
    /// The same in all packets.
    Same,
    Varies,
}

impl Outcome {
    fn of(varies: u32) -> Outcome {
        if varies == 0 { Outcome::Same } else { Outcome::Varies }
    }
}

/// Adds the places of the row of inputs that a graph reads, for packets with this header; the leaves that these reach, or `None` where what is reached varies.
pub(crate) fn depends(graph: &Graph, header: &CommonHeader, places: &mut Vec<usize>) -> Option<Vec<u32>> {
    let pool = &graph.pool;
    let bits = bits_of(pool, header);
    let mut reached = vec![false; graph.node_count()];
    let mut is_read = vec![false; bits.len()];
    let mut leaves = Vec::new();
    if let Some(root) = reached.get_mut(graph.root.index()) {
        *root = true;
    }
    for id in graph.topological() {
        if !reached[id.index()] {
            continue;
        }
        match graph.node(id) {
            Node::Leaf(leaf) => leaves.push(*leaf),
            Node::Branch { cond, then, els } => match outcome(pool, pool.get_cond(*cond), &bits, header) {
                Outcome::Known(holds) => reached[if holds { then } else { els }.index()] = true,
                Outcome::Same => {
                    pool.cond_operands(*cond).for_each(|value| is_read[value.index()] = true);
                    (reached[then.index()], reached[els.index()]) = (true, true);
                }
                Outcome::Varies => return None,
            },
            Node::Switch(switch) => match bits[switch.value.index()] {
                value if value.as_known().is_some() => {
                    reached[switch.target(value.value).index()] = true;
                }
                Bits { varies: 0, .. } => {
                    is_read[switch.value.index()] = true;
                    graph.node(id).for_each_successor(|next| reached[next.index()] = true);
                }
                _ => return None,
            },
        }
    }
    // Operands of a value have smaller numbers than that.
    for value in (0..is_read.len() as u32).rev().map(ValueId) {
        if is_read[value.index()] {
            if let Value::Input(slot) = pool.get(value) {
                places.push(slot as usize);
            }
            pool.operands(value).for_each(|operand| is_read[operand.index()] = true);
        }
    }
    Some(leaves)
}

/// What is said of each value.
fn bits_of(pool: &Pool, header: &CommonHeader) -> Vec<Bits> {
    let mut bits: Vec<Bits> = Vec::with_capacity(pool.value_count());
    for id in (0..pool.value_count() as u32).map(ValueId) {
        let of = |operand: ValueId| bits[operand.index()];
        let said = match pool.get(id) {
            Value::Const(value) => Bits::constant(value),
            Value::Len => Bits::VARY,
            Value::Input(_) => Bits::SAME,
            Value::Load { base, offset, size, order } => match of(base).as_known() {
                None => Bits::VARY,
                Some(base) => {
                    let begin = u64::from(base) + u64::from(offset);
                    let bytes = begin..begin + u64::from(size.bytes());
                    let join = |all: Bits, byte: Bits| Bits {
                        varies: all.varies << 8 | byte.varies & 0xff,
                        known: all.known << 8 | byte.known & 0xff,
                        value: all.value << 8 | byte.value,
                    };
                    let none = Bits::constant(0);
                    match order {
                        Order::Network => bytes.map(|at| header.bits(at)).fold(none, join),
                        Order::Little => bytes.rev().map(|at| header.bits(at)).fold(none, join),
                    }
                }
            },
            Value::Op(op, a, b) => Bits::op(op, of(a), of(b)),
        };
        bits.push(said);
    }
    bits
}

fn outcome(pool: &Pool, cond: Cond, bits: &[Bits], header: &CommonHeader) -> Outcome {
    let of = |value: ValueId| bits[value.index()];
    match cond {
        Cond::Cmp(op, a, b) => {
            let (a, b) = (of(a), of(b));
            let both = a.known & b.known;
            match (op, a.as_known(), b.as_known()) {
                (CmpOp::Eq, Some(a), Some(b)) => Outcome::Known(a == b),
                (CmpOp::Lt, Some(a), Some(b)) => Outcome::Known(a < b),
                (CmpOp::Eq, ..) if (a.value ^ b.value) & both != 0 => Outcome::Known(false),
                _ => Outcome::of(a.varies | b.varies),
            }
        }
        Cond::Test(value, mask) => {
            let common = Bits::op(BinOp::And, of(value), of(mask));
            match common.as_known() {
                _ if common.value != 0 => Outcome::Known(true),
                Some(_) => Outcome::Known(false),
                None => Outcome::of(common.varies),
            }
        }
        // What was captured besides, nobody knows.
        Cond::Bounds { base, end } => match of(base).as_known() {
            Some(base) if u64::from(base) + u64::from(end) <= header.bytes.len() as u64 => {
                Outcome::Known(true)
            }
            _ => Outcome::Varies,
        },
        Cond::Member(members) => {
            let words = pool.member_words(members).iter();
            Outcome::of(words.fold(0, |varies, word| varies | of(*word).varies))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the operation, bits that are said to be the same are, and those that are known are right.
    #[test]
    fn what_is_said_of_bits_holds() {
        use BinOp::{Add, And, Div, Mod, Mul, Or, Shl, Shr, Sub, Xor};
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for round in 0..20_000 {
            let op = [Add, Sub, Mul, Div, Mod, And, Or, Xor, Shl, Shr][round % 10];
            // A packet, and another of its group.
            let operands: [(Bits, [u32; 2]); 2] = std::array::from_fn(|at| {
                let (known, varies) = match random() % 4 {
                    0 => (u32::MAX, 0),
                    1 => (random() & random(), 0),
                    _ => (random() & random(), random() & random()),
                };
                let value = if at == 1 && random() % 2 == 0 { random() % 40 } else { random() };
                let bits = Bits::of(varies, known, value);
                (bits, [value, value ^ random() & bits.varies])
            });
            let [(a, of_a), (b, of_b)] = operands;
            let said = Bits::op(op, a, b);
            assert_eq!((said.varies & said.known, said.value & !said.known), (0, 0), "{op:?} {a:x?} {b:x?}");
            let (Some(first), Some(second)) = (op.eval(of_a[0], of_b[0]), op.eval(of_a[1], of_b[1])) else {
                continue;
            };
            assert_eq!((first ^ second) & !said.varies, 0, "{op:?} {a:x?} {b:x?}");
            assert_eq!((first ^ said.value) & said.known, 0, "{op:?} {a:x?} {b:x?}");
        }
    }
}
