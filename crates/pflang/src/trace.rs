//! Why a packet does or does not match: one run through the unoptimised graph, step by step.

use crate::ir::interp::{self, Interp, Step};
use crate::ir::print::Exprs;
use crate::ir::{BinOp, CmpOp, Cond, CondId, Graph, Node, NodeId, Pool, REJECT, Value, ValueId};
use crate::span::Span;

/// One run of one packet.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was asked, in order.
    pub steps: Vec<TraceStep>,
    /// Whether the packet matches.
    pub matches: bool,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The primitive that asks.
    pub span: Span,
    /// The question: `be16[12] == 0x800`.
    pub question: String,
    /// What it read of the packet; empty for a question about lengths.
    pub loads: Vec<TracedLoad>,
    /// What came of it.
    pub answer: Answer,
}

/// Bytes that a question read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedLoad {
    /// Offset of the first from the start of the frame.
    pub offset: u64,
    /// How many: 1, 2 or 4.
    pub size: u32,
    /// The number they make.
    pub value: u32,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The bytes that the next question needs were not captured: the packet is rejected, whatever else holds.
    NotCaptured {
        /// Captured bytes that would have been needed.
        needed: u64,
    },
    /// The next question divides by zero: the packet is rejected, whatever else holds.
    DividesByZero,
}

/// Runs a packet through a graph as it was built, not optimised.
pub fn trace(graph: &Graph, data: &[u8], wire_len: u32) -> Trace {
    let exprs = Exprs::new(graph, &graph.topological());
    let mut steps = Vec::new();
    let leaf = Interp::new(graph).run_traced(interp::Packet { data, wire_len }, |step| {
        if let Node::Branch { cond, then, els } = graph.node(step.node) {
            let taken = step.next == *then;
            let rejects = *graph.node(step.next) == Node::Leaf(REJECT);
            let divisor_guard = is_divisor_guard(graph, *cond, *then, *els);
            let answer = match graph.pool.get_cond(*cond) {
                Cond::Bounds { .. } if taken => return,
                Cond::Bounds { base, end } => {
                    Answer::NotCaptured { needed: value_of(&step, &graph.pool, base) + u64::from(end) }
                }
                _ if divisor_guard && rejects => Answer::DividesByZero,
                _ if divisor_guard => return,
                _ if taken => Answer::Yes,
                _ => Answer::No,
            };
            let span = graph.spans(step.node).as_slice().first().copied().unwrap_or_default();
            let loads = loads(&graph.pool, *cond, &step);
            steps.push(TraceStep { span, question: exprs.cond(*cond), loads, answer });
        }
    });
    Trace { steps, matches: leaf != REJECT }
}

/// Whether this is the branch that keeps a zero divisor from its division: a comparison with zero that rejects at
/// once and whose other arm divides by that value.
fn is_divisor_guard(graph: &Graph, cond: CondId, then: NodeId, els: NodeId) -> bool {
    let Cond::Cmp(CmpOp::Eq, divisor, zero) = graph.pool.get_cond(cond) else { return false };
    let is_division = |value: ValueId| {
        let value = graph.pool.get(value);
        matches!(value, Value::Op(BinOp::Div | BinOp::Mod, _, by) if by == divisor)
    };
    let divides = |node: NodeId| match graph.node(node) {
        Node::Branch { cond, .. } => values_of(&graph.pool, *cond).into_iter().any(is_division),
        _ => false,
    };
    graph.pool.as_const(zero) == Some(0) && *graph.node(then) == Node::Leaf(REJECT) && divides(els)
}

fn loads(pool: &Pool, cond: CondId, step: &Step<'_>) -> Vec<TracedLoad> {
    let mut loads: Vec<TracedLoad> = values_of(pool, cond)
        .into_iter()
        .filter_map(|value| match pool.get(value) {
            Value::Load { base, offset, size, .. } => Some(TracedLoad {
                offset: value_of(step, pool, base) + u64::from(offset),
                size: size.bytes(),
                value: u32::try_from(value_of(step, pool, value)).unwrap_or(u32::MAX),
            }),
            _ => None,
        })
        .collect();
    loads.sort_unstable_by_key(|load| (load.offset, load.size));
    loads
}

/// A value of a step, which has been evaluated or is a constant.
fn value_of(step: &Step<'_>, pool: &Pool, value: ValueId) -> u64 {
    let known = step.values.get(value.index()).copied().flatten();
    u64::from(known.or_else(|| pool.as_const(value)).unwrap_or(0))
}

/// What a condition looks at, directly or not.
fn values_of(pool: &Pool, cond: CondId) -> Vec<ValueId> {
    let mut found: Vec<ValueId> = Vec::new();
    let mut seen = vec![false; pool.value_count()];
    let mut pending: Vec<ValueId> = pool.cond_operands(cond).collect();
    while let Some(value) = pending.pop() {
        if !std::mem::replace(&mut seen[value.index()], true) {
            found.push(value);
            pending.extend(pool.operands(value));
        }
    }
    found
}
