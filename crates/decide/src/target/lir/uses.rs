//! Where values are used along the layout, and which of them must be computed once only.

use super::layout::{Layout, layout};
use crate::filled::filled;
use crate::ir::verify::Outputs;
use crate::ir::{BinOp, Cond, Graph, Node, Pool, Value, ValueId};

/// How one value is used. Positions are those of the layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// What the packet decided once must stay decided: the base of a guard, and a divisor. Between check and use
    /// another party may write to the packet, so these values are never computed again from it.
    pub(crate) pinned: bool,
    /// Where it is used first; greater than any where it is not.
    pub(crate) first: u32,
    /// Where the last node is done that evaluates the value or anything made from it: one more than its position.
    pub(crate) last_end: u32,
    /// The same of the last node that needs it directly, or makes something from it for the first time.
    pub(super) last_direct_end: u32,
}

/// Finds the uses, by value; `outputs` are what leaves compute.
pub(crate) fn uses(graph: &Graph, layout: &Layout, outputs: Outputs<'_>) -> Vec<Use> {
    let pool = &graph.pool;
    let mut uses = filled(Use::NONE, pool.value_count());
    for (at, &node) in (0..).zip(&layout.order) {
        match graph.node(node) {
            Node::Leaf(leaf) => outputs.of(*leaf).iter().for_each(|value| uses[value.index()].directly(at)),
            Node::Branch { cond, .. } => {
                pool.cond_operands(*cond).for_each(|value| uses[value.index()].directly(at));
                if let Cond::Bounds { base, .. } = pool.get_cond(*cond) {
                    pin(pool, &mut uses, base);
                }
            }
            Node::Switch(switch) => uses[switch.value.index()].directly(at),
        }
    }
    // Operands have smaller ids, so everything made from a value is settled before the value.
    for value in (0..uses.len() as u32).rev().map(ValueId) {
        let user = uses[value.index()];
        if user.last_end > 0 {
            pool.operands(value).for_each(|operand| uses[operand.index()].through(&user));
            if let Value::Op(BinOp::Div | BinOp::Mod, _, divisor) = pool.get(value) {
                pin(pool, &mut uses, divisor);
            }
        }
    }
    uses
}

/// A constant is the same however often it is computed.
fn pin(pool: &Pool, uses: &mut [Use], value: ValueId) {
    uses[value.index()].pinned = pool.as_const(value).is_none();
}

impl Use {
    const NONE: Use = Use { pinned: false, first: u32::MAX, last_end: 0, last_direct_end: 0 };

    /// By the node at this position, which comes behind those met so far.
    fn directly(&mut self, at: u32) {
        self.first = self.first.min(at);
        self.last_end = at + 1;
        self.last_direct_end = at + 1;
    }

    /// By what is made from it.
    fn through(&mut self, user: &Use) {
        self.first = self.first.min(user.first);
        self.last_end = self.last_end.max(user.last_end);
        self.last_direct_end = self.last_direct_end.max(user.first + 1);
    }
}

/// Which values are pinned, by value.
pub(crate) fn pinned(graph: &Graph) -> Vec<bool> {
    uses(graph, &layout(graph), Outputs::default()).iter().map(|used| used.pinned).collect()
}
