//! What must be known of a packet before a value of it can be computed: each load inside the captured bytes, no divisor zero.

use super::{BinOp, CmpOp, Cond, Graph, NodeId, Pool, Value, ValueId};
use crate::filled::filled;

/// The guard of one value whose operands have been evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// It can always be computed.
    None,
    /// `base + end` bytes must be captured.
    Within {
        /// The variable part of the address.
        base: ValueId,
        /// The end of the load, from there.
        end: u32,
    },
    /// This must not be zero.
    NotZero(ValueId),
    /// It can never be computed.
    Never,
}

impl Guard {
    pub(crate) fn of(pool: &Pool, value: ValueId) -> Guard {
        match pool.get(value) {
            Value::Load { base, offset, size, .. } => {
                offset.checked_add(size.bytes()).map_or(Guard::Never, |end| Guard::Within { base, end })
            }
            Value::Op(BinOp::Div | BinOp::Mod, _, divisor) => match pool.as_const(divisor) {
                Some(0) => Guard::Never,
                Some(_) => Guard::None,
                None => Guard::NotZero(divisor),
            },
            Value::Const(_) | Value::Len | Value::Input(_) | Value::Op(..) => Guard::None,
        }
    }
}

/// Finds values and all their operands, each once. Kept from search to search.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// The last search that reached each value.
    seen: Vec<u32>,
    search: u32,
    pending: Vec<ValueId>,
    /// In ascending order.
    found: Vec<ValueId>,
}

/// Values that a test of a header field looks at.
const VALUES_LIKELY: usize = 8;

impl Evaluation {
    pub(crate) fn of(pool: &Pool) -> Evaluation {
        let [pending, found] = [(); 2].map(|()| Vec::with_capacity(VALUES_LIKELY));
        Evaluation { seen: filled(0, pool.value_count()), search: 0, pending, found }
    }

    /// Finds the values and all their operands, except constants, which need no guard.
    pub(crate) fn begin(&mut self, pool: &Pool, values: impl IntoIterator<Item = ValueId>) {
        self.search += 1;
        // Guards may add constants to the pool while we go.
        self.seen.resize(pool.value_count(), 0);
        self.found.clear();
        values.into_iter().for_each(|value| self.evaluate_later(pool, value));
        while let Some(value) = self.pending.pop() {
            if std::mem::replace(&mut self.seen[value.index()], self.search) != self.search {
                self.found.push(value);
                pool.operands(value).for_each(|operand| self.evaluate_later(pool, operand));
            }
        }
        self.found.sort_unstable();
    }

    /// The last value found that has not been given yet: operators come before their operands.
    pub(crate) fn next_back(&mut self) -> Option<ValueId> {
        self.found.pop()
    }

    fn evaluate_later(&mut self, pool: &Pool, value: ValueId) {
        if pool.as_const(value).is_none() {
            self.pending.push(value);
        }
    }
}

impl Graph {
    /// `next`, behind the checks after which all these values can be computed: their loads lie in the captured bytes, no divisor is zero.
    /// Where a check fails, `fail`.
    ///
    /// ```
    /// use decide::{Graph, Pool, Size};
    ///
    /// let mut pool = Pool::default();
    /// let first = pool.at(0, Size::B1);
    /// let indirect = pool.load(first, 0, Size::B1);
    /// let mut graph = Graph::new(pool);
    /// let (yes, no) = (graph.leaf(1), graph.leaf(0));
    /// graph.root = graph.guard(&[indirect], yes, no);
    /// // One guard for the byte that tells the offset, one for the byte there.
    /// assert_eq!(graph.topological().len(), 4);
    /// ```
    pub fn guard(&mut self, values: &[ValueId], next: NodeId, fail: NodeId) -> NodeId {
        let mut node = next;
        let mut evaluation = Evaluation::of(&self.pool);
        evaluation.begin(&self.pool, values.iter().copied());
        while let Some(value) = evaluation.next_back() {
            node = match Guard::of(&self.pool, value) {
                Guard::None => node,
                Guard::Within { base, end } => {
                    let within = self.pool.cond(Cond::Bounds { base, end });
                    self.branch(within, node, fail)
                }
                Guard::NotZero(divisor) => {
                    let zero = self.pool.constant(0);
                    let is_zero = self.pool.cond(Cond::Cmp(CmpOp::Eq, divisor, zero));
                    self.branch(is_zero, fail, node)
                }
                Guard::Never => fail,
            };
        }
        node
    }
}
