//! Values as C: which have a variable, and what each is computed from.
//!
//! A value has a variable where it is used more than once, where it is pinned (see [`crate::target::lir::uses`]), where what it is used
//! in would name it twice, and where its expression would become deep. Every other value stands where it is used.

use super::is_constant;
use super::text::{number, unsigned};
use crate::filled::filled;
use crate::ir::verify::Outputs;
use crate::ir::{BinOp, CmpOp, Cond, Graph, Node, Order, Pool, Size, Value, ValueId};
use crate::target::lir::layout::Layout;
use crate::target::lir::named::{Needed, load_name};
use crate::target::lir::switch::merged;
use crate::target::lir::uses::Use;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::Write;

/// Operations inside each other in one expression.
const DEPTH_MAX: u32 = 5;

/// What to ask, and what to ask for the contrary.
pub(super) enum Question {
    Known(bool),
    Asked { yes: String, no: String },
}

pub(super) struct Values<'g> {
    pool: &'g Pool,
    /// By value: its variable, if it has one.
    names: Vec<Option<String>>,
    needed: Needed,
    /// What of the surroundings the text names.
    needs: [Cell<bool>; NEEDS],
    /// By value: whether its variable is set anywhere.
    is_set: Vec<bool>,
}

/// Parameters and macros.
#[derive(Clone, Copy)]
enum Need {
    Data,
    Captured,
    WireLen,
    Inputs,
    Be16,
    Be32,
    Le16,
    Le32,
    Shl,
    Shr,
}

const NEEDS: usize = Need::Shr as usize + 1;

/// Identical definitions may stand in one file several times, so that functions can be put together.
const MACROS: [(Need, &str); 6] = [
    (Need::Be16, "#define SLUSS_BE16(p) ((uint32_t)(p)[0] << 8 | (p)[1])"),
    (
        Need::Be32,
        "#define SLUSS_BE32(p) ((uint32_t)(p)[0] << 24 | (uint32_t)(p)[1] << 16 | (uint32_t)(p)[2] << 8 | (p)[3])",
    ),
    (Need::Le16, "#define SLUSS_LE16(p) ((uint32_t)(p)[1] << 8 | (p)[0])"),
    (
        Need::Le32,
        "#define SLUSS_LE32(p) ((uint32_t)(p)[3] << 24 | (uint32_t)(p)[2] << 16 | (uint32_t)(p)[1] << 8 | (p)[0])",
    ),
    (Need::Shl, "#define SLUSS_SHL(a, n) ((n) < 32 ? (a) << (n) : 0)"),
    (Need::Shr, "#define SLUSS_SHR(a, n) ((n) < 32 ? (a) >> (n) : 0)"),
];

impl<'g> Values<'g> {
    pub(super) fn new(graph: &'g Graph, layout: &Layout, uses: &[Use], outputs: Outputs<'_>) -> Self {
        let pool = &graph.pool;
        let mut values = Values {
            pool,
            names: filled(None, pool.value_count()),
            needed: Needed::new(pool),
            needs: Default::default(),
            is_set: filled(false, pool.value_count()),
        };
        let wanted = values.wanted(graph, layout, outputs);
        let mut depths: Vec<u32> = filled(0, pool.value_count());
        let mut taken = HashSet::new();
        let mut count = 0;
        // Operands first, so that their depths are known.
        for id in (0..pool.value_count() as u32).map(ValueId) {
            let Wanted { times, twice } = wanted[id.index()];
            if times == 0 || is_constant(pool.get(id)) {
                continue;
            }
            let inside =
                operands(pool, id).filter(|v| values.names[v.index()].is_none()).map(|v| depths[v.index()]);
            depths[id.index()] = 1 + inside.max().unwrap_or(0);
            if times > 1 || twice || uses[id.index()].pinned || depths[id.index()] > DEPTH_MAX {
                let name = load_name(pool, id).filter(|name| taken.insert(name.clone()));
                let name = name.unwrap_or_else(|| {
                    count += 1;
                    format!("v{}", count - 1)
                });
                values.names[id.index()] = Some(name);
            }
        }
        values
    }

    /// How the text of each value will be used.
    fn wanted(&self, graph: &Graph, layout: &Layout, outputs: Outputs<'_>) -> Vec<Wanted> {
        let pool = self.pool;
        let mut wanted: Vec<Wanted> = filled(Wanted::default(), pool.value_count());
        for &id in &layout.order {
            match graph.node(id) {
                Node::Leaf(leaf) => {
                    outputs.of(*leaf).iter().for_each(|value| wanted[value.index()].times += 1)
                }
                Node::Branch { cond, .. } => {
                    let cond = pool.get_cond(*cond);
                    self.operands_of_cond(cond).for_each(|value| wanted[value.index()].times += 1);
                    if let Cond::Cmp(op, a, b) = cond {
                        wanted[a.index()].twice |= self.is_odd(op, a, b);
                        wanted[b.index()].twice |= self.is_odd(op, b, a);
                    }
                }
                Node::Switch(switch) => {
                    if !merged(switch).is_empty() {
                        wanted[switch.value.index()] = Wanted { times: 1, twice: true };
                    }
                }
            }
        }
        for id in (0..pool.value_count() as u32).rev().map(ValueId) {
            if wanted[id.index()].times > 0 {
                operands(pool, id).for_each(|operand| wanted[operand.index()].times += 1);
                match pool.get(id) {
                    // Macros name what they are given more than once.
                    Value::Load { base, size: Size::B2 | Size::B4, .. } => wanted[base.index()].twice = true,
                    Value::Op(BinOp::Shl | BinOp::Shr, _, by) => wanted[by.index()].twice = true,
                    _ => {}
                }
            }
        }
        wanted
    }

    /// Whether a compiler would warn that a comparison of this expression with the other always comes out the same.
    fn is_odd(&self, op: CmpOp, value: ValueId, other: ValueId) -> bool {
        let Some(k) = self.pool.as_const(other) else { return false };
        match self.pool.get(value) {
            Value::Load { size, .. } => k > size.max() || op == CmpOp::Lt && k == size.max(),
            Value::Op(BinOp::And, a, b) => {
                let mask = self.pool.as_const(b).or_else(|| self.pool.as_const(a));
                mask.is_none_or(|mask| k & !mask != 0)
            }
            Value::Op(BinOp::Or, a, b) => {
                let mask = self.pool.as_const(b).or_else(|| self.pool.as_const(a));
                mask.is_none_or(|mask| mask & !k != 0)
            }
            Value::Op(..) | Value::Const(_) | Value::Len | Value::Input(_) => false,
        }
    }

    /// The operands that the text of a condition names.
    pub(super) fn operands_of_cond(&self, cond: Cond) -> impl Iterator<Item = ValueId> + use<> {
        let (a, b, count) = match cond {
            _ if self.known(cond).is_some() => (ValueId(0), ValueId(0), 0),
            Cond::Cmp(_, a, b) | Cond::Test(a, b) => (a, b, 2),
            Cond::Bounds { base, .. } => (base, base, 1),
            Cond::Member(_) => unreachable!("refused at the start"),
        };
        [a, b].into_iter().take(count)
    }

    /// The answer of a condition that no packet changes: compilers warn of such.
    fn known(&self, cond: Cond) -> Option<bool> {
        let constant = |value| self.pool.as_const(value);
        match cond {
            Cond::Cmp(CmpOp::Eq, a, b) if a == b => Some(true),
            Cond::Cmp(CmpOp::Lt, a, b) if a == b => Some(false),
            Cond::Cmp(op, a, b) => match (op, constant(a), constant(b)) {
                (CmpOp::Eq, Some(a), Some(b)) => Some(a == b),
                (CmpOp::Lt, Some(a), Some(b)) => Some(a < b),
                (CmpOp::Lt, _, Some(0)) | (CmpOp::Lt, Some(u32::MAX), _) => Some(false),
                _ => None,
            },
            Cond::Test(a, b) => match (constant(a), constant(b)) {
                (Some(a), Some(b)) => Some(a & b != 0),
                (Some(0), _) | (_, Some(0)) => Some(false),
                _ => None,
            },
            Cond::Bounds { base, end } => (constant(base) == Some(0) && end == 0).then_some(true),
            Cond::Member(_) => None,
        }
    }

    /// What a condition asks.
    pub(super) fn question(&self, cond: Cond) -> Question {
        if let Some(holds) = self.known(cond) {
            return Question::Known(holds);
        }
        let both = |left: &str, yes: &str, no: &str, right: &str| Question::Asked {
            yes: format!("{left} {yes} {right}"),
            no: format!("{left} {no} {right}"),
        };
        match cond {
            Cond::Cmp(op, a, b) => {
                let swapped = self.pool.as_const(a).is_some();
                let (left, right) = if swapped { (b, a) } else { (a, b) };
                let (yes, no) = match (op, swapped) {
                    (CmpOp::Eq, _) => ("==", "!="),
                    (CmpOp::Lt, false) => ("<", ">="),
                    (CmpOp::Lt, true) => (">", "<="),
                };
                both(&self.compared(left), yes, no, &self.compared(right))
            }
            Cond::Test(a, b) => {
                let (a, b) = if self.pool.as_const(a).is_some() { (b, a) } else { (a, b) };
                both(&format!("({} & {})", self.operand(a), self.operand(b)), "!=", "==", "0")
            }
            Cond::Member(_) => unreachable!("refused at the start"),
            Cond::Bounds { base, end } => {
                self.need(Need::Captured);
                let end = match self.pool.as_const(base) {
                    Some(k) => u64::from(k) + u64::from(end),
                    None => {
                        let needed = format!("(uint64_t){} + {}", self.operand(base), number(end));
                        return both("captured", ">=", "<", &needed);
                    }
                };
                match u32::try_from(end) {
                    Ok(end) => both("captured", ">=", "<", &end.to_string()),
                    Err(_) => both("(uint64_t)captured", ">=", "<", &format!("UINT64_C({end})")),
                }
            }
        }
    }

    /// Values that need variables which are not held, for these to be written down, ascending: operands first.
    pub(super) fn needed(
        &mut self,
        roots: impl IntoIterator<Item = ValueId>,
        held: &[ValueId],
    ) -> Vec<ValueId> {
        let (pool, names) = (self.pool, &self.names);
        let needed = self.needed.of(roots, held, |id| operands(pool, id), |id| names[id.index()].is_some());
        needed.iter().for_each(|value| self.is_set[value.index()] = true);
        needed
    }

    /// The variable of a value that has one.
    pub(super) fn name(&self, value: ValueId) -> &str {
        self.names[value.index()].as_deref().unwrap_or_default()
    }

    /// A value as one side of a comparison.
    fn compared(&self, value: ValueId) -> String {
        match self.pool.as_const(value) {
            Some(k) => number(k),
            None => self.operand_as(value, false),
        }
    }

    /// A value as an operand of arithmetic, which is unsigned.
    pub(super) fn operand(&self, value: ValueId) -> String {
        self.operand_as(value, true)
    }

    fn operand_as(&self, value: ValueId, unsigned: bool) -> String {
        if let Some(name) = &self.names[value.index()] {
            return name.clone();
        }
        let text = self.definition(value);
        match self.pool.get(value) {
            Value::Op(BinOp::Shl | BinOp::Shr, _, by) if self.pool.as_const(by).is_none_or(|by| by > 31) => {
                text
            }
            Value::Op(..) => format!("({text})"),
            // A byte becomes an `int`, of which nothing may be shifted out, nor be left below 0.
            Value::Load { size: Size::B1, .. } if unsigned => format!("(uint32_t){text}"),
            Value::Load { .. } | Value::Const(_) | Value::Len | Value::Input(_) => text,
        }
    }

    /// What a value is computed from. Nothing recurses further than [`DEPTH_MAX`].
    pub(super) fn definition(&self, value: ValueId) -> String {
        match self.pool.get(value) {
            Value::Const(k) => unsigned(k),
            Value::Len => {
                self.need(Need::WireLen);
                "wire_len".to_owned()
            }
            Value::Input(slot) => {
                self.need(Need::Inputs);
                format!("inputs[{slot}]")
            }
            Value::Load { base, offset, size, order } => self.load(base, offset, size, order),
            Value::Op(op @ (BinOp::Shl | BinOp::Shr), a, b) => self.shift(op, a, b),
            Value::Op(op, a, b) => {
                let k = self.pool.as_const(b);
                let right = match (op, k) {
                    (BinOp::And | BinOp::Or | BinOp::Xor, Some(k)) => format!("{k:#x}u"),
                    _ => self.operand(b),
                };
                format!("{} {} {right}", self.operand_as(a, k.is_none()), op.symbol())
            }
        }
    }

    fn shift(&self, op: BinOp, a: ValueId, by: ValueId) -> String {
        let (sign, name, need) = match op {
            BinOp::Shl => ("<<", "SLUSS_SHL", Need::Shl),
            _ => (">>", "SLUSS_SHR", Need::Shr),
        };
        match self.pool.as_const(by) {
            Some(32..) => "0u".to_owned(),
            Some(by) => format!("{} {sign} {by}", self.operand(a)),
            None => {
                self.need(need);
                format!("{name}({}, {})", self.operand(a), self.operand(by))
            }
        }
    }

    fn load(&self, base: ValueId, offset: u32, size: Size, order: Order) -> String {
        self.need(Need::Data);
        let (name, need) = match (size, order) {
            (Size::B1, _) => {
                return match self.pool.as_const(base) {
                    Some(k) => format!("data[{}]", u64::from(k) + u64::from(offset)),
                    // The sum is one of addresses, since one of 32 bits could wrap around.
                    None => format!("(data + {})[{offset}]", self.operand(base)),
                };
            }
            (Size::B2, Order::Network) => ("SLUSS_BE16", Need::Be16),
            (Size::B4, Order::Network) => ("SLUSS_BE32", Need::Be32),
            (Size::B2, Order::Little) => ("SLUSS_LE16", Need::Le16),
            (Size::B4, Order::Little) => ("SLUSS_LE32", Need::Le32),
        };
        self.need(need);
        match self.pool.as_const(base) {
            Some(k) => format!("{name}(data + {})", u64::from(k) + u64::from(offset)),
            None if offset == 0 => format!("{name}(data + {})", self.operand(base)),
            None => format!("{name}(data + {} + {offset})", self.operand(base)),
        }
    }

    fn need(&self, need: Need) {
        self.needs[need as usize].set(true);
    }

    fn needs(&self, need: Need) -> bool {
        self.needs[need as usize].get()
    }

    /// The macros that were used, and an empty line.
    pub(super) fn macros(&self) -> String {
        let mut out = String::new();
        for (_, definition) in MACROS.iter().filter(|(need, _)| self.needs(*need)) {
            let _ = writeln!(out, "{definition}");
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// The variables that are set, and an empty line.
    pub(super) fn declarations(&self) -> String {
        let set = self.names.iter().zip(&self.is_set).filter(|(_, is_set)| **is_set);
        let names: Vec<&str> = set.filter_map(|(name, _)| name.as_deref()).collect();
        let mut out = String::new();
        for row in names.chunks(8) {
            let _ = writeln!(out, "    uint32_t {};", row.join(", "));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// Says of parameters that nothing uses that this is on purpose.
    pub(super) fn unused_parameters(&self) -> String {
        let all = [(Need::Data, "data"), (Need::Captured, "captured"), (Need::WireLen, "wire_len")];
        let inputs = (self.pool.inputs() > 0).then_some((Need::Inputs, "inputs"));
        let unused = all.into_iter().chain(inputs).filter(|(need, _)| !self.needs(*need));
        unused.fold(String::new(), |out, (_, name)| out + &format!("    (void){name};\n"))
    }
}

/// How often a value is used, and whether some use would name it twice or had better not see what it is.
#[derive(Clone, Copy, Default)]
struct Wanted {
    times: u32,
    twice: bool,
}

/// The operands that the text of a value names.
fn operands(pool: &Pool, id: ValueId) -> impl Iterator<Item = ValueId> + use<> {
    let vanishes = match pool.get(id) {
        Value::Op(BinOp::Shl | BinOp::Shr, _, by) => pool.as_const(by).is_some_and(|by| by > 31),
        _ => false,
    };
    pool.operands(id).filter(move |_| !vanishes)
}
