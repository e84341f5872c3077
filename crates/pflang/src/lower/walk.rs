//! The filter as a whole: its boolean structure, and each primitive's way to the code that lowers it.

use super::Result;
use super::layers::Rel;
use super::link::Direction;
use super::lowerer::{Lowerer, Scope};
use crate::diag::Code;
use crate::ir::Size;
use crate::ir::tree::{TreeId, TreeNode};
use crate::syntax::ast::{Ast, ByteOp, Expr, ExprId, RelOp};

/// Tasks that remain, last first.
enum Task {
    Visit(ExprId),
    /// Both operands are done.
    Join(ExprId),
    /// The operand is done.
    Negate(ExprId),
    /// Encapsulations seen since end here.
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
                    self.note(id, node);
                    done.push(node);
                }
                Task::Negate(id) => {
                    let a = pop(&mut done);
                    let node = self.tree.push(TreeNode::Not(a), ast.span(id));
                    self.note(id, node);
                    done.push(node);
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
                tasks.push(Task::Join(id));
                tasks.extend(self.end_of(Scope::Alternative));
                tasks.push(Task::Visit(b));
                tasks.extend(self.end_of(Scope::Alternative));
                tasks.push(Task::Visit(a));
            }
            Expr::Not(a) => {
                tasks.extend(self.end_of(Scope::Alternative));
                tasks.extend([Task::Negate(id), Task::Visit(a)]);
            }
            Expr::Group(a) => {
                tasks.extend(self.end_of(Scope::Parenthesis));
                tasks.push(Task::Visit(a));
            }
            ref primitive => {
                self.span = ast.span(id);
                let test = match self.record {
                    None => self.primitive(ast, primitive)?,
                    Some(_) => self.noted_primitive(ast, id, primitive)?,
                };
                let test = if self.tries { self.push(TreeNode::Try(test)) } else { test };
                self.check_limits()?;
                done.push(test);
            }
        }
        Ok(())
    }

    /// The task that comes back to the headers as they are here, where encapsulations end at such a place.
    fn end_of(&mut self, place: Scope) -> Option<Task> {
        let ends = match place {
            Scope::Filter => false,
            Scope::Alternative => self.scope != Scope::Filter,
            Scope::Parenthesis => self.scope == Scope::Parenthesis,
        };
        ends.then(|| Task::Restore(self.snapshot()))
    }

    /// The layers as they are. Long filters rarely change them, so the same snapshot serves many times.
    fn snapshot(&mut self) -> Snapshot {
        if self.snapshots.last() != Some(&self.layers) {
            self.snapshots.push(self.layers);
        }
        self.snapshots.len() - 1
    }

    pub(super) fn primitive(&mut self, ast: &Ast, primitive: &Expr) -> Result {
        match *primitive {
            Expr::Id(quals, ref name) => self.identifier(quals, name),
            Expr::In(quals, ref items) => self.set(quals, items),
            Expr::Pairs(ref set) => self.pairs(set),
            Expr::Proto(proto) => self.abbreviation(proto),
            Expr::Relation(op, a, b) => self.arithmetic_relation(ast, op, a, b),
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
            Expr::Vlan(id) => self.vlan(&id.map(|id| vec![(id, id)]).unwrap_or_default()),
            Expr::VlanIn(ref ranges) => self.vlan(ranges),
            Expr::Mpls(label) => self.mpls(label),
            Expr::Pppoed => self.pppoed(),
            Expr::Pppoes(session) => self.pppoes(session),
            Expr::Geneve(network) => self.geneve(network),
            Expr::Vxlan(network) => self.vxlan(network),
            Expr::Atm(word) => self.atm_type(word),
            Expr::And(..) | Expr::Or(..) | Expr::Not(_) | Expr::Group(_) => {
                Err(self.error(Code::Internal, "an operator where a primitive was expected"))
            }
        }
    }

    /// `less`, `greater`: the wire length.
    fn length(&mut self, op: RelOp, n: u32) -> Result {
        let len = self.tree.pool.value(crate::ir::Value::Len);
        let n = self.constant(n);
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

/// A finished operand: [`Task::Visit`] is pushed for each operand of an operator.
fn pop(done: &mut Vec<TreeId>) -> TreeId {
    done.pop().expect("operands are finished before their operator")
}
