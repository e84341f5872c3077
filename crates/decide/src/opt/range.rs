//! Static ranges of values: what their structure alone says, on every path.
//!
//! One interval a value, computed once from its operands' when the value is first asked for. Wrap-around that
//! cannot be excluded gives the full range.

use crate::ir::{BinOp, Pool, Value, ValueId};

/// An inclusive interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

impl Range {
    const FULL: Range = Range { low: 0, high: u32::MAX };

    fn up_to(high: u32) -> Range {
        Range { low: 0, high }
    }

    /// Every bit that some value of the range may have set.
    pub(crate) fn bits(self) -> u32 {
        u32::MAX.checked_shr(self.high.leading_zeros()).unwrap_or(0)
    }
}

/// The ranges of a pool's values, and which of them something is divided by.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// By value: its range, and whether something is divided by it.
    values: Vec<(Range, bool)>,
}

impl Ranges {
    /// The range of one value.
    pub(crate) fn of(&mut self, pool: &Pool, value: ValueId) -> Range {
        for id in (self.values.len()..=value.index()).map(|i| ValueId(i as u32)) {
            let range = range(pool, id, |operand| self.get(operand));
            self.values.push((range, false));
            if let Value::Op(BinOp::Div | BinOp::Mod, _, divisor) = pool.get(id) {
                self.values[divisor.index()].1 = true;
            }
        }
        self.get(value)
    }

    /// With room for this many values.
    pub(crate) fn with_capacity(values: usize) -> Ranges {
        Ranges { values: Vec::with_capacity(values) }
    }

    /// Makes [`Ranges::get`] good for every value that the pool now has.
    pub(crate) fn cover(&mut self, pool: &Pool) {
        if let Some(last) = pool.value_count().checked_sub(1) {
            self.of(pool, ValueId(last as u32));
        }
    }

    /// The range of a value that was covered.
    pub(crate) fn get(&self, value: ValueId) -> Range {
        self.values[value.index()].0
    }

    /// Whether something is divided by a value: then its test against 0 is a guard.
    pub(crate) fn is_divisor(&self, value: ValueId) -> bool {
        self.values[value.index()].1
    }
}

fn range(pool: &Pool, id: ValueId, of: impl Fn(ValueId) -> Range) -> Range {
    match pool.get(id) {
        Value::Const(k) => Range { low: k, high: k },
        Value::Len | Value::Input(_) => Range::FULL,
        Value::Load { size, .. } => Range::up_to(size.max()),
        Value::Op(op, a, b) => op_range(op, of(a), of(b)).unwrap_or(Range::FULL),
    }
}

fn op_range(op: BinOp, a: Range, b: Range) -> Option<Range> {
    let constant = (b.low == b.high).then_some(b.low);
    Some(match op {
        BinOp::Add => Range { low: a.low.wrapping_add(b.low), high: a.high.checked_add(b.high)? },
        BinOp::Sub => Range { low: a.low.checked_sub(b.high)?, high: a.high.wrapping_sub(b.low) },
        BinOp::Mul => Range { low: a.low.wrapping_mul(b.low), high: a.high.checked_mul(b.high)? },
        BinOp::Div if b.low > 0 => Range { low: a.low / b.high, high: a.high / b.low },
        BinOp::Div => Range::up_to(a.high),
        BinOp::Mod => Range::up_to(a.high.min(b.high.saturating_sub(1))),
        BinOp::And => Range::up_to(a.high.min(b.high)),
        BinOp::Or => Range { low: a.low.max(b.low), high: a.bits() | b.bits() },
        BinOp::Xor => Range::up_to(a.bits() | b.bits()),
        BinOp::Shl => {
            let shift = constant.filter(|&k| k <= a.high.leading_zeros() && k < 32)?;
            Range { low: a.low << shift, high: a.high << shift }
        }
        BinOp::Shr => match constant {
            Some(k) => {
                Range { low: a.low.checked_shr(k).unwrap_or(0), high: a.high.checked_shr(k).unwrap_or(0) }
            }
            None => Range::up_to(a.high),
        },
    })
}
