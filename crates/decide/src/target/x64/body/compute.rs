//! Instructions that compute a value, except those that look into a table.

use super::{Body, Place};
use crate::ir::{BinOp, Order, Size};
use crate::target::lir::program::{Inst, Operand, Table};
use crate::target::x64::convention::{INPUTS, OUTPUTS, SCRATCH};
use crate::target::x64::inst::{Alu, Inst as X, Shift};
use crate::target::x64::reg::{Mem, Reg, Width};
use Reg::{Rax, Rcx, Rdx};
use Width::{B, D, W};

impl Body<'_> {
    pub(super) fn inst(&mut self, inst: &Inst<Place>) {
        match *inst {
            Inst::Const { dst, k } => {
                let work = Self::work(dst);
                self.set(work, k);
                self.write(dst, work);
            }
            Inst::Input { dst, slot } => {
                let work = Self::work(dst);
                self.push(X::MovLoad(D, work, INPUTS + 4 * slot as i32));
                self.write(dst, work);
            }
            Inst::Load { dst, at, size, order } => {
                let work = Self::work(dst);
                let at = self.address(at);
                self.load(work, at, size, order);
                self.write(dst, work);
            }
            Inst::Word { at, src } => self.word(at, src),
            Inst::Ask { dst, table } => self.ask(dst, table),
            Inst::Op { op: BinOp::Div | BinOp::Mod, dst, a, b } => self.divide(inst, dst, a, b),
            Inst::Op { op: op @ (BinOp::Shl | BinOp::Shr), dst, a, b } => self.shift(op, dst, a, b),
            Inst::Op { op, dst, a, b } => self.arithmetic(op, dst, a, b),
            Inst::Set { dst, test, negated } => {
                let cc = self.test(test);
                let work = Self::work(dst);
                self.push(X::Setcc(if negated { cc.inverted() } else { cc }, work));
                self.push(X::Movzx(B, work, work.into()));
                self.write(dst, work);
            }
            Inst::Store { at, src } => {
                let src = match src {
                    Operand::Reg(src) => self.in_register(src),
                    Operand::Const(k) => {
                        self.set(SCRATCH, k);
                        SCRATCH
                    }
                };
                self.push(X::Mov(D, (OUTPUTS + 4 * at as i32).into(), src));
            }
            Inst::Locate { dst, key, table } => {
                match &self.program.tables[table.0 as usize] {
                    Table::Cuckoo(cuckoo) => self.locate_cuckoo(key, cuckoo, table),
                    Table::Rank(rank) => self.locate_rank(key, rank, table),
                    Table::Targets(_) | Table::Answers(_) | Table::Members(_) => {
                        unreachable!("nothing is located there")
                    }
                }
                self.write(dst, Rax);
            }
        }
    }

    pub(super) fn load(&mut self, to: Reg, at: Mem, size: Size, order: Order) {
        match (size, order) {
            (Size::B1, _) => self.push(X::Movzx(B, to, at.into())),
            (Size::B2, Order::Little) => self.push(X::Movzx(W, to, at.into())),
            (Size::B2, Order::Network) => {
                self.push(X::Movzx(W, to, at.into()));
                self.push(X::Shift(Shift::Rol, W, to, 8));
            }
            (Size::B4, Order::Little) => self.push(X::MovLoad(D, to, at)),
            (Size::B4, Order::Network) if self.features.movbe => self.push(X::Movbe(to, at)),
            (Size::B4, Order::Network) => {
                self.push(X::MovLoad(D, to, at));
                self.push(X::Bswap(D, to));
            }
        }
    }

    fn arithmetic(&mut self, op: BinOp, dst: Place, a: Place, b: Operand<Place>) {
        match (op, Self::work(dst), a, b) {
            (BinOp::Add, to, Place::Reg(a), Operand::Const(k)) if a != to => {
                self.push(X::Lea(D, to, a + k as i32));
                self.write(dst, to);
            }
            (BinOp::Add, to, Place::Reg(a), Operand::Reg(Place::Reg(b))) if a != to && b != to => {
                self.push(X::Lea(D, to, a + b));
                self.write(dst, to);
            }
            (BinOp::Mul, to, a, Operand::Const(k)) => {
                self.push(X::ImulImm(to, self.rm(a), k as i32));
                self.write(dst, to);
            }
            (op, to, a, Operand::Reg(b)) if op.commutes() && b == Place::Reg(to) => {
                self.two_address(op, to, Operand::Reg(a));
                self.write(dst, to);
            }
            // Two-address form: the result must not be where the right operand still is.
            (_, to, a, b) => {
                let to = if b == Operand::Reg(Place::Reg(to)) && a != Place::Reg(to) { SCRATCH } else { to };
                self.read(to, a);
                self.two_address(op, to, b);
                self.write(dst, to);
            }
        }
    }

    fn two_address(&mut self, op: BinOp, to: Reg, b: Operand<Place>) {
        let op = match op {
            BinOp::Add => Alu::Add,
            BinOp::Sub => Alu::Sub,
            BinOp::And => Alu::And,
            BinOp::Or => Alu::Or,
            BinOp::Xor => Alu::Xor,
            BinOp::Mul => {
                let Operand::Reg(b) = b else { unreachable!("constants have a form of their own") };
                return self.push(X::Imul(to, self.rm(b)));
            }
            BinOp::Div | BinOp::Mod | BinOp::Shl | BinOp::Shr => unreachable!("not two-address"),
        };
        match b {
            Operand::Const(k) => self.push(X::AluImm(op, D, to.into(), k as i32)),
            Operand::Reg(b) => self.push(op.from_rm(D, to, self.rm(b))),
        }
    }

    /// The verifier has seen a test of the divisor on every path.
    fn divide(&mut self, inst: &Inst<Place>, dst: Place, a: Place, b: Operand<Place>) {
        let by = match b {
            Operand::Const(k) => {
                self.set(SCRATCH, k);
                SCRATCH.into()
            }
            Operand::Reg(b) => self.rm(b),
        };
        self.read(Rax, a);
        self.set(Rdx, 0);
        self.push(X::Div(by));
        let quotient = matches!(inst, Inst::Op { op: BinOp::Div, .. });
        self.write(dst, if quotient { Rax } else { Rdx });
    }

    /// The machine takes shift counts modulo 32; the language gives 0 from 32 on.
    fn shift(&mut self, op: BinOp, dst: Place, a: Place, b: Operand<Place>) {
        let shift = if op == BinOp::Shl { Shift::Shl } else { Shift::Shr };
        match b {
            Operand::Const(k) => {
                let work = Self::work(dst);
                if k < 32 {
                    self.read(work, a);
                } else {
                    self.set(work, 0);
                }
                if (1..32).contains(&k) {
                    self.push(X::Shift(shift, D, work, k as u8));
                }
                self.write(dst, work);
            }
            Operand::Reg(b) => {
                self.read(SCRATCH, a);
                self.read(Rcx, b);
                self.push(X::ShiftCl(shift, D, SCRATCH));
                // rcx = count < 32 ? all ones : 0
                self.push(X::AluImm(Alu::Cmp, D, Rcx.into(), 32));
                self.push(X::Alu(Alu::Sbb, D, Rcx.into(), Rcx));
                self.push(X::Alu(Alu::And, D, SCRATCH.into(), Rcx));
                self.write(dst, SCRATCH);
            }
        }
    }
}
