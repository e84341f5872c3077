//! The instructions that generated code is made of, and how they are written (Intel's syntax).

use super::label::AsmLabel;
use super::reg::{Cc, Mem, Reg, Rm, Width};
use std::fmt;

/// The arithmetic that shares one encoding, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Alu {
    Add = 0,
    Or = 1,
    Adc = 2,
    Sbb = 3,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Shifts and rotations, by their number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shift {
    Rol = 0,
    Shl = 4,
    Shr = 5,
}

/// One instruction. Destinations come first, as in the assembly text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Inst {
    Endbr64,
    Ret,
    Push(Reg),
    Pop(Reg),
    /// Register or memory from register.
    Mov(Width, Rm, Reg),
    /// Register from memory.
    MovLoad(Width, Reg, Mem),
    MovImm(Reg, u32),
    MovImm64(Reg, u64),
    /// One or two bytes, zero-extended.
    Movzx(Width, Reg, Rm),
    /// Four bytes, sign-extended to eight.
    Movsxd(Reg, Mem),
    /// Four bytes, reversed; a CPU feature.
    Movbe(Reg, Mem),
    Bswap(Width, Reg),
    Lea(Width, Reg, Mem),
    Alu(Alu, Width, Rm, Reg),
    AluLoad(Alu, Width, Reg, Mem),
    AluImm(Alu, Width, Rm, i32),
    Test(Width, Rm, Reg),
    TestImm(Width, Rm, i32),
    Imul(Reg, Rm),
    ImulImm(Reg, Rm, i32),
    /// `edx:eax` by this.
    Div(Rm),
    Shift(Shift, Width, Reg, u8),
    /// By `cl`.
    ShiftCl(Shift, Width, Reg),
    Cmov(Cc, Width, Reg, Rm),
    /// One byte: 1 or 0.
    Setcc(Cc, Reg),
    Prefetch(Mem),
    Jmp(AsmLabel),
    Jcc(Cc, AsmLabel),
    /// Indirect, exempt from branch tracking: where it can lead is in a read-only table beside the code.
    JmpReg(Reg),
    /// Of a function outside of the code, likewise exempt.
    CallReg(Reg),
}

impl Alu {
    /// The same from a register or from memory.
    pub fn from_rm(self, width: Width, dst: Reg, src: Rm) -> Inst {
        match src {
            Rm::Reg(src) => Inst::Alu(self, width, dst.into(), src),
            Rm::Mem(src) => Inst::AluLoad(self, width, dst, src),
        }
    }
}

impl fmt::Display for Alu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alu::Add => "add",
            Alu::Or => "or",
            Alu::Adc => "adc",
            Alu::Sbb => "sbb",
            Alu::And => "and",
            Alu::Sub => "sub",
            Alu::Xor => "xor",
            Alu::Cmp => "cmp",
        })
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shift::Rol => "rol",
            Shift::Shl => "shl",
            Shift::Shr => "shr",
        })
    }
}

/// A register or memory of some width: `ecx`, `dword ptr [rdi+0xc]`.
struct Sized(Width, Rm);

impl fmt::Display for Sized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = match self.0 {
            Width::B => "byte",
            Width::W => "word",
            Width::D => "dword",
            Width::Q => "qword",
        };
        match self.1 {
            Rm::Reg(reg) => f.write_str(&reg.name(self.0)),
            Rm::Mem(mem) => write!(f, "{pointer} ptr {mem}"),
        }
    }
}

/// An immediate, cut to its width or negative.
struct Imm(Width, i32);

impl fmt::Display for Imm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Width::B => write!(f, "{:#x}", self.1 as u8),
            Width::W => write!(f, "{:#x}", self.1 as u16),
            Width::D => write!(f, "{:#x}", self.1 as u32),
            Width::Q => write!(f, "{:#x}", i64::from(self.1)),
        }
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Inst::*;
        let reg = |width: Width, reg: &Reg| reg.name(width);
        match self {
            Endbr64 => f.write_str("endbr64"),
            Ret => f.write_str("ret"),
            Push(r) => write!(f, "push {r}"),
            Pop(r) => write!(f, "pop {r}"),
            Mov(w, dst, src) => write!(f, "mov {}, {}", Sized(*w, *dst), reg(*w, src)),
            MovLoad(w, dst, src) => write!(f, "mov {}, {}", reg(*w, dst), Sized(*w, (*src).into())),
            MovImm(dst, k) => write!(f, "mov {}, {k:#x}", reg(Width::D, dst)),
            MovImm64(dst, k) => write!(f, "mov {dst}, {k:#x}"),
            Movzx(w, dst, src) => write!(f, "movzx {}, {}", reg(Width::D, dst), Sized(*w, *src)),
            Movsxd(dst, src) => write!(f, "movsxd {dst}, {}", Sized(Width::D, (*src).into())),
            Movbe(dst, src) => write!(f, "movbe {}, {}", reg(Width::D, dst), Sized(Width::D, (*src).into())),
            Bswap(w, r) => write!(f, "bswap {}", reg(*w, r)),
            Lea(w, dst, src) => write!(f, "lea {}, {src}", reg(*w, dst)),
            Alu(op, w, dst, src) => write!(f, "{op} {}, {}", Sized(*w, *dst), reg(*w, src)),
            AluLoad(op, w, dst, src) => write!(f, "{op} {}, {}", reg(*w, dst), Sized(*w, (*src).into())),
            AluImm(op, w, dst, k) => write!(f, "{op} {}, {}", Sized(*w, *dst), Imm(*w, *k)),
            Test(w, a, b) => write!(f, "test {}, {}", Sized(*w, *a), reg(*w, b)),
            TestImm(w, a, k) => write!(f, "test {}, {}", Sized(*w, *a), Imm(*w, *k)),
            Imul(dst, src) => write!(f, "imul {}, {}", reg(Width::D, dst), Sized(Width::D, *src)),
            ImulImm(dst, src, k) => {
                let imm = Imm(Width::D, *k);
                write!(f, "imul {}, {}, {imm}", reg(Width::D, dst), Sized(Width::D, *src))
            }
            Div(by) => write!(f, "div {}", Sized(Width::D, *by)),
            Shift(op, w, r, by) => write!(f, "{op} {}, {by:#x}", reg(*w, r)),
            ShiftCl(op, w, r) => write!(f, "{op} {}, cl", reg(*w, r)),
            Cmov(cc, w, dst, src) => write!(f, "cmov{cc} {}, {}", reg(*w, dst), Sized(*w, *src)),
            Setcc(cc, r) => write!(f, "set{cc} {}", reg(Width::B, r)),
            Prefetch(at) => write!(f, "prefetcht0 byte ptr {at}"),
            Jmp(to) => write!(f, "jmp {to}"),
            Jcc(cc, to) => write!(f, "j{cc} {to}"),
            JmpReg(r) => write!(f, "notrack jmp {r}"),
            CallReg(r) => write!(f, "notrack call {r}"),
        }
    }
}
