//! The lowered tree: boolean structure over tests of values, offsets resolved, nothing shared or optimised.
//!
//! Its meaning: operands are tried left to right with short circuit; evaluating a test first evaluates every
//! load and division in its values, and one outside the captured bytes (or with a zero divisor) rejects the
//! packet at once, whatever else the filter says. Below a `Try` it does not: there, a test that cannot be evaluated counts as what
//! makes the operand of the `Try` less likely to hold, which is no, and below an odd number of `Not` in between, yes.

use super::{CmpOp, Cond, CondId, Pool, Spans, ValueId};
use crate::span::Span;

index_type! {
    /// Index of a [`TreeNode`].
    TreeId
}

/// One operator or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeNode {
    /// Always.
    True,
    /// Never.
    False,
    /// The condition holds. No `Bounds` comes from lowering, since loads imply guards; gathering adds one for a list that it writes twice.
    Test(CondId),
    /// A value is in a set. Lowering makes none: lists of like tests become one when they are gathered.
    In(SetId),
    /// True, once the value has been evaluated: it loads what must be there even where the result is not used.
    Eval(ValueId),
    /// Both.
    And(TreeId, TreeId),
    /// Either.
    Or(TreeId, TreeId),
    /// Not.
    Not(TreeId),
    /// The same, but where a test in it cannot be evaluated, that test is no reason for it to hold, and the packet is not rejected.
    Try(TreeId),
}

/// A line of an ordered list of trees, of which the first that holds decides.
///
/// ```
/// use decide::{Clause, Decision, Options, Size, Tree};
///
/// // If the first byte is 1, the second decides, and nothing else; if not, whether the third is 5.
/// let mut tree = Tree::default();
/// let [first, second, third] = [0, 1, 2].map(|at| tree.pool.at(at, Size::B1));
/// let clauses = vec![
///     Clause::Block(tree.equals(first, 1)),
///     Clause::Leaf(tree.equals(second, 7), 70),
///     Clause::End,
///     Clause::Leaf(tree.equals(third, 5), 50),
/// ];
/// let decision: Decision = Decision::of_clauses(tree, clauses, &Options::default())?;
/// assert_eq!([[1, 7, 5], [1, 8, 5], [2, 7, 5]].map(|packet| decision.leaf(&packet, 3)), [70, 0, 50]);
/// # Ok::<(), decide::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// Where the tree holds: the leaf of this number.
    Leaf(TreeId, u32),
    /// Where it holds, the clauses from here to its [`Clause::End`] decide; where none of them holds, leaf 0.
    Block(TreeId),
    /// The end of a block.
    End,
}

impl Clause {
    /// The tree that is asked.
    #[inline]
    pub fn root(&self) -> Option<TreeId> {
        match *self {
            Clause::Leaf(root, _) | Clause::Block(root) => Some(root),
            Clause::End => None,
        }
    }

    /// The tree that is asked, to be replaced.
    pub(crate) fn root_mut(&mut self) -> Option<&mut TreeId> {
        match self {
            Clause::Leaf(root, _) | Clause::Block(root) => Some(root),
            Clause::End => None,
        }
    }
}

index_type! {
    /// Index of a [`Set`].
    SetId
}

/// Constants that many tests of one value compare it with.
#[derive(Clone, Debug)]
pub struct Set {
    /// The value looked at.
    pub value: ValueId,
    /// Disjoint, ascending, inclusive ranges.
    pub ranges: Vec<(u32, u32)>,
    /// Where the tests came from.
    pub spans: Spans,
}

/// Tests joined by `and`, `or` and `not`. Operands have smaller ids than their operator.
///
/// Its meaning is given at the top of this module's source: left to right, with short circuit; a load outside the captured bytes rejects.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The values and conditions that tests name.
    pub pool: Pool,
    nodes: Vec<TreeNode>,
    spans: Vec<Span>,
    sets: Vec<Set>,
    /// Where the text at hand begins in the text of all.
    text_at: u32,
}

impl Tree {
    /// Empty, with room for this many nodes, and for the values and conditions that they mostly have.
    #[inline]
    pub fn with_capacity(nodes: usize) -> Tree {
        let pool = Pool::with_capacity(nodes * 2 / 3, nodes / 2);
        let (nodes, spans) = (Vec::with_capacity(nodes), Vec::with_capacity(nodes));
        Tree { pool, nodes, spans, sets: Vec::new(), text_at: 0 }
    }

    /// Begins another filter of a list, whose text begins at `text_at` in the text of all.
    #[inline]
    pub fn begin_text(&mut self, text_at: u32) {
        self.text_at = text_at;
    }

    /// Adds a node that came from `span` of the text at hand.
    #[inline]
    pub fn push(&mut self, node: TreeNode, span: Span) -> TreeId {
        self.nodes.push(node);
        self.spans.push(span.moved(self.text_at));
        TreeId(self.nodes.len() as u32 - 1)
    }

    /// A test of a condition.
    ///
    /// ```
    /// # use decide::{CmpOp, Cond, Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let nine = tree.pool.constant(9);
    /// let below = tree.test(Cond::Cmp(CmpOp::Lt, first, nine));
    /// let decision: Decision = Decision::of_tree(tree, vec![(below, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[8], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn test(&mut self, cond: Cond) -> TreeId {
        let cond = self.pool.cond(cond);
        self.push(TreeNode::Test(cond), Span::default())
    }

    /// `value == k`.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let is_nine = tree.equals(first, 9);
    /// let decision: Decision = Decision::of_tree(tree, vec![(is_nine, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[9], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn equals(&mut self, value: ValueId, k: u32) -> TreeId {
        let k = self.pool.constant(k);
        self.test(Cond::Cmp(CmpOp::Eq, value, k))
    }

    /// `value & mask != 0`.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let is_odd = tree.has_bits(first, 1);
    /// let decision: Decision = Decision::of_tree(tree, vec![(is_odd, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[9], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn has_bits(&mut self, value: ValueId, mask: u32) -> TreeId {
        let mask = self.pool.constant(mask);
        self.test(Cond::Test(value, mask))
    }

    /// Whether a value lies in one of these inclusive ranges, which are disjoint and ascend.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let is_in = tree.is_in(first, vec![(0, 3), (7, 7)]);
    /// let decision: Decision = Decision::of_tree(tree, vec![(is_in, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[7], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    ///
    /// # Panics
    /// If they are not.
    #[inline]
    pub fn is_in(&mut self, value: ValueId, ranges: Vec<(u32, u32)>) -> TreeId {
        let ascend = ranges.is_sorted_by(|a, b| a.1 < b.0) && ranges.iter().all(|(low, high)| low <= high);
        assert!(ascend, "the ranges of a set are disjoint and ascend");
        let set = self.add_set(Set { value, ranges, spans: Spans::default() });
        self.push(TreeNode::In(set), Span::default())
    }

    /// All of these, in this order; true for none.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let (odd, six) = (tree.has_bits(first, 1), tree.has_bits(first, 6));
    /// let both = tree.all(&[odd, six]);
    /// let decision: Decision = Decision::of_tree(tree, vec![(both, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[3], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn all(&mut self, operands: &[TreeId]) -> TreeId {
        self.joined(operands, TreeNode::True, TreeNode::And)
    }

    /// Any of these, tried in this order; false for none.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let (two, three) = (tree.equals(first, 2), tree.equals(first, 3));
    /// let either = tree.any(&[two, three]);
    /// let decision: Decision = Decision::of_tree(tree, vec![(either, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[3], 1), 1);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn any(&mut self, operands: &[TreeId]) -> TreeId {
        self.joined(operands, TreeNode::False, TreeNode::Or)
    }

    fn joined(
        &mut self,
        operands: &[TreeId],
        none: TreeNode,
        join: fn(TreeId, TreeId) -> TreeNode,
    ) -> TreeId {
        let Some((&first, rest)) = operands.split_first() else { return self.push(none, Span::default()) };
        rest.iter().fold(first, |left, &right| self.push(join(left, right), Span::default()))
    }

    /// Not this.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let first = tree.pool.at(0, Size::B1);
    /// let two = tree.equals(first, 2);
    /// let other = tree.not(two);
    /// let decision: Decision = Decision::of_tree(tree, vec![(other, 1)], &Options::default())?;
    /// assert_eq!(decision.leaf(&[3], 1), 1);
    /// // A packet that ends before the byte is rejected, whatever the question.
    /// assert_eq!(decision.leaf(&[], 0), 0);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn not(&mut self, operand: TreeId) -> TreeId {
        self.push(TreeNode::Not(operand), Span::default())
    }

    /// This, where a test that cannot be evaluated does not make it hold: unlike elsewhere, a load outside the captured bytes or a
    /// zero divisor does not reject the packet.
    ///
    /// ```
    /// # use decide::{Decision, Options, Size, Tree};
    /// let mut tree = Tree::default();
    /// let far = tree.pool.at(9, Size::B1);
    /// let two = tree.equals(far, 2);
    /// // Within: "not" as well cannot be said of a byte that is not there. Around it: no, it is not.
    /// let other = tree.not(two);
    /// let inside = tree.tried(other);
    /// let tried = tree.tried(two);
    /// let around = tree.not(tried);
    /// let roots = vec![(inside, 1), (around, 2)];
    /// let decision: Decision = Decision::of_tree(tree, roots, &Options::default())?;
    /// assert_eq!(decision.leaf(&[], 0), 2);
    /// # Ok::<(), decide::Error>(())
    /// ```
    #[inline]
    pub fn tried(&mut self, operand: TreeId) -> TreeId {
        self.push_like(TreeNode::Try(operand), operand)
    }

    /// Adds a node that came from where another did.
    pub(crate) fn push_like(&mut self, node: TreeNode, other: TreeId) -> TreeId {
        self.nodes.push(node);
        self.spans.push(self.span(other));
        TreeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a set, for a node to ask for.
    pub(crate) fn add_set(&mut self, set: Set) -> SetId {
        self.sets.push(set);
        SetId(self.sets.len() as u32 - 1)
    }

    /// The item of an id.
    #[inline]
    pub fn set(&self, id: SetId) -> &Set {
        &self.sets[id.index()]
    }

    /// The item of an id.
    #[inline]
    pub fn node(&self, id: TreeId) -> TreeNode {
        self.nodes[id.index()]
    }

    /// The nodes that an operator works on, in order.
    pub fn operands(&self, id: TreeId) -> impl DoubleEndedIterator<Item = TreeId> + use<> {
        let operands = match self.node(id) {
            TreeNode::Not(a) | TreeNode::Try(a) => [Some(a), None],
            TreeNode::And(a, b) | TreeNode::Or(a, b) => [Some(a), Some(b)],
            TreeNode::True | TreeNode::False | TreeNode::Test(_) | TreeNode::In(_) | TreeNode::Eval(_) => {
                [None; 2]
            }
        };
        operands.into_iter().flatten()
    }

    /// Where it came from, in the text of all.
    #[inline]
    pub fn span(&self, id: TreeId) -> Span {
        self.spans[id.index()]
    }

    /// How many nodes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no nodes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
