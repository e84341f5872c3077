//! Registers, memory operands and condition codes, and how they are written.

use super::label::AsmLabel;
use std::fmt;
use std::ops::{Add, Mul};

/// A general register, by its number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[rustfmt::skip]
pub enum Reg { Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15 }

impl Reg {
    /// All of them, by number.
    #[rustfmt::skip]
    pub const ALL: [Reg; 16] = [
        Reg::Rax, Reg::Rcx, Reg::Rdx, Reg::Rbx, Reg::Rsp, Reg::Rbp, Reg::Rsi, Reg::Rdi,
        Reg::R8, Reg::R9, Reg::R10, Reg::R11, Reg::R12, Reg::R13, Reg::R14, Reg::R15,
    ];

    /// The number in the encoding.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The name of the low bytes of this width.
    pub fn name(self, width: Width) -> String {
        #[rustfmt::skip]
        const OLD: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];
        #[rustfmt::skip]
        const LOW: [&str; 8] = ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"];
        let n = self.number();
        match (OLD.get(usize::from(n)), width) {
            (Some(_), Width::B) => LOW[usize::from(n)].to_owned(),
            (Some(name), Width::W) => (*name).to_owned(),
            (Some(name), Width::D) => format!("e{name}"),
            (Some(name), Width::Q) => format!("r{name}"),
            (None, Width::B) => format!("r{n}b"),
            (None, Width::W) => format!("r{n}w"),
            (None, Width::D) => format!("r{n}d"),
            (None, Width::Q) => format!("r{n}"),
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name(Width::Q))
    }
}

/// Operand width: one, two, four or eight bytes. Writing four bytes clears the upper four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Width {
    B,
    W,
    D,
    Q,
}

/// The base of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register.
    Reg(Reg),
    /// A label, relative to the next instruction.
    Label(AsmLabel),
}

/// `[base + index * scale + disp]`. Written as a sum: `Rdi + Rcx + 14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    /// Its base.
    pub base: Base,
    /// An index and its scale (1, 2, 4 or 8); never `rsp`.
    pub index: Option<(Reg, u8)>,
    /// The constant part.
    pub disp: i32,
}

impl From<Reg> for Mem {
    fn from(base: Reg) -> Mem {
        Mem { base: Base::Reg(base), index: None, disp: 0 }
    }
}

impl From<AsmLabel> for Mem {
    fn from(label: AsmLabel) -> Mem {
        Mem { base: Base::Label(label), index: None, disp: 0 }
    }
}

/// An index register and its scale: `Rcx * 4`.
#[derive(Clone, Copy, Debug)]
pub struct Scaled(Reg, u8);

impl Mul<u8> for Reg {
    type Output = Scaled;
    fn mul(self, scale: u8) -> Scaled {
        Scaled(self, scale)
    }
}

impl Add<Scaled> for Reg {
    type Output = Mem;
    fn add(self, Scaled(index, scale): Scaled) -> Mem {
        debug_assert!(index != Reg::Rsp && [1, 2, 4, 8].contains(&scale), "not an index");
        Mem { index: Some((index, scale)), ..Mem::from(self) }
    }
}

impl Add<Reg> for Reg {
    type Output = Mem;
    fn add(self, index: Reg) -> Mem {
        self + index * 1
    }
}

impl Add<i32> for Reg {
    type Output = Mem;
    fn add(self, disp: i32) -> Mem {
        Mem { disp, ..Mem::from(self) }
    }
}

impl Add<i32> for Mem {
    type Output = Mem;
    fn add(self, disp: i32) -> Mem {
        Mem { disp: self.disp + disp, ..self }
    }
}

impl fmt::Display for Mem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Reg(base) => write!(f, "[{base}")?,
            Base::Label(label) => return write!(f, "[{label}]"),
        }
        match self.index {
            Some((index, 1)) => write!(f, "+{index}")?,
            Some((index, scale)) => write!(f, "+{index}*{scale}")?,
            None => {}
        }
        match self.disp {
            0 => {}
            disp if disp < 0 => write!(f, "-{:#x}", disp.unsigned_abs())?,
            disp => write!(f, "+{disp:#x}")?,
        }
        f.write_str("]")
    }
}

/// A register or memory: what the r/m field of an instruction can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rm {
    Reg(Reg),
    Mem(Mem),
}

impl From<Reg> for Rm {
    fn from(reg: Reg) -> Rm {
        Rm::Reg(reg)
    }
}

impl From<Mem> for Rm {
    fn from(mem: Mem) -> Rm {
        Rm::Mem(mem)
    }
}

/// Condition codes, by their number in the encoding; unsigned ones only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cc {
    B = 2,
    Ae = 3,
    E = 4,
    Ne = 5,
    Be = 6,
    A = 7,
}

impl Cc {
    /// The number in the encoding.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The opposite.
    pub fn inverted(self) -> Cc {
        match self {
            Cc::B => Cc::Ae,
            Cc::Ae => Cc::B,
            Cc::E => Cc::Ne,
            Cc::Ne => Cc::E,
            Cc::Be => Cc::A,
            Cc::A => Cc::Be,
        }
    }
}

impl fmt::Display for Cc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cc::B => "b",
            Cc::Ae => "ae",
            Cc::E => "e",
            Cc::Ne => "ne",
            Cc::Be => "be",
            Cc::A => "a",
        })
    }
}
