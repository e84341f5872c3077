//! Values in registers and slots: moved between them, and as parts of addresses.

use super::{Body, Place};
use crate::target::lir::program::Address;
use crate::target::x64::convention::{PACKET, SCRATCH};
use crate::target::x64::inst::{Alu, Inst as X};
use crate::target::x64::reg::{Mem, Reg, Rm, Width};
use Width::{D, Q};

impl Body<'_> {
    pub(super) fn rm(&self, place: Place) -> Rm {
        match place {
            Place::Reg(reg) => reg.into(),
            Place::Slot(slot) => self.frame.slot(slot).into(),
        }
    }

    /// `reg = place`.
    pub(super) fn read(&mut self, reg: Reg, place: Place) {
        match self.rm(place) {
            Rm::Reg(from) if from == reg => {}
            Rm::Reg(from) => self.push(X::Mov(D, reg.into(), from)),
            Rm::Mem(from) => self.push(X::MovLoad(D, reg, from)),
        }
    }

    /// `place = reg`; all eight bytes of a slot, so that it can be read as an address.
    pub(super) fn write(&mut self, place: Place, reg: Reg) {
        match self.rm(place) {
            Rm::Reg(to) if to == reg => {}
            Rm::Reg(to) => self.push(X::Mov(D, to.into(), reg)),
            Rm::Mem(to) => self.push(X::Mov(Q, to.into(), reg)),
        }
    }

    /// `reg = k`, destroying the flags.
    pub(super) fn set(&mut self, reg: Reg, k: u32) {
        match k {
            0 => self.push(X::Alu(Alu::Xor, D, reg.into(), reg)),
            k => self.push(X::MovImm(reg, k)),
        }
    }

    /// `SCRATCH = k`, which may have 33 bits.
    pub(super) fn set_scratch(&mut self, k: u64) {
        match u32::try_from(k) {
            Ok(k) => self.push(X::MovImm(SCRATCH, k)),
            Err(_) => {
                self.push(X::MovImm(SCRATCH, (k / 2) as u32));
                self.push(X::Lea(Q, SCRATCH, SCRATCH + SCRATCH + (k % 2) as i32));
            }
        }
    }

    /// The place as a register: itself, or a copy in the scratch register.
    pub(super) fn in_register(&mut self, place: Place) -> Reg {
        match place {
            Place::Reg(reg) => reg,
            Place::Slot(_) => {
                self.read(SCRATCH, place);
                SCRATCH
            }
        }
    }

    /// The register to compute a result in, and to be written to `place` afterwards.
    pub(super) fn work(place: Place) -> Reg {
        match place {
            Place::Reg(reg) => reg,
            Place::Slot(_) => SCRATCH,
        }
    }

    pub(super) fn address(&mut self, at: Address<Place>) -> Mem {
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
}
