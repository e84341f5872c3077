//! Tests: each leaves its outcome in the flags, and says which condition means yes.

use super::{Body, Place, width};
use crate::target::lir::program::{Operand, Relation, Test};
use crate::target::x64::convention::{CAPTURED, SCRATCH};
use crate::target::x64::inst::{Alu, Inst as X};
use crate::target::x64::reg::{Cc, Width};
use Width::{B, D, Q};

impl Body<'_> {
    pub(super) fn test(&mut self, test: Test<Place>) -> Cc {
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
