//! Random decision graphs that the verifier accepts by construction: the builder puts every guard.

use crate::rng::Rng;
use decide::Span;
use decide::internals::ir::build::build;
use decide::internals::ir::tree::{Tree, TreeId, TreeNode};
use decide::internals::ir::{Arm, BinOp, CmpOp, Cond, Graph, NodeId, Order, Size, Switch, Value, ValueId};

/// How large graphs get.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Values to choose from.
    pub values: usize,
    /// Tests in each filter.
    pub tests: usize,
    /// Filters in the ordered list.
    pub filters: usize,
    /// Switches in front of them.
    pub switches: usize,
    /// Numbers that the caller gives with each packet.
    pub inputs: u32,
}

/// A graph of that shape.
pub fn random_graph(rng: &mut Rng, shape: Shape) -> Graph {
    let mut tree = Tree::default();
    let values = random_values(rng, &mut tree, shape);
    let arms: Vec<(TreeId, u32)> = (0..shape.filters as u32)
        .map(|i| {
            (random_tree(rng, &mut tree, &values, shape.tests), if rng.chance(1, 8) { 0 } else { i + 1 })
        })
        .collect();
    let mut graph = build(tree, &arms);
    for _ in 0..shape.switches {
        add_switch(rng, &mut graph);
    }
    graph
}

const OPS: [BinOp; 10] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Mod,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Shl,
    BinOp::Shr,
];

const SIZES: [Size; 3] = [Size::B1, Size::B2, Size::B4];

fn random_values(rng: &mut Rng, tree: &mut Tree, Shape { values: count, inputs, .. }: Shape) -> Vec<ValueId> {
    let mut values = vec![tree.pool.constant(0), tree.pool.value(Value::Len)];
    values.extend((0..inputs).map(|slot| tree.pool.input(slot)));
    for _ in 0..count {
        let (a, b) = (*rng.pick(&values), *rng.pick(&values));
        let value = match rng.below(10) {
            0 => tree.pool.constant(random_constant(rng)),
            1..=3 => random_load(rng, tree, values[0]),
            // Small enough to lie in the packet now and then.
            4 => {
                let low = tree.pool.constant(0x1c);
                let base = tree.pool.op(BinOp::And, a, low);
                random_load(rng, tree, base)
            }
            5 if rng.chance(1, 3) => random_load(rng, tree, a),
            6 => {
                let k = tree.pool.constant(random_constant(rng));
                tree.pool.op(*rng.pick(&OPS), a, k)
            }
            _ => tree.pool.op(*rng.pick(&OPS), a, b),
        };
        values.push(value);
    }
    values
}

fn random_load(rng: &mut Rng, tree: &mut Tree, base: ValueId) -> ValueId {
    let size = *rng.pick(&SIZES);
    let offset = if rng.chance(1, 50) { random_constant(rng) } else { rng.below(40) as u32 };
    let order = if size == Size::B1 || rng.chance(1, 2) { Order::Network } else { Order::Little };
    tree.pool.value(Value::Load { base, offset, size, order })
}

fn random_constant(rng: &mut Rng) -> u32 {
    match rng.below(6) {
        0 => rng.below(4) as u32,
        1 => rng.below(40) as u32,
        2 => 1 << rng.below(32),
        3 => u32::MAX - rng.below(3) as u32,
        4 => rng.below(0x1_0000) as u32,
        _ => rng.next_u32(),
    }
}

/// A comb of tests, now and then negated, so that depth is as good as width.
fn random_tree(rng: &mut Rng, tree: &mut Tree, values: &[ValueId], tests: usize) -> TreeId {
    let mut root = random_test(rng, tree, values);
    for _ in 1..tests {
        let next = random_test(rng, tree, values);
        let node = match rng.below(5) {
            0 | 1 => TreeNode::And(root, next),
            2 => TreeNode::Or(next, root),
            3 => TreeNode::Or(root, next),
            _ => TreeNode::And(tree.push(TreeNode::Not(next), Span::default()), root),
        };
        root = tree.push(node, Span::default());
    }
    root
}

fn random_test(rng: &mut Rng, tree: &mut Tree, values: &[ValueId]) -> TreeId {
    let (a, mut b) = (*rng.pick(values), *rng.pick(values));
    if rng.chance(2, 3) {
        b = tree.pool.constant(random_constant(rng));
    }
    let cond = match rng.below(5) {
        0 => Cond::Cmp(CmpOp::Eq, a, b),
        1 => Cond::Cmp(CmpOp::Lt, a, b),
        2 => Cond::Cmp(CmpOp::Lt, b, a),
        _ => Cond::Test(a, b),
    };
    let node = if rng.chance(1, 12) { TreeNode::Eval(a) } else { TreeNode::Test(tree.pool.cond(cond)) };
    tree.push(node, Span::default())
}

/// Puts a switch in front: its arms lead to the root so far, to leaves, or into an earlier switch.
fn add_switch(rng: &mut Rng, graph: &mut Graph) {
    let zero = graph.pool.constant(0);
    let (size, offset) = (*rng.pick(&SIZES), rng.below(30) as u32);
    let order = if size == Size::B1 || rng.chance(1, 2) { Order::Network } else { Order::Little };
    let value = graph.pool.value(Value::Load { base: zero, offset, size, order });
    let mut targets: Vec<NodeId> = vec![graph.root];
    targets.extend((0..1 + rng.below(6) as u32).map(|i| graph.leaf(i * 7 % 5)));
    let arms = random_arms(rng, size, &targets);
    let default = *rng.pick(&targets);
    let switch = graph.switch(Switch { value, arms, default });
    let reject = graph.leaf(0);
    let guard = graph.pool.cond(Cond::Bounds { base: zero, end: offset + size.bytes() });
    graph.root = graph.branch(guard, switch, reject);
}

fn random_arms(rng: &mut Rng, size: Size, targets: &[NodeId]) -> Vec<Arm> {
    let (two, wide) = (rng.chance(1, 2), rng.chance(1, 2));
    let count_max = if rng.chance(1, 5) { 200 } else { 12 };
    let count = rng.below(count_max);
    let mut bounds: Vec<u32> = (0..2 * count).map(|_| rng.next_u32() & size.max()).collect();
    if rng.chance(1, 2) {
        bounds.iter_mut().for_each(|bound| *bound &= 0x3f);
    }
    bounds.sort_unstable();
    bounds.dedup();
    let arms = bounds.chunks_exact(2).map(|pair| {
        let target = if two { targets[0] } else { *rng.pick(targets) };
        Arm { low: pair[0], high: if wide { pair[1] } else { pair[0] }, target }
    });
    arms.collect()
}
