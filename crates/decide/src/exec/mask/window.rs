//! Which bytes to fetch for a load: as many as cost no more, and those that hold other loads too.

use super::program::Column;
use crate::ir::{Graph, Order, Size, Value, ValueId};
use std::cmp::Reverse;

/// A load, as bytes of the packet.
pub(super) struct Wanted {
    pub(super) value: ValueId,
    /// The variable part of its address.
    pub(super) base: Option<ValueId>,
    pub(super) start: u64,
    pub(super) size: Size,
    pub(super) order: Order,
}

/// A fetch: a number of groups of four bytes from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: u64,
    /// 1, 2 or 4.
    pub(super) words: u64,
}

/// Forms of a fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetches {
    /// The most words of four bytes that one fetch takes in a row: 2 or 4.
    pub(super) words_max: u64,
    /// Or four bytes each at two places of sixteen.
    pub(super) pairs: bool,
}

/// A fetch of four bytes each at two places of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Where the sixteen begin.
    pub(super) start: u64,
    /// How many of them lie before each.
    pub(super) from: [u8; 2],
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

    fn lies_in_four(&self, start: u64) -> bool {
        start <= self.start && self.end() <= start + 4
    }

    /// As part of a column that holds what lies at `start` and after.
    pub(super) fn within(&self, column: Column, start: u64) -> Option<Field> {
        let swap = self.order == Order::Network && self.size != Size::B1;
        self.lies_in_four(start).then(|| Field {
            column,
            shift: 8 * (self.start - start) as u8,
            size: self.size,
            swap,
        })
    }
}

impl Window {
    /// The window of at most `words_max` times four bytes that holds the wanted ones and as many of the others as
    /// possible, within the first `captured`, which hold the wanted ones and are four at least.
    pub(super) fn around(wanted: &Wanted, others: &[Wanted], captured: u64, words_max: u64) -> Window {
        // Wherever four bytes hold what is wanted, the fetch may be of these, or of more around them.
        let starts = wanted.end().saturating_sub(4)..=wanted.start.min(captured - 4);
        let around = starts.flat_map(|start| {
            [1, 2, 4].into_iter().flat_map(move |words| {
                (0..words)
                    .filter_map(move |before| Some(Window { start: start.checked_sub(4 * before)?, words }))
            })
        });
        // Of equals a narrow one, and the last: fields are best where a column begins.
        let worth = |window: &Window| {
            (others.iter().filter(|other| window.holds(other)).count(), Reverse(window.words), window.start)
        };
        let fits = |window: &Window| window.words <= words_max && window.start + 4 * window.words <= captured;
        around.filter(fits).max_by_key(worth).unwrap_or(Window { start: 0, words: 1 })
    }

    fn holds(self, load: &Wanted) -> bool {
        self.words().any(|start| load.lies_in_four(start))
    }

    /// Where each four bytes begin.
    pub(super) fn words(self) -> impl Iterator<Item = u64> {
        (0..self.words).map(move |i| self.start + 4 * i)
    }
}

impl Pair {
    /// A window of four bytes, and the four near them that hold most of the others, if any of these are left. Of equals the last.
    pub(super) fn of(window: Window, others: &[Wanted], captured: u64) -> Option<Pair> {
        let last = captured.checked_sub(SIXTEEN)?;
        let left: Vec<&Wanted> = others.iter().filter(|other| !window.holds(other)).collect();
        let starts =
            left.iter().flat_map(|other| other.end().saturating_sub(4)..=other.start.min(captured - 4));
        let near = starts.filter(|start| start.abs_diff(window.start) <= SIXTEEN - 4);
        let held = |&start: &u64| (left.iter().filter(|other| other.lies_in_four(start)).count(), start);
        let other = near.max_by_key(held)?;
        let start = window.start.min(other).min(last);
        Some(Pair { start, from: [window.start, other].map(|word| (word - start) as u8) })
    }

    /// Where each four bytes begin.
    pub(super) fn words(self) -> impl Iterator<Item = u64> {
        self.from.into_iter().map(move |from| self.start + u64::from(from))
    }
}

/// Bytes in which a pair lies.
const SIXTEEN: u64 = 16;

impl Field {
    /// A number as these bytes hold it.
    pub(super) fn as_it_lies(self, k: u32) -> u32 {
        let k = if self.swap { k.swap_bytes() >> (32 - 8 * self.size.bytes()) } else { k };
        k << self.shift
    }
}
