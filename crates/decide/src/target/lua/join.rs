//! Tests that all must hold, one after the other, as one test.
//!
//! ```text
//! n1: if a == 8 then n2 else reject
//! n2: if b == 6 then n3 else reject          bor(bxor(a, 8), bxor(b, 6)) == 0
//! ```
//! PERF: each test is a place where a trace of LuaJIT is left, for another that comes back to the beginning of the loop. `icmp` on mixed traffic took 2.1 ns, and
//! 4 where the first trace was a rare one; with its last two tests as one it takes 1.3 ns, and no longer where all packets match.
//!
//! The later test is evaluated where the first fails. So it must do no harm there: its loads lie under guards that came before, since no test
//! that is joined is a guard; it divides by constants only; and it looks at few values, none of which needs a variable of its own.

use super::Writer;
use super::values::{Need, Question};
use crate::ir::{BinOp, CmpOp, Cond, Node, NodeId, Value, ValueId};

/// Tests joined at most, and values that a joined test may look at, directly or not.
const TESTS_MAX: usize = 4;
const VALUES_MAX: usize = 6;

/// A test that holds where an expression is zero.
struct Zero {
    text: String,
    holds: NodeId,
    fails: NodeId,
}

impl Writer<'_> {
    /// Joins the tests that follow a node's with its own: what they ask, and where they lead. `known` are the values whose variables are set.
    pub(super) fn join(&mut self, head: NodeId, known: &[ValueId]) -> Option<(Question, NodeId, NodeId)> {
        let Zero { text, mut holds, fails } = self.zero(head)?;
        if !self.is_plain(fails) {
            return None;
        }
        let mut texts = vec![text];
        while texts.len() < TESTS_MAX
            && self.layout.edges_in[holds.index()] == 1
            && !self.is_head(holds)
            && self.is_harmless(holds, known)
            && let Some(next) = self.zero(holds).filter(|next| next.fails == fails)
        {
            self.joined[holds.index()] = Some(head);
            texts.push(next.text);
            holds = next.holds;
        }
        if texts.len() == 1 {
            return None;
        }
        self.values.need(Need::Bor);
        Some((Question::of(&format!("bor({})", texts.join(", ")), "==", "~=", "0"), holds, fails))
    }

    /// The test of a node, unless it is a guard or an order.
    fn zero(&self, id: NodeId) -> Option<Zero> {
        let Node::Branch { cond, then, els } = self.graph.node(id) else { return None };
        match self.graph.pool.get_cond(*cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => {
                Some(Zero { text: self.values.difference(a, b), holds: *then, fails: *els })
            }
            Cond::Test(a, b) => Some(Zero { text: self.values.both(a, b), holds: *els, fails: *then }),
            _ => None,
        }
    }

    /// Whether a node may be evaluated where the one before it fails.
    fn is_harmless(&mut self, id: NodeId, known: &[ValueId]) -> bool {
        let graph = self.graph;
        let pool = &graph.pool;
        let Node::Branch { cond, .. } = graph.node(id) else { return false };
        let mut pending: Vec<ValueId> = pool.cond_operands(*cond).collect();
        if !self.values.needed(pending.iter().copied(), known).is_empty() {
            return false;
        }
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
}
