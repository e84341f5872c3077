//! Values as Lua: which have a local variable, what each is computed from, and which numbers stand for it.
//!
//! Lua's numbers are doubles, and the functions of `bit` return signed ones. So a value is in one of two forms, which differ from 2^31 on:
//!
//! ```text
//! unsigned    what `+`, `-`, `*`, `/`, `<` and addresses need        x % 2^32
//! signed      what `bit` and loads of 4 bytes give, in registers     tobit(x)
//! ```
//! `bit` takes either. Which one an operation gives follows from its kind, and from the largest number that it can give.

use super::text::number;
use crate::filled::filled;
use crate::ir::verify::Outputs;
use crate::ir::{BinOp, CmpOp, Cond, Graph, Node, Order, Pool, Size, Value, ValueId};
use crate::opt::Ranges;
use crate::target::lir::NoCode;
use crate::target::lir::layout::Layout;
use crate::target::lir::named::{Needed, load_name};
use crate::target::lir::switch::merged;
use crate::target::lir::uses::Use;
use std::cell::Cell;
use std::collections::BinaryHeap;

/// Operations inside each other in one expression.
const DEPTH_MAX: u32 = 5;
/// Local variables that a function has at most: LuaJIT allows 200, of which parameters are some.
const LOCALS_MAX: usize = 150;
/// Larger products are not exact in `tobit`.
const TOBIT_MAX: u64 = 1 << 51;
const WRAP: &str = "4294967296";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Less than 2^31: both forms are the same.
    Small,
    Signed,
    Unsigned,
}

/// What to ask, and what to ask for the contrary.
pub(super) struct Question {
    pub(super) yes: String,
    pub(super) no: String,
}

impl Question {
    pub(super) fn of(left: &str, yes: &str, no: &str, right: &str) -> Question {
        Question { yes: format!("{left} {yes} {right}"), no: format!("{left} {no} {right}") }
    }
}

/// An expression, and whether it has an operator that binds less than a call.
struct Text(String, bool);

impl Text {
    fn operand(self) -> String {
        if self.1 { format!("({})", self.0) } else { self.0 }
    }
}

/// What of the surroundings the text names.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Ffi,
    Cast,
    Floor,
    Tobit,
    Band,
    Bor,
    Bxor,
    Lshift,
    Rshift,
    Bswap,
    Mul,
    Shl,
    Shr,
    Ranges,
    At,
}

const NEEDS: usize = Need::At as usize + 1;

pub(super) struct Values<'g> {
    pool: &'g Pool,
    ranges: Ranges,
    inputs: &'g [String],
    /// By value: its variable, if it has one.
    pub(super) names: Vec<Option<String>>,
    needed: Needed,
    needs: [Cell<bool>; NEEDS],
}

impl<'g> Values<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        layout: &Layout,
        uses: &[Use],
        outputs: Outputs<'_>,
        inputs: &'g [String],
    ) -> Result<Self, NoCode> {
        let pool = &graph.pool;
        let mut ranges = Ranges::default();
        ranges.cover(pool);
        let mut values = Values {
            pool,
            ranges,
            inputs,
            names: filled(None, pool.value_count()),
            needed: Needed::new(pool),
            needs: Default::default(),
        };
        // Where there are too many, what can be computed again is.
        let chosen = values.choose(graph, layout, uses, outputs, false);
        chosen.or_else(|_| {
            values.names.fill(None);
            values.choose(graph, layout, uses, outputs, true)
        })?;
        Ok(values)
    }

    /// Which values have variables, and their names.
    fn choose(
        &mut self,
        graph: &Graph,
        layout: &Layout,
        uses: &[Use],
        outputs: Outputs<'_>,
        sparingly: bool,
    ) -> Result<(), NoCode> {
        let pool = self.pool;
        let mut times: Vec<u32> = filled(0, pool.value_count());
        let mut must: Vec<bool> = uses.iter().map(|used| used.pinned).collect();
        for &id in &layout.order {
            match graph.node(id) {
                Node::Leaf(leaf) => outputs.of(*leaf).iter().for_each(|value| times[value.index()] += 1),
                Node::Branch { cond, .. } => {
                    pool.cond_operands(*cond).for_each(|value| times[value.index()] += 1)
                }
                // More than one test may name it.
                Node::Switch(switch) if !merged(switch).is_empty() => {
                    times[switch.value.index()] += 1;
                    must[switch.value.index()] = true;
                }
                Node::Switch(_) => {}
            }
        }
        for id in (0..pool.value_count() as u32).rev().map(ValueId) {
            if times[id.index()] > 0 {
                pool.operands(id).for_each(|operand| times[operand.index()] += 1);
            }
        }
        let mut depths: Vec<u32> = filled(0, pool.value_count());
        let mut named = Vec::new();
        let mut is_named = filled(false, pool.value_count());
        for id in (0..pool.value_count() as u32).map(ValueId) {
            if times[id.index()] == 0 || !matches!(pool.get(id), Value::Load { .. } | Value::Op(..)) {
                continue;
            }
            let inside = pool.operands(id).filter(|v| !is_named[v.index()]).map(|v| depths[v.index()]);
            depths[id.index()] = 1 + inside.max().unwrap_or(0);
            if must[id.index()] || times[id.index()] > 1 && !sparingly || depths[id.index()] > DEPTH_MAX {
                is_named[id.index()] = true;
                named.push(id);
            }
        }
        if named.len() <= LOCALS_MAX {
            let mut taken = std::collections::HashSet::new();
            for (i, &id) in named.iter().enumerate() {
                let name = load_name(pool, id).filter(|name| taken.insert(name.clone()));
                self.names[id.index()] = Some(name.unwrap_or_else(|| format!("v{}", i + 1)));
            }
            return Ok(());
        }
        // Values that are never needed at once share a variable.
        named.sort_by_key(|id| uses[id.index()].first);
        let mut busy: BinaryHeap<std::cmp::Reverse<(u32, usize)>> = BinaryHeap::new();
        let (mut free, mut count) = (Vec::new(), 0);
        for id in named {
            let Use { first, last_end, .. } = uses[id.index()];
            while let Some(&std::cmp::Reverse((end, slot))) = busy.peek().filter(|of| of.0.0 <= first) {
                let _ = end;
                busy.pop();
                free.push(slot);
            }
            let slot = free.pop().unwrap_or_else(|| {
                count += 1;
                count
            });
            busy.push(std::cmp::Reverse((last_end, slot)));
            self.names[id.index()] = Some(format!("v{slot}"));
        }
        if count > LOCALS_MAX { Err(NoCode::TooComplex) } else { Ok(()) }
    }

    pub(super) fn max(&self, value: ValueId) -> u32 {
        match self.pool.get(value) {
            // No packet in memory is longer.
            Value::Len => i32::MAX as u32,
            _ => self.ranges.get(value).high,
        }
    }

    pub(super) fn form(&self, value: ValueId) -> Form {
        let is_exact = |total: u64| total <= u64::from(u32::MAX);
        match self.pool.get(value) {
            Value::Const(k) if k > i32::MAX as u32 => Form::Unsigned,
            Value::Input(_) => Form::Unsigned,
            Value::Op(BinOp::Add, a, b) => {
                let total = u64::from(self.max(a)) + u64::from(self.max(b));
                if total <= i32::MAX as u64 {
                    Form::Small
                } else if is_exact(total) {
                    Form::Unsigned
                } else {
                    Form::Signed
                }
            }
            Value::Op(BinOp::Sub, a, b) if self.ranges.get(a).low >= self.max(b) => {
                self.by_max(value, Form::Unsigned)
            }
            Value::Op(BinOp::Sub, ..) => Form::Signed,
            Value::Op(BinOp::Mul, a, b) => {
                let product = u64::from(self.max(a)) * u64::from(self.max(b));
                if product <= i32::MAX as u64 {
                    Form::Small
                } else if is_exact(product) || product > TOBIT_MAX {
                    Form::Unsigned
                } else {
                    Form::Signed
                }
            }
            Value::Op(BinOp::Div | BinOp::Mod, ..) => self.by_max(value, Form::Unsigned),
            _ => self.by_max(value, Form::Signed),
        }
    }

    fn by_max(&self, value: ValueId, otherwise: Form) -> Form {
        if self.max(value) <= i32::MAX as u32 { Form::Small } else { otherwise }
    }

    /// Values that need variables which are not held, ascending: operands first.
    pub(super) fn needed(
        &mut self,
        roots: impl IntoIterator<Item = ValueId>,
        held: &[ValueId],
    ) -> Vec<ValueId> {
        self.needed.of(roots, held, |id| self.pool.operands(id), |id| self.names[id.index()].is_some())
    }

    /// What a condition asks.
    pub(super) fn question(&self, cond: Cond) -> Question {
        match cond {
            Cond::Cmp(op, a, b) => {
                let swapped = self.pool.as_const(a).is_some() && self.pool.as_const(b).is_none();
                let (left, right) = if swapped { (b, a) } else { (a, b) };
                let (yes, no) = match (op, swapped) {
                    (CmpOp::Eq, _) => ("==", "~="),
                    (CmpOp::Lt, false) => ("<", ">="),
                    (CmpOp::Lt, true) => (">", "<="),
                };
                let is_signed =
                    |value| self.pool.as_const(value).is_none() && self.form(value) == Form::Signed;
                let form = match op {
                    CmpOp::Eq if is_signed(left) || is_signed(right) => Form::Signed,
                    _ => Form::Unsigned,
                };
                Question::of(&self.text(left, form).0, yes, no, &self.text(right, form).0)
            }
            Cond::Test(a, b) => {
                let (a, b) = if self.pool.as_const(a).is_some() { (b, a) } else { (a, b) };
                Question::of(&self.both(a, b), "~=", "==", "0")
            }
            Cond::Member(_) => unreachable!("refused at the start"),
            Cond::Bounds { base, end } => {
                let end = match self.pool.as_const(base) {
                    Some(k) => number(i64::from(k) + i64::from(end)),
                    None if end == 0 => self.text(base, Form::Unsigned).operand(),
                    None => format!("{} + {end}", self.text(base, Form::Unsigned).operand()),
                };
                Question::of("length", ">=", "<", &end)
            }
        }
    }

    /// A number that is 0 where two values are the same.
    pub(super) fn difference(&self, a: ValueId, b: ValueId) -> String {
        match [a, b].map(|value| self.pool.as_const(value)) {
            [Some(0), _] => self.any(b),
            [_, Some(0)] => self.any(a),
            _ => self.call(Need::Bxor, "bxor", &[self.any(a), self.any(b)]),
        }
    }

    /// The bits that two values have in common.
    pub(super) fn both(&self, a: ValueId, b: ValueId) -> String {
        self.call(Need::Band, "band", &[self.any(a), self.any(b)])
    }

    /// A value in whichever form it comes in.
    fn any(&self, value: ValueId) -> String {
        self.text(value, Form::Small).0
    }

    /// A value as a number from 0 to 2^32 - 1.
    pub(super) fn unsigned(&self, value: ValueId) -> String {
        self.text(value, Form::Unsigned).0
    }

    /// The variable of a value, or the parameter or constant that it is.
    pub(super) fn named(&self, value: ValueId) -> String {
        self.names[value.index()].clone().unwrap_or_else(|| self.unsigned(value))
    }

    /// A value in a form; [`Form::Small`] stands for either.
    fn text(&self, value: ValueId, wanted: Form) -> Text {
        if let Value::Const(k) = self.pool.get(value) {
            let k = if wanted == Form::Signed { i64::from(k as i32) } else { i64::from(k) };
            return Text(number(k), k < 0);
        }
        if let Some(name) = &self.names[value.index()] {
            return self.converted(Text(name.clone(), false), self.form(value), wanted);
        }
        self.computed(value, wanted)
    }

    fn converted(&self, text: Text, form: Form, wanted: Form) -> Text {
        match (form, wanted) {
            (Form::Signed, Form::Unsigned) => Text(format!("{} % {WRAP}", text.operand()), true),
            (Form::Unsigned, Form::Signed) => Text(self.call(Need::Tobit, "tobit", &[text.0]), false),
            _ => text,
        }
    }

    /// What the variable of a value is set to, in the form of the value.
    pub(super) fn definition(&self, value: ValueId) -> String {
        self.computed(value, self.form(value)).0
    }

    /// A value from its operands. Nothing recurses further than [`DEPTH_MAX`].
    fn computed(&self, value: ValueId, wanted: Form) -> Text {
        let form = self.form(value);
        let infix = |a: ValueId, sign: &str, b: ValueId, of: Form| {
            format!("{} {sign} {}", self.text(a, of).operand(), self.text(b, of).operand())
        };
        match self.pool.get(value) {
            Value::Const(_) => self.text(value, wanted),
            Value::Len => Text("length".to_owned(), false),
            Value::Input(slot) => {
                let name = self.inputs.get(slot as usize).cloned().unwrap_or_default();
                self.converted(Text(name, false), Form::Unsigned, wanted)
            }
            Value::Load { base, offset, size, order } => self.load((base, offset), size, order, wanted),
            Value::Op(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let sign = if op == BinOp::Add { "+" } else { "-" };
                match form {
                    Form::Signed if wanted == Form::Unsigned => {
                        Text(format!("({}) % {WRAP}", infix(a, sign, b, Form::Small)), true)
                    }
                    Form::Signed => {
                        Text(self.call(Need::Tobit, "tobit", &[infix(a, sign, b, Form::Small)]), false)
                    }
                    _ => self.converted(Text(infix(a, sign, b, Form::Unsigned), true), form, wanted),
                }
            }
            Value::Op(BinOp::Mul, a, b) => {
                let product = u64::from(self.max(a)) * u64::from(self.max(b));
                if product > TOBIT_MAX {
                    let operands = [self.unsigned(a), self.unsigned(b)];
                    let text = Text(self.call(Need::Mul, "mul", &operands), false);
                    return self.converted(text, Form::Unsigned, wanted);
                }
                let text = infix(a, "*", b, Form::Unsigned);
                match form {
                    Form::Signed if wanted == Form::Unsigned => Text(format!("{text} % {WRAP}"), true),
                    Form::Signed => Text(self.call(Need::Tobit, "tobit", &[text]), false),
                    _ => self.converted(Text(text, true), form, wanted),
                }
            }
            Value::Op(BinOp::Div, a, b) => {
                let text = self.call(Need::Floor, "floor", &[infix(a, "/", b, Form::Unsigned)]);
                self.converted(Text(text, false), form, wanted)
            }
            Value::Op(BinOp::Mod, a, b) => {
                self.converted(Text(infix(a, "%", b, Form::Unsigned), true), form, wanted)
            }
            Value::Op(BinOp::And, a, b) => self.bits((Need::Band, "band"), a, b, form, wanted),
            Value::Op(BinOp::Or, a, b) => self.bits((Need::Bor, "bor"), a, b, form, wanted),
            Value::Op(BinOp::Xor, a, b) => self.bits((Need::Bxor, "bxor"), a, b, form, wanted),
            Value::Op(op, a, by) => {
                let (need, name, helper, guarded) = match op {
                    BinOp::Shl => (Need::Lshift, "lshift", Need::Shl, "shl"),
                    _ => (Need::Rshift, "rshift", Need::Shr, "shr"),
                };
                let text = match self.pool.as_const(by) {
                    Some(32..) => "0".to_owned(),
                    Some(by) => self.call(need, name, &[self.any(a), by.to_string()]),
                    None => {
                        self.need(need);
                        self.call(helper, guarded, &[self.any(a), self.unsigned(by)])
                    }
                };
                self.converted(Text(text, false), form, wanted)
            }
        }
    }

    fn bits(&self, (need, name): (Need, &str), a: ValueId, b: ValueId, form: Form, wanted: Form) -> Text {
        self.converted(Text(self.call(need, name, &[self.any(a), self.any(b)]), false), form, wanted)
    }

    fn load(&self, (base, offset): (ValueId, u32), size: Size, order: Order, wanted: Form) -> Text {
        let at = match self.pool.as_const(base) {
            Some(k) => (i64::from(k) + i64::from(offset)).to_string(),
            None if offset == 0 => self.text(base, Form::Unsigned).operand(),
            None => format!("{} + {offset}", self.text(base, Form::Unsigned).operand()),
        };
        if size == Size::B1 {
            return Text(format!("P[{at}]"), false);
        }
        let at = if at.contains(' ') { format!("({at})") } else { at };
        self.need(Need::Ffi);
        let cast = |kind: &str| {
            self.call(Need::Cast, "cast", &[format!("\"{kind}*\""), format!("P + {at}")]) + "[0]"
        };
        match (size, order) {
            (Size::B2, Order::Little) => Text(cast("uint16_t"), false),
            (Size::B2, _) => {
                let swapped = self.call(Need::Bswap, "bswap", &[cast("uint16_t")]);
                Text(self.call(Need::Rshift, "rshift", &[swapped, "16".to_owned()]), false)
            }
            (_, Order::Little) if wanted == Form::Unsigned => Text(cast("uint32_t"), false),
            (_, Order::Little) => Text(cast("int32_t"), false),
            _ => {
                let text = self.call(Need::Bswap, "bswap", &[cast("int32_t")]);
                self.converted(Text(text, false), Form::Signed, wanted)
            }
        }
    }

    fn call(&self, need: Need, name: &str, operands: &[String]) -> String {
        self.need(need);
        format!("{name}({})", operands.join(", "))
    }

    pub(super) fn need(&self, need: Need) {
        self.needs[need as usize].set(true);
    }

    pub(super) fn needs(&self, need: Need) -> bool {
        self.needs[need as usize].get()
    }

    /// The local names of the chunk, those only that are used.
    pub(super) fn head(&self) -> String {
        if self.needs(Need::Mul) {
            self.need(Need::Rshift);
            self.need(Need::Band);
        }
        let mut out = String::new();
        if self.needs(Need::Ffi) || self.needs(Need::Cast) {
            out.push_str("local ffi = require(\"ffi\")\n");
        }
        if self.needs(Need::Cast) {
            out.push_str("local cast = ffi.cast\n");
        }
        let of_bit = [
            (Need::Tobit, "tobit"),
            (Need::Band, "band"),
            (Need::Bor, "bor"),
            (Need::Bxor, "bxor"),
            (Need::Lshift, "lshift"),
            (Need::Rshift, "rshift"),
            (Need::Bswap, "bswap"),
        ];
        let used: Vec<&str> = of_bit.iter().filter(|of| self.needs(of.0)).map(|of| of.1).collect();
        if !used.is_empty() {
            let from: Vec<String> = used.iter().map(|name| format!("bit.{name}")).collect();
            out.push_str(&format!(
                "local bit = require(\"bit\")\nlocal {} = {}\n",
                used.join(", "),
                from.join(", ")
            ));
        }
        if self.needs(Need::Floor) {
            out.push_str("local floor = math.floor\n");
        }
        for (need, text) in HELPERS {
            if self.needs(need) {
                out.push_str(text);
            }
        }
        out
    }
}

const HELPERS: [(Need, &str); 4] = [
    (
        Need::Mul,
        "-- The product modulo 2^32 of numbers whose product a double does not hold.\nlocal function mul(a, b)\n   return (rshift(a, 16) * b % \
         65536 * 65536 + band(a, 65535) * b) % 4294967296\nend\n",
    ),
    (Need::Shl, "local function shl(a, n) return n < 32 and lshift(a, n) or 0 end\n"),
    (Need::Shr, "local function shr(a, n) return n < 32 and rshift(a, n) or 0 end\n"),
    (
        Need::Ranges,
        "-- The number behind each range for the values in it, 0 for all others.\nlocal function ranges(size, arms)\n   local t = \
         ffi.new(\"uint16_t[?]\", size)\n   for i = 1, #arms, 3 do\n      for x = arms[i], arms[i + 1] do t[x] = arms[i + 2] end\n   \
         end\n   return t\nend\n",
    ),
];
