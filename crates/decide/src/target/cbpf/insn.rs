//! One instruction of classic BPF, and the numbers that its code is made of.

/// One instruction of classic BPF, laid out as `struct sock_filter` and libpcap's `struct bpf_insn` are.
///
/// ```
/// // `ret #0`
/// let reject = decide::Insn { code: 6, jt: 0, jf: 0, k: 0 };
/// assert_eq!(std::mem::size_of_val(&reject), 8);
/// ```
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Insn {
    /// Class, size, mode or operation, and source.
    pub code: u16,
    /// Distance to the next instruction when a test holds.
    pub jt: u8,
    /// Distance to the next instruction when a test fails.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

/// Instruction classes, sizes, modes and operations, as in `bpf.h`.
#[allow(missing_docs)]
pub mod op {
    pub const LD: u16 = 0x00;
    pub const LDX: u16 = 0x01;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ALU: u16 = 0x04;
    pub const JMP: u16 = 0x05;
    pub const RET: u16 = 0x06;
    pub const MISC: u16 = 0x07;
    pub const W: u16 = 0x00;
    pub const H: u16 = 0x08;
    pub const B: u16 = 0x10;
    pub const IMM: u16 = 0x00;
    pub const ABS: u16 = 0x20;
    pub const IND: u16 = 0x40;
    pub const MEM: u16 = 0x60;
    pub const LEN: u16 = 0x80;
    pub const MSH: u16 = 0xa0;
    pub const ADD: u16 = 0x00;
    pub const SUB: u16 = 0x10;
    pub const MUL: u16 = 0x20;
    pub const DIV: u16 = 0x30;
    pub const OR: u16 = 0x40;
    pub const AND: u16 = 0x50;
    pub const LSH: u16 = 0x60;
    pub const RSH: u16 = 0x70;
    pub const NEG: u16 = 0x80;
    pub const MOD: u16 = 0x90;
    pub const XOR: u16 = 0xa0;
    pub const JA: u16 = 0x00;
    pub const JEQ: u16 = 0x10;
    pub const JGT: u16 = 0x20;
    pub const JGE: u16 = 0x30;
    pub const JSET: u16 = 0x40;
    pub const X: u16 = 0x08;
    pub const A: u16 = 0x10;
    pub const TAX: u16 = 0x00;
    pub const TXA: u16 = 0x80;
}

impl Insn {
    /// The class: load, store, arithmetic, jump and so on.
    #[inline]
    pub fn class(self) -> u16 {
        self.code & 0x07
    }

    /// The number of bytes that a packet load reads.
    #[inline]
    pub fn size(self) -> usize {
        match self.code & 0x18 {
            op::W => 4,
            op::H => 2,
            _ => 1,
        }
    }

    /// The addressing mode of a load.
    #[inline]
    pub fn mode(self) -> u16 {
        self.code & 0xe0
    }

    /// The operation of arithmetic or of a jump.
    #[inline]
    pub fn operation(self) -> u16 {
        self.code & 0xf0
    }

    /// Whether the right operand is X rather than the constant.
    #[inline]
    pub fn uses_x(self) -> bool {
        self.code & op::X != 0
    }
}
