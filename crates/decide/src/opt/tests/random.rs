//! Random filters, and packets that walk their branches: random bytes hardly ever match anything.

use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, CondId, Graph, Node, Order, Pool, Size, Value, ValueId};
use crate::span::Span;

/// splitmix64.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// One filter, or an ordered list of up to three.
pub(super) fn random_arms(rng: &mut Rng) -> (Tree, Vec<(TreeId, u32)>) {
    let mut tree = Tree::default();
    let values = random_values(&mut tree.pool, rng);
    let count = 1 + rng.below(3) * rng.below(2);
    let arms = (1..=count).map(|leaf| (random_tree(&mut tree, &values, false, rng), leaf)).collect();
    (tree, arms)
}

/// Lists of clauses, some within others.
pub(super) fn random_clauses(rng: &mut Rng) -> (Tree, Vec<Clause>) {
    let mut tree = Tree::default();
    let values = random_values(&mut tree.pool, rng);
    let (mut clauses, mut open) = (Vec::new(), 0);
    for leaf in 1..=1 + rng.below(6) {
        let root = random_tree(&mut tree, &values, true, rng);
        clauses.push(match rng.below(3) {
            0 => Clause::Block(root),
            _ => Clause::Leaf(root, leaf),
        });
        open += usize::from(matches!(clauses.last(), Some(Clause::Block(_))));
        if open > 0 && rng.one_in(2) {
            clauses.push(Clause::End);
            open -= 1;
        }
    }
    clauses.extend(std::iter::repeat_n(Clause::End, open));
    (tree, clauses)
}

const CONSTANTS: [u32; 18] =
    [0, 1, 2, 3, 4, 6, 8, 15, 16, 17, 0x1f, 0x3c, 0xf0, 0xff, 0x100, 0x800, 0x8000_0000, u32::MAX];

/// A few loads at few places, so that tests meet again, and arithmetic over them.
fn random_values(pool: &mut Pool, rng: &mut Rng) -> Vec<ValueId> {
    let zero = pool.constant(0);
    let mut values = vec![pool.value(Value::Len)];
    for _ in 0..2 + rng.below(5) {
        let size = rng.pick(&[Size::B1, Size::B2, Size::B4]);
        values.push(pool.load(zero, rng.below(10), size));
    }
    for _ in 0..rng.below(7) {
        let a = rng.pick(&values);
        let b = if rng.one_in(4) { rng.pick(&values) } else { pool.constant(rng.pick(&CONSTANTS)) };
        let op = rng.pick(&[
            BinOp::Add,
            BinOp::Sub,
            BinOp::Mul,
            BinOp::Div,
            BinOp::Mod,
            BinOp::And,
            BinOp::And,
            BinOp::Or,
            BinOp::Xor,
            BinOp::Shl,
            BinOp::Shr,
        ]);
        let (a, b) = if rng.one_in(5) { (b, a) } else { (a, b) };
        let value = pool.op(op, a, b);
        values.push(value);
        if rng.one_in(2) {
            let mask = pool.constant(rng.pick(&[7, 15, 0x3c]));
            let base = pool.op(BinOp::And, value, mask);
            values.extend([base, pool.load(base, rng.below(6), size_of(rng))]);
        }
    }
    values
}

fn size_of(rng: &mut Rng) -> Size {
    rng.pick(&[Size::B1, Size::B2, Size::B4])
}

fn random_cond(pool: &mut Pool, values: &[ValueId], rng: &mut Rng) -> CondId {
    let a = rng.pick(values);
    let b = if rng.one_in(6) { rng.pick(values) } else { pool.constant(rng.pick(&CONSTANTS)) };
    let (a, b) = if rng.one_in(6) { (b, a) } else { (a, b) };
    pool.cond(match rng.below(8) {
        0..5 => Cond::Cmp(CmpOp::Eq, a, b),
        5 | 6 => Cond::Cmp(CmpOp::Lt, a, b),
        _ => Cond::Test(a, b),
    })
}

fn random_tree(tree: &mut Tree, values: &[ValueId], tries: bool, rng: &mut Rng) -> TreeId {
    let mut open: Vec<TreeId> = Vec::new();
    let count = 1 + rng.below(14);
    for _ in 0..count {
        let node = match rng.below(40) {
            0 => TreeNode::True,
            1 => TreeNode::False,
            2 => TreeNode::Eval(rng.pick(values)),
            _ => TreeNode::Test(random_cond(&mut tree.pool, values, rng)),
        };
        open.push(push(tree, node));
        if rng.one_in(3) {
            let not = TreeNode::Not(open.pop().expect("just pushed"));
            open.push(push(tree, not));
        }
        if tries && rng.one_in(6) {
            let tried = TreeNode::Try(open.pop().expect("just pushed"));
            open.push(push(tree, tried));
        }
        if open.len() > 1 && rng.one_in(2) {
            combine(tree, &mut open, rng);
        }
    }
    while open.len() > 1 {
        combine(tree, &mut open, rng);
    }
    open[0]
}

fn combine(tree: &mut Tree, open: &mut Vec<TreeId>, rng: &mut Rng) {
    let (Some(b), Some(a)) = (open.pop(), open.pop()) else { return };
    let node = if rng.one_in(2) { TreeNode::And(a, b) } else { TreeNode::Or(a, b) };
    open.push(push(tree, node));
}

fn push(tree: &mut Tree, node: TreeNode) -> TreeId {
    let at = tree.len() as u32;
    tree.push(node, Span::new(at, at + 1))
}

/// Packets for a graph: some random, each then changed so that comparisons with constants come out equal.
pub(super) fn directed_packets(graph: &Graph, rng: &mut Rng) -> Vec<Vec<u8>> {
    let wishes: Vec<(usize, Size, u32)> = wishes(graph);
    let mut packets = Vec::new();
    for _ in 0..24 {
        let len = if wishes.iter().any(|wish| wish.0 > 24) { 80 } else { 24 };
        let mut packet: Vec<u8> =
            (0..len).map(|_| if rng.one_in(3) { 0 } else { rng.next() as u8 & 0x3f }).collect();
        for _ in 0..rng.below(12) {
            if wishes.is_empty() {
                break;
            }
            let (at, size, k) = rng.pick(&wishes);
            let bytes = &k.to_be_bytes()[4 - size.bytes() as usize..];
            if let Some(place) = packet.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        }
        packets.push(packet);
    }
    packets
}

/// What loads are compared with.
fn wishes(graph: &Graph) -> Vec<(usize, Size, u32)> {
    let mut wishes = Vec::new();
    let pool = &graph.pool;
    for id in graph.topological() {
        let Node::Branch { cond, .. } = graph.node(id) else { continue };
        let (Cond::Cmp(_, a, b) | Cond::Test(a, b)) = pool.get_cond(*cond) else { continue };
        for (a, b) in [(a, b), (b, a)] {
            let load = std::iter::once(a).chain(pool.operands(a)).map(|v| pool.get(v));
            for value in load {
                if let (Value::Load { base, offset, size, order: Order::Network }, Some(k)) =
                    (value, pool.as_const(b))
                {
                    // A variable base: an IPv4 header of 20 bytes, as likely as not.
                    let base = pool.as_const(base).unwrap_or(20);
                    wishes.push(((base + offset) as usize, size, k));
                }
            }
        }
    }
    wishes.push((14, Size::B1, 0x45));
    wishes
}
