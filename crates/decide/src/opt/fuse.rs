//! Either of two ports in a range, as one branch.
//!
//! ```text
//! a - low < n ? t : (b - low < n ? t : e)   ->   ((a' - n) | (b' - n)) & 0x80000000 != 0 ? t : e
//! a' = a where low is 0, else (a - low) & 0xffff
//! ```
//! With `a` and `b` of 16 bits `a' - n` is negative exactly if `a` lies in the range, and so is the union of both if
//! either does. Source ports are as good as random, so the first branch alone would be mispredicted every other
//! time where a range holds about half of them (`portrange 0-6000`); two subtractions cost less. Single ports stay
//! two tests: they are rarely met and well predicted.
//!
//! Nothing lies between the two tests, so both values may be loaded where the first one was.

use super::question::{Question, test};
use super::range::Ranges;
use super::rebuild::{Rebuild, Room};
use super::shape::{Shape, take};
use super::value::Folder;
use super::value::op;
use crate::ir::{BinOp, CmpOp, Cond, Graph, Node, NodeId, Size, Value, ValueId};

/// `value` in `low..low + count`.
#[derive(Clone, Copy)]
struct InRange {
    value: ValueId,
    low: u32,
    count: u32,
}

/// Two range tests in a row that lead to the same place.
struct Pair {
    tests: [InRange; 2],
    second: NodeId,
    hit: NodeId,
    miss: NodeId,
}

/// Fuses pairs of range tests; says whether there were any.
pub(super) fn fuse(graph: &mut Graph, shape: &Shape, ranges: &mut Ranges, room: &mut Room) -> bool {
    let found = |&id: &NodeId| Some((id, pair_at(graph, &shape.edges_in, id)?));
    let mut pairs: Vec<(NodeId, Pair)> = shape.order.iter().filter_map(found).collect();
    if pairs.is_empty() {
        return false;
    }
    let root = graph.root;
    Rebuild::new(graph, room).run(root, |rebuild, id, node| {
        if !shape.reaches(id) {
            return None;
        }
        Some(match take(&mut pairs, id) {
            None => rebuild.same(id, node),
            Some(pair) => {
                let question = either(rebuild.graph, ranges, pair.tests);
                let (hit, miss) = (rebuild.at(pair.hit), rebuild.at(pair.miss));
                let fused = match question {
                    Question::Known(true) => hit,
                    Question::Known(false) => miss,
                    Question::If(cond) => rebuild.branch(id, cond, hit, miss),
                    Question::Unless(cond) => rebuild.branch(id, cond, miss, hit),
                };
                if fused != hit && fused != miss {
                    rebuild.came_from(fused, pair.second);
                }
                fused
            }
        })
    });
    true
}

fn pair_at(graph: &Graph, edges_in: &[u32], id: NodeId) -> Option<Pair> {
    let (first, hit, second) = range_test(graph, id)?;
    let (other, other_hit, miss) = range_test(graph, second)?;
    let fuses = hit == other_hit && edges_in[second.index()] == 1;
    fuses.then_some(Pair { tests: [first, other], second, hit, miss })
}

/// The range test that a node is, and where its yes and no lead.
fn range_test(graph: &Graph, id: NodeId) -> Option<(InRange, NodeId, NodeId)> {
    let Node::Branch { cond, then, els } = *graph.node(id) else { return None };
    let Cond::Cmp(CmpOp::Lt, a, count) = graph.pool.get_cond(cond) else { return None };
    let count = graph.pool.as_const(count)?;
    let (value, low) = match graph.pool.get(a) {
        Value::Op(BinOp::Sub, x, low) => (x, graph.pool.as_const(low)?),
        _ => (a, 0),
    };
    let is_16_bits = matches!(graph.pool.get(value), Value::Load { size: Size::B2, .. });
    let in_16_bits = low.checked_add(count).is_some_and(|end| end <= 0x1_0000);
    (is_16_bits && in_16_bits).then_some((InRange { value, low, count }, then, els))
}

fn either(graph: &mut Graph, ranges: &mut Ranges, tests: [InRange; 2]) -> Question {
    let mut folder = Folder { pool: std::mem::take(&mut graph.pool), ranges: std::mem::take(ranges) };
    let [a, b] = tests.map(|test| negative_inside(&mut folder, test));
    let both = op(&mut folder, BinOp::Or, a, b);
    let sign = folder.constant(1 << 31);
    let question = test(&mut folder, both, sign);
    folder.ranges.cover(&folder.pool);
    (graph.pool, *ranges) = (folder.pool, folder.ranges);
    question
}

/// A value whose top bit is set exactly if the test holds.
fn negative_inside(folder: &mut Folder, InRange { value, low, count }: InRange) -> ValueId {
    let mut value = value;
    if low > 0 {
        let (low, mask) = (folder.constant(low), folder.constant(0xffff));
        value = op(folder, BinOp::Sub, value, low);
        value = op(folder, BinOp::And, value, mask);
    }
    let count = folder.constant(count);
    op(folder, BinOp::Sub, value, count)
}
