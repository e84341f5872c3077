//! The graph in static single assignment form: basic blocks with predecessors and dominators, three-address code.
//!
//! ```text
//! b1: from b0, idom b0                                         ; tcp port 80
//!     v1 = load be16 [12]
//!     br (eq v1, 0x800), b2, reject
//! ```
//! There are no phis: a decision program has no variables, so no value depends on the way taken. A value that two
//! blocks compute, neither above the other, is a value of its own in each (`v1`, `v1.1`).

use super::anf::Bindings;
use super::print::{Exprs, Names, with_source};
use super::{Arm, BinOp, CmpOp, Cond, Graph, Node, NodeId, Order, Size, Value, ValueId};
use std::fmt::Write;

/// Prints the view.
pub fn view(graph: &Graph, source: &str) -> String {
    let order = graph.topological();
    let mut blocks = Blocks {
        graph,
        names: Names::with_prefix(graph, &order, 'b'),
        exprs: Exprs::all_named(graph, &order),
        bindings: Bindings::new(graph, &order),
        block: graph.root,
        out: String::new(),
    };
    let predecessors = predecessors(graph, &order);
    for &id in &order {
        blocks.block = id;
        blocks.header(id, &predecessors[id.index()], source);
        for value in blocks.bindings.new_at(id) {
            blocks.definition(value);
        }
        blocks.terminator(id);
    }
    blocks.out
}

fn predecessors(graph: &Graph, order: &[NodeId]) -> Vec<Vec<NodeId>> {
    let mut predecessors: Vec<Vec<NodeId>> = vec![Vec::new(); graph.node_count()];
    for &id in order {
        graph.node(id).for_each_successor(|next| {
            if predecessors[next.index()].last() != Some(&id) {
                predecessors[next.index()].push(id);
            }
        });
    }
    predecessors
}

/// How many predecessors and arms are printed.
const SHOWN: usize = 6;

struct Blocks<'g> {
    graph: &'g Graph,
    names: Names,
    exprs: Exprs<'g>,
    bindings: Bindings<'g>,
    /// The block in hand.
    block: NodeId,
    out: String,
}

impl Blocks<'_> {
    fn header(&mut self, id: NodeId, from: &[NodeId], source: &str) {
        let mut line = format!("{}:", self.names.of(id));
        if let Some(dominator) = self.bindings.dominators().immediate(id) {
            let mut shown: Vec<&str> = from.iter().take(SHOWN).map(|&id| self.names.of(id)).collect();
            let more = format!("{} more", from.len().saturating_sub(SHOWN));
            if from.len() > SHOWN {
                shown.push(&more);
            }
            let _ = write!(line, " from {}, idom {}", shown.join(" "), self.names.of(dominator));
        }
        self.out.push_str(&with_source(line, self.graph, id, source));
    }

    fn definition(&mut self, value: ValueId) {
        let name = self.value(value);
        let text = match self.graph.pool.get(value) {
            Value::Const(k) => k.to_string(),
            Value::Len => "wire_len".to_owned(),
            Value::Input(slot) => format!("input[{slot}]"),
            Value::Load { base, offset, size, order } => {
                let order = if order == Order::Network { "be" } else { "le" };
                let kind =
                    if size == Size::B1 { "u8".to_owned() } else { format!("{order}{}", 8 * size.bytes()) };
                match self.graph.pool.as_const(base) {
                    Some(k) => format!("load {kind} [{}]", u64::from(k) + u64::from(offset)),
                    None => format!("load {kind} [{} + {offset}]", self.value(base)),
                }
            }
            Value::Op(op, a, b) => format!("{} {}, {}", mnemonic(op), self.value(a), self.value(b)),
        };
        let _ = writeln!(self.out, "    {name} = {text}");
    }

    fn value(&self, value: ValueId) -> String {
        let name = self.exprs.value(value);
        match self.bindings.version(value, self.block) {
            None | Some(0) => name,
            Some(version) => format!("{name}.{version}"),
        }
    }

    fn terminator(&mut self, id: NodeId) {
        let text = match self.graph.node(id) {
            Node::Leaf(leaf) => format!("ret {leaf}"),
            Node::Branch { cond, then, els } => {
                let cond = match self.graph.pool.get_cond(*cond) {
                    Cond::Cmp(CmpOp::Eq, a, b) => format!("eq {}, {}", self.value(a), self.value(b)),
                    Cond::Cmp(CmpOp::Lt, a, b) => format!("ult {}, {}", self.value(a), self.value(b)),
                    Cond::Test(a, mask) => format!("test {}, {}", self.value(a), self.value(mask)),
                    Cond::Member(members) => {
                        let pool = &self.graph.pool;
                        let words: Vec<String> =
                            pool.member_words(members).iter().map(|&word| self.value(word)).collect();
                        format!("member {} of {}", words.join(", "), pool.members(members).describe())
                    }
                    Cond::Bounds { base, end } => match self.graph.pool.as_const(base) {
                        Some(k) => format!("captured {}", u64::from(k) + u64::from(end)),
                        None => format!("captured {} + {end}", self.value(base)),
                    },
                };
                format!("br ({cond}), {}, {}", self.names.of(*then), self.names.of(*els))
            }
            Node::Switch(switch) => {
                let arm =
                    |arm: &Arm| format!("{:#x}..={:#x}: {}", arm.low, arm.high, self.names.of(arm.target));
                let mut arms: Vec<String> = switch.arms.iter().take(SHOWN).map(arm).collect();
                if switch.arms.len() > SHOWN {
                    arms.push(format!("{} more", switch.arms.len() - SHOWN));
                }
                let (value, default) = (self.value(switch.value), self.names.of(switch.default));
                format!("switch {value} [{}], {default}", arms.join(", "))
            }
        };
        let _ = writeln!(self.out, "    {text}");
    }
}

fn mnemonic(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "add",
        BinOp::Sub => "sub",
        BinOp::Mul => "mul",
        BinOp::Div => "udiv",
        BinOp::Mod => "urem",
        BinOp::And => "and",
        BinOp::Or => "or",
        BinOp::Xor => "xor",
        BinOp::Shl => "shl",
        BinOp::Shr => "lshr",
    }
}
