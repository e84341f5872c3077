//! The graph as text: one line a node, from the root down, with the source each came from.
//!
//! ```text
//! L0:  captured >= 34           ? L1 : reject                 ; tcp port 80
//! L1:  be16[12] == 0x800        ? L2 : reject                 ; tcp port 80
//! ```
//! Nodes are numbered in the order of the listing. Loads read `be16[12]` (two bytes from offset 12, big-endian) or
//! `be16[base + 14]`. An expression of many operators is given a name, printed below the nodes: text may be deep,
//! and printing it whole at every use could take for ever.

use super::{
    BinOp, CmpOp, Cond, CondId, Graph, Node, NodeId, Order, Pool, REJECT, Size, Switch, Value, ValueId,
};
use crate::span::Span;
use std::borrow::Cow;
use std::fmt::Write;

/// Lists the nodes of a graph that was compiled from `source`.
pub fn listing(graph: &Graph, source: &str) -> String {
    let order = graph.topological();
    let names = Names::new(graph, &order);
    let exprs = Exprs::new(graph, &order);
    let mut out = String::new();
    if let Node::Leaf(leaf) = graph.node(graph.root) {
        let _ = writeln!(out, "{}", leaf_name(*leaf));
    }
    for &id in &order {
        let step = match graph.node(id) {
            Node::Leaf(_) => continue,
            Node::Branch { cond, then, els } => {
                let question = exprs.cond(*cond);
                format!("{question:<28} ? {} : {}", names.of(*then), names.of(*els))
            }
            Node::Switch(switch) => switch_text(&exprs, &names, switch),
        };
        let label = format!("{}:", names.of(id));
        out.push_str(&with_source(format!("{label:<4} {step}"), graph, id, source));
    }
    for value in exprs.named() {
        let _ = writeln!(out, "  {} = {}", exprs.value(value), exprs.definition(value));
    }
    out
}

/// How many arms of a switch are printed.
const ARMS_SHOWN: usize = 6;

/// A switch in words: its value, and where each range leads.
pub fn switch_text(exprs: &Exprs<'_>, names: &Names, switch: &Switch) -> String {
    let mut text = format!("switch {} {{", exprs.value(switch.value));
    let hex = switch.arms.iter().any(|arm| arm.high >= HEX_FROM);
    let k = |k: u32| if hex { format!("{k:#x}") } else { k.to_string() };
    for arm in switch.arms.iter().take(ARMS_SHOWN) {
        let range =
            if arm.low == arm.high { k(arm.low) } else { format!("{}..={}", k(arm.low), k(arm.high)) };
        let _ = write!(text, " {range} -> {},", names.of(arm.target));
    }
    if let Some(more @ 1..) = switch.arms.len().checked_sub(ARMS_SHOWN) {
        let _ = write!(text, " and {more} more,");
    }
    text.pop();
    let _ = write!(text, " }} else {}", names.of(switch.default));
    text
}

/// A line with the source of its node as a comment.
pub fn with_source(line: String, graph: &Graph, id: NodeId, source: &str) -> String {
    with_comment(line, graph.spans(id).as_slice(), source)
}

/// A line with the texts of these spans as a comment.
pub fn with_comment(mut line: String, spans: &[Span], source: &str) -> String {
    if let Some(words) = words(spans, source) {
        line = format!("{line:<60}  ; {words}");
    }
    line.push('\n');
    line
}

/// The texts of these spans, if there are any, on one line and short enough for a comment.
pub fn words(spans: &[Span], source: &str) -> Option<String> {
    let mut texts: Vec<&str> = spans.iter().map(|span| beginning(span.text(source))).collect();
    texts.retain(|text| !text.is_empty());
    (!texts.is_empty()).then(|| shortened(&texts.join(" | ")))
}

const COMMENT_MAX: usize = 48;

/// Enough of a text for a comment: a span may be as long as the filter, and there may be as many spans as it has words.
fn beginning(text: &str) -> &str {
    match text.char_indices().nth(4 * COMMENT_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= COMMENT_MAX {
        return text;
    }
    text.chars().take(COMMENT_MAX - 1).chain(['…']).collect()
}

fn leaf_name(leaf: u32) -> String {
    match leaf {
        REJECT => "reject".to_owned(),
        1 => "accept".to_owned(),
        n => format!("accept({n})"),
    }
}

/// Names of nodes in a listing.
pub struct Names(Vec<String>);

impl Names {
    /// Of the nodes in this order: `L0`, `L1`, ….
    pub fn new(graph: &Graph, order: &[NodeId]) -> Self {
        Self::with_prefix(graph, order, 'L')
    }

    /// The same with another letter.
    pub fn with_prefix(graph: &Graph, order: &[NodeId], prefix: char) -> Self {
        let mut names = vec![String::new(); graph.node_count()];
        let mut count = 0;
        for &id in order {
            names[id.index()] = match graph.node(id) {
                Node::Leaf(leaf) => leaf_name(*leaf),
                Node::Branch { .. } | Node::Switch(_) => {
                    count += 1;
                    format!("{prefix}{}", count - 1)
                }
            };
        }
        Names(names)
    }

    /// The name of a node.
    pub fn of(&self, id: NodeId) -> &str {
        &self.0[id.index()]
    }
}

/// Expressions with more operators than this have a name.
const OPERATORS_MAX: u32 = 12;

/// Prints values and conditions.
pub struct Exprs<'p> {
    pool: &'p Pool,
    /// The numbers of the values that are printed as names: `v0`, `v1`, …
    names: Cow<'p, [Option<u32>]>,
    /// Values for one packet; empty without one.
    known: &'p [Option<u32>],
}

impl<'p> Exprs<'p> {
    /// Whole expressions, except very large ones.
    pub fn new(graph: &'p Graph, order: &[NodeId]) -> Self {
        Self::of_values(&graph.pool, order.iter().flat_map(|&id| operands(graph, id)))
    }

    fn of_values(pool: &'p Pool, roots: impl Iterator<Item = ValueId>) -> Self {
        let large = Self::large(pool);
        Self::with_names(pool, roots, |value| large[value.index()])
    }

    /// As [`Exprs::new`], for whatever is in a pool.
    pub fn of_pool(pool: &'p Pool) -> Self {
        Self::of_values(pool, (0..pool.value_count() as u32).map(ValueId))
    }

    /// The same for one packet: places, and what would have a name, are the numbers that they are there.
    pub fn at<'a>(&'a self, known: &'a [Option<u32>]) -> Exprs<'a> {
        Exprs { pool: self.pool, names: Cow::Borrowed(&self.names), known }
    }

    /// As [`Exprs::new`], for whatever looks at these values; places that vary have names too.
    pub fn with_named_places(pool: &'p Pool, roots: impl Iterator<Item = ValueId>) -> Self {
        let mut named = Self::large(pool);
        for id in (0..pool.value_count() as u32).map(ValueId) {
            if let Value::Load { base, .. } = pool.get(id) {
                named[base.index()] |= pool.as_const(base).is_none();
            }
        }
        Self::with_names(pool, roots, |value| named[value.index()])
    }

    /// Which values are too large to be printed whole wherever they are used.
    fn large(pool: &Pool) -> Vec<bool> {
        let mut sizes: Vec<u32> = Vec::with_capacity(pool.value_count());
        let mut large = Vec::with_capacity(pool.value_count());
        for id in (0..pool.value_count() as u32).map(ValueId) {
            let size: u32 = 1 + pool.operands(id).map(|operand| sizes[operand.index()]).sum::<u32>();
            large.push(size > 2 * OPERATORS_MAX);
            sizes.push(if size > 2 * OPERATORS_MAX { 1 } else { size });
        }
        large
    }

    /// Every value but constants is a name.
    pub fn all_named(graph: &'p Graph, order: &[NodeId]) -> Self {
        let roots = order.iter().flat_map(|&id| operands(graph, id));
        Self::with_names(&graph.pool, roots, |value| graph.pool.as_const(value).is_none())
    }

    fn with_names(
        pool: &'p Pool,
        roots: impl Iterator<Item = ValueId>,
        is_named: impl Fn(ValueId) -> bool,
    ) -> Self {
        let mut live = vec![false; pool.value_count()];
        roots.for_each(|value| live[value.index()] = true);
        for id in (0..live.len() as u32).rev().map(ValueId) {
            if live[id.index()] {
                pool.operands(id).for_each(|operand| live[operand.index()] = true);
            }
        }
        let mut numbers = 0..;
        let name = |id| if live[id as usize] && is_named(ValueId(id)) { numbers.next() } else { None };
        Exprs { pool, names: (0..live.len() as u32).map(name).collect(), known: &[] }
    }

    /// The values that have a name, operands first.
    pub fn named(&self) -> impl Iterator<Item = ValueId> {
        let named = |(id, name): (usize, &Option<u32>)| name.map(|_| ValueId(id as u32));
        self.names.iter().enumerate().filter_map(named)
    }

    /// The name of a value, if it has one.
    pub fn name(&self, value: ValueId) -> Option<String> {
        self.names[value.index()].map(|number| format!("v{number}"))
    }

    /// A value as its users show it.
    pub fn value(&self, value: ValueId) -> String {
        match (self.name(value), self.known(value)) {
            (Some(_), Some(k)) => number(k),
            (Some(name), None) => name,
            (None, _) => self.definition(value),
        }
    }

    /// The number that a value is, wherever or for the packet at hand.
    fn known(&self, value: ValueId) -> Option<u32> {
        self.pool.as_const(value).or_else(|| self.known.get(value.index()).copied().flatten())
    }

    /// The expression that defines a value.
    pub fn definition(&self, value: ValueId) -> String {
        let mut out = String::new();
        let mut todo = vec![Piece::Definition(value)];
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Number(k) => out.push_str(&k),
                Piece::Operand(value) => match self.pool.get(value) {
                    _ if self.names[value.index()].is_some() => out.push_str(&self.value(value)),
                    Value::Op(..) => {
                        todo.extend([Piece::Text(")"), Piece::Definition(value), Piece::Text("(")])
                    }
                    Value::Const(_) | Value::Len | Value::Input(_) | Value::Load { .. } => {
                        todo.push(Piece::Definition(value))
                    }
                },
                Piece::Definition(value) => self.pieces(value, &mut todo),
            }
        }
        out
    }

    /// The pieces of a value, the last first.
    fn pieces(&self, value: ValueId, todo: &mut Vec<Piece>) {
        match self.pool.get(value) {
            Value::Const(k) => todo.push(Piece::Number(number(k))),
            Value::Len => todo.push(Piece::Text("len")),
            Value::Input(slot) => todo.push(Piece::Number(format!("input[{slot}]"))),
            Value::Load { base, offset, size, order } => {
                todo.push(Piece::Text("]"));
                match self.known(base) {
                    Some(k) => todo.push(Piece::Number((u64::from(k) + u64::from(offset)).to_string())),
                    None if offset == 0 && self.names[base.index()].is_none() => {
                        todo.push(Piece::Definition(base))
                    }
                    None if offset == 0 => todo.push(Piece::Operand(base)),
                    None => {
                        todo.extend([
                            Piece::Number(offset.to_string()),
                            Piece::Text(" + "),
                            Piece::Operand(base),
                        ]);
                    }
                }
                todo.push(Piece::Text(load_name(size, order)));
            }
            Value::Op(op, a, b) => {
                let right = match (op, self.pool.as_const(b)) {
                    (BinOp::And | BinOp::Or | BinOp::Xor, Some(k)) => Piece::Number(format!("{k:#x}")),
                    _ => Piece::Operand(b),
                };
                let [space, sign] = [" ", op.symbol()].map(Piece::Text);
                todo.extend([right, Piece::Text(" "), sign, space, Piece::Operand(a)]);
            }
        }
    }

    /// `a op b`, with `a` in parentheses where it is an operation itself.
    fn op_text(&self, a: ValueId, op: &str, b: &str) -> String {
        let text = self.value(a);
        match self.pool.get(a) {
            Value::Op(..) if self.names[a.index()].is_none() => format!("({text}){op}{b}"),
            _ => format!("{text}{op}{b}"),
        }
    }

    /// A condition, or its contrary, as people write it: the value that is read is on the left.
    pub fn question(&self, cond: CondId, negated: bool) -> String {
        let (op, a, b) = match self.pool.get_cond(cond) {
            Cond::Cmp(op, a, b) => (op, a, b),
            Cond::Test(..) if negated => return self.cond(cond).replace(" != 0", " == 0"),
            Cond::Member(_) if negated => return format!("not {}", self.cond(cond)),
            Cond::Test(..) | Cond::Bounds { .. } | Cond::Member(_) => return self.cond(cond),
        };
        let sign = match (op, self.is_swapped(a, b), negated) {
            (CmpOp::Eq, _, false) => "==",
            (CmpOp::Eq, _, true) => "!=",
            (CmpOp::Lt, false, false) => "<",
            (CmpOp::Lt, false, true) => ">=",
            (CmpOp::Lt, true, false) => ">",
            (CmpOp::Lt, true, true) => "<=",
        };
        let (left, right) = self.sides(a, b);
        let right = match (self.pool.get(left), self.pool.as_const(right)) {
            // Nobody thinks of lengths in hexadecimal.
            (Value::Len, Some(k)) => k.to_string(),
            _ => self.value(right),
        };
        format!("{} {sign} {right}", self.value(left))
    }

    /// The operands of a comparison as a question has them, left and right.
    pub fn sides(&self, a: ValueId, b: ValueId) -> (ValueId, ValueId) {
        if self.is_swapped(a, b) { (b, a) } else { (a, b) }
    }

    fn is_swapped(&self, a: ValueId, b: ValueId) -> bool {
        self.pool.as_const(a).is_some() && self.pool.as_const(b).is_none()
    }

    /// Whether what stands on the left of a question is best told in hexadecimal: where a constant on the right is, and
    /// where bits are asked for. Of two values that both vary, numbers of more than 16 bits are addresses, mostly.
    pub fn is_hex(&self, left: ValueId, right: ValueId) -> bool {
        let is_masked = matches!(self.pool.get(left), Value::Op(BinOp::And | BinOp::Or | BinOp::Xor, ..));
        match self.pool.as_const(right) {
            Some(0) => is_masked,
            Some(k) => k >= HEX_FROM && self.pool.get(left) != Value::Len,
            None => self.known(left).max(self.known(right)) > Some(0xffff),
        }
    }

    /// A condition.
    pub fn cond(&self, cond: CondId) -> String {
        match self.pool.get_cond(cond) {
            Cond::Cmp(CmpOp::Eq, a, b) => format!("{} == {}", self.value(a), self.value(b)),
            Cond::Cmp(CmpOp::Lt, a, b) => format!("{} < {}", self.value(a), self.value(b)),
            Cond::Test(a, mask) => {
                let mask = self.pool.as_const(mask).map_or_else(|| self.value(mask), |k| format!("{k:#x}"));
                format!("{} != 0", self.op_text(a, " & ", &mask))
            }
            Cond::Member(members) => {
                let words: Vec<String> =
                    self.pool.member_words(members).iter().map(|&word| self.value(word)).collect();
                format!("({}) in {{{}}}", words.join(", "), self.pool.members(members).describe())
            }
            Cond::Bounds { base, end } => match self.pool.as_const(base) {
                Some(k) => format!("captured >= {}", u64::from(k) + u64::from(end)),
                None => format!("captured >= {}", self.op_text(base, " + ", &end.to_string())),
            },
        }
    }
}

enum Piece {
    Text(&'static str),
    Number(String),
    /// In parentheses where it is an operation.
    Operand(ValueId),
    Definition(ValueId),
}

/// The values that a node looks at.
pub fn operands(graph: &Graph, id: NodeId) -> Vec<ValueId> {
    match graph.node(id) {
        Node::Leaf(_) => Vec::new(),
        Node::Branch { cond, .. } => graph.pool.cond_operands(*cond).collect(),
        Node::Switch(switch) => vec![switch.value],
    }
}

/// Larger constants are printed in hexadecimal: they are protocol numbers, addresses and masks.
const HEX_FROM: u32 = 1024;

fn number(k: u32) -> String {
    if k < HEX_FROM { k.to_string() } else { format!("{k:#x}") }
}

fn load_name(size: Size, order: Order) -> &'static str {
    match (size, order) {
        (Size::B1, _) => "u8[",
        (Size::B2, Order::Network) => "be16[",
        (Size::B4, Order::Network) => "be32[",
        (Size::B2, Order::Little) => "le16[",
        (Size::B4, Order::Little) => "le32[",
    }
}
