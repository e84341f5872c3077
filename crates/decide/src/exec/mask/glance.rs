//! Filters that eight bytes at a fixed place decide: `ip`, `arp`, `ether src 2:0:0:0:0:1`, `not ether multicast`.
//!
//! No column is needed for these, nor any step: captured lengths are compared together, and the bytes
//! in registers. Where one of 64 packets is too short for the guard, the steps decide.

use super::program::{ACCEPT, Column, Mask, MaskProgram, REJECT, Step, Test};

/// `(bytes & bits == k) == accepts`, of packets of which `captured` bytes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glance {
    /// INVARIANT: `offset + 8` at least.
    pub(super) captured: u32,
    /// Where the eight bytes are, a little-endian number.
    pub(super) offset: u32,
    pub(super) bits: u64,
    pub(super) k: u64,
    pub(super) accepts: bool,
}

impl Glance {
    /// The whole of a program, if it is only a guard, a fetch, and tests that all must hold, or one that must not.
    pub(super) fn of(program: &MaskProgram) -> Option<Glance> {
        let [guard, fetch, forks @ .., last] = &program.steps[..] else { return None };
        let Step::Fork { test: Test::Captured { end }, negated: false, rest: REJECT, .. } = *guard else {
            return None;
        };
        let fetched = Fetched::of(fetch)?;
        let offset = fetched.offset.min(end.checked_sub(8)?);
        let mut all = Equality { bits: 0, k: 0 };
        for fork in forks {
            let Step::Fork { test, negated, rest: REJECT, .. } = *fork else { return None };
            let (equality, holds) = fetched.equality(test, offset)?;
            all = all.and(equality).filter(|_| holds != negated)?;
        }
        let Step::Branch { test, then, els } = *last else { return None };
        let (equality, holds) = fetched.equality(test, offset)?;
        let accepts = holds == accepts(then, els)?;
        let Equality { bits, k } = if accepts { all.and(equality)? } else { equality };
        let is_one_test = accepts || forks.is_empty();
        is_one_test.then_some(Glance { captured: end, offset, bits, k, accepts })
    }
}

/// Whether a test leads to accepting where it holds, and to rejecting elsewhere.
fn accepts(then: Mask, els: Mask) -> Option<bool> {
    match (then, els) {
        (ACCEPT, REJECT) => Some(true),
        (REJECT, ACCEPT) => Some(false),
        _ => None,
    }
}

/// Columns that a fetch from a fixed place has filled.
struct Fetched {
    offset: u32,
    low: Column,
    high: Option<Column>,
}

/// `bytes & bits == k`
struct Equality {
    bits: u64,
    k: u64,
}

impl Fetched {
    fn of(step: &Step) -> Option<Fetched> {
        match *step {
            Step::Fetch4 { dst, at } if at.base.is_none() => {
                Some(Fetched { offset: at.offset, low: dst, high: None })
            }
            Step::Fetch8 { low, high, at } if at.base.is_none() => {
                Some(Fetched { offset: at.offset, low, high: Some(high) })
            }
            _ => None,
        }
    }

    /// A test as an equality over the eight bytes from `offset` on, and whether it holds where these are equal.
    fn equality(&self, test: Test, offset: u32) -> Option<(Equality, bool)> {
        let (column, bits, k, holds) = match test {
            Test::Equal { a, k } => (a, u32::MAX, k, true),
            Test::EqualMasked { a, mask, k } => (a, mask, k, true),
            Test::Any { a, mask } => (a, mask, 0, false),
            _ => return None,
        };
        let start = match column {
            _ if column == self.low => self.offset,
            _ if Some(column) == self.high => self.offset + 4,
            _ => return None,
        };
        let shift = 8 * (start - offset);
        Some((Equality { bits: u64::from(bits) << shift, k: u64::from(k) << shift }, holds))
    }
}

impl Equality {
    /// Both, unless they contradict each other.
    fn and(self, other: Equality) -> Option<Equality> {
        let agree = (self.k ^ other.k) & self.bits & other.bits == 0;
        agree.then_some(Equality { bits: self.bits | other.bits, k: self.k | other.k })
    }
}
