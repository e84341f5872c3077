//! Comparing in network byte order: `be16[12] == 0x0800` becomes `le16[12] == 0x0008`, which needs no swap.
//!
//! A load is turned round where nothing but equality, masks and switches over single values looks at it: then the
//! constants are turned round instead. Arithmetic, order and ranges need the number itself. This is the last pass:
//! it also leaves behind the values and conditions that no node looks at any more, and since it writes every node anew
//! it swaps those that [`super::likely`] has found.

use super::likely::{Swap, Swaps};
use crate::ir::{
    Arm, BinOp, CmpOp, Cond, CondId, Graph, Node, NodeId, Order, Pool, Size, Switch, Value, ValueId,
};

/// The same graph, given with its topological order, over its own values only; loads turned round where that pays.
pub(super) fn netorder(graph: &Graph, order: &[NodeId], mut swaps: Swaps) -> Graph {
    let uses = Uses::new(graph, order);
    // Constants are turned round, and some are needed both ways.
    let pool = Pool::with_capacity(graph.pool.value_count() + 8, graph.pool.cond_count());
    let mut out = Graph::with_capacity(pool, order.len());
    let values = Values::new(&graph.pool, &uses, &mut out.pool);
    let mut writer = Writer { graph, values, conds: vec![None; graph.pool.cond_count()], out };
    let mut new = vec![NodeId(0); graph.node_count()];
    for &id in order.iter().rev() {
        if swaps.is_second(id) {
            continue;
        }
        let at = |old: NodeId| new[old.index()];
        new[id.index()] = match (graph.node(id), swaps.take(id)) {
            (_, Some(Swap { second, cond, hit, other_cond, other_hit, rest })) => {
                let later = writer.branch(id, other_cond, at(other_hit), at(rest));
                writer.branch(second, cond, at(hit), later)
            }
            (Node::Leaf(leaf), None) => writer.out.leaf(*leaf),
            (Node::Branch { cond, then, els }, None) => writer.branch(id, *cond, at(*then), at(*els)),
            (Node::Switch(switch), None) => {
                let arms = switch.arms.iter().map(|arm| Arm { target: at(arm.target), ..*arm }).collect();
                let switch = writer.values.switch(switch.value, arms, at(switch.default));
                let node = writer.out.switch(switch);
                writer.out.take_origin(node, graph, id);
                node
            }
        };
    }
    writer.out.root = new[graph.root.index()];
    writer.out
}

/// The new graph in the making.
struct Writer<'g> {
    graph: &'g Graph,
    values: Values,
    /// By old condition: what it has become.
    conds: Vec<Option<CondId>>,
    out: Graph,
}

impl Writer<'_> {
    /// A branch on what an old condition has become, which came from where `old` did.
    fn branch(&mut self, old: NodeId, cond: CondId, then: NodeId, els: NodeId) -> NodeId {
        let (pool, out) = (&self.graph.pool, &mut self.out);
        let cond = *self.conds[cond.index()]
            .get_or_insert_with(|| self.values.cond(&mut out.pool, pool.get_cond(cond), pool));
        let origin = out.origin_of(self.graph, old);
        out.branch_from(origin, cond, then, els)
    }
}

/// How values are used by the reachable nodes.
struct Uses {
    values: Vec<Use>,
}

#[derive(Clone, Copy, Default)]
struct Use {
    used: bool,
    /// Something needs the number itself.
    as_number: bool,
}

impl Uses {
    fn new(graph: &Graph, order: &[NodeId]) -> Self {
        let mut uses = Uses { values: vec![Use::default(); graph.pool.value_count()] };
        for &id in order {
            match graph.node(id) {
                Node::Leaf(_) => {}
                Node::Branch { cond, .. } => uses.cond(&graph.pool, *cond),
                Node::Switch(switch) => {
                    uses.note(switch.value, switch.arms.iter().any(|arm| arm.low != arm.high));
                }
            }
        }
        // Users have greater ids than what they use.
        for id in (0..graph.pool.value_count() as u32).rev().map(ValueId) {
            if uses.values[id.index()].used {
                uses.operands(&graph.pool, id);
            }
        }
        uses
    }

    fn cond(&mut self, pool: &Pool, cond: CondId) {
        let as_number = match pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, _, k) | Cond::Test(_, k) => pool.as_const(k).is_none(),
            Cond::Cmp(CmpOp::Lt, ..) | Cond::Bounds { .. } => true,
        };
        pool.cond_operands(cond).for_each(|value| self.note(value, as_number));
    }

    fn operands(&mut self, pool: &Pool, value: ValueId) {
        let mask = matches!(pool.get(value), Value::Op(BinOp::And, _, k) if pool.as_const(k).is_some());
        let as_number = !mask || self.values[value.index()].as_number;
        pool.operands(value).for_each(|operand| self.note(operand, as_number));
    }

    fn note(&mut self, value: ValueId, as_number: bool) {
        let noted = &mut self.values[value.index()];
        noted.used = true;
        noted.as_number |= as_number;
    }
}

/// What the values of the old pool have become.
struct Values {
    new: Vec<New>,
}

#[derive(Clone, Copy)]
struct New {
    id: ValueId,
    /// The width of what is turned round.
    turned: Option<Size>,
}

impl New {
    const UNUSED: New = New { id: ValueId(u32::MAX), turned: None };
}

impl Values {
    fn new(pool: &Pool, uses: &Uses, out: &mut Pool) -> Self {
        let mut values = Values { new: Vec::with_capacity(uses.values.len()) };
        for (id, &Use { used, as_number }) in (0..).map(ValueId).zip(&uses.values) {
            let new = if used { values.value(pool, out, pool.get(id), as_number) } else { New::UNUSED };
            values.new.push(new);
        }
        values
    }

    fn value(&self, pool: &Pool, out: &mut Pool, value: Value, as_number: bool) -> New {
        let (value, turned) = match value {
            Value::Const(_) | Value::Len => (value, None),
            Value::Load { base, offset, size, order } => {
                let turn = size > Size::B1 && order == Order::Network && !as_number;
                let order = if turn { Order::Little } else { order };
                (Value::Load { base: self.at(base), offset, size, order }, turn.then_some(size))
            }
            Value::Op(op, a, b) => match (self.turned(a), pool.as_const(b)) {
                (Some(size), Some(mask)) => {
                    (Value::Op(op, self.at(a), out.constant(swap(mask, size))), Some(size))
                }
                _ => (Value::Op(op, self.at(a), self.at(b)), None),
            },
        };
        New { id: out.value(value), turned }
    }

    fn cond(&self, out: &mut Pool, cond: Cond, pool: &Pool) -> CondId {
        let constant = |out: &mut Pool, a: ValueId, k: ValueId| match (self.turned(a), pool.as_const(k)) {
            (Some(size), Some(k)) => out.constant(swap(k, size)),
            _ => self.at(k),
        };
        let cond = match cond {
            Cond::Cmp(op, a, b) => Cond::Cmp(op, self.at(a), constant(out, a, b)),
            Cond::Test(a, mask) => Cond::Test(self.at(a), constant(out, a, mask)),
            Cond::Bounds { base, end } => Cond::Bounds { base: self.at(base), end },
        };
        out.cond(cond)
    }

    fn switch(&self, value: ValueId, mut arms: Vec<Arm>, default: NodeId) -> Switch {
        if let Some(size) = self.turned(value) {
            for arm in &mut arms {
                arm.low = swap(arm.low, size);
                arm.high = arm.low;
            }
            arms.sort_unstable_by_key(|arm| arm.low);
        }
        Switch { value: self.at(value), arms, default }
    }

    fn at(&self, old: ValueId) -> ValueId {
        self.new[old.index()].id
    }

    fn turned(&self, old: ValueId) -> Option<Size> {
        self.new[old.index()].turned
    }
}

/// The number that a load gives with its bytes the other way round.
fn swap(k: u32, size: Size) -> u32 {
    k.swap_bytes() >> (32 - 8 * size.bytes())
}
