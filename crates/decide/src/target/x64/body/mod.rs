//! From allocated instructions to machine instructions: the body that both entry points share.
//!
//! INVARIANT: a value in a register or slot has its upper 32 bits clear, so that sums of values are computed
//! in 64 bits without wrap-around. Every write of a 32-bit register clears them.

mod answer;
mod compute;
mod lookup;
mod place;
mod test;

use super::assembler::{Assembler, Straight};
use super::convention::{DESCRIPTOR_SIZE, Frame, INDEX, SCRATCH};
use super::inst::{Alu, Inst as X};
use super::label::AsmLabel;
use super::reg::{Cc, Mem, Reg, Width};
use crate::filled::filled;
use crate::ir::{NodeId, REJECT, Size};
use crate::target::lir::allocate::Place as AnyPlace;
use crate::target::lir::program::{Block, Exit, Label, Program, Table, TableId};
use crate::target::x64::Features;
use Reg::Rax;
use Width::{B, D, Q, W};

pub(super) type Place = AnyPlace<Reg>;

/// The action of a leaf.
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
    /// Counts the packet and goes on; does not fall through.
    pub(super) fn advance(self, push: &mut dyn FnMut(X)) {
        push(X::AluImm(Alu::Add, Q, INDEX.into(), DESCRIPTOR_SIZE));
        push(X::Jcc(Cc::Ne, self.next));
        push(X::Jmp(self.end));
    }
}

/// The values that a block computes and, unless the test decides between leaves, its last test: the same in every copy.
#[derive(Debug)]
pub(super) struct Part {
    code: Straight,
    /// Which condition means yes.
    yes: Option<Cc>,
}

/// By label of a program: the answer, where it is that of a leaf.
pub(super) fn leaves(program: &Program<Place>) -> Vec<Option<u32>> {
    let mut leaves = filled(None, program.labels as usize);
    for block in &program.blocks {
        if let (Exit::Leaf(leaf), true) = (block.exit, block.insts.is_empty()) {
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
    /// The address of the function that asks a large set.
    pub(super) member_entry: u64,
    pub(super) finish: Finish,
    /// The labels of the tables.
    pub(super) tables: &'a [AsmLabel],
    /// Jump tables of this copy, to be laid down with the data.
    pub(super) jump_tables: Vec<(AsmLabel, Vec<AsmLabel>)>,
    /// The label here of the program's first one; the others follow.
    pub(super) first_label: AsmLabel,
    /// By label of the program: the answer, where it is that of a leaf.
    pub(super) leaves: &'a [Option<u32>],
    pub(super) origin: Option<NodeId>,
}

impl Body<'_> {
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
        if let Finish::Loop(around) = self.finish
            && let Some(leaf) = self.leaves[label.0 as usize]
        {
            return if leaf == REJECT { around.reject } else { around.accept };
        }
        AsmLabel(self.first_label.0 + label.0)
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
}

fn width(size: Size) -> Width {
    match size {
        Size::B1 => B,
        Size::B2 => W,
        Size::B4 => D,
    }
}
