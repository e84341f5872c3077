//! Lua: a decision program as the text of a chunk for LuaJIT that returns one function.
//!
//! ```text
//! local ffi = require("ffi")                      what the function uses, as outer locals
//! local cast = ffi.cast
//! return function(P, length)
//!    local u8_at_23, v1                           values that have a variable ([`values`])
//!    if length < 34 then return false end
//!    if cast("uint16_t*", P + 12)[0] ~= 8 then goto L9 end
//!    …
//! ```
//! `P` points to the packet, of which all `length` bytes are there; inputs are parameters behind it.
//!
//! The shape is the dominator tree: a node with one predecessor stands behind its test, the smaller of two in an `if`, so that blocks are
//! nested no deeper than the logarithm of their number. A node with several has a label, at the end of the block of its dominator. A function of
//! LuaJIT has bounds on jumps and constants; larger graphs become several, in the table `f`, which call each other last.
//!
//! The text expects a little-endian machine, as every one is that runs LuaJIT today. The packet must not be written to meanwhile.

mod join;
mod many;
mod text;
mod values;

pub use text::in_comment;

use super::lir::NoCode;
use super::lir::held::Held;
use super::lir::layout::{Layout, layout};
use super::lir::uses::{Use, uses};
use crate::filled::filled;
use crate::ir::dominators::Dominators;
use crate::ir::print::words;
use crate::ir::verify::{Outputs, Verified};
use crate::ir::{Graph, Node, NodeId, ValueId};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use text::parameters;
use values::{Question, Values};

/// What the function does at a leaf.
#[derive(Clone, Copy, Debug)]
pub enum Answers<'a> {
    /// It returns whether the leaf is another than the one that rejects.
    Flag,
    /// It returns the number of the leaf.
    Leaf,
    /// It returns what this method of its first parameter returns, by leaf from leaf 1 on; nil for the leaf that rejects.
    Calls(&'a [&'a str]),
}

/// Nodes of one function.
const NODES_MAX: u32 = 800;
/// Functions that one function makes: each is a constant of it, as its number may be, and LuaJIT allows 65,536.
const GROUP: usize = 16_384;
/// How many pinned values may be needed at once, and how many inputs there may be.
const PINNED_MAX: usize = 100;
const INPUTS_MAX: usize = 30;

/// The chunk of a graph; `inputs` are the names of its inputs, `source` is what its spans are about.
///
/// # Errors
/// [`NoCode::TooComplex`] when more values must be kept at once than a function may have; [`NoCode::Members`] where it asks a large set.
pub fn chunk(
    graph: Verified<'_>,
    answers: Answers<'_>,
    inputs: &[String],
    source: &str,
) -> Result<String, NoCode> {
    let (graph, outputs) = (graph.graph(), graph.outputs());
    if graph.asks_members() {
        return Err(NoCode::Members);
    }
    if inputs.len().max(graph.pool.inputs() as usize) > INPUTS_MAX {
        return Err(NoCode::TooComplex);
    }
    let mut inputs = inputs.to_vec();
    inputs.extend((inputs.len() as u32..graph.pool.inputs()).map(|slot| format!("input{slot}_")));
    let inputs = parameters(&inputs);
    let layout = layout(graph);
    let uses = uses(graph, &layout, outputs);
    let mut writer = Writer {
        graph,
        outputs,
        layout: &layout,
        uses: &uses,
        values: Values::new(graph, &layout, &uses, outputs, &inputs)?,
        answers,
        inputs: &inputs,
        pieces: (0..graph.node_count()).map(|_| None).collect(),
        function_of: filled(u32::MAX, graph.node_count()),
        jumps: filled(0, graph.node_count()),
        heads: Vec::new(),
        joined: filled(None, graph.node_count()),
        given: HashMap::new(),
        tables: HashMap::new(),
        declarations: String::new(),
        dispatched: 0,
        searches: false,
        source,
        said: None,
    };
    writer.part();
    writer.write_pieces()?;
    Ok(writer.finish())
}

/// What a node does.
#[derive(Default)]
struct Piece {
    setup: Vec<String>,
    tests: Vec<(Question, NodeId)>,
    last: Last,
    /// The variables that it sets.
    sets: Vec<ValueId>,
}

/// What a node does where none of its tests holds.
#[derive(Default)]
enum Last {
    #[default]
    Nothing,
    To(NodeId),
    /// To one of these, by the variable `at`.
    Dispatch(Vec<NodeId>),
    Return(String),
}

struct Writer<'g> {
    graph: &'g Graph,
    outputs: Outputs<'g>,
    layout: &'g Layout,
    uses: &'g [Use],
    values: Values<'g>,
    answers: Answers<'g>,
    inputs: &'g [String],
    /// By node.
    pieces: Vec<Option<Piece>>,
    /// By node: its function.
    function_of: Vec<u32>,
    /// By node: how many statements lead to it.
    jumps: Vec<u32>,
    /// By function: where it begins.
    heads: Vec<NodeId>,
    /// By node: the node whose test is one with its own.
    joined: Vec<Option<NodeId>>,
    /// By head: the values that it is given.
    given: HashMap<NodeId, Vec<ValueId>>,
    /// By text: names of outer tables.
    tables: HashMap<String, String>,
    declarations: String,
    dispatched: usize,
    searches: bool,
    source: &'g str,
    said: Option<String>,
}

/// Lines of a block that remain to be written, the next one last.
enum Task {
    Node(NodeId, usize),
    Label(NodeId, usize),
    Line(String, usize),
}

impl<'g> Writer<'g> {
    /// A leaf with nothing to compute: it is a statement, not a block.
    fn is_plain(&self, id: NodeId) -> bool {
        matches!(self.graph.node(id), Node::Leaf(leaf) if self.outputs.of(*leaf).is_empty())
    }

    /// Shares the nodes out among functions: a node belongs to that of all its predecessors, unless it is full.
    fn part(&mut self) {
        let mut sizes: Vec<u32> = Vec::new();
        let mut must: Vec<bool> = filled(false, self.graph.node_count());
        // What predecessors say; two that differ make a head.
        for &id in &self.layout.order {
            let of = self.function_of[id.index()];
            let is_head = id == self.graph.root
                || must[id.index()]
                || sizes.get(of as usize).is_some_and(|size| *size >= NODES_MAX);
            if self.is_plain(id) && id != self.graph.root {
                continue;
            }
            let of = if is_head {
                sizes.push(0);
                self.heads.push(id);
                (self.heads.len() - 1) as u32
            } else {
                of
            };
            self.function_of[id.index()] = of;
            let arms = self.arms(id);
            sizes[of as usize] += 1 + arms.len().min(8) as u32;
            if many::dispatches(&arms) {
                arms.iter().for_each(|arm| must[arm.target.index()] = true);
            }
            let function_of = &mut self.function_of;
            self.graph.node(id).for_each_successor(|next| match &mut function_of[next.index()] {
                unknown if *unknown == u32::MAX => *unknown = of,
                known if *known != of => must[next.index()] = true,
                _ => {}
            });
        }
    }

    fn is_head(&self, id: NodeId) -> bool {
        self.function_of[id.index()] != u32::MAX
            && self.heads.get(self.function_of[id.index()] as usize) == Some(&id)
    }

    /// What each node does, in an order in which predecessors come first.
    fn write_pieces(&mut self) -> Result<(), NoCode> {
        let mut held_by = Held::new(self.graph, PINNED_MAX);
        for (at, &id) in self.layout.order.iter().enumerate() {
            if self.is_plain(id) && id != self.graph.root {
                continue;
            }
            let mut held = held_by.at(id);
            let mut piece = Piece::default();
            let graph = self.graph;
            match graph.node(id) {
                // It is written with another.
                _ if self.joined[id.index()].is_some() => {}
                Node::Leaf(leaf) => {
                    let values = self.outputs.of(*leaf);
                    self.compute(values.iter().copied(), &held, &mut piece);
                    let values = values.iter().map(|&value| self.values.unsigned(value)).collect();
                    piece.last = Last::Return(self.leaf(*leaf, values));
                }
                Node::Branch { cond, then, els } => {
                    let cond = graph.pool.get_cond(*cond);
                    let roots: Vec<ValueId> = match cond {
                        crate::ir::Cond::Cmp(_, a, b) | crate::ir::Cond::Test(a, b) => vec![a, b],
                        crate::ir::Cond::Bounds { base, .. } => vec![base],
                        crate::ir::Cond::Member(_) => unreachable!("refused at the start"),
                    };
                    self.compute(roots, &held, &mut piece);
                    let known = [&held[..], &piece.sets[..]].concat();
                    let (question, then, els) =
                        self.join(id, &known).unwrap_or_else(|| (self.values.question(cond), *then, *els));
                    piece.tests.push((question, then));
                    piece.last = Last::To(els);
                }
                Node::Switch(switch) => {
                    let arms = self.arms(id);
                    if !arms.is_empty() {
                        self.compute([switch.value], &held, &mut piece);
                    }
                    self.many(switch.value, &arms, switch.default, &mut piece);
                }
            }
            if self.is_head(id) {
                self.given.insert(id, held.clone());
            }
            held.extend(&piece.sets);
            if self.joined[id.index()].is_none() {
                self.pieces[id.index()] = Some(piece);
            }
            let (uses, function_of, heads) = (self.uses, &self.function_of, &self.heads);
            held_by.pass_on(graph, uses, (id, at), held, |next, value| {
                let of = function_of[next.index()];
                let is_head = heads.get(of as usize) == Some(&next);
                !is_head || uses[value.index()].pinned
            })?;
        }
        Ok(())
    }

    /// Sets the variables that these values need and that are not held.
    fn compute(&mut self, roots: impl IntoIterator<Item = ValueId>, held: &[ValueId], piece: &mut Piece) {
        piece.sets = self.values.needed(roots, held);
        for &value in &piece.sets {
            let name = self.values.names[value.index()].as_deref().unwrap_or_default();
            piece.setup.push(format!("{name} = {}", self.values.definition(value)));
        }
    }

    /// The statement at a leaf.
    fn leaf(&self, leaf: u32, values: Vec<String>) -> String {
        match self.answers {
            Answers::Flag => format!("return {}", leaf != 0),
            Answers::Leaf => format!("return {leaf}"),
            Answers::Calls(handlers) => {
                let handler = (leaf as usize).checked_sub(1).and_then(|leaf| handlers.get(leaf));
                let Some(handler) = handler else { return "return nil".to_owned() };
                let handler = if text::is_name(handler) {
                    format!("self.{handler}")
                } else {
                    format!("self[{}]", text::quoted(handler))
                };
                let mut operands = vec!["P".to_owned(), "length".to_owned()];
                operands.extend(values);
                format!("return {handler}({})", operands.join(", "))
            }
        }
    }

    /// The parameters of each function, and those of a head behind them.
    fn parameters(&self, head: Option<NodeId>) -> String {
        let mut all: Vec<&str> = Vec::new();
        if matches!(self.answers, Answers::Calls(_)) {
            all.push("self");
        }
        all.extend(["P", "length"]);
        all.extend(self.inputs.iter().map(String::as_str));
        let given = head.and_then(|head| self.given.get(&head)).into_iter().flatten();
        all.extend(given.filter_map(|value| self.values.names[value.index()].as_deref()));
        all.join(", ")
    }

    /// The statement that leads to a node which does not stand there.
    fn jump(&self, to: NodeId) -> String {
        match self.graph.node(to) {
            Node::Leaf(leaf) if self.is_plain(to) => self.leaf(*leaf, Vec::new()),
            _ if self.is_head(to) => {
                format!("return f[{}]({})", self.function_of[to.index()], self.parameters(Some(to)))
            }
            _ => format!("goto L{}", self.layout.position[to.index()]),
        }
    }

    /// The chunk around all functions.
    fn finish(mut self) -> String {
        let order = &self.layout.order;
        let dominators = Dominators::new(self.graph, order);
        let mut sizes: Vec<u32> = filled(0, self.graph.node_count());
        let mut below: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for &id in order.iter().rev().filter(|id| self.pieces[id.index()].is_some()) {
            sizes[id.index()] += 1;
            if let Some(above) = dominators.immediate(id).filter(|_| !self.is_head(id)) {
                let above = self.joined[above.index()].unwrap_or(above);
                sizes[above.index()] += sizes[id.index()];
                below.entry(above).or_default().push(id);
            }
        }
        for piece in self.pieces.iter().flatten() {
            let last = if let Last::To(to) = piece.last { Some(to) } else { None };
            for to in piece.tests.iter().map(|(_, to)| *to).chain(last) {
                self.jumps[to.index()] += 1;
            }
        }
        let mut functions = Vec::new();
        for at in (0..self.heads.len()).rev() {
            let head = self.heads[at];
            let body = self.function(head, &sizes, &below);
            let parameters = self.parameters((at > 0).then_some(head));
            let begin = if at > 0 { format!("f[{at}] =") } else { "return".to_owned() };
            functions.push(format!("{begin} function({parameters})\n{body}end\n"));
        }
        let first = functions.pop().unwrap_or_default();
        let mut out = self.values.head();
        if self.searches {
            out.push_str(RANK);
        }
        if self.dispatched > 0 || self.tables.len() > many::LOCAL_TABLES {
            out.push_str("local sets = {}\n");
        }
        if self.heads.len() > 1 {
            out.push_str("local f = {}\n");
        }
        out.push_str(&self.declarations);
        out + &grouped(&functions) + &first
    }

    /// The lines of one function.
    fn function(&mut self, head: NodeId, sizes: &[u32], below: &HashMap<NodeId, Vec<NodeId>>) -> String {
        let mut lines: Vec<(usize, String)> = Vec::new();
        let mut locals: BTreeSet<String> = BTreeSet::new();
        let mut tasks = vec![Task::Node(head, 1)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Line(line, indent) => lines.push((indent, line)),
                Task::Label(id, indent) => {
                    // A statement that leaves the block must be the last one of its own.
                    let goto = self.jump(id);
                    match lines.last_mut() {
                        Some((at, line)) if *at == indent && *line == goto => {
                            lines.pop();
                        }
                        Some((at, line)) if *at == indent && line.starts_with("return ") => {
                            *line = format!("do {line} end")
                        }
                        _ => {}
                    }
                    lines.push((indent - 1, format!("::L{}::", self.layout.position[id.index()])));
                    tasks.push(Task::Node(id, indent));
                }
                Task::Node(id, indent) => {
                    let piece = self.pieces[id.index()].take().unwrap_or_default();
                    locals.extend(
                        piece.sets.iter().filter_map(|value| self.values.names[value.index()].clone()),
                    );
                    if piece.setup.iter().any(|line| line.starts_with("at = ")) {
                        locals.insert("at".to_owned());
                    }
                    let from = lines.len();
                    lines.extend(piece.setup.into_iter().map(|line| (indent, line)));
                    let children = below.get(&id).map_or(&[][..], |below| &below[..]);
                    self.block(
                        (id, indent),
                        (piece.tests, piece.last),
                        children,
                        sizes,
                        &mut lines,
                        &mut tasks,
                    );
                    // The words of the source stand beside the first line.
                    if lines.len() == from
                        && let Some(Task::Line(line, at)) = tasks.last()
                    {
                        lines.push((*at, line.clone()));
                        tasks.pop();
                    }
                    let said = words(self.graph.spans(id).as_slice(), self.source);
                    if let (Some(said), Some((_, line))) = (&said, lines.get_mut(from))
                        && self.said.as_ref() != Some(said)
                        && !line.starts_with("return")
                        && !line.starts_with("goto")
                    {
                        *line = format!("{line:<56} -- {}", in_comment(said).replace('\n', " "));
                    }
                    self.said = said;
                }
            }
        }
        if let Some(given) = self.given.get(&head) {
            for value in given {
                locals.remove(self.values.names[value.index()].as_deref().unwrap_or_default());
            }
        }
        let mut body = String::new();
        let locals: Vec<String> = locals.into_iter().collect();
        for row in locals.chunks(10) {
            let _ = writeln!(body, "   local {}", row.join(", "));
        }
        for (indent, line) in lines {
            let _ = writeln!(body, "{:1$}{line}", "", 3 * indent);
        }
        body
    }

    /// What follows the setup of a node: its tests, where they lead, and the blocks that its block ends with.
    fn block(
        &mut self,
        (id, indent): (NodeId, usize),
        (tests, last): (Vec<(Question, NodeId)>, Last),
        below: &[NodeId],
        sizes: &[u32],
        lines: &mut Vec<(usize, String)>,
        tasks: &mut Vec<Task>,
    ) {
        // Which of the nodes below stand in this one's place: those with one edge, in an `if` if they are small.
        let alone = |to: NodeId| below.contains(&to) && self.jumps[to.index()] == 1;
        let mut tests = tests;
        let mut last = last;
        if let (Last::To(els), [(question, then)]) = (&mut last, &mut tests[..]) {
            let larger_then = alone(*then) && (!alone(*els) || sizes[els.index()] < sizes[then.index()]);
            let flags = [&*then, &*els].map(|to| match (self.answers, self.graph.node(*to)) {
                (Answers::Flag, Node::Leaf(leaf)) => Some(*leaf != 0),
                _ => None,
            });
            if let [Some(yes), Some(no)] = flags
                && yes != no
            {
                let question = if yes { &question.yes } else { &question.no };
                return lines.push((indent, format!("return {question}")));
            }
            if larger_then {
                std::mem::swap(then, els);
                std::mem::swap(&mut question.yes, &mut question.no);
            }
        }
        let nested = |to: NodeId| alone(to) && sizes[to.index()] * 2 <= sizes[id.index()];
        let flat = match &last {
            Last::To(to) if alone(*to) && !tests.iter().any(|(_, then)| then == to) => Some(*to),
            _ => None,
        };
        let labelled = below
            .iter()
            .rev()
            .filter(|&&to| Some(to) != flat && !tests.iter().any(|(_, then)| *then == to && nested(to)));
        let mut labelled: Vec<NodeId> = labelled.copied().collect();
        // In layout order, since no jump leads back.
        labelled.sort_by_key(|to| std::cmp::Reverse(self.layout.position[to.index()]));
        tasks.extend(labelled.into_iter().map(|to| Task::Label(to, indent)));
        match last {
            Last::Nothing => {}
            Last::Return(line) => tasks.push(Task::Line(line, indent)),
            Last::To(to) if flat == Some(to) => tasks.push(Task::Node(to, indent)),
            Last::To(to) => tasks.push(Task::Line(self.jump(to), indent)),
            Last::Dispatch(targets) => {
                self.dispatched += 1;
                let name = format!("sets.to{}", self.dispatched);
                // The values that a function is given are those that all of its callers hold.
                let given: BTreeSet<ValueId> =
                    targets.iter().filter_map(|to| self.given.get(to)).flatten().copied().collect();
                let common = self.parameters(None);
                let held = given.iter().filter_map(|value| self.values.names[value.index()].clone());
                let all = [common].into_iter().chain(held).collect::<Vec<String>>().join(", ");
                let function = |to: &NodeId| format!("function({all}) {} end", self.jump(*to));
                let functions = targets.iter().map(function);
                if targets.len() <= GROUP {
                    let entries: String = functions.map(|function| format!("   {function},\n")).collect();
                    let _ = writeln!(self.declarations, "{name} = {{\n{entries}}}");
                } else {
                    let entry = |(i, function)| format!("{name}[{i}] = {function}\n");
                    let entries: Vec<String> = (1..).zip(functions).map(entry).collect();
                    let _ = write!(self.declarations, "{name} = {{}}\n{}", grouped(&entries));
                }
                tasks.push(Task::Line(format!("return {name}[at]({all})"), indent));
            }
        }
        for (question, to) in tests.into_iter().rev() {
            if nested(to) {
                tasks.push(Task::Line("end".to_owned(), indent));
                tasks.push(Task::Node(to, indent + 1));
                tasks.push(Task::Line(format!("if {} then", question.yes), indent));
            } else {
                tasks.push(Task::Line(format!("if {} then {} end", question.yes, self.jump(to)), indent));
            }
        }
    }
}

/// Statements that set a function each, as many in a function around them as its constants may be.
fn grouped(statements: &[String]) -> String {
    match statements.len() <= GROUP {
        true => statements.concat(),
        false => {
            let group =
                |some: &[String]| format!("do local function make()\n{}end make() end\n", some.concat());
            statements.chunks(GROUP).map(group).collect()
        }
    }
}

const RANK: &str = "-- How many of these numbers, which ascend, are not greater than x, and one more.
local function rank(low, x)
   local at, n = 0, #low
   while n > 0 do
      local half = (n - n % 2) / 2
      if low[at + half + 1] <= x then
         at = at + half + 1
         n = n - half - 1
      else
         n = half
      end
   end
   return at + 1
end
";
