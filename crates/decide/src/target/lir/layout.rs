//! The order of the blocks in memory: topological, each node followed by its likelier successor where that
//! is still free, leaves at the end.
//!
//! Likelier is what does not reject: filters are written to find something, and the first tests of one are
//! guards that nearly every packet passes. Where neither side rejects, it is the one that the test asks for.

use crate::filled::filled;
use crate::ir::{Cond, Graph, Node, NodeId, REJECT};

/// The reachable nodes in layout order.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Nodes by position.
    pub(crate) order: Vec<NodeId>,
    /// Position by node; `u32::MAX` where unreachable.
    pub(crate) position: Vec<u32>,
    /// By node: how many edges lead to it.
    pub(crate) edges_in: Vec<u32>,
}

/// Reverse postorder of a depth-first walk that visits the likelier successor last.
pub(crate) fn layout(graph: &Graph) -> Layout {
    let mut order = Vec::with_capacity(graph.node_count());
    let mut leaves = Vec::with_capacity(2);
    let mut edges_in = filled(0, graph.node_count());
    let mut position = filled(u32::MAX, graph.node_count());
    let mut steps = Vec::with_capacity(STEPS_LIKELY);
    steps.push(Step::Visit(graph.root));
    while let Some(step) = steps.pop() {
        let node = match step {
            Step::Visit(node) => node,
            Step::Leave(node) => {
                order.push(node);
                continue;
            }
        };
        if std::mem::replace(&mut position[node.index()], VISITED) != VISITED {
            visit(graph, node, &mut steps, &mut leaves);
            graph.node(node).for_each_successor(|next| edges_in[next.index()] += 1);
        }
    }
    let rejects = |leaf: &NodeId| *graph.node(*leaf) == Node::Leaf(REJECT);
    leaves.sort_by_key(|leaf| (rejects(leaf), *leaf));
    order.reverse();
    order.append(&mut leaves);
    for (i, node) in order.iter().enumerate() {
        position[node.index()] = i as u32;
    }
    Layout { order, position, edges_in }
}

/// More than there are at once in most filters.
const STEPS_LIKELY: usize = 64;

/// A position until all are known.
const VISITED: u32 = 0;

/// Tasks that remain, the next one last.
enum Step {
    Visit(NodeId),
    /// All below it has been visited.
    Leave(NodeId),
}

/// Adds what is to be done for a node: the likeliest successor comes last of all.
fn visit(graph: &Graph, node: NodeId, steps: &mut Vec<Step>, leaves: &mut Vec<NodeId>) {
    match graph.node(node) {
        Node::Leaf(_) => leaves.push(node),
        Node::Branch { cond, then, els } => {
            let guard = matches!(graph.pool.get_cond(*cond), Cond::Bounds { .. });
            let then_is_likelier = guard || *graph.node(*then) != Node::Leaf(REJECT);
            let (likelier, other) = if then_is_likelier { (*then, *els) } else { (*els, *then) };
            steps.extend([Step::Leave(node), Step::Visit(likelier), Step::Visit(other)]);
        }
        Node::Switch(switch) => {
            steps.push(Step::Leave(node));
            steps.extend(switch.arms.iter().map(|arm| Step::Visit(arm.target)));
            steps.push(Step::Visit(switch.default));
        }
    }
}
