//! Values and conditions: pure, hash-consed, shared by the lowered tree and the decision graph.
//!
//! INVARIANT: a value's operands have smaller ids than the value, so ids are a topological order.
//! The plain constructors here fold nothing: what lowering writes is what the unoptimised graph
//! evaluates. Folding belongs to [`crate::opt`].

use super::interner::Interner;
use super::members::{Members, WORDS_MAX};
use std::sync::Arc;

index_type! {
    /// Index of a [`Value`].
    ValueId
}

index_type! {
    /// Index of a [`Cond`].
    CondId
}

/// A pure 32-bit unsigned value. Arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A constant.
    Const(u32),
    /// The wire length.
    Len,
    /// A number that the caller gives with each packet, by its place in the caller's row.
    Input(u32),
    /// `size` bytes at `base + offset` (computed without wrap-around), zero-extended.
    Load {
        /// The variable part of the address; `Const(0)` where there is none.
        base: ValueId,
        /// The fixed part.
        offset: u32,
        /// How many bytes.
        size: Size,
        /// How they become a number.
        order: Order,
    },
    /// An operation on two values.
    Op(BinOp, ValueId, ValueId),
}

/// Width of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Size {
    B1 = 1,
    B2 = 2,
    B4 = 4,
}

impl Size {
    /// In bytes.
    #[inline]
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// The largest value that a load of this width gives.
    #[inline]
    pub fn max(self) -> u32 {
        match self {
            Size::B1 => 0xff,
            Size::B2 => 0xffff,
            Size::B4 => u32::MAX,
        }
    }

    /// `Size` for a number of bytes.
    pub fn from_bytes(n: u32) -> Option<Size> {
        match n {
            1 => Some(Size::B1),
            2 => Some(Size::B2),
            4 => Some(Size::B4),
            _ => None,
        }
    }
}

/// Byte order of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Big-endian: the meaning of the language. One-byte loads are always `Network`.
    Network,
    /// Little-endian, whatever the host: what a comparison uses that needs no swap. Only the optimiser makes these.
    Little,
}

/// Binary operators, with the meaning of `bpf_filter`: wrapping, and shifts of 32 or more give 0.
/// A zero divisor is excluded by a branch before the operation is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl BinOp {
    /// Whether the operands may change places.
    #[inline]
    pub fn commutes(self) -> bool {
        matches!(self, BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor)
    }

    /// The sign for it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Mod => "%",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
        }
    }

    /// The result for constants; `None` for a zero divisor.
    pub fn eval(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            BinOp::Add => a.wrapping_add(b),
            BinOp::Sub => a.wrapping_sub(b),
            BinOp::Mul => a.wrapping_mul(b),
            BinOp::Div => a.checked_div(b)?,
            BinOp::Mod => a.checked_rem(b)?,
            BinOp::And => a & b,
            BinOp::Or => a | b,
            BinOp::Xor => a ^ b,
            BinOp::Shl => a.checked_shl(b).unwrap_or(0),
            BinOp::Shr => a.checked_shr(b).unwrap_or(0),
        })
    }
}

/// A question with a yes or no answer. Negation is the caller's: a branch swaps its arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cond {
    /// Comparison of two values, unsigned.
    Cmp(CmpOp, ValueId, ValueId),
    /// `value & mask != 0`.
    Test(ValueId, ValueId),
    /// The guard: `base + end <= captured length`, without wrap-around.
    Bounds {
        /// The variable part of an address; `Const(0)` where there is none.
        base: ValueId,
        /// Offset from `base` just past the last byte needed.
        end: u32,
    },
    /// Values are a row of a large set. Made by [`Pool::is_member`].
    Member(MembersId),
}

/// Index of a set and the values that it is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MembersId(pub(crate) u32);

/// A set and the values that it is asked with.
#[derive(Clone, Debug)]
struct AskedMembers {
    words: Vec<ValueId>,
    set: Arc<dyn Members>,
}

/// The two comparisons that suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Lt,
}

/// The arena.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    values: Vec<Value>,
    value_ids: Interner,
    conds: Vec<Cond>,
    cond_ids: Interner,
    /// The constant 0, once it is there: the base of most loads.
    zero: Option<ValueId>,
    /// Numbers in the row that the caller gives with each packet.
    inputs: u32,
    /// Large sets. There are few.
    members: Vec<AskedMembers>,
}

/// Numbers that a caller's row has at most.
pub(crate) const INPUTS_MAX: u32 = 1 << 16;

impl Pool {
    /// Empty, with room for this many values and conditions.
    pub fn with_capacity(values: usize, conds: usize) -> Pool {
        Pool {
            values: Vec::with_capacity(values),
            value_ids: Interner::with_capacity(values),
            conds: Vec::with_capacity(conds),
            cond_ids: Interner::with_capacity(conds),
            zero: None,
            inputs: 0,
            members: Vec::new(),
        }
    }

    /// The id of this value.
    ///
    /// # Panics
    /// If it is an input whose slot is not below 65,536.
    pub fn value(&mut self, value: Value) -> ValueId {
        if let Value::Input(slot) = value {
            assert!(slot < INPUTS_MAX, "the slot of an input is below {INPUTS_MAX}");
            self.widen_row(slot + 1);
        }
        let next = self.values.len() as u32;
        let id = self.value_ids.id(value.words(), next, |id| self.values[id as usize] == value);
        if id == next {
            self.values.push(value);
        }
        ValueId(id)
    }

    /// The id of this condition.
    pub fn cond(&mut self, cond: Cond) -> CondId {
        let next = self.conds.len() as u32;
        let id = self.cond_ids.id(cond.words(), next, |id| self.conds[id as usize] == cond);
        if id == next {
            self.conds.push(cond);
        }
        CondId(id)
    }

    /// A constant.
    ///
    /// ```
    /// let mut pool = decide::Pool::default();
    /// let seven = pool.constant(7);
    /// assert_eq!(pool.as_const(seven), Some(7));
    /// assert_eq!(pool.constant(7), seven, "equal values have one id");
    /// ```
    #[inline]
    pub fn constant(&mut self, k: u32) -> ValueId {
        self.value(Value::Const(k))
    }

    /// The constant 0.
    #[inline]
    pub fn zero(&mut self) -> ValueId {
        let zero = self.zero.unwrap_or_else(|| self.constant(0));
        self.zero = Some(zero);
        zero
    }

    /// A number that the caller gives with each packet: the one at `slot` of its row.
    ///
    /// ```
    /// let mut pool = decide::Pool::default();
    /// pool.input(4);
    /// assert_eq!(pool.inputs(), 5);
    /// ```
    ///
    /// # Panics
    /// If `slot` is not below 65,536.
    #[inline]
    pub fn input(&mut self, slot: u32) -> ValueId {
        self.value(Value::Input(slot))
    }

    /// Makes the caller's row at least this wide, also where not all of it is read.
    ///
    /// ```
    /// let mut pool = decide::Pool::default();
    /// pool.widen_row(2);
    /// assert_eq!(pool.inputs(), 2);
    /// ```
    #[inline]
    pub fn widen_row(&mut self, inputs: u32) {
        self.inputs = self.inputs.max(inputs.min(INPUTS_MAX));
    }

    /// Whether these values, in this order, are a row of a set.
    ///
    /// ```
    /// use decide::{Members, Pool, Size};
    /// # use decide::{Decision, Options, Tree};
    ///
    /// #[derive(Debug)]
    /// struct Squares;
    /// impl Members for Squares {
    ///     fn words(&self) -> usize {
    ///         1
    ///     }
    ///     fn contains(&self, row: &[u32]) -> bool {
    ///         row[0].isqrt().pow(2) == row[0]
    ///     }
    ///     fn describe(&self) -> String {
    ///         "squares".into()
    ///     }
    /// }
    ///
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let is_square = tree.pool.is_member(&[first], std::sync::Arc::new(Squares));
    /// let test = tree.test(is_square);
    /// let decision: Decision = Decision::of_tree(tree, vec![(test, 1)], &Options::default())?;
    /// assert_eq!([decision.leaf(&[144], 1), decision.leaf(&[145], 1), decision.leaf(&[], 1)], [1, 0, 0]);
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Panics
    /// If these are not as many values as its rows have, or more than [`WORDS_MAX`].
    pub fn is_member(&mut self, words: &[ValueId], set: Arc<dyn Members>) -> Cond {
        assert!(set.words() == words.len() && words.len() <= WORDS_MAX, "a value for each number of a row");
        let known = |asked: &AskedMembers| asked.words == words && Arc::ptr_eq(&asked.set, &set);
        let at = self.members.iter().position(known).unwrap_or_else(|| {
            self.members.push(AskedMembers { words: words.to_vec(), set });
            self.members.len() - 1
        });
        Cond::Member(MembersId(at as u32))
    }

    /// The set.
    #[inline]
    pub fn members(&self, id: MembersId) -> &Arc<dyn Members> {
        &self.members[id.0 as usize].set
    }

    /// The values that it is asked with.
    #[inline]
    pub fn member_words(&self, id: MembersId) -> &[ValueId] {
        &self.members[id.0 as usize].words
    }

    /// How many numbers the caller gives with each packet.
    #[inline]
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// The big-endian number of `size` bytes at a fixed offset.
    ///
    /// ```
    /// use decide::{Order, Pool, Size, Value};
    ///
    /// let mut pool = Pool::default();
    /// let kind = pool.at(12, Size::B2);
    /// assert!(matches!(pool.get(kind), Value::Load { offset: 12, size: Size::B2, order: Order::Network, .. }));
    /// ```
    #[inline]
    pub fn at(&mut self, offset: u32, size: Size) -> ValueId {
        let zero = self.zero();
        self.load(zero, offset, size)
    }

    /// A big-endian load.
    ///
    /// ```
    /// use decide::{Pool, Size};
    ///
    /// // The byte at the place that the first byte tells.
    /// let mut pool = Pool::default();
    /// let first = pool.at(0, Size::B1);
    /// let indirect = pool.load(first, 0, Size::B1);
    /// assert_ne!(first, indirect);
    /// ```
    #[inline]
    pub fn load(&mut self, base: ValueId, offset: u32, size: Size) -> ValueId {
        self.value(Value::Load { base, offset, size, order: Order::Network })
    }

    /// An operation, as written.
    ///
    /// ```
    /// use decide::{BinOp, Pool, Size};
    ///
    /// let mut pool = Pool::default();
    /// let (first, mask) = (pool.at(0, Size::B1), pool.constant(15));
    /// let low_half = pool.op(BinOp::And, first, mask);
    /// assert_eq!(pool.operands(low_half).collect::<Vec<_>>(), [first, mask]);
    /// ```
    #[inline]
    pub fn op(&mut self, op: BinOp, a: ValueId, b: ValueId) -> ValueId {
        self.value(Value::Op(op, a, b))
    }

    /// Makes a load that of the same bytes the other way round. It is not found by what it was any more, nor by what it
    /// is now: for a pass that no other follows.
    pub(crate) fn turn_round(&mut self, load: ValueId) {
        if let Value::Load { order, .. } = &mut self.values[load.index()] {
            *order = match *order {
                Order::Network => Order::Little,
                Order::Little => Order::Network,
            };
        }
    }

    /// The item of an id.
    #[inline]
    pub fn get(&self, id: ValueId) -> Value {
        self.values[id.index()]
    }

    /// The item of an id.
    #[inline]
    pub fn get_cond(&self, id: CondId) -> Cond {
        self.conds[id.index()]
    }

    /// The constant that a value is.
    #[inline]
    pub fn as_const(&self, id: ValueId) -> Option<u32> {
        match self.get(id) {
            Value::Const(k) => Some(k),
            _ => None,
        }
    }

    /// How many values there are.
    #[inline]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// How many conditions there are.
    #[inline]
    pub fn cond_count(&self) -> usize {
        self.conds.len()
    }

    /// The values a condition looks at.
    #[inline]
    pub fn cond_operands(&self, id: CondId) -> impl Iterator<Item = ValueId> + use<> {
        let mut operands = [ValueId(0); WORDS_MAX];
        let count = match self.get_cond(id) {
            Cond::Cmp(_, a, b) | Cond::Test(a, b) => {
                operands[..2].copy_from_slice(&[a, b]);
                2
            }
            Cond::Bounds { base, .. } => {
                operands[0] = base;
                1
            }
            Cond::Member(members) => {
                let words = self.member_words(members);
                operands[..words.len()].copy_from_slice(words);
                words.len()
            }
        };
        operands.into_iter().take(count)
    }

    /// The values a value looks at.
    #[inline]
    pub fn operands(&self, id: ValueId) -> impl Iterator<Item = ValueId> + use<> {
        let (a, b, count) = match self.get(id) {
            Value::Const(_) | Value::Len | Value::Input(_) => (id, id, 0),
            Value::Load { base, .. } => (base, base, 1),
            Value::Op(_, a, b) => (a, b, 2),
        };
        [a, b].into_iter().take(count)
    }
}

/// Two 32-bit numbers in one word.
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Value {
    /// The same made from other values.
    pub(crate) fn map_operands(self, mut f: impl FnMut(ValueId) -> ValueId) -> Value {
        match self {
            Value::Const(_) | Value::Len | Value::Input(_) => self,
            Value::Load { base, offset, size, order } => Value::Load { base: f(base), offset, size, order },
            Value::Op(op, a, b) => Value::Op(op, f(a), f(b)),
        }
    }

    /// The words that it is hashed by: different values give different words.
    fn words(self) -> (u64, u64) {
        match self {
            Value::Const(k) => (0, u64::from(k)),
            Value::Len => (1, 0),
            Value::Input(slot) => (2, u64::from(slot)),
            Value::Load { base, offset, size, order } => {
                (pair(2 + ((size as u32) << 8) + ((order as u32) << 16), base.0), u64::from(offset))
            }
            Value::Op(op, a, b) => (pair(3 + ((op as u32) << 8), a.0), u64::from(b.0)),
        }
    }
}

impl Cond {
    /// The words that it is hashed by: different conditions give different words.
    fn words(self) -> (u64, u64) {
        match self {
            Cond::Cmp(op, a, b) => (pair(op as u32, a.0), u64::from(b.0)),
            Cond::Test(a, mask) => (pair(2, a.0), u64::from(mask.0)),
            Cond::Bounds { base, end } => (pair(3, base.0), u64::from(end)),
            Cond::Member(members) => (pair(4, members.0), 0),
        }
    }
}
