//! The last tests of a filter, joined: `a or b or …` at the end becomes one number without a branch.
//!
//! ```text
//! n1: if a then accept else n2           flag = a
//! n2: if b then accept else reject       flag = flag | b      answer flag
//! ```
//! PERF: which of a packet's two ports is the wanted one is a coin toss, and a branch on it mispredicts half the
//! time, at some 5 ns; the second comparison costs less than one.
//!
//! This evaluates b where a has accepted already, so b must do no harm there: its loads lie under guards
//! that came before a, since a is no guard itself; it may divide by constants only, since a could have been the test
//! of a divisor. And it must be cheap.

use super::program::{Exit, Inst, Operand};
use super::select::{Selector, VReg};
use crate::ir::{ACCEPT, BinOp, Cond, Node, NodeId, REJECT, Value, ValueId};

/// Tests joined at most.
const TESTS_MAX: usize = 4;
/// Values that a joined test may look at, directly or not.
const VALUES_MAX: usize = 8;

impl Selector<'_> {
    /// If this node begins such a chain: makes one block of all of it.
    pub(super) fn chain(&mut self, head: NodeId) -> bool {
        let Some(chain) = self.find_chain(head) else { return false };
        let mut flag = None;
        for &node in &chain {
            self.absorbed[node.index()] = true;
            self.at = self.at.max(self.layout.position[node.index()]);
        }
        for &node in &chain {
            let next = self.set(node);
            flag = Some(flag.map_or(next, |flag| self.either(flag, next)));
        }
        let Some(flag) = flag else { return false };
        self.finish_block(head, self.label(head), Exit::Flag(flag));
        true
    }

    fn find_chain(&self, head: NodeId) -> Option<Vec<NodeId>> {
        let mut chain = vec![head];
        loop {
            let last = chain[chain.len() - 1];
            let (then, els) = self.question(last)?;
            let next = match (self.leaf(then), self.leaf(els)) {
                (Some(ACCEPT), Some(REJECT)) | (Some(REJECT), Some(ACCEPT)) => {
                    return (chain.len() > 1).then_some(chain);
                }
                (Some(ACCEPT), None) => els,
                (None, Some(ACCEPT)) => then,
                _ => return None,
            };
            if chain.len() == TESTS_MAX || self.layout.edges_in[next.index()] != 1 || !self.is_harmless(next)
            {
                return None;
            }
            chain.push(next);
        }
    }

    /// Where yes and no lead, if the node asks one question that is no guard.
    fn question(&self, node: NodeId) -> Option<(NodeId, NodeId)> {
        match self.graph.node(node) {
            Node::Leaf(_) => None,
            Node::Branch { cond, then, els } => {
                let guard = matches!(self.graph.pool.get_cond(*cond), Cond::Bounds { .. });
                (!guard).then_some((*then, *els))
            }
            Node::Switch(switch) => self.switch_question(switch),
        }
    }

    fn leaf(&self, node: NodeId) -> Option<u32> {
        match self.graph.node(node) {
            Node::Leaf(leaf) => Some(*leaf),
            _ => None,
        }
    }

    /// Whether the node looks at few values, and divides by none of them.
    fn is_harmless(&self, node: NodeId) -> bool {
        let pool = &self.graph.pool;
        let mut pending: Vec<ValueId> = match self.graph.node(node) {
            Node::Leaf(_) => return false,
            Node::Branch { cond, .. } => pool.cond_operands(*cond).collect(),
            Node::Switch(switch) => vec![switch.value],
        };
        let mut seen = 0;
        while let Some(value) = pending.pop() {
            let divides = match pool.get(value) {
                Value::Op(BinOp::Div | BinOp::Mod, _, by) => pool.as_const(by).is_none(),
                _ => false,
            };
            seen += usize::from(pool.as_const(value).is_none());
            if divides || seen > VALUES_MAX {
                return false;
            }
            pending.extend(pool.operands(value));
        }
        true
    }

    /// 1 where the node accepts.
    fn set(&mut self, node: NodeId) -> VReg {
        let graph = self.graph;
        let (test, mut negated, yes) = match graph.node(node) {
            Node::Branch { cond, then, .. } => (self.test(graph.pool.get_cond(*cond)), false, *then),
            Node::Switch(switch) => {
                let (test, negated) = self.switch_test(switch);
                let yes = self.switch_question(switch).map_or(switch.default, |(yes, _)| yes);
                (test, negated, yes)
            }
            Node::Leaf(_) => unreachable!("a chain is made of questions"),
        };
        negated ^= self.leaf(yes) != Some(ACCEPT);
        let dst = self.fresh();
        self.push(Inst::Set { dst, test, negated });
        dst
    }

    fn either(&mut self, a: VReg, b: VReg) -> VReg {
        let dst = self.fresh();
        self.push(Inst::Op { op: BinOp::Or, dst, a, b: Operand::Reg(b) });
        dst
    }
}
