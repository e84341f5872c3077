//! Constructors of values that simplify: constants, identities, masks, shifts, powers of two, addresses.
//!
//! Canonical forms, on which the conditions of [`super::question`] rely: a constant operand is on the right
//! where the operator commutes; of two constants under one associative operator one remains; a mask keeps some
//! bit and drops some bit that its operand can have; multiplication and division by powers of two are shifts.

use super::range::Ranges;
use crate::ir::{BinOp, Order, Pool, Size, Value, ValueId};

/// A pool that is being filled, with the ranges of what it holds.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) pool: Pool,
    pub(super) ranges: Ranges,
}

impl Folder {
    pub(super) fn constant(&mut self, k: u32) -> ValueId {
        self.pool.constant(k)
    }

    pub(super) fn as_const(&self, value: ValueId) -> Option<u32> {
        self.pool.as_const(value)
    }

    /// Every bit that a value may have set.
    pub(super) fn bits(&mut self, value: ValueId) -> u32 {
        self.ranges.of(&self.pool, value).bits()
    }

    /// `(x, k)` of a value `x op k`.
    pub(super) fn with_const(&self, value: ValueId, op: BinOp) -> Option<(ValueId, u32)> {
        match self.pool.get(value) {
            Value::Op(found, x, k) if found == op => Some((x, self.as_const(k)?)),
            _ => None,
        }
    }
}

/// A load, its address simplified.
pub(super) fn load(folder: &mut Folder, base: ValueId, offset: u32, size: Size, order: Order) -> ValueId {
    let (base, offset) = match address(folder, base, offset) {
        Address::At(base, offset) => (base, offset),
        // Never evaluated: its guard fails.
        Address::TooFar => (base, offset),
    };
    let order = if size == Size::B1 { Order::Network } else { order };
    folder.pool.value(Value::Load { base, offset, size, order })
}

/// An address, simplified.
pub(super) enum Address {
    At(ValueId, u32),
    /// The constant parts alone leave 32 bits.
    TooFar,
}

/// `base + offset` with the constant parts of `base` moved into the offset, unless that sum might wrap around
/// within `base`: then it stays where it is.
pub(super) fn address(folder: &mut Folder, base: ValueId, offset: u32) -> Address {
    let (x, k) = match (folder.as_const(base), folder.with_const(base, BinOp::Add)) {
        (Some(0), _) => return Address::At(base, offset),
        (Some(k), _) => (folder.constant(0), k),
        (None, Some((x, k))) if folder.ranges.of(&folder.pool, x).high.checked_add(k).is_some() => (x, k),
        (None, _) => return Address::At(base, offset),
    };
    offset.checked_add(k).map_or(Address::TooFar, |offset| Address::At(x, offset))
}

/// `a op b`, simplified.
pub(super) fn op(folder: &mut Folder, op: BinOp, a: ValueId, b: ValueId) -> ValueId {
    let (a, b) = if op.commutes() && precedes(folder, b, a) { (b, a) } else { (a, b) };
    match (folder.as_const(a), folder.as_const(b)) {
        (Some(x), Some(y)) => match op.eval(x, y) {
            Some(k) => folder.constant(k),
            None => folder.pool.op(op, a, b),
        },
        (_, Some(k)) => with_constant(folder, op, a, k),
        (Some(0), None) if !op.commutes() && op != BinOp::Sub => a,
        _ if a == b => with_itself(folder, op, a),
        _ => folder.pool.op(op, a, b),
    }
}

/// Whether `a` belongs on the left of `b`: constants on the right, else by id.
fn precedes(folder: &Folder, a: ValueId, b: ValueId) -> bool {
    (folder.as_const(a).is_some(), a) < (folder.as_const(b).is_some(), b)
}

fn with_itself(folder: &mut Folder, op: BinOp, a: ValueId) -> ValueId {
    match op {
        BinOp::Sub | BinOp::Xor => folder.constant(0),
        BinOp::And | BinOp::Or => a,
        _ => folder.pool.op(op, a, a),
    }
}

fn with_constant(folder: &mut Folder, op: BinOp, a: ValueId, k: u32) -> ValueId {
    match (op, k) {
        (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr, 0) => return a,
        (BinOp::Mul | BinOp::Div, 1) => return a,
        (BinOp::And | BinOp::Mul, 0) | (BinOp::Mod, 1) => return folder.constant(0),
        (BinOp::Shl | BinOp::Shr, 32..) => return folder.constant(0),
        (BinOp::Or, u32::MAX) => return folder.constant(k),
        _ => {}
    }
    match op {
        BinOp::Mul if k.is_power_of_two() => with_constant(folder, BinOp::Shl, a, k.trailing_zeros()),
        BinOp::Div if k.is_power_of_two() => with_constant(folder, BinOp::Shr, a, k.trailing_zeros()),
        BinOp::Mod if k.is_power_of_two() => with_constant(folder, BinOp::And, a, k - 1),
        BinOp::And if folder.bits(a) & !k == 0 => a,
        BinOp::And if folder.bits(a) & k == 0 => folder.constant(0),
        _ => match reassociated(folder, op, a, k) {
            // Once more at most: of two constants in a row the inner value has none.
            Some((op, x, k)) => with_constant(folder, op, x, k),
            None => {
                let k = folder.constant(k);
                folder.pool.op(op, a, k)
            }
        },
    }
}

/// `(x op₁ k₁) op k` as one operation with one constant, which is exact modulo 2³².
fn reassociated(folder: &Folder, op: BinOp, a: ValueId, k: u32) -> Option<(BinOp, ValueId, u32)> {
    let Value::Op(inner, x, k1) = folder.pool.get(a) else { return None };
    let k1 = folder.as_const(k1)?;
    Some(match (inner, op) {
        (BinOp::And, BinOp::And)
        | (BinOp::Or, BinOp::Or)
        | (BinOp::Xor, BinOp::Xor)
        | (BinOp::Mul, BinOp::Mul) => (op, x, op.eval(k1, k)?),
        (BinOp::Add, BinOp::Add) | (BinOp::Sub, BinOp::Sub) => (op, x, k1.wrapping_add(k)),
        (BinOp::Add, BinOp::Sub) | (BinOp::Sub, BinOp::Add) if k1 >= k => (inner, x, k1 - k),
        (BinOp::Add, BinOp::Sub) | (BinOp::Sub, BinOp::Add) => (op, x, k - k1),
        (BinOp::Shl, BinOp::Shl) | (BinOp::Shr, BinOp::Shr) => (op, x, k1 + k),
        _ => return None,
    })
}
