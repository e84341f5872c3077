//! The filter as a whole: its boolean structure, and each primitive's way to the code that lowers it.

use super::Result;
use super::layers::Rel;
use super::link::Direction;
use super::lowerer::Lowerer;
use crate::diag::Code;
use crate::ir::Size;
use crate::ir::tree::{TreeId, TreeNode};
use crate::syntax::ast::{Arith, ArithId, Ast, ByteOp, Expr, ExprId, RelOp};

/// Tasks that remain, last first.
enum Task {
    Visit(ExprId),
    /// Both operands are done.
    Join(ExprId),
    /// The left operand of this `or` is done.
    Alternative(ExprId, Snapshot),
    /// The operand is done; so many relations with loads had been seen before it.
    Negate(ExprId, Snapshot, usize),
    /// The `scoped` dialect: encapsulations seen since end here.
    Restore(Snapshot),
}

/// Index of the layers as they were at some point.
type Snapshot = usize;

impl Lowerer<'_> {
    /// Operands left to right, each before its operator, on a stack of our own.
    pub(crate) fn expression(&mut self, ast: &Ast, root: ExprId) -> Result {
        let mut tasks = vec![Task::Visit(root)];
        let mut done: Vec<TreeId> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(id) => self.visit(ast, id, &mut tasks, &mut done)?,
                Task::Join(id) => {
                    let (b, a) = (pop(&mut done), pop(&mut done));
                    let is_and = matches!(ast.expr(id), Expr::And(..));
                    let node = if is_and { TreeNode::And(a, b) } else { TreeNode::Or(a, b) };
                    let node = self.tree.push(node, ast.span(id));
                    if is_and {
                        self.conjunctions.push((id, node));
                    }
                    done.push(node);
                }
                Task::Alternative(id, before) => {
                    let before = self.snapshots[before];
                    self.lint_shift(ast, id, &before);
                    if self.options.dialect.scoped {
                        self.layers = before;
                    }
                }
                Task::Negate(id, before, loads) => {
                    let a = pop(&mut done);
                    if self.loading_relations > loads {
                        self.lint_negated_load(ast.span(id));
                    }
                    let before = self.snapshots[before];
                    if self.layers != before {
                        self.negated_shift = self.encapsulation;
                    }
                    done.push(self.tree.push(TreeNode::Not(a), ast.span(id)));
                }
                Task::Restore(before) => self.layers = self.snapshots[before],
            }
        }
        Ok(pop(&mut done))
    }

    fn visit(&mut self, ast: &Ast, id: ExprId, tasks: &mut Vec<Task>, done: &mut Vec<TreeId>) -> Result<()> {
        match *ast.expr(id) {
            Expr::And(a, b) => tasks.extend([Task::Join(id), Task::Visit(b), Task::Visit(a)]),
            Expr::Or(a, b) => {
                let before = self.snapshot();
                tasks.push(Task::Join(id));
                tasks.extend(self.scope(before));
                tasks.extend([Task::Visit(b), Task::Alternative(id, before), Task::Visit(a)]);
            }
            Expr::Not(a) => {
                let before = self.snapshot();
                tasks.extend(self.scope(before));
                tasks.extend([Task::Negate(id, before, self.loading_relations), Task::Visit(a)]);
            }
            Expr::Group(a) => {
                let before = self.snapshot();
                tasks.extend(self.scope(before));
                tasks.push(Task::Visit(a));
            }
            ref primitive => {
                self.span = ast.span(id);
                if let Some(word) = self.negated_shift.take() {
                    self.lint_negated_shift(ast, word);
                }
                let test = self.primitive(ast, id, primitive)?;
                self.check_limits()?;
                self.lint_constant(test);
                done.push(test);
            }
        }
        Ok(())
    }

    /// The layers as they are. Long filters rarely change them, so the same snapshot serves many times.
    fn snapshot(&mut self) -> Snapshot {
        if self.snapshots.last() != Some(&self.layers) {
            self.snapshots.push(self.layers);
        }
        self.snapshots.len() - 1
    }

    /// The task that ends a scope, in the dialect that has scopes.
    fn scope(&self, before: Snapshot) -> Option<Task> {
        self.options.dialect.scoped.then_some(Task::Restore(before))
    }

    fn primitive(&mut self, ast: &Ast, id: ExprId, primitive: &Expr) -> Result {
        match *primitive {
            Expr::Id(quals, ref name) => {
                let test = self.identifier(quals, name)?;
                self.lint_address(quals, name, false);
                Ok(test)
            }
            Expr::In(quals, ref items) => self.set(quals, items),
            Expr::Proto(proto) => self.abbreviation(proto),
            Expr::Relation(op, a, b) => {
                self.loading_relations += usize::from(loads(ast, a) || loads(ast, b));
                self.arithmetic_relation(ast, op, a, b)
            }
            Expr::Broadcast(proto) => self.broadcast(proto),
            Expr::Multicast(proto) => self.multicast(proto),
            Expr::Less(n) => self.length(RelOp::Le, n),
            Expr::Greater(n) => self.length(RelOp::Ge, n),
            Expr::Byte { index, op, value } => self.byte(index, op, value),
            Expr::Inbound => self.direction(Direction::Inbound),
            Expr::Outbound => self.direction(Direction::Outbound),
            Expr::Ifindex(index) => self.ifindex(index),
            Expr::Pf(ref pf) => self.pf(pf),
            Expr::Wlan(wlan) => self.wlan(wlan),
            Expr::Llc(llc) => self.llc(llc),
            Expr::AtmField(field, op, k) => self.atm_field(field, op, k),
            Expr::Mtp2(word) => self.mtp2(word),
            Expr::Mtp3Field(field, op, k) => self.mtp3_field(field, op, k),
            Expr::Vlan(_)
            | Expr::Mpls(_)
            | Expr::Pppoed
            | Expr::Pppoes(_)
            | Expr::Geneve(_)
            | Expr::Vxlan(_)
            | Expr::Atm(_) => {
                self.encapsulation = Some(id);
                self.encapsulation_word(primitive)
            }
            Expr::And(..) | Expr::Or(..) | Expr::Not(_) | Expr::Group(_) => {
                Err(self.error(Code::Internal, "an operator where a primitive was expected"))
            }
        }
    }

    fn encapsulation_word(&mut self, word: &Expr) -> Result {
        match *word {
            Expr::Vlan(id) => self.vlan(id),
            Expr::Mpls(label) => self.mpls(label),
            Expr::Pppoes(session) => self.pppoes(session),
            Expr::Geneve(network) => self.geneve(network),
            Expr::Vxlan(network) => self.vxlan(network),
            Expr::Atm(word) => self.atm_type(word),
            _ => self.pppoed(),
        }
    }

    /// `less`, `greater`: the wire length.
    fn length(&mut self, op: RelOp, n: u32) -> Result {
        let len = self.tree.pool.value(crate::ir::Value::Len);
        let n = self.constant(n);
        self.lint_range(op, len, n);
        Ok(self.relation(op, len, n))
    }

    /// `byte index op value`.
    fn byte(&mut self, index: u32, op: ByteOp, value: u32) -> Result {
        let relation = match op {
            ByteOp::Eq => RelOp::Eq,
            ByteOp::Lt => RelOp::Lt,
            ByteOp::Gt => RelOp::Gt,
            ByteOp::And | ByteOp::Or => return Ok(self.accumulator(op, value)),
        };
        let byte = self.load(Rel::LinkHdr, index, Size::B1);
        let value = self.constant(value);
        self.lint_range(relation, byte, value);
        Ok(self.relation(relation, byte, value))
    }

    /// `byte index & value`, `byte index | value`.
    ///
    /// COMPAT: libpcap 1.10.3 forgets to load the byte: it takes whatever the test before left in the accumulator,
    /// which is 0 at the start of a filter. Here it is always 0 (`byte-and-loads-nothing`).
    fn accumulator(&mut self, op: ByteOp, value: u32) -> TreeId {
        self.truth(op == ByteOp::Or && value != 0)
    }
}

/// Whether a packet can be too short for it.
fn loads(ast: &Ast, root: ArithId) -> bool {
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        match ast.arith(id) {
            Arith::Number(_) | Arith::Len => {}
            Arith::Load { .. } | Arith::AddressOf { .. } => return true,
            Arith::Neg(a) => pending.push(a),
            Arith::Op(_, a, b) => pending.extend([a, b]),
        }
    }
    false
}

/// A finished operand: [`Task::Visit`] is pushed for each operand of an operator.
fn pop(done: &mut Vec<TreeId>) -> TreeId {
    done.pop().expect("operands are finished before their operator")
}
