//! From allocated instructions to machine instructions: the body that both entry points share.
//!
//! INVARIANT: a value in a register or slot has its upper 32 bits clear, so that sums of values are computed
//! in 64 bits without wrap-around. Every write of a 32-bit register clears them.

use super::assembler::{AsmLabel, Assembler, Straight};
use super::burst::Points;
use super::convention::{CAPTURED, DESCRIPTOR_SIZE, Frame, INDEX, PACKET, SCRATCH, WORD};
use super::inst::{Alu, Inst as X, Shift};
use super::reg::{Cc, Mem, Reg, Rm, Width};
use crate::emit::Features;
use crate::emit::allocate::Place as AnyPlace;
use crate::emit::program::{
    Address, Block, Exit, Inst, Label, Operand, Program, Relation, Table, TableId, Test,
};
use crate::ir::{ACCEPT, BinOp, NodeId, Order, REJECT, Size};
use Reg::{Rax, Rcx, Rdx};
use Width::{B, D, Q, W};
use table::cuckoo::Cuckoo;
use table::rank::Rank;

pub(super) type Place = AnyPlace<Reg>;

/// What a leaf does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Finish {
    /// Returns its number.
    Return,
    /// Goes there with its number in `eax`. The place follows the body.
    Store(AsmLabel),
    /// Goes on with the loop, which counts whether it is the number that rejects.
    Loop(Loop),
}

/// The loop around a body. Each answer is shifted into [`WORD`](super::convention::WORD) from below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Shifts in a one and goes on; follows the body.
    pub(super) accept: AsmLabel,
    /// Shifts in a zero and goes on.
    pub(super) reject: AsmLabel,
    /// The top of the loop.
    pub(super) next: AsmLabel,
    /// After the last packet.
    pub(super) end: AsmLabel,
}

impl Loop {
    /// The loop that has these places.
    pub(super) fn between(points: &Points) -> Loop {
        Loop { accept: points.accept, reject: points.reject, next: points.next, end: points.end }
    }

    /// Counts the packet and goes on; does not fall through.
    pub(super) fn advance(self, push: &mut dyn FnMut(X)) {
        push(X::AluImm(Alu::Add, Q, INDEX.into(), DESCRIPTOR_SIZE));
        push(X::Jcc(Cc::Ne, self.next));
        push(X::Jmp(self.end));
    }
}

/// What a block computes and, unless the test decides between leaves, its last test: the same in every copy.
#[derive(Debug)]
pub(super) struct Part {
    code: Straight,
    /// Which condition means yes.
    yes: Option<Cc>,
}

/// By label of a program: the answer, where it is that of a leaf.
pub(super) fn leaves(program: &Program<Place>) -> Vec<Option<u32>> {
    let mut leaves = vec![None; program.labels as usize];
    for block in &program.blocks {
        if let Exit::Leaf(leaf) = block.exit {
            leaves[block.label.0 as usize] = Some(leaf);
        }
    }
    leaves
}

/// Emits one copy of a program.
pub(super) struct Body<'a> {
    pub(super) asm: &'a mut Assembler,
    pub(super) program: &'a Program<Place>,
    pub(super) features: Features,
    pub(super) frame: Frame,
    pub(super) finish: Finish,
    /// The labels of the tables.
    pub(super) tables: &'a [AsmLabel],
    /// Jump tables of this copy, to be laid down with the data.
    pub(super) jump_tables: Vec<(AsmLabel, Vec<AsmLabel>)>,
    /// What the first label of the program is here; the others follow.
    first_label: AsmLabel,
    /// By label of the program: the answer, where it is that of a leaf.
    leaves: &'a [Option<u32>],
    origin: Option<NodeId>,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        asm: &'a mut Assembler,
        program: &'a Program<Place>,
        features: Features,
        frame: Frame,
        finish: Finish,
        tables: &'a [AsmLabel],
        leaves: &'a [Option<u32>],
    ) -> Self {
        let first_label = asm.labels(program.labels);
        let jump_tables = Vec::new();
        Body { asm, program, features, frame, finish, tables, jump_tables, first_label, leaves, origin: None }
    }

    /// Emits it: the first copy notes its parts, and later ones take them.
    pub(super) fn emit(&mut self, parts: &mut Vec<Part>) {
        let blocks = &self.program.blocks;
        let (count, after) = match self.finish {
            Finish::Return => (blocks.len(), None),
            Finish::Store(store) => (blocks.len(), Some(store)),
            // Leaves are last. In a loop they are not blocks at all.
            Finish::Loop(around) => {
                let is_leaf = |exit: &Exit<Place>| matches!(exit, Exit::Leaf(_));
                (blocks.iter().take_while(|block| !is_leaf(&block.exit)).count(), Some(around.accept))
            }
        };
        for (i, block) in blocks[..count].iter().enumerate() {
            let next = blocks[..count].get(i + 1).map(|next| self.target(next.label)).or(after);
            self.origin = Some(block.origin);
            let here = self.target(block.label);
            self.asm.bind(here);
            if i == parts.len() {
                parts.push(self.part(block));
            } else {
                self.asm.repeat(&parts[i].code);
            }
            self.exit(block.exit, parts[i].yes, next);
        }
        if let (0, Some(after)) = (count, after) {
            self.jump(self.target(blocks[0].label), Some(after));
        }
    }

    fn target(&self, label: Label) -> AsmLabel {
        match (self.finish, self.leaves[label.0 as usize]) {
            (Finish::Loop(around), Some(leaf)) => {
                if leaf == REJECT {
                    around.reject
                } else {
                    around.accept
                }
            }
            _ => AsmLabel(self.first_label.0 + label.0),
        }
    }

    fn push(&mut self, inst: X) {
        self.asm.push(inst, self.origin);
    }

    fn part(&mut self, block: &Block<Place>) -> Part {
        let begin = self.asm.mark();
        self.program.insts_of(block).iter().for_each(|inst| self.inst(inst));
        let yes = match block.exit {
            Exit::Branch { test, then, els } if !self.are_leaves(then, els) => Some(self.test(test)),
            _ => None,
        };
        Part { code: self.asm.since(begin), yes }
    }

    /// The end of a block: `yes` says which condition means yes, where its test has been made already.
    fn exit(&mut self, exit: Exit<Place>, yes: Option<Cc>, next: Option<AsmLabel>) {
        match exit {
            Exit::Leaf(leaf) => {
                self.set(Rax, leaf);
                self.finish(next);
            }
            Exit::Jump(to) => self.jump(self.target(to), next),
            Exit::Branch { test, then, els } if self.is_final(then, els) => {
                self.final_test(test, then, els, next);
            }
            Exit::Branch { test, then, els } => {
                let cc = yes.unwrap_or_else(|| self.test(test));
                let (then, els) = (self.target(then), self.target(els));
                if Some(then) == next {
                    self.push(X::Jcc(cc.inverted(), els));
                } else {
                    self.push(X::Jcc(cc, then));
                    self.jump(els, next);
                }
            }
            Exit::Flag(flag) => self.flag(flag, next),
            Exit::Dispatch { index, table } => self.dispatch(index, table),
            Exit::Answer { index, table } => self.answer(index, table, next),
        }
    }

    fn jump(&mut self, to: AsmLabel, next: Option<AsmLabel>) {
        if Some(to) != next {
            self.push(X::Jmp(to));
        }
    }

    /// The answer is in `eax`.
    fn finish(&mut self, next: Option<AsmLabel>) {
        match self.finish {
            Finish::Return => {
                if self.frame.size() > 0 {
                    self.push(X::AluImm(Alu::Add, Q, Reg::Rsp.into(), self.frame.size()));
                }
                self.push(X::Ret);
            }
            Finish::Store(store) => self.jump(store, next),
            Finish::Loop(_) => unreachable!("a loop counts bits"),
        }
    }

    /// `[table + index * 4]`.
    fn entry(&mut self, index: Place, table: AsmLabel) -> Mem {
        let index = match index {
            Place::Reg(index) => index,
            Place::Slot(_) => {
                self.read(Rax, index);
                Rax
            }
        };
        self.push(X::Lea(Q, SCRATCH, table.into()));
        SCRATCH + index * 4
    }

    fn dispatch(&mut self, index: Place, table: TableId) {
        let Table::Targets(labels) = &self.program.tables[table.0 as usize] else {
            unreachable!("dispatch goes through a table of targets");
        };
        let targets = labels.iter().map(|&label| self.target(label)).collect();
        let jump_table = self.asm.label();
        self.jump_tables.push((jump_table, targets));
        let entry = self.entry(index, jump_table);
        self.push(X::Movsxd(Rax, entry));
        self.push(X::Alu(Alu::Add, Q, Rax.into(), SCRATCH));
        self.push(X::JmpReg(Rax));
    }

    fn answer(&mut self, index: Place, table: TableId, next: Option<AsmLabel>) {
        let entry = self.entry(index, self.tables[table.0 as usize]);
        match self.finish {
            Finish::Return | Finish::Store(_) => {
                self.push(X::MovLoad(D, Rax, entry));
                self.finish(next);
            }
            Finish::Loop(around) => {
                self.push(X::AluImm(Alu::Cmp, D, entry.into(), REJECT as i32));
                self.answer_bit(Cc::Ne, around);
            }
        }
    }

    // The last test.
    //
    // PERF: its outcome is the answer, so it becomes a number instead of a branch: whatever the caller does with
    // the answer cannot cost a second misprediction. `ip` on mixed traffic: 3.7 ns with a branch, 1.5 without.

    fn are_leaves(&self, then: Label, els: Label) -> bool {
        [then, els].iter().all(|label| self.leaves[label.0 as usize].is_some())
    }

    /// Whether both labels are leaves; in a loop, which counts one bit: whether one accepts and the other rejects.
    fn is_final(&self, then: Label, els: Label) -> bool {
        let leaves = [then, els].map(|label| self.leaves[label.0 as usize]);
        match self.finish {
            Finish::Return | Finish::Store(_) => self.are_leaves(then, els),
            Finish::Loop(_) => {
                leaves == [Some(ACCEPT), Some(REJECT)] || leaves == [Some(REJECT), Some(ACCEPT)]
            }
        }
    }

    fn final_test(&mut self, test: Test<Place>, then: Label, els: Label, next: Option<AsmLabel>) {
        let leaves = [then, els].map(|label| self.leaves[label.0 as usize].unwrap_or(REJECT));
        if leaves != [ACCEPT, REJECT] && leaves != [REJECT, ACCEPT] {
            return self.final_choice(test, leaves, next);
        }
        let accepts = leaves[0] == ACCEPT;
        let finish = self.finish;
        if let Finish::Loop(around) = finish
            && accepts
            && self.test_to_carry(test)
        {
            self.push(X::Alu(Alu::Adc, Q, WORD.into(), WORD));
            return around.advance(&mut |inst| self.asm.push(inst, self.origin));
        }
        let cc = self.test(test);
        let cc = if accepts { cc } else { cc.inverted() };
        match finish {
            Finish::Return | Finish::Store(_) => {
                self.push(X::Setcc(cc, Rax));
                self.push(X::Movzx(B, Rax, Rax.into()));
                self.finish(next);
            }
            Finish::Loop(around) => self.answer_bit(cc, around),
        }
    }

    /// Answers the first number where the test holds, else the second.
    fn final_choice(&mut self, test: Test<Place>, [yes, no]: [u32; 2], next: Option<AsmLabel>) {
        let cc = self.test(test);
        // Moves of constants leave the flags alone.
        self.push(X::MovImm(Rax, no));
        self.push(X::MovImm(Rcx, yes));
        self.push(X::Cmov(cc, D, Rax, Rcx.into()));
        self.finish(next);
    }

    /// Answers a number that is 0 or 1.
    fn flag(&mut self, flag: Place, next: Option<AsmLabel>) {
        match self.finish {
            Finish::Return | Finish::Store(_) => {
                self.read(Rax, flag);
                self.finish(next);
            }
            Finish::Loop(around) => {
                let flag = self.in_register(flag);
                self.push(X::Lea(Q, WORD, flag + WORD * 2));
                around.advance(&mut |inst| self.asm.push(inst, self.origin));
            }
        }
    }

    /// Shifts a condition into the word and goes on.
    fn answer_bit(&mut self, cc: Cc, around: Loop) {
        self.push(X::Setcc(cc, SCRATCH));
        self.push(X::Movzx(B, SCRATCH, SCRATCH.into()));
        self.push(X::Lea(Q, WORD, SCRATCH + WORD * 2));
        around.advance(&mut |inst| self.asm.push(inst, self.origin));
    }

    /// Leaves the answer to a test for equality in the carry flag: `a == k` where `a - k < 1`.
    fn test_to_carry(&mut self, test: Test<Place>) -> bool {
        match test {
            Test::Compare(Relation::Equal, a, Operand::Const(0)) => {
                self.push(X::AluImm(Alu::Cmp, D, self.rm(a), 1));
                return true;
            }
            Test::Compare(Relation::Equal, Place::Reg(a), Operand::Const(k)) => {
                self.push(X::Lea(D, SCRATCH, a + k.wrapping_neg() as i32));
            }
            Test::CompareMemory(Relation::Equal, at, size, k) => {
                let at = self.address(at);
                self.load(SCRATCH, at, size, Order::Little);
                self.push(X::AluImm(Alu::Sub, D, SCRATCH.into(), k as i32));
            }
            _ => return false,
        }
        self.push(X::AluImm(Alu::Cmp, D, SCRATCH.into(), 1));
        true
    }

    // Moving values.

    fn rm(&self, place: Place) -> Rm {
        match place {
            Place::Reg(reg) => reg.into(),
            Place::Slot(slot) => self.frame.slot(slot).into(),
        }
    }

    /// `reg = place`.
    fn read(&mut self, reg: Reg, place: Place) {
        match self.rm(place) {
            Rm::Reg(from) if from == reg => {}
            Rm::Reg(from) => self.push(X::Mov(D, reg.into(), from)),
            Rm::Mem(from) => self.push(X::MovLoad(D, reg, from)),
        }
    }

    /// `place = reg`; all eight bytes of a slot, so that it can be read as an address.
    fn write(&mut self, place: Place, reg: Reg) {
        match self.rm(place) {
            Rm::Reg(to) if to == reg => {}
            Rm::Reg(to) => self.push(X::Mov(D, to.into(), reg)),
            Rm::Mem(to) => self.push(X::Mov(Q, to.into(), reg)),
        }
    }

    /// `reg = k`, destroying the flags.
    fn set(&mut self, reg: Reg, k: u32) {
        match k {
            0 => self.push(X::Alu(Alu::Xor, D, reg.into(), reg)),
            k => self.push(X::MovImm(reg, k)),
        }
    }

    /// `SCRATCH = k`, which may have 33 bits.
    fn set_scratch(&mut self, k: u64) {
        match u32::try_from(k) {
            Ok(k) => self.push(X::MovImm(SCRATCH, k)),
            Err(_) => {
                self.push(X::MovImm(SCRATCH, (k / 2) as u32));
                self.push(X::Lea(Q, SCRATCH, SCRATCH + SCRATCH + (k % 2) as i32));
            }
        }
    }

    /// The place as a register: itself, or a copy in the scratch register.
    fn in_register(&mut self, place: Place) -> Reg {
        match place {
            Place::Reg(reg) => reg,
            Place::Slot(_) => {
                self.read(SCRATCH, place);
                SCRATCH
            }
        }
    }

    /// The register to compute a result in, and to be written to `place` afterwards.
    fn work(place: Place) -> Reg {
        match place {
            Place::Reg(reg) => reg,
            Place::Slot(_) => SCRATCH,
        }
    }

    fn address(&mut self, at: Address<Place>) -> Mem {
        match (at.base, i32::try_from(at.offset)) {
            (None, Ok(offset)) => PACKET + offset,
            (Some(base), Ok(offset)) => PACKET + self.in_register(base) + offset,
            (base, Err(_)) => {
                self.set_scratch(at.offset);
                if let Some(base) = base {
                    let inst = Alu::Add.from_rm(Q, SCRATCH, self.rm(base));
                    self.push(inst);
                }
                PACKET + SCRATCH
            }
        }
    }

    // Computing.

    fn inst(&mut self, inst: &Inst<Place>) {
        match *inst {
            Inst::Const { dst, k } => {
                let work = Self::work(dst);
                self.set(work, k);
                self.write(dst, work);
            }
            Inst::Load { dst, at, size, order } => {
                let work = Self::work(dst);
                let at = self.address(at);
                self.load(work, at, size, order);
                self.write(dst, work);
            }
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
            Inst::Locate { dst, key, table } => {
                match &self.program.tables[table.0 as usize] {
                    Table::Cuckoo(cuckoo) => self.locate_cuckoo(key, cuckoo, table),
                    Table::Rank(rank) => self.locate_rank(key, rank, table),
                    Table::Targets(_) | Table::Answers(_) => unreachable!("nothing is located there"),
                }
                self.write(dst, Rax);
            }
        }
    }

    fn load(&mut self, to: Reg, at: Mem, size: Size, order: Order) {
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

    // Looking up.

    /// The two slots of a key to rax and rcx, the table to the scratch register.
    fn places(&mut self, key: Place, cuckoo: &Cuckoo, table: TableId) {
        let key = self.rm(key);
        for (to, multiplier) in [Rax, Rcx].into_iter().zip(cuckoo.multipliers()) {
            self.push(X::ImulImm(to, key, multiplier as i32));
        }
        self.push(X::Lea(Q, SCRATCH, self.tables[table.0 as usize].into()));
        for to in [Rax, Rcx] {
            self.push(X::Shift(Shift::Shr, D, to, cuckoo.shift() as u8));
        }
    }

    /// Equal where either slot holds the key.
    fn member(&mut self, key: Place, table: TableId) {
        let Table::Cuckoo(cuckoo) = &self.program.tables[table.0 as usize] else {
            unreachable!("members are looked up in a two-choice table");
        };
        self.places(key, cuckoo, table);
        self.push(X::MovLoad(D, Rax, SCRATCH + Rax * 4));
        self.push(X::MovLoad(D, Rcx, SCRATCH + Rcx * 4));
        let key = self.rm(key);
        self.push(Alu::Cmp.from_rm(D, Rcx, key));
        self.push(X::Cmov(Cc::E, D, Rax, Rcx.into()));
        self.push(Alu::Cmp.from_rm(D, Rax, key));
    }

    /// The key's slot to rax, or the number of slots.
    fn locate_cuckoo(&mut self, key: Place, cuckoo: &Cuckoo, table: TableId) {
        self.read(Rdx, key);
        self.places(Place::Reg(Rdx), cuckoo, table);
        self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rcx * 4));
        self.push(X::Cmov(Cc::E, D, Rax, Rcx.into()));
        self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rax * 4));
        self.push(X::MovImm(Rcx, cuckoo.slots().len() as u32));
        self.push(X::Cmov(Cc::Ne, D, Rax, Rcx.into()));
    }

    /// How many boundaries are at or below the key, to rax.
    fn locate_rank(&mut self, key: Place, rank: &Rank, table: TableId) {
        self.read(Rdx, key);
        self.push(X::Lea(Q, SCRATCH, self.tables[table.0 as usize].into()));
        self.set(Rax, 0);
        for step in rank.steps() {
            self.push(X::Lea(D, Rcx, Rax + step as i32));
            self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rax * 4 + 4 * (step as i32 - 1)));
            self.push(X::Cmov(Cc::Ae, D, Rax, Rcx.into()));
        }
    }

    // Testing: leaves the answer in the flags and says which condition means yes.

    fn test(&mut self, test: Test<Place>) -> Cc {
        match test {
            Test::Compare(relation, a, b) => {
                self.compare(relation, a, b);
                condition(relation)
            }
            Test::CompareMemory(relation, at, size, k) => {
                let at = self.address(at);
                self.push(X::AluImm(Alu::Cmp, width(size), at.into(), k as i32));
                condition(relation)
            }
            Test::Mask(a, b) => {
                self.mask(a, b);
                Cc::Ne
            }
            Test::MaskMemory(at, size, mask) => {
                let at = self.address(at);
                self.push(X::TestImm(width(size), at.into(), mask as i32));
                Cc::Ne
            }
            Test::Captured(end) => {
                self.captured(end);
                Cc::Ae
            }
            Test::Bounds(base, end) => {
                self.bounds(base, end);
                Cc::Be
            }
            Test::InRange(value, low, high) => self.in_range(value, low, high),
            Test::Member(key, table) => {
                self.member(key, table);
                Cc::E
            }
        }
    }

    fn compare(&mut self, relation: Relation, a: Place, b: Operand<Place>) {
        match (a, b) {
            (Place::Reg(a), Operand::Const(0)) if relation == Relation::Equal => {
                self.push(X::Test(D, a.into(), a));
            }
            (a, Operand::Const(k)) => self.push(X::AluImm(Alu::Cmp, D, self.rm(a), k as i32)),
            (a, Operand::Reg(Place::Reg(b))) => self.push(X::Alu(Alu::Cmp, D, self.rm(a), b)),
            (a, Operand::Reg(b)) => {
                let a = self.in_register(a);
                self.push(Alu::Cmp.from_rm(D, a, self.rm(b)));
            }
        }
    }

    fn mask(&mut self, a: Place, b: Operand<Place>) {
        match (a, b) {
            (a, Operand::Const(mask)) => {
                let width = if mask <= 0xff { B } else { D };
                self.push(X::TestImm(width, self.rm(a), mask as i32));
            }
            (a, Operand::Reg(Place::Reg(b))) => self.push(X::Test(D, self.rm(a), b)),
            (a, Operand::Reg(b)) => {
                let a = self.in_register(a);
                self.push(X::Test(D, self.rm(b), a));
            }
        }
    }

    fn captured(&mut self, end: u64) {
        match i32::try_from(end) {
            Ok(end) => self.push(X::AluImm(Alu::Cmp, Q, CAPTURED.into(), end)),
            Err(_) => {
                self.set_scratch(end);
                self.push(X::Alu(Alu::Cmp, Q, CAPTURED.into(), SCRATCH));
            }
        }
    }

    fn bounds(&mut self, base: Place, end: u32) {
        match i32::try_from(end) {
            Ok(end) => {
                let base = self.in_register(base);
                self.push(X::Lea(Q, SCRATCH, base + end));
            }
            Err(_) => {
                self.set_scratch(end.into());
                self.push(Alu::Add.from_rm(Q, SCRATCH, self.rm(base)));
            }
        }
        self.push(X::Alu(Alu::Cmp, Q, SCRATCH.into(), CAPTURED));
    }

    /// One comparison: what is below `low` wraps around to far above `high - low`.
    fn in_range(&mut self, value: Place, low: u32, high: u32) -> Cc {
        if low == 0 || high == u32::MAX {
            let (k, cc) = if low == 0 { (high, Cc::Be) } else { (low, Cc::Ae) };
            self.push(X::AluImm(Alu::Cmp, D, self.rm(value), k as i32));
            return cc;
        }
        let value = self.in_register(value);
        self.push(X::Lea(D, SCRATCH, value + low.wrapping_neg() as i32));
        self.push(X::AluImm(Alu::Cmp, D, SCRATCH.into(), (high - low) as i32));
        Cc::Be
    }
}

fn condition(relation: Relation) -> Cc {
    match relation {
        Relation::Equal => Cc::E,
        Relation::Below => Cc::B,
        Relation::Above => Cc::A,
    }
}

fn width(size: Size) -> Width {
    match size {
        Size::B1 => B,
        Size::B2 => W,
        Size::B4 => D,
    }
}
