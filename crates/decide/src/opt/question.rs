//! Constructors of conditions that simplify.
//!
//! ```text
//! x - y == 0  -> x == y        (x & m) == 0 -> not test(x, m)     test(x & m, n)  -> test(x, m & n)
//! x + a == b  -> x == b - a    x >> s == k  -> x & m == k << s    test(x >> s, m) -> test(x, m << s)
//! x < 1       -> x == 0        k < x        -> not x < k + 1      where ranges decide: known
//! ```
//! Each rule peels one operator, in a loop: a value may be as deep as its text is long.

use super::value::Folder;
use super::value::{Address, address, op};
pub(super) use crate::ir::Question;
use crate::ir::{BinOp, CmpOp, Cond, Value, ValueId};

impl Question {
    pub(super) fn not(self) -> Question {
        match self {
            Question::Known(holds) => Question::Known(!holds),
            Question::If(cond) => Question::Unless(cond),
            Question::Unless(cond) => Question::If(cond),
        }
    }
}

impl Folder {
    fn ask(&mut self, cond: Cond) -> Question {
        Question::If(self.pool.cond(cond))
    }

    /// Whether nothing can be peeled off `value == k`, which is what most tests ask.
    fn is_simplest(&self, value: ValueId, k: u32) -> bool {
        matches!(self.pool.get(value), Value::Load { size, .. } if k <= size.max())
    }

    fn low(&mut self, value: ValueId) -> u32 {
        self.ranges.of(&self.pool, value).low
    }

    fn high(&mut self, value: ValueId) -> u32 {
        self.ranges.of(&self.pool, value).high
    }
}

/// A question about one value and a constant.
#[derive(Clone, Copy)]
enum Form {
    /// `value == k`
    Eq(ValueId, u32),
    /// `value & mask != 0`
    Test(ValueId, u32),
}

/// One rule applied.
enum Step {
    Again(Form),
    Opposite(Form),
    Done(Question),
}

fn simplest(folder: &mut Folder, mut form: Form) -> Question {
    let mut negated = false;
    loop {
        let step = match form {
            Form::Eq(a, k) => eq_step(folder, a, k),
            Form::Test(a, mask) => test_step(folder, a, mask),
        };
        match step {
            Step::Again(next) => form = next,
            Step::Opposite(next) => (form, negated) = (next, !negated),
            Step::Done(question) => return if negated { question.not() } else { question },
        }
    }
}

/// `a == b`.
pub(super) fn eq(folder: &mut Folder, a: ValueId, b: ValueId) -> Question {
    let (a, b) = if folder.as_const(a).is_some() { (b, a) } else { (a, b) };
    match folder.as_const(b) {
        Some(k) if folder.is_simplest(a, k) => folder.ask(Cond::Cmp(CmpOp::Eq, a, b)),
        Some(k) => simplest(folder, Form::Eq(a, k)),
        None => eq_values(folder, a, b),
    }
}

fn eq_values(folder: &mut Folder, a: ValueId, b: ValueId) -> Question {
    if a == b {
        Question::Known(true)
    } else if folder.high(a) < folder.low(b) || folder.high(b) < folder.low(a) {
        Question::Known(false)
    } else {
        folder.ask(Cond::Cmp(CmpOp::Eq, a.min(b), a.max(b)))
    }
}

fn eq_step(folder: &mut Folder, a: ValueId, k: u32) -> Step {
    if k < folder.low(a) || folder.high(a) < k {
        return Step::Done(Question::Known(false));
    }
    match folder.pool.get(a) {
        Value::Const(x) => Step::Done(Question::Known(x == k)),
        Value::Op(op, x, y) => match (folder.as_const(x), folder.as_const(y)) {
            (_, Some(c)) => eq_op_step(folder, a, (op, x, c), k),
            (Some(c), None) if op == BinOp::Sub => Step::Again(Form::Eq(y, c.wrapping_sub(k))),
            (None, None) if k == 0 && matches!(op, BinOp::Sub | BinOp::Xor) => {
                Step::Done(eq_values(folder, x, y))
            }
            _ => Step::Done(ask_eq(folder, a, k)),
        },
        Value::Load { .. } | Value::Len | Value::Input(_) => Step::Done(ask_eq(folder, a, k)),
    }
}

fn ask_eq(folder: &mut Folder, a: ValueId, k: u32) -> Question {
    let k = folder.constant(k);
    folder.ask(Cond::Cmp(CmpOp::Eq, a, k))
}

/// `a == k` where `a` is `x op c`.
fn eq_op_step(folder: &mut Folder, a: ValueId, (kind, x, c): (BinOp, ValueId, u32), k: u32) -> Step {
    match kind {
        BinOp::Add => Step::Again(Form::Eq(x, k.wrapping_sub(c))),
        BinOp::Sub => Step::Again(Form::Eq(x, k.wrapping_add(c))),
        BinOp::Xor => Step::Again(Form::Eq(x, k ^ c)),
        BinOp::And if k & !c != 0 => Step::Done(Question::Known(false)),
        BinOp::And if k == 0 => Step::Opposite(Form::Test(x, c)),
        BinOp::And if c.is_power_of_two() => Step::Again(Form::Test(x, c)),
        BinOp::Or if k & c != c => Step::Done(Question::Known(false)),
        // x >> c == k: the bits that the shift keeps are those of k. (k is within the range of x >> c.)
        BinOp::Shr => Step::Again(Form::Eq(masked(folder, x, u32::MAX << c), k << c)),
        BinOp::Shl if k.trailing_zeros() < c => Step::Done(Question::Known(false)),
        BinOp::Shl => Step::Again(Form::Eq(masked(folder, x, u32::MAX >> c), k >> c)),
        BinOp::And | BinOp::Or | BinOp::Mul | BinOp::Div | BinOp::Mod => Step::Done(ask_eq(folder, a, k)),
    }
}

fn masked(folder: &mut Folder, x: ValueId, mask: u32) -> ValueId {
    let mask = folder.constant(mask);
    op(folder, BinOp::And, x, mask)
}

/// `a < b`.
pub(super) fn less(folder: &mut Folder, a: ValueId, b: ValueId) -> Question {
    if a == b || folder.low(a) >= folder.high(b) {
        return Question::Known(false);
    }
    if folder.high(a) < folder.low(b) {
        return Question::Known(true);
    }
    // Some a is below some b and some is not, so `low(b)` is below 2³² - 1 and `high(a)` above 0.
    match (folder.as_const(a), folder.as_const(b)) {
        (None, Some(k)) if k == folder.low(a) + 1 => simplest(folder, Form::Eq(a, k - 1)),
        (None, Some(k)) if k == folder.high(a) => simplest(folder, Form::Eq(a, k)).not(),
        // k < b is not b < k + 1: one form for each threshold.
        (Some(k), None) => {
            let above = folder.constant(k + 1);
            less(folder, b, above).not()
        }
        _ => folder.ask(Cond::Cmp(CmpOp::Lt, a, b)),
    }
}

/// `a & mask != 0`.
pub(super) fn test(folder: &mut Folder, a: ValueId, mask: ValueId) -> Question {
    let (a, mask) = if folder.as_const(a).is_some() { (mask, a) } else { (a, mask) };
    match folder.as_const(mask) {
        Some(bits) => simplest(folder, Form::Test(a, bits)),
        None if a == mask => simplest(folder, Form::Eq(a, 0)).not(),
        None => folder.ask(Cond::Test(a.min(mask), a.max(mask))),
    }
}

fn test_step(folder: &mut Folder, a: ValueId, mask: u32) -> Step {
    let bits = folder.bits(a);
    let mask = mask & bits;
    if mask == 0 {
        return Step::Done(Question::Known(false));
    }
    let peeled = match folder.pool.get(a) {
        Value::Const(x) => return Step::Done(Question::Known(x & mask != 0)),
        Value::Op(op, x, y) => folder.as_const(y).and_then(|c| peel_test(op, c, mask)).map(|m| (x, m)),
        Value::Load { .. } | Value::Len | Value::Input(_) => None,
    };
    match peeled {
        Some((x, mask)) => Step::Again(Form::Test(x, mask)),
        // All bits that there are: `a != 0`, which ranges and switches understand.
        None if mask == bits => Step::Opposite(Form::Eq(a, 0)),
        None => {
            let mask = folder.constant(mask);
            Step::Done(folder.ask(Cond::Test(a, mask)))
        }
    }
}

/// The mask to test `x` with instead of `x op c` with `mask`.
fn peel_test(op: BinOp, c: u32, mask: u32) -> Option<u32> {
    match op {
        BinOp::And => Some(mask & c),
        BinOp::Or if mask & c == 0 => Some(mask),
        BinOp::Shl => Some(mask >> c),
        // The mask has only bits that the shifted value can have, so none is lost here.
        BinOp::Shr => Some(mask << c),
        _ => None,
    }
}

/// `base + end <= captured`.
pub(super) fn within(folder: &mut Folder, base: ValueId, end: u32) -> Question {
    match address(folder, base, end) {
        // No packet is 4 GiB long. (This must be the answer for a variable base too: the load behind this guard may
        // begin in range, and then its constant parts move although those of the guard cannot.)
        Address::TooFar => Question::Known(false),
        Address::At(base, 0) if folder.as_const(base) == Some(0) => Question::Known(true),
        Address::At(base, end) => folder.ask(Cond::Bounds { base, end }),
    }
}
