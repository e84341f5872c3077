//! The graph in A-normal form: every value that is not a constant has a name, given where it is first needed.
//!
//! ```text
//! L1: let v1 = be16[12]
//!     if v1 == 0x800 then L2 else reject
//! ```
//! A name holds in every node that its node dominates. A value that two unrelated nodes need is named in both: the
//! same name, since values are pure. Nothing is computed by this view: it is the graph with its values named.

use super::dominators::Dominators;
use super::print::{Exprs, Names, operands, switch_text, with_source};
use super::{Graph, Node, NodeId, ValueId};

/// Prints the view.
pub fn view(graph: &Graph, source: &str) -> String {
    let order = graph.topological();
    let names = Names::new(graph, &order);
    let exprs = Exprs::all_named(graph, &order);
    let mut bindings = Bindings::new(graph, &order);
    let mut out = String::new();
    for &id in &order {
        let last = match graph.node(id) {
            Node::Leaf(_) if id != graph.root => continue,
            Node::Leaf(_) => names.of(id).to_owned(),
            Node::Branch { cond, then, els } => {
                format!("if {} then {} else {}", exprs.cond(*cond), names.of(*then), names.of(*els))
            }
            Node::Switch(switch) => switch_text(&exprs, &names, switch),
        };
        let mut label = format!("{}: ", names.of(id));
        for value in bindings.new_at(id) {
            if let Some(name) = exprs.name(value) {
                out.push_str(&format!("{label:<5}let {name} = {}\n", exprs.definition(value)));
                label.clear();
            }
        }
        out.push_str(&with_source(format!("{label:<5}{last}"), graph, id, source));
    }
    out
}

/// Which values are computed where, as the nodes are gone through from the root down.
pub(super) struct Bindings<'g> {
    graph: &'g Graph,
    dominators: Dominators,
    /// By value: the nodes that compute it.
    computed: Vec<Vec<NodeId>>,
}

impl<'g> Bindings<'g> {
    pub(super) fn new(graph: &'g Graph, order: &[NodeId]) -> Self {
        let dominators = Dominators::new(graph, order);
        Bindings { graph, dominators, computed: vec![Vec::new(); graph.pool.value_count()] }
    }

    pub(super) fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// The values that a node needs and no node above it has computed, operands first.
    pub(super) fn new_at(&mut self, id: NodeId) -> Vec<ValueId> {
        let mut found = Vec::new();
        let mut pending = operands(self.graph, id);
        while let Some(value) = pending.pop() {
            let is_new = self.graph.pool.as_const(value).is_none() && self.version(value, id).is_none();
            if is_new {
                self.computed[value.index()].push(id);
                found.push(value);
                pending.extend(self.graph.pool.operands(value));
            }
        }
        found.sort_unstable();
        found
    }

    /// Which of the computations of a value, in the order in which they were found, is the one above a node.
    pub(super) fn version(&self, value: ValueId, at: NodeId) -> Option<usize> {
        let recent = self.computed[value.index()].iter().enumerate().rev().take(LOOKED_AT_MAX);
        let mut above = recent.filter(|&(_, &node)| self.dominators.dominates(node, at));
        above.next().map(|(version, _)| version)
    }
}

/// A value that very many unrelated nodes compute is looked for in the latest only; at worst it is named again.
const LOOKED_AT_MAX: usize = 64;
