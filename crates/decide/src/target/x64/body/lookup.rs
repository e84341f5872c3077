//! Keys looked up in tables.

use super::{Body, Place};
use crate::target::lir::program::{Table, TableId};
use crate::target::x64::convention::{CALL_DESTROYS, SCRATCH};
use crate::target::x64::inst::{Alu, Inst as X, Shift};
use crate::target::x64::reg::{Cc, Reg, Width};
use Reg::{Rax, Rcx, Rdx};
use Width::{D, Q};
use std::sync::Arc;
use table::cuckoo::Cuckoo;
use table::rank::Rank;

impl Body<'_> {
    /// A number of the row of the next call.
    pub(super) fn word(&mut self, at: u32, src: Place) {
        let src = self.in_register(src);
        self.push(X::Mov(D, (self.frame.row() + 4 * at as i32).into(), src));
    }

    /// Calls the function that asks a set: `rdi` its address, `rsi` the row, `eax` the answer. All that holds anything is saved around it.
    pub(super) fn ask(&mut self, dst: Place, table: TableId) {
        let Table::Members(set) = &self.program.tables[table.0 as usize] else {
            unreachable!("a set of its own kind is asked");
        };
        let set = Arc::as_ptr(set) as usize as u64;
        self.push(X::Lea(Q, SCRATCH, self.frame.row()));
        CALL_DESTROYS.iter().for_each(|&saved| self.push(X::Push(saved)));
        self.push(X::Mov(Q, Reg::Rsi.into(), SCRATCH));
        self.push(X::MovImm64(Reg::Rdi, set));
        self.push(X::MovImm64(Rax, self.member_entry));
        self.push(X::CallReg(Rax));
        self.push(X::Mov(D, SCRATCH.into(), Rax));
        CALL_DESTROYS.iter().rev().for_each(|&saved| self.push(X::Pop(saved)));
        self.write(dst, SCRATCH);
    }

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
    pub(super) fn member(&mut self, key: Place, table: TableId) {
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
    pub(super) fn locate_cuckoo(&mut self, key: Place, cuckoo: &Cuckoo, table: TableId) {
        self.read(Rdx, key);
        self.places(Place::Reg(Rdx), cuckoo, table);
        self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rcx * 4));
        self.push(X::Cmov(Cc::E, D, Rax, Rcx.into()));
        self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rax * 4));
        self.push(X::MovImm(Rcx, cuckoo.slots().len() as u32));
        self.push(X::Cmov(Cc::Ne, D, Rax, Rcx.into()));
    }

    /// How many boundaries are at or below the key, to rax.
    pub(super) fn locate_rank(&mut self, key: Place, rank: &Rank, table: TableId) {
        self.read(Rdx, key);
        self.push(X::Lea(Q, SCRATCH, self.tables[table.0 as usize].into()));
        self.set(Rax, 0);
        for step in rank.steps() {
            self.push(X::Lea(D, Rcx, Rax + step as i32));
            self.push(X::AluLoad(Alu::Cmp, D, Rdx, SCRATCH + Rax * 4 + 4 * (step as i32 - 1)));
            self.push(X::Cmov(Cc::Ae, D, Rax, Rcx.into()));
        }
    }
}
