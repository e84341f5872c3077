//! The lowered tree: boolean structure over tests of values, offsets resolved, nothing shared or optimised.
//!
//! Its meaning: operands are tried left to right with short circuit; evaluating a test first evaluates every
//! load and division in its values, and one outside the captured bytes (or with a zero divisor) rejects the
//! packet at once, whatever stands around it.

use crate::ir::{CondId, Pool, ValueId};
use crate::span::Span;

/// Index of a [`TreeNode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TreeId(pub u32);

/// One operator or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeNode {
    /// Always.
    True,
    /// Never.
    False,
    /// The condition holds. Never a `Bounds`: guards are implied by the loads.
    Test(CondId),
    /// True, once the value has been evaluated: it loads what must be there even where the result is not used.
    Eval(ValueId),
    /// Both.
    And(TreeId, TreeId),
    /// Either.
    Or(TreeId, TreeId),
    /// Not.
    Not(TreeId),
}

/// A filter after lowering. Operands have smaller ids than their operator.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The values and conditions that tests name.
    pub pool: Pool,
    nodes: Vec<TreeNode>,
    spans: Vec<Span>,
}

impl Tree {
    /// Empty, with room for so many nodes and about as many values and conditions.
    pub fn with_capacity(nodes: usize) -> Tree {
        let pool = Pool::with_capacity(nodes, nodes);
        Tree { pool, nodes: Vec::with_capacity(nodes), spans: Vec::with_capacity(nodes) }
    }

    /// Adds a node that came from `span`.
    pub fn push(&mut self, node: TreeNode, span: Span) -> TreeId {
        self.nodes.push(node);
        self.spans.push(span);
        TreeId(self.nodes.len() as u32 - 1)
    }

    /// What an id stands for.
    pub fn node(&self, id: TreeId) -> TreeNode {
        self.nodes[id.0 as usize]
    }

    /// Where it came from.
    pub fn span(&self, id: TreeId) -> Span {
        self.spans[id.0 as usize]
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
