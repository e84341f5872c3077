//! Values that have variables in a text: which of them must be set, and what they may be called.

use crate::filled::filled;
use crate::ir::{Order, Pool, Value, ValueId};

/// Searches for the variables that values need.
pub(crate) struct Needed {
    /// By value: the search that has seen it last.
    seen: Vec<u32>,
    search: u32,
}

impl Needed {
    pub(crate) fn new(pool: &Pool) -> Self {
        Needed { seen: filled(0, pool.value_count()), search: 0 }
    }

    /// Values with variables which are not held, for these to be written down, ascending: operands first.
    pub(crate) fn of<I: Iterator<Item = ValueId>>(
        &mut self,
        roots: impl IntoIterator<Item = ValueId>,
        held: &[ValueId],
        operands: impl Fn(ValueId) -> I,
        has_variable: impl Fn(ValueId) -> bool,
    ) -> Vec<ValueId> {
        self.search += 1;
        let mut pending: Vec<ValueId> = roots.into_iter().collect();
        let mut needed = Vec::new();
        while let Some(id) = pending.pop() {
            let seen = std::mem::replace(&mut self.seen[id.index()], self.search) == self.search;
            if seen || held.binary_search(&id).is_ok() {
                continue;
            }
            if has_variable(id) {
                needed.push(id);
            }
            pending.extend(operands(id));
        }
        needed.sort_unstable();
        needed
    }
}

/// A name that says what was loaded, where that is at a fixed place.
pub(crate) fn load_name(pool: &Pool, id: ValueId) -> Option<String> {
    let Value::Load { base, offset, size, order } = pool.get(id) else { return None };
    let at = u64::from(pool.as_const(base)?) + u64::from(offset);
    let kind = if order == Order::Little { "le" } else { "u" };
    Some(format!("{kind}{}_at_{at}", 8 * size.bytes()))
}
