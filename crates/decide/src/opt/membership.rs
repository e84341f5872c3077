//! Tests of the form "is this value in this range", recognised in the shapes they take in the graph.
//!
//! ```text
//! v == k                            k..=k
//! v & m == k      m a prefix mask   k..=k | !m            v & m == 0   likewise
//! v < k                             0..=k-1
//! v - a < n                         a..=a+n-1
//! v < a ? x : (v < b ? y : x)       a..=b-1               and the mirror image
//! ```

use super::range::Ranges;
use crate::ir::{BinOp, CmpOp, Cond, CondId, Graph, Node, NodeId, Pool, Value, ValueId};

/// `value in low..=high ? hit : miss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) value: ValueId,
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) hit: NodeId,
    pub(super) miss: NodeId,
    /// The other node, where it takes two.
    pub(super) second: Option<NodeId>,
}

/// Facts about a graph for recognising sets.
pub(super) struct Recogniser<'g> {
    pub(super) graph: &'g Graph,
    pub(super) ranges: &'g Ranges,
    /// How many edges lead to each node.
    pub(super) edges_in: &'g [u32],
}

impl Recogniser<'_> {
    /// Whether a node is a question, but no guard.
    pub(super) fn is_test(&self, id: NodeId) -> bool {
        match self.graph.node(id) {
            Node::Leaf(_) => false,
            Node::Switch(_) => true,
            Node::Branch { cond, .. } => !matches!(self.graph.pool.get_cond(*cond), Cond::Bounds { .. }),
        }
    }

    pub(super) fn is_switch(&self, id: NodeId) -> bool {
        matches!(self.graph.node(id), Node::Switch(_))
    }

    /// The membership test that begins at a node.
    pub(super) fn at(&self, id: NodeId) -> Option<Membership> {
        let Node::Branch { cond, then, els } = self.graph.node(id) else { return None };
        let (value, low, high, inside) = self.range(*cond)?;
        let (hit, miss) = if inside { (*then, *els) } else { (*els, *then) };
        let one = Membership { value, low, high, hit, miss, second: None };
        Some(self.with_second(one).unwrap_or(one))
    }

    /// Two tests against the ends of one range: `low` and `high` of the first are `0..=k`.
    fn with_second(&self, first: Membership) -> Option<Membership> {
        if first.low != 0 || first.low == first.high {
            return None;
        }
        let inner = |id: NodeId| {
            let Node::Branch { cond, then, els } = self.graph.node(id) else { return None };
            let (value, low, high, inside) = self.range(*cond)?;
            let matches = value == first.value && low == 0 && inside && self.edges_in[id.index()] == 1;
            matches.then_some((high, *then, *els))
        };
        if let Some((high, hit, _)) = inner(first.miss).filter(|&(_, _, miss)| miss == first.hit) {
            // v <= k ? x : (v <= high ? hit : x)
            let low = first.high + 1;
            return (low <= high).then_some(Membership {
                low,
                high,
                hit,
                miss: first.hit,
                second: Some(first.miss),
                ..first
            });
        }
        let (below, _, hit) = inner(first.hit).filter(|&(_, miss, _)| miss == first.miss)?;
        // v <= k ? (v <= below ? x : hit) : x
        let low = below + 1;
        (low <= first.high).then_some(Membership { low, hit, second: Some(first.hit), ..first })
    }

    /// The range that a condition asks for, and whether it holds inside it or outside.
    fn range(&self, cond: CondId) -> Option<(ValueId, u32, u32, bool)> {
        let pool = &self.graph.pool;
        match pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => {
                let k = pool.as_const(b)?;
                if k == 0 && self.ranges.is_divisor(a) {
                    return None;
                }
                let (value, mask) = masked(pool, a).unwrap_or((a, u32::MAX));
                Some(match self.prefix(value, mask) {
                    Some(free) => (value, k, k | free, true),
                    None => (a, k, k, true),
                })
            }
            Cond::Cmp(CmpOp::Lt, a, b) => {
                let count = pool.as_const(b)?;
                let shifted = match pool.get(a) {
                    Value::Op(BinOp::Sub, x, k) => pool.as_const(k).map(|k| (x, k)),
                    _ => None,
                };
                let (value, low) = shifted.filter(|(_, k)| k.checked_add(count).is_some()).unwrap_or((a, 0));
                Some((value, low, low + count.checked_sub(1)?, true))
            }
            Cond::Test(a, mask) => {
                let free = self.prefix(a, pool.as_const(mask)?)?;
                Some((a, 0, free, false))
            }
            Cond::Bounds { .. } | Cond::Member(_) => None,
        }
    }

    /// The bits that a mask leaves free, where they are the low ones: then it asks for a range.
    fn prefix(&self, value: ValueId, mask: u32) -> Option<u32> {
        let free = !mask & self.ranges.get(value).bits();
        (free & free.wrapping_add(1) == 0).then_some(free)
    }
}

fn masked(pool: &Pool, value: ValueId) -> Option<(ValueId, u32)> {
    match pool.get(value) {
        Value::Op(BinOp::And, x, mask) => Some((x, pool.as_const(mask)?)),
        _ => None,
    }
}
