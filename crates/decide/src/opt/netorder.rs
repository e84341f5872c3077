//! Comparing in network byte order: `be16[12] == 0x0800` becomes `le16[12] == 0x0008`, which needs no swap.
//!
//! A load is turned round where nothing but equality, masks and switches over single values looks at it: then the
//! constants are turned round instead. Arithmetic, order and ranges need the number itself. This is the last pass:
//! since it writes every node again it swaps those that [`super::likely`] has found, which it also does for targets that want
//! every load as it is.

use super::likely::{Swap, Swaps};
use super::rebuild::{Rebuild, Room};
use super::shape::Shape;
use crate::filled::filled;
use crate::ir::{BinOp, CmpOp, Cond, CondId, Graph, Node, Order, Pool, Size, Switch, Value, ValueId};

/// Turns loads round where that pays and is wanted; swaps tests.
pub(super) fn netorder(
    graph: &mut Graph,
    shape: &Shape,
    mut swaps: Swaps,
    memory_order: bool,
    room: &mut Room,
) {
    let turned = if memory_order { Turned::new(graph, shape) } else { Turned::nothing(graph) };
    let root = graph.root;
    Rebuild::new(graph, room).run(root, |rebuild, id, node| {
        if !shape.reaches(id) || swaps.is_second(id) {
            return None;
        }
        let pool = &mut rebuild.graph.pool;
        Some(match (node, swaps.take(id)) {
            (_, Some(Swap { second, cond, hit, other_cond, other_hit, rest })) => {
                let (cond, other_cond) = (turned.cond(pool, cond), turned.cond(pool, other_cond));
                let later = rebuild.branch(id, other_cond, rebuild.at(other_hit), rebuild.at(rest));
                rebuild.branch(second, cond, rebuild.at(hit), later)
            }
            (Node::Branch { cond, then, els }, None) => {
                let cond = turned.cond(pool, cond);
                rebuild.new_branch(id, cond, rebuild.at(then), rebuild.at(els))
            }
            (Node::Switch(mut switch), None) => {
                turned.switch(&mut switch);
                rebuild.same(id, Node::Switch(switch))
            }
            (leaf @ Node::Leaf(_), None) => rebuild.same(id, leaf),
        })
    });
}

/// Facts about values, and their replacements.
struct Turned {
    /// By value as it was.
    values: Vec<Turn>,
}

#[derive(Clone, Copy, Default)]
struct Turn {
    /// Whether a reachable node uses it.
    used: bool,
    /// Something needs the number itself.
    as_number: bool,
    /// What it is turned round, and the width of what is.
    turned: Option<(ValueId, Size)>,
}

impl Turned {
    /// Leaves every load as it is.
    fn nothing(graph: &Graph) -> Self {
        Turned { values: filled(Turn::default(), graph.pool.value_count()) }
    }

    /// Turns loads round, and the masks over them.
    fn new(graph: &mut Graph, shape: &Shape) -> Self {
        let mut turned = Turned::nothing(graph);
        turned.note_uses(graph, shape);
        for id in (0..turned.values.len() as u32).map(ValueId) {
            let Turn { used, as_number, .. } = turned.values[id.index()];
            if used && !as_number {
                turned.values[id.index()].turned = turned.value(&mut graph.pool, id);
            }
        }
        turned
    }

    fn note_uses(&mut self, graph: &Graph, shape: &Shape) {
        for &id in &shape.order {
            match graph.node(id) {
                Node::Leaf(_) => {}
                Node::Branch { cond, .. } => self.note_cond(&graph.pool, *cond),
                Node::Switch(switch) => {
                    self.note(switch.value, switch.arms.iter().any(|arm| arm.low != arm.high));
                }
            }
        }
        // Users have greater ids than what they use.
        for id in (0..self.values.len() as u32).rev().map(ValueId) {
            if self.values[id.index()].used {
                self.note_operands(&graph.pool, id);
            }
        }
    }

    fn note_cond(&mut self, pool: &Pool, cond: CondId) {
        let as_number = match pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, _, k) | Cond::Test(_, k) => pool.as_const(k).is_none(),
            Cond::Cmp(CmpOp::Lt, ..) | Cond::Bounds { .. } | Cond::Member(_) => true,
        };
        pool.cond_operands(cond).for_each(|value| self.note(value, as_number));
    }

    fn note_operands(&mut self, pool: &Pool, value: ValueId) {
        let mask = matches!(pool.get(value), Value::Op(BinOp::And, _, k) if pool.as_const(k).is_some());
        let as_number = !mask || self.values[value.index()].as_number;
        pool.operands(value).for_each(|operand| self.note(operand, as_number));
    }

    fn note(&mut self, value: ValueId, as_number: bool) {
        let noted = &mut self.values[value.index()];
        noted.used = true;
        noted.as_number |= as_number;
    }

    /// What a value is turned round, if it can be.
    fn value(&self, pool: &mut Pool, id: ValueId) -> Option<(ValueId, Size)> {
        match pool.get(id) {
            Value::Load { size, order: Order::Network, .. } if size > Size::B1 => {
                pool.turn_round(id);
                Some((id, size))
            }
            Value::Op(op, a, mask) => {
                let ((a, size), mask) = (self.at(a)?, pool.as_const(mask)?);
                let mask = pool.constant(swap(mask, size));
                Some((pool.op(op, a, mask), size))
            }
            _ => None,
        }
    }

    fn cond(&self, pool: &mut Pool, id: CondId) -> CondId {
        let cond = pool.get_cond(id);
        let (Cond::Cmp(_, a, k) | Cond::Test(a, k)) = cond else { return id };
        let (Some((a, size)), Some(k)) = (self.at(a), pool.as_const(k)) else { return id };
        let k = pool.constant(swap(k, size));
        pool.cond(match cond {
            Cond::Cmp(op, ..) => Cond::Cmp(op, a, k),
            _ => Cond::Test(a, k),
        })
    }

    fn switch(&self, switch: &mut Switch) {
        if let Some((value, size)) = self.at(switch.value) {
            for arm in &mut switch.arms {
                arm.low = swap(arm.low, size);
                arm.high = arm.low;
            }
            switch.arms.sort_unstable_by_key(|arm| arm.low);
            switch.value = value;
        }
    }

    fn at(&self, old: ValueId) -> Option<(ValueId, Size)> {
        self.values[old.index()].turned
    }
}

/// The number that a load gives with its bytes the other way round.
fn swap(k: u32, size: Size) -> u32 {
    k.swap_bytes() >> (32 - 8 * size.bytes())
}
