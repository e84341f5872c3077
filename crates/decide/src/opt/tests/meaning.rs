//! What trees and clauses mean, by their definition.

use crate::ir::interp::load;
use crate::ir::tree::{Clause, Tree, TreeId, TreeNode};
use crate::ir::{CmpOp, Cond, Pool, REJECT, Value, ValueId};

/// The leaf that a packet reaches.
pub(super) fn leaf(tree: &Tree, clauses: &[Clause], packet: &[u8], wire_len: u32) -> u32 {
    let meaning = Meaning { tree, packet, wire_len };
    let mut at = 0;
    while let Some(&clause) = clauses.get(at) {
        let holds = clause.root().map(|root| meaning.holds(root, None) == Some(true));
        at += 1;
        match (clause, holds) {
            (Clause::Leaf(_, leaf), Some(true)) => return leaf,
            (Clause::Block(_), Some(false)) => at = behind(clauses, at),
            (Clause::End, _) => return REJECT,
            _ => {}
        }
    }
    REJECT
}

/// Where a block ends whose clauses begin there.
fn behind(clauses: &[Clause], mut at: usize) -> usize {
    let mut open = 1;
    while open > 0 {
        match clauses[at] {
            Clause::Block(_) => open += 1,
            Clause::End => open -= 1,
            Clause::Leaf(..) => {}
        }
        at += 1;
    }
    at
}

struct Meaning<'t> {
    tree: &'t Tree,
    packet: &'t [u8],
    wire_len: u32,
}

impl Meaning<'_> {
    /// `None` where a test cannot be evaluated, and `unknown`, what then is said of it, is nothing.
    fn holds(&self, id: TreeId, unknown: Option<bool>) -> Option<bool> {
        match self.tree.node(id) {
            TreeNode::True => Some(true),
            TreeNode::False => Some(false),
            TreeNode::Test(cond) => self.cond(self.tree.pool.get_cond(cond)).or(unknown),
            TreeNode::In(set) => {
                let set = self.tree.set(set);
                let value = self.value(set.value);
                value
                    .map(|value| set.ranges.iter().any(|range| (range.0..=range.1).contains(&value)))
                    .or(unknown)
            }
            TreeNode::Eval(value) => self.value(value).map(|_| true).or(unknown),
            TreeNode::And(a, b) => {
                if self.holds(a, unknown)? {
                    self.holds(b, unknown)
                } else {
                    Some(false)
                }
            }
            TreeNode::Or(a, b) => {
                if self.holds(a, unknown)? {
                    Some(true)
                } else {
                    self.holds(b, unknown)
                }
            }
            TreeNode::Not(a) => Some(!self.holds(a, unknown.map(|unknown| !unknown))?),
            TreeNode::Try(a) => self.holds(a, unknown.or(Some(false))),
        }
    }

    fn cond(&self, cond: Cond) -> Option<bool> {
        Some(match cond {
            Cond::Cmp(CmpOp::Eq, a, b) => self.value(a)? == self.value(b)?,
            Cond::Cmp(CmpOp::Lt, a, b) => self.value(a)? < self.value(b)?,
            Cond::Test(a, mask) => self.value(a)? & self.value(mask)? != 0,
            Cond::Bounds { base, end } => self.end(base, end)? <= self.packet.len() as u64,
            Cond::Member(members) => {
                let pool = &self.tree.pool;
                let row: Option<Vec<u32>> =
                    pool.member_words(members).iter().map(|&word| self.value(word)).collect();
                pool.members(members).contains(&row?)
            }
        })
    }

    fn end(&self, base: ValueId, end: u32) -> Option<u64> {
        Some(u64::from(self.value(base)?) + u64::from(end))
    }

    fn value(&self, value: ValueId) -> Option<u32> {
        let pool: &Pool = &self.tree.pool;
        match pool.get(value) {
            Value::Const(k) => Some(k),
            Value::Len => Some(self.wire_len),
            Value::Input(_) => None,
            Value::Load { base, offset, size, order } => {
                let end = self.end(base, offset)? + u64::from(size.bytes());
                let is_captured = end <= self.packet.len() as u64;
                is_captured.then(|| load(self.packet, (end - u64::from(size.bytes())) as usize, size, order))
            }
            Value::Op(op, a, b) => op.eval(self.value(a)?, self.value(b)?),
        }
    }
}
