//! C: a decision program as the text of one function, for whoever has a C compiler and no sluss.
//!
//! ```text
//! uint32_t name(const uint8_t *data, size_t captured, uint32_t wire_len)
//! {
//!     uint32_t v0;                                             values that have a local variable ([`values`])
//!
//!     if (captured < 34) return 0;
//!     if (SLUSS_BE16(data + 12) != 0x800) goto L1;             a branch: one line, the likelier side goes on below
//!     v0 = (data[14] & 0xfu) << 2;
//!     …
//! L1: …
//! }
//! ```
//! A graph that reads inputs has a fourth parameter, `const uint32_t *inputs`, the caller's row for the packet.
//!
//! Nodes stand in layout order, each with a jump where its successor is not the next line; leaves are `return`s. Switches become tests,
//! a `switch`, or a search in a sorted array ([`many`]).
//!
//! The text is C99 with `<stdint.h>` and `<stddef.h>` and nothing else, and has no undefined behaviour for any packet: packets are read
//! byte by byte, arithmetic is unsigned in 32 bits, sums of a bounds check are made in 64, shifts by 32 or more give 0, and the
//! verifier has seen a guard in front of each load and each division.
//!
//! INVARIANT: a value that a guard or a divisor was about has a local variable, and is not computed again below it; see [`crate::target::lir::uses`].
//! (A C compiler may read memory again that nobody is said to write. So the packet must not be written to while the function runs.)
//!
//! It knows nothing of the language: what a comment says of a test are the words of the source that the graph remembers.

mod many;
mod text;
mod values;

pub use text::{identifier, in_comment};

use super::lir::NoCode;
use super::lir::held::Held;
use super::lir::layout::{Layout, layout};
use super::lir::switch::merged;
use super::lir::uses::{Use, uses};
use crate::filled::filled;
use crate::ir::print::words;
use crate::ir::verify::{Outputs, Verified};
use crate::ir::{CondId, Graph, Node, NodeId, Value, ValueId};
use many::Tables;
use std::fmt::Write;
use values::{Question, Values};

/// What the function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns<'a> {
    /// An `int`, the number of the leaf: 0 or 1 for a graph with no other leaves.
    Flag,
    /// A `uint32_t`, the number of the leaf.
    Leaf,
    /// A `uint32_t`: 0, or 1 more than this number of the leaf, from leaf 1 on. Its values go to a last parameter, `uint32_t *arguments`.
    Calls(&'a [u32]),
}

/// How many pinned values may be needed at once.
const PINNED_MAX: usize = 256;

/// The text of a function of this name, whatever C does not allow in one replaced; `source` is what the spans of the graph are about.
///
/// # Errors
/// [`NoCode::TooComplex`] when more values must be kept at once than a function should have; [`NoCode::Members`] where it asks a large set.
pub fn function(
    graph: Verified<'_>,
    name: &str,
    returns: Returns<'_>,
    source: &str,
) -> Result<String, NoCode> {
    let (graph, outputs) = (graph.graph(), graph.outputs());
    if graph.asks_members() {
        return Err(NoCode::Members);
    }
    let layout = layout(graph);
    let uses = uses(graph, &layout, outputs);
    let mut writer = Writer {
        graph,
        layout: &layout,
        uses: &uses,
        outputs,
        returns,
        values: Values::new(graph, &layout, &uses, outputs),
        held: Held::new(graph, PINNED_MAX),
        is_target: filled(false, graph.node_count()),
        blocks: Vec::new(),
        tables: Tables::default(),
        source,
        said: None,
    };
    for at in 0..layout.order.len() {
        writer.node(at)?;
    }
    Ok(writer.finish(&identifier(name), returns))
}

struct Writer<'g> {
    graph: &'g Graph,
    outputs: Outputs<'g>,
    returns: Returns<'g>,
    layout: &'g Layout,
    /// By value.
    uses: &'g [Use],
    values: Values<'g>,
    held: Held,
    /// By node: whether something jumps to it.
    is_target: Vec<bool>,
    /// Nodes, and their lines.
    blocks: Vec<(NodeId, String)>,
    tables: Tables,
    source: &'g str,
    /// The words of the source that stand beside the last line that has some.
    said: Option<String>,
}

impl Writer<'_> {
    /// Writes the node at a position of the layout.
    fn node(&mut self, at: usize) -> Result<(), NoCode> {
        let id = self.layout.order[at];
        let mut held = self.held.at(id);
        let graph = self.graph;
        // Leaves with nothing to compute, which come last, have no lines of their own.
        let is_written = |next: &NodeId| self.answer(*next).is_none();
        let next = self.layout.order.get(at + 1).copied().filter(is_written);
        let mut lines = String::new();
        let computed = match graph.node(id) {
            // Each edge to it has returned already, unless there is nothing but the leaf.
            Node::Leaf(_) if self.answer(id).is_some() && id != graph.root => return Ok(()),
            Node::Leaf(leaf) => {
                let values = self.outputs.of(*leaf);
                let computed = self.compute(values.iter().copied(), &held, &mut lines);
                for (i, &value) in values.iter().enumerate() {
                    let _ = writeln!(lines, "    arguments[{i}] = {};", self.values.operand(value));
                }
                let _ = writeln!(lines, "    return {};", text::number(self.answer_of(*leaf)));
                computed
            }
            Node::Branch { cond, then, els } => {
                self.branch(id, *cond, [*then, *els], next, &held, &mut lines)
            }
            Node::Switch(switch) => {
                let arms = merged(switch);
                let computed = if arms.is_empty() {
                    Vec::new()
                } else {
                    self.compute([switch.value], &held, &mut lines)
                };
                self.many(id, switch.value, &arms, switch.default, next, &mut lines);
                computed
            }
        };
        self.blocks.push((id, lines));
        held.extend(computed);
        self.held.pass_on(graph, self.uses, (id, at), held, |_, _| true)
    }

    /// The lines of a two-way branch; says which variables they set.
    fn branch(
        &mut self,
        id: NodeId,
        cond: CondId,
        [then, els]: [NodeId; 2],
        next: Option<NodeId>,
        held: &[ValueId],
        lines: &mut String,
    ) -> Vec<ValueId> {
        let cond = self.graph.pool.get_cond(cond);
        let computed = self.compute(self.values.operands_of_cond(cond), held, lines);
        let question = self.values.question(cond);
        self.decide(id, &question, [then, els], next, lines);
        computed
    }

    /// Goes to `then` or `els` by a question, and says where the node came from.
    fn decide(
        &mut self,
        id: NodeId,
        question: &Question,
        [then, els]: [NodeId; 2],
        next: Option<NodeId>,
        lines: &mut String,
    ) {
        let answers = [then, els].map(|to| self.answer(to));
        let line = match question {
            Question::Known(holds) => {
                let to = if *holds { then } else { els };
                if next == Some(to) { String::new() } else { self.jump(to) }
            }
            Question::Asked { yes, no } => match answers {
                [Some(1), Some(0)] => format!("return {yes};"),
                [Some(0), Some(1)] => format!("return {no};"),
                _ if next == Some(then) => format!("if ({no}) {}", self.jump(els)),
                _ if next == Some(els) => format!("if ({yes}) {}", self.jump(then)),
                // Two lines; the words of the source stand beside the question.
                _ => {
                    let line = format!("if ({yes}) {}", self.jump(then));
                    self.line(id, &line, lines);
                    let _ = writeln!(lines, "    {}", self.jump(els));
                    return;
                }
            },
        };
        if !line.is_empty() {
            self.line(id, &line, lines);
        }
    }

    /// Adds a line, with the words of the source that its node is about, unless the line before it is about the same.
    fn line(&mut self, id: NodeId, line: &str, lines: &mut String) {
        let words = words(self.graph.spans(id).as_slice(), self.source);
        let _ = match &words {
            Some(words) if self.said.as_ref() != Some(words) => {
                writeln!(lines, "    {line:<56}  /* {} */", in_comment(words))
            }
            _ => writeln!(lines, "    {line}"),
        };
        self.said = words;
    }

    /// The statement that leads to a node.
    fn jump(&mut self, to: NodeId) -> String {
        match self.answer(to) {
            Some(answer) => format!("return {};", text::number(answer)),
            None => {
                self.is_target[to.index()] = true;
                format!("goto {};", self.label(to))
            }
        }
    }

    /// What is returned at a leaf with nothing to compute.
    fn answer(&self, node: NodeId) -> Option<u32> {
        match self.graph.node(node) {
            Node::Leaf(leaf) if self.outputs.of(*leaf).is_empty() => Some(self.answer_of(*leaf)),
            _ => None,
        }
    }

    fn answer_of(&self, leaf: u32) -> u32 {
        match self.returns {
            Returns::Flag | Returns::Leaf => leaf,
            Returns::Calls(numbers) => leaf.checked_sub(1).map_or(0, |leaf| numbers[leaf as usize] + 1),
        }
    }

    fn label(&self, node: NodeId) -> String {
        format!("L{}", self.layout.position[node.index()])
    }

    /// Sets the variables that these values need and that are not held, operands first.
    fn compute(
        &mut self,
        roots: impl IntoIterator<Item = ValueId>,
        held: &[ValueId],
        lines: &mut String,
    ) -> Vec<ValueId> {
        let computed = self.values.needed(roots, held);
        for &value in &computed {
            let definition = self.values.definition(value);
            let _ = writeln!(lines, "    {} = {definition};", self.values.name(value));
        }
        computed
    }

    /// The function around the lines of all nodes.
    fn finish(self, name: &str, returns: Returns<'_>) -> String {
        let mut body = String::new();
        for (id, lines) in &self.blocks {
            if self.is_target[id.index()] {
                let _ = writeln!(body, "{}:", self.label(*id));
            }
            body.push_str(lines);
        }
        let mut out = String::from("#include <stddef.h>\n#include <stdint.h>\n\n");
        out.push_str(&self.values.macros());
        let returned = match returns {
            Returns::Flag => "int",
            Returns::Leaf | Returns::Calls(_) => "uint32_t",
        };
        let calls = matches!(returns, Returns::Calls(_));
        let inputs = if calls {
            ", const uint32_t *inputs, uint32_t *arguments"
        } else if self.graph.pool.inputs() > 0 {
            ", const uint32_t *inputs"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "{returned} {name}(const uint8_t *data, size_t captured, uint32_t wire_len{inputs})"
        );
        out.push_str("{\n");
        out.push_str(&self.tables.declarations);
        out.push_str(&self.values.declarations());
        out.push_str(&self.values.unused_parameters());
        if calls && self.graph.pool.inputs() == 0 {
            out.push_str("    (void)inputs;\n");
        }
        if calls && !body.contains("arguments[") {
            out.push_str("    (void)arguments;\n");
        }
        out.push_str(&body);
        out.push_str("}\n");
        out
    }
}

/// Whether a value needs no variable: it is the same wherever it is used.
fn is_constant(value: Value) -> bool {
    matches!(value, Value::Const(_) | Value::Len | Value::Input(_))
}
