//! From lowered tree to decision graph: short circuits become edges, and every load gets its guard.
//!
//! ```text
//! build(a and b, then, els) = build(a, build(b, then, els), els)
//! build(a or b,  then, els) = build(a, then, build(b, then, els))
//! build(not a,   then, els) = build(a, els, then)
//! build(test,    then, els) = guard₁ -> guard₂ -> … -> branch(test, then, els), each guard's no -> fail
//! ```
//! Built from the back, so that every tree node is visited once and arms are shared. An ordered list of filters
//! is built the same way: `fail` and `els` of one are the entry of the next.

use super::{BinOp, CmpOp, Cond, CondId, Graph, NodeId, Pool, REJECT, Value, ValueId};
use crate::lower::tree::{Tree, TreeId, TreeNode};
use crate::span::Span;

/// The graph of an ordered list of filters: the first that matches decides, with its leaf number; a packet
/// that none matches is rejected.
pub fn build(tree: Tree, arms: &[(TreeId, u32)]) -> Graph {
    let mut builder = Builder::new(tree);
    let mut entry = builder.graph.leaf(REJECT);
    for &(root, leaf) in arms.iter().rev() {
        let accept = builder.graph.leaf(leaf);
        entry = builder.arm(root, accept, entry);
    }
    builder.graph.root = entry;
    builder.graph
}

struct Builder {
    tree: Tree,
    graph: Graph,
    /// Scratch of [`Builder::evaluated`]: the last search that reached each value.
    seen: Vec<u32>,
    search: u32,
}

/// What remains to be done once the node in hand is known.
enum Task {
    Build(TreeId, NodeId, NodeId),
    /// The node in hand is where `yes` of this operand leads.
    Then(TreeId, NodeId),
    /// The node in hand is where `no` of this operand leads.
    Else(TreeId, NodeId),
}

impl Builder {
    fn new(mut tree: Tree) -> Self {
        let pool = std::mem::take(&mut tree.pool);
        let seen = vec![0; pool.value_count()];
        Builder { tree, graph: Graph::new(pool), seen, search: 0 }
    }

    fn arm(&mut self, root: TreeId, accept: NodeId, fail: NodeId) -> NodeId {
        let mut tasks = vec![Task::Build(root, accept, fail)];
        let mut node = fail;
        while let Some(task) = tasks.pop() {
            let (id, then, els) = match task {
                Task::Build(id, then, els) => (id, then, els),
                Task::Then(id, els) => (id, node, els),
                Task::Else(id, then) => (id, then, node),
            };
            match self.tree.node(id) {
                TreeNode::True => node = then,
                TreeNode::False => node = els,
                TreeNode::Not(a) => tasks.push(Task::Build(a, els, then)),
                TreeNode::And(a, b) => tasks.extend([Task::Then(a, els), Task::Build(b, then, els)]),
                TreeNode::Or(a, b) => tasks.extend([Task::Else(a, then), Task::Build(b, then, els)]),
                TreeNode::Test(cond) => node = self.test(cond, then, els, fail, self.tree.span(id)),
                TreeNode::Eval(value) => node = self.guarded(&[value], then, fail, self.tree.span(id)),
            }
        }
        node
    }

    fn test(&mut self, cond: CondId, then: NodeId, els: NodeId, fail: NodeId, span: Span) -> NodeId {
        let branch = self.graph.branch(cond, then, els);
        if then != els {
            self.graph.add_span(branch, span);
        }
        let operands: Vec<ValueId> = self.graph.pool.cond_operands(cond).collect();
        self.guarded(&operands, branch, fail, span)
    }

    /// `next`, behind the guards of everything that evaluating `values` evaluates.
    fn guarded(&mut self, values: &[ValueId], next: NodeId, fail: NodeId, span: Span) -> NodeId {
        let mut node = next;
        for value in self.evaluated(values).into_iter().rev() {
            node = match guard_of(&mut self.graph.pool, value) {
                Guard::None => continue,
                Guard::Always(cond) => self.graph.branch(cond, node, fail),
                Guard::Unless(cond) => self.graph.branch(cond, fail, node),
                Guard::Never => fail,
            };
            if node != fail {
                self.graph.add_span(node, span);
            }
        }
        node
    }

    /// The values and all their operands, in ascending order.
    fn evaluated(&mut self, values: &[ValueId]) -> Vec<ValueId> {
        self.search += 1;
        // Guards add constants to the pool while we go.
        self.seen.resize(self.graph.pool.value_count(), 0);
        let mut pending = values.to_vec();
        let mut found = Vec::new();
        while let Some(value) = pending.pop() {
            if std::mem::replace(&mut self.seen[value.index()], self.search) != self.search {
                found.push(value);
                pending.extend(self.graph.pool.operands(value));
            }
        }
        found.sort_unstable();
        found
    }
}

/// What must hold before a value may be evaluated, its operands having been.
enum Guard {
    None,
    Always(CondId),
    Unless(CondId),
    Never,
}

fn guard_of(pool: &mut Pool, value: ValueId) -> Guard {
    match pool.get(value) {
        Value::Load { base, offset, size, .. } => match offset.checked_add(size.bytes()) {
            Some(end) => Guard::Always(pool.cond(Cond::Bounds { base, end })),
            None => Guard::Never,
        },
        Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => match pool.as_const(divisor) {
            Some(0) => Guard::Never,
            Some(_) => Guard::None,
            None => {
                let zero = pool.constant(0);
                Guard::Unless(pool.cond(Cond::Cmp(CmpOp::Eq, divisor, zero)))
            }
        },
        Value::Const(_) | Value::Len | Value::Op(..) => Guard::None,
    }
}
