//! Which bytes to fetch for a load: as many as cost no more, and those that hold other loads too.

use super::program::Column;
use crate::ir::{Graph, Order, Size, Value, ValueId};

/// A load, as bytes of the packet.
pub(super) struct Wanted {
    pub(super) value: ValueId,
    /// The variable part of its address.
    pub(super) base: Option<ValueId>,
    pub(super) start: u64,
    pub(super) size: Size,
    pub(super) order: Order,
}

/// A fetch: `start` and the three or seven bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) wide: bool,
}

/// Some bytes of a column, in one order or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) column: Column,
    /// How many bits lie below it.
    pub(super) shift: u8,
    pub(super) size: Size,
    /// Whether its bytes are in network order, most significant first.
    pub(super) swap: bool,
}

impl Wanted {
    /// The load that a value is.
    pub(super) fn of(graph: &Graph, value: ValueId) -> Option<Wanted> {
        let Value::Load { base, offset, size, order } = graph.pool.get(value) else { return None };
        let constant = graph.pool.as_const(base);
        let start = u64::from(constant.unwrap_or(0)) + u64::from(offset);
        Some(Wanted { value, base: constant.is_none().then_some(base), start, size, order })
    }

    /// Just past its last byte.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.size.bytes())
    }

    /// As part of a column that holds what lies at `start` and after.
    pub(super) fn within(&self, column: Column, start: u64) -> Option<Field> {
        let lies_in = start <= self.start && self.end() <= start + 4;
        let swap = self.order == Order::Network && self.size != Size::B1;
        lies_in.then(|| Field { column, shift: 8 * (self.start - start) as u8, size: self.size, swap })
    }
}

impl Window {
    /// The window that holds the wanted bytes and as many of the others as possible, within the first `captured` bytes,
    /// which hold the wanted ones and are four at least.
    pub(super) fn around(wanted: &Wanted, others: &[Wanted], captured: u64) -> Window {
        // Wherever four bytes hold what is wanted, the fetch may be of these, or of four more behind or before them.
        let starts = wanted.end().saturating_sub(4)..=wanted.start.min(captured - 4);
        let narrow = starts.clone().map(|start| Window { start, wide: false });
        let behind = starts.clone().filter(|start| start + 8 <= captured);
        let before = starts.filter(|&start| start >= 4).map(|start| start - 4);
        let wide = behind.chain(before).map(|start| Window { start, wide: true });
        // Of equals a narrow one, and the last: fields are best where a column begins.
        let worth = |window: &Window| {
            (others.iter().filter(|other| window.holds(other)).count(), !window.wide, window.start)
        };
        narrow.chain(wide).max_by_key(worth).unwrap_or(Window { start: 0, wide: false })
    }

    fn holds(self, load: &Wanted) -> bool {
        let within = |start| start <= load.start && load.end() <= start + 4;
        within(self.start) || self.wide && within(self.start + 4)
    }
}

impl Field {
    /// A number as these bytes hold it.
    pub(super) fn as_it_lies(self, k: u32) -> u32 {
        let k = if self.swap { k.swap_bytes() >> (32 - 8 * self.size.bytes()) } else { k };
        k << self.shift
    }
}
