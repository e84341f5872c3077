//! Values computed exactly, with no folding: what a condition, or a choice between two values, is as a number.
//! Paths meet again behind some primitives (`protochain`, `geneve`), and what follows reads a field at a place
//! that depends on the path; the graph has no variables, so the choice becomes arithmetic.

use super::lowerer::Lowerer;
use crate::ir::tree::{TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, Value, ValueId};

impl Lowerer<'_> {
    /// 1 where `a = k`, else 0.
    pub(crate) fn is_equal(&mut self, a: ValueId, k: u32) -> ValueId {
        let k = self.constant(k);
        self.is_same(a, k)
    }

    /// 1 where they are equal, else 0.
    fn is_same(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let difference = self.op(BinOp::Xor, a, b);
        let differs = self.is_nonzero(difference);
        self.op_k(BinOp::Xor, differs, 1)
    }

    /// 1 or 0: `x | -x` has its top bit set for every x but zero.
    fn is_nonzero(&mut self, x: ValueId) -> ValueId {
        let zero = self.constant(0);
        let negative = self.op(BinOp::Sub, zero, x);
        let either = self.op(BinOp::Or, x, negative);
        self.op_k(BinOp::Shr, either, 31)
    }

    /// 1 where a < b, else 0: the borrow out of the top bit of `a - b`.
    fn is_less(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let not_a = self.op_k(BinOp::Xor, a, u32::MAX);
        let both = self.op(BinOp::And, not_a, b);
        let one = self.op(BinOp::Or, not_a, b);
        let difference = self.op(BinOp::Sub, a, b);
        let carried = self.op(BinOp::And, one, difference);
        let borrow = self.op(BinOp::Or, both, carried);
        self.op_k(BinOp::Shr, borrow, 31)
    }

    /// The value is one of these numbers, all below 64. One test of two words of bits: behind a long chain of headers
    /// every test brings the guards of the whole chain.
    pub(crate) fn is_among(&mut self, value: ValueId, numbers: &[u32]) -> TreeId {
        let bits = numbers.iter().fold(0u64, |bits, &number| bits | 1 << number);
        let (low, high) = (self.constant(bits as u32), self.constant((bits >> 32) as u32));
        // Shifts by 32 and more give 0, and so only one of the words has a say.
        let low = self.op(BinOp::Shr, low, value);
        let further = self.op_k(BinOp::Sub, value, 32);
        let high = self.op(BinOp::Shr, high, further);
        let either = self.op(BinOp::Or, low, high);
        let one = self.constant(1);
        let cond = self.tree.pool.cond(Cond::Test(either, one));
        self.push(TreeNode::Test(cond))
    }

    /// `yes` where `choice` is 1, `no` where it is 0.
    pub(crate) fn select(&mut self, choice: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        let difference = self.op(BinOp::Sub, yes, no);
        let added = self.op(BinOp::Mul, choice, difference);
        self.op(BinOp::Add, no, added)
    }

    /// 1 where the tree holds, else 0. Unlike the tree it evaluates everything: only for where all of it has been
    /// evaluated before, or is sure to be inside the packet. Recursion is on trees that lowering made for one
    /// primitive, whose depth is a constant.
    pub(crate) fn as_number(&mut self, tree: TreeId) -> ValueId {
        match self.tree.node(tree) {
            TreeNode::True | TreeNode::Eval(_) => self.constant(1),
            TreeNode::False => self.constant(0),
            TreeNode::Not(a) => {
                let a = self.as_number(a);
                self.op_k(BinOp::Xor, a, 1)
            }
            TreeNode::And(a, b) => self.join(BinOp::And, a, b),
            TreeNode::Or(a, b) => self.join(BinOp::Or, a, b),
            TreeNode::Test(cond) => {
                let cond = self.tree.pool.get_cond(cond);
                self.cond_as_number(cond)
            }
            TreeNode::Try(_) | TreeNode::In(_) => {
                unreachable!("sets are gathered, and clauses tried, when all is lowered")
            }
        }
    }

    fn cond_as_number(&mut self, cond: Cond) -> ValueId {
        match cond {
            Cond::Cmp(CmpOp::Eq, a, b) => self.is_same(a, b),
            Cond::Cmp(CmpOp::Lt, a, b) => self.is_less(a, b),
            Cond::Test(a, mask) => {
                let bits = self.op(BinOp::And, a, mask);
                self.is_nonzero(bits)
            }
            // Guards are implied by loads; no tree holds one.
            Cond::Bounds { .. } => self.constant(1),
            Cond::Member(_) => unreachable!("what is made a number asks for no set"),
        }
    }

    /// 1 where the tree holds, else 0, reading nothing that the tree itself would not read: behind a test that fails
    /// every load is one of the first bytes instead, which must have been read before. Costs more than
    /// [`Lowerer::as_number`]; recursion is as bounded as there.
    pub(crate) fn as_number_where_reached(&mut self, tree: TreeId) -> ValueId {
        let start = self.constant(1);
        self.reached_number(tree, start)
    }

    /// 1 where `reached` is 1 and the tree holds.
    fn reached_number(&mut self, tree: TreeId, reached: ValueId) -> ValueId {
        let holds = match self.tree.node(tree) {
            TreeNode::True | TreeNode::Eval(_) => return reached,
            TreeNode::False => return self.constant(0),
            TreeNode::And(a, b) => {
                let a = self.reached_number(a, reached);
                return self.reached_number(b, a);
            }
            TreeNode::Or(a, b) => {
                let a = self.reached_number(a, reached);
                let not_a = self.op_k(BinOp::Xor, a, 1);
                let reaches_b = self.op(BinOp::And, reached, not_a);
                let b = self.reached_number(b, reaches_b);
                return self.op(BinOp::Or, a, b);
            }
            TreeNode::Not(a) => {
                let a = self.reached_number(a, reached);
                self.op_k(BinOp::Xor, a, 1)
            }
            TreeNode::Test(cond) => {
                let cond = match self.tree.pool.get_cond(cond) {
                    Cond::Cmp(op, a, b) => {
                        Cond::Cmp(op, self.reached_value(a, reached), self.reached_value(b, reached))
                    }
                    Cond::Test(a, mask) => {
                        Cond::Test(self.reached_value(a, reached), self.reached_value(mask, reached))
                    }
                    other @ (Cond::Bounds { .. } | Cond::Member(_)) => other,
                };
                self.cond_as_number(cond)
            }
            TreeNode::Try(_) | TreeNode::In(_) => {
                unreachable!("sets are gathered, and clauses tried, when all is lowered")
            }
        };
        self.op(BinOp::And, holds, reached)
    }

    /// The value, with every address multiplied by `reached`.
    fn reached_value(&mut self, value: ValueId, reached: ValueId) -> ValueId {
        match self.tree.pool.get(value) {
            Value::Const(_) | Value::Len | Value::Input(_) => value,
            Value::Load { base, offset, size, .. } => {
                let base = self.reached_value(base, reached);
                let address = self.op_k(BinOp::Add, base, offset);
                let address = self.op(BinOp::Mul, address, reached);
                self.tree.pool.load(address, 0, size)
            }
            Value::Op(op, a, b) => {
                let a = self.reached_value(a, reached);
                let b = self.reached_value(b, reached);
                self.op(op, a, b)
            }
        }
    }

    fn join(&mut self, op: BinOp, a: TreeId, b: TreeId) -> ValueId {
        let a = self.as_number(a);
        let b = self.as_number(b);
        self.op(op, a, b)
    }
}
